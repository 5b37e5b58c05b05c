//! Changes relative to the first run, point by point: matrices of size and mix if the runs have
//! them, otherwise one line per point. Changes within the noise of the measurement windows are
//! gray.

use super::side::ComparedRun;
use steadfast_domain::findings::{
    COMPARED, COMPARED_SECONDARY, Cell, Column, Exhibit, Metric, Page, Row, Table, may_be_noise,
};
use steadfast_domain::{Bytes, Findings};

/// Maximum number of matrices, and of lines.
const MATRICES: usize = 6;
const LINES: usize = 36;

/// Metrics by their ids and printed names.
type NamedMetrics = &'static [(&'static str, &'static str)];

/// The page of changes; nothing where the runs have no point in common.
pub(super) fn page(sides: &[ComparedRun<'_>]) -> Option<Page> {
    let title = "Change against A, %; gray: within the rounds of both, or no rounds";
    page_of(sides, &COMPARED, ("changes", title))
}

/// The page of changes of power and processor use; nothing where two runs did not measure them.
pub(super) fn secondary_page(sides: &[ComparedRun<'_>]) -> Option<Page> {
    let title = "Change of secondary metrics against A, %";
    page_of(sides, &COMPARED_SECONDARY, ("changes-secondary", title))
}

fn page_of(
    sides: &[ComparedRun<'_>],
    compared: NamedMetrics,
    (id, title): (&str, &str),
) -> Option<Page> {
    let matrices = matrices(sides, compared);
    let lines = || lines(sides, compared, id).into_iter().collect();
    let tables: Vec<Table> = if matrices.is_empty() { lines() } else { matrices };
    let exhibits: Vec<Exhibit> = tables.into_iter().map(Exhibit::Table).collect();
    (!exhibits.is_empty()).then(|| Page::new(title, exhibits).with_id(id))
}

/// Returns the metrics over all operations.
fn metrics<'a>(side: &ComparedRun<'a>) -> impl Iterator<Item = &'a Metric> {
    let all = side.findings.map(|findings: &Findings| findings.metrics.as_slice());
    all.unwrap_or_default().iter().filter(|metric| metric.direction.is_none())
}

/// Returns the change between two values in percent, and true if it may be noise.
fn change(from: Option<&Metric>, to: Option<&Metric>) -> (Cell, bool) {
    let both = from.zip(to).filter(|(from, _)| from.value != 0.0);
    let percent = both.map(|(from, to)| (to.value / from.value - 1.0) * 100.0);
    let noise = both.is_some_and(|(from, to)| may_be_noise(from.range, to.range));
    (Cell::change(percent, 1), noise)
}

/// Returns a row of changes; those within the noise are gray.
fn row(head: String, changes: Vec<(Cell, bool)>) -> Row {
    let gray: Vec<usize> = (0..changes.len()).filter(|at| changes[*at].1).collect();
    Row::new(head, changes.into_iter().map(|(cell, _)| cell)).gray(gray)
}

/// One matrix for each metric and each run but the first, as many as there is room for: whole
/// metrics only.
fn matrices(sides: &[ComparedRun<'_>], compared: NamedMetrics) -> Vec<Table> {
    let [first, others @ ..] = sides else { return Vec::new() };
    let (sizes, mixes) = dimensions(first);
    if sizes.len() < 2 || mixes.len() < 2 {
        return Vec::new();
    }
    let there: Vec<&ComparedRun<'_>> =
        others.iter().filter(|side| side.findings.is_some()).collect();
    let fit = (MATRICES / there.len().max(1)).max(1);
    let of_metric = |(id, name): &(&str, &str)| -> Vec<Table> {
        let all = there.iter().map(|side| matrix(first, side, (*id, *name), &sizes, &mixes));
        all.flatten().collect()
    };
    let mut shown: Vec<Vec<Table>> = Vec::new();
    for tables in compared.iter().map(of_metric).filter(|tables| !tables.is_empty()) {
        // What changes at every point as something shown before says nothing new.
        if shown.len() < fit && !shown.iter().any(|before| says_the_same(before, &tables)) {
            shown.push(tables);
        }
    }
    shown.into_iter().flatten().collect()
}

/// Returns true if tables print the same changes.
fn says_the_same(one: &[Table], other: &[Table]) -> bool {
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

/// Returns the sizes and mixes of a run's points in order of appearance.
fn dimensions(side: &ComparedRun<'_>) -> (Vec<Bytes>, Vec<u8>) {
    let (mut sizes, mut mixes) = (Vec::new(), Vec::new());
    for (size, mix) in metrics(side).filter_map(|m| m.size.zip(m.read_percent)) {
        if !sizes.contains(&size) {
            sizes.push(size);
        }
        if !mixes.contains(&mix) {
            mixes.push(mix);
        }
    }
    sizes.sort_unstable();
    mixes.sort_unstable();
    (sizes, mixes)
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
            change(find(first, *size, *mix).as_ref(), find(other, *size, *mix).as_ref())
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

/// One line for each metric of each point that at least two runs have.
fn lines(sides: &[ComparedRun<'_>], compared: NamedMetrics, id: &str) -> Option<Table> {
    let [first, others @ ..] = sides else { return None };
    let all: Vec<&Metric> = compared
        .iter()
        .flat_map(|(id, _)| metrics(first).filter(move |metric| metric.metric == *id))
        .filter(|metric| others.iter().any(|side| metrics(side).any(|m| m.is_same(metric))))
        .collect();
    // If there are many points, show those with response times from a histogram.
    let has_tail = |point: &str| all.iter().any(|m| m.point == point && m.metric == "p99-99");
    let many = all.len() > LINES;
    let kept = all.iter().filter(|metric| !many || has_tail(&metric.point)).take(LINES);
    let name = |id: &str| compared.iter().find(|(metric, _)| *metric == id).map_or("", |m| m.1);
    let rows: Vec<Row> = kept
        .map(|metric| {
            let same = |side: &ComparedRun<'_>| metrics(side).find(|m| m.is_same(metric)).cloned();
            let changes = others.iter().map(|side| change(Some(metric), same(side).as_ref()));
            row(format!("{} · {}", metric.point, name(&metric.metric)), changes.collect())
                .with_id(format!("{} {}", metric.point, metric.metric))
        })
        .collect();
    let letters = others.iter().map(|side| Column::from(side.letter.to_string()));
    let table = Table::new(id, "Every point", "Point").columns(letters);
    (!rows.is_empty()).then(|| table.rows(rows))
}
