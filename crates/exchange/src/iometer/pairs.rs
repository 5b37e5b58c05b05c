//! Splits a configuration into keys and values.
//!
//! A line that begins with an apostrophe is a key or a comment; the value of a key is on the next
//! line that does not. Blanks around a line are ignored.

use super::keys;
use crate::parse_error::ParseError;
use steadfast_domain::text::excerpt;

/// A line that begins with an apostrophe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    /// Line number, from 1.
    pub(super) line: u64,
    /// Normalized for comparison: without the apostrophe and blanks after commas, in lower case.
    pub(super) name: String,
    /// Text for messages, as written in the file.
    pub(super) shown: String,
}

impl Key {
    fn of(line: u64, text: &str) -> Option<Self> {
        let shown = text.strip_prefix('\'')?.trim().to_owned();
        // Some files have a blank after the commas of a list of keys.
        let words: Vec<&str> = shown.split_whitespace().collect();
        let name = words.join(" ").to_lowercase().replace(", ", ",");
        Some(Key { line, name, shown })
    }
    /// Returns true if the key is `name`.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name
    }
    /// Returns true if the key closes the section or part `part`.
    pub(super) fn ends(&self, part: &str) -> bool {
        self.name.strip_prefix(keys::END).is_some_and(|rest| rest == part)
    }
    fn closes_something(&self) -> bool {
        self.name.starts_with(keys::END) || self.name.starts_with(keys::VERSION)
    }
    fn begins_a_pair(&self) -> bool {
        keys::VALUED.iter().any(|key| self.is(key))
            || self.name.starts_with(keys::RAMP_UP)
            || self.name.starts_with(keys::BAR_CHART)
    }
    /// Returns the error for a key that is not valid in its section.
    pub(super) fn unknown(&self, section: &str) -> ParseError {
        ParseError::at(
            self.line,
            format!(
                "'{}' is not a key of {section}; remove it or save the file with Iometer again",
                excerpt(&self.shown)
            ),
        )
    }
}

/// A value and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    /// Line of the value; the line of the key if the value is missing.
    pub(super) line: u64,
    /// Text without surrounding blanks.
    pub(super) text: String,
}

impl Value {
    /// Returns an error that quotes the value.
    pub(super) fn wrong(&self, what: impl std::fmt::Display) -> ParseError {
        ParseError::at(self.line, format!("'{}': {what}", excerpt(&self.text)))
    }
    /// Splits the value at commas.
    pub(super) fn parts(&self) -> Vec<&str> {
        let text = self.text.strip_suffix(',').unwrap_or(&self.text);
        text.split(',').map(str::trim).collect()
    }
    /// Splits the value at blanks and commas.
    pub(super) fn words(&self) -> Vec<&str> {
        let blank = |c: char| c.is_whitespace() || c == ',';
        self.text.split(blank).filter(|word| !word.is_empty()).collect()
    }
    /// Parses one part of the value as a whole number.
    pub(super) fn number<N: TryFrom<u64>>(&self, text: &str, what: &str) -> Result<N, ParseError> {
        let number = text.parse::<u64>().ok().and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| self.wrong(format!("{what} is not a whole number in its range")))
    }
    /// Parses a number and a name: `1,NAME`.
    pub(super) fn numbered(&self, what: &str) -> Result<(u32, String), ParseError> {
        let (number, name) =
            self.text.split_once(',').ok_or_else(|| self.wrong(format!("{what} has no name")))?;
        Ok((self.number(number.trim(), what)?, name.trim().to_owned()))
    }
}

/// The lines of a file, read in order.
pub(super) struct Pairs<'a> {
    /// Number and text of each line, without surrounding blanks.
    lines: Vec<(u64, &'a str)>,
    at: usize,
}

impl<'a> Pairs<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let trimmed = |line: &'a str| line.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        Pairs { lines: (1..).zip(text.lines().map(trimmed)).collect(), at: 0 }
    }
    /// Returns the next line that is not blank, and advances past it.
    pub(super) fn next(&mut self) -> Option<(u64, &'a str)> {
        let found = self.peek();
        self.at += usize::from(found.is_some());
        found
    }
    /// Returns the next line that is not blank, without consuming it.
    pub(super) fn peek(&mut self) -> Option<(u64, &'a str)> {
        while self.lines.get(self.at).is_some_and(|(_, text)| text.is_empty()) {
            self.at += 1;
        }
        self.lines.get(self.at).copied()
    }
    /// Reads a key from the next line that is not blank.
    pub(super) fn key(&mut self, section: &str) -> Result<Key, ParseError> {
        let Some((line, text)) = self.next() else {
            return Err(ParseError::whole(format!(
                "the file ends inside {section}; its last lines are missing"
            )));
        };
        Key::of(line, text).ok_or_else(|| {
            ParseError::at(
                line,
                format!("'{text}': expected a key of {section}", text = excerpt(text)),
            )
        })
    }
    /// Reads the value of a key; empty if another key follows at once.
    pub(super) fn value(&mut self, key: &Key) -> Value {
        while let Some(&(line, text)) = self.lines.get(self.at) {
            let Some(comment) = Key::of(line, text) else {
                self.at += 1;
                return Value { line, text: text.to_owned() };
            };
            if comment.closes_something() || comment.begins_a_pair() {
                break;
            }
            self.at += 1;
        }
        Value { line: key.line, text: String::new() }
    }
    /// Whether the next line that is not blank is this key.
    pub(super) fn is_at(&mut self, name: &str) -> bool {
        self.peek().and_then(|(line, text)| Key::of(line, text)).is_some_and(|key| key.is(name))
    }
    /// Whether the next line that is not blank is a key or a comment.
    pub(super) fn is_at_comment(&mut self) -> bool {
        self.peek().is_some_and(|(_, text)| text.starts_with('\''))
    }
}
