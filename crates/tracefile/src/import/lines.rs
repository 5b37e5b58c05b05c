//! Reads text by lines of bounded length, so that no malformed input exhausts the memory.

use super::input::{ImportError, ImportInput};
use std::io::{BufRead, BufReader, Read};
use steadfast_domain::text::excerpt;

/// Longest accepted line in bytes, unless the format has longer ones.
const LINE_MAX: usize = 1 << 16;

/// Parses a whole number; `what` names it in the error.
pub(super) fn number(word: &str, what: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("expected {what}, found '{}'", excerpt(word)))
}

/// Parses seconds like `12.000345678` as nanoseconds.
pub(super) fn nanoseconds(word: &str) -> Option<u64> {
    let (seconds, fraction) = word.split_once('.')?;
    let whole_ns = seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?;
    whole_ns.checked_add(fraction_ns(fraction)?)
}

/// Parses the digits after the point of a number of seconds as nanoseconds.
pub(super) fn fraction_ns(digits: &str) -> Option<u64> {
    if !(1..=9).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse::<u64>().ok()? * 10u64.pow(9 - digits.len() as u32))
}

/// Converts a transfer size to 32 bits.
pub(super) fn transfer_size(bytes: u64) -> Result<u32, String> {
    u32::try_from(bytes)
        .map_err(|_| format!("{bytes} bytes are too many for one I/O (4 GiB or more)"))
}

/// A text that is read line by line.
pub(super) struct LineReader<'r> {
    /// Name of the input.
    pub name: String,
    reader: BufReader<Box<dyn Read + 'r>>,
    line: Vec<u8>,
    longest: usize,
    /// Number of the last line read, starting at 1.
    pub number: u64,
    /// True if a line that is not blank was read.
    has_text: bool,
}

impl<'r> LineReader<'r> {
    pub(super) fn new(input: ImportInput<'r>) -> Self {
        LineReader {
            name: input.name,
            reader: BufReader::with_capacity(1 << 18, input.content),
            line: Vec::new(),
            longest: LINE_MAX,
            number: 0,
            has_text: false,
        }
    }

    /// Accepts lines of up to this many bytes.
    pub(super) fn with_longest(self, longest: usize) -> Self {
        LineReader { longest, ..self }
    }

    /// Returns the next line that is not blank, without its line end; `None` after the last.
    /// Invalid UTF-8 is replaced and a byte-order mark removed.
    pub(super) fn next(&mut self) -> Result<Option<&str>, ImportError> {
        loop {
            self.line.clear();
            let length = (&mut self.reader)
                .take(self.longest as u64 + 1)
                .read_until(b'\n', &mut self.line)
                .map_err(|error| {
                    let place = format!("line {}", self.number + 1);
                    ImportError::unreadable(&self.name, place, error)
                })?;
            if length == 0 && !self.has_text && self.number > 0 {
                let what = format!("it has only {} blank lines", self.number);
                return Err(self.malformed(what, 0));
            }
            if length == 0 {
                return Ok(None);
            }
            self.number += 1;
            if length > self.longest {
                let what = format!("the line is longer than {} bytes", self.longest);
                return Err(self.malformed(what, self.number - 1));
            }
            if self.line.iter().any(|byte| !byte.is_ascii_whitespace()) {
                break;
            }
        }
        self.has_text = true;
        if std::str::from_utf8(&self.line).is_err() {
            self.line = String::from_utf8_lossy(&self.line).into_owned().into_bytes();
        }
        Ok(Some(self.last()))
    }

    /// Returns the last line read.
    pub(super) fn last(&self) -> &str {
        let text = std::str::from_utf8(&self.line).unwrap_or_default();
        text.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n'])
    }

    /// Returns whether the last line read has no line end, so that it may be cut.
    pub(super) fn is_open_ended(&self) -> bool {
        self.line.last().is_some_and(|last| *last != b'\n')
    }

    /// Returns the sentence that discloses an incomplete last line.
    pub(super) fn cut_line(&self) -> String {
        format!("{} ends within line {}, which is not in the trace.", self.name, self.number)
    }

    /// Returns the error for the last line read, after `read` records.
    pub(super) fn malformed(&self, what: String, read: u64) -> ImportError {
        ImportError::malformed(&self.name, format!("line {}", self.number), what, read)
    }
}
