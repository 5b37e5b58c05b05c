//! Storage of job files and answers.

use std::path::PathBuf;
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
    directory: Option<Directory>,
    /// Number of the next job file.
    pub number: u32,
}

impl FioFiles {
    pub(super) fn new(path: PathBuf) -> Self {
        FioFiles { path, run: None, directory: None, number: 0 }
    }

    /// From now on, the files go into the directory of a run.
    pub(super) fn keep_in(&mut self, run: &Directory) {
        self.run = Some(run.clone());
    }

    /// Opens the directory, once for all steps, and continues the numbering of the job files in
    /// it.
    pub(super) fn open(&mut self) -> Result<Directory, Halt> {
        if let Some(directory) = &self.directory {
            return Ok(directory.clone());
        }
        self.open_or_create().map_err(|error| Halt::Ledger(error.to_string()))
    }

    fn open_or_create(&mut self) -> Result<Directory, FileError> {
        let directory = match (&self.run, self.path.file_name()) {
            (Some(run), Some(name)) => match run.make_new(name, ReadAccess::Usual) {
                Err(FileError::Exists(_)) => run.enter(name)?,
                made => made?,
            },
            _ => Directory::make(&self.path, ReadAccess::Usual)?,
        };
        // fio works in this directory and overwrites files of its own names.
        directory.refuse_foreign()?;
        self.number = next_number(&directory)?;
        self.directory = Some(directory.clone());
        Ok(directory)
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
