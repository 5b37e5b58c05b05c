//! Errors of creating and reading files.

use super::resolve::{ForeignControl, ResolveError};
use crate::user::permission_advice;
use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// A file or directory could not be created or read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The name is in use.
    #[error("{0} exists; --force overwrites it")]
    Exists(PathBuf),
    /// The name is in use by something that is never overwritten.
    #[error("{path} exists and is {kind}; only regular files are overwritten: give another name")]
    NotRegular {
        /// Path that is in use.
        path: PathBuf,
        /// File type found there.
        kind: &'static str,
    },
    /// The file to be read is not a regular file.
    #[error("{path} is {kind}; only regular files are read")]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// File type found there.
        kind: &'static str,
    },
    /// The file exceeds the maximum size of its kind.
    #[error("{path} is larger than {}, the limit for such a file; it was not read", size(*.most))]
    TooLong {
        /// Path of the file.
        path: PathBuf,
        /// Maximum size in bytes.
        most: u64,
    },
    /// A file is not text.
    #[error("{0} is not a text file (UTF-8)")]
    NotText(PathBuf),
    /// The unfinished file was removed or replaced.
    #[error(
        "{0} cannot be written: another process removed or replaced its unfinished file; \
         repeat the command"
    )]
    Interfered(PathBuf),
    /// A directory that must be private can be changed by others.
    #[error("{path} {why}, so its content cannot be trusted; remove it as root: rm -r {path}")]
    NotPrivate {
        /// Path of the directory.
        path: PathBuf,
        /// Property that makes it unsafe.
        why: &'static str,
    },
    /// Root would work in a directory that another user can write to.
    #[error(
        "{path} {why}, so another user can exchange the files in it; name a directory that does \
         not exist yet, or one that only root can write to"
    )]
    Foreign {
        /// Path of the directory.
        path: PathBuf,
        /// Owner of the directory, or who else can write to it.
        why: String,
    },
    /// Another user controls where a path leads.
    #[error(
        "{path}: {} {}, so another user decides where this path leads; name the place by a path \
         without links and '..'", control.place.display(), control.why
    )]
    Misleading {
        /// Path as given.
        path: PathBuf,
        /// Directory or link that gives the control.
        control: ForeignControl,
    },
    /// Another user can replace a directory that root would work in.
    #[error(
        "{path}: {} {}, so another user can exchange this directory for another; choose one below \
         directories that only root can change", control.place.display(), control.why
    )]
    Exchangeable {
        /// Path of the directory.
        path: PathBuf,
        /// Directory or link that gives the control.
        control: ForeignControl,
    },
    /// The output would go into a run directory.
    #[error("{0} is in a run directory, which takes no other files; give another directory")]
    InRunDirectory(PathBuf),
    /// The output would replace a file that the command reads.
    #[error("{0} is also an input of this command, which would be lost; give another name")]
    IsInput(PathBuf),
    /// An unknown group.
    #[error("there is no group '{0}' on this host; getent group lists them")]
    NoGroup(String),
    /// The system refused a call.
    #[error("{path}: cannot {action}: {source}{}", advice(.action, .source))]
    Io {
        /// Action that failed, as a verb phrase.
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error that the kernel returned.
        source: io::Error,
    },
}

impl FileError {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| FileError::Io { action, path, source }
    }

    pub(super) fn from_resolve(path: &Path, why: ResolveError) -> FileError {
        match why {
            ResolveError::Io(error) => FileError::io("open the directory", path)(error),
            ResolveError::Foreign(control) => {
                FileError::Misleading { path: path.to_owned(), control }
            }
        }
    }

    /// Returns true if the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, FileError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Returns true if a path that should be a directory is none.
    pub fn is_not_a_directory(&self) -> bool {
        matches!(self, FileError::Io { source, .. } if source.kind() == io::ErrorKind::NotADirectory)
    }
}

/// Actions on a file that should exist, for [`FileError::io`].
pub(super) const OPEN: &str = "open it";
pub(super) const READ: &str = "read it";
pub(super) const EXAMINE: &str = "examine it";

fn advice(action: &str, source: &io::Error) -> &'static str {
    let reads = [OPEN, READ, EXAMINE].contains(&action);
    match source.kind() {
        io::ErrorKind::PermissionDenied if reads => {
            permission_advice("; run as root, or as its owner")
        }
        io::ErrorKind::PermissionDenied => {
            permission_advice("; run as root, or choose a place that you may write to")
        }
        io::ErrorKind::NotFound if !reads => "; create its directory first",
        _ => "",
    }
}

/// Returns a number of bytes in KiB, or in MiB if it is a multiple.
fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{} MiB", bytes >> 20)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}

/// Returns the file type in words, for anything but a regular file.
pub(super) fn kind(file_type: FileType) -> &'static str {
    if file_type.is_symlink() {
        "a symbolic link"
    } else if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else if file_type.is_block_device() || file_type.is_char_device() {
        "a device"
    } else {
        "not a regular file"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_printed_in_the_unit_that_fits() {
        for (most, shown) in [(64 << 10, "64 KiB"), (64 << 20, "64 MiB"), (2 << 30, "2048 MiB")] {
            let error = FileError::TooLong { path: "text".into(), most }.to_string();
            assert!(error.starts_with(&format!("text is larger than {shown},")), "{error}");
        }
    }
}
