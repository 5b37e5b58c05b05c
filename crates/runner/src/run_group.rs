//! The directory of several runs. `targets.json` lists them, so that they can be resumed together.

use crate::ledger::{self, Ledger, LedgerError, refuse_foreign};
use crate::start_together::StartSync;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use steadfast_domain::{Device, Transport};
use steadfast_host::{Directory, NewFile, OverwritePolicy, ReadAccess, read_file};

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
    /// Loads that start together.
    pub together: StartSync,
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
    /// Returns a group of runs that have not started, in directories named after their devices.
    pub fn new(place: &Path, targets: &[(&str, &Device)], together: StartSync) -> RunGroup {
        let mut members: Vec<GroupMember> = Vec::new();
        for (target, device) in targets {
            let name = plain_name(device);
            let numbered = (2..).map(|number| format!("{name}-{number}"));
            let is_free = |name: &String| members.iter().all(|other| other.directory != *name);
            let free = std::iter::once(name.clone()).chain(numbered).find(is_free);
            let directory = free.unwrap_or(name);
            members.push(GroupMember { target: (*target).to_owned(), directory });
        }
        RunGroup { version: VERSION, together, members, place: place.to_owned(), opened: None }
    }

    /// Opens the group in a directory; `None` if it is no directory of several runs.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the list cannot be read, if another user may have written it, or
    /// if it names something other than run directories in its own directory.
    pub fn find(place: &Path) -> Result<Option<RunGroup>, LedgerError> {
        let directory = match Directory::open(place) {
            Err(error) if error.is_missing() || error.is_not_a_directory() => return Ok(None),
            opened => opened?,
        };
        let file = match directory.open_file(OsStr::new(FILE)) {
            Err(error) if error.is_missing() => return Ok(None),
            opened => opened?,
        };
        let path = place.join(FILE);
        directory.refuse_exchangeable()?;
        refuse_foreign(&file.metadata().map_err(ledger::io_error(&path))?, &path)?;
        refuse_foreign(&directory.metadata()?, place)?;
        let text = read_file(&file, &path, FILE_MAX)?;
        let malformed = |why: String| LedgerError::Malformed { path: path.clone(), why };
        let group: RunGroup =
            serde_json::from_slice(&text).map_err(|error| malformed(error.to_string()))?;
        if group.version != VERSION {
            let why = format!("it has version {}; this program reads {VERSION}", group.version);
            return Err(malformed(why));
        }
        if let Some(odd) = group.members.iter().find(|member| !is_plain(&member.directory)) {
            let why = format!("'{}' is not the name of a run directory in it", odd.directory);
            return Err(malformed(why));
        }
        Ok(Some(RunGroup { place: place.to_owned(), opened: Some(directory), ..group }))
    }

    /// Creates the directory with `targets.json`, readable by the group `readers`. Comes before
    /// any run directory, so that no run exists without the list.
    ///
    /// # Errors
    /// Returns [`LedgerError::File`] if the directory or the file cannot be created.
    pub fn write(&mut self, readers: ReadAccess) -> Result<(), LedgerError> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| LedgerError::Malformed {
            path: self.place.join(FILE),
            why: error.to_string(),
        })?;
        Directory::check_place(&self.place)?;
        let directory = Directory::make(&self.place, readers)?;
        NewFile::create_in(&directory, OsStr::new(FILE), OverwritePolicy::Keep, readers)?
            .write_and_persist(&text)?;
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

    /// Returns who may read the list, and so reports over all runs.
    pub fn readers(&self) -> ReadAccess {
        let of = |directory: &Directory| directory.readers_of(OsStr::new(FILE));
        self.opened.as_ref().map_or(ReadAccess::Usual, of)
    }

    /// Returns the run directory of a member.
    pub fn directory_of(&self, member: &GroupMember) -> PathBuf {
        self.place.join(&member.directory)
    }

    /// Returns the run directories of the group in a directory, or the directory itself if it is
    /// no group.
    ///
    /// # Errors
    /// Returns the errors of [`RunGroup::find`].
    pub fn runs_in(place: &Path) -> Result<Vec<PathBuf>, LedgerError> {
        Ok(match RunGroup::find(place)? {
            Some(group) => group.members.iter().map(|member| group.directory_of(member)).collect(),
            None => vec![place.to_owned()],
        })
    }

    /// Returns each member's device as its run recorded it.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if a run is missing or cannot be read.
    pub fn devices(&self) -> Result<Vec<Device>, LedgerError> {
        self.refuse_missing()?;
        let device = |member| Ok(Ledger::read(&self.directory_of(member))?.plan.device);
        self.members.iter().map(device).collect()
    }

    /// Refuses a group with a missing run: all are created before any starts.
    fn refuse_missing(&self) -> Result<(), LedgerError> {
        let read = |member: &GroupMember| Ledger::read(&self.directory_of(member));
        let is_missing =
            |member: &&GroupMember| matches!(read(member), Err(LedgerError::NotARun(_)));
        let Some(missing) = self.members.iter().find(is_missing) else { return Ok(()) };
        let has_begun =
            |member: &&GroupMember| read(member).is_ok_and(|contents| contents.opening().is_some());
        Err(match self.members.iter().find(has_begun) {
            None => LedgerError::GroupNotBegun(self.place.clone()),
            Some(other) => LedgerError::NoMember {
                missing: self.directory_of(missing),
                other: self.directory_of(other),
            },
        })
    }
}

/// Refuses an existing path for a run or a group.
///
/// # Errors
/// Returns [`LedgerError::Exists`] or [`LedgerError::Taken`] with a remedy.
pub fn refuse_taken(out: &Path) -> Result<(), LedgerError> {
    Directory::check_place(out)?;
    if Directory::open(out).is_ok_and(|out| matches!(out.look(OsStr::new(FILE)), Ok(Some(_)))) {
        return Err(LedgerError::Exists(out.to_owned()));
    }
    match out.symlink_metadata() {
        Ok(_) => Err(LedgerError::taken(out)),
        Err(_) => Ok(()),
    }
}

/// Returns the device name as a valid file name.
pub fn plain_name(device: &Device) -> String {
    let name = device.name.rsplit('/').next().unwrap_or_default();
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Returns true if a name is a single normal path component.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// Returns the first two targets that are one device under any name.
pub fn same_device<'t>(targets: &[(&'t str, &Device)]) -> Option<(&'t str, &'t str)> {
    let pairs = (1..targets.len()).flat_map(|later| (0..later).map(move |at| (at, later)));
    let mut same = pairs.filter(|(earlier, later)| is_same(targets[*earlier], targets[*later]));
    same.next().map(|(earlier, later)| (targets[earlier].0, targets[later].0))
}

/// Returns true if two targets are one device: by identity, by device number, or by the file that
/// their paths resolve to.
fn is_same(a: (&str, &Device), b: (&str, &Device)) -> bool {
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
