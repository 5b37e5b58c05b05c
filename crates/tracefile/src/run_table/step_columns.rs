//! Columns of a step and of one second of it.

use super::column::{ExportColumn, count, number, text};
use crate::table::{ColumnType, TableValue};
use steadfast_domain::device_log::{DEVICE_COUNTS, LogDelta};
use steadfast_domain::load_words::{alignment_text, content_text, pace_text, zones_text};
use steadfast_domain::measurement::{Interval, IntervalTally};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{
    Bytes, Demand, IoStream, Load, Measurement, Nanos, Op, Outcome, StartError, Step, Stimulus,
    Tally,
};

/// A step of a run with its results.
#[derive(Clone, Copy)]
pub(super) struct ExportedStep<'r> {
    /// Number of the step in its run, starting at 1.
    pub number: u64,
    pub step: &'r Step,
    /// Results of the step.
    pub outcome: &'r Outcome,
}

/// One accounting interval of a step.
pub(super) struct ExportedSecond<'r> {
    step: ExportedStep<'r>,
    interval: &'r Interval,
}

impl<'r> ExportedStep<'r> {
    fn measurement(&self) -> &'r Measurement {
        &self.outcome.measurement
    }

    fn demand(&self) -> Option<Demand> {
        match &self.step.load {
            Load::Stimulus(stimulus) => Some(stimulus.demand),
            Load::Script(script) => Some(script.demand),
            Load::Together(_) => None,
        }
    }

    /// Returns one row per accounting interval.
    pub(super) fn seconds(self) -> impl Iterator<Item = ExportedSecond<'r>> {
        let intervals = self.measurement().intervals.iter();
        intervals.map(move |interval| ExportedSecond { step: self, interval })
    }
}

impl ExportedSecond<'_> {
    fn sum<T: Into<u64>>(&self, op: Option<Op>, value: impl Fn(&IntervalTally) -> T) -> u64 {
        let wanted = |tally: &&IntervalTally| op.is_none_or(|op| op == tally.op);
        self.interval.tallies.iter().filter(wanted).map(|tally| value(tally).into()).sum()
    }

    fn longest(&self, op: Option<Op>) -> Option<Nanos> {
        let wanted = |tally: &&IntervalTally| op.is_none_or(|op| op == tally.op) && tally.ios > 0;
        self.interval.tallies.iter().filter(wanted).map(|tally| tally.response_max).max()
    }

    fn mean_us(&self, op: Option<Op>) -> Option<f64> {
        let ios = self.sum(op, |tally| tally.ios);
        (ios > 0).then(|| self.sum(op, |tally| tally.response_sum.0) as f64 / ios as f64 / 1e3)
    }
}

/// Returns the demand; for concurrent loads, one per load.
fn demands(step: &ExportedStep<'_>) -> String {
    let each = step.step.load.stimuli().iter().map(|stimulus| stimulus.demand.to_string());
    match step.demand() {
        Some(demand) => demand.to_string(),
        None => each.collect::<Vec<_>>().join(" | "),
    }
}

fn outstanding(step: &ExportedStep<'_>) -> u64 {
    let each = step.step.load.stimuli().iter().map(|stimulus| stimulus.demand.outstanding());
    step.demand().map_or_else(|| each.sum(), Demand::outstanding)
}

/// Returns the load in the standard's notation: every stream, with its share if there are several.
/// Concurrent loads are listed one after the other.
fn notation(step: &ExportedStep<'_>) -> String {
    let each = step.step.load.stimuli().iter().map(|stimulus| streams(&stimulus.streams));
    match &step.step.load {
        Load::Script(script) => format!("script {}", script.name),
        _ => each.collect::<Vec<_>>().join(" | "),
    }
}

/// Returns a property of each load as text, joined for concurrent loads; empty if no load has it.
fn each_load(step: &ExportedStep<'_>, of: fn(&Stimulus) -> Option<String>) -> String {
    let stimuli = step.step.load.stimuli();
    let texts: Vec<String> = stimuli.iter().map(|load| of(load).unwrap_or_default()).collect();
    if texts.iter().all(String::is_empty) { String::new() } else { texts.join(" | ") }
}

fn streams(streams: &[IoStream]) -> String {
    if let Some(mix) = mix(streams) {
        return mix.to_string();
    }
    let whole: u64 = streams.iter().map(|stream| u64::from(stream.weight)).sum();
    let text = |stream: &IoStream| match streams.len() {
        1 => stream.to_string(),
        _ => format!("{stream} {:.2}%", f64::from(stream.weight) / whole.max(1) as f64 * 100.0),
    };
    streams.iter().map(text).collect::<Vec<_>>().join(" + ")
}

/// Returns the pattern of a read/write mix in whole percents (`RND 4K RW65`); `None` for other
/// loads.
fn mix(streams: &[IoStream]) -> Option<AccessPattern> {
    let [reads, writes] = streams else { return None };
    let is_mix = (reads.op, writes.op) == (Op::Read, Op::Write)
        && (reads.order, reads.size, reads.distribution)
            == (writes.order, writes.size, writes.distribution);
    if !is_mix {
        return None;
    }
    let all = u64::from(reads.weight) + u64::from(writes.weight);
    let percent = u64::from(reads.weight) * 100;
    let is_whole = all > 0 && percent.is_multiple_of(all);
    let read_percent = u8::try_from(percent.checked_div(all)?).ok().filter(|_| is_whole)?;
    Some(AccessPattern {
        order: reads.order,
        size: reads.size,
        read_percent,
        distribution: reads.distribution,
        durability: writes.durability,
    })
}

fn micros(time: Option<Nanos>) -> TableValue {
    number(time.map(|time| time.0 as f64 / 1e3))
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}

/// Returns a count per second of the measured time.
fn rate(step: &ExportedStep<'_>, count: u64) -> Option<f64> {
    let time = seconds(step.measurement().elapsed);
    (time > 0.0).then(|| count as f64 / time)
}

fn percentile(step: &ExportedStep<'_>, of: fn(&Measurement) -> Tally, fraction: f64) -> TableValue {
    micros(of(step.measurement()).percentile(fraction))
}

fn reads(measurement: &Measurement) -> Tally {
    measurement.direction(Op::Read)
}

fn writes(measurement: &Measurement) -> Tally {
    measurement.direction(Op::Write)
}

pub(super) fn columns_of_steps<'r>() -> Vec<ExportColumn<ExportedStep<'r>>> {
    [identity(), counts(), response_times(), device_and_host(), start_errors()].concat()
}

fn identity<'r>() -> Vec<ExportColumn<ExportedStep<'r>>> {
    use ColumnType::{Flag, Integer, Moment, Number, Text};
    vec![
        ("step", Integer, |s| count(Some(s.number))),
        ("phase", Text, |s| text(Some(&s.step.place.phase))),
        ("round", Integer, |s| count(Some(s.step.place.round.into()))),
        ("point", Integer, |s| count(Some(s.step.place.point.into()))),
        ("label", Text, |s| text(Some(&s.step.place.label))),
        ("load", Text, |s| text(Some(notation(s)))),
        ("demand", Text, |s| text(Some(demands(s)))),
        ("threads", Integer, |s| count(s.demand().map(|d| d.threads.into()))),
        ("queue_depth", Integer, |s| count(s.demand().map(|d| d.depth.into()))),
        ("outstanding", Integer, |s| count(Some(outstanding(s)))),
        ("pace", Text, |s| text(Some(each_load(s, |l| pace_text(&l.pace))))),
        ("alignment", Text, |s| text(Some(each_load(s, |l| alignment_text(&l.streams))))),
        ("zones", Text, |s| text(Some(each_load(s, |l| zones_text(&l.zones, &l.streams))))),
        ("content", Text, |s| {
            text(Some(each_load(s, |l| content_text(&l.data_pattern, &l.streams))))
        }),
        ("began", Moment, |s| count(Some(s.measurement().began_unix_ms))),
        ("elapsed_s", Number, |s| number(Some(seconds(s.measurement().elapsed)))),
        ("complete", Flag, |s| TableValue::Flag(s.measurement().complete)),
        ("continues", Flag, |s| TableValue::Flag(s.step.continues)),
        ("after_gap", Flag, |s| TableValue::Flag(s.outcome.gap_before.is_some())),
    ]
}

fn counts<'r>() -> Vec<ExportColumn<ExportedStep<'r>>> {
    use ColumnType::{Integer, Number};
    vec![
        ("ios", Integer, |s| count(Some(s.measurement().total().ios))),
        ("read_ios", Integer, |s| count(Some(reads(s.measurement()).ios))),
        ("write_ios", Integer, |s| count(Some(writes(s.measurement()).ios))),
        ("bytes", Integer, |s| count(Some(s.measurement().bytes().0))),
        ("read_bytes", Integer, |s| count(Some(reads(s.measurement()).bytes.0))),
        ("written_bytes", Integer, |s| count(Some(writes(s.measurement()).bytes.0))),
        ("iops", Number, |s| number(s.measurement().iops())),
        ("read_iops", Number, |s| number(rate(s, reads(s.measurement()).ios))),
        ("write_iops", Number, |s| number(rate(s, writes(s.measurement()).ios))),
        ("mb_per_s", Number, |s| number(s.measurement().mb_per_second())),
        ("failed_ios", Integer, |s| count(Some(s.measurement().fault_count))),
        ("not_waited_for_ios", Integer, |s| count(Some(s.measurement().outstanding))),
    ]
}

fn response_times<'r>() -> Vec<ExportColumn<ExportedStep<'r>>> {
    use ColumnType::Number;
    vec![
        ("response_mean_us", Number, |s| micros(s.measurement().total().response_mean())),
        ("response_min_us", Number, |s| micros(s.measurement().total().response_shortest())),
        ("response_p50_us", Number, |s| percentile(s, Measurement::total, 0.5)),
        ("response_p90_us", Number, |s| percentile(s, Measurement::total, 0.9)),
        ("response_p99_us", Number, |s| percentile(s, Measurement::total, 0.99)),
        ("response_p99_9_us", Number, |s| percentile(s, Measurement::total, 0.999)),
        ("response_p99_99_us", Number, |s| percentile(s, Measurement::total, 0.9999)),
        ("response_p99_999_us", Number, |s| percentile(s, Measurement::total, 0.99999)),
        ("response_max_us", Number, |s| micros(s.measurement().total().response_longest())),
        ("read_response_mean_us", Number, |s| micros(reads(s.measurement()).response_mean())),
        ("read_response_min_us", Number, |s| micros(reads(s.measurement()).response_shortest())),
        ("read_response_p99_us", Number, |s| percentile(s, reads, 0.99)),
        ("read_response_p99_999_us", Number, |s| percentile(s, reads, 0.99999)),
        ("read_response_max_us", Number, |s| micros(reads(s.measurement()).response_longest())),
        ("write_response_mean_us", Number, |s| micros(writes(s.measurement()).response_mean())),
        ("write_response_min_us", Number, |s| micros(writes(s.measurement()).response_shortest())),
        ("write_response_p99_us", Number, |s| percentile(s, writes, 0.99)),
        ("write_response_p99_999_us", Number, |s| percentile(s, writes, 0.99999)),
        ("write_response_max_us", Number, |s| micros(writes(s.measurement()).response_longest())),
    ]
}

fn start_errors<'r>() -> Vec<ExportColumn<ExportedStep<'r>>> {
    use ColumnType::Number;
    fn start_error<'r>(step: &ExportedStep<'r>) -> Option<&'r StartError> {
        step.measurement().start_error.as_deref()
    }
    vec![
        ("start_error_p50_us", Number, |s| micros(start_error(s).and_then(StartError::p50))),
        ("start_error_p99_us", Number, |s| micros(start_error(s).and_then(StartError::p99))),
        ("start_error_max_us", Number, |s| micros(start_error(s).map(|error| error.max))),
    ]
}

/// Returns a change of the device's own counters.
fn device_bytes(step: &ExportedStep<'_>, bytes: fn(&LogDelta) -> Option<Bytes>) -> TableValue {
    count(step.measurement().sensed.log.as_ref().and_then(bytes).map(|bytes| bytes.0))
}

/// Returns one of [`DEVICE_COUNTS`].
fn device_count(step: &ExportedStep<'_>, id: &str) -> TableValue {
    let log = step.measurement().sensed.log.as_ref();
    let wanted = DEVICE_COUNTS.iter().find(|count| count.id == id);
    count(log.zip(wanted).and_then(|(log, count)| (count.value)(log)))
}

fn device_and_host<'r>() -> Vec<ExportColumn<ExportedStep<'r>>> {
    use ColumnType::{Integer, Number};
    vec![
        ("cpu_user_ns_per_io", Number, |s| number(s.measurement().cpu_ns_per_io().map(|c| c.0))),
        ("cpu_system_ns_per_io", Number, |s| number(s.measurement().cpu_ns_per_io().map(|c| c.1))),
        ("stalled_s", Number, |s| number(Some(seconds(s.measurement().stalled())))),
        ("temperature_celsius", Number, |s| number(s.measurement().sensed.temperature_celsius)),
        ("power_w", Number, |s| {
            number(s.measurement().sensed.power_milliwatts.map(|power| power / 1e3))
        }),
        ("iops_per_w", Number, |s| number(s.measurement().iops_per_watt())),
        ("energy_j", Number, |s| number(s.measurement().joules())),
        ("j_per_gb", Number, |s| number(s.measurement().joules_per_gb())),
        ("ambient_celsius", Number, |s| number(s.measurement().sensed.ambient_celsius)),
        ("host_cpu_user", Number, |s| number(s.measurement().sensed.host_cpu.map(|c| c.user))),
        ("host_cpu_system", Number, |s| number(s.measurement().sensed.host_cpu.map(|c| c.system))),
        ("host_io_wait", Number, |s| number(s.measurement().sensed.host_cpu.map(|c| c.io_wait))),
        ("write_amplification", Number, |s| {
            number(s.measurement().write_amplification.and_then(|found| found.value()))
        }),
        ("write_amplification_low", Number, |s| {
            number(s.measurement().write_amplification.map(|found| found.low))
        }),
        ("write_amplification_high", Number, |s| {
            number(s.measurement().write_amplification.map(|found| found.high))
        }),
        ("device_host_written_bytes", Integer, |s| device_bytes(s, |log| log.host_written)),
        ("device_host_read_bytes", Integer, |s| device_bytes(s, |log| log.host_read)),
        ("device_flash_written_bytes", Integer, |s| device_bytes(s, |log| log.nand_written)),
        ("device_earlier_steps", Integer, |s| {
            count(s.measurement().sensed.log.map(|log| log.earlier_steps.into()))
        }),
        ("device_throttle_events", Integer, |s| device_count(s, "throttle-events")),
        ("device_throttled_s", Integer, |s| device_count(s, "throttled")),
        ("device_media_errors", Integer, |s| device_count(s, "media-errors")),
        ("device_slow_reads_a", Integer, |s| device_count(s, "slow-reads-a")),
        ("device_slow_reads_b", Integer, |s| device_count(s, "slow-reads-b")),
        ("device_slow_reads_c", Integer, |s| device_count(s, "slow-reads-c")),
        ("device_slow_reads_d", Integer, |s| device_count(s, "slow-reads-d")),
        ("device_slow_writes_a", Integer, |s| device_count(s, "slow-writes-a")),
        ("device_slow_writes_b", Integer, |s| device_count(s, "slow-writes-b")),
        ("device_slow_writes_c", Integer, |s| device_count(s, "slow-writes-c")),
        ("device_slow_writes_d", Integer, |s| device_count(s, "slow-writes-d")),
        ("device_slow_trims_a", Integer, |s| device_count(s, "slow-trims-a")),
        ("device_slow_trims_b", Integer, |s| device_count(s, "slow-trims-b")),
        ("device_slow_trims_c", Integer, |s| device_count(s, "slow-trims-c")),
        ("device_slow_trims_d", Integer, |s| device_count(s, "slow-trims-d")),
        ("start_waited_s", Number, |s| {
            number(s.measurement().common_start.map(|start| seconds(start.waited)))
        }),
        ("start_late_us", Number, |s| {
            micros(s.measurement().common_start.and_then(|start| start.late))
        }),
    ]
}

pub(super) fn columns_of_seconds<'r>() -> Vec<ExportColumn<ExportedSecond<'r>>> {
    use ColumnType::{Flag, Integer, Number, Text};
    vec![
        ("step", Integer, |s| count(Some(s.step.number))),
        ("phase", Text, |s| text(Some(&s.step.step.place.phase))),
        ("round", Integer, |s| count(Some(s.step.step.place.round.into()))),
        ("point", Integer, |s| count(Some(s.step.step.place.point.into()))),
        ("label", Text, |s| text(Some(&s.step.step.place.label))),
        ("load", Text, |s| text(Some(notation(&s.step)))),
        ("demand", Text, |s| text(Some(demands(&s.step)))),
        ("begin_s", Number, |s| number(Some(seconds(s.interval.begin)))),
        ("end_s", Number, |s| number(Some(seconds(s.interval.end)))),
        ("partial", Flag, |s| TableValue::Flag(s.interval.partial)),
        ("ios", Integer, |s| count(Some(s.sum(None, |tally| tally.ios)))),
        ("read_ios", Integer, |s| count(Some(s.sum(Some(Op::Read), |tally| tally.ios)))),
        ("write_ios", Integer, |s| count(Some(s.sum(Some(Op::Write), |tally| tally.ios)))),
        ("bytes", Integer, |s| count(Some(s.sum(None, |tally| tally.bytes.0)))),
        ("iops", Number, |s| number(s.interval.iops())),
        ("mb_per_s", Number, |s| number(s.interval.bytes_per_second().map(|rate| rate / 1e6))),
        ("response_mean_us", Number, |s| number(s.mean_us(None))),
        ("response_max_us", Number, |s| micros(s.longest(None))),
        ("read_response_mean_us", Number, |s| number(s.mean_us(Some(Op::Read)))),
        ("read_response_max_us", Number, |s| micros(s.longest(Some(Op::Read)))),
        ("write_response_mean_us", Number, |s| number(s.mean_us(Some(Op::Write)))),
        ("write_response_max_us", Number, |s| micros(s.longest(Some(Op::Write)))),
    ]
}
