//! The command line: names, help and examples. Nothing is done here.

pub mod replay;
pub mod trace;

use crate::exit;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::str::FromStr;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{SimGap, SteadyStateMethod};
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::units::parse_percent;
use steadfast_domain::{Bytes, Class, Demand, Nanos, Profile, PurgeChoice, PurgeFailure};
use steadfast_runner::calibrate::Point;

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

/// Reads the command line; a wrong one ends the process with code 2.
pub fn parse() -> Cli {
    Cli::try_parse().unwrap_or_else(|error| in_plain_words(error).exit())
}

/// A negative value looks like an option, which is not what its user must hear.
fn in_plain_words(error: clap::Error) -> clap::Error {
    let is_negative = |text: &String| {
        text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    match std::env::args().skip(1).find(is_negative) {
        Some(value) if error.kind() == ErrorKind::UnknownArgument => Cli::command().error(
            ErrorKind::InvalidValue,
            format!("{value} is negative; times, sizes and counts cannot be negative"),
        ),
        _ => error,
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// What is here: every block device and the simulated drives
    #[command(after_help = "Example:\n  steadfast devices --json")]
    Devices(DevicesArguments),
    /// Look for what would spoil a measurement, on the device and on the host
    #[command(after_help = "Examples:\n  steadfast doctor /dev/nvme0n1\n  \
        steadfast doctor /dev/sda --json")]
    Doctor(DoctorArguments),
    /// What would run, in order, and how long; touches nothing
    #[command(after_help = "Example:\n  steadfast plan iops --target /dev/nvme0n1 --assume 2GB")]
    Plan(PlanArguments),
    /// Run a procedure to its report. DESTROYS everything on the target
    #[command(after_help = "Examples:\n  \
        steadfast run iops --target /dev/nvme0n1 --yes-destroy S4EVNF0M123456\n  \
        steadfast run iops --target scratch.bin --size 4GiB --profile quick\n  \
        steadfast run iops --target sim:small --out tried\n  \
        steadfast run multi-wsat --workload retail-web-portal --target sim:small\n  \
        steadfast run replay-native --workload monday.parquet --exact --target T")]
    Run(RunArguments),
    /// Apply one stimulus and print what it gave
    #[command(after_help = "Examples:\n  \
        steadfast measure \"RND 4K R\" --target /dev/nvme0n1 --demand T4Q32 --time 10s\n  \
        steadfast measure \"RND 4K RW65\" --target sim:small --json\n  \
        steadfast measure --workload workload.toml --target scratch.bin --ios 10007")]
    Measure(MeasureArguments),
    /// Compare our engine with fio on the same points, taking turns
    #[command(after_help = "Examples:\n  \
        steadfast calibrate --target /dev/nvme0n1   (reads only)\n  \
        steadfast calibrate --target /dev/nvme0n1 --yes-destroy S4EVNF0M123456\n  \
        steadfast calibrate --target scratch.bin --size 1GiB --points \"RND 4K R T1Q1\" --time 2s")]
    Calibrate(CalibrateArguments),
    /// Go on with a run after a crash, a reboot or Ctrl-C; repeats nothing
    #[command(after_help = "Examples:\n  steadfast resume RUN_DIR\n  \
        steadfast resume RUN_DIR --rounds 40   (more rounds than the cap)\n  \
        steadfast resume RUN_DIR --stop        (end with the rounds that are complete)\n  \
        steadfast resume RUN_DIR --yes-destroy loop0   (another device than it was)")]
    Resume(ResumeArguments),
    /// Put back what a killed run, measure, calibrate or capture left changed on
    /// the host
    #[command(after_help = "Examples:\n  steadfast restore           (of all killed \
        commands without a run directory)\n  steadfast restore RUN_DIR   (of a killed run)")]
    Restore(RestoreArguments),
    /// Take away the ATA password that a purge left on a drive when its run died
    #[command(after_help = "Examples:\n  steadfast unlock RUN_DIR\n  \
        steadfast unlock --device /dev/sda --password steadfast")]
    Unlock(UnlockArguments),
    /// Compute the findings again from the record
    #[command(after_help = "Example:\n  steadfast study RUN_DIR --json")]
    Study(StudyArguments),
    /// Write the report again
    #[command(after_help = "Example:\n  steadfast report RUN_DIR --format html,pdf")]
    Report(ReportArguments),
    /// Put up to seven runs side by side
    #[command(after_help = "Examples:\n  \
        steadfast compare RUN_DIR RUN_DIR RUN_DIR -o comparison\n  \
        steadfast compare old/findings.json new/findings.json -o comparison.pdf")]
    Compare(CompareArguments),
    /// Judge a run's numbers by the limits of a datasheet
    #[command(after_help = "Examples:\n  \
        steadfast check RUN_DIR --limits datasheet.toml\n  \
        steadfast check RUN_DIR --list   (the names that a limit can use)")]
    Check(CheckArguments),
    /// Record what this machine does to its block devices into a trace file
    #[command(after_help = "Examples:\n  \
        steadfast capture --device /dev/nvme0n1 --duration 24h -o monday.parquet\n  \
        steadfast capture --device /dev/sda --device /dev/sdb --rotate-time 1h -o db.parquet\n  \
        steadfast capture --device /dev/sda --layer block,filesystem -o both.parquet\n  \
        steadfast capture --device /dev/sda --steps 1s --duration 24h -o day.parquet")]
    Capture(CaptureArguments),
    /// Name this moment in every capture that runs
    #[command(after_help = "Example:\n  steadfast mark \"backup begins\"")]
    Mark(MarkArguments),
    /// What a trace holds: I/O streams, capture steps, maps, workloads, a report
    Trace(trace::TraceArguments),
    /// Workloads that a test can apply to a drive: made of a trace, or shipped
    Workload(trace::WorkloadArguments),
    /// How true a replay was: two captures side by side
    Replay(replay::ReplayCommandArguments),
    /// Print a shell's completion script
    #[command(
        after_help = "Example:\n  steadfast completions bash > /etc/bash_completion.d/steadfast"
    )]
    Completions(CompletionsArguments),
    /// Print the manual page (roff)
    #[command(after_help = "Example:\n  steadfast man | man -l -")]
    Man,
}

/// How files are written that the user names.
#[derive(Debug, Default, Args)]
pub struct WritingArguments {
    /// Overwrite what has the name already, where it is a regular file
    #[arg(long)]
    pub force: bool,
    /// Let this group read what is written; what root writes is otherwise for
    /// root alone
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
}

impl Command {
    /// Whether it works on a device, and so should hear what a killed process left.
    pub fn works_on_devices(&self) -> bool {
        matches!(
            self,
            Command::Doctor(_)
                | Command::Run(_)
                | Command::Resume(_)
                | Command::Measure(_)
                | Command::Calibrate(_)
                | Command::Capture(_)
        )
    }
}

/// A process of this machine by its number; unlike a trace, a capture knows no names.
fn process_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "give a process number, such as pgrep prints".to_owned())
}

/// A width that capture steps can have.
fn capture_step(text: &str) -> Result<Nanos, String> {
    let width: Nanos = text.parse().map_err(|error: <Nanos as FromStr>::Err| error.to_string())?;
    match steadfast_trace::study::is_step_width(width.0) {
        true => Ok(width),
        false => Err("give 100us to 1h, or whole hours".to_owned()),
    }
}

/// A size or a time that is more than nothing.
fn more_than_nothing<T>(text: &str) -> Result<T, String>
where
    T: FromStr<Err: ToString> + Default + PartialEq,
{
    match text.parse::<T>() {
        Ok(value) if value == T::default() => Err("give more than 0".to_owned()),
        Ok(value) => Ok(value),
        Err(error) => Err(error.to_string()),
    }
}

/// A percentage above 0.
fn percentage(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("give a percentage above 0, such as 5".to_owned()),
    }
}

/// The most threads or outstanding I/Os per thread that are accepted.
const DEMAND_MAX: i64 = 4096;

/// `devices`.
#[derive(Debug, Args)]
pub struct DevicesArguments {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// A block device, a file, or sim:NAME (a simulated drive); it is not written to
    pub device: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What is tested, and how.
#[derive(Debug, Args)]
pub struct ProcedureArguments {
    /// The procedure: iops, throughput, latency, wsat, composite, dirth, composite-dirth, xsr, hir
    /// or suite (several of them); of a captured workload: replay-native, individual-streams,
    /// multi-wsat, rwsw-dirth
    pub procedure: String,
    /// A block device, a file, or sim:NAME (a simulated drive)
    #[arg(long, value_name = "T")]
    pub target: String,
    /// Create the target file with this size
    #[arg(long, value_parser = more_than_nothing::<Bytes>)]
    pub size: Option<Bytes>,
    /// enterprise (write cache off, all of the capacity, T4Q32) or client
    /// (write cache on, 75 %, T2Q16)
    #[arg(long, default_value_t)]
    pub class: Class,
    /// pts-2.0, pts-1.1, tkperf, or quick (a look, not the full method)
    #[arg(long, default_value_t)]
    pub profile: Profile,
    /// Threads of the measured steps
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=DEMAND_MAX))]
    pub threads: Option<u32>,
    /// Outstanding I/Os per thread of the measured steps
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=DEMAND_MAX))]
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
    /// uring, fio or sim; by default uring, or sim for a simulated target
    #[arg(long)]
    pub engine: Option<EngineName>,
    /// Drives every random choice; printed and recorded
    #[arg(long)]
    pub seed: Option<u64>,
    /// A gap in virtual time before this step, as if the run had been broken off
    /// there: 120:1h. For simulated drives only
    #[arg(long, value_name = "STEP:TIME")]
    pub sim_gap: Option<SimGap>,
    /// Check that what is read is what this run wrote
    #[arg(long)]
    pub verify: bool,
    /// The access pattern of wsat and dirth: "RND 4K W", "SEQ 128K RW90", composite, ...
    /// Of the procedures that apply a captured workload: a trace, a step file, a workload
    /// file, a Replay representation, or a name of `workload list`; of a rotated
    /// capture all its files, each with --workload
    #[arg(long, value_name = "PATTERN|FILE|NAME")]
    pub workload: Vec<String>,
    /// Reads and writes of a composite workload, such as 40/60
    #[arg(long, value_name = "R/W")]
    pub mix: Option<String>,
    /// The procedures of a suite, such as iops,latency
    #[arg(long, value_name = "LIST")]
    pub procedures: Option<String>,
    /// Keep the processors out of idle states that are slow to leave, during
    /// the run (/dev/cpu_dma_latency)
    #[arg(long)]
    pub hold_c_states: bool,
    /// A command that prints the device's power: milliwatts, or with a unit
    /// (4.2 W). Run once a second, without a shell
    #[arg(long, value_name = "COMMAND")]
    pub power_command: Option<String>,
    /// Bytes of which the offset of every random I/O is a multiple: auto (the
    /// block size; 4K for the composite), 4K or 512
    #[arg(long, value_name = "auto|4K|512")]
    pub alignment: Option<String>,
    /// A parameter of the procedure; docs/procedures lists them
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// What only you know, for the report: key=value, or a file of such lines
    /// (vendor, model, sponsor, nand, form-factor, note, ...)
    #[arg(long, value_name = "FILE|KEY=VALUE")]
    pub meta: Vec<String>,
    #[command(flatten)]
    pub replay: replay::ReplayArguments,
}

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// A real device, through io_uring (Linux AIO or threads where that is off).
    Uring,
    /// A real device, through an installed fio 3.x (docs/fio.md).
    Fio,
    /// A simulated drive in virtual time.
    Sim,
}

/// `plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    #[command(flatten)]
    pub procedure: ProcedureArguments,
    /// Sequential write rate per second to reckon preconditioning with, such as 2GB
    #[arg(long, value_name = "BYTES", value_parser = more_than_nothing::<Bytes>)]
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
    /// name where it has none); once more for each other namespace that the
    /// purge reaches
    #[arg(long, value_name = "SERIAL")]
    pub yes_destroy: Vec<String>,
    /// How the device is purged: auto (the best that it says it can),
    /// nvme-format, nvme-format-crypto, nvme-sanitize-block,
    /// nvme-sanitize-crypto, nvme-sanitize-overwrite, ata-security-erase,
    /// ata-security-erase-enhanced, ata-sanitize-block, ata-sanitize-crypto,
    /// ata-sanitize-overwrite, scsi-format, scsi-sanitize-block,
    /// scsi-sanitize-crypto, scsi-sanitize-overwrite, discard or none
    /// (docs/purge.md)
    #[arg(long, default_value_t, value_name = "METHOD")]
    pub purge: PurgeChoice,
    /// halt, or go-on with a device that is not purged
    #[arg(long, default_value_t, value_name = "ANSWER")]
    pub purge_failed: PurgeFailure,
    /// Let the members of this group read the run directory; as root, nobody
    /// else may without it
    #[arg(long, value_name = "NAME")]
    pub group: Option<String>,
    /// Print the findings as JSON when the run ends
    #[arg(long)]
    pub json: bool,
}

/// `measure`.
#[derive(Debug, Args)]
pub struct MeasureArguments {
    /// The access pattern: "RND 4K RW65", "SEQ 128K W"
    #[arg(conflicts_with = "workload")]
    pub pattern: Option<AccessPattern>,
    /// Apply the workload of this file, as `workload derive` writes it, or a reference
    /// workload by its name in `workload list`
    #[arg(long, value_name = "FILE|NAME")]
    pub workload: Option<PathBuf>,
    /// A block device, a file, or sim:NAME
    #[arg(long, value_name = "T")]
    pub target: String,
    /// Create the target file with this size
    #[arg(long, value_parser = more_than_nothing::<Bytes>)]
    pub size: Option<Bytes>,
    /// Threads and outstanding I/Os per thread; by default the workload's, or T1Q1
    #[arg(long)]
    pub demand: Option<Demand>,
    /// Measured time; by default 10s
    #[arg(long, value_parser = more_than_nothing::<Nanos>)]
    pub time: Option<Nanos>,
    /// Measured I/Os, with or instead of a time
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub ios: Option<u64>,
    /// Time before it that is not measured
    #[arg(long, default_value = "0s")]
    pub ramp: Nanos,
    /// Part of the capacity that is touched
    #[arg(long, value_parser = parse_percent, default_value = "100%")]
    pub active_range: u8,
    /// What is written; by default the workload's, or random-unique
    #[arg(long)]
    pub data_pattern: Option<DataPattern>,
    /// Drives every random choice
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Check that what is read is what this command wrote
    #[arg(long)]
    pub verify: bool,
    /// The serial number of the device that may be overwritten; only for writes
    #[arg(long, value_name = "SERIAL")]
    pub yes_destroy: Option<String>,
    /// uring, fio or sim; by default uring, or sim for a simulated target
    #[arg(long)]
    pub engine: Option<EngineName>,
    /// Keep fio's job file and answer here
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArguments {
    /// A block device or a file
    #[arg(long, value_name = "T")]
    pub target: String,
    /// Create the target file with this size
    #[arg(long, value_parser = more_than_nothing::<Bytes>)]
    pub size: Option<Bytes>,
    /// Access patterns with their demand, such as "RND 4K R T1Q32,SEQ 128K W
    /// T1Q32"; by default RND 4K at Q1 and Q32 and SEQ 128K at Q32, writes too
    /// where they are allowed
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub points: Vec<Point>,
    /// Measured time of every run
    #[arg(long, default_value = "5s", value_parser = more_than_nothing::<Nanos>)]
    pub time: Nanos,
    /// Time before it that is not measured
    #[arg(long, default_value = "0s")]
    pub ramp: Nanos,
    /// Runs of every point with each engine; an even number takes fair turns
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeats: u32,
    /// The first bytes of the target, which are used
    #[arg(long, default_value = "8GiB", value_parser = more_than_nothing::<Bytes>)]
    pub range: Bytes,
    /// The engines agree where their IOPS differ by no more than this, in percent
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT", value_parser = percentage)]
    pub within: f64,
    /// Drives every random choice
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Keep fio's job files and answers here
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// The serial number of the device that may be overwritten; without it a
    /// device is only read
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
    /// Confirm the device again, where nothing proves that it is the one that
    /// the run began on; once more for each other namespace that a purge reaches
    #[arg(long, value_name = "SERIAL")]
    pub yes_destroy: Vec<String>,
    /// Print the findings as JSON when the run ends
    #[arg(long)]
    pub json: bool,
}

/// `restore`.
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// The directory of a run that was killed; without it, what measure,
    /// calibrate and capture left behind
    pub run_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `unlock`.
#[derive(Debug, Args)]
pub struct UnlockArguments {
    /// The directory of the run that set the password
    #[arg(required_unless_present = "device", conflicts_with = "device")]
    pub run_dir: Option<PathBuf>,
    /// The drive, where there is no run directory
    #[arg(long, value_name = "D")]
    pub device: Option<String>,
    /// Its user password; by default the one that a purge sets
    #[arg(long, value_name = "P", requires = "device")]
    pub password: Option<String>,
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

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Run directories or findings.json files; percentages are of the first
    #[arg(required = true, num_args = 2..=7, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// A directory for compare.html, compare.pdf and the tables as CSV, or one
    /// file that ends in .html, .pdf or .json
    #[arg(long, short, value_name = "DIR|FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// A run directory or a findings.json file
    pub run: PathBuf,
    /// The limits; docs/limits.md says how they are written
    #[arg(long, value_name = "FILE", required_unless_present = "list")]
    pub limits: Option<PathBuf>,
    /// Print the names of tables, rows and columns that a limit can use
    #[arg(long, conflicts_with = "limits")]
    pub list: bool,
    /// Where check.html and check.pdf go; by default into the run directory
    #[arg(long, short, value_name = "DIR", conflicts_with = "no_report")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Write no report; judge only
    #[arg(long)]
    pub no_report: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
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

/// `capture`.
#[derive(Debug, Args)]
pub struct CaptureArguments {
    /// A block device: a disk or a partition, also zram, device-mapper or md; up to 16
    #[arg(long, required = true, value_name = "D")]
    pub device: Vec<PathBuf>,
    /// Where to listen: block, filesystem, or both
    #[arg(long, value_delimiter = ',', default_value = "block")]
    pub layer: Vec<trace::LayerName>,
    /// How long; until Ctrl-C where it is not given
    #[arg(long, value_parser = more_than_nothing::<Nanos>)]
    pub duration: Option<Nanos>,
    /// Keep no single I/O, only the I/O streams of every capture step of this
    /// width, 100us to 1h, added up in the kernel
    #[arg(long, value_name = "WIDTH")]
    pub steps: Option<Nanos>,
    /// Only I/Os that this process submitted
    #[arg(long, value_parser = process_number)]
    pub pid: Option<u32>,
    /// Name the beginning
    #[arg(long, value_name = "NAME")]
    pub mark: Option<String>,
    /// Leave command names out; process numbers are kept
    #[arg(long)]
    pub no_commands: bool,
    /// Measure how far written blocks can be compressed, and how many are
    /// duplicates: one block of 4 KiB in N, read back from the device after its write
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000),
          conflicts_with = "steps")]
    pub content_sample: Option<u64>,
    /// Memory between kernel and reader, a power of two; by default 16 MiB, or 1 MiB
    /// a processor where there are more
    #[arg(long)]
    pub buffer: Option<Bytes>,
    /// ebpf or tracefs; by default eBPF where it works
    #[arg(long)]
    pub source: Option<CaptureSource>,
    /// Where the layer filesystem is seen: entry-points of ext4, xfs and btrfs,
    /// or calls; by default entry-points where that works
    #[arg(long)]
    pub files: Option<CaptureFiles>,
    /// Begin another file when one is this long: NAME.2.parquet, ...
    #[arg(long, value_name = "BYTES", value_parser = more_than_nothing::<Bytes>)]
    pub rotate_size: Option<Bytes>,
    /// Begin another file after this time
    #[arg(long, value_name = "TIME", value_parser = more_than_nothing::<Nanos>)]
    pub rotate_time: Option<Nanos>,
    /// The trace file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub writing: WritingArguments,
}

/// Where a capture's events come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CaptureSource {
    /// BPF programs at the block layer's tracepoints.
    Ebpf,
    /// The kernel's own trace buffers.
    Tracefs,
}

/// Where a capture sees the file-system layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CaptureFiles {
    /// The file systems' own functions.
    EntryPoints,
    /// System calls and io_uring.
    Calls,
}

/// `mark`.
#[derive(Debug, Args)]
pub struct MarkArguments {
    /// The name of the moment
    pub name: String,
}

/// `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: clap_complete::Shell,
}
