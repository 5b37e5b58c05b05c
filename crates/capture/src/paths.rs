//! Paths of the files in a capture. A file is found by its inode while it is in use: by a file
//! handle if the file system makes handles from an inode alone (ext4), otherwise among the open
//! files of the process. The number of lookups per call is bounded; a file that is not found has no
//! path.

use crate::handles::{self, FileHandle};
use crate::options::CaptureOptions;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use steadfast_domain::io_event::{FileName, UNKNOWN_FILE, numbered_inode};
use steadfast_domain::{IoEvent, Layer};

/// Maximum number of files of a capture.
const FILES_MAX: usize = 1 << 16;
/// Maximum length of all paths together, in bytes.
const BYTES_MAX: usize = 8 << 20;
/// Maximum number of lookups by handle per call.
const HANDLES_AT_ONCE: usize = 512;
/// Maximum number of open files of processes that are examined per call.
const OPEN_AT_ONCE: usize = 2048;
/// Maximum number of lookups of a file.
const LOOKUPS_MAX: u8 = 3;
/// Interval between readings of the mount table.
const MOUNTS_INTERVAL: Duration = Duration::from_secs(2);
/// Uncertainty of the comparison between the clock of birth times and that of I/Os, in nanoseconds.
const CLOCK_UNCERTAINTY_NS: u64 = 100_000;
/// Ticks by which a birth time may lie before the creation of its file. The kernel reads the time
/// of the last tick, and a guest whose processor was taken away has its ticks late.
const LATE_TICKS_MAX: u64 = 10;
/// Maximum number of processes that are remembered per file.
const USERS_MAX: usize = 16;

/// An inode of a captured device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct InodeKey {
    /// Index of the device.
    device: u16,
    inode: u64,
}

impl InodeKey {
    fn from_event(event: &IoEvent) -> Self {
        InodeKey { device: event.device, inode: event.inode }
    }
}

/// The first I/O of an inode among new events.
struct FirstUse {
    issued_ns: u64,
    pid: u32,
}

/// A file system that may be on a captured device.
struct FileSystemMount {
    /// Index of the device.
    device: u16,
    /// Number of the file system, as in `st_dev`.
    number: u64,
    /// `None` until its mount point is known.
    mount: Option<MountPoint>,
}

struct MountPoint {
    directory: File,
    makes_handles: bool,
}

struct FileAtPath {
    path: PathBuf,
    identity: FileHandle,
    /// Birth time in nanoseconds since the capture began; 0 if earlier.
    born_ns: u64,
}

#[derive(Default)]
struct InodeState {
    /// Number of the present file among those that had the inode during the capture.
    file: u64,
    /// Identity of the present file; `None` if it was not found.
    identity: Option<FileHandle>,
    path: PathBuf,
    /// Birth time of the present file; 0 if unknown. File systems record the time of the kernel's
    /// last tick, so the file may have been created some ticks later.
    born_ns: u64,
    /// Processes that used the present file.
    users: Vec<u32>,
    /// Processes that used the previous file.
    earlier_users: Vec<u32>,
    /// Issue time of the first I/O of the present file; `None` before it.
    first_ns: Option<u64>,
    /// Process that used the file last.
    pid: u32,
    lookups: u8,
}

impl InodeState {
    /// Returns true if an I/O was issued before the present file was created.
    fn is_earlier(&self, event: &IoEvent) -> bool {
        event.issued_ns.saturating_add(CLOCK_UNCERTAINTY_NS) < self.born_ns
    }

    /// Returns true if an I/O may belong to the previous file of the inode although it was issued
    /// after the present file's birth time: a process that used the previous file issued it, and
    /// within the ticks by which the kernel's birth times may be early.
    fn may_be_earlier(&self, event: &IoEvent, tick_ns: u64) -> bool {
        let early_ns = tick_ns.saturating_mul(LATE_TICKS_MAX).saturating_add(CLOCK_UNCERTAINTY_NS);
        let is_recent = event.issued_ns < self.born_ns.saturating_add(early_ns);
        self.file > 0 && self.born_ns > 0 && is_recent && self.earlier_users.contains(&event.pid)
    }
}

/// Adds a process unless the list is full.
fn remember(users: &mut Vec<u32>, pid: u32) {
    if users.len() < USERS_MAX && !users.contains(&pid) {
        users.push(pid);
    }
}

/// The paths of a capture's files. The inode of a deleted file is reused, so a file is identified
/// by its handle and its birth time: an I/O issued before the birth of a file belongs to an earlier
/// file, and an I/O that may belong to either has no path.
pub(crate) struct FilePaths {
    systems: Vec<FileSystemMount>,
    inodes: HashMap<InodeKey, InodeState>,
    /// Files with the paths found for them; a renamed file has several.
    pub(crate) names: Arc<Vec<FileName>>,
    /// Number of distinct files, with a path or without.
    files: u64,
    bytes: usize,
    mounts_read: Option<Instant>,
    /// Start of the capture on the clock of birth times.
    began_unix_ns: u64,
    tick_ns: u64,
}

impl FilePaths {
    /// Creates the table for the files of these devices; `lasted_ns` is the age of the capture.
    pub(crate) fn new(options: &CaptureOptions, lasted_ns: u64) -> Self {
        let devices = (0u16..).zip(&options.devices);
        let systems = devices.flat_map(|(device, captured)| {
            captured.file_systems.iter().map(move |system| {
                let number = libc::makedev(system.number.major, system.number.minor);
                FileSystemMount { device, number, mount: None }
            })
        });
        FilePaths {
            systems: systems.collect(),
            inodes: HashMap::new(),
            names: Arc::default(),
            files: 0,
            bytes: 0,
            mounts_read: None,
            began_unix_ns: unix_ns(SystemTime::now()).saturating_sub(lasted_ns),
            tick_ns: tick_ns(),
        }
    }

    /// Returns the number of files with a path and of files without.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let keys: BTreeSet<InodeKey> = self
            .names
            .iter()
            .map(|file| InodeKey { device: file.device, inode: file.inode })
            .collect();
        (keys.len() as u64, self.files.saturating_sub(keys.len() as u64))
    }

    /// Looks up the files of these events, and distinguishes files that have the same inode in
    /// turn: for all but the first, the number of the file is stored in the upper bits of the
    /// inode.
    pub(crate) fn complete(&mut self, events: &mut [IoEvent]) {
        let mut first_uses: BTreeMap<InodeKey, FirstUse> = BTreeMap::new();
        for event in events.iter().filter(|event| is_of_file(event)) {
            let IoEvent { issued_ns, pid, .. } = *event;
            let first = first_uses
                .entry(InodeKey::from_event(event))
                .or_insert(FirstUse { issued_ns, pid });
            first.issued_ns = first.issued_ns.min(issued_ns);
        }
        if first_uses.is_empty() {
            return;
        }
        self.find_mounts();
        let mut unidentified: Vec<InodeKey> = Vec::new();
        for (key, first) in &first_uses {
            if !self.inodes.contains_key(key) {
                if self.inodes.len() >= FILES_MAX {
                    continue;
                }
                self.files += 1;
                self.inodes.insert(*key, InodeState::default());
            }
            let Some(state) = self.inodes.get_mut(key) else { continue };
            state.pid = first.pid;
            if state.identity.is_some() && !self.still_exists(*key) {
                self.next_file(*key);
            }
            let Some(state) = self.inodes.get(key) else { continue };
            if state.identity.is_none() && state.lookups < LOOKUPS_MAX && self.bytes < BYTES_MAX {
                unidentified.push(*key);
            }
        }
        for (key, file) in self.find_files(&unidentified) {
            let first_ns = first_uses.get(&key).map(|first| first.issued_ns);
            self.record(key, file, first_ns);
        }
        for event in events.iter().filter(|event| is_of_file(event)) {
            if let Some(state) = self.inodes.get_mut(&InodeKey::from_event(event))
                && state.is_earlier(event)
            {
                remember(&mut state.earlier_users, event.pid);
            }
        }
        for event in events.iter_mut().filter(|event| is_of_file(event)) {
            let key = InodeKey::from_event(event);
            let Some(state) = self.inodes.get_mut(&key) else { continue };
            let file = if state.is_earlier(event) {
                if state.file == 0 { UNKNOWN_FILE } else { state.file - 1 }
            } else if state.may_be_earlier(event, self.tick_ns) {
                UNKNOWN_FILE
            } else {
                state.first_ns.get_or_insert(event.issued_ns);
                remember(&mut state.users, event.pid);
                state.file
            };
            event.inode = numbered_inode(event.inode, file);
        }
    }

    /// Returns true if the file of an inode still exists. Records its new path if it was renamed.
    fn still_exists(&mut self, key: InodeKey) -> bool {
        let Some(state) = self.inodes.get(&key) else { return false };
        let Some(identity) = &state.identity else { return false };
        if FileHandle::of_path(&state.path).is_ok_and(|now| now == *identity) {
            return true;
        }
        let systems = self.systems.iter().filter(|system| system.device == key.device);
        let mut mounts = systems.filter_map(|system| system.mount.as_ref());
        let path_of_identity = |mount: &MountPoint| {
            let file = identity.open(&mount.directory).ok()?;
            handles::path(&file).ok()
        };
        let Some(path) = mounts.find_map(path_of_identity) else { return false };
        // A file that is deleted and still open keeps the path that it had.
        if !is_deleted(&path) && path != state.path && self.bytes < BYTES_MAX {
            let inode = numbered_inode(key.inode, state.file);
            self.add(key.device, inode, &path);
            if let Some(state) = self.inodes.get_mut(&key) {
                state.path = path;
            }
        }
        true
    }

    /// Assigns the further I/Os of an inode to another file.
    fn next_file(&mut self, key: InodeKey) {
        if let Some(state) = self.inodes.get_mut(&key) {
            let earlier_users = std::mem::take(&mut state.users);
            let (file, pid) = (state.file + 1, state.pid);
            *state = InodeState { file, pid, earlier_users, ..InodeState::default() };
            self.files += 1;
        }
    }

    /// Records a file that was found; `first_ns` is the first I/O to its inode among the new
    /// events.
    fn record(&mut self, key: InodeKey, file: FileAtPath, first_ns: Option<u64>) {
        let Some(state) = self.inodes.get_mut(&key) else { return };
        let first_uses = [state.first_ns, first_ns.filter(|_| state.file == 0)];
        let earliest_ns = first_uses.into_iter().flatten().min();
        if earliest_ns.is_some_and(|at| at.saturating_add(CLOCK_UNCERTAINTY_NS) < file.born_ns) {
            // The I/Os before the birth of this file belong to a file that was not found.
            state.file += 1;
            self.files += 1;
            let users = std::mem::take(&mut state.users);
            users.into_iter().for_each(|pid| remember(&mut state.earlier_users, pid));
        }
        state.born_ns = file.born_ns;
        state.identity = Some(file.identity);
        state.path.clone_from(&file.path);
        let inode = numbered_inode(key.inode, state.file);
        self.add(key.device, inode, &file.path);
    }

    /// Finds files by their inodes: by handle, or among the open files of processes.
    fn find_files(&mut self, wanted: &[InodeKey]) -> BTreeMap<InodeKey, FileAtPath> {
        let mut files: BTreeMap<InodeKey, FileAtPath> = BTreeMap::new();
        for key in wanted.iter().take(HANDLES_AT_ONCE) {
            let systems = self.systems.iter().filter(|system| system.device == key.device);
            let paths: Vec<PathBuf> =
                systems.filter_map(|system| system.path_of_inode(key.inode)).collect();
            // If several file systems have the inode, the right one is unknown.
            if let [path] = &paths[..]
                && let Some(file) = self.file_at(path)
            {
                files.insert(*key, file);
            }
        }
        let mut keys_by_pid: BTreeMap<u32, Vec<InodeKey>> = BTreeMap::new();
        for key in wanted.iter().filter(|key| !files.contains_key(key)) {
            if let Some(state) = self.inodes.get(key) {
                keys_by_pid.entry(state.pid).or_default().push(*key);
            }
        }
        let mut examinations_left = OPEN_AT_ONCE;
        for (pid, keys) in keys_by_pid {
            let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            for entry in entries.take(examinations_left) {
                examinations_left -= 1;
                let Some(key) = self.inode_of_link(&entry.path()) else { continue };
                if !keys.contains(&key) || files.contains_key(&key) {
                    continue;
                }
                let (path, file) = (fs::read_link(entry.path()), self.file_at(&entry.path()));
                if let (Ok(path), Some(file)) = (path, file) {
                    files.insert(key, FileAtPath { path, ..file });
                }
            }
            if examinations_left == 0 {
                // The rest was not examined and is looked up with the next I/Os.
                break;
            }
            for key in keys {
                if let Some(state) = self.inodes.get_mut(&key) {
                    state.lookups += 1;
                }
            }
        }
        files
    }

    /// Returns the file at a path, or `None` if its file system reports no handle or birth time.
    fn file_at(&self, path: &Path) -> Option<FileAtPath> {
        let identity = FileHandle::of_path(path).ok()?;
        let born = unix_ns(fs::metadata(path).ok()?.created().ok()?);
        let born_ns = born.saturating_sub(self.began_unix_ns);
        Some(FileAtPath { path: path.to_owned(), identity, born_ns })
    }

    /// Returns the file of the captured devices that a link points to, or `None` for any other.
    fn inode_of_link(&self, link: &Path) -> Option<InodeKey> {
        let file = fs::metadata(link).ok().filter(fs::Metadata::is_file)?;
        let system = self.systems.iter().find(|system| system.number == file.dev())?;
        Some(InodeKey { device: system.device, inode: file.ino() })
    }

    fn add(&mut self, device: u16, inode: u64, path: &Path) {
        let path = String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned();
        self.bytes += path.len();
        Arc::make_mut(&mut self.names).push(FileName { device, inode, path });
    }

    /// Finds the mount points of the devices' file systems that are not known yet.
    fn find_mounts(&mut self) {
        let is_recent = self.mounts_read.is_some_and(|read| read.elapsed() < MOUNTS_INTERVAL);
        if is_recent || self.systems.iter().all(|system| system.mount.is_some()) {
            return;
        }
        self.mounts_read = Some(Instant::now());
        let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else { return };
        for line in mounts.lines().filter_map(MountLine::parse) {
            let mut unknown = self.systems.iter_mut().filter(|system| system.mount.is_none());
            if let Some(system) = unknown.find(|system| system.number == line.number)
                && let Ok(directory) = File::open(line.mount_point)
            {
                system.mount = Some(MountPoint { directory, makes_handles: line.kind == "ext4" });
            }
        }
    }
}

impl FileSystemMount {
    /// Returns the path of a file by its inode; `None` if the file system makes no handles from
    /// inodes, or if no file in use has the inode.
    fn path_of_inode(&self, inode: u64) -> Option<PathBuf> {
        let mount = self.mount.as_ref().filter(|mount| mount.makes_handles)?;
        let handle = FileHandle::of_inode(u32::try_from(inode).ok()?);
        let file = handle.open(&mount.directory).ok()?;
        let path = handles::path(&file).ok()?;
        // The path is unknown if the kernel no longer caches the directory of the file.
        let has_inode = |found: fs::Metadata| found.dev() == self.number && found.ino() == inode;
        (!is_deleted(&path) && fs::symlink_metadata(&path).is_ok_and(has_inode)).then_some(path)
    }
}

/// Returns true if the kernel marks the path as that of a deleted file.
fn is_deleted(path: &Path) -> bool {
    path.as_os_str().as_bytes().ends_with(b" (deleted)")
}

fn is_of_file(event: &IoEvent) -> bool {
    event.layer == Layer::FileSystem && event.inode != 0
}

/// Returns the kernel's tick in nanoseconds: the resolution of the clock that file systems read.
fn tick_ns() -> u64 {
    let mut tick = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `tick` is valid to write to.
    let failed = unsafe { libc::clock_getres(libc::CLOCK_REALTIME_COARSE, &raw mut tick) };
    // The longest tick of Linux, at 100 Hz.
    if failed == 0 { tick.tv_nsec as u64 } else { 10_000_000 }
}

fn unix_ns(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
}

/// A line of /proc/PID/mountinfo.
#[derive(Debug, PartialEq)]
struct MountLine<'l> {
    /// Number of the file system, as in `st_dev`.
    number: u64,
    mount_point: PathBuf,
    /// Kind of the file system.
    kind: &'l str,
}

impl<'l> MountLine<'l> {
    fn parse(line: &'l str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(2);
        let (major, minor) = fields.next()?.split_once(':')?;
        Some(MountLine {
            number: libc::makedev(major.parse().ok()?, minor.parse().ok()?),
            mount_point: unescaped(fields.nth(1)?),
            kind: file_system.split(' ').next()?,
        })
    }
}

/// Decodes the octal escapes of /proc/PID/mountinfo, such as `\040` for a blank.
pub(crate) fn unescaped(text: &str) -> PathBuf {
    let (bytes, mut plain, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let digits = text.get(at + 1..at + 4).filter(|_| *byte == b'\\');
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(escaped.unwrap_or(*byte));
        at += if escaped.is_some() { 4 } else { 1 };
    }
    PathBuf::from(std::ffi::OsStr::from_bytes(&plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_parsed_with_its_number_and_kind() {
        let line = "36 35 98:5 / /mnt/a\\040b\\134c rw,noatime shared:1 - ext4 /dev/sdb1 rw";
        let (number, mount_point) = (libc::makedev(98, 5), PathBuf::from("/mnt/a b\\c"));
        let expected = MountLine { number, mount_point, kind: "ext4" };
        assert_eq!(MountLine::parse(line), Some(expected));
        assert_eq!(MountLine::parse("36 35 98:5 / /mnt rw"), None);
        assert_eq!(unescaped("a\\9"), PathBuf::from("a\\9"));
    }
}
