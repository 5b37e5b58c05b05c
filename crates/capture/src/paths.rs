//! Paths of the files that a capture sees, where the user asked for them. A file is
//! found by its inode while it is in use: through a handle where the file system makes
//! one of an inode alone (ext4), else among the open files of the process. How many are
//! looked for at once is bounded; what is not found has no path.

use crate::handles::{self, Number};
use crate::options::Options;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use steadfast_domain::io_event::FileName;
use steadfast_domain::{IoEvent, Layer};

/// Files that are looked for in a capture.
const FILES_MAX: usize = 1 << 16;
/// Bytes of all paths together.
const BYTES_MAX: usize = 8 << 20;
/// Files that are looked for by a handle in one look.
const HANDLES_AT_ONCE: usize = 512;
/// Open files of processes that are gone through in one look.
const OPEN_AT_ONCE: usize = 2048;
/// How often a file is looked for.
const TRIES: u8 = 3;
/// How often it is seen which file systems are mounted where.
const MOUNTS: Duration = Duration::from_secs(2);

/// A file: the device's index, and the inode.
type Key = (u16, u64);

/// A file system of a device.
struct System {
    device: u16,
    number: u64,
    mount: Option<Mount>,
}

/// Where it is mounted.
struct Mount {
    directory: File,
    makes_handles: bool,
}

/// Files without a path so far: the process that used it last, and how often it was
/// looked for.
type Wanted = HashMap<Key, (u32, u8)>;

/// The paths of a capture's files.
pub(crate) struct Paths {
    systems: Vec<System>,
    seen: HashSet<Key>,
    wanted: Wanted,
    found: Arc<Vec<FileName>>,
    bytes: usize,
    mounts_read: Option<Instant>,
}

impl Paths {
    /// Of the files of these devices.
    pub(crate) fn of(options: &Options) -> Self {
        let devices = (0u16..).zip(&options.devices);
        let systems = devices.flat_map(|(device, listened)| {
            listened.file_systems.iter().map(move |system| {
                let number = libc::makedev(system.number.0, system.number.1);
                System { device, number, mount: None }
            })
        });
        Paths {
            systems: systems.collect(),
            seen: HashSet::new(),
            wanted: HashMap::new(),
            found: Arc::default(),
            bytes: 0,
            mounts_read: None,
        }
    }

    /// What was found so far.
    pub(crate) fn found(&self) -> &Arc<Vec<FileName>> {
        &self.found
    }

    /// Files with a path, and files without.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let with: BTreeSet<Key> = self.found.iter().map(|file| (file.device, file.inode)).collect();
        (with.len() as u64, (self.seen.len() - with.len().min(self.seen.len())) as u64)
    }

    /// Looks for the files of these events that have no path yet.
    pub(crate) fn look(&mut self, events: &[IoEvent]) {
        let mut last = None;
        for event in events.iter().filter(|event| event.layer == Layer::FileSystem) {
            let key = (event.device, event.inode);
            if event.inode == 0 || last.replace(key) == Some(key) || self.seen.contains(&key) {
                continue;
            }
            if self.seen.len() < FILES_MAX {
                self.seen.insert(key);
                self.wanted.insert(key, (event.pid, 0));
            }
        }
        if self.wanted.is_empty() || self.bytes >= BYTES_MAX {
            return;
        }
        self.find_mounts();
        self.by_handles();
        self.by_processes();
        self.wanted.retain(|_, (_, tries)| *tries < TRIES);
    }

    fn by_handles(&mut self) {
        let keys: Vec<Key> = self.wanted.keys().copied().take(HANDLES_AT_ONCE).collect();
        for key in keys {
            let opened: Vec<PathBuf> = self
                .systems
                .iter()
                .filter(|system| system.device == key.0)
                .filter_map(|system| system.by_handle(key.1))
                .collect();
            opened.iter().for_each(|path| self.add(key, path));
        }
    }

    /// Goes through the open files of the processes that used what is wanted.
    fn by_processes(&mut self) {
        let mut of_process: BTreeMap<u32, Vec<Key>> = BTreeMap::new();
        for (key, (pid, _)) in &self.wanted {
            of_process.entry(*pid).or_default().push(*key);
        }
        let mut left = OPEN_AT_ONCE;
        for (pid, keys) in of_process {
            let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            let mut named = Vec::new();
            for entry in open.take(left) {
                left -= 1;
                let Some(key) = self.key_of(&entry.path()) else { continue };
                if self.wanted.contains_key(&key)
                    && let Ok(path) = fs::read_link(entry.path())
                {
                    named.push((key, path));
                }
            }
            for key in keys {
                self.wanted.entry(key).and_modify(|(_, tries)| *tries += 1);
            }
            for (key, path) in named {
                // A file may be open several times.
                if self.wanted.contains_key(&key) {
                    self.add(key, &path);
                }
            }
            if left == 0 {
                break;
            }
        }
    }

    /// Which file of the devices lies behind a link, if it is one.
    fn key_of(&self, link: &Path) -> Option<Key> {
        let file = fs::metadata(link).ok().filter(fs::Metadata::is_file)?;
        let system = self.systems.iter().find(|system| system.number == file.dev())?;
        Some((system.device, file.ino()))
    }

    fn add(&mut self, (device, inode): Key, path: &Path) {
        let path = String::from_utf8_lossy(path.as_os_str().as_bytes()).into_owned();
        let file = FileName { device, inode, path };
        self.wanted.remove(&(device, inode));
        self.bytes += file.path.len();
        Arc::make_mut(&mut self.found).push(file);
    }

    /// Finds out where the devices' file systems are mounted, where that is not known.
    fn find_mounts(&mut self) {
        let is_recent = self.mounts_read.is_some_and(|read| read.elapsed() < MOUNTS);
        if is_recent || self.systems.iter().all(|system| system.mount.is_some()) {
            return;
        }
        self.mounts_read = Some(Instant::now());
        let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else { return };
        for (number, place, kind) in mounts.lines().filter_map(mounted) {
            let wanted = |system: &&mut System| system.number == number && system.mount.is_none();
            let Some(system) = self.systems.iter_mut().find(wanted) else { continue };
            let makes_handles = kind == "ext4";
            let directory = File::open(place);
            system.mount = directory.ok().map(|directory| Mount { directory, makes_handles });
        }
    }
}

impl System {
    fn by_handle(&self, inode: u64) -> Option<PathBuf> {
        let mount = self.mount.as_ref().filter(|mount| mount.makes_handles)?;
        let number = Number::Inode(u32::try_from(inode).ok()?);
        let file = handles::open(&mount.directory, number).ok()?;
        let path = handles::path(&file).ok()?;
        // Of a file whose directory the kernel has forgotten the path is not known.
        let is_it = |found: fs::Metadata| (found.dev(), found.ino()) == (self.number, inode);
        let deleted = path.as_os_str().as_bytes().ends_with(DELETED);
        (deleted || fs::symlink_metadata(&path).is_ok_and(is_it)).then_some(path)
    }
}

/// What the kernel puts after the path of a file that was deleted.
const DELETED: &[u8] = b" (deleted)";

/// Number, place and kind of a file system, by a line of /proc/PID/mountinfo.
fn mounted(line: &str) -> Option<(u64, PathBuf, &str)> {
    let (place, kind) = line.split_once(" - ")?;
    let mut fields = place.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let number = libc::makedev(major.parse().ok()?, minor.parse().ok()?);
    let place = unescaped(fields.nth(1)?);
    Some((number, place, kind.split(' ').next()?))
}

/// Blanks and backslashes stand as `\040` in it.
fn unescaped(text: &str) -> PathBuf {
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
    fn a_mount_is_read_with_its_number_and_kind() {
        let line = "36 35 98:5 / /mnt/a\\040b\\134c rw,noatime shared:1 - ext4 /dev/sdb1 rw";
        let expected = (libc::makedev(98, 5), PathBuf::from("/mnt/a b\\c"), "ext4");
        assert_eq!(mounted(line), Some(expected));
        assert_eq!(mounted("36 35 98:5 / /mnt rw"), None);
        assert_eq!(unescaped("a\\9"), PathBuf::from("a\\9"));
    }
}
