//! Host changes of commands that have no run directory: one journal per process, in a directory
//! of the system's state.
//!
//! A process creates its file with its first change, and every change is on disk (fsync) before
//! it is made. A lock (flock) is held on the file for as long as the process lives, in whatever
//! PID namespace that is, and the file is removed once everything is restored. A file without a
//! lock was left by a dead process: [`abandoned_changes`] finds it, and `steadfast restore` undoes
//! its changes. The format is documented in `docs/formats.md`.

use crate::storage::{LineFile, RunStorage, StoredFile, is_root};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::TryLockError;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use steadfast_domain::Halt;
use steadfast_domain::record::HostChange;
use steadfast_host::{Directory, ReadAccess, read_sized};

const VERSION: u32 = 1;

/// Name of the directory, inside the program's state directory.
const DIRECTORY: &str = "host-changes";

/// State directory of root; systemd passes another one to a service.
const ROOT_STATE: &str = "/var/lib/steadfast";

/// Maximum size of a file in bytes; a change takes about 200.
const FILE_MAX: u64 = 64 << 20;

/// First line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostChangesHeader {
    /// Version of the format.
    pub version: u32,
    /// Process ID, in the process's own PID namespace.
    pub process: u32,
    /// Command line of the process.
    pub command: String,
    /// Start time by the wall clock, in milliseconds since 1970 (UTC).
    pub began_unix_ms: u64,
}

/// Any other line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum HostChangeLine {
    /// A change that is about to be made.
    Changed(HostChange),
    /// A change that needs no more undoing.
    Restored(HostChange),
}

/// Returns the directory of this user's files.
///
/// # Errors
/// Returns an error if none of `STATE_DIRECTORY`, `XDG_STATE_HOME` and `HOME` names a directory
/// and the user is not root.
pub fn directory() -> io::Result<PathBuf> {
    let variable = |name| std::env::var(name).ok().filter(|value: &String| value.starts_with('/'));
    let state = if let Some(directories) = variable("STATE_DIRECTORY") {
        // A service may have several, separated by colons.
        PathBuf::from(directories.split(':').next().unwrap_or_default())
    } else if is_root() {
        PathBuf::from(ROOT_STATE)
    } else if let Some(state) = variable("XDG_STATE_HOME") {
        Path::new(&state).join("steadfast")
    } else if let Some(home) = variable("HOME") {
        Path::new(&home).join(".local/state/steadfast")
    } else {
        return Err(io::Error::other("no state directory: set STATE_DIRECTORY or HOME"));
    };
    Ok(state.join(DIRECTORY))
}

/// Opens the directory of the files, and creates it if it is missing.
type OpenDirectory<D> = Box<dyn Fn() -> io::Result<D>>;

/// The file of a journal, with its directory.
struct OpenJournalFile<D: RunStorage> {
    directory: D,
    lines: LineFile<D::File>,
}

/// Journal of this process.
pub struct HostChanges<D: RunStorage = Directory> {
    /// Path of the directory, for messages.
    place: String,
    open_directory: OpenDirectory<D>,
    owner: HostChangesHeader,
    /// `None` before the first change.
    file: Option<OpenJournalFile<D>>,
    /// Changes that were not undone, in order.
    unrestored: Vec<HostChange>,
}

impl HostChanges {
    /// Creates a journal, whose file is created with the first change.
    pub fn new(directory: io::Result<PathBuf>, command: String, began_unix_ms: u64) -> Self {
        let place = match &directory {
            Ok(directory) => directory.display().to_string(),
            Err(_) => "the journal of host changes".to_owned(),
        };
        let open = move || {
            let directory = directory.as_ref().map_err(|e| io::Error::other(e.to_string()))?;
            refuse_link(directory)?;
            // Anyone who can write above the directory can take it away, whatever the umask is.
            let made = Directory::make(directory, ReadAccess::Owner).map_err(io::Error::other)?;
            refuse_untrusted(&made)?;
            Ok(made)
        };
        HostChanges::new_in(place, Box::new(open), command, began_unix_ms)
    }
}

impl<D: RunStorage> HostChanges<D> {
    /// Creates a journal in the directory that `open_directory` returns, as [`HostChanges::new`] does.
    pub fn new_in(
        place: String,
        open_directory: OpenDirectory<D>,
        command: String,
        began_unix_ms: u64,
    ) -> Self {
        let process = std::process::id();
        let owner = HostChangesHeader { version: VERSION, process, command, began_unix_ms };
        HostChanges { place, open_directory, owner, file: None, unrestored: Vec::new() }
    }

    /// Journals a change that is about to be made.
    ///
    /// # Errors
    /// Returns [`Halt::Ledger`] if it cannot be written; the change must then not be made.
    pub fn journal(&mut self, change: &HostChange) -> Result<(), Halt> {
        if self.file.is_none() {
            self.file = Some(self.create_file().map_err(|error| self.write_error(&error))?);
        }
        self.write(&HostChangeLine::Changed(change.clone()))
            .map_err(|error| self.write_error(&error))?;
        self.unrestored.push(change.clone());
        Ok(())
    }

    /// Undoes all changes, the last first, and removes the file.
    ///
    /// # Errors
    /// Returns the error of the first change that cannot be undone. The remaining ones are tried too;
    /// those that fail stay in the file.
    pub fn undo(
        &mut self,
        undo: &mut dyn FnMut(&HostChange) -> Result<(), Halt>,
    ) -> Result<(), Halt> {
        let mut result = Ok(());
        for change in std::mem::take(&mut self.unrestored).into_iter().rev() {
            match undo(&change) {
                // A line that cannot be written does no harm: the setting is restored.
                Ok(()) => drop(self.write(&HostChangeLine::Restored(change))),
                Err(halt) => {
                    self.unrestored.insert(0, change);
                    result = result.and(Err(halt));
                }
            }
        }
        result?;
        if let Some(OpenJournalFile { directory, lines }) = self.file.take() {
            directory.remove_own(&self.name(), lines.file());
        }
        Ok(())
    }

    fn create_file(&self) -> io::Result<OpenJournalFile<D>> {
        let directory = (self.open_directory)()?;
        loop {
            let file = directory.create(&self.name(), ReadAccess::Owner)?;
            file.lock()?;
            // Until it was locked, the file looked abandoned, and another process may have
            // removed it.
            if file.has_name()? {
                let mut lines = LineFile::new(file, 0, false);
                if let Err(error) =
                    write_line(&mut lines, &self.owner).and_then(|()| directory.sync())
                {
                    directory.remove_own(&self.name(), lines.file());
                    return Err(error);
                }
                return Ok(OpenJournalFile { directory, lines });
            }
        }
    }

    fn name(&self) -> OsString {
        format!("{}-{}.jsonl", self.owner.process, self.owner.began_unix_ms).into()
    }

    fn write(&mut self, line: &HostChangeLine) -> io::Result<()> {
        match &mut self.file {
            Some(file) => write_line(&mut file.lines, line),
            None => Ok(()),
        }
    }

    fn write_error(&self, error: &io::Error) -> Halt {
        Halt::Ledger(format!(
            "{}: {error}; changes of host settings must be journaled there first. Set \
             STATE_DIRECTORY to a writable directory",
            self.place
        ))
    }
}

/// Host changes left by a dead process.
#[derive(Debug)]
pub struct AbandonedChanges<D: RunStorage = Directory> {
    directory: D,
    name: OsString,
    file: LineFile<D::File>,
    /// Process that made the changes.
    pub owner: HostChangesHeader,
    /// Changes that were not undone, in order.
    pub changes: Vec<HostChange>,
}

impl<D: RunStorage> AbandonedChanges<D> {
    /// Undoes its changes, the last first, and removes the file if all succeed. Returns every
    /// change with its result.
    pub fn undo<T>(
        mut self,
        undo: &mut dyn FnMut(&HostChange) -> Result<T, Halt>,
    ) -> Vec<(HostChange, Result<T, Halt>)> {
        let mut results = Vec::new();
        for change in self.changes.iter().rev() {
            let undone = undo(change);
            if undone.is_ok() {
                let _ = write_line(&mut self.file, &HostChangeLine::Restored(change.clone()));
            }
            results.push((change.clone(), undone));
        }
        if results.iter().all(|(_, undone)| undone.is_ok()) {
            self.directory.remove_own(&self.name, self.file.file());
        }
        results
    }
}

/// Returns the changes left by dead processes in this directory. Files of living processes are
/// not touched; files without changes are removed.
///
/// # Errors
/// Returns an error if the directory exists and cannot be read or trusted.
pub fn abandoned_changes(directory: &Path) -> io::Result<Vec<AbandonedChanges>> {
    refuse_link(directory)?;
    let directory = match Directory::open(directory) {
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        opened => opened.map_err(io::Error::other)?,
    };
    refuse_untrusted(&directory)?;
    abandoned_changes_in(&directory)
}

/// Returns the changes left by dead processes in an open directory, as [`abandoned_changes`] does.
///
/// # Errors
/// Returns an error if the directory or a file in it cannot be read.
pub fn abandoned_changes_in<D: RunStorage>(directory: &D) -> io::Result<Vec<AbandonedChanges<D>>> {
    let mut abandoned = Vec::new();
    for name in directory.names().map_err(io::Error::other)? {
        abandoned.extend(abandoned_changes_in_file(directory, &name)?);
    }
    abandoned.sort_by_key(|changes| changes.owner.began_unix_ms);
    Ok(abandoned)
}

fn abandoned_changes_in_file<D: RunStorage>(
    directory: &D,
    name: &OsStr,
) -> io::Result<Option<AbandonedChanges<D>>> {
    if Path::new(name).extension().is_none_or(|extension| extension != "jsonl") {
        return Ok(None);
    }
    let mut file = match directory.open_to_append(name) {
        Ok(file) => file,
        // Its process has just ended.
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(io::Error::other(error)),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let path = directory.path().join(name);
    let size = file.size()?;
    let bytes = read_sized(&mut file, size, &path, FILE_MAX).map_err(io::Error::other)?;
    let whole = whole_lines(&bytes);
    let text = String::from_utf8_lossy(&bytes[..whole]);
    let journal = parse(&text).map_err(|why| {
        io::Error::other(format!(
            "{} is damaged ({why}); check the host settings in it by hand, then remove it",
            path.display()
        ))
    })?;
    match journal {
        Some(ParsedJournal { owner, changes }) if !changes.is_empty() => {
            let (directory, name) = (directory.clone(), name.to_owned());
            let file = LineFile::new(file, whole as u64, whole < bytes.len());
            Ok(Some(AbandonedChanges { directory, name, file, owner, changes }))
        }
        _ => {
            directory.remove_own(name, &file);
            Ok(None)
        }
    }
}

/// Returns the length of the whole lines. An incomplete last line belongs to a change that was never
/// made: a crash can leave it without its end, or with zeros in a block that was not written.
fn whole_lines(bytes: &[u8]) -> usize {
    let end_of_line =
        |bytes: &[u8]| bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let end = end_of_line(bytes);
    let before = end_of_line(&bytes[..end.saturating_sub(1)]);
    let is_torn = end == bytes.len() && bytes[before..].contains(&0);
    if is_torn { before } else { end }
}

/// The whole lines of a file.
struct ParsedJournal {
    owner: HostChangesHeader,
    /// Changes that were not undone, in order.
    changes: Vec<HostChange>,
}

/// Parses the whole lines of a file; `None` if it has none.
fn parse(text: &str) -> Result<Option<ParsedJournal>, String> {
    let mut lines = text.lines();
    let Some(first) = lines.next() else { return Ok(None) };
    let owner: HostChangesHeader = serde_json::from_str(first).map_err(|e| e.to_string())?;
    if owner.version > VERSION {
        return Err(format!("format {}; this program reads up to {VERSION}", owner.version));
    }
    let mut changes = Vec::new();
    for line in lines {
        match serde_json::from_str(line).map_err(|e| e.to_string())? {
            HostChangeLine::Changed(change) => changes.push(change),
            HostChangeLine::Restored(change) => remove_undone(&mut changes, &change),
        }
    }
    Ok(Some(ParsedJournal { owner, changes }))
}

/// Removes an undone change, together with all later changes of the same setting: changes are
/// undone from the last to the first.
pub(crate) fn remove_undone(changes: &mut Vec<HostChange>, undone: &HostChange) {
    let first = changes.iter().rposition(|change| change == undone).unwrap_or(0);
    let later = changes.split_off(first);
    changes.extend(later.into_iter().filter(|change| change.setting != undone.setting));
}

fn write_line<T: Serialize>(file: &mut LineFile<impl StoredFile>, line: &T) -> io::Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    file.append(text.as_bytes())
}

fn refuse_link(directory: &Path) -> io::Result<()> {
    if directory.is_symlink() {
        return Err(io::Error::other("it is a symbolic link; remove it"));
    }
    Ok(())
}

/// Refuses a directory in which another user could create or take files, or which another user
/// could replace.
fn refuse_untrusted(directory: &Directory) -> io::Result<()> {
    directory.refuse_exchangeable().map_err(io::Error::other)?;
    let found = directory.metadata().map_err(io::Error::other)?;
    // SAFETY: geteuid has no preconditions and cannot fail.
    let is_own = found.uid() == unsafe { libc::geteuid() };
    if is_own && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    Err(io::Error::other(
        "it is not a private directory of this user (another owner, or writable by others); \
         remove it",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    fn change(setting: &str, before: &str, after: &str) -> HostChange {
        HostChange {
            setting: setting.into(),
            before: before.into(),
            after: after.into(),
            ..HostChange::default()
        }
    }

    fn journal(directory: &Path) -> HostChanges {
        HostChanges::new(Ok(directory.to_owned()), "measure".into(), 7)
    }

    /// Undoes all changes but those of one setting. Returns the settings that it tried, in order.
    fn undo_all_but(changes: AbandonedChanges, stuck: &str) -> Vec<String> {
        let undone = changes.undo(&mut |change| {
            if change.setting == stuck { Err(Halt::Refused("stuck".into())) } else { Ok(()) }
        });
        undone.into_iter().map(|(change, _)| change.setting).collect()
    }

    #[test]
    fn a_process_that_restored_everything_leaves_no_file() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("state/host-changes");
        let mut changes = journal(&directory);
        assert!(!directory.exists(), "nothing was changed");
        changes.journal(&change("a", "0", "2")).unwrap();
        changes.journal(&change("b", "x", "y")).unwrap();
        for made in [&directory, &scratch.path().join("state")] {
            assert_eq!(fs::metadata(made).unwrap().mode() & 0o777, 0o700);
        }
        assert_eq!(abandoned_changes(&directory).unwrap().len(), 0, "its process lives");
        let mut undone = Vec::new();
        let mut undo = |change: &HostChange| {
            undone.push(change.setting.clone());
            Ok(())
        };
        changes.undo(&mut undo).unwrap();
        assert_eq!(undone, ["b", "a"]);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    }

    #[test]
    fn changes_of_a_dead_process_are_undone_once() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("host-changes");
        let mut changes = journal(&directory);
        changes.journal(&change("a", "0", "2")).unwrap();
        changes.journal(&change("b", "x", "y")).unwrap();
        // As after a kill, the file stays, and no process locks it.
        drop(changes);
        let mut abandoned = abandoned_changes(&directory).unwrap();
        assert_eq!((abandoned.len(), abandoned[0].owner.command.as_str()), (1, "measure"));
        // One of the two cannot be undone now, but can be later.
        assert_eq!(undo_all_but(abandoned.remove(0), "b"), ["b", "a"]);
        let abandoned = abandoned_changes(&directory).unwrap().remove(0);
        assert_eq!(abandoned.changes, [change("b", "x", "y")]);
        abandoned.undo(&mut |_| Ok(()));
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    }

    #[test]
    fn a_torn_line_is_ignored() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("host-changes");
        let mut changes = journal(&directory);
        changes.journal(&change("a", "0", "2")).unwrap();
        let path = directory.join(changes.name());
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        drop(changes);
        let whole = fs::metadata(&path).unwrap().len();
        file.write_all(b"\0\0\0\0\"after\":\"2\"}}\n").unwrap();
        assert_eq!(abandoned_changes(&directory).unwrap()[0].changes, [change("a", "0", "2")]);
        file.set_len(whole).unwrap();
        file.write_all(b"{\"changed\":{\"setting\":\"b").unwrap();
        let mut abandoned = abandoned_changes(&directory).unwrap();
        assert_eq!(abandoned[0].changes, [change("a", "0", "2")]);
        // Lines written after the torn line are readable again.
        abandoned[0].changes.push(change("c", "0", "1"));
        undo_all_but(abandoned.remove(0), "a");
        assert_eq!(abandoned_changes(&directory).unwrap()[0].changes, [change("a", "0", "2")]);
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let scratch = tempfile::tempdir().unwrap();
        let open = scratch.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
        let halt = journal(&open).journal(&change("a", "0", "2")).unwrap_err();
        assert!(halt.to_string().contains("STATE_DIRECTORY"), "{halt}");
        assert!(abandoned_changes(&open).is_err());
        let (own, link) = (scratch.path().join("own"), scratch.path().join("link"));
        fs::create_dir(&own).unwrap();
        symlink(&own, &link).unwrap();
        assert!(journal(&link).journal(&change("a", "0", "2")).is_err());
        assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
    }

    #[test]
    fn closing_a_change_closes_later_ones_of_its_setting() {
        let (a, b) = (change("a", "0", "1"), change("a", "1", "2"));
        let other = change("b", "x", "y");
        let mut changes = vec![a.clone(), other.clone(), b.clone()];
        remove_undone(&mut changes, &b);
        assert_eq!(changes, [a.clone(), other.clone()]);
        let mut changes = vec![a.clone(), other.clone(), b];
        remove_undone(&mut changes, &a);
        assert_eq!(changes, [other]);
    }
}
