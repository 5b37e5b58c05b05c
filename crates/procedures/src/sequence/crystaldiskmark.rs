//! CrystalDiskMark's table: one row per test with read and write rates of the best attempt, in
//! MB/s (10^6 bytes per second).

use super::results::{Attempt, AttemptValue, MeasuredStep, SequenceResults, ToolExhibits};
use steadfast_domain::findings::{Cell, Exhibit, Row, Table};

/// Dimensions that the preset gives its steps.
const TEST: &str = "Test";
const DIRECTION: &str = "Direction";

/// Returns the table of the main window, and the two others that its menu offers.
pub(super) fn exhibits(results: &SequenceResults<'_>) -> ToolExhibits {
    let mean_us: AttemptValue = |attempt| attempt.mean_ms().map(|ms| ms * 1000.0);
    let mean_title = "Mean response time in µs of the best attempt";
    let tables = [
        table(results, "crystaldiskmark", "MB/s, best attempt", Attempt::mb_per_second),
        table(results, "crystaldiskmark-iops", "IOPS of the best attempt", Attempt::iops),
        table(results, "crystaldiskmark-latency", mean_title, mean_us),
    ];
    ToolExhibits { title: "CrystalDiskMark", exhibits: tables.map(Exhibit::Table).into() }
}

fn table(results: &SequenceResults<'_>, id: &str, title: &str, value: AttemptValue) -> Table {
    let directions = results.values(DIRECTION);
    let rows = results.values(TEST).into_iter().map(|test| {
        let cell = |direction: &String| {
            let mut measured = results.having([(TEST, &test), (DIRECTION, direction)]);
            Cell::number(measured.next().and_then(MeasuredStep::best).and_then(value), 2)
        };
        Row::new(test.clone(), directions.iter().map(cell))
    });
    Table::new(id, title, "Test").rows(rows).columns(directions.iter().map(String::as_str))
}
