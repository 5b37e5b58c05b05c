//! Why a file could not be made.

use std::io;
use std::path::{Path, PathBuf};

/// A file or directory could not be made as it should be.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Something has the name already.
    #[error("{0} exists; --force overwrites it")]
    Exists(PathBuf),
    /// Something has the name that is never overwritten.
    #[error("{path} exists and is {kind}; only regular files are overwritten: give another name")]
    NotRegular {
        /// The name.
        path: PathBuf,
        /// What has it.
        kind: &'static str,
    },
    /// The unfinished file is not where it was made.
    #[error(
        "{0} cannot be written: another process removed or replaced its unfinished file; \
         repeat the command"
    )]
    Interfered(PathBuf),
    /// A directory of ours that others can change.
    #[error("{path} {why}, so its content cannot be trusted; remove it as root: rm -r {path}")]
    NotPrivate {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// An unknown group.
    #[error("there is no group '{0}' on this host; getent group lists them")]
    NoGroup(String),
    /// The system refused a call.
    #[error("{path}: cannot {action}: {source}{}", advice(.source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl FileError {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| FileError::Io { action, path, source }
    }

    /// Whether the thing is not there at all.
    pub fn is_missing(&self) -> bool {
        matches!(self, FileError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "; run as root, or choose a place that you may write to",
        io::ErrorKind::NotFound => "; create its directory first",
        _ => "",
    }
}
