//! `trace recover`: writes a valid file from the intact parts of a damaged or unfinished capture.

use crate::cli::trace::RecoverArguments;
use crate::exit::ExitState;
use crate::filtered_capture::named;
use crate::output_files::OutputRule;
use crate::terminal;
use anyhow::Context;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use steadfast_analysis::Captured;
use steadfast_domain::CaptureConditions;
use steadfast_host::open_regular;

/// Copies the intact parts of a capture's files.
pub fn run(arguments: &RecoverArguments) -> anyhow::Result<ExitState> {
    let output = OutputRule::from_arguments(&arguments.writing)?.create(&arguments.output)?;
    let (from, to) = (from(arguments), arguments.output.display());
    let captured = open(arguments, &from)?;
    let sink = BufWriter::new(output.handle()?);
    let copied = captured.copy(sink, || with_remarks(&captured));
    let (mut sink, copied_ios) =
        copied.with_context(|| format!("{from} cannot be copied to {to}"))?;
    sink.flush().with_context(|| format!("{to} cannot be written"))?;
    output.persist()?;
    terminal::print(&format!("{to}: {copied_ios}"))?;
    Ok(ExitState::Done)
}

/// Returns a name for all files together.
fn from(arguments: &RecoverArguments) -> String {
    named(arguments.files.first().map_or(Path::new(""), |path| path), arguments.files.len())
}

fn open(arguments: &RecoverArguments, name: &str) -> anyhow::Result<Captured> {
    let open = |path: &PathBuf| {
        Captured::recover(open_regular(path)?).with_context(|| path.display().to_string())
    };
    let parts = arguments.files.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    Captured::together(parts).with_context(|| name.to_owned())
}

/// Returns the conditions with remarks on what is lost, and prints these on standard error.
fn with_remarks(captured: &Captured) -> CaptureConditions {
    let no_end = captured.recovery().map(|recovery| {
        format!(
            "The end of the file was unreadable (the capture was killed, or the file is damaged): \
             {} bytes after its last complete row group are lost.",
            recovery.bytes_ignored
        )
    });
    let lost: Vec<String> = no_end.into_iter().chain(captured.integrity().missing()).collect();
    lost.iter().for_each(|text| terminal::warn(text));
    let mut conditions = captured.conditions().clone();
    conditions.remarks.extend(lost);
    conditions
}
