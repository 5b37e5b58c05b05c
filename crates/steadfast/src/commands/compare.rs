//! `steadfast compare`: several runs side by side.

use crate::cli::{CompareArguments, LongFormat};
use crate::exit::{ExitState, misuse};
use crate::output_files::{OutputDir, OutputRule};
use crate::run_settings::SOFTWARE;
use crate::thread_pool::start_typesetter;
use crate::{output, terminal};
use anyhow::bail;
use std::path::{Path, PathBuf};
use steadfast_domain::Findings;
use steadfast_host::NewFile;
use steadfast_report::{COMPARED_MAX, CompareError, NamedRun, ReportTime};
use steadfast_runner::real_rig::wall_clock_unix_ms;
use steadfast_tracefile::table::table_file;

/// Compares the runs and writes or prints the comparison.
pub fn run(arguments: &CompareArguments) -> anyhow::Result<ExitState> {
    let rule = OutputRule::from_arguments(&arguments.writing)?;
    if let Some(format) = long_format(arguments)? {
        return long(arguments, format, rule);
    }
    if !(2..=COMPARED_MAX).contains(&arguments.runs.len()) {
        return Err(misuse(CompareError::Count(arguments.runs.len())));
    }
    let place = arguments
        .output
        .as_deref()
        .map(|output| ComparisonOutput::open(output, rule))
        .transpose()?;
    let comparison = steadfast_report::compare(&named_findings(&arguments.runs)?)?;
    if let Some(place) = place {
        for file in place.write(&comparison)? {
            terminal::status(&format!("Written: {}", file.display()));
        }
    }
    if arguments.json || arguments.output.is_none() {
        output::print(&comparison, arguments.json)?;
    }
    Ok(ExitState::Done)
}

/// Returns the format of the long table: from `--long-table` or the file's extension; `None` if
/// another output is requested.
fn long_format(arguments: &CompareArguments) -> anyhow::Result<Option<LongFormat>> {
    let output = arguments.output.as_deref().filter(|output| !output.is_dir());
    let ending = output.and_then(|output| output.extension()).and_then(|ending| ending.to_str());
    let by_ending = match ending {
        Some("csv") => Some(LongFormat::Csv),
        Some("parquet") => Some(LongFormat::Parquet),
        _ => None,
    };
    match (arguments.long_table, by_ending, &arguments.output) {
        (Some(format), Some(other), Some(output)) if format != other => Err(misuse(format!(
            "{} does not end as --long-table asks; omit --long-table, or name another file",
            output.display()
        ))),
        (Some(LongFormat::Parquet), _, None) => {
            Err(misuse("a Parquet table needs a file; name it with -o FILE.parquet"))
        }
        (_, Some(_), _) if arguments.json => {
            Err(misuse("--json prints the comparison; omit it, or omit -o"))
        }
        (format, by_ending, _) => Ok(format.or(by_ending)),
    }
}

/// Writes all numbers of all runs as one long table.
fn long(
    arguments: &CompareArguments,
    format: LongFormat,
    rule: OutputRule,
) -> anyhow::Result<ExitState> {
    let file = arguments.output.as_deref().map(|output| rule.create(output)).transpose()?;
    let table = steadfast_report::metrics(&named_findings(&arguments.runs)?);
    if table.rows.is_empty() {
        bail!(
            "no run has a number in long form; give run directories instead of findings.json \
             files of an earlier version"
        );
    }
    let content = match format {
        LongFormat::Csv => steadfast_report::csv(&table).into_bytes(),
        LongFormat::Parquet => table_file(&table, SOFTWARE)?,
    };
    let Some(file) = file else {
        terminal::print_raw(&content)?;
        return Ok(ExitState::Done);
    };
    let path = file.path();
    file.write_and_persist(&content)?;
    let (rows, runs) = (table.rows.len(), arguments.runs.len());
    let plural = if runs == 1 { "" } else { "s" };
    terminal::status(&format!(
        "Written: {} ({rows} numbers of {runs} run{plural})",
        path.display()
    ));
    Ok(ExitState::Done)
}

/// Returns the findings of every run with its name.
fn named_findings(runs: &[PathBuf]) -> anyhow::Result<Vec<NamedRun>> {
    let mut found = Vec::new();
    for run in runs {
        found.push((run.as_path(), output::findings_of_one(run)?));
    }
    let names = names(&found);
    let named = names.into_iter().zip(found);
    Ok(named.map(|(name, (_, findings))| NamedRun { name, findings }).collect())
}

/// Returns a name per run: its model, with the directory's name if models are equal or unknown.
fn names(found: &[(&Path, Findings)]) -> Vec<String> {
    let models: Vec<Option<&str>> = found.iter().map(|(_, findings)| findings.model()).collect();
    let directory = |run: &Path| -> String {
        // Results of another tool are named after their file.
        let is_findings = run.file_name().is_some_and(|name| name == "findings.json");
        if let (false, Some(name), true) = (is_findings, run.file_stem(), run.is_file()) {
            return name.to_string_lossy().into_owned();
        }
        let run = if run.is_dir() { Some(run) } else { run.parent() };
        let real = run.and_then(|run| run.canonicalize().ok());
        let name = real.as_deref().and_then(Path::file_name);
        name.map_or("run".to_owned(), |name| name.to_string_lossy().into_owned())
    };
    found
        .iter()
        .zip(&models)
        .map(|((run, _), model)| {
            let same = models.iter().filter(|other| *other == model).count();
            match model {
                Some(model) if same == 1 => (*model).to_owned(),
                Some(model) => format!("{model} ({})", directory(run)),
                None => directory(run),
            }
        })
        .collect()
}

/// Destination of a comparison.
enum ComparisonOutput {
    /// One format, chosen by the file's extension.
    File(NewFile, ComparisonFormat),
    /// All formats in a directory.
    OutputDir(OutputDir),
}

enum ComparisonFormat {
    Html,
    Pdf,
    Json,
}

impl ComparisonOutput {
    /// Opens a directory for all formats or a file for one.
    fn open(output: &Path, rule: OutputRule) -> anyhow::Result<ComparisonOutput> {
        let ending = output.extension().and_then(|ending| ending.to_str());
        let format = match ending.filter(|_| !output.is_dir()) {
            Some("html") => ComparisonFormat::Html,
            Some("pdf") => ComparisonFormat::Pdf,
            Some("json") => ComparisonFormat::Json,
            Some("txt" | "xlsx") => bail!(
                "{}: a comparison is written as .html, .pdf or .json, its numbers as .csv or \
                 .parquet, or all of it into a directory",
                output.display()
            ),
            _ => {
                let names = ["compare.html", "compare.pdf", "compare.json"];
                return OutputDir::open(output, rule, &names).map(ComparisonOutput::OutputDir);
            }
        };
        Ok(ComparisonOutput::File(rule.create(output)?, format))
    }

    fn write(self, comparison: &Findings) -> anyhow::Result<Vec<PathBuf>> {
        let printed = ReportTime { report_unix_ms: wall_clock_unix_ms() };
        let content = |format: ComparisonFormat| -> anyhow::Result<Vec<u8>> {
            Ok(match format {
                ComparisonFormat::Html => steadfast_report::html(comparison, &printed).into_bytes(),
                ComparisonFormat::Pdf => {
                    start_typesetter()?;
                    steadfast_report::pdf(comparison, &printed)?
                }
                ComparisonFormat::Json => steadfast_report::json(comparison)?,
            })
        };
        match self {
            ComparisonOutput::File(file, format) => {
                let path = file.path();
                file.write_and_persist(&content(format)?)?;
                Ok(vec![path])
            }
            ComparisonOutput::OutputDir(output_dir) => {
                let mut files = vec![
                    ("compare.html".to_owned(), content(ComparisonFormat::Html)?),
                    ("compare.pdf".to_owned(), content(ComparisonFormat::Pdf)?),
                    ("compare.json".to_owned(), content(ComparisonFormat::Json)?),
                ];
                files.extend(output::tables(comparison));
                output_dir.write_files(&files)
            }
        }
    }
}
