//! Changes relative to the first run, point by point: matrices of size and mix if the runs have
//! them, otherwise one line per point. Changes beyond the noise of the measurement windows are
//! marked, the others gray.

use super::figures::MARKS;
use super::side::{ComparedRun, letters};
use crate::grouping::unique_by;
use std::collections::BTreeSet;
use steadfast_domain::findings::{
    COMPARED, COMPARED_SECONDARY, Cell, Column, Exhibit, Metric, Page, Row, Table, may_be_noise,
};
use steadfast_domain::{Bytes, Findings};

const MATRICES_MAX: usize = 6;
/// Maximum number of rows of the table with one row per point.
const POINTS_MAX: usize = 36;

/// IDs and printed names of metrics.
type NamedMetrics = &'static [(&'static str, &'static str)];

/// Returns the page of changes, or `None` if the runs have no point in common.
pub(super) fn page(sides: &[ComparedRun<'_>]) -> Option<Page> {
    page_of(sides, &COMPARED, "changes", &format!("Change against A, %; {MARKS}"))
}

/// Returns the page of changes of power and processor use, or `None` if no two runs measured them.
pub(super) fn secondary_page(sides: &[ComparedRun<'_>]) -> Option<Page> {
    let title = format!("Change of secondary metrics against A, %; {MARKS}");
    page_of(sides, &COMPARED_SECONDARY, "changes-secondary", &title)
}

fn page_of(
    sides: &[ComparedRun<'_>],
    compared: NamedMetrics,
    id: &str,
    title: &str,
) -> Option<Page> {
    let mut tables = matrices(sides, compared);
    if tables.is_empty() {
        tables.extend(point_table(sides, compared, id));
    }
    let exhibits: Vec<Exhibit> = tables.into_iter().map(Exhibit::Table).collect();
    (!exhibits.is_empty()).then(|| Page::new(title, exhibits).with_id(id))
}

fn metrics<'a>(side: &ComparedRun<'a>) -> impl Iterator<Item = &'a Metric> {
    let all = side.findings.map(|findings: &Findings| findings.metrics.as_slice());
    all.unwrap_or_default().iter().filter(|metric| metric.direction.is_none())
}

struct Change {
    cell: Cell,
    may_be_noise: bool,
}

impl Change {
    fn new(from: Option<&Metric>, to: Option<&Metric>) -> Self {
        let both = from.zip(to).filter(|(from, _)| from.value != 0.0);
        let percent = both.map(|(from, to)| (to.value / from.value - 1.0) * 100.0);
        let may_be_noise = both.is_none_or(|(from, to)| may_be_noise(from.range, to.range));
        Change { cell: Cell::change(percent, 1), may_be_noise }
    }
}

/// Returns a row of changes; those beyond the noise are marked, the others gray.
fn row(head: String, changes: Vec<Change>) -> Row {
    let (gray, marked): (Vec<usize>, Vec<usize>) =
        (0..changes.len()).partition(|at| changes[*at].may_be_noise);
    Row::new(head, changes.into_iter().map(|change| change.cell)).gray(gray).marked(marked)
}

/// Returns a matrix for each metric and each run except the first. Of a metric, either all matrices
/// are returned or none, so that at most [`MATRICES_MAX`] are returned.
fn matrices(sides: &[ComparedRun<'_>], compared: NamedMetrics) -> Vec<Table> {
    let [first, others @ ..] = sides else { return Vec::new() };
    let (sizes, mixes) = dimensions(first);
    if sizes.len() < 2 || mixes.len() < 2 {
        return Vec::new();
    }
    let measured: Vec<&ComparedRun<'_>> =
        others.iter().filter(|side| side.findings.is_some()).collect();
    let metrics_max = (MATRICES_MAX / measured.len().max(1)).max(1);
    let of_metrics = compared.iter().map(|metric| -> Vec<Table> {
        let matrices = measured.iter().map(|side| matrix(first, side, *metric, &sizes, &mixes));
        matrices.flatten().collect()
    });
    // A metric with the same changes at every point as an earlier one adds nothing.
    let distinct = unique_by(of_metrics.filter(|tables| !tables.is_empty()), |one, other| {
        has_same_changes(one, other)
    });
    distinct.into_iter().take(metrics_max).flatten().collect()
}

fn has_same_changes(one: &[Table], other: &[Table]) -> bool {
    let cells = |tables: &[Table]| -> Vec<Option<i64>> {
        let rows = tables.iter().flat_map(|table| &table.rows);
        let tenths = |cell: &Cell| match cell {
            Cell::Number { value, .. } => Some((value * 10.0).round() as i64),
            Cell::Text(_) | Cell::Missing => None,
        };
        rows.flat_map(|row| &row.cells).map(tenths).collect()
    };
    cells(one) == cells(other)
}

/// Returns the sizes and mixes of a run's points, ascending.
fn dimensions(side: &ComparedRun<'_>) -> (Vec<Bytes>, Vec<u8>) {
    let points = metrics(side).filter_map(|metric| metric.size.zip(metric.read_percent));
    let (sizes, mixes): (BTreeSet<Bytes>, BTreeSet<u8>) = points.unzip();
    (sizes.into_iter().collect(), mixes.into_iter().collect())
}

fn matrix(
    first: &ComparedRun<'_>,
    other: &ComparedRun<'_>,
    (id, name): (&str, &str),
    sizes: &[Bytes],
    mixes: &[u8],
) -> Option<Table> {
    let find = |side: &ComparedRun<'_>, size: Bytes, mix: u8| {
        let of = |m: &&Metric| (m.size, m.read_percent) == (Some(size), Some(mix));
        metrics(side).filter(|m| m.metric == id).find(of).cloned()
    };
    let rows = sizes.iter().map(|size| {
        let cells = mixes.iter().map(|mix| {
            Change::new(find(first, *size, *mix).as_ref(), find(other, *size, *mix).as_ref())
        });
        row(size.transfer_size(), cells.collect())
    });
    let rows: Vec<Row> = rows.collect();
    let has_any = rows.iter().flat_map(|row| &row.cells).any(|cell| *cell != Cell::Missing);
    let letter = other.letter;
    let table = Table::new(&format!("change-{id}-{letter}"), format!("{name}, {letter}"), "Size")
        .columns(mixes.iter().map(|mix| Column::from(format!("R{mix}"))));
    has_any.then(|| table.rows(rows))
}

/// Returns a table with a row for each metric of each point that the first run and another one have.
fn point_table(sides: &[ComparedRun<'_>], compared: NamedMetrics, id: &str) -> Option<Table> {
    let [first, others @ ..] = sides else { return None };
    let all: Vec<&Metric> = compared
        .iter()
        .flat_map(|(id, _)| metrics(first).filter(move |metric| metric.metric == *id))
        .filter(|metric| others.iter().any(|side| metrics(side).any(|m| m.is_same(metric))))
        .collect();
    // If there are many points, show those with response times from a histogram.
    let has_tail = |point: &str| all.iter().any(|m| m.point == point && m.metric == "p99-99");
    let many = all.len() > POINTS_MAX;
    let kept = all.iter().filter(|metric| !many || has_tail(&metric.point)).take(POINTS_MAX);
    let name = |id: &str| compared.iter().find(|(metric, _)| *metric == id).map_or("", |m| m.1);
    let rows: Vec<Row> = kept
        .map(|metric| {
            let same = |side: &ComparedRun<'_>| metrics(side).find(|m| m.is_same(metric)).cloned();
            let changes = others.iter().map(|side| Change::new(Some(metric), same(side).as_ref()));
            row(format!("{} · {}", metric.point, name(&metric.metric)), changes.collect())
                .with_id(format!("{} {}", metric.point, metric.metric))
        })
        .collect();
    let table = Table::new(id, "Every point", "Point").columns(letters(others));
    (!rows.is_empty()).then(|| table.rows(rows))
}
