//! Grammar of configurations: blocks of keys, and the two walks that read and write them.

use super::lines::{KeyLine, KeyedLines, ValueLine};
use super::values::{ValueText, between_blanks, between_commas};
use crate::parse_error::ParseError;

/// Length in characters of the line that opens a section.
const RULER: usize = 80;
/// Width of a column of numbers, in characters.
const COLUMN: usize = 11;

/// A part of a file with keys of its own, which fill the fields of `T`.
pub(super) struct KeyBlock<T: 'static> {
    /// Name in the heading and in errors.
    pub(super) name: &'static str,
    /// Key that closes the block.
    pub(super) end: &'static str,
    /// Keys, in the order in which they are written. They are read in any order.
    pub(super) entries: &'static [KeyEntry<T>],
}

pub(super) struct KeyEntry<T: 'static> {
    /// Forms of the key, as written. They name different numbers of values.
    forms: &'static [&'static str],
    /// Start that identifies the key, if builds differ in the rest.
    start: Option<&'static str>,
    /// Names of the columns of a value, written as a comment above it.
    columns: &'static [&'static str],
    is_required: bool,
    content: KeyContent<T>,
}

/// Lines that follow a key.
enum KeyContent<T: 'static> {
    /// A value on the next line.
    Value {
        parse: fn(&mut T, &ValueLine) -> Result<(), ParseError>,
        /// Text of the value; `None` if the key is not written.
        text: fn(&T) -> Option<String>,
    },
    /// Lines of their own, with a value first if `has_value`.
    Lines { has_value: bool, read: ReadLinesFn<T>, write: fn(&T, &'static str, &mut LineWriter) },
}

type ReadLinesFn<T> = fn(&mut T, &KeyLine, &mut KeyedLines<'_>) -> Result<(), ParseError>;

impl<T> KeyEntry<T> {
    /// Returns a key with a value.
    pub(super) const fn value(
        forms: &'static [&'static str],
        parse: fn(&mut T, &ValueLine) -> Result<(), ParseError>,
        text: fn(&T) -> Option<String>,
    ) -> Self {
        let content = KeyContent::Value { parse, text };
        KeyEntry { forms, start: None, columns: &[], is_required: false, content }
    }
    /// Returns a key followed by lines that the given functions read and write.
    pub(super) const fn lines(
        forms: &'static [&'static str],
        has_value: bool,
        read: ReadLinesFn<T>,
        write: fn(&T, &'static str, &mut LineWriter),
    ) -> Self {
        let content = KeyContent::Lines { has_value, read, write };
        KeyEntry { forms, start: None, columns: &[], is_required: false, content }
    }
    pub(super) const fn columns(mut self, columns: &'static [&'static str]) -> Self {
        self.columns = columns;
        self
    }
    /// Identifies the key by its start.
    pub(super) const fn starting(mut self, start: &'static str) -> Self {
        self.start = Some(start);
        self
    }
    /// Refuses a block without this key.
    pub(super) const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    fn matches(&self, key: &KeyLine) -> bool {
        self.forms.iter().any(|form| key.is(form))
            || self.start.is_some_and(|start| key.rest(start).is_some())
    }

    fn read(
        &self,
        record: &mut T,
        key: &KeyLine,
        lines: &mut KeyedLines<'_>,
    ) -> Result<(), ParseError> {
        match &self.content {
            KeyContent::Lines { read, .. } => read(record, key, lines),
            KeyContent::Value { parse, .. } => {
                let value = lines.value(key);
                if let ([_, _, ..], Some(form)) =
                    (self.forms, self.forms.iter().find(|form| key.is(form)))
                    && between_commas(form).len() != between_commas(&value.text).len()
                {
                    let message = "the number of values differs from that named by the key";
                    return Err(value.wrong(message));
                }
                parse(record, &value)
            }
        }
    }

    fn write(&self, record: &T, out: &mut LineWriter) {
        match &self.content {
            KeyContent::Lines { write, .. } => write(record, self.forms[0], out),
            KeyContent::Value { text, .. } => {
                let Some(text) = text(record) else { return };
                let values = between_commas(&text).len();
                let mut longer = self.forms.iter().skip(1);
                let form = longer.find(|form| between_commas(form).len() == values);
                out.key(form.unwrap_or(&self.forms[0]));
                if self.columns.is_empty() {
                    out.value(&text);
                } else {
                    out.line(&format!("'\t{}", padded(self.columns)));
                    out.value(&padded(&between_blanks(&text)));
                }
            }
        }
    }
}

/// Returns columns of equal width.
fn padded(columns: &[&str]) -> String {
    let text: String = columns.iter().map(|column| format!("{column:<COLUMN$}")).collect();
    text.trim_end().to_owned()
}

impl<T> KeyBlock<T> {
    /// Returns true if the block has this key and a value follows it.
    pub(super) fn has_value(&self, key: &KeyLine) -> bool {
        let valued = |entry: &&KeyEntry<T>| match entry.content {
            KeyContent::Value { .. } => true,
            KeyContent::Lines { has_value, .. } => has_value,
        };
        self.entries.iter().filter(valued).any(|entry| entry.matches(key))
    }

    /// Reads the lines up to the end of the block. `opening` is the value that opened it.
    pub(super) fn read(
        &self,
        record: &mut T,
        opening: &ValueLine,
        lines: &mut KeyedLines<'_>,
    ) -> Result<(), ParseError> {
        let mut missing: Vec<&KeyEntry<T>> =
            self.entries.iter().filter(|entry| entry.is_required).collect();
        loop {
            let key = lines.key(self.name)?;
            if key.is(self.end) {
                return match missing.first() {
                    None => Ok(()),
                    Some(entry) => Err(opening.wrong(format!("missing '{}", entry.forms[0]))),
                };
            }
            let entry = self.entries.iter().find(|entry| entry.matches(&key));
            entry.ok_or_else(|| key.unknown(self.name))?.read(record, &key, lines)?;
            missing.retain(|entry| !entry.matches(&key));
        }
    }

    /// Writes all keys and the end of the block.
    pub(super) fn write(&self, record: &T, out: &mut LineWriter) {
        self.entries.iter().for_each(|entry| entry.write(record, out));
        out.key(self.end);
    }

    /// Reads a value and the block that it opens, and appends the record to `list`.
    pub(super) fn read_item(
        &self,
        list: &mut Vec<T>,
        key: &KeyLine,
        lines: &mut KeyedLines<'_>,
        new: fn(&ValueLine) -> Result<T, ParseError>,
    ) -> Result<(), ParseError> {
        let value = lines.value(key);
        let mut record = new(&value)?;
        self.read(&mut record, &value, lines)?;
        list.push(record);
        Ok(())
    }
}

/// The text of a file, with CRLF line endings.
#[derive(Default)]
pub(super) struct LineWriter {
    pub(super) text: String,
}

impl LineWriter {
    pub(super) fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push_str("\r\n");
    }
    pub(super) fn key(&mut self, key: &str) {
        self.line(&format!("'{key}"));
    }
    pub(super) fn value(&mut self, text: &str) {
        self.line(&format!("\t{text}"));
    }
    pub(super) fn pair(&mut self, key: &str, value: &impl ValueText) {
        self.key(key);
        self.value(&value.text());
    }
    /// Writes the line that opens a section.
    pub(super) fn ruler(&mut self, name: &str) {
        let ruler = format!("'{name} ");
        self.line(&format!("{ruler:=<RULER$}"));
    }
}
