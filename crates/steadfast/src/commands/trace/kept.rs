//! A capture that kept only the streams of its capture steps (`steadfast capture
//! --steps`): `trace streams`, `steps` and `map` of it, its sides and its study.

use super::over_time::{MapContent, StepFigures, StepsContent, keys_of};
use super::streams::{StreamsContent, stream_lines};
use super::studied::Wanted;
use super::{filter, say_that_layers_are_together, say_what_is_missing};
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
}

/// What every JSON document of a step file begins with.
#[derive(Serialize)]
struct Document<'a, T: Serialize> {
    file: &'a str,
    conditions: &'a CaptureConditions,
    filter: Option<String>,
    #[serde(flatten)]
    content: T,
}

impl Kept {
    /// Opens it; `None` where the file is no step file.
    pub(super) fn open(selection: &Selection) -> anyhow::Result<Option<Kept>> {
        let Some(kept) = Kept::at(selection.file(), &selection.filter)? else { return Ok(None) };
        if selection.files.len() > 1 {
            bail!("{}: captures of steps alone are read one by one; name one file", kept.name);
        }
        say_that_layers_are_together(&kept.name, kept.conditions(), &selection.filter);
        Ok(Some(kept))
    }

    /// The same of one file, whatever its layers.
    pub(super) fn at(path: &Path, arguments: &FilterArguments) -> anyhow::Result<Option<Kept>> {
        let name = path.display().to_string();
        let file = File::open(path);
        let file = file.with_context(|| format!("{name} cannot be opened"))?;
        // What is wrong with any other file is said when it is opened as a trace.
        let Ok(Some(file)) = StepFile::open(file) else { return Ok(None) };
        say_what_is_missing(&name, file.recovery(), file.conditions());
        let filter = filter(arguments, file.conditions()).with_context(|| name.clone())?;
        if arguments.window != WINDOW {
            bail!(
                "{name}: RND and SEQ were told apart during the capture, with a window of \
                 {WINDOW}; leave out --window"
            );
        }
        Ok(Some(Kept { file, filter, name }))
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
        terminal::print_json(&Document { file: &self.name, conditions, filter, content })
    }

    pub(super) fn streams(&self, arguments: &StreamsArguments) -> anyhow::Result<Outcome> {
        let table = self.file.streams(&self.filter).with_context(|| self.name.clone())?;
        let content = StreamsContent::of(&table, arguments);
        if arguments.json {
            self.print(content)?;
        } else {
            terminal::print(&stream_lines(&content))?;
        }
        Ok(Outcome::Done)
    }

    /// The width of steps that was asked for, or that suits the length.
    pub(super) fn width(&self, asked: Option<Nanos>) -> anyhow::Result<u64> {
        let span = self.file.span_ns(&self.filter).with_context(|| self.name.clone())?;
        Ok(self.file.width(asked.map(|width| width.0), span, STEPS_MAX as u64)?)
    }

    /// Steps of every device and layer, and the I/Os of those that are left out.
    pub(super) fn sides(&self, width: u64) -> anyhow::Result<(Vec<Side>, u64)> {
        // Steps that were chosen by another file may not be made of these.
        let width = self.width(Some(Nanos(width))).with_context(|| self.name.clone())?;
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
        Ok(Outcome::Done)
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
        Ok(Outcome::Done)
    }
}
