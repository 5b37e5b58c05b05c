//! What one look at a device's logs finds.

use steadfast_domain::Bytes;
use steadfast_domain::measurement::LogDelta;

/// One reading of a device's logs: counters since the device was made, and its
/// state now.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogReading {
    /// Bytes that the host wrote.
    pub host_written: Option<Bytes>,
    /// Bytes written to the flash.
    pub nand_written: Option<Bytes>,
    /// Media and data integrity errors.
    pub media_errors: Option<u64>,
    /// Times that the device throttled because of its temperature.
    pub throttle_events: Option<u64>,
    /// Seconds during which thermal management held the device back.
    pub throttled_seconds: Option<u64>,
    /// Seconds above a temperature limit.
    pub over_temperature_seconds: Option<u64>,
    /// Whether the device throttles now (OCP).
    pub throttles_now: Option<bool>,
    /// NVMe critical warning bits.
    pub critical_warning: Option<u8>,
    /// Endurance used, in percent of what the maker rates; may exceed 100.
    pub percentage_used: Option<u64>,
    /// Spare blocks left, in percent.
    pub spare: Option<u64>,
    /// The least that the maker calls sufficient, in percent.
    pub spare_threshold: Option<u64>,
    /// Temperature in degrees Celsius.
    pub temperature_celsius: Option<f64>,
    /// The device's own verdict on its health (SMART status).
    pub healthy: Option<bool>,
    /// A running self-test, with its progress.
    pub self_test: Option<SelfTest>,
}

/// Whether a self-test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelfTest {
    /// None runs.
    Idle,
    /// One runs.
    Running {
        /// How much of it is done, in percent, where the device tells.
        done_percent: Option<u64>,
    },
}

impl LogReading {
    /// What was counted since an earlier reading. A counter that went backwards
    /// was reset, as by a sanitize, and tells nothing.
    pub fn since(&self, before: &LogReading) -> LogDelta {
        let bytes = |now: Option<Bytes>, then: Option<Bytes>| {
            now.zip(then).and_then(|(now, then)| now.0.checked_sub(then.0)).map(Bytes)
        };
        let count = |now: Option<u64>, then: Option<u64>| {
            now.zip(then).and_then(|(now, then)| now.checked_sub(then))
        };
        let throttled = count(self.throttled_seconds, before.throttled_seconds);
        let hot = count(self.over_temperature_seconds, before.over_temperature_seconds);
        LogDelta {
            host_written: bytes(self.host_written, before.host_written),
            nand_written: bytes(self.nand_written, before.nand_written),
            media_errors: count(self.media_errors, before.media_errors),
            throttle_events: count(self.throttle_events, before.throttle_events),
            // The two clocks may run at the same time: they are not added.
            throttle_seconds: throttled.max(hot),
            critical_warning: self.critical_warning,
        }
    }

    /// Whether it holds nothing that a step's delta is made of.
    pub(super) fn is_empty(&self) -> bool {
        *self == LogReading { temperature_celsius: self.temperature_celsius, ..Self::default() }
    }
}
