//! An exact replay: the single I/Os of a trace as a script, and the same script
//! opened again when a run is resumed.

use super::derived::{capture_steps, provenance, step_choice};
use super::source::{Opened, Source};
use crate::cli::ProcedureArguments;
use crate::cli::replay::{Reopened, ReplayArguments};
use anyhow::{Context, anyhow, bail};
use clap::Parser;
use std::fs::File;
use std::path::{Path, PathBuf};
use steadfast_analysis::Captured;
use steadfast_domain::script::Timing;
use steadfast_domain::{AppliedWorkload, Bytes, Demand, Device, Nanos, ScriptLoad};
use steadfast_runner::RunSettings;
use steadfast_tracefile::NotRecorded;
use steadfast_workload::replay::script::at_threshold;
use steadfast_workload::replay::{MapRule, ScriptOptions, Space, TraceScript};

/// So many I/Os may be outstanding where the trace does not say how many were: enough that
/// hardly one waits for room.
const UNKNOWN: u32 = 64;

/// The workload with the script of its single I/Os.
pub(super) fn workload(
    opened: Opened,
    chosen: &ProcedureArguments,
    device: &Device,
) -> anyhow::Result<AppliedWorkload> {
    let replay = &chosen.replay;
    let named = || opened.name.clone();
    let demand = demand(chosen.threads, chosen.depth);
    let (script, load) = script(&opened, replay, demand, device)?;
    let choice = step_choice(&opened, replay);
    let native = capture_steps(&opened, &choice).with_context(named)?;
    opened.say_damage();
    let mut told = provenance(&opened, &choice, &native.workload);
    told.origin.push(("Replay".to_owned(), manner(&script, &load)));
    let mut workload = native.applied(told);
    let caveat = |caveat: steadfast_domain::Caveat| {
        format!("{} {}", caveat.text, caveat.remedy).trim_end().to_owned()
    };
    workload.remarks = script.caveats().into_iter().map(caveat).collect();
    workload.script = Some(load);
    workload.opened_by = full_paths(&chosen.workload)?;
    workload.opened_by.extend(replay.words());
    Ok(workload)
}

/// How many outstanding I/Os the user gave; none where nothing was given.
fn demand(threads: Option<u32>, depth: Option<u32>) -> Option<Demand> {
    let given = threads.is_some() || depth.is_some();
    given.then(|| Demand::new(threads.unwrap_or(1), depth.unwrap_or(1)))
}

fn full_paths(files: &[String]) -> anyhow::Result<Vec<String>> {
    let full = |file: &String| {
        let path = Path::new(file).canonicalize();
        let path = path.with_context(|| format!("{file} cannot be found again"))?;
        let text = path.to_str().map(str::to_owned);
        text.with_context(|| format!("{file}: its full path is no UTF-8; move it"))
    };
    files.iter().map(full).collect()
}

/// The script, and it as a load.
fn script(
    opened: &Opened,
    replay: &ReplayArguments,
    demand: Option<Demand>,
    device: &Device,
) -> anyhow::Result<(TraceScript<File>, ScriptLoad)> {
    let named = || opened.name.clone();
    let captured = single_ios(opened)?;
    let mut pass = opened.pass.clone();
    if let Some(threshold) = replay.threshold {
        pass.filter = at_threshold(captured, &pass, (replay.by, threshold)).with_context(named)?;
    }
    let space = Space { size: device.capacity, logical_sector: device.logical_sector };
    let options = ScriptOptions {
        pass,
        issue_at: replay.issue_at,
        map: replay.map,
        leave_out: replay.leave_out(),
        origin_ns: replay.counted_from.map(|time| time.0),
        ..ScriptOptions::new(opened.title.clone(), space)
    };
    let script = TraceScript::of(captured, &options).with_context(named)?;
    let timing = replay.timing.unwrap_or_default();
    let unknown = script.summary().outstanding_max.is_none() && timing != Timing::Closed;
    let mut load = script.load(demand.or_else(|| unknown.then(|| Demand::new(1, UNKNOWN))));
    load.timing = timing;
    load.overlaps = replay.overlaps.unwrap_or_default();
    Ok((script, load))
}

/// When the first chosen I/O is due, from the capture's beginning.
pub(super) fn first_due(opened: &Opened, replay: &ReplayArguments) -> anyhow::Result<Nanos> {
    // Any target would do: addresses do not count.
    let space = Space { size: Bytes::gib(1), logical_sector: 512 };
    let options = ScriptOptions {
        pass: opened.pass.clone(),
        issue_at: replay.issue_at,
        map: Some(MapRule::Wrap),
        ..ScriptOptions::new(opened.title.clone(), space)
    };
    let script = TraceScript::of(single_ios(opened)?, &options);
    Ok(Nanos(script.with_context(|| opened.name.clone())?.origin_ns()))
}

fn single_ios(opened: &Opened) -> anyhow::Result<&Captured<File>> {
    let holds = match &opened.source {
        Source::Capture(captured) if captured.tells(NotRecorded::SingleIos).is_ok() => {
            return Ok(captured);
        }
        Source::Capture(_) => "is a step file: it holds the sums of capture steps",
        Source::Workload(_) => "is a workload file: it holds I/O streams and their counts",
        Source::Representation(_) => "is a Replay representation: it holds capture steps",
    };
    bail!(
        "{} {holds} and no single I/O; leave out --exact to replay its steps, or capture again \
         without --steps",
        opened.name
    )
}

/// How it is played, in words.
fn manner(script: &TraceScript<File>, load: &ScriptLoad) -> String {
    format!(
        "exact: {} single I/Os, timing {}, due at {} time, overlaps {}, addresses {}",
        load.counts.total(),
        load.timing,
        script.issue_at(),
        load.overlaps,
        script.map().rule()
    )
}

/// Opens the script of a run again, where it plays one.
///
/// # Errors
/// Where its files are gone, or hold other I/Os than those the run began with.
pub fn reopen(run: &mut RunSettings) -> anyhow::Result<()> {
    let (threads, depth) = (run.settings.threads, run.settings.depth);
    let Some(workload) = run.settings.workload.as_mut() else { return Ok(()) };
    let Some(kept) = workload.script.as_mut() else { return Ok(()) };
    let asked = Reopened::try_parse_from(&workload.opened_by).map_err(|_| {
        anyhow!("the run does not say how its script is opened again; begin the replay anew")
    })?;
    let missing = |path: &&PathBuf| !path.exists();
    if let Some(path) = asked.files.iter().find(missing) {
        bail!(
            "{}: the trace that this run replays is not there any more; put it back under this \
             name, and resume again",
            path.display()
        );
    }
    let opened = Opened::of(&asked.files, &asked.replay.filter)?;
    let (_, found) = script(&opened, &asked.replay, demand(threads, depth), &run.device)?;
    let differs = differences(kept, &found);
    if !differs.is_empty() {
        bail!(
            "{}: these are not the I/Os that this run began with ({}); put the original back, and \
             resume again",
            opened.name,
            differs.join("; ")
        );
    }
    kept.open = found.open;
    Ok(())
}

/// What is not as it was when a run began.
fn differences(kept: &ScriptLoad, found: &ScriptLoad) -> Vec<String> {
    if kept == found {
        return Vec::new();
    }
    let shown = |script: &ScriptLoad| {
        [
            ("I/Os", script.counts.total().to_string()),
            ("bytes", script.bytes.0.to_string()),
            ("length", script.span.to_string()),
            ("largest I/O", script.largest.0.to_string()),
            ("last byte", script.reach.0.to_string()),
            ("outstanding", script.demand.to_string()),
            ("addresses", script.mapping.clone()),
            ("SHA-256", script.digest.clone()),
        ]
    };
    let pairs = shown(kept).into_iter().zip(shown(found));
    let differs = pairs.filter(|(before, now)| before != now);
    let told: Vec<String> =
        differs.map(|((what, before), (_, now))| format!("{what} {now}, not {before}")).collect();
    if told.is_empty() { vec!["the way they are played differs".to_owned()] } else { told }
}
