//! Exact replay: the single I/Os of a trace as a script, reopened when a run is resumed.

use super::derived::{capture_steps, provenance, step_choice};
use super::source::{SelectedSource, WorkloadSource};
use crate::cli::ProcedureArguments;
use crate::cli::replay::ReplayArguments;
use crate::filtered_capture;
use anyhow::{Context, bail};
use std::path::{Path, PathBuf};
use steadfast_analysis::Captured;
use steadfast_analysis::filter::{Filter, ProcessSelector};
use steadfast_analysis::pass::PassOptions;
use steadfast_analysis::questions::streams::StreamKey;
use steadfast_domain::script::Timing;
use steadfast_domain::script_source::{ChosenProcess, ChosenStream};
use steadfast_domain::{
    AppliedWorkload, Bytes, ChosenIos, Demand, Device, Nanos, ScriptLoad, ScriptSource,
};
use steadfast_runner::RunPlan;
use steadfast_tracefile::NotRecorded;
use steadfast_workload::WorkloadDetails;
use steadfast_workload::replay::script::at_threshold;
use steadfast_workload::replay::{MapRule, ReplayTarget, ScriptOptions, TraceScript};

/// Number of outstanding I/Os if the trace does not record it: enough that hardly any I/O waits for
/// a free slot.
const DEPTH_DEFAULT: u32 = 64;

/// Returns the workload with the script of its single I/Os.
pub(super) fn workload(
    opened: SelectedSource,
    chosen: &ProcedureArguments,
    device: &Device,
) -> anyhow::Result<AppliedWorkload> {
    let replay = &chosen.replay;
    let named = || opened.name.clone();
    let options = script_options(&opened, replay, device)?;
    let script = TraceScript::prepare(single_ios(&opened)?, &options).with_context(named)?;
    let load = script_load(&script, replay, chosen_demand(chosen.threads, chosen.depth));
    let choice = step_choice(&opened, replay);
    let native = capture_steps(&opened, &choice).with_context(named)?;
    opened.warn_of_damage();
    // The script has every offset and time: zones and arrivals are not applied.
    let details = WorkloadDetails::default();
    let mut provenance = provenance(&opened, &choice, &native.workload, &details);
    provenance.origin.push(("Replay".to_owned(), describe_replay(&script, &load)));
    let mut workload = native.applied(provenance);
    workload.remarks = script
        .caveats()
        .into_iter()
        .map(|caveat| format!("{} {}", caveat.text, caveat.remedy).trim_end().to_owned())
        .collect();
    workload.script = Some(load);
    workload.script_source = Some(Box::new(ScriptSource {
        files: chosen.workload.iter().map(full_path).collect::<Result<_, _>>()?,
        chosen: chosen_ios(options.pass.filter),
        window: options.pass.window,
        issue_at: script.issue_at(),
        map: script.map().rule(),
        counted_from: Nanos(script.origin_ns()),
    }));
    Ok(workload)
}

/// Returns the demand that the user gave; `None` if neither option is set.
fn chosen_demand(threads: Option<u32>, depth: Option<u32>) -> Option<Demand> {
    let is_given = threads.is_some() || depth.is_some();
    is_given.then(|| Demand::new(threads.unwrap_or(1), depth.unwrap_or(1)))
}

fn full_path(file: &String) -> anyhow::Result<String> {
    let path = Path::new(file).canonicalize();
    let path = path.with_context(|| format!("{file} cannot be found again"))?;
    let text = path.to_str().map(str::to_owned);
    text.with_context(|| format!("{file}: its full path is no UTF-8; move it"))
}

/// Returns the options that select the I/Os and map their addresses.
fn script_options(
    opened: &SelectedSource,
    replay: &ReplayArguments,
    device: &Device,
) -> anyhow::Result<ScriptOptions> {
    let captured = single_ios(opened)?;
    let mut pass = opened.pass.clone();
    if let Some(threshold) = replay.threshold {
        let filter = at_threshold(captured, &pass, replay.shares, threshold);
        pass.filter = filter.with_context(|| opened.name.clone())?;
    }
    Ok(ScriptOptions {
        pass,
        issue_at: replay.issue_at,
        map: replay.map,
        leave_out: replay.leave_out(),
        origin_ns: replay.counted_from.map(|time| time.0),
        ..ScriptOptions::new(opened.title.clone(), replay_target(device))
    })
}

fn replay_target(device: &Device) -> ReplayTarget {
    ReplayTarget { size: device.capacity, logical_sector: device.logical_sector }
}

/// Returns the script with its timing, demand and overlap rule.
fn script_load(
    script: &TraceScript,
    replay: &ReplayArguments,
    demand: Option<Demand>,
) -> ScriptLoad {
    let timing = replay.timing.unwrap_or_default();
    let needs_default = script.summary().outstanding_max.is_none() && timing != Timing::Closed;
    let default_demand = needs_default.then(|| Demand::new(1, DEPTH_DEFAULT));
    let mut load = script.load(demand.or(default_demand));
    load.timing = timing;
    load.overlaps = replay.overlaps.unwrap_or_default();
    load
}

/// Returns the choice of I/Os in the form that the settings store.
fn chosen_ios(filter: Filter) -> ChosenIos {
    ChosenIos {
        spans_ns: filter.spans_ns,
        process: filter.process.map(|process| match process {
            ProcessSelector::Pid(pid) => ChosenProcess::Pid(pid),
            ProcessSelector::Command(name) => ChosenProcess::Command(name),
        }),
        thread: filter.thread,
        cgroups: filter.cgroups.into_iter().collect(),
        files: filter.files.into_iter().collect(),
        ops: filter.ops,
        devices: filter.devices,
        hosts: filter.hosts.into_iter().collect(),
        layer: filter.layer,
        streams: filter
            .streams
            .into_iter()
            .map(|StreamKey { op, sequential, bytes }| ChosenStream { op, sequential, bytes })
            .collect(),
    }
}

/// Returns the filter for a stored choice of I/Os.
fn filter_of(chosen: ChosenIos) -> Filter {
    Filter {
        spans_ns: chosen.spans_ns,
        process: chosen.process.map(|process| match process {
            ChosenProcess::Pid(pid) => ProcessSelector::Pid(pid),
            ChosenProcess::Command(name) => ProcessSelector::Command(name),
        }),
        thread: chosen.thread,
        cgroups: chosen.cgroups.into_iter().collect(),
        files: chosen.files.into_iter().collect(),
        ops: chosen.ops,
        devices: chosen.devices,
        hosts: chosen.hosts.into_iter().collect(),
        layer: chosen.layer,
        streams: chosen
            .streams
            .into_iter()
            .map(|ChosenStream { op, sequential, bytes }| StreamKey { op, sequential, bytes })
            .collect(),
    }
}

/// Returns the due time of the first chosen I/O, from the start of the capture.
pub(super) fn first_due(
    opened: &SelectedSource,
    replay: &ReplayArguments,
) -> anyhow::Result<Nanos> {
    // Addresses do not matter here, so any target will do.
    let any_target = ReplayTarget { size: Bytes::gib(1), logical_sector: 512 };
    let options = ScriptOptions {
        pass: opened.pass.clone(),
        issue_at: replay.issue_at,
        map: Some(MapRule::Wrap),
        ..ScriptOptions::new(opened.title.clone(), any_target)
    };
    let script = TraceScript::prepare(single_ios(opened)?, &options);
    Ok(Nanos(script.with_context(|| opened.name.clone())?.origin_ns()))
}

fn single_ios(opened: &SelectedSource) -> anyhow::Result<&Captured> {
    let refusal = match &opened.source {
        WorkloadSource::Capture(captured)
            if captured.check_recorded(NotRecorded::SingleIos).is_ok() =>
        {
            return Ok(captured);
        }
        WorkloadSource::Capture(_) => "is a step file: it holds the sums of capture steps",
        WorkloadSource::Workload(_) => "is a workload file: it holds I/O streams and their counts",
        WorkloadSource::Representation(_) => "is a Replay representation: it holds capture steps",
    };
    bail!(
        "{} {refusal} and no single I/O; leave out --exact to replay its steps, or capture again \
         without --totals-every",
        opened.name
    )
}

/// Describes the replay in words.
fn describe_replay(script: &TraceScript, load: &ScriptLoad) -> String {
    format!(
        "exact: {} single I/Os, timing {}, due at {} time, overlaps {}, addresses {}",
        load.counts.total(),
        load.timing,
        script.issue_at(),
        load.overlaps,
        script.map().rule()
    )
}

/// Reopens the script of a run; does nothing if the run has none.
///
/// # Errors
/// Returns an error if its files are missing or contain other I/Os than when the run started.
pub fn reopen(run: &mut RunPlan) -> anyhow::Result<()> {
    let Some(workload) = run.settings.workload.as_mut() else { return Ok(()) };
    let Some(kept) = workload.script.as_mut() else { return Ok(()) };
    let Some(source) = workload.script_source.as_deref() else {
        bail!("the run does not say how its script is opened again; start the replay again");
    };
    let files: Vec<PathBuf> = source.files.iter().map(PathBuf::from).collect();
    if let Some(path) = files.iter().find(|path| !path.exists()) {
        bail!(
            "{}: the trace that this run replays is missing; restore it under this name, and \
             resume again",
            path.display()
        );
    }
    let (name, captured) = filtered_capture::capture(&files)?;
    let pass = PassOptions {
        filter: filter_of(source.chosen.clone()),
        window: source.window,
        ..PassOptions::default()
    };
    let options = ScriptOptions {
        pass,
        issue_at: Some(source.issue_at),
        map: Some(source.map),
        leave_out: kept.leave_out,
        origin_ns: Some(source.counted_from.0),
        ..ScriptOptions::new(kept.name.clone(), replay_target(&run.device))
    };
    let script = TraceScript::prepare(&captured, &options).with_context(|| name.clone())?;
    let found = ScriptLoad {
        timing: kept.timing,
        overlaps: kept.overlaps,
        ..script.load(Some(kept.demand))
    };
    let differences = differences(kept, &found);
    if !differences.is_empty() {
        bail!(
            "{name}: these are not the I/Os that this run began with ({}); restore the original \
             file, and resume again",
            differences.join("; ")
        );
    }
    kept.open = found.open;
    Ok(())
}

/// Lists the differences between a run's script and the reopened one; empty if there are none.
fn differences(kept: &ScriptLoad, found: &ScriptLoad) -> Vec<String> {
    if kept == found {
        return Vec::new();
    }
    let differences: Vec<String> = properties(kept)
        .into_iter()
        .zip(properties(found))
        .filter(|(before, now)| before != now)
        .map(|((name, before), (_, now))| format!("{name} {now}, not {before}"))
        .collect();
    if differences.is_empty() {
        vec!["the way they are played differs".to_owned()]
    } else {
        differences
    }
}

/// Returns the properties of a script that a user can compare, by name.
fn properties(script: &ScriptLoad) -> [(&'static str, String); 8] {
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::{IoOp, Layer};

    #[test]
    fn a_choice_of_ios_reads_back_as_it_was_kept() {
        let filter = Filter {
            spans_ns: vec![(90_000_000_000, 5_400_000_000_001), (7, u64::MAX)],
            process: Some(ProcessSelector::Command("-x y".into())),
            thread: Some(43),
            cgroups: vec![("/docker/a b".into(), vec![1, 3])],
            files: vec![("/var/lib/x".into(), vec![(Some(0), 7), (None, 8)])],
            ops: vec![IoOp::Read, IoOp::Discard],
            devices: vec![1],
            hosts: vec![("web1".into(), vec![0, 1])],
            layer: Some(Layer::Block),
            streams: vec![StreamKey { op: IoOp::Write, sequential: false, bytes: 4096 }],
        };
        for filter in [filter, Filter::default()] {
            let kept = serde_json::to_string(&chosen_ios(filter.clone())).unwrap();
            assert_eq!(filter_of(serde_json::from_str(&kept).unwrap()), filter, "{kept}");
        }
    }
}
