//! `steadfast trace import`: converts traces of other tools to trace files.

use crate::cli::trace::{ImportArguments, ImportFormat};
use crate::exit::{ExitState, misuse};
use crate::import_inputs::{BEGINNING, COMPRESSED, ImportInputs, UnprovenFile};
use crate::output_files::OutputRule;
use crate::recognize_file::recognize;
use crate::run_settings::SOFTWARE;
use crate::terminal;
use anyhow::{Context, bail};
use clap::ValueEnum;
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use steadfast_analysis::moment::Moment;
use steadfast_domain::io_event::IncompleteIos;
use steadfast_domain::text::{counted, shell_quoted};
use steadfast_host::{NewFile, open_regular, read_file};
use steadfast_tracefile::import::{
    self, ColumnMapping, ColumnPlan, EventSink, ImportError, ImportResult, RecognizedFormat,
    TraceFormat,
};

/// Largest mapping file in bytes.
const MAPPING_MAX: u64 = 1 << 20;

/// Reads all files and writes one trace.
pub fn run(arguments: &ImportArguments) -> anyhow::Result<ExitState> {
    let output = OutputRule::from_arguments(&arguments.writing)?.create(&arguments.output)?;
    let mapping = mapping(arguments)?;
    let ImportInputs { inputs, proven_format, unproven, first_beginning } =
        ImportInputs::open(&arguments.files, mapping.is_some(), &|path| {
            Ok(Box::new(File::open(path)?))
        })?;
    let began = began(arguments)?;
    if let Some(mapping) = &mapping
        && first_beginning.starts_with(b"PAR1")
    {
        let [path] = arguments.files.as_slice() else {
            return Err(misuse("--columns takes one Parquet file".to_owned()));
        };
        let mut file =
            File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
        let mut mark = [0; 4];
        if file.read_exact(&mut mark).is_err() || mark != *b"PAR1" {
            bail!("{}: it is a compressed Parquet file; unpack it first", path.display());
        }
        let name = path.display().to_string();
        let imported =
            write(&output, began, |sink| import::import_parquet(mapping, &name, file, sink))?;
        return finish(arguments, output, &imported);
    }
    let format = match (chosen_format(arguments, mapping)?, proven_format) {
        (Some(format), _) | (None, Some(format)) => format,
        (None, None) => {
            let path = &arguments.files[0];
            if let Some(file) = recognize(path, &first_beginning) {
                bail!("{}: this is {}; {}", path.display(), file.name, file.what_to_do());
            }
            if let Some(UnprovenFile { path, recognized }) = unproven {
                bail!("{}", ask_for_format(path, &arguments.output, &recognized));
            }
            if first_beginning.is_empty() {
                bail!("{}: it is empty; record it again", path.display());
            }
            let unpacked = if is_packed(path)? { ", unpacked" } else { "" };
            let formats = ImportFormat::value_variants().iter();
            let names = formats.filter_map(ValueEnum::to_possible_value);
            let names: Vec<String> = names.map(|value| value.get_name().to_owned()).collect();
            bail!(
                "{}{unpacked}: unknown format; give --input-format ({}), or the columns of a text file with \
                 --csv or --columns",
                path.display(),
                names.join(", ")
            )
        }
    };
    let format = with_kv_block(arguments, format)?;
    // An error leaves no partial output file.
    let imported = write(&output, began, |sink| import::import(&format, inputs, sink))?;
    finish(arguments, output, &imported)
}

/// Returns the message for a file whose content fits formats that it does not prove, or proves
/// several: their names and, for each, the command to type.
fn ask_for_format(path: &Path, output: &Path, recognized: &RecognizedFormat) -> String {
    let (formats, reason, otherwise) = match recognized {
        RecognizedFormat::Possible(formats) => (
            formats.as_slice(),
            "but nothing in it shows that its columns have these units",
            "if it is none of them, give columns and units with --csv or --columns",
        ),
        RecognizedFormat::Conflicting(formats) => (
            formats.as_slice(),
            "which differ",
            "an import stops at the first line of another format; split the file there",
        ),
        RecognizedFormat::Proven(format) => (std::slice::from_ref(format), "", ""),
    };
    let names: Vec<String> = formats.iter().map(TraceFormat::description).collect();
    let [file, output] = [path, output].map(|path| shell_quoted(&path.display().to_string()));
    let commands: Vec<String> = formats
        .iter()
        .map(|format| {
            format!("steadfast trace import {file} --input-format {} -o {output}", format.name())
        })
        .collect();
    let fit = if matches!(recognized, RecognizedFormat::Conflicting(_)) {
        format!("its lines are those of {}, {reason}", names.join(" and of "))
    } else {
        format!("its lines fit {}, {reason}", names.join(" or "))
    };
    let choice =
        if commands.len() == 1 { "if it is one," } else { "choose the one that it is and" };
    format!("{}: {fit}; {choice} type: {}; {otherwise}", path.display(), commands.join(" or "))
}

/// Returns whether a file is compressed, and its content therefore read unpacked.
fn is_packed(path: &Path) -> anyhow::Result<bool> {
    let mut beginning = Vec::new();
    open_regular(path)?.take(BEGINNING as u64).read_to_end(&mut beginning)?;
    let kind = recognize(path, &beginning).and_then(|found| found.kind);
    Ok(kind.is_some_and(|kind| COMPRESSED.contains(&kind)))
}

fn finish(
    arguments: &ImportArguments,
    output: NewFile,
    imported: &ImportResult,
) -> anyhow::Result<ExitState> {
    output.persist()?;
    print_result(arguments, imported)?;
    Ok(if imported.cut.is_empty() { ExitState::Done } else { ExitState::Incomplete })
}

/// Reads the mapping file of `--columns`.
fn mapping(arguments: &ImportArguments) -> anyhow::Result<Option<ColumnMapping>> {
    let Some(path) = &arguments.columns else { return Ok(None) };
    let name = path.display();
    let text = read_file(&open_regular(path)?, path, MAPPING_MAX)?;
    let text = String::from_utf8(text).with_context(|| format!("{name} is not a text file"))?;
    let mapping = ColumnMapping::parse(&text).map_err(|what| misuse(format!("{name}: {what}")))?;
    Ok(Some(mapping))
}

/// Returns the format that the options name; `None` to recognize it.
fn chosen_format(
    arguments: &ImportArguments,
    mapping: Option<ColumnMapping>,
) -> anyhow::Result<Option<TraceFormat>> {
    let own = arguments
        .input_format
        .and_then(|format| TraceFormat::named(format.to_possible_value()?.get_name()));
    let Some(columns) = &arguments.csv else { return Ok(mapping.map(TraceFormat::Named).or(own)) };
    let plan = ColumnPlan::parse(columns).map_err(|what| misuse(format!("--csv: {what}")))?;
    match own {
        None => Ok(Some(TraceFormat::Columns(plan))),
        // The fields of a binary record are columns, too.
        Some(TraceFormat::Records(name, _)) => Ok(Some(TraceFormat::Records(name, plan))),
        Some(_) => Err(misuse(
            "--csv gives the columns of any text, or with --input-format those of binary records \
             (vscsi1, vscsi2, oracle-general, lcs)"
                .to_owned(),
        )),
    }
}

/// Applies the size of a block of KV cache to the format.
fn with_kv_block(arguments: &ImportArguments, format: TraceFormat) -> anyhow::Result<TraceFormat> {
    let Some(bytes) = arguments.kv_block else { return Ok(format) };
    match (format, u32::try_from(bytes.0)) {
        (TraceFormat::KvCache(name, _), Ok(bytes)) => Ok(TraceFormat::KvCache(name, bytes)),
        (TraceFormat::KvCache(..), Err(_)) => {
            Err(misuse("--kv-block: an I/O is smaller than 4 GiB".to_owned()))
        }
        (other, _) => Err(misuse(format!(
            "--kv-block is for requests to language models, not for {}",
            other.description()
        ))),
    }
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

/// Writes the I/Os that `import` delivers.
fn write(
    output: &NewFile,
    began_unix_ns: Option<u64>,
    import: impl FnOnce(&mut EventSink<'_>) -> Result<ImportResult, ImportError>,
) -> anyhow::Result<ImportResult> {
    let mut is_began_refused = false;
    let written = import::write_trace(output.handle()?, SOFTWARE, began_unix_ns, |sink| {
        let imported = import(sink)?;
        // Checked here, because write_trace fills in what the input does not say.
        is_began_refused = began_unix_ns.is_some() && imported.conditions.began_unix_ns.is_some();
        if is_began_refused {
            return Err(ImportError::Unsuitable(
                "--began: the file says when it began; omit the option".to_owned(),
            ));
        }
        Ok(imported)
    });
    written.map_err(|error| match error {
        ImportError::Sink(error) => {
            anyhow::Error::new(error).context(output.path().display().to_string())
        }
        error if is_began_refused => misuse(error),
        error => error.into(),
    })
}

/// The JSON output.
#[derive(Serialize, schemars::JsonSchema)]
pub struct ImportOutput<'a> {
    file: &'a Path,
    source: &'a str,
    records: u64,
    passed_over: u64,
    events: u64,
    unfinished: u64,
    in_part: Option<IncompleteIos>,
    remarks: &'a [String],
}

fn print_result(arguments: &ImportArguments, imported: &ImportResult) -> anyhow::Result<()> {
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
        "{}: {} from {} ({}); {} skipped; {}.",
        arguments.output.display(),
        counted(imported.events, "I/O"),
        counted(imported.records, "record"),
        imported.conditions.source,
        counted(imported.passed_over, "record"),
        imported.conditions.in_part.unwrap_or_default()
    )];
    lines.extend(imported.conditions.remarks.iter().cloned());
    terminal::print(&lines.join("\n"))
}
