//! Every measured number of several runs in long form: one line per number and run, for
//! spreadsheets and data frames.

use super::side::ComparedRun;
use crate::parts;
use steadfast_domain::findings::{Cell, Metric, Row, Table};
use steadfast_domain::{Findings, Op};

/// Columns after the first, which names the run.
const COLUMNS: [&str; 11] = [
    "procedure", "metric", "point", "size_bytes", "read_percent", "direction", "unit", "value",
    "low", "high", "simulated",
];

/// Returns the numbers of the runs that have this procedure.
pub(super) fn table(sides: &[ComparedRun<'_>]) -> Option<Table> {
    let of_side = |side: &ComparedRun<'_>| {
        let name = side.name.split_once(": ").map_or(side.name.as_str(), |(_, name)| name);
        side.findings.map(|findings| rows(name, findings)).unwrap_or_default()
    };
    let rows: Vec<Row> = sides.iter().flat_map(of_side).collect();
    (!rows.is_empty()).then(|| long(rows))
}

/// Returns every number of the runs, given with their names, and of the procedures they consist
/// of.
pub fn metrics(runs: &[(String, Findings)]) -> Table {
    let of_run = |(name, findings): &(String, Findings)| {
        let all = std::iter::once(findings).chain(parts::parts(findings));
        all.flat_map(|one| rows(name, one)).collect::<Vec<Row>>()
    };
    long(runs.iter().flat_map(of_run).collect())
}

fn long(rows: Vec<Row>) -> Table {
    let title = "Every number in long form; low and high: of the rounds of its window";
    Table::new("metrics", title, "run").columns(COLUMNS).rows(rows)
}

fn rows(name: &str, findings: &Findings) -> Vec<Row> {
    findings.metrics.iter().map(|metric| row(name, findings, metric)).collect()
}

fn row(name: &str, findings: &Findings, metric: &Metric) -> Row {
    let number = |value: Option<f64>| Cell::number(value, 6);
    let direction = match metric.direction {
        Some(Op::Read) => "read",
        Some(Op::Write) => "write",
        Some(Op::Discard) => "discard",
        Some(Op::Flush) => "flush",
        None => "all",
    };
    Row::new(
        name,
        [
            Cell::text(&findings.id),
            Cell::text(&metric.metric),
            Cell::text(&metric.point),
            metric.size.map_or(Cell::Missing, |size| Cell::count(size.0)),
            metric.read_percent.map_or(Cell::Missing, |mix| Cell::count(mix.into())),
            Cell::text(direction),
            Cell::text(&metric.unit),
            number(Some(metric.value)),
            number(metric.range.map(|range| range.0)),
            number(metric.range.map(|range| range.1)),
            Cell::text(if findings.simulated { "yes" } else { "no" }),
        ],
    )
}
