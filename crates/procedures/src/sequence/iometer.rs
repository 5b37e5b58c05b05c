//! Exhibits for Iometer's users: the six results of its display for each test, and plots of rate
//! and response time by queue depth.

use super::results::{Attempt, AttemptValue, MeasuredStep, SequenceResults, ToolExhibits};
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
    let mut varied = results.values(SPEC);
    varied.retain(|spec| points(results, spec, |_| None).len() > 1);
    for (specs, number) in varied.chunks(LINES_MAX).zip(1..) {
        let id = format!("iometer-iops-{number}");
        exhibits.push(plot(results, specs, &id, "IOPS by queue depth", "IOPS", Attempt::iops));
        let (id, unit) = (format!("iometer-response-{number}"), "Mean response time (ms)");
        let title = "Mean response time by queue depth";
        exhibits.push(plot(results, specs, &id, title, unit, Attempt::mean_ms));
    }
    ("Iometer", exhibits)
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
    id: &str,
    title: &str,
    unit: &str,
    value: AttemptValue,
) -> Exhibit {
    let line =
        |spec: &String| Series::new(spec.clone(), Stroke::Measured, points(results, spec, value));
    let depth = Axis::new("Queue depth of each target", Scale::Log2);
    let plot = Plot::lines(id, title, depth, Axis::new(unit, Scale::Linear));
    Exhibit::Plot(plot.series(specs.iter().map(line)))
}
