//! Tables side by side: one line per value, one column per run, and the values
//! in percent of the first run's.

use super::{Side, common_title};
use std::collections::{HashMap, HashSet};
use steadfast_domain::findings::{Cell, Exhibit, Row, Table};

/// A longer table goes into its CSV file only.
pub(super) const PRINTED_ROWS: usize = 250;

/// The tables printed so far: those of the same values are printed once.
#[derive(Default)]
pub(super) struct Printed {
    ids: Vec<String>,
    cells: Vec<Vec<Row>>,
}

/// The name of a value in its table.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key<'a> {
    row: &'a str,
    /// Which row of this name, from 0.
    again: usize,
    /// The block of columns, where a table has several side by side.
    block: Option<&'a str>,
    column: &'a str,
    /// Which column of this name, from 0.
    nth: usize,
}

/// The values of a table by their names, and whether their rows are set off.
type Values<'a> = HashMap<Key<'a>, (&'a Cell, bool)>;

/// The tables of these exhibits that at least two runs have and that were not
/// printed yet.
pub(super) fn compared(
    sides: &[Side<'_>],
    exhibits: &[Vec<Exhibit>],
    printed: &mut Printed,
) -> Vec<Table> {
    let tables: Vec<Vec<&Table>> = exhibits.iter().map(|all| tables_of(all)).collect();
    let mut out = Vec::new();
    for table in tables.iter().flatten() {
        let same: Vec<Option<&Table>> = tables
            .iter()
            .map(|tables| tables.iter().find(|other| other.id == table.id).copied())
            .collect();
        if printed.ids.contains(&table.id) || same.iter().flatten().count() < 2 {
            continue;
        }
        let together = side_by_side(sides, table, &same);
        printed.ids.push(table.id.clone());
        if !together.rows.is_empty() && !printed.cells.contains(&together.rows) {
            printed.cells.push(together.rows.clone());
            out.push(together);
        }
    }
    out
}

fn tables_of(exhibits: &[Exhibit]) -> Vec<&Table> {
    exhibits
        .iter()
        .filter_map(|exhibit| match exhibit {
            Exhibit::Table(table) => Some(table),
            _ => None,
        })
        .collect()
}

fn side_by_side(sides: &[Side<'_>], first: &Table, tables: &[Option<&Table>]) -> Table {
    let mut seen: HashSet<Key<'_>> = HashSet::new();
    let all = tables.iter().flatten().flat_map(|table| keys_of(table));
    let keys: Vec<Key<'_>> = all.map(|(key, ..)| key).filter(|key| seen.insert(*key)).collect();
    let values: Vec<Values<'_>> = tables.iter().map(|table| values_of(*table)).collect();
    let column = keys.first().map(|key| key.column);
    let single = keys.iter().all(|key| Some(key.column) == column);
    let rows = keys.iter().filter_map(|key| line(key, single, &values)).collect();
    let letters = sides.iter().map(|side| side.letter.to_string());
    let percent = sides.iter().skip(1).map(|side| format!("{}/A %", side.letter));
    let across = first.spanner.as_deref().filter(|_| !single);
    let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
    Table {
        id: first.id.clone(),
        title: common_title(tables.iter().flatten().map(|table| table.title.as_str()))
            .unwrap_or_else(|| first.id.clone()),
        corner: match across {
            Some(spanner) => format!("{} · {spanner}", first.corner),
            None => first.corner.clone(),
        },
        spanner: Some(names.join("; ")),
        columns: letters.chain(percent).collect(),
        rows,
    }
}

/// Of two values of one name the first counts.
fn values_of(table: Option<&Table>) -> Values<'_> {
    let mut values = Values::new();
    for (key, cell, strong) in table.into_iter().flat_map(keys_of) {
        values.entry(key).or_insert((cell, strong));
    }
    values
}

/// Every value of a table with its name, row by row.
fn keys_of(table: &Table) -> Vec<(Key<'_>, &Cell, bool)> {
    let names = if has_blocks(table) { names_in_blocks } else { names_in_columns };
    let mut counts: HashMap<Key<'_>, usize> = HashMap::new();
    let mut row = "";
    let mut out = Vec::new();
    for line in &table.rows {
        // A row of blocks without a name belongs to the last one that has one.
        if !line.head.is_empty() || !has_blocks(table) {
            row = &line.head;
        }
        for (block, column, nth, cell) in names(table, line) {
            let mut key = Key { row, again: 0, block, column, nth };
            let before = counts.entry(key).or_insert(0);
            key.again = *before;
            *before += 1;
            out.push((key, cell, line.strong));
        }
    }
    out
}

/// A cell with its block, its column, and which column of this name it is in.
type Named<'a> = (Option<&'a str>, &'a str, usize, &'a Cell);

fn names_in_columns<'a>(table: &'a Table, row: &'a Row) -> Vec<Named<'a>> {
    let nth = |at: usize| table.columns[..at].iter().filter(|c| **c == table.columns[at]).count();
    let cells = table.columns.iter().zip(&row.cells).enumerate();
    cells.map(|(at, (column, cell))| (None, column.as_str(), nth(at), cell)).collect()
}

/// The cells of a row of blocks; a block without a name is empty.
fn names_in_blocks<'a>(table: &'a Table, row: &'a Row) -> Vec<Named<'a>> {
    let mut block = None;
    let mut out = Vec::new();
    for (column, cell) in table.columns.iter().zip(&row.cells) {
        if Some(column) == table.columns.first() {
            block = text(cell);
        } else if block.is_some() {
            out.push((block, column.as_str(), 0, cell));
        }
    }
    out
}

/// Whether a table has blocks of the same columns side by side; the first
/// column of each names the block.
fn has_blocks(table: &Table) -> bool {
    let Some((first, rest)) = table.columns.split_first() else { return false };
    let named = |row: &Row| {
        let cells = table.columns.iter().zip(&row.cells).filter(|(column, _)| *column == first);
        cells.into_iter().all(|(_, cell)| matches!(cell, Cell::Text(_)))
    };
    rest.contains(first) && table.rows.iter().all(named)
}

fn text(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Text(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}

/// A line, unless no run has a value.
fn line(key: &Key<'_>, single: bool, values: &[Values<'_>]) -> Option<Row> {
    let found: Vec<Option<&(&Cell, bool)>> = values.iter().map(|values| values.get(key)).collect();
    let cell = |found: &Option<&(&Cell, bool)>| found.map_or(Cell::Missing, |v| v.0.clone());
    let mut cells: Vec<Cell> = found.iter().map(cell).collect();
    if cells.iter().all(is_empty) {
        return None;
    }
    let base = ratio(&cells[0]).filter(|base| *base != 0.0);
    let percent = |cell: &Cell| Cell::number(ratio(cell).zip(base).map(|(v, b)| v / b * 100.0), 1);
    let percent: Vec<Cell> = cells.iter().skip(1).map(percent).collect();
    cells.extend(percent);
    let number = if key.again > 0 { format!(" ({})", key.again + 1) } else { String::new() };
    let block = key.block.map(|block| format!(" · {block}")).unwrap_or_default();
    let column = if single { String::new() } else { format!(" · {}", key.column) };
    let nth = if key.nth > 0 { format!(" ({})", key.nth + 1) } else { String::new() };
    let head = format!("{}{number}{block}{column}{nth}", key.row);
    Some(Row { head, cells, strong: found.iter().flatten().any(|value| value.1) })
}

/// A place without a value; a table's rows are filled up with empty texts.
fn is_empty(cell: &Cell) -> bool {
    *cell == Cell::Missing || matches!(cell, Cell::Text(text) if text.is_empty())
}

/// A number that can be given in percent of another.
fn ratio(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number { value, interval: false, .. } if value.is_finite() => Some(*value),
        _ => None,
    }
}
