//! The files through which marks reach running captures.
//!
//! A capture locks its file for as long as it lives, whatever ends it and in whatever PID namespace
//! it runs: an unlocked file is left over.

use crate::error::MarkError;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use steadfast_domain::io_event::Mark;
use steadfast_domain::text::printable;
use steadfast_host::{Directory, FileError, OutputStorage, ReadAccess};

/// Parent of the directory in which running captures look for marks, `steadfast/captures`. Only
/// root may enter it.
const RUN_DIRECTORY: &str = "/run";
const DIRECTORIES: [&str; 2] = ["steadfast", "captures"];

/// Longest name of a mark, in characters.
const NAME_MAX: usize = 200;
/// Last character of a mark's line; a line that was written only in part has none.
const MARK_END: char = '\r';
/// Longest path of a trace, in bytes.
const PATH_MAX: usize = 4096;

/// Returns the name of a mark in one line.
///
/// # Errors
/// Returns [`MarkError::Name`] if it is empty or longer than 200 characters.
///
/// ```
/// assert_eq!(steadfast_recorder::mark_name("backup\nbegins").unwrap(), "backup begins");
/// assert!(steadfast_recorder::mark_name(" ").is_err());
/// ```
pub fn mark_name(name: &str) -> Result<String, MarkError> {
    let name = name.replace(['\n', '\r'], " ").trim().to_owned();
    match name.chars().count() {
        0 => Err(MarkError::Name("is empty".to_owned())),
        characters if characters > NAME_MAX => {
            Err(MarkError::Name(format!("has {characters} characters, {NAME_MAX} at most")))
        }
        _ => Ok(name),
    }
}

/// The directory of the files of marks, for this machine and the fault simulator.
pub trait MarkStorage: OutputStorage {
    /// Returns the names of all entries.
    ///
    /// # Errors
    /// Returns [`FileError::Io`] if it cannot be read.
    fn names(&self) -> Result<Vec<OsString>, FileError>;
    /// Opens a regular file for reading and appending.
    ///
    /// # Errors
    /// Returns [`FileError`] if it is missing, not a regular file or unreadable.
    fn open_to_append(&self, name: &OsStr) -> Result<Self::File, FileError>;
    /// Locks a file until it is closed. Waits while others share its lock.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    fn lock(file: &Self::File) -> io::Result<()>;
    /// Shares the lock of a file until it is closed.
    ///
    /// # Errors
    /// Returns [`TryLockError::WouldBlock`] if another process has locked it.
    fn share_lock(file: &Self::File) -> Result<(), TryLockError>;
    /// Returns the size of a file in bytes.
    ///
    /// # Errors
    /// Returns an error if the system refuses.
    fn size_of(file: &Self::File) -> io::Result<u64>;
    /// Reads from an offset in bytes; returns the number of bytes read, 0 at the end of the file.
    ///
    /// # Errors
    /// Returns an error if the system refuses, or if a signal interrupted the call.
    fn read_at(file: &Self::File, bytes: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl MarkStorage for Directory {
    fn names(&self) -> Result<Vec<OsString>, FileError> {
        Directory::names(self)
    }
    fn open_to_append(&self, name: &OsStr) -> Result<File, FileError> {
        Directory::open_to_append(self, name)
    }
    fn lock(file: &File) -> io::Result<()> {
        file.lock()
    }
    fn share_lock(file: &File) -> Result<(), TryLockError> {
        file.try_lock_shared()
    }
    fn size_of(file: &File) -> io::Result<u64> {
        Ok(file.metadata()?.len())
    }
    fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(file, bytes, offset)
    }
}

/// A file that [`mark`] appends to; removed when the capture ends.
pub struct MarkFile<D: MarkStorage = Directory> {
    directory: D,
    name: OsString,
    file: D::File,
    /// Number of bytes read so far.
    read_length: u64,
}

impl MarkFile {
    /// Creates the file of the capture that writes `trace`.
    pub(crate) fn new(trace: &Path) -> Result<MarkFile, MarkError> {
        MarkFile::in_directory(Directory::private(Path::new(RUN_DIRECTORY), &DIRECTORIES)?, trace)
    }
}

impl<D: MarkStorage> MarkFile<D> {
    /// Creates the file in a directory, for the capture that writes `trace`.
    ///
    /// # Errors
    /// Returns [`MarkError::Make`] if the system refuses.
    pub fn in_directory(directory: D, trace: &Path) -> Result<MarkFile<D>, MarkError> {
        let trace = std::path::absolute(trace).unwrap_or_else(|_| trace.to_owned());
        let line = format!("{}\n", trace.to_string_lossy().replace(['\n', '\r'], " "));
        // Another PID namespace may have the same number.
        let mut number = 0u64;
        loop {
            let name: OsString = format!("{}-{number}", std::process::id()).into();
            let read_length = line.len() as u64;
            let created = directory.create_file(&name, ReadAccess::Usual).and_then(|mut file| {
                file.write_all(line.as_bytes())?;
                D::lock(&file)?;
                let has_name = D::has_name(&file)?;
                Ok(has_name.then_some(file))
            });
            match created {
                Ok(Some(file)) => return Ok(MarkFile { directory, name, file, read_length }),
                // Another process removed it as left over before it was locked.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => {
                    return Err(MarkError::Make { path: directory.path().join(&name), source });
                }
            }
            number += 1;
        }
    }

    /// Returns the marks added since the last call, in a capture that began at this time of
    /// CLOCK_MONOTONIC, in nanoseconds.
    ///
    /// # Errors
    /// The file cannot be read; the next call returns the marks.
    pub fn read(&mut self, began_ns: u64) -> io::Result<Vec<Mark>> {
        // Called many times a second and nearly always without a new mark, so only the length is
        // read.
        let new = D::size_of(&self.file)?.saturating_sub(self.read_length);
        let mut bytes = vec![0; usize::try_from(new).unwrap_or(0)];
        let length = read_at::<D>(&self.file, &mut bytes, self.read_length)?;
        bytes.truncate(length);
        // The last line may not be complete yet.
        let complete = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(complete);
        self.read_length += bytes.len() as u64;
        let parse = |line: &str| {
            let (set_ns, name) = line.strip_suffix(MARK_END)?.split_once(' ')?;
            let at_ns = set_ns.parse::<u64>().ok()?.saturating_sub(began_ns);
            Some(Mark { at_ns, name: name.to_owned() })
        };
        Ok(String::from_utf8_lossy(&bytes).split('\n').filter_map(parse).collect())
    }

    /// Lets no further marks in, and returns those added since the last call of [`Self::read`].
    ///
    /// # Errors
    /// The file cannot be removed or read.
    pub fn end(&mut self, began_ns: u64) -> io::Result<Vec<Mark>> {
        self.directory.remove_own(&self.name, &self.file);
        if D::has_name(&self.file)? {
            return Err(io::Error::other("further marks cannot be kept out"));
        }
        self.read(began_ns)
    }
}

impl<D: MarkStorage> Drop for MarkFile<D> {
    fn drop(&mut self) {
        self.directory.remove_own(&self.name, &self.file);
    }
}

/// Reads from an offset until the buffer is full or the file ends. Returns the number of bytes.
fn read_at<D: MarkStorage>(file: &D::File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < bytes.len() {
        match D::read_at(file, &mut bytes[length..], offset + length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// A mark, and the captures that received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkResult {
    /// The name, without line breaks.
    pub name: String,
    /// The traces that have the mark, by the paths that their captures write.
    pub traces: Vec<PathBuf>,
}

/// Marks the current time with a name in every running capture.
///
/// # Errors
/// Returns [`MarkError::NoCapture`] or [`MarkError::NoSuchCapture`] if no such capture runs,
/// [`MarkError::Name`] if the name is invalid, and [`MarkError::Leave`] if this user may not write
/// marks.
pub fn mark(name: &str, trace: Option<&Path>) -> Result<MarkResult, MarkError> {
    let directory = Directory::private_if_there(Path::new(RUN_DIRECTORY), &DIRECTORIES)?;
    let directory = directory.ok_or(MarkError::NoCapture)?;
    // The wall clock may be set while captures run.
    mark_in(&directory, name, trace, steadfast_host::monotonic().0)
}

/// Marks a time in the captures whose files are in a directory, as [`mark`] does.
///
/// # Errors
/// Returns the errors of [`mark`].
pub fn mark_in<D: MarkStorage>(
    directory: &D,
    name: &str,
    trace: Option<&Path>,
    now_ns: u64,
) -> Result<MarkResult, MarkError> {
    let name = mark_name(name)?;
    // The first line break ends a line that another process could not write to its end.
    let line = format!("\n{now_ns} {name}{MARK_END}\n");
    let mut running = Vec::new();
    for file in directory.names()? {
        running.extend(MarkedCapture::open(directory, &file)?);
    }
    if running.is_empty() {
        return Err(MarkError::NoCapture);
    }
    if let Some(wanted) = trace {
        let running_traces: Vec<PathBuf> =
            running.iter().map(|capture| capture.trace.clone()).collect();
        let selected = select_trace(&running_traces, wanted)?;
        running.retain(|capture| capture.trace == selected);
    }
    let mut traces = Vec::new();
    for mut capture in running {
        match capture.append(&line) {
            Ok(true) => traces.push(capture.trace),
            Ok(false) => {}
            Err(source) => return Err(MarkError::Leave { path: capture.path, source }),
        }
    }
    if traces.is_empty() { Err(MarkError::NoCapture) } else { Ok(MarkResult { name, traces }) }
}

/// Returns the trace of a running capture by its path, or by its file name if only one has it.
fn select_trace(running: &[PathBuf], wanted: &Path) -> Result<PathBuf, MarkError> {
    let absolute = std::path::absolute(wanted).unwrap_or_else(|_| wanted.to_owned());
    if let Some(exact) = running.iter().find(|trace| **trace == absolute) {
        return Ok(exact.clone());
    }
    let of_name: Vec<&PathBuf> =
        running.iter().filter(|trace| trace.file_name() == Some(wanted.as_os_str())).collect();
    match of_name[..] {
        [only] => Ok(only.clone()),
        _ => {
            let running = running.iter().map(|trace| trace.display().to_string());
            Err(MarkError::NoSuchCapture {
                wanted: wanted.to_owned(),
                running: running.map(|path| printable(&path).into_owned()).collect(),
            })
        }
    }
}

struct MarkedCapture<D: MarkStorage> {
    /// Path of the trace that it writes.
    trace: PathBuf,
    marks: D::File,
    path: PathBuf,
}

impl<D: MarkStorage> MarkedCapture<D> {
    /// Writes the line of a mark; returns false if the capture has ended and may not have read it.
    fn append(&mut self, line: &str) -> io::Result<bool> {
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match self.marks.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) if written + 1 >= rest.len() => rest = &rest[written..],
                // Another process may append after this part of the line, so the whole line
                // follows.
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // A capture removes the name before it reads the last marks.
        D::has_name(&self.marks)
    }

    /// Returns the capture that holds a file of marks, or `None` if it has ended.
    fn open(directory: &D, name: &OsStr) -> Result<Option<Self>, MarkError> {
        let path = directory.path().join(name);
        Self::read(directory, name, path.clone())
            .map_err(|source| MarkError::Leave { path, source })
    }

    fn read(directory: &D, name: &OsStr, path: PathBuf) -> io::Result<Option<Self>> {
        let marks = match directory.open_to_append(name) {
            // The capture ended at this moment.
            Err(error) if error.is_missing() => return Ok(None),
            opened => opened.map_err(io::Error::other)?,
        };
        match D::share_lock(&marks) {
            Err(TryLockError::WouldBlock) => {
                let mut head = vec![0; PATH_MAX];
                let length = read_at::<D>(&marks, &mut head, 0)?;
                let line = head[..length].split(|byte| *byte == b'\n').next().unwrap_or_default();
                let trace = PathBuf::from(OsStr::from_bytes(line));
                Ok(Some(MarkedCapture { trace, marks, path }))
            }
            Err(TryLockError::Error(error)) => Err(error),
            // Left by a killed capture.
            Ok(()) => {
                directory.remove_own(name, &marks);
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn private_directory(scratch: &Path) -> Directory {
        Directory::private(scratch, &DIRECTORIES).unwrap()
    }

    fn traces(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn a_mark_reaches_every_capture_or_the_one_that_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = private_directory(scratch.path());
        let capture = |trace: &str| {
            MarkFile::in_directory(private_directory(scratch.path()), Path::new(trace)).unwrap()
        };
        let (mut one, mut other) = (capture("/a/one.parquet"), capture("/b/other.parquet"));
        let marked = mark_in(&directory, "backup\nbegins", None, 7).unwrap();
        assert_eq!(marked.name, "backup begins");
        assert_eq!(marked.traces.len(), 2);
        for wanted in ["/b/other.parquet", "other.parquet"] {
            let marked = mark_in(&directory, "backup ends", Some(Path::new(wanted)), 9).unwrap();
            assert_eq!(marked.traces, traces(&["/b/other.parquet"]));
        }
        let mark = |at_ns, name: &str| Mark { at_ns, name: name.to_owned() };
        let (begins, ends) = (mark(2, "backup begins"), mark(4, "backup ends"));
        assert_eq!(one.read(5).unwrap(), std::slice::from_ref(&begins));
        assert_eq!(other.read(5).unwrap(), [begins, ends.clone(), ends]);
        assert_eq!((one.read(5).unwrap(), other.read(5).unwrap()), (Vec::new(), Vec::new()));
        let error = mark_in(&directory, "x", Some(Path::new("third.parquet")), 11).unwrap_err();
        assert!(error.to_string().contains("/a/one.parquet"), "{error}");
        drop((one, other));
        assert_eq!(directory.names().unwrap().len(), 0);
        assert!(matches!(mark_in(&directory, "too late", None, 11), Err(MarkError::NoCapture)));
    }

    /// Every mark that was accepted is in the trace.
    #[test]
    fn the_end_of_a_capture_takes_the_last_marks_and_lets_no_more_in() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = private_directory(scratch.path());
        let trace = Path::new("/a/one.parquet");
        let mut capture = MarkFile::in_directory(private_directory(scratch.path()), trace).unwrap();
        assert_eq!(capture.read(5).unwrap(), []);
        mark_in(&directory, "last", None, 7).unwrap();
        // This process has found the capture, and writes when it has ended.
        let file = directory.names().unwrap().remove(0);
        let mut late = MarkedCapture::open(&directory, &file).unwrap().unwrap();
        assert_eq!(capture.end(5).unwrap(), [Mark { at_ns: 2, name: "last".to_owned() }]);
        assert!(!late.append("\n8 too late\r\n").unwrap());
        assert!(matches!(mark_in(&directory, "too late", None, 8), Err(MarkError::NoCapture)));
    }

    /// The file system was full, and is not any more.
    #[test]
    fn a_partly_written_mark_is_ignored_and_damages_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = private_directory(scratch.path());
        let trace = Path::new("/a/one.parquet");
        let mut capture = MarkFile::in_directory(private_directory(scratch.path()), trace).unwrap();
        let whole = "\n6 torn at any place\r\n";
        for length in 0..whole.len() - 2 {
            let file = directory.names().unwrap().remove(0);
            let mut marked = MarkedCapture::open(&directory, &file).unwrap().unwrap();
            marked.append(&whole[..length]).unwrap();
            mark_in(&directory, "whole", None, 7).unwrap();
            let found = capture.read(5).unwrap();
            assert_eq!(found, [Mark { at_ns: 2, name: "whole".to_owned() }], "{length}");
        }
    }

    #[test]
    fn two_traces_of_one_name_need_their_paths() {
        let running = traces(&["/a/t.parquet", "/b/t.parquet"]);
        assert!(select_trace(&running, Path::new("t.parquet")).is_err());
        assert_eq!(select_trace(&running, Path::new("/a/t.parquet")).unwrap(), running[0]);
    }

    #[test]
    fn an_empty_and_an_endless_name_are_refused() {
        assert_eq!(mark_name(&"x".repeat(200)).unwrap().len(), 200);
        for name in ["", " \n", &"x".repeat(201)] {
            assert!(matches!(mark_name(name), Err(MarkError::Name(_))), "{name}");
        }
    }

    /// The file of a killed capture has no lock: no capture receives the mark, and the file is
    /// removed.
    #[test]
    fn a_file_without_a_lock_is_a_dead_capture() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = private_directory(scratch.path());
        drop(directory.create(OsStr::new("4711-0"), ReadAccess::Usual).unwrap());
        assert!(matches!(mark_in(&directory, "too late", None, 7), Err(MarkError::NoCapture)));
        assert_eq!(directory.names().unwrap().len(), 0);
    }
}
