//! System calls relative to an open directory.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;

/// A name as the kernel takes it.
fn name(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn checked(answer: libc::c_int) -> io::Result<libc::c_int> {
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Opens a name in a directory; never inherited by another program.
pub(super) fn open(at: &File, path: &OsStr, flags: i32, mode: u32) -> io::Result<File> {
    let path = name(path)?;
    // SAFETY: `path` ends with NUL and outlives the call; `at` is open.
    let answer =
        unsafe { libc::openat(at.as_raw_fd(), path.as_ptr(), flags | libc::O_CLOEXEC, mode) };
    let file = checked(answer)?;
    // SAFETY: the kernel just gave this descriptor to us alone.
    Ok(unsafe { File::from_raw_fd(file) })
}

pub(super) fn make_directory(at: &File, path: &OsStr, mode: u32) -> io::Result<()> {
    let path = name(path)?;
    // SAFETY: `path` ends with NUL and outlives the call; `at` is open.
    checked(unsafe { libc::mkdirat(at.as_raw_fd(), path.as_ptr(), mode) }).map(drop)
}

pub(super) fn remove(at: &File, path: &OsStr) -> io::Result<()> {
    let path = name(path)?;
    // SAFETY: `path` ends with NUL and outlives the call; `at` is open.
    checked(unsafe { libc::unlinkat(at.as_raw_fd(), path.as_ptr(), 0) }).map(drop)
}

/// Gives a file another name of the same directory; `flags` as of `renameat2`.
pub(super) fn rename(at: &File, from: &OsStr, to: &OsStr, flags: u32) -> io::Result<()> {
    let (from, to, at) = (name(from)?, name(to)?, at.as_raw_fd());
    // SAFETY: both names end with NUL and outlive the call; `at` is open.
    checked(unsafe { libc::renameat2(at, from.as_ptr(), at, to.as_ptr(), flags) }).map(drop)
}

/// Gives a file a second name, which nothing has yet.
pub(super) fn link(at: &File, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to, at) = (name(from)?, name(to)?, at.as_raw_fd());
    // SAFETY: both names end with NUL and outlive the call; `at` is open.
    checked(unsafe { libc::linkat(at, from.as_ptr(), at, to.as_ptr(), 0) }).map(drop)
}

/// The user that this process acts as.
pub(super) fn user() -> u32 {
    // SAFETY: geteuid has no preconditions and cannot fail.
    unsafe { libc::geteuid() }
}

/// The number of a group; `None` where the host knows none of that name.
pub(super) fn group(name: &CStr) -> io::Result<Option<u32>> {
    // Groups of a directory service can have very many members.
    let mut names = vec![0 as libc::c_char; 1 << 20];
    // SAFETY: all zeros is a valid `group`: null pointers and numbers.
    let mut entry: libc::group = unsafe { std::mem::zeroed() };
    let mut found = std::ptr::null_mut();
    // SAFETY: every pointer is valid for the call, and the length is the buffer's.
    let answer = unsafe {
        libc::getgrnam_r(name.as_ptr(), &mut entry, names.as_mut_ptr(), names.len(), &mut found)
    };
    match answer {
        0 => Ok((!found.is_null()).then_some(entry.gr_gid)),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
