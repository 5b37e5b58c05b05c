//! The files through which marks reach running captures.
//!
//! A capture locks its file for as long as it lives, whatever ends it and in whatever PID namespace
//! it runs: an unlocked file is left over.

use crate::error::MarkError;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use steadfast_host::{Directory, Readers, wall_clock_unix_ms};

/// Parent of the directory in which running captures look for marks, `steadfast/captures`. Only
/// root may enter it.
const PLACE: &str = "/run";
const DIRECTORIES: [&str; 2] = ["steadfast", "captures"];

/// The file that [`mark`] appends to, removed when the capture ends.
pub(crate) struct MarkFile {
    directory: Directory,
    name: OsString,
    file: File,
    seen: u64,
}

impl MarkFile {
    pub(crate) fn new() -> Result<MarkFile, MarkError> {
        MarkFile::in_directory(Directory::private(Path::new(PLACE), &DIRECTORIES)?)
    }

    fn in_directory(directory: Directory) -> Result<MarkFile, MarkError> {
        // A process in another PID namespace may have the same number.
        let mut number = 0u64;
        loop {
            let name: OsString = format!("{}-{number}", std::process::id()).into();
            match directory.create(&name, Readers::Usual).and_then(held) {
                Ok(Some(file)) => return Ok(MarkFile { directory, name, file, seen: 0 }),
                // Another process removed the file as left over before it was locked.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => {
                    return Err(MarkError::Make { path: directory.path().join(&name), source });
                }
            }
            number += 1;
        }
    }

    /// Returns the marks added since the last call: wall-clock time in nanoseconds since the Unix
    /// epoch, and name.
    pub(crate) fn read(&mut self) -> Vec<(u64, String)> {
        // Called many times a second and nearly always without a new mark, so only the length is
        // read.
        let new = self.file.metadata().map_or(0, |file| file.len()).saturating_sub(self.seen);
        let mut bytes = vec![0; usize::try_from(new).unwrap_or(0)];
        if bytes.is_empty() || self.file.read_exact_at(&mut bytes, self.seen).is_err() {
            return Vec::new();
        }
        let Some(whole) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            return Vec::new();
        };
        bytes.truncate(whole + 1);
        self.seen += bytes.len() as u64;
        let parted = |line: &str| {
            let (time, name) = line.split_once(' ')?;
            Some((time.parse().ok()?, name.to_owned()))
        };
        String::from_utf8_lossy(&bytes).lines().filter_map(parted).collect()
    }
}

impl Drop for MarkFile {
    fn drop(&mut self) {
        self.directory.remove_own(&self.name, &self.file);
    }
}

/// Locks a new file; returns `None` if it was removed before that.
fn held(file: File) -> io::Result<Option<File>> {
    file.lock()?;
    let is_there = file.metadata()?.nlink() > 0;
    Ok(is_there.then_some(file))
}

/// A mark, and the captures that received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The name, without line breaks.
    pub name: String,
    /// Number of captures that received the mark.
    pub captures: u32,
}

/// Marks the current time with a name in every running capture.
///
/// # Errors
/// No capture is running, or the user may not write to the files of the captures.
pub fn mark(name: &str) -> Result<Marked, MarkError> {
    let directory = Directory::private_if_there(Path::new(PLACE), &DIRECTORIES)?;
    let directory = directory.ok_or(MarkError::NoCapture)?;
    mark_in(&directory, name, wall_clock_unix_ms() * 1_000_000)
}

fn mark_in(directory: &Directory, name: &str, unix_ns: u64) -> Result<Marked, MarkError> {
    let name = name.replace(['\n', '\r'], " ");
    let line = format!("{unix_ns} {name}\n");
    let mut captures = 0;
    for file in directory.names()? {
        let path = || directory.path().join(&file);
        let left = leave(directory, &file, &line);
        captures += u32::from(left.map_err(|source| MarkError::Leave { path: path(), source })?);
    }
    match captures {
        0 => Err(MarkError::NoCapture),
        captures => Ok(Marked { name, captures }),
    }
}

/// Appends a mark to the file of a capture; returns false if that capture has ended.
fn leave(directory: &Directory, name: &OsStr, line: &str) -> io::Result<bool> {
    let mut file = match directory.open_to_append(name) {
        // The capture ended at this moment.
        Err(error) if error.is_missing() => return Ok(false),
        opened => opened.map_err(io::Error::other)?,
    };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => file.write_all(line.as_bytes()).map(|()| true),
        Err(TryLockError::Error(error)) => Err(error),
        // Left by a killed capture.
        Ok(()) => {
            directory.remove_own(name, &file);
            Ok(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(scratch: &Path) -> Directory {
        Directory::private(scratch, &DIRECTORIES).unwrap()
    }

    #[test]
    fn a_mark_reaches_every_capture_once() {
        let scratch = tempfile::tempdir().unwrap();
        let here = directory(scratch.path());
        let mut one = MarkFile::in_directory(directory(scratch.path())).unwrap();
        let mut other = MarkFile::in_directory(directory(scratch.path())).unwrap();
        let marked = mark_in(&here, "backup\nbegins", 7).unwrap();
        assert_eq!(marked, Marked { name: "backup begins".into(), captures: 2 });
        mark_in(&here, "backup ends", 9).unwrap();
        let heard = [(7, "backup begins".to_owned()), (9, "backup ends".to_owned())];
        assert_eq!((one.read(), other.read()), (heard.to_vec(), heard.to_vec()));
        assert_eq!((one.read(), other.read()), (Vec::new(), Vec::new()));
        drop((one, other));
        assert_eq!(here.names().unwrap().len(), 0);
        assert!(matches!(mark_in(&here, "too late", 11), Err(MarkError::NoCapture)));
    }

    /// The file of a killed capture has no lock: no capture receives the mark, and the file is
    /// removed.
    #[test]
    fn a_file_without_a_lock_is_a_dead_capture() {
        let scratch = tempfile::tempdir().unwrap();
        let here = directory(scratch.path());
        drop(here.create(OsStr::new("4711-0"), Readers::Usual).unwrap());
        assert!(matches!(mark_in(&here, "too late", 7), Err(MarkError::NoCapture)));
        assert_eq!(here.names().unwrap().len(), 0);
    }
}
