//! The command line of other tools' tests: what all of them take, and what each has of its
//! own.

use super::common::{EngineName, WritingArguments, more_than_nothing};
use super::hosts::HostsArguments;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::{Bytes, Nanos};

/// What every command takes that runs another tool's test.
#[derive(Debug, Clone, Args)]
pub struct FrontArguments {
    /// A block device, a file, or sim:NAME (a simulated drive)
    #[arg(long, value_name = "T")]
    pub target: Vec<String>,
    /// Create the target file with this size
    #[arg(long, value_parser = more_than_nothing::<Bytes>)]
    pub size: Option<Bytes>,
    /// Option of the command line that gives `size`.
    #[arg(skip = "--size")]
    pub size_option: &'static str,
    /// Show what would run, in order, and how long it takes; touches nothing
    #[arg(long)]
    pub plan: bool,
    /// For --plan: sequential rate per second, to estimate steps that end by their bytes
    #[arg(long, value_name = "BYTES", requires = "plan", value_parser = more_than_nothing::<Bytes>)]
    pub assume: Option<Bytes>,
    /// The run directory to create; it must not exist
    #[arg(long, short, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The serial number of the device that may be overwritten (its kernel name if it has
    /// none)
    #[arg(long, value_name = "SERIAL")]
    pub yes_destroy: Vec<String>,
    #[command(flatten)]
    pub hosts: HostsArguments,
    /// Data to write, where the test leaves it open: random-unique, random-once, zero,
    /// repeating:HEX, file:PATH or entropy:RANDOM%,DUPLICATE%
    #[arg(long)]
    pub data_pattern: Option<DataPattern>,
    /// uring, fio or sim; default: uring, or sim for a simulated target
    #[arg(long)]
    pub engine: Option<EngineName>,
    /// Seed of every random choice; printed and recorded
    #[arg(long)]
    pub seed: Option<u64>,
    /// Keep the processors out of slow idle states during the run
    /// (/dev/cpu_dma_latency)
    #[arg(long)]
    pub hold_c_states: bool,
    /// Facts for the report that steadfast cannot read: key=value, or a file of such lines
    #[arg(long, value_name = "FILE|KEY=VALUE")]
    pub meta: Vec<String>,
    /// Let this group read the files written; otherwise only root can read what root
    /// writes
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// Print the findings (with --plan: the plan) as JSON
    #[arg(long)]
    pub json: bool,
}

/// `crystaldiskmark`.
#[derive(Debug, Args)]
pub struct CrystalDiskMarkArguments {
    #[command(flatten)]
    pub front: FrontArguments,
    /// Bytes that are tested, from the beginning of the target
    #[arg(long, default_value = "1GiB", value_parser = more_than_nothing::<Bytes>)]
    pub test_size: Bytes,
    /// Attempts at every test; the best counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub loops: u32,
    /// Measured time of every attempt
    #[arg(long, default_value = "5s", value_parser = more_than_nothing::<Nanos>)]
    pub measure: Nanos,
    /// Pause before every attempt
    #[arg(long, default_value = "5s")]
    pub interval: Nanos,
    /// The tests of the profile for NVMe drives
    #[arg(long)]
    pub nvme: bool,
    /// Mixed tests, too, with this share of reads
    #[arg(long, value_name = "R%", num_args = 0..=1, default_missing_value = "70%",
          value_parser = steadfast_domain::units::parse_percent)]
    pub mix: Option<u8>,
    /// Write CrystalDiskMark's text result here
    #[arg(long, short, value_name = "FILE")]
    pub result: Option<PathBuf>,
    /// Overwrite an existing result file
    #[arg(long)]
    pub force: bool,
    /// Report a result that CrystalDiskMark saved; nothing is tested
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "result", "plan"])]
    pub read: Option<PathBuf>,
}

impl CrystalDiskMarkArguments {
    /// How its files are written.
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
    #[arg(long, default_value = "512", value_parser = more_than_nothing::<Bytes>)]
    pub from: Bytes,
    /// The largest transfer
    #[arg(long, default_value = "64MiB", value_parser = more_than_nothing::<Bytes>)]
    pub to: Bytes,
    /// Total length: the bytes that are tested, from the beginning of the target
    #[arg(long, default_value = "256MiB", value_parser = more_than_nothing::<Bytes>)]
    pub length: Bytes,
    /// Outstanding I/Os
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub queue_depth: u32,
}

/// `fio`.
#[derive(Debug, Args)]
pub struct FioArguments {
    /// The job file; none where --name=JOB and its options are given
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub front: FrontArguments,
    /// Run only the job of this name, as with fio; repeatable
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
    /// Directory of the suite's templates; default: beside the suite, jobfiles in it, or
    /// ../jobfiles
    #[arg(long, value_name = "DIR")]
    pub templates: Option<PathBuf>,
    /// Capacity in TB by which rates are scaled; default: the target's
    #[arg(long, value_name = "TB", value_parser = positive)]
    pub capacity: Option<f64>,
}

/// A number above 0.
fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("give a number above 0, such as 3.8".to_owned()),
    }
}

/// `export`.
#[derive(Debug, Args)]
pub struct ExportCommandArguments {
    /// What to write
    #[command(subcommand)]
    pub command: ExportCommand,
}

/// What can be written.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// The loads of a run's steps as a job file of fio
    #[command(after_help = "Examples:\n  steadfast export fio RUN_DIR --step 7 -o step7.fio\n  \
        steadfast export fio RUN_DIR --filename /dev/nvme1n1")]
    Fio(ExportFioArguments),
    /// The steps of many runs as one Parquet table, for DuckDB, pandas or Spark
    #[command(after_help = "Examples:\n  \
        steadfast export parquet RUN_DIR RUN_DIR -o steps.parquet\n  \
        steadfast export parquet RUN_DIR --intervals -o seconds.parquet\n  \
        duckdb -c \"select device_model, round, avg(iops) from 'steps.parquet' group by all\"")]
    Parquet(super::export::ParquetArguments),
}

/// `export fio`.
#[derive(Debug, Args)]
pub struct ExportFioArguments {
    /// The run directory
    pub run_dir: PathBuf,
    /// Only this step, by its number in the order of the run (from 1); default: all, one
    /// after the other
    #[arg(long, value_name = "N")]
    pub step: Option<usize>,
    /// The file or device that the job file names; default: the run's target
    #[arg(long, value_name = "T")]
    pub filename: Option<String>,
    /// The job file to write; default: standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub writing: WritingArguments,
}
