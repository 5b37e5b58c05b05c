//! The programs to load for the file-system layer.

/// One set of programs.
pub(super) struct FilePrograms {
    /// Content of the object file.
    pub file: &'static [u8],
    /// Programs in the order of attachment: those at completions before those at submissions.
    pub programs: Vec<String>,
    pub description: String,
    /// True if a call's record is complete when the call begins, so that unfinished calls can be
    /// recorded.
    pub keeps_unended: bool,
}
