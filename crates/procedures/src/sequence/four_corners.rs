//! The Viking guide's table of maximum performance, and its figures: rate and response time by
//! queue depth, and the fresh drive compared with the preconditioned one.

use super::results::{Attempt, MeasuredStep, SequenceResults, ToolExhibits};
use crate::presets::four_corners::{CORNERS, CornerTest, DEPTH, FRESH, PASS, PRECONDITIONED, TEST};
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, KeyFigure, Plot, Row, Scale, Series, Stroke, Table,
};

/// Returns the table, then the plots that compare the fresh with the preconditioned drive, then a
/// plot for each corner.
pub(super) fn figures(results: &SequenceResults<'_>) -> ToolExhibits {
    let mut exhibits = vec![Exhibit::Table(table(results))];
    let fresh = CORNERS.iter().filter(|corner| !points(results, FRESH, corner, rate).is_empty());
    exhibits.extend(fresh.map(|corner| Exhibit::Plot(against(results, corner))));
    exhibits.extend(CORNERS.iter().map(|corner| Exhibit::Plot(by_depth(results, corner))));
    ("Viking SSD Benchmarking", exhibits)
}

/// Returns the maxima of the four corners of the preconditioned drive, then those of the writes of
/// the fresh one.
pub(super) fn key(results: &SequenceResults<'_>) -> Vec<KeyFigure> {
    let passes = [PRECONDITIONED, FRESH].into_iter();
    let all = passes.flat_map(|pass| CORNERS.iter().map(move |corner| (pass, corner)));
    let measured = all.filter(|(pass, corner)| !points(results, pass, corner, rate).is_empty());
    let figure = |(pass, corner): (&str, &CornerTest)| {
        let most = best(&points(results, pass, corner, rate)).map(|(_, value)| value);
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

/// Returns the queue depth with the largest value, and that value.
fn best(points: &[(f64, Option<f64>)]) -> Option<(f64, f64)> {
    let known = points.iter().filter_map(|(depth, value)| Some((*depth, (*value)?)));
    known.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// Returns table 3-1 of the guide with the measured values.
fn table(results: &SequenceResults<'_>) -> Table {
    let row = |corner: &CornerTest| {
        let decimals = if corner.in_iops { 0 } else { 1 };
        let fresh = best(&points(results, FRESH, corner, rate));
        let after = best(&points(results, PRECONDITIONED, corner, rate));
        let change = fresh.zip(after).filter(|((_, fresh), _)| *fresh > 0.0);
        let change = change.map(|((_, fresh), (_, after))| (after / fresh - 1.0) * 100.0);
        let cells = [
            Cell::text(corner.description),
            Cell::text(corner.metric),
            Cell::text(unit(corner)),
            Cell::number(fresh.map(|(_, value)| value), decimals),
            Cell::number(after.map(|(_, value)| value), decimals),
            Cell::number(change, 1),
            Cell::number(after.map(|(depth, _)| depth), 0),
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
fn by_depth(results: &SequenceResults<'_>, corner: &CornerTest) -> Plot {
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
fn against(results: &SequenceResults<'_>, corner: &CornerTest) -> Plot {
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
