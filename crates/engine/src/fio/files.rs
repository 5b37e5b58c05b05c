//! Storage of job files and answers.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use steadfast_domain::Halt;
use steadfast_host::{Directory, FileError, ReadAccess};

/// The directory for job files and answers of an engine.
#[derive(Debug)]
pub(super) struct FioFiles {
    /// Path of the directory. In the directory of a run, only the last component is used.
    path: PathBuf,
    /// Directory of the run, if the files are stored in one.
    run: Option<Directory>,
    /// The directory; open from the first step on.
    kept: Option<Directory>,
    /// Number of the next job file.
    pub number: u32,
}

impl FioFiles {
    pub(super) fn new(path: PathBuf) -> Self {
        FioFiles { path, run: None, kept: None, number: 0 }
    }

    /// From now on, the files go into the directory of a run.
    pub(super) fn keep_in(&mut self, run: &Directory) {
        self.run = Some(run.clone());
    }

    /// Opens the directory, once for all steps, and continues the numbering of the job files in
    /// it.
    pub(super) fn open(&mut self) -> Result<Directory, Halt> {
        if let Some(kept) = &self.kept {
            return Ok(kept.clone());
        }
        let opened = open(self.run.as_ref(), &self.path);
        let (kept, number) = opened.map_err(|error| Halt::Ledger(error.to_string()))?;
        self.number = number;
        self.kept = Some(kept.clone());
        Ok(kept)
    }
}

/// Returns the directory, in that of a run or by itself, and the number of the next job file.
fn open(run: Option<&Directory>, path: &Path) -> Result<(Directory, u32), FileError> {
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

/// Returns the number after the highest one of a job file in the directory; 1 if it has none.
fn next_number(directory: &Directory) -> Result<u32, FileError> {
    let mut last = 0;
    for name in directory.names()? {
        let name = name.to_string_lossy();
        let number = name.split('-').next().and_then(|number| number.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last + 1)
}
