//! A file that is written beside its name and takes it when it is whole.

use super::directory::Directory;
use super::error::FileError;
use super::existing::Existing;
use super::readers::Readers;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that nobody sees under its name until it is whole. One that is
/// dropped before is removed.
#[derive(Debug)]
pub struct NewFile {
    directory: Directory,
    name: OsString,
    /// The name until then; `None` from then on.
    unfinished: Option<OsString>,
    file: File,
    existing: Existing,
}

/// Of the names of unfinished files of this process.
static COUNT: AtomicU32 = AtomicU32::new(0);

impl NewFile {
    /// Begins a file.
    ///
    /// # Errors
    /// Where the name is taken and may not be overwritten, or nothing can be
    /// made beside it.
    pub fn create(path: &Path, existing: Existing, readers: Readers) -> Result<NewFile, FileError> {
        let (directory, name) = Directory::of_file(path)?;
        NewFile::create_in(&directory, name, existing, readers)
    }

    /// Says beforehand what [`NewFile::create`] would refuse for its name.
    ///
    /// # Errors
    /// Where the name is taken and may not be overwritten.
    pub fn check(path: &Path, existing: Existing) -> Result<(), FileError> {
        let (directory, name) = Directory::of_file(path)?;
        directory.is_free(name, existing).map(drop)
    }

    /// Begins a file in a directory.
    ///
    /// # Errors
    /// As [`NewFile::create`].
    pub fn create_in(
        directory: &Directory,
        name: &OsStr,
        existing: Existing,
        readers: Readers,
    ) -> Result<NewFile, FileError> {
        let path = directory.path().join(name);
        directory.is_free(name, existing)?;
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let unfinished: OsString =
                format!(".steadfast-{}-{number}.unfinished", std::process::id()).into();
            match directory.create(&unfinished, readers) {
                Ok(file) => {
                    let (name, unfinished) = (name.to_owned(), Some(unfinished));
                    let directory = directory.clone();
                    return Ok(NewFile { directory, name, unfinished, file, existing });
                }
                // Of a process that was killed, or of one that counts its
                // processes anew.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(FileError::io("create the file", &path)(error)),
            }
        }
    }

    /// What it will be called.
    pub fn path(&self) -> PathBuf {
        self.directory.path().join(&self.name)
    }

    /// A handle to write with.
    ///
    /// # Errors
    /// Where the process has too many files open.
    pub fn handle(&self) -> Result<File, FileError> {
        self.file.try_clone().map_err(FileError::io("open it twice", &self.path()))
    }

    /// Writes all of it and gives it its name.
    ///
    /// # Errors
    /// As [`NewFile::place`], and where it cannot be written.
    pub fn hold(mut self, content: &[u8]) -> Result<(), FileError> {
        self.file.write_all(content).map_err(FileError::io("write it", &self.path()))?;
        self.place().map(drop)
    }

    /// Gives it its name, and returns it for whoever writes on.
    ///
    /// # Errors
    /// Where the name was taken meanwhile, or somebody touched the file.
    pub fn place(mut self) -> Result<File, FileError> {
        let path = self.path();
        let file = self.handle()?;
        self.file.sync_all().map_err(FileError::io("write it", &path))?;
        let Some(unfinished) = self.unfinished.clone() else { return Ok(file) };
        if !self.directory.is(&unfinished, &self.file) {
            return Err(FileError::Interfered(path));
        }
        let given = if self.directory.is_free(&self.name, self.existing)? {
            self.directory.rename_to_free(&unfinished, &self.name)
        } else {
            self.directory.rename_over(&unfinished, &self.name)
        };
        given.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => FileError::Exists(path.clone()),
            _ => FileError::io("rename it", &path)(error),
        })?;
        self.unfinished = None;
        self.directory.sync();
        Ok(file)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(unfinished) = self.unfinished.take() {
            self.directory.remove_own(&unfinished, &self.file);
        }
    }
}
