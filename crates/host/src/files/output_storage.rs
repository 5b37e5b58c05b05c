//! The storage of output files: the operations that a [`NewFile`](super::NewFile) needs on a
//! directory.

use super::directory::Directory;
use super::error::FileError;
use super::overwrite_policy::OverwritePolicy;
use super::readers::ReadAccess;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
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
    fn give_free_name(&self, from: &OsStr, to: &OsStr) -> io::Result<()>;
    /// Renames a file, replacing an existing one.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    fn give_used_name(&self, from: &OsStr, to: &OsStr) -> io::Result<()>;
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

impl OutputStorage for Directory {
    type File = File;
    fn path(&self) -> &Path {
        self.path()
    }
    fn check_name(&self, name: &OsStr, existing: OverwritePolicy) -> Result<bool, FileError> {
        self.check_overwrite(name, existing)
    }
    fn create_file(&self, name: &OsStr, readers: ReadAccess) -> io::Result<File> {
        self.create(name, readers)
    }
    fn has_file(&self, name: &OsStr, file: &File) -> bool {
        self.is(name, file)
    }
    fn give_free_name(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.rename_to_free(from, to)
    }
    fn give_used_name(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        self.rename_over(from, to)
    }
    fn remove_own(&self, name: &OsStr, file: &File) {
        Directory::remove_own(self, name, file);
    }
    fn sync_names(&self) -> io::Result<()> {
        self.sync()
    }
    fn duplicate(file: &File) -> io::Result<File> {
        file.try_clone()
    }
    fn sync_file(file: &File) -> io::Result<()> {
        file.sync_all()
    }
    fn has_name(file: &File) -> io::Result<bool> {
        Ok(file.metadata()?.nlink() > 0)
    }
}
