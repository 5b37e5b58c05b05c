//! What is loaded to see the file-system layer.

/// One set of them.
pub(super) struct FilePrograms {
    /// The object file.
    pub file: &'static [u8],
    /// Its programs, in the order in which they are attached: whoever sees an
    /// end comes before whoever sees a beginning.
    pub programs: Vec<String>,
    pub description: String,
    /// All is known of a call when it begins.
    pub keeps_unended: bool,
}
