//! Reads numbers from the JSON output of device tools. Depending on the version of the tool, a
//! counter is a number, a string, or an object with two halves.

use serde_json::Value;
use std::time::Duration;

/// Time limit for a tool that reads a log.
pub(crate) const LOG_TIMEOUT: Duration = Duration::from_secs(5);

/// Parses an unsigned count: `7`, `7.0`, `"7"`, `"0x7"`, `{"value": 7}` or `{"hi": 0, "lo": 7}`.
/// Returns `None` for anything else and for numbers that do not fit.
pub(crate) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| exact_integer(number.as_f64()?)),
        Value::String(text) => parse_integer(text.trim()),
        Value::Object(fields) => match (fields.get("value"), fields.get("hi"), fields.get("lo")) {
            (Some(value), ..) => count(value),
            (None, Some(hi), Some(lo)) if count(hi) == Some(0) => count(lo),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a float as an integer if it is exactly one.
fn exact_integer(number: f64) -> Option<u64> {
    // Above 2^53, a float cannot distinguish adjacent counts, so their difference would be wrong.
    (number.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&number))
        .then_some(number as u64)
}

/// Parses a decimal number, or a hexadecimal one that begins with `0x`.
fn parse_integer(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Returns the count at a JSON pointer such as `/temperature/current`.
pub(crate) fn at(object: &Value, path: &str) -> Option<u64> {
    count(object.pointer(path)?)
}

/// Returns the elements of the array at a JSON pointer; empty if there is no array.
pub(crate) fn members<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    object.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Parses the JSON object in a tool's output. Some versions print lines of text before it.
pub(crate) fn object(output: &str) -> Option<Value> {
    let begin = output.find('{')?;
    let mut values = serde_json::Deserializer::from_str(&output[begin..]).into_iter::<Value>();
    values.next()?.ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_count_is_read_in_every_form() {
        for (form, value) in [
            (json!(7), Some(7)),
            (json!(7.0), Some(7)),
            (json!("7"), Some(7)),
            (json!(" 0x1f "), Some(31)),
            (json!({"value": 3, "available_spare": 1}), Some(3)),
            (json!({"hi": 0, "lo": 9}), Some(9)),
            (json!(u64::MAX), Some(u64::MAX)),
            (json!({"hi": 1, "lo": 9}), None),
            (json!({"lo": 9}), None),
            (json!(7.5), None),
            (json!(-1), None),
            (json!(1e19), None),
            (json!("1,000"), None),
            (json!(""), None),
            (json!(null), None),
            (json!([1]), None),
        ] {
            assert_eq!(count(&form), value, "{form}");
        }
    }

    #[test]
    fn an_object_is_found_behind_chatter_and_a_torn_one_is_none() {
        assert_eq!(object("NOTICE: x\n{\"a\": 1}\n"), Some(json!({"a": 1})));
        for bad in ["", "{", "{\"a\": ", "[1]", "Usage: nvme"] {
            assert_eq!(object(bad), None, "{bad}");
        }
    }
}
