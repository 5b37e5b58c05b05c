//! Every step of a run, for spreadsheets.

use super::response::FIVE_NINES;
use crate::ground::choices::Choices;
use steadfast_domain::findings::{Cell as TableCell, Row, Table};
use steadfast_domain::{Measurement, Nanos, Op, Record, Tally};

/// One line per step, for spreadsheets.
pub(crate) fn every_step(choices: &Choices<'_>, record: &Record) -> Table {
    let columns = [
        "Round",
        "Step",
        "Label",
        "Elapsed s",
        "Reads",
        "Writes",
        "Read bytes",
        "Write bytes",
        "IOPS",
        "MB/s",
        "ART ms",
        "99 % ms",
        "99.9 % ms",
        "99.999 % ms",
        "MRT ms",
        "CPU user ns/IO",
        "CPU system ns/IO",
        "Failed I/Os",
        "Write amplification",
        "Busiest thread",
        "Host CPU system",
        "Host I/O wait",
        "Power mW",
        "Temperature C",
        "Device host bytes",
        "Device flash bytes",
        "Throttle events",
        "Throttled s",
        "Media errors",
        "Critical warning",
        "Seed",
    ];
    let rows = record.steps().map(|(step, outcome)| {
        let seed = step.load.stimulus().map(|s| s.seed.to_string());
        let mut cells = vec![
            TableCell::number(Some(f64::from(step.place.round)), 0),
            TableCell::number(Some(f64::from(step.place.point)), 0),
            TableCell::text(step.place.label.clone()),
        ];
        cells.extend(step_cells(&outcome.measurement));
        cells.extend(sensed_cells(&outcome.measurement));
        cells.push(seed.map_or(TableCell::Missing, TableCell::Text));
        Row::new(step.place.phase.clone(), cells).strong(choices.measures(step))
    });
    Table::new("steps", "Every step", "Phase").columns(columns).rows(rows)
}

fn step_cells(measurement: &Measurement) -> Vec<TableCell> {
    let total: Tally = measurement.total();
    let (reads, writes) = (measurement.direction(Op::Read), measurement.direction(Op::Write));
    let count = |n: u64| TableCell::number(Some(n as f64), 0);
    let time = |t: Option<Nanos>| TableCell::number(t.map(Nanos::as_millis_f64), 6);
    let per_io = |t: Option<Nanos>| {
        let each = t.filter(|_| total.ios > 0).map(|t| t.0 as f64 / total.ios as f64);
        TableCell::number(each, 1)
    };
    vec![
        TableCell::number(Some(measurement.elapsed.as_secs_f64()), 6),
        count(reads.ios),
        count(writes.ios),
        count(reads.bytes.0),
        count(writes.bytes.0),
        TableCell::number(measurement.iops(), 3),
        TableCell::number(measurement.mb_per_second(), 3),
        time(total.response_mean()),
        time(total.percentile(0.99)),
        time(total.percentile(0.999)),
        time(total.percentile(FIVE_NINES)),
        time(total.response_longest()),
        per_io(measurement.cpu.map(|c| c.user)),
        per_io(measurement.cpu.map(|c| c.system)),
        count(measurement.fault_count),
        TableCell::number(measurement.write_amplification, 3),
    ]
}

fn sensed_cells(measurement: &Measurement) -> Vec<TableCell> {
    let sensed = &measurement.sensed;
    let log = sensed.log.unwrap_or_default();
    let count = |n: Option<u64>| TableCell::number(n.map(|n| n as f64), 0);
    vec![
        TableCell::number(sensed.busiest_thread, 3),
        TableCell::number(sensed.host_cpu.map(|cpu| cpu.system), 4),
        TableCell::number(sensed.host_cpu.map(|cpu| cpu.io_wait), 4),
        TableCell::number(sensed.power_milliwatts, 1),
        TableCell::celsius(sensed.temperature_celsius, 1),
        count(log.host_written.map(|b| b.0)),
        count(log.nand_written.map(|b| b.0)),
        count(log.throttle_events),
        count(log.throttle_seconds),
        count(log.media_errors),
        count(log.critical_warning.map(u64::from)),
    ]
}
