//! Conducts each run in its own thread.

use crate::progress_panel::RunPanel;
use crate::prometheus::{MetricsExporter, ProgressTee};
use crate::run_settings::SOFTWARE;
use indicatif::MultiProgress;
use std::path::PathBuf;
use steadfast_domain::{Caveat, Halt, JournalEntry, Note, Procedure};
use steadfast_engine::StopSignal;
use steadfast_procedures::sequence::numbers_of;
use steadfast_runner::ledger::JournalLine;
use steadfast_runner::run::{self, RunOutcome};
use steadfast_runner::{Ledger, Outline, Rig, RunPlan};

/// A run that is ready to start.
pub struct ReadyRun {
    /// Name of the target.
    pub name: String,
    pub directory: PathBuf,
    /// Access to the armed device.
    pub rig: Box<dyn Rig>,
    /// Ledger of the run.
    pub ledger: Ledger,
    /// Settings, device and purge of the run.
    pub plan: RunPlan,
    /// Procedure for the device.
    pub procedure: Box<dyn Procedure>,
    /// Journal lines written so far.
    pub lines: Vec<JournalLine>,
}

/// Result of a thread.
pub struct RunEnd {
    /// Name of the target.
    pub name: String,
    /// End of the run, or the reason why it halted before.
    pub ending: Result<RunOutcome, Halt>,
    /// Procedure of the run; `None` after an internal error.
    pub procedure: Option<Box<dyn Procedure>>,
}

/// Conducts every run in its own thread and waits for all. Returns one result per run.
pub fn conduct(
    runs: Vec<ReadyRun>,
    metrics: Option<&MetricsExporter>,
    stop: &StopSignal,
) -> Vec<RunEnd> {
    let bars = MultiProgress::new();
    std::thread::scope(|scope| {
        let begin = |run: ReadyRun| {
            let name = run.name.clone();
            (name, scope.spawn(|| conduct_one(run, &bars, metrics, stop)))
        };
        let threads: Vec<_> = runs.into_iter().map(begin).collect();
        let defect = "its thread ended unexpectedly; this is a defect, please report it";
        let ended = threads.into_iter().map(|(name, thread)| match thread.join() {
            Ok((procedure, ending)) => RunEnd { name, ending, procedure: Some(procedure) },
            Err(_) => {
                let ending = Err(Halt::Refused(defect.to_owned()));
                RunEnd { name, ending, procedure: None }
            }
        });
        ended.collect()
    })
}

/// Conducts one run. Its rig, and with it its place at the barrier, is released at the end.
fn conduct_one(
    run: ReadyRun,
    bars: &MultiProgress,
    metrics: Option<&MetricsExporter>,
    stop: &StopSignal,
) -> (Box<dyn Procedure>, Result<RunOutcome, Halt>) {
    let ReadyRun { name, directory, mut rig, ledger, plan, procedure, lines } = run;
    let mut panel = RunPanel::among(bars, &name, procedure.as_ref(), rig.device(), stop.clone());
    let about = (plan.settings.procedure.as_str(), directory.as_path());
    let gauge = metrics.map(|metrics| metrics.add_target(rig.as_ref(), procedure.as_ref(), about));
    let mut both = ProgressTee(&mut panel, gauge);
    let ending =
        run::conduct(procedure.as_ref(), rig.as_mut(), ledger, &lines, SOFTWARE, &mut both);
    drop(both);
    panel.close();
    (procedure, ending)
}

/// Returns the phases of all procedures in order. Runs of one sequence may have different steps;
/// their numbers determine the order.
pub fn phases(runs: &[ReadyRun]) -> anyhow::Result<Vec<String>> {
    let mut phases: Vec<String> = Vec::new();
    for run in runs {
        for section in Outline::rehearse(run.procedure.as_ref(), None)?.sections {
            if !phases.contains(&section.phase) {
                phases.push(section.phase);
            }
        }
    }
    let numbers: Option<Vec<Vec<u32>>> = phases.iter().map(|phase| numbers_of(phase)).collect();
    if numbers.is_some() {
        phases.sort_by_key(|phase| numbers_of(phase));
    }
    Ok(phases)
}

/// Returns true if the journal contains this caveat.
pub fn has_caveat(lines: &[JournalLine], caveat: &Caveat) -> bool {
    lines.iter().any(|line| match &line.entry {
        JournalEntry::Noted(note) => matches!(&**note, Note::Caveat(noted) if noted == caveat),
        _ => false,
    })
}
