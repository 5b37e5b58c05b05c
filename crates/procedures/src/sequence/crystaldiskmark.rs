//! CrystalDiskMark's table: one row per test with read and write rates of the best attempt, in
//! MB/s (10^6 bytes per second).

use super::results::{Attempt, MeasuredStep, SequenceResults, ToolExhibits};
use crate::report_notation::distinct;
use steadfast_domain::findings::{Cell, Exhibit, Row, Table};

/// Dimensions that the preset gives its steps.
const TEST: &str = "Test";
const DIRECTION: &str = "Direction";

/// Returns the table of the main window, and the two others that its menu specs.
pub(super) fn figures(results: &SequenceResults<'_>) -> ToolExhibits {
    let of = |id, title, value: DiskMarkValue| Exhibit::Table(table(results, (id, title), value));
    let exhibits = vec![
        of("crystaldiskmark", "MB/s, best attempt", |a| Cell::number(a.mb_per_second(), 2)),
        of("crystaldiskmark-iops", "IOPS of the best attempt", |a| Cell::number(a.iops(), 2)),
        of("crystaldiskmark-latency", "Mean response time in µs of the best attempt", |a| {
            Cell::number(a.mean_ms().map(|ms| ms * 1000.0), 2)
        }),
    ];
    ("CrystalDiskMark", exhibits)
}

type DiskMarkValue = fn(&Attempt) -> Cell;

fn table(results: &SequenceResults<'_>, (id, title): (&str, &str), value: DiskMarkValue) -> Table {
    let named = |of: &MeasuredStep<'_>, name| of.dimension(name).unwrap_or_default().to_owned();
    let directions = distinct(results.measured.iter().map(|m| named(m, DIRECTION)));
    let rows = distinct(results.measured.iter().map(|m| named(m, TEST))).into_iter().map(|test| {
        let cell = |direction: &String| {
            let mut measured = results.measured.iter();
            let found =
                measured.find(|m| named(m, TEST) == test && named(m, DIRECTION) == *direction);
            found.and_then(MeasuredStep::best).map_or(Cell::Missing, value)
        };
        Row::new(test.clone(), directions.iter().map(cell))
    });
    Table::new(id, title, "Test").rows(rows).columns(directions.iter().map(String::as_str))
}
