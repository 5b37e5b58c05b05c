//! `trace report` and `trace recover`.

use super::studied::Wanted;
use crate::cli::trace::{RecoverArguments, ReportArguments};
use crate::commands::run::SOFTWARE;
use crate::exit::Outcome;
use crate::{output, terminal};
use anyhow::Context;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use steadfast_trace::{Batch, Fields, Trace, Writer, findings};

/// Events copied at once.
const STRIDE: usize = 1 << 16;

/// Writes the report.
pub fn run(arguments: &ReportArguments) -> anyhow::Result<Outcome> {
    let (by, threshold, step) = (arguments.by, arguments.threshold, arguments.step);
    let study = Wanted { by, threshold, step }.study(&arguments.selection)?;
    let findings = findings(&study, SOFTWARE);
    let directory = &arguments.output;
    fs::create_dir_all(directory)
        .with_context(|| format!("{} cannot be made", directory.display()))?;
    for file in output::write(directory, &findings, &arguments.format)? {
        terminal::print(&file.display().to_string())?;
    }
    Ok(Outcome::Done)
}

/// Copies what can be read of a trace without a footer.
pub fn recover(arguments: &RecoverArguments) -> anyhow::Result<Outcome> {
    let (from, to) = (arguments.file.display(), arguments.output.display());
    let file = File::open(&arguments.file).with_context(|| format!("{from} cannot be opened"))?;
    let trace = Trace::open(file).with_context(|| from.to_string())?;
    let mut conditions = trace.conditions().clone();
    if let Some(recovery) = trace.recovery() {
        conditions.remarks.push(format!(
            "The capture was killed; {} bytes after its last complete row group are lost.",
            recovery.bytes_ignored
        ));
    }
    let new =
        File::create_new(&arguments.output).with_context(|| format!("{to} cannot be made"))?;
    let mut writer = Writer::new(BufWriter::new(new), &conditions)?;
    let mut batches = trace.batches(Fields::ALL);
    let mut batch = Batch::default();
    while batches.read(STRIDE, &mut batch).with_context(|| from.to_string())? > 0 {
        let events: Vec<_> = (0..batch.len()).map(|row| batch.event(row)).collect();
        writer.write(&events).with_context(|| to.to_string())?;
        batch.clear();
    }
    let rows = writer.rows();
    let mut sink = writer.finish(conditions).with_context(|| to.to_string())?;
    sink.flush().with_context(|| format!("{to} cannot be written"))?;
    terminal::print(&format!("{to}: {rows} I/Os"))?;
    Ok(Outcome::Done)
}
