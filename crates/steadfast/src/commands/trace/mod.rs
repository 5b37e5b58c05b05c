//! `steadfast trace`: what a trace holds, as tables, as JSON and as a report.

mod columns;
mod compare;
pub mod derive;
mod import;
mod kept;
mod over_time;
mod recover;
mod report;
mod self_test;
mod streams;
mod studied;

use crate::cli::trace::{FilterArguments, LayerChoice, Selection, TraceArguments, TraceCommand};
use crate::exit::{Outcome, misuse};
use crate::terminal;
use anyhow::{Context, bail};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use steadfast_domain::io_event::SeenInPart;
use steadfast_domain::{CaptureConditions, Layer};
use steadfast_trace::file::{Integrity, Recovery};
use steadfast_trace::filter::{Filter, Process};
use steadfast_trace::pass::{Pass, PassAccount};
use steadfast_trace::{Fold, Trace};

/// A trace in a file, and which of its I/Os count.
struct Selected {
    trace: Trace<File>,
    pass: Pass,
    name: String,
    accept_damage: bool,
    /// What was said to be missing.
    said: RefCell<BTreeSet<String>>,
}

/// Runs one of the commands.
pub fn run(arguments: &TraceArguments) -> anyhow::Result<Outcome> {
    match &arguments.command {
        TraceCommand::Streams(arguments) => streams::streams(arguments),
        TraceCommand::Processes(arguments) => streams::processes(arguments),
        TraceCommand::Steps(arguments) => over_time::steps(arguments),
        TraceCommand::Map(arguments) => over_time::map(arguments),
        TraceCommand::Hits(arguments) => over_time::hits(arguments),
        TraceCommand::Compare(arguments) => compare::run(arguments),
        TraceCommand::Report(arguments) => report::run(arguments),
        TraceCommand::SelfTest(arguments) => self_test::run(arguments),
        TraceCommand::Import(arguments) => import::run(arguments),
        TraceCommand::Recover(arguments) => recover::run(arguments),
    }
}

impl Selected {
    fn open(selection: &Selection) -> anyhow::Result<Self> {
        let traces = selection.files.iter().map(|path| open_trace(path));
        let traces = traces.collect::<anyhow::Result<Vec<_>>>()?;
        Self::of(selection.file(), traces, &selection.filter, Layers::One)
    }

    /// The files of one capture, called by the first of them.
    fn of(
        path: &Path,
        parts: Vec<Trace<File>>,
        filter: &FilterArguments,
        layers: Layers,
    ) -> anyhow::Result<Self> {
        let name = named(path, parts.len());
        let trace = Trace::together(parts).with_context(|| name.clone())?;
        say_what_is_missing(&name, trace.recovery(), trace.conditions());
        say_if_unchecked(&name, &trace.integrity());
        let filtered = filtered(&name, filter, layers, trace.conditions())?;
        let pass = Pass { filter: filtered, window: filter.window, ..Pass::default() };
        let (accept_damage, said) = (filter.accept_damage, RefCell::default());
        Ok(Selected { trace, pass, name, accept_damage, said })
    }

    /// Says on standard error what was found damaged or missing, once.
    fn say_damage(&self) {
        for text in self.trace.integrity().missing() {
            if self.said.borrow_mut().insert(text.clone()) {
                terminal::complain(&format!("{}: {text}", self.name));
            }
        }
    }

    /// How a command ends that showed what is in it.
    fn ending(&self) -> Outcome {
        ending(&self.trace.integrity(), self.accept_damage)
    }

    /// One pass; says on standard error what could not be done as it should.
    fn fold(&self, folds: &mut [&mut dyn Fold]) -> anyhow::Result<PassAccount> {
        let account = self.pass.run(&self.trace, folds).with_context(|| self.name.clone());
        self.say_damage();
        let account = account?;
        if account.kept == 0 && self.pass.filter.process.is_some() {
            bail!(
                "{}: no I/O passes the filter ({}); the processes are listed by: steadfast trace \
                 processes",
                self.name,
                self.pass.filter.told(self.trace.conditions()).unwrap_or_default()
            );
        }
        if account.order.late > 0 {
            terminal::complain(&format!(
                "{}: {} I/Os could not be put in issue order",
                self.name, account.order.late
            ));
        }
        Ok(account)
    }

    /// First and last issue time of what passes the filter.
    fn span(&self) -> anyhow::Result<(u64, u64)> {
        if self.pass.filter == Filter::default()
            && let Some(span) = self.trace.span_ns()
        {
            return Ok(span);
        }
        let account = self.fold(&mut [])?;
        account.span_ns.with_context(|| self.nothing())
    }

    /// Why no I/O was found.
    fn nothing(&self) -> String {
        match self.trace.rows() {
            0 => format!("{}: it holds no I/O", self.name),
            _ => format!("{}: no I/O passes the filter; widen it", self.name),
        }
    }
}

/// What the files of a capture are called together.
pub(super) fn named(path: &Path, files: usize) -> String {
    match files.saturating_sub(1) {
        0 => path.display().to_string(),
        more => format!("{} and {more} more", path.display()),
    }
}

fn open_trace(path: &Path) -> anyhow::Result<Trace<File>> {
    let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    Trace::open(file).with_context(|| path.display().to_string())
}

/// Says on standard error what a capture's file lacks.
pub(super) fn say_what_is_missing(
    name: &str,
    recovery: Option<&Recovery>,
    conditions: &CaptureConditions,
) {
    if let Some(recovery) = recovery {
        terminal::complain(&format!(
            "{name}: its capture did not come to its end; read up to the last complete row group, {} \
             bytes after it are lost",
            recovery.bytes_ignored
        ));
    }
    if let Some(part) = conditions.in_part.filter(|part| *part != SeenInPart::default()) {
        terminal::complain(&format!("{name}: I/Os of the capture: {part}"));
    }
    if conditions.lost > 0 {
        terminal::complain(&format!(
            "{name}: the capture lost {} events; counts are too low",
            conditions.lost
        ));
    }
}

/// Says on standard error that damage could not be seen.
pub(super) fn say_if_unchecked(name: &str, integrity: &Integrity) {
    if !integrity.checksums {
        terminal::complain(&format!("{name}: it has no checksums; damage to it cannot be seen"));
    }
}

/// Numbers without all I/Os are no success, unless that is accepted.
pub(super) fn ending(integrity: &Integrity, accept_damage: bool) -> Outcome {
    if integrity.is_whole() || accept_damage { Outcome::Done } else { Outcome::Incomplete }
}

/// What counts of a trace of both layers unless the user says it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layers {
    /// The block layer: what a program asked and what the device got of it are
    /// not added up.
    One,
    /// Both, which stand beside each other.
    Each,
}

/// The filter that was asked for; says on standard error where it chose a layer.
pub(super) fn filtered(
    name: &str,
    arguments: &FilterArguments,
    layers: Layers,
    conditions: &CaptureConditions,
) -> anyhow::Result<Filter> {
    let mut filter = filter(arguments, conditions).with_context(|| name.to_owned())?;
    if layers == Layers::One && conditions.layers.len() > 1 && arguments.layer.is_none() {
        filter.layer = Some(Layer::Block);
        terminal::complain(&format!(
            "{name}: it has two layers; the block layer is counted (--layer filesystem or --layer \
             both)"
        ));
    }
    Ok(filter)
}

fn filter(arguments: &FilterArguments, conditions: &CaptureConditions) -> anyhow::Result<Filter> {
    let mut filter = Filter {
        process: arguments.pid.as_deref().map(Process::named),
        ops: arguments.op.iter().map(|op| (*op).into()).collect(),
        layer: match arguments.layer {
            Some(LayerChoice::Block) => Some(Layer::Block),
            Some(LayerChoice::Filesystem) => Some(Layer::FileSystem),
            Some(LayerChoice::Both) | None => None,
        },
        streams: arguments.stream.clone(),
        ..Filter::default()
    };
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && from >= to
    {
        return Err(misuse(format!("--from {from} is not before --to {to}; exchange them")));
    }
    if let Some(event) = &arguments.event {
        filter = filter.during(event, conditions)?;
    }
    if arguments.from.is_some() || arguments.to.is_some() {
        filter = filter.between(arguments.from.map(|t| t.0), arguments.to.map(|t| t.0));
    }
    for device in &arguments.device {
        filter = filter.on(device, conditions)?;
    }
    Ok(filter)
}

/// What every JSON document of a trace begins with.
#[derive(Serialize)]
struct Document<'a, T: Serialize> {
    file: &'a str,
    conditions: &'a CaptureConditions,
    /// Which I/Os count; `None` where all do.
    filter: Option<String>,
    window: usize,
    account: PassAccount,
    integrity: Integrity,
    #[serde(flatten)]
    content: T,
}

fn print_document<T: Serialize>(
    selected: &Selected,
    account: PassAccount,
    content: T,
) -> anyhow::Result<()> {
    terminal::print_json(&Document {
        file: &selected.name,
        conditions: selected.trace.conditions(),
        filter: selected.pass.filter.told(selected.trace.conditions()),
        window: selected.pass.window,
        account,
        integrity: selected.trace.integrity(),
        content,
    })
}
