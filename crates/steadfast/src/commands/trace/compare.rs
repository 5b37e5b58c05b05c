//! `trace compare`: drives, layers or captures side by side on one time axis, of
//! files that hold every I/O or capture steps alone.

use super::columns::{aligned, texts};
use crate::cli::trace::CompareArguments;
use crate::exit::ExitState;
use crate::selected::{Layers, Selected, open};
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use steadfast_domain::Layer;
use steadfast_domain::text::printable;
use steadfast_trace::Captured;
use steadfast_trace::captured::Answer;
use steadfast_trace::columns::heads;
use steadfast_trace::compare::{self, SIDES_MAX, Side, SidesFound};
use steadfast_trace::file::is_same_capture;
use steadfast_trace::steps::{STEPS_MAX, StepFigures};

#[derive(Serialize)]
struct CompareContent {
    step_ns: u64,
    sides: Vec<SideFigures>,
    /// What of the captures is damaged or missing.
    missing: Vec<String>,
}

#[derive(Serialize)]
struct SideFigures {
    name: String,
    device: String,
    layer: Layer,
    steps: Vec<StepFigures>,
}

/// Drives, layers or captures on one time axis.
pub fn run(arguments: &CompareArguments) -> anyhow::Result<ExitState> {
    let all = captures(arguments)?;
    let first = all.first().context("name a trace")?;
    let step_ns = width(first, arguments)?;
    let mut account = None;
    let mut sides: Vec<SideFigures> = Vec::new();
    for (capture, shift) in all.iter().zip(shifts(&all)) {
        let answer = capture.answer(|captured, pass| captured.sides(pass, step_ns))?;
        say_unlisted(capture, &answer);
        account.get_or_insert(answer.account);
        for side in &answer.found.sides {
            let mut figures = SideFigures::of(capture, side, step_ns, shift);
            if all.len() > 1 {
                figures.name = format!("{}: {}", capture.name, figures.name);
            }
            sides.push(figures);
        }
    }
    let missing = all.iter().flat_map(missing).collect();
    let content = CompareContent { step_ns, sides, missing };
    match arguments.json {
        true => first.print(account.unwrap_or_default(), content)?,
        false => terminal::print(&side_by_side(&content.sides, step_ns))?,
    }
    let mut endings = all.iter().map(Selected::ending);
    Ok(endings.find(|ending| *ending != ExitState::Done).unwrap_or(ExitState::Done))
}

/// The captures, in the order in which they were named; files of one are put
/// together.
fn captures(arguments: &CompareArguments) -> anyhow::Result<Vec<Selected>> {
    let mut named: Vec<(&Path, Vec<Captured<File>>)> = Vec::new();
    for path in &arguments.selection.files {
        let file = open(path)?;
        let is_part = |(_, parts): &&mut (&Path, Vec<Captured<File>>)| {
            parts.iter().any(|part| is_same_capture(part.conditions(), file.conditions()))
        };
        match named.iter_mut().find(is_part) {
            Some((_, parts)) => parts.push(file),
            None => named.push((path, vec![file])),
        }
    }
    let filter = &arguments.selection.filter;
    let of = |(path, parts)| Selected::of(path, parts, filter, Layers::Each);
    named.into_iter().map(of).collect()
}

/// The width of steps that was asked for, or that suits the first capture's length.
fn width(first: &Selected, arguments: &CompareArguments) -> anyhow::Result<u64> {
    let asked = arguments.step.map(|step| step.0);
    first.ask(|captured, pass| captured.width(asked, captured.span_ns(pass)?, STEPS_MAX as u64))
}

/// How much later than the earliest of them each capture began, in nanoseconds.
fn shifts(all: &[Selected]) -> Vec<u64> {
    let known = compare::shifts(all.iter().map(Selected::conditions));
    if known.is_none() && all.len() > 1 {
        terminal::complain(
            "One trace has no start time; all traces are shown from a common start.",
        );
    }
    known.unwrap_or_else(|| vec![0; all.len()])
}

fn missing(capture: &Selected) -> Vec<String> {
    let missing = capture.captured.integrity().missing();
    missing.into_iter().map(|text| format!("{}: {text}", capture.name)).collect()
}

fn say_unlisted(capture: &Selected, answer: &Answer<SidesFound>) {
    if answer.found.unlisted > 0 {
        terminal::complain(&format!(
            "{} has more than {SIDES_MAX} devices; {} I/Os of the others are left out; choose \
             devices with --device",
            capture.name, answer.found.unlisted
        ));
    }
}

impl SideFigures {
    fn of(capture: &Selected, (key, steps): &Side, width: u64, shift: u64) -> SideFigures {
        // Busy parts are shares of one device's time: the side's.
        let devices = capture.captured.tells_busy_time(&capture.pass, steps).then_some(1);
        let figures = steps.iter().map(|(at, step)| {
            let mut figures = StepFigures::of(*at, step, width, devices);
            figures.begin_ns = figures.begin_ns.saturating_add(shift);
            figures
        });
        SideFigures {
            name: key.name(capture.conditions()),
            device: key.device_name(capture.conditions()),
            layer: key.layer,
            steps: figures.collect(),
        }
    }
}

fn side_by_side(sides: &[SideFigures], width: u64) -> String {
    let columns = StepFigures::SIDE_BY_SIDE;
    let mut rows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (at, side) in sides.iter().enumerate() {
        for step in &side.steps {
            // Beginnings of another trace lie between the first one's steps.
            let none = || vec!["–".to_owned(); sides.len() * columns.len()];
            let cells = rows.entry(step.begin_ns / width).or_insert_with(none);
            let place = at * columns.len()..(at + 1) * columns.len();
            cells.splice(place, texts(&columns, step));
        }
    }
    let mut head = vec!["Start s".to_owned()];
    for (letter, _) in ('A'..='Z').zip(sides) {
        head.extend(heads(&columns).map(|name| format!("{letter} {name}")));
    }
    let mut lines = vec![head];
    lines.extend(rows.into_iter().map(|(slot, cells)| {
        let begin = format!("{:.4}", slot.saturating_mul(width) as f64 / 1e9);
        std::iter::once(begin).chain(cells).collect::<Vec<_>>()
    }));
    let names = ('A'..='Z')
        .zip(sides)
        .map(|(letter, side)| format!("{letter} = {}", printable(&side.name)));
    format!("{}\n{}", names.collect::<Vec<_>>().join("\n"), aligned(&lines))
}
