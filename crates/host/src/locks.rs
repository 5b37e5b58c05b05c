//! Locks and leases on open files: detects other writers, and locks a target while it is in use.

use crate::backing::FileId;
use crate::device_number::encode_dev;
use crate::mounts::{mount_id_of, mounts};
use crate::processes::has_flock;
use crate::system_roots::SystemRoots;
use rustix::fs::{FlockOperation, OFlags, fcntl_getfl, fcntl_setfl, flock};
use rustix::io::{Errno, retry_on_intr};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `F_SETSIG` of fcntl.h, which the libc crate lacks.
const F_SETSIG: i32 = 10;

/// Writers of a file, by the kernel's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriterPresence {
    Nobody,
    /// A process, a shared mapping, a loop device, a swap file or a kernel server has the file
    /// open for writing.
    Somebody,
    /// The file system does not support leases, or this user may not take one.
    Unknown,
}

/// Returns whether a file is open for writing anywhere, through a handle that is open for reading
/// only: the kernel grants a read lease only if the file has no writer (fcntl(2)). Releases the
/// lease at once.
pub(crate) fn writers(reading: &File) -> WriterPresence {
    // A process that opens the file at this moment breaks the lease. The signal for that must not
    // be SIGIO, which would terminate this process; SIGURG is ignored by default.
    let lease = control(reading, F_SETSIG, libc::SIGURG)
        .and_then(|()| control(reading, libc::F_SETLEASE, libc::F_RDLCK));
    match lease {
        Ok(()) => {
            let _ = control(reading, libc::F_SETLEASE, libc::F_UNLCK);
            WriterPresence::Nobody
        }
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => WriterPresence::Somebody,
        Err(_) => WriterPresence::Unknown,
    }
}

/// Returns true if no other handle to a file is open, not even for reading: the kernel grants a
/// write lease only then. Also returns false if leases are unavailable.
pub(crate) fn is_alone(reading: &File) -> bool {
    let alone = control(reading, F_SETSIG, libc::SIGURG)
        .and_then(|()| control(reading, libc::F_SETLEASE, libc::F_WRLCK));
    let _ = control(reading, libc::F_SETLEASE, libc::F_UNLCK);
    alone.is_ok()
}

/// Returns true if a process holds a lock (flock(2)) on a file. Reads `/proc/locks` and takes no
/// lock itself. `None` if that cannot be determined.
pub fn is_locked(roots: &SystemRoots, file: &File) -> Option<bool> {
    let id = FileId::from_metadata(&file.metadata().ok()?);
    // On btrfs and overlays, the list has the device number of the mount, not that of `stat`.
    let id_by_mount = mount_number(roots, file).map(|device| FileId { device, ..id });
    let files: BTreeSet<FileId> = id_by_mount.into_iter().chain([id]).collect();
    let is_found = has_flock(&files, roots).ok()?;
    if is_found { Some(true) } else { id_by_mount.map(|_| false) }
}

/// Returns the device number in the list of mounts; `None` if the file's mount is not listed.
fn mount_number(roots: &SystemRoots, file: &File) -> Option<u64> {
    let id = mount_id_of(file)?;
    let mounts = mounts(roots).ok()?;
    Some(encode_dev(mounts.iter().find(|mount| mount.id == id)?.number))
}

fn control(file: &File, command: i32, value: i32) -> io::Result<()> {
    // SAFETY: these commands take integers; the descriptor is open as long as `file` exists.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Locks a file or a device node exclusively until the handle is closed: with flock(2) against
/// other runs, and with fcntl(2) against programs such as QEMU. Returns false if another process
/// holds a lock. Returns true on a file system without locks, which gives no protection.
pub(crate) fn take(file: &File) -> io::Result<bool> {
    let whole = || flock(file, FlockOperation::NonBlockingLockExclusive);
    Ok(granted(retry_on_intr(whole))? && granted(retry_on_intr(|| lock_range(file)))?)
}

/// Locks the range from the start to the end of a file, however it grows, with fcntl(2).
fn lock_range(file: &File) -> Result<(), Errno> {
    // SAFETY: flock consists of integers, for which zero is valid: the whole file and no process.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = libc::F_WRLCK as i16;
    // SAFETY: F_OFD_SETLK reads one flock, which outlives the call.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &range) } {
        -1 => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
        _ => Ok(()),
    }
}

fn granted(result: Result<(), Errno>) -> io::Result<bool> {
    match result {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL | Errno::NOSYS) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::ACCESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Clears status flags of an open handle.
pub(crate) fn clear_flags(file: &File, flags: i32) -> io::Result<()> {
    let cleared = OFlags::from_bits_retain(flags as u32);
    Ok(fcntl_setfl(file, fcntl_getfl(file)?.difference(cleared))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;
    use crate::testing::skip;
    use std::fs::{self, OpenOptions};
    use std::os::unix::fs::MetadataExt;
    use std::thread;
    use std::time::{Duration, Instant};

    /// Waits until a condition holds, for at most 20 s. Between fork and exec, a child of another
    /// test has copies of all handles.
    fn wait_until(holds: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end && !holds() {
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_writer_is_seen_by_the_kernel_s_count_and_a_reader_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "x").unwrap();
        let ours = File::open(&path).unwrap();
        let reader = File::open(&path).unwrap();
        if writers(&ours) == WriterPresence::Unknown {
            return skip("no leases here");
        }
        wait_until(|| writers(&ours) == WriterPresence::Nobody);
        assert_eq!(writers(&ours), WriterPresence::Nobody);
        assert!(!is_alone(&ours));
        let writer = OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!(writers(&ours), WriterPresence::Somebody);
        drop((writer, reader));
        wait_until(|| writers(&ours) == WriterPresence::Nobody && is_alone(&ours));
        assert_eq!(writers(&ours), WriterPresence::Nobody);
        assert!(is_alone(&ours));
    }

    #[test]
    fn a_lock_is_found_under_the_number_of_stat_or_of_the_mount() {
        let machine = MachineFixture::new();
        machine.write("journal", "x");
        let file = File::open(machine.path("journal")).unwrap();
        let found = file.metadata().unwrap();
        let number =
            |device: u64| format!("{:02x}:{:02x}", libc::major(device), libc::minor(device));
        let (own, mounted) = (number(found.dev()), number(libc::makedev(0, 77)));
        let inode = found.ino();
        let id = mount_id_of(&file).unwrap();
        let table = format!("{id} 1 0:77 / / rw - btrfs /dev/sda1 rw\n");
        machine.write("proc/self/mountinfo", &table);
        for (list, locked) in [
            (String::new(), false),
            (format!("1: FLOCK  ADVISORY  WRITE 7 {own}:{inode} 0 EOF\n"), true),
            (format!("1: FLOCK  ADVISORY  WRITE 7 {mounted}:{inode} 0 EOF\n"), true),
            (format!("1: FLOCK  ADVISORY  WRITE 7 {mounted}:{} 0 EOF\n", inode + 1), false),
            (format!("1: FLOCK  ADVISORY  WRITE 7 fe:fe:{inode} 0 EOF\n"), false),
            (format!("1: POSIX  ADVISORY  WRITE 7 {own}:{inode} 0 EOF\n"), false),
        ] {
            machine.write("proc/locks", &list);
            assert_eq!(is_locked(&machine.roots, &file), Some(locked), "{list}");
        }
        machine.mount(&[]);
        assert_eq!(is_locked(&machine.roots, &file), None, "its mount is not listed");
        machine.write("proc/self/mountinfo", &table);
        fs::remove_file(machine.path("proc/locks")).unwrap();
        assert_eq!(is_locked(&machine.roots, &file), None);
    }

    #[test]
    fn a_lock_is_taken_once() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || OpenOptions::new().read(true).write(true).open(file.path()).unwrap();
        let (first, second) = (open(), open());
        assert!(take(&first).unwrap() && take(&first).unwrap());
        assert!(!take(&second).unwrap());
        drop(first);
        assert!(take(&second).unwrap());
    }
}
