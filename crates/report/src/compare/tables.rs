//! Tables of several runs: one line per value, one column per run, and the values in percent of
//! the first run's.

use super::side::{ComparedRun, common_title, letters};
use crate::grouping::unique_by;
use std::collections::{HashMap, HashSet};
use steadfast_domain::Findings;
use steadfast_domain::findings::{Cell, Column, Exhibit, Row, Table};

/// Identity of a value in its table.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct CellKey<'a> {
    row: &'a str,
    /// Index among the rows of the same name.
    row_repetition: usize,
    /// Block of columns, if the table has several.
    block: Option<&'a str>,
    column: &'a str,
    /// Index among the columns of the same name.
    column_repetition: usize,
}

/// A value with its context.
#[derive(Clone, Copy)]
struct CellValue<'a> {
    cell: &'a Cell,
    head: &'a str,
    column: &'a str,
    /// True if its row is highlighted.
    strong: bool,
}

type CellValues<'a> = HashMap<CellKey<'a>, CellValue<'a>>;

/// Compares the tables among these exhibits that at least two runs have. Tables of the same values
/// are returned once.
pub(super) fn compared<'a>(
    sides: &[ComparedRun<'a>],
    exhibits: impl Fn(&'a Findings) -> Vec<&'a Exhibit>,
) -> Vec<Table> {
    let tables_of = |side: &ComparedRun<'a>| -> Vec<&'a Table> {
        let exhibits = side.findings.map(&exhibits).unwrap_or_default();
        exhibits.into_iter().filter_map(Exhibit::as_table).collect()
    };
    let tables: Vec<Vec<&Table>> = sides.iter().map(tables_of).collect();
    let mut out: Vec<Table> = Vec::new();
    for table in unique_by(tables.iter().flatten(), |one, other| one.id == other.id) {
        let same: Vec<Option<&Table>> = tables
            .iter()
            .map(|tables| tables.iter().find(|other| other.id == table.id).copied())
            .collect();
        if same.iter().flatten().count() < 2 {
            continue;
        }
        let comparison = side_by_side(sides, table, &same);
        if !comparison.rows.is_empty() && out.iter().all(|other| other.rows != comparison.rows) {
            out.push(comparison);
        }
    }
    out
}

fn side_by_side(sides: &[ComparedRun<'_>], first: &Table, tables: &[Option<&Table>]) -> Table {
    let mut seen: HashSet<CellKey<'_>> = HashSet::new();
    let all = tables.iter().flatten().flat_map(|table| values_in(table));
    let keys: Vec<CellKey<'_>> = all.map(|(key, _)| key).filter(|key| seen.insert(*key)).collect();
    let values: Vec<CellValues<'_>> = tables.iter().map(|table| values_of(*table)).collect();
    let column = keys.first().map(|key| key.column);
    let single = keys.iter().all(|key| Some(key.column) == column);
    let rows = keys.iter().filter_map(|key| row(key, single, &values));
    let percent = sides.iter().skip(1).map(|side| Column::from(format!("{}/A %", side.letter)));
    let corner = match first.spanner.as_deref().filter(|_| !single) {
        Some(spanner) => format!("{} · {spanner}", first.corner),
        None => first.corner.clone(),
    };
    let title = common_title(tables.iter().flatten().map(|table| table.title.as_str()));
    Table::new(&first.id, title.unwrap_or_else(|| first.id.clone()), &corner)
        .columns(letters(sides).chain(percent))
        .rows(rows)
}

/// Returns the values of a table by identity; the first of duplicates counts.
fn values_of(table: Option<&Table>) -> CellValues<'_> {
    let mut values = CellValues::new();
    for (key, value) in table.into_iter().flat_map(values_in) {
        values.entry(key).or_insert(value);
    }
    values
}

/// Returns every value of a table with its identity, row by row.
fn values_in(table: &Table) -> Vec<(CellKey<'_>, CellValue<'_>)> {
    let mut counts: HashMap<CellKey<'_>, usize> = HashMap::new();
    let mut head = "";
    let mut out = Vec::new();
    for row in &table.rows {
        // In a table of blocks, a row without a head belongs to the last row with one.
        if !row.head.is_empty() || table.block.is_none() {
            head = &row.head;
        }
        for PlacedCell { cell, block, column, column_repetition } in cells_of(table, row) {
            let mut key = CellKey {
                row: &row.id,
                row_repetition: 0,
                block,
                column: &column.id,
                column_repetition,
            };
            let count = counts.entry(key).or_insert(0);
            key.row_repetition = *count;
            *count += 1;
            out.push((key, CellValue { cell, head, column: &column.name, strong: row.strong }));
        }
    }
    out
}

/// A cell with its place in a row.
struct PlacedCell<'a> {
    cell: &'a Cell,
    /// Name of its block of columns, if the table has several.
    block: Option<&'a str>,
    column: &'a Column,
    /// Index among the columns of the same name.
    column_repetition: usize,
}

fn cells_of<'a>(table: &'a Table, row: &'a Row) -> Vec<PlacedCell<'a>> {
    match table.block {
        Some(width) if width > 0 => cells_in_blocks(table, row, width),
        _ => cells_in_columns(table, row),
    }
}

fn cells_in_columns<'a>(table: &'a Table, row: &'a Row) -> Vec<PlacedCell<'a>> {
    let mut placed = Vec::new();
    for (at, (column, cell)) in table.columns.iter().zip(&row.cells).enumerate() {
        let before = &table.columns[..at];
        let column_repetition = before.iter().filter(|other| other.id == column.id).count();
        placed.push(PlacedCell { cell, block: None, column, column_repetition });
    }
    placed
}

/// Returns the cells of a row of blocks; a block without a name is empty.
fn cells_in_blocks<'a>(table: &'a Table, row: &'a Row, width: usize) -> Vec<PlacedCell<'a>> {
    let mut out = Vec::new();
    for (columns, cells) in table.columns.chunks(width).zip(row.cells.chunks(width)) {
        let Some(name) = cells.first().and_then(text) else { continue };
        for (column, cell) in columns.iter().zip(cells).skip(1) {
            out.push(PlacedCell { cell, block: Some(name), column, column_repetition: 0 });
        }
    }
    out
}

fn text(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// Returns a row of values, labeled as in the first run that has it; `None` if no run has it.
fn row(key: &CellKey<'_>, single: bool, values: &[CellValues<'_>]) -> Option<Row> {
    let found: Vec<Option<&CellValue<'_>>> = values.iter().map(|values| values.get(key)).collect();
    let first = found.iter().flatten().next()?;
    let cell = |found: &Option<&CellValue<'_>>| found.map_or(Cell::Missing, |v| v.cell.clone());
    let mut cells: Vec<Cell> = found.iter().map(cell).collect();
    if cells.iter().all(is_empty) {
        return None;
    }
    let base = ratio(&cells[0]).filter(|base| *base != 0.0);
    let percent = |cell: &Cell| Cell::number(ratio(cell).zip(base).map(|(v, b)| v / b * 100.0), 1);
    let percent: Vec<Cell> = cells.iter().skip(1).map(percent).collect();
    cells.extend(percent);
    let block = key.block.map(|block| format!(" · {block}")).unwrap_or_default();
    let row_number = repetition_number(key.row_repetition);
    let column_number = repetition_number(key.column_repetition);
    let name = |row: &str, column: &str| {
        let column = if single { String::new() } else { format!(" · {column}") };
        format!("{row}{row_number}{block}{column}{column_number}")
    };
    let (id, head) = (name(key.row, key.column), name(first.head, first.column));
    let strong = found.iter().flatten().any(|value| value.strong);
    Some(Row::new(head, cells).with_id(id).strong(strong))
}

/// Returns the number of a repeated name; empty for the first.
fn repetition_number(index: usize) -> String {
    if index > 0 { format!(" ({})", index + 1) } else { String::new() }
}

/// Returns true for a missing value. Rows are padded with empty texts.
fn is_empty(cell: &Cell) -> bool {
    *cell == Cell::Missing || matches!(cell, Cell::Text(text) if text.is_empty())
}

/// Returns the value of a cell that can be stated in percent of another; `None` for other cells.
fn ratio(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number { value, interval: false, .. } if value.is_finite() => Some(*value),
        _ => None,
    }
}
