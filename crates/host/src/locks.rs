//! Locks and leases on open files: detects other writers, and locks a target while it is in use.

use crate::roots::Roots;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

/// `F_SETSIG` of fcntl.h, which the libc crate lacks.
const F_SETSIG: i32 = 10;

/// Writers of a file, by the kernel's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writers {
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
pub(crate) fn writers(reading: &File) -> Writers {
    // A process that opens the file at this moment breaks the lease. The signal for that must not
    // be SIGIO, which would terminate this process; SIGURG is ignored by default.
    let lease = control(reading, F_SETSIG, libc::SIGURG)
        .and_then(|()| control(reading, libc::F_SETLEASE, libc::F_RDLCK));
    match lease {
        Ok(()) => {
            let _ = control(reading, libc::F_SETLEASE, libc::F_UNLCK);
            Writers::Nobody
        }
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Writers::Somebody,
        Err(_) => Writers::Unknown,
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
/// lock itself. `None` if the list cannot be read.
pub fn is_locked(roots: &Roots, file: &File) -> Option<bool> {
    let found = file.metadata().ok()?;
    let list = fs::read_to_string(roots.proc.join("locks")).ok()?;
    let device = (libc::major(found.dev()), libc::minor(found.dev()));
    let is_of_file = |line: &str| {
        let mut words = line.split_whitespace();
        // A waiting lock request is marked with an arrow and holds nothing.
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
    // SAFETY: flock takes integers; the descriptor is open as long as `file` exists.
    let whole = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    if !granted(whole)? {
        return Ok(false);
    }
    // SAFETY: flock consists of integers, for which zero is valid: the range from the start to the
    // end of the file, however it grows, and no process.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = libc::F_WRLCK as i16;
    // SAFETY: F_OFD_SETLK reads one flock, which outlives the call.
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

/// Clears status flags of an open handle.
pub(crate) fn clear_flags(file: &File, flags: i32) -> io::Result<()> {
    // SAFETY: F_GETFL takes no argument; the descriptor is open as long as `file` exists.
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
        if writers(&ours) == Writers::Unknown {
            use std::io::Write;
            let notice = "SKIPPED: a_writer_is_seen_by_the_kernel_s_count: no leases here\n";
            return io::stderr().write_all(notice.as_bytes()).unwrap();
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
