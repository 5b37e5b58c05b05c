//! Rows of text with aligned columns.

pub use crate::table::aligned;

/// A number with so many decimals; a dash where there is none.
pub fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Nanoseconds as milliseconds.
pub fn ms(value: Option<u64>) -> String {
    number(value.map(|ns| ns as f64 / 1e6), 3)
}

/// Texts as a row.
pub fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}
