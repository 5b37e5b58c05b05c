//! Inputs, results and errors of importers.

use crate::error::TraceError;
use std::io::Read;
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
    /// Inputs that end within a record: everything before it was read.
    pub cut: Vec<String>,
}

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
}

/// An input to import.
pub struct ImportInput<'r> {
    /// Name of the input, for messages.
    pub name: String,
    /// Content of the input, already decompressed.
    pub content: Box<dyn Read + 'r>,
}

/// A consumer of the events, which arrive in the order of completion.
pub type EventSink<'s> = dyn FnMut(&IoEvent) -> Result<(), TraceError> + 's;
