//! What a user names to be written: one rule for all of it (docs/formats.md).

use crate::cli::WritingArguments;
use crate::terminal;
use anyhow::bail;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use steadfast_host::{Directory, FileError, NewFile, OverwritePolicy, ReadAccess};

/// Whether names may be taken from files, and who may read what has them then.
#[derive(Debug, Clone, Copy)]
pub struct OutputRule {
    /// What happens to an existing file of that name.
    pub existing: OverwritePolicy,
    /// Who may read the new one.
    pub readers: ReadAccess,
}

impl OutputRule {
    /// What the command line says.
    pub fn from_arguments(arguments: &WritingArguments) -> anyhow::Result<OutputRule> {
        let readers = readers_named(arguments.group.as_deref())?;
        let existing =
            if arguments.force { OverwritePolicy::Overwrite } else { OverwritePolicy::Keep };
        Ok(OutputRule { existing, readers })
    }

    /// Begins a file. What makes it impossible is said before the work.
    pub fn begin(&self, path: &Path) -> Result<NewFile, FileError> {
        NewFile::create(path, self.existing, self.readers)
    }

    /// Begins a text, which may go to standard output as well.
    pub fn begin_text(&self, path: &Path) -> Result<TextOutput, FileError> {
        if path == Path::new("/dev/stdout") {
            return Ok(TextOutput::Standard);
        }
        self.begin(path).map(TextOutput::File)
    }
}

/// A text that is to be written.
pub enum TextOutput {
    /// To standard output.
    Standard,
    /// To a file.
    File(NewFile),
}

impl TextOutput {
    /// Writes all of it.
    pub fn hold(self, content: &[u8]) -> anyhow::Result<()> {
        match self {
            TextOutput::Standard => terminal::print_raw(content),
            TextOutput::File(file) => Ok(file.hold(content)?),
        }
    }
}

/// The file that tells a run directory from any other.
const SETTINGS: &str = "settings.json";

/// The users who may read files of the group that `--group` names.
pub fn readers_named(group: Option<&str>) -> Result<ReadAccess, FileError> {
    Ok(group.map(ReadAccess::of_group).transpose()?.unwrap_or_default())
}

/// A directory that reports go into.
pub struct OutputDir {
    path: PathBuf,
    /// The directory, once it is open.
    directory: Option<Directory>,
    rule: OutputRule,
}

impl OutputDir {
    /// A run's own: in it the names of reports and tables are this program's,
    /// and who may read the settings may read them.
    pub fn of_run(directory: &Directory) -> OutputDir {
        let readers = directory.readers_of(OsStr::new(SETTINGS));
        let rule = OutputRule { existing: OverwritePolicy::Overwrite, readers };
        OutputDir { path: directory.path().to_owned(), directory: Some(directory.clone()), rule }
    }

    /// One that the user names, never a run's, for files of these names among
    /// others.
    pub fn named(path: &Path, rule: OutputRule, names: &[&str]) -> anyhow::Result<OutputDir> {
        let directory = match Directory::open(path) {
            Err(error) if error.is_missing() => None,
            opened => {
                let directory = opened?;
                if directory.look(OsStr::new(SETTINGS))?.is_some() {
                    bail!(
                        "{} is a run directory, which takes no other files; give another directory",
                        path.display()
                    );
                }
                for name in names {
                    directory.check_overwrite(OsStr::new(name), rule.existing)?;
                }
                Some(directory)
            }
        };
        Ok(OutputDir { path: path.to_owned(), directory, rule })
    }

    /// Writes files, each whole or not at all; none where a name is taken.
    pub fn put(&self, files: &[(String, Vec<u8>)]) -> anyhow::Result<Vec<PathBuf>> {
        let OutputRule { existing, readers } = self.rule;
        let directory = match &self.directory {
            Some(directory) => directory.clone(),
            None => Directory::make(&self.path, readers)?,
        };
        for (name, _) in files {
            directory.check_overwrite(OsStr::new(name), existing)?;
        }
        let mut written = Vec::new();
        for (name, content) in files {
            let path = self.path.join(name);
            let file = NewFile::create_in(&directory, OsStr::new(name), existing, readers)?;
            file.hold(content)?;
            written.push(path);
        }
        Ok(written)
    }
}
