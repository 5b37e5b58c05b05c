//! The ledger: a run directory with `settings.json`, written once, and `journal.jsonl`, which is
//! only appended to.
//!
//! Every line of the journal carries a SHA-256 over the line before it and its own content, the
//! first over the settings, so that an edited ledger is distinguished from an incomplete one. A
//! line is on disk (fsync) before [`Ledger::append`] returns. A last line without a line feed, or
//! with a block of zeros that never reached the disk, is left by a crash and is dropped. The format
//! is documented in `docs/formats.md`.
//!
//! Only a confirmed run is resumed: [`Ledger::open`] demands the journaled opening, whose chain
//! covers the settings, and as root a directory that no other user can write to, because settings
//! name devices and commands.

use crate::run_plan::RunPlan;
use crate::storage::{LineFile, RunStorage, StoredFile, remove_new, write_new};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use std::ffi::OsStr;
use std::fs::TryLockError;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use steadfast_domain::hex::to_hex;
use steadfast_domain::measurement::{CommonStart, KernelCounters};
use steadfast_domain::power_cut::PowerCutTrial;
use steadfast_domain::record::RECORD_VERSION;
use steadfast_domain::{
    Caveat, Findings, Halt, JournalEntry, Load, Nanos, Note, Outcome, Procedure, Record, Step,
    caveats,
};
use steadfast_host::{Directory, FileError, ReadAccess, SystemRoots, is_locked};

const SETTINGS: &str = "settings.json";
const JOURNAL: &str = "journal.jsonl";

/// Maximum size of `settings.json` in bytes; it may contain a captured workload.
const SETTINGS_MAX: u64 = 64 << 20;
/// Maximum size of a journal in bytes; a step takes about 2 kB, an interval of one second less.
const JOURNAL_MAX: u64 = 2 << 30;
/// Maximum size of a line in bytes: that of a step of one day has 86,400 intervals.
const LINE_MAX: u64 = 256 << 20;
/// Part of a journal that measured entries leave free for the lines with which a run ends.
const JOURNAL_RESERVE: u64 = 1 << 20;

/// Beginning of a line; the digest follows.
const LINE_HEAD: &str = "{\"chain\":\"";
/// Length of a SHA-256 in hexadecimal digits.
const DIGEST_LENGTH: usize = 64;

/// One line of the journal, without its digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JournalLine {
    /// Number of the line, from 1.
    pub n: u64,
    /// Wall-clock time of writing, in milliseconds since 1970 (UTC).
    pub at: u64,
    /// Time since boot in nanoseconds; absent in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<Nanos>,
    /// The kernel's counters of the device since it was attached; absent for files and simulated
    /// drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelCounters>,
    /// Content of the line.
    pub entry: JournalEntry,
}

/// A moment by the wall clock and the boot clock, with the kernel's counters of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// Wall-clock time, in milliseconds since 1970 (UTC).
    pub unix_ms: u64,
    /// Time since boot; absent in virtual time.
    pub up: Option<Nanos>,
    /// The kernel's counters of the device; absent where there are none.
    pub kernel: Option<KernelCounters>,
}

impl From<u64> for ClockReading {
    fn from(unix_ms: u64) -> Self {
        ClockReading { unix_ms, up: None, kernel: None }
    }
}

/// Reasons why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file or the directory cannot be created or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// Reading or writing failed.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The directory already holds a run.
    #[error(
        "{0} already exists; choose another directory with -o, or resume it: steadfast resume {0}"
    )]
    Exists(PathBuf),
    /// The directory already holds a finished run.
    #[error(
        "{0} already contains a finished run; choose another directory with -o, or see its report: \
         steadfast report {0}"
    )]
    Finished(PathBuf),
    /// The path exists and is something else.
    #[error("{path} already exists and is {what}; choose another directory with -o")]
    Taken {
        /// The path.
        path: PathBuf,
        /// Description of what exists there.
        what: &'static str,
    },
    /// The directory holds no run.
    #[error("{0} is not a run directory: it has no settings.json")]
    NotARun(PathBuf),
    /// The run ended before its device was confirmed.
    #[error(
        "{0} contains settings, but no run: it ended before the device was confirmed, so there is \
         nothing to resume. Remove the directory and start the run again; if it is one of several \
         targets, resume the directory above it instead"
    )]
    NotBegun(PathBuf),
    /// Another user can write to it, and this program runs as root.
    #[error(
        "{path} {why}, so another user may have written its settings and commands. If you trust \
         them, give the run directory and its files to root (chown -R root) and close them to \
         others (chmod -R go-w)"
    )]
    Foreign {
        /// The directory, or a file in it.
        path: PathBuf,
        /// Who owns it or can write to it.
        why: String,
    },
    /// It was deleted during the run.
    #[error("{path} was deleted during the run: {steps} finished steps are lost with it")]
    Deleted {
        /// The file.
        path: PathBuf,
        /// Number of finished steps in it.
        steps: u64,
    },
    /// Another process writes to it.
    #[error("{0} is in use by another steadfast process")]
    Locked(PathBuf),
    /// A program that was never released wrote it.
    #[error("{0} was written by an unreleased version; run again")]
    Unreleased(PathBuf),
    /// It has no version, as every `settings.json` of a run has.
    #[error(
        "{0} is damaged, or another program's file: it has no version; restore it from a copy, or \
         name a run directory"
    )]
    ForeignSettings(PathBuf),
    /// A newer program wrote it.
    #[error(
        "{path} was written in format {found}; this program reads format {RECORD_VERSION}. Use a \
         newer steadfast"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version in the file.
        found: u64,
    },
    /// It was edited or damaged.
    #[error(
        "{path}, line {line}: {why}. The ledger was edited or damaged after it was written, so \
         nothing computed from it can be trusted"
    )]
    Edited {
        /// The file.
        path: PathBuf,
        /// Line number, starting at 1.
        line: usize,
        /// The inconsistency.
        why: String,
    },
    /// The entry would make the journal longer than the longest that can be read back.
    #[error(
        "{path} is full: a line of {line} bytes does not fit. Divide the run into shorter ones, or \
         choose shorter steps"
    )]
    Full {
        /// The journal.
        path: PathBuf,
        /// Size of the line in bytes.
        line: u64,
    },
    /// No run of a group was set up before the process ended.
    #[error(
        "{0}: the runs of these targets were not set up when the process ended, and nothing was \
         written to a target. Remove {0} and start the run again"
    )]
    GroupNotBegun(PathBuf),
    /// A run of a group is missing.
    #[error(
        "{missing}: this run directory of the group is missing or incomplete. Resume each other \
         run by its own directory: steadfast resume {other}"
    )]
    NoMember {
        /// Directory of the missing run.
        missing: PathBuf,
        /// Directory of a run that has begun.
        other: PathBuf,
    },
    /// A run directory of a group holds another run than the group was created with.
    #[error(
        "{directory}: this run directory of the group holds {what}, not the run of {target}. \
         Restore the original directory, or resume each run by its own directory: steadfast resume \
         {directory}"
    )]
    OtherRun {
        /// The run directory.
        directory: PathBuf,
        /// Description of the run that it holds.
        what: String,
        /// Target whose run it held.
        target: String,
    },
    /// The list of targets cannot be parsed, or lacks a field.
    #[error(
        "{path} cannot be read: {why}. Restore the original file, or resume each run by its own \
         directory: steadfast resume {}", .path.with_file_name("RUN_DIR").display()
    )]
    BadList {
        /// Path of the list.
        path: PathBuf,
        /// Error of the parser.
        why: String,
    },
    /// The settings cannot be parsed.
    #[error("{path} cannot be read: {why}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The parser's error.
        why: String,
    },
}

impl LedgerError {
    /// Returns the error for a path that already exists.
    pub fn taken(path: &Path) -> LedgerError {
        let what = match path.metadata() {
            Ok(found) if !found.is_dir() => "not a directory",
            Ok(_) if [SETTINGS, JOURNAL].iter().any(|name| path.join(name).exists()) => {
                let is_ended = |line: &JournalLine| matches!(line.entry, JournalEntry::Ended);
                let is_finished =
                    Ledger::read(path).is_ok_and(|contents| contents.lines.iter().any(is_ended));
                let path = path.to_owned();
                return if is_finished {
                    LedgerError::Finished(path)
                } else {
                    LedgerError::Exists(path)
                };
            }
            Ok(_) => "not a run directory",
            Err(_) => "a link that leads nowhere",
        };
        LedgerError::Taken { path: path.to_owned(), what }
    }
}

impl From<LedgerError> for Halt {
    fn from(error: LedgerError) -> Self {
        Halt::Ledger(error.to_string())
    }
}

/// Returns a conversion of the system's errors on this path.
pub(crate) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> LedgerError + '_ {
    move |source| LedgerError::Io { path: path.to_owned(), source }
}

/// Returns a conversion of JSON errors on this path.
pub(crate) fn json_error(path: &Path) -> impl Fn(serde_json::Error) -> LedgerError + '_ {
    move |error| LedgerError::Malformed { path: path.to_owned(), why: error.to_string() }
}

/// Returns a conversion of errors in which `missing` describes an absent file.
pub(crate) fn if_missing(
    missing: impl FnOnce() -> LedgerError,
) -> impl FnOnce(FileError) -> LedgerError {
    move |error| if error.is_missing() { missing() } else { error.into() }
}

/// Creates the directory of a run or of a group.
pub(crate) fn make_new_directory<D: RunStorage>(
    parent: &D,
    name: &OsStr,
    readers: ReadAccess,
) -> Result<D, LedgerError> {
    parent.make_new(name, readers).map_err(|error| match error {
        FileError::Exists(path) => LedgerError::taken(&path),
        error => error.into(),
    })
}

/// A ledger open for appending.
#[derive(Debug)]
pub struct Ledger<D: RunStorage = Directory> {
    directory: D,
    settings: D::File,
    journal: LineFile<D::File>,
    chain: String,
    next: u64,
    steps: u64,
    origin: LedgerOrigin<D>,
}

/// Parts of a ledger that this process created.
#[derive(Debug)]
enum LedgerOrigin<D> {
    /// Nothing.
    Resumed,
    /// The files.
    Files,
    /// The files and their directory, which is in this one.
    Directory(D),
}

/// Content of a ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct LedgerContents {
    /// Plan of the run.
    pub plan: RunPlan,
    /// Lines of the journal.
    pub lines: Vec<JournalLine>,
    /// Bytes of an incomplete last line that were dropped.
    pub torn: u64,
    /// SHA-256 of `settings.json`.
    pub(crate) settings: String,
    pub(crate) has_journal: bool,
    chain: String,
    length: u64,
}

impl Ledger {
    /// Creates a ledger in a new directory, for the usual readers.
    pub fn create(directory: &Path, plan: &RunPlan) -> Result<Ledger, LedgerError> {
        Ledger::create_for(ReadAccess::Usual, directory, plan)
    }

    /// Creates a ledger in a new directory. If that fails, it leaves nothing behind.
    pub fn create_for(
        readers: ReadAccess,
        directory: &Path,
        plan: &RunPlan,
    ) -> Result<Ledger, LedgerError> {
        Directory::check_place(directory)?;
        match (Directory::open(directory), directory.parent(), directory.file_name()) {
            (Err(error), Some(parent), Some(name)) if error.is_missing() => {
                Ledger::create_below(&Directory::make(parent, readers)?, name, readers, plan)
            }
            (Err(error), ..) if error.is_not_a_directory() => Err(LedgerError::taken(directory)),
            (opened, ..) => {
                let opened = opened?;
                // Its creator may not have made its name durable.
                if let Ok((parent, _)) = Directory::of_file(directory) {
                    parent.sync().map_err(io_error(directory))?;
                }
                Ledger::create_in(opened, readers, plan)
            }
        }
    }

    /// Opens the ledger of a run to resume it; an incomplete last line is cut off.
    pub fn open(directory: &Path) -> Result<(Ledger, LedgerContents), LedgerError> {
        Ledger::open_in(Ledger::find(directory)?)
    }

    /// Reads a ledger without locking it.
    pub fn read(directory: &Path) -> Result<LedgerContents, LedgerError> {
        Ledger::read_in(&Ledger::find(directory)?)
    }

    /// Opens the directory of a run.
    pub fn find(directory: &Path) -> Result<Directory, LedgerError> {
        Directory::open(directory).map_err(|error| {
            if error.is_missing() || error.is_not_a_directory() {
                LedgerError::NotARun(directory.to_owned())
            } else {
                error.into()
            }
        })
    }

    /// Returns true if a process works on a run, without disturbing it; `None` if that cannot be
    /// determined.
    pub fn is_held(directory: &Path) -> Option<bool> {
        let directory = Directory::open(directory).ok()?;
        is_locked(&SystemRoots::real(), &directory.open_file(OsStr::new(JOURNAL)).ok()?)
    }
}

impl<D: RunStorage> Ledger<D> {
    /// Creates a ledger in a new directory below `parent`. If that fails, it leaves nothing behind.
    pub fn create_below(
        parent: &D,
        name: &OsStr,
        readers: ReadAccess,
        plan: &RunPlan,
    ) -> Result<Ledger<D>, LedgerError> {
        let directory = make_new_directory(parent, name, readers)?;
        Ledger::create_files(directory, LedgerOrigin::Directory(parent.clone()), readers, plan)
    }

    /// Creates a ledger in an empty directory. If that fails, it leaves nothing behind.
    pub fn create_in(
        directory: D,
        readers: ReadAccess,
        plan: &RunPlan,
    ) -> Result<Ledger<D>, LedgerError> {
        if !directory.names()?.is_empty() {
            return Err(LedgerError::taken(directory.path()));
        }
        Ledger::create_files(directory, LedgerOrigin::Files, readers, plan)
    }

    fn create_files(
        directory: D,
        origin: LedgerOrigin<D>,
        readers: ReadAccess,
        plan: &RunPlan,
    ) -> Result<Ledger<D>, LedgerError> {
        let trusted = refuse_foreign_directory(&directory);
        let journal = trusted.and_then(|()| create_journal(&directory)).inspect_err(|_| {
            if let LedgerOrigin::Directory(parent) = &origin {
                parent.remove_made(&directory);
            }
        })?;
        match begin_ledger(&directory, journal, plan, readers) {
            Ok(ledger) => Ok(Ledger { origin, ..ledger }),
            Err(error) => {
                discard(&directory, &origin);
                Err(error)
            }
        }
    }

    /// Opens the ledger in a directory to resume its run; an incomplete last line is cut off.
    pub fn open_in(directory: D) -> Result<(Ledger<D>, LedgerContents), LedgerError> {
        Ledger::open_begun(directory, |contents| contents.opening().is_some())
    }

    /// Opens the ledger of one of several runs to resume it, even if it holds no line yet.
    pub(crate) fn open_member(directory: D) -> Result<(Ledger<D>, LedgerContents), LedgerError> {
        let may_resume =
            |contents: &LedgerContents| contents.opening().is_some() || contents.lines.is_empty();
        Ledger::open_begun(directory, may_resume)
    }

    /// Opens the ledger of a run that may continue; any other is left unchanged.
    fn open_begun(
        directory: D,
        may_resume: impl FnOnce(&LedgerContents) -> bool,
    ) -> Result<(Ledger<D>, LedgerContents), LedgerError> {
        let [settings_path, path] = [SETTINGS, JOURNAL].map(|name| directory.path().join(name));
        let trusted = refuse_foreign_directory(&directory);
        let mut settings = open_settings(&directory)?;
        let not_begun = || LedgerError::NotBegun(directory.path().to_owned());
        let mut journal =
            directory.open_to_append(OsStr::new(JOURNAL)).map_err(if_missing(not_begun))?;
        trusted?;
        for (file, path) in [(&settings, &settings_path), (&journal, &path)] {
            refuse_writer(file.foreign_writer().map_err(io_error(path))?, path)?;
        }
        lock(&journal, directory.path())?;
        // A killed process may have left lines and names only in the cache. They must be on disk
        // before the run continues.
        journal.refresh().map_err(io_error(&path))?;
        directory.sync().map_err(io_error(directory.path()))?;
        // Read the files that were checked: their paths may refer to others by now.
        let settings_text = read_settings(&mut settings, &settings_path)?;
        let contents = Ledger::<D>::parse(settings_text, Some(&mut journal), &path)?;
        if !may_resume(&contents) {
            return Err(not_begun());
        }
        let mut journal = LineFile::new(journal, contents.length, contents.torn > 0);
        journal.cut_off().map_err(io_error(&path))?;
        let ledger = Ledger {
            directory,
            settings,
            journal,
            chain: contents.chain.clone(),
            next: contents.lines.len() as u64 + 1,
            steps: contents.lines.iter().filter(|line| is_step(&line.entry)).count() as u64,
            origin: LedgerOrigin::Resumed,
        };
        Ok((ledger, contents))
    }

    /// Reads the ledger in an open directory without locking it.
    pub fn read_in(directory: &D) -> Result<LedgerContents, LedgerError> {
        let [settings_path, path] = [SETTINGS, JOURNAL].map(|name| directory.path().join(name));
        let settings = read_settings(&mut open_settings(directory)?, &settings_path)?;
        let mut journal = match directory.open_file(OsStr::new(JOURNAL)) {
            Err(error) if error.is_missing() => None,
            opened => Some(opened?),
        };
        Ledger::<D>::parse(settings, journal.as_mut(), &path)
    }

    /// Parses an open journal, line by line. The chain of its lines starts from the settings.
    fn parse(
        settings: ParsedSettings,
        journal: Option<&mut D::File>,
        path: &Path,
    ) -> Result<LedgerContents, LedgerError> {
        let mut contents = LedgerContents {
            plan: settings.plan,
            lines: Vec::new(),
            torn: 0,
            chain: settings.digest.clone(),
            settings: settings.digest,
            has_journal: journal.is_some(),
            length: 0,
        };
        let Some(journal) = journal else { return Ok(contents) };
        if journal.size().map_err(io_error(path))? > JOURNAL_MAX {
            let path = path.to_owned();
            return Err(FileError::TooLong { path, most: JOURNAL_MAX }.into());
        }
        let mut reader = BufReader::with_capacity(1 << 20, journal.take(JOURNAL_MAX));
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = (&mut reader).take(LINE_MAX).read_until(b'\n', &mut line);
            read.map_err(io_error(path))?;
            let number = contents.lines.len() + 1;
            let edited =
                |why: String| LedgerError::Edited { path: path.to_owned(), line: number, why };
            let has_ended = is_at_end(&mut reader).map_err(io_error(path))?;
            if has_ended && has_unwritten_block(&line, contents.length) {
                contents.torn = line.len() as u64;
                return Ok(contents);
            }
            if !line.ends_with(b"\n") {
                if line.len() as u64 == LINE_MAX {
                    return Err(edited("it is longer than any line that is written".into()));
                }
                // A complete line that ends in another byte than a line feed was damaged; to cut it
                // off would lose a finished step. A crash leaves only the beginning of a line.
                if let Some((_, line)) = line.split_last()
                    && parse_line(line, &contents.chain).is_ok()
                {
                    return Err(edited("it does not end in a line feed".into()));
                }
                contents.torn = line.len() as u64;
                return Ok(contents);
            }
            let parsed = parse_line(&line, &contents.chain);
            let ChainedLine { line: parsed, digest } = parsed.map_err(|why| match number {
                1 => edited(format!("{why}, nor does it match {SETTINGS}")),
                _ => edited(why),
            })?;
            if parsed.n != number as u64 {
                return Err(edited(format!("it is numbered {}", parsed.n)));
            }
            contents.chain = digest;
            contents.length += line.len() as u64;
            contents.lines.push(parsed);
        }
    }

    /// Appends a line, which is on disk when this returns. If it cannot be written, or the journal
    /// could not be read with it, the journal ends with the line before it: nothing is appended
    /// before what was written of it is cut off.
    pub fn append(
        &mut self,
        now: impl Into<ClockReading>,
        entry: &JournalEntry,
    ) -> Result<(), LedgerError> {
        self.check_not_deleted()?;
        let path = self.directory.path().join(JOURNAL);
        let ClockReading { unix_ms, up, kernel } = now.into();
        let line = JournalLine { n: self.next, at: unix_ms, up, kernel, entry: entry.clone() };
        let PrintedLine { text, digest } =
            print_line(&line, &self.chain).map_err(json_error(&path))?;
        if !fits(self.journal.length(), text.len() as u64, entry) {
            return Err(LedgerError::Full { path, line: text.len() as u64 });
        }
        self.journal.append(text.as_bytes()).map_err(io_error(&path))?;
        self.chain = digest;
        self.next += 1;
        self.steps += u64::from(is_step(entry));
        Ok(())
    }

    /// Checks that the files still have a name: a deleted file accepts every write, and all of
    /// them are lost.
    pub fn check_not_deleted(&self) -> Result<(), LedgerError> {
        for (file, name) in [(&self.settings, SETTINGS), (self.journal.file(), JOURNAL)] {
            let path = self.directory.path().join(name);
            if !file.has_name().map_err(io_error(&path))? {
                return Err(LedgerError::Deleted { path, steps: self.steps });
            }
        }
        Ok(())
    }

    /// Removes a ledger that was created by this process and holds no line yet.
    pub fn withdraw(self) {
        if self.next == 1 {
            discard(&self.directory, &self.origin);
        }
    }

    /// Returns the ledger as one that [`Ledger::withdraw`] leaves alone.
    pub(crate) fn keep(self) -> Ledger<D> {
        Ledger { origin: LedgerOrigin::Resumed, ..self }
    }

    /// Returns the run directory, which was opened once for the whole run.
    pub fn directory(&self) -> &D {
        &self.directory
    }
}

/// Returns true if a journal of this length can be read with another line.
fn fits(journal: u64, line: u64, entry: &JournalEntry) -> bool {
    let length_max = if is_measured(entry) { JOURNAL_MAX - JOURNAL_RESERVE } else { JOURNAL_MAX };
    line <= LINE_MAX && journal + line <= length_max
}

/// Returns true for the entries that answer a procedure's calls.
pub(crate) fn is_measured(entry: &JournalEntry) -> bool {
    matches!(
        entry,
        JournalEntry::Settled { .. }
            | JournalEntry::Purged(_)
            | JournalEntry::Applied { .. }
            | JournalEntry::Idled(_)
            | JournalEntry::PowerCutBegan { .. }
            | JournalEntry::PowerCutSeen(_)
            | JournalEntry::PowerCutJudged(_)
            | JournalEntry::Noted(_)
    )
}

/// Returns the SHA-256 of the measured entries, one JSON object per line.
fn measured_digest(lines: &[JournalLine]) -> String {
    let mut hash = Sha256::new();
    for line in lines.iter().filter(|line| is_measured(&line.entry)) {
        // An entry that was read from JSON can be written as JSON.
        hash.update(serde_json::to_vec(&line.entry).unwrap_or_default());
        hash.update(b"\n");
    }
    to_hex(&hash.finalize())
}

/// Returns the line with which the run ended, or its last line so far.
fn last_line(lines: &[JournalLine]) -> Option<&JournalLine> {
    // A later process may restore the host, or find nothing left to do.
    let is_of_end = |line: &JournalLine| {
        is_measured(&line.entry) && !matches!(line.entry, JournalEntry::Noted(_))
    };
    let measured = lines.iter().rposition(is_of_end).unwrap_or(0);
    let ended = lines.iter().skip(measured).find(|line| matches!(line.entry, JournalEntry::Ended));
    let is_of_run = |line: &&JournalLine| !matches!(line.entry, JournalEntry::HostRestored(_));
    ended.or_else(|| lines.iter().rfind(is_of_run))
}

fn is_step(entry: &JournalEntry) -> bool {
    matches!(entry, JournalEntry::Applied { .. })
}

impl LedgerContents {
    /// Returns all finished steps with their outcomes, in order.
    pub fn steps(&self) -> impl Iterator<Item = (&Step, &Outcome)> {
        self.lines.iter().filter_map(|line| line.entry.applied())
    }

    /// Returns the starts that the run's loads had in common with those of other targets.
    pub fn common_starts(&self) -> Vec<CommonStart> {
        self.steps().filter_map(|(_, outcome)| outcome.measurement.common_start).collect()
    }

    /// Returns the trial whose power cut the run halted for, if its blocks wait to be read back.
    pub fn awaited_trial(&self) -> Option<&PowerCutTrial> {
        let mut begun = None;
        let mut is_cut = false;
        for line in &self.lines {
            match &line.entry {
                JournalEntry::PowerCutBegan { trial, .. } => {
                    begun = Some(&**trial);
                    is_cut = false;
                }
                JournalEntry::PowerCutSeen(_) => is_cut = true,
                JournalEntry::PowerCutJudged(_) => begun = None,
                _ => {}
            }
        }
        begun.filter(|_| is_cut)
    }

    /// Returns the number of complete rounds, that is those with a verdict.
    pub fn complete_rounds(&self) -> u32 {
        let is_verdict = |line: &JournalLine| {
            matches!(&line.entry, JournalEntry::Noted(note)
                if matches!(**note, Note::Verdict(_)))
        };
        let last_verdict = self.lines.iter().rposition(is_verdict).unwrap_or(0);
        let round_of = |line: &JournalLine| match &line.entry {
            JournalEntry::Applied { step, .. } if !matches!(step.load, Load::Script(_)) => {
                Some(step.place.round)
            }
            _ => None,
        };
        self.lines[..last_verdict].iter().rev().find_map(round_of).unwrap_or(0)
    }

    /// Returns the last opening: the line with which a process began or resumed the run on a
    /// device that was confirmed or proven.
    pub fn opening(&self) -> Option<&JournalLine> {
        self.lines.iter().rev().find(|line| matches!(line.entry, JournalEntry::Opened { .. }))
    }

    /// Describes the incomplete line at the end of the journal; `None` if there is none.
    pub fn torn_end(&self) -> Option<String> {
        let after = match self.lines.len() {
            0 => "no complete line".to_owned(),
            lines => format!("line {lines}"),
        };
        (self.torn > 0).then(|| {
            format!(
                "The journal ends with {} bytes after {after} that are no complete line. They are \
                 omitted: a process ended while it wrote them, or the end of the file was damaged.",
                self.torn
            )
        })
    }

    /// Computes the findings of the run, with a caveat if its journal ends in an incomplete line.
    pub fn study(self, procedure: &dyn Procedure) -> Findings {
        let torn = self.torn_end();
        let mut findings = procedure.study(&self.into_record());
        findings.caveats.extend(torn.map(|text| {
            let remedy =
                "If the run had ended, restore its journal from a copy; if not, resume it.";
            Caveat::remark(caveats::JOURNAL_TORN, text, remedy)
        }));
        findings
    }

    /// Converts the contents to a record.
    pub fn into_record(self) -> Record {
        let digest = measured_digest(&self.lines);
        Record {
            version: self.plan.version,
            began_unix_ms: self.plan.began_unix_ms,
            ended_unix_ms: last_line(&self.lines).map_or(self.plan.began_unix_ms, |line| line.at),
            settings: self.plan.settings,
            digest,
            entries: self.lines.into_iter().map(|line| line.entry).collect(),
        }
    }
}

/// Creates the journal. If two processes begin a run in one directory at once, the one that
/// creates it owns the directory, and the other leaves it alone.
fn create_journal<D: RunStorage>(directory: &D) -> Result<D::File, LedgerError> {
    directory.create(OsStr::new(JOURNAL), ReadAccess::Usual).map_err(|error| {
        if error.kind() == io::ErrorKind::AlreadyExists {
            return LedgerError::Exists(directory.path().to_owned());
        }
        io_error(&directory.path().join(JOURNAL))(error)
    })
}

/// Locks the journal and writes the settings.
fn begin_ledger<D: RunStorage>(
    directory: &D,
    journal: D::File,
    plan: &RunPlan,
    readers: ReadAccess,
) -> Result<Ledger<D>, LedgerError> {
    lock(&journal, directory.path())?;
    let path = directory.path().join(SETTINGS);
    let text = settings_text(plan).map_err(json_error(&path))?;
    if text.len() as u64 > SETTINGS_MAX {
        // Such a run could never be resumed or reported.
        let why = format!(
            "the settings would have {} MiB, and at most {} MiB are read again; choose a smaller \
             workload",
            text.len() >> 20,
            SETTINGS_MAX >> 20
        );
        return Err(LedgerError::Malformed { path, why });
    }
    let settings = write_new(directory, SETTINGS, text.as_bytes())?;
    journal.refresh().map_err(io_error(&directory.path().join(JOURNAL)))?;
    directory.sync().map_err(io_error(directory.path()))?;
    settings.grant(readers).map_err(io_error(directory.path()))?;
    journal.grant(readers).map_err(io_error(directory.path()))?;
    Ok(Ledger {
        directory: directory.clone(),
        settings,
        journal: LineFile::new(journal, 0, false),
        chain: to_hex(&Sha256::digest(text.as_bytes())),
        next: 1,
        steps: 0,
        origin: LedgerOrigin::Resumed,
    })
}

/// Removes a ledger that was just begun, as far as possible: the user has to see the original
/// error, not one of this removal.
fn discard<D: RunStorage>(directory: &D, origin: &LedgerOrigin<D>) {
    if let LedgerOrigin::Resumed = origin {
        return;
    }
    remove_new(directory, SETTINGS);
    let _ = directory.remove(OsStr::new(JOURNAL));
    if let LedgerOrigin::Directory(parent) = origin {
        parent.remove_made(directory);
    }
}

/// Refuses a directory that another user could have written to if this process is root.
pub(crate) fn refuse_foreign_directory<D: RunStorage>(directory: &D) -> Result<(), LedgerError> {
    refuse_writer(directory.foreign_writer()?, directory.path())
}

/// Refuses a file or directory that someone else can write to.
pub(crate) fn refuse_writer(writer: Option<String>, path: &Path) -> Result<(), LedgerError> {
    match writer {
        Some(why) => Err(LedgerError::Foreign { path: path.to_owned(), why }),
        None => Ok(()),
    }
}

fn lock(journal: &impl StoredFile, directory: &Path) -> Result<(), LedgerError> {
    match journal.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(LedgerError::Locked(directory.to_owned())),
        Err(TryLockError::Error(source)) => Err(io_error(directory)(source)),
    }
}

fn open_settings<D: RunStorage>(directory: &D) -> Result<D::File, LedgerError> {
    let not_a_run = || LedgerError::NotARun(directory.path().to_owned());
    directory.open_file(OsStr::new(SETTINGS)).map_err(if_missing(not_a_run))
}

fn settings_text(plan: &RunPlan) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(plan)
}

/// Returns the SHA-256 of the `settings.json` of a plan.
pub(crate) fn settings_digest(plan: &RunPlan) -> Result<String, serde_json::Error> {
    Ok(to_hex(&Sha256::digest(settings_text(plan)?.as_bytes())))
}

/// Content of `settings.json`.
struct ParsedSettings {
    plan: RunPlan,
    /// SHA-256 of the file.
    digest: String,
}

fn read_settings(file: &mut impl StoredFile, path: &Path) -> Result<ParsedSettings, LedgerError> {
    let size = file.size().map_err(io_error(path))?;
    let bytes = steadfast_host::read_sized(file, size, path, SETTINGS_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| FileError::NotText(path.to_owned()))?;
    // Parsing into a tree of values would take many times the memory of the text.
    let version: SettingsVersion = serde_json::from_str(&text).map_err(json_error(path))?;
    let Some(found) = version.version else {
        return Err(LedgerError::ForeignSettings(path.to_owned()));
    };
    match found.cmp(&u64::from(RECORD_VERSION)) {
        Ordering::Less => return Err(LedgerError::Unreleased(path.to_owned())),
        Ordering::Greater => return Err(LedgerError::Newer { path: path.to_owned(), found }),
        Ordering::Equal => {}
    }
    let plan = serde_json::from_str(&text).map_err(json_error(path))?;
    Ok(ParsedSettings { plan, digest: to_hex(&Sha256::digest(text.as_bytes())) })
}

/// Version of `settings.json`, which any version of the program writes.
#[derive(Deserialize)]
struct SettingsVersion {
    #[serde(default)]
    version: Option<u64>,
}

/// A line as it is written, with its digest.
struct PrintedLine {
    text: String,
    digest: String,
}

/// A line as it is read, with its digest.
struct ChainedLine {
    line: JournalLine,
    digest: String,
}

/// Returns the line `{"chain":"<SHA-256 of the chain so far and of the rest>","n":1,...}`.
fn print_line(line: &JournalLine, chain: &str) -> Result<PrintedLine, serde_json::Error> {
    let body = serde_json::to_string(line)?;
    let rest = &body[1..];
    let digest = chain_digest(chain, rest.as_bytes());
    Ok(PrintedLine { text: format!("{LINE_HEAD}{digest}\",{rest}\n"), digest })
}

fn parse_line(line: &[u8], chain: &str) -> Result<ChainedLine, String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not text".to_owned())?;
    let text = text.trim_end_matches('\n');
    let rest = text.strip_prefix(LINE_HEAD).ok_or("it has no chain")?;
    let (digest, rest) = rest.split_at_checked(DIGEST_LENGTH).ok_or("its chain is too short")?;
    let rest = rest.strip_prefix("\",").ok_or("its chain is too long")?;
    if chain_digest(chain, rest.as_bytes()) != digest {
        return Err("its content does not match its chain".to_owned());
    }
    let line = serde_json::from_str(&format!("{{{rest}")).map_err(|error| error.to_string())?;
    Ok(ChainedLine { line, digest: digest.to_owned() })
}

/// Returns true if nothing is left to read. Unlike `fill_buf`, it repeats a read that a signal
/// interrupted.
fn is_at_end(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read.map(<[u8]>::is_empty),
        }
    }
}

/// Size in bytes of the blocks that a disk writes as a whole.
const SECTOR: usize = 512;

/// Returns true if this line's part of any block of the file is all zeros. A crash during a write
/// leaves such a block: the file's size reached the disk, but the block did not. JSON contains no
/// zero bytes, and a flipped bit cannot make a block of them.
fn has_unwritten_block(line: &[u8], position: u64) -> bool {
    let before = usize::try_from(position % SECTOR as u64).unwrap_or(0);
    let (first, others) = line.split_at(line.len().min(SECTOR - before));
    let is_unwritten = |block: &[u8]| !block.is_empty() && block.iter().all(|byte| *byte == 0);
    is_unwritten(first) || others.chunks(SECTOR).any(is_unwritten)
}

fn chain_digest(chain: &str, content: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(chain.as_bytes());
    hash.update(content);
    to_hex(&hash.finalize())
}

#[cfg(test)]
mod tests;
