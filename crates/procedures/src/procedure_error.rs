//! The reason why a procedure cannot run with the given settings.

/// Reason why a procedure cannot run with the given settings, in one sentence with the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ProcedureError(pub String);
