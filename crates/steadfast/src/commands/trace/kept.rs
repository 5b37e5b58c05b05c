//! A capture that kept only the streams of its capture steps (`steadfast capture
//! --steps`): `trace streams`, `steps` and `map` of it, its sides and its study.

use super::over_time::{MapContent, StepFigures, StepsContent, keys_of};
use super::streams::{StreamsContent, stream_lines};
use super::studied::Wanted;
use super::{Layers, ending, filtered, named, say_if_unchecked, say_what_is_missing};
use crate::cli::trace::{
    FilterArguments, MapArguments, Selection, StepsArguments, StreamsArguments,
};
use crate::exit::Outcome;
use crate::terminal;
use anyhow::{Context, bail};
use serde::Serialize;
use std::fs::File;
use std::path::Path;
use steadfast_domain::{CaptureConditions, Nanos};
use steadfast_trace::compare::Side;
use steadfast_trace::file::Integrity;
use steadfast_trace::filter::Filter;
use steadfast_trace::pass::Pass;
use steadfast_trace::sequence::WINDOW;
use steadfast_trace::steps::STEPS_MAX;
use steadfast_trace::{StepFile, Study, TraceError};

/// A step file, and which of its rows count.
pub(super) struct Kept {
    file: StepFile<File>,
    filter: Filter,
    name: String,
    accept_damage: bool,
}

/// What every JSON document of a step file begins with.
#[derive(Serialize)]
struct Document<'a, T: Serialize> {
    file: &'a str,
    conditions: &'a CaptureConditions,
    filter: Option<String>,
    integrity: &'a Integrity,
    #[serde(flatten)]
    content: T,
}

impl Kept {
    /// Opens the files of a capture; `None` where they are no step files.
    pub(super) fn open(selection: &Selection) -> anyhow::Result<Option<Kept>> {
        let mut parts = Vec::new();
        for path in &selection.files {
            match Kept::part(path)? {
                Some(part) => parts.push(part),
                None if parts.is_empty() => return Ok(None),
                None => bail!(
                    "{}: it has single I/Os, {} capture steps alone; steadfast trace compare puts \
                     them side by side",
                    path.display(),
                    selection.file().display()
                ),
            }
        }
        Kept::of(selection.file(), parts, &selection.filter, Layers::One).map(Some)
    }

    /// One file; `None` where it is no step file.
    pub(super) fn part(path: &Path) -> anyhow::Result<Option<StepFile<File>>> {
        let file = File::open(path);
        let file = file.with_context(|| format!("{} cannot be opened", path.display()))?;
        // What is wrong with any other file is said when it is opened as a trace.
        Ok(StepFile::open(file).ok().flatten())
    }

    /// The files of one capture, called by the first of them.
    pub(super) fn of(
        path: &Path,
        parts: Vec<StepFile<File>>,
        arguments: &FilterArguments,
        layers: Layers,
    ) -> anyhow::Result<Kept> {
        let name = named(path, parts.len());
        let file = StepFile::together(parts).with_context(|| name.clone())?;
        say_what_is_missing(&name, file.recovery(), file.conditions());
        say_if_unchecked(&name, file.integrity());
        for text in file.integrity().missing() {
            terminal::complain(&format!("{name}: {text}"));
        }
        let filter = filtered(&name, arguments, layers, file.conditions())?;
        if arguments.window != WINDOW {
            bail!(
                "{name}: RND and SEQ were told apart during the capture, with a window of \
                 {WINDOW}; leave out --window"
            );
        }
        Ok(Kept { file, filter, name, accept_damage: arguments.accept_damage })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn conditions(&self) -> &CaptureConditions {
        self.file.conditions()
    }

    pub(super) fn print<T: Serialize>(&self, content: T) -> anyhow::Result<()> {
        let conditions = self.file.conditions();
        let filter = self.filter.told(conditions);
        let integrity = self.file.integrity();
        terminal::print_json(&Document { file: &self.name, conditions, filter, integrity, content })
    }

    pub(super) fn integrity(&self) -> &Integrity {
        self.file.integrity()
    }

    /// How a command ends that showed what is in it.
    pub(super) fn ending(&self) -> Outcome {
        ending(self.file.integrity(), self.accept_damage)
    }

    pub(super) fn streams(&self, arguments: &StreamsArguments) -> anyhow::Result<Outcome> {
        let table = self.file.streams(&self.filter).with_context(|| self.name.clone())?;
        let content = StreamsContent::of(&table, arguments);
        if arguments.json {
            self.print(content)?;
        } else {
            terminal::print(&stream_lines(&content))?;
        }
        Ok(self.ending())
    }

    /// The width of steps that was asked for, or that suits the length.
    pub(super) fn width(&self, asked: Option<Nanos>) -> anyhow::Result<u64> {
        let span = self.file.span_ns(&self.filter).with_context(|| self.name.clone())?;
        Ok(self.file.width(asked.map(|width| width.0), span, STEPS_MAX as u64)?)
    }

    /// Steps of every device and layer, and the I/Os of those that are left out.
    pub(super) fn sides(&self, width: u64) -> anyhow::Result<(Vec<Side>, u64)> {
        // Steps that were chosen by another file may not be made of these.
        let kept = self.file.step_ns();
        if !width.is_multiple_of(kept) {
            let (name, width, kept) = (&self.name, Nanos(width), Nanos(kept));
            bail!(
                "{name}: steps of {width} cannot be made of the {kept} that were kept; choose a multiple"
            );
        }
        self.file.sides(&self.filter, width).with_context(|| self.name.clone())
    }

    /// Everything that a report shows.
    pub(super) fn study(self, wanted: &Wanted) -> Result<Study, TraceError> {
        let pass = Pass { filter: self.filter, ..Pass::default() };
        Study::of_steps(&self.file, &wanted.options(pass))
    }

    pub(super) fn steps(&self, arguments: &StepsArguments) -> anyhow::Result<Outcome> {
        let width = self.width(arguments.step)?;
        let steps = self.file.steps(&self.filter, width)?;
        // Busy time was not kept.
        let figures = steps.iter().map(|(at, step)| StepFigures::of(*at, step, width, None));
        let content = StepsContent { step_ns: width, steps: figures.collect() };
        if arguments.json {
            self.print(content)?;
        } else {
            terminal::print(&content.lines())?;
        }
        Ok(self.ending())
    }

    pub(super) fn map(&self, arguments: &MapArguments) -> anyhow::Result<Outcome> {
        let width = self.width(arguments.step)?;
        let keys = keys_of(&self.file.streams(&self.filter)?, arguments);
        let series = self.file.series(&self.filter, width, &keys)?;
        let content = MapContent::of(&series, &keys, width);
        if arguments.json {
            self.print(content)?;
        } else {
            terminal::print(&content.lines(arguments.by))?;
        }
        Ok(self.ending())
    }
}
