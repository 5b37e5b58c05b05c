//! System calls relative to an open directory. One that a signal interrupts is repeated: the
//! directory may be on FUSE, NFS or another slow file system.

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, RenameFlags, ResolveFlags, linkat, mkdirat, openat, openat2,
    readlinkat, renameat_with, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Opens an entry of a directory without following links. The descriptor is not inherited by child
/// processes.
pub(super) fn open(at: &File, path: &OsStr, flags: OFlags, mode: u32) -> io::Result<File> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = flags | OFlags::CLOEXEC;
    // openat2(2) refuses a mode without O_CREAT.
    let mode = Mode::from_raw_mode(if flags.contains(OFlags::CREATE) { mode } else { 0 });
    let opened = match retry_on_intr(|| openat2(at, path, flags, mode, resolve)) {
        // Kernels before 5.6 lack openat2(2), and some sandboxes answer unknown calls with EPERM.
        // For a single name, openat(2) with O_NOFOLLOW is equivalent.
        Err(Errno::NOSYS | Errno::PERM) if is_single(path) => {
            retry_on_intr(|| openat(at, path, flags | OFlags::NOFOLLOW, mode))
        }
        opened => opened,
    };
    Ok(opened?.into())
}

/// Returns true if a path is a single name that refers to an entry of the directory.
fn is_single(path: &OsStr) -> bool {
    let bytes = path.as_bytes();
    !bytes.contains(&b'/') && !matches!(bytes, b"" | b"." | b"..")
}

/// Opens the parent directory, across mounts.
pub(super) fn open_above(at: &File) -> io::Result<File> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| openat(at, c"..", flags, Mode::empty()))?.into())
}

/// Opens a directory again for listing.
pub(super) fn reopen_directory(at: &File) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(retry_on_intr(|| openat(at, c".", flags, Mode::empty()))?.into())
}

/// Reads the target of an open symbolic link.
pub(super) fn read_link(link: &File) -> io::Result<OsString> {
    Ok(OsString::from_vec(readlinkat(link, c"", Vec::new())?.into_bytes()))
}

/// Lists the names in a directory.
pub(super) fn list_names(at: &File) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::new(reopen_directory(at)?)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

/// Creates a directory in an open one.
pub(super) fn make_directory(at: &File, path: &OsStr, mode: u32) -> io::Result<()> {
    Ok(retry_on_intr(|| mkdirat(at, path, Mode::from_raw_mode(mode)))?)
}

pub(super) fn remove(at: &File, path: &OsStr) -> io::Result<()> {
    Ok(retry_on_intr(|| unlinkat(at, path, AtFlags::empty()))?)
}

/// Removes an empty directory.
pub(super) fn remove_directory(at: &File, path: &OsStr) -> io::Result<()> {
    Ok(retry_on_intr(|| unlinkat(at, path, AtFlags::REMOVEDIR))?)
}

/// Renames an entry within a directory.
pub(super) fn rename(at: &File, from: &OsStr, to: &OsStr, flags: RenameFlags) -> io::Result<()> {
    Ok(retry_on_intr(|| renameat_with(at, from, at, to, flags))?)
}

/// Creates a hard link under a new name.
pub(super) fn link(at: &File, from: &OsStr, to: &OsStr) -> io::Result<()> {
    Ok(retry_on_intr(|| linkat(at, from, at, to, AtFlags::empty()))?)
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
