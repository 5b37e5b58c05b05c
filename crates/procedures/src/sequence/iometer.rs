//! Exhibits for Iometer's users: the six results of its display for each test, and plots of rate
//! and response time by queue depth.

use super::results::{Attempt, MeasuredStep, SequenceResults, ToolExhibits};
use crate::report_notation::distinct;
use steadfast_domain::Nanos;
use steadfast_domain::findings::{Axis, Cell, Exhibit, Plot, Row, Scale, Series, Stroke, Table};

/// Dimensions that a configuration gives its steps.
const SPEC: &str = "Access specification";
const DEPTH: &str = "Queue depth";
/// Maximum number of lines in a plot that a reader can distinguish.
const LINES_MAX: usize = 8;
const MIB: f64 = 1_048_576.0;

/// Returns the table, then plots for the access specifications with several queue depths.
pub(super) fn figures(results: &SequenceResults<'_>) -> ToolExhibits {
    let mut exhibits = vec![Exhibit::Table(table(results))];
    let specs = distinct(results.measured.iter().filter_map(|m| of(m, SPEC)));
    let varied: Vec<String> =
        specs.into_iter().filter(|spec| points(results, spec, |_| None).len() > 1).collect();
    for (specs, number) in varied.chunks(LINES_MAX).zip(1..) {
        exhibits.push(Exhibit::Plot(rates(results, specs, number)));
        exhibits.push(Exhibit::Plot(response_times(results, specs, number)));
    }
    ("Iometer", exhibits)
}

fn of(measured: &MeasuredStep<'_>, dimension: &str) -> Option<String> {
    measured.dimension(dimension).map(str::to_owned)
}

/// Returns the table of the statistics of Iometer's six bar charts.
fn table(results: &SequenceResults<'_>) -> Table {
    let row = |measured: &MeasuredStep<'_>| {
        let best = measured.best();
        let mib = |attempt: &Attempt| attempt.rate(attempt.total.bytes.0).map(|b| b / MIB);
        let longest = |attempt: &Attempt| attempt.total.response_longest();
        let cells = [
            Cell::number(best.and_then(Attempt::iops), 1),
            Cell::number(best.and_then(mib), 2),
            Cell::number(best.and_then(Attempt::mean_ms), 4),
            Cell::number(best.and_then(longest).map(Nanos::as_millis_f64), 4),
            Cell::number(best.and_then(|attempt| attempt.cpu).map(|cpu| cpu * 100.0), 2),
            best.map_or(Cell::Missing, |attempt| Cell::count(attempt.faults)),
        ];
        Row::new(measured.step.label.clone(), cells)
    };
    Table::new("iometer", "Results as Iometer displays them; its MBs are MiB", "Test")
        .columns([
            ("iops", "Total I/Os per second"),
            ("mib", "Total MiB/s"),
            ("mean-ms", "Average response time (ms)"),
            ("max-ms", "Maximum response time (ms)"),
            ("cpu", "% CPU utilization (total)"),
            ("errors", "Total error count"),
        ])
        .rows(results.measured.iter().map(row))
}

type AttemptValue = fn(&Attempt) -> Option<f64>;

/// Returns queue depth and value of the tests of an access specification; of several tests at the
/// same depth, the last one.
fn points(
    results: &SequenceResults<'_>,
    spec: &str,
    value: AttemptValue,
) -> Vec<(f64, Option<f64>)> {
    let mut points: Vec<(f64, Option<f64>)> = Vec::new();
    for measured in results.measured.iter().filter(|m| m.dimension(SPEC) == Some(spec)) {
        let depth = measured.dimension(DEPTH).and_then(|depth| depth.parse::<f64>().ok());
        let Some(depth) = depth else { continue };
        points.retain(|(other, _)| *other != depth);
        points.push((depth, measured.best().and_then(value)));
    }
    points
}

fn plot(
    results: &SequenceResults<'_>,
    specs: &[String],
    (id, title, unit): (String, &str, &str),
    value: AttemptValue,
) -> Plot {
    let line =
        |spec: &String| Series::new(spec.clone(), Stroke::Measured, points(results, spec, value));
    Plot::lines(
        &id,
        title,
        Axis::new("Queue depth of each target", Scale::Log2),
        Axis::new(unit, Scale::Linear),
    )
    .series(specs.iter().map(line))
}

fn rates(results: &SequenceResults<'_>, specs: &[String], number: usize) -> Plot {
    let what = (format!("iometer-iops-{number}"), "IOPS by queue depth", "IOPS");
    plot(results, specs, what, Attempt::iops)
}

fn response_times(results: &SequenceResults<'_>, specs: &[String], number: usize) -> Plot {
    let title = "Mean response time by queue depth";
    let what = (format!("iometer-response-{number}"), title, "Mean response time (ms)");
    plot(results, specs, what, Attempt::mean_ms)
}
