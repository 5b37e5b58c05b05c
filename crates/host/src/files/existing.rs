//! What becomes of what is there already.

/// What becomes of a file that has the name already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the new one is refused.
    #[default]
    Keep,
    /// A regular file makes way for the new one; anything else stays.
    Overwrite,
}
