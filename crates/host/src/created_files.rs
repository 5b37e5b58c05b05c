//! Files that this process created, which no other process can have used before.

use crate::backing::FileId;
use crate::handles::{handle_path, open_path};
use std::fs::File;
use std::io;
use std::sync::{Mutex, PoisonError};

/// A scratch file created by this process.
struct ScratchFile {
    id: FileId,
    /// `O_PATH` handle that prevents reuse of the inode number.
    _handle: File,
    /// True once the file has been armed.
    is_armed: bool,
}

static CREATED_HERE: Mutex<Vec<ScratchFile>> = Mutex::new(Vec::new());

/// Records a file as created by this process.
pub(crate) fn remember(file: &File) -> io::Result<()> {
    let handle = open_path(&handle_path(file), 0)?;
    let id = FileId::from_metadata(&handle.metadata()?);
    let created = ScratchFile { id, _handle: handle, is_armed: false };
    CREATED_HERE.lock().unwrap_or_else(PoisonError::into_inner).push(created);
    Ok(())
}

/// Returns true if this process created the file.
pub(crate) fn is_created_here(id: FileId) -> bool {
    let created = CREATED_HERE.lock().unwrap_or_else(PoisonError::into_inner);
    created.iter().any(|file| file.id == id)
}

/// Returns true once for each file that this process created: a file that cannot keep a mark needs
/// no confirmation when it is armed for the first time.
pub(crate) fn is_new(id: FileId) -> bool {
    let mut created = CREATED_HERE.lock().unwrap_or_else(PoisonError::into_inner);
    match created.iter_mut().find(|file| file.id == id && !file.is_armed) {
        Some(file) => {
            file.is_armed = true;
            true
        }
        None => false,
    }
}
