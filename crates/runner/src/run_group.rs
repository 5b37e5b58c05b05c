//! The directory of several runs. `targets.json` lists them, so that they can be resumed together.

use crate::ledger::{
    Ledger, LedgerContents, LedgerError, if_missing, io_error, json_error, make_new_directory,
    refuse_foreign_directory, refuse_writer, settings_digest,
};
use crate::run_plan::RunPlan;
use crate::start_together::StartSync;
use crate::storage::{RunStorage, StoredFile, remove_new, write_new};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use steadfast_domain::{Device, Transport};
use steadfast_host::{Directory, ReadAccess, read_sized};

/// File that marks a directory of several runs.
const FILE: &str = "targets.json";

/// Maximum size of the file in bytes; a target has about 100.
const FILE_MAX: u64 = 16 << 20;

const VERSION: u32 = 1;

/// The list of several runs, which is the content of `targets.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetList {
    version: u32,
    /// Loads that start together.
    pub together: StartSync,
    /// Runs in the order of the command line.
    #[serde(rename = "targets")]
    pub members: Vec<GroupMember>,
}

/// A target under the name that the user gave it.
#[derive(Debug, Clone, Copy)]
pub struct NamedTarget<'t> {
    /// Name: a path, or `sim:NAME`.
    pub name: &'t str,
    /// The target.
    pub device: &'t Device,
}

/// One run of the group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupMember {
    /// Target as the user named it.
    pub target: String,
    /// Name of the run directory.
    pub directory: String,
    /// SHA-256 of the run's `settings.json`, by which a run directory is recognized.
    pub settings: String,
}

/// A run from which a group is created.
#[derive(Debug, Clone, Copy)]
pub struct NewMember<'m> {
    /// Target as the user named it.
    pub target: &'m str,
    /// Name of the run directory.
    pub directory: &'m str,
    /// Plan of the run.
    pub plan: &'m RunPlan,
}

impl TargetList {
    /// Creates the list of these runs.
    ///
    /// # Errors
    /// Returns an error if the settings of a run cannot be written as JSON.
    pub fn new(sync: StartSync, runs: &[NewMember<'_>]) -> Result<TargetList, serde_json::Error> {
        let member = |run: &NewMember<'_>| {
            let (target, directory) = (run.target.to_owned(), run.directory.to_owned());
            Ok(GroupMember { target, directory, settings: settings_digest(run.plan)? })
        };
        let members = runs.iter().map(member).collect::<Result<_, serde_json::Error>>()?;
        Ok(TargetList { version: VERSION, together: sync, members })
    }

    /// Reads the list from an open file.
    fn read(file: &mut impl StoredFile, path: &Path) -> Result<TargetList, LedgerError> {
        let size = file.size().map_err(io_error(path))?;
        let text = read_sized(file, size, path, FILE_MAX)?;
        let malformed = |why: String| LedgerError::BadList { path: path.to_owned(), why };
        let list: TargetList =
            serde_json::from_slice(&text).map_err(|error| malformed(error.to_string()))?;
        if list.version != VERSION {
            let why = format!("it has version {}; this program reads {VERSION}", list.version);
            return Err(malformed(why));
        }
        if let Some(member) = list.members.iter().find(|member| !is_plain(&member.directory)) {
            let why = format!("'{}' is not the name of a run directory in it", member.directory);
            return Err(malformed(why));
        }
        Ok(list)
    }
}

/// Several runs in one directory.
#[derive(Debug)]
pub struct RunGroup<D: RunStorage = Directory> {
    /// The runs.
    pub list: TargetList,
    directory: D,
}

impl RunGroup {
    /// Creates a group at a path, as [`RunGroup::create_below`] does. Parent directories that it
    /// had to create stay, even if it fails.
    ///
    /// # Errors
    /// Returns the errors of [`RunGroup::create_below`].
    pub fn create(
        path: &Path,
        readers: ReadAccess,
        sync: StartSync,
        runs: &[NewMember<'_>],
    ) -> Result<(RunGroup, Vec<Ledger>), LedgerError> {
        Directory::check_place(path)?;
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => {
                let parent = Directory::make(parent, readers)?;
                RunGroup::create_below(&parent, name, readers, sync, runs)
            }
            _ => Err(LedgerError::taken(path)),
        }
    }

    /// Opens the group in a directory; `None` if it is no directory of several runs.
    ///
    /// # Errors
    /// Returns the errors of [`RunGroup::find_in`].
    pub fn find(path: &Path) -> Result<Option<RunGroup>, LedgerError> {
        match Directory::open(path) {
            Err(error) if error.is_missing() || error.is_not_a_directory() => Ok(None),
            opened => RunGroup::find_in(opened?),
        }
    }

    /// Returns who may read the list, and so reports over all runs.
    pub fn readers(&self) -> ReadAccess {
        self.directory.readers_of(OsStr::new(FILE))
    }

    /// Returns the run directories of the group in a directory, or the directory itself if it is
    /// no group.
    ///
    /// # Errors
    /// Returns the errors of [`RunGroup::find`].
    pub fn runs_in(path: &Path) -> Result<Vec<PathBuf>, LedgerError> {
        let Some(group) = RunGroup::find(path)? else { return Ok(vec![path.to_owned()]) };
        Ok(group.list.members.iter().map(|member| group.directory_of(member)).collect())
    }
}

impl<D: RunStorage> RunGroup<D> {
    /// Creates a directory below `parent` with `targets.json`, and in it the directory of each run.
    /// Returns the ledgers in the same order. If that fails, it leaves nothing behind. The list comes
    /// before any run directory, so that no run exists without it.
    ///
    /// # Errors
    /// Returns [`LedgerError::Taken`] or [`LedgerError::Exists`] if the name is in use, and
    /// [`LedgerError::File`] or [`LedgerError::Io`] if something cannot be created.
    pub fn create_below(
        parent: &D,
        name: &OsStr,
        readers: ReadAccess,
        sync: StartSync,
        runs: &[NewMember<'_>],
    ) -> Result<(RunGroup<D>, Vec<Ledger<D>>), LedgerError> {
        let list = TargetList::new(sync, runs).map_err(json_error(&parent.path().join(name)))?;
        let directory = make_new_directory(parent, name, readers)?;
        let group = RunGroup { list, directory };
        let created = group.write(readers).and_then(|()| group.create_runs(readers, runs));
        match created {
            Ok(ledgers) => Ok((group, ledgers)),
            Err(error) => {
                remove_new(&group.directory, FILE);
                parent.remove_made(&group.directory);
                Err(error)
            }
        }
    }

    /// Writes `targets.json`.
    fn write(&self, readers: ReadAccess) -> Result<(), LedgerError> {
        let path = self.directory.path().join(FILE);
        let text = serde_json::to_vec_pretty(&self.list).map_err(json_error(&path))?;
        let file = write_new(&self.directory, FILE, &text)?;
        file.grant(readers).map_err(io_error(&path))?;
        self.directory.sync().map_err(io_error(self.directory.path()))
    }

    /// Creates all run directories, or none.
    fn create_runs(
        &self,
        readers: ReadAccess,
        runs: &[NewMember<'_>],
    ) -> Result<Vec<Ledger<D>>, LedgerError> {
        let mut ledgers = Vec::new();
        for run in runs {
            let name = OsStr::new(run.directory);
            match Ledger::create_below(&self.directory, name, readers, run.plan) {
                Ok(ledger) => ledgers.push(ledger),
                Err(error) => {
                    ledgers.into_iter().for_each(Ledger::withdraw);
                    return Err(error);
                }
            }
        }
        // From here on the ledgers stay: a run that cannot start is resumed with the others.
        Ok(ledgers.into_iter().map(Ledger::keep).collect())
    }

    /// Opens the group in an open directory; `None` if it is no directory of several runs.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the list cannot be read, if another user may have written it, or
    /// if it names something other than run directories in its own directory.
    pub fn find_in(directory: D) -> Result<Option<RunGroup<D>>, LedgerError> {
        let mut file = match directory.open_file(OsStr::new(FILE)) {
            Err(error) if error.is_missing() => return Ok(None),
            opened => opened?,
        };
        let path = directory.path().join(FILE);
        refuse_writer(file.foreign_writer().map_err(io_error(&path))?, &path)?;
        refuse_foreign_directory(&directory)?;
        let list = TargetList::read(&mut file, &path)?;
        Ok(Some(RunGroup { list, directory }))
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the path of a member's run directory.
    pub fn directory_of(&self, member: &GroupMember) -> PathBuf {
        self.path().join(&member.directory)
    }

    /// Reads the run of every member, in order, without locking it.
    ///
    /// # Errors
    /// Returns [`LedgerError::GroupNotBegun`] or [`LedgerError::NoMember`] if a run is missing, as
    /// all are created before any starts, [`LedgerError::OtherRun`] if a directory holds another run,
    /// and other errors if one cannot be read.
    pub fn read(&self) -> Result<Vec<LedgerContents>, LedgerError> {
        let members = &self.list.members;
        let read: Vec<_> = members.iter().map(|member| self.read_member(member)).collect();
        let is_missing = |read: &Result<LedgerContents, LedgerError>| match read {
            Ok(contents) => !contents.has_journal,
            Err(error) => matches!(error, LedgerError::NotARun(_)),
        };
        let Some(missing) = read.iter().position(is_missing) else {
            return read.into_iter().collect();
        };
        let has_begun = |read: &Result<LedgerContents, LedgerError>| {
            read.as_ref().is_ok_and(|contents| contents.opening().is_some())
        };
        if let Some(other) = read.iter().position(has_begun) {
            return Err(LedgerError::NoMember {
                missing: self.directory_of(&members[missing]),
                other: self.directory_of(&members[other]),
            });
        }
        // A run that cannot be read may have begun.
        let is_other = |error: &LedgerError| !matches!(error, LedgerError::NotARun(_));
        let unreadable = read.into_iter().filter_map(Result::err).find(is_other);
        Err(unreadable.unwrap_or_else(|| LedgerError::GroupNotBegun(self.path().to_owned())))
    }

    /// Reads the run of a member without locking it.
    ///
    /// # Errors
    /// Returns [`LedgerError::NotARun`] if it is missing, and the errors of [`RunGroup::read`].
    pub fn read_member(&self, member: &GroupMember) -> Result<LedgerContents, LedgerError> {
        let contents = Ledger::read_in(&self.enter(member)?)?;
        self.check_own(member, &contents)?;
        Ok(contents)
    }

    /// Refuses the run of another target, or of no target of this group.
    fn check_own(
        &self,
        member: &GroupMember,
        contents: &LedgerContents,
    ) -> Result<(), LedgerError> {
        let is_of = |member: &&GroupMember| member.settings == contents.settings;
        if is_of(&member) {
            return Ok(());
        }
        let what = match self.list.members.iter().find(is_of) {
            Some(other) => format!("the run of {}", other.target),
            None => "a run that does not belong to the group".to_owned(),
        };
        let (directory, target) = (self.directory_of(member), member.target.clone());
        Err(LedgerError::OtherRun { directory, what, target })
    }

    /// Opens the ledger of a member to resume its run. The run may have ended before its device
    /// was confirmed while others had begun; the device is then confirmed now.
    ///
    /// # Errors
    /// Returns the errors of [`Ledger::open_in`], and [`LedgerError::OtherRun`].
    pub fn open(&self, member: &GroupMember) -> Result<(Ledger<D>, LedgerContents), LedgerError> {
        let opened = Ledger::open_member(self.enter(member)?)?;
        self.check_own(member, &opened.1)?;
        Ok(opened)
    }

    /// Opens the run directory of a member.
    ///
    /// # Errors
    /// Returns [`LedgerError::NotARun`] if it is missing, and [`LedgerError::File`] if it cannot be
    /// opened.
    pub fn enter(&self, member: &GroupMember) -> Result<D, LedgerError> {
        let not_a_run = || LedgerError::NotARun(self.directory_of(member));
        self.directory.enter(OsStr::new(&member.directory)).map_err(if_missing(not_a_run))
    }
}

/// Refuses an existing path for a run or a group.
///
/// # Errors
/// Returns [`LedgerError::Exists`] or [`LedgerError::Taken`] with a remedy.
pub fn refuse_taken(out: &Path) -> Result<(), LedgerError> {
    Directory::check_place(out)?;
    if Directory::open(out)
        .is_ok_and(|out| matches!(out.entry_metadata(OsStr::new(FILE)), Ok(Some(_))))
    {
        return Err(LedgerError::Exists(out.to_owned()));
    }
    match out.symlink_metadata() {
        Ok(_) => Err(LedgerError::taken(out)),
        Err(_) => Ok(()),
    }
}

/// Returns names for the run directories of these devices, each once.
pub fn directory_names<'d>(devices: impl IntoIterator<Item = &'d Device>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for device in devices {
        let name = plain_name(device);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|free| !names.contains(free));
        names.push(free.unwrap_or(name));
    }
    names
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
pub fn same_device<'t>(targets: &[NamedTarget<'t>]) -> Option<[NamedTarget<'t>; 2]> {
    targets.iter().enumerate().find_map(|(at, later)| {
        let earlier = targets[..at].iter().find(|earlier| is_same(earlier, later))?;
        Some([*earlier, *later])
    })
}

/// Returns true if two targets are one device: by identity, by device number, or by the file that
/// their paths resolve to.
fn is_same(one: &NamedTarget<'_>, other: &NamedTarget<'_>) -> bool {
    let (a, b) = (one.device, other.device);
    if a.is_simulated() || b.is_simulated() {
        return a.is_simulated() && b.is_simulated() && a.name == b.name;
    }
    // Serial numbers may not be unique; WWIDs are.
    if a.transport != Transport::File && a.wwid.is_some() && a.is_same(b) {
        return true;
    }
    match (fs::metadata(one.name), fs::metadata(other.name)) {
        (Ok(a), Ok(b)) => NodeNumber::new(&a) == NodeNumber::new(&b),
        // Both are files that the run will create.
        (Err(_), Err(_)) => {
            future_path(one.name).is_some_and(|path| Some(path) == future_path(other.name))
        }
        _ => false,
    }
}

/// Numbers by which the kernel identifies a target.
#[derive(PartialEq)]
enum NodeNumber {
    BlockDevice { rdev: u64 },
    File { file_system: u64, inode: u64 },
}

impl NodeNumber {
    fn new(metadata: &Metadata) -> Self {
        if metadata.file_type().is_block_device() {
            NodeNumber::BlockDevice { rdev: metadata.rdev() }
        } else {
            NodeNumber::File { file_system: metadata.dev(), inode: metadata.ino() }
        }
    }
}

/// Returns the resolved path of a file that does not exist yet.
fn future_path(path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = fs::canonicalize(parent.unwrap_or(Path::new("."))).ok()?;
    Some(parent.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::{Bytes, Settings};

    #[test]
    fn a_run_directory_is_a_plain_name() {
        assert!(is_plain("loop0") && is_plain("a.b"));
        for path in ["", ".", "..", "a/b", "/a", "../a"] {
            assert!(!is_plain(path), "{path:?}");
        }
    }

    fn plan() -> RunPlan {
        RunPlan::new(
            "steadfast 0",
            5,
            "sim",
            Device {
                name: "small".into(),
                ..Device::new("sim:small", Transport::Simulated, Bytes::gib(1))
            },
            Settings::new("iops", 7),
        )
    }

    fn create(
        place: &Path,
        directories: &[String],
    ) -> Result<(RunGroup, Vec<Ledger>), LedgerError> {
        let plan = plan();
        let run = |directory| NewMember { target: "sim:small", directory, plan: &plan };
        let runs: Vec<NewMember<'_>> = directories.iter().map(|name| run(name)).collect();
        RunGroup::create(place, ReadAccess::Usual, StartSync::Steps, &runs)
    }

    fn pair() -> Vec<String> {
        directory_names([&plan().device; 2])
    }

    /// Creates a group of two runs in a scratch directory.
    fn created_pair() -> (tempfile::TempDir, PathBuf, RunGroup, Vec<Ledger>) {
        let scratch = tempfile::tempdir().unwrap();
        let place = scratch.path().join("pair");
        let (group, ledgers) = create(&place, &pair()).unwrap();
        (scratch, place, group, ledgers)
    }

    #[test]
    fn all_runs_of_a_group_are_created_or_none() {
        let scratch = tempfile::tempdir().unwrap();
        let place = scratch.path().join("above/pair");
        let twice = ["small".to_owned(), "small".to_owned()];
        assert!(matches!(create(&place, &twice).unwrap_err(), LedgerError::Exists(_)));
        assert!(!place.exists(), "something was left behind");
        let (created, _) = create(&place, &pair()).unwrap();
        assert!(matches!(create(&place, &pair()).unwrap_err(), LedgerError::Taken { .. }));
        let group = RunGroup::find(&place).unwrap().unwrap();
        assert_eq!(group.list, created.list);
        assert_eq!(pair(), ["small", "small-2"]);
        assert_eq!(group.read().unwrap().len(), 2);
        assert_eq!(fs::read_dir(&place).unwrap().count(), 3, "no unfinished file");
    }

    /// Its process could not write the first line, or was killed before it.
    #[test]
    fn a_run_of_a_group_that_could_not_begin_is_resumed() {
        let (_scratch, place, group, ledgers) = created_pair();
        ledgers.into_iter().for_each(Ledger::withdraw);
        for member in &group.list.members {
            assert!(group.open(member).unwrap().1.lines.is_empty());
        }
        fs::remove_file(place.join("small-2/journal.jsonl")).unwrap();
        assert!(matches!(group.read().unwrap_err(), LedgerError::GroupNotBegun(_)));
    }

    /// Without the digests of the settings, two swapped run directories would not be noticed.
    #[test]
    fn a_list_without_digests_is_refused() {
        let (_scratch, place, ..) = created_pair();
        let text = fs::read_to_string(place.join(FILE)).unwrap();
        fs::write(place.join(FILE), text.replace("\"settings\"", "\"other\"")).unwrap();
        let error = RunGroup::find(&place).unwrap_err().to_string();
        for part in ["targets.json", "missing field `settings`", "steadfast resume"] {
            assert!(error.contains(part), "{error}");
        }
    }

    /// The message that no run has begun advises to delete the directory.
    #[test]
    fn an_unreadable_run_may_have_begun() {
        let (scratch, place, group, _) = created_pair();
        fs::remove_dir_all(place.join("small-2")).unwrap();
        assert!(matches!(group.read().unwrap_err(), LedgerError::GroupNotBegun(_)));
        fs::write(place.join("small/journal.jsonl"), "no journal\n").unwrap();
        let error = group.read().unwrap_err();
        assert!(!matches!(error, LedgerError::GroupNotBegun(_)), "{error}");
        // The same for a link to a run.
        fs::rename(place.join("small"), scratch.path().join("moved")).unwrap();
        std::os::unix::fs::symlink("../moved", place.join("small")).unwrap();
        let error = group.read().unwrap_err();
        assert!(!matches!(error, LedgerError::GroupNotBegun(_)), "{error}");
    }
}
