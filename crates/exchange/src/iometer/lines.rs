//! Lines of Iometer's files: keys and values.
//!
//! A line that begins with an apostrophe is a key or a comment; the value of a key is on the next
//! line that does not. Blanks around a line are ignored.

use super::values::ValueText;
use crate::parse_error::ParseError;
use steadfast_domain::sequence::SequenceRemark;
use steadfast_domain::text::excerpt;

/// A line that begins with an apostrophe.
pub(super) struct KeyLine {
    /// Line number, from 1.
    pub(super) line: u64,
    /// Normalized for comparison.
    name: String,
    /// Text as written in the file.
    shown: String,
}

/// Returns a key in lower case, without blanks after commas: files differ in both.
fn normalized(key: &str) -> impl Iterator<Item = char> + '_ {
    let mut is_after_comma = false;
    let kept = key.chars().filter(move |c| {
        let is_skipped = is_after_comma && *c == ' ';
        is_after_comma = *c == ',';
        !is_skipped
    });
    kept.map(|c| c.to_ascii_lowercase())
}

impl KeyLine {
    fn parse(line: u64, text: &str) -> Option<Self> {
        let shown = text.strip_prefix('\'')?.trim().to_owned();
        let words: Vec<&str> = shown.split_whitespace().collect();
        Some(KeyLine { line, name: normalized(&words.join(" ")).collect(), shown })
    }
    pub(super) fn is(&self, key: &str) -> bool {
        normalized(key).eq(self.name.chars())
    }
    /// Returns the rest of a key that starts with the given text, in lower case.
    pub(super) fn rest(&self, start: &str) -> Option<&str> {
        let (head, rest) = self.name.split_at_checked(start.len())?;
        head.eq_ignore_ascii_case(start).then_some(rest)
    }
    fn closes_block(&self) -> bool {
        self.rest("END ").is_some() || self.rest("Version").is_some()
    }
    /// Returns the error for a key that is not valid in its block.
    pub(super) fn unknown(&self, block: &str) -> ParseError {
        let shown = excerpt(&self.shown);
        ParseError::at(
            self.line,
            format!(
                "'{shown}' is not a key of {block}; remove it or save the file with Iometer again"
            ),
        )
    }
}

impl std::fmt::Display for KeyLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

/// A value and its position.
pub(super) struct ValueLine {
    /// Line of the value; the line of the key if the value is missing.
    pub(super) line: u64,
    /// Text without surrounding blanks.
    pub(super) text: String,
}

impl ValueLine {
    /// Returns an error that quotes the value.
    pub(super) fn wrong(&self, message: impl std::fmt::Display) -> ParseError {
        ParseError::at(self.line, format!("'{}': {message}", excerpt(&self.text)))
    }
    /// Parses the value; `name` describes it in errors.
    pub(super) fn parse<P: ValueText>(&self, name: &str) -> Result<P, ParseError> {
        P::parse(&self.text, name).map_err(|message| self.wrong(message))
    }
}

/// The lines of a file, read in order.
pub(super) struct KeyedLines<'a> {
    /// Number and text of each line, without surrounding blanks.
    lines: Vec<(u64, &'a str)>,
    at: usize,
    /// Returns true if a key has a value on the next line. Any other line with an apostrophe
    /// between a key and its value is a comment.
    has_value: fn(&KeyLine) -> bool,
    /// Remarks on lines that are interpreted differently from what they say.
    pub(super) remarks: Vec<SequenceRemark>,
}

impl<'a> KeyedLines<'a> {
    pub(super) fn new(text: &'a str, has_value: fn(&KeyLine) -> bool) -> Self {
        let trimmed = |line: &'a str| line.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        let lines = (1..).zip(text.lines().map(trimmed)).collect();
        KeyedLines { lines, at: 0, has_value, remarks: Vec::new() }
    }
    /// Returns the next line that is not blank, and advances past it.
    pub(super) fn next(&mut self) -> Option<ValueLine> {
        let (line, text) = self.peek()?;
        self.at += 1;
        Some(ValueLine { line, text: text.to_owned() })
    }
    /// Returns the next line that is not blank, without consuming it.
    pub(super) fn peek(&mut self) -> Option<(u64, &'a str)> {
        while self.lines.get(self.at).is_some_and(|(_, text)| text.is_empty()) {
            self.at += 1;
        }
        self.lines.get(self.at).copied()
    }
    /// Returns the next line that is not blank if it is not a key or a comment.
    pub(super) fn next_value(&mut self) -> Option<ValueLine> {
        self.peek().filter(|(_, text)| !text.starts_with('\''))?;
        self.next()
    }
    /// Returns the next line that is not blank as a key, without consuming it.
    pub(super) fn peek_key(&mut self) -> Option<KeyLine> {
        self.peek().and_then(|(line, text)| KeyLine::parse(line, text))
    }
    /// Reads a key of a block from the next line that is not blank.
    pub(super) fn key(&mut self, block: &str) -> Result<KeyLine, ParseError> {
        let Some(ValueLine { line, text }) = self.next() else {
            return Err(ParseError::whole(format!(
                "the file ends inside {block}; its last lines are missing"
            )));
        };
        KeyLine::parse(line, &text).ok_or_else(|| {
            ParseError::at(line, format!("'{}': expected a key of {block}", excerpt(&text)))
        })
    }
    /// Reads the value of a key; empty if another key follows at once.
    pub(super) fn value(&mut self, key: &KeyLine) -> ValueLine {
        while let Some(&(line, text)) = self.lines.get(self.at) {
            let Some(comment) = KeyLine::parse(line, text) else {
                self.at += 1;
                return ValueLine { line, text: text.to_owned() };
            };
            if comment.closes_block() || (self.has_value)(&comment) {
                break;
            }
            self.at += 1;
        }
        ValueLine { line: key.line, text: String::new() }
    }
}
