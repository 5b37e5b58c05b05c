//! Errors of reading and writing traces. They name the place inside the trace; the caller,
//! which knows the file's name, adds it.

use crate::not_recorded::NotRecorded;
use parquet::errors::ParquetError;
use std::io;

/// The reason why a trace could not be written, read or used.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The medium failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not a trace.
    #[error("this is not a trace: {0}; a trace is a Parquet file as described in docs/formats.md")]
    NotATrace(String),
    /// Part of the trace is damaged.
    #[error("the trace is damaged {place}: {what}")]
    Damaged {
        /// The damaged place: `in row group 3, column offset`.
        place: String,
        /// The value found and the value expected.
        what: String,
    },
    /// A finished file whose footer or first bytes differ from what was written.
    #[error("its metadata is damaged ({0}); copy the rest with: steadfast trace recover")]
    Footer(String),
    /// The Parquet library failed to write.
    #[error("the trace cannot be written: {}", reason(.0))]
    Encode(ParquetError),
    /// The request needs more rows than the memory set aside for them holds.
    #[error("{0}")]
    TooFine(String),
    /// A workload file or "Replay representation" cannot be parsed.
    #[error("line {line}: {what}")]
    Text {
        /// Line number, from 1.
        line: usize,
        /// The text expected and the text found.
        what: String,
    },
    /// The request needs single I/Os, but the capture kept none.
    #[error("{}", .0.refusal())]
    NotRecorded(NotRecorded),
    /// The request does not suit this trace.
    #[error("{0}")]
    Unsuitable(String),
}

impl From<NotRecorded> for TraceError {
    fn from(what: NotRecorded) -> Self {
        TraceError::NotRecorded(what)
    }
}

impl TraceError {
    /// Creates the error for a file in a format that no released version writes.
    pub fn unreleased() -> Self {
        let what = "it was recorded by an unreleased version; import or capture again";
        TraceError::Unsuitable(what.into())
    }

    /// Creates the error for a damaged place of a file.
    pub fn damaged(place: impl Into<String>, what: impl ToString) -> Self {
        TraceError::Damaged { place: place.into(), what: what.to_string() }
    }
}

/// Returns the medium's own message if the medium failed.
fn reason(error: &ParquetError) -> String {
    match error {
        ParquetError::External(medium) => medium.to_string(),
        other => other.to_string(),
    }
}
