//! What lies in a run directory when a run ends.

use crate::cli::Format;
use crate::terminal;
use anyhow::{Context, bail};
use std::fs;
use std::path::{Path, PathBuf};
use steadfast_domain::Findings;
use steadfast_domain::findings::FINDINGS_VERSION;
use steadfast_report::Printed;
use steadfast_runner::ledger::{Contents, Ledger};
use steadfast_runner::real::wall_clock_unix_ms;
use steadfast_runner::run::amendments;

/// Findings of a run directory, computed anew.
pub fn study(directory: &Path) -> anyhow::Result<Findings> {
    findings(Ledger::read(directory)?)
}

/// Findings of a ledger.
pub fn findings(contents: Contents) -> anyhow::Result<Findings> {
    let settings = &contents.settings;
    let procedure = steadfast_procedures::procedure(
        &settings.settings,
        settings.geometry(),
        &amendments(&contents.lines),
    )?;
    Ok(procedure.study(&contents.into_record()))
}

/// Findings of what a user calls a run: a run directory, computed anew, or a
/// file of findings as they are.
pub fn findings_of(run: &Path) -> anyhow::Result<Findings> {
    if run.is_dir() {
        return study(run);
    }
    let text = fs::read_to_string(run)
        .with_context(|| format!("{} cannot be read; name a run directory", run.display()))?;
    let findings: Findings = serde_json::from_str(&text)
        .with_context(|| format!("{} holds no findings", run.display()))?;
    if findings.version != FINDINGS_VERSION {
        bail!(
            "{} has findings of version {}; this program reads version {FINDINGS_VERSION}: name \
             its run directory instead",
            run.display(),
            findings.version
        );
    }
    Ok(findings)
}

/// Writes the forms asked for into the run directory; returns the files.
pub fn write(
    directory: &Path,
    findings: &Findings,
    formats: &[Format],
) -> anyhow::Result<Vec<PathBuf>> {
    let printed = Printed { report_unix_ms: wall_clock_unix_ms() };
    let mut files = Vec::new();
    for format in formats {
        match format {
            Format::Html => {
                let page = steadfast_report::html(findings, &printed);
                files.push(put(directory, "report.html", page.as_bytes())?);
            }
            Format::Pdf => {
                let document = steadfast_report::pdf(findings, &printed)?;
                files.push(put(directory, "report.pdf", &document)?);
            }
            Format::Csv => {
                for (name, table) in steadfast_report::tables(findings) {
                    files.push(put(directory, &name, table.as_bytes())?);
                }
            }
            Format::Json => {
                let text = serde_json::to_string_pretty(findings)?;
                files.push(put(directory, "findings.json", text.as_bytes())?);
            }
            Format::Text => {
                terminal::print(&steadfast_report::text(findings, terminal::width()))?;
            }
        }
    }
    Ok(files)
}

/// Writes a file whole or not at all.
pub fn put(directory: &Path, name: &str, content: &[u8]) -> anyhow::Result<PathBuf> {
    let path = directory.join(name);
    let unfinished = directory.join(format!(".{name}.unfinished"));
    let failed = || format!("{} cannot be written", path.display());
    fs::write(&unfinished, content).with_context(failed)?;
    fs::rename(&unfinished, &path).with_context(failed)?;
    Ok(path)
}
