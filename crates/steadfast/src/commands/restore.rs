//! `steadfast restore` and `steadfast unlock`: undo the changes of a process that died.

use crate::cli::{RestoreArguments, UnlockArguments};
use crate::exit::ExitState;
use crate::terminal;
use anyhow::{Context, bail};
use serde::Serialize;
use std::path::Path;
use steadfast_domain::Halt;
use steadfast_domain::record::HostChange;
use steadfast_host::{SystemRoots, UndoOutcome};
use steadfast_runner::host_changes::{self, AbandonedChanges, HostChanges};
use steadfast_runner::real_rig::wall_clock_unix_ms;
use steadfast_runner::run;

/// A change and the outcome of undoing it.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct RestoredChange {
    #[serde(flatten)]
    change: HostChange,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// The JSON output.
#[derive(Debug, Default, Serialize, schemars::JsonSchema)]
pub struct RestoreOutput {
    changes: Vec<RestoredChange>,
    /// Trace instances of killed captures.
    instances_removed: Vec<String>,
}

/// Returns the journal of host changes of this process, for commands without a run directory.
pub fn journal() -> HostChanges {
    journal_of(0)
}

/// Returns the journal for device `number` of several.
pub fn journal_of(number: u64) -> HostChanges {
    let command = crate::cli::command_line();
    // The time distinguishes the files of one process.
    HostChanges::new(host_changes::directory(), command, wall_clock_unix_ms() + number)
}

/// Reports changes left by dead processes on standard error.
pub fn remind() {
    let left = abandoned_changes().unwrap_or_else(|error| {
        terminal::warn(&format!("steadfast: {error:#}"));
        Vec::new()
    });
    let changes = left.iter().flat_map(|left| &left.changes);
    let settings: Vec<&str> = changes.map(|change| change.setting.as_str()).collect();
    if !settings.is_empty() {
        terminal::warn(&format!(
            "Attention: a killed process left changed: {}. To restore it: steadfast \
             restore",
            settings.join("; ")
        ));
    }
}

/// Restores the changes recorded in a run's journal, or in the journals of processes without a run
/// directory, that were not restored yet.
pub fn run(arguments: &RestoreArguments) -> anyhow::Result<ExitState> {
    if let Some(run_dir) = &arguments.run_dir {
        let text_if_none = "Nothing to restore: this run left no host setting changed.";
        return restore_run(run_dir, |_| true, arguments.json, text_if_none);
    }
    let mut failures = Vec::new();
    let answer = restore_all(&mut failures)?;
    let text_if_none = "Nothing to restore: no killed measure, calibrate or capture left anything \
                   behind. To restore what a run changed: steadfast restore RUN_DIR";
    print_output(&answer, arguments.json, text_if_none)?;
    if failures.is_empty() { Ok(ExitState::Done) } else { bail!("{}", failures.join("; ")) }
}

/// Removes the ATA password that a purge left on a drive.
pub fn unlock(arguments: &UnlockArguments) -> anyhow::Result<ExitState> {
    if let Some(run_dir) = &arguments.run_dir {
        let text_if_none = "Nothing to unlock: this run left no password on its drive.";
        return restore_run(run_dir, steadfast_host::is_password, false, text_if_none);
    }
    let Some(device) = &arguments.target else {
        bail!("give a run directory, or a drive with --target");
    };
    let password = arguments.password.as_deref().unwrap_or(steadfast_host::PURGE_PASSWORD);
    let (path, shown) = (Path::new(device), device.as_str());
    terminal::print(&if steadfast_host::unlock(path, password)? {
        format!("{shown}: password removed; the drive is unlocked")
    } else {
        format!("{shown}: no password is set; nothing changed")
    })?;
    Ok(ExitState::Done)
}

fn abandoned_changes() -> anyhow::Result<Vec<AbandonedChanges>> {
    // Without a journal directory nothing was recorded.
    let Ok(directory) = host_changes::directory() else { return Ok(Vec::new()) };
    let place = || directory.display().to_string();
    host_changes::abandoned_changes(&directory).with_context(place)
}

fn restore_all(failures: &mut Vec<String>) -> anyhow::Result<RestoreOutput> {
    let mut answer = RestoreOutput::default();
    for left in abandoned_changes()? {
        for (change, undone) in left.undo(&mut |change| undo(change)) {
            match undone {
                Ok(undone) => answer.changes.push(RestoredChange::new(&change, undone)),
                Err(halt) => failures.push(format!("{}: {halt}", change.setting)),
            }
        }
    }
    answer.instances_removed = steadfast_recorder::remove_left_behind();
    Ok(answer)
}

/// Restores the changes of a run for which `is_selected` returns true. Prints the restored ones even
/// if others fail.
fn restore_run(
    run_dir: &Path,
    is_selected: fn(&HostChange) -> bool,
    json: bool,
    text_if_none: &str,
) -> anyhow::Result<ExitState> {
    let mut answer = RestoreOutput::default();
    let restored = run::restore(run_dir, wall_clock_unix_ms(), is_selected, &mut |change| {
        answer.changes.push(RestoredChange::new(change, undo(change)?));
        Ok(())
    });
    if restored.is_ok() || !answer.changes.is_empty() {
        print_output(&answer, json, text_if_none)?;
    }
    restored?;
    Ok(ExitState::Done)
}

fn undo(change: &HostChange) -> Result<UndoOutcome, Halt> {
    steadfast_host::undo_change(change, &SystemRoots::real())
        .map_err(|e| Halt::Refused(e.to_string()))
}

impl RestoredChange {
    fn new(change: &HostChange, undone: UndoOutcome) -> Self {
        let (outcome, why) = match undone {
            UndoOutcome::Restored => ("restored", None),
            UndoOutcome::AlreadyRestored => ("already-restored", None),
            UndoOutcome::Gone(why) => ("gone", Some(why.to_owned())),
            UndoOutcome::LeftUnchanged(why) => ("left", Some(why)),
        };
        RestoredChange { change: change.clone(), outcome, why }
    }

    fn text(&self) -> String {
        let HostChange { setting, before, .. } = &self.change;
        match (self.outcome, &self.why) {
            ("left", Some(why)) => format!("{setting}: not changed: {why}"),
            (_, Some(why)) => format!("{setting}: nothing to restore: {why}"),
            (_, None) => format!("{setting}: restored to {before}"),
        }
    }
}

fn print_output(answer: &RestoreOutput, json: bool, text_if_none: &str) -> anyhow::Result<()> {
    if json {
        return terminal::print_json(answer);
    }
    let changes = answer.changes.iter().map(RestoredChange::text);
    let removed = |name: &String| format!("Trace instance {name} of a killed capture: removed");
    let lines: Vec<String> = changes.chain(answer.instances_removed.iter().map(removed)).collect();
    if lines.is_empty() {
        terminal::print(text_if_none)
    } else {
        terminal::print(&lines.join("\n"))
    }
}
