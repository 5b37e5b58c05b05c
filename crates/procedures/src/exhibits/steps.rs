//! Every step of a run, for spreadsheets.

use super::matrix::millis;
use super::response::FIVE_NINES;
use super::secondary::latency_buckets;
use super::typed_table::{TypedColumn, typed_row, typed_table};
use crate::common::choices::RunChoices;
use steadfast_domain::device_log::{DeviceCounters, LatencyBuckets, LogDelta};
use steadfast_domain::findings::{Cell, Table};
use steadfast_domain::stimulus::Pace;
use steadfast_domain::{Measurement, Nanos, Op, Outcome, Record, StartError, Step, Tally};

struct StepRow<'a> {
    step: &'a Step,
    measured: &'a Measurement,
    total: Tally,
    reads: Tally,
    writes: Tally,
    /// See [`RunChoices::closed_loop_maximum`].
    closed_loop_maximum: Option<f64>,
}

impl<'a> StepRow<'a> {
    fn new(step: &'a Step, outcome: &'a Outcome, closed_loop_maximum: Option<f64>) -> Self {
        let measured = &outcome.measurement;
        let (reads, writes) = (measured.direction(Op::Read), measured.direction(Op::Write));
        StepRow { step, measured, total: measured.total(), reads, writes, closed_loop_maximum }
    }

    fn start_error(&self) -> Option<&'a StartError> {
        self.measured.start_error.as_deref()
    }

    fn per_io(&self, time: Nanos) -> Option<f64> {
        (self.total.ios > 0).then(|| time.0 as f64 / self.total.ios as f64)
    }

    fn log(&self) -> LogDelta {
        self.measured.sensed.log.unwrap_or_default()
    }

    fn before(&self) -> DeviceCounters {
        self.log().before.unwrap_or_default()
    }

    fn after(&self) -> DeviceCounters {
        self.log().after.unwrap_or_default()
    }

    fn buckets(&self, counts: fn(&LatencyBuckets) -> [u64; 4]) -> Cell {
        latency_buckets(&self.log(), counts)
    }
}

fn columns<'a>() -> Vec<TypedColumn<StepRow<'a>>> {
    vec![
        TypedColumn::count("Round", |row| Some(u64::from(row.step.place.round))),
        TypedColumn::count("Step", |row| Some(u64::from(row.step.place.point))),
        TypedColumn::cell("Label", |row| Cell::text(row.step.place.label.clone())),
        TypedColumn::number("Elapsed s", 6, |row| Some(row.measured.elapsed.as_secs_f64())),
        TypedColumn::count("Reads", |row| Some(row.reads.ios)),
        TypedColumn::count("Writes", |row| Some(row.writes.ios)),
        TypedColumn::count("Read bytes", |row| Some(row.reads.bytes.0)),
        TypedColumn::count("Write bytes", |row| Some(row.writes.bytes.0)),
        TypedColumn::number("IOPS", 3, |row| row.measured.iops()),
        TypedColumn::number("MB/s", 3, |row| row.measured.mb_per_second()),
        TypedColumn::number("ART ms", 6, |row| millis(row.total.response_mean())),
        TypedColumn::number("Min ms", 6, |row| millis(row.total.response_shortest())),
        TypedColumn::number("99 % ms", 6, |row| millis(row.total.percentile(0.99))),
        TypedColumn::number("99.9 % ms", 6, |row| millis(row.total.percentile(0.999))),
        TypedColumn::number("99.999 % ms", 6, |row| millis(row.total.percentile(FIVE_NINES))),
        TypedColumn::number("MRT ms", 6, |row| millis(row.total.response_longest())),
        TypedColumn::number("CPU user ns/IO", 1, |row| row.per_io(row.measured.cpu?.user)),
        TypedColumn::number("CPU system ns/IO", 1, |row| row.per_io(row.measured.cpu?.system)),
        TypedColumn::count("Failed I/Os", |row| Some(row.measured.fault_count)),
        TypedColumn::number("Write amplification", 3, |row| {
            row.measured.write_amplification?.value()
        }),
        TypedColumn::number("Write amplification, low", 3, |row| {
            Some(row.measured.write_amplification?.low)
        }),
        TypedColumn::number("Write amplification, high", 3, |row| {
            Some(row.measured.write_amplification?.high)
        }),
        TypedColumn::number("Busiest thread", 3, |row| row.measured.sensed.busiest_thread),
        TypedColumn::number("Host CPU system", 4, |row| Some(row.measured.sensed.host_cpu?.system)),
        TypedColumn::number("Host I/O wait", 4, |row| Some(row.measured.sensed.host_cpu?.io_wait)),
        TypedColumn::number("Power mW", 1, |row| row.measured.sensed.power_milliwatts),
        TypedColumn::number("Energy J", 3, |row| row.measured.joules()),
        TypedColumn::number("IOPS / W", 3, |row| row.measured.iops_per_watt()),
        TypedColumn::number("J / GB", 3, |row| row.measured.joules_per_gb()),
        TypedColumn::cell("Temperature C", |row| {
            Cell::celsius(row.measured.sensed.temperature_celsius, 1)
        }),
        TypedColumn::cell("Ambient C", |row| Cell::celsius(row.measured.sensed.ambient_celsius, 1)),
        TypedColumn::count("Device host bytes", |row| Some(row.log().host_written?.0)),
        TypedColumn::count("Device flash bytes", |row| Some(row.log().nand_written?.0)),
        TypedColumn::count("Device read bytes", |row| Some(row.log().host_read?.0)),
        TypedColumn::count("Device host bytes before", |row| Some(row.before().host_written?.0)),
        TypedColumn::count("Device host bytes after", |row| Some(row.after().host_written?.0)),
        TypedColumn::count("Device flash bytes before", |row| Some(row.before().nand_written?.0)),
        TypedColumn::count("Device flash bytes after", |row| Some(row.after().nand_written?.0)),
        TypedColumn::count("Earlier steps in device bytes", |row| {
            row.measured.sensed.log.map(|log| u64::from(log.earlier_steps))
        }),
        TypedColumn::count("Throttle events", |row| row.log().throttle_events),
        TypedColumn::count("Throttled s", |row| row.log().throttle_seconds),
        TypedColumn::count("Media errors", |row| row.log().media_errors),
        TypedColumn::count("Critical warning", |row| row.log().critical_warning.map(u64::from)),
        TypedColumn::cell("Latency monitor reads A/B/C/D", |row| row.buckets(|b| b.reads)),
        TypedColumn::cell("Latency monitor writes A/B/C/D", |row| row.buckets(|b| b.writes)),
        TypedColumn::cell("Latency monitor trims A/B/C/D", |row| row.buckets(|b| b.trims)),
        TypedColumn::cell("Seed", |row| {
            Cell::known(row.step.load.stimulus().map(|stimulus| stimulus.seed.to_string()))
        }),
    ]
}

fn rate_columns<'a>() -> [TypedColumn<StepRow<'a>>; 2] {
    [
        TypedColumn::number("Offered IOPS", 3, |row| pace(row.step).offered_iops()),
        TypedColumn::cell("Kept up", |row| {
            let kept_up = row.measured.kept_up_below(&pace(row.step), row.closed_loop_maximum);
            Cell::known(kept_up.map(|kept_up| if kept_up { "yes" } else { "NO" }))
        }),
    ]
}

/// Returns the columns of steps whose I/Os have due times.
fn start_error_columns<'a>() -> [TypedColumn<StepRow<'a>>; 3] {
    [
        TypedColumn::number("Start error 50 % ms", 6, |row| millis(row.start_error()?.p50())),
        TypedColumn::number("Start error 99 % ms", 6, |row| millis(row.start_error()?.p99())),
        TypedColumn::number("Start error max ms", 6, |row| millis(Some(row.start_error()?.max))),
    ]
}

fn pace(step: &Step) -> Pace {
    step.load.stimulus().map(|stimulus| stimulus.pace.clone()).unwrap_or_default()
}

/// Returns one line per step, for spreadsheets.
pub(crate) fn every_step(choices: &RunChoices<'_>, record: &Record) -> Table {
    let mut columns = columns();
    if record.steps().any(|(step, _)| pace(step).offered_iops().is_some()) {
        columns.extend(rate_columns());
    }
    if record.steps().any(|(_, outcome)| outcome.measurement.start_error.is_some()) {
        columns.extend(start_error_columns());
    }
    let maximum = choices.closed_loop_maximum;
    let rows = record.steps().map(|(step, outcome)| {
        let row = StepRow::new(step, outcome, maximum);
        let phase = row.step.place.phase.clone();
        typed_row(phase, &columns, &row).strong(choices.measures(row.step))
    });
    typed_table("steps", "Every step", "Phase", &columns).rows(rows)
}
