//! Use of a device or file by other processes: open handles, mappings and locks.
//!
//! A process that ends during the check holds nothing. Anything else that cannot be read is an
//! error, never an empty result.

use crate::backing::FileId;
use crate::device_number::decode_dev;
use crate::error::HostError;
use crate::system_roots::{SystemRoots, file_name, read_text};
use crate::user::effective_uid;
use rustix::fs::RawDir;
use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use steadfast_domain::DeviceNumber;

/// Link text of the initial PID namespace (linux/nsfs.h, `PID_NS_INIT_INO`). The `/proc` of any
/// other namespace omits processes.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Returns true for errors that mean that the process has ended.
pub(crate) fn has_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH | libc::EINVAL))
}

/// Returns the directories of all processes.
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
pub(crate) fn all(roots: &SystemRoots) -> Result<Vec<PathBuf>, HostError> {
    let mut directories = Vec::new();
    visit_numbers(&roots.proc, |number| {
        directories.push(roots.proc.join(number));
        Ok(())
    })?;
    Ok(directories)
}

/// Returns the ID of a process, other than this one, that is in a session or has this text in its
/// initial environment; `None` if there is none. Zombies count as ended. The environment of
/// another user's process is not examined if permission is denied.
///
/// # Errors
/// Returns an error if `/proc` or a process that has not ended cannot be read.
pub(crate) fn in_session_or_with(
    session: Option<u32>,
    variable: &str,
    roots: &SystemRoots,
) -> Result<Option<u32>, HostError> {
    let own_id = std::process::id();
    for process in all(roots)? {
        let Some(id) = file_name(&process).parse::<u32>().ok().filter(|id| *id != own_id) else {
            continue;
        };
        let Some(stat) = read_file(&process, "stat", roots)? else { continue };
        // The name in parentheses may contain anything: state, parent, group and session follow.
        let stat = String::from_utf8_lossy(&stat);
        let fields: Vec<&str> =
            stat.rsplit(") ").next().unwrap_or_default().split_whitespace().collect();
        if matches!(fields.first(), None | Some(&"Z" | &"X")) {
            continue;
        }
        if session.is_some() && fields.get(3).and_then(|n| n.parse().ok()) == session {
            return Ok(Some(id));
        }
        let environment = match read_file(&process, "environ", roots) {
            Ok(environment) => environment.unwrap_or_default(),
            Err(HostError::Io { source, .. })
                if source.kind() == io::ErrorKind::PermissionDenied && is_foreign(&process) =>
            {
                continue;
            }
            Err(error) => return Err(error),
        };
        if environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes()) {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Reads a file of a process; `None` if the process has ended.
///
/// # Errors
/// Returns an error if the file of a running process cannot be read.
pub(crate) fn read_file(
    process: &Path,
    name: &str,
    roots: &SystemRoots,
) -> Result<Option<Vec<u8>>, HostError> {
    let path = process.join(name);
    let content = if is_foreign(process) {
        // Time does not give this user the permission.
        match fs::read(&path) {
            Err(error) if has_gone(&error) => Ok(None),
            content => content.map(Some),
        }
    } else {
        examine(process, roots, || fs::read(&path))
    };
    content.map_err(|error| HostError::io("read it", &path, error))
}

/// Returns true if this user is not root and the process belongs to another user.
fn is_foreign(process: &Path) -> bool {
    let own_uid = effective_uid();
    own_uid != 0 && process.metadata().is_ok_and(|metadata| metadata.uid() != own_uid)
}

/// Visits every thread of every process except this one: a thread may have its own file table and
/// mount namespace, and the main thread may have ended before the others. `visit` gets the
/// directories of the process and the thread.
///
/// # Errors
/// Returns an error if `/proc` cannot be listed, or the error of `visit`.
pub(crate) fn visit_threads(
    roots: &SystemRoots,
    mut visit: impl FnMut(&Path, &Path) -> Result<(), HostError>,
) -> Result<(), HostError> {
    let own_name = fs::read_link(roots.proc.join("self")).unwrap_or_default();
    visit_numbers(&roots.proc, |number| {
        if own_name.as_os_str() == number {
            return Ok(());
        }
        let process = roots.proc.join(number);
        let visited = visit_numbers(&process.join("task"), |thread| {
            // `/proc` resolves thread IDs, although it does not list them.
            visit(&process, &roots.proc.join(thread))
        });
        match visited {
            Err(HostError::Io { source, path, .. })
                if has_gone(&source) && path == process.join("task") =>
            {
                Ok(())
            }
            other => other,
        }
    })
}

/// Visits the numeric entries of a directory. Lists it until nothing new appears, since a process
/// that ends may have passed its handles to one that started later.
fn visit_numbers(
    directory: &Path,
    mut visit: impl FnMut(&str) -> Result<(), HostError>,
) -> Result<(), HostError> {
    let failed = |error| HostError::io("list processes", directory, error);
    let mut seen = BTreeSet::new();
    for _ in 0..LISTINGS_MAX {
        let mut is_complete = true;
        for entry in fs::read_dir(directory).map_err(failed)? {
            let name = file_name(&entry.map_err(failed)?.path());
            if name.bytes().all(|b| b.is_ascii_digit()) && seen.insert(name.clone()) {
                is_complete = false;
                visit(&name)?;
            }
        }
        if is_complete {
            return Ok(());
        }
    }
    Err(HostError::Unclear {
        what: format!("what {} lists", directory.display()),
        why: "processes begin and end faster than they can be examined".into(),
    })
}

const LISTINGS_MAX: usize = 100;

/// Returns true if `/proc` shows a process with this ID.
pub fn process_exists(number: u32, roots: &SystemRoots) -> bool {
    roots.proc.join(number.to_string()).exists()
}

/// Checks that `/proc` shows every process of the machine.
///
/// # Errors
/// Returns [`HostError::Unclear`] in a container's PID namespace, or if `/proc` hides other users'
/// processes.
pub(crate) fn require_all(roots: &SystemRoots) -> Result<(), HostError> {
    let link = roots.proc.join("self/ns/pid");
    let namespace =
        fs::read_link(&link).map_err(|e| HostError::io("read its namespace", &link, e))?;
    let unclear = |why: &str| {
        let what = "which processes use it".into();
        Err(HostError::Unclear { what, why: why.into() })
    };
    if namespace != Path::new(FIRST_PID_NAMESPACE) {
        return unclear(
            "this is a container with a PID namespace of its own; give it that of the host \
             (--pid=host), or run outside of it",
        );
    }
    // Process 1 belongs to another user for everybody but root.
    if !roots.proc.join("1").exists() {
        return unclear(
            "/proc hides the processes of other users (its mount option hidepid); run as root",
        );
    }
    Ok(())
}

/// Returns true if no privilege would avoid the error: some sandboxes hide process 1 from
/// everybody. It mounts nothing that the exclusive open would miss.
pub(crate) fn is_hidden_from_all(process: &Path, error: &io::Error, roots: &SystemRoots) -> bool {
    const CAP_SYS_PTRACE: u32 = 19;
    let status = read_text(&roots.proc.join("self/status")).unwrap_or_default();
    let rights = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let rights = rights.and_then(|rights| u64::from_str_radix(rights.trim(), 16).ok());
    let may_examine = rights.is_some_and(|rights| rights >> CAP_SYS_PTRACE & 1 == 1);
    let denied = matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM));
    denied && may_examine && file_name(process) == "1"
}

/// Calls `examine`, and retries for a short time if permission is denied: an ending process denies
/// access even to root. `None` if the process has ended or is hidden from everybody.
///
/// # Errors
/// Returns the error if the process cannot be examined.
pub(crate) fn examine<T>(
    process: &Path,
    roots: &SystemRoots,
    mut examine: impl FnMut() -> io::Result<T>,
) -> io::Result<Option<T>> {
    let mut retries = 0;
    loop {
        match examine() {
            Ok(value) => return Ok(Some(value)),
            Err(error) if has_gone(&error) || is_hidden_from_all(process, &error, roots) => {
                return Ok(None);
            }
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied && retries < RETRIES_MAX =>
            {
                retries += 1;
                thread::sleep(RETRY_INTERVAL);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Number of retries, and the time between them.
const RETRIES_MAX: usize = 20;
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Devices and files to look for among open files.
#[derive(Debug, Default)]
pub(crate) struct OpenFileQuery {
    /// Block devices.
    pub numbers: BTreeSet<DeviceNumber>,
    /// Regular files.
    pub files: BTreeSet<FileId>,
}

impl OpenFileQuery {
    pub fn files(files: BTreeSet<FileId>) -> Self {
        OpenFileQuery { files, ..OpenFileQuery::default() }
    }

    /// Returns true if the file with this metadata is asked for.
    fn matches(&self, metadata: &Metadata) -> bool {
        if metadata.file_type().is_block_device() {
            self.numbers.contains(&decode_dev(metadata.rdev()))
        } else {
            self.files.contains(&FileId::from_metadata(metadata))
        }
    }
}

/// Returns the other processes that have one of the files open, or mapped writably; with
/// `writing`, only those that can write.
///
/// # Errors
/// Returns an error if a process cannot be examined.
pub(crate) fn openers(
    query: &OpenFileQuery,
    roots: &SystemRoots,
    writing: bool,
) -> Result<Vec<String>, HostError> {
    let mut names = Vec::new();
    let mut last_opener = None;
    // Threads of a process share its mappings.
    let mut mappings_read_of = None;
    visit_threads(roots, |process, thread| {
        if last_opener.as_deref() == Some(process) {
            return Ok(());
        }
        let failed = |error| HostError::io("list its open files", thread, error);
        let opened = examine(process, roots, || has_open(thread, query, writing));
        let mut is_opener = opened.map_err(failed)?.unwrap_or(false);
        if !is_opener && mappings_read_of.as_deref() != Some(process) {
            let mapped = examine(process, roots, || mapped(thread, query));
            match mapped.map_err(failed)?.unwrap_or(MappingState::Unknown) {
                MappingState::Yes => is_opener = true,
                MappingState::No => mappings_read_of = Some(process.to_owned()),
                MappingState::Unknown => {}
            }
        }
        if is_opener {
            names.push(name_of(process));
            last_opener = Some(process.to_owned());
        }
        Ok(())
    })?;
    Ok(names)
}

pub(crate) fn name_of(process: &Path) -> String {
    let name = read_text(&process.join("comm")).unwrap_or_else(|| "a process".into());
    format!("{} (process {})", name.escape_default(), file_name(process))
}

fn has_open(thread: &Path, query: &OpenFileQuery, writing: bool) -> io::Result<bool> {
    for link in fs::read_dir(thread.join("fd"))? {
        let link = link?.path();
        if !stat_link(&link)?.is_some_and(|metadata| query.matches(&metadata)) {
            continue;
        }
        if !writing || is_for_writing(&thread.join("fdinfo").join(file_name(&link)))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the metadata of an open file; `None` if it was closed meanwhile, or is on a file system
/// that does not respond, which a device node never is.
pub(crate) fn stat_link(link: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(link) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if has_gone(&error) || is_dead(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns true for errors of a file system that does not respond.
fn is_dead(error: &io::Error) -> bool {
    const DEAD: [i32; 4] = [libc::ESTALE, libc::ENOTCONN, libc::ENXIO, libc::ENODEV];
    error.raw_os_error().is_some_and(|code| DEAD.contains(&code))
}

/// Returns true if a line such as `flags: 0100002` shows an access mode other than read-only.
fn is_for_writing(fdinfo: &Path) -> io::Result<bool> {
    let text = match fs::read_to_string(fdinfo) {
        Err(error) if has_gone(&error) => return Ok(false),
        other => other?,
    };
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    // Unknown flags may be those of a writer.
    Ok(flags.is_none_or(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY))
}

/// Result of searching the shared mappings.
enum MappingState {
    Yes,
    No,
    /// The thread has ended, or a mapping was removed meanwhile.
    Unknown,
}

/// Searches the shared mappings of a thread. A read-only shared mapping counts too, as it can
/// become writable. A mapping that is moved or split during the search has another range, so the
/// list must be equal before and after; several times, as two mappings may change places in between.
fn mapped(thread: &Path, query: &OpenFileQuery) -> io::Result<MappingState> {
    let mut before = None;
    let mut equal_lists = 0;
    for attempt in 0..MAPPING_ATTEMPTS_MAX {
        if attempt > MAPPING_ATTEMPTS_MAX / 2 {
            thread::sleep(Duration::from_millis(1));
        }
        let ranges = shared_ranges(thread)?;
        let mut has_moved = false;
        for range in ranges.iter().flatten() {
            match fs::metadata(thread.join("map_files").join(range)) {
                Ok(metadata) if query.matches(&metadata) => return Ok(MappingState::Yes),
                Ok(_) => {}
                Err(error) if has_gone(&error) => has_moved = true,
                Err(error) if is_dead(&error) => {}
                Err(error) => return Err(error),
            }
        }
        equal_lists = match &ranges {
            Some(_) if !has_moved && ranges == before => equal_lists + 1,
            _ => 0,
        };
        if equal_lists == EQUAL_LISTS {
            return Ok(MappingState::No);
        }
        before = ranges.filter(|_| !has_moved);
    }
    Err(io::Error::other("its mappings change faster than they can be examined"))
}

/// Maximum number of attempts for a process that keeps changing its mappings.
const MAPPING_ATTEMPTS_MAX: usize = 100;

/// Number of equal lists in a row that show that nothing moves. A process that keeps exchanging its
/// mapping with one of another file may be missed in some of them, but hardly in all.
const EQUAL_LISTS: usize = 6;

/// Returns the address ranges of a thread's shared file mappings; `None` if they changed while they
/// were listed.
///
/// They are what the kernel lists at one moment in `map_files`, less those that `maps` shows as
/// private. `maps` alone would not do: since Linux 6.17 it is read without a lock of the whole list
/// and misses a mapping that is moved from a high address to a low one meanwhile.
///
/// # Errors
/// Returns ESRCH if the thread has ended.
fn shared_ranges(thread: &Path) -> io::Result<Option<Vec<String>>> {
    let directory = thread.join("map_files");
    let listed = listed_at_one_moment(&directory);
    let maps = fs::read(thread.join("maps"))?;
    if maps.is_empty() {
        return Err(io::Error::from_raw_os_error(libc::ESRCH));
    }
    // A thread that has not ended has this directory.
    let listed = listed.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => error,
        _ => io::Error::other(format!("{}: {error}", directory.display())),
    })?;
    let Some(mut ranges) = listed else { return Ok(None) };
    let maps = String::from_utf8_lossy(&maps);
    // `RANGE rw-p OFFSET DEVICE INODE PATH`. Memory without a file, whose inode is 0, may have taken
    // the place of a shared mapping meanwhile.
    let is_private_file = |rest: &str| {
        let inode = rest.split_ascii_whitespace().nth(3);
        rest.as_bytes().get(3) == Some(&b'p') && inode.is_some_and(|inode| inode != "0")
    };
    let private: BTreeSet<_> = maps
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(_, rest)| is_private_file(rest))
        .filter_map(|(range, _)| addresses(range))
        .collect();
    ranges.retain(|range| addresses(range).is_none_or(|range| !private.contains(&range)));
    Ok(Some(ranges))
}

/// Parses `400000-452000`. `maps` pads addresses with zeros, `map_files` does not.
fn addresses(range: &str) -> Option<(u64, u64)> {
    let (start, end) = range.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

/// Returns the names in a directory of procfs as they were at one moment: what one call of
/// getdents64(2) returns. A further call, for which the kernel makes a new list, must return
/// nothing, or the list has changed: `None`.
fn listed_at_one_moment(directory: &Path) -> io::Result<Option<Vec<String>>> {
    // Room for the 65,530 mappings of `vm.max_map_count`'s usual value, then for more.
    for megabytes in [4, 16, 64, 256] {
        let file = fs::File::open(directory)?;
        let mut buffer = Vec::with_capacity(megabytes << 20);
        let mut entries = RawDir::new(&file, buffer.spare_capacity_mut());
        let mut names = Vec::new();
        let is_whole = loop {
            let is_second_call = entries.is_buffer_empty() && !names.is_empty();
            match entries.next() {
                None => break true,
                Some(_) if is_second_call => break false,
                Some(entry) => names.push(entry?.file_name().to_string_lossy().into_owned()),
            }
        };
        if is_whole {
            names.retain(|name| name != "." && name != "..");
            return Ok(Some(names));
        }
    }
    Ok(None)
}

/// Describes the locks and leases of other processes on the files.
///
/// # Errors
/// Returns an error if the kernel's list cannot be read.
pub(crate) fn locks_on(
    files: &BTreeSet<FileId>,
    roots: &SystemRoots,
) -> Result<Vec<String>, HostError> {
    let own_id = std::process::id().to_string();
    let foreign = |lock: &HeldLock| files.contains(&lock.file) && lock.pid != own_id;
    Ok(held_locks(roots)?
        .into_iter()
        .filter(foreign)
        .map(|HeldLock { kind, pid, .. }| match pid.as_str() {
            "-1" | "0" => format!("{kind} lock"),
            pid => format!("{kind} lock of {}", name_of(&roots.proc.join(pid))),
        })
        .collect())
}

/// Returns true if a process, this one included, has a lock of flock(2) on one of the files.
///
/// # Errors
/// Returns an error if the kernel's list cannot be read.
pub(crate) fn has_flock(files: &BTreeSet<FileId>, roots: &SystemRoots) -> Result<bool, HostError> {
    // A waiting request is listed too, but only behind the lock that it waits for.
    let is_flock = |lock: &HeldLock| lock.kind == "FLOCK" && files.contains(&lock.file);
    Ok(held_locks(roots)?.iter().any(is_flock))
}

/// Returns the device numbers of file systems with a lock or lease.
///
/// # Errors
/// Returns an error if the kernel's list cannot be read.
pub(crate) fn locked_devices(roots: &SystemRoots) -> Result<BTreeSet<u64>, HostError> {
    Ok(held_locks(roots)?.into_iter().map(|lock| lock.file.device).collect())
}

/// A lock or lease in the kernel's list.
struct HeldLock {
    kind: String,
    pid: String,
    file: FileId,
}

fn held_locks(roots: &SystemRoots) -> Result<Vec<HeldLock>, HostError> {
    Ok(lock_lines(roots)?.iter().filter_map(|line| parse_lock(line)).collect())
}

/// Maximum number of attempts to read the list unchanged.
const LOCK_ATTEMPTS_MAX: usize = 20;

/// Reads the kernel's list of locks, without line numbers.
///
/// The kernel returns the list in parts, one per read, and resumes by counting entries, so a lock
/// released between two reads hides another one. A list that fits one read is consistent. A longer
/// one is read until two attempts agree; the result is the union of all attempts.
///
/// # Errors
/// Returns an error if it cannot be read.
fn lock_lines(roots: &SystemRoots) -> Result<BTreeSet<String>, HostError> {
    let list = roots.proc.join("locks");
    let mut lines = BTreeSet::new();
    let mut before = BTreeSet::new();
    let mut buffer = vec![0; 1 << 16];
    for _ in 0..LOCK_ATTEMPTS_MAX {
        let (bytes, reads) = read_in_large_parts(&list, &mut buffer)
            .map_err(|error| HostError::io("read it", &list, error))?;
        let text = String::from_utf8_lossy(&bytes);
        let now: BTreeSet<String> = text
            .lines()
            .filter_map(|line| line.split_once(':').map(|(_, rest)| format!(":{rest}")))
            .collect();
        lines.extend(now.iter().cloned());
        if reads <= 1 || now == before {
            break;
        }
        before = now;
    }
    Ok(lines)
}

/// Returns the content of a file, and the number of reads that returned data. `fs::read` would
/// start with small reads.
fn read_in_large_parts(path: &Path, buffer: &mut [u8]) -> io::Result<(Vec<u8>, usize)> {
    let mut file = fs::File::open(path)?;
    let (mut bytes, mut reads) = (Vec::new(), 0);
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok((bytes, reads)),
            Ok(length) => {
                bytes.extend_from_slice(&buffer[..length]);
                reads += 1;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Parses `1: POSIX  ADVISORY  WRITE 4711 fe:00:12345 0 EOF` (proc_locks(5)).
fn parse_lock(line: &str) -> Option<HeldLock> {
    let mut fields = line.split_ascii_whitespace().skip(1).filter(|field| *field != "->");
    let kind = fields.next()?.to_owned();
    let pid = fields.nth(2)?.to_owned();
    let mut numbers = fields.next()?.split(':');
    let major = u32::from_str_radix(numbers.next()?, 16).ok()?;
    let minor = u32::from_str_radix(numbers.next()?, 16).ok()?;
    let inode = numbers.next()?.parse().ok()?;
    Some(HeldLock { kind, pid, file: FileId { device: libc::makedev(major, minor), inode } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_process_that_denies_access_for_a_moment_is_examined_again() {
        let machine = MachineFixture::new();
        let process = machine.roots.proc.join("77");
        let denied = || io::Error::from_raw_os_error(libc::EACCES);
        let mut attempts = 0;
        let found = examine(&process, &machine.roots, || {
            attempts += 1;
            if attempts < 3 { Err(denied()) } else { Ok("seen") }
        });
        assert_eq!(found.unwrap(), Some("seen"));
        let gone = || Err::<(), _>(io::Error::from_raw_os_error(libc::ESRCH));
        assert_eq!(examine(&process, &machine.roots, gone).unwrap(), None);
        let mut attempts = 0;
        let never = examine(&process, &machine.roots, || {
            attempts += 1;
            Err::<(), _>(denied())
        });
        assert_eq!(never.unwrap_err().raw_os_error(), Some(libc::EACCES));
        assert_eq!(attempts, RETRIES_MAX + 1);
    }

    #[test]
    fn a_process_that_cannot_be_read_is_not_one_that_has_ended() {
        let machine = MachineFixture::new();
        let left = |session| in_session_or_with(session, "MARK=sda", &machine.roots);
        machine.process(70_001);
        machine.write("proc/70001/stat", "70001 (a) b) S 1 7 77 0");
        machine.write("proc/70001/environ", "A=1\0MARK=sdb\0");
        assert_eq!(left(Some(77)).unwrap(), Some(70_001));
        assert_eq!(left(Some(78)).unwrap(), None);
        machine.write("proc/70001/environ", "A=1\0MARK=sda\0");
        assert_eq!(left(Some(78)).unwrap(), Some(70_001));
        machine.write("proc/70001/stat", "70001 (a) Z 1 7 77 0");
        assert_eq!(left(Some(77)).unwrap(), None, "a zombie has ended");
        // Directories cannot be read as files, by root either.
        for name in ["environ", "stat"] {
            machine.write("proc/70001/stat", "70001 (a) S 1 7 7 0");
            let path = machine.path("proc/70001").join(name);
            fs::remove_file(&path).unwrap();
            fs::create_dir(&path).unwrap();
            let error = left(Some(77)).unwrap_err();
            assert!(matches!(&error, HostError::Io { path: at, .. } if *at == path), "{error}");
            fs::remove_dir(&path).unwrap();
            assert_eq!(left(Some(77)).unwrap(), None, "{name} is gone with its process");
        }
    }

    #[test]
    fn access_modes_are_read_from_the_flags() {
        let machine = MachineFixture::new();
        for (flags, writing) in
            [("0100000", false), ("0100002", true), ("0140001", true), ("x", true)]
        {
            machine.write("fdinfo", format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t9\n"));
            assert_eq!(is_for_writing(&machine.path("fdinfo")).unwrap(), writing, "{flags}");
        }
        assert!(!is_for_writing(&machine.path("closed")).unwrap());
    }

    #[test]
    fn openers_and_shared_mappings_of_a_file_are_found() {
        let machine = MachineFixture::new();
        machine.write("file", "x");
        let file = FileId::from_metadata(&fs::metadata(machine.path("file")).unwrap());
        let query = OpenFileQuery::files([file].into());
        let users = |writing| openers(&query, &machine.roots, writing).unwrap();
        machine.process(7);
        machine.write("proc/7/comm", "letter\u{1b}[2J\n");
        symlink(machine.path("file"), machine.path("proc/7/fd/3")).unwrap();
        symlink("/gone/meanwhile", machine.path("proc/7/fd/4")).unwrap();
        machine.write("proc/7/fdinfo/3", "flags:\t0100000\n");
        assert_eq!(users(true), Vec::<String>::new());
        assert_eq!(users(false), ["letter\\u{1b}[2J (process 7)"]);
        machine.write("proc/7/fdinfo/3", "flags:\t0100002\n");
        assert_eq!(users(true).len(), 1);
        fs::remove_file(machine.path("proc/7/fd/3")).unwrap();
        machine.write("proc/7/maps", "10-20 rw-p 0 08:01 7 /x\n30-40 rw-s 0 08:01 7 /file\n");
        machine.link("proc/7/map_files/30-40", "file");
        assert_eq!(users(true).len(), 1);
        // A thread whose process' first one has ended, with a table of open files of its own.
        fs::write(machine.path("proc/7/maps"), "").unwrap();
        machine.thread(7, 8);
        assert_eq!(users(true), Vec::<String>::new());
        symlink(machine.path("file"), machine.path("proc/8/fd/5")).unwrap();
        machine.write("proc/8/fdinfo/5", "flags:\t0100002\n");
        assert_eq!(users(true), ["letter\\u{1b}[2J (process 7)"]);
        fs::remove_file(machine.path("proc/8/fd/5")).unwrap();
        machine.write("proc/8/maps", "30-40 rw-s 0 08:01 7 /file\n");
        // A process whose mappings cannot be listed, or are listed and missing, cannot be examined.
        assert!(openers(&query, &machine.roots, true).is_err());
        machine.link("proc/8/map_files/50-60", "gone");
        assert!(openers(&query, &machine.roots, true).is_err());
        fs::remove_file(machine.path("proc/8/map_files/50-60")).unwrap();
        machine.link("proc/8/map_files/30-40", "file");
        assert_eq!(users(true).len(), 1);
        fs::remove_dir_all(machine.path("proc/7/task/8")).unwrap();
        assert_eq!(users(true), Vec::<String>::new());
        fs::remove_dir_all(machine.path("proc/7/fd")).unwrap();
        machine.write("proc/7/fd", "no directory: not what a process that has ended leaves");
        assert!(openers(&query, &machine.roots, true).is_err());
    }

    #[test]
    fn locks_are_read_by_number() {
        let machine = MachineFixture::new();
        machine.write("proc/9/comm", "qemu\n");
        machine.write(
            "proc/locks",
            "1: POSIX  ADVISORY  WRITE 9 08:01:77 0 EOF\n\
             2: OFDLCK ADVISORY  READ -1 08:01:77 100 101\n\
             2: -> FLOCK  ADVISORY  WRITE 9 08:01:77 0 EOF\n\
             3: FLOCK  ADVISORY  WRITE 9 08:01:78 0 EOF\n",
        );
        let file = FileId { device: libc::makedev(8, 1), inode: 77 };
        let expected =
            ["FLOCK lock of qemu (process 9)", "OFDLCK lock", "POSIX lock of qemu (process 9)"];
        assert_eq!(locks_on(&[file].into(), &machine.roots).unwrap(), expected);
        fs::remove_file(machine.path("proc/locks")).unwrap();
        assert!(locks_on(&[file].into(), &machine.roots).is_err());
    }

    #[test]
    fn only_the_first_process_may_be_hidden_and_only_from_an_administrator() {
        let machine = MachineFixture::new();
        let denied = io::Error::from_raw_os_error(libc::EACCES);
        let hidden = |process: &str| {
            is_hidden_from_all(&machine.roots.proc.join(process), &denied, &machine.roots)
        };
        assert!(!hidden("1"));
        machine.write("proc/self/status", "Name:\tx\nCapEff:\t000001fffeffffff\n");
        assert!(hidden("1") && !hidden("12"));
        machine.write("proc/self/status", "Name:\tx\nCapEff:\t000001fffef7ffff\n");
        assert!(!hidden("1"));
    }

    /// A process that ends may pass its handles to one that is not in the listing yet.
    #[test]
    fn a_process_that_begins_during_the_visit_is_visited() {
        let machine = MachineFixture::new();
        let mut seen = Vec::new();
        visit_threads(&machine.roots, |_, thread| {
            let number: u32 = file_name(thread).parse().unwrap();
            seen.push(number);
            if number < 5 {
                fs::remove_dir_all(machine.path(&format!("proc/{number}"))).unwrap();
                machine.process(number + 1);
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [1, 2, 3, 4, 5]);
        let endless = visit_threads(&machine.roots, |_, thread| {
            let number: u32 = file_name(thread).parse().unwrap();
            machine.process(number + 1);
            Ok(())
        });
        assert!(matches!(endless, Err(HostError::Unclear { .. })), "{endless:?}");
    }

    /// A file of `LENGTH` bytes, and a child with a shared mapping of it.
    struct MappingChild {
        _directory: tempfile::TempDir,
        query: OpenFileQuery,
        pid: libc::pid_t,
    }

    impl MappingChild {
        const LENGTH: usize = 4096;

        /// `then` runs in the child, gets the mapping's address and may only make system calls.
        fn new(address: usize, then: impl FnOnce(usize)) -> MappingChild {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("file");
            fs::write(&path, vec![0; Self::LENGTH]).unwrap();
            let file = fs::File::options().read(true).write(true).open(&path).unwrap();
            let file_id = FileId::from_metadata(&file.metadata().unwrap());
            let query = OpenFileQuery::files([file_id].into());
            let (reader, writer) = io::pipe().unwrap();
            // SAFETY: the child makes system calls only, and never returns.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                // SAFETY: as above; `then` keeps to it.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    let place = map(address, libc::MAP_SHARED, file.as_raw_fd());
                    libc::close(file.as_raw_fd());
                    libc::write(writer.as_raw_fd(), (&raw const place).cast(), size_of::<usize>());
                    then(place);
                    libc::_exit(1);
                }
            }
            assert_ne!(pid, -1);
            drop(writer);
            let mut place = [0; size_of::<usize>()];
            (&reader).read_exact(&mut place).unwrap();
            assert_ne!(usize::from_ne_bytes(place), libc::MAP_FAILED as usize);
            MappingChild { _directory: directory, query, pid }
        }

        fn examine(&self) -> io::Result<MappingState> {
            mapped(&Path::new("/proc").join(self.pid.to_string()), &self.query)
        }
    }

    impl Drop for MappingChild {
        fn drop(&mut self) {
            // SAFETY: a child of this test that nobody else waits for.
            unsafe {
                libc::kill(self.pid, libc::SIGKILL);
                libc::waitpid(self.pid, std::ptr::null_mut(), 0);
            }
        }
    }

    /// Maps a file, or memory if `file` is -1, at this address, or anywhere if it is 0.
    fn map(address: usize, flags: i32, file: i32) -> usize {
        let kind = if file == -1 { libc::MAP_ANONYMOUS } else { 0 };
        let fixed = if address == 0 { 0 } else { libc::MAP_FIXED };
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, flags | kind | fixed);
        let (address, length) = (address as *mut libc::c_void, MappingChild::LENGTH);
        // SAFETY: the caller names an address that nothing uses.
        unsafe { libc::mmap(address, length, protection, flags, file, 0) as usize }
    }

    fn forever() {
        loop {
            // SAFETY: waits for a signal.
            unsafe { libc::pause() };
        }
    }

    /// `maps` pads an address of less than eight digits, `map_files` does not.
    #[test]
    fn shared_mappings_are_seen_at_low_and_high_addresses() {
        for address in [0, 0x0700_0000] {
            let mut child = MappingChild::new(address, |_| forever());
            assert!(matches!(child.examine(), Ok(MappingState::Yes)), "{address:x}");
            child.query = OpenFileQuery::files(BTreeSet::new());
            assert!(matches!(child.examine(), Ok(MappingState::No)), "{address:x}");
        }
    }

    /// The mapping lies at one of two places, and is moved from one to the other all the time. At
    /// the other place is memory, or a private mapping of another file.
    #[test]
    fn a_mapping_that_is_moved_during_the_search_is_seen() {
        let other = tempfile::tempfile().unwrap();
        other.set_len(MappingChild::LENGTH as u64).unwrap();
        for other in [-1, other.as_raw_fd()] {
            find_a_moving_mapping(other);
        }
    }

    fn find_a_moving_mapping(other: i32) {
        const SEARCHES: usize = 1000;
        let child = MappingChild::new(0, |place| {
            let (mut from, mut to) = (place, map(0, libc::MAP_PRIVATE, other));
            loop {
                let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                let (old, new) = (from as *mut libc::c_void, to as *mut libc::c_void);
                let length = MappingChild::LENGTH;
                // SAFETY: both places were mapped here, and nobody reads or writes there.
                if unsafe { libc::mremap(old, length, length, flags, new) } == libc::MAP_FAILED {
                    return;
                }
                map(from, libc::MAP_PRIVATE, other);
                (from, to) = (to, from);
            }
        });
        for search in 0..SEARCHES {
            match child.examine() {
                Ok(MappingState::Yes) => {}
                Ok(MappingState::No) => panic!("search {search} found no mapping"),
                Ok(MappingState::Unknown) => panic!("search {search}: the child has ended"),
                // One that never holds still is refused.
                Err(error) => assert!(error.to_string().contains("change faster"), "{error}"),
            }
        }
    }

    /// As a program does that loads its libraries: a list that grew meanwhile is made once more.
    #[test]
    fn a_process_that_keeps_mapping_files_can_be_examined() {
        const PLACES: std::ops::Range<usize> = 0x1000_0000..0x1200_0000;
        let library = tempfile::tempfile().unwrap();
        library.set_len(MappingChild::LENGTH as u64).unwrap();
        let library = library.as_raw_fd();
        let mut child = MappingChild::new(0, |_| {
            loop {
                for place in PLACES.step_by(2 * MappingChild::LENGTH) {
                    map(place, libc::MAP_PRIVATE, library);
                }
                // SAFETY: nothing else lies there.
                unsafe { libc::munmap(PLACES.start as *mut libc::c_void, PLACES.len()) };
            }
        });
        child.query = OpenFileQuery::files(BTreeSet::new());
        for _ in 0..200 {
            match child.examine() {
                Ok(state) => assert!(matches!(state, MappingState::No)),
                Err(error) => assert!(error.to_string().contains("change faster"), "{error}"),
            }
        }
    }

    #[test]
    fn a_container_s_processes_are_not_all() {
        let machine = MachineFixture::new();
        require_all(&machine.roots).unwrap();
        fs::rename(machine.path("proc/1"), machine.path("proc/hidden")).unwrap();
        let error = require_all(&machine.roots).unwrap_err().to_string();
        assert!(error.contains("hidepid"), "{error}");
        fs::rename(machine.path("proc/hidden"), machine.path("proc/1")).unwrap();
        fs::remove_file(machine.path("proc/self/ns/pid")).unwrap();
        assert!(require_all(&machine.roots).is_err());
        symlink("pid:[4026532999]", machine.path("proc/self/ns/pid")).unwrap();
        let error = require_all(&machine.roots).unwrap_err().to_string();
        assert!(error.contains("--pid=host"), "{error}");
    }
}
