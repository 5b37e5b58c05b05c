//! `trace compare`: drives, layers or captures on one time axis.

use super::columns::{aligned, ms, number};
use super::over_time::{StepFigures, tells_busy_time};
use super::{Selected, open_trace, print_document};
use crate::cli::trace::CompareArguments;
use crate::exit::Outcome;
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use steadfast_domain::Layer;
use steadfast_trace::Trace;
use steadfast_trace::compare::{SIDES_MAX, SideKey, Sides};
use steadfast_trace::file::is_same_capture;
use steadfast_trace::steps::{CaptureStep, STEPS_MAX};
use steadfast_trace::study::step_width;

#[derive(Serialize)]
struct CompareContent {
    step_ns: u64,
    sides: Vec<SideFigures>,
}

#[derive(Serialize)]
struct SideFigures {
    name: String,
    device: String,
    layer: Layer,
    steps: Vec<StepFigures>,
}

/// Drives or layers on one time axis.
pub fn compare(arguments: &CompareArguments) -> anyhow::Result<Outcome> {
    let all = captures(arguments)?;
    let first = all.first().context("name a trace")?;
    let width = step_width(arguments.step.map(|step| step.0), first.span()?, STEPS_MAX as u64)?;
    let mut account = None;
    let mut sides: Vec<SideFigures> = Vec::new();
    for (selected, shift) in all.iter().zip(shifts(&all)) {
        let until = (selected.span()?.1 / width + 1).saturating_mul(width);
        let mut fold = Sides::new(width, until);
        account.get_or_insert(selected.fold(&mut [&mut fold])?);
        if fold.unlisted > 0 {
            terminal::complain(&format!(
                "{}: it has more than {SIDES_MAX} devices; {} I/Os of further ones are left out; \
                 --device names those to compare",
                selected.name, fold.unlisted
            ));
        }
        for (key, steps) in fold.finish()? {
            let mut side = SideFigures::of(selected, key, &steps, width);
            side.steps.iter_mut().for_each(|step| step.begin_ns += shift);
            if all.len() > 1 {
                side.name = format!("{}: {}", selected.name, side.name);
            }
            sides.push(side);
        }
    }
    if arguments.json {
        print_document(
            first,
            account.unwrap_or_default(),
            CompareContent { step_ns: width, sides },
        )?;
    } else {
        terminal::print(&side_by_side(&sides, width))?;
    }
    Ok(Outcome::Done)
}

impl SideFigures {
    fn of(
        selected: &Selected,
        key: SideKey,
        steps: &BTreeMap<u64, CaptureStep>,
        width: u64,
    ) -> SideFigures {
        let conditions = selected.trace.conditions();
        let devices = tells_busy_time(selected, steps).then_some(1);
        let figures = |(at, step): (&u64, &CaptureStep)| StepFigures::of(*at, step, width, devices);
        SideFigures {
            name: key.name(conditions),
            device: key.device_name(conditions),
            layer: key.layer,
            steps: steps.iter().map(figures).collect(),
        }
    }
}

/// The captures, in the order in which they were named; files of one are put
/// together.
fn captures(arguments: &CompareArguments) -> anyhow::Result<Vec<Selected>> {
    let mut parts: Vec<(&Path, Vec<Trace<File>>)> = Vec::new();
    for path in &arguments.selection.files {
        let trace = open_trace(path)?;
        let of = |(_, parts): &&mut (&Path, Vec<Trace<File>>)| {
            parts.iter().any(|part| is_same_capture(part.conditions(), trace.conditions()))
        };
        match parts.iter_mut().find(of) {
            Some((_, parts)) => parts.push(trace),
            None => parts.push((path, vec![trace])),
        }
    }
    let filter = &arguments.selection.filter;
    parts.into_iter().map(|(path, parts)| Selected::of(path, parts, filter)).collect()
}

/// How much later than the earliest of them each capture began, in nanoseconds.
fn shifts(all: &[Selected]) -> Vec<u64> {
    let began = all.iter().map(|selected| selected.trace.conditions().began_unix_ns);
    let began: Option<Vec<u64>> = began.collect();
    let Some(began) = began.filter(|_| all.len() > 1) else {
        if all.len() > 1 {
            terminal::complain(
                "A trace does not tell when it began; the beginnings of all are put together.",
            );
        }
        return vec![0; all.len()];
    };
    let earliest = began.iter().copied().min().unwrap_or(0);
    began.into_iter().map(|began| began - earliest).collect()
}

fn side_by_side(sides: &[SideFigures], width: u64) -> String {
    let mut rows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let columns = sides.len() * 4;
    for (at, side) in sides.iter().enumerate() {
        for step in &side.steps {
            // Beginnings of another trace lie between the first one's steps.
            let slot = step.begin_ns / width;
            let cells = rows.entry(slot).or_insert_with(|| vec!["–".to_owned(); columns]);
            cells[at * 4] = number(Some(step.iops), 1);
            cells[at * 4 + 1] = number(Some(step.bytes_per_second / 1e6), 2);
            cells[at * 4 + 2] = ms(step.response_mean_ns);
            cells[at * 4 + 3] = number(step.qd_mean, 2);
        }
    }
    let mut head = vec!["Begins s".to_owned()];
    for (letter, _) in ('A'..='Z').zip(sides) {
        head.extend(["IOPS", "MB/s", "ART ms", "QD"].map(|name| format!("{letter} {name}")));
    }
    head.truncate(columns + 1);
    let mut lines = vec![head];
    lines.extend(rows.into_iter().map(|(slot, cells)| {
        let begin = format!("{:.4}", slot.saturating_mul(width) as f64 / 1e9);
        std::iter::once(begin).chain(cells).collect::<Vec<_>>()
    }));
    let names = ('A'..='Z').zip(sides).map(|(letter, side)| format!("{letter} = {}", side.name));
    format!("{}\n{}", names.collect::<Vec<_>>().join("\n"), aligned(&lines))
}
