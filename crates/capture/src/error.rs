//! Errors of captures, with their remedies.

/// A capture that failed, with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct CaptureError {
    /// The problem and the device or file that has it.
    pub what: String,
    /// Remedy for the user.
    pub remedy: String,
}

impl CaptureError {
    /// Returns an error with its remedy.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        CaptureError { what: what.into(), remedy: remedy.into() }
    }
}
