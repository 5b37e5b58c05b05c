//! Who may read what this program writes.

use super::calls;
use super::error::FileError;
use std::ffi::CString;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Who may read a new file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Readers {
    /// What root writes, root alone: it says who did what on this host. What
    /// another user writes, whoever their umask lets.
    #[default]
    Usual,
    /// The owner alone.
    Owner,
    /// The owner, and the members of this group.
    Group(u32),
    /// The same as another file that lies beside it.
    Like {
        /// Its permissions.
        mode: u32,
        /// Its group.
        group: u32,
    },
}

impl Readers {
    /// That of a group, by its name or number.
    ///
    /// # Errors
    /// Where this host knows no such group.
    pub fn of_group(name: &str) -> Result<Readers, FileError> {
        if let Ok(number) = name.parse() {
            return Ok(Readers::Group(number));
        }
        let unknown = || FileError::NoGroup(name.to_owned());
        let text = CString::new(name).map_err(|_| unknown())?;
        let found = calls::group(&text);
        let found = found.map_err(FileError::io("look up the group", Path::new(name)))?;
        found.map(Readers::Group).ok_or_else(unknown)
    }

    /// That of another file. Writing is its owner's alone: what root writes next to another
    /// user's file stays root's.
    pub fn like(file: &Metadata) -> Readers {
        Readers::Like { mode: file.mode() & 0o644, group: file.gid() }
    }

    /// What a file or directory is made with, before anybody else is let in.
    pub(super) fn first_mode(self, is_directory: bool) -> u32 {
        match (self, is_directory) {
            (Readers::Usual, true) if calls::user() != 0 => 0o777,
            (Readers::Usual, false) if calls::user() != 0 => 0o666,
            (_, true) => 0o700,
            (_, false) => 0o600,
        }
    }

    /// Lets in whoever should be; whatever the umask, and only then.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn grant(self, file: &File, is_directory: bool) -> io::Result<()> {
        let (mut mode, group) = match self {
            Readers::Usual if calls::user() != 0 => return Ok(()),
            Readers::Usual | Readers::Owner => (0o600, None),
            Readers::Group(group) => (0o640, Some(group)),
            Readers::Like { mode, group } => (mode, Some(group)),
        };
        if let Some(group) = group.filter(|group| file.metadata().is_ok_and(|m| m.gid() != *group))
        {
            match (fchown(file, None, Some(group)), self) {
                // Who is not of that group shuts it out rather than write nothing.
                (Err(_), Readers::Like { .. }) => mode &= 0o606,
                (done, _) => done?,
            }
        }
        // Whoever may read a directory's names may enter it.
        let enter = if is_directory { (mode & 0o444) >> 2 } else { 0 };
        file.set_permissions(Permissions::from_mode(mode | enter))
    }
}
