//! What can go wrong with a trace. Errors name the place inside the trace; the
//! caller, who knows the file's name, adds it.

use crate::not_recorded::NotRecorded;
use parquet::errors::ParquetError;
use std::io;

/// Why a trace could not be written, read or understood.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The medium failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Not a trace at all.
    #[error("this is not a trace: {0}; a trace is a Parquet file as described in docs/formats.md")]
    NotATrace(String),
    /// A trace with a broken part.
    #[error("the trace is damaged {place}: {what}")]
    Damaged {
        /// Where: `in row group 3, column offset`.
        place: String,
        /// What was found and what was expected.
        what: String,
    },
    /// A finished file whose end or first bytes are not as they were written.
    #[error("its metadata is damaged ({0}); copy the rest with: steadfast trace recover")]
    Footer(String),
    /// The Parquet library could not write.
    #[error("the trace cannot be written: {}", reason(.0))]
    Encode(ParquetError),
    /// More rows than memory has been set aside for.
    #[error("{0}")]
    TooFine(String),
    /// A text that is no "Replay representation".
    #[error("line {line}: {what}")]
    Text {
        /// Line number, from 1.
        line: usize,
        /// What was expected and what was found.
        what: String,
    },
    /// Something that only single I/Os tell, of a capture that kept none.
    #[error("{}", .0.refusal())]
    NotRecorded(NotRecorded),
    /// Something that cannot be made of this trace.
    #[error("{0}")]
    Unsuitable(String),
}

impl From<NotRecorded> for TraceError {
    fn from(what: NotRecorded) -> Self {
        TraceError::NotRecorded(what)
    }
}

impl TraceError {
    /// Returns the error for a damaged place of a file.
    pub fn damaged(place: impl Into<String>, what: impl ToString) -> Self {
        TraceError::Damaged { place: place.into(), what: what.to_string() }
    }
}

/// What the medium said, where it was the medium.
fn reason(error: &ParquetError) -> String {
    match error {
        ParquetError::External(medium) => medium.to_string(),
        other => other.to_string(),
    }
}
