//! A procedure on several targets at the same time: one run per target, one process, one combined
//! report.
//!
//! Checks for all targets come before a directory is created, and every target is armed before
//! anything is written. Then each run has a thread, and barriers synchronize the start of their
//! loads. See docs/targets.md.

use super::conduct::{state_if_unfinished, state_of, write_report};
use super::resumed_run::ResumedRun;
use super::start_run::{FinishedRun, RequestedRun, default_directory, names, refuse_ambiguous};
use crate::cli::ResumeArguments;
use crate::exit::{ExitState, error_text, misuse};
use crate::output::{has_report, print_complete};
use crate::output_files::{OutputDir, OutputRule, read_access};
use crate::progress_panel::RunPanel;
use crate::prometheus::{MetricsExporter, ProgressTee};
use crate::run_settings::SOFTWARE;
use crate::{output, target, terminal};
use anyhow::{Context, bail};
use indicatif::MultiProgress;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use steadfast_domain::{Device, Findings, Procedure};
use steadfast_engine::StopSignal;
use steadfast_host::OverwritePolicy;
use steadfast_report::{GroupTarget, StudiedTarget, TargetEnd, combined_findings, targets_text};
use steadfast_runner::run::is_complete;
use steadfast_runner::{
    GroupMember, HostClock, NamedTarget, NewMember, ReadyRun, RunEnd, RunGroup, StartSync,
    conduct_all, directory_names, refuse_taken, start_together,
};

/// Runs to conduct at the same time.
pub struct ConcurrentRuns<'a> {
    /// The runs; the first one determines the output directory, its readers and the metrics file.
    pub runs: Vec<RequestedRun<'a>>,
    /// Devices of the targets, in the same order.
    pub foreseen: &'a [Device],
    /// Loads that start together.
    pub sync: StartSync,
}

/// Starts a run on each target and conducts them together.
pub fn run(several: ConcurrentRuns<'_>) -> anyhow::Result<FinishedRun> {
    let ConcurrentRuns { runs, foreseen, sync } = several;
    let Some(RequestedRun { request: first, settings }) = runs.first() else {
        bail!("name a target: --target")
    };
    let (first, seed) = (*first, settings.seed);
    let out = match first.out {
        Some(out) => out.to_owned(),
        None => default_directory(settings, &format!("{}-targets", runs.len())),
    };
    let mut targets = Vec::new();
    for (RequestedRun { request, .. }, device) in runs.iter().zip(foreseen) {
        targets.push(NamedTarget { name: request.target, device });
    }
    refuse_same(&targets)?;
    let directories = directory_names(foreseen);
    let mut intents = Vec::new();
    for (index, RequestedRun { request, settings }) in runs.into_iter().enumerate() {
        intents.push(request.intent(settings, foreseen, index)?);
    }
    refuse_taken(&out)?;
    let metrics = MetricsExporter::open(first.prometheus, first.group)?;
    let stop = target::stop_on_signals()?;
    let keep = std::slice::from_ref(&out);
    let mut armed = Vec::new();
    for ((intent, target), directory) in intents.into_iter().zip(&targets).zip(&directories) {
        let refused = || format!("{}; no target was written to", target.name);
        armed.push(intent.arm(&out.join(directory), keep, &stop).with_context(refused)?);
    }
    let mut members = Vec::new();
    for ((armed, target), directory) in armed.iter().zip(&targets).zip(&directories) {
        members.push(NewMember { target: target.name, directory, plan: &armed.plan });
    }
    let (group, ledgers) = RunGroup::create(&out, read_access(first.group)?, sync, &members)?;
    terminal::status(&format!(
        "Directory of {} runs: {} (seed {seed})",
        armed.len(),
        out.display()
    ));
    let mut ready = Vec::new();
    for ((armed, ledger), member) in armed.into_iter().zip(ledgers).zip(&group.list.members) {
        ready.push(ReadyRun {
            name: member.directory.clone(),
            rig: armed.rig,
            ledger,
            procedure: armed.procedure,
            plan: armed.plan,
            lines: Vec::new(),
        });
    }
    let ends = conduct(ready, &group, metrics.as_ref(), &stop)?;
    let state = finish(&group, ends, first.json)?;
    Ok(FinishedRun { state, directory: out, was_stopped: stop.is_requested() })
}

/// Resumes all runs of a group that have not ended, or have not restored the host.
pub fn resume(arguments: &ResumeArguments, group: &RunGroup) -> anyhow::Result<ExitState> {
    let metrics = MetricsExporter::open(arguments.prometheus.as_deref(), None)?;
    let stop = target::stop_on_signals()?;
    // Only these are kept: the journals of all runs are large.
    let mut devices = Vec::new();
    let mut complete = Vec::new();
    for contents in group.read()? {
        complete.push(is_complete(&contents.lines));
        devices.push(contents.plan.device);
    }
    refuse_ambiguous(&arguments.yes_destroy, &devices)?;
    let mut armed = Vec::new();
    for (index, member) in group.list.members.iter().enumerate() {
        if arguments.max_rounds.is_none() && complete[index] {
            continue;
        }
        let own_arguments = arguments_of(arguments, group, index, &devices);
        let opened = group.open(member).map_err(anyhow::Error::from);
        let run = opened.and_then(|(ledger, contents)| {
            ResumedRun::arm(ledger, contents, &own_arguments, &stop)
        });
        let refused = || format!("{}; no run was resumed", member.target);
        armed.push(ResumedMember { member, run: run.with_context(refused)?, own_arguments });
    }
    if armed.is_empty() && has_report(group.path()) {
        print_complete(group.path());
        return Ok(ExitState::Done);
    }
    // No journal is amended unless all can be.
    for resumed in &armed {
        output::procedure(&resumed.run.contents)?;
    }
    let mut runs = Vec::new();
    for ResumedMember { member, mut run, own_arguments } in armed {
        run.amend(&own_arguments)?;
        let ResumedRun { rig, ledger, contents } = run;
        runs.push(ReadyRun {
            name: member.directory.clone(),
            rig,
            ledger,
            procedure: output::procedure(&contents)?,
            plan: contents.plan,
            lines: contents.lines,
        });
    }
    let ends = conduct(runs, group, metrics.as_ref(), &stop)?;
    finish(group, ends, arguments.json)
}

/// A run of a group that is resumed.
struct ResumedMember<'a> {
    member: &'a GroupMember,
    run: ResumedRun,
    own_arguments: ResumeArguments,
}

/// Returns the resume arguments for the run `index` of a group.
fn arguments_of(
    arguments: &ResumeArguments,
    group: &RunGroup,
    index: usize,
    devices: &[Device],
) -> ResumeArguments {
    let is_of_another = |typed: &String| {
        !names(typed, &devices[index]) && devices.iter().any(|device| names(typed, device))
    };
    let typed = arguments.yes_destroy.iter().filter(|typed| !is_of_another(typed));
    ResumeArguments {
        run_dir: group.directory_of(&group.list.members[index]),
        max_rounds: arguments.max_rounds,
        stop: arguments.stop,
        yes_destroy: typed.cloned().collect(),
        prometheus: None,
        json: false,
        verbose: false,
    }
}

/// Conducts every run in its own thread and waits for all.
fn conduct(
    mut runs: Vec<ReadyRun>,
    group: &RunGroup,
    metrics: Option<&MetricsExporter>,
    stop: &StopSignal,
) -> anyhow::Result<Vec<RunEnd>> {
    start_together(&mut runs, group.list.together, Arc::new(HostClock))?;
    let bars = MultiProgress::new();
    Ok(conduct_all(runs, |run| {
        let (procedure, rig) = (run.procedure.as_ref(), run.rig.as_ref());
        let mut panel = RunPanel::among(&bars, &run.name, procedure, rig.device(), stop.clone());
        let (name, directory) = (&run.plan.settings.procedure, run.ledger.directory().path());
        let metrics = metrics.map(|metrics| metrics.add_target(rig, procedure, name, directory));
        let end = run.conduct(SOFTWARE, &mut ProgressTee { panel: &mut panel, metrics });
        panel.close();
        end
    }))
}

/// Reports the results of all runs of the group.
fn finish(group: &RunGroup, ends: Vec<RunEnd>, json: bool) -> anyhow::Result<ExitState> {
    let mut results = Vec::new();
    for member in &group.list.members {
        let end = ends.iter().find(|end| end.name == member.directory);
        results.push(result_of(group, member, end));
    }
    report(group, &results, json)?;
    Ok(ExitState::worst(results.iter().map(|result| result.state)))
}

/// Result of one target.
struct RunResult<'a> {
    target: GroupTarget<'a>,
    state: ExitState,
    error: Option<String>,
}

impl RunResult<'_> {
    fn output(&self) -> RunTargetOutput<'_> {
        RunTargetOutput {
            target: self.target.target,
            directory: &self.target.directory,
            exit_code: self.target.exit_code,
            error: self.error.as_deref(),
            findings: self.target.studied().map(|studied| &studied.findings),
        }
    }
}

/// Studies the run of a member if it has ended, in this process or before, and writes its report.
fn result_of<'a>(
    group: &'a RunGroup,
    member: &'a GroupMember,
    end: Option<&RunEnd>,
) -> RunResult<'a> {
    let directory = group.directory_of(member);
    let halted = match end.map(|end| &end.ending) {
        Some(Err(error)) => Err(anyhow::anyhow!("{error}")),
        Some(Ok(ending)) => state_if_unfinished(ending, &directory),
        None => Ok(None),
    };
    let procedure = end.and_then(|end| end.procedure.as_deref());
    let study = |halted| match halted {
        Some(state) => Ok((state, TargetEnd::Halted)),
        None => study_member(group, member, procedure)
            .map(|studied| (state_of(&studied.findings), TargetEnd::Studied(Box::new(studied)))),
    };
    let (state, end, error) = match halted.and_then(study) {
        Ok((state, end)) => (state, end, None),
        Err(error) => (ExitState::Failed, TargetEnd::Failed, Some(error_text(&error))),
    };
    if let Some(error) = &error {
        terminal::warn(&format!("steadfast: {}: {error}", member.target));
    }
    let (target, name, exit_code) = (&member.target, &member.directory, state.code());
    RunResult { target: GroupTarget { target, name, directory, exit_code, end }, state, error }
}

/// Studies the run of a member and writes its report.
fn study_member(
    group: &RunGroup,
    member: &GroupMember,
    procedure: Option<&dyn Procedure>,
) -> anyhow::Result<StudiedTarget> {
    let contents = group.read_member(member)?;
    output::warn_if_torn(&group.directory_of(member), &contents);
    let starts = contents.common_starts();
    let findings = match procedure {
        Some(procedure) => contents.study(procedure),
        None => {
            let procedure = output::procedure(&contents)?;
            contents.study(procedure.as_ref())
        }
    };
    write_report(&group.enter(member)?, &findings)?;
    Ok(StudiedTarget { findings, starts })
}

/// One target of `--json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct RunTargetOutput<'a> {
    target: &'a str,
    directory: &'a Path,
    exit_code: u8,
    error: Option<&'a str>,
    findings: Option<&'a Findings>,
}

/// The JSON output.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct RunTargetsOutput<'a> {
    targets: Vec<RunTargetOutput<'a>>,
    combined: Option<&'a Findings>,
}

/// Prints the result of every target and writes the report over all if all have ended.
fn report(group: &RunGroup, results: &[RunResult<'_>], json: bool) -> anyhow::Result<()> {
    let targets = results.iter().map(|result| &result.target);
    let combined = combined_findings(targets.clone())?;
    if let Some(combined) = &combined {
        let rule = OutputRule { existing: OverwritePolicy::Overwrite, readers: group.readers() };
        let output_dir = OutputDir::open(group.path(), rule, &[])?;
        output::write(&output_dir, combined, output::default_formats())?;
    }
    if json {
        let targets = results.iter().map(RunResult::output).collect();
        return terminal::print_json(&RunTargetsOutput { targets, combined: combined.as_ref() });
    }
    terminal::print(&targets_text(targets))?;
    if let Some(combined) = &combined {
        let text = steadfast_report::text(combined, terminal::width());
        terminal::print(&format!(
            "\n{text}\n\n{} (over all targets; each target's own in its run directory)",
            output::report_line(group.path())
        ))?;
    }
    Ok(())
}

/// Refuses two targets that are the same device under any name.
pub fn refuse_same(targets: &[NamedTarget<'_>]) -> anyhow::Result<()> {
    match steadfast_runner::same_device(targets) {
        Some([one, other]) => Err(misuse(format!(
            "--target {} and --target {} are the same device; name each device once",
            one.name, other.name
        ))),
        None => Ok(()),
    }
}
