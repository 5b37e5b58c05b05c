//! `steadfast check`: compares a run with the limits of a data sheet.

use crate::cli::CheckArguments;
use crate::exit::{ExitState, misuse};
use crate::output_files::{OutputDir, OutputRule};
use crate::thread_pool::start_typesetter;
use crate::{output, terminal};
use anyhow::{Context, anyhow};
use serde::Serialize;
use std::path::Path;
use steadfast_domain::Findings;
use steadfast_host::{Directory, read_regular};
use steadfast_report::{Limit, Limits, ReportTime, TableNames};
use steadfast_runner::Ledger;
use steadfast_runner::real_rig::wall_clock_unix_ms;

/// Maximum size of a limits file in bytes; a limit has about 100.
const LIMITS_MAX: u64 = 16 << 20;

/// Judges every limit, prints the verdicts and writes the report with them.
pub fn run(arguments: &CheckArguments) -> anyhow::Result<ExitState> {
    // Parse the limits before a study that may take long.
    let limits = match &arguments.limits {
        Some(file) => Some(read_limits(file)?),
        None if arguments.list => None,
        None => Some(limits_of_suite(&arguments.run)?),
    };
    let run = if output::is_run_directory(&arguments.run) {
        Some(Ledger::find(&arguments.run)?)
    } else {
        None
    };
    let output_dir = open_report_dir(arguments, run.as_ref())?;
    let findings = match &run {
        Some(directory) => output::study_in(directory)?,
        None => output::findings_of_one(&arguments.run)?,
    };
    let Some(limits) = limits else {
        return print_names(arguments, &findings);
    };
    steadfast_report::check_allowed(&findings, &arguments.allow).map_err(misuse)?;
    let checked = steadfast_report::check(&findings, &limits, &arguments.allow);
    if let Some(output_dir) = output_dir {
        write_report(&output_dir, &checked.report(&findings))?;
    }
    if arguments.json {
        terminal::print_json(&checked)?;
    } else {
        terminal::print(&checked.text(terminal::width()))?;
    }
    Ok(if checked.pass { ExitState::Done } else { ExitState::CheckFailed })
}

fn read_limits(file: &Path) -> anyhow::Result<Limits> {
    let bytes = read_regular(file, LIMITS_MAX).map_err(|error| anyhow!("the limits {error}"))?;
    let text = std::str::from_utf8(&bytes)
        .with_context(|| format!("the limits {} are no UTF-8 text", file.display()))?;
    Limits::parse(text).with_context(|| format!("the limits {}", file.display()))
}

/// Returns the limits of the suite that the run applied.
fn limits_of_suite(run: &Path) -> anyhow::Result<Limits> {
    let sequence = if output::is_run_directory(run) {
        Ledger::read(run)?.plan.settings.sequence
    } else {
        None
    };
    let sequence = sequence.filter(|sequence| !sequence.limits.is_empty()).ok_or_else(|| {
        misuse(format!(
            "{}: name the limits with --limits FILE; only runs of a FioSynth suite with targets have \
             limits of their own (--list prints what a limit can name)",
            run.display()
        ))
    })?;
    let limits = sequence.limits.iter().map(|limit| Limit {
        title: limit.title.clone(),
        part: None,
        table: limit.table.clone(),
        row: limit.step.clone(),
        column: limit.column.clone(),
        scale: 1.0,
        unit: unit_of(&limit.column).to_owned(),
        min: limit.min,
        max: limit.max,
    });
    Ok(Limits { title: Some(sequence.title.clone()), limits: limits.collect() })
}

/// The JSON output of `--list`.
#[derive(Serialize, schemars::JsonSchema)]
pub struct CheckListOutput {
    tables: Vec<TableNames>,
}

/// Returns the unit of a column of a sequence's tables.
fn unit_of(column: &str) -> &'static str {
    match column {
        "mb" => "MB/s",
        "iops" => "IOPS",
        _ => "ms",
    }
}

/// Prints the names that a limit can use.
fn print_names(arguments: &CheckArguments, findings: &Findings) -> anyhow::Result<ExitState> {
    let names = steadfast_report::names(findings);
    if arguments.json {
        terminal::print_json(&CheckListOutput { tables: names })?;
    } else {
        terminal::print(&steadfast_report::names_text(&names, terminal::width()))?;
    }
    Ok(ExitState::Done)
}

/// Returns the directory of the report; `None` if none was requested and the run is a single file.
fn open_report_dir(
    arguments: &CheckArguments,
    run: Option<&Directory>,
) -> anyhow::Result<Option<OutputDir>> {
    if arguments.no_report || arguments.list {
        return Ok(None);
    }
    if let Some(output) = &arguments.output {
        let rule = OutputRule::from_arguments(&arguments.writing)?;
        return OutputDir::open(output, rule, &["check.html", "check.pdf"]).map(Some);
    }
    Ok(run.map(OutputDir::of_run))
}

fn write_report(output_dir: &OutputDir, report: &Findings) -> anyhow::Result<()> {
    let time = ReportTime { report_unix_ms: wall_clock_unix_ms() };
    let page = steadfast_report::html(report, &time);
    start_typesetter()?;
    let document = steadfast_report::pdf(report, &time)?;
    output_dir.write_and_announce(&[
        ("check.html".into(), page.into_bytes()),
        ("check.pdf".into(), document),
    ])
}
