//! The directory of several runs. `targets.json` lists them, so that they can be resumed together.

use crate::output;
use crate::writing::{OutputRule, readers_of};
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use steadfast_domain::{Device, Transport};
use steadfast_host::{Directory, NewFile, OverwritePolicy, ReadAccess, read_file};
use steadfast_runner::{Ledger, LedgerError, StartSync};

/// File that marks a directory of several runs.
const FILE: &str = "targets.json";

/// Maximum size of the file in bytes; a target has about 100.
const FILE_MAX: u64 = 16 << 20;

/// Version of the file format.
const VERSION: u32 = 1;

/// Several runs in one directory.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunGroup {
    version: u32,
    /// Loads that start together: `steps`, `phases` or `start`.
    together: String,
    /// Runs in the order of the command line.
    #[serde(rename = "targets")]
    pub members: Vec<GroupMember>,
    /// Path of the directory.
    #[serde(skip)]
    pub place: PathBuf,
    /// Handle of the directory; `None` before it is created.
    #[serde(skip)]
    opened: Option<Directory>,
}

/// One run of the group.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GroupMember {
    /// Target as the user named it.
    pub target: String,
    /// Name of the run directory.
    pub directory: String,
}

impl RunGroup {
    /// Returns a group of runs that have not started.
    pub fn new(place: &Path, members: Vec<GroupMember>, keeping: StartSync) -> RunGroup {
        let together = match keeping {
            StartSync::Steps => "steps",
            StartSync::Phases => "phases",
            StartSync::Start => "start",
        };
        RunGroup {
            version: VERSION,
            together: together.to_owned(),
            members,
            place: place.to_owned(),
            opened: None,
        }
    }

    /// Opens the group in a directory; `None` if it is no directory of several runs.
    pub fn find(place: &Path) -> anyhow::Result<Option<RunGroup>> {
        let directory = match Directory::open(place) {
            Err(error) if error.is_missing() || error.is_no_directory() => return Ok(None),
            opened => opened?,
        };
        let file = match directory.open_file(OsStr::new(FILE)) {
            Err(error) if error.is_missing() => return Ok(None),
            opened => opened?,
        };
        let path = place.join(FILE);
        let at = || path.display().to_string();
        directory.refuse_exchangeable()?;
        refuse_foreign(&file.metadata().with_context(at)?, &path)?;
        refuse_foreign(&directory.metadata()?, place)?;
        let text = read_file(&file, &path, FILE_MAX)?;
        let group: RunGroup = serde_json::from_slice(&text).with_context(at)?;
        if group.version != VERSION {
            bail!("{} has version {}; this program reads {VERSION}", at(), group.version);
        }
        if let Some(odd) = group.members.iter().find(|member| !is_plain(&member.directory)) {
            bail!("{}: '{}' is not the name of a run directory in it", at(), odd.directory);
        }
        Ok(Some(RunGroup { place: place.to_owned(), opened: Some(directory), ..group }))
    }

    /// Creates the directory with `targets.json`, readable by the group `readers`. Comes before
    /// any run directory, so that no run exists without the list.
    pub fn write(&mut self, readers: Option<&str>) -> anyhow::Result<()> {
        let readers = readers.map(ReadAccess::of_group).transpose()?.unwrap_or_default();
        let text = serde_json::to_vec_pretty(self)?;
        Directory::check_place(&self.place)?;
        let directory = Directory::make(&self.place, readers)?;
        NewFile::create_in(&directory, OsStr::new(FILE), OverwritePolicy::Keep, readers)?
            .hold(&text)?;
        self.opened = Some(directory);
        Ok(())
    }

    /// Removes what was just written, ignoring errors: the error that led here is the one to
    /// report.
    pub fn withdraw(&self) {
        let Some(directory) = &self.opened else { return };
        let _ = directory.remove(OsStr::new(FILE));
        if let Ok((above, _)) = Directory::of_file(&self.place) {
            above.remove_made(directory);
        }
    }

    /// Returns the rule for reports over all runs: the readers of the list may read them.
    pub fn rule(&self) -> OutputRule {
        let readers =
            self.opened.as_ref().map_or(ReadAccess::Usual, |directory| readers_of(directory, FILE));
        OutputRule { existing: OverwritePolicy::Overwrite, readers }
    }

    /// Returns the run directory of a member.
    pub fn directory_of(&self, member: &GroupMember) -> PathBuf {
        self.place.join(&member.directory)
    }

    /// Returns which loads start together.
    pub fn keeping(&self) -> StartSync {
        match self.together.as_str() {
            "start" => StartSync::Start,
            "phases" => StartSync::Phases,
            _ => StartSync::Steps,
        }
    }

    /// Returns each member's device as its run recorded it.
    pub fn devices(&self) -> anyhow::Result<Vec<Device>> {
        self.refuse_missing()?;
        let device = |member| Ok(Ledger::read(&self.directory_of(member))?.plan.device);
        self.members.iter().map(device).collect()
    }

    /// Refuses a group with a missing run: all are created before any starts.
    fn refuse_missing(&self) -> anyhow::Result<()> {
        let place = self.place.display();
        let read = |member: &GroupMember| Ledger::read(&self.directory_of(member));
        let is_missing =
            |member: &&GroupMember| matches!(read(member), Err(LedgerError::NotARun(_)));
        let Some(missing) = self.members.iter().find(is_missing) else { return Ok(()) };
        let has_begun =
            |member: &&GroupMember| read(member).is_ok_and(|contents| contents.opening().is_some());
        let missing = self.directory_of(missing);
        match self.members.iter().find(has_begun) {
            None => bail!(
                "{place}: the runs of these targets were not set up when the process ended, and \
                 nothing was written to a target. Remove {place} and start the run again"
            ),
            Some(other) => bail!(
                "{}: this run directory of the group is missing or incomplete. Resume each other \
                 run by its own directory: steadfast resume {}",
                missing.display(),
                self.directory_of(other).display()
            ),
        }
    }

    /// Returns true if a member's run has ended.
    pub fn has_ended(&self, member: &GroupMember) -> anyhow::Result<bool> {
        Ok(output::study(&self.directory_of(member))?.end.is_final())
    }
}

/// Refuses an existing path and suggests a remedy.
pub fn refuse_taken(out: &Path) -> anyhow::Result<()> {
    Directory::check_place(out)?;
    if Directory::open(out).is_ok_and(|out| matches!(out.look(OsStr::new(FILE)), Ok(Some(_)))) {
        bail!(LedgerError::Exists(out.to_owned()));
    }
    match out.symlink_metadata() {
        Ok(_) => bail!(LedgerError::taken(out)),
        Err(_) => Ok(()),
    }
}

/// Returns true if a name is a single normal path component.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// Refuses a file that another user could have written if this process is root.
fn refuse_foreign(found: &Metadata, path: &Path) -> anyhow::Result<()> {
    // SAFETY: geteuid has no preconditions and cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if is_root && (found.uid() != 0 || found.mode() & 0o022 != 0) {
        bail!(
            "{}: users other than root can write to it, so another user may have chosen these \
             targets; resume each run by its own directory",
            path.display()
        );
    }
    Ok(())
}

/// Returns true if two targets are one device: by identity, by device number, or by the file that
/// their paths resolve to.
pub fn is_same(a: (&str, &Device), b: (&str, &Device)) -> bool {
    let ((a_path, a), (b_path, b)) = (a, b);
    if a.is_simulated() || b.is_simulated() {
        return a.is_simulated() && b.is_simulated() && a.name == b.name;
    }
    // Serial numbers may not be unique; WWIDs are.
    if a.transport != Transport::File && a.wwid.is_some() && a.is_same(b) {
        return true;
    }
    match (fs::metadata(a_path), fs::metadata(b_path)) {
        (Ok(a), Ok(b)) => number(&a) == number(&b),
        (Err(_), Err(_)) => future(a_path).is_some_and(|a| Some(a) == future(b_path)),
        _ => false,
    }
}

/// Returns the device number of a block device, or the file system and inode number of a file.
fn number(found: &Metadata) -> (bool, u64, u64) {
    if found.file_type().is_block_device() {
        (true, found.rdev(), 0)
    } else {
        (false, found.dev(), found.ino())
    }
}

/// Returns the resolved path of a file that does not exist yet.
fn future(path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    let above = fs::canonicalize(above.unwrap_or(Path::new("."))).ok()?;
    Some(above.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_directory_is_a_name_and_no_path() {
        assert!(is_plain("loop0") && is_plain("a.b"));
        for odd in ["", ".", "..", "a/b", "/a", "../a"] {
            assert!(!is_plain(odd), "{odd:?}");
        }
    }
}
