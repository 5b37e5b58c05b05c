//! `steadfast export`: runs in formats for other programs.

mod fio;

use crate::cli::export::ParquetArguments;
use crate::cli::other_tools::{ExportCommand, ExportCommandArguments};
use crate::exit::{ExitState, misuse};
use crate::output_files::OutputRule;
use crate::run_settings::SOFTWARE;
use crate::{output, terminal};
use anyhow::Context;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use steadfast_domain::JournalEntry;
use steadfast_domain::text::counted;
use steadfast_runner::{Ledger, RunGroup};
use steadfast_tracefile::run_table::{ExportedRun, RunTableRows, RunTableWriter};

/// Writes the requested export.
pub fn run(arguments: &ExportCommandArguments) -> anyhow::Result<ExitState> {
    match &arguments.command {
        ExportCommand::Fio(arguments) => fio::fio(arguments),
        ExportCommand::Parquet(arguments) => parquet(arguments),
    }
}

fn parquet(arguments: &ParquetArguments) -> anyhow::Result<ExitState> {
    if arguments.output.extension().is_none_or(|ending| ending != "parquet") {
        return Err(misuse(format!(
            "{} would be a Parquet file; name a file that ends in .parquet, or write CSV: steadfast \
             compare RUN --long-table csv -o FILE.csv",
            arguments.output.display()
        )));
    }
    // Refuse an impossible output file before the work.
    let file = OutputRule::from_arguments(&arguments.writing)?.create(&arguments.output)?;
    let mut directories = Vec::new();
    for run in &arguments.runs {
        directories.extend(RunGroup::runs_in(run)?);
    }
    let rows = if arguments.per_second { RunTableRows::Seconds } else { RunTableRows::Steps };
    let mut table = RunTableWriter::new(BufWriter::new(file.handle()?), rows, SOFTWARE)?;
    for directory in &directories {
        add_run(&mut table, directory)?;
    }
    let (rows, sink) = (table.rows(), table.finish()?);
    sink.into_inner().map_err(std::io::IntoInnerError::into_error)?.flush()?;
    file.persist()?;
    let what = if arguments.per_second { "seconds" } else { "steps" };
    terminal::status(&format!(
        "Written: {} ({rows} {what} of {})",
        arguments.output.display(),
        counted(directories.len() as u64, "run")
    ));
    Ok(ExitState::Done)
}

/// Adds a run to the table; its findings give its end and its caveats.
fn add_run(table: &mut RunTableWriter<BufWriter<File>>, directory: &Path) -> anyhow::Result<()> {
    let contents = Ledger::read(directory)?;
    let procedure = output::procedure(&contents)?;
    let findings = contents.clone().study(procedure.as_ref());
    let (device, host) = match contents.opening().map(|line| &line.entry) {
        Some(JournalEntry::Opened { device, host, .. }) => (device.as_ref(), Some(host.as_ref())),
        _ => (&contents.plan.device, None),
    };
    let name = directory.display().to_string();
    let run = ExportedRun {
        directory: &name,
        began_unix_ms: contents.plan.began_unix_ms,
        software: &contents.plan.software,
        engine: &contents.plan.engine,
        settings: &contents.plan.settings,
        device,
        host,
        findings: &findings,
        steps: contents.steps().collect(),
    };
    table.add(&run).with_context(|| name.clone())
}
