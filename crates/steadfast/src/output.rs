//! What lies in a run directory when a run ends.

use crate::cli::Format;
use crate::input_file;
use crate::output_files::OutputDir;
use crate::recognize_file::{RecognizedFile, expect, recognize};
use crate::run_settings::SOFTWARE;
use crate::terminal;
use crate::thread_pool::start_typesetter;
use anyhow::{Context, anyhow, bail};
use std::path::{Path, PathBuf};
use steadfast_domain::{Caveat, Findings, Procedure, caveats};
use steadfast_exchange::identify::FileKind;
use steadfast_exchange::{crystaldiskmark, iometer, results};
use steadfast_host::{Directory, read_regular};
use steadfast_report::{COMPARISON, ReportTime};
use steadfast_runner::ledger::{Ledger, LedgerContents};
use steadfast_runner::real_rig::wall_clock_unix_ms;
use steadfast_runner::run::amendments;

/// Returns true if the files that a run writes last are there.
pub fn has_report(directory: &Path) -> bool {
    ["findings.json", "report.html", "report.pdf"].iter().all(|name| directory.join(name).exists())
}

/// Says that nothing is left to do.
pub fn say_complete(directory: &Path) {
    let directory = directory.display();
    terminal::tell(&format!(
        "{directory} is complete; print its findings with: steadfast study {directory}"
    ));
}

/// The longest file of findings that is read; those of the quick test have 0.2 MiB.
const FINDINGS_MAX: u64 = 256 << 20;

/// Recomputes the findings of a run directory.
pub fn study(directory: &Path) -> anyhow::Result<Findings> {
    study_in(&Ledger::find(directory)?)
}

/// Recomputes the findings of an open run directory. An incomplete end of its journal is said
/// on standard error.
pub fn study_in(directory: &Directory) -> anyhow::Result<Findings> {
    let contents = read(directory)?;
    let procedure = procedure(&contents)?;
    Ok(findings(procedure.as_ref(), contents))
}

/// Recomputes the findings of an open run directory with the procedure that its run had.
pub fn study_with(procedure: &dyn Procedure, directory: &Directory) -> anyhow::Result<Findings> {
    Ok(findings(procedure, read(directory)?))
}

fn read(directory: &Directory) -> anyhow::Result<LedgerContents> {
    let contents = Ledger::read_in(directory)?;
    if contents.torn > 0 {
        terminal::complain(&format!("{}: {}", directory.path().display(), torn(&contents)));
    }
    Ok(contents)
}

/// Builds the procedure of a run, with its amendments.
pub fn procedure(contents: &LedgerContents) -> anyhow::Result<Box<dyn Procedure>> {
    let (plan, amendments) = (&contents.plan, amendments(&contents.lines));
    Ok(steadfast_procedures::procedure(&plan.settings, plan.geometry(), &amendments)?)
}

/// What is left out of a journal that ends in an incomplete line.
fn torn(contents: &LedgerContents) -> String {
    let after = match contents.lines.len() {
        0 => "no complete line".to_owned(),
        lines => format!("line {lines}"),
    };
    format!(
        "The journal ends with {} bytes after {after} that are no complete line. They are left \
         out: a process ended while it wrote them, or the end of the file was damaged.",
        contents.torn
    )
}

/// Findings of a ledger.
pub fn findings(procedure: &dyn Procedure, contents: LedgerContents) -> Findings {
    let incomplete = (contents.torn > 0).then(|| torn(&contents));
    let mut findings = procedure.study(&contents.into_record());
    findings.caveats.extend(incomplete.map(|text| {
        let remedy = "If the run had ended, restore its journal from a copy; if not, resume it.";
        Caveat::remark(caveats::JOURNAL_TORN, text, remedy)
    }));
    findings
}

/// Findings of a run directory (recomputed), of a file of findings (recomputed where the journal
/// lies in its directory, else as stored, if its digest matches), or of results of another tool:
/// a file, or a directory with a file for each round.
pub fn findings_of(run: &Path) -> anyhow::Result<Findings> {
    if run.is_dir() {
        return if is_run_directory(run) { study(run) } else { of_directory(run) };
    }
    // The journal next to it says more, and is checked line by line.
    let directory = run.parent().filter(|_| run.ends_with("findings.json"));
    if let Some(directory) = directory.filter(|directory| directory.join(JOURNAL).is_file()) {
        return study(if directory == Path::new("") { Path::new(".") } else { directory });
    }
    let bytes = read_regular(run, FINDINGS_MAX)
        .with_context(|| format!("{} cannot be read; give a run directory", run.display()))?;
    let found = recognize(run, &bytes);
    match found.as_ref().and_then(|found| found.kind) {
        Some(FileKind::TkperfXml) => return of_tkperf(run),
        Some(FileKind::IometerCsv) => return of_iometer(run),
        Some(FileKind::CrystalDiskMark | FileKind::KDiskMark) => return of_crystaldiskmark(run),
        Some(kind) if kind.has_results() => return of_results(&[run.to_owned()]),
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

/// Findings of one run or of one result of another tool; a comparison or a trend is refused.
pub fn findings_of_one(run: &Path) -> anyhow::Result<Findings> {
    let findings = findings_of(run)?;
    if is_of_several(&findings) {
        bail!(
            "{}: this is {}, and no run; name its run directories",
            run.display(),
            if findings.id.starts_with("trend-") { "a trend" } else { "a comparison" }
        );
    }
    Ok(findings)
}

/// Returns true if findings compare several runs: a comparison or a trend.
pub fn is_of_several(findings: &Findings) -> bool {
    findings.id.starts_with("trend-") || findings.header.test == COMPARISON
}

/// Whether a directory is that of a run.
pub fn is_run_directory(path: &Path) -> bool {
    ["settings.json", JOURNAL].iter().any(|name| path.join(name).exists())
}

/// Whether a path names findings or results, and not a run directory, which it is taken for if
/// there is nothing.
pub fn is_foreign(path: &Path) -> bool {
    path.is_file() || path.is_dir() && !is_run_directory(path)
}

/// More files than a run of another tool has rounds.
const ROUNDS_MAX: usize = 1000;

/// The files of results in a directory, by name. FioSynth's table repeats its JSON files and is
/// left out next to them.
pub fn results_in(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found: Vec<(PathBuf, FileKind)> = Vec::new();
    let cannot = || format!("{} cannot be read", directory.display());
    for entry in std::fs::read_dir(directory).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if !path.is_file() {
            continue;
        }
        let recognized = crate::recognize_file::recognize_file(&path)?;
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

/// Findings of a directory that is no run's: its files of results are rounds.
fn of_directory(directory: &Path) -> anyhow::Result<Findings> {
    let files = results_in(directory)?;
    if files.is_empty() {
        bail!(
            "{} is not a run directory: it has no settings.json, and no file of another tool's \
             results; `steadfast identify FILE` says what a file is",
            directory.display()
        );
    }
    of_results(&files)
}

/// The longest file of results of another tool that is read: one of fio with histograms has
/// some 100 kB per job.
const RESULTS_MAX: u64 = 64 << 20;

/// Findings of files of results of another tool, which are rounds of one run.
pub fn of_results(files: &[PathBuf]) -> anyhow::Result<Findings> {
    let mut rounds = Vec::new();
    for file in files {
        let bytes = read_regular(file, RESULTS_MAX)?;
        let kind = recognize(file, &bytes).and_then(|found| found.kind);
        let Some(kind) = kind.filter(|kind| kind.has_results()) else {
            expect(file, &bytes, "a round of results", &[])?;
            bail!("{}: not recognized; only results of other tools are rounds", file.display());
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let read =
            results::read(kind, &name, &bytes).with_context(|| file.display().to_string())?;
        rounds.push(read);
    }
    steadfast_procedures::foreign::findings(&rounds, SOFTWARE).map_err(|why| anyhow!("{why}"))
}

/// The journal of a run directory.
const JOURNAL: &str = "journal.jsonl";

/// The longest log of TKperf that is read: a day of write saturation has less than 1 MiB.
const TKPERF_LOG_MAX: u64 = 256 << 20;

/// Findings of a log of TKperf.
pub fn of_tkperf(log: &Path) -> anyhow::Result<Findings> {
    let place = || log.display().to_string();
    let bytes = read_regular(log, TKPERF_LOG_MAX)?;
    expect(log, &bytes, "a log of TKperf", &[FileKind::TkperfXml])?;
    let run = steadfast_exchange::tkperf::read(&bytes).with_context(place)?;
    Ok(steadfast_procedures::tkperf::foreign::findings(&run, SOFTWARE))
}

/// Findings of a file of results of Iometer.
pub fn of_iometer(file: &Path) -> anyhow::Result<Findings> {
    let bytes = input_file::foreign(file)?;
    expect(file, &bytes, "a result of Iometer", &[FileKind::IometerCsv])?;
    let runs = iometer::results::read(&bytes).with_context(|| file.display().to_string())?;
    Ok(iometer::findings(&runs, &input_file::source(file, &bytes), SOFTWARE))
}

/// Findings of a result that CrystalDiskMark saved.
fn of_crystaldiskmark(file: &Path) -> anyhow::Result<Findings> {
    let bytes = input_file::foreign(file)?;
    let saved = crystaldiskmark::read(&bytes).with_context(|| file.display().to_string())?;
    Ok(crystaldiskmark::findings(&saved, &input_file::source(file, &bytes), SOFTWARE))
}

/// Default formats of a report.
pub const FORMATS: [Format; 4] = [Format::Json, Format::Csv, Format::Html, Format::Pdf];

/// Writes the forms asked for into a directory; returns the files.
pub fn write(
    shelf: &OutputDir,
    findings: &Findings,
    formats: &[Format],
) -> anyhow::Result<Vec<PathBuf>> {
    let printed = ReportTime { report_unix_ms: wall_clock_unix_ms() };
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for format in formats {
        match format {
            Format::Html => {
                let page = steadfast_report::html(findings, &printed);
                files.push(("report.html".into(), page.into_bytes()));
            }
            Format::Pdf => {
                start_typesetter()?;
                let document = steadfast_report::pdf(findings, &printed)?;
                files.push(("report.pdf".into(), document));
            }
            Format::Form => {
                start_typesetter()?;
                let document = steadfast_report::pdf_form(findings, &printed)?;
                files.push(("form.pdf".into(), document));
            }
            Format::Csv => files.extend(tables(findings)),
            Format::Json => {
                files.push(("findings.json".into(), steadfast_report::json(findings)?));
            }
            Format::Text => {
                terminal::print(&steadfast_report::text(findings, terminal::width()))?;
            }
        }
    }
    shelf.put(&files)
}

/// The files of these forms whose names are known before the findings are.
pub fn names(formats: &[Format]) -> Vec<&'static str> {
    let name = |format: &Format| match format {
        Format::Html => Some("report.html"),
        Format::Pdf => Some("report.pdf"),
        Format::Form => Some("form.pdf"),
        Format::Json => Some("findings.json"),
        Format::Csv | Format::Text => None,
    };
    formats.iter().filter_map(name).collect()
}

/// Every table as CSV: name and content.
pub fn tables(findings: &Findings) -> impl Iterator<Item = (String, Vec<u8>)> {
    steadfast_report::tables(findings).into_iter().map(|(name, table)| (name, table.into_bytes()))
}
