//! A file that is written under a temporary name and renamed when it is complete.

use super::directory::Directory;
use super::error::FileError;
use super::output_storage::OutputStorage;
use super::overwrite_policy::OverwritePolicy;
use super::readers::ReadAccess;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that gets its name only when it is complete. Dropping it before removes it.
#[derive(Debug)]
pub struct NewFile<D: OutputStorage = Directory> {
    directory: D,
    name: OsString,
    /// Temporary name; `None` after the file got its final name.
    unfinished: Option<OsString>,
    file: D::File,
    existing: OverwritePolicy,
}

/// Counter for the temporary names of this process.
static COUNT: AtomicU32 = AtomicU32::new(0);

impl NewFile {
    /// Creates the file under a temporary name.
    ///
    /// # Errors
    /// Returns an error if the final name is in use and must not be overwritten, or nothing can be
    /// created in the directory.
    pub fn create(
        path: &Path,
        existing: OverwritePolicy,
        readers: ReadAccess,
    ) -> Result<NewFile, FileError> {
        let (directory, name) = Directory::of_file(path)?;
        NewFile::create_in(&directory, name, existing, readers)
    }

    /// Checks the final name as [`NewFile::create`] does.
    ///
    /// # Errors
    /// Returns an error if the name is in use and must not be overwritten.
    pub fn check(path: &Path, existing: OverwritePolicy) -> Result<(), FileError> {
        let (directory, name) = Directory::of_file(path)?;
        directory.check_overwrite(name, existing).map(drop)
    }
}

impl<D: OutputStorage> NewFile<D> {
    /// Creates the file in a directory.
    ///
    /// # Errors
    /// Returns the errors of [`NewFile::create`].
    pub fn create_in(
        directory: &D,
        name: &OsStr,
        existing: OverwritePolicy,
        readers: ReadAccess,
    ) -> Result<NewFile<D>, FileError> {
        let path = directory.path().join(name);
        directory.check_name(name, existing)?;
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let unfinished: OsString =
                format!(".steadfast-{}-{number}.unfinished", std::process::id()).into();
            match directory.create_file(&unfinished, readers) {
                Ok(file) => {
                    let (name, unfinished) = (name.to_owned(), Some(unfinished));
                    let directory = directory.clone();
                    return Ok(NewFile { directory, name, unfinished, file, existing });
                }
                // Left by a killed process, or by one with the same ID in another PID namespace.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FileError::io("create the file", &path)(error)),
            }
        }
    }

    /// Returns the final path.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }

    /// Returns a handle for writing.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if the process has too many open files.
    pub fn handle(&self) -> Result<D::File, FileError> {
        D::duplicate(&self.file).map_err(FileError::io("open it twice", &self.path()))
    }

    /// Writes the content and renames the file to its final name.
    ///
    /// # Errors
    /// Returns the errors of [`NewFile::persist`], and [`FileError::Io`] if writing fails.
    pub fn write_and_persist(mut self, content: &[u8]) -> Result<(), FileError> {
        self.file.write_all(content).map_err(FileError::io("write it", &self.path()))?;
        self.persist().map(drop)
    }

    /// Renames the file to its final name; returns a handle for further writing.
    ///
    /// # Errors
    /// Returns [`FileError::Exists`] if the name was taken meanwhile, and
    /// [`FileError::Interfered`] if the temporary file was removed or replaced.
    pub fn persist(mut self) -> Result<D::File, FileError> {
        let path = self.path();
        let file = self.handle()?;
        D::sync_file(&self.file).map_err(FileError::io("write it", &path))?;
        let Some(unfinished) = self.unfinished.clone() else { return Ok(file) };
        if !self.directory.has_file(&unfinished, &self.file) {
            return Err(FileError::Interfered(path));
        }
        let given = if self.directory.check_name(&self.name, self.existing)? {
            self.directory.rename_to_unused(&unfinished, &self.name)
        } else {
            self.directory.rename_over(&unfinished, &self.name)
        };
        given.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => FileError::Exists(path.clone()),
            _ => FileError::io("rename it", &path)(error),
        })?;
        self.unfinished = None;
        self.directory.sync_names().map_err(FileError::io("make its name durable", &path))?;
        Ok(file)
    }
}

impl<D: OutputStorage> Drop for NewFile<D> {
    fn drop(&mut self) {
        if let Some(unfinished) = self.unfinished.take() {
            self.directory.remove_own(&unfinished, &self.file);
        }
    }
}
