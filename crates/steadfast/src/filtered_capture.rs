//! A capture from the command line with its filter. Missing or damaged parts are reported on
//! standard error.

use crate::cli::SharesArguments;
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
use std::path::{Path, PathBuf};
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::filter::{Filter, ProcessSelector};
use steadfast_analysis::moment::{Moment, MomentResolver};
use steadfast_analysis::pass::{PassAccount, PassOptions};
use steadfast_analysis::{Captured, Fold, StudyOptions};
use steadfast_domain::io_event::IncompleteIos;
use steadfast_domain::text::counted;
use steadfast_domain::{CaptureConditions, Layer, Nanos, TimeZone};
use steadfast_exchange::identify::FileKind;
use steadfast_host::open_regular;
use steadfast_tracefile::TraceError;
use steadfast_tracefile::parquet::{Integrity, Recovery};

/// An open capture and the filter of its I/Os.
pub struct FilteredCapture {
    pub captured: Captured,
    pub pass: PassOptions,
    pub name: String,
    /// Time zone of clock times, if the user gave one.
    pub time_zone: Option<TimeZone>,
    accept_damage: bool,
    /// Missing parts that were already reported.
    reported: RefCell<BTreeSet<String>>,
}

impl FilteredCapture {
    /// Opens the selected files as one capture; see [`Self::files`].
    pub fn open(selection: &Selection) -> anyhow::Result<Self> {
        Self::files(&selection.files, &selection.filter)
    }

    /// Opens the files of one capture. Of a trace of two layers, only the block layer counts
    /// unless the filter names another.
    pub fn files(files: &[PathBuf], filter: &FilterArguments) -> anyhow::Result<Self> {
        Self::from_files(files, filter, LayerDefault::One)
    }

    /// Opens files of any captures, which are read together.
    pub fn from_files(
        files: &[PathBuf],
        filter: &FilterArguments,
        layers: LayerDefault,
    ) -> anyhow::Result<Self> {
        let first = files.first().map_or(Path::new(""), PathBuf::as_path);
        Self::new(first, open_each(files)?, filter, layers)
    }

    /// Joins open files into one capture, named after the first file.
    pub fn new(
        path: &Path,
        parts: Vec<Captured>,
        filter: &FilterArguments,
        layers: LayerDefault,
    ) -> anyhow::Result<Self> {
        let name = named(path, parts.len());
        let captured = joined(&name, parts)?;
        let span_ns = (captured.begin_ns(), captured.end_ns());
        let ios = filter_of(&name, filter, layers, captured.conditions(), span_ns)?;
        let ios = extend_to_whole_steps(&name, &captured, ios);
        let pass = PassOptions { filter: ios, window: filter.window, ..PassOptions::default() };
        Ok(FilteredCapture {
            captured,
            pass,
            name,
            time_zone: filter.time_zone.clone(),
            accept_damage: filter.accept_damage,
            reported: RefCell::default(),
        })
    }

    pub fn conditions(&self) -> &CaptureConditions {
        self.captured.conditions()
    }

    /// Returns the time of an event mark with an optional offset (`backup+5min`), in nanoseconds
    /// since the capture began.
    pub fn mark(&self, mark: &str) -> anyhow::Result<u64> {
        let resolver =
            MomentResolver::new(self.conditions(), None, (self.captured.begin_ns(), u64::MAX));
        let found = resolver.moment(&Moment::Mark(mark.to_owned()), 0);
        found.with_context(|| self.name.clone())
    }

    /// Restricts the filter to I/Os issued at or after an event mark.
    pub fn begin_at_mark(&mut self, mark: &str) -> anyhow::Result<()> {
        let from = self.mark(mark)?;
        let filter = std::mem::take(&mut self.pass.filter);
        self.pass.filter = filter.within(&[(from, u64::MAX)]);
        Ok(())
    }

    /// Prints a warning for each damaged or missing part that was not yet reported.
    pub fn warn_of_damage(&self) {
        for text in self.captured.integrity().missing() {
            if self.reported.borrow_mut().insert(text.clone()) {
                terminal::warn(&format!("{}: {text}", self.name));
            }
        }
    }

    /// Returns the exit state of a command that showed this capture.
    pub fn ending(&self) -> ExitState {
        let is_whole = self.captured.integrity().is_whole();
        if is_whole || self.accept_damage { ExitState::Done } else { ExitState::Incomplete }
    }

    /// Runs a query on the capture and prints warnings about damaged parts.
    pub fn ask<T>(
        &self,
        question: impl FnOnce(&Captured, &PassOptions) -> Result<T, TraceError>,
    ) -> anyhow::Result<T> {
        let answer = question(&self.captured, &self.pass);
        self.warn_of_damage();
        answer.with_context(|| self.name.clone())
    }

    /// Runs a query like [`Self::ask`]. Also warns about I/Os that could not be sorted.
    ///
    /// # Errors
    /// Returns an error if the filter selects a time outside the capture.
    pub fn answer<T>(
        &self,
        question: impl FnOnce(&Captured, &PassOptions) -> Result<PassResult<T>, TraceError>,
    ) -> anyhow::Result<PassResult<T>> {
        let answer = self.ask(question)?;
        if answer.account.kept == 0 && self.pass.filter != Filter::default() {
            self.ask(|captured, pass| captured.span_of(pass, &answer.account))?;
        }
        if answer.account.order.late > 0 {
            terminal::warn(&format!(
                "{}: {} I/Os could not be sorted into issue order",
                self.name, answer.account.order.late
            ));
        }
        Ok(answer)
    }

    /// Folds the I/Os that count.
    pub fn fold<F: Fold>(&self, mut found: F) -> anyhow::Result<PassResult<F>> {
        self.answer(|captured, pass| {
            let account = captured.run(pass, &mut [&mut found])?;
            Ok(PassResult { found, account })
        })
    }

    /// Returns the options of a study of this capture.
    pub fn options(&self, shares: &SharesArguments, step: Option<Nanos>) -> StudyOptions {
        StudyOptions {
            pass: self.pass.clone(),
            by: shares.of,
            threshold: shares.threshold,
            step_ns: step.map(|step| step.0),
            ..StudyOptions::default()
        }
    }

    /// Prints what was found, as JSON or as text, and returns how the command ends.
    pub fn show<T: Serialize + JsonSchema>(
        &self,
        json: bool,
        account: PassAccount,
        content: T,
        text: impl FnOnce(&T) -> String,
    ) -> anyhow::Result<ExitState> {
        if json {
            return self.print(account, content);
        }
        terminal::print(&text(&content))?;
        Ok(self.ending())
    }

    /// Prints what was found of each block device, as JSON or as a text for each, and returns how
    /// the command ends.
    pub fn show_devices<T: Serialize + JsonSchema>(
        &self,
        json: bool,
        account: PassAccount,
        content: T,
        texts: impl FnOnce(&T) -> Vec<String>,
    ) -> anyhow::Result<ExitState> {
        if json {
            return self.print(account, content);
        }
        let texts = texts(&content);
        if texts.is_empty() {
            terminal::warn(&format!("{}: no reads or writes of a block device", self.name));
        }
        texts.iter().try_for_each(|text| terminal::print(text))?;
        Ok(self.ending())
    }

    /// Prints an answer as JSON, and returns how the command ends.
    pub fn print<T: Serialize + JsonSchema>(
        &self,
        account: PassAccount,
        content: T,
    ) -> anyhow::Result<ExitState> {
        terminal::print_json(&CaptureDocument {
            file: &self.name,
            conditions: self.conditions(),
            filter: self.pass.filter.describe(self.conditions()),
            window: self.pass.window,
            account,
            integrity: self.captured.integrity(),
            content,
        })?;
        Ok(self.ending())
    }
}

/// Opens the files of one capture; returns its name and the capture.
pub fn capture(files: &[PathBuf]) -> anyhow::Result<(String, Captured)> {
    let name = named(files.first().map_or(Path::new(""), PathBuf::as_path), files.len());
    let captured = joined(&name, open_each(files)?)?;
    Ok((name, captured))
}

fn open_each(files: &[PathBuf]) -> anyhow::Result<Vec<Captured>> {
    files.iter().map(|path| open(path)).collect()
}

/// Joins files into one capture and prints warnings about missing parts.
fn joined(name: &str, parts: Vec<Captured>) -> anyhow::Result<Captured> {
    let captured = Captured::several(parts).with_context(|| name.to_owned())?;
    let captured = captured.with_thread_pool(thread_pool::of_all_processors());
    warn_if_several(name, &captured);
    warn_of_lost_events(name, captured.recovery(), captured.conditions());
    warn_if_unchecked(name, &captured.integrity());
    Ok(captured)
}

/// Returns the name of a capture of several files: `a.parquet and 2 more`.
pub fn named(path: &Path, files: usize) -> String {
    match files.saturating_sub(1) {
        0 => path.display().to_string(),
        more => format!("{} and {more} more", path.display()),
    }
}

fn warn_if_several(name: &str, captured: &Captured) {
    if let Some(captures) = captured.captures().filter(|captures| *captures > 1) {
        let hosts = captured.observed_by_host(&Filter::default()).len();
        let hosts = counted(hosts as u64, "host");
        terminal::warn(&format!("{name}: {captures} captures of {hosts}, read together"));
    }
}

/// Opens one file of a capture.
pub fn open(path: &Path) -> anyhow::Result<Captured> {
    let file = open_regular(path)?;
    Captured::open(file).map_err(anyhow::Error::from).or_else(|error| {
        // Only a file of another kind gets the advice; a damaged capture gets its own error.
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

/// Warns about events that the capture lost.
fn warn_of_lost_events(name: &str, recovery: Option<&Recovery>, conditions: &CaptureConditions) {
    if let Some(recovery) = recovery {
        terminal::warn(&format!(
            "{name}: the capture was killed; read up to the last complete row group, {} bytes after \
             it are lost",
            recovery.bytes_ignored
        ));
    }
    if let Some(part) = conditions.in_part.filter(|part| *part != IncompleteIos::default()) {
        terminal::warn(&format!("{name}: incomplete I/Os: {part}"));
    }
    if conditions.lost > 0 {
        terminal::warn(&format!(
            "{name}: the capture lost {} events; counts are too low",
            conditions.lost
        ));
    }
}

/// Warns if the files have no checksums.
fn warn_if_unchecked(name: &str, integrity: &Integrity) {
    if !integrity.checksums {
        terminal::warn(&format!("{name}: no checksums; damage cannot be detected"));
    }
}

/// Layers that count if a trace has two and the user names none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LayerDefault {
    /// The block layer, so that no I/O counts twice.
    One,
    /// Both, shown separately.
    Each,
}

/// Returns the filter of the arguments for a capture from the first to the second time of `span_ns`.
/// Warns if the layer is a default.
pub fn filter_of(
    name: &str,
    arguments: &FilterArguments,
    layers: LayerDefault,
    conditions: &CaptureConditions,
    span_ns: (u64, u64),
) -> anyhow::Result<Filter> {
    let resolver = MomentResolver::new(conditions, arguments.time_zone.as_ref(), span_ns);
    let mut filter = filter(arguments, conditions, resolver).with_context(|| name.to_owned())?;
    if layers == LayerDefault::One && conditions.layers.len() > 1 && arguments.layer.is_none() {
        filter.layer = Some(Layer::Block);
        terminal::warn(&format!(
            "{name}: the trace has two layers; only the block layer is counted (others: --layer \
             filesystem, --layer both)"
        ));
    }
    Ok(filter)
}

/// Extends the filter's spans to whole steps, the smallest parts of a file of sums, and warns if
/// they change. A span without a step is refused later.
fn extend_to_whole_steps(name: &str, captured: &Captured, filter: Filter) -> Filter {
    let Some(grid) = captured.step_grid() else { return filter };
    let observed = captured.observed(&Filter::default());
    let whole = |span: &(u64, u64)| {
        let (from, to) = observed.whole_steps(*span, grid);
        // A span that begins or ends outside the observed time cuts no step there.
        let from = if span.0 <= captured.begin_ns() { span.0 } else { from };
        let to = if span.1 >= captured.end_ns() { span.1 } else { to };
        if from < to { (from, to) } else { *span }
    };
    let spans_ns: Vec<(u64, u64)> = filter.spans_ns.iter().map(whole).collect();
    if spans_ns == filter.spans_ns {
        return filter;
    }
    let times = Filter { spans_ns: spans_ns.clone(), ..Filter::default() };
    terminal::warn(&format!(
        "{name}: only sums of steps of {} were kept, so whole steps are selected: {}",
        Nanos(grid.step_ns),
        times.describe(captured.conditions()).unwrap_or_default()
    ));
    Filter { spans_ns, ..filter }
}

fn filter(
    arguments: &FilterArguments,
    conditions: &CaptureConditions,
    resolver: MomentResolver<'_>,
) -> anyhow::Result<Filter> {
    let mut filter = Filter {
        process: arguments.pid.as_deref().map(ProcessSelector::parse),
        thread: arguments.tid,
        ops: arguments.op.clone(),
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
        filter = filter.with_event(event, conditions)?;
    }
    if arguments.from.is_some() || arguments.to.is_some() {
        filter = filter.within(&resolver.spans(arguments.from.as_ref(), arguments.to.as_ref())?);
    }
    for device in &arguments.device {
        filter = filter.with_device(device, conditions)?;
    }
    for cgroup in &arguments.cgroup {
        filter = filter.with_cgroup(cgroup, conditions)?;
    }
    for file in &arguments.file {
        filter = filter.with_file(file, conditions)?;
    }
    for host in &arguments.host {
        filter = filter.with_host(host, conditions)?;
    }
    if let Some(tags) = &arguments.tags {
        filter = filter
            .with_known_hosts(&tags_file::hosts_with_role(tags, &arguments.role)?, conditions)?;
    }
    Ok(filter)
}

/// Returns the schema of a JSON document of a capture with this content.
pub fn capture_schema<T: Serialize + JsonSchema>() -> Schema {
    terminal::output_schema::<CaptureDocument<'_, T>>()
}

/// A JSON document of a capture.
#[derive(Serialize, schemars::JsonSchema)]
struct CaptureDocument<'a, T: Serialize> {
    file: &'a str,
    conditions: &'a CaptureConditions,
    /// Filter in words; `None` if all I/Os count.
    filter: Option<String>,
    window: usize,
    account: PassAccount,
    integrity: Integrity,
    #[serde(flatten)]
    content: T,
}
