//! One reading of a device's logs, and the difference between two.

use steadfast_domain::Bytes;
use steadfast_domain::device_log::{DeviceCounters, LatencyBuckets, LogDelta};

/// One reading of a device's logs: lifetime counters and the current state. `None` means that
/// the device does not report the value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogReading {
    /// Bytes written by the host.
    pub host_written: Option<Bytes>,
    /// Bytes read by the host.
    pub host_read: Option<Bytes>,
    /// Bytes written to the NAND flash.
    pub nand_written: Option<Bytes>,
    /// Amount by which the counter of `host_written` advances; `None` if it is unknown.
    pub host_unit: Option<Bytes>,
    /// Amount by which the counter of `nand_written` advances; `None` if it is unknown.
    pub nand_unit: Option<Bytes>,
    /// Active buckets of the latency monitor; `None` if it is not enabled.
    pub latency_buckets: Option<LatencyBuckets>,
    /// Time for which the active buckets have counted, in units of 5 minutes.
    pub latency_timer: Option<u64>,
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
        let mut went_backwards = false;
        let mut count = |now: Option<u64>, then: Option<u64>| {
            let (now, then) = now.zip(then)?;
            went_backwards |= now < then;
            now.checked_sub(then)
        };
        let mut bytes = |now: Option<Bytes>, then: Option<Bytes>| {
            count(now.map(|bytes| bytes.0), then.map(|bytes| bytes.0)).map(Bytes)
        };
        let host_written = bytes(self.host_written, before.host_written);
        let nand_written = bytes(self.nand_written, before.nand_written);
        let host_read = bytes(self.host_read, before.host_read);
        let media_errors = count(self.media_errors, before.media_errors);
        let throttle_events = count(self.throttle_events, before.throttle_events);
        let throttled = count(self.throttled_seconds, before.throttled_seconds);
        let hot = count(self.over_temperature_seconds, before.over_temperature_seconds);
        let latency_buckets = self.latency_since(before);
        let has_latency = self.latency_buckets.is_some() && before.latency_buckets.is_some();
        LogDelta {
            host_written,
            nand_written,
            host_read,
            host_unit: self.host_unit.filter(|_| host_written.is_some()),
            nand_unit: self.nand_unit.filter(|_| nand_written.is_some()),
            before: before.counters(),
            after: self.counters(),
            went_backwards,
            earlier_steps: 0,
            media_errors,
            throttle_events,
            // Both timers may run at the same time, so the larger one is used and not the sum.
            throttle_seconds: throttled.max(hot),
            critical_warning: self.critical_warning,
            latency_buckets,
            latency_was_reset: has_latency && latency_buckets.is_none(),
        }
    }

    /// Returns the counters of bytes; `None` if none is known.
    fn counters(&self) -> Option<DeviceCounters> {
        let counters = DeviceCounters {
            host_written: self.host_written,
            host_read: self.host_read,
            nand_written: self.nand_written,
        };
        (counters != DeviceCounters::default()).then_some(counters)
    }

    /// Returns the counts of the latency monitor; `None` if its buckets were reset in between: a
    /// count or their timer is lower now.
    fn latency_since(&self, before: &LogReading) -> Option<LatencyBuckets> {
        let timer_was_reset =
            self.latency_timer.zip(before.latency_timer).is_some_and(|(now, then)| now < then);
        let now = self.latency_buckets.filter(|_| !timer_was_reset)?;
        now.since(&before.latency_buckets?)
    }

    /// Returns true if no field except the temperature is known.
    pub(super) fn is_empty(&self) -> bool {
        *self == LogReading { temperature_celsius: self.temperature_celsius, ..Self::default() }
    }
}
