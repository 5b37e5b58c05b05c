//! Sources of `--workload`: a trace of single I/Os, a step file, a workload file or a "Replay
//! representation", recognized by content, or the name of a reference workload.

use super::reference;
use crate::cli::trace::FilterArguments;
use crate::exit::misuse;
use crate::filtered_capture::{FilteredCapture, LayerDefault, filter_of, named};
use crate::terminal;
use anyhow::{Context, bail};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use steadfast_analysis::pass::PassOptions;
use steadfast_analysis::questions::cumulative::{CumulativeWorkload, Threshold, data_pattern_seen};
use steadfast_analysis::{Captured, ShareMeasure};
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{CaptureConditions, Demand, Nanos};
use steadfast_host::{open_regular, read_file};
use steadfast_workload::replay::StepChoice;
use steadfast_workload::replay_representation::{
    HEADER, ReplayRepresentation, RepresentationWarning,
};
use steadfast_workload::workload_file::FORMAT;
use steadfast_workload::{WorkloadDetails, WorkloadFile};

/// First bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";

/// An opened source.
pub enum WorkloadSource {
    /// A capture of single I/Os or of step sums.
    Capture(Box<Captured>),
    /// A workload file.
    Workload(Box<WorkloadFile>),
    /// A "Replay representation".
    Representation(Box<ReplayRepresentation>),
}

/// An opened source with the selection of its I/Os.
pub struct SelectedSource {
    pub source: WorkloadSource,
    /// Names of the files, or of a reference workload.
    pub name: String,
    /// Title in reports.
    pub title: String,
    pub conditions: CaptureConditions,
    pub pass: PassOptions,
    /// Contradictions in the source, one sentence each.
    pub warnings: Vec<String>,
}

impl SelectedSource {
    /// Opens the named files or reference workload.
    pub fn open(files: &[PathBuf], filter: &FilterArguments) -> anyhow::Result<Self> {
        let first = files.first().map_or(Path::new(""), PathBuf::as_path);
        if let (Some(text), [_]) = (reference_named(first), files) {
            let file = WorkloadFile::read(text).with_context(|| first.display().to_string())?;
            return Self::of_workload(first, file, filter);
        }
        if let (Some(_), [_, second, ..]) = (reference_named(first), files) {
            return Err(misuse(format!(
                "{}: the reference workload {} is applied alone; name one source",
                second.display(),
                first.display()
            )));
        }
        let beginning = beginning(first)?;
        if beginning.starts_with(PARQUET) {
            return Self::of_capture(first, files, filter);
        }
        if let [_, second, ..] = files {
            bail!(
                "{}: only the files of one rotated capture are read as one, and {} is none",
                second.display(),
                first.display()
            );
        }
        let text = String::from_utf8_lossy(&beginning);
        if text.contains(HEADER) {
            return Self::of_representation(first, filter);
        }
        if !text.contains("format") && !text.contains("[[stream]]") {
            bail!(
                "{} is neither a trace, a step file, a workload file (format = \"{FORMAT}\") nor a \
                 Replay representation; make a trace of another tool's file with: steadfast trace \
                 import",
                first.display()
            );
        }
        let file = read_workload(first)?;
        Self::of_workload(first, file, filter)
    }

    /// Opens the files of one capture.
    fn of_capture(
        first: &Path,
        files: &[PathBuf],
        filter: &FilterArguments,
    ) -> anyhow::Result<Self> {
        let FilteredCapture { captured, pass, name, .. } = FilteredCapture::files(files, filter)?;
        let (conditions, title) = (captured.conditions().clone(), title(first, &name));
        let source = WorkloadSource::Capture(Box::new(captured));
        Ok(SelectedSource { source, name, title, conditions, pass, warnings: Vec::new() })
    }

    fn of_workload(
        path: &Path,
        file: WorkloadFile,
        filter: &FilterArguments,
    ) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        file.doubts.iter().for_each(|doubt| terminal::warn(&format!("{name}: {doubt}")));
        let title = Some(file.name.clone()).filter(|title| !title.is_empty());
        let mut opened =
            Self::with_filter(WorkloadSource::Workload(Box::new(file)), name, path, filter)?;
        opened.title = title.unwrap_or(opened.title);
        Ok(opened)
    }

    fn of_representation(path: &Path, filter: &FilterArguments) -> anyhow::Result<Self> {
        let name = path.display().to_string();
        let (text, warnings) = representation(open(path)?, path)?;
        let source = WorkloadSource::Representation(Box::new(text));
        let sentence = |warning: RepresentationWarning| {
            format!("Line {} of the export: {}.", warning.line, warning.text)
        };
        let warnings = warnings.into_iter().map(sentence).collect();
        Ok(SelectedSource { warnings, ..Self::with_filter(source, name, path, filter)? })
    }

    fn with_filter(
        source: WorkloadSource,
        name: String,
        path: &Path,
        arguments: &FilterArguments,
    ) -> anyhow::Result<Self> {
        let conditions = match &source {
            WorkloadSource::Representation(text) => text.conditions(),
            WorkloadSource::Capture(_) | WorkloadSource::Workload(_) => {
                CaptureConditions::default()
            }
        };
        let span_ns = (0, conditions.lasted_ns);
        let filter = filter_of(&name, arguments, LayerDefault::One, &conditions, span_ns)?;
        let pass = PassOptions { filter, window: arguments.window, ..PassOptions::default() };
        let title = title(path, &name);
        Ok(SelectedSource { source, name, title, conditions, pass, warnings: Vec::new() })
    }

    /// Prints a warning for each damaged or missing part.
    pub fn warn_of_damage(&self) {
        let missing = match &self.source {
            WorkloadSource::Capture(captured) => captured.integrity().missing(),
            _ => Vec::new(),
        };
        missing.iter().for_each(|text| terminal::warn(&format!("{}: {text}", self.name)));
    }

    /// Returns the threshold of streams by default: none for a workload file, since one was applied
    /// when it was made.
    pub(super) fn default_threshold(&self) -> Threshold {
        match &self.source {
            WorkloadSource::Workload(_) => Threshold(0),
            WorkloadSource::Capture(_) | WorkloadSource::Representation(_) => Threshold::DEFAULT,
        }
    }

    pub(super) fn step_choice(
        &self,
        by: ShareMeasure,
        threshold: Threshold,
        step: Option<Nanos>,
    ) -> StepChoice {
        StepChoice { pass: self.pass.clone(), by, threshold, step_ns: step.map(|step| step.0) }
    }

    /// Returns threads x outstanding I/Os of the whole workload; `None` if unknown.
    pub(super) fn demand(&self, workload: &CumulativeWorkload) -> Option<Demand> {
        match &self.source {
            WorkloadSource::Workload(file) => file.demand.or_else(|| workload.demand_seen()),
            WorkloadSource::Representation(text) => text.demand_seen(),
            WorkloadSource::Capture(_) => workload.demand_seen(),
        }
    }

    /// Returns the content of written blocks.
    pub(super) fn data_pattern(&self) -> DataPattern {
        match &self.source {
            WorkloadSource::Workload(file) => file.data_pattern.clone(),
            _ => data_pattern_seen(&self.conditions),
        }
    }

    /// Returns the zones and arrivals of the workload's streams: those that a workload file
    /// stores, or, of a capture, those that `workload derive` would store.
    pub(super) fn details(&self, workload: &CumulativeWorkload) -> anyhow::Result<WorkloadDetails> {
        match &self.source {
            WorkloadSource::Capture(captured) => {
                let details = WorkloadDetails::read(captured, &self.pass, workload);
                details.with_context(|| self.name.clone())
            }
            WorkloadSource::Workload(file) => Ok(WorkloadDetails {
                placement: file.placement.clone(),
                arrivals: file.arrivals.clone(),
                remarks: Vec::new(),
            }),
            WorkloadSource::Representation(_) => Ok(WorkloadDetails::default()),
        }
    }
}

/// Maximum size of a workload file in bytes. The parser needs up to 100 bytes of memory per byte.
pub const WORKLOAD_MAX: u64 = 4 << 20;

/// Maximum number of dots in a workload file. They occur only in decimals and names; the parser
/// allocates about 1,000 bytes for each part of a dotted key.
const DOTS_MAX: usize = 1 << 18;

/// Maximum size of a Replay representation in bytes; a capture step has about 500.
const REPRESENTATION_MAX: u64 = 16 << 20;

/// Maximum number of steps of a Replay representation; 24 hours in 5 s steps are 17,280.
const STEPS_MAX: usize = 20_000;

/// Maximum number of I/O streams per step; each needs 60 kB during the replay.
const STREAMS_MAX: usize = 4096;

/// Reads a workload file, a reference workload of that name, or the streams of a Replay
/// representation at the usual threshold.
pub fn streams_of(path: &Path) -> anyhow::Result<WorkloadFile> {
    let beginning = if reference_named(path).is_some() { Vec::new() } else { beginning(path)? };
    if beginning.starts_with(PARQUET) {
        bail!(
            "{0} is a trace; derive its workload first: steadfast workload derive {0} -o \
             workload.toml",
            path.display()
        );
    }
    if !String::from_utf8_lossy(&beginning).contains(HEADER) {
        return read_workload(path);
    }
    let (text, _) = representation(open(path)?, path)?;
    Ok(WorkloadFile {
        name: title(path, &path.display().to_string()),
        workload: text.workload(ShareMeasure::Count, Threshold::DEFAULT),
        demand: text.demand_seen(),
        data_pattern: data_pattern_seen(&text.conditions()),
        ..WorkloadFile::default()
    })
}

/// Returns the text of a workload file, or of a reference workload of that name.
fn text_of(path: &Path) -> anyhow::Result<String> {
    if let Some(text) = reference_named(path) {
        return Ok(text.to_owned());
    }
    let bytes = read_file(&open(path)?, path, WORKLOAD_MAX)?;
    if bytes.iter().filter(|byte| **byte == b'.').count() > DOTS_MAX {
        bail!("{}: it has more than {DOTS_MAX} dots, which no workload file has", path.display());
    }
    String::from_utf8(bytes).with_context(|| format!("{} is no workload file", path.display()))
}

/// Reads a Replay representation. Prints and returns warnings about its contradictions.
pub fn representation(
    file: File,
    path: &Path,
) -> anyhow::Result<(ReplayRepresentation, Vec<RepresentationWarning>)> {
    let bytes = read_file(&file, path, REPRESENTATION_MAX)?;
    let (read, warnings) =
        ReplayRepresentation::read(&bytes[..]).with_context(|| path.display().to_string())?;
    let streams = read.steps.iter().map(|step| step.streams.len()).max().unwrap_or(0);
    if read.steps.len() > STEPS_MAX || streams > STREAMS_MAX {
        bail!(
            "{}: it has {} steps with up to {streams} I/O streams; at most {STEPS_MAX} steps with \
             {STREAMS_MAX} streams are played",
            path.display(),
            read.steps.len()
        );
    }
    for RepresentationWarning { line, text } in &warnings {
        terminal::warn(&format!("{}:{line}: {text}", path.display()));
    }
    Ok((read, warnings))
}

fn read_workload(path: &Path) -> anyhow::Result<WorkloadFile> {
    WorkloadFile::read(&text_of(path)?).with_context(|| path.display().to_string())
}

/// Returns the reference workload of that name, unless a file has the name.
fn reference_named(path: &Path) -> Option<&'static str> {
    let name = path.to_str().filter(|_| !path.exists())?;
    reference::find(name)
}

/// Returns one name for the files, with full paths; a reference workload keeps its name.
pub(super) fn full_name(files: &[PathBuf]) -> String {
    let first = files.first().map_or(Path::new(""), PathBuf::as_path);
    let full = first.canonicalize().unwrap_or_else(|_| first.to_owned());
    named(&full, files.len())
}

fn beginning(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    let read = open(path)?.take(4096).read_to_end(&mut beginning);
    read.with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(beginning)
}

fn open(path: &Path) -> anyhow::Result<File> {
    // Opening a pipe without a writer would block, and a pipe cannot be read twice.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(misuse(format!(
            "{} is not a regular file; save the workload to a file first",
            path.display()
        )));
    }
    match open_regular(path) {
        Err(error) if error.is_missing() => {
            Err(misuse(reference::missing(&path.display().to_string())))
        }
        opened => Ok(opened?),
    }
}

/// Returns the title of a source in reports.
fn title(path: &Path, name: &str) -> String {
    path.file_name().map_or_else(|| name.to_owned(), |n| n.display().to_string())
}
