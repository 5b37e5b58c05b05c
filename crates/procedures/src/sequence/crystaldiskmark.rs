//! CrystalDiskMark's table: one row per test, read and write side by side, the best of its
//! attempts, MB/s of 10^6 bytes.

use super::results::{Attempt, Figures, Measured, Results};
use crate::words::each_once;
use steadfast_domain::findings::{Cell, Exhibit, Row, Table};

/// The dimensions that the preset gives its steps.
const TEST: &str = "Test";
const DIRECTION: &str = "Direction";

/// The main window's table, with the two others that its menu switches to.
pub(super) fn figures(results: &Results<'_>) -> Figures {
    let of = |id, title, value: Value| Exhibit::Table(table(results, (id, title), value));
    let exhibits = vec![
        of("crystaldiskmark", "MB/s, best attempt", |a| Cell::number(a.mb_per_second(), 2)),
        of("crystaldiskmark-iops", "IOPS of the best attempt", |a| Cell::number(a.iops(), 2)),
        of("crystaldiskmark-latency", "Mean response time in µs of the best attempt", |a| {
            Cell::number(a.mean_ms().map(|ms| ms * 1000.0), 2)
        }),
    ];
    ("CrystalDiskMark", exhibits)
}

type Value = fn(&Attempt) -> Cell;

fn table(results: &Results<'_>, (id, title): (&str, &str), value: Value) -> Table {
    let named = |of: &Measured<'_>, name| of.dimension(name).unwrap_or_default().to_owned();
    let directions = each_once(results.measured.iter().map(|m| named(m, DIRECTION)));
    let rows = each_once(results.measured.iter().map(|m| named(m, TEST))).into_iter().map(|test| {
        let cell = |direction: &String| {
            let found = results
                .measured
                .iter()
                .find(|m| named(m, TEST) == test && named(m, DIRECTION) == *direction);
            found.and_then(Measured::best).map_or(Cell::Missing, value)
        };
        Row::new(test.clone(), directions.iter().map(cell))
    });
    Table::new(id, title, "Test").rows(rows).columns(directions.iter().map(String::as_str))
}
