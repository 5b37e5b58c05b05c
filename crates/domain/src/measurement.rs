//! A [`Measurement`]: what one step did, counted.

use crate::histogram::CoarseHistogram;
pub use crate::kernel_counts::KernelCounters;
use crate::replayed::Replayed;
use crate::stimulus::{Op, Pace};
pub use crate::tally::{StreamTally, Tally, Unmeasured, mean, mean_ms};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One direction's part of one interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IntervalTally {
    /// What the I/Os did.
    pub op: Op,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// All response times added up.
    pub response_sum: Nanos,
    /// The longest response time.
    pub response_max: Nanos,
    /// Every response time, to within a bucket (6.25 %).
    pub histogram: CoarseHistogram,
}

/// About one second of accounting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Interval {
    /// Beginning, counted from the measurement's beginning.
    pub begin: Nanos,
    /// End, counted from the measurement's beginning.
    pub end: Nanos,
    /// Shorter than it should be: the step ended inside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The directions that completed an I/O in it.
    pub tallies: Vec<IntervalTally>,
}

impl Interval {
    /// I/Os completed per second, all directions.
    pub fn iops(&self) -> Option<f64> {
        let ios: u64 = self.tallies.iter().map(|t| t.ios).sum();
        rate(ios, self.end.saturating_sub(self.begin))
    }
    /// Bytes moved per second, all directions.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let bytes: u64 = self.tallies.iter().map(|t| t.bytes.0).sum();
        rate(bytes, self.end.saturating_sub(self.begin))
    }
    /// Mean response time, all directions, rounded to a nanosecond; `None` if nothing completed.
    pub fn response_mean(&self) -> Option<Nanos> {
        mean(Nanos(self.response_sum()), self.ios())
    }
    /// Mean response time in milliseconds, all directions, not rounded; `None` if nothing
    /// completed.
    pub fn response_mean_ms(&self) -> Option<f64> {
        mean_ms(Nanos(self.response_sum()), self.ios())
    }
    fn ios(&self) -> u64 {
        self.tallies.iter().map(|t| t.ios).sum()
    }
    fn response_sum(&self) -> u64 {
        self.tallies.iter().map(|t| t.response_sum.0).sum()
    }
}

/// Processor time of the threads that moved the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuTime {
    /// In user space.
    pub user: Nanos,
    /// In the kernel.
    pub system: Nanos,
}

/// A time in which no thread of the program could run: it was stopped or
/// frozen, the machine was suspended, or the virtual machine had no processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stall {
    /// Its beginning, counted from the measurement's beginning.
    pub at: Nanos,
    /// How much of the measured time it took.
    pub lasted: Nanos,
}

/// A time of one second or more in which I/Os were outstanding and none completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Silence {
    /// Its beginning, counted from the measurement's beginning.
    pub at: Nanos,
    /// Its length; it may last beyond the measured time.
    pub lasted: Nanos,
}

impl Silence {
    /// A shorter time without a completion is not kept.
    pub const SHORTEST: Nanos = Nanos::SECOND;

    /// The silences that intervals show: one or more in a row without a completion, from
    /// engines that see intervals alone. None are known of a paced load, which may have
    /// nothing outstanding.
    pub fn from_intervals(pace: Pace, intervals: &[Interval]) -> Vec<Silence> {
        if pace != Pace::Closed {
            return Vec::new();
        }
        let mut silences: Vec<Silence> = Vec::new();
        let mut open = false;
        for interval in intervals {
            let is_silent = interval.tallies.iter().all(|tally| tally.ios == 0);
            let length = interval.end.saturating_sub(interval.begin);
            match silences.last_mut() {
                Some(silence) if is_silent && open => silence.lasted += length,
                _ if is_silent => silences.push(Silence { at: interval.begin, lasted: length }),
                _ => {}
            }
            open = is_silent;
        }
        silences.retain(|silence| silence.lasted >= Silence::SHORTEST);
        silences
    }
}

/// What stalls make of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stalling {
    /// Too little to be seen in its numbers.
    Slight,
    /// Its numbers need a caveat.
    Marked,
    /// It is void.
    Void,
}

/// An I/O that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Fault {
    /// What it should have done.
    pub op: Op,
    /// Its first byte.
    pub offset: Bytes,
    /// Its size.
    pub size: Bytes,
    /// The kernel's error number; 0 for a short transfer.
    pub errno: i32,
    /// When it failed, counted from the measurement's beginning.
    pub at: Nanos,
}

/// Sectors read back and compared with what this run wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Verification {
    /// Sectors whose stamp was checked and right.
    pub sectors_right: u64,
    /// Sectors that this run had not written, so nothing is known of them.
    pub sectors_unknown: u64,
    /// Sectors that this run wrote and that held something else.
    pub miscompares: u64,
    /// The first of those, by byte offset.
    pub first: Vec<Bytes>,
}

impl Verification {
    /// Miscompares whose place is kept.
    pub const LOCATED: usize = 32;

    /// Adds what another step compared.
    pub fn merge(&mut self, other: &Verification) {
        self.sectors_right += other.sectors_right;
        self.sectors_unknown += other.sectors_unknown;
        self.miscompares += other.miscompares;
        self.first.extend(&other.first);
        self.first.truncate(Self::LOCATED);
    }
}

/// What the processors of the whole host did during the step: shares of their
/// time, 0 to 1, all processors together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostCpu {
    /// In user space.
    pub user: f64,
    /// In the kernel, interrupts included.
    pub system: f64,
    /// Idle with I/O outstanding.
    pub io_wait: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
}

/// What the device's own logs counted during the step (NVMe SMART and OCP
/// logs, ATA and SCSI statistics). `None` where the device does not tell.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default)]
pub struct LogDelta {
    /// Bytes that the device says the host wrote.
    pub host_written: Option<Bytes>,
    /// Bytes written to the flash.
    pub nand_written: Option<Bytes>,
    /// Media and data integrity errors.
    pub media_errors: Option<u64>,
    /// Times that the device throttled because of its temperature.
    pub throttle_events: Option<u64>,
    /// Seconds spent throttled or above a temperature limit.
    pub throttle_seconds: Option<u64>,
    /// NVMe critical warning bits at the end of the step.
    pub critical_warning: Option<u8>,
}

/// What was sensed around a step: the optional secondary metrics and the
/// evidence for limits that are not the device's.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Sensed {
    /// Device temperature at the end, in degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<f64>,
    /// Mean power during the step, in milliwatts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_milliwatts: Option<f64>,
    /// All processors of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_cpu: Option<HostCpu>,
    /// Time for which a processor quota of the program's control groups stopped it; `None` if
    /// no group has a quota, or the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_throttling: Option<CpuThrottling>,
    /// Processor time of the busiest load thread as a share of the measured
    /// time, 0 to 1: near 1, the host and not the device set the pace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_thread: Option<f64>,
    /// The device's own logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogDelta>,
}

/// How a load began that several targets of one host began together.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct CommonStart {
    /// The moment that was agreed on, by the host's `CLOCK_MONOTONIC`: the same in the
    /// records of all that began together.
    pub agreed: Nanos,
    /// How long after it this load began; `None` where the engine cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Nanos>,
    /// How long this target waited for the last of the others.
    pub waited: Nanos,
    /// Targets that began together.
    pub targets: u32,
}

/// What one of several hosts did of a step. The step's own counts hold it too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostPart {
    /// The host, as the user named it.
    pub host: String,
    /// What its fio calls itself; `None` where nobody could ask it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio: Option<String>,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// All response times added up.
    pub response_sum: Nanos,
    /// The longest response time.
    pub response_max: Nanos,
    /// How long it loaded the device.
    pub elapsed: Nanos,
    /// How long after the first host it began, by clocks that were compared; `None` where
    /// they could not be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Nanos>,
}

impl HostPart {
    /// I/Os completed per second; `None` where no time was measured.
    pub fn iops(&self) -> Option<f64> {
        rate(self.ios, self.elapsed)
    }
}

/// One of several loads that were applied at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LoadPart {
    /// How many of the step's stream tallies are its own; they follow those of the loads
    /// before it.
    pub streams: u32,
    /// Its own measured time: it may end before the others.
    pub elapsed: Nanos,
}

/// What a step did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Measurement {
    /// Wall-clock time at its beginning, in milliseconds since 1970 (UTC);
    /// virtual on a simulated device.
    pub began_unix_ms: u64,
    /// Length of the measured part.
    pub elapsed: Nanos,
    /// The load reached its end; false where a cut left it running.
    pub complete: bool,
    /// One tally per I/O stream, in the load's order; one per direction where a
    /// direction has several streams and the engine cannot tell them apart (fio);
    /// one per operation where the load is a script.
    pub streams: Vec<StreamTally>,
    /// Where several loads were applied at once: each of them, in the load's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LoadPart>,
    /// I/Os that completed outside the measured time: during the ramp, or after
    /// the end because they were still outstanding. In no other count, but the
    /// kernel and the device have seen them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<Unmeasured>,
    /// I/Os that had not come back when they were no longer waited for. Their response times in
    /// the tallies are lower bounds: the time until then.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outstanding: u64,
    /// When I/Os were outstanding and none completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silences: Vec<Silence>,
    /// When no thread of the program could run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// Second by second.
    pub intervals: Vec<Interval>,
    /// Where every sequential cursor stands: the byte offset of its next I/O.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cursors: BTreeMap<String, Bytes>,
    /// The seed that the I/Os were drawn with, where it is not the load's own:
    /// the load went on after a gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Processor time, where it could be measured.
    pub cpu: Option<CpuTime>,
    /// I/Os that failed.
    #[serde(default)]
    pub fault_count: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Read-back comparison, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The kernel's own counts, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelCounters>,
    /// What was played of a script, where the load is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<Replayed>>,
    /// Flash bytes written per host byte written, where the device tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// How its load began, where several targets began together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_start: Option<CommonStart>,
    /// What each host did, where several loaded the device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPart>,
    /// Temperature, power, processors, device logs.
    #[serde(default)]
    pub sensed: Sensed,
}

/// How much processor time the program's control groups had to wait for during a step because
/// a quota was used up (`cpu.stat`).
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct CpuThrottling {
    /// Periods in which a quota was used up.
    pub periods: u64,
    /// Time that runnable threads of the group waited, all processors added up.
    pub time: Nanos,
}

impl Measurement {
    /// The stream tallies of each of several loads that were applied at once, with its
    /// measured time.
    pub fn apart(&self) -> impl Iterator<Item = (&[StreamTally], Nanos)> {
        let mut rest = self.streams.as_slice();
        self.parts.iter().map(move |part| {
            let (own, others) = rest.split_at((part.streams as usize).min(rest.len()));
            rest = others;
            (own, part.elapsed)
        })
    }
    /// The tally of one direction: its streams added up.
    pub fn direction(&self, op: Op) -> Tally {
        self.added(|stream| stream.op == op)
    }
    /// The tally of reads and writes together: a mixed step's I/O count is
    /// their sum, never a mean weighted by the mix.
    pub fn total(&self) -> Tally {
        self.added(|stream| stream.op != Op::Flush)
    }
    /// The tally of all operations, flushes included: what a replay is compared by, as a capture
    /// counts flushes among its I/Os.
    pub fn with_flushes(&self) -> Tally {
        self.added(|_| true)
    }
    fn added(&self, wanted: impl Fn(&StreamTally) -> bool) -> Tally {
        let mut sum = Tally::default();
        self.streams.iter().filter(|s| wanted(s)).for_each(|s| sum.merge(&s.tally));
        sum
    }
    /// Reads and writes completed per second; `None` where no time was measured.
    pub fn iops(&self) -> Option<f64> {
        let ios = self.streams.iter().filter(|s| s.op != Op::Flush).map(|s| s.tally.ios).sum();
        rate(ios, self.elapsed)
    }
    /// Bytes moved per second; `None` where no time was measured.
    pub fn bytes_per_second(&self) -> Option<f64> {
        rate(self.bytes().0, self.elapsed)
    }
    /// MB (10^6 bytes) moved per second; `None` where no time was measured.
    pub fn mb_per_second(&self) -> Option<f64> {
        self.bytes_per_second().map(|rate| rate / 1e6)
    }
    /// Bytes moved.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.streams.iter().map(|s| s.tally.bytes.0).sum())
    }
    /// Processor time for each I/O in user space and in the kernel, in nanoseconds;
    /// `None` where it was not measured or nothing completed.
    pub fn cpu_ns_per_io(&self) -> Option<(f64, f64)> {
        let (cpu, ios) = (self.cpu?, self.total().ios);
        (ios > 0).then(|| (cpu.user.0 as f64 / ios as f64, cpu.system.0 as f64 / ios as f64))
    }
    /// Bytes written, the I/Os outside the measured time included: the device
    /// has seen them.
    pub fn written(&self) -> Bytes {
        let outside = self.unmeasured.iter().filter(|part| part.op == Op::Write);
        let outside: u64 = outside.map(|part| part.bytes.0).sum();
        Bytes(self.direction(Op::Write).bytes.0 + outside)
    }
    /// The time for which a processor quota stopped the program, as a share of the measured
    /// time; above 1 if it stopped several processors. `None` if there is no quota.
    pub fn throttled_share(&self) -> Option<f64> {
        let throttled = self.sensed.cpu_throttling?.time;
        (self.elapsed > Nanos::ZERO).then(|| throttled.0 as f64 / self.elapsed.0 as f64)
    }
    /// For how long no thread of the program could run.
    pub fn stalled(&self) -> Nanos {
        Nanos(self.stalls.iter().map(|stall| stall.lasted.0).sum())
    }
    /// What that makes of the step (our rule, docs/methods.md): more than 10 %
    /// of the measured time and 1.5 s voids it, more than 1 % and
    /// a tenth of a second is worth a caveat.
    pub fn stalling(&self) -> Stalling {
        let (stalled, elapsed) = (self.stalled().0, self.elapsed.0);
        if stalled > elapsed / 10 && stalled > VOIDING.0 {
            Stalling::Void
        } else if stalled > elapsed / 100 && stalled > NOTICED.0 {
            Stalling::Marked
        } else {
            Stalling::Slight
        }
    }
}

/// Stalls of a step that add up to less are no matter.
const NOTICED: Nanos = Nanos::from_millis(100);

/// Stalls that add up to less void no step, however short it is: a busy disk or
/// memory that is being compacted can keep every thread waiting for a third of one.
const VOIDING: Nanos = Nanos::from_millis(1500);

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn rate(count: u64, time: Nanos) -> Option<f64> {
    (time.0 > 0).then(|| count as f64 / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_slight_or_marks_or_voids_a_step_by_its_part_of_it() {
        let stalling = |elapsed: u64, lasted: &[u64]| {
            let stall =
                |lasted: &u64| Stall { at: Nanos::ZERO, lasted: Nanos::from_millis(*lasted) };
            let stalls = lasted.iter().map(stall).collect();
            let elapsed = Nanos::from_millis(elapsed);
            Measurement { elapsed, stalls, ..Measurement::default() }.stalling()
        };
        for (elapsed, lasted, expected) in [
            (5_000, &[][..], Stalling::Slight),
            (5_000, &[100], Stalling::Slight),
            (5_000, &[101], Stalling::Marked),
            (60_000, &[600], Stalling::Slight),
            (60_000, &[300, 301], Stalling::Marked),
            (60_000, &[6_000], Stalling::Marked),
            (60_000, &[6_001], Stalling::Void),
            (500, &[90], Stalling::Slight),
            (500, &[110], Stalling::Marked),
            (3_000, &[1_500], Stalling::Marked),
            (3_000, &[1_501], Stalling::Void),
            (0, &[1_501], Stalling::Void),
        ] {
            assert_eq!(stalling(elapsed, lasted), expected, "{elapsed} {lasted:?}");
        }
    }

    #[test]
    fn intervals_without_a_completion_are_silences_of_a_load_that_is_not_paced() {
        let interval = |begin: u64, ios: u64| {
            let tally = IntervalTally {
                op: Op::Read,
                ios,
                bytes: Bytes(0),
                response_sum: Nanos(0),
                response_max: Nanos(0),
                histogram: CoarseHistogram::default(),
            };
            let begin = Nanos::from_secs(begin);
            let end = begin + Nanos::SECOND;
            Interval { begin, end, partial: false, tallies: vec![tally] }
        };
        let counts = [5, 0, 0, 7, 0, 9, 0, 0, 0];
        let intervals: Vec<Interval> =
            counts.iter().enumerate().map(|(at, ios)| interval(at as u64, *ios)).collect();
        let found = Silence::from_intervals(Pace::Closed, &intervals);
        let expected = [(1, 2), (4, 1), (6, 3)].map(|(at, lasted)| Silence {
            at: Nanos::from_secs(at),
            lasted: Nanos::from_secs(lasted),
        });
        assert_eq!(found, expected);
        let paced = Pace::Fixed { ios: 1, per: Nanos::SECOND };
        assert_eq!(Silence::from_intervals(paced, &intervals), []);
    }

    #[test]
    fn a_measurement_without_anything_odd_says_nothing_of_it() {
        let plain = serde_json::to_value(Measurement::default()).unwrap();
        for name in ["seed", "outstanding", "silences", "stalls", "replay"] {
            assert!(plain.get(name).is_none(), "{name}");
        }
        let read: Measurement = serde_json::from_value(plain).unwrap();
        assert_eq!(read, Measurement::default());
    }
}
