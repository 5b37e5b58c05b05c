//! Files that this process created, which no other process can have used before.

use crate::backing::FileId;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::{Mutex, PoisonError};

/// A scratch file created by this process.
struct ScratchFile {
    id: FileId,
    /// `O_PATH` handle that prevents reuse of the inode number.
    _handle: File,
    /// True once the file has been armed.
    is_armed: bool,
}

static MADE_HERE: Mutex<Vec<ScratchFile>> = Mutex::new(Vec::new());

/// Records a file as created by this process.
pub(crate) fn remember(file: &File) -> io::Result<()> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = libc::O_PATH | libc::O_CLOEXEC;
    let handle = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let id = FileId::from_metadata(&handle.metadata()?);
    let made = ScratchFile { id, _handle: handle, is_armed: false };
    MADE_HERE.lock().unwrap_or_else(PoisonError::into_inner).push(made);
    Ok(())
}

/// Returns true if this process created the file.
pub(crate) fn is_made_here(id: FileId) -> bool {
    let made = MADE_HERE.lock().unwrap_or_else(PoisonError::into_inner);
    made.iter().any(|file| file.id == id)
}

/// Returns true once for each file that this process created: a file that cannot keep a mark needs
/// no confirmation when it is armed for the first time.
pub(crate) fn is_new(id: FileId) -> bool {
    let mut made = MADE_HERE.lock().unwrap_or_else(PoisonError::into_inner);
    let found = made.iter_mut().find(|file| file.id == id && !file.is_armed);
    found.is_some_and(|file| {
        file.is_armed = true;
        true
    })
}
