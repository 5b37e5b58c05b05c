//! [`HttpError`]: the reason why a question has no answer, in words, with an HTTP status.

use steadfast_tracefile::TraceError;

/// The reason why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct HttpError {
    /// HTTP status code.
    pub status: u16,
    /// Description of the problem and its remedy.
    pub text: String,
}

/// An answer, or the reason why there is none.
pub type HttpResult<T> = Result<T, HttpError>;

impl HttpError {
    /// Returns the refusal of an invalid question (400).
    pub fn bad(text: impl Into<String>) -> Self {
        HttpError { status: 400, text: text.into() }
    }
    /// Returns the refusal of something that does not exist (404).
    pub fn missing(text: impl Into<String>) -> Self {
        HttpError { status: 404, text: text.into() }
    }
    /// Returns the refusal of something that is still being read or has changed (409).
    pub fn conflict(text: impl Into<String>) -> Self {
        HttpError { status: 409, text: text.into() }
    }
    /// Returns the refusal of a valid question that cannot be answered (500).
    pub fn failed(text: impl Into<String>) -> Self {
        HttpError { status: 500, text: text.into() }
    }
}

impl From<TraceError> for HttpError {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Io(_) | TraceError::Damaged { .. } | TraceError::Footer(_) => {
                HttpError::failed(error.to_string())
            }
            _ => HttpError::bad(error.to_string()),
        }
    }
}
