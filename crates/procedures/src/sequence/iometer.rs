//! Exhibits for Iometer's users: the six results of its display for each test, and plots of rate
//! and response time by queue depth.

use super::results::{Attempt, AttemptValue, SequenceResults, ToolExhibits};
use super::tables::best_attempts;
use crate::exhibits::matrix::millis;
use crate::exhibits::typed_table::TypedColumn;
use steadfast_domain::findings::{Axis, Exhibit, Plot, Scale, Series, Stroke};

/// Dimensions that a configuration gives its steps.
const SPEC: &str = "Access specification";
const DEPTH: &str = "Queue depth";
/// Maximum number of lines in a plot that a reader can distinguish.
const LINES_MAX: usize = 8;
const MIB: f64 = 1_048_576.0;

/// Returns the table, then plots for the access specifications with several queue depths.
pub(super) fn exhibits(results: &SequenceResults<'_>) -> ToolExhibits {
    let title = "Results as Iometer displays them; its MBs are MiB";
    let table = best_attempts("iometer", title, "Test", &DISPLAYED, results);
    let mut exhibits = vec![Exhibit::Table(table)];
    let mut varied = results.values(SPEC);
    varied.retain(|spec| points(results, spec, |_| None).len() > 1);
    for (specs, number) in varied.chunks(LINES_MAX).zip(1..) {
        let id = format!("iometer-iops-{number}");
        exhibits.push(plot(results, specs, &id, "IOPS by queue depth", "IOPS", Attempt::iops));
        let (id, unit) = (format!("iometer-response-{number}"), "Mean response time (ms)");
        let title = "Mean response time by queue depth";
        exhibits.push(plot(results, specs, &id, title, unit, Attempt::mean_ms));
    }
    ToolExhibits { title: "Iometer", exhibits }
}

/// The statistics of Iometer's six bar charts.
const DISPLAYED: [TypedColumn<Attempt>; 6] = [
    TypedColumn::number("Total I/Os per second", 1, Attempt::iops).with_id("iops"),
    TypedColumn::number("Total MiB/s", 2, |attempt: &Attempt| {
        Some(attempt.rate(attempt.total.bytes.0)? / MIB)
    })
    .with_id("mib"),
    TypedColumn::number("Average response time (ms)", 4, Attempt::mean_ms).with_id("mean-ms"),
    TypedColumn::number("Maximum response time (ms)", 4, |attempt: &Attempt| {
        millis(attempt.total.response_longest())
    })
    .with_id("max-ms"),
    TypedColumn::number("% CPU utilization (total)", 2, |attempt: &Attempt| {
        Some(attempt.cpu? * 100.0)
    })
    .with_id("cpu"),
    TypedColumn::count("Total error count", |attempt: &Attempt| Some(attempt.faults))
        .with_id("errors"),
];

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
