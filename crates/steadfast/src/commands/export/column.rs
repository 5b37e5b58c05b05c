//! Columns of the exported tables and their cells.

use steadfast_tracefile::table::{Kind, Value};

/// Name with unit, type, and the function that returns a row's cell.
pub(super) type Column<R> = (&'static str, Kind, fn(&R) -> Value);

/// Returns a text cell; missing if there is none.
pub(super) fn text(text: Option<impl Into<String>>) -> Value {
    text.map_or(Value::Missing, |text| Value::Text(text.into()))
}

/// Returns an integer cell; missing if there is none or it exceeds 63 bits.
pub(super) fn count(count: Option<u64>) -> Value {
    count.and_then(|count| i64::try_from(count).ok()).map_or(Value::Missing, Value::Integer)
}

/// Returns a number cell; missing if there is none or it is not finite.
pub(super) fn number(number: Option<f64>) -> Value {
    number.filter(|number| number.is_finite()).map_or(Value::Missing, Value::Number)
}
