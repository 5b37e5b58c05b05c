//! Two loads in control groups of version 2, which limits one of them.

use crate::answers::{GuestOutput, GuestRun};
use crate::cases::checks::total;
use crate::guest::{Case, Guest};
use crate::guest_drive::{GuestDrive, Medium};
use anyhow::{Context, ensure};
use steadfast_domain::measurement::MeasuredLoad;
use steadfast_domain::{IoControl, JournalEntry, LoadGroup, Measurement, Op, Step};

/// Limit of the offender in bytes per second; the script has the same.
const LIMIT: f64 = 4e6;

/// Largest relative deviation of the offender's rate from the limit: the kernel accounts for it in
/// slices of 100 ms, and a step lasts 3 s.
const TOLERANCE: f64 = 0.08;

pub fn guest() -> Guest {
    Guest {
        drives: vec![GuestDrive::nvme("LABGROUP1", Medium::new(64))],
        cases: vec![
            Case::new("io.max, io.bfq.weight and io.cost take effect", rules),
            Case::new("the kernel has the limit while the loads run", meanwhile),
            Case::new("the offender moves what the limit allows", limited),
            Case::new("every I/O of both processes is the kernel's", counts),
            Case::new("no group, limit or model of costs is left", undone),
            Case::new("restore removes the groups of a killed run", restored),
        ],
        ..Guest::new("neighbors", include_str!("neighbors.sh"), 600)
    }
}

/// Returns the steps in which the offender was at work under a rule.
fn disturbed(run: &GuestRun, is_rule: fn(IoControl) -> bool) -> Vec<(&Step, &Measurement)> {
    let mut rule = None;
    let mut steps = Vec::new();
    for entry in run.entries() {
        match entry {
            JournalEntry::Settled { got, .. } => rule = got.io_control,
            JournalEntry::Applied { step, outcome }
                if step.groups.contains(&LoadGroup::Offender) && rule.is_some_and(is_rule) =>
            {
                steps.push((&**step, &outcome.measurement));
            }
            _ => {}
        }
    }
    steps
}

/// Returns the bytes per second that the offender wrote in a step.
fn offender_rate(step: &Step, measured: &Measurement) -> anyhow::Result<f64> {
    let at = step.groups.iter().position(|group| *group == LoadGroup::Offender);
    let at = at.context("no offender")?;
    let offender = if measured.parts.is_empty() {
        MeasuredLoad { streams: &measured.streams, elapsed: measured.elapsed }
    } else {
        measured.concurrent_loads().nth(at).context("no part of the offender")?
    };
    let bytes: u64 = offender.streams.iter().map(|stream| stream.tally.bytes.0).sum();
    Ok(bytes as f64 / offender.elapsed.as_secs_f64())
}

fn rules(answers: &GuestOutput) -> anyhow::Result<()> {
    let has = answers.stdout("controllers")?;
    ensure!(has.split_whitespace().any(|name| name == "io"), "controllers: {has}");
    let run = answers.run("run")?;
    for (name, is_rule) in [
        ("io.max", (|rule| matches!(rule, IoControl::Max(_))) as fn(IoControl) -> bool),
        ("io.bfq.weight", |rule| matches!(rule, IoControl::BfqWeight { .. })),
        ("io.cost", |rule| matches!(rule, IoControl::Cost { .. })),
    ] {
        ensure!(!disturbed(&run, is_rule).is_empty(), "no step under {name}");
    }
    Ok(())
}

fn meanwhile(answers: &GuestOutput) -> anyhow::Result<()> {
    let output = answers.text("rules-meanwhile")?;
    let line = |group: &str| {
        let wanted = format!("/{group}/io.max ");
        output.lines().find_map(|line| line.split_once(&wanted)).map(|(_, rule)| rule.to_owned())
    };
    let offender = line("offender").context("no io.max of the offender")?;
    ensure!(offender.contains("wbps=4000000"), "offender: {offender}");
    let victim = line("victim").context("no io.max of the victim")?;
    ensure!(victim.trim().is_empty(), "victim: {victim}");
    Ok(())
}

fn limited(answers: &GuestOutput) -> anyhow::Result<()> {
    let run = answers.run("run")?;
    let under_limit = disturbed(&run, |rule| matches!(rule, IoControl::Max(_)));
    for (step, measured) in under_limit {
        let rate = offender_rate(step, measured)?;
        ensure!((rate / LIMIT - 1.0).abs() <= TOLERANCE, "{}: {rate:.0} of {LIMIT}", step.place);
    }
    let free = disturbed(&run, |rule| rule == IoControl::Uncontrolled);
    let (step, measured) = free.first().context("no step without a rule")?;
    let rate = offender_rate(step, measured)?;
    ensure!(rate > 1.5 * LIMIT, "without a rule only {rate:.0} B/s: the limit limits nothing");
    Ok(())
}

fn counts(answers: &GuestOutput) -> anyhow::Result<()> {
    let run = answers.run("run")?;
    let mut steps = 0;
    for (step, outcome) in run.steps().filter(|(step, _)| !step.groups.is_empty()) {
        let kernel = outcome.measurement.kernel.as_ref().context("no counts of the kernel")?;
        let own = |op| total(&outcome.measurement, op).0;
        let ours = (own(Op::Read), own(Op::Write));
        ensure!((kernel.reads, kernel.writes) == ours, "{}: {kernel:?}, {ours:?}", step.place);
        steps += 1;
    }
    ensure!(steps >= 5, "{steps} steps with groups");
    Ok(())
}

fn undone(answers: &GuestOutput) -> anyhow::Result<()> {
    for name in ["groups-after", "limits-after"] {
        let left = answers.text(name)?;
        ensure!(left.trim().is_empty(), "{name}: {left}");
    }
    let (before, after) = (answers.stdout("delegated-before")?, answers.stdout("delegated-after")?);
    ensure!(before == after, "cgroup.subtree_control was '{before}' and is '{after}'");
    let cost = answers.text("cost-after")?;
    ensure!(!cost.contains("enable=1"), "io.cost.qos: {cost}");
    let scheduler = answers.text("scheduler-after")?;
    ensure!(scheduler.contains("[none]"), "scheduler: {scheduler}");
    Ok(())
}

fn restored(answers: &GuestOutput) -> anyhow::Result<()> {
    let killed = answers.text("groups-of-killed")?;
    ensure!(killed.lines().count() == 1, "groups of the killed run: {killed}");
    answers.ended("restore", &[0])?;
    let left = answers.text("groups-restored")?;
    ensure!(left.trim().is_empty(), "{left}");
    let (before, after) =
        (answers.stdout("delegated-before")?, answers.stdout("delegated-restored")?);
    ensure!(before == after, "cgroup.subtree_control was '{before}' and is '{after}'");
    Ok(())
}
