//! Remarks on a configuration that was understood.

/// A difference between the file and what is done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Line number, from 1; `None` for the file as a whole.
    pub line: Option<u64>,
    /// Text of the remark.
    pub text: String,
}
