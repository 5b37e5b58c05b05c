//! Opens files for checks, and finds the path of an open file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Opens a file for reading; does not block on a pipe, a lease or a removable medium.
pub(crate) fn open_for_reading(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)
}

/// Opens a path by `O_PATH` and more flags, which only identifies the file.
pub(crate) fn open_path(path: &Path, flags: i32) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_CLOEXEC | flags).open(path)
}

/// Returns a path that refers to exactly this open file; valid only in this process.
pub(crate) fn handle_path(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
