//! `steadfast export`: runs in formats for other programs.

mod column;
mod fio;
mod run_columns;
mod step_columns;

use crate::asked::SOFTWARE;
use crate::cli::export::ParquetArguments;
use crate::cli::front::{ExportCommand, ExportCommandArguments};
use crate::exit::ExitState;
use crate::terminal;
use crate::writing::OutputRule;
use anyhow::Context;
use column::ExportColumn;
use run_columns::ExportedRun;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use steadfast_runner::RunGroup;
use steadfast_tracefile::table::{ColumnType, TableValue, TableWriter};

/// Version of the table schema. Added columns do not change it.
const VERSION: u32 = 1;

/// Writes the requested export.
pub fn run(arguments: &ExportCommandArguments) -> anyhow::Result<ExitState> {
    match &arguments.command {
        ExportCommand::Fio(arguments) => fio::fio(arguments),
        ExportCommand::Parquet(arguments) => parquet(arguments),
    }
}

fn parquet(arguments: &ParquetArguments) -> anyhow::Result<ExitState> {
    // Refuse an impossible output file before the work.
    let file = OutputRule::of(&arguments.writing)?.begin(&arguments.output)?;
    let mut directories = Vec::new();
    for run in &arguments.runs {
        directories.extend(RunGroup::runs_in(run)?);
    }
    let handle = BufWriter::new(file.handle()?);
    let (rows, sink) = if arguments.per_second {
        table(handle, &directories, &step_columns::of_seconds(), ExportedRun::seconds)?
    } else {
        table(handle, &directories, &step_columns::of_steps(), ExportedRun::steps)?
    };
    sink.into_inner().map_err(std::io::IntoInnerError::into_error)?.flush()?;
    file.place()?;
    let what = if arguments.per_second { "seconds" } else { "steps" };
    terminal::tell(&format!(
        "Written: {} ({rows} {what} of {} runs)",
        arguments.output.display(),
        directories.len()
    ));
    Ok(ExitState::Done)
}

/// Writes a table with one row group per run.
fn table<R>(
    sink: BufWriter<File>,
    directories: &[PathBuf],
    columns: &[ExportColumn<R>],
    rows_of: impl for<'r> Fn(&'r ExportedRun) -> Vec<R>,
) -> anyhow::Result<(u64, BufWriter<File>)> {
    let names: Vec<(&str, ColumnType)> = run_columns::columns()
        .iter()
        .map(|(name, kind, _)| (*name, *kind))
        .chain(columns.iter().map(|(name, kind, _)| (*name, *kind)))
        .collect();
    let about =
        [("steadfast.software", SOFTWARE.to_owned()), ("steadfast.table", VERSION.to_string())];
    let mut table = TableWriter::new(sink, &names, &about)?;
    for directory in directories {
        let run = ExportedRun::read(directory)?;
        let of_run: Vec<TableValue> =
            run_columns::columns().iter().map(|(.., value)| value(&run)).collect();
        let row = |row: R| -> Vec<TableValue> {
            of_run.iter().cloned().chain(columns.iter().map(|(.., value)| value(&row))).collect()
        };
        let rows: Vec<Vec<TableValue>> = rows_of(&run).into_iter().map(row).collect();
        table.add(&rows).with_context(|| directory.display().to_string())?;
    }
    let rows = table.rows();
    Ok((rows, table.finish()?))
}
