//! Text tables with aligned columns.

use steadfast_analysis::columns::{ListingColumn, heads};
pub use steadfast_report::text_table::{aligned, aligned_lines};

/// Formats a table with a heading and one line per row.
pub fn listed<'r, T: 'r>(
    columns: &[ListingColumn<T>],
    rows: impl IntoIterator<Item = &'r T>,
) -> String {
    let head: Vec<String> = heads(columns).map(str::to_owned).collect();
    let lines = rows.into_iter().map(|row| texts(columns, row));
    aligned(&std::iter::once(head).chain(lines).collect::<Vec<_>>())
}

/// Returns the cells of a row as text.
pub fn texts<T>(columns: &[ListingColumn<T>], row: &T) -> Vec<String> {
    columns.iter().map(|column| column.text(row)).collect()
}
