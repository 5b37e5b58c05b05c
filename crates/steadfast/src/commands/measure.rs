//! `steadfast measure`: one stimulus, one answer.

use super::{begin, restore, several};
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
use steadfast_domain::measurement::{HostPart, Stalling, mean};
use steadfast_domain::settings::HostList;
use steadfast_domain::{Demand, Device, ForeignIo, IoStream, Measurement, Nanos, Op, Step, Tally};
use steadfast_engine::{Prepared, Stop};
use steadfast_host::{Consent, HostsConsent};
use steadfast_report::text_table;
use steadfast_runner::{Keeping, Once, Rig, Single, once};
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
    /// I/Os that the device saw meanwhile and that were not of this command.
    foreign_ios: Vec<ForeignIo>,
}

/// The schema of the JSON output.
pub fn schema() -> schemars::Schema {
    terminal::schema_of::<Answer<'_>>()
}

/// The JSON output of several targets.
#[derive(Debug, Serialize, schemars::JsonSchema)]
struct Answers<'a> {
    targets: Vec<Answer<'a>>,
}

/// The schema of that.
pub fn schema_of_several() -> schemars::Schema {
    terminal::schema_of::<Answers<'_>>()
}

/// A target that is armed, with what is applied to it.
struct Ready {
    target: String,
    rig: Box<dyn Rig>,
    step: Step,
    prepared: Prepared,
}

/// Arms the targets, applies the stimulus and prints what it gave.
pub fn run(arguments: &MeasureArguments) -> anyhow::Result<ExitState> {
    let asked = asked(arguments)?;
    let list = arguments.hosts.list()?;
    match &list {
        Some(_) => hosts::check_engine(arguments.engine)?,
        None => refuse_unclear(arguments, &asked)?,
    }
    let stop = target::stop_on_signals()?;
    let is_fio = arguments.engine == Some(EngineName::Fio) || list.is_some();
    let kept = is_fio.then(|| Kept::new(arguments.keep.as_deref())).transpose()?;
    let alone = arguments.target.len() == 1;
    if list.is_none() && is_fio && !alone {
        return Err(misuse("fio measures one target; name one, or use --engine uring"));
    }
    let mover = kept.as_ref().map_or(Mover::Uring, |kept| Mover::Fio(kept.path().to_owned()));
    let mut all = Vec::new();
    for (target, at) in arguments.target.iter().zip(1u32..) {
        let rig = match (&list, &kept) {
            (Some(list), Some(kept)) => {
                let own = match alone {
                    true => kept.path().to_owned(),
                    false => kept.path().join(format!("{at}")),
                };
                rig_of_hosts(arguments, (target, asked.alters()), list, &own, &stop)?
            }
            _ => rig_here(arguments, &asked, target, (&mover, &stop))?,
        };
        all.push(ready(&asked, target, rig)?);
    }
    refuse_same_rigs(&all)?;
    seat(&mut all);
    let applied = apply(all, asked.alters());
    let mut done = Vec::new();
    for (target, rig, step, once) in applied {
        remarks::say(&once.checks, &once.caveats);
        done.push(Done { rig, step, measurement: once.result.with_context(|| target)? });
    }
    let answers: Vec<Answer<'_>> = done.iter().map(Done::answer).collect();
    match (arguments.json, answers.as_slice()) {
        (true, [one]) => terminal::print_json(one)?,
        (true, _) => terminal::print_json(&Answers { targets: answers })?,
        (false, all) => {
            let texts = arguments.target.iter().zip(all).map(|(name, of)| text(name, &asked, of));
            terminal::print(&texts.collect::<Vec<_>>().join("\n\n"))?;
        }
    }
    let states = arguments.target.iter().zip(&done).map(|(target, done)| done.state(target));
    Ok(states.fold(ExitState::Done, worse))
}

/// A target that was measured.
struct Done {
    rig: Box<dyn Rig>,
    step: Step,
    measurement: Measurement,
}

impl Done {
    fn answer(&self) -> Answer<'_> {
        let measurement = &self.measurement;
        Answer {
            device: self.rig.device(),
            engine: self.rig.engine(),
            step: &self.step,
            measurement,
            iops: measurement.iops(),
            bytes_per_second: measurement.bytes_per_second(),
            foreign_ios: measurement.foreign_ios(&self.step),
        }
    }

    /// How it ended: too many failed I/Os leave no number to rely on.
    fn state(&self, target: &str) -> ExitState {
        let measurement = &self.measurement;
        let failed = measurement.fault_count;
        let flushed = measurement.direction(Op::Flush).ios;
        let issued = failed + measurement.total().ios + flushed;
        if failed * FAILED_SHARE >= issued && failed > 0 {
            terminal::complain(&format!(
                "steadfast: {target}: {failed} of {issued} I/Os failed; see the kernel log (dmesg) \
                 and the drive's error log (smartctl -x)"
            ));
            return ExitState::Failed;
        }
        match &measurement.verification {
            Some(verification) if verification.miscompares > 0 => ExitState::NotGood,
            _ => ExitState::Done,
        }
    }
}

/// A measurement fails if one of so many I/Os does (our choice).
const FAILED_SHARE: u64 = 100;

/// The worse of two ends.
fn worse(one: ExitState, other: ExitState) -> ExitState {
    match (one, other) {
        (ExitState::Failed, _) | (_, ExitState::Failed) => ExitState::Failed,
        (ExitState::NotGood, _) | (_, ExitState::NotGood) => ExitState::NotGood,
        _ => ExitState::Done,
    }
}

/// Refuses a device that is named twice, a confirmation that names several, and what is missing
/// where nothing is created.
fn refuse_unclear(arguments: &MeasureArguments, asked: &Single) -> anyhow::Result<()> {
    let foresee = |target: &String| {
        if !asked.alters() {
            target::find_to_read(target, arguments.size, &asked.name)?;
        }
        target::foresee(target, arguments.size)
    };
    let devices = arguments.target.iter().map(foresee).collect::<anyhow::Result<Vec<_>>>()?;
    let targets: Vec<&str> = arguments.target.iter().map(String::as_str).collect();
    devices.iter().try_for_each(|device| check_engine(arguments.engine, device))?;
    several::refuse_same(&targets, &devices)?;
    begin::refuse_ambiguous(&arguments.yes_destroy, &devices)
}

/// Refuses a device that is named twice, once it is known what each name leads to.
fn refuse_same_rigs(all: &[Ready]) -> anyhow::Result<()> {
    let targets: Vec<&str> = all.iter().map(|one| one.target.as_str()).collect();
    let devices: Vec<Device> = all.iter().map(|one| one.rig.device().clone()).collect();
    several::refuse_same(&targets, &devices)
}

/// Arms one target of this host.
fn rig_here(
    arguments: &MeasureArguments,
    asked: &Single,
    target: &str,
    (mover, stop): (&Mover, &Stop),
) -> anyhow::Result<Box<dyn Rig>> {
    let (named, consent) = match asked.alters() {
        true => {
            let named = target::find(target, arguments.size)?;
            let alone = arguments.target.len() == 1;
            let confirmation = begin::confirmation(&arguments.yes_destroy, &named, alone);
            (named, Consent::Destroy { confirmation })
        }
        false => (target::find_to_read(target, arguments.size, &asked.name)?, Consent::Read),
    };
    target::rig(mover, &named, &consent, &[], Course::of(arguments.seed), stop)
}

/// Arms a target that several hosts share.
fn rig_of_hosts(
    arguments: &MeasureArguments,
    (target, writes): (&str, bool),
    list: &HostList,
    directory: &Path,
    stop: &Stop,
) -> anyhow::Result<Box<dyn Rig>> {
    let consent = match writes {
        true => HostsConsent::Named(&arguments.yes_destroy),
        false => HostsConsent::Read,
    };
    hosts::rig(list, target, arguments.size, consent, directory, stop)
}

/// Prepares what is applied to a target that is armed.
fn ready(asked: &Single, target: &str, mut rig: Box<dyn Rig>) -> anyhow::Result<Ready> {
    let step = asked.step(rig.device());
    let prepared = rig.prepare(&step).with_context(|| target.to_owned())?;
    Ok(Ready { target: target.to_owned(), rig, step, prepared })
}

/// Has the loads of several real targets begin together.
fn seat(all: &mut [Ready]) {
    let real: Vec<&mut Ready> =
        all.iter_mut().filter(|one| !one.rig.device().is_simulated()).collect();
    if real.len() < 2 {
        return;
    }
    let seats = steadfast_runner::meeting(real.len(), vec!["measure".into()], Keeping::Steps);
    real.into_iter().zip(seats).for_each(|(one, seat)| one.rig.join(seat, None));
}

/// What came of one target.
type Applied = (String, Box<dyn Rig>, Step, Once);

/// Applies every target's step in a thread of its own.
fn apply(all: Vec<Ready>, writes: bool) -> Vec<Applied> {
    let one = |number: u64, ready: Ready| {
        let Ready { target, mut rig, step, prepared } = ready;
        let once = once(rig.as_mut(), prepared, writes, &mut restore::journal_of(number));
        (target, rig, step, once)
    };
    std::thread::scope(|scope| {
        let one = &one;
        let begin = |(number, ready)| scope.spawn(move || one(number, ready));
        let threads: Vec<_> = (0..).zip(all).map(begin).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
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

fn text(target: &str, asked: &Single, answer: &Answer<'_>) -> String {
    let measurement = answer.measurement;
    let mut lines = Vec::new();
    if answer.device.is_simulated() {
        lines.push("SIMULATED: this drive runs in virtual time.".to_owned());
    }
    lines.push(format!("{target}  {}  {}  {}", asked.name, asked.demand, measurement.elapsed));
    lines.push(numbers(measurement));
    lines.extend(by_host(measurement));
    if let Some((user, system)) = measurement.cpu_ns_per_io() {
        lines.push(format!("CPU per I/O: {user:.0} ns user, {system:.0} ns system"));
    }
    lines.extend(course(measurement));
    lines.extend(foreign(&answer.foreign_ios));
    if measurement.fault_count > 0 {
        lines.push(format!("FAILED I/Os: {}", measurement.fault_count));
    }
    if let Some(verification) = &measurement.verification {
        lines.push(format!(
            "Verified: {} sectors correct, {} not written by this command, {} MISCOMPARES",
            verification.sectors_right, verification.sectors_unknown, verification.miscompares
        ));
    }
    if let Some(late) = measurement.common_start.and_then(|start| start.late) {
        lines.push(format!("Began with the other targets, {late} after the agreed moment"));
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
        let mean = mean(part.response_sum, part.ios);
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
    if let Some(longest) = measurement.silences.iter().map(|silence| silence.lasted).max() {
        let all = Nanos(measurement.silences.iter().map(|silence| silence.lasted.0).sum());
        lines.push(format!(
            "SILENT: the device completed no I/O for {all} although some were outstanding, at \
             longest for {longest}; see the kernel log (dmesg)"
        ));
    }
    if measurement.outstanding > 0 {
        lines.push(format!(
            "OUTSTANDING: {} I/Os had not completed long after the end; they count with their time \
             so far, and the longest response time is longer than shown",
            measurement.outstanding
        ));
    }
    if let Some(share) = measurement.throttled_share().filter(|share| *share > 0.01) {
        lines.push(format!(
            "CPU QUOTA: the control group's processor quota stopped steadfast for {:.0} % of a \
             processor's time; run it in a group without a quota",
            100.0 * share
        ));
    }
    lines
}

/// What the device saw of others.
fn foreign(found: &[ForeignIo]) -> Vec<String> {
    let line = |foreign: &ForeignIo| {
        let direction = if foreign.op == Op::Read { "reads" } else { "writes" };
        format!(
            "FOREIGN I/O: the device saw {direction} of other programs: {} I/Os, {}, {:.2} % of its \
             bytes; end them and measure again (iotop, fatrace)",
            foreign.ios,
            foreign.bytes,
            100.0 * foreign.share
        )
    };
    found.iter().map(line).collect()
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
