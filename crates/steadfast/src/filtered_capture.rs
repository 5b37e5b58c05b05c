//! A capture that the command line names: opened, what is wrong with it said, and
//! which of its I/Os count.

use crate::cli::trace::{FilterArguments, LayerChoice, Selection};
use crate::exit::{ExitState, misuse};
use crate::recognize_file::recognize_file;
use crate::thread_pool;
use crate::{tags_file, terminal};
use anyhow::{Context, bail};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::clock::{Moment, MomentResolver};
use steadfast_analysis::filter::{Filter, ProcessSelector};
use steadfast_analysis::pass::{PassAccount, PassOptions};
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::{Captured, ShareMeasure, StudyOptions};
use steadfast_domain::io_event::IncompleteIos;
use steadfast_domain::{CaptureConditions, Layer, Nanos};
use steadfast_exchange::identify::FileKind;
use steadfast_host::open_regular;
use steadfast_tracefile::TraceError;
use steadfast_tracefile::parquet::{Integrity, Recovery};

/// A capture in its files, and which of its I/Os count.
pub struct FilteredCapture {
    pub captured: Captured<File>,
    pub pass: PassOptions,
    pub name: String,
    accept_damage: bool,
    /// What was said to be missing.
    said: RefCell<BTreeSet<String>>,
}

impl FilteredCapture {
    pub fn open(selection: &Selection) -> anyhow::Result<Self> {
        Self::files(&selection.files, &selection.filter)
    }

    /// The files of one capture, as a test applies it or a replay is compared: of a
    /// trace of two layers the block layer counts unless another is asked for.
    pub fn files(files: &[PathBuf], filter: &FilterArguments) -> anyhow::Result<Self> {
        Self::side(files, filter, LayerDefault::One)
    }

    /// Files of any captures, read together.
    pub fn side(
        files: &[PathBuf],
        filter: &FilterArguments,
        layers: LayerDefault,
    ) -> anyhow::Result<Self> {
        let first = files.first().map_or(Path::new(""), PathBuf::as_path);
        Self::new(first, open_each(files)?, filter, layers)
    }

    /// The files of one capture, called by the first of them.
    pub fn new(
        path: &Path,
        parts: Vec<Captured<File>>,
        filter: &FilterArguments,
        layers: LayerDefault,
    ) -> anyhow::Result<Self> {
        let name = named(path, parts.len());
        let captured = joined(&name, parts)?;
        let span_ns = (captured.begin_ns(), captured.end_ns());
        let filtered = filtered(&name, filter, layers, (captured.conditions(), span_ns))?;
        let filtered = of_whole_steps(&name, &captured, filtered);
        let pass =
            PassOptions { filter: filtered, window: filter.window, ..PassOptions::default() };
        let (accept_damage, said) = (filter.accept_damage, RefCell::default());
        Ok(FilteredCapture { captured, pass, name, accept_damage, said })
    }

    pub fn conditions(&self) -> &CaptureConditions {
        self.captured.conditions()
    }

    /// The moment of an event mark, perhaps with an offset (`backup+5min`).
    pub fn mark(&self, mark: &str) -> anyhow::Result<u64> {
        let calendar =
            MomentResolver::new(self.conditions(), None, (self.captured.begin_ns(), u64::MAX));
        let found = calendar.moment(&Moment::Mark(mark.to_owned()), 0);
        found.with_context(|| self.name.clone())
    }

    /// Keeps what was issued from an event mark on.
    pub fn begin_at_mark(&mut self, mark: &str) -> anyhow::Result<()> {
        let from = self.mark(mark)?;
        let filter = std::mem::take(&mut self.pass.filter);
        self.pass.filter = filter.within(&[(from, u64::MAX)]);
        Ok(())
    }

    /// Says on standard error what was found damaged or missing, once.
    pub fn say_damage(&self) {
        for text in self.captured.integrity().missing() {
            if self.said.borrow_mut().insert(text.clone()) {
                terminal::complain(&format!("{}: {text}", self.name));
            }
        }
    }

    /// How a command ends that showed what is in it.
    pub fn ending(&self) -> ExitState {
        let is_whole = self.captured.integrity().is_whole();
        if is_whole || self.accept_damage { ExitState::Done } else { ExitState::Incomplete }
    }

    /// Asks the capture something; says on standard error what could not be done as
    /// it should.
    pub fn ask<T>(
        &self,
        question: impl FnOnce(&Captured<File>, &PassOptions) -> Result<T, TraceError>,
    ) -> anyhow::Result<T> {
        let answer = question(&self.captured, &self.pass);
        self.say_damage();
        answer.with_context(|| self.name.clone())
    }

    /// The same, where the answer says what was read for it.
    pub fn answer<T>(
        &self,
        question: impl FnOnce(&Captured<File>, &PassOptions) -> Result<PassResult<T>, TraceError>,
    ) -> anyhow::Result<PassResult<T>> {
        let answer = self.ask(question)?;
        if answer.account.kept == 0 && self.pass.filter != Filter::default() {
            self.ask(|captured, pass| captured.span_of(pass, &answer.account))?;
        }
        if answer.account.order.late > 0 {
            terminal::complain(&format!(
                "{}: {} I/Os could not be sorted into issue order",
                self.name, answer.account.order.late
            ));
        }
        Ok(answer)
    }

    /// How it is studied.
    pub fn options(
        &self,
        by: ShareMeasure,
        threshold: Threshold,
        step: Option<Nanos>,
    ) -> StudyOptions {
        let (pass, step_ns) = (self.pass.clone(), step.map(|step| step.0));
        StudyOptions { pass, by, threshold, step_ns, ..StudyOptions::default() }
    }

    /// Prints what was found as JSON.
    pub fn print<T: Serialize + JsonSchema>(
        &self,
        account: PassAccount,
        content: T,
    ) -> anyhow::Result<()> {
        terminal::print_json(&CaptureDocument {
            file: &self.name,
            conditions: self.conditions(),
            filter: self.pass.filter.describe(self.conditions()),
            window: self.pass.window,
            account,
            integrity: self.captured.integrity(),
            content,
        })
    }
}

/// Opens the files of one capture, with the name that they have together.
pub fn capture(files: &[PathBuf]) -> anyhow::Result<(String, Captured<File>)> {
    let name = named(files.first().map_or(Path::new(""), PathBuf::as_path), files.len());
    let captured = joined(&name, open_each(files)?)?;
    Ok((name, captured))
}

fn open_each(files: &[PathBuf]) -> anyhow::Result<Vec<Captured<File>>> {
    files.iter().map(|path| open(path)).collect()
}

/// Reads files as one capture; says on standard error what they lack.
fn joined(name: &str, parts: Vec<Captured<File>>) -> anyhow::Result<Captured<File>> {
    let captured = Captured::several(parts).with_context(|| name.to_owned())?;
    let captured = captured.with_crew(thread_pool::of_all_processors());
    say_if_several(name, &captured);
    say_what_is_missing(name, captured.recovery(), captured.conditions());
    say_if_unchecked(name, &captured.integrity());
    Ok(captured)
}

/// What the files of a capture are called together.
pub fn named(path: &Path, files: usize) -> String {
    match files.saturating_sub(1) {
        0 => path.display().to_string(),
        more => format!("{} and {more} more", path.display()),
    }
}

/// Says on standard error that files of several captures are counted together.
fn say_if_several(name: &str, captured: &Captured<File>) {
    if let Some(captures) = captured.captures().filter(|captures| *captures > 1) {
        let hosts = match captured.observed_by_host(&Filter::default()).len() {
            1 => "1 host".to_owned(),
            hosts => format!("{hosts} hosts"),
        };
        terminal::complain(&format!("{name}: {captures} captures of {hosts}, read together"));
    }
}

/// One file of a capture, opened.
pub fn open(path: &Path) -> anyhow::Result<Captured<File>> {
    let file = open_regular(path)?;
    Captured::open(file).map_err(anyhow::Error::from).or_else(|error| {
        // A file of another kind is named; a damaged capture is not.
        match recognize_file(path)?.filter(|found| found.kind != Some(FileKind::Parquet)) {
            Some(found) => bail!(
                "{}: this is {}, not a capture; {}",
                path.display(),
                found.name,
                found.what_to_do()
            ),
            None => Err(error).with_context(|| path.display().to_string()),
        }
    })
}

/// Says on standard error what a capture's file lacks.
fn say_what_is_missing(name: &str, recovery: Option<&Recovery>, conditions: &CaptureConditions) {
    if let Some(recovery) = recovery {
        terminal::complain(&format!(
            "{name}: the capture was killed; read up to the last complete row group, {} bytes after \
             it are lost",
            recovery.bytes_ignored
        ));
    }
    if let Some(part) = conditions.in_part.filter(|part| *part != IncompleteIos::default()) {
        terminal::complain(&format!("{name}: incomplete I/Os: {part}"));
    }
    if conditions.lost > 0 {
        terminal::complain(&format!(
            "{name}: the capture lost {} events; counts are too low",
            conditions.lost
        ));
    }
}

/// Says on standard error that damage could not be seen.
fn say_if_unchecked(name: &str, integrity: &Integrity) {
    if !integrity.checksums {
        terminal::complain(&format!("{name}: no checksums; damage cannot be detected"));
    }
}

/// What counts of a trace of both layers unless the user says it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LayerDefault {
    /// The block layer: what a program asked and what the device got of it are
    /// not added up.
    One,
    /// Both, which stand beside each other.
    Each,
}

/// The filter that was asked for; says on standard error where it chose a layer.
pub fn filtered(
    name: &str,
    arguments: &FilterArguments,
    layers: LayerDefault,
    (conditions, span_ns): (&CaptureConditions, (u64, u64)),
) -> anyhow::Result<Filter> {
    let calendar = MomentResolver::new(conditions, arguments.time_zone.as_ref(), span_ns);
    let mut filter = filter(arguments, conditions, calendar).with_context(|| name.to_owned())?;
    if layers == LayerDefault::One && conditions.layers.len() > 1 && arguments.layer.is_none() {
        filter.layer = Some(Layer::Block);
        terminal::complain(&format!(
            "{name}: the trace has two layers; only the block layer is counted (others: --layer \
             filesystem, --layer both)"
        ));
    }
    Ok(filter)
}

/// The filter with its times at the borders of the kept steps, which are what sums can be selected
/// by; says on standard error where these differ. A span without a step is refused later.
fn of_whole_steps(name: &str, captured: &Captured<File>, filter: Filter) -> Filter {
    let Some(grid) = captured.step_grid() else { return filter };
    let observed = captured.observed(&Filter::default());
    let whole = |span: &(u64, u64)| {
        let (from, to) = observed.whole_steps(*span, grid);
        // A span that begins or ends outside the observed time has no step there to be cut.
        let from = if span.0 <= captured.begin_ns() { span.0 } else { from };
        let to = if span.1 >= captured.end_ns() { span.1 } else { to };
        if from < to { (from, to) } else { *span }
    };
    let spans_ns: Vec<(u64, u64)> = filter.spans_ns.iter().map(whole).collect();
    if spans_ns == filter.spans_ns {
        return filter;
    }
    let times = Filter { spans_ns: spans_ns.clone(), ..Filter::default() };
    terminal::complain(&format!(
        "{name}: only sums of steps of {} were kept, so whole steps are selected: {}",
        Nanos(grid.step_ns),
        times.describe(captured.conditions()).unwrap_or_default()
    ));
    Filter { spans_ns, ..filter }
}

fn filter(
    arguments: &FilterArguments,
    conditions: &CaptureConditions,
    calendar: MomentResolver<'_>,
) -> anyhow::Result<Filter> {
    let mut filter = Filter {
        process: arguments.pid.as_deref().map(ProcessSelector::named),
        thread: arguments.tid,
        ops: arguments.op.iter().map(|op| (*op).into()).collect(),
        layer: match arguments.layer {
            Some(LayerChoice::Block) => Some(Layer::Block),
            Some(LayerChoice::Filesystem) => Some(Layer::FileSystem),
            Some(LayerChoice::Both) | None => None,
        },
        streams: arguments.stream.clone(),
        ..Filter::default()
    };
    if let (Some(from @ Moment::After(first)), Some(to @ Moment::After(second))) =
        (&arguments.from, &arguments.to)
        && first >= second
    {
        return Err(misuse(format!("--from {from} is not before --to {to}; swap them")));
    }
    for event in &arguments.event {
        filter = filter.during(event, conditions)?;
    }
    if arguments.from.is_some() || arguments.to.is_some() {
        filter = filter.within(&calendar.spans(arguments.from.as_ref(), arguments.to.as_ref())?);
    }
    for device in &arguments.device {
        filter = filter.on(device, conditions)?;
    }
    for cgroup in &arguments.cgroup {
        filter = filter.of_cgroup(cgroup, conditions)?;
    }
    for file in &arguments.file {
        filter = filter.on_file(file, conditions)?;
    }
    for host in &arguments.host {
        filter = filter.of_host(host, conditions)?;
    }
    if let Some(tags) = &arguments.tags {
        filter = filter.of_hosts_among(&tags_file::hosts_of(tags, &arguments.role)?, conditions)?;
    }
    Ok(filter)
}

/// The schema of a JSON document of a capture with this content.
pub fn schema_of<T: Serialize + JsonSchema>() -> Schema {
    terminal::schema_of::<CaptureDocument<'_, T>>()
}

/// What every JSON document of a capture begins with.
#[derive(Serialize, schemars::JsonSchema)]
struct CaptureDocument<'a, T: Serialize> {
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
