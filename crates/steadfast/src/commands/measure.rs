//! `steadfast measure`: one stimulus, one answer.

use super::run::check_engine;
use super::{doctor, restore};
use crate::cli::{EngineName, MeasureArguments};
use crate::exit::{Outcome, misuse};
use crate::target::{self, Course, Kept, Mover};
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use std::path::Path;
use steadfast_domain::measurement::Stalling;
use steadfast_domain::stimulus::{ActiveRange, DataPattern, Pace, Until};
use steadfast_domain::{
    Conditions, Demand, Device, IoStream, Measurement, Nanos, Op, Place, Step, Stimulus, Tally,
};
use steadfast_host::Consent;
use steadfast_runner::apply_settled;
use steadfast_trace::WorkloadFile;

/// The answer as JSON.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    device: &'a Device,
    engine: String,
    step: &'a Step,
    measurement: &'a Measurement,
    iops: Option<f64>,
    bytes_per_second: Option<f64>,
}

/// Arms the target, applies the stimulus and prints what it gave.
pub fn run(arguments: &MeasureArguments) -> anyhow::Result<Outcome> {
    let asked = Asked::of(arguments)?;
    let writes = asked.streams.iter().any(|stream| stream.op.alters());
    let consent = match writes {
        true => Consent::Destroy { confirmation: arguments.yes_destroy.clone() },
        false => Consent::Read,
    };
    let named = match writes {
        true => target::find(&arguments.target, arguments.size)?,
        false => target::find_to_read(&arguments.target, arguments.size, &asked.name)?,
    };
    let stop = target::stop_on_signals()?;
    check_engine(arguments.engine, &target::foresee(&arguments.target, arguments.size)?)?;
    let kept = match arguments.engine {
        Some(EngineName::Fio) => Some(Kept::new(arguments.keep.as_deref())?),
        _ => None,
    };
    let mover = kept.as_ref().map_or(Mover::Uring, |kept| Mover::Fio(kept.path().to_owned()));
    let mut rig = target::rig(&mover, &named, &consent, &[], Course::of(arguments.seed), &stop)?;
    let step = asked.step(arguments, rig.device());
    let prepared = rig.prepare(&step).with_context(|| arguments.target.clone())?;
    let wanted = writes.then(|| Conditions { merges: Some(false), ..Conditions::default() });
    let mut changes = restore::journal();
    let result = apply_settled(rig.as_mut(), wanted.as_ref(), prepared, &mut changes);
    rig.look_back().iter().filter_map(doctor::remark).for_each(|line| terminal::complain(&line));
    let measurement = result?;
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
    Ok(Outcome::Done)
}

/// What is to be applied: an access pattern, or the workload of a file.
struct Asked {
    name: String,
    streams: Vec<IoStream>,
    demand: Demand,
    data_pattern: DataPattern,
}

impl Asked {
    fn of(arguments: &MeasureArguments) -> anyhow::Result<Self> {
        let mut asked = match (&arguments.pattern, &arguments.workload) {
            (Some(pattern), _) => Asked {
                name: pattern.to_string(),
                streams: pattern.streams(),
                demand: Demand::new(1, 1),
                data_pattern: DataPattern::default(),
            },
            (None, Some(path)) => Asked::read(path)?,
            (None, None) => {
                return Err(misuse("name an access pattern, or a workload file with --workload"));
            }
        };
        asked.demand = arguments.demand.unwrap_or(asked.demand);
        if let Some(pattern) = &arguments.data_pattern {
            asked.data_pattern = pattern.clone();
        }
        Ok(asked)
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let place = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(place)?;
        let file = WorkloadFile::read(&text).with_context(place)?;
        let (streams, remarks) = file.workload.io_streams().with_context(place)?;
        for remark in file.doubts.iter().chain(&remarks) {
            terminal::complain(&format!("{}: {remark}", place()));
        }
        Ok(Asked {
            name: format!("{} ({} I/O streams)", place(), streams.len()),
            streams,
            demand: file.demand.unwrap_or(Demand::new(1, 1)),
            data_pattern: file.data_pattern,
        })
    }

    fn step(&self, arguments: &MeasureArguments, device: &Device) -> Step {
        let place = Place::new("measure", 0, 1, &self.name);
        let largest = self.streams.iter().map(|stream| stream.alignment().0).max();
        let unit = largest.unwrap_or(0).max(u64::from(device.logical_sector));
        let default_time = arguments.ios.is_none().then_some(Nanos::from_secs(10));
        let stimulus = Stimulus {
            streams: self.streams.clone(),
            zones: Vec::new(),
            demand: self.demand,
            active_range: ActiveRange::first(arguments.active_range, device.capacity, unit),
            data_pattern: self.data_pattern.clone(),
            pace: Pace::Closed,
            ramp: arguments.ramp,
            until: Until { time: arguments.time.or(default_time), ios: arguments.ios, bytes: None },
            seed: place.seed(arguments.seed),
            verify: arguments.verify,
        };
        Step::alone(place, stimulus)
    }
}

fn text(arguments: &MeasureArguments, asked: &Asked, answer: &Answer<'_>) -> String {
    let measurement = answer.measurement;
    let mut lines = Vec::new();
    if answer.device.is_simulated() {
        lines.push("SIMULATED: this drive exists in virtual time only.".to_owned());
    }
    lines.push(format!(
        "{}  {}  {}  {}",
        arguments.target, asked.name, asked.demand, measurement.elapsed
    ));
    lines.push(format!(
        "{:>8}  {:>12}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}",
        "", "IOPS", "MB/s", "ART ms", "99 % ms", "99.999 %", "MRT ms"
    ));
    let seconds = measurement.elapsed.as_secs_f64();
    let directions = [
        ("reads", measurement.direction(Op::Read)),
        ("writes", measurement.direction(Op::Write)),
        ("all", measurement.total()),
    ];
    let shown = directions.iter().filter(|(_, tally)| tally.ios > 0);
    lines.extend(shown.map(|(name, tally)| tally_line(name, tally, seconds)));
    if let Some(cpu) = measurement.cpu {
        let ios = measurement.total().ios.max(1) as f64;
        lines.push(format!(
            "CPU per I/O: {:.0} ns user, {:.0} ns system",
            cpu.user.0 as f64 / ios,
            cpu.system.0 as f64 / ios
        ));
    }
    lines.extend(course(measurement));
    if measurement.fault_count > 0 {
        lines.push(format!("FAILED I/Os: {}", measurement.fault_count));
    }
    if let Some(verification) = &measurement.verification {
        lines.push(format!(
            "Verified: {} sectors right, {} not written by this command, {} MISCOMPARES",
            verification.sectors_right, verification.sectors_unknown, verification.miscompares
        ));
    }
    lines.push(format!("Engine: {}", answer.engine));
    lines.join("\n")
}

/// What was not as it should be beside the I/Os themselves.
fn course(measurement: &Measurement) -> Vec<String> {
    let mut lines = Vec::new();
    if measurement.stalling() != Stalling::Slight {
        lines.push(format!(
            "STOOD STILL for {} of {}: nothing of this program could run (stopped, frozen, \
             suspended, or the virtual machine paused); repeat the measurement",
            measurement.stalled(),
            measurement.elapsed
        ));
    }
    if measurement.outstanding > 0 {
        lines.push(format!(
            "NOT WAITED FOR: {} I/Os that had not come back long after the end; they are in no \
             count, and the longest response time is longer than shown",
            measurement.outstanding
        ));
    }
    lines
}

fn tally_line(name: &str, tally: &Tally, seconds: f64) -> String {
    let time = |t: Option<Nanos>| t.map_or("-".to_owned(), |t| format!("{:.4}", t.as_millis_f64()));
    let rate = |count: f64, digits: usize| {
        if seconds > 0.0 { format!("{:.digits$}", count / seconds) } else { "-".to_owned() }
    };
    format!(
        "{name:>8}  {:>12}  {:>10}  {:>10}  {:>10}  {:>10}  {:>10}",
        rate(tally.ios as f64, 1),
        rate(tally.bytes.as_mb(), 2),
        time(tally.response_mean()),
        time(tally.percentile(0.99)),
        time(tally.percentile(0.99999)),
        time(tally.response_longest())
    )
}
