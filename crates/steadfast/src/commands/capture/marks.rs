//! `steadfast mark`, and the files through which marks reach running captures.
//!
//! A capture holds a lock on its file as long as it lives, whoever kills it and
//! in whatever PID namespace: a file without a lock belongs to nobody.

use crate::cli::MarkArguments;
use crate::exit::Outcome;
use crate::terminal;
use anyhow::{Context, bail};
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use steadfast_domain::text::printable;
use steadfast_host::{Directory, Readers};
use steadfast_runner::real::wall_clock_unix_ms;

/// Where running captures look for marks: `captures` in `steadfast` in here,
/// which nobody but root may enter.
const PLACE: &str = "/run";
const DIRECTORIES: [&str; 2] = ["steadfast", "captures"];

/// A file that `steadfast mark` appends to; taken away when the capture ends.
pub(super) struct MarkFile {
    directory: Directory,
    name: OsString,
    file: File,
    seen: u64,
}

impl MarkFile {
    pub(super) fn new() -> anyhow::Result<MarkFile> {
        let directory = Directory::private(Path::new(PLACE), &DIRECTORIES)
            .context("marks cannot reach this capture")?;
        // Another PID namespace may have the same number.
        for number in 0.. {
            let name: OsString = format!("{}-{number}", std::process::id()).into();
            match directory.create(&name, Readers::Usual) {
                Ok(file) if holds(&file)? => {
                    return Ok(MarkFile { directory, name, file, seen: 0 });
                }
                // Somebody took it for a dead capture's before it was locked.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    let path = directory.path().join(&name);
                    return Err(error).with_context(|| format!("cannot make {}", path.display()));
                }
            }
        }
        bail!("{} is full of marks; empty it", directory.path().display())
    }

    /// Marks that have come since the last time: when, by the wall clock, and
    /// the name.
    pub(super) fn read(&mut self) -> Vec<(u64, String)> {
        // Asked many times a second, and nearly always in vain.
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

/// Locks a new file; `false` where it was removed before that.
fn holds(file: &File) -> io::Result<bool> {
    file.lock()?;
    Ok(file.metadata()?.nlink() > 0)
}

/// Names this moment in every capture that runs.
pub fn mark(arguments: &MarkArguments) -> anyhow::Result<Outcome> {
    let name = arguments.name.replace(['\n', '\r'], " ");
    let line = format!("{} {name}\n", wall_clock_unix_ms() * 1_000_000);
    let directory = Directory::private_if_there(Path::new(PLACE), &DIRECTORIES)?;
    let mut told = 0;
    if let Some(directory) = &directory {
        for file in directory.names()? {
            told += u32::from(leave(directory, &file, &line)?);
        }
    }
    if told == 0 {
        bail!("no capture is running; begin one with steadfast capture");
    }
    terminal::print(&format!("Marked '{}' in {told} running captures.", printable(&name)))?;
    Ok(Outcome::Done)
}

/// Leaves a mark in the file of a capture; `false` where that has ended.
fn leave(directory: &Directory, name: &OsStr, line: &str) -> anyhow::Result<bool> {
    let failed = || format!("cannot leave a mark in {}", directory.path().join(name).display());
    let mut file = match directory.open_to_append(name) {
        // It ended this moment.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        opened => opened.with_context(failed)?,
    };
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            file.write_all(line.as_bytes()).with_context(failed)?;
            Ok(true)
        }
        Err(TryLockError::Error(error)) => Err(error).with_context(failed),
        // Left by a capture that was killed.
        Ok(()) => {
            directory.remove_own(name, &file);
            Ok(false)
        }
    }
}
