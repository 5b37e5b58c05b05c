//! One reading of a device's logs, and the difference between two.

use steadfast_domain::Bytes;
use steadfast_domain::measurement::LogDelta;

/// One reading of a device's logs: lifetime counters and the current state. `None` means that
/// the device does not report the value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogReading {
    /// Bytes written by the host.
    pub host_written: Option<Bytes>,
    /// Bytes written to the NAND flash.
    pub nand_written: Option<Bytes>,
    /// Number of media and data integrity errors.
    pub media_errors: Option<u64>,
    /// Number of thermal throttling events. The OCP log counts throttling of any cause.
    pub throttle_events: Option<u64>,
    /// Time in thermal throttling, in seconds.
    pub throttled_seconds: Option<u64>,
    /// Time above a temperature limit, in seconds.
    pub over_temperature_seconds: Option<u64>,
    /// True if the device is throttling now (OCP log).
    pub throttles_now: Option<bool>,
    /// NVMe critical warning bits.
    pub critical_warning: Option<u8>,
    /// Endurance used, in percent of the vendor's rating; may exceed 100.
    pub percentage_used: Option<u64>,
    /// Remaining spare blocks in percent.
    pub spare: Option<u64>,
    /// Vendor's minimum for the spare blocks in percent.
    pub spare_threshold: Option<u64>,
    /// Temperature in degrees Celsius.
    pub temperature_celsius: Option<f64>,
    /// True if the device reports a passing SMART status.
    pub healthy: Option<bool>,
    /// State of the device self-test.
    pub self_test: Option<SelfTest>,
}

/// State of the device self-test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelfTest {
    /// No self-test is running.
    Idle,
    /// A self-test is running.
    Running {
        /// Progress in percent; `None` if the device does not report it.
        done_percent: Option<u64>,
    },
}

impl LogReading {
    /// Returns the counts since an earlier reading. A counter that decreased was reset, for example
    /// by a sanitize, and yields `None`.
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
            // Both timers may run at the same time, so the larger one is used and not the sum.
            throttle_seconds: throttled.max(hot),
            critical_warning: self.critical_warning,
        }
    }

    /// Returns true if no field except the temperature is known.
    pub(super) fn is_empty(&self) -> bool {
        *self == LogReading { temperature_celsius: self.temperature_celsius, ..Self::default() }
    }
}
