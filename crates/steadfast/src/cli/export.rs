//! The command line of `export parquet`.

use super::common::WritingArguments;
use clap::Args;
use std::path::PathBuf;

/// `export parquet`.
#[derive(Debug, Args)]
pub struct ParquetArguments {
    /// Run directories, or directories of several targets' runs
    #[arg(required = true, value_name = "RUN_DIR")]
    pub runs: Vec<PathBuf>,
    /// Output: the Parquet file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// One row for each second of each step; otherwise one for each step
    #[arg(long)]
    pub per_second: bool,
    #[command(flatten)]
    pub writing: WritingArguments,
}
