//! Runs for the explorer. The ledger is read without locking it, and again when its journal has
//! grown.

use crate::output;
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

const JOURNAL: &str = "journal.jsonl";

/// A run directory that the explorer lists.
pub struct RunDirectory {
    directory: PathBuf,
    name: String,
    last: Mutex<Option<(JournalState, Arc<RunState>)>>,
}

/// State of the journal when it was last read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct JournalState {
    length: u64,
    modified: (i64, i64),
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

    fn seen(&self) -> JournalState {
        let found = fs::symlink_metadata(self.directory.join(JOURNAL)).ok();
        JournalState {
            length: found.as_ref().map_or(0, MetadataExt::size),
            modified: found.map_or((0, 0), |found| (found.mtime(), found.mtime_nsec())),
            is_live: Ledger::is_held(&self.directory).unwrap_or(false),
        }
    }

    fn state(&self) -> anyhow::Result<Arc<RunState>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = self.seen();
        if let Some((_, state)) = last.as_ref().filter(|(known, _)| *known == seen) {
            return Ok(Arc::clone(state));
        }
        let state = Arc::new(read(&self.directory, seen.is_live)?);
        *last = Some((seen, Arc::clone(&state)));
        Ok(state)
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
    let (device, written_unix_ms) =
        (contents.plan.device.clone(), contents.lines.iter().map(|line| line.at).collect());
    let procedure = output::procedure(&contents).ok();
    let procedure = procedure.as_deref();
    let time_left_s =
        procedure.filter(|_| is_live).and_then(|procedure| time_left(procedure, &contents));
    let findings = procedure.map(|procedure| contents.clone().study(procedure));
    let record = contents.into_record();
    let (state, state_text) = run_state(&record, findings.as_ref(), is_live);
    let caveats = findings.map(|findings| findings.caveats).unwrap_or_default();
    Ok(RunState {
        counts_flushes: record.settings.procedure == "replay-native",
        record,
        written_unix_ms,
        device,
        is_live,
        state,
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

fn run_state(record: &Record, findings: Option<&Findings>, is_live: bool) -> (String, String) {
    let halted = record.entries.iter().rev().find_map(|entry| match entry {
        JournalEntry::Halted(why) => Some(why.clone()),
        _ => None,
    });
    if is_live && !record.has_ended() {
        return ("live".into(), "in progress".into());
    }
    let end = findings.map(|findings| findings.whole_end());
    let state = match end {
        Some(EndState::Complete) => "complete",
        Some(EndState::Steady) => "steady",
        Some(EndState::NotSteady | EndState::Failed) => "not steady",
        Some(EndState::Void) => "void",
        Some(EndState::Unfinished) | None => "unfinished",
    };
    let text = match (end, findings) {
        (Some(EndState::Unfinished) | None, _) => {
            halted.map_or_else(|| "unfinished".to_owned(), |why| format!("halted: {why}"))
        }
        (_, Some(findings)) => findings.ending.clone(),
        _ => state.to_owned(),
    };
    (state.to_owned(), text)
}
