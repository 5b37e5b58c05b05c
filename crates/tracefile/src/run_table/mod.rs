//! The steps of runs as one Parquet table, whose schema docs/formats.md describes.

mod column;
mod run_columns;
mod step_columns;

use crate::error::TraceError;
use crate::table::{ColumnType, TableValue, TableWriter};
use column::ExportColumn;
pub use run_columns::ExportedRun;
use std::io::Write;
use step_columns::ExportedStep;

/// Version of the table schema. Added columns do not change it.
const VERSION: u32 = 1;

/// Rows of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunTableRows {
    /// One row per step.
    Steps,
    /// One row per accounting interval of every step.
    Seconds,
}

/// A table of runs that is being written. Every method returns [`TraceError::Encode`] if writing
/// fails.
pub struct RunTableWriter<W: Write + Send> {
    table: TableWriter<W>,
    rows: RunTableRows,
}

impl<W: Write + Send> RunTableWriter<W> {
    /// Starts a table; `software` is the program that writes it.
    pub fn new(sink: W, rows: RunTableRows, software: &str) -> Result<Self, TraceError> {
        let row_columns = match rows {
            RunTableRows::Steps => names(&step_columns::columns_of_steps()),
            RunTableRows::Seconds => names(&step_columns::columns_of_seconds()),
        };
        let columns = [names(&run_columns::columns_of_run()), row_columns].concat();
        let metadata =
            [("steadfast.software", software.to_owned()), ("steadfast.table", VERSION.to_string())];
        Ok(RunTableWriter { table: TableWriter::new(sink, &columns, &metadata)?, rows })
    }

    /// Writes a run as a row group.
    pub fn add(&mut self, run: &ExportedRun<'_>) -> Result<(), TraceError> {
        let run_values = values(&run_columns::columns_of_run(), run);
        let steps = (1..).zip(&run.steps).map(|(number, (step, outcome))| ExportedStep {
            number,
            step,
            outcome,
        });
        let rows: Vec<Vec<TableValue>> = match self.rows {
            RunTableRows::Steps => {
                let columns = step_columns::columns_of_steps();
                steps.map(|step| values(&columns, &step)).collect()
            }
            RunTableRows::Seconds => {
                let columns = step_columns::columns_of_seconds();
                let seconds = steps.flat_map(ExportedStep::seconds);
                seconds.map(|second| values(&columns, &second)).collect()
            }
        };
        let rows: Vec<_> = rows.into_iter().map(|row| [run_values.clone(), row].concat()).collect();
        self.table.add(&rows)
    }

    /// Returns the number of rows written so far.
    pub fn rows(&self) -> u64 {
        self.table.rows()
    }

    /// Finishes the file and returns the sink.
    pub fn finish(self) -> Result<W, TraceError> {
        self.table.finish()
    }
}

fn names<R>(columns: &[ExportColumn<R>]) -> Vec<(&'static str, ColumnType)> {
    columns.iter().map(|(name, kind, _)| (*name, *kind)).collect()
}

fn values<R>(columns: &[ExportColumn<R>], row: &R) -> Vec<TableValue> {
    columns.iter().map(|(.., value)| value(row)).collect()
}
