//! Why a capture cannot be, and what to do.

/// What went wrong and its remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct CaptureError {
    /// What happened, to which device or file.
    pub what: String,
    /// What to do.
    pub remedy: String,
}

impl CaptureError {
    /// An error with its remedy.
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        CaptureError { what: what.into(), remedy: remedy.into() }
    }
}
