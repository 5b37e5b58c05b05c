//! Imports the traces of other tools as I/O events.
//!
//! An importer reads one or several inputs and delivers each I/O as soon as it is complete, in
//! bounded memory. Information that an input lacks (a response time, a process) stays unknown.
//! Input that cannot be parsed is an error with its position; everything before it has been
//! delivered.

mod biosnoop;
mod blkparse;
mod blktrace;
mod block_events;
mod block_trace;
mod checks;
mod columns;
mod devices;
mod fio;
mod input;
mod kv_cache;
mod lcs;
mod line_ends;
mod lines;
mod mapping;
mod output;
mod plan;
mod records;
mod rows;
mod strace;
mod table;
mod text_formats;

pub use input::{EventSink, ImportError, ImportInput, ImportResult};
pub use mapping::ColumnMapping;
pub use output::write_trace;
pub use plan::{ColumnPlan, ColumnUnit, ImportColumn, OperationSource, TimeEpoch};
pub use table::import_parquet;

use input::{FittingFormat, ImportOutcome};
use line_ends::TextEnds;
use lines::LineReader;
use rows::LineRows;

/// A trace format of another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceFormat {
    /// blktrace's binary records, version 7 or 8: one file per processor, or merged.
    Blktrace,
    /// blkparse's default text.
    Blkparse,
    /// Output of bcc's biosnoop.
    Biosnoop,
    /// The block layer's trace events as text: `perf script`, `trace-cmd report`.
    BlockEvents,
    /// fio's iolog, version 2 or 3.
    FioIolog,
    /// fio's latency log of single I/Os, written with `log_offset=1`.
    FioLatencyLog,
    /// System calls of processes, from strace with times.
    Strace,
    /// Requests to language models, from which the I/Os of a KV cache are derived: the format's
    /// name, and the size of a block in bytes.
    KvCache(&'static str, u32),
    /// Binary records of a fixed size: the format's name, and the plan of the fields.
    Records(&'static str, ColumnPlan),
    /// Text in columns.
    Columns(ColumnPlan),
    /// Text in columns whose first line names them.
    Named(ColumnMapping),
}

/// A format with a parser of its own, which no plan of columns describes.
struct ToolFormat {
    name: &'static str,
    description: &'static str,
    format: TraceFormat,
}

const fn tool(name: &'static str, description: &'static str, format: TraceFormat) -> ToolFormat {
    ToolFormat { name, description, format }
}

static TOOL_FORMATS: [ToolFormat; 7] = [
    tool("blktrace", "a trace of blktrace", TraceFormat::Blktrace),
    tool("blkparse", "blkparse's output", TraceFormat::Blkparse),
    tool("biosnoop", "the output of biosnoop", TraceFormat::Biosnoop),
    tool("block-events", "block trace events as text", TraceFormat::BlockEvents),
    tool("fio-iolog", "an I/O log of fio", TraceFormat::FioIolog),
    tool("fio-latency-log", "a latency log of fio", TraceFormat::FioLatencyLog),
    tool("strace", "the output of strace", TraceFormat::Strace),
];

impl TraceFormat {
    /// Returns the format with this name; `None` if there is none.
    ///
    /// ```
    /// use steadfast_tracefile::import::TraceFormat;
    /// assert_eq!(TraceFormat::named("blktrace"), Some(TraceFormat::Blktrace));
    /// assert_eq!(TraceFormat::named("vscsi2").unwrap().name(), "vscsi2");
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        if let Some(tool) = TOOL_FORMATS.iter().find(|tool| tool.name == name) {
            return Some(tool.format.clone());
        }
        if let Some(format) = records::RECORDS.iter().find(|format| format.id == name) {
            return Some(TraceFormat::Records(format.id, format.plan()?));
        }
        if name == lcs::NAME {
            return Some(TraceFormat::Records(lcs::NAME, lcs::plan()?));
        }
        if let Some(format) = kv_cache::KV_FORMATS.iter().find(|format| format.id == name) {
            return Some(TraceFormat::KvCache(format.id, format.block_bytes()));
        }
        let format = text_formats::TEXT_FORMATS.iter().find(|format| format.id == name)?;
        Some(TraceFormat::Columns(format.plan()?))
    }

    /// Returns the names of all named formats.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let tools = TOOL_FORMATS.iter().map(|tool| tool.name);
        let records = records::RECORDS.iter().map(|format| format.id);
        let kv_cache = kv_cache::KV_FORMATS.iter().map(|format| format.id);
        let texts = text_formats::TEXT_FORMATS.iter().map(|format| format.id);
        tools.chain(records).chain([lcs::NAME]).chain(kv_cache).chain(texts)
    }

    /// Returns the name, which is stable across versions; `columns` for a table without a named
    /// format.
    pub fn name(&self) -> &'static str {
        match self {
            TraceFormat::Records(name, _) | TraceFormat::KvCache(name, _) => name,
            TraceFormat::Columns(plan) => text_formats::TEXT_FORMATS
                .iter()
                .find(|format| format.name == plan.name)
                .map_or("columns", |format| format.id),
            _ => self.tool_format().map_or("columns", |tool| tool.name),
        }
    }

    /// Returns the entry of the format in [`TOOL_FORMATS`].
    fn tool_format(&self) -> Option<&'static ToolFormat> {
        TOOL_FORMATS.iter().find(|tool| tool.format == *self)
    }

    /// Returns a description of a file of the format, with an article.
    pub fn description(&self) -> String {
        match self {
            TraceFormat::Records(name, _) | TraceFormat::KvCache(name, _) => {
                format!("a trace in the format {name}")
            }
            TraceFormat::Columns(plan) => format!("a trace in the format {}", plan.name),
            _ => self.tool_format().map_or("a trace", |tool| tool.description).to_owned(),
        }
    }
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
    let (inputs, ends) = match format {
        TraceFormat::Blktrace | TraceFormat::Records(..) => (inputs, TextEnds::default()),
        _ => line_ends::watch_ends(inputs),
    };
    let names: Vec<String> = inputs.iter().map(|input| input.name.clone()).collect();
    let mut imported = match format {
        TraceFormat::Blktrace => blktrace::import(inputs, sink),
        _ => import_file(format, only_input(inputs)?, sink),
    }?;
    if imported.events == 0 {
        return Err(ImportError::Unsuitable(format!(
            "{}: no I/O among its {} records; check --input-format, --csv or --columns",
            names.join(", "),
            imported.records
        )));
    }
    imported.conditions.remarks.extend(ends.remarks(&imported.cut));
    Ok(imported)
}

/// The format of an input, as far as its beginning shows it.
#[allow(clippy::large_enum_variant, reason = "one value per import")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecognizedFormat {
    /// The content proves the format and its units.
    Proven(TraceFormat),
    /// The content can be one of these formats, or a table of the same shape with other units.
    Possible(Vec<TraceFormat>),
    /// Different parts of the content prove these formats.
    Conflicting(Vec<TraceFormat>),
}

/// Returns the format that the beginning of an input proves; `None` if it proves none.
pub fn recognize(beginning: &[u8]) -> Option<TraceFormat> {
    match recognize_any(beginning)? {
        RecognizedFormat::Proven(format) => Some(format),
        RecognizedFormat::Possible(_) | RecognizedFormat::Conflicting(_) => None,
    }
}

/// Returns the format that the beginning of an input proves, or those that it can have; `None` if
/// it fits none. A magic number or a published header proves a format, whatever follows it.
pub fn recognize_any(beginning: &[u8]) -> Option<RecognizedFormat> {
    use RecognizedFormat::{Conflicting, Possible, Proven};
    if blktrace::is_beginning(beginning) {
        return Some(Proven(TraceFormat::Blktrace));
    }
    if lcs::is_beginning(beginning) {
        return Some(Proven(TraceFormat::named(lcs::NAME)?));
    }
    if let Some(FittingFormat { name, is_proven }) = records::fitting_format(beginning) {
        let format = TraceFormat::named(name)?;
        return Some(if is_proven { Proven(format) } else { Possible(vec![format]) });
    }
    let text = String::from_utf8_lossy(beginning);
    let text = text.trim_start_matches('\u{feff}');
    let is_preface = |line: &&str| {
        line.trim().is_empty()
            || line.starts_with("Input file ")
            || line.starts_with("strace: ")
            || biosnoop::is_greeting(line)
            || block_events::is_comment(line)
    };
    // Several lines decide, because the first may be damaged.
    let deciding: Vec<&str> = text.lines().filter(|line| !is_preface(line)).take(5).collect();
    let first = deciding.first()?;
    let header = text.lines().find(|line| !line.trim().is_empty())?;
    if let Some(format) = format_of_header(header).or_else(|| format_of_header(first)) {
        return Some(Proven(format));
    }
    let mut proven: Vec<TraceFormat> = Vec::new();
    for format in deciding.iter().filter_map(|line| format_of_line(line)) {
        if !proven.contains(&format) {
            proven.push(format);
        }
    }
    let mut possible = Vec::new();
    let requests = kv_cache::fitting_format(text);
    for fitting in requests.into_iter().chain(text_formats::fitting_formats(text)) {
        let format = TraceFormat::named(fitting.name)?;
        if fitting.is_proven { &mut proven } else { &mut possible }.push(format);
    }
    match proven.len() {
        0 => {}
        1 => return proven.pop().map(Proven),
        _ => return Some(Conflicting(proven)),
    }
    // fio's logs of bandwidth and IOPS look like its logs of latencies.
    if deciding.iter().any(|line| fio::is_latency_line(line)) {
        possible.push(TraceFormat::FioLatencyLog);
    }
    (!possible.is_empty()).then_some(Possible(possible))
}

/// Returns the format whose published files begin with a line.
fn format_of_header(line: &str) -> Option<TraceFormat> {
    if line.starts_with("fio version") && line.contains("iolog") {
        Some(TraceFormat::FioIolog)
    } else if biosnoop::is_header(line) {
        Some(TraceFormat::Biosnoop)
    } else if line.starts_with("# tracer: ") {
        Some(TraceFormat::BlockEvents)
    } else if line.starts_with("strace: ") {
        Some(TraceFormat::Strace)
    } else {
        TraceFormat::named(text_formats::with_header(line)?.id)
    }
}

/// Returns the format that one line identifies.
fn format_of_line(line: &str) -> Option<TraceFormat> {
    if biosnoop::is_header(line) {
        Some(TraceFormat::Biosnoop)
    } else if blkparse::is_line(line) {
        Some(TraceFormat::Blkparse)
    } else if block_events::is_line(line) {
        Some(TraceFormat::BlockEvents)
    } else if strace::is_line(line) {
        Some(TraceFormat::Strace)
    } else {
        None
    }
}

fn import_file(
    format: &TraceFormat,
    input: ImportInput<'_>,
    sink: &mut EventSink<'_>,
) -> ImportOutcome {
    match format {
        // `import` reads the files of blktrace together.
        TraceFormat::Blktrace => blktrace::import(vec![input], sink),
        TraceFormat::Blkparse => blkparse::import(input, sink),
        TraceFormat::Biosnoop => biosnoop::import(input, sink),
        TraceFormat::FioIolog => fio::import_iolog(input, sink),
        TraceFormat::FioLatencyLog => fio::import_latency_log(input, sink),
        TraceFormat::BlockEvents => block_events::import(input, sink),
        TraceFormat::Strace => strace::import(input, sink),
        TraceFormat::Records(lcs::NAME, plan) => lcs::import(plan, input, sink),
        TraceFormat::Records(name, plan) => {
            let format = records::RECORDS.iter().find(|format| format.id == *name);
            let format = format.ok_or_else(|| {
                ImportError::Unsuitable(format!("there is no format of records named {name}"))
            })?;
            records::import(format, plan, input, 0, sink)
        }
        TraceFormat::KvCache(name, block_bytes) => {
            let format = kv_cache::KV_FORMATS.iter().find(|format| format.id == *name);
            let format = format.ok_or_else(|| {
                ImportError::Unsuitable(format!("there is no format of requests named {name}"))
            })?;
            kv_cache::import(format, *block_bytes, input, sink)
        }
        TraceFormat::Columns(plan) => {
            columns::import_rows(plan, &mut LineRows::new(plan, LineReader::new(input)), sink)
        }
        TraceFormat::Named(mapping) => table::import_text(mapping, input, sink),
    }
}

fn only_input(mut inputs: Vec<ImportInput<'_>>) -> Result<ImportInput<'_>, ImportError> {
    match (inputs.pop(), inputs.is_empty()) {
        (Some(input), true) => Ok(input),
        _ => Err(ImportError::Unsuitable(
            "this format takes one file; join the files first, or import each separately".into(),
        )),
    }
}

#[cfg(test)]
mod adversary_tests;
#[cfg(test)]
mod formats_tests;
#[cfg(test)]
mod tests;
