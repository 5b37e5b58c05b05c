//! A [`Measurement`]: the counts and times of one step.

pub use crate::device_log::{LogDelta, WriteAmplification};
use crate::histogram::CoarseHistogram;
pub use crate::kernel_counts::KernelCounters;
use crate::replayed::ReplayResult;
use crate::serde_text::is_default;
use crate::start_error::StartError;
use crate::stimulus::{Op, Pace};
pub use crate::tally::{StreamTally, Tally, UnmeasuredIos, mean, mean_ms};
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Totals of one operation in one interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalTally {
    /// Operation of the I/Os.
    pub op: Op,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: Bytes,
    /// Sum of all response times.
    pub response_sum: Nanos,
    /// Longest response time.
    pub response_max: Nanos,
    /// Distribution of the response times; a bucket is up to 6.25 % wide.
    pub histogram: CoarseHistogram,
}

/// Totals of an accounting interval of about one second, or of the length that its step asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Start of the interval, since the measurement began.
    pub begin: Nanos,
    /// End of the interval, since the measurement began.
    pub end: Nanos,
    /// True if the interval is shorter than intended because the step ended inside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// One entry per operation that completed an I/O in the interval.
    pub tallies: Vec<IntervalTally>,
}

impl Interval {
    /// Returns the tallies of the operations that move data or discard it. Flushes are no part of
    /// the rates and response times of all I/Os, as in [`Measurement::total`].
    pub fn moving(&self) -> impl Iterator<Item = &IntervalTally> {
        self.tallies.iter().filter(|tally| tally.op != Op::Flush)
    }
    /// Returns the I/Os completed per second, without flushes; `None` for an interval of no length.
    pub fn iops(&self) -> Option<f64> {
        rate(self.ios(), self.end.saturating_sub(self.begin))
    }
    /// Returns the bytes transferred per second, all operations; `None` for an interval of no
    /// length.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let bytes: u64 = self.tallies.iter().map(|t| t.bytes.0).sum();
        rate(bytes, self.end.saturating_sub(self.begin))
    }
    /// Returns the mean response time without flushes, rounded to a nanosecond; `None` if nothing
    /// completed.
    pub fn response_mean(&self) -> Option<Nanos> {
        mean(Nanos(self.response_sum()), self.ios())
    }
    /// Returns the mean response time without flushes in milliseconds, not rounded; `None` if
    /// nothing completed.
    pub fn response_mean_ms(&self) -> Option<f64> {
        mean_ms(Nanos(self.response_sum()), self.ios())
    }
    fn ios(&self) -> u64 {
        self.moving().map(|t| t.ios).sum()
    }
    fn response_sum(&self) -> u64 {
        self.moving().map(|t| t.response_sum.0).sum()
    }
}

/// CPU time of the threads that moved the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// CPU time in user space.
    pub user: Nanos,
    /// CPU time in the kernel.
    pub system: Nanos,
}

/// A period in which no thread of the program could run: the program was stopped or frozen, the
/// machine was suspended, or the virtual machine had no CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// Start of the stall, since the measurement began; 0 for a stall in the ramp.
    pub at: Nanos,
    /// Time lost to the stall.
    pub lasted: Nanos,
}

/// A period of at least one second in which I/Os were outstanding and none completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Silence {
    /// Start of the period, since the measurement began.
    pub at: Nanos,
    /// Length of the period; it may extend beyond the measured time.
    pub lasted: Nanos,
}

impl Silence {
    /// Minimum length; shorter periods are not recorded.
    pub const SHORTEST: Nanos = Nanos::SECOND;

    /// Returns the silences found in intervals: one or more consecutive intervals without a
    /// completion. For engines that see intervals only. Returns none for a paced load, which may
    /// have no I/O outstanding.
    pub fn from_intervals(pace: &Pace, intervals: &[Interval]) -> Vec<Silence> {
        if *pace != Pace::Closed {
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

/// Effect of stalls on a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallEffect {
    /// Too short to affect the numbers.
    Slight,
    /// The numbers need a caveat.
    Marked,
    /// The step is void.
    Void,
}

/// An I/O that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// Operation of the I/O.
    pub op: Op,
    /// First byte.
    pub offset: Bytes,
    /// Transfer size.
    pub size: Bytes,
    /// Kernel error number (`errno`); 0 for a short transfer.
    pub errno: i32,
    /// Time of the failure, since the measurement began.
    pub at: Nanos,
}

/// Result of comparing sectors that were read back with what this run wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// Sectors whose stamp was checked and correct.
    pub sectors_right: u64,
    /// Sectors that this run had not written and therefore could not check.
    pub sectors_unknown: u64,
    /// Sectors that this run wrote and that held something else.
    pub miscompares: u64,
    /// Byte offsets of the first miscompares, at most [`Verification::LOCATED`].
    pub first: Vec<Bytes>,
}

impl Verification {
    /// Maximum number of miscompares whose offset is kept.
    pub const LOCATED: usize = 32;

    /// Adds the result of another step.
    pub fn merge(&mut self, other: &Verification) {
        self.sectors_right += other.sectors_right;
        self.sectors_unknown += other.sectors_unknown;
        self.miscompares += other.miscompares;
        self.first.extend(&other.first);
        self.first.truncate(Self::LOCATED);
    }
}

/// CPU use of the whole host during the step: shares of the time of all CPUs together, from 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostCpu {
    /// Share spent in user space.
    pub user: f64,
    /// Share spent in the kernel, interrupts included.
    pub system: f64,
    /// Share spent idle with I/O outstanding (iowait).
    pub io_wait: f64,
    /// Share taken by the hypervisor (steal).
    pub steal: f64,
    /// Share spent in interrupt handlers, part of `system`; `None` in records without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<f64>,
    /// Share spent in soft interrupts, part of `system`; `None` in records without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft_interrupts: Option<f64>,
}

/// Activity of the host between the readings around a step, by the kernel's own counters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostActivity {
    /// Time between the two readings.
    pub elapsed: Nanos,
    /// CPU use of each processor, by its number.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub processors: BTreeMap<u32, HostCpu>,
    /// Interrupts that the host served; `None` if they were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<u64>,
    /// Packets that the host's network interfaces received and sent, without the loopback
    /// interface; `None` if they were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u64>,
    /// Packets with errors, of the same interfaces; `None` if they were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_errors: Option<u64>,
    /// TCP segments that were sent again; `None` if they were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments_retransmitted: Option<u64>,
}

/// Readings taken around a step: the optional secondary metrics, and the evidence that something
/// other than the device was the limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SensorReadings {
    /// Device temperature at the end, in degrees Celsius; `None` if it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<f64>,
    /// Ambient temperature: mean of the readings before and after the step, in degrees Celsius;
    /// `None` if no sensor was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ambient_celsius: Option<f64>,
    /// Mean power during the step, in milliwatts; `None` if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_milliwatts: Option<f64>,
    /// CPU use of the whole host; `None` if it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_cpu: Option<HostCpu>,
    /// Use of each processor, interrupts and network packets; `None` if they were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Box<HostActivity>>,
    /// Time for which a CPU quota stopped the program's control groups; `None` if no group has a
    /// quota, or the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_throttling: Option<CpuThrottling>,
    /// Limits of the program's control groups on I/O to the device, in force at the begin or the
    /// end, and memory limits that were reached meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cgroup_limits: Vec<CgroupLimit>,
    /// CPU time of the busiest load thread as a share of the measured time, 0 to 1: near 1, the
    /// host and not the device is the limit. `None` if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busiest_thread: Option<f64>,
    /// Counters of the device's own logs; `None` if they were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log: Option<LogDelta>,
}

/// Start of a load that several targets of one host began together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommonStart {
    /// Agreed start time by the host's `CLOCK_MONOTONIC`: the same in the records of all targets
    /// that began together.
    pub agreed: Nanos,
    /// Delay between the agreed time and the start of this load; `None` if the engine does not
    /// report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Nanos>,
    /// Time that this target waited for the last of the others.
    pub waited: Nanos,
    /// Number of targets that began together.
    pub targets: u32,
}

/// Contribution of one of several hosts to a step. The totals of the step include it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostPart {
    /// Host as the user named it.
    pub host: String,
    /// Version that the host's fio reports; `None` if it could not be queried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fio: Option<String>,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: Bytes,
    /// Sum of all response times.
    pub response_sum: Nanos,
    /// Longest response time.
    pub response_max: Nanos,
    /// Time for which the host loaded the device.
    pub elapsed: Nanos,
    /// Delay between the start of the first host and the start of this one, by compared clocks;
    /// `None` if the clocks could not be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late: Option<Nanos>,
}

impl HostPart {
    /// Returns the I/Os completed per second; `None` if no time was measured.
    pub fn iops(&self) -> Option<f64> {
        rate(self.ios, self.elapsed)
    }
}

/// I/Os of one thread of a step, which the streams of the step include.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTally {
    /// One tally per operation that the thread completed.
    pub operations: Vec<StreamTally>,
}

/// Share of one load in a step that applied several loads at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPart {
    /// Number of entries in [`Measurement::streams`] that belong to this load; they follow those of
    /// the loads before it.
    pub streams: u32,
    /// Measured time of this load, which may end before the others.
    pub elapsed: Nanos,
}

/// Results of one load of a step that applied several loads at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredLoad<'m> {
    /// Tallies of its streams.
    pub streams: &'m [StreamTally],
    /// Measured time of this load, which may end before the others.
    pub elapsed: Nanos,
}

/// Everything measured during one step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// Wall-clock time at which the measurement began, in milliseconds since 1970 (UTC); virtual
    /// time for a simulated device.
    pub began_unix_ms: u64,
    /// Length of the measured time.
    pub elapsed: Nanos,
    /// True if the load reached its end; false if a cut left it running.
    pub complete: bool,
    /// One tally per I/O stream, in the order of the load, and one of the flushes if the load
    /// flushes after its writes. One per operation if several streams
    /// share an operation and the engine cannot tell them apart (fio), and for a script.
    pub streams: Vec<StreamTally>,
    /// Response times of the writes of a load that flushes after its writes, until they were
    /// written: the tallies in `streams` have the times until the commit, which includes the
    /// flush. `None` for any other load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes_alone: Option<Tally>,
    /// Tallies of each thread by operation, in the order of the loads and their threads; empty
    /// unless the load asks for them and the engine counts by thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadTally>,
    /// Loads that were applied at once, in the order of the load; empty for a single load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<LoadPart>,
    /// I/Os that completed outside the measured time: during the ramp, or after the end because
    /// they were still outstanding. No other count includes them, but the kernel and the device
    /// have seen them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmeasured: Vec<UnmeasuredIos>,
    /// I/Os still outstanding when the engine stopped waiting for them. Their response times in the
    /// tallies are lower bounds: the time until then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outstanding: u64,
    /// Periods of at least one second with I/Os outstanding and no completion.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silences: Vec<Silence>,
    /// Periods in which no thread of the program could run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// Start errors of the I/Os of paced loads. `None` for closed loops and scripts, without I/Os,
    /// and for engines that do not report them (fio).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_error: Option<Box<StartError>>,
    /// Totals per interval of about one second, or of the length that the step asks for.
    pub intervals: Vec<Interval>,
    /// Position of every sequential cursor: the byte offset of its next I/O.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cursors: BTreeMap<String, Bytes>,
    /// Seed from which the I/Os were drawn, if it is not the load's own because the load continued
    /// after a gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// CPU time of the load threads; `None` if it could not be measured.
    pub cpu: Option<CpuTime>,
    /// Number of I/Os that failed.
    #[serde(default)]
    pub fault_count: u64,
    /// The first of the failed I/Os.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
    /// Result of reading data back and comparing them; `None` if it was not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The kernel's own counts; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelCounters>,
    /// Account of the replay; `None` unless the load is a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayResult>>,
    /// Flash bytes written per host byte written; `None` if the device does not report them, or if
    /// its counters advance in units that are too large to say anything about this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<WriteAmplification>,
    /// Kernel interface that carried the I/Os, with the reason, if it is not the one that the engine
    /// states for the run; `None` otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// Common start with other targets; `None` if this target began alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub common_start: Option<CommonStart>,
    /// Contribution of each host; empty unless several hosts loaded the device.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPart>,
    /// Temperature, power, CPU use and device logs.
    #[serde(default)]
    pub sensed: SensorReadings,
}

/// CPU time that the program's control groups waited for during a step because a quota was used up
/// (`cpu.stat`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuThrottling {
    /// Periods in which a quota was used up.
    pub periods: u64,
    /// Time that runnable threads of the group waited, summed over all CPUs.
    pub time: Nanos,
}

/// Limit of a control group of the program.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct CgroupLimit {
    /// Path of the group below the mount of the control groups; version 1 has the controller first.
    pub group: String,
    /// Kind of limit, as the kernel names it: `io.max`, `blkio.throttle.read_iops`, `memory.high`.
    pub file: String,
    /// Value of the limit in the kernel's notation; empty if it was not there to be read.
    pub set: String,
    /// Times that the limit was reached; `None` if the kernel does not count it, as for I/O.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
}

impl CgroupLimit {
    /// Returns true if it limits memory, not I/O.
    pub fn is_of_memory(&self) -> bool {
        self.file.starts_with("memory.")
    }
}

impl fmt::Display for CgroupLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CgroupLimit { group, file, set, .. } = self;
        let blank = if set.is_empty() { "" } else { " " };
        write!(f, "{file}{blank}{set} of the control group {group}")
    }
}

impl Measurement {
    /// Returns the results of each load of a step that applied several loads at once; empty for any
    /// other step.
    pub fn concurrent_loads(&self) -> impl Iterator<Item = MeasuredLoad<'_>> {
        let mut remaining = self.streams.as_slice();
        self.parts.iter().map(move |part| {
            let (streams, later) = remaining.split_at((part.streams as usize).min(remaining.len()));
            remaining = later;
            MeasuredLoad { streams, elapsed: part.elapsed }
        })
    }
    /// Returns the sum of the tallies of all streams with this operation.
    pub fn direction(&self, op: Op) -> Tally {
        self.sum_where(|stream| stream.op == op)
    }
    /// Returns the tally of all operations but flushes: the I/O count of a mixed step is their sum,
    /// never a mean weighted by the mix.
    pub fn total(&self) -> Tally {
        self.sum_where(|stream| stream.op != Op::Flush)
    }
    /// Returns the tally of all operations including flushes, for comparing a replay with its
    /// capture, which counts flushes as I/Os.
    pub fn with_flushes(&self) -> Tally {
        self.sum_where(|_| true)
    }
    fn sum_where(&self, wanted: impl Fn(&StreamTally) -> bool) -> Tally {
        self.streams.iter().filter(|s| wanted(s)).map(|s| &s.tally).sum()
    }
    /// Returns the I/Os other than flushes completed per second; `None` if no time was measured.
    pub fn iops(&self) -> Option<f64> {
        let ios = self.streams.iter().filter(|s| s.op != Op::Flush).map(|s| s.tally.ios).sum();
        rate(ios, self.elapsed)
    }
    /// Returns the bytes transferred per second; `None` if no time was measured.
    pub fn bytes_per_second(&self) -> Option<f64> {
        rate(self.bytes().0, self.elapsed)
    }
    /// Returns the MB (10^6 bytes) transferred per second; `None` if no time was measured.
    pub fn mb_per_second(&self) -> Option<f64> {
        self.bytes_per_second().map(|rate| rate / 1e6)
    }
    /// Returns the bytes transferred by all streams.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.streams.iter().map(|s| s.tally.bytes.0).sum())
    }
    /// Returns the CPU time per I/O in user space and in the kernel, in nanoseconds; `None` if it
    /// was not measured or nothing completed.
    pub fn cpu_ns_per_io(&self) -> Option<(f64, f64)> {
        let (cpu, ios) = (self.cpu?, self.total().ios);
        (ios > 0).then(|| (cpu.user.0 as f64 / ios as f64, cpu.system.0 as f64 / ios as f64))
    }
    /// Returns the mean power in watts; `None` if it was not measured or is zero.
    pub fn watts(&self) -> Option<f64> {
        self.sensed.power_milliwatts.map(|power| power / 1e3).filter(|watts| *watts > 0.0)
    }
    /// Returns the energy of the step in joules: its mean power times its measured time. `None` if
    /// the power was not measured.
    pub fn joules(&self) -> Option<f64> {
        Some(self.watts()? * self.elapsed.as_secs_f64())
    }
    /// Returns the I/Os per second for each watt, which are I/Os per joule; `None` without power.
    pub fn iops_per_watt(&self) -> Option<f64> {
        Some(self.iops()? / self.watts()?)
    }
    /// Returns the energy per GB (10^9 bytes) transferred, in joules; `None` without power or
    /// transfers.
    pub fn joules_per_gb(&self) -> Option<f64> {
        let bytes = Some(self.bytes()).filter(|bytes| bytes.0 > 0)?;
        Some(self.joules()? / bytes.as_gb())
    }
    /// Returns the bytes written, including I/Os that completed outside the measured time: the
    /// device has seen them.
    pub fn written(&self) -> Bytes {
        let outside = self.unmeasured.iter().filter(|part| part.op == Op::Write);
        let outside: u64 = outside.map(|part| part.bytes.0).sum();
        Bytes(self.direction(Op::Write).bytes.0 + outside)
    }
    /// Returns the time for which a CPU quota stopped the program, as a share of the measured time;
    /// above 1 if it stopped several CPUs. `None` if there is no quota or no time was measured.
    pub fn throttled_share(&self) -> Option<f64> {
        let throttled = self.sensed.cpu_throttling?.time;
        (self.elapsed > Nanos::ZERO).then(|| throttled.0 as f64 / self.elapsed.0 as f64)
    }
    /// Returns the total time in which no thread of the program could run.
    pub fn stalled(&self) -> Nanos {
        Nanos(self.stalls.iter().map(|stall| stall.lasted.0).sum())
    }
    /// Returns the effect of the stalls on the step (our rule, docs/methods.md): more than 10 % of
    /// the measured time and more than 1.5 s voids the step; more than 1 % and more than 0.1 s
    /// calls for a caveat.
    pub fn stalling(&self) -> StallEffect {
        let (stalled, elapsed) = (self.stalled().0, self.elapsed.0);
        if stalled > elapsed / 10 && stalled > STALLED_VOID_MIN.0 {
            StallEffect::Void
        } else if stalled > elapsed / 100 && stalled > STALLED_MARKED_MIN.0 {
            StallEffect::Marked
        } else {
            StallEffect::Slight
        }
    }
}

/// Stalls of a step that add up to this or less are ignored.
const STALLED_MARKED_MIN: Nanos = Nanos::from_millis(100);

/// Stalls that add up to this or less never void a step, however short it is: a busy disk or memory
/// compaction can block every thread for a third of a step.
const STALLED_VOID_MIN: Nanos = Nanos::from_millis(1500);

fn rate(count: u64, time: Nanos) -> Option<f64> {
    (time.0 > 0).then(|| count as f64 / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(op: Op, ios: u64, response_sum: u64) -> IntervalTally {
        IntervalTally {
            op,
            ios,
            bytes: Bytes(0),
            response_sum: Nanos(response_sum),
            response_max: Nanos(0),
            histogram: CoarseHistogram::default(),
        }
    }

    #[test]
    fn the_share_of_stalls_decides_their_effect() {
        let stalling = |elapsed: u64, lasted: &[u64]| {
            let stall =
                |lasted: &u64| Stall { at: Nanos::ZERO, lasted: Nanos::from_millis(*lasted) };
            let stalls = lasted.iter().map(stall).collect();
            let elapsed = Nanos::from_millis(elapsed);
            Measurement { elapsed, stalls, ..Measurement::default() }.stalling()
        };
        for (elapsed, lasted, expected) in [
            (5_000, &[][..], StallEffect::Slight),
            (5_000, &[100], StallEffect::Slight),
            (5_000, &[101], StallEffect::Marked),
            (60_000, &[600], StallEffect::Slight),
            (60_000, &[300, 301], StallEffect::Marked),
            (60_000, &[6_000], StallEffect::Marked),
            (60_000, &[6_001], StallEffect::Void),
            (500, &[90], StallEffect::Slight),
            (500, &[110], StallEffect::Marked),
            (3_000, &[1_500], StallEffect::Marked),
            (3_000, &[1_501], StallEffect::Void),
            (0, &[1_501], StallEffect::Void),
        ] {
            assert_eq!(stalling(elapsed, lasted), expected, "{elapsed} {lasted:?}");
        }
    }

    #[test]
    fn rates_and_means_of_an_interval_exclude_flushes() {
        let interval = Interval {
            begin: Nanos::ZERO,
            end: Nanos::from_secs(2),
            partial: false,
            tallies: vec![tally(Op::Write, 100, 900), tally(Op::Flush, 100, 10_000)],
        };
        assert_eq!((interval.iops(), interval.response_mean()), (Some(50.0), Some(Nanos(9))));
    }

    #[test]
    fn intervals_without_a_completion_are_silences() {
        let interval = |begin: u64, ios: u64| {
            let begin = Nanos::from_secs(begin);
            let end = begin + Nanos::SECOND;
            Interval { begin, end, partial: false, tallies: vec![tally(Op::Read, ios, 0)] }
        };
        let counts = [5, 0, 0, 7, 0, 9, 0, 0, 0];
        let intervals: Vec<Interval> =
            counts.iter().enumerate().map(|(at, ios)| interval(at as u64, *ios)).collect();
        let found = Silence::from_intervals(&Pace::Closed, &intervals);
        let expected = [(1, 2), (4, 1), (6, 3)].map(|(at, lasted)| Silence {
            at: Nanos::from_secs(at),
            lasted: Nanos::from_secs(lasted),
        });
        assert_eq!(found, expected);
        let paced = Pace::Fixed { ios: 1, per: Nanos::SECOND };
        assert_eq!(Silence::from_intervals(&paced, &intervals), []);
    }

    /// 4 W for 10 s are 40 J; 2 GB of 4,000 I/Os in 10 s are 20 J per GB and 100 I/Os per joule.
    #[test]
    fn the_energy_of_a_step_is_its_mean_power_times_its_time() {
        let tally = Tally { ios: 4_000, bytes: Bytes(2_000_000_000), ..Tally::default() };
        let mut step = Measurement {
            elapsed: Nanos::from_secs(10),
            streams: vec![StreamTally { op: Op::Write, tally }],
            ..Measurement::default()
        };
        assert_eq!((step.joules(), step.iops_per_watt(), step.joules_per_gb()), (None, None, None));
        step.sensed.power_milliwatts = Some(4_000.0);
        assert_eq!(step.joules(), Some(40.0));
        assert_eq!((step.iops_per_watt(), step.joules_per_gb()), (Some(100.0), Some(20.0)));
        step.sensed.power_milliwatts = Some(0.0);
        assert_eq!((step.joules(), step.iops_per_watt()), (None, None));
        step.sensed.power_milliwatts = Some(4_000.0);
        step.streams.clear();
        assert_eq!((step.joules(), step.joules_per_gb()), (Some(40.0), None));
    }

    #[test]
    fn absent_values_are_not_stored() {
        let plain = serde_json::to_value(Measurement::default()).unwrap();
        for name in
            ["seed", "outstanding", "silences", "stalls", "replay", "threads", "start_error"]
        {
            assert!(plain.get(name).is_none(), "{name}");
        }
        let read: Measurement = serde_json::from_value(plain).unwrap();
        assert_eq!(read, Measurement::default());
    }
}
