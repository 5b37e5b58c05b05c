//! Every measured number of several runs in long form: one line per number and run, for
//! spreadsheets and data frames.

use super::side::ComparedRun;
use crate::named_run::NamedRun;
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
        side.findings.map(|findings| rows(side.bare_name(), findings)).unwrap_or_default()
    };
    let rows: Vec<Row> = sides.iter().flat_map(of_side).collect();
    (!rows.is_empty()).then(|| long_table(rows))
}

/// Returns every number of the runs and of the procedures they consist of.
pub fn metrics(runs: &[NamedRun]) -> Table {
    let mut all = Vec::new();
    for NamedRun { name, findings } in runs {
        all.extend(findings.self_and_parts().into_iter().flat_map(|one| rows(name, one)));
    }
    long_table(all)
}

fn long_table(rows: Vec<Row>) -> Table {
    let title = "Every number in long form; low and high: of the rounds of its window";
    Table::new("metrics", title, "run").columns(COLUMNS).rows(rows)
}

fn rows(name: &str, findings: &Findings) -> Vec<Row> {
    findings.metrics.iter().map(|metric| row(name, findings, metric)).collect()
}

fn row(name: &str, findings: &Findings, metric: &Metric) -> Row {
    let number = |value: Option<f64>| Cell::number(value, 6);
    Row::new(
        name,
        [
            Cell::text(&findings.id),
            Cell::text(&metric.metric),
            Cell::text(&metric.point),
            metric.size.map_or(Cell::Missing, |size| Cell::count(size.0)),
            metric.read_percent.map_or(Cell::Missing, |mix| Cell::count(mix.into())),
            Cell::text(metric.direction.map_or("all", Op::name)),
            Cell::text(&metric.unit),
            number(Some(metric.value)),
            number(metric.range.map(|range| range.low)),
            number(metric.range.map(|range| range.high)),
            Cell::text(if findings.simulated { "yes" } else { "no" }),
        ],
    )
}
