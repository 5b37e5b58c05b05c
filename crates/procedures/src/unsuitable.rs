//! Why a procedure cannot be run as asked.

/// Why a procedure cannot be run as asked: one sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unsuitable(pub String);
