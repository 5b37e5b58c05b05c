//! What importers take and give: inputs, events, and why an input cannot be read.

use crate::error::TraceError;
use std::io::Read;
use steadfast_domain::{CaptureConditions, IoEvent};

/// What an importer makes of an input.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// What the input tells of itself.
    pub conditions: CaptureConditions,
    /// I/Os handed on.
    pub events: u64,
    /// Records or lines read.
    pub records: u64,
    /// Records that are none of an I/O's: comments, plugs, messages.
    pub passed_over: u64,
}

/// Why an input could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// Something in it is not as it should be.
    #[error("{input}, {place}: {what} ({read} records were read before)")]
    Malformed {
        /// The input's name.
        input: String,
        /// Line or byte.
        place: String,
        /// What was expected and what was found.
        what: String,
        /// Records read before.
        read: u64,
    },
    /// The medium failed.
    #[error("{input} cannot be read: {error}")]
    Io {
        /// The input's name.
        input: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// What takes the events failed.
    #[error(transparent)]
    Sink(#[from] TraceError),
    /// The inputs do not fit the format.
    #[error("{0}")]
    Unsuitable(String),
}

/// Something to import.
pub struct Input<'r> {
    /// Its name, for messages.
    pub name: String,
    /// Its content, already decompressed.
    pub content: Box<dyn Read + 'r>,
}

/// Takes the events, in the order in which they complete.
pub type Sink<'s> = dyn FnMut(&IoEvent) -> Result<(), TraceError> + 's;
