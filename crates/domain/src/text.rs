//! Makes text from outside (names of processes, models, serial numbers, files, marks) safe to
//! display: it cannot move the cursor, hide or reorder the text around it, or start a new line.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns the text as one line that is safe to display anywhere. Control characters, line and
/// paragraph separators and bidirectional control characters are escaped, as `\n`, `\x1b` or
/// `\u{202e}`; all other characters are unchanged.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| !affects_terminal(c))
}

/// Returns the text like [`printable`], but keeps line feeds and tabs: for text of several lines
/// whose external parts have already gone through [`printable`].
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t') || !affects_terminal(c))
}

/// Returns true if a character can affect a terminal or the surrounding text.
pub const fn affects_terminal(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}')
}

/// Wraps text at whitespace into lines of at most `width` columns (at least 20). All lines except
/// the first begin with `indent`. A word that is longer gets its own line.
pub fn wrapped(text: &str, width: usize, indent: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            None => lines.push(word.to_owned()),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width.max(20) => {
                line.push(' ');
                line.push_str(word);
            }
            Some(_) => lines.push(format!("{indent}{word}")),
        }
    }
    lines
}

/// Formats a count with thousands separators.
pub fn grouped(count: u64) -> String {
    number(count as f64, 0)
}

/// Formats a count with its noun, which must have a plural in -s.
///
/// ```
/// use steadfast_domain::text::counted;
/// assert_eq!(counted(1, "I/O"), "1 I/O");
/// assert_eq!(counted(0, "I/O"), "0 I/Os");
/// assert_eq!(counted(10_007, "I/O"), "10,007 I/Os");
/// ```
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(count)) }
}

/// Formats a number with thousands separators, such as `1,234.5`.
pub fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::from(if value < 0.0 { "-" } else { "" });
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Returns the number of decimals that gives a number `digits` significant digits.
pub fn decimals_for(size: f64, digits: i32) -> usize {
    if !(1e-12..1e15).contains(&size) {
        return 0;
    }
    // A number that rounds up to the next power of ten has one digit more.
    let rounded = 10f64.powi(digits - 1 - size.log10().floor() as i32);
    let power = ((size * rounded).round() / rounded).log10().floor() as i32;
    (digits - 1 - power).max(0) as usize
}

/// Formats a number with the given number of significant digits and thousands separators.
pub fn significant(value: f64, digits: i32) -> String {
    let whole = value.abs().max(1.0).log10().floor() as i32 + 1;
    if whole <= digits {
        return number(value, decimals_for(value.abs(), digits));
    }
    // If there are more digits before the point, the last ones become zeros.
    let unit = 10f64.powi(whole - digits);
    number((value / unit).round_ties_even() * unit, 0)
}

/// Maximum number of characters of a quoted text.
const QUOTED_MAX: usize = 80;

/// Returns the beginning of an external text, for a message that quotes it: at most 80 characters,
/// with `…` as the last one if the text was cut.
///
/// ```
/// use steadfast_domain::text::excerpt;
/// assert_eq!(excerpt("rw=randread"), "rw=randread");
/// assert_eq!(excerpt(&"x".repeat(10_000)).chars().count(), 80);
/// ```
pub fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(QUOTED_MAX - 1) {
        Some((end, last)) if end + last.len_utf8() < text.len() => {
            Cow::Owned(format!("{}…", &text[..end]))
        }
        _ => Cow::Borrowed(text),
    }
}

/// Limits every word of a library's message about an external text to 80 characters: such messages
/// may quote words of any length.
pub fn with_short_words(message: &str) -> String {
    let mut out = String::new();
    for word in message.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        out.push_str(&excerpt(bare));
        out.push_str(&word[bare.len()..]);
    }
    out
}

fn escaped(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&is_kept) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            c if is_kept(c) => write!(out, "{c}"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            c if c <= '\u{ff}' => write!(out, "\\x{:02x}", u32::from(c)),
            c => write!(out, "\\u{{{:x}}}", u32::from(c)),
        };
    }
    Cow::Owned(out)
}

/// Returns a line of text as a field of a CSV file: in quotation marks if it contains a comma or a
/// quotation mark (RFC 4180).
pub fn csv_quoted(text: String) -> String {
    if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

/// Quotes a word for a POSIX shell, if necessary.
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:+=@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_text_is_not_copied() {
        for text in ["", "postgres: walwriter", "µs – 100 %", "日本語 \\x1b", "a\u{200d}b"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(printable("a\x1b[2Jb\x07"), "a\\x1b[2Jb\\x07");
        assert_eq!(printable("one\ntwo\rthree\tfour"), "one\\ntwo\\rthree\\tfour");
        assert_eq!(
            printable("\u{7f}\u{9b}31m\u{202e}x\u{2066}"),
            "\\x7f\\x9b31m\\u{202e}x\\u{2066}"
        );
        assert_eq!(printable_lines("one\n\ttwo\x1b\r\u{2028}"), "one\n\ttwo\\x1b\\r\\u{2028}");
    }

    #[test]
    fn lines_wrap_at_blanks() {
        let text = "one two three four five six seven eight nine ten";
        let lines = wrapped(text, 20, "");
        assert!(lines.iter().all(|line| line.chars().count() <= 20), "{lines:?}");
        assert_eq!(lines.join(" "), text);
        assert_eq!(wrapped("", 20, "  "), Vec::<String>::new());
        assert_eq!(wrapped(&"x".repeat(30), 20, ""), ["x".repeat(30)]);
        let indented = wrapped("one two three four five six seven", 20, "  ");
        assert_eq!(indented, ["one two three four", "  five six seven"]);
    }

    #[test]
    fn no_control_character_remains() {
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            assert!(!printable(&text).chars().any(affects_terminal), "{:x}", u32::from(c));
            assert!(!c.is_control() || affects_terminal(c), "{:x}", u32::from(c));
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, quoted) in [
            ("RND 4K R", "'RND 4K R'"),
            ("/dev/sda", "/dev/sda"),
            ("", "''"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(shell_quoted(word), quoted);
        }
    }
}
