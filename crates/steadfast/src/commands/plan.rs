//! `steadfast plan`: what would run, in order, and how long.

use super::run::settings;
use crate::cli::PlanArguments;
use crate::exit::Outcome;
use crate::{target, terminal};
use serde::Serialize;
use std::collections::BTreeMap;
use steadfast_domain::settings::Geometry;
use steadfast_domain::text::printable;
use steadfast_domain::{Bytes, Device, Nanos};
use steadfast_runner::{Outlook, Plan, rehearse};

/// A stretch of a plan: consecutive steps of one phase and round.
#[derive(Debug, Serialize)]
struct Stretch {
    phase: String,
    round: u32,
    steps: Vec<String>,
    time_ns: Option<Nanos>,
    bytes: Option<Bytes>,
}

/// The answer as JSON.
#[derive(Debug, Serialize)]
struct Answer {
    device: Device,
    best_rounds: u32,
    worst_rounds: u32,
    rounds: BTreeMap<String, (u32, u32)>,
    best_time_ns: Nanos,
    worst_time_ns: Nanos,
    /// Bytes of the steps whose time depends on the drive's speed.
    unknown_time_bytes: Bytes,
    stretches: Vec<Stretch>,
}

/// Rehearses the procedure twice: steady at once, and never.
pub fn run(arguments: &PlanArguments) -> anyhow::Result<Outcome> {
    let chosen = &arguments.procedure;
    let device = target::foresee(&chosen.target, chosen.size)?;
    let geometry = Geometry { capacity: device.capacity, logical_sector: device.logical_sector };
    let procedure = steadfast_procedures::procedure(&settings(chosen, 1)?, geometry, &[])?;
    let rate = arguments.assume.map(|bytes| bytes.0);
    let best = rehearse(procedure.as_ref(), Outlook::Best, rate)?;
    let worst = rehearse(procedure.as_ref(), Outlook::Worst, rate)?;
    let answer = Answer {
        best_rounds: best.rounds(),
        worst_rounds: worst.rounds(),
        rounds: rounds(&best, &worst),
        best_time_ns: best.time(),
        worst_time_ns: worst.time(),
        unknown_time_bytes: best.bytes_of_unknown_time(),
        stretches: stretches(&worst),
        device,
    };
    if arguments.json {
        terminal::print_json(&answer)?;
    } else {
        terminal::print(&text(&answer))?;
    }
    Ok(Outcome::Done)
}

fn stretches(plan: &Plan) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for step in &plan.steps {
        match stretches.last_mut() {
            Some(last) if last.phase == step.phase && last.round == step.round => {
                last.steps.push(step.label.clone());
                last.time_ns = last.time_ns.zip(step.time).map(|(a, b)| a + b);
            }
            _ => stretches.push(Stretch {
                phase: step.phase.clone(),
                round: step.round,
                steps: vec![step.label.clone()],
                time_ns: step.time,
                bytes: step.bytes,
            }),
        }
    }
    stretches
}

fn text(answer: &Answer) -> String {
    let device = &answer.device;
    let mut lines = vec![format!(
        "{}: {}, {}, logical sector {} B. This would DESTROY everything on it.",
        device.path,
        printable(device.model.as_deref().unwrap_or("no model name")),
        device.capacity,
        device.logical_sector
    )];
    if !device.in_use.is_empty() {
        lines.push(format!("It could not be run now: {}.", device.in_use.join(", ")));
    }
    lines.push(String::new());
    let mut rest = answer.stretches.as_slice();
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|s| s.round > 0 && s.phase == first.phase).count();
        lines.extend(if alike == 0 { stretch_lines(first) } else { round_lines(first, answer) });
        rest = &rest[alike.max(1)..];
    }
    lines.push(String::new());
    let unknown = match answer.unknown_time_bytes {
        Bytes(0) => String::new(),
        bytes => format!(", and the time to write {bytes} (give --assume to include it)"),
    };
    lines.push(format!(
        "In all: {} where steady at once, {} at most; and the purge{unknown}.",
        answer.best_time_ns, answer.worst_time_ns
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
        (None, None) => format!("{:<8} as long as the device takes", stretch.phase),
    };
    vec![line]
}

/// The rounds of a phase, all alike.
fn round_lines(round: &Stretch, answer: &Answer) -> Vec<String> {
    let (best, worst) = answer.rounds.get(&round.phase).copied().unwrap_or_default();
    let head = format!(
        "{:<8} {best} to {worst} rounds of {} steps, {} each:",
        round.phase,
        round.steps.len(),
        round.time_ns.unwrap_or_default()
    );
    let rows = round.steps.chunks(8).map(|row| format!("           {}", row.join(", ")));
    std::iter::once(head).chain(rows).collect()
}

/// The least and the most rounds of every phase that has rounds.
fn rounds(best: &Plan, worst: &Plan) -> BTreeMap<String, (u32, u32)> {
    let mut rounds: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for step in &best.steps {
        let entry = rounds.entry(step.phase.clone()).or_default();
        entry.0 = entry.0.max(step.round);
    }
    for step in &worst.steps {
        let entry = rounds.entry(step.phase.clone()).or_default();
        entry.1 = entry.1.max(step.round);
    }
    rounds.retain(|_, (_, most)| *most > 0);
    rounds
}
