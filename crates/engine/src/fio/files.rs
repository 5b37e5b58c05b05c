//! Storage of job files and answers.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;
use steadfast_host::{Directory, FileError, Readers};

/// Creates a directory, makes its path absolute and returns the number of the next job file in
/// it. fio gets the path and may resolve it from another directory.
pub(super) fn make(directory: &mut PathBuf) -> io::Result<u32> {
    let made = Directory::make(directory, Readers::Usual).map_err(io::Error::other)?;
    // From here on the directory is used by path: no one else may decide where that leads.
    made.refuse_exchangeable().and_then(|()| made.refuse_foreign()).map_err(io::Error::other)?;
    *directory = directory.canonicalize()?;
    next_number(&made).map_err(io::Error::other)
}

/// Creates a directory in a run's directory, or opens it if it exists.
pub(super) fn make_in(run: &Directory, name: &OsStr) -> Result<Directory, FileError> {
    match run.make_new(name, Readers::Usual) {
        Err(FileError::Exists(_)) => run.enter(name),
        made => made,
    }
}

/// Returns the number of the next job file in a directory.
pub(super) fn next_number(directory: &Directory) -> Result<u32, FileError> {
    let mut last = 0;
    for name in directory.names()? {
        let name = name.to_string_lossy();
        let number = name.split('-').next().and_then(|number| number.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last + 1)
}
