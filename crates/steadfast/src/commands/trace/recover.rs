//! `trace recover`: a finished file of what a killed capture left, whether it
//! holds every I/O or only capture steps.

use crate::cli::trace::RecoverArguments;
use crate::exit::Outcome;
use crate::terminal;
use anyhow::Context;
use std::fs::File;
use std::io::{BufWriter, Write};
use steadfast_domain::CaptureConditions;
use steadfast_trace::file::Recovery;
use steadfast_trace::{Batch, Fields, StepFile, StepWriter, Trace, Writer};

/// Events copied at once.
const STRIDE: usize = 1 << 16;

/// Copies what can be read of a file without a footer.
pub fn run(arguments: &RecoverArguments) -> anyhow::Result<Outcome> {
    let told = match StepFile::open(open(arguments)?) {
        Ok(Some(file)) => copy_steps(&file, arguments)?,
        // What is wrong with any other file is said when it is opened as a trace.
        _ => copy_ios(arguments)?,
    };
    terminal::print(&format!("{}: {told}", arguments.output.display()))?;
    Ok(Outcome::Done)
}

fn open(arguments: &RecoverArguments) -> anyhow::Result<File> {
    let path = &arguments.file;
    File::open(path).with_context(|| format!("{} cannot be opened", path.display()))
}

fn copy_steps(file: &StepFile<File>, arguments: &RecoverArguments) -> anyhow::Result<String> {
    let (from, to) = (arguments.file.display(), arguments.output.display());
    let conditions = with_remark(file.conditions(), file.recovery());
    let mut writer = StepWriter::new(create(arguments)?, &conditions)?;
    let ios = writer.copy(file).with_context(|| format!("{from} cannot be copied to {to}"))?;
    let rows = writer.rows();
    close(writer.finish(&conditions), arguments)?;
    Ok(format!("{ios} I/Os in {rows} rows of streams and steps"))
}

fn copy_ios(arguments: &RecoverArguments) -> anyhow::Result<String> {
    let (from, to) = (arguments.file.display(), arguments.output.display());
    let trace = Trace::open(open(arguments)?).with_context(|| from.to_string())?;
    let conditions = with_remark(trace.conditions(), trace.recovery());
    let mut writer = Writer::new(create(arguments)?, &conditions)?;
    let mut batches = trace.batches(Fields::ALL);
    let mut batch = Batch::default();
    while batches.read(STRIDE, &mut batch).with_context(|| from.to_string())? > 0 {
        let events: Vec<_> = (0..batch.len()).map(|row| batch.event(row)).collect();
        writer.write(&events).with_context(|| to.to_string())?;
        batch.clear();
    }
    let rows = writer.rows();
    close(writer.finish(conditions), arguments)?;
    Ok(format!("{rows} I/Os"))
}

/// The conditions, saying what is lost.
fn with_remark(conditions: &CaptureConditions, recovery: Option<&Recovery>) -> CaptureConditions {
    let mut conditions = conditions.clone();
    conditions.remarks.extend(recovery.map(|recovery| {
        format!(
            "The capture was killed; {} bytes after its last complete row group are lost.",
            recovery.bytes_ignored
        )
    }));
    conditions
}

fn create(arguments: &RecoverArguments) -> anyhow::Result<BufWriter<File>> {
    let path = &arguments.output;
    let new = File::create_new(path);
    new.map(BufWriter::new).with_context(|| format!("{} cannot be made", path.display()))
}

fn close(
    finished: Result<BufWriter<File>, steadfast_trace::TraceError>,
    arguments: &RecoverArguments,
) -> anyhow::Result<()> {
    let to = arguments.output.display();
    let mut sink = finished.with_context(|| to.to_string())?;
    sink.flush().with_context(|| format!("{to} cannot be written"))
}
