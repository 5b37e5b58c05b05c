//! Optional secondary metrics of PTS 2.0.x (SNIA tutorial, "Secondary Metrics"), the device's own
//! logs, and evidence for limits outside the device.
//!
//! A value is printed only if all steps it is computed from have it; otherwise a dash. Values
//! missing in a drive's log are not derived from others.

use super::matrix::{millis, size_name};
use super::pages::page;
use super::response::FIVE_NINES;
use super::typed_table::{TypedColumn, typed_row, typed_table};
use crate::common::results::PointResult;
use crate::common::secondary::{SecondaryMeans, mean};
use crate::exhibits::disclosure::SettingRows;
use crate::report_notation::number;
use steadfast_domain::device_log::{DEVICE_COUNTS, LatencyBuckets, LogDelta, WriteAmplification};
use steadfast_domain::findings::{Cell as TableCell, Exhibit, Page, Row, Setting, Table};
use steadfast_domain::measurement::StallEffect;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{
    Bytes, Caveat, CaveatKind, Measurement, Outcome, Record, Step, Tally, caveats as ids,
};

/// Processor use of the busiest load thread from which it is the limit instead of the device (our
/// choice: the remainder is within the uncertainty of scheduler and clock over a step).
pub const CPU_BOUND: f64 = 0.95;

/// NVMe critical warning bit 1: temperature threshold crossed (NVM Express Base Specification,
/// SMART / Health Information log).
const WARNS_OF_TEMPERATURE: u8 = 0b10;

const NAMED_STEPS_MAX: usize = 4;

#[derive(Debug, Clone)]
pub struct SecondaryPoint {
    pub name: String,
    pub iops: Option<f64>,
    pub mb_per_second: Option<f64>,
    /// Average response time in milliseconds.
    pub art: Option<f64>,
    pub tally: Tally,
    /// Power, temperature and processor use.
    pub sensed: SecondaryMeans,
}

impl SecondaryPoint {
    /// Creates a point from the I/Os of these steps.
    pub fn from_steps(name: impl Into<String>, steps: &[&Measurement]) -> Self {
        let tally: Tally = steps.iter().map(|step| step.total()).sum();
        let time: f64 = steps.iter().map(|step| step.elapsed.as_secs_f64()).sum();
        let per_second = |sum: f64| (time > 0.0).then(|| sum / time);
        SecondaryPoint {
            name: name.into(),
            iops: per_second(tally.ios as f64),
            mb_per_second: per_second(tally.bytes.as_mb()),
            art: tally.response_mean_ms(),
            tally,
            sensed: SecondaryMeans::new(steps),
        }
    }

    /// Creates a point from the means of these steps.
    pub fn from_means(name: impl Into<String>, steps: &[&Measurement]) -> Self {
        let mean_of = |value: fn(&Measurement) -> Option<f64>| mean(steps.iter().map(|m| value(m)));
        SecondaryPoint {
            iops: mean_of(Measurement::iops),
            mb_per_second: mean_of(Measurement::mb_per_second),
            art: mean_of(|m| m.total().response_mean_ms()),
            ..SecondaryPoint::from_steps(name, steps)
        }
    }

    /// Returns IOPS per watt; `None` if the power was not measured.
    pub fn iops_per_watt(&self) -> Option<f64> {
        self.sensed.iops_per_watt(self.iops)
    }

    pub fn cpu_system_percent(&self) -> Option<f64> {
        self.sensed.cpu_system.map(|share| share * 100.0)
    }

    pub fn io_wait_percent(&self) -> Option<f64> {
        self.sensed.io_wait.map(|share| share * 100.0)
    }

    pub fn five_nines_ms(&self) -> Option<f64> {
        millis(self.tally.percentile(FIVE_NINES))
    }

    pub fn shortest_ms(&self) -> Option<f64> {
        millis(self.tally.response_shortest())
    }

    pub fn longest_ms(&self) -> Option<f64> {
        millis(self.tally.response_longest())
    }
}

impl From<&PointResult> for SecondaryPoint {
    fn from(cell: &PointResult) -> Self {
        SecondaryPoint {
            name: cell.pattern.to_string(),
            iops: cell.iops.mean,
            mb_per_second: cell.mb_per_second.mean,
            art: cell.art.mean,
            tally: cell.tally.clone(),
            sensed: cell.secondary,
        }
    }
}

/// The six metrics of the tutorial's table, in order.
const FORM_METRICS: [TypedColumn<SecondaryPoint>; 6] = [
    TypedColumn::number("IOPS", 1, |point| point.iops),
    TypedColumn::number("ART ms", 3, |point| point.art),
    TypedColumn::number("99.999 % ms", 3, SecondaryPoint::five_nines_ms),
    TypedColumn::number("MRT ms", 3, SecondaryPoint::longest_ms),
    TypedColumn::number("Avg Power mW", 0, |point| point.sensed.power_milliwatts),
    TypedColumn::cell("Temp. Celsius", |point| {
        TableCell::celsius(point.sensed.temperature_celsius, 1)
    }),
];

/// Further metrics that the tutorial lists.
const HOST_METRICS: [TypedColumn<SecondaryPoint>; 4] = [
    TypedColumn::number("CPU system %", 1, SecondaryPoint::cpu_system_percent),
    TypedColumn::number("CPU I/O wait %", 1, SecondaryPoint::io_wait_percent),
    TypedColumn::number("IOPS / W", 1, SecondaryPoint::iops_per_watt),
    TypedColumn::number("J / GB", 2, |point| point.sensed.joules_per_gb),
];

/// Returns all secondary metrics of a few points, one column per point.
pub(crate) fn points_table(id: &str, title: &str, points: &[SecondaryPoint]) -> Table {
    let rows = FORM_METRICS
        .iter()
        .chain(&HOST_METRICS)
        .map(|metric| Row::new(metric.heading, points.iter().map(|point| metric.render(point))));
    let counts = DEVICE_COUNTS.iter().enumerate().filter_map(|(at, count)| {
        let sums = points.iter().map(|point| point.sensed.counts[at]);
        let is_known = sums.clone().any(|sum| sum.is_some());
        let name = format!("{} {}", count.name, count.unit);
        let cells = sums.map(|sum| sum.map_or(TableCell::Missing, TableCell::count));
        is_known.then(|| Row::new(name.trim_end(), cells).with_id(count.id))
    });
    Table::new(id, title, "Metric")
        .columns(points.iter().map(|p| p.name.clone()))
        .rows(rows)
        .rows(counts)
}

/// Percentages of reads in the tutorial's table.
const FORM_MIXES: [u8; 3] = [0, 65, 100];

/// Returns the tutorial's table, three mixes x eight block sizes in two blocks, and a second one
/// with the further metrics.
pub(crate) fn matrix_tables(cells: &[PointResult], sizes: &[Bytes]) -> Vec<Exhibit> {
    let mut ascending = sizes.to_vec();
    ascending.sort_unstable();
    let form = matrix_table(
        "secondary",
        "Secondary metrics: 3 R/W mixes x block sizes (RND 4K set off)",
        &FORM_METRICS,
        cells,
        &ascending,
    );
    let host = matrix_table(
        "secondary-host",
        "Secondary metrics: processors and energy",
        &HOST_METRICS,
        cells,
        &ascending,
    );
    let has_values = |table: &Table| {
        let mut cells = table.rows.iter().flat_map(|row| &row.cells);
        cells.any(|cell| matches!(cell, TableCell::Number { .. }))
    };
    let host = if has_values(&host) {
        Exhibit::Table(host)
    } else {
        Exhibit::Text(format!("{}: not reported.", host.title))
    };
    vec![Exhibit::Table(form), host]
}

fn matrix_table(
    id: &str,
    title: &str,
    metrics: &[TypedColumn<SecondaryPoint>],
    cells: &[PointResult],
    sizes: &[Bytes],
) -> Table {
    let (left, right) = sizes.split_at(sizes.len().div_ceil(2));
    let block = |metric: &TypedColumn<SecondaryPoint>, size: Option<&Bytes>| -> Vec<TableCell> {
        let Some(size) = size else { return vec![TableCell::text(""); 4] };
        let name = TableCell::text(format!("{} KiB", size_name(*size)));
        let value = |mix: &u8| {
            let pattern = AccessPattern::random(*size, *mix);
            let cell = cells.iter().find(|cell| cell.pattern == pattern);
            cell.map_or(TableCell::Missing, |cell| metric.render(&SecondaryPoint::from(cell)))
        };
        std::iter::once(name).chain(FORM_MIXES.iter().map(value)).collect()
    };
    let rows = metrics
        .iter()
        .flat_map(|metric| left.iter().enumerate().map(move |(row, size)| (metric, row, size)))
        .map(|(metric, row, size)| {
            Row::new(
                if row == 0 { metric.heading } else { "" },
                [block(metric, Some(size)), block(metric, right.get(row))].concat(),
            )
            .with_id(metric.heading)
            .strong(*size == Bytes::kib(4))
        });
    let columns = ["Block Size", "RW 0", "RW 65", "RW100"].map(str::to_owned);
    let block = columns.len();
    Table::new(id, title, "Data")
        .columns([columns.clone(), columns].concat())
        .rows(rows)
        .in_blocks_of(block)
}

/// Returns the chapter of secondary metrics: the procedure's own tables, then the device's logs by
/// phase.
pub(crate) fn chapter(mut exhibits: Vec<Exhibit>, record: &Record) -> Page {
    exhibits.insert(
        0,
        Exhibit::Text(
            "Optional in PTS 2.0.x. Response times are of reads and writes together. Power is the \
             mean during the steps, temperature is the device's at the end of the steps, and \
             processor time covers all processors of the host. A dash means that the host or the \
             device does not report the value, or that fewer than ten I/Os lie beyond the \
             percentile."
                .into(),
        ),
    );
    exhibits.push(match log_table(record) {
        Some(table) => Exhibit::Table(table),
        None => Exhibit::Text("The device reports no log counters.".into()),
    });
    page("Secondary Metrics", exhibits)
}

/// Sums of the device's logs over a phase.
#[derive(Default)]
struct LogSum {
    steps: u64,
    steps_with_log: u64,
    sum: LogDelta,
    /// True if a step lacks one of the two counts of written bytes.
    lacks_a_count: bool,
}

impl LogSum {
    fn add(&mut self, log: Option<&LogDelta>) {
        self.steps += 1;
        let Some(log) = log else { return };
        self.steps_with_log += 1;
        // A reading may cover short steps before its own.
        self.steps_with_log += u64::from(log.earlier_steps);
        self.lacks_a_count |= log.host_written.is_some() != log.nand_written.is_some();
        self.sum.merge(log);
    }
}

const LOG: [TypedColumn<LogSum>; 8] = [
    TypedColumn::number("Host GB", 3, |log| log.sum.host_written.map(Bytes::as_gb)),
    TypedColumn::number("Flash GB", 3, |log| log.sum.nand_written.map(Bytes::as_gb)),
    TypedColumn::cell("Write amplification", |log| {
        let found = WriteAmplification::from_log(&log.sum);
        amplification(found.filter(|_| !log.lacks_a_count), 2)
    }),
    TypedColumn::count("Throttle events", |log| log.sum.throttle_events),
    TypedColumn::count("Throttled s", |log| log.sum.throttle_seconds),
    TypedColumn::count("Media errors", |log| log.sum.media_errors),
    TypedColumn::cell("Critical warning", |log| {
        TableCell::known(log.sum.critical_warning.map(|bits| format!("{bits:#04x}")))
    }),
    TypedColumn::cell("Steps with a log", |log| {
        TableCell::text(format!("{} of {}", log.steps_with_log, log.steps))
    }),
];

/// Columns of the latency monitor, for devices that have one.
const LATENCY_MONITOR: [TypedColumn<LogSum>; 3] = [
    TypedColumn::cell("Latency monitor reads A/B/C/D", |log| {
        latency_buckets(&log.sum, |buckets| buckets.reads)
    }),
    TypedColumn::cell("Latency monitor writes A/B/C/D", |log| {
        latency_buckets(&log.sum, |buckets| buckets.writes)
    }),
    TypedColumn::cell("Latency monitor trims A/B/C/D", |log| {
        latency_buckets(&log.sum, |buckets| buckets.trims)
    }),
];

/// Returns the counts of a latency monitor's buckets as `3/1/0/0`.
pub(crate) fn latency_buckets(
    log: &LogDelta,
    counts: impl Fn(&LatencyBuckets) -> [u64; 4],
) -> TableCell {
    let counts = log.latency_buckets.as_ref().map(counts);
    TableCell::known(counts.map(|counts| counts.map(|count| count.to_string()).join("/")))
}

/// Returns a write amplification: a number, or its interval where that is wide.
pub(crate) fn amplification(found: Option<WriteAmplification>, decimals: u8) -> TableCell {
    match found {
        Some(found) => match found.value() {
            Some(value) => TableCell::number(Some(value), decimals),
            None => TableCell::text(found.to_string()),
        },
        None => TableCell::Missing,
    }
}

/// Returns the table of the device's logs by phase; `None` if no step has logs.
pub(crate) fn log_table(record: &Record) -> Option<Table> {
    let mut phases: Vec<(&str, LogSum)> = Vec::new();
    for (step, outcome) in record.steps() {
        let phase = step.place.phase.as_str();
        let index = phases.iter().position(|(name, _)| *name == phase).unwrap_or_else(|| {
            phases.push((phase, LogSum::default()));
            phases.len() - 1
        });
        phases[index].1.add(outcome.measurement.sensed.log.as_ref());
    }
    if phases.iter().all(|(_, sum)| sum.steps_with_log == 0) {
        return None;
    }
    let mut columns = Vec::from(LOG);
    if phases.iter().any(|(_, sum)| sum.sum.latency_buckets.is_some()) {
        columns.extend(LATENCY_MONITOR);
    }
    let rows = phases.iter().map(|(phase, sum)| typed_row(*phase, &columns, sum));
    let title = "What the device's own logs counted, phase by phase";
    Some(typed_table("device-logs", title, "Phase", &columns).rows(rows))
}

/// Returns caveats on limits outside the device and on reports of its logs. Those within the
/// measurement window invalidate the numbers; those outside are remarks, as no reported number
/// uses them.
pub(crate) fn caveats(record: &Record, in_window: &dyn Fn(&Step) -> bool) -> Vec<Caveat> {
    let (inside, outside): (Vec<_>, Vec<_>) = record.steps().partition(|(step, _)| in_window(step));
    let mut caveats = limit_caveats(&inside, "measured steps", CaveatKind::Invalidates);
    let place = "steps outside the measurement";
    caveats.extend(limit_caveats(&outside, place, CaveatKind::Remark));
    caveats.extend(log_caveats(record));
    caveats
}

/// Returns caveats on steps that the host or heat limited, in which the program was stopped, or
/// whose I/Os never completed.
fn limit_caveats(steps: &[(&Step, &Outcome)], place: &str, kind: CaveatKind) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let bound = named_steps(steps, place, |step, measured| {
        let is_busy = measured.sensed.busiest_thread.is_some_and(|share| share >= CPU_BOUND);
        is_busy && !keeps_a_pace(step, measured)
    });
    if let Some(named) = bound {
        let text = format!(
            "HOST LIMIT: in {named} the busiest load thread used {:.0} % of a processor or more: \
             the host, not the device, set the pace.",
            CPU_BOUND * 100.0
        );
        let remedy = "Use a faster host, or more threads if the test allows it.";
        caveats.push(Caveat::new(kind, ids::CPU_BOUND, text, remedy));
    }
    let throttled = named_steps(steps, place, |_, measured| {
        measured.sensed.log.as_ref().is_some_and(is_throttled)
    });
    if let Some(named) = throttled {
        let text = format!(
            "DEVICE THROTTLED: in {named} the device's log reports throttling or a temperature \
             above its limit."
        );
        let remedy = "Cool the device and repeat the run.";
        caveats.push(Caveat::new(kind, ids::DEVICE_THROTTLED, text, remedy));
    }
    let stalled =
        named_steps(steps, place, |_, measured| measured.stalling() != StallEffect::Slight);
    if let Some(named) = stalled {
        let text = format!(
            "STALLED: for more than 1 % of {named} no thread of this program could run. The \
             program was stopped or frozen, or its machine was paused or suspended."
        );
        let remedy = "Repeat the run without stopping the program or pausing its machine.";
        caveats.push(Caveat::new(kind, ids::STALLED, text, remedy));
    }
    if let Some(named) = named_steps(steps, place, |_, measured| measured.outstanding > 0) {
        let text = format!(
            "ABANDONED I/OS: after the end of {named}, the program stopped waiting for I/Os that \
             took too long. They count with their time so far: the longest response times are \
             longer than shown."
        );
        let remedy = "Check the device, or use a smaller demand.";
        caveats.push(Caveat::new(kind, ids::IOS_OUTSTANDING, text, remedy));
    }
    caveats
}

/// Returns true if a log reports throttling or a temperature above the device's limit.
pub(crate) fn is_throttled(log: &LogDelta) -> bool {
    log.throttle_events.is_some_and(|n| n > 0)
        || log.throttle_seconds.is_some_and(|n| n > 0)
        || log.critical_warning.is_some_and(|bits| bits & WARNS_OF_TEMPERATURE != 0)
}

/// Returns true if a step kept the rate that it offered: its threads spin before an I/O is due, so
/// that their processor time indicates no limit.
fn keeps_a_pace(step: &Step, measured: &Measurement) -> bool {
    let stimulus = step.load.stimulus();
    stimulus.is_some_and(|stimulus| measured.kept_up(&stimulus.pace) == Some(true))
}

/// Describes the steps for which `is_so` is true: their number, and the names of the first ones.
/// `None` if there are none.
fn named_steps(
    steps: &[(&Step, &Outcome)],
    place: &str,
    is_so: impl Fn(&Step, &Measurement) -> bool,
) -> Option<String> {
    let mut names = Vec::new();
    for (step, outcome) in steps {
        if is_so(step, &outcome.measurement) {
            names.push(match step.place.round {
                // The place contains its phase already.
                0 => step.place.to_string(),
                _ => format!("{}, {}", step.place.phase, step.place),
            });
        }
    }
    if names.is_empty() {
        return None;
    }
    let count = names.len();
    names.truncate(NAMED_STEPS_MAX);
    let more = if count > NAMED_STEPS_MAX { "; ..." } else { "" };
    Some(format!("{count} {place} ({}{more})", names.join("; ")))
}

/// Returns caveats on counters of the device that cannot be used, and on errors in its log.
fn log_caveats(record: &Record) -> Vec<Caveat> {
    let steps: Vec<_> = record.steps().collect();
    let steps_with_log = |is_so: fn(&LogDelta) -> bool| {
        named_steps(&steps, "steps", |_, measured| measured.sensed.log.as_ref().is_some_and(is_so))
    };
    let mut caveats = Vec::new();
    if let Some(named) = steps_with_log(|log| log.went_backwards) {
        caveats.push(Caveat::remark(
            ids::DEVICE_COUNTERS_RESET,
            format!(
                "In {named} a counter of the device's log was lower after the step than before it: \
                 its change is not reported."
            ),
            "Check whether the device was sanitized, reset or replaced by another one.",
        ));
    }
    if let Some(named) = steps_with_log(|log| log.latency_was_reset) {
        caveats.push(Caveat::remark(
            ids::LATENCY_MONITOR_RESET,
            format!(
                "In {named} the buckets of the device's latency monitor were reset or wrapped \
                 around: their counts are not reported."
            ),
            "Set a longer active bucket timer (OCP feature C5h).",
        ));
    }
    let logs = || steps.iter().filter_map(|(_, outcome)| outcome.measurement.sensed.log.as_ref());
    let errors: u64 = logs().filter_map(|log| log.media_errors).sum();
    let warnings = logs().filter_map(|log| log.critical_warning).fold(0, |all, bits| all | bits);
    if errors > 0 {
        caveats.push(Caveat::deviation(
            ids::MEDIA_ERRORS,
            format!("The device's log counted {errors} media errors during the run."),
            "Check the drive's error log; do not trust this drive with data.",
        ));
    }
    if warnings & !WARNS_OF_TEMPERATURE != 0 {
        caveats.push(Caveat::deviation(
            ids::CRITICAL_WARNING,
            format!(
                "The device raised critical warnings (bits {warnings:#04x}: 0x01 spare, 0x04 \
                 reliability, 0x08 read-only, 0x10 backup of volatile memory)."
            ),
            "Check the drive's SMART log.",
        ));
    }
    caveats
}

/// Returns means over a phase as labeled values, for procedures without a matrix.
pub(crate) fn rows(sensed: &SecondaryMeans, iops: Option<f64>) -> SettingRows {
    let text = |value: Option<f64>, decimals: usize, unit: &str| {
        value.map(|v| format!("{} {unit}", number(v, decimals)))
    };
    vec![
        Setting::outcome("Average power", text(sensed.power_milliwatts, 0, "mW")),
        Setting::outcome("IOPS per watt", text(sensed.iops_per_watt(iops), 1, "IOPS/W")),
        Setting::outcome("Energy per GB", text(sensed.joules_per_gb, 2, "J/GB")),
        Setting::outcome("Temperature", text(sensed.temperature_celsius, 1, "C")),
        Setting::outcome("CPU system", text(sensed.cpu_system.map(|s| s * 100.0), 1, "%")),
        Setting::outcome("CPU I/O wait", text(sensed.io_wait.map(|s| s * 100.0), 1, "%")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::metrics::PointValue;
    use crate::testing::scripted::{self, record};
    use steadfast_domain::measurement::{SensorReadings, Stall, StreamTally};
    use steadfast_domain::{JournalEntry, Nanos, Op, Settings};

    fn sensed(change: impl FnOnce(&mut SensorReadings)) -> Measurement {
        let mut measurement = Measurement { elapsed: Nanos::SECOND, ..Measurement::default() };
        change(&mut measurement.sensed);
        measurement
    }

    fn log(change: impl FnOnce(&mut LogDelta)) -> Measurement {
        let mut delta = LogDelta::default();
        change(&mut delta);
        sensed(|s| s.log = Some(delta))
    }

    fn applied(phase: &str, round: u32, measurement: Measurement) -> JournalEntry {
        scripted::applied(scripted::write_step(phase, round, 1), measurement)
    }

    fn record_of(entries: Vec<JournalEntry>) -> Record {
        record(&Settings::new("iops", 1), entries)
    }

    fn in_rounds(step: &Step) -> bool {
        step.place.phase == "rounds"
    }

    #[test]
    fn a_mean_needs_every_step() {
        let with = |mw| sensed(|s| s.power_milliwatts = Some(mw));
        let (a, b, none) = (with(3000.0), with(5000.0), sensed(|_| ()));
        let means = SecondaryMeans::new(&[&a, &b]);
        assert_eq!(means.power_milliwatts, Some(4000.0));
        assert_eq!(means.iops_per_watt(Some(8000.0)), Some(2000.0));
        assert_eq!(SecondaryMeans::new(&[&a, &none]).power_milliwatts, None);
        assert_eq!(SecondaryMeans::new(&[]), SecondaryMeans::default());
        let idle = with(0.0);
        assert_eq!(SecondaryMeans::new(&[&idle]).iops_per_watt(Some(1.0)), None);
    }

    /// The tutorial's layout: 0.5 to 16 KiB on the left, 32 to 1024 on the right.
    #[test]
    fn the_matrix_is_the_tutorials() {
        let sizes: Vec<Bytes> =
            [1024, 128, 64, 32, 16, 8, 4].map(Bytes::kib).into_iter().chain([Bytes(512)]).collect();
        let cells: Vec<PointResult> = sizes
            .iter()
            .flat_map(|size| FORM_MIXES.map(|mix| AccessPattern::random(*size, mix)))
            .map(|pattern| PointResult {
                iops: PointValue {
                    mean: Some(pattern.size.as_kib() + f64::from(pattern.read_percent)),
                    range: None,
                },
                mb_per_second: PointValue::default(),
                art: PointValue::default(),
                art_of_reads: None,
                art_of_writes: None,
                pattern,
                tally: Tally::default(),
                metrics: Vec::new(),
                secondary: SecondaryMeans {
                    temperature_celsius: Some(39.0),
                    ..SecondaryMeans::default()
                },
            })
            .collect();
        let tables = matrix_tables(&cells, &sizes);
        let Exhibit::Table(form) = &tables[0] else { panic!() };
        assert_eq!((form.rows.len(), form.columns.len()), (6 * 4, 8));
        let second = &form.rows[1];
        assert!(second.strong && second.head.is_empty());
        let value = |cell: usize| second.cells[cell].clone();
        assert_eq!(value(0), TableCell::text("4 KiB"));
        assert_eq!(value(2), TableCell::number(Some(69.0), 1), "IOPS of RND 4K RW65");
        assert_eq!(value(4), TableCell::text("64 KiB"));
        assert_eq!(value(7), TableCell::number(Some(164.0), 1));
        assert_eq!(form.rows[4].head, "ART ms");
        assert_eq!(form.rows[4].cells[1], TableCell::Missing, "no I/O, no response time");
        assert_eq!(form.rows[20].cells[1], TableCell::celsius(Some(39.0), 1));
    }

    #[test]
    fn a_bound_host_invalidates_inside_the_window_and_is_a_remark_outside() {
        let busy = |part| sensed(|s| s.busiest_thread = Some(part));
        let found = |entries| {
            let caveats = caveats(&record_of(entries), &in_rounds);
            caveats.iter().map(|c| (c.id.clone(), c.kind)).collect::<Vec<_>>()
        };
        let id = "cpu-bound".to_owned();
        let inside = vec![applied("rounds", 1, busy(0.95)), applied("rounds", 2, busy(0.94))];
        assert_eq!(found(inside.clone()), [(id.clone(), CaveatKind::Invalidates)]);
        let text = caveats(&record_of(inside), &in_rounds)[0].text.clone();
        assert!(text.contains("in 1 measured steps (rounds, round 1"), "{text}");
        let outside = vec![applied("wipc", 0, busy(1.0))];
        assert_eq!(found(outside), [(id, CaveatKind::Remark)]);
        assert_eq!(found(vec![applied("rounds", 1, busy(0.9499))]), []);
    }

    #[test]
    fn a_step_in_which_the_program_stood_still_or_did_not_wait_has_a_caveat() {
        let stalled = |millis| Measurement {
            elapsed: Nanos::SECOND,
            stalls: vec![Stall { at: Nanos::ZERO, lasted: Nanos::from_millis(millis) }],
            ..Measurement::default()
        };
        let left = Measurement { outstanding: 3, ..Measurement::default() };
        let found = |phase, measurement| {
            let caveats = caveats(&record_of(vec![applied(phase, 1, measurement)]), &in_rounds);
            caveats.iter().map(|c| (c.id.clone(), c.kind)).collect::<Vec<_>>()
        };
        assert_eq!(found("rounds", stalled(99)), []);
        let (still, out) = ("stalled".to_owned(), "not-waited-for".to_owned());
        assert_eq!(found("rounds", stalled(101)), [(still.clone(), CaveatKind::Invalidates)]);
        assert_eq!(found("wipc", stalled(101)), [(still, CaveatKind::Remark)]);
        assert_eq!(found("rounds", left), [(out, CaveatKind::Invalidates)]);
    }

    #[test]
    fn throttling_is_found_by_events_by_seconds_or_by_the_temperature_bit() {
        let is_found = |change: fn(&mut LogDelta)| {
            let record = record_of(vec![applied("rounds", 1, log(change))]);
            caveats(&record, &in_rounds).iter().any(|c| c.id == "device-throttled")
        };
        assert!(is_found(|l| l.throttle_events = Some(1)));
        assert!(is_found(|l| l.throttle_seconds = Some(3)));
        assert!(is_found(|l| l.critical_warning = Some(0b10)));
        assert!(!is_found(|l| l.critical_warning = Some(0b1)));
        assert!(!is_found(|l| l.throttle_events = Some(0)));
        let spare = record_of(vec![applied("rounds", 1, log(|l| l.critical_warning = Some(1)))]);
        assert_eq!(caveats(&spare, &in_rounds)[0].id, "critical-warning");
        let errors = record_of(vec![applied("rounds", 1, log(|l| l.media_errors = Some(2)))]);
        assert_eq!(caveats(&errors, &in_rounds)[0].id, "media-errors");
    }

    #[test]
    fn logs_are_added_up_phase_by_phase() {
        let written = |host, nand| {
            log(move |l| {
                l.host_written = Some(Bytes(host));
                l.nand_written = nand;
                l.host_unit = Some(Bytes(512_000));
                l.nand_unit = nand.map(|_| Bytes(1));
            })
        };
        let record = record_of(vec![
            applied("wipc", 0, written(2_000_000_000, Some(Bytes(3_000_000_000)))),
            applied("wipc", 0, written(2_000_000_000, Some(Bytes(5_000_000_000)))),
            applied("rounds", 1, written(1_000_000_000, None)),
            applied("rounds", 2, sensed(|_| ())),
        ]);
        let table = log_table(&record).unwrap();
        let heads: Vec<_> = table.rows.iter().map(|r| r.head.as_str()).collect();
        assert_eq!(heads, ["wipc", "rounds"]);
        assert_eq!(table.rows[0].cells[0], TableCell::number(Some(4.0), 3));
        assert_eq!(table.rows[0].cells[2], TableCell::number(Some(2.0), 2));
        assert_eq!(table.rows[1].cells[2], TableCell::Missing);
        assert_eq!(table.rows[1].cells[7], TableCell::text("1 of 2"));
        assert!(log_table(&record_of(vec![applied("rounds", 1, sensed(|_| ()))])).is_none());
    }

    #[test]
    fn buckets_of_a_latency_monitor_are_added_up_phase_by_phase() {
        let monitored = |reads| {
            log(move |l| {
                let buckets = LatencyBuckets { reads, ..LatencyBuckets::default() };
                l.latency_buckets = Some(buckets);
            })
        };
        let steps = [monitored([3, 1, 0, 0]), monitored([4, 0, 0, 2])];
        let table =
            log_table(&record_of(steps.map(|step| applied("rounds", 1, step)).to_vec())).unwrap();
        let cells = &table.rows[0].cells[8..];
        assert_eq!(cells, ["7/1/0/2", "0/0/0/0", "0/0/0/0"].map(TableCell::text));
        let none = log_table(&record_of(vec![applied("rounds", 1, log(|_| ()))])).unwrap();
        assert_eq!(none.columns.len(), 8, "no column for a monitor that the device lacks");
    }

    /// 4 GB at 2.0, counted in GB: between 7/5 and 9/3.
    #[test]
    fn coarse_counters_give_a_range_and_a_reading_counts_the_steps_that_share_it() {
        let coarse = log(|l| {
            l.host_written = Some(Bytes(4_000_000_000));
            l.nand_written = Some(Bytes(8_000_000_000));
            l.host_unit = Some(Bytes(1_000_000_000));
            l.nand_unit = Some(Bytes(1_000_000_000));
            l.earlier_steps = 2;
        });
        let steps = [sensed(|_| ()), sensed(|_| ()), coarse, sensed(|_| ())];
        let record = record_of(steps.map(|step| applied("rounds", 1, step)).to_vec());
        let table = log_table(&record).unwrap();
        assert_eq!(table.rows[0].cells[2], TableCell::text("1.40 to 3.00"));
        assert_eq!(table.rows[0].cells[7], TableCell::text("3 of 4"));
    }

    #[test]
    fn a_counter_that_went_backwards_and_a_monitor_that_was_reset_have_caveats() {
        let reset = log(|l| {
            l.went_backwards = true;
            l.latency_was_reset = true;
        });
        let record = record_of(vec![applied("rounds", 3, reset)]);
        let found = caveats(&record, &in_rounds);
        let ids: Vec<&str> = found.iter().map(|caveat| caveat.id.as_str()).collect();
        assert_eq!(ids, ["device-counters-reset", "latency-monitor-reset"]);
        assert!(found.iter().all(|caveat| caveat.kind == CaveatKind::Remark));
        assert!(
            caveats(&record_of(vec![applied("rounds", 3, log(|_| ()))]), &in_rounds).is_empty()
        );
    }

    #[test]
    fn a_tally_of_all_directions_is_shown() {
        let mut measurement = sensed(|_| ());
        measurement.streams = [Op::Read, Op::Write]
            .map(|op| StreamTally { op, tally: Tally { ios: 5, ..Tally::default() } })
            .to_vec();
        let point = SecondaryPoint::from_steps("RND 4K RW50", &[&measurement]);
        let table = points_table("p", "P", &[point]);
        assert_eq!(table.rows.len(), 10);
        assert_eq!(table.rows[0].cells[0], TableCell::number(Some(10.0), 1));
    }
}
