//! Output files: when an existing file is replaced, and who may read the new one (docs/formats.md).

use crate::cli::WritingArguments;
use crate::terminal;
use anyhow::bail;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use steadfast_host::{Directory, FileError, NewFile, OverwritePolicy, ReadAccess};

/// Rule for writing output files.
#[derive(Debug, Clone, Copy)]
pub struct OutputRule {
    /// Policy for an existing file of that name.
    pub existing: OverwritePolicy,
    /// Users who may read the new file.
    pub readers: ReadAccess,
}

impl OutputRule {
    /// Returns the rule of the command line.
    pub fn from_arguments(arguments: &WritingArguments) -> anyhow::Result<OutputRule> {
        let readers = read_access(arguments.group.as_deref())?;
        let existing =
            if arguments.force { OverwritePolicy::Overwrite } else { OverwritePolicy::Keep };
        Ok(OutputRule { existing, readers })
    }

    /// Creates a file, so that an error is reported before the work begins.
    pub fn create(&self, path: &Path) -> Result<NewFile, FileError> {
        OutputRule::check(path)?;
        NewFile::create(path, self.existing, self.readers)
    }

    /// Refuses, with or without `--force`, a file in a run directory and one that the command reads.
    ///
    /// # Errors
    /// Returns [`FileError::InRunDirectory`] or [`FileError::IsInput`], and the errors of opening
    /// the directory.
    pub fn check(path: &Path) -> Result<(), FileError> {
        let (directory, name) = Directory::of_file(path)?;
        refuse_in_run(&directory, path)?;
        if is_list_of_runs(&directory, name)? {
            return Err(FileError::InRunDirectory(path.to_owned()));
        }
        refuse_argument(&directory, name)
    }

    /// Creates a text output; `/dev/stdout` is standard output.
    pub fn create_text(&self, path: &Path) -> Result<TextOutput, FileError> {
        if path == Path::new("/dev/stdout") {
            return Ok(TextOutput::Standard);
        }
        self.create(path).map(TextOutput::File)
    }
}

/// Destination of a text.
pub enum TextOutput {
    /// Standard output.
    Standard,
    /// A file.
    File(NewFile),
}

impl TextOutput {
    /// Writes the content; a file gets its final name.
    pub fn write(self, content: &[u8]) -> anyhow::Result<()> {
        match self {
            TextOutput::Standard => terminal::print_raw(content),
            TextOutput::File(file) => Ok(file.write_and_persist(content)?),
        }
    }
}

/// Files by which a run directory is recognized.
pub const SETTINGS: &str = "settings.json";
pub const JOURNAL: &str = "journal.jsonl";

/// List of the runs of several devices, in the directory of their run directories.
pub const TARGETS: &str = "targets.json";

/// Refuses a run directory, recognized by its content, and a directory below one.
///
/// # Errors
/// Returns [`FileError::InRunDirectory`] with `output`, and [`FileError::Io`] if the directory cannot
/// be examined.
fn refuse_in_run(directory: &Directory, output: &Path) -> Result<(), FileError> {
    let has = |name: &str| directory.entry_metadata(OsStr::new(name)).map(|found| found.is_some());
    let refused = || Err(FileError::InRunDirectory(output.to_owned()));
    // Either file is enough here: a run directory may have lost the other.
    if has(SETTINGS)? || has(JOURNAL)? {
        return refused();
    }
    // The path of the open directory may no longer exist; then nothing above it can be examined.
    let Ok(whole) = std::fs::canonicalize(directory.path()) else { return Ok(()) };
    // Above it both are required, because one of the names alone is common.
    for above in whole.ancestors().skip(1) {
        if above.join(SETTINGS).exists() && above.join(JOURNAL).exists() {
            return refused();
        }
    }
    Ok(())
}

/// Returns true if the file is the list of the runs of several devices.
fn is_list_of_runs(directory: &Directory, name: &OsStr) -> Result<bool, FileError> {
    Ok(name == TARGETS && directory.entry_metadata(name)?.is_some())
}

/// Refuses an output that another argument of the command line names as well, by any path.
///
/// # Errors
/// Returns [`FileError::IsInput`].
fn refuse_argument(directory: &Directory, name: &OsStr) -> Result<(), FileError> {
    let Some(found) = directory.entry_metadata(name)? else { return Ok(()) };
    let path = directory.path().join(name);
    let arguments: Vec<Vec<OsString>> = std::env::args_os().skip(1).map(argument_values).collect();
    let is_same_file = |value: &OsString| {
        std::fs::metadata(value)
            .is_ok_and(|other| (other.dev(), other.ino()) == (found.dev(), found.ino()))
    };
    let naming_file = arguments.iter().filter(|values| values.iter().any(is_same_file)).count();
    let is_output = |values: &Vec<OsString>| values.iter().any(|value| Path::new(value) == path);
    // One argument may be the output option itself. Any other that leads to the file is an input.
    let naming_output = usize::from(arguments.iter().any(is_output));
    if naming_file > naming_output { Err(FileError::IsInput(path)) } else { Ok(()) }
}

/// Returns the argument and any value attached to an option: `--output=FILE`, `-oFILE`.
fn argument_values(argument: OsString) -> Vec<OsString> {
    let bytes = argument.as_bytes();
    let after_sign = bytes.iter().position(|byte| *byte == b'=').map(|at| bytes[at + 1..].to_vec());
    let is_short = bytes.len() > 2 && bytes[0] == b'-' && bytes[1] != b'-';
    let after_letter = is_short.then(|| bytes[2..].to_vec());
    let attached: Vec<OsString> =
        after_sign.into_iter().chain(after_letter).map(OsString::from_vec).collect();
    std::iter::once(argument).chain(attached).collect()
}

/// Refuses an output that is the input, compared by device and inode.
///
/// # Errors
/// Returns [`FileError::IsInput`].
pub fn refuse_input(output: &Path, input: &Path) -> Result<(), FileError> {
    let identity = |path: &Path| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    let own = identity(output);
    if own.is_some() && identity(input) == own {
        return Err(FileError::IsInput(output.to_owned()));
    }
    Ok(())
}

/// Returns the users who may read the files: those of the group that `--group` names.
pub fn read_access(group: Option<&str>) -> Result<ReadAccess, FileError> {
    Ok(group.map(ReadAccess::of_group).transpose()?.unwrap_or_default())
}

/// A directory for report files.
pub struct OutputDir {
    path: PathBuf,
    /// Open directory; `None` until it is created.
    directory: Option<Directory>,
    rule: OutputRule,
    /// True for the run's own directory, where report files may also be arguments of the command.
    is_of_run: bool,
}

impl OutputDir {
    /// Returns a run's own directory. Existing reports in it are replaced; users who may read the
    /// settings may read them.
    pub fn of_run(directory: &Directory) -> OutputDir {
        let readers = directory.readers_of(OsStr::new(SETTINGS));
        let rule = OutputRule { existing: OverwritePolicy::Overwrite, readers };
        OutputDir {
            path: directory.path().to_owned(),
            directory: Some(directory.clone()),
            rule,
            is_of_run: true,
        }
    }

    /// Returns a directory that the user names, for files of these names and others. It must not be
    /// a run directory.
    pub fn open(path: &Path, rule: OutputRule, names: &[&str]) -> anyhow::Result<OutputDir> {
        let directory = match Directory::open(path) {
            Err(error) if error.is_missing() => {
                if let Some(above) = nearest_directory(path) {
                    refuse_in_run(&above, path)?;
                }
                None
            }
            Err(error) if error.is_not_a_directory() => bail!(
                "{} is not a directory; name a directory, or a file whose ending this command \
                 writes, such as .html or .json",
                path.display()
            ),
            opened => {
                let directory = opened?;
                refuse_in_run(&directory, path)?;
                for name in names {
                    refuse_argument(&directory, OsStr::new(name))?;
                    directory.check_overwrite(OsStr::new(name), rule.existing)?;
                }
                Some(directory)
            }
        };
        Ok(OutputDir { path: path.to_owned(), directory, rule, is_of_run: false })
    }

    /// Refuses files of these names if one is the input.
    ///
    /// # Errors
    /// Returns [`FileError::IsInput`].
    pub fn refuse_input(&self, names: &[&str], input: &Path) -> Result<(), FileError> {
        names.iter().try_for_each(|name| refuse_input(&self.path.join(name), input))
    }

    /// Writes files as [`OutputDir::write_files`] does and prints their paths on standard error.
    pub fn write_and_announce(&self, files: &[(String, Vec<u8>)]) -> anyhow::Result<()> {
        for file in self.write_files(files)? {
            terminal::status(&format!("Written: {}", file.display()));
        }
        Ok(())
    }

    /// Writes files, each whole or not at all; writes none if a name is taken. Returns their paths.
    pub fn write_files(&self, files: &[(String, Vec<u8>)]) -> anyhow::Result<Vec<PathBuf>> {
        let OutputRule { existing, readers } = self.rule;
        let directory = match &self.directory {
            Some(directory) => directory.clone(),
            None => Directory::make(&self.path, readers)?,
        };
        for (name, _) in files {
            // A run's own reports go into its directory, whose files may be arguments.
            if !self.is_of_run {
                refuse_argument(&directory, OsStr::new(name))?;
            }
            directory.check_overwrite(OsStr::new(name), existing)?;
        }
        let mut written = Vec::new();
        for (name, content) in files {
            let path = self.path.join(name);
            NewFile::create_in(&directory, OsStr::new(name), existing, readers)?
                .write_and_persist(content)?;
            written.push(path);
        }
        Ok(written)
    }
}

/// Returns the nearest existing directory above a path; `None` if it cannot be opened.
fn nearest_directory(path: &Path) -> Option<Directory> {
    path.ancestors().skip(1).find_map(|above| Directory::open(above).ok())
}
