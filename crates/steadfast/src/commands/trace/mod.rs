//! `steadfast trace`: what a trace holds, as tables, as JSON and as a report.

mod columns;
mod compare;
pub mod derive;
mod import;
mod kept;
mod over_time;
mod recover;
mod report;
mod streams;
mod studied;

use crate::cli::trace::{FilterArguments, Selection, TraceArguments, TraceCommand};
use crate::exit::Outcome;
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use std::fs::File;
use std::path::Path;
use steadfast_domain::CaptureConditions;
use steadfast_trace::file::Recovery;
use steadfast_trace::filter::{Filter, Process};
use steadfast_trace::pass::{Pass, PassAccount};
use steadfast_trace::{Fold, Trace};

/// A trace in a file, and which of its I/Os count.
struct Selected {
    trace: Trace<File>,
    pass: Pass,
    name: String,
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
        TraceCommand::Import(arguments) => import::run(arguments),
        TraceCommand::Recover(arguments) => recover::run(arguments),
    }
}

impl Selected {
    fn open(selection: &Selection) -> anyhow::Result<Self> {
        let traces = selection.files.iter().map(|path| open_trace(path));
        let traces = traces.collect::<anyhow::Result<Vec<_>>>()?;
        let selected = Self::of(selection.file(), traces, &selection.filter)?;
        let conditions = selected.trace.conditions();
        say_that_layers_are_together(&selected.name, conditions, &selection.filter);
        Ok(selected)
    }

    /// The files of one capture, called by the first of them.
    fn of(path: &Path, parts: Vec<Trace<File>>, filter: &FilterArguments) -> anyhow::Result<Self> {
        let mut name = path.display().to_string();
        if let more @ 1.. = parts.len() - 1 {
            name = format!("{name} and {more} more");
        }
        let trace = Trace::together(parts).with_context(|| name.clone())?;
        say_what_is_missing(&name, trace.recovery(), trace.conditions());
        let pass = pass(filter, trace.conditions()).with_context(|| name.clone())?;
        Ok(Selected { trace, pass, name })
    }

    /// One pass; says on standard error what could not be done as it should.
    fn fold(&self, folds: &mut [&mut dyn Fold]) -> anyhow::Result<PassAccount> {
        let account = self.pass.run(&self.trace, folds).with_context(|| self.name.clone())?;
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
        account.span_ns.with_context(|| match self.trace.rows() {
            0 => format!("{}: it holds no I/O", self.name),
            _ => format!("{}: no I/O passes the filter; widen it", self.name),
        })
    }
}

fn open_trace(path: &Path) -> anyhow::Result<Trace<File>> {
    let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    Trace::open(file).with_context(|| path.display().to_string())
}

/// Says on standard error what a capture's file lacks.
fn say_what_is_missing(name: &str, recovery: Option<&Recovery>, conditions: &CaptureConditions) {
    if let Some(recovery) = recovery {
        terminal::complain(&format!(
            "{name}: its capture did not come to its end; read up to the last complete row group, {} \
             bytes after it are lost",
            recovery.bytes_ignored
        ));
    }
    if conditions.lost > 0 {
        terminal::complain(&format!(
            "{name}: the capture lost {} events; counts are too low",
            conditions.lost
        ));
    }
}

/// Says on standard error that a file's two layers count as one where they do.
fn say_that_layers_are_together(
    name: &str,
    conditions: &CaptureConditions,
    filter: &FilterArguments,
) {
    if conditions.layers.len() > 1 && filter.layer.is_none() {
        terminal::complain(&format!(
            "{name}: it has two layers, which are counted together; --layer block or --layer \
             filesystem keeps one"
        ));
    }
}

fn pass(arguments: &FilterArguments, conditions: &CaptureConditions) -> anyhow::Result<Pass> {
    let filter = filter(arguments, conditions)?;
    Ok(Pass { filter, window: arguments.window, ..Pass::default() })
}

fn filter(arguments: &FilterArguments, conditions: &CaptureConditions) -> anyhow::Result<Filter> {
    let mut filter = Filter {
        process: arguments.pid.as_deref().map(Process::named),
        ops: arguments.op.iter().map(|op| (*op).into()).collect(),
        layer: arguments.layer.map(Into::into),
        streams: arguments.stream.clone(),
        ..Filter::default()
    };
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
        content,
    })
}
