//! `steadfast trace import`: converts traces of other tools to trace files.

use crate::cli::trace::{ImportArguments, ImportFormat};
use crate::exit::{ExitState, misuse};
use crate::output_files::OutputRule;
use crate::recognize_file::recognize;
use crate::run_settings::SOFTWARE;
use crate::terminal;
use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::Serialize;
use std::fs::File;
use std::io::{BufReader, BufWriter, Chain, Cursor, Read, Write};
use std::path::Path;
use steadfast_analysis::clock::Moment;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::IncompleteIos;
use steadfast_exchange::identify::FileKind;
use steadfast_host::NewFile;
use steadfast_tracefile::TraceWriter;
use steadfast_tracefile::import::{self, ColumnPlan, ImportInput, ImportResult, TraceFormat};

/// Number of leading bytes used to recognize a format.
const BEGINNING: usize = 4096;

/// Reads all files and writes one trace.
pub fn run(arguments: &ImportArguments) -> anyhow::Result<ExitState> {
    let output = OutputRule::from_arguments(&arguments.writing)?.begin(&arguments.output)?;
    let mut inputs = Vec::new();
    let mut found = None;
    let mut first = Vec::new();
    for path in &arguments.files {
        let (input, beginning) = open(path)?;
        // Check even with --input-format: binary data would be parsed as lines.
        if let Some(found) = recognize(path, &beginning)
            && found.kind.is_some_and(|kind| kind.is_packed() || kind == FileKind::Parquet)
        {
            bail!("{}: this is {}; {}", path.display(), found.name, found.what_to_do());
        }
        found = found.or_else(|| import::recognise(&beginning));
        if inputs.is_empty() {
            first = beginning;
        }
        inputs.push(input);
    }
    let format = match (format(arguments)?, found) {
        (Some(format), _) | (None, Some(format)) => format,
        (None, None) => {
            let path = &arguments.files[0];
            if let Some(found) = recognize(path, &first) {
                bail!("{}: this is {}; {}", path.display(), found.name, found.what_to_do());
            }
            let formats = ImportFormat::value_variants().iter();
            let names = formats.filter_map(ValueEnum::to_possible_value);
            let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
            bail!(
                "{}: unknown format; give --input-format ({}), or the columns of a text file with --csv",
                path.display(),
                names.join(", ")
            )
        }
    };
    // An error leaves no partial output file.
    let imported = write(&output, &format, inputs, began(arguments)?)?;
    output.place()?;
    tell(arguments, &imported)?;
    Ok(ExitState::Done)
}

fn format(arguments: &ImportArguments) -> anyhow::Result<Option<TraceFormat>> {
    if let Some(columns) = &arguments.csv {
        let plan = ColumnPlan::parse(columns).map_err(|what| misuse(format!("--csv: {what}")))?;
        return Ok(Some(TraceFormat::Columns(plan)));
    }
    Ok(arguments.input_format.map(|format| match format {
        ImportFormat::Blktrace => TraceFormat::Blktrace,
        ImportFormat::Blkparse => TraceFormat::Blkparse,
        ImportFormat::Biosnoop => TraceFormat::Biosnoop,
        ImportFormat::FioIolog => TraceFormat::FioIolog,
        ImportFormat::FioLatencyLog => TraceFormat::FioLatencyLog,
        ImportFormat::MsrCambridge => TraceFormat::Columns(ColumnPlan::msr_cambridge()),
        ImportFormat::Alibaba => TraceFormat::Columns(ColumnPlan::alibaba()),
        ImportFormat::Tencent => TraceFormat::Columns(ColumnPlan::tencent()),
    }))
}

/// Returns the start of the trace in nanoseconds since 1970; `None` if not given.
fn began(arguments: &ImportArguments) -> anyhow::Result<Option<u64>> {
    match &arguments.began {
        None => Ok(None),
        Some(Moment::Date(unix_ns)) => Ok(Some(*unix_ns)),
        Some(other) => Err(misuse(format!(
            "--began takes a date and a time in UTC, such as '2026-11-21 06:16:17', not '{other}'"
        ))),
    }
}

type ImportStream = Chain<Cursor<Vec<u8>>, Box<dyn Read>>;

/// Opens a file and returns its first bytes; gzip and zstd are unpacked.
fn open(path: &Path) -> anyhow::Result<(ImportInput<'static>, Vec<u8>)> {
    let name = path.display().to_string();
    let file = File::open(path).with_context(|| format!("{name} cannot be opened"))?;
    let (start, rest) = peek(Box::new(file), 4).with_context(|| format!("reading {name}"))?;
    let plain: Box<dyn Read> = match start.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(rest))),
        [0x28, 0xb5, 0x2f, 0xfd] => Box::new(
            zstd::stream::read::Decoder::new(rest).with_context(|| format!("reading {name}"))?,
        ),
        _ => Box::new(rest),
    };
    let (beginning, content) = peek(plain, BEGINNING).with_context(|| format!("reading {name}"))?;
    Ok((ImportInput { name, content: Box::new(content) }, beginning))
}

/// Returns the first bytes and a reader that starts with them again.
fn peek(mut from: Box<dyn Read>, most: usize) -> std::io::Result<(Vec<u8>, ImportStream)> {
    let mut beginning = Vec::new();
    from.by_ref().take(most as u64).read_to_end(&mut beginning)?;
    Ok((beginning.clone(), Cursor::new(beginning).chain(from)))
}

fn write(
    output: &NewFile,
    format: &TraceFormat,
    inputs: Vec<ImportInput<'_>>,
    began_unix_ns: Option<u64>,
) -> anyhow::Result<ImportResult> {
    let cannot = || format!("{} cannot be written", output.path().display());
    let conditions =
        CaptureConditions { software: SOFTWARE.to_owned(), ..CaptureConditions::default() };
    let mut writer =
        TraceWriter::new(BufWriter::with_capacity(1 << 20, output.handle()?), &conditions)?;
    let mut events = Vec::with_capacity(1024);
    let mut imported = import::import(format, inputs, &mut |event| {
        events.push(*event);
        if events.len() == events.capacity() {
            writer.write(&events)?;
            events.clear();
        }
        Ok(())
    })?;
    writer.write(&events)?;
    imported.conditions.software = SOFTWARE.to_owned();
    if let Some(began_unix_ns) = began_unix_ns {
        imported.conditions.began_unix_ns = Some(began_unix_ns);
    }
    let mut sink = writer.finish(imported.conditions.clone()).with_context(cannot)?;
    sink.flush().with_context(cannot)?;
    Ok(imported)
}

/// The JSON output.
#[derive(Serialize, schemars::JsonSchema)]
struct ImportOutput<'a> {
    file: &'a Path,
    source: &'a str,
    records: u64,
    passed_over: u64,
    events: u64,
    unfinished: u64,
    in_part: Option<IncompleteIos>,
    remarks: &'a [String],
}

/// Returns the schema of the JSON output.
pub fn schema() -> schemars::Schema {
    terminal::schema_of::<ImportOutput<'_>>()
}

fn tell(arguments: &ImportArguments, imported: &ImportResult) -> anyhow::Result<()> {
    if arguments.json {
        let conditions = &imported.conditions;
        return terminal::print_json(&ImportOutput {
            file: &arguments.output,
            source: &conditions.source,
            records: imported.records,
            passed_over: imported.passed_over,
            events: imported.events,
            unfinished: conditions.unfinished,
            in_part: conditions.in_part,
            remarks: &conditions.remarks,
        });
    }
    let mut lines = vec![format!(
        "{}: {} I/Os from {} records ({}); {} records skipped; {}.",
        arguments.output.display(),
        imported.events,
        imported.records,
        imported.conditions.source,
        imported.passed_over,
        imported.conditions.in_part.unwrap_or_default()
    )];
    lines.extend(imported.conditions.remarks.iter().cloned());
    terminal::print(&lines.join("\n"))
}
