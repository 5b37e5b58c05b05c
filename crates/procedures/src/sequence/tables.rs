//! The tables of every sequence: all steps, each direction, every attempt, the preparation.

use super::results::{Attempt, MeasuredStep, SequenceResults};
use super::setup::{DeviceStep, SequenceProcedure};
use crate::exhibits::matrix::millis;
use crate::exhibits::typed_table::{TypedColumn, typed_table};
use steadfast_domain::findings::{Cell, Column, Row, Table};
use steadfast_domain::{Nanos, Stimulus, Tally, load_words};

/// Percentiles of the tables by direction, in percent, with the IDs of their columns.
pub(crate) const PERCENTILES: [(f64, &str); 8] = [
    (50.0, "p50-ms"),
    (90.0, "p90-ms"),
    (95.0, "p95-ms"),
    (99.0, "p99-ms"),
    (99.9, "p99.9-ms"),
    (99.99, "p99.99-ms"),
    (99.999, "p99.999-ms"),
    (99.9999, "p99.9999-ms"),
];

const RATE_COLUMNS: [TypedColumn<Attempt>; 7] = [
    TypedColumn::number("IOPS", 1, Attempt::iops).with_id("iops"),
    TypedColumn::number("MB/s", 2, Attempt::mb_per_second).with_id("mb"),
    TypedColumn::number("Mean ms", 4, Attempt::mean_ms).with_id("mean-ms"),
    TypedColumn::number("Min ms", 4, |attempt: &Attempt| millis(attempt.total.response_shortest()))
        .with_id("min-ms"),
    TypedColumn::number("99 % ms", 4, |attempt: &Attempt| millis(attempt.total.percentile(0.99)))
        .with_id("p99-ms"),
    TypedColumn::number("99.9 % ms", 4, |attempt: &Attempt| {
        millis(attempt.total.percentile(0.999))
    })
    .with_id("p99.9-ms"),
    TypedColumn::number("Max ms", 4, |attempt: &Attempt| millis(attempt.total.response_longest()))
        .with_id("max-ms"),
];

const ERRORS: TypedColumn<Attempt> =
    TypedColumn::count("Errors", |attempt: &Attempt| Some(attempt.faults)).with_id("errors");

/// Returns the cells of the best attempt at a step; dashes without an attempt.
fn best_cells(measured: &MeasuredStep<'_>, columns: &[TypedColumn<Attempt>]) -> Vec<Cell> {
    match measured.best() {
        Some(best) => columns.iter().map(|column| column.render(best)).collect(),
        None => vec![Cell::Missing; columns.len()],
    }
}

pub(super) fn best_attempts(
    id: &str,
    title: &str,
    corner: &str,
    columns: &[TypedColumn<Attempt>],
    results: &SequenceResults<'_>,
) -> Table {
    let rows = results
        .measured
        .iter()
        .map(|measured| Row::new(measured.step.label.clone(), best_cells(measured, columns)));
    typed_table(id, title, corner, columns).rows(rows)
}

/// Returns the table of rates and response times of all I/Os of each measured step.
pub(super) fn all_steps(sequenced: &SequenceProcedure, results: &SequenceResults<'_>) -> Table {
    let dimensions = dimension_columns(sequenced, results);
    let mut values = Vec::from(RATE_COLUMNS);
    values.push(ERRORS);
    let rows = results.measured.iter().map(|measured| {
        let own = dimensions.iter().map(|name| Cell::known(measured.dimension(name)));
        Row::new(measured.step.label.clone(), own.chain(best_cells(measured, &values)))
    });
    let columns = dimensions.iter().map(|name| Column::from(*name));
    Table::new("sequence", "Every step", "Step")
        .columns(columns.chain(values.iter().map(TypedColumn::column)))
        .rows(rows)
}

/// Returns the dimensions that get a column. With more than two dimensions, those whose value is
/// part of every label are left out.
fn dimension_columns<'s>(
    sequenced: &'s SequenceProcedure,
    results: &SequenceResults<'_>,
) -> Vec<&'s str> {
    const FEW: usize = 2;
    let mut names = sequenced.sequence.dimensions();
    if names.len() <= FEW {
        return names;
    }
    let is_named = |measured: &MeasuredStep<'_>, name: &str| {
        let value = measured.dimension(name).filter(|value| value.len() > FEW);
        value.is_some_and(|value| measured.step.label.contains(value))
    };
    names.retain(|name| !results.measured.iter().all(|measured| is_named(measured, name)));
    names
}

/// Returns the table of reads or of writes, for the steps that have any; `None` if no step has.
pub(super) fn direction_table(
    id: &str,
    title: &str,
    results: &SequenceResults<'_>,
    tally: fn(&Attempt) -> &Tally,
) -> Option<Table> {
    let mut columns: Vec<Column> = [
        ("ios", "I/Os"),
        ("iops", "IOPS"),
        ("mb", "MB/s"),
        ("mean-ms", "Mean ms"),
        ("min-ms", "Min ms"),
    ]
    .map(Column::from)
    .into();
    columns.extend(PERCENTILES.map(|(percent, id)| Column::new(id, format!("{percent} % ms"))));
    columns.push(Column::from(("max-ms", "Max ms")));
    let rows: Vec<Row> =
        results.measured.iter().filter_map(|measured| direction_row(measured, tally)).collect();
    let table = Table::new(id, title, "Step").columns(columns);
    (!rows.is_empty()).then(|| table.rows(rows))
}

fn direction_row(measured: &MeasuredStep<'_>, tally: fn(&Attempt) -> &Tally) -> Option<Row> {
    let attempt = measured.best()?;
    let tally = tally(attempt);
    if tally.ios == 0 {
        return None;
    }
    let ms = |time: Option<Nanos>| Cell::number(millis(time), 4);
    let mut cells = vec![
        Cell::count(tally.ios),
        Cell::number(attempt.rate(tally.ios), 1),
        Cell::number(attempt.rate(tally.bytes.0).map(|bytes| bytes / 1e6), 2),
        ms(tally.response_mean()),
        ms(tally.response_shortest()),
    ];
    cells.extend(PERCENTILES.map(|(percent, _)| ms(tally.percentile(percent / 100.0))));
    cells.push(ms(tally.response_longest()));
    Some(Row::new(measured.step.label.clone(), cells))
}

/// Returns the table of every attempt; `None` if all steps have only one.
pub(super) fn attempts_table(results: &SequenceResults<'_>) -> Option<Table> {
    let most = results.measured.iter().map(|m| m.step.attempts()).max().unwrap_or(1);
    let columns = (1..=most).map(|number| number.to_string());
    let row = |measured: &MeasuredStep<'_>| {
        let rate = |attempt: &Attempt| Cell::number(attempt.mb_per_second(), 2);
        let mut cells: Vec<Cell> = measured.attempts.iter().map(rate).collect();
        cells.resize(most as usize, Cell::Missing);
        Row::new(measured.step.label.clone(), cells)
    };
    let table = Table::new("sequence-attempts", "MB/s of every attempt; the best counts", "Step");
    let rows = results.measured.iter().map(row);
    (most > 1).then(|| table.spanner("Attempt").columns(columns).rows(rows))
}

/// Returns the table of the steps that prepared the device; `None` if there are none.
pub(super) fn preparation_table(results: &SequenceResults<'_>) -> Option<Table> {
    let row = |prepared: &MeasuredStep<'_>| {
        let attempt = prepared.attempts.first();
        let bytes = attempt.map(|attempt| attempt.total.bytes.0 as f64);
        let seconds = attempt.map(|attempt| attempt.elapsed.as_secs_f64());
        let rate = attempt.and_then(Attempt::mb_per_second);
        let cells = [Cell::number(bytes, 0), Cell::number(seconds, 1), Cell::number(rate, 1)];
        Row::new(prepared.step.label.clone(), cells)
    };
    let table = Table::new("sequence-preparation", "Preparation of the device", "Step");
    let rows: Vec<Row> = results.prepared.iter().map(row).collect();
    let columns = [("bytes", "Bytes"), ("seconds", "Seconds"), ("mb", "MB/s")];
    (!rows.is_empty()).then(|| table.columns(columns).rows(rows))
}

/// Returns the table of each load that was applied at the same time as others; `None` if there are
/// none.
pub(super) fn concurrent_loads(results: &SequenceResults<'_>) -> Option<Table> {
    let mut rows = Vec::new();
    for measured in &results.measured {
        let Some(best) = measured.best() else { continue };
        for ((name, load), own) in measured.step.loads().zip(&best.loads) {
            let mut cells = vec![
                Cell::text(load.demand.to_string()),
                Cell::count(own.total.ios),
                Cell::number(Some(own.elapsed.as_secs_f64()), 3),
            ];
            cells.extend(RATE_COLUMNS.map(|column| column.render(own)));
            rows.push(Row::new(format!("{}: {name}", measured.step.label), cells));
        }
    }
    let own = [("demand", "Demand"), ("ios", "I/Os"), ("seconds", "Seconds")].map(Column::from);
    let columns = own.into_iter().chain(RATE_COLUMNS.map(|column| column.column()));
    let title = "Loads that ran at the same time, each over its own measured time";
    let table = Table::new("sequence-apart", title, "Step: load").columns(columns);
    (!rows.is_empty()).then(|| table.rows(rows))
}

/// Returns the table of the streams, range and end of each load of every step.
pub(super) fn applied_loads(sequenced: &SequenceProcedure) -> Table {
    let rows = sequenced.steps.iter().flat_map(|device_step| {
        device_step.named_loads().map(move |(name, stimulus)| {
            let label = match device_step.stimuli.len() {
                1 => device_step.step.label.clone(),
                _ => format!("{}: {name}", device_step.step.label),
            };
            Row::new(label, load_cells(device_step, stimulus))
        })
    });
    Table::new("sequence-loads", "Applied loads", "Step")
        .columns([
            "I/O streams", "Demand", "Pace", "Range", "Alignment", "Zones", "Content", "Until",
        ])
        .rows(rows)
}

fn load_cells(device_step: &DeviceStep, stimulus: &Stimulus) -> [Cell; 8] {
    let all: u64 = stimulus.streams.iter().map(|s| u64::from(s.weight)).sum();
    let share = |weight: u32| format!("{:.1}", f64::from(weight) * 100.0 / all.max(1) as f64);
    let streams: Vec<String> = match stimulus.streams.as_slice() {
        [only] => vec![only.to_string()],
        many => many.iter().map(|s| format!("{s} {} %", share(s.weight))).collect(),
    };
    let range = stimulus.active_range;
    let known = |text: Option<String>, otherwise: &str| {
        Cell::text(text.unwrap_or_else(|| otherwise.to_owned()))
    };
    let own = &stimulus.streams;
    [
        Cell::text(streams.join(", ")),
        Cell::text(stimulus.demand.to_string()),
        known(load_words::pace_text(&stimulus.pace), "as fast as possible"),
        Cell::text(format!("{} from byte {}", range.length.binary(), range.start.0)),
        known(load_words::alignment_text(own), "sequential"),
        known(load_words::zones_text(&stimulus.zones, own), "whole range"),
        known(load_words::content_text(&stimulus.data_pattern, own), "nothing written"),
        Cell::text(end_text(device_step, stimulus)),
    ]
}

/// Returns the condition that ends a load, such as `60 s after 5 s unmeasured, best of 3`.
fn end_text(device_step: &DeviceStep, stimulus: &Stimulus) -> String {
    let until = stimulus.until;
    let parts = [
        until.time.map(|time| time.to_string()),
        until.bytes.map(|bytes| bytes.binary()),
        until.ios.map(|ios| format!("{ios} I/Os")),
        device_step.step.steady.map(|steady| steady.to_string()),
    ];
    let ramp = stimulus.ramp;
    let delay = stimulus.delay;
    let begins = if delay.0 > 0 { format!(", begins after {delay}") } else { String::new() };
    let before = if ramp.0 > 0 { format!(" after {ramp} unmeasured") } else { String::new() };
    let times = match device_step.step.attempts() {
        0 | 1 => String::new(),
        many => format!(", best of {many}"),
    };
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}{before}{begins}{times}", parts.join(" or "))
}
