//! The directory of several runs: `targets.json` names them, so that they can be taken up
//! together.

use crate::output;
use crate::writing::{Rule, readers_of};
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use steadfast_domain::{Device, Transport};
use steadfast_host::{Directory, Existing, NewFile, Readers, read_file};
use steadfast_runner::{Ledger, LedgerError, StartSync};

/// The file that tells a directory of several runs from any other.
const FILE: &str = "targets.json";

/// The longest of them that is read: a target has some 100 bytes.
const FILE_MAX: u64 = 16 << 20;

/// The version of that file.
const VERSION: u32 = 1;

/// Several runs in one directory.
#[derive(Debug, Serialize, Deserialize)]
pub struct Group {
    version: u32,
    /// Which loads begin together: `steps`, `phases` or `start`.
    together: String,
    /// The runs.
    #[serde(rename = "targets")]
    pub members: Vec<Member>,
    /// The directory.
    #[serde(skip)]
    pub place: PathBuf,
    /// Its handle, once it is there.
    #[serde(skip)]
    opened: Option<Directory>,
}

/// One run of several.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Member {
    /// What the user named.
    pub target: String,
    /// The name of its run directory.
    pub directory: String,
}

impl Group {
    /// Runs that are about to begin.
    pub fn new(place: &Path, members: Vec<Member>, keeping: StartSync) -> Group {
        let together = match keeping {
            StartSync::Steps => "steps",
            StartSync::Phases => "phases",
            StartSync::Start => "start",
        };
        Group {
            version: VERSION,
            together: together.to_owned(),
            members,
            place: place.to_owned(),
            opened: None,
        }
    }

    /// The runs in a directory, where it is one of several runs.
    pub fn find(place: &Path) -> anyhow::Result<Option<Group>> {
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
        let group: Group = serde_json::from_slice(&text).with_context(at)?;
        if group.version != VERSION {
            bail!("{} has version {}; this program reads {VERSION}", at(), group.version);
        }
        if let Some(odd) = group.members.iter().find(|member| !is_plain(&member.directory)) {
            bail!("{}: '{}' is not the name of a run directory in it", at(), odd.directory);
        }
        Ok(Some(Group { place: place.to_owned(), opened: Some(directory), ..group }))
    }

    /// Makes the directory with `targets.json`, for this group of users: before any run
    /// directory, so that no run is without the others.
    pub fn write(&mut self, readers: Option<&str>) -> anyhow::Result<()> {
        let readers = readers.map(Readers::of_group).transpose()?.unwrap_or_default();
        let text = serde_json::to_vec_pretty(self)?;
        Directory::check_place(&self.place)?;
        let directory = Directory::make(&self.place, readers)?;
        NewFile::create_in(&directory, OsStr::new(FILE), Existing::Keep, readers)?.hold(&text)?;
        self.opened = Some(directory);
        Ok(())
    }

    /// Takes away what was written a moment ago, as far as it can be: the error that led here
    /// is what the user must hear of.
    pub fn withdraw(&self) {
        let Some(directory) = &self.opened else { return };
        let _ = directory.remove(OsStr::new(FILE));
        if let Ok((above, _)) = Directory::of_file(&self.place) {
            above.remove_made(directory);
        }
    }

    /// Reports over all runs may be read by who may read the list of them.
    pub fn rule(&self) -> Rule {
        let readers =
            self.opened.as_ref().map_or(Readers::Usual, |directory| readers_of(directory, FILE));
        Rule { existing: Existing::Overwrite, readers }
    }

    /// The run directory of a member.
    pub fn directory_of(&self, member: &Member) -> PathBuf {
        self.place.join(&member.directory)
    }

    /// Which loads begin together.
    pub fn keeping(&self) -> StartSync {
        match self.together.as_str() {
            "start" => StartSync::Start,
            "phases" => StartSync::Phases,
            _ => StartSync::Steps,
        }
    }

    /// Each member's device, as its run found it.
    pub fn devices(&self) -> anyhow::Result<Vec<Device>> {
        self.refuse_missing()?;
        let device = |member| Ok(Ledger::read(&self.directory_of(member))?.plan.device);
        self.members.iter().map(device).collect()
    }

    /// Refuses a group that lacks a run. All are made before any begins.
    fn refuse_missing(&self) -> anyhow::Result<()> {
        let place = self.place.display();
        let read = |member: &Member| Ledger::read(&self.directory_of(member));
        let is_missing = |member: &&Member| matches!(read(member), Err(LedgerError::NotARun(_)));
        let Some(missing) = self.members.iter().find(is_missing) else { return Ok(()) };
        let has_begun =
            |member: &&Member| read(member).is_ok_and(|contents| contents.opening().is_some());
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

    /// Whether a member's run has come to its end.
    pub fn has_ended(&self, member: &Member) -> anyhow::Result<bool> {
        Ok(output::study(&self.directory_of(member))?.end.is_final())
    }
}

/// Refuses a place that is taken, and says what to do about it.
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

/// Whether a name leads nowhere but into the directory that it is looked up in.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// Refuses what somebody else could have written, where root is to obey it.
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

/// Whether two targets are one device: by identity, by what the kernel calls it, or by the
/// file that a path leads to.
pub fn is_same(a: (&str, &Device), b: (&str, &Device)) -> bool {
    let ((a_path, a), (b_path, b)) = (a, b);
    if a.is_simulated() || b.is_simulated() {
        return a.is_simulated() && b.is_simulated() && a.name == b.name;
    }
    // A serial number alone may be that of two drives.
    if a.transport != Transport::File && a.wwid.is_some() && a.is_same(b) {
        return true;
    }
    match (fs::metadata(a_path), fs::metadata(b_path)) {
        (Ok(a), Ok(b)) => number(&a) == number(&b),
        (Err(_), Err(_)) => future(a_path).is_some_and(|a| Some(a) == future(b_path)),
        _ => false,
    }
}

/// What the kernel tells a device or a file by.
fn number(found: &Metadata) -> (bool, u64, u64) {
    if found.file_type().is_block_device() {
        (true, found.rdev(), 0)
    } else {
        (false, found.dev(), found.ino())
    }
}

/// Where a file will be that is not there yet.
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
