//! `steadfast plan`: what would run, in order, and how long.

use crate::asked::settings;
use crate::cli::PlanArguments;
use crate::exit::ExitState;
use crate::{target, terminal};
use serde::Serialize;
use steadfast_domain::settings::Geometry;
use steadfast_domain::text::printable;
use steadfast_domain::{Bytes, Device};
use steadfast_runner::forecast::{Outline, Stretch};

/// The JSON output.
#[derive(Debug, Serialize)]
struct Answer {
    device: Device,
    #[serde(flatten)]
    outline: Outline,
}

/// The JSON output for several targets.
#[derive(Debug, Serialize)]
struct Answers {
    targets: Vec<Answer>,
}

/// Rehearses the procedure twice on each target: steady at once, and never.
pub fn run(arguments: &PlanArguments) -> anyhow::Result<ExitState> {
    let each = arguments.procedure.target.iter().map(|target| plan(arguments, target));
    let mut targets = each.collect::<anyhow::Result<Vec<_>>>()?;
    match (arguments.json, targets.len()) {
        (true, 1) => terminal::print_json(&targets.remove(0))?,
        (true, _) => terminal::print_json(&Answers { targets })?,
        (false, _) => {
            let texts: Vec<String> = targets.iter().map(text).collect();
            terminal::print(&texts.join("\n\n"))?;
        }
    }
    Ok(ExitState::Done)
}

fn plan(arguments: &PlanArguments, target: &str) -> anyhow::Result<Answer> {
    let chosen = &arguments.procedure;
    let device = target::foresee(target, chosen.size)?;
    let geometry = Geometry { capacity: device.capacity, logical_sector: device.logical_sector };
    let procedure = steadfast_procedures::procedure(&settings(chosen, 1, &device)?, geometry, &[])?;
    let rate = arguments.assume.map(|bytes| bytes.0);
    let outline = Outline::of(procedure.as_ref(), rate)?;
    Ok(Answer { device, outline })
}

fn text(answer: &Answer) -> String {
    let Answer { device, outline } = answer;
    let mut lines = vec![format!(
        "{}: {}, {}, logical sector {} B. This would DESTROY everything on it.",
        device.path,
        printable(device.model.as_deref().unwrap_or("no model name")),
        device.capacity,
        device.logical_sector
    )];
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
    let unknown = match outline.unknown_time_bytes {
        Bytes(0) => String::new(),
        bytes => format!(", and the time to write {bytes} (--assume RATE includes it)"),
    };
    lines.push(format!(
        "Total: {} if steady at once, {} at most; plus the purge{unknown}.",
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
