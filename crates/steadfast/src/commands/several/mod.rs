//! A procedure on several targets at the same time: one run per target, one process, one combined
//! report.
//!
//! Checks for all targets come before a directory is created, and every target is armed before
//! anything is written. Then each run has a thread, and barriers synchronize the start of their
//! loads. See docs/targets.md.

mod threads;

use super::conduct::{state, unfinished, write_report};
use super::resumed_run::ResumedRun;
use super::start_run::{
    FinishedRun, RunIntent, RunRequest, default_directory, names, refuse_ambiguous,
};
use crate::cli::ResumeArguments;
use crate::exit::{ExitState, error_text, misuse};
use crate::output::{has_report, print_complete};
use crate::output_files::{OutputDir, OutputRule, read_access};
use crate::prometheus::MetricsExporter;
use crate::{output, target, terminal};
use anyhow::{Context, bail};
use serde::Serialize;
use std::path::{Path, PathBuf};
use steadfast_domain::{Device, Findings, Procedure, Settings};
use steadfast_host::{Directory, OverwritePolicy};
use steadfast_report::{FinishedTarget, combined_findings, end_text, text_table};
use steadfast_runner::run::is_complete;
use steadfast_runner::start_together::shared_host;
use steadfast_runner::{
    GroupMember, Ledger, NamedTarget, RunGroup, RunPlan, StartSync, TargetList, refuse_taken,
};
use threads::{ReadyRun, RunEnd};

/// Runs to conduct at the same time.
pub struct ConcurrentRuns<'a> {
    /// Inputs and settings of each run. The first one determines the output directory and its
    /// readers.
    pub each: Vec<(RunRequest<'a>, Settings)>,
    /// Devices of the targets, in the same order.
    pub foreseen: &'a [Device],
    /// Loads that start together.
    pub sync: StartSync,
    /// File for metrics during the runs.
    pub prometheus: Option<&'a Path>,
}

/// Starts a run on each target and conducts them together.
pub fn run(several: ConcurrentRuns<'_>) -> anyhow::Result<FinishedRun> {
    let ConcurrentRuns { each, foreseen, sync, prometheus } = several;
    let Some((first, settings)) = each.first() else { bail!("name a target: --target") };
    let (first, seed) = (*first, settings.seed);
    let usual = || default_directory(settings, &format!("{}-targets", each.len()));
    let out = first.out.map_or_else(usual, Path::to_owned);
    let targets: Vec<NamedTarget<'_>> = each
        .iter()
        .zip(foreseen)
        .map(|((request, _), device)| NamedTarget { name: request.target, device })
        .collect();
    refuse_same(&targets)?;
    let list = TargetList::new(&targets, sync);
    let each = each.into_iter().enumerate();
    let intents = each.map(|(at, (request, settings))| request.intent(settings, foreseen, at));
    let intents = intents.collect::<anyhow::Result<Vec<RunIntent<'_>>>>()?;
    refuse_taken(&out)?;
    let metrics = prometheus.map(|path| MetricsExporter::new(path, first.group)).transpose()?;
    let stop = target::stop_on_signals()?;
    let mut armed = Vec::new();
    for (intent, member) in intents.into_iter().zip(&list.members) {
        let directory = out.join(&member.directory);
        let refused = || format!("{}; no target was written to", member.target);
        armed
            .push(intent.arm(&directory, std::slice::from_ref(&out), &stop).with_context(refused)?);
    }
    let plans: Vec<&RunPlan> = armed.iter().map(|one| &one.plan).collect();
    let (group, ledgers) = RunGroup::create(&out, read_access(first.group)?, list, &plans)?;
    terminal::status(&format!(
        "Directory of {} runs: {} (seed {seed})",
        armed.len(),
        out.display()
    ));
    let opened = armed.into_iter().zip(ledgers).zip(&group.list.members);
    let runs = opened.map(|((armed, ledger), member)| ReadyRun {
        name: member.directory.clone(),
        rig: armed.rig,
        ledger,
        procedure: armed.procedure,
        plan: armed.plan,
        lines: Vec::new(),
        directory: group.directory_of(member),
    });
    let runs = start_together(runs.collect(), &group)?;
    let state = finish(&group, threads::conduct(runs, metrics.as_ref(), &stop), first.json)?;
    Ok(FinishedRun { state, directory: out, was_stopped: stop.is_requested() })
}

/// Resumes all runs of a group that have not ended, or have not restored the host.
pub fn resume(arguments: &ResumeArguments, group: &RunGroup) -> anyhow::Result<ExitState> {
    let prometheus = arguments.prometheus.as_deref();
    let metrics = prometheus.map(|path| MetricsExporter::new(path, None)).transpose()?;
    let stop = target::stop_on_signals()?;
    let known = group.read()?.into_iter().map(|run| (run.plan.device, is_complete(&run.lines)));
    let (devices, complete): (Vec<Device>, Vec<bool>) = known.unzip();
    refuse_ambiguous(&arguments.yes_destroy, &devices)?;
    let mut all = Vec::new();
    for (at, member) in group.list.members.iter().enumerate() {
        if arguments.max_rounds.is_none() && complete[at] {
            continue;
        }
        let own = arguments_of(arguments, group, at, &devices);
        let opened = group.open(member).map_err(anyhow::Error::from);
        let resumed = opened.and_then(|opened| ResumedRun::arm(opened, &own, &stop));
        let refused = || format!("{}; no run was resumed", member.target);
        all.push((member, resumed.with_context(refused)?, own));
    }
    if all.is_empty() && has_report(group.path()) {
        print_complete(group.path());
        return Ok(ExitState::Done);
    }
    // No journal is amended unless all can be.
    let procedures = all.iter().map(|(_, resumed, _)| output::procedure(&resumed.contents));
    procedures.collect::<anyhow::Result<Vec<_>>>()?;
    let mut runs = Vec::new();
    for (member, mut resumed, own) in all {
        resumed.amend(&own)?;
        let ResumedRun { rig, ledger, contents } = resumed;
        runs.push(ReadyRun {
            name: member.directory.clone(),
            directory: own.run_dir,
            rig,
            ledger,
            procedure: output::procedure(&contents)?,
            plan: contents.plan,
            lines: contents.lines,
        });
    }
    let endings = threads::conduct(start_together(runs, group)?, metrics.as_ref(), &stop);
    finish(group, endings, arguments.json)
}

/// Returns the resume arguments for one run of a group.
fn arguments_of(
    arguments: &ResumeArguments,
    group: &RunGroup,
    at: usize,
    devices: &[Device],
) -> ResumeArguments {
    let is_of_another = |typed: &String| {
        !names(typed, &devices[at]) && devices.iter().any(|device| names(typed, device))
    };
    let typed = arguments.yes_destroy.iter().filter(|typed| !is_of_another(typed));
    ResumeArguments {
        run_dir: group.directory_of(&group.list.members[at]),
        max_rounds: arguments.max_rounds,
        stop: arguments.stop,
        yes_destroy: typed.cloned().collect(),
        prometheus: None,
        json: false,
        verbose: false,
    }
}

/// Lets the loads of all runs start together, and adds a caveat on shared resources to each.
fn start_together(mut runs: Vec<ReadyRun>, group: &RunGroup) -> anyhow::Result<Vec<ReadyRun>> {
    let phases = threads::phases(&runs)?;
    let real = runs.iter_mut().filter(|run| !run.rig.device().is_simulated());
    let real: Vec<&mut ReadyRun> = real.collect();
    if real.len() < 2 {
        return Ok(runs);
    }
    let paths: Vec<String> = real.iter().map(|run| run.rig.device().path.clone()).collect();
    let tickets = steadfast_runner::start_tickets(real.len(), phases, group.list.together);
    for (at, (run, ticket)) in real.into_iter().zip(tickets).enumerate() {
        let others = paths.iter().enumerate().filter(|(other, _)| *other != at);
        let others: Vec<&str> = others.map(|(_, path)| path.as_str()).collect();
        let caveat = shared_host(&others, run.rig.host().cpus);
        let is_known = threads::has_caveat(&run.lines, &caveat);
        run.rig.join(ticket, Some(caveat).filter(|_| !is_known));
    }
    Ok(runs)
}

/// Reports the results of all runs of the group.
fn finish(group: &RunGroup, ends: Vec<RunEnd>, json: bool) -> anyhow::Result<ExitState> {
    let mut outcomes = Vec::new();
    for member in &group.list.members {
        let directory = group.directory_of(member);
        let end = ends.iter().find(|end| end.name == member.directory);
        let outcome = match end.map(|end| &end.ending) {
            Some(Err(error)) => Err(anyhow::anyhow!("{error}")),
            Some(Ok(ending)) => unfinished(ending, &directory),
            None => Ok(None),
        };
        let procedure = end.and_then(|end| end.procedure.as_deref());
        outcomes.push(TargetOutcome::new(member, directory, procedure, outcome));
    }
    report(group, &outcomes, json)?;
    Ok(ExitState::worst(outcomes.iter().map(|one| one.state)))
}

/// Result of one target.
struct TargetOutcome<'a> {
    member: &'a GroupMember,
    directory: PathBuf,
    state: ExitState,
    error: Option<String>,
    findings: Option<Findings>,
}

impl<'a> TargetOutcome<'a> {
    fn new(
        member: &'a GroupMember,
        directory: PathBuf,
        procedure: Option<&dyn Procedure>,
        outcome: anyhow::Result<Option<ExitState>>,
    ) -> Self {
        let whole = outcome.and_then(|halted| match halted {
            Some(halted) => Ok((halted, None)),
            None => studied(&directory, procedure).map(|found| (state(&found), Some(found))),
        });
        let (state, findings, error) = match whole {
            Ok((state, findings)) => (state, findings, None),
            Err(error) => (ExitState::Failed, None, Some(error_text(&error))),
        };
        if let Some(error) = &error {
            terminal::warn(&format!("steadfast: {}: {error}", member.target));
        }
        TargetOutcome { member, directory, state, error, findings }
    }

    fn result(&self) -> String {
        match (&self.findings, self.state) {
            (Some(findings), _) => end_text(findings.whole_end()),
            (None, ExitState::Halted) => "HALTED".to_owned(),
            (None, _) => "FAILED".to_owned(),
        }
    }

    fn output(&self) -> RunTargetOutput<'_> {
        RunTargetOutput {
            target: &self.member.target,
            directory: &self.directory,
            exit_code: self.state.code(),
            error: self.error.as_deref(),
            findings: self.findings.as_ref(),
        }
    }
}

/// Studies a run that ended in this process or before, and writes its report.
fn studied(path: &Path, procedure: Option<&dyn Procedure>) -> anyhow::Result<Findings> {
    let directory = Directory::open(path)?;
    let findings = match procedure {
        Some(procedure) => output::study_with(procedure, &directory)?,
        None => output::study_in(&directory)?,
    };
    write_report(&directory, &findings)?;
    Ok(findings)
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

/// Prints the result of every target and writes the report over all that have ended.
fn report(group: &RunGroup, outcomes: &[TargetOutcome<'_>], json: bool) -> anyhow::Result<()> {
    let found = outcomes.iter().filter_map(|one| Some((one, one.findings.as_ref()?)));
    let mut sides = Vec::new();
    for (one, findings) in found {
        let starts = Ledger::read(&one.directory)?.common_starts();
        sides.push(FinishedTarget { name: &one.member.directory, starts, findings });
    }
    let combined =
        if sides.len() == outcomes.len() { Some(combined_findings(&sides)?) } else { None };
    if let Some(combined) = &combined {
        let rule = OutputRule { existing: OverwritePolicy::Overwrite, readers: group.readers() };
        let output_dir = OutputDir::open(group.path(), rule, &[])?;
        output::write(&output_dir, combined, output::default_formats())?;
    }
    if json {
        let targets = outcomes.iter().map(TargetOutcome::output).collect();
        return terminal::print_json(&RunTargetsOutput { targets, combined: combined.as_ref() });
    }
    terminal::print(&closing_table(outcomes))?;
    if let Some(combined) = &combined {
        let text = steadfast_report::text(combined, terminal::width());
        terminal::print(&format!(
            "\n{text}\n\n{} (over all targets; each target's own in its run directory)",
            output::report_line(group.path())
        ))?;
    }
    Ok(())
}

/// Formats the closing table, one row per target.
fn closing_table(outcomes: &[TargetOutcome<'_>]) -> String {
    let head = ["Target", "Model", "Result", "Exit code", "Run directory"].map(str::to_owned);
    let row = |one: &TargetOutcome<'_>| {
        let model = one.findings.as_ref().and_then(Findings::model);
        [
            one.member.target.clone(),
            model.unwrap_or("–").to_owned(),
            one.result(),
            one.state.code().to_string(),
            one.directory.display().to_string(),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(outcomes.iter().map(row)).collect();
    text_table::with_left(&rows, |column| column != 3)
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
