//! `steadfast measure`: one stimulus, one answer.

use super::restore;
use crate::asked::check_engine;
use crate::cli::{EngineName, MeasureArguments};
use crate::exit::{ExitState, misuse};
use crate::hosts;
use crate::target::{self, Course, Kept, Mover};
use crate::workloads;
use crate::{remarks, terminal};
use anyhow::Context;
use serde::Serialize;
use std::path::Path;
use steadfast_domain::measurement::{HostPart, Stalling};
use steadfast_domain::settings::HostList;
use steadfast_domain::{Demand, Device, IoStream, Measurement, Nanos, Op, Step, Tally};
use steadfast_engine::Stop;
use steadfast_host::{Consent, HostsConsent};
use steadfast_report::text_table;
use steadfast_runner::{Rig, Single, once};
use steadfast_trace::WorkloadFile;

/// The JSON output.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Answer<'a> {
    device: &'a Device,
    engine: String,
    step: &'a Step,
    measurement: &'a Measurement,
    iops: Option<f64>,
    bytes_per_second: Option<f64>,
}

/// The schema of the JSON output.
pub fn schema() -> schemars::Schema {
    terminal::schema_of::<Answer<'_>>()
}

/// Arms the target, applies the stimulus and prints what it gave.
pub fn run(arguments: &MeasureArguments) -> anyhow::Result<ExitState> {
    let asked = asked(arguments)?;
    let writes = asked.alters();
    let stop = target::stop_on_signals()?;
    let list = arguments.hosts.list()?;
    let is_fio = arguments.engine == Some(EngineName::Fio) || list.is_some();
    let kept = is_fio.then(|| Kept::new(arguments.keep.as_deref())).transpose()?;
    let mut rig = match (&list, &kept) {
        (Some(list), Some(kept)) => rig_of_hosts(arguments, writes, list, kept.path(), &stop)?,
        _ => rig_here(arguments, &asked, kept.as_ref(), &stop)?,
    };
    let step = asked.step(rig.device());
    let prepared = rig.prepare(&step).with_context(|| arguments.target.clone())?;
    let once = once(rig.as_mut(), prepared, writes, &mut restore::journal());
    remarks::say(&once.checks, &once.caveats);
    let measurement = once.result?;
    let answer = Answer {
        device: rig.device(),
        engine: rig.engine(),
        step: &step,
        measurement: &measurement,
        iops: measurement.iops(),
        bytes_per_second: measurement.bytes_per_second(),
    };
    if arguments.json {
        terminal::print_json(&answer)?;
    } else {
        terminal::print(&text(arguments, &asked, &answer))?;
    }
    Ok(ExitState::Done)
}

/// A rig on a device or a file of this host.
fn rig_here(
    arguments: &MeasureArguments,
    asked: &Single,
    kept: Option<&Kept>,
    stop: &Stop,
) -> anyhow::Result<Box<dyn Rig>> {
    if let [_, second, ..] = arguments.yes_destroy.as_slice() {
        return Err(misuse(format!("--yes-destroy {second}: measure writes to one device")));
    }
    let confirmation = arguments.yes_destroy.first().cloned();
    let writes = asked.alters();
    let (named, consent) = match writes {
        true => {
            let named = target::find(&arguments.target, arguments.size)?;
            (named, Consent::Destroy { confirmation })
        }
        false => {
            let named = target::find_to_read(&arguments.target, arguments.size, &asked.name)?;
            (named, Consent::Read)
        }
    };
    check_engine(arguments.engine, &target::foresee(&arguments.target, arguments.size)?)?;
    let mover = kept.map_or(Mover::Uring, |kept| Mover::Fio(kept.path().to_owned()));
    target::rig(&mover, &named, &consent, &[], Course::of(arguments.seed), stop)
}

/// A rig on a device that several hosts share.
fn rig_of_hosts(
    arguments: &MeasureArguments,
    writes: bool,
    list: &HostList,
    directory: &Path,
    stop: &Stop,
) -> anyhow::Result<Box<dyn Rig>> {
    hosts::check_engine(arguments.engine)?;
    let consent = match writes {
        true => HostsConsent::Named(&arguments.yes_destroy),
        false => HostsConsent::Read,
    };
    hosts::rig(list, &arguments.target, arguments.size, consent, directory, stop)
}

/// What is to be applied: an access pattern, or the workload of a file.
fn asked(arguments: &MeasureArguments) -> anyhow::Result<Single> {
    let (name, streams, file) = match (&arguments.pattern, &arguments.workload) {
        (Some(pattern), _) => (pattern.to_string(), pattern.streams(), None),
        (None, Some(path)) => {
            let (file, streams) = read(path)?;
            (format!("{} ({} I/O streams)", path.display(), streams.len()), streams, Some(file))
        }
        (None, None) => {
            return Err(misuse(
                "give an access pattern such as \"RND 4K R\", or a workload file with --workload",
            ));
        }
    };
    let demand = file.as_ref().and_then(|file| file.demand);
    let data_pattern = file.map(|file| file.data_pattern);
    Ok(Single {
        name,
        streams,
        demand: arguments.demand.or(demand).unwrap_or(Demand::new(1, 1)),
        data_pattern: arguments.data_pattern.clone().or(data_pattern).unwrap_or_default(),
        active_range_percent: arguments.active_range,
        ramp: arguments.ramp,
        time: arguments.time,
        ios: arguments.ios,
        seed: arguments.seed,
        verify: arguments.verify,
    })
}

fn read(path: &Path) -> anyhow::Result<(WorkloadFile, Vec<IoStream>)> {
    let place = || path.display().to_string();
    let file = WorkloadFile::read(&workloads::text_of(path)?).with_context(place)?;
    let (streams, remarks) = file.io_streams().with_context(place)?;
    for remark in file.doubts.iter().chain(&remarks) {
        terminal::complain(&format!("{}: {remark}", place()));
    }
    Ok((file, streams))
}

fn text(arguments: &MeasureArguments, asked: &Single, answer: &Answer<'_>) -> String {
    let measurement = answer.measurement;
    let mut lines = Vec::new();
    if answer.device.is_simulated() {
        lines.push("SIMULATED: this drive runs in virtual time.".to_owned());
    }
    lines.push(format!(
        "{}  {}  {}  {}",
        arguments.target, asked.name, asked.demand, measurement.elapsed
    ));
    lines.push(numbers(measurement));
    lines.extend(by_host(measurement));
    if let Some((user, system)) = measurement.cpu_ns_per_io() {
        lines.push(format!("CPU per I/O: {user:.0} ns user, {system:.0} ns system"));
    }
    lines.extend(course(measurement));
    if measurement.fault_count > 0 {
        lines.push(format!("FAILED I/Os: {}", measurement.fault_count));
    }
    if let Some(verification) = &measurement.verification {
        lines.push(format!(
            "Verified: {} sectors correct, {} not written by this command, {} MISCOMPARES",
            verification.sectors_right, verification.sectors_unknown, verification.miscompares
        ));
    }
    lines.push(format!("Engine: {}", answer.engine));
    lines.join("\n")
}

/// Rates and response times by direction.
fn numbers(measurement: &Measurement) -> String {
    let head = ["", "IOPS", "MB/s", "ART ms", "99 % ms", "99.999 %", "MRT ms"];
    let seconds = measurement.elapsed.as_secs_f64();
    let directions = [
        ("reads", measurement.direction(Op::Read)),
        ("writes", measurement.direction(Op::Write)),
        ("all", measurement.total()),
    ];
    let shown = directions.iter().filter(|(_, tally)| tally.ios > 0);
    let rows = shown.map(|(name, tally)| tally_row(name, tally, seconds));
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    text_table::with_left(&rows, |_| false)
}

/// What each host did, where there are several.
fn by_host(measurement: &Measurement) -> Option<String> {
    if measurement.hosts.is_empty() {
        return None;
    }
    let head = ["host", "I/Os", "IOPS", "MB/s", "ART ms", "MRT ms", "began after ms"];
    let milliseconds = |time: Nanos| format!("{:.4}", time.as_millis_f64());
    let row = |part: &HostPart| {
        let seconds = part.elapsed.as_secs_f64();
        let rate = |count: f64| match seconds > 0.0 {
            true => format!("{:.1}", count / seconds),
            false => "–".to_owned(),
        };
        let mean = part.response_sum.0.checked_div(part.ios).map(Nanos);
        [
            part.host.clone(),
            part.ios.to_string(),
            rate(part.ios as f64),
            rate(part.bytes.as_mb()),
            mean.map_or("–".to_owned(), milliseconds),
            milliseconds(part.response_max),
            part.late.map_or("–".to_owned(), milliseconds),
        ]
    };
    let rows = measurement.hosts.iter().map(row);
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    Some(text_table::with_left(&rows, |column| column == 0))
}

/// What was not as it should be beside the I/Os themselves.
fn course(measurement: &Measurement) -> Vec<String> {
    let mut lines = Vec::new();
    if measurement.stalling() != Stalling::Slight {
        lines.push(format!(
            "STALLED for {} of {}: steadfast could not run (stopped, frozen, suspended, or \
             the virtual machine paused); repeat the measurement",
            measurement.stalled(),
            measurement.elapsed
        ));
    }
    if measurement.outstanding > 0 {
        lines.push(format!(
            "OUTSTANDING: {} I/Os had not completed long after the end; no count includes \
             them, and the longest response time is longer than shown",
            measurement.outstanding
        ));
    }
    lines
}

fn tally_row(name: &str, tally: &Tally, seconds: f64) -> [String; 7] {
    let time =
        |t: Option<Nanos>| t.map_or("–".to_owned(), |t| format!("{:.4}", t.as_millis_f64()));
    let rate = |count: f64, digits: usize| {
        if seconds > 0.0 { format!("{:.digits$}", count / seconds) } else { "–".to_owned() }
    };
    [
        name.to_owned(),
        rate(tally.ios as f64, 1),
        rate(tally.bytes.as_mb(), 2),
        time(tally.response_mean()),
        time(tally.percentile(0.99)),
        time(tally.percentile(0.99999)),
        time(tally.response_longest()),
    ]
}
