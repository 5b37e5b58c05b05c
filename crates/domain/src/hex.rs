//! Bytes as hexadecimal digits.

use std::fmt::Write;

/// Returns two lower-case digits per byte.
///
/// ```
/// assert_eq!(steadfast_domain::hex::to_hex(&[0, 0xab]), "00ab");
/// ```
pub fn to_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Returns the bytes of a text of two digits each, or `None` if it is empty or anything else.
///
/// ```
/// use steadfast_domain::hex::from_hex;
/// assert_eq!(from_hex("00aB"), Some(vec![0, 0xab]));
/// assert_eq!((from_hex("0"), from_hex(""), from_hex("+1")), (None, None, None));
/// ```
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let is_hex = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_hex || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}
