//! Reads regular files of bounded size. Opening a FIFO would block, and a device may have no end.

use super::error::{self, FileError, kind};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading; never blocks.
///
/// # Errors
/// Returns [`FileError::Unreadable`] if the path leads to anything else, and [`FileError::Io`]
/// if it cannot be opened.
pub fn open_regular(path: &Path) -> Result<File, FileError> {
    let failed = || FileError::io(error::OPEN, path);
    let refuse = |file_type| FileError::Unreadable { path: path.to_owned(), kind: kind(file_type) };
    // Opening some devices has side effects.
    let metadata = path.metadata().map_err(failed())?;
    if !metadata.is_file() {
        return Err(refuse(metadata.file_type()));
    }
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path).map_err(failed())?;
    // The path may refer to another file by now.
    let metadata = file.metadata().map_err(failed())?;
    if metadata.is_file() { Ok(file) } else { Err(refuse(metadata.file_type())) }
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// Returns the errors of [`open_regular`], and [`FileError::TooLong`].
pub fn read_regular(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    read_file(&open_regular(path)?, path, most)
}

/// Reads a regular UTF-8 file of at most `most` bytes.
///
/// # Errors
/// Returns the errors of [`read_regular`], and [`FileError::NotText`].
pub fn read_regular_text(path: &Path, most: u64) -> Result<String, FileError> {
    let bytes = read_regular(path, most)?;
    String::from_utf8(bytes).map_err(|_| FileError::NotText(path.to_owned()))
}

/// Reads an open regular file of at most `most` bytes. Checks its size first, so that nothing is
/// read of a longer one.
///
/// # Errors
/// Returns [`FileError::TooLong`], and [`FileError::Io`] if it cannot be read.
pub fn read_file(file: &File, path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let size = file.metadata().map_err(FileError::io(error::READ, path))?.len();
    read_sized(file, size, path, most)
}

/// Reads at most `most` bytes of a file of this size.
///
/// # Errors
/// Returns the errors of [`read_file`].
pub fn read_sized(
    file: impl Read,
    size: u64,
    path: &Path,
    most: u64,
) -> Result<Vec<u8>, FileError> {
    let too_long = || FileError::TooLong { path: path.to_owned(), most };
    if size > most {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    // It may grow meanwhile.
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(FileError::io(error::READ, path))?;
    if bytes.len() as u64 > most { Err(too_long()) } else { Ok(bytes) }
}
