//! Text from outside (names of processes, models, serial numbers, files, marks)
//! as it may be shown: nothing in it moves a cursor, hides or reorders what
//! stands around it, or begins a line of its own.

use std::borrow::Cow;
use std::fmt::Write;

/// A text as one line that can be shown anywhere: control characters, line and
/// paragraph separators and marks of writing direction are spelled out, as
/// `\n`, `\x1b` or `\u{202e}`. Everything else stays as it is.
pub fn printable(text: &str) -> Cow<'_, str> {
    spelled_out(text, |c| !acts(c))
}

/// The same with line ends and tabs as they are: for a text of many lines whose
/// parts from outside have gone through [`printable`].
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    spelled_out(text, |c| matches!(c, '\n' | '\t') || !acts(c))
}

/// Whether a character does something to a terminal or to the text beside it.
pub const fn acts(c: char) -> bool {
    matches!(c,
        '\0'..='\x1f' | '\x7f'..='\u{9f}'
        | '\u{61c}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}')
}

/// Lines of at most `width` columns, and of 20 at least, broken at blanks; all but
/// the first begin with `indent`. A word that is longer has a line of its own.
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

/// `1,234.5`: a number with its thousands separated.
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

/// Characters of a text that a message quotes.
const QUOTED_MAX: usize = 80;

/// The beginning of a text from outside, for a message that quotes it: at most 80
/// characters, the last of which is `…` where some are left out.
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

/// The message of a library about a text from outside, in which every word has at most 80
/// characters: the words that it quotes may be of any length.
pub fn with_short_words(message: &str) -> String {
    let mut out = String::new();
    for word in message.split_inclusive(char::is_whitespace) {
        match word.strip_suffix(char::is_whitespace) {
            Some(bare) => {
                out.push_str(&excerpt(bare));
                out.push_str(&word[bare.len()..]);
            }
            None => out.push_str(&excerpt(word)),
        }
    }
    out
}

fn spelled_out(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&stays) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        // Writing to a String cannot fail.
        let _ = match c {
            c if stays(c) => write!(out, "{c}"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            c if c <= '\u{ff}' => write!(out, "\\x{:02x}", u32::from(c)),
            c => write!(out, "\\u{{{:x}}}", u32::from(c)),
        };
    }
    Cow::Owned(out)
}

/// Quotes a word so that a shell takes it as it is.
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
    fn what_is_harmless_stays_and_is_not_copied() {
        for text in ["", "postgres: walwriter", "µs – 100 %", "日本語 \\x1b", "a\u{200d}b"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn what_acts_is_spelled_out() {
        assert_eq!(printable("a\x1b[2Jb\x07"), "a\\x1b[2Jb\\x07");
        assert_eq!(printable("one\ntwo\rthree\tfour"), "one\\ntwo\\rthree\\tfour");
        assert_eq!(
            printable("\u{7f}\u{9b}31m\u{202e}x\u{2066}"),
            "\\x7f\\x9b31m\\u{202e}x\\u{2066}"
        );
        assert_eq!(printable_lines("one\n\ttwo\x1b\r\u{2028}"), "one\n\ttwo\\x1b\\r\\u{2028}");
    }

    #[test]
    fn lines_are_broken_at_blanks_and_nothing_is_lost() {
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
    fn nothing_that_acts_is_left_of_any_character() {
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            assert!(!printable(&text).chars().any(acts), "{:x}", u32::from(c));
            assert!(!c.is_control() || acts(c), "{:x}", u32::from(c));
        }
    }

    #[test]
    fn a_shell_takes_quoted_words_as_they_are() {
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
