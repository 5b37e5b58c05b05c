//! The Viking guide's table of maximum performance, and its figures: rate and response time by
//! queue depth, and the fresh drive compared with the preconditioned one.

use super::results::{Attempt, MeasuredStep, SequenceResults, ToolExhibits};
use crate::presets::four_corners::{CORNERS, CornerTest, DEPTH, FRESH, PASS, PRECONDITIONED, TEST};
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, KeyFigure, Plot, Row, Scale, Series, Stroke, Table,
};

/// Returns the table, then the plots that compare the fresh with the preconditioned drive, then a
/// plot for each corner.
pub(super) fn exhibits(results: &SequenceResults<'_>) -> ToolExhibits {
    let mut exhibits = vec![Exhibit::Table(table(results))];
    let fresh = CORNERS.iter().filter(|corner| !points(results, FRESH, corner, rate).is_empty());
    exhibits.extend(fresh.map(|corner| Exhibit::Plot(fresh_plot(results, corner))));
    exhibits.extend(CORNERS.iter().map(|corner| Exhibit::Plot(depth_plot(results, corner))));
    ToolExhibits { title: "Viking SSD Benchmarking", exhibits }
}

/// Returns the maxima of the four corners of the preconditioned drive, then those of the writes of
/// the fresh one.
pub(super) fn key_figures(results: &SequenceResults<'_>) -> Vec<KeyFigure> {
    let passes = [PRECONDITIONED, FRESH].into_iter();
    let all = passes.flat_map(|pass| CORNERS.iter().map(move |corner| (pass, corner)));
    let measured = all.filter(|(pass, corner)| !points(results, pass, corner, rate).is_empty());
    let figure = |(pass, corner): (&str, &CornerTest)| {
        let most = best(results, pass, corner).map(|best| best.value);
        let id = format!("viking-{}-{}", pass.to_lowercase(), corner.name);
        let label = format!("{}, {}", corner.metric, pass.to_lowercase());
        KeyFigure::new(&id, &label, most, unit(corner))
    };
    measured.map(figure).collect()
}

type CornerValue = fn(&CornerTest, &Attempt) -> Option<f64>;

/// Returns the rate in IOPS or MB/s, the unit that the guide uses for the corner.
fn rate(corner: &CornerTest, attempt: &Attempt) -> Option<f64> {
    if corner.in_iops { attempt.iops() } else { attempt.mb_per_second() }
}

fn unit(corner: &CornerTest) -> &'static str {
    if corner.in_iops { "IOPS" } else { "MB/s" }
}

fn depth(measured: &MeasuredStep<'_>) -> Option<f64> {
    measured.dimension(DEPTH)?.parse().ok()
}

/// Returns queue depth and value of the measured steps of a corner, in order.
fn points(
    results: &SequenceResults<'_>,
    pass: &str,
    corner: &CornerTest,
    value: CornerValue,
) -> Vec<(f64, Option<f64>)> {
    let measured = results.having([(PASS, pass), (TEST, corner.name)]);
    measured
        .filter_map(|measured| Some((depth(measured)?, value(corner, measured.best()?))))
        .collect()
}

/// Largest value of a corner, and the queue depth that has it.
struct BestDepth {
    depth: f64,
    value: f64,
}

/// Returns the best rate of a corner; `None` if it was not measured.
fn best(results: &SequenceResults<'_>, pass: &str, corner: &CornerTest) -> Option<BestDepth> {
    let points = points(results, pass, corner, rate).into_iter();
    let known = points.filter_map(|(depth, value)| Some(BestDepth { depth, value: value? }));
    known.max_by(|a, b| a.value.total_cmp(&b.value))
}

/// Returns table 3-1 of the guide with the measured values.
fn table(results: &SequenceResults<'_>) -> Table {
    let row = |corner: &CornerTest| {
        let decimals = if corner.in_iops { 0 } else { 1 };
        let fresh = best(results, FRESH, corner).map(|best| best.value);
        let preconditioned = best(results, PRECONDITIONED, corner);
        let after = preconditioned.as_ref().map(|best| best.value);
        let rates = fresh.filter(|fresh| *fresh > 0.0).zip(after);
        let change = rates.map(|(fresh, after)| (after / fresh - 1.0) * 100.0);
        let cells = [
            Cell::text(corner.description),
            Cell::text(corner.metric),
            Cell::text(unit(corner)),
            Cell::number(fresh, decimals),
            Cell::number(after, decimals),
            Cell::number(change, 1),
            Cell::number(preconditioned.map(|best| best.depth), 0),
        ];
        Row::new(corner.name, cells)
    };
    Table::new("viking", "Maximum performance over queue depths 1 to 32", "Test name")
        .columns([
            ("description", "Test description"),
            ("metric", "Metric (max)"),
            ("unit", "Unit"),
            ("fresh", "Fresh"),
            ("preconditioned", "Preconditioned"),
            ("change", "Change %"),
            ("depth", "At queue depth"),
        ])
        .rows(CORNERS.iter().map(row))
}

/// Returns figure 3-2 of the guide: rate and mean response time by queue depth.
fn depth_plot(results: &SequenceResults<'_>, corner: &CornerTest) -> Plot {
    let points_of = |value| points(results, PRECONDITIONED, corner, value);
    let mean: CornerValue = |_, attempt| attempt.mean_ms();
    Plot::lines(
        &format!("viking-depth-{}", corner.name),
        format!("{} ({}) by queue depth, preconditioned", corner.metric, corner.name),
        Axis::new("Queue depth", Scale::Log2),
        Axis::new(unit(corner), Scale::Linear),
    )
    .right(Axis::new("Mean response time (ms)", Scale::Linear))
    .with(Series::new(unit(corner), Stroke::Measured, points_of(rate)).with_id("rate"))
    .with(
        Series::new("Mean response time", Stroke::Average, points_of(mean))
            .with_id("mean")
            .on_right(),
    )
}

/// Returns figure 3-6 of the guide: the rate before and after preconditioning.
fn fresh_plot(results: &SequenceResults<'_>, corner: &CornerTest) -> Plot {
    let series_of =
        |pass: &str| Series::new(pass, Stroke::Measured, points(results, pass, corner, rate));
    Plot::lines(
        &format!("viking-fresh-{}", corner.name),
        format!("{} ({}): fresh against preconditioned", corner.metric, corner.name),
        Axis::new("Queue depth", Scale::Log2),
        Axis::new(unit(corner), Scale::Linear),
    )
    .with(series_of(FRESH))
    .with(series_of(PRECONDITIONED))
}
