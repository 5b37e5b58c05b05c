//! The storage of output files: the operations that a [`NewFile`](super::NewFile) needs on a
//! directory.

use super::error::FileError;
use super::overwrite_policy::OverwritePolicy;
use super::readers::ReadAccess;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

/// An open directory in which files appear whole. Implemented for directories of this machine and
/// by the fault simulator (`docs/fire.md`). A clone refers to the same directory.
pub trait OutputStorage: Clone + std::fmt::Debug {
    /// Type of the files in the directory.
    type File: Write + std::fmt::Debug;
    /// Returns the path with which the directory was opened.
    fn path(&self) -> &Path;
    /// Returns true if a name is unused, and false if a regular file has it and may be overwritten.
    ///
    /// # Errors
    /// Returns an error if the name is in use and must not be overwritten.
    fn check_name(&self, name: &OsStr, existing: OverwritePolicy) -> Result<bool, FileError>;
    /// Creates a file under an unused name.
    ///
    /// # Errors
    /// Returns an error if the name is in use or the system refuses.
    fn create_file(&self, name: &OsStr, readers: ReadAccess) -> io::Result<Self::File>;
    /// Returns true if the entry is this open file.
    fn has_file(&self, name: &OsStr, file: &Self::File) -> bool;
    /// Renames a file to an unused name.
    ///
    /// # Errors
    /// Returns an error if the name is in use or the system refuses.
    fn rename_to_unused(&self, from: &OsStr, to: &OsStr) -> io::Result<()>;
    /// Renames a file, replacing an existing one.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    fn rename_over(&self, from: &OsStr, to: &OsStr) -> io::Result<()>;
    /// Removes the entry if it is this open file.
    fn remove_own(&self, name: &OsStr, file: &Self::File);
    /// Makes the names in the directory durable.
    ///
    /// # Errors
    /// Returns the kernel's error if names may be lost.
    fn sync_names(&self) -> io::Result<()>;
    /// Opens a file a second time.
    ///
    /// # Errors
    /// Returns an error if the process has too many open files.
    fn duplicate(file: &Self::File) -> io::Result<Self::File>;
    /// Writes content and size of a file to the disk.
    ///
    /// # Errors
    /// Returns the kernel's error.
    fn sync_file(file: &Self::File) -> io::Result<()>;
    /// Returns true if any directory still has a name for the file.
    ///
    /// # Errors
    /// Returns the kernel's error if the file cannot be examined.
    fn has_name(file: &Self::File) -> io::Result<bool>;
}
