//! `steadfast measure`: one stimulus, one answer.

use super::run::check_engine;
use crate::cli::{EngineName, MeasureArguments};
use crate::exit::Outcome;
use crate::target::{self, Kept, Mover};
use crate::terminal;
use anyhow::bail;
use serde::Serialize;
use steadfast_domain::stimulus::{ActiveRange, Pace, Until};
use steadfast_domain::{Conditions, Device, Measurement, Nanos, Op, Place, Step, Stimulus, Tally};
use steadfast_engine::Start;
use steadfast_host::Consent;

/// The answer as JSON.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    device: &'a Device,
    engine: String,
    step: &'a Step,
    measurement: &'a Measurement,
    iops: Option<f64>,
    mb_per_second: Option<f64>,
}

/// Arms the target, applies the stimulus and prints what it gave.
pub fn run(arguments: &MeasureArguments) -> anyhow::Result<Outcome> {
    let writes = arguments.pattern.read_percent < 100;
    let consent = match writes {
        true => Consent::Destroy { confirmation: arguments.yes_destroy.clone() },
        false => Consent::Read,
    };
    let named = target::find(&arguments.target, arguments.size)?;
    let stop = target::stop_on_signals()?;
    check_engine(arguments.engine, &target::foresee(&arguments.target, arguments.size)?)?;
    let kept = match arguments.engine {
        Some(EngineName::Fio) => Some(Kept::new(arguments.keep.as_deref())?),
        _ => None,
    };
    let mover = kept.as_ref().map_or(Mover::Uring, |kept| Mover::Fio(kept.path().to_owned()));
    let mut rig = target::rig(&mover, &named, &consent, &[], arguments.seed, &stop)?;
    let step = step(arguments, rig.device());
    if let Some(why) = rig.refuse(&step) {
        bail!("{}: {why}", arguments.target);
    }
    let mut changes = Vec::new();
    if writes {
        let wanted = Conditions { merges: Some(false), ..Conditions::default() };
        rig.settle(&wanted, &mut |change| {
            changes.push(change.clone());
            Ok(())
        })?;
    }
    let result = rig.apply(&step, &Start::default(), &mut |_| ());
    changes.iter().rev().try_for_each(|change| rig.restore(change))?;
    let measurement = result?;
    let answer = Answer {
        device: rig.device(),
        engine: rig.engine(),
        step: &step,
        measurement: &measurement,
        iops: measurement.iops(),
        mb_per_second: measurement.bytes_per_second().map(|rate| rate / 1e6),
    };
    if arguments.json {
        terminal::print_json(&answer)?;
    } else {
        terminal::print(&text(arguments, &answer))?;
    }
    Ok(Outcome::Done)
}

fn step(arguments: &MeasureArguments, device: &Device) -> Step {
    let place = Place::new("measure", 0, 1, arguments.pattern.to_string());
    let unit = arguments.pattern.size.0.max(u64::from(device.logical_sector));
    let stimulus = Stimulus {
        streams: arguments.pattern.streams(),
        zones: Vec::new(),
        demand: arguments.demand,
        active_range: ActiveRange::first(arguments.active_range, device.capacity, unit),
        data_pattern: arguments.data_pattern.clone(),
        pace: Pace::Closed,
        ramp: arguments.ramp,
        until: Until::time(arguments.time),
        seed: place.seed(arguments.seed),
        verify: arguments.verify,
    };
    Step::alone(place, stimulus)
}

fn text(arguments: &MeasureArguments, answer: &Answer<'_>) -> String {
    let measurement = answer.measurement;
    let mut lines = Vec::new();
    if answer.device.is_simulated() {
        lines.push("SIMULATED: this drive exists in virtual time only.".to_owned());
    }
    lines.push(format!(
        "{}  {}  {}  {}",
        arguments.target, arguments.pattern, arguments.demand, measurement.elapsed
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
