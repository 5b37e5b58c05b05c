//! Tables of WSAT: the summary, every step, and the percentiles of the histogram run.

use super::results::{LAST_STEPS, WsatRun, WsatStep};
use super::setup::HISTOGRAM_TIME;
use crate::exhibits::matrix::millis;
use crate::exhibits::response::{FIVE_NINES, percentile_table};
use crate::exhibits::secondary::amplification;
use crate::exhibits::typed_table::{TypedColumn, typed_row, typed_table};
use crate::report_notation::count_word;
use steadfast_domain::findings::{Cell as TableCell, Row, Table};
use steadfast_domain::{Measurement, Nanos};

const SUMMARY_COLUMNS: [TypedColumn<WsatStep>; 9] = [
    TypedColumn::number("IOPS", 1, |step| step.iops),
    TypedColumn::number("MB/s", 1, |step| step.mb_per_second),
    TypedColumn::number("ART ms", 3, |step| step.art),
    TypedColumn::number("Min ms", 3, |step| step.shortest),
    TypedColumn::number("99.999 % ms", 3, |step| step.five_nines),
    TypedColumn::number("MRT ms", 3, |step| step.mrt),
    TypedColumn::number("Time min", 2, |step| Some(step.time)),
    TypedColumn::number("Written GB", 2, |step| Some(step.written_gb)),
    TypedColumn::number("Drive fills", 3, |step| Some(step.fills)),
];

pub(super) fn summary_table(run: &WsatRun<'_>) -> Table {
    let steps = &run.results.steps;
    let mut rows = Vec::new();
    for (head, step) in [("First step", steps.first()), ("Last step", steps.last())] {
        rows.push(match step {
            Some(step) => typed_row(head, &SUMMARY_COLUMNS, step),
            None => Row::new(head, vec![TableCell::Missing; SUMMARY_COLUMNS.len()]),
        });
    }
    if let Some(verdict) = &run.results.verdict
        && let Some(track) = verdict.tracks.first()
    {
        let head = if verdict.steady {
            "Measurement window (steady)".to_owned()
        } else {
            format!("Last {} rounds (NOT steady)", count_word(verdict.criteria.window))
        };
        rows.push(mean_row(&head, Some(track.average)));
    }
    // With fewer steps the mean would include the first one and mix two states.
    if steps.len() > LAST_STEPS {
        let last = run.results.last_steps(LAST_STEPS).and_then(|merged| merged.iops);
        rows.push(mean_row(&format!("Mean of the last {LAST_STEPS} steps"), last));
    }
    rows.extend(run.results.histogram.map(histogram_row));
    typed_table("wsat-summary", "Write saturation", "", &SUMMARY_COLUMNS).rows(rows)
}

/// Returns a row of the summary with a mean of IOPS only.
fn mean_row(head: &str, iops: Option<f64>) -> Row {
    let mut cells = vec![TableCell::Missing; SUMMARY_COLUMNS.len()];
    cells[0] = TableCell::number(iops, 1);
    Row::new(head, cells).strong(true)
}

fn histogram_row(measurement: &Measurement) -> Row {
    let tally = measurement.total();
    let ms = |time: Option<Nanos>| TableCell::number(millis(time), 3);
    Row::new(
        "Histogram run, after the saturation",
        [
            TableCell::number(measurement.iops(), 1),
            TableCell::number(measurement.mb_per_second(), 1),
            ms(tally.response_mean()),
            ms(tally.response_shortest()),
            ms(tally.percentile(FIVE_NINES)),
            ms(tally.response_longest()),
            TableCell::Missing,
            TableCell::Missing,
            TableCell::Missing,
        ],
    )
}

const STEP_COLUMNS: [TypedColumn<WsatStep>; 12] = [
    TypedColumn::number("Round", 0, |step| Some(f64::from(step.round))),
    TypedColumn::number("Time min", 4, |step| Some(step.time)),
    TypedColumn::number("Written GB", 6, |step| Some(step.written_gb)),
    TypedColumn::number("Drive fills", 6, |step| Some(step.fills)),
    TypedColumn::number("IOPS", 3, |step| step.iops),
    TypedColumn::number("MB/s", 3, |step| step.mb_per_second),
    TypedColumn::number("ART ms", 6, |step| step.art),
    TypedColumn::number("Min ms", 6, |step| step.shortest),
    TypedColumn::number("99.999 % ms", 6, |step| step.five_nines),
    TypedColumn::number("MRT ms", 6, |step| step.mrt),
    TypedColumn::cell("Write amplification", |step| amplification(step.amplification, 3)),
    TypedColumn::cell("Gap before", |step| TableCell::text(if step.gap { "gap" } else { "" })),
];

pub(super) fn steps_table(run: &WsatRun<'_>) -> Table {
    let rows = (1u32..).zip(&run.results.steps);
    let rows = rows.map(|(number, step)| typed_row(number.to_string(), &STEP_COLUMNS, step));
    typed_table("minutes", "Every step of the saturation", "Step", &STEP_COLUMNS).rows(rows)
}

pub(super) fn histogram_percentiles_table(run: &WsatRun<'_>) -> Option<Table> {
    let columns = [(run.test.workload.to_string(), run.results.histogram?.total())];
    let time = HISTOGRAM_TIME.value(&run.test.setup.settings);
    let title = format!("Response times of the histogram run ({time}), ms");
    Some(percentile_table("histogram-percentiles", &title, &columns))
}
