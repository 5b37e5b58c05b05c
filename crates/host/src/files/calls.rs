//! System calls relative to an open directory.

use crate::retry::uninterrupted;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

fn c_string(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Opens an entry of a directory without following links. The descriptor is not inherited by child
/// processes.
pub(super) fn open(at: &File, path: &OsStr, flags: i32, mode: u32) -> io::Result<File> {
    let resolve = libc::RESOLVE_BENEATH | libc::RESOLVE_NO_SYMLINKS | libc::RESOLVE_NO_MAGICLINKS;
    // SAFETY: all zeros is a valid `open_how`, a struct of numbers.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.mode = u64::from(if flags & libc::O_CREAT == 0 { 0 } else { mode });
    how.resolve = resolve;
    let text = c_string(path)?;
    let size = std::mem::size_of::<libc::open_how>();
    // SAFETY: `text` ends with NUL, `how` is of this size, and both outlive the call; `at` is open.
    let opened = uninterrupted(|| unsafe {
        libc::syscall(libc::SYS_openat2, at.as_raw_fd(), text.as_ptr(), &raw const how, size)
    });
    let descriptor = match opened {
        Ok(descriptor) => descriptor as libc::c_int,
        Err(error) if lacks_openat2(&error) && is_single(path) => {
            // For a single name, openat(2) with O_NOFOLLOW is equivalent.
            let flags = flags | libc::O_NOFOLLOW | libc::O_CLOEXEC;
            // SAFETY: `text` ends with NUL and outlives the call; `at` is open.
            uninterrupted(|| unsafe { libc::openat(at.as_raw_fd(), text.as_ptr(), flags, mode) })?
        }
        Err(error) => return Err(error),
    };
    // SAFETY: the kernel just gave this descriptor to us alone.
    Ok(unsafe { File::from_raw_fd(descriptor) })
}

/// Returns true if openat2(2) is missing: kernels before 5.6 lack it, and some sandboxes answer
/// unknown calls with EPERM.
fn lacks_openat2(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM))
}

/// Opens the parent directory, across mounts.
pub(super) fn open_above(at: &File) -> io::Result<File> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the name ends with NUL; `at` is open.
    let file = uninterrupted(|| unsafe { libc::openat(at.as_raw_fd(), c"..".as_ptr(), flags) })?;
    // SAFETY: the kernel just gave this descriptor to us alone.
    Ok(unsafe { File::from_raw_fd(file) })
}

/// Opens a directory again for listing.
pub(super) fn reopen_directory(at: &File) -> io::Result<File> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the name ends with NUL; `at` is open.
    let file = uninterrupted(|| unsafe { libc::openat(at.as_raw_fd(), c".".as_ptr(), flags) })?;
    // SAFETY: the kernel just gave this descriptor to us alone.
    Ok(unsafe { File::from_raw_fd(file) })
}

/// Reads the target of an open symbolic link.
pub(super) fn read_link(link: &File) -> io::Result<OsString> {
    let mut text = vec![0u8; libc::PATH_MAX as usize];
    // SAFETY: the empty name ends with NUL, the buffer is as long as said; `link` is open.
    let length = unsafe {
        libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), text.as_mut_ptr().cast(), text.len())
    };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    text.truncate(length);
    Ok(OsString::from_vec(text))
}

/// Lists the names in a directory.
pub(super) fn list_names(at: &File) -> io::Result<Vec<OsString>> {
    let listed = reopen_directory(at)?;
    // SAFETY: the descriptor is open, and the stream takes it over below.
    let stream = unsafe { libc::fdopendir(listed.as_raw_fd()) };
    if stream.is_null() {
        return Err(io::Error::last_os_error());
    }
    std::mem::forget(listed);
    let mut names = Vec::new();
    let ended = loop {
        // SAFETY: errno is this thread's own; `readdir` reports an error by it alone.
        unsafe { *libc::__errno_location() = 0 };
        // SAFETY: the stream is open, and only this thread reads it.
        let entry = unsafe { libc::readdir(stream) };
        if entry.is_null() {
            break io::Error::last_os_error();
        }
        // SAFETY: the entry is valid until the next call, and its name ends with NUL.
        let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) }.to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    };
    // SAFETY: the stream is open and not used any more.
    unsafe { libc::closedir(stream) };
    if ended.raw_os_error() == Some(0) { Ok(names) } else { Err(ended) }
}

/// Returns true if a path is a single name that refers to an entry of the directory.
fn is_single(path: &OsStr) -> bool {
    let bytes = path.as_bytes();
    !bytes.contains(&b'/') && !matches!(bytes, b"" | b"." | b"..")
}

/// Creates a directory in an open one.
pub(super) fn make_directory(at: &File, path: &OsStr, mode: u32) -> io::Result<()> {
    let path = c_string(path)?;
    // SAFETY: `path` ends with NUL and outlives the call; `at` is open.
    uninterrupted(|| unsafe { libc::mkdirat(at.as_raw_fd(), path.as_ptr(), mode) }).map(drop)
}

pub(super) fn remove(at: &File, path: &OsStr) -> io::Result<()> {
    let path = c_string(path)?;
    // SAFETY: `path` ends with NUL and outlives the call; `at` is open.
    uninterrupted(|| unsafe { libc::unlinkat(at.as_raw_fd(), path.as_ptr(), 0) }).map(drop)
}

/// Removes an empty directory.
pub(super) fn remove_directory(at: &File, path: &OsStr) -> io::Result<()> {
    let path = c_string(path)?;
    let flags = libc::AT_REMOVEDIR;
    // SAFETY: `path` ends with NUL and outlives the call; `at` is open.
    uninterrupted(|| unsafe { libc::unlinkat(at.as_raw_fd(), path.as_ptr(), flags) }).map(drop)
}

/// Renames an entry within a directory; `flags` as for renameat2(2).
pub(super) fn rename(at: &File, from: &OsStr, to: &OsStr, flags: u32) -> io::Result<()> {
    let (from, to, at) = (c_string(from)?, c_string(to)?, at.as_raw_fd());
    // SAFETY: both names end with NUL and outlive the call; `at` is open.
    uninterrupted(|| unsafe { libc::renameat2(at, from.as_ptr(), at, to.as_ptr(), flags) })
        .map(drop)
}

/// Creates a hard link under a new name.
pub(super) fn link(at: &File, from: &OsStr, to: &OsStr) -> io::Result<()> {
    let (from, to, at) = (c_string(from)?, c_string(to)?, at.as_raw_fd());
    // SAFETY: both names end with NUL and outlive the call; `at` is open.
    uninterrupted(|| unsafe { libc::linkat(at, from.as_ptr(), at, to.as_ptr(), 0) }).map(drop)
}

/// Returns the ID of a group; `None` if this host does not know the name.
pub(super) fn group_id(name: &CStr) -> io::Result<Option<u32>> {
    // Groups of a directory service may have a very long member list.
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
