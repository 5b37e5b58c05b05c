//! ATTO's chart and table: the rates of writes and reads by transfer size.

use super::results::{Attempt, AttemptValue, SequenceResults, ToolExhibits};
use steadfast_domain::findings::{
    Axis, Cell, Exhibit, KeyFigure, Plot, PlotKind, Row, Scale, Series, Stroke, Table,
};

/// Dimensions that the preset gives its steps.
const SIZE: &str = "Transfer size";
const DIRECTION: &str = "Direction";

/// Returns the table, then the bar charts of bytes and of I/Os.
pub(super) fn exhibits(results: &SequenceResults<'_>) -> ToolExhibits {
    let bytes = bars(results, "atto-bars", "Transfer rate", "MB/s", Attempt::mb_per_second);
    let ios = bars(results, "atto-bars-iops", "I/O rate", "IOPS", Attempt::iops);
    let exhibits = vec![Exhibit::Table(table(results)), Exhibit::Plot(bytes), Exhibit::Plot(ios)];
    ToolExhibits { title: "ATTO Disk Benchmark", exhibits }
}

/// Returns the highest rate of each direction and its transfer size: the figure that ATTO is known
/// for.
pub(super) fn key_figures(results: &SequenceResults<'_>) -> Vec<KeyFigure> {
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

fn value(
    results: &SequenceResults<'_>,
    size: &str,
    direction: &str,
    rate: AttemptValue,
) -> Option<f64> {
    let mut measured = results.having([(SIZE, size), (DIRECTION, direction)]);
    measured.next()?.best().and_then(rate)
}

fn table(results: &SequenceResults<'_>) -> Table {
    let rows = results.values(SIZE).into_iter().map(|size| {
        let mb = |direction| value(results, &size, direction, Attempt::mb_per_second);
        let iops = |direction| value(results, &size, direction, Attempt::iops);
        let cells = [(mb("Write"), 2), (mb("Read"), 2), (iops("Write"), 1), (iops("Read"), 1)];
        Row::new(size.clone(), cells.map(|(rate, decimals)| Cell::number(rate, decimals)))
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
    id: &str,
    title: &str,
    unit: &str,
    rate: AttemptValue,
) -> Plot {
    let sizes = results.values(SIZE);
    let series = ["Read", "Write"].map(|direction| {
        let points = sizes.iter().enumerate();
        let points =
            points.map(|(at, size)| (at as f64, value(results, size, direction, rate))).collect();
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
