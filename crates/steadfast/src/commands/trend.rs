//! `steadfast trend`: one procedure over many runs.

use crate::cli::{TrendArguments, TrendFormat};
use crate::exit::{ExitState, misuse};
use crate::output_files::{OutputDir, OutputRule, refuse_input};
use crate::recognize_file::recognize_file;
use crate::run_settings::SOFTWARE;
use crate::{output, terminal};
use anyhow::{Context, bail};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use steadfast_domain::Findings;
use steadfast_exchange::identify::FileKind;
use steadfast_host::FileError;
use steadfast_report::{NamedRun, ProcedureTrend, ReportTime, TrendBaseline, TrendOptions};
use steadfast_runner::real_rig::wall_clock_unix_ms;
use steadfast_tracefile::table::table_file;

/// Default formats of a directory.
const DIRECTORY_FORMATS: [TrendFormat; 4] =
    [TrendFormat::Html, TrendFormat::Csv, TrendFormat::Json, TrendFormat::Junit];

/// Maximum depth of directories that are searched for runs.
const DEPTH_MAX: usize = 4;

/// Maximum number of runs in a trend.
const RUNS_MAX: usize = 2000;

/// Computes the trend of the runs and writes or prints it.
pub fn run(arguments: &TrendArguments) -> anyhow::Result<ExitState> {
    let rule = OutputRule::from_arguments(&arguments.writing)?;
    let destination = TrendDestination::new(arguments, rule)?;
    let mut paths = Vec::new();
    for given in &arguments.runs {
        paths.extend(runs_in(given)?);
    }
    // A run that two arguments name counts once.
    let mut seen = HashSet::new();
    paths.retain(|path| path.canonicalize().map_or(true, |real| seen.insert(real)));
    if paths.len() > RUNS_MAX {
        return Err(misuse(format!("{} runs; trend takes up to {RUNS_MAX}", paths.len())));
    }
    let names = run_names(&paths);
    let mut runs = Vec::new();
    for (name, path) in names.iter().zip(&paths) {
        let findings = output::findings_of(path).with_context(|| path.display().to_string())?;
        // The directory may also contain earlier trends and comparisons.
        if !output::compares_runs(&findings) {
            destination.refuse_input(path)?;
            runs.push(NamedRun { name: name.clone(), findings });
        }
    }
    let options = TrendOptions {
        procedure: arguments.procedure.clone(),
        baseline: baseline(arguments, &names, &paths)?,
        change_min: arguments.change_min / 100.0,
    };
    let trend = ProcedureTrend::new(runs, &options)?;
    destination.write(&trend)?;
    Ok(if trend.is_good() { ExitState::Done } else { ExitState::CheckFailed })
}

/// Returns the runs of a path: itself, or the runs in the directory.
fn runs_in(given: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !given.is_dir() || output::is_run_directory(given) {
        return Ok(vec![given.to_owned()]);
    }
    let mut found = Vec::new();
    search(given, DEPTH_MAX, &mut found)?;
    if found.is_empty() {
        bail!(
            "{}: no run directory and no findings.json in it; give directories of runs",
            given.display()
        );
    }
    Ok(found)
}

/// Adds the run directories and files of findings below a directory, by name.
fn search(directory: &Path, levels: usize, found: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let cannot = || format!("{} cannot be read", directory.display());
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        // Links are not followed, since they could form a cycle.
        entries.push((entry.path(), entry.file_type().with_context(cannot)?));
    }
    entries.sort_by_key(|(path, _)| natural_key(path));
    for (path, file_type) in entries {
        if file_type.is_dir() && output::is_run_directory(&path) {
            found.push(path);
        } else if file_type.is_dir() && levels > 1 {
            search(&path, levels - 1, found)?;
        } else if file_type.is_file() && is_findings(&path)? {
            found.push(path);
        }
    }
    Ok(())
}

/// A piece of a file name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum NamePiece {
    Number(u64),
    Text(String),
}

/// Returns a key by which `run-2` comes before `run-10`.
fn natural_key(path: &Path) -> Vec<NamePiece> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut pieces = Vec::new();
    let mut rest = name.as_str();
    while let Some(first) = rest.chars().next() {
        let is_like_first = |c: char| c.is_ascii_digit() == first.is_ascii_digit();
        let (piece, after) = rest.split_at(rest.find(|c| !is_like_first(c)).unwrap_or(rest.len()));
        pieces.push(match piece.parse() {
            Ok(number) => NamePiece::Number(number),
            Err(_) => NamePiece::Text(piece.to_owned()),
        });
        rest = after;
    }
    pieces
}

fn is_findings(path: &Path) -> anyhow::Result<bool> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return Ok(false);
    }
    let recognized = recognize_file(path)?;
    Ok(recognized.and_then(|found| found.kind) == Some(FileKind::Findings))
}

/// Returns a unique name per run: that of its directory, or its path if several have that name.
fn run_names(paths: &[PathBuf]) -> Vec<String> {
    let short: Vec<String> = paths.iter().map(|path| short_name(path)).collect();
    let mut unique = Vec::new();
    for (name, path) in short.iter().zip(paths) {
        let is_unique = short.iter().filter(|other| *other == name).count() == 1;
        unique.push(if is_unique { name.clone() } else { path.display().to_string() });
    }
    unique
}

/// Returns the name of a run's directory, or of another tool's file without its extension.
fn short_name(path: &Path) -> String {
    let is_findings = path.file_name().is_some_and(|name| name == "findings.json");
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = if is_findings {
        real.parent().unwrap_or(&real).file_name()
    } else if real.is_file() {
        real.file_stem()
    } else {
        real.file_name()
    };
    name.map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}

/// Returns the baseline that was chosen: a run of the trend by its name or path, another run by its
/// path, or else a test ID.
fn baseline(
    arguments: &TrendArguments,
    names: &[String],
    paths: &[PathBuf],
) -> anyhow::Result<Option<TrendBaseline>> {
    let Some(chosen) = &arguments.baseline else { return Ok(None) };
    let path = Path::new(chosen);
    if names.contains(chosen) || !path.exists() {
        return Ok(Some(TrendBaseline::Named(chosen.clone())));
    }
    let real = path.canonicalize().ok();
    let is_same = |other: &PathBuf| real.is_some() && other.canonicalize().ok() == real;
    if let Some(at) = paths.iter().position(is_same) {
        return Ok(Some(TrendBaseline::Named(names[at].clone())));
    }
    let findings = output::findings_of_one(path).with_context(|| format!("--baseline {chosen}"))?;
    Ok(Some(TrendBaseline::Outside(Box::new(NamedRun { name: chosen.clone(), findings }))))
}

enum TrendDestination {
    Standard(TrendFormat),
    File(steadfast_host::NewFile, TrendFormat),
    OutputDir(OutputDir, Vec<TrendFormat>),
}

impl TrendDestination {
    fn new(arguments: &TrendArguments, rule: OutputRule) -> anyhow::Result<TrendDestination> {
        let mut formats = arguments.format.clone();
        if arguments.json {
            formats.push(TrendFormat::Json);
        }
        let Some(output) = &arguments.output else {
            return match formats.as_slice() {
                [] => Ok(TrendDestination::Standard(TrendFormat::Text)),
                [TrendFormat::Parquet] => {
                    Err(misuse("a Parquet table needs a file; name it with -o FILE.parquet"))
                }
                [only] => Ok(TrendDestination::Standard(*only)),
                _ => Err(misuse("several formats need a directory; name it with -o DIR")),
            };
        };
        let by_ending = if output.is_dir() { None } else { format_of(output) };
        if let Some(format) = by_ending {
            if formats.iter().any(|other| *other != format) {
                return Err(misuse(format!(
                    "{} does not end as --format asks; omit --format, or name another file",
                    output.display()
                )));
            }
            return Ok(TrendDestination::File(rule.create(output)?, format));
        }
        if formats.is_empty() {
            formats = DIRECTORY_FORMATS.to_vec();
        }
        let names: Vec<&str> = formats.iter().filter_map(|format| format.file_name()).collect();
        let directory = OutputDir::open(output, rule, &names)?;
        Ok(TrendDestination::OutputDir(directory, formats))
    }

    /// Refuses to replace a run of the trend.
    fn refuse_input(&self, input: &Path) -> Result<(), FileError> {
        match self {
            TrendDestination::Standard(_) => Ok(()),
            TrendDestination::File(file, _) => refuse_input(&file.path(), input),
            TrendDestination::OutputDir(directory, formats) => {
                let names: Vec<&str> = formats.iter().filter_map(|one| one.file_name()).collect();
                directory.refuse_input(&names, input)
            }
        }
    }

    fn write(self, trend: &ProcedureTrend) -> anyhow::Result<()> {
        let findings = trend.findings(SOFTWARE);
        match self {
            TrendDestination::Standard(format) => {
                terminal::print_raw(&content(format, trend, &findings)?)?;
            }
            TrendDestination::File(file, format) => {
                let path = file.path();
                file.write_and_persist(&content(format, trend, &findings)?)?;
                terminal::status(&format!("Written: {}", path.display()));
                terminal::status(&trend.outcome());
            }
            TrendDestination::OutputDir(directory, formats) => {
                let mut files = Vec::new();
                for format in formats {
                    match format.file_name() {
                        Some(name) => {
                            files.push((name.to_owned(), content(format, trend, &findings)?))
                        }
                        None => files.extend(output::tables(&findings)),
                    }
                }
                directory.write_and_announce(&files)?;
                terminal::status(&trend.outcome());
            }
        }
        Ok(())
    }
}

/// Returns the format that a file's extension asks for; `None` for a directory.
fn format_of(path: &Path) -> Option<TrendFormat> {
    match path.extension()?.to_str()? {
        "txt" => Some(TrendFormat::Text),
        "csv" => Some(TrendFormat::Csv),
        "json" => Some(TrendFormat::Json),
        "xml" => Some(TrendFormat::Junit),
        "html" => Some(TrendFormat::Html),
        "parquet" => Some(TrendFormat::Parquet),
        _ => None,
    }
}

impl TrendFormat {
    /// Returns the name of the file in a directory; `None` for a file per table.
    fn file_name(self) -> Option<&'static str> {
        match self {
            TrendFormat::Text => Some("trend.txt"),
            TrendFormat::Csv => None,
            TrendFormat::Json => Some("trend.json"),
            TrendFormat::Junit => Some("trend.xml"),
            TrendFormat::Html => Some("trend.html"),
            TrendFormat::Parquet => Some("trend.parquet"),
        }
    }
}

fn content(
    format: TrendFormat,
    trend: &ProcedureTrend,
    findings: &Findings,
) -> anyhow::Result<Vec<u8>> {
    Ok(match format {
        TrendFormat::Text => {
            format!("{}\n", steadfast_report::text(findings, terminal::width())).into_bytes()
        }
        TrendFormat::Csv => steadfast_report::csv(&trend.values_table()).into_bytes(),
        TrendFormat::Json => steadfast_report::json(findings)?,
        TrendFormat::Junit => trend.junit().into_bytes(),
        TrendFormat::Html => {
            let printed = ReportTime { report_unix_ms: wall_clock_unix_ms() };
            steadfast_report::html(findings, &printed).into_bytes()
        }
        TrendFormat::Parquet => table_file(&trend.values_table(), SOFTWARE)?,
    })
}
