//! `steadfast resume`: continues a run on the device that it started on.

use super::conduct::ProcedureRun;
use super::power_cuts;
use super::resumed_run::ResumedRun;
use super::several;
use crate::cli::ResumeArguments;
use crate::exit::ExitState;
use crate::output::{has_report, print_complete};
use crate::prometheus::MetricsExporter;
use crate::{output, target, terminal};
use steadfast_domain::JournalEntry;
use steadfast_engine::StopSignal;
use steadfast_runner::ledger::JournalLine;
use steadfast_runner::run::is_complete;
use steadfast_runner::{Ledger, RunGroup};

/// Finds the run's device and conducts the remaining steps.
pub fn run(arguments: &ResumeArguments) -> anyhow::Result<ExitState> {
    if let Some(group) = RunGroup::find(&arguments.run_dir)? {
        return several::resume(arguments, &group);
    }
    let stop = target::stop_on_signals()?;
    let state = once(arguments, &stop)?;
    if stop.is_requested() {
        return Ok(state);
    }
    power_cuts::resume_after_cuts(state, &arguments.run_dir, &mut |stop| once(arguments, stop))
}

/// Resumes a run until it ends or halts.
pub fn once(arguments: &ResumeArguments, stop: &StopSignal) -> anyhow::Result<ExitState> {
    let (ledger, contents) = Ledger::open(&arguments.run_dir)?;
    let is_amended = arguments.max_rounds.is_some() || arguments.stop;
    if !is_amended && is_complete(&contents.lines) && has_report(&arguments.run_dir) {
        print_complete(&arguments.run_dir);
        return Ok(ExitState::Done);
    }
    let metrics = MetricsExporter::open(arguments.prometheus.as_deref(), None)?;
    let mut resumed = ResumedRun::arm(ledger, contents, arguments, stop)?;
    resumed.amend(arguments)?;
    let ResumedRun { mut rig, ledger, contents } = resumed;
    let procedure = output::procedure(&contents)?;
    let run = ProcedureRun {
        procedure: procedure.as_ref(),
        name: &contents.plan.settings.procedure,
        directory: &arguments.run_dir,
        json: arguments.json,
        verbose: arguments.verbose,
        metrics: metrics.as_ref(),
    };
    let state = run.conduct_and_report(rig.as_mut(), ledger, &contents.lines, stop)?;
    if let Some(rounds) = arguments.max_rounds {
        let after = Ledger::read(&arguments.run_dir)?;
        if step_count(&after.lines) == step_count(&contents.lines) {
            terminal::warn(&format!(
                "steadfast: --max-rounds {rounds} changed nothing: the last test has no rounds to add \
                 (it has ended for another reason, or has as many). The rounds of earlier tests \
                 cannot be continued; run them again with a larger --max-rounds"
            ));
        }
    }
    Ok(state)
}

fn step_count(lines: &[JournalLine]) -> usize {
    lines.iter().filter(|line| matches!(line.entry, JournalEntry::Applied { .. })).count()
}
