//! ATTO's chart and table: the rates of writes and reads by transfer size.

use super::results::{MeasuredStep, SequenceResults, ToolExhibits};
use crate::report_notation::distinct;
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, KeyFigure, Plot, PlotKind, Row, Scale, Series, Stroke, Table,
};

/// Dimensions that the preset gives its steps.
const SIZE: &str = "Transfer size";
const DIRECTION: &str = "Direction";

/// Returns the table, then the bar charts of bytes and of I/Os.
pub(super) fn figures(results: &SequenceResults<'_>) -> ToolExhibits {
    let bytes =
        bars(results, ("atto-bars", "Transfer rate", "MB/s"), |m| m.best()?.mb_per_second());
    let ios = bars(results, ("atto-bars-iops", "I/O rate", "IOPS"), |m| m.best()?.iops());
    let exhibits = vec![Exhibit::Table(table(results)), Exhibit::Plot(bytes), Exhibit::Plot(ios)];
    ("ATTO Disk Benchmark", exhibits)
}

/// Returns the highest rate of each direction and its transfer size: the figure that ATTO is known
/// for.
pub(super) fn key(results: &SequenceResults<'_>) -> Vec<KeyFigure> {
    let peak = |direction: &str| {
        let of_direction =
            results.measured.iter().filter(|m| m.dimension(DIRECTION) == Some(direction));
        let rated = of_direction.filter_map(|measured| {
            Some((measured.dimension(SIZE)?, measured.best()?.mb_per_second()?))
        });
        let (size, rate) = rated.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let id = format!("peak-{}", direction.to_lowercase());
        Some(KeyFigure::new(&id, format!("{direction}, highest, at {size}"), Some(rate), "MB/s"))
    };
    ["Write", "Read"].into_iter().filter_map(peak).collect()
}

type AttoValue = fn(&MeasuredStep<'_>) -> Option<f64>;

fn value(
    results: &SequenceResults<'_>,
    (size, direction): (&str, &str),
    value: AttoValue,
) -> Option<f64> {
    let mut measured = results.measured.iter();
    let found = measured
        .find(|m| m.dimension(SIZE) == Some(size) && m.dimension(DIRECTION) == Some(direction));
    value(found?)
}

fn sizes(results: &SequenceResults<'_>) -> Vec<String> {
    distinct(results.measured.iter().filter_map(|m| m.dimension(SIZE).map(str::to_owned)))
}

fn table(results: &SequenceResults<'_>) -> Table {
    let mb: AttoValue = |m| m.best()?.mb_per_second();
    let iops: AttoValue = |m| m.best()?.iops();
    let rows = sizes(results).into_iter().map(|size| {
        let cells = [("Write", mb, 2), ("Read", mb, 2), ("Write", iops, 1), ("Read", iops, 1)];
        let cell = |(direction, of, decimals): (&str, AttoValue, u8)| {
            Cell::number(value(results, (&size, direction), of), decimals)
        };
        Row::new(size.clone(), cells.map(cell))
    });
    Table::new("atto", "MB/s and IOPS by transfer size", "Transfer size")
        .columns([
            ("write-mb", "Write MB/s"),
            ("read-mb", "Read MB/s"),
            ("write-iops", "Write IOPS"),
            ("read-iops", "Read IOPS"),
        ])
        .rows(rows)
}

fn bars(
    results: &SequenceResults<'_>,
    (id, title, unit): (&str, &str, &str),
    of: AttoValue,
) -> Plot {
    let sizes = sizes(results);
    let series = ["Read", "Write"].map(|direction| {
        let point =
            |(at, size): (usize, &String)| (at as f64, value(results, (size, direction), of));
        let points = sizes.iter().enumerate().map(point).collect();
        Series::new(direction, Stroke::Measured, points)
    });
    Plot::new(
        PlotKind::Columns3d,
        id,
        title,
        Axis::new("Transfer size", Scale::Categories(sizes.clone())),
        Axis::new(unit, Scale::Linear),
    )
    .caption("Writes and reads by transfer size; the row with the lower columns stands in front.")
    .series(series)
}
