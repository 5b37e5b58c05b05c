//! Findings and report files of a run directory, and of results of other tools.

use crate::cli::{Format, ReportFiles, WritingArguments};
use crate::exit::{misuse, refuse_unused};
use crate::input_file;
use crate::output_files::{JOURNAL, OutputDir, OutputRule, SETTINGS, TARGETS};
use crate::recognize_file::{RecognizedFile, expect, recognize, recognize_file};
use crate::run_settings::SOFTWARE;
use crate::terminal;
use crate::thread_pool::start_typesetter;
use anyhow::{Context, anyhow, bail};
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use steadfast_domain::{Findings, Procedure};
use steadfast_exchange::identify::FileKind;
use steadfast_exchange::{crystaldiskmark, iometer, results};
use steadfast_host::{Directory, read_regular};
use steadfast_report::{COMPARISON, ReportTime};
use steadfast_runner::ledger::{Ledger, LedgerContents};
use steadfast_runner::real_rig::wall_clock_unix_ms;
use steadfast_runner::run::amendments;

/// Returns true if the files that a run writes last exist.
pub fn has_report(directory: &Path) -> bool {
    file_names(default_formats()).iter().all(|name| directory.join(name).exists())
}

/// Prints that the run is complete.
pub fn print_complete(directory: &Path) {
    let directory = directory.display();
    terminal::status(&format!(
        "{directory} is complete; print its findings with: steadfast study {directory}"
    ));
}

/// Maximum size of a findings file in bytes; those of the quick test have 0.2 MiB.
const FINDINGS_MAX: u64 = 256 << 20;

/// Recomputes the findings of a run directory.
pub fn study(directory: &Path) -> anyhow::Result<Findings> {
    study_in(&Ledger::find(directory)?)
}

/// Recomputes the findings of an open run directory. Warns if its journal ends in an incomplete
/// line.
pub fn study_in(directory: &Directory) -> anyhow::Result<Findings> {
    let contents = read(directory)?;
    let procedure = procedure(&contents)?;
    Ok(contents.study(procedure.as_ref()))
}

/// Recomputes the findings of an open run directory with the procedure that its run had.
pub fn study_with(procedure: &dyn Procedure, directory: &Directory) -> anyhow::Result<Findings> {
    Ok(read(directory)?.study(procedure))
}

fn read(directory: &Directory) -> anyhow::Result<LedgerContents> {
    let contents = Ledger::read_in(directory)?;
    warn_if_torn(directory.path(), &contents);
    Ok(contents)
}

/// Warns if a journal ends in an incomplete line.
pub fn warn_if_torn(directory: &Path, contents: &LedgerContents) {
    if let Some(torn) = contents.torn_end() {
        terminal::warn(&format!("{}: {torn}", directory.display()));
    }
}

/// Builds the procedure of a run, with its amendments.
pub fn procedure(contents: &LedgerContents) -> anyhow::Result<Box<dyn Procedure>> {
    let (plan, amendments) = (&contents.plan, amendments(&contents.lines));
    Ok(steadfast_procedures::procedure(&plan.settings, plan.geometry(), &amendments)?)
}

/// Returns the findings of a run directory (recomputed), of a findings file (recomputed if its
/// directory has the journal, else as stored if its digest matches), of a directory with such a file
/// that `report -o` wrote, or of results of another tool: a file, or a directory with a file per
/// round.
pub fn findings_of(run: &Path) -> anyhow::Result<Findings> {
    if is_run_directory(run) {
        return study(run);
    }
    if run.is_dir() {
        // Results of another tool, and the runs of a group, may be newer than a report on them.
        let stored = run.join("findings.json");
        let is_report =
            stored.is_file() && !run.join(TARGETS).is_file() && results_in(run)?.is_empty();
        return if is_report { findings_of(&stored) } else { findings_of_directory(run) };
    }
    // A journal next to the file has more details and is checked line by line.
    let directory = run.parent().filter(|_| run.ends_with("findings.json"));
    if let Some(directory) = directory.filter(|directory| directory.join(JOURNAL).is_file()) {
        return study(if directory == Path::new("") { Path::new(".") } else { directory });
    }
    let bytes = read_regular(run, FINDINGS_MAX)
        .map_err(|error| anyhow!("{error}; name a run directory or a file of results"))?;
    let found = recognize(run, &bytes);
    match found.as_ref().and_then(|found| found.kind) {
        Some(FileKind::TkperfXml) => return findings_of_tkperf(run),
        Some(FileKind::IometerCsv) => return findings_of_iometer(run),
        Some(FileKind::CrystalDiskMark | FileKind::KDiskMark) => {
            return findings_of_crystaldiskmark(run);
        }
        Some(kind) if kind.has_results() => return findings_of_rounds(&[run.to_owned()]),
        _ => {}
    }
    if let Some(RecognizedFile { name, .. }) =
        found.as_ref().filter(|found| found.kind != Some(FileKind::Findings))
    {
        let what = found.as_ref().map(RecognizedFile::what_to_do).unwrap_or_default();
        bail!("{}: this is {name}, which has no results; {what}", run.display());
    }
    steadfast_report::parse_findings(&bytes).with_context(|| {
        format!(
            "{} cannot be used; give its run directory, or recreate the file with `steadfast study \
             RUN_DIR` (for a trace: `steadfast trace report`)",
            run.display()
        )
    })
}

/// Returns the findings of one run or of one result of another tool. Refuses a comparison or a
/// trend.
pub fn findings_of_one(run: &Path) -> anyhow::Result<Findings> {
    let findings = findings_of(run)?;
    if compares_runs(&findings) {
        bail!(
            "{}: this is {}, and no run; name its run directories",
            run.display(),
            if findings.id.starts_with("trend-") { "a trend" } else { "a comparison" }
        );
    }
    Ok(findings)
}

/// Returns true if findings compare several runs: a comparison or a trend.
pub fn compares_runs(findings: &Findings) -> bool {
    findings.id.starts_with("trend-") || findings.header.test == COMPARISON
}

/// Returns true if a path is a run directory.
pub fn is_run_directory(path: &Path) -> bool {
    [SETTINGS, JOURNAL].iter().any(|name| path.join(name).exists())
}

/// Returns true if a path names findings or results of another tool. A missing path counts as a run
/// directory.
pub fn is_foreign(path: &Path) -> bool {
    path.is_file() || path.is_dir() && !is_run_directory(path)
}

/// Maximum number of files in a directory of rounds.
const ROUNDS_MAX: usize = 1000;

/// Returns the results files in a directory, sorted by name. Omits FioSynth's table if its JSON
/// files, which have the same numbers, are there.
pub fn results_in(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found: Vec<(PathBuf, FileKind)> = Vec::new();
    let cannot = || format!("{} cannot be read", directory.display());
    for entry in std::fs::read_dir(directory).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if !path.is_file() {
            continue;
        }
        let recognized = recognize_file(&path)?;
        let kind = recognized.and_then(|found| found.kind).filter(|kind| kind.has_results());
        found.extend(kind.map(|kind| (path, kind)));
        if found.len() > ROUNDS_MAX {
            bail!("{}: more than {ROUNDS_MAX} files of results", directory.display());
        }
    }
    if found.iter().any(|(_, kind)| *kind == FileKind::FioJson) {
        found.retain(|(_, kind)| *kind == FileKind::FioJson);
    }
    let mut files: Vec<PathBuf> = found.into_iter().map(|(path, _)| path).collect();
    files.sort();
    Ok(files)
}

/// Returns the findings of a directory of another tool's results, each file a round.
fn findings_of_directory(directory: &Path) -> anyhow::Result<Findings> {
    let files = results_in(directory)?;
    if files.is_empty() {
        bail!(
            "{} is not a run directory: it has no settings.json, and no file of another tool's \
             results; `steadfast identify FILE` says what a file is",
            directory.display()
        );
    }
    findings_of_rounds(&files).with_context(|| {
        format!(
            "{} is not a run directory: it has no settings.json, and its files of results are read \
             as rounds of one run",
            directory.display()
        )
    })
}

/// Maximum size of another tool's results file in bytes; fio's with histograms has about 100 kB per
/// job.
const RESULTS_MAX: u64 = 64 << 20;

/// Returns the findings of results files of another tool, each a round of one run.
pub fn findings_of_rounds(files: &[PathBuf]) -> anyhow::Result<Findings> {
    let mut rounds = Vec::new();
    let mut contents: BTreeMap<String, &Path> = BTreeMap::new();
    for file in files {
        let bytes = read_regular(file, RESULTS_MAX)?;
        if let Some(same) = contents.insert(input_file::source(file, &bytes).sha256, file) {
            bail!(
                "{} and {} have the same content, which is one round; name each result once",
                same.display(),
                file.display()
            );
        }
        let kind = recognize(file, &bytes).and_then(|found| found.kind);
        let Some(kind) = kind.filter(|kind| kind.has_results()) else {
            expect(file, &bytes, "a round of results", &[])?;
            bail!("{}: not recognized; only results of other tools are rounds", file.display());
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let round = results::read(kind, &name, &bytes);
        rounds.push(round.with_context(|| file.display().to_string())?);
    }
    steadfast_procedures::foreign::findings(&rounds, SOFTWARE).map_err(|why| anyhow!("{why}"))
}

/// Maximum size of a TKperf log in bytes; a day of write saturation has less than 1 MiB.
const TKPERF_LOG_MAX: u64 = 256 << 20;

/// Returns the findings of a TKperf log.
pub fn findings_of_tkperf(log: &Path) -> anyhow::Result<Findings> {
    let place = || log.display().to_string();
    let bytes = read_regular(log, TKPERF_LOG_MAX)?;
    expect(log, &bytes, "a log of TKperf", &[FileKind::TkperfXml])?;
    let run = steadfast_exchange::tkperf::read(&bytes).with_context(place)?;
    Ok(steadfast_procedures::tkperf::foreign::findings(&run, SOFTWARE))
}

/// Returns the findings of an Iometer results file.
pub fn findings_of_iometer(file: &Path) -> anyhow::Result<Findings> {
    let bytes = input_file::foreign(file)?;
    expect(file, &bytes, "a result of Iometer", &[FileKind::IometerCsv])?;
    let runs = iometer::results::read(&bytes).with_context(|| file.display().to_string())?;
    Ok(iometer::findings(&runs, &input_file::source(file, &bytes), SOFTWARE))
}

/// Returns the findings of a result that CrystalDiskMark saved.
fn findings_of_crystaldiskmark(file: &Path) -> anyhow::Result<Findings> {
    let bytes = input_file::foreign(file)?;
    let saved = crystaldiskmark::read(&bytes).with_context(|| file.display().to_string())?;
    Ok(crystaldiskmark::findings(&saved, &input_file::source(file, &bytes), SOFTWARE))
}

/// Environment variable with the default formats of reports.
const FORMATS_VARIABLE: &str = "STEADFAST_FORMATS";

/// Formats of a report if neither the command line nor the environment names any.
const FORMATS: [Format; 4] = [Format::Json, Format::Csv, Format::Html, Format::Pdf];

static DEFAULT_FORMATS: OnceLock<Vec<Format>> = OnceLock::new();

/// Reads the default formats from the environment, before a run of days and not after it.
pub fn read_default_formats() -> anyhow::Result<()> {
    let value = std::env::var_os(FORMATS_VARIABLE).unwrap_or_default();
    if value.is_empty() {
        return Ok(());
    }
    let value = value.to_string_lossy();
    let parse = |name: &str| match Format::from_str(name, false) {
        Ok(format) if format != Format::Text => Ok(format),
        _ => Err(misuse(format!(
            "{FORMATS_VARIABLE}={value}: '{name}' is no format of a file; set it to some of html, \
             pdf, form, csv, json with commas between them, or unset it"
        ))),
    };
    let formats = value.split(',').map(parse).collect::<anyhow::Result<_>>()?;
    DEFAULT_FORMATS.get_or_init(|| formats);
    Ok(())
}

/// Returns the formats of a report that the command line does not choose.
pub fn default_formats() -> &'static [Format] {
    DEFAULT_FORMATS.get().map_or(&FORMATS, Vec::as_slice)
}

/// Returns the formats that the command line chooses, or the default.
pub fn chosen_formats(chosen: &[Format]) -> &[Format] {
    if chosen.is_empty() { default_formats() } else { chosen }
}

/// Returns the line that names the files of a report in the default formats.
pub fn report_line(directory: &Path) -> String {
    let written = |format: &Format| default_formats().contains(format);
    let mut documents = vec![Format::Pdf, Format::Html, Format::Form, Format::Json];
    documents.retain(written);
    let tables = written(&Format::Csv).then_some("*.csv");
    let names = file_names(&documents).into_iter().chain(tables);
    let files: Vec<_> = names.map(|name| directory.join(name).display().to_string()).collect();
    format!("Report: {}", files.join(", "))
}

/// Writes the report as [`write`] does and prints the paths of its files.
pub fn write_and_list(
    directory: &OutputDir,
    findings: &Findings,
    formats: &[Format],
) -> anyhow::Result<()> {
    for file in write(directory, findings, formats)? {
        terminal::print(&file.display().to_string())?;
    }
    Ok(())
}

/// Writes the report in these formats into a directory and returns the files.
pub fn write(
    directory: &OutputDir,
    findings: &Findings,
    formats: &[Format],
) -> anyhow::Result<Vec<PathBuf>> {
    let printed = ReportTime { report_unix_ms: wall_clock_unix_ms() };
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for format in formats {
        let content = match format {
            Format::Html => steadfast_report::html(findings, &printed).into_bytes(),
            Format::Pdf => {
                start_typesetter()?;
                steadfast_report::pdf(findings, &printed)?
            }
            Format::Form => {
                start_typesetter()?;
                steadfast_report::pdf_form(findings, &printed)?
            }
            Format::Json => steadfast_report::json(findings)?,
            Format::Csv => {
                files.extend(tables(findings));
                continue;
            }
            Format::Text => {
                print(findings, false)?;
                continue;
            }
        };
        files.extend(format.file_name().map(|name| (name.to_owned(), content)));
    }
    directory.write_files(&files)
}

/// Prints findings as text or JSON.
pub fn print(findings: &Findings, json: bool) -> anyhow::Result<()> {
    if json {
        terminal::print_findings(findings)
    } else {
        terminal::print(&steadfast_report::text(findings, terminal::width()))
    }
}

/// A report that is written only if `-o` names its directory.
pub struct OptionalReport<'a> {
    directory: Option<OutputDir>,
    formats: &'a [Format],
}

impl<'a> OptionalReport<'a> {
    /// Opens the directory, so that an error is reported before the work begins. Without one, the
    /// options for its files are refused.
    pub fn open(output: Option<&Path>, writing: &WritingArguments) -> anyhow::Result<Self> {
        OptionalReport::open_for(output, writing, default_formats())
    }

    fn open_for(
        output: Option<&Path>,
        writing: &WritingArguments,
        formats: &'a [Format],
    ) -> anyhow::Result<Self> {
        let directory = match output {
            Some(path) => {
                let rule = OutputRule::from_arguments(writing)?;
                Some(OutputDir::open(path, rule, &file_names(formats))?)
            }
            None => {
                refuse_unused(&writing.given(), "nothing is written without -o DIR")?;
                None
            }
        };
        Ok(OptionalReport { directory, formats })
    }

    /// Opens the directory, if the command line names one.
    pub fn from_arguments(arguments: &'a ReportFiles) -> anyhow::Result<Self> {
        OptionalReport::open_for(
            arguments.output.as_deref(),
            &arguments.writing,
            chosen_formats(&arguments.format),
        )
    }

    /// Prints the findings as text or JSON, and writes the report.
    pub fn show(&self, findings: &Findings, json: bool) -> anyhow::Result<()> {
        print(findings, json)?;
        self.write(findings)
    }

    /// Writes the report.
    pub fn write(&self, findings: &Findings) -> anyhow::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        for file in write(directory, findings, self.formats)? {
            terminal::status(&file.display().to_string());
        }
        Ok(())
    }
}

/// Returns the file names of these formats that do not depend on the findings.
pub fn file_names(formats: &[Format]) -> Vec<&'static str> {
    formats.iter().filter_map(|format| format.file_name()).collect()
}

impl Format {
    /// Returns the name of the file; `None` for a file per table and for text, which is printed.
    fn file_name(self) -> Option<&'static str> {
        match self {
            Format::Html => Some("report.html"),
            Format::Pdf => Some("report.pdf"),
            Format::Form => Some("form.pdf"),
            Format::Json => Some("findings.json"),
            Format::Csv | Format::Text => None,
        }
    }
}

/// Returns every table as CSV, with its file name.
pub fn tables(findings: &Findings) -> impl Iterator<Item = (String, Vec<u8>)> {
    steadfast_report::tables(findings).into_iter().map(|(name, table)| (name, table.into_bytes()))
}
