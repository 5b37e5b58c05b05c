//! Imports the traces of other tools as I/O events.
//!
//! An importer reads one or several inputs and delivers each I/O as soon as it is complete, in
//! bounded memory. Information that an input lacks (a response time, a process) stays unknown.
//! Input that cannot be parsed is an error with its position; everything before it has been
//! delivered.

mod biosnoop;
mod blkparse;
mod blktrace;
mod columns;
mod devices;
mod fio;
mod input;
mod lines;
mod pairs;

pub use columns::{ColumnPlan, ColumnUnit, ImportColumn, TimeEpoch};
pub use input::{EventSink, ImportError, ImportInput, ImportResult};

/// A trace format of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceFormat {
    /// blktrace's binary records: one file per processor, or merged.
    Blktrace,
    /// blkparse's default text.
    Blkparse,
    /// Output of bcc's biosnoop.
    Biosnoop,
    /// fio's iolog, version 2 or 3.
    FioIolog,
    /// fio's latency log of single I/Os, written with `log_offset=1`.
    FioLatencyLog,
    /// Text in columns.
    Columns(ColumnPlan),
}

/// Reads all inputs and delivers every I/O to `sink`.
///
/// # Errors
/// Returns [`ImportError::Malformed`] at the first input that violates the format;
/// [`ImportError::Unsuitable`] if there is no input, too many, or no I/O in it;
/// [`ImportError::Io`] if the medium fails; and [`ImportError::Sink`] if the sink fails.
pub fn import(
    format: &TraceFormat,
    inputs: Vec<ImportInput<'_>>,
    sink: &mut EventSink<'_>,
) -> Result<ImportResult, ImportError> {
    if inputs.is_empty() {
        return Err(ImportError::Unsuitable("no input was given; name a file".into()));
    }
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let imported = match format {
        TraceFormat::Blktrace => blktrace::import(inputs, sink),
        TraceFormat::Blkparse => one(inputs, |input| blkparse::import(input, sink)),
        TraceFormat::Biosnoop => one(inputs, |input| biosnoop::import(input, sink)),
        TraceFormat::FioIolog => one(inputs, |input| fio::import_iolog(input, sink)),
        TraceFormat::FioLatencyLog => one(inputs, |input| fio::import_latency_log(input, sink)),
        TraceFormat::Columns(plan) => one(inputs, |input| columns::import(plan, input, sink)),
    }?;
    if imported.events == 0 {
        return Err(ImportError::Unsuitable(format!(
            "{}: no I/O among its {} records; check --input-format or --csv",
            names.join(", "),
            imported.records
        )));
    }
    Ok(imported)
}

/// Returns the format that the beginning of an input identifies; `None` if it is ambiguous.
pub fn recognise(beginning: &[u8]) -> Option<TraceFormat> {
    if blktrace::is_beginning(beginning) {
        return Some(TraceFormat::Blktrace);
    }
    let text = String::from_utf8_lossy(beginning);
    let told = |line: &&str| {
        line.trim().is_empty() || line.starts_with("Input file ") || biosnoop::is_greeting(line)
    };
    let first = text.lines().find(|line| !told(line))?;
    if first.starts_with("fio version") && first.contains("iolog") {
        return Some(TraceFormat::FioIolog);
    }
    if biosnoop::is_header(first) {
        return Some(TraceFormat::Biosnoop);
    }
    blkparse::is_line(first).then_some(TraceFormat::Blkparse)
}

fn one(
    mut inputs: Vec<ImportInput<'_>>,
    import: impl FnOnce(ImportInput<'_>) -> Result<ImportResult, ImportError>,
) -> Result<ImportResult, ImportError> {
    match (inputs.pop(), inputs.is_empty()) {
        (Some(input), true) => import(input),
        _ => Err(ImportError::Unsuitable(
            "this format takes one file; join the files first, or import each separately".into(),
        )),
    }
}

#[cfg(test)]
mod tests;
