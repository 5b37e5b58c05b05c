//! A [`Refusal`]: why a question has no answer, in words, with the status that HTTP
//! has for it.

use steadfast_tracefile::TraceError;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// HTTP's number.
    pub status: u16,
    /// What happened and what to do.
    pub text: String,
}

impl Refusal {
    /// The question is wrong.
    pub fn bad(text: impl Into<String>) -> Self {
        Refusal { status: 400, text: text.into() }
    }
    /// There is no such thing.
    pub fn missing(text: impl Into<String>) -> Self {
        Refusal { status: 404, text: text.into() }
    }
    /// Not now: it is still being read, or it changed.
    pub fn conflict(text: impl Into<String>) -> Self {
        Refusal { status: 409, text: text.into() }
    }
    /// It cannot be answered though the question is right.
    pub fn failed(text: impl Into<String>) -> Self {
        Refusal { status: 500, text: text.into() }
    }
}

impl From<TraceError> for Refusal {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Io(_) | TraceError::Damaged { .. } | TraceError::Footer(_) => {
                Refusal::failed(error.to_string())
            }
            _ => Refusal::bad(error.to_string()),
        }
    }
}
