//! Counters that a device reports about itself: their changes over steps, and the write
//! amplification that follows from them.

use crate::serde_text::is_default;
use crate::units::Bytes;
use crate::value_range::ValueRange;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Lifetime counters of a device. `None` if the device does not report a counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DeviceCounters {
    /// Bytes written by the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_written: Option<Bytes>,
    /// Bytes read by the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_read: Option<Bytes>,
    /// Bytes written to the flash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nand_written: Option<Bytes>,
}

/// Counts of a latency monitor: I/Os in the buckets 0 to 3, which begin at the monitor's thresholds
/// A to D (OCP log C3h, active buckets).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyBuckets {
    /// Reads.
    pub reads: [u64; 4],
    /// Writes.
    pub writes: [u64; 4],
    /// Deallocates.
    pub trims: [u64; 4],
}

impl LatencyBuckets {
    /// Returns the counts since an earlier reading; `None` if a counter is lower now.
    pub fn since(&self, before: &LatencyBuckets) -> Option<LatencyBuckets> {
        Some(LatencyBuckets {
            reads: counts_since(self.reads, before.reads)?,
            writes: counts_since(self.writes, before.writes)?,
            trims: counts_since(self.trims, before.trims)?,
        })
    }

    fn add(&mut self, other: &LatencyBuckets) {
        let pairs = [
            (&mut self.reads, other.reads),
            (&mut self.writes, other.writes),
            (&mut self.trims, other.trims),
        ];
        for (sums, counts) in pairs {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum = sum.saturating_add(count);
            }
        }
    }
}

fn counts_since(now: [u64; 4], before: [u64; 4]) -> Option<[u64; 4]> {
    let mut since = [0; 4];
    for (at, count) in since.iter_mut().enumerate() {
        *count = now[at].checked_sub(before[at])?;
    }
    Some(since)
}

/// Changes of the device's own counters during the step (NVMe SMART and OCP logs, ATA and SCSI
/// statistics). `None` if the device does not report a counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogDelta {
    /// Bytes written by the host, as counted by the device.
    pub host_written: Option<Bytes>,
    /// Bytes written to the flash.
    pub nand_written: Option<Bytes>,
    /// Bytes read by the host, as counted by the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_read: Option<Bytes>,
    /// Amount by which the counter of `host_written` advances: the change is known to within one
    /// such unit. 0 if the counter is exact; `None` if the unit is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_unit: Option<Bytes>,
    /// Amount by which the counter of `nand_written` advances, as `host_unit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nand_unit: Option<Bytes>,
    /// Counters before the step; `None` in records without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<DeviceCounters>,
    /// Counters after the step; `None` in records without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<DeviceCounters>,
    /// True if a counter of bytes, of errors or of throttling was lower after the step than before
    /// it. Its change is `None`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub went_backwards: bool,
    /// Number of short steps before this one that the changes cover too, because the device was
    /// not read between them.
    #[serde(skip_serializing_if = "is_default")]
    pub earlier_steps: u32,
    /// Media and data integrity errors.
    pub media_errors: Option<u64>,
    /// Number of times that the device throttled because of its temperature.
    pub throttle_events: Option<u64>,
    /// Seconds spent throttled or above a temperature limit, whichever is longer.
    pub throttle_seconds: Option<u64>,
    /// NVMe critical warning bits at the end of the step.
    pub critical_warning: Option<u8>,
    /// Counts of the latency monitor; `None` if it is not enabled or was reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_buckets: Option<LatencyBuckets>,
    /// True if the buckets of the latency monitor were reset or wrapped around during the step.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub latency_was_reset: bool,
}

/// A count of events that a device reports, as exports, metrics and tables list it.
#[derive(Debug, Clone, Copy)]
pub struct DeviceCount {
    /// Short name, stable across versions.
    pub id: &'static str,
    /// Name in print.
    pub name: &'static str,
    /// Unit; empty for a number of events.
    pub unit: &'static str,
    /// Reads the count; `None` if the device does not report it.
    pub value: fn(&LogDelta) -> Option<u64>,
}

/// Counts of events that a device reports. The buckets of the latency monitor are named for the
/// thresholds at which they begin.
pub const DEVICE_COUNTS: [DeviceCount; 15] = [
    count("throttle-events", "Throttle events", |log| log.throttle_events),
    DeviceCount { unit: "s", ..count("throttled", "Throttled", |log| log.throttle_seconds) },
    count("media-errors", "Media errors", |log| log.media_errors),
    count("slow-reads-a", "Reads in latency bucket A", |log| Some(log.latency_buckets?.reads[0])),
    count("slow-reads-b", "Reads in latency bucket B", |log| Some(log.latency_buckets?.reads[1])),
    count("slow-reads-c", "Reads in latency bucket C", |log| Some(log.latency_buckets?.reads[2])),
    count("slow-reads-d", "Reads in latency bucket D", |log| Some(log.latency_buckets?.reads[3])),
    count("slow-writes-a", "Writes in latency bucket A", |log| {
        Some(log.latency_buckets?.writes[0])
    }),
    count("slow-writes-b", "Writes in latency bucket B", |log| {
        Some(log.latency_buckets?.writes[1])
    }),
    count("slow-writes-c", "Writes in latency bucket C", |log| {
        Some(log.latency_buckets?.writes[2])
    }),
    count("slow-writes-d", "Writes in latency bucket D", |log| {
        Some(log.latency_buckets?.writes[3])
    }),
    count("slow-trims-a", "Trims in latency bucket A", |log| Some(log.latency_buckets?.trims[0])),
    count("slow-trims-b", "Trims in latency bucket B", |log| Some(log.latency_buckets?.trims[1])),
    count("slow-trims-c", "Trims in latency bucket C", |log| Some(log.latency_buckets?.trims[2])),
    count("slow-trims-d", "Trims in latency bucket D", |log| Some(log.latency_buckets?.trims[3])),
];

const fn count(
    id: &'static str,
    name: &'static str,
    value: fn(&LogDelta) -> Option<u64>,
) -> DeviceCount {
    DeviceCount { id, name, unit: "", value }
}

impl LogDelta {
    /// Adds the changes of a later step. The units add up too, unless the later step began with the
    /// counters that the earlier one ended with. A change that one of the two lacks is the other's.
    pub fn merge(&mut self, later: &LogDelta) {
        let adjoins = self.after.is_some() && self.after == later.before;
        self.host_unit = merged_unit(self.host_unit, later.host_unit, adjoins);
        self.nand_unit = merged_unit(self.nand_unit, later.nand_unit, adjoins);
        self.host_written = added_bytes(self.host_written, later.host_written);
        self.nand_written = added_bytes(self.nand_written, later.nand_written);
        self.host_read = added_bytes(self.host_read, later.host_read);
        self.media_errors = added(self.media_errors, later.media_errors);
        self.throttle_events = added(self.throttle_events, later.throttle_events);
        self.throttle_seconds = added(self.throttle_seconds, later.throttle_seconds);
        self.critical_warning = match (self.critical_warning, later.critical_warning) {
            (Some(a), Some(b)) => Some(a | b),
            (a, b) => a.or(b),
        };
        self.latency_buckets = match (self.latency_buckets, later.latency_buckets) {
            (Some(mut sum), Some(buckets)) => {
                sum.add(&buckets);
                Some(sum)
            }
            (a, b) => a.or(b),
        };
        self.before = self.before.or(later.before);
        self.after = later.after;
        self.went_backwards |= later.went_backwards;
        self.latency_was_reset |= later.latency_was_reset;
        self.earlier_steps = self.earlier_steps.saturating_add(later.earlier_steps);
    }
}

fn merged_unit(sum: Option<Bytes>, later: Option<Bytes>, adjoins: bool) -> Option<Bytes> {
    match (sum, later) {
        (Some(a), Some(b)) if adjoins => Some(a.max(b)),
        (a, b) => added_bytes(a, b),
    }
}

fn added_bytes(a: Option<Bytes>, b: Option<Bytes>) -> Option<Bytes> {
    added(a.map(|bytes| bytes.0), b.map(|bytes| bytes.0)).map(Bytes)
}

fn added(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
    }
}

/// Flash bytes written per host byte written, by a device's own counters. They advance in units, so
/// that the true value lies between `low` and `high`.
///
/// ```
/// use steadfast_domain::{Bytes, device_log::{LogDelta, WriteAmplification}};
///
/// let mut log = LogDelta {
///     host_written: Some(Bytes(100_000_000)),
///     nand_written: Some(Bytes(150_000_000)),
///     host_unit: Some(Bytes(20_000_000)),
///     nand_unit: Some(Bytes(10_000_000)),
///     ..LogDelta::default()
/// };
/// let coarse = WriteAmplification::from_log(&log).unwrap();
/// assert_eq!((coarse.value(), coarse.to_string().as_str()), (None, "1.17 to 2.00"));
/// log.host_unit = Some(Bytes(512_000));
/// log.nand_unit = Some(Bytes(1));
/// assert_eq!(WriteAmplification::from_log(&log).unwrap().value(), Some(1.5));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WriteAmplification {
    /// Quotient of the counted bytes.
    pub ratio: f64,
    /// Smallest value that the counters allow.
    pub low: f64,
    /// Largest value that the counters allow.
    pub high: f64,
}

impl WriteAmplification {
    /// Largest width of the interval, as a share of the quotient, at which the quotient is given as
    /// the value (our choice).
    pub const NARROW: f64 = 0.02;

    /// Computes the interval from the changes of the counters. `None` if a change or a unit is
    /// unknown, or if the host wrote no more than one unit, so that there is no upper bound.
    pub fn from_log(log: &LogDelta) -> Option<Self> {
        let (host, nand) = (log.host_written?.0, log.nand_written?.0);
        let (host_unit, nand_unit) = (log.host_unit?.0, log.nand_unit?.0);
        let host_least = host.checked_sub(host_unit).filter(|bytes| *bytes > 0)?;
        let nand_least = nand.saturating_sub(nand_unit);
        Some(WriteAmplification {
            ratio: nand as f64 / host as f64,
            low: nand_least as f64 / (host as f64 + host_unit as f64),
            high: (nand as f64 + nand_unit as f64) / host_least as f64,
        })
    }

    /// Returns the bounds that the counters allow.
    pub fn bounds(&self) -> ValueRange {
        ValueRange::new(self.low, self.high)
    }

    /// Returns the quotient if its interval is at most [`WriteAmplification::NARROW`] wide.
    pub fn value(&self) -> Option<f64> {
        let is_narrow = self.high - self.low <= Self::NARROW * self.ratio;
        is_narrow.then_some(self.ratio)
    }
}

impl fmt::Display for WriteAmplification {
    /// Writes the quotient, or the interval if it is wide.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value() {
            Some(value) => write!(f, "{value:.2}"),
            None => write!(f, "{:.2} to {:.2}", self.low, self.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(host: u64, host_unit: u64, nand: u64, nand_unit: u64) -> LogDelta {
        LogDelta {
            host_written: Some(Bytes(host)),
            nand_written: Some(Bytes(nand)),
            host_unit: Some(Bytes(host_unit)),
            nand_unit: Some(Bytes(nand_unit)),
            ..LogDelta::default()
        }
    }

    /// A drive whose true counts are known and whose counters show whole units only, begun at every
    /// phase of its units: the true quotient is always inside the interval.
    #[test]
    fn the_interval_contains_the_true_quotient_at_every_phase_of_the_units() {
        for (unit, nand_unit) in [(512_000, 1), (32 << 20, 32 << 20), (1 << 30, 1 << 30)] {
            for (written, factor) in [(3 << 30, 1.0), (7 << 30, 3.7), (40 << 30, 1.31)] {
                for phase in 0..16u64 {
                    let flash = (written as f64 * factor) as u64;
                    let counted = |before: u64, added: u64, unit: u64| {
                        (before + added) / unit * unit - before / unit * unit
                    };
                    let host = counted(phase * unit / 16, written, unit);
                    let nand = counted(phase * nand_unit / 16, flash, nand_unit);
                    let found =
                        WriteAmplification::from_log(&log(host, unit, nand, nand_unit)).unwrap();
                    let true_ratio = flash as f64 / written as f64;
                    assert!(found.low <= true_ratio && true_ratio <= found.high, "{found:?}");
                }
            }
        }
    }

    #[test]
    fn a_wide_interval_has_no_value() {
        let exact = WriteAmplification::from_log(&log(2_000, 0, 5_000, 0)).unwrap();
        assert_eq!((exact.value(), exact.low, exact.high), (Some(2.5), 2.5, 2.5));
        // 1 % of 100 units at both ends: 2 % wide and a little more.
        let wide = WriteAmplification::from_log(&log(100, 1, 100, 0)).unwrap();
        assert_eq!(wide.value(), None);
        let narrow = WriteAmplification::from_log(&log(101, 1, 101, 0)).unwrap();
        assert_eq!(narrow.value(), Some(1.0));
        assert_eq!(WriteAmplification::from_log(&log(5, 5, 9, 1)), None);
        assert_eq!(WriteAmplification::from_log(&log(0, 0, 9, 1)), None);
        let unit_unknown = LogDelta { nand_unit: None, ..log(100, 1, 100, 1) };
        assert_eq!(WriteAmplification::from_log(&unit_unknown), None);
        let none_to_flash = WriteAmplification::from_log(&log(10, 1, 0, 3)).unwrap();
        assert_eq!((none_to_flash.low, none_to_flash.to_string()), (0.0, "0.00 to 0.33".into()));
    }

    #[test]
    fn units_add_up_unless_steps_adjoin() {
        let counters = |host: u64| {
            Some(DeviceCounters { host_written: Some(Bytes(host)), ..DeviceCounters::default() })
        };
        let first = LogDelta { before: counters(10), after: counters(110), ..log(100, 10, 300, 2) };
        let next = LogDelta { before: counters(110), after: counters(160), ..log(50, 10, 100, 2) };
        let mut sum = first;
        sum.merge(&next);
        assert_eq!((sum.host_written, sum.nand_written), (Some(Bytes(150)), Some(Bytes(400))));
        assert_eq!((sum.host_unit, sum.nand_unit), (Some(Bytes(10)), Some(Bytes(2))));
        assert_eq!((sum.before, sum.after), (counters(10), counters(160)));
        let later = LogDelta { before: counters(170), ..next };
        sum.merge(&later);
        assert_eq!((sum.host_unit, sum.nand_unit), (Some(Bytes(20)), Some(Bytes(4))));
        let mut from_nothing = LogDelta::default();
        from_nothing.merge(&first);
        assert_eq!(from_nothing, first);
    }

    #[test]
    fn a_lower_bucket_count_is_a_reset() {
        let buckets = |reads| LatencyBuckets { reads, ..LatencyBuckets::default() };
        let since = buckets([5, 3, 1, 1]).since(&buckets([2, 3, 0, 0]));
        assert_eq!(since, Some(buckets([3, 0, 1, 1])));
        assert_eq!(buckets([5, 3, 0, 0]).since(&buckets([2, 4, 0, 0])), None);
    }
}
