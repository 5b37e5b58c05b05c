//! `steadfast check`: a run's numbers against a datasheet's.

use crate::cli::CheckArguments;
use crate::exit::Outcome;
use crate::{output, terminal};
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use steadfast_domain::Findings;
use steadfast_report::{Limits, Printed};
use steadfast_runner::real::wall_clock_unix_ms;

/// Judges every limit, prints the verdicts and writes the report with them.
pub fn run(arguments: &CheckArguments) -> anyhow::Result<Outcome> {
    // A file of limits that makes no sense is refused before a long study.
    let limits = arguments.limits.as_deref().map(read).transpose()?;
    let findings = output::findings_of(&arguments.run)?;
    let Some(limits) = limits else {
        return list(arguments, &findings);
    };
    let checked = steadfast_report::check(&findings, &limits);
    if let Some(directory) = directory(arguments) {
        for file in write(&directory, &checked.report(&findings))? {
            terminal::complain(&format!("Written: {}", file.display()));
        }
    }
    if arguments.json {
        terminal::print_json(&checked)?;
    } else {
        terminal::print(&checked.text(terminal::width()))?;
    }
    Ok(if checked.pass { Outcome::Done } else { Outcome::OutsideLimits })
}

fn read(file: &Path) -> anyhow::Result<Limits> {
    let text = fs::read_to_string(file)
        .with_context(|| format!("the limits {} cannot be read", file.display()))?;
    Limits::parse(&text).with_context(|| format!("the limits {}", file.display()))
}

fn list(arguments: &CheckArguments, findings: &Findings) -> anyhow::Result<Outcome> {
    let names = steadfast_report::names(findings);
    if arguments.json {
        terminal::print_json(&names)?;
    } else {
        terminal::print(&steadfast_report::names_text(&names, terminal::width()))?;
    }
    Ok(Outcome::Done)
}

/// Where the report goes: nowhere, where it was not asked for and the run is a
/// single file.
fn directory(arguments: &CheckArguments) -> Option<PathBuf> {
    if arguments.no_report {
        return None;
    }
    let own = arguments.run.is_dir().then(|| arguments.run.clone());
    arguments.output.clone().or(own)
}

fn write(directory: &Path, report: &Findings) -> anyhow::Result<Vec<PathBuf>> {
    let printed = Printed { report_unix_ms: wall_clock_unix_ms() };
    fs::create_dir_all(directory)
        .with_context(|| format!("{} cannot be made", directory.display()))?;
    let page = steadfast_report::html(report, &printed);
    let document = steadfast_report::pdf(report, &printed)?;
    Ok(vec![
        output::put(directory, "check.html", page.as_bytes())?,
        output::put(directory, "check.pdf", &document)?,
    ])
}
