//! Where job files and answers are kept.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use steadfast_host::{Directory, FileError, Readers};

/// Makes a directory, and says with which number job files go on from those in it. fio is
/// told the path, and may look at it from elsewhere, so it becomes an absolute one.
pub(super) fn make(directory: &mut PathBuf) -> io::Result<u32> {
    let made = Directory::make(directory, Readers::Usual).map_err(io::Error::other)?;
    // From here on it is named by its path: nobody else may decide what that leads to.
    made.refuse_exchangeable().and_then(|()| made.refuse_foreign()).map_err(io::Error::other)?;
    *directory = directory.canonicalize()?;
    next_number(&made).map_err(io::Error::other)
}

/// Makes a directory in that of a run, or opens it if it is there.
pub(super) fn make_in(run: &Directory, name: &OsStr) -> Result<Directory, FileError> {
    match run.make_new(name, Readers::Usual) {
        Err(FileError::Exists(_)) => run.enter(name),
        made => made,
    }
}

/// With which number job files go on from those in a directory.
pub(super) fn next_number(directory: &Directory) -> Result<u32, FileError> {
    let mut last = 0;
    for name in directory.names()? {
        let name = name.to_string_lossy();
        let number = name.split('-').next().and_then(|number| number.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last + 1)
}
