//! Inputs, results and errors of importers.

use crate::error::TraceError;
use std::io::{self, BufRead, ErrorKind, Read};
use steadfast_domain::{CaptureConditions, IoEvent};

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportResult {
    /// Capture conditions that the input records.
    pub conditions: CaptureConditions,
    /// Number of I/Os delivered.
    pub events: u64,
    /// Number of records or lines read.
    pub records: u64,
    /// Number of records that do not belong to an I/O: comments, plugs, messages.
    pub passed_over: u64,
    /// Inputs that end within a record or in zeros: everything before was read.
    pub cut: Vec<String>,
}

impl ImportResult {
    /// Adds kinds of records that are not in the trace, and their counts.
    pub(super) fn leave_out(&mut self, kinds: impl IntoIterator<Item = (String, u64)>) {
        for (what, count) in kinds {
            self.conditions.remarks.push(format!("Not in the trace: {count} {what}."));
            self.conditions.unseen.push((what, count));
        }
    }

    /// Adds the losses at the ends of the inputs, one sentence each.
    pub(super) fn add_cut_ends(&mut self, cut: Vec<String>) {
        // At least one record of each is missing.
        self.conditions.lost += cut.len() as u64;
        self.conditions.remarks.extend(cut.iter().cloned());
        self.cut = cut;
    }
}

/// Result of an importer.
pub(super) type ImportOutcome = Result<ImportResult, ImportError>;

/// The reason why an input could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input violates its format.
    #[error("{input}, {place}: {what} ({read} records were read before)")]
    Malformed {
        /// Name of the input.
        input: String,
        /// Line number or byte offset.
        place: String,
        /// The text or value expected and found.
        what: String,
        /// Number of records read before the error.
        read: u64,
    },
    /// The medium failed.
    #[error("{input} cannot be read at {place}: {error}")]
    Io {
        /// Name of the input.
        input: String,
        /// Line, record or byte that could not be read.
        place: String,
        /// Error reported by the system.
        error: std::io::Error,
    },
    /// The consumer of the events failed.
    #[error(transparent)]
    Sink(#[from] TraceError),
    /// The inputs do not suit the format.
    #[error("{0}")]
    Unsuitable(String),
}

impl ImportError {
    pub(super) fn unreadable(input: &str, place: String, error: std::io::Error) -> Self {
        ImportError::Io { input: input.to_owned(), place, error }
    }

    pub(super) fn malformed(
        input: &str,
        place: String,
        what: impl Into<String>,
        read: u64,
    ) -> Self {
        ImportError::Malformed { input: input.to_owned(), place, what: what.into(), read }
    }
}

/// An input to import.
pub struct ImportInput<'r> {
    /// Name of the input, for messages.
    pub name: String,
    /// Content of the input, already decompressed.
    pub content: Box<dyn Read + 'r>,
}

/// A named format that the beginning of an input has the shape of.
pub(super) struct FittingFormat {
    pub name: &'static str,
    /// True if the content proves the units of the format.
    pub is_proven: bool,
}

/// Size of a sector in bytes: the unit of block traces, and of the cut that a crash of the host
/// leaves in a file.
pub(super) const SECTOR: u64 = 512;

/// Fills `into` and returns the number of bytes read, which is smaller only at the end.
pub(super) fn fill(content: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match content.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Returns whether the rest of an input is zeros. Reads up to the first other byte.
pub(super) fn ends_in_zeros(content: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = content.fill_buf()?;
        if bytes.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        let length = bytes.len();
        if length == 0 {
            return Ok(true);
        }
        content.consume(length);
    }
}

/// Returns whether only the first sectors of a record were written: its rest and the bytes after
/// it are zeros. The record begins at byte `start` of the input and consists of `parts`.
pub(super) fn is_torn(start: u64, parts: &[&[u8]], rest: &mut impl BufRead) -> io::Result<bool> {
    let length: usize = parts.iter().map(|part| part.len()).sum();
    let written = (SECTOR - start % SECTOR) as usize;
    if written >= length || parts.iter().copied().flatten().skip(written).any(|byte| *byte != 0) {
        return Ok(false);
    }
    let following = rest.fill_buf()?;
    let following = &following[..following.len().min(length)];
    Ok(!following.is_empty() && following.iter().all(|byte| *byte == 0))
}

/// A consumer of the events, which arrive in the order of completion.
pub type EventSink<'s> = dyn FnMut(&IoEvent) -> Result<(), TraceError> + 's;
