//! Conducts a run from its start, or from where it was interrupted.

use crate::ledger::{JournalLine, Ledger, LedgerContents, LedgerError};
use crate::live::{LiveBench, unrestored};
use crate::progress::ProgressSink;
use crate::rig::Rig;
use crate::storage::RunStorage;
use steadfast_domain::record::HostChange;
use steadfast_domain::settings::Amendment;
use steadfast_domain::{Halt, JournalEntry, Procedure};

/// End of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// The procedure completed.
    Complete,
    /// It halted; every finished step is in the ledger.
    Halted(Halt),
    /// It halted because its ledger was deleted: there is nothing to resume.
    Lost(Halt),
}

/// Conducts a procedure on a ledger that already contains `lines`. Host settings are restored
/// however it ends.
pub fn conduct<D: RunStorage>(
    procedure: &dyn Procedure,
    rig: &mut dyn Rig,
    mut ledger: Ledger<D>,
    lines: &[JournalLine],
    software: &str,
    progress: &mut dyn ProgressSink,
) -> Result<RunOutcome, Halt> {
    let on_this_host = ledger.directory().on_this_host();
    if let Some(directory) = on_this_host {
        rig.keep_files_in(directory);
    }
    let opened = JournalEntry::Opened {
        software: software.to_owned(),
        engine: rig.engine(),
        device: Box::new(rig.device().clone()),
        host: Box::new(rig.host()),
        proof: rig.proof().map(Box::new),
        directory: on_this_host
            .filter(|_| !rig.device().is_simulated())
            .and_then(|directory| steadfast_host::directory_proof(directory.path()))
            .map(Box::new),
    };
    if let Err(error) = ledger.append(rig.now(), &opened) {
        // A run that could not start must not block the next one.
        ledger.withdraw();
        return Err(error.into());
    }
    let mut bench = LiveBench::new(rig, ledger, lines, progress);
    bench.clear_passwords()?;
    bench.examine()?;
    let result = procedure.conduct(&mut bench);
    bench.end_load();
    let read = match &result {
        Ok(()) => bench.finish(),
        Err(_) => Ok(()),
    };
    let restored = bench.restore();
    let ending = match result.and(read) {
        Ok(()) => RunOutcome::Complete,
        Err(halt) if bench.is_lost() => RunOutcome::Lost(halt),
        Err(halt) => RunOutcome::Halted(halt),
    };
    let checked = bench.check_after_run();
    let last = match &ending {
        RunOutcome::Complete => JournalEntry::Ended,
        RunOutcome::Halted(halt) | RunOutcome::Lost(halt) => JournalEntry::Halted(halt.to_string()),
    };
    match (checked.and_then(|()| bench.journal(&last)), &ending) {
        // The disk that caused the halt cannot store this line either.
        (Err(_), RunOutcome::Halted(Halt::Ledger(_)) | RunOutcome::Lost(_)) => {}
        (written, _) => written?,
    }
    match (restored, &ending) {
        // Report the halt rather than the failed restore. Unrestored settings are in the journal,
        // where resume and `steadfast restore` find them.
        (Err(_), RunOutcome::Halted(_) | RunOutcome::Lost(_)) => {}
        (restored, _) => restored?,
    }
    Ok(ending)
}

/// Appends an amendment to a run that is resumed.
pub fn amend<D: RunStorage>(
    ledger: &mut Ledger<D>,
    contents: &mut LedgerContents,
    amendment: Amendment,
    now_unix_ms: u64,
) -> Result<(), LedgerError> {
    let entry = JournalEntry::Amended(amendment);
    ledger.append(now_unix_ms, &entry)?;
    let n = contents.lines.len() as u64 + 1;
    contents.lines.push(JournalLine { n, at: now_unix_ms, up: None, kernel: None, entry });
    Ok(())
}

/// Returns true if nothing is left to do: the run ended, and the host is restored.
pub fn is_complete(lines: &[JournalLine]) -> bool {
    let last = lines.iter().rev().find(|line| !matches!(line.entry, JournalEntry::HostRestored(_)));
    let has_ended = last.is_some_and(|line| matches!(line.entry, JournalEntry::Ended));
    has_ended && unrestored(lines).is_empty()
}

/// Returns the amendments in the journal, in order.
pub fn amendments(lines: &[JournalLine]) -> Vec<Amendment> {
    lines
        .iter()
        .filter_map(|line| match &line.entry {
            JournalEntry::Amended(amendment) => Some(amendment.clone()),
            _ => None,
        })
        .collect()
}

/// Restores the host changes of a dead run for which `is_wanted` returns true, the last first.
/// Returns the restored changes.
///
/// # Errors
/// Returns the error of the first change that cannot be undone or journaled. The remaining ones are
/// tried too; those that fail stay in the journal.
pub fn restore(
    directory: &std::path::Path,
    now_unix_ms: u64,
    is_wanted: fn(&HostChange) -> bool,
    undo: &mut dyn FnMut(&HostChange) -> Result<(), Halt>,
) -> Result<Vec<HostChange>, Halt> {
    let (mut ledger, contents) = Ledger::open(directory)?;
    restore_opened(&mut ledger, &contents, now_unix_ms, is_wanted, undo)
}

/// Restores the host changes of a dead run whose ledger is open, as [`restore`] does.
///
/// # Errors
/// Returns the errors of [`restore`].
pub fn restore_opened<D: RunStorage>(
    ledger: &mut Ledger<D>,
    contents: &LedgerContents,
    now_unix_ms: u64,
    is_wanted: fn(&HostChange) -> bool,
    undo: &mut dyn FnMut(&HostChange) -> Result<(), Halt>,
) -> Result<Vec<HostChange>, Halt> {
    let mut changes = unrestored(&contents.lines);
    changes.retain(is_wanted);
    let mut restored = Ok(());
    for change in changes.iter().rev() {
        let entry = JournalEntry::HostRestored(change.clone());
        let undone = undo(change).and_then(|()| Ok(ledger.append(now_unix_ms, &entry)?));
        restored = restored.and(undone);
    }
    restored.map(|()| changes)
}
