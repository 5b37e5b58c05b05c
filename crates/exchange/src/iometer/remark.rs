//! What is said beside a configuration that was understood.

/// Something in a file that was understood with a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The line, from 1; absent where it is about the whole file.
    pub line: Option<u64>,
    /// What the difference is.
    pub text: String,
}
