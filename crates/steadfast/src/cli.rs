//! The command line: names, help and examples. Nothing is done here.

use crate::exit;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::units::parse_percent;
use steadfast_domain::{Bytes, Class, Demand, Nanos, Profile};

/// SSD performance tests by the SNIA method, from purge to report.
///
/// Tests that write DESTROY everything on their target. A block device is
/// touched only after its serial number was given with --yes-destroy.
#[derive(Debug, Parser)]
#[command(name = "steadfast", version, after_help = exit::HELP, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What is here: every block device and the simulated drives
    #[command(after_help = "Example:\n  steadfast devices --json")]
    Devices(DevicesArguments),
    /// What would run, in order, and how long; touches nothing
    #[command(after_help = "Example:\n  steadfast plan iops --target /dev/nvme0n1 --assume 2GB")]
    Plan(PlanArguments),
    /// Run a procedure to its report. DESTROYS everything on the target
    #[command(after_help = "Examples:\n  \
        steadfast run iops --target /dev/nvme0n1 --yes-destroy S4EVNF0M123456\n  \
        steadfast run iops --target scratch.bin --size 4GiB --profile quick\n  \
        steadfast run iops --target sim:small --out tried")]
    Run(RunArguments),
    /// Apply one stimulus and print what it gave
    #[command(after_help = "Examples:\n  \
        steadfast measure \"RND 4K R\" --target /dev/nvme0n1 --demand T4Q32 --time 10s\n  \
        steadfast measure \"RND 4K RW65\" --target sim:small --json")]
    Measure(MeasureArguments),
    /// Go on with a run after a crash, a reboot or Ctrl-C; repeats nothing
    #[command(after_help = "Examples:\n  steadfast resume RUN_DIR\n  \
        steadfast resume RUN_DIR --rounds 40   (more rounds than the cap)\n  \
        steadfast resume RUN_DIR --stop        (end with the rounds that are complete)")]
    Resume(ResumeArguments),
    /// Put back the host settings that a dead run had changed
    #[command(after_help = "Example:\n  steadfast restore RUN_DIR")]
    Restore(RunDirectory),
    /// Compute the findings again from the record
    #[command(after_help = "Example:\n  steadfast study RUN_DIR --json")]
    Study(StudyArguments),
    /// Write the report again
    #[command(after_help = "Example:\n  steadfast report RUN_DIR --format html,pdf")]
    Report(ReportArguments),
    /// Print a shell's completion script
    #[command(
        after_help = "Example:\n  steadfast completions bash > /etc/bash_completion.d/steadfast"
    )]
    Completions(CompletionsArguments),
    /// Print the manual page (roff)
    #[command(after_help = "Example:\n  steadfast man | man -l -")]
    Man,
}

/// `devices`.
#[derive(Debug, Args)]
pub struct DevicesArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What is tested, and how.
#[derive(Debug, Args)]
pub struct ProcedureArguments {
    /// The procedure: iops
    pub procedure: String,
    /// A block device, a file, or sim:NAME (a simulated drive)
    #[arg(long, value_name = "T")]
    pub target: String,
    /// Create the target file with this size
    #[arg(long)]
    pub size: Option<Bytes>,
    /// enterprise (write cache off, all of the capacity, T4Q32) or client
    /// (write cache on, 75 %, T2Q16)
    #[arg(long, default_value_t)]
    pub class: Class,
    /// pts-2.0, pts-1.1, tkperf, or quick (a look, not the full method)
    #[arg(long, default_value_t)]
    pub profile: Profile,
    /// Threads of the measured steps
    #[arg(long)]
    pub threads: Option<u32>,
    /// Outstanding I/Os per thread of the measured steps
    #[arg(long)]
    pub depth: Option<u32>,
    /// Length of a measured step, such as 60s
    #[arg(long)]
    pub step_time: Option<Nanos>,
    /// Part of the capacity that is touched, such as 75%
    #[arg(long, value_parser = parse_percent)]
    pub active_range: Option<u8>,
    /// rounds (stop when steady) or post-25 (run 25, judge every window
    /// afterwards); for wsat also btw (writes between measured minutes),
    /// time:6h, bytes:8TB, fills:4
    #[arg(long, default_value_t)]
    pub steady_state: SteadyStateMethod,
    /// The most rounds
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_rounds: Option<u32>,
    /// random-unique, random-once, zero, repeating:HEX, file:PATH or
    /// entropy:RANDOM%,DUPLICATE%
    #[arg(long, default_value_t)]
    pub data_pattern: DataPattern,
    /// uring or sim; by default what the target needs
    #[arg(long)]
    pub engine: Option<EngineName>,
    /// Drives every random choice; printed and recorded
    #[arg(long)]
    pub seed: Option<u64>,
    /// Check that what is read is what this run wrote
    #[arg(long)]
    pub verify: bool,
    /// The access pattern of wsat and dirth: "RND 4K W", "SEQ 128K RW90", composite, ...
    #[arg(long)]
    pub workload: Option<String>,
    /// Reads and writes of a composite workload, such as 40/60
    #[arg(long, value_name = "R/W")]
    pub mix: Option<String>,
    /// The procedures of a suite, such as iops,latency
    #[arg(long, value_name = "LIST")]
    pub procedures: Option<String>,
    /// A parameter of the procedure; docs/procedures lists them
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// What only you know, for the report: key=value, or a file of such lines
    /// (vendor, model, sponsor, nand, form-factor, note, ...)
    #[arg(long, value_name = "FILE|KEY=VALUE")]
    pub meta: Vec<String>,
}

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// A real device, through io_uring (Linux AIO or threads where that is off).
    Uring,
    /// A simulated drive in virtual time.
    Sim,
}

/// `plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    #[command(flatten)]
    pub procedure: ProcedureArguments,
    /// Sequential write rate per second to reckon preconditioning with, such as 2GB
    #[arg(long, value_name = "BYTES")]
    pub assume: Option<Bytes>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub procedure: ProcedureArguments,
    /// The run directory; must not exist
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The serial number of the device that may be overwritten (its kernel
    /// name where it has none)
    #[arg(long, value_name = "SERIAL")]
    pub yes_destroy: Option<String>,
    /// Print the findings as JSON when the run ends
    #[arg(long)]
    pub json: bool,
}

/// `measure`.
#[derive(Debug, Args)]
pub struct MeasureArguments {
    /// The access pattern: "RND 4K RW65", "SEQ 128K W"
    pub pattern: AccessPattern,
    /// A block device, a file, or sim:NAME
    #[arg(long, value_name = "T")]
    pub target: String,
    /// Create the target file with this size
    #[arg(long)]
    pub size: Option<Bytes>,
    /// Threads and outstanding I/Os per thread
    #[arg(long, default_value = "T1Q1")]
    pub demand: Demand,
    /// Measured time
    #[arg(long, default_value = "10s")]
    pub time: Nanos,
    /// Time before it that is not measured
    #[arg(long, default_value = "0s")]
    pub ramp: Nanos,
    /// Part of the capacity that is touched
    #[arg(long, value_parser = parse_percent, default_value = "100%")]
    pub active_range: u8,
    /// What is written
    #[arg(long, default_value_t)]
    pub data_pattern: DataPattern,
    /// Drives every random choice
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Check that what is read is what this command wrote
    #[arg(long)]
    pub verify: bool,
    /// The serial number of the device that may be overwritten; only for writes
    #[arg(long, value_name = "SERIAL")]
    pub yes_destroy: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `resume`.
#[derive(Debug, Args)]
pub struct ResumeArguments {
    /// The run directory
    pub run_dir: PathBuf,
    /// Go on for up to this many rounds in all
    #[arg(long, conflicts_with = "stop", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// End the rounds here and report
    #[arg(long)]
    pub stop: bool,
    /// Print the findings as JSON when the run ends
    #[arg(long)]
    pub json: bool,
}

/// A run directory.
#[derive(Debug, Args)]
pub struct RunDirectory {
    /// The run directory
    pub run_dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `study`.
#[derive(Debug, Args)]
pub struct StudyArguments {
    /// The run directory
    pub run_dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The run directory
    pub run_dir: PathBuf,
    /// Which: html, pdf, csv, json, text (printed)
    #[arg(long, value_delimiter = ',', default_value = "html,pdf,csv,json")]
    pub format: Vec<Format>,
}

/// A form of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// `report.html`, one self-contained page.
    Html,
    /// `report.pdf`.
    Pdf,
    /// One file per table.
    Csv,
    /// `findings.json`.
    Json,
    /// The tables, on standard output.
    Text,
}

/// `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: clap_complete::Shell,
}
