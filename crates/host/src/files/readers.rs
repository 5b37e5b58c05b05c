//! Read permissions of the files that this program writes.

use super::calls;
use super::error::FileError;
use crate::user::is_root;
use std::ffi::CString;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Read permissions of a new file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ReadAccess {
    /// Files of root are readable by root only, since they show who did what on this host. Files
    /// of other users follow their umask.
    #[default]
    Usual,
    /// The owner only.
    Owner,
    /// The owner and the members of a group.
    Group(u32),
    /// The same as another file in the directory.
    Like {
        /// Permission bits of the other file.
        mode: u32,
        /// Group ID of the other file.
        group: u32,
    },
}

impl ReadAccess {
    /// Returns the permission for a group, given by name or ID.
    ///
    /// # Errors
    /// Returns [`FileError::NoGroup`] if this host does not know the group.
    pub fn of_group(name: &str) -> Result<ReadAccess, FileError> {
        if let Ok(number) = name.parse() {
            return Ok(ReadAccess::Group(number));
        }
        let unknown = || FileError::NoGroup(name.to_owned());
        let text = CString::new(name).map_err(|_| unknown())?;
        let group = calls::group_id(&text);
        let group = group.map_err(FileError::io("look up the group", Path::new(name)))?;
        group.map(ReadAccess::Group).ok_or_else(unknown)
    }

    /// Returns the permissions of another file. Only the owner may write: root's file next to
    /// another user's stays root's.
    pub fn like(file: &Metadata) -> ReadAccess {
        ReadAccess::Like { mode: file.mode() & 0o644, group: file.gid() }
    }

    /// Returns the mode to create a file or directory with, before others get access.
    pub(super) fn first_mode(self, is_directory: bool) -> u32 {
        match (self, is_directory) {
            (ReadAccess::Usual, true) if !is_root() => 0o777,
            (ReadAccess::Usual, false) if !is_root() => 0o666,
            (_, true) => 0o700,
            (_, false) => 0o600,
        }
    }

    /// Sets the final permissions, regardless of the umask.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    pub fn grant(self, file: &File, is_directory: bool) -> io::Result<()> {
        let (mut mode, group) = match self {
            ReadAccess::Usual if !is_root() => return Ok(()),
            ReadAccess::Usual | ReadAccess::Owner => (0o600, None),
            ReadAccess::Group(group) => (0o640, Some(group)),
            ReadAccess::Like { mode, group } => (mode, Some(group)),
        };
        if let Some(group) = group.filter(|group| file.metadata().is_ok_and(|m| m.gid() != *group))
        {
            match (fchown(file, None, Some(group)), self) {
                // A user outside the group removes the group's access instead of failing.
                (Err(_), ReadAccess::Like { .. }) => mode &= 0o606,
                (done, _) => done?,
            }
        }
        // Whoever may list a directory may enter it.
        let enter = if is_directory { (mode & 0o444) >> 2 } else { 0 };
        file.set_permissions(Permissions::from_mode(mode | enter))
    }
}
