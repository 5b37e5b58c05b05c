//! The ledger: a run directory with `settings.json`, written once, and
//! `journal.jsonl`, only ever appended to.
//!
//! Every line of the journal carries a SHA-256 over the line before it and its
//! own content, the first over the settings, so that an edited ledger is told
//! from a torn one. A line is on disk (fsync) before [`Ledger::append`] returns.
//! A last line without its line end is what a crash leaves: it is dropped. The
//! format is documented in `docs/formats.md`.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use steadfast_domain::record::RECORD_VERSION;
use steadfast_domain::settings::Geometry;
use steadfast_domain::{Device, Entry, Record, Settings};

const SETTINGS: &str = "settings.json";
const JOURNAL: &str = "journal.jsonl";

/// What a line begins with; the digest follows.
const LINE_HEAD: &str = "{\"chain\":\"";
/// Length of a SHA-256 in hexadecimal.
const DIGEST_LENGTH: usize = 64;

/// Everything that was decided before a run began. Never edited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// Version of the ledger's format.
    pub version: u32,
    /// Name and version of the program.
    pub software: String,
    /// Wall-clock time, in milliseconds since 1970 (UTC).
    pub began_unix_ms: u64,
    /// The engine: `uring` or `sim`.
    pub engine: String,
    /// The device as it was found.
    pub device: Device,
    /// What the user chose.
    pub settings: Settings,
}

impl RunSettings {
    /// The facts that decide what a procedure does.
    pub fn geometry(&self) -> Geometry {
        Geometry { capacity: self.device.capacity, logical_sector: self.device.logical_sector }
    }
}

/// One line of the journal, without its digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Its number, from 1.
    pub n: u64,
    /// Wall-clock time at which it was written, in milliseconds since 1970 (UTC).
    pub at: u64,
    /// What happened.
    pub entry: Entry,
}

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Reading or writing failed.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The directory is there already.
    #[error("{0} exists already; choose another --out, or go on with `steadfast resume {0}`")]
    Exists(PathBuf),
    /// The directory holds no run.
    #[error("{0} is not a run directory: there is no settings.json in it")]
    NotARun(PathBuf),
    /// Another process writes to it.
    #[error("{0} is in use by another steadfast process")]
    Locked(PathBuf),
    /// A newer program wrote it.
    #[error(
        "{path} was written in format {found}; this program reads up to format {RECORD_VERSION}. \
         Use a newer steadfast"
    )]
    Newer {
        /// Which file.
        path: PathBuf,
        /// The version in it.
        found: u64,
    },
    /// Somebody edited it.
    #[error(
        "{path}, line {line}: {why}. The ledger was edited or damaged after it was written, so \
         nothing computed from it can be trusted"
    )]
    Edited {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
        /// What does not fit.
        why: String,
    },
    /// The settings cannot be read.
    #[error("{path} cannot be read: {why}")]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What does not fit.
        why: String,
    },
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> LedgerError + '_ {
    move |source| LedgerError::Io { path: path.to_owned(), source }
}

/// A ledger open for appending.
#[derive(Debug)]
pub struct Ledger {
    directory: PathBuf,
    journal: File,
    length: u64,
    chain: String,
    next: u64,
}

/// A ledger as it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// What was decided before the run.
    pub settings: RunSettings,
    /// What happened.
    pub lines: Vec<Line>,
    /// Bytes of a torn last line that were dropped.
    pub torn: u64,
    chain: String,
    length: u64,
}

impl Ledger {
    /// Begins a ledger in a new directory.
    pub fn create(directory: &Path, settings: &RunSettings) -> Result<Ledger, LedgerError> {
        claim(directory)?;
        let path = directory.join(SETTINGS);
        let text = serde_json::to_string_pretty(settings)
            .map_err(|e| LedgerError::Malformed { path: path.clone(), why: e.to_string() })?;
        let mut file = File::create_new(&path).map_err(at(&path))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(at(&path))?;
        let path = directory.join(JOURNAL);
        let journal =
            OpenOptions::new().append(true).create_new(true).open(&path).map_err(at(&path))?;
        lock(&journal, directory)?;
        journal.sync_all().map_err(at(&path))?;
        File::open(directory).and_then(|d| d.sync_all()).map_err(at(directory))?;
        let chain = hex(&Sha256::digest(text.as_bytes()));
        Ok(Ledger { directory: directory.to_owned(), journal, length: 0, chain, next: 1 })
    }

    /// Opens a ledger to go on with it; a torn last line is cut off.
    pub fn open(directory: &Path) -> Result<(Ledger, Contents), LedgerError> {
        let path = directory.join(JOURNAL);
        if !directory.join(SETTINGS).exists() {
            return Err(LedgerError::NotARun(directory.to_owned()));
        }
        let journal =
            OpenOptions::new().append(true).create(true).open(&path).map_err(at(&path))?;
        lock(&journal, directory)?;
        let contents = Ledger::read(directory)?;
        journal.set_len(contents.length).map_err(at(&path))?;
        let ledger = Ledger {
            directory: directory.to_owned(),
            journal,
            length: contents.length,
            chain: contents.chain.clone(),
            next: contents.lines.len() as u64 + 1,
        };
        Ok((ledger, contents))
    }

    /// Reads a ledger without taking it.
    pub fn read(directory: &Path) -> Result<Contents, LedgerError> {
        let (settings, text) = read_settings(directory)?;
        let path = directory.join(JOURNAL);
        let journal = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(at(&path)(e)),
        };
        let whole = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut chain = hex(&Sha256::digest(text.as_bytes()));
        let mut lines = Vec::new();
        for (index, line) in journal[..whole].split_inclusive(|byte| *byte == b'\n').enumerate() {
            let edited =
                |why: String| LedgerError::Edited { path: path.clone(), line: index + 1, why };
            let (digest, line) = parse_line(line, &chain).map_err(edited)?;
            if line.n != lines.len() as u64 + 1 {
                return Err(edited(format!("it is numbered {}", line.n)));
            }
            chain = digest;
            lines.push(line);
        }
        let torn = (journal.len() - whole) as u64;
        Ok(Contents { settings, lines, torn, chain, length: whole as u64 })
    }

    /// Adds a line. It is on disk when this returns; where it could not be
    /// written, the journal ends with the line before it.
    pub fn append(&mut self, at_unix_ms: u64, entry: &Entry) -> Result<(), LedgerError> {
        let path = self.directory.join(JOURNAL);
        let line = Line { n: self.next, at: at_unix_ms, entry: entry.clone() };
        let (text, digest) = print_line(&line, &self.chain)
            .map_err(|e| LedgerError::Malformed { path: path.clone(), why: e.to_string() })?;
        let written =
            self.journal.write_all(text.as_bytes()).and_then(|()| self.journal.sync_data());
        if let Err(error) = written {
            // Best effort: without it, the torn line is dropped by the next reader.
            let _ = self.journal.set_len(self.length);
            return Err(at(&path)(error));
        }
        self.length += text.len() as u64;
        self.chain = digest;
        self.next += 1;
        Ok(())
    }

    /// Where it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

/// What a procedure was given: the entries that answer its calls.
pub(crate) fn is_measured(entry: &Entry) -> bool {
    matches!(
        entry,
        Entry::Settled { .. }
            | Entry::Purged(_)
            | Entry::Applied { .. }
            | Entry::Idled(_)
            | Entry::Noted(_)
    )
}

/// SHA-256 of the measured entries, one JSON object a line.
fn measured_digest(lines: &[Line]) -> String {
    let mut hash = Sha256::new();
    for line in lines.iter().filter(|line| is_measured(&line.entry)) {
        // An entry that was read from JSON can be written as JSON.
        hash.update(serde_json::to_vec(&line.entry).unwrap_or_default());
        hash.update(b"\n");
    }
    hex(&hash.finalize())
}

impl Contents {
    /// As a record for study.
    pub fn into_record(self) -> Record {
        let digest = measured_digest(&self.lines);
        Record {
            version: self.settings.version,
            began_unix_ms: self.settings.began_unix_ms,
            ended_unix_ms: self.lines.last().map_or(self.settings.began_unix_ms, |l| l.at),
            settings: self.settings.settings,
            digest,
            entries: self.lines.into_iter().map(|line| line.entry).collect(),
        }
    }
}

/// Makes the directory; one that exists must be empty.
fn claim(directory: &Path) -> Result<(), LedgerError> {
    match fs::create_dir_all(directory) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            return Err(LedgerError::Exists(directory.to_owned()));
        }
        Err(e) => return Err(at(directory)(e)),
    }
    let mut entries = fs::read_dir(directory).map_err(at(directory))?;
    match entries.next() {
        None => Ok(()),
        Some(_) => Err(LedgerError::Exists(directory.to_owned())),
    }
}

fn lock(journal: &File, directory: &Path) -> Result<(), LedgerError> {
    match journal.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(LedgerError::Locked(directory.to_owned())),
        Err(TryLockError::Error(source)) => Err(at(directory)(source)),
    }
}

fn read_settings(directory: &Path) -> Result<(RunSettings, String), LedgerError> {
    let path = directory.join(SETTINGS);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(LedgerError::NotARun(directory.to_owned()));
        }
        Err(e) => return Err(at(&path)(e)),
    };
    let malformed =
        |e: serde_json::Error| LedgerError::Malformed { path: path.clone(), why: e.to_string() };
    let value: serde_json::Value = serde_json::from_str(&text).map_err(malformed)?;
    let found = value.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if found > u64::from(RECORD_VERSION) {
        return Err(LedgerError::Newer { path, found });
    }
    let settings = serde_json::from_value(value).map_err(malformed)?;
    Ok((settings, text))
}

/// `{"chain":"<SHA-256 of the chain so far and of the rest>","n":1,...}`.
fn print_line(line: &Line, chain: &str) -> Result<(String, String), serde_json::Error> {
    let body = serde_json::to_string(line)?;
    let rest = &body[1..];
    let digest = link(chain, rest.as_bytes());
    Ok((format!("{LINE_HEAD}{digest}\",{rest}\n"), digest))
}

fn parse_line(line: &[u8], chain: &str) -> Result<(String, Line), String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not text".to_owned())?;
    let text = text.trim_end_matches('\n');
    let rest = text.strip_prefix(LINE_HEAD).ok_or("it has no chain")?;
    let (digest, rest) = rest.split_at_checked(DIGEST_LENGTH).ok_or("its chain is too short")?;
    let rest = rest.strip_prefix("\",").ok_or("its chain is too long")?;
    if link(chain, rest.as_bytes()) != digest {
        return Err("its content does not match its chain".to_owned());
    }
    let parsed = serde_json::from_str(&format!("{{{rest}")).map_err(|e| e.to_string())?;
    Ok((digest.to_owned(), parsed))
}

fn link(chain: &str, content: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(chain.as_bytes());
    hash.update(content);
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests;
