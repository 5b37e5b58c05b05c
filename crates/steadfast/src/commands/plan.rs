//! `steadfast plan`: what would run, in order, and how long.

use super::run::geometry;
use crate::asked::settings;
use crate::cli::PlanArguments;
use crate::exit::ExitState;
use crate::{target, terminal};
use serde::Serialize;
use steadfast_domain::sequence::{Amount, StepRole};
use steadfast_domain::text::printable;
use steadfast_domain::{Bytes, Device, PurgeChoice, PurgeMethod, Sequence, SequenceStep, Settings};
use steadfast_runner::forecast::{Outline, Stretch};

/// What a purge is called in an outline.
const PURGE: &str = "purge";

/// The JSON output.
#[derive(Debug, Serialize)]
struct Answer {
    device: Device,
    #[serde(flatten)]
    outline: Outline,
}

/// Shows what would run.
pub fn run(arguments: &PlanArguments) -> anyhow::Result<ExitState> {
    let chosen = &arguments.procedure;
    let device = target::foresee(&chosen.target, chosen.size)?;
    let mut settings = settings(chosen, 1, &device)?;
    settings.purge = arguments.purge;
    show(&settings, device, arguments.assume, arguments.json)
}

/// Shows what a run of these settings would do to a device: rehearses the procedure
/// twice, steady at once, and never.
pub fn show(
    settings: &Settings,
    device: Device,
    assume: Option<Bytes>,
    json: bool,
) -> anyhow::Result<ExitState> {
    let procedure = steadfast_procedures::procedure(settings, geometry(&device), &[])?;
    let mut outline = Outline::of(procedure.as_ref(), assume.map(|bytes| bytes.0))?;
    if settings.purge == PurgeChoice::Method(PurgeMethod::Nothing) {
        outline.stretches.retain(|stretch| stretch.phase != PURGE);
    }
    let answer = Answer { device, outline };
    match (json, settings.sequence.as_deref()) {
        (true, _) => terminal::print_json(&answer)?,
        (false, Some(sequence)) => terminal::print(&sequence_text(&answer, sequence))?,
        (false, None) => terminal::print(&text(&answer))?,
    }
    Ok(ExitState::Done)
}

/// The device, and what would become of it.
fn head(device: &Device, alters: bool) -> String {
    let effect = match alters {
        true => "This would DESTROY everything on it.",
        false => "It would only be read.",
    };
    format!(
        "{}: {}, {}, logical sector {} B. {effect}",
        device.path,
        printable(device.model.as_deref().unwrap_or("no model name")),
        device.capacity,
        device.logical_sector
    )
}

/// The steps of another tool's sequence, one line each, and what was understood with a
/// difference.
fn sequence_text(answer: &Answer, sequence: &Sequence) -> String {
    let Answer { device, outline } = answer;
    let mut lines = vec![head(device, sequence.alters())];
    if sequence.alters() && !device.in_use.is_empty() {
        lines.push(format!("A run would be refused now: {}.", device.in_use.join(", ")));
    }
    lines.push(format!("\n{}: {}", sequence.tool, sequence.title));
    lines.extend((1..).zip(&sequence.steps).map(|(number, step)| step_line(number, step)));
    lines.extend(sequence.remarks.iter().map(|remark| format!("Note: {remark}")));
    let unknown = match outline.unknown_time_bytes {
        Bytes(0) => String::new(),
        bytes => format!(", and the time to move {bytes} (--assume RATE includes it)"),
    };
    lines.push(format!("\nTotal: {}{unknown}.", outline.best_time_ns));
    lines.join("\n")
}

/// One step: what it is called, what it applies, and until when.
fn step_line(number: usize, step: &SequenceStep) -> String {
    let load = &step.load;
    let all: u64 = load.streams.iter().map(|stream| u64::from(stream.weight)).sum();
    let share = |weight: u32| f64::from(weight) * 100.0 / all.max(1) as f64;
    let streams: Vec<String> = match load.streams.as_slice() {
        [only] => vec![only.to_string()],
        many => many.iter().map(|s| format!("{s} {:.0} %", share(s.weight))).collect(),
    };
    let until = load.until;
    let ends: Vec<String> = [
        until.time.map(|time| time.to_string()),
        until.bytes.map(amount),
        until.ios.map(|ios| format!("{ios} I/Os")),
        until.laps.map(|laps| format!("{laps} x the range")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let length = load.extent.length.map_or("to the end".to_owned(), amount);
    let ramp = if load.ramp.0 > 0 { format!(", {} unmeasured", load.ramp) } else { String::new() };
    let times = match step.attempts() {
        1 => String::new(),
        many => format!(", best of {many}"),
    };
    let purpose = if step.role == StepRole::Prepare { " (prepares)" } else { "" };
    format!(
        "{number:>4}. {}{purpose}: {} {}, from {} {length}, until {}{ramp}{times}",
        printable(&step.label),
        streams.join(", "),
        load.demand,
        amount(load.extent.from),
        ends.join(" or ")
    )
}

fn amount(amount: Amount) -> String {
    match amount {
        Amount::Bytes(bytes) => bytes.binary(),
        Amount::Ppm(ppm) => format!("{} %", f64::from(ppm) / 1e4),
    }
}

fn text(answer: &Answer) -> String {
    let Answer { device, outline } = answer;
    let mut lines = vec![head(device, true)];
    if !device.in_use.is_empty() {
        lines.push(format!("A run would be refused now: {}.", device.in_use.join(", ")));
    }
    lines.push(String::new());
    let mut rest = outline.stretches.as_slice();
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|s| s.round > 0 && s.phase == first.phase).count();
        lines.extend(if alike == 0 { stretch_lines(first) } else { round_lines(first, outline) });
        rest = &rest[alike.max(1)..];
    }
    lines.push(String::new());
    let is_purged = outline.stretches.iter().any(|stretch| stretch.phase == PURGE);
    let writes = match outline.unknown_time_bytes {
        Bytes(0) => None,
        bytes => Some(format!("the time to write {bytes} (--assume RATE includes it)")),
    };
    let more: Vec<String> =
        is_purged.then(|| "the purge".to_owned()).into_iter().chain(writes).collect();
    let plus =
        if more.is_empty() { String::new() } else { format!("; plus {}", more.join(", and ")) };
    lines.push(format!(
        "Total: {} if steady at once, {} at most{plus}.",
        outline.best_time_ns, outline.worst_time_ns
    ));
    lines.join("\n")
}

/// A stretch outside rounds.
fn stretch_lines(stretch: &Stretch) -> Vec<String> {
    let what = match stretch.steps.as_slice() {
        [only] => only.clone(),
        [first, ..] => format!("{} steps of {first}", stretch.steps.len()),
        [] => String::new(),
    };
    let line = match (stretch.time_ns, stretch.bytes) {
        (Some(time), _) => format!("{:<8} {what}: {time}", stretch.phase),
        (None, Some(bytes)) => format!("{:<8} {what}: {bytes} ({} bytes)", stretch.phase, bytes.0),
        (None, None) => format!("{:<8} time depends on the device", stretch.phase),
    };
    vec![line]
}

/// The rounds of a phase, all alike.
fn round_lines(round: &Stretch, outline: &Outline) -> Vec<String> {
    let (best, worst) = outline.rounds.get(&round.phase).copied().unwrap_or_default();
    let head = format!(
        "{:<8} {best} to {worst} rounds of {} steps, {} each:",
        round.phase,
        round.steps.len(),
        round.time_ns.unwrap_or_default()
    );
    let rows = round.steps.chunks(8).map(|row| format!("           {}", row.join(", ")));
    std::iter::once(head).chain(rows).collect()
}
