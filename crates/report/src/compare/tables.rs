//! Tables side by side: one line per value, one column per run, and the values
//! in percent of the first run's.

use super::Side;
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

/// The name of a value in its table, and that of which row it is when a table
/// has the same row twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key<'a> {
    row: &'a str,
    again: usize,
    column: &'a str,
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
        title: first.title.clone(),
        corner: match across {
            Some(spanner) => format!("{} · {spanner}", first.corner),
            None => first.corner.clone(),
        },
        spanner: Some(names.join("; ")),
        columns: letters.chain(percent).collect(),
        rows,
    }
}

/// Of two columns of one name the first counts.
fn values_of(table: Option<&Table>) -> Values<'_> {
    let mut values = Values::new();
    for (key, cell, strong) in table.into_iter().flat_map(keys_of) {
        values.entry(key).or_insert((cell, strong));
    }
    values
}

/// Every value of a table with its name, row by row.
fn keys_of(table: &Table) -> Vec<(Key<'_>, &Cell, bool)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let mut out = Vec::new();
    for row in &table.rows {
        let count = counts.entry(&row.head).or_insert(0);
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            out.push((Key { row: &row.head, again: *count, column }, cell, row.strong));
        }
        *count += 1;
    }
    out
}

/// A line, unless no run has a value.
fn line(key: &Key<'_>, single: bool, values: &[Values<'_>]) -> Option<Row> {
    let found: Vec<Option<&(&Cell, bool)>> = values.iter().map(|values| values.get(key)).collect();
    let cell = |found: &Option<&(&Cell, bool)>| found.map_or(Cell::Missing, |v| v.0.clone());
    let mut cells: Vec<Cell> = found.iter().map(cell).collect();
    if cells.iter().all(|cell| *cell == Cell::Missing) {
        return None;
    }
    let base = number(&cells[0]).filter(|base| *base != 0.0);
    let percent = |cell: &Cell| Cell::number(number(cell).zip(base).map(|(v, b)| v / b * 100.0), 1);
    let percent: Vec<Cell> = cells.iter().skip(1).map(percent).collect();
    cells.extend(percent);
    let number = if key.again > 0 { format!(" ({})", key.again + 1) } else { String::new() };
    let head = match single {
        true => format!("{}{number}", key.row),
        false => format!("{}{number} · {}", key.row, key.column),
    };
    Some(Row { head, cells, strong: found.iter().flatten().any(|value| value.1) })
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Number { value, .. } if value.is_finite() => Some(*value),
        _ => None,
    }
}
