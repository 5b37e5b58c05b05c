//! Runs for the explorer. The ledger is read without locking it, and again when its journal has
//! grown.

use crate::output;
use crate::output_files::JOURNAL;
use anyhow::Context;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use steadfast_domain::findings::EndState;
use steadfast_domain::{Findings, JournalEntry, Procedure, Record};
use steadfast_explorer::run::{RunSource, RunState};
use steadfast_runner::Forecast;
use steadfast_runner::ledger::{Ledger, LedgerContents};

/// A run directory that the explorer lists.
pub struct RunDirectory {
    directory: PathBuf,
    name: String,
    last: Mutex<Option<LastRead>>,
}

/// The run as last read, and the state of its journal then.
struct LastRead {
    journal: JournalState,
    run: Arc<RunState>,
}

/// State of a journal, which changes when something is appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct JournalState {
    length: u64,
    modified_s: i64,
    modified_ns: i64,
    is_live: bool,
}

impl RunDirectory {
    /// Opens a readable run directory.
    pub fn open(directory: PathBuf) -> anyhow::Result<Self> {
        let name = directory.display().to_string();
        let run = RunDirectory { directory, name, last: Mutex::new(None) };
        run.state()?;
        Ok(run)
    }

    fn journal_state(&self) -> JournalState {
        let found = fs::symlink_metadata(self.directory.join(JOURNAL)).ok();
        JournalState {
            length: found.as_ref().map_or(0, MetadataExt::size),
            modified_s: found.as_ref().map_or(0, MetadataExt::mtime),
            modified_ns: found.as_ref().map_or(0, MetadataExt::mtime_nsec),
            is_live: Ledger::is_held(&self.directory).unwrap_or(false),
        }
    }

    /// Returns the state of the run; reads it only if its journal has changed.
    fn state(&self) -> anyhow::Result<Arc<RunState>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let journal = self.journal_state();
        if let Some(last) = &*last
            && last.journal == journal
        {
            return Ok(Arc::clone(&last.run));
        }
        let run = Arc::new(read(&self.directory, journal.is_live)?);
        *last = Some(LastRead { journal, run: Arc::clone(&run) });
        Ok(run)
    }
}

impl RunSource for RunDirectory {
    fn name(&self) -> &str {
        &self.name
    }
    fn read(&self) -> Result<Arc<RunState>, String> {
        self.state().map_err(|error| format!("{error:#}"))
    }
}

fn read(directory: &Path, is_live: bool) -> anyhow::Result<RunState> {
    let place = || directory.display().to_string();
    let mut contents = Ledger::read(directory).with_context(place)?;
    if is_live {
        // A running process may be in the middle of writing a line.
        contents.torn = 0;
    }
    let device = contents.plan.device.clone();
    let written_unix_ms = contents.lines.iter().map(|line| line.at).collect();
    let procedure = output::procedure(&contents).ok();
    let procedure = procedure.as_deref();
    let time_left_s = match procedure {
        Some(procedure) if is_live => time_left(procedure, &contents),
        _ => None,
    };
    let findings = procedure.map(|procedure| contents.clone().study(procedure));
    let record = contents.into_record();
    let end = findings.as_ref().map(|findings| findings.whole_end());
    let (state, state_text) = if is_live && !record.has_ended() {
        ("live", "in progress".to_owned())
    } else {
        (state_name(end), state_text(&record, findings.as_ref()))
    };
    let caveats = findings.map(|findings| findings.caveats).unwrap_or_default();
    Ok(RunState {
        counts_flushes: record.settings.procedure == "replay-native",
        record,
        written_unix_ms,
        device,
        is_live,
        state: state.to_owned(),
        state_text,
        time_left_s,
        caveats,
    })
}

/// Returns the remaining time in seconds, computed from the journal as the progress panel does.
fn time_left(procedure: &dyn Procedure, contents: &LedgerContents) -> Option<f64> {
    let mut forecast = Forecast::new(procedure);
    for line in &contents.lines {
        if let JournalEntry::Applied { step, outcome } = &line.entry {
            forecast.begin(step);
            outcome.measurement.intervals.iter().for_each(|interval| forecast.count(interval));
            forecast.finish(&outcome.measurement);
        }
    }
    Some(forecast.left()?.best.as_secs_f64())
}

fn state_name(end: Option<EndState>) -> &'static str {
    match end {
        Some(EndState::Complete) => "complete",
        Some(EndState::Steady) => "steady",
        Some(EndState::NotSteady | EndState::Failed) => "not steady",
        Some(EndState::Void) => "void",
        Some(EndState::Unfinished) | None => "unfinished",
    }
}

/// Returns how a run ended: the conclusion of its findings, or why it halted.
fn state_text(record: &Record, findings: Option<&Findings>) -> String {
    if let Some(findings) = findings
        && findings.whole_end() != EndState::Unfinished
    {
        return findings.ending.clone();
    }
    let halted = record.entries.iter().rev().find_map(|entry| match entry {
        JournalEntry::Halted(why) => Some(format!("halted: {why}")),
        _ => None,
    });
    halted.unwrap_or_else(|| "unfinished".to_owned())
}
