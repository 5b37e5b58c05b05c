//! Storage of job files and answers.

use std::ffi::OsStr;
use std::path::Path;
use steadfast_host::{Directory, FileError, ReadAccess};

/// Opens the directory for job files and answers, once for all steps. With a run, it is the entry
/// of the run's directory named by the last component of `path`; otherwise it is `path` itself.
/// Returns the directory and the number of the next job file.
pub(super) fn open(run: Option<&Directory>, path: &Path) -> Result<(Directory, u32), FileError> {
    let kept = match (run, path.file_name()) {
        (Some(run), Some(name)) => make_in(run, name)?,
        _ => Directory::make(path, ReadAccess::Usual)?,
    };
    // fio works in this directory and overwrites files of its own names.
    kept.refuse_foreign()?;
    let number = next_number(&kept)?;
    Ok((kept, number))
}

/// Creates a directory in that of a run, or opens an existing one.
fn make_in(run: &Directory, name: &OsStr) -> Result<Directory, FileError> {
    match run.make_new(name, ReadAccess::Usual) {
        Err(FileError::Exists(_)) => run.enter(name),
        made => made,
    }
}

/// Returns the highest number of a job file in the directory; 0 if it has none.
fn next_number(directory: &Directory) -> Result<u32, FileError> {
    let mut last = 0;
    for name in directory.names()? {
        let name = name.to_string_lossy();
        let number = name.split('-').next().and_then(|number| number.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last + 1)
}
