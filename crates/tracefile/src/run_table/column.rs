//! Columns of the exported tables and their cells.

use crate::table::{ColumnType, TableValue};

/// Name with unit, type, and the function that returns a row's cell.
pub(super) type ExportColumn<R> = (&'static str, ColumnType, fn(&R) -> TableValue);

/// Returns a text cell; missing if there is none.
pub(super) fn text(text: Option<impl Into<String>>) -> TableValue {
    text.map_or(TableValue::Missing, |text| TableValue::Text(text.into()))
}

/// Returns an integer cell; missing if there is none or it exceeds 63 bits.
pub(super) fn count(count: Option<u64>) -> TableValue {
    count
        .and_then(|count| i64::try_from(count).ok())
        .map_or(TableValue::Missing, TableValue::Integer)
}

/// Returns a number cell; missing if there is none or it is not finite.
pub(super) fn number(number: Option<f64>) -> TableValue {
    number.filter(|number| number.is_finite()).map_or(TableValue::Missing, TableValue::Number)
}
