//! Locks and leases on an open file: whether anybody else may write to it, and
//! our own lock for as long as it is a target.

use crate::roots::Roots;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// Of fcntl.h; the libc crate does not have it.
const F_SETSIG: i32 = 10;

/// What the kernel counts of a file's writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
    Nobody,
    /// A process, a shared mapping, a loop device, a swap file, a server in the
    /// kernel: anything that has it open for writing.
    Somebody,
    /// The file system keeps no leases, or this user may not take one.
    Unknown,
}

/// Whether anybody has a file open for writing, told by the kernel's own count
/// through a handle that is open for reading only: the kernel grants a read
/// lease only where nobody has (fcntl(2)). It is given back at once.
pub(crate) fn writers(reading: &File) -> Writers {
    // Whoever opens the file in this very moment breaks the lease, and the
    // signal for that must not be SIGIO, which would end this process.
    let told = control(reading, F_SETSIG, libc::SIGURG)
        .and_then(|()| control(reading, libc::F_SETLEASE, libc::F_RDLCK));
    match told {
        Ok(()) => {
            let _ = control(reading, libc::F_SETLEASE, libc::F_UNLCK);
            Writers::Nobody
        }
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Writers::Somebody,
        Err(_) => Writers::Unknown,
    }
}

/// Whether nobody else has a file open at all, for reading either, told by the
/// kernel's own count: a write lease is granted only then. False also where the
/// kernel does not tell.
pub(crate) fn is_alone(reading: &File) -> bool {
    let alone = control(reading, F_SETSIG, libc::SIGURG)
        .and_then(|()| control(reading, libc::F_SETLEASE, libc::F_WRLCK));
    let _ = control(reading, libc::F_SETLEASE, libc::F_UNLCK);
    alone.is_ok()
}

/// Whether some process holds a lock (flock(2)) on a file, read from the kernel's list:
/// nothing is locked for it. `None` where the list cannot be read.
pub fn is_locked(roots: &Roots, file: &File) -> Option<bool> {
    let found = file.metadata().ok()?;
    let list = fs::read_to_string(roots.proc.join("locks")).ok()?;
    let device = (libc::major(found.dev()), libc::minor(found.dev()));
    let is_of_file = |line: &str| {
        let mut words = line.split_whitespace();
        // One that waits for another stands behind an arrow and holds nothing.
        if words.nth(1) != Some("FLOCK") {
            return false;
        }
        let place: Vec<&str> = words.nth(3).unwrap_or_default().split(':').collect();
        let [major, minor, inode] = place[..] else { return false };
        let number = |text| u32::from_str_radix(text, 16).ok();
        (number(major), number(minor)) == (Some(device.0), Some(device.1))
            && inode.parse() == Ok(found.ino())
    };
    Some(list.lines().any(is_of_file))
}

fn control(file: &File, command: i32, value: i32) -> io::Result<()> {
    // SAFETY: these commands take integers; the descriptor is open for as long
    // as `file`.
    match unsafe { libc::fcntl(file.as_raw_fd(), command, value) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Takes a file or a device node for this handle alone, until it is closed:
/// against other runs and what asks with flock(2), and against what asks with
/// fcntl(2), as QEMU does. False where somebody has a lock. A file system
/// without locks cannot tell and lets everybody.
pub(crate) fn take(file: &File) -> io::Result<bool> {
    // SAFETY: takes only integers; the descriptor is open for as long as `file`.
    let whole = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    if !granted(whole)? {
        return Ok(false);
    }
    // SAFETY: flock is plain integers, for which all zeros is a value: a range
    // from the start to whatever the end will be, and no process.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = libc::F_WRLCK as i16;
    // SAFETY: F_OFD_SETLK reads one flock, which lives through the call.
    granted(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &range) })
}

fn granted(result: i32) -> io::Result<bool> {
    if result != -1 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EWOULDBLOCK | libc::EACCES) => Ok(false),
        Some(libc::EOPNOTSUPP | libc::ENOLCK | libc::EINVAL | libc::ENOSYS) => Ok(true),
        _ => Err(error),
    }
}

/// Takes flags away from an open handle.
pub(crate) fn clear_flags(file: &File, flags: i32) -> io::Result<()> {
    // SAFETY: F_GETFL takes no argument; the descriptor is open for as long as
    // `file`.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) } {
        -1 => Err(io::Error::last_os_error()),
        now => control(file, libc::F_SETFL, now & !flags),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};
    use std::thread;
    use std::time::{Duration, Instant};

    /// Waits for what is so once another test's child has become another program: until then it
    /// has copies of all handles.
    fn wait_until(is_so: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end && !is_so() {
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
        if writers(&ours) == Writers::Unknown {
            use std::io::Write;
            let told = "SKIPPED: a_writer_is_seen_by_the_kernel_s_count: no leases here\n";
            return io::stderr().write_all(told.as_bytes()).unwrap();
        }
        wait_until(|| writers(&ours) == Writers::Nobody);
        assert_eq!(writers(&ours), Writers::Nobody);
        assert!(!is_alone(&ours));
        let writer = OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!(writers(&ours), Writers::Somebody);
        drop((writer, reader));
        wait_until(|| writers(&ours) == Writers::Nobody && is_alone(&ours));
        assert_eq!(writers(&ours), Writers::Nobody);
        assert!(is_alone(&ours));
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
