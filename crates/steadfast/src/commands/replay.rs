//! `steadfast replay verify`: compares a replay with its capture.

use crate::cli::replay::{ReplayCommand, ReplayCommandArguments, VerifyArguments};
use crate::cli::trace::FilterArguments;
use crate::exit::{ExitState, misuse};
use crate::filtered_capture::{self, FilteredCapture};
use crate::output::OptionalReport;
use crate::run_settings::SOFTWARE;
use crate::{output, terminal};
use anyhow::Context;
use std::slice;
use steadfast_analysis::ShareMeasure;
use steadfast_analysis::moment::Moment;
use steadfast_domain::io_event::CommandName;
use steadfast_domain::text::printable;
use steadfast_domain::{CaptureConditions, IoOp};
use steadfast_tracefile::{Field, Fields};
use steadfast_workload::fidelity::{Fidelity, FidelityOptions, findings};
use steadfast_workload::replay::{AddressMap, MapRule, ReplayTarget, ScriptOptions, TraceScript};

/// Logical sector size in bytes, if the capture does not record it.
const SECTOR: u32 = 512;

/// Beginning of the mark that a replay of single I/Os sets in running captures when its first I/O is
/// due; ` on TARGET` follows.
pub const BEGINS: &str = "replay begins";

/// Beginning of the mark that it sets after its last I/O.
pub const ENDS: &str = "replay ends";

/// Runs one of the commands.
pub fn run(arguments: &ReplayCommandArguments) -> anyhow::Result<ExitState> {
    match &arguments.command {
        ReplayCommand::Verify(arguments) => verify(arguments),
    }
}

fn verify(arguments: &VerifyArguments) -> anyhow::Result<ExitState> {
    if !(arguments.faster.is_finite() && arguments.faster > 0.0) {
        return Err(misuse("--faster: give a number above 0, such as 2"));
    }
    let report = OptionalReport::from_arguments(&arguments.report)?;
    let original = FilteredCapture::files(slice::from_ref(&arguments.original), &arguments.filter)?;
    let replay_filter = replay_filter(arguments)?;
    let mut replayed =
        FilteredCapture::files(slice::from_ref(&arguments.replayed), &replay_filter)?;
    let map = arguments.map.map(|rule| address_map(&original, &replayed, rule)).transpose()?;
    let mut options = FidelityOptions {
        passes: [original.pass.clone(), replayed.pass.clone()],
        step_ns: arguments.step.map(|step| step.0),
        faster: arguments.faster,
        map,
    };
    let pair = || format!("{} and {}", arguments.original.display(), arguments.replayed.display());
    let mut found =
        Fidelity::compare(&original.captured, &replayed.captured, &options).with_context(pair)?;
    if replay_filter.from.is_none()
        && let Some(ArmingReads { count, end_ns }) = arming_reads(&found, &replayed)?
    {
        terminal::warn(&format!(
            "{}: no replay mark; {count} reads by this program before the replay are ignored",
            replayed.name
        ));
        replayed.pass.filter = replayed.pass.filter.clone().within(&[(end_ns, u64::MAX)]);
        options.passes[1] = replayed.pass.clone();
        found = Fidelity::compare(&original.captured, &replayed.captured, &options)
            .with_context(pair)?;
    }
    let findings = findings(&found, SOFTWARE);
    output::print(&findings, arguments.json)?;
    if !arguments.json {
        terminal::print(&format!("\n{}", findings.ending))?;
    }
    report.write(&findings)?;
    Ok(match [original.ending(), replayed.ending()] {
        [ExitState::Done, ExitState::Done] if has_same_ios(&found) => ExitState::Done,
        [ExitState::Done, ExitState::Done] => ExitState::CheckFailed,
        _ => ExitState::Incomplete,
    })
}

/// Returns true if both sides have the same I/Os: equal operation, size and offset in order; for
/// step sums, equal counts by operation and size.
fn has_same_ios(found: &Fidelity) -> bool {
    let devices = found.sides.each_ref().map(|side| side.devices.len());
    if let Some(pairs) = &found.devices {
        return devices[0] == devices[1] && pairs.iter().all(|pair| pair.sequence.first.is_none());
    }
    let counts = found.sides.each_ref().map(|side| {
        let mut counts = std::collections::BTreeMap::new();
        for stream in side.streams.listing(ShareMeasure::Count) {
            *counts.entry((stream.key.op, stream.key.bytes)).or_insert(0u64) += stream.count();
        }
        counts
    });
    counts[0] == counts[1]
}

/// Maximum number of reads with which a run arms its target.
const ARMING_MAX: u64 = 64;

/// Reads with which this program armed the target of a replay.
struct ArmingReads {
    count: u64,
    /// Issue time of the I/O after them.
    end_ns: u64,
}

/// Returns the reads that armed the target, if the replay has no other I/Os in addition to the
/// original.
fn arming_reads(
    found: &Fidelity,
    replayed: &FilteredCapture,
) -> anyhow::Result<Option<ArmingReads>> {
    let Some([pair]) = found.devices.as_deref() else { return Ok(None) };
    let more = pair.ios[1].saturating_sub(pair.ios[0]);
    if pair.sequence.first.is_none() || !(1..=ARMING_MAX).contains(&more) {
        return Ok(None);
    }
    let own = CommandName::new(env!("CARGO_PKG_NAME"));
    let mut ios = replayed.captured.ios(&replayed.pass, Fields::new(&[Field::Command]))?;
    let mut count = 0;
    while let Some(rows) = ios.next_batch()? {
        for row in rows.iter() {
            if count == more {
                return Ok(Some(ArmingReads { count, end_ns: rows.batch.issued_ns(row) }));
            }
            if rows.batch.op(row) != IoOp::Read || rows.batch.command(row) != own {
                return Ok(None);
            }
            count += 1;
        }
    }
    Ok(None)
}

/// Returns the target of the replay whose marks the capture has: the compared device, or a file. A
/// mark is set in every running capture, including those of other targets.
fn marked_target(arguments: &VerifyArguments, conditions: &CaptureConditions) -> Option<String> {
    let begun = conditions
        .marks
        .iter()
        .filter_map(|mark| mark.name.strip_prefix(BEGINS)?.strip_prefix(" on ").map(str::to_owned));
    let targets: Vec<String> = begun.collect();
    let chosen = &arguments.replayed_device;
    let is_compared = |target: &&String| {
        let is_captured = conditions.devices.iter().any(|device| device.name == **target);
        is_captured && (chosen.is_empty() || chosen.contains(target))
    };
    // Marks name a file by its full path and a device by its kernel name. Whether the file is on
    // the compared device is unknown, so its marks are not combined with times that the user gave.
    let is_given = arguments.replayed_from.is_some() || arguments.replayed_to.is_some();
    let is_file = |target: &&String| target.starts_with('/') && !is_given;
    let own = targets.iter().find(is_compared);
    own.or_else(|| targets.iter().find(is_file)).cloned()
}

/// Returns the filter of the replay, without conditions that apply to the captured host only. Unless
/// the user gives times, it selects the time between the replay's marks: before it, the run reads
/// from its target; after it, udev reads the closed device.
fn replay_filter(arguments: &VerifyArguments) -> anyhow::Result<FilterArguments> {
    let filter = &arguments.filter;
    let replayed = filtered_capture::open(&arguments.replayed)?;
    let target = marked_target(arguments, replayed.conditions());
    let marks = &replayed.conditions().marks;
    let recorded = |name: &str| {
        let mark = format!("{name} on {}", target.as_ref()?);
        marks.iter().any(|found| found.name == mark).then_some(mark)
    };
    let begins = if arguments.replayed_from.is_none() { recorded(BEGINS) } else { None };
    let ends = if arguments.replayed_to.is_none() { recorded(ENDS) } else { None };
    let used: Vec<String> =
        begins.iter().chain(&ends).map(|mark| format!("'{}'", printable(mark))).collect();
    if !used.is_empty() {
        terminal::warn(&format!(
            "{}: the replay is cut by its marks: {}",
            arguments.replayed.display(),
            used.join(", ")
        ));
    }
    Ok(FilterArguments {
        from: arguments.replayed_from.map(Moment::After).or_else(|| begins.map(Moment::Mark)),
        to: arguments.replayed_to.map(Moment::After).or_else(|| ends.map(Moment::Mark)),
        pid: arguments.replayed_pid.clone(),
        op: filter.op.clone(),
        device: arguments.replayed_device.clone(),
        layer: filter.layer,
        stream: filter.stream.clone(),
        window: filter.window,
        accept_damage: filter.accept_damage,
        ..FilterArguments::default()
    })
}

/// Returns how the replay mapped the original's addresses to the device of its own capture.
fn address_map(
    original: &FilteredCapture,
    replayed: &FilteredCapture,
    rule: MapRule,
) -> anyhow::Result<AddressMap> {
    let devices = &replayed.conditions().devices;
    let chosen = replayed.pass.filter.devices.first().map_or(0, |device| usize::from(*device));
    let device = devices.get(chosen).context("the capture of the replay names no device")?;
    let size = device.capacity.with_context(|| {
        format!("the capture of the replay does not say how large {} is", device.name)
    })?;
    let space = ReplayTarget { size, logical_sector: device.logical_sector.unwrap_or(SECTOR) };
    let options = ScriptOptions {
        pass: original.pass.clone(),
        map: Some(rule),
        ..ScriptOptions::new("original", space)
    };
    Ok(TraceScript::prepare(&original.captured, &options)?.map().clone())
}
