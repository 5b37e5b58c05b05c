//! The policy for output files whose name is taken.

/// Treatment of an existing file of the same name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OverwritePolicy {
    /// It is kept, and the new file is refused.
    #[default]
    Keep,
    /// A regular file is replaced; anything else is kept.
    Overwrite,
}
