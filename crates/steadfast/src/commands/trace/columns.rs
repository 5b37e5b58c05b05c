//! Rows of text with aligned columns.

use std::borrow::Cow;
use steadfast_domain::text::printable;
use steadfast_trace::columns::{Column, heads};

/// Aligns columns: the first to the left, the others to the right.
pub fn aligned(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<Cow<'_, str>>> =
        rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<Cow<'_, str>>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// A table with a head and a line for each row.
pub fn listed<'r, T: 'r>(columns: &[Column<T>], rows: impl IntoIterator<Item = &'r T>) -> String {
    let head: Vec<String> = heads(columns).map(str::to_owned).collect();
    let lines = rows.into_iter().map(|row| texts(columns, row));
    aligned(&std::iter::once(head).chain(lines).collect::<Vec<_>>())
}

/// The cells of a row.
pub fn texts<T>(columns: &[Column<T>], row: &T) -> Vec<String> {
    columns.iter().map(|column| column.text(row)).collect()
}
