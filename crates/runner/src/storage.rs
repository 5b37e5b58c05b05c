//! The storage of a run: the operations that it needs on a directory and its files.
//!
//! The ledger, groups of runs, the logs of power cuts and the journals of host changes use only
//! [`RunStorage`] and [`StoredFile`]. This module implements them for the directories and files of
//! this machine; the fault simulator implements them with caches that a crash loses (`docs/fire.md`).

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use steadfast_host::{Directory, FileError, ReadAccess};

/// An open directory: a run directory or its parent. A clone refers to the same directory. Methods
/// fail with the error of the system: [`FileError::Io`] where their error is a `FileError`.
pub trait RunStorage: Clone + std::fmt::Debug {
    /// Type of the files in the directory.
    type File: StoredFile;
    /// Returns the path with which the directory was opened.
    fn path(&self) -> &Path;
    /// Returns the directory on this machine; `None` if it is simulated.
    fn on_this_host(&self) -> Option<&Directory>;
    /// Describes who else can write to the directory, as a verb phrase; `None` if no other user
    /// can, or if this process is not root.
    ///
    /// # Errors
    /// Returns an error if it cannot be examined, or if another user can replace it.
    fn foreign_writer(&self) -> Result<Option<String>, FileError>;
    /// Returns the names of all entries.
    fn names(&self) -> Result<Vec<OsString>, FileError>;
    /// Creates a directory under an unused name, which is on disk when this returns.
    ///
    /// # Errors
    /// Returns [`FileError::Exists`] if the name is in use.
    fn make_new(&self, name: &OsStr, readers: ReadAccess) -> Result<Self, FileError>;
    /// Opens a directory in this one.
    fn enter(&self, name: &OsStr) -> Result<Self, FileError>;
    /// Removes an empty subdirectory if it is still the one opened as `made`.
    fn remove_made(&self, made: &Self);
    /// Creates a file under an unused name, for reading and appending; fails with
    /// [`io::ErrorKind::AlreadyExists`] if the name is in use.
    fn create(&self, name: &OsStr, readers: ReadAccess) -> io::Result<Self::File>;
    /// Opens a regular file for reading; anything else is refused.
    fn open_file(&self, name: &OsStr) -> Result<Self::File, FileError>;
    /// Opens a regular file for reading and appending; anything else is refused.
    fn open_to_append(&self, name: &OsStr) -> Result<Self::File, FileError>;
    /// Renames a file, replacing an existing one.
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<(), FileError>;
    /// Removes a file.
    fn remove(&self, name: &OsStr) -> Result<(), FileError>;
    /// Removes the entry if it is this open file.
    fn remove_own(&self, name: &OsStr, file: &Self::File);
    /// Makes the names in the directory durable.
    fn sync(&self) -> io::Result<()>;
}

/// An open file of a run. Methods fail with the error of the system.
pub trait StoredFile: Read + Write + std::fmt::Debug {
    /// Returns the size in bytes.
    fn size(&self) -> io::Result<u64>;
    /// Reads from an offset in bytes; returns the number of bytes read, 0 at the end of the file. A
    /// signal may interrupt the call.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Returns false if the file was deleted.
    fn has_name(&self) -> io::Result<bool>;
    /// Returns who else can write to it, as [`RunStorage::foreign_writer`] does.
    fn foreign_writer(&self) -> io::Result<Option<String>>;
    /// Sets the final permissions.
    fn grant(&self, readers: ReadAccess) -> io::Result<()>;
    /// Truncates the file to a size.
    fn set_size(&self, size: u64) -> io::Result<()>;
    /// Writes content and size to the disk. After an error, any data that were not on disk may be
    /// lost, even if a later call succeeds.
    fn sync(&self) -> io::Result<()>;
    /// Writes content, size and permissions to the disk and drops the cache, so that the next read
    /// returns what the disk holds. Otherwise the cache could return data that a failed sync of
    /// another process has lost.
    fn refresh(&self) -> io::Result<()>;
    /// Locks the file until it is closed. Waits while another process holds the lock.
    fn lock(&self) -> io::Result<()>;
    /// Locks the file until it is closed, without waiting.
    ///
    /// # Errors
    /// Returns [`TryLockError::WouldBlock`] if another process holds the lock.
    fn try_lock(&self) -> Result<(), TryLockError>;
}

impl RunStorage for Directory {
    type File = File;
    fn path(&self) -> &Path {
        Directory::path(self)
    }
    fn on_this_host(&self) -> Option<&Directory> {
        Some(self)
    }
    fn foreign_writer(&self) -> Result<Option<String>, FileError> {
        self.refuse_exchangeable()?;
        Ok(foreign_writer(&self.metadata()?))
    }
    fn names(&self) -> Result<Vec<OsString>, FileError> {
        Directory::names(self)
    }
    fn make_new(&self, name: &OsStr, readers: ReadAccess) -> Result<Self, FileError> {
        Directory::make_new(self, name, readers)
    }
    fn enter(&self, name: &OsStr) -> Result<Self, FileError> {
        Directory::enter(self, name)
    }
    fn remove_made(&self, made: &Self) {
        Directory::remove_made(self, made);
    }
    fn create(&self, name: &OsStr, readers: ReadAccess) -> io::Result<File> {
        Directory::create(self, name, readers)
    }
    fn open_file(&self, name: &OsStr) -> Result<File, FileError> {
        Directory::open_file(self, name)
    }
    fn open_to_append(&self, name: &OsStr) -> Result<File, FileError> {
        Directory::open_to_append(self, name)
    }
    fn rename(&self, from: &OsStr, to: &OsStr) -> Result<(), FileError> {
        Directory::rename(self, from, to)
    }
    fn remove(&self, name: &OsStr) -> Result<(), FileError> {
        Directory::remove(self, name)
    }
    fn remove_own(&self, name: &OsStr, file: &File) {
        Directory::remove_own(self, name, file);
    }
    fn sync(&self) -> io::Result<()> {
        Directory::sync(self)
    }
}

impl StoredFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, offset)
    }
    fn has_name(&self) -> io::Result<bool> {
        Ok(self.metadata()?.nlink() > 0)
    }
    fn foreign_writer(&self) -> io::Result<Option<String>> {
        Ok(foreign_writer(&self.metadata()?))
    }
    fn grant(&self, readers: ReadAccess) -> io::Result<()> {
        readers.grant(self, false)
    }
    fn set_size(&self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
    fn refresh(&self) -> io::Result<()> {
        self.sync_all()?;
        // SAFETY: the call takes integers; the descriptor is open as long as `self` exists.
        let _ = unsafe { libc::posix_fadvise(self.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        Ok(())
    }
    fn lock(&self) -> io::Result<()> {
        File::lock(self)
    }
    fn try_lock(&self) -> Result<(), TryLockError> {
        File::try_lock(self)
    }
}

pub(crate) fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Describes who else can write to a file, as a verb phrase, if this process is root.
pub(crate) fn foreign_writer(found: &Metadata) -> Option<String> {
    match (is_root(), found.uid(), found.mode() & 0o022) {
        (false, ..) | (true, 0, 0) => None,
        (true, 0, _) => Some("is writable by users other than root".to_owned()),
        (true, owner, _) => Some(format!("belongs to user {owner}, not to root")),
    }
}

/// Writes a file of a new directory so that it appears completely or not at all. The caller makes
/// its name durable.
pub(crate) fn write_new<D: RunStorage>(
    directory: &D,
    name: &str,
    content: &[u8],
) -> Result<D::File, FileError> {
    let path = directory.path().join(name);
    let failed = |source| FileError::Io { action: "write it", path, source };
    let unfinished = unfinished(name);
    let written = directory.create(&unfinished, ReadAccess::Usual).and_then(|mut file| {
        file.write_all(content)?;
        file.refresh()?;
        Ok(file)
    });
    let file = written.map_err(failed)?;
    directory.rename(&unfinished, OsStr::new(name))?;
    Ok(file)
}

/// Removes a file that [`write_new`] has written, completely or not, as far as possible.
pub(crate) fn remove_new<D: RunStorage>(directory: &D, name: &str) {
    let _ = directory.remove(&unfinished(name));
    let _ = directory.remove(OsStr::new(name));
}

/// Returns the name of a file until it is completely on disk.
fn unfinished(name: &str) -> OsString {
    format!(".{name}.unfinished").into()
}

/// A file that grows by whole lines. A line is on disk when [`LineFile::append`] returns. Nothing
/// is written after a line that is not on disk.
#[derive(Debug)]
pub(crate) struct LineFile<F> {
    file: F,
    /// Length of the whole lines in bytes.
    length: u64,
    /// True if the file may be longer than its whole lines.
    is_torn: bool,
}

impl<F: StoredFile> LineFile<F> {
    /// Continues a file after its whole lines; `is_torn` states that other bytes follow them.
    pub fn new(file: F, length: u64, is_torn: bool) -> LineFile<F> {
        LineFile { file, length, is_torn }
    }

    pub fn file(&self) -> &F {
        &self.file
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends a line. After an error, the file is truncated to the previous line, either
    /// immediately or before the next append.
    pub fn append(&mut self, line: &[u8]) -> io::Result<()> {
        self.cut_off()?;
        self.is_torn = true;
        let written = self.file.write_all(line).and_then(|()| self.file.sync());
        match written {
            Ok(()) => {
                self.length += line.len() as u64;
                self.is_torn = false;
                Ok(())
            }
            Err(error) => {
                // The next append tries again. If there is none, readers drop the torn line.
                let _ = self.cut_off();
                Err(error)
            }
        }
    }

    /// Truncates the file to its whole lines. The truncation must be on disk before anything else
    /// is written there; otherwise a crash could mix sectors of both lines.
    pub fn cut_off(&mut self) -> io::Result<()> {
        if self.is_torn {
            self.file.set_size(self.length)?;
            self.file.refresh()?;
            self.is_torn = false;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    /// A file in memory on which the next calls fail.
    #[derive(Debug, Default)]
    struct FailingFile {
        content: RefCell<Vec<u8>>,
        failing_syncs: Cell<u32>,
        failing_truncations: Cell<u32>,
    }

    fn fail(calls: &Cell<u32>) -> io::Result<()> {
        if calls.get() == 0 {
            return Ok(());
        }
        calls.set(calls.get() - 1);
        Err(io::Error::from_raw_os_error(libc::EIO))
    }

    impl Read for FailingFile {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }
    }

    impl Write for FailingFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.content.borrow_mut().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl StoredFile for FailingFile {
        fn size(&self) -> io::Result<u64> {
            Ok(self.content.borrow().len() as u64)
        }
        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
            Ok(0)
        }
        fn has_name(&self) -> io::Result<bool> {
            Ok(true)
        }
        fn foreign_writer(&self) -> io::Result<Option<String>> {
            Ok(None)
        }
        fn grant(&self, _: ReadAccess) -> io::Result<()> {
            Ok(())
        }
        fn set_size(&self, size: u64) -> io::Result<()> {
            fail(&self.failing_truncations)?;
            self.content.borrow_mut().truncate(usize::try_from(size).unwrap());
            Ok(())
        }
        fn sync(&self) -> io::Result<()> {
            fail(&self.failing_syncs)
        }
        fn refresh(&self) -> io::Result<()> {
            fail(&self.failing_syncs)
        }
        fn lock(&self) -> io::Result<()> {
            Ok(())
        }
        fn try_lock(&self) -> Result<(), TryLockError> {
            Ok(())
        }
    }

    #[test]
    fn a_failed_line_is_cut_off_before_the_next_append() {
        let mut lines = LineFile::new(FailingFile::default(), 0, false);
        lines.append(b"one\n").unwrap();
        lines.file.failing_syncs.set(1);
        lines.file.failing_truncations.set(2);
        assert!(lines.append(b"two\n").is_err(), "the sync fails, and the truncation");
        assert!(lines.append(b"three\n").is_err(), "the truncation fails again");
        assert_eq!(*lines.file.content.borrow(), b"one\ntwo\n");
        lines.append(b"four\n").unwrap();
        assert_eq!(*lines.file.content.borrow(), b"one\nfour\n");
        assert_eq!(lines.length(), 9);
    }
}
