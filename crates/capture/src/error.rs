//! Errors of captures, with their remedies.

/// What failed, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct CaptureError {
    /// What happened, to which device or file.
    pub what: String,
    /// What the user can do about it.
    pub remedy: String,
}

impl CaptureError {
    /// Returns an error with its remedy.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        CaptureError { what: what.into(), remedy: remedy.into() }
    }
}
