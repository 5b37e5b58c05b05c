//! The command line of `export`: what other programs read.

use super::WritingArguments;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// In which form.
    #[command(subcommand)]
    pub command: ExportCommand,
}

/// The forms.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Write the steps of many runs as one Parquet table, for DuckDB, pandas or Spark
    #[command(after_help = "Examples:\n  \
        steadfast export parquet RUN_DIR RUN_DIR -o steps.parquet\n  \
        steadfast export parquet RUN_DIR --intervals -o seconds.parquet\n  \
        duckdb -c \"select device_model, round, avg(iops) from 'steps.parquet' group by all\"")]
    Parquet(ParquetArguments),
}

/// `export parquet`.
#[derive(Debug, Args)]
pub struct ParquetArguments {
    /// Run directories, or directories of several targets' runs
    #[arg(required = true, value_name = "RUN_DIR")]
    pub runs: Vec<PathBuf>,
    /// The file to write
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// One row for each second of each step, not one for each step
    #[arg(long)]
    pub intervals: bool,
    #[command(flatten)]
    pub writing: WritingArguments,
}
