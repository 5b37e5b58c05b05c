//! `trace recover`: a finished file of what a killed capture left or damage spared,
//! whether it holds every I/O or only capture steps.

use super::named;
use crate::cli::trace::RecoverArguments;
use crate::exit::Outcome;
use crate::terminal;
use crate::writing::Rule;
use anyhow::Context;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use steadfast_domain::CaptureConditions;
use steadfast_host::NewFile;
use steadfast_trace::file::Recovery;
use steadfast_trace::{Batch, Fields, StepFile, StepWriter, Trace, Writer};

/// Events copied at once.
const STRIDE: usize = 1 << 16;

/// Copies what is intact of a capture's files.
pub fn run(arguments: &RecoverArguments) -> anyhow::Result<Outcome> {
    let output = Rule::of(&arguments.writing)?.begin(&arguments.output)?;
    let told = match steps(arguments)? {
        Some(file) => copy_steps(&file, arguments, &output)?,
        None => copy_ios(arguments, &output)?,
    };
    output.place()?;
    terminal::print(&format!("{}: {told}", arguments.output.display()))?;
    Ok(Outcome::Done)
}

fn open(path: &Path) -> anyhow::Result<File> {
    File::open(path).with_context(|| format!("{} cannot be opened", path.display()))
}

/// What the files are called together.
fn from(arguments: &RecoverArguments) -> String {
    named(arguments.files.first().map_or(Path::new(""), |path| path), arguments.files.len())
}

/// The files where all of them hold capture steps alone. What is wrong with any
/// other is said when it is opened as a trace.
fn steps(arguments: &RecoverArguments) -> anyhow::Result<Option<StepFile<File>>> {
    let mut parts = Vec::new();
    for path in &arguments.files {
        match StepFile::recover(open(path)?) {
            Ok(Some(file)) => parts.push(file),
            _ => return Ok(None),
        }
    }
    StepFile::together(parts).map(Some).with_context(|| from(arguments))
}

fn ios(arguments: &RecoverArguments) -> anyhow::Result<Trace<File>> {
    let open =
        |path: &PathBuf| Trace::recover(open(path)?).with_context(|| path.display().to_string());
    let parts = arguments.files.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    Trace::together(parts).with_context(|| from(arguments))
}

fn copy_steps(
    file: &StepFile<File>,
    arguments: &RecoverArguments,
    output: &NewFile,
) -> anyhow::Result<String> {
    let (from, to) = (from(arguments), arguments.output.display());
    let missing = file.integrity().missing();
    let conditions = with_remarks(file.conditions(), file.recovery(), &missing);
    let mut writer = StepWriter::new(sink(output)?, &conditions)?;
    let ios = writer.copy(file).with_context(|| format!("{from} cannot be copied to {to}"))?;
    let rows = writer.rows();
    close(writer.finish(&conditions), arguments)?;
    Ok(format!("{ios} I/Os in {rows} rows of streams and steps"))
}

fn copy_ios(arguments: &RecoverArguments, output: &NewFile) -> anyhow::Result<String> {
    let (from, to) = (from(arguments), arguments.output.display());
    let trace = ios(arguments)?;
    let mut writer = Writer::new(sink(output)?, trace.conditions())?;
    let mut batches = trace.batches(Fields::ALL);
    let mut batch = Batch::default();
    while batches.read(STRIDE, &mut batch).with_context(|| from.clone())? > 0 {
        let events: Vec<_> = (0..batch.len()).map(|row| batch.event(row)).collect();
        writer.write(&events).with_context(|| to.to_string())?;
        batch.clear();
    }
    let rows = writer.rows();
    // Damage is known only now that all was read.
    let missing = trace.integrity().missing();
    let conditions = with_remarks(trace.conditions(), trace.recovery(), &missing);
    close(writer.finish(conditions), arguments)?;
    Ok(format!("{rows} I/Os"))
}

/// The conditions, saying what is lost; that is said on standard error too.
fn with_remarks(
    conditions: &CaptureConditions,
    recovery: Option<&Recovery>,
    missing: &[String],
) -> CaptureConditions {
    let mut conditions = conditions.clone();
    let no_end = recovery.map(|recovery| {
        format!(
            "The file had no readable end (its capture was killed, or it is damaged): {} bytes \
             after its last complete row group are lost.",
            recovery.bytes_ignored
        )
    });
    let lost: Vec<String> = no_end.into_iter().chain(missing.iter().cloned()).collect();
    lost.iter().for_each(|text| terminal::complain(text));
    conditions.remarks.extend(lost);
    conditions
}

fn sink(output: &NewFile) -> anyhow::Result<BufWriter<File>> {
    Ok(BufWriter::new(output.handle()?))
}

fn close(
    finished: Result<BufWriter<File>, steadfast_trace::TraceError>,
    arguments: &RecoverArguments,
) -> anyhow::Result<()> {
    let to = arguments.output.display();
    let mut sink = finished.with_context(|| to.to_string())?;
    sink.flush().with_context(|| format!("{to} cannot be written"))
}
