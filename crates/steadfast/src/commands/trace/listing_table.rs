//! Text tables of listings, with aligned columns.

use steadfast_analysis::columns::{ListingColumn, heads};
use steadfast_report::text_table::with_left;

/// Formats a table with a heading and one line per row.
pub fn listing_table<'r, T: 'r>(
    columns: &[ListingColumn<T>],
    rows: impl IntoIterator<Item = &'r T>,
) -> String {
    let head: Vec<String> = heads(columns).map(str::to_owned).collect();
    let lines = rows.into_iter().map(|row| row_cells(columns, row));
    // Texts in the last column need no blanks after them.
    let last = columns.len().saturating_sub(1);
    let is_text = columns.last().is_some_and(ListingColumn::is_text);
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(lines).collect();
    with_left(&rows, |column| column == 0 || is_text && column == last)
}

/// Returns the cells of a row as text.
pub fn row_cells<T>(columns: &[ListingColumn<T>], row: &T) -> Vec<String> {
    columns.iter().map(|column| column.text(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_analysis::columns::{ColumnValue, ValueFormat};

    #[test]
    fn a_last_column_of_texts_is_aligned_to_the_left() {
        let columns: [ListingColumn<(u64, &str)>; 3] = [
            ListingColumn::shown("N", ValueFormat::Plain(0), ColumnValue::Whole(|row| row.0)),
            ListingColumn::shown("Twice", ValueFormat::Plain(0), ColumnValue::Whole(|r| r.0 * 2)),
            ListingColumn::shown("Who", ValueFormat::Plain(0), ColumnValue::Text(|r| r.1.into())),
        ];
        let text = listing_table(&columns, &[(7, "postgres"), (12, "sh")]);
        assert_eq!(text, "N   Twice  Who\n7      14  postgres\n12     24  sh");
    }
}
