//! `steadfast replay verify`: how true a replay was.

use super::trace::{Layers, ending, filtered, say_if_unchecked, say_what_is_missing};
use crate::asked::SOFTWARE;
use crate::cli::replay::{ReplayCommand, ReplayCommandArguments, VerifyArguments};
use crate::cli::trace::FilterArguments;
use crate::exit::{Outcome, misuse};
use crate::writing::{Rule, Shelf};
use crate::{output, terminal};
use anyhow::{Context, bail};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_trace::fidelity::{Fidelity, FidelityOptions, Side, findings};
use steadfast_trace::file::Integrity;
use steadfast_trace::pass::Pass;
use steadfast_trace::replay::{AddressMap, MapRule, ScriptOptions, Space, TraceScript};
use steadfast_trace::{By, StepFile, Trace};

/// The logical sector of a device whose capture does not tell it.
const SECTOR: u32 = 512;

/// Runs one of the commands.
pub fn run(arguments: &ReplayCommandArguments) -> anyhow::Result<Outcome> {
    match &arguments.command {
        ReplayCommand::Verify(arguments) => verify(arguments),
    }
}

/// One of two captures, opened, and which of its I/Os count.
struct Opened {
    kept: Kept,
    pass: Pass,
}

enum Kept {
    Ios(Arc<Trace<File>>),
    Sums(Box<StepFile<File>>),
}

fn verify(arguments: &VerifyArguments) -> anyhow::Result<Outcome> {
    if !(arguments.faster.is_finite() && arguments.faster > 0.0) {
        return Err(misuse("--faster: give a number above 0, such as 2"));
    }
    let names = output::names(&arguments.format);
    let rule = Rule::of(&arguments.writing)?;
    let shelf = arguments.output.as_ref().map(|path| Shelf::named(path, rule, &names));
    let shelf = shelf.transpose()?;
    let original = Opened::of(&arguments.original, &arguments.filter)?;
    let replayed = Opened::of(&arguments.replayed, &of_replayed(arguments))?;
    let map = arguments.map.map(|rule| map(&original, &replayed, rule)).transpose()?;
    let options = FidelityOptions {
        passes: [original.pass.clone(), replayed.pass.clone()],
        step_ns: arguments.step.map(|step| step.0),
        faster: arguments.faster,
        map,
    };
    let pair = || format!("{} and {}", arguments.original.display(), arguments.replayed.display());
    let found = Fidelity::of(&original.side(), &replayed.side(), &options).with_context(pair)?;
    let shown = findings(&found, SOFTWARE);
    match arguments.json {
        true => terminal::print_findings(&shown)?,
        false => terminal::print(&steadfast_report::text(&shown, terminal::width()))?,
    }
    if let Some(shelf) = shelf {
        for file in output::write(&shelf, &shown, &arguments.format)? {
            terminal::tell(&file.display().to_string());
        }
    }
    let accept = arguments.filter.accept_damage;
    let whole = [&original, &replayed].map(|side| ending(&side.integrity(), accept));
    Ok(match whole {
        [Outcome::Done, Outcome::Done] if is_same(&found) => Outcome::Done,
        [Outcome::Done, Outcome::Done] => Outcome::OutsideLimits,
        _ => Outcome::Incomplete,
    })
}

/// Whether both have the same I/Os: operation, size and offset of each in order, or,
/// where sums were kept, the same counts of every operation and size.
fn is_same(found: &Fidelity) -> bool {
    let devices = found.sides.each_ref().map(|side| side.devices.len());
    if let Some(pairs) = &found.devices {
        return devices[0] == devices[1] && pairs.iter().all(|pair| pair.sequence.first.is_none());
    }
    let counts = found.sides.each_ref().map(|side| {
        let mut counts = std::collections::BTreeMap::new();
        for stream in side.streams.listing(By::Count) {
            *counts.entry((stream.key.op, stream.key.bytes)).or_insert(0u64) += stream.count;
        }
        counts
    });
    counts[0] == counts[1]
}

/// The filter of the replay: what belongs to the captured host is not asked of it.
fn of_replayed(arguments: &VerifyArguments) -> FilterArguments {
    let filter = &arguments.filter;
    FilterArguments {
        from: arguments.replayed_from,
        to: arguments.replayed_to,
        event: None,
        pid: arguments.replayed_pid.clone(),
        op: filter.op.clone(),
        device: arguments.replayed_device.clone(),
        layer: filter.layer,
        stream: filter.stream.clone(),
        window: filter.window,
        accept_damage: filter.accept_damage,
    }
}

impl Opened {
    fn of(path: &Path, arguments: &FilterArguments) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let file = || File::open(path).with_context(|| format!("{name} cannot be opened"));
        // What is wrong with any other file is said when it is opened as a trace.
        let kept = match StepFile::open(file()?).ok().flatten() {
            Some(sums) => Kept::Sums(Box::new(sums)),
            None => Kept::Ios(Arc::new(Trace::open(file()?).with_context(|| name.clone())?)),
        };
        let (recovery, conditions, integrity) = match &kept {
            Kept::Ios(trace) => (trace.recovery(), trace.conditions(), trace.integrity()),
            Kept::Sums(sums) => (sums.recovery(), sums.conditions(), sums.integrity().clone()),
        };
        say_what_is_missing(&name, recovery, conditions);
        say_if_unchecked(&name, &integrity);
        let filter = filtered(&name, arguments, Layers::One, conditions)?;
        let pass = Pass { filter, window: arguments.window, ..Pass::default() };
        Ok(Opened { kept, pass })
    }

    fn side(&self) -> Side<'_, File> {
        match &self.kept {
            Kept::Ios(trace) => Side::Trace(trace),
            Kept::Sums(sums) => Side::Steps(sums),
        }
    }

    fn conditions(&self) -> &CaptureConditions {
        match &self.kept {
            Kept::Ios(trace) => trace.conditions(),
            Kept::Sums(sums) => sums.conditions(),
        }
    }

    fn integrity(&self) -> Integrity {
        match &self.kept {
            Kept::Ios(trace) => trace.integrity(),
            Kept::Sums(sums) => sums.integrity().clone(),
        }
    }
}

/// Where the replay put the original's I/Os: onto the device of its capture.
fn map(original: &Opened, replayed: &Opened, rule: MapRule) -> anyhow::Result<AddressMap> {
    let Kept::Ios(trace) = &original.kept else {
        bail!("--map compares the offsets of single I/Os, and the original holds sums of steps");
    };
    let devices = &replayed.conditions().devices;
    let chosen = replayed.pass.filter.devices.first().map_or(0, |device| usize::from(*device));
    let device = devices.get(chosen).context("the capture of the replay names no device")?;
    let size = device.capacity.with_context(|| {
        format!("the capture of the replay does not say how large {} is", device.name)
    })?;
    let space = Space { size, logical_sector: device.logical_sector.unwrap_or(SECTOR) };
    let options = ScriptOptions {
        pass: original.pass.clone(),
        map: Some(rule),
        ..ScriptOptions::new("original", space)
    };
    Ok(TraceScript::of(Arc::clone(trace), &options)?.map().clone())
}
