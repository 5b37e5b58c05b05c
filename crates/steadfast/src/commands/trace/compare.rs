//! `trace compare`: drives, layers or captures side by side on one time axis, of
//! files that hold every I/O or capture steps alone.

use super::columns::{aligned, ms, number};
use super::kept::Kept;
use super::over_time::{StepFigures, tells_busy_time};
use super::{Layers, Selected, open_trace, print_document};
use crate::cli::trace::CompareArguments;
use crate::exit::Outcome;
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use steadfast_domain::text::printable;
use steadfast_domain::{CaptureConditions, Layer, Nanos};
use steadfast_trace::compare::{SIDES_MAX, Side, Sides};
use steadfast_trace::file::is_same_capture;
use steadfast_trace::pass::PassAccount;
use steadfast_trace::steps::{CaptureStep, STEPS_MAX};
use steadfast_trace::study::step_width;
use steadfast_trace::{StepFile, Trace};

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

/// A capture whose devices and layers are compared.
enum Compared {
    Ios(Box<Selected>),
    Steps(Box<Kept>),
}

/// What is compared of a capture.
struct Found {
    sides: Vec<Side>,
    /// I/Os of devices and layers beyond [`SIDES_MAX`].
    unlisted: u64,
    account: PassAccount,
}

/// Drives, layers or captures on one time axis.
pub fn run(arguments: &CompareArguments) -> anyhow::Result<Outcome> {
    let all = captures(arguments)?;
    let first = all.first().context("name a trace")?;
    let step_ns = first.width(arguments.step)?;
    let mut account = None;
    let mut sides: Vec<SideFigures> = Vec::new();
    for (capture, shift) in all.iter().zip(shifts(&all)) {
        let found = capture.find(step_ns)?;
        account.get_or_insert(found.account);
        for side in &found.sides {
            let mut figures = SideFigures::of(capture, side, step_ns, shift);
            if all.len() > 1 {
                figures.name = format!("{}: {}", capture.name(), figures.name);
            }
            sides.push(figures);
        }
    }
    let missing = all.iter().flat_map(Compared::missing).collect();
    let content = CompareContent { step_ns, sides, missing };
    match (arguments.json, first) {
        (false, _) => terminal::print(&side_by_side(&content.sides, step_ns))?,
        (true, Compared::Ios(first)) => {
            print_document(first, account.unwrap_or_default(), content)?;
        }
        (true, Compared::Steps(first)) => first.print(content)?,
    }
    let mut endings = all.iter().map(Compared::ending);
    Ok(endings.find(|ending| *ending != Outcome::Done).unwrap_or(Outcome::Done))
}

/// A file of a capture.
enum Opened {
    Ios(Trace<File>),
    Steps(StepFile<File>),
}

impl Opened {
    fn at(path: &Path) -> anyhow::Result<Opened> {
        Ok(match Kept::part(path)? {
            Some(file) => Opened::Steps(file),
            None => Opened::Ios(open_trace(path)?),
        })
    }

    fn conditions(&self) -> &CaptureConditions {
        match self {
            Opened::Ios(trace) => trace.conditions(),
            Opened::Steps(file) => file.conditions(),
        }
    }
}

/// The captures, in the order in which they were named; files of one are put
/// together.
fn captures(arguments: &CompareArguments) -> anyhow::Result<Vec<Compared>> {
    let mut named: Vec<(&Path, Vec<Opened>)> = Vec::new();
    for path in &arguments.selection.files {
        let file = Opened::at(path)?;
        let is_part = |(_, parts): &&mut (&Path, Vec<Opened>)| {
            parts.iter().any(|part| is_same_capture(part.conditions(), file.conditions()))
        };
        match named.iter_mut().find(is_part) {
            Some((_, parts)) => parts.push(file),
            None => named.push((path, vec![file])),
        }
    }
    let filter = &arguments.selection.filter;
    let compared = named.into_iter().map(|(path, files)| {
        let (mut traces, mut steps) = (Vec::new(), Vec::new());
        for file in files {
            match file {
                Opened::Ios(trace) => traces.push(trace),
                Opened::Steps(file) => steps.push(file),
            }
        }
        Ok(match steps.is_empty() {
            true => Compared::Ios(Box::new(Selected::of(path, traces, filter, Layers::Each)?)),
            false => Compared::Steps(Box::new(Kept::of(path, steps, filter, Layers::Each)?)),
        })
    });
    compared.collect()
}

/// How much later than the earliest of them each capture began, in nanoseconds.
fn shifts(all: &[Compared]) -> Vec<u64> {
    let began = all.iter().map(|capture| capture.conditions().began_unix_ns);
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

impl Compared {
    fn name(&self) -> &str {
        match self {
            Compared::Ios(selected) => &selected.name,
            Compared::Steps(kept) => kept.name(),
        }
    }

    fn missing(&self) -> Vec<String> {
        let missing = match self {
            Compared::Ios(selected) => selected.trace.integrity().missing(),
            Compared::Steps(kept) => kept.integrity().missing(),
        };
        missing.into_iter().map(|text| format!("{}: {text}", self.name())).collect()
    }

    fn ending(&self) -> Outcome {
        match self {
            Compared::Ios(selected) => selected.ending(),
            Compared::Steps(kept) => kept.ending(),
        }
    }

    fn conditions(&self) -> &CaptureConditions {
        match self {
            Compared::Ios(selected) => selected.trace.conditions(),
            Compared::Steps(kept) => kept.conditions(),
        }
    }

    /// The width of steps that was asked for, or that suits its length.
    fn width(&self, asked: Option<Nanos>) -> anyhow::Result<u64> {
        Ok(match self {
            Compared::Ios(selected) => {
                step_width(asked.map(|step| step.0), selected.span()?, STEPS_MAX as u64)?
            }
            Compared::Steps(kept) => kept.width(asked)?,
        })
    }

    /// Its devices and layers in steps of this width; says what is left out.
    fn find(&self, width: u64) -> anyhow::Result<Found> {
        let found = match self {
            Compared::Ios(selected) => {
                let until = (selected.span()?.1 / width + 1).saturating_mul(width);
                let mut fold = Sides::new(width, until);
                let account = selected.fold(&mut [&mut fold])?;
                Found { unlisted: fold.unlisted, sides: fold.finish()?, account }
            }
            Compared::Steps(kept) => {
                let (sides, unlisted) = kept.sides(width)?;
                Found { sides, unlisted, account: PassAccount::default() }
            }
        };
        if found.unlisted > 0 {
            terminal::complain(&format!(
                "{}: it has more than {SIDES_MAX} devices; {} I/Os of further ones are left out; \
                 --device names those to compare",
                self.name(),
                found.unlisted
            ));
        }
        Ok(found)
    }

    /// Devices of whose time busy parts are shares: the one of a side, where
    /// every I/O of it counts, was kept and has a response time.
    fn devices(&self, steps: &BTreeMap<u64, CaptureStep>) -> Option<u64> {
        match self {
            Compared::Ios(selected) => tells_busy_time(selected, steps).then_some(1),
            Compared::Steps(_) => None,
        }
    }
}

impl SideFigures {
    fn of(capture: &Compared, (key, steps): &Side, width: u64, shift: u64) -> SideFigures {
        let devices = capture.devices(steps);
        let figures = |(at, step): (&u64, &CaptureStep)| {
            let mut figures = StepFigures::of(*at, step, width, devices);
            figures.begin_ns = figures.begin_ns.saturating_add(shift);
            figures
        };
        SideFigures {
            name: key.name(capture.conditions()),
            device: key.device_name(capture.conditions()),
            layer: key.layer,
            steps: steps.iter().map(figures).collect(),
        }
    }
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
    let names = ('A'..='Z')
        .zip(sides)
        .map(|(letter, side)| format!("{letter} = {}", printable(&side.name)));
    format!("{}\n{}", names.collect::<Vec<_>>().join("\n"), aligned(&lines))
}
