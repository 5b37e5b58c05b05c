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
use steadfast_domain::text::counted;
use steadfast_host::NewFile;
use steadfast_report::{COMPARED_MAX, CompareError, NamedRun, ReportTime};
use steadfast_runner::real_rig::wall_clock_unix_ms;
use steadfast_tracefile::table::table_file;

/// Compares the runs and writes or prints the comparison.
pub fn run(arguments: &CompareArguments) -> anyhow::Result<ExitState> {
    let rule = OutputRule::from_arguments(&arguments.writing)?;
    if let Some(format) = long_format(arguments)? {
        return write_long_table(arguments, format, rule);
    }
    if !(2..=COMPARED_MAX).contains(&arguments.runs.len()) {
        return Err(misuse(CompareError::Count(arguments.runs.len())));
    }
    let output = arguments.output.as_deref();
    let destination = output.map(|output| ComparisonOutput::open(output, rule)).transpose()?;
    let comparison = steadfast_report::compare(&named_findings(&arguments.runs)?)?;
    if let Some(destination) = destination {
        destination.write(&comparison)?;
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
fn write_long_table(
    arguments: &CompareArguments,
    format: LongFormat,
    rule: OutputRule,
) -> anyhow::Result<ExitState> {
    let file = arguments.output.as_deref().map(|output| rule.create(output)).transpose()?;
    let table = steadfast_report::metrics(&named_findings(&arguments.runs)?);
    if table.rows.is_empty() {
        bail!("no run has a number in long form");
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
    terminal::status(&format!(
        "Written: {} ({} numbers of {})",
        path.display(),
        table.rows.len(),
        counted(arguments.runs.len() as u64, "run")
    ));
    Ok(ExitState::Done)
}

/// Returns the findings of every run with its name: its model, with the directory's name if models
/// are equal or unknown.
fn named_findings(runs: &[PathBuf]) -> anyhow::Result<Vec<NamedRun>> {
    let mut findings = Vec::new();
    for run in runs {
        findings.push(output::findings_of_one(run)?);
    }
    let models: Vec<Option<&str>> = findings.iter().map(Findings::model).collect();
    let mut names = Vec::new();
    for (run, model) in runs.iter().zip(&models) {
        let is_unique = models.iter().filter(|other| *other == model).count() == 1;
        names.push(match model {
            Some(model) if is_unique => (*model).to_owned(),
            Some(model) => format!("{model} ({})", directory_name(run)),
            None => directory_name(run),
        });
    }
    let named = names.into_iter().zip(findings);
    Ok(named.map(|(name, findings)| NamedRun { name, findings }).collect())
}

/// Returns the name of a run's directory; results of another tool are named after their file.
fn directory_name(run: &Path) -> String {
    let is_findings = run.file_name().is_some_and(|name| name == "findings.json");
    if run.is_file()
        && !is_findings
        && let Some(name) = run.file_stem()
    {
        return name.to_string_lossy().into_owned();
    }
    let directory = if run.is_dir() { Some(run) } else { run.parent() };
    let real = directory.and_then(|directory| directory.canonicalize().ok());
    match real.as_deref().and_then(Path::file_name) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => "run".to_owned(),
    }
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

    fn write(self, comparison: &Findings) -> anyhow::Result<()> {
        let time = ReportTime { report_unix_ms: wall_clock_unix_ms() };
        match self {
            ComparisonOutput::File(file, format) => {
                let path = file.path();
                file.write_and_persist(&format.content(comparison, &time)?)?;
                terminal::status(&format!("Written: {}", path.display()));
                Ok(())
            }
            ComparisonOutput::OutputDir(output_dir) => {
                let mut files = vec![
                    ("compare.html".to_owned(), ComparisonFormat::Html.content(comparison, &time)?),
                    ("compare.pdf".to_owned(), ComparisonFormat::Pdf.content(comparison, &time)?),
                    ("compare.json".to_owned(), ComparisonFormat::Json.content(comparison, &time)?),
                ];
                files.extend(output::tables(comparison));
                output_dir.write_and_announce(&files)
            }
        }
    }
}

impl ComparisonFormat {
    /// Returns the content of a file in this format.
    fn content(self, comparison: &Findings, time: &ReportTime) -> anyhow::Result<Vec<u8>> {
        Ok(match self {
            ComparisonFormat::Html => steadfast_report::html(comparison, time).into_bytes(),
            ComparisonFormat::Pdf => {
                start_typesetter()?;
                steadfast_report::pdf(comparison, time)?
            }
            ComparisonFormat::Json => steadfast_report::json(comparison)?,
        })
    }
}
