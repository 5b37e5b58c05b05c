//! One thread for each run.

use crate::asked::SOFTWARE;
use crate::panel::Panel;
use crate::prometheus::{Both, Exporter};
use indicatif::MultiProgress;
use std::path::PathBuf;
use steadfast_domain::{Caveat, Entry, Halt, Note, Procedure};
use steadfast_engine::Stop;
use steadfast_procedures::sequence::numbers_of;
use steadfast_runner::ledger::Line;
use steadfast_runner::run::{self, Ending};
use steadfast_runner::{Ledger, Outline, Rig, RunPlan};

/// A run that can begin.
pub struct Run {
    /// What it is called.
    pub name: String,
    /// Its directory.
    pub directory: PathBuf,
    /// What is driven.
    pub rig: Box<dyn Rig>,
    /// Where it is written down.
    pub ledger: Ledger,
    /// What was decided.
    pub plan: RunPlan,
    /// The procedure that was decided on.
    pub procedure: Box<dyn Procedure>,
    /// What is written down already.
    pub lines: Vec<Line>,
}

/// The end of a run.
pub struct RunEnd {
    /// What the run is called.
    pub name: String,
    /// How it ended.
    pub ending: Result<Ending, Halt>,
    /// Its procedure; `None` after a defect of the program.
    pub procedure: Option<Box<dyn Procedure>>,
}

/// Conducts every run in a thread of its own, to the end of the last. Returns how each ended.
pub fn conduct(runs: Vec<Run>, metrics: Option<&Exporter>, stop: &Stop) -> Vec<RunEnd> {
    let bars = MultiProgress::new();
    std::thread::scope(|scope| {
        let begin = |run: Run| {
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

/// One run. Its rig, and with that its seat among the others, is given up when it ends.
fn conduct_one(
    run: Run,
    bars: &MultiProgress,
    metrics: Option<&Exporter>,
    stop: &Stop,
) -> (Box<dyn Procedure>, Result<Ending, Halt>) {
    let Run { name, directory, mut rig, ledger, plan, procedure, lines } = run;
    let mut panel = Panel::among(bars, &name, procedure.as_ref(), rig.device(), stop.clone());
    let about = (plan.settings.procedure.as_str(), directory.as_path());
    let gauge = metrics.map(|metrics| metrics.gauge(rig.as_ref(), procedure.as_ref(), about));
    let mut both = Both(&mut panel, gauge);
    let ending =
        run::conduct(procedure.as_ref(), rig.as_mut(), ledger, &lines, SOFTWARE, &mut both);
    drop(both);
    panel.close();
    (procedure, ending)
}

/// The phases of all runs' procedures in their order. Runs of one sequence need not have the
/// same steps: the numbers of these say which comes first.
pub fn phases(runs: &[Run]) -> anyhow::Result<Vec<String>> {
    let mut phases: Vec<String> = Vec::new();
    for run in runs {
        for stretch in Outline::of(run.procedure.as_ref(), None)?.stretches {
            if !phases.contains(&stretch.phase) {
                phases.push(stretch.phase);
            }
        }
    }
    let numbers: Option<Vec<Vec<u32>>> = phases.iter().map(|phase| numbers_of(phase)).collect();
    if numbers.is_some() {
        phases.sort_by_key(|phase| numbers_of(phase));
    }
    Ok(phases)
}

/// Whether a run has a caveat in its journal.
pub fn has_told(lines: &[Line], caveat: &Caveat) -> bool {
    lines.iter().any(|line| match &line.entry {
        Entry::Noted(note) => matches!(&**note, Note::Caveat(told) if told == caveat),
        _ => false,
    })
}
