//! The command line of other tools' tests: what all of them take, and what each has of its
//! own.

use super::common::{EngineName, TargetArguments, WritingArguments, above_zero, more_than_nothing};
use super::heading;
use super::hosts::HostsArguments;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{Bytes, Nanos};

/// Options that only a test uses, by the names of their fields in [`FrontArguments`].
pub const TEST_OPTIONS: [&str; 13] = [
    "target", "size", "plan", "assume", "yes_destroy", "hosts", "hosts_plain", "ssh_config",
    "data_pattern", "engine", "seed", "hold_c_states", "meta",
];

/// Options of every command that runs another tool's test.
#[derive(Debug, Clone, Args)]
pub struct FrontArguments {
    #[command(flatten)]
    pub target: TargetArguments,
    /// Option of the command line that gives the target's size.
    #[arg(skip = "--size")]
    pub size_option: &'static str,
    /// Show what would run and how long it takes; touches nothing
    #[arg(long)]
    pub plan: bool,
    /// Sequential write rate per second, such as 2GB, to estimate steps that end by their bytes
    #[arg(long, value_name = "BYTES", requires = "plan", value_parser = more_than_nothing::<Bytes>)]
    pub assume: Option<Bytes>,
    /// Output: the run directory, which must not exist
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Serial number of the device that may be overwritten (its kernel name if it has none)
    #[arg(help_heading = heading::TARGET, long, value_name = "SERIAL")]
    pub yes_destroy: Vec<String>,
    #[command(flatten)]
    pub hosts: HostsArguments,
    /// Data to write; where the test does not say: random-unique, random-once, zero,
    /// repeating:HEX, file:PATH or entropy:RANDOM%,DUPLICATE%
    #[arg(long, value_name = "PATTERN")]
    pub data_pattern: Option<DataPattern>,
    /// Engine that submits the I/Os; default: uring, or sim for a simulated target
    #[arg(long)]
    pub engine: Option<EngineName>,
    /// Seed of every random choice; printed and recorded
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep the processors out of deep idle states during the run
    /// (/dev/cpu_dma_latency)
    #[arg(long)]
    pub hold_c_states: bool,
    /// Facts for the report that steadfast cannot detect; key=value, or a file of such lines
    #[arg(long, value_name = "FILE|KEY=VALUE")]
    pub meta: Vec<String>,
    /// Let this group read the files written; otherwise only root can read what root writes
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// Print JSON: the findings, or with --plan the plan
    #[arg(long)]
    pub json: bool,
}

/// `crystaldiskmark`.
#[derive(Debug, Args)]
pub struct CrystalDiskMarkArguments {
    #[command(flatten)]
    pub front: FrontArguments,
    /// Bytes to use, from the beginning of the target
    #[arg(long, value_name = "BYTES", default_value = "1GiB", value_parser = more_than_nothing::<Bytes>)]
    pub test_size: Bytes,
    /// Number of measured runs; the best of each test counts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub runs: u32,
    /// Measured time; of every run
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = more_than_nothing::<Nanos>)]
    pub time: Nanos,
    /// Pause before every run
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub interval: Nanos,
    /// The tests of the profile for NVMe drives
    #[arg(long)]
    pub nvme: bool,
    /// Mix of reads and writes; adds mixed tests with this share of reads
    #[arg(long, value_name = "MIX", num_args = 0..=1, default_missing_value = "70%",
          value_parser = steadfast_domain::units::parse_percent)]
    pub mix: Option<u8>,
    /// Write the result as a file of the other tool
    #[arg(long, short, value_name = "FILE")]
    pub result: Option<PathBuf>,
    /// Overwrite an existing regular file
    #[arg(long)]
    pub force: bool,
    /// Report a result that the other tool saved; nothing is tested
    #[arg(long, value_name = "FILE", conflicts_with_all = TEST_OPTIONS,
          conflicts_with_all = ["test_size", "runs", "time", "interval", "nvme", "mix", "result"])]
    pub read: Option<PathBuf>,
}

impl CrystalDiskMarkArguments {
    /// Returns the options for the files that it writes.
    pub fn writing(&self) -> WritingArguments {
        WritingArguments { force: self.force, group: self.front.group.clone() }
    }
}

/// `atto`.
#[derive(Debug, Args)]
pub struct AttoArguments {
    #[command(flatten)]
    pub front: FrontArguments,
    /// The smallest transfer
    #[arg(long, value_name = "BYTES", default_value = "512", value_parser = more_than_nothing::<Bytes>)]
    pub min_size: Bytes,
    /// The largest transfer
    #[arg(long, value_name = "BYTES", default_value = "64MiB", value_parser = more_than_nothing::<Bytes>)]
    pub max_size: Bytes,
    /// Bytes to use, from the beginning of the target
    #[arg(long, value_name = "BYTES", default_value = "256MiB", value_parser = more_than_nothing::<Bytes>)]
    pub test_size: Bytes,
    /// Outstanding I/Os per thread of the measured steps
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub depth: u32,
}

/// `fio`.
#[derive(Debug, Args)]
pub struct FioArguments {
    /// The job file; none if --name=JOB and its options are given
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub front: FrontArguments,
    /// Run only the job of this name; as with fio, repeatable
    #[arg(long, value_name = "JOB")]
    pub section: Vec<String>,
    /// An option of fio, as NAME=VALUE
    #[arg(long = "fio-option", hide = true, value_name = "OPTION")]
    pub options: Vec<String>,
}

/// `fiosynth`.
#[derive(Debug, Args)]
pub struct FioSynthArguments {
    /// The suite
    #[arg(value_name = "SUITE.json")]
    pub file: PathBuf,
    #[command(flatten)]
    pub front: FrontArguments,
    /// Directory of the suite's templates; default: that of the suite, its
    /// jobfiles, or ../jobfiles
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// Capacity in TB by which rates are scaled; default: the target's
    #[arg(long, value_name = "TB", value_parser = terabytes)]
    pub capacity: Option<f64>,
}

fn terabytes(text: &str) -> Result<f64, String> {
    above_zero(text).ok_or_else(|| "give a number above 0, such as 3.8".to_owned())
}

/// `export`.
#[derive(Debug, Args)]
pub struct ExportCommandArguments {
    /// Kind of file to write
    #[command(subcommand)]
    pub command: ExportCommand,
}

/// Exports of a run.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// The loads of a run's steps as a job file of fio
    #[command(
        after_help = "Examples:\n  steadfast export fio RUN_DIR --step-number 7 -o step7.fio\n  \
        steadfast export fio RUN_DIR --filename /dev/nvme1n1"
    )]
    Fio(ExportFioArguments),
    /// The steps of many runs as one Parquet table, for DuckDB, pandas or Spark
    #[command(after_help = "Examples:\n  \
        steadfast export parquet RUN_DIR RUN_DIR -o steps.parquet\n  \
        steadfast export parquet RUN_DIR --per-second -o seconds.parquet\n  \
        duckdb -c \"select device_model, round, avg(iops) from 'steps.parquet' group by all\"")]
    Parquet(super::export::ParquetArguments),
}

/// `export fio`.
#[derive(Debug, Args)]
pub struct ExportFioArguments {
    /// The run directory
    pub run_dir: PathBuf,
    /// Only this step; by its number in the order of the run (from 1). Default: all, one after
    /// the other
    #[arg(long, value_name = "N")]
    pub step_number: Option<usize>,
    /// The file or device that the job file names; default: the run's target
    #[arg(long, value_name = "FILE")]
    pub filename: Option<String>,
    /// Output: the job file; default: standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub writing: WritingArguments,
}
