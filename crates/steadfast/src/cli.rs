//! The command line: names, help and examples.

mod common;
#[cfg(feature = "explorer")]
pub mod explore;
pub mod export;
pub mod fio;
pub mod fleet;
pub mod heading;
pub mod hosts;
pub mod iometer;
#[cfg(test)]
mod option_tests;
pub mod other_tools;
mod overview;
mod procedure;
pub mod questions;
pub mod replay;
#[cfg(test)]
mod seeds;
mod selection;
pub mod tkperf;
mod topics;
pub mod trace;

pub use common::{
    AxisArguments, EngineName, Format, ReportFiles, SharesArguments, TimeAxis, WritingArguments,
};
pub use procedure::ProcedureArguments;

use crate::exit;
use crate::terminal;
use clap::builder::{ArgPredicate, Resettable};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Id, Parser, Subcommand, ValueEnum};
use common::{
    ARRIVALS, NamedValue, TargetArguments, files_written, more_than_nothing, one_of, percentage,
};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::rate::{Arrivals, OfferedRate};
use steadfast_domain::stimulus::DataPattern;
use steadfast_domain::text::{excerpt, printable};
use steadfast_domain::units::parse_percent;
use steadfast_domain::{Bytes, Demand, Layer, Nanos, PurgeChoice, PurgeFailure};
use steadfast_recorder::{FileCaptureMode, LBA_RANGES_MAX, SourceName};
use steadfast_runner::StartSync;
use steadfast_runner::calibrate::CalibrationPoint;

/// SSD performance tests by the SNIA method, from purge to report.
///
/// Tests that write DESTROY everything on their target. A block device is
/// touched only after its serial number was given with --yes-destroy.
#[derive(Debug, Parser)]
#[command(name = "steadfast", version, after_long_help = exit::HELP, max_term_width = 100)]
#[command(mut_args(heading::grouped), mut_subcommands(heading::group))]
pub struct Cli {
    /// Command to run.
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: GlobalArguments,
}

/// Options of every command.
#[derive(Debug, Args)]
pub struct GlobalArguments {
    /// Print JSON
    #[arg(long, global = true, hide = true)]
    json: bool,
    /// Print results, warnings and errors only
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// Colors on the terminal: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub color: ColorChoice,
}

/// Use of colors in the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorChoice {
    /// Returns true for colored output; `None` leaves that to the terminal.
    pub fn forced(self) -> Option<bool> {
        match self {
            ColorChoice::Auto => None,
            ColorChoice::Always => Some(true),
            ColorChoice::Never => Some(false),
        }
    }
}

/// Parses the command line; an invalid one ends the process with code 2.
pub fn parse() -> Cli {
    let words = words();
    if let Some((at, word)) = words.iter().enumerate().find(|(_, word)| word.to_str().is_none()) {
        let shown = word.to_string_lossy();
        end(&Cli::command().error(
            ErrorKind::InvalidUtf8,
            format!(
                "argument {at}, {}, is not UTF-8; rename the file, or name it through a link",
                excerpt(&printable(&shown))
            ),
        ));
    }
    if let Some(page) = topics::requested_page(&words) {
        end_after(terminal::print_lines(page), 0);
    }
    let words = rewrite_words(words)
        .unwrap_or_else(|why| end(&Cli::command().error(ErrorKind::UnknownArgument, why)));
    let parsed = overview::add_to(Cli::command())
        .try_get_matches_from(words)
        .and_then(|matches| refuse_unknown_json(&matches).and(Cli::from_arg_matches(&matches)));
    parsed.unwrap_or_else(|error| end(&improve_message(error)))
}

/// Rewrites the command lines of TKperf, Iometer and fio so that clap can parse them.
fn rewrite_words(words: Vec<OsString>) -> Result<Vec<OsString>, String> {
    let words = iometer::rewrite_words(tkperf::rewrite_words(words));
    fio::rewrite_words(words, &Cli::command())
}

/// Returns the words of the command line, with the command moved before options that precede it.
pub fn words() -> Vec<OsString> {
    command_first(std::env::args_os().collect())
}

fn command_first(mut words: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while words.get(at).is_some_and(|word| word.as_encoded_bytes().starts_with(b"-")) {
        at += if words[at] == "--color" { 2 } else { 1 };
    }
    if at < words.len() {
        words[1..=at].rotate_right(1);
    }
    words
}

/// Refuses `--json` of a command that prints no JSON.
fn refuse_unknown_json(matches: &ArgMatches) -> Result<(), clap::Error> {
    let root = Cli::command();
    let (mut command, mut matches, mut name) = (&root, matches, Vec::new());
    while let Some((word, inner)) = matches.subcommand()
        && let Some(subcommand) = command.find_subcommand(word)
    {
        (command, matches) = (subcommand, inner);
        name.push(word);
    }
    let is_asked = matches.try_get_one("json").is_ok_and(|json| json == Some(&true));
    if !is_asked || command.get_arguments().any(|known| known.get_id() == "json") {
        return Ok(());
    }
    let text = format!("`steadfast {}` prints no JSON; omit --json", name.join(" "));
    Err(clap::Error::raw(ErrorKind::UnknownArgument, format!("{text}\n")))
}

/// Prints a help text or an error and ends the process. A help text that cannot be printed
/// is a failure.
fn end(error: &clap::Error) -> ! {
    let printed = error.print().and_then(|()| std::io::stdout().flush());
    match printed {
        Err(why) if !error.use_stderr() && why.kind() != std::io::ErrorKind::BrokenPipe => {
            end_after(Err(anyhow::anyhow!("standard output: {why}")), 1)
        }
        _ => end_after(Ok(()), error.exit_code()),
    }
}

/// Ends the process with a code, or with 1 if printing failed.
#[expect(clippy::exit, reason = "nothing runs yet, and clap ends the process here as well")]
fn end_after(printed: anyhow::Result<()>, code: i32) -> ! {
    if let Err(why) = printed {
        terminal::warn(&format!("steadfast: {}", exit::error_text(&why)));
        std::process::exit(1);
    }
    std::process::exit(code)
}

/// Returns the command line as one text, for records.
pub fn command_line() -> String {
    let words: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    words.join(" ")
}

/// Parses a command line that this program composed.
pub fn parse_words(words: &[String]) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(words)
}

/// Returns the right order for `trace FILE COMMAND` and `COMMAND FILE` without `trace`; `None` for
/// any other command line.
fn file_before_command(words: &[String]) -> Option<String> {
    let (command, file) = match words {
        [first, file, command, ..] if first == "trace" => (command, file),
        [command, file, ..] if command != "trace" => (command, file),
        _ => return None,
    };
    let cli = Cli::command();
    let command = cli.find_subcommand("trace")?.find_subcommand(command)?.get_name();
    Some(format!(
        "the command comes before the file: steadfast trace {command} {}",
        steadfast_domain::text::printable(file)
    ))
}

/// Replaces clap's text where it misses the mistake: it takes a negative value for an option, and
/// a procedure's name for a misspelled command.
fn improve_message(error: clap::Error) -> clap::Error {
    let words: Vec<String> =
        std::env::args_os().skip(1).filter_map(|word| word.into_string().ok()).collect();
    // A later word stands for a subcommand, whose names clap suggests itself.
    let command = words.iter().find(|word| !word.starts_with('-'));
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand)
        && Some(word) == command
        && let Some(text) = overview::unknown_command(word)
    {
        return Cli::command().error(ErrorKind::InvalidSubcommand, text);
    }
    if error.kind() == ErrorKind::InvalidSubcommand
        && let Some(text) = file_before_command(&words)
    {
        return Cli::command().error(ErrorKind::InvalidSubcommand, text);
    }
    let is_demand_of_procedure = error.kind() == ErrorKind::UnknownArgument
        && command.is_some_and(|command| matches!(command.as_str(), "run" | "plan"))
        && words.iter().any(|word| word.split('=').next() == Some("--demand"));
    let is_negative = |text: &String| {
        text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    match words.into_iter().find(is_negative) {
        // Without a command, whose usage would follow.
        Some(value) if error.kind() == ErrorKind::UnknownArgument => clap::Error::raw(
            ErrorKind::InvalidValue,
            format!("{value} is negative; times, sizes and counts cannot be negative\n"),
        ),
        _ if is_demand_of_procedure => clap::Error::raw(
            ErrorKind::UnknownArgument,
            "--demand is an option of `steadfast measure`; a procedure has its own demand, and \
             --threads and --depth change it (T4Q32: --threads 4 --depth 32)\n",
        ),
        _ => error,
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List block devices and simulated drives
    #[command(after_help = "Example:\n  steadfast devices --json")]
    Devices(DevicesArguments),
    /// Check device and host for what would distort a measurement
    #[command(after_help = "Examples:\n  steadfast doctor /dev/nvme0n1\n  \
        steadfast doctor /dev/sda --json")]
    Doctor(DoctorArguments),
    /// Show the steps and the time of a run; touches nothing
    #[command(after_help = "Example:\n  steadfast plan iops --target /dev/nvme0n1 --assume 2GB")]
    Plan(PlanArguments),
    /// Run a test procedure. DESTROYS everything on the target
    #[command(after_help = "Examples:\n  \
        steadfast run iops --target /dev/nvme0n1 --yes-destroy S4EVNF0M123456\n  \
        steadfast run iops --target scratch.bin --size 4GiB --profile quick\n  \
        steadfast run iops --target sim:small -o trial\n  \
        steadfast run iops --target /dev/sda --target /dev/sdb --yes-destroy A1 --yes-destroy B2\n  \
        steadfast run multi-wsat --workload retail-web-portal --target sim:small\n  \
        steadfast run replay-native --workload monday.parquet --exact --target T\n\n\
        A replay preconditions the target to steady state first, which takes hours. To play the\n\
        I/Os at once:\n  \
        steadfast run replay-native --workload monday.parquet --exact --target T \\\n    \
        --purge none --set preconditioning=none")]
    Run(RunArguments),
    /// Apply one load and print IOPS, MB/s and response times
    #[command(after_help = "Examples:\n  \
        steadfast measure \"RND 4K R\" --target /dev/nvme0n1 --demand T4Q32 --time 10s\n  \
        steadfast measure \"RND 4K RW65\" --target sim:small --json\n  \
        steadfast measure \"RND 4K R\" --target /dev/nvme0n1 --runs 5 --export-csv runs.csv\n  \
        steadfast measure --workload workload.toml --target scratch.bin --ios 10007")]
    Measure(MeasureArguments),
    /// Compare our engine with fio on the same points, in turn
    #[command(after_help = "Examples:\n  \
        steadfast calibrate --target /dev/nvme0n1   (reads only)\n  \
        steadfast calibrate --target /dev/nvme0n1 --yes-destroy S4EVNF0M123456\n  \
        steadfast calibrate --target scratch.bin --size 1GiB --points \"RND 4K R T1Q1\" --time 2s")]
    Calibrate(CalibrateArguments),
    /// Resume a halted run; repeats no finished step
    #[command(after_help = "Examples:\n  steadfast resume RUN_DIR\n  \
        steadfast resume RUN_DIR --max-rounds 40   (more rounds than the cap)\n  \
        steadfast resume RUN_DIR --stop        (end with the rounds that are complete)\n  \
        steadfast resume RUN_DIR --yes-destroy loop0   (confirm a device again)")]
    Resume(ResumeArguments),
    /// Restore host settings that a killed command left changed
    #[command(after_help = "Examples:\n  steadfast restore           (after killed \
        commands without a run directory)\n  steadfast restore RUN_DIR   (after a killed run)")]
    Restore(RestoreArguments),
    /// Remove the ATA password that a killed run left on a drive
    #[command(after_help = "Examples:\n  steadfast unlock RUN_DIR\n  \
        steadfast unlock --target /dev/sda --password steadfast")]
    Unlock(UnlockArguments),
    /// Compute the findings again from the record
    #[command(after_help = "Example:\n  steadfast study RUN_DIR --json")]
    Study(StudyArguments),
    /// Write the report again
    #[command(after_help = "Examples:\n  steadfast report RUN_DIR --format html,pdf\n  \
        steadfast report RUN_DIR --card drive.png   (a picture for sharing)\n  \
        steadfast report fio.json -o report         (another tool's results)\n  \
        steadfast report round*.json -o report      (a round per file: judged for steady state)")]
    Report(ReportArguments),
    /// Compare up to seven runs
    #[command(after_help = "Examples:\n  \
        steadfast compare RUN_DIR RUN_DIR RUN_DIR -o comparison\n  \
        steadfast compare old/findings.json new/findings.json -o comparison.pdf\n  \
        steadfast compare runs/* -o numbers.parquet")]
    Compare(CompareArguments),
    /// Find the run since which a drive is slower or faster
    #[command(after_help = "Examples:\n  \
        steadfast trend runs                                 (all runs below a directory)\n  \
        steadfast trend runs --baseline runs/2026-11-02 --format junit\n  \
        steadfast trend runs --procedure iops -o trend       (HTML, CSV, JSON and JUnit)")]
    Trend(TrendArguments),
    /// Check a run's numbers against the limits of a datasheet
    #[command(after_help = "Examples:\n  \
        steadfast check RUN_DIR --limits datasheet.toml\n  \
        steadfast check RUN_DIR          (a run of a FioSynth suite: its targets)\n  \
        steadfast check RUN_DIR --list   (the names that a limit can use)")]
    Check(CheckArguments),
    /// Say what a file is and which command takes it
    #[command(after_help = "Examples:\n  steadfast identify result.json test.icf old.xml\n  \
        steadfast identify downloads/* --json")]
    Identify(IdentifyAnyArguments),
    /// Record this machine's block I/O into a trace file
    #[command(after_help = "Examples:\n  \
        steadfast capture --device /dev/nvme0n1 --duration 24h -o monday.parquet\n  \
        steadfast capture --device /dev/sda --device /dev/sdb --rotate-time 1h -o db.parquet\n  \
        steadfast capture --device /dev/sda --layer block,filesystem -o both.parquet\n  \
        steadfast capture --device /dev/sda --totals-every 1s --duration 24h -o day.parquet")]
    Capture(CaptureArguments),
    /// Put a named mark into running captures
    #[command(after_help = "Examples:\n  steadfast mark \"backup begins\"\n  \
        steadfast mark \"backup begins\" --capture monday.parquet")]
    Mark(MarkArguments),
    /// Analyze a trace: I/O streams, steps, maps, processes, reports
    Trace(trace::TraceArguments),
    /// Explore captures and runs in a browser, also during a run
    #[cfg(feature = "explorer")]
    #[command(after_help = "Examples:\n  \
        steadfast explore monday.parquet\n  \
        steadfast explore before.parquet after.parquet --port 8080 --no-browser\n  \
        steadfast explore results/iops-1 monday.parquet\n  \
        steadfast explore monday.parquet -o monday.html")]
    Explore(explore::ExploreArguments),
    /// Derive a workload from a trace; list the reference workloads
    Workload(trace::WorkloadArguments),
    /// CrystalDiskMark's tests and results. WRITES to the target
    #[command(after_help = "Examples:\n  \
        steadfast crystaldiskmark --target scratch.bin --size 2GiB -r result.txt\n  \
        steadfast crystaldiskmark --target /dev/nvme0n1 --nvme --plan\n  \
        steadfast crystaldiskmark --read old.txt -o old")]
    Crystaldiskmark(other_tools::CrystalDiskMarkArguments),
    /// ATTO Disk Benchmark's transfer sizes. WRITES to the target
    #[command(after_help = "Examples:\n  \
        steadfast atto --target scratch.bin --size 1GiB\n  \
        steadfast atto --target /dev/nvme0n1 --max-size 8MiB --plan")]
    Atto(other_tools::AttoArguments),
    /// Iometer's configurations and results. WRITES to the target
    #[command(after_help = "Examples:\n  \
        steadfast iometer test.icf --target scratch.bin --size 2GiB -r results.csv\n  \
        steadfast iometer test.icf --target /dev/nvme0n1 --time 30 --plan\n  \
        steadfast iometer --preset viking --target /dev/nvme0n1 --yes-destroy SERIAL\n  \
        steadfast iometer export iops --target /dev/nvme0n1 -o iops.icf")]
    Iometer(Box<iometer::IometerArguments>),
    /// fio's job files and options. WRITES where the jobs write
    #[command(after_help = fio::EXAMPLES)]
    Fio(other_tools::FioArguments),
    /// FioSynth's suites and their limits. WRITES to the target
    #[command(after_help = "Examples:\n  \
        steadfast fiosynth suite.json --target /dev/nvme0n1 --templates jobfiles --plan\n  \
        steadfast check RUN_DIR   (the suite's targets)")]
    Fiosynth(other_tools::FioSynthArguments),
    /// Write steps of a run as files of another tool
    Export(other_tools::ExportCommandArguments),
    /// Compare a replay with its capture
    Replay(replay::ReplayCommandArguments),
    /// Print the JSON Schema of a file or of a command's --json
    #[command(after_help = "Examples:\n  steadfast schema   (all names)\n  \
        steadfast schema findings > findings.schema.json")]
    Schema(SchemaArguments),
    /// TKperf's command line. DESTROYS everything on the device
    #[command(after_help = tkperf::EXAMPLES)]
    Tkperf(Box<tkperf::TkperfArguments>),
    /// TKperf's comparison: says what to type instead
    #[command(name = "tkperf-cmp", hide = true)]
    TkperfCmp(tkperf::AnyArguments),
    /// Check and hold a device for a load from several hosts; started by --hosts over ssh
    #[command(name = "attend-host", hide = true)]
    AttendHost(hosts::AttendHostArguments),
    /// Apply a load in a control group of its own; started by run neighbors
    #[command(name = steadfast_host::ATTEND_LOAD, hide = true)]
    AttendLoad,
    /// Print a shell's completion script
    #[command(
        after_help = "Example:\n  steadfast completions bash > /etc/bash_completion.d/steadfast"
    )]
    Completions(CompletionsArguments),
    /// Print the manual pages (roff)
    #[command(after_help = "Example:\n  steadfast man | man -l -")]
    Man,
}

impl Command {
    /// Returns true for a command that works on a device; it reports settings that a killed process
    /// left changed.
    pub fn works_on_devices(&self) -> bool {
        matches!(
            self,
            Command::Doctor(_)
                | Command::Run(_)
                | Command::Resume(_)
                | Command::Measure(_)
                | Command::Calibrate(_)
                | Command::Capture(_)
                | Command::Tkperf(_)
                | Command::Crystaldiskmark(_)
                | Command::Atto(_)
                | Command::Iometer(_)
                | Command::Fio(_)
                | Command::Fiosynth(_)
        )
    }
}

/// Parses a process number; unlike trace commands, a capture does not accept names.
fn process_number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "give a process number, as pgrep prints it".to_owned())
}

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

/// `plan`.
#[derive(Debug, Args)]
pub struct PlanArguments {
    #[command(flatten)]
    pub procedure: ProcedureArguments,
    /// Sequential write rate per second, such as 2GB, to estimate steps that end by their bytes
    #[arg(help_heading = heading::METHOD, long, value_name = "BYTES", value_parser = more_than_nothing::<Bytes>)]
    pub assume: Option<Bytes>,
    /// Purge method; that of the run to be planned (`steadfast run --help` lists them)
    #[arg(help_heading = heading::METHOD, long, value_name = "METHOD")]
    pub purge: Option<PurgeChoice>,
    /// Vendor's purge command with {device} in the place of the device's path
    #[arg(help_heading = heading::METHOD, long, value_name = "COMMAND")]
    pub purge_command: Option<String>,
    /// Print every step; otherwise steps that repeat are summed up
    #[arg(long, conflicts_with = "json")]
    pub verbose: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    #[command(flatten)]
    pub procedure: ProcedureArguments,
    #[command(flatten)]
    pub hosts: hosts::HostsArguments,
    /// Output: the run directory, which must not exist; with several targets,
    /// the directory of their run directories
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// With several targets, the steps that start at the same moment on all: every step
    /// (steps), the first step of every phase (phases), or only the first one (start).
    /// Default: steps; phases where --target names captured devices
    #[arg(help_heading = heading::TARGET, long, value_name = "WHAT", value_parser = one_of(START_SYNCS))]
    pub together: Option<StartSync>,
    /// Serial number of the device that may be overwritten (its kernel name if it has none);
    /// repeat for each other namespace that the purge erases. With --hosts, HOST:SERIAL for
    /// each host
    #[arg(help_heading = heading::TARGET, long, value_name = "SERIAL")]
    pub yes_destroy: Vec<String>,
    /// Purge method: auto (the best one that the device supports; the default), nvme-format, nvme-format-crypto, nvme-sanitize-block,
    /// nvme-sanitize-crypto, nvme-sanitize-overwrite, ata-security-erase,
    /// ata-security-erase-enhanced, ata-sanitize-block, ata-sanitize-crypto,
    /// ata-sanitize-overwrite, scsi-format, scsi-sanitize-block,
    /// scsi-sanitize-crypto, scsi-sanitize-overwrite, vendor-command, discard or none
    /// (docs/purge.md)
    #[arg(help_heading = heading::METHOD, long, value_name = "METHOD")]
    pub purge: Option<PurgeChoice>,
    /// Vendor's purge command with {device} in the place of the device's path: '/opt/tool erase
    /// {device}'. Run without a shell, at most 12 hours; the result is read back (docs/purge.md)
    #[arg(help_heading = heading::METHOD, long, value_name = "COMMAND")]
    pub purge_command: Option<String>,
    /// What to do if the purge fails: halt (the default), or continue without a purge
    #[arg(help_heading = heading::METHOD, long, value_name = "ACTION")]
    pub purge_failed: Option<PurgeFailure>,
    /// Command that cuts and restores the power of the device or the host, for power-cut; without
    /// it, you cut the power by hand. Run without a shell, for at most 10 minutes
    #[arg(help_heading = heading::METHOD, long, value_name = "COMMAND")]
    pub cut_command: Option<String>,
    /// Second log of acknowledged writes, for power-cut: a file on a device other than the target,
    /// a terminal, or a listener HOST:PORT (docs/procedures/power-cut.md)
    #[arg(help_heading = heading::METHOD, long, value_name = "PLACE")]
    pub log_to: Option<String>,
    /// Let this group read the files written; otherwise only root can read what root writes
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// Keep metrics of the run in this file, for Prometheus' textfile collector; its name
    /// ends in .prom (docs/formats.md)
    #[arg(long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,
    /// Print every step; otherwise steps that repeat are summed up. Not on a terminal, which
    /// shows the run live
    #[arg(long)]
    pub verbose: bool,
    /// Print JSON: the findings when the run ends
    #[arg(long)]
    pub json: bool,
}

/// Steps of several targets that start together.
const START_SYNCS: [NamedValue<StartSync>; 3] = [
    NamedValue::new("steps", StartSync::Steps, "Every step that all targets have"),
    NamedValue::new("phases", StartSync::Phases, "The first step of every phase"),
    NamedValue::new("start", StartSync::Start, "The first step only"),
];

/// Help of `--target` of `measure`.
const MEASURED_TARGETS: &str = "Device or file to work on: a block device, a file, or sim:NAME (a \
    simulated drive). Repeat it to measure several at the same time: their loads begin together";

/// `measure`.
#[derive(Debug, Args)]
#[command(mut_arg("target", |target| target.required(true).help(MEASURED_TARGETS)))]
#[command(group(files_written(["export_markdown", "export_csv"])))]
pub struct MeasureArguments {
    /// The access pattern: "RND 4K RW65", "SEQ 128K W", "RND 4K W FUA", "SEQ 8K W FLUSH/1"
    #[arg(conflicts_with = "workload")]
    pub pattern: Option<AccessPattern>,
    /// Workload to apply: a file that `workload derive` wrote, a Replay representation, or a
    /// reference workload by its name in `workload list`
    #[arg(help_heading = heading::LOAD, long, value_name = "FILE|NAME")]
    pub workload: Option<PathBuf>,
    /// Targets to measure; the loads of several begin together.
    #[command(flatten)]
    pub target: TargetArguments,
    /// Threads and outstanding I/Os per thread, such as T4Q32; default: the workload's, or
    /// T1Q1 (T1Q256 with --rate)
    #[arg(help_heading = heading::LOAD, long, value_name = "TnQm")]
    pub demand: Option<Demand>,
    /// Offer I/Os at this rate, whether or not earlier ones have completed: I/Os per second, or
    /// MB/s. Response times count from when each I/O is due
    #[arg(help_heading = heading::LOAD, long, value_name = "IOPS|MB/s")]
    pub rate: Option<OfferedRate>,
    /// Arrivals of a --rate: at random (default), or evenly spaced
    #[arg(help_heading = heading::LOAD, long, requires = "rate", value_parser = one_of(ARRIVALS))]
    pub arrivals: Option<Arrivals>,
    /// Measured time; default: 10s
    #[arg(help_heading = heading::LOAD, long, value_name = "TIME", value_parser = more_than_nothing::<Nanos>)]
    pub time: Option<Nanos>,
    /// Number of measured I/Os, with or instead of a time
    #[arg(help_heading = heading::LOAD, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub ios: Option<u64>,
    /// Ramp-up time before the measurement, not measured
    #[arg(help_heading = heading::LOAD, long, value_name = "TIME", default_value = "0s")]
    pub ramp: Nanos,
    /// Number of measured runs; prints each run, the mean and the standard deviation
    #[arg(help_heading = heading::LOAD, long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Part of the capacity to use
    #[arg(help_heading = heading::TARGET, long, value_name = "PERCENT", value_parser = parse_percent, default_value = "100%")]
    pub active_range: u8,
    /// Data to write; default: the workload's, or random-unique
    #[arg(help_heading = heading::LOAD, long, value_name = "PATTERN")]
    pub data_pattern: Option<DataPattern>,
    /// Seed of every random choice
    #[arg(help_heading = heading::LOAD, long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Check that data read back is what was written
    #[arg(help_heading = heading::LOAD, long)]
    pub verify: bool,
    /// Serial number of the device that may be overwritten (its kernel name if it has none);
    /// only for writes. Repeat it for each target. With --hosts, HOST:SERIAL for each host
    #[arg(help_heading = heading::TARGET, long, value_name = "SERIAL")]
    pub yes_destroy: Vec<String>,
    #[command(flatten)]
    pub hosts: hosts::HostsArguments,
    /// Engine that submits the I/Os; default: uring, or sim for a simulated target
    #[arg(help_heading = heading::LOAD, long)]
    pub engine: Option<EngineName>,
    /// Keep fio's job files and output in this directory
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Write every run as a Markdown table
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,
    /// Write every run as CSV
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArguments {
    /// Device or file to work on: a block device or a file
    #[arg(long, value_name = "TARGET")]
    pub target: String,
    /// Create the target file with this size
    #[arg(long, value_name = "BYTES", value_parser = more_than_nothing::<Bytes>)]
    pub size: Option<Bytes>,
    /// Access patterns with their demand, such as "RND 4K R T1Q32,SEQ 128K W
    /// T1Q32"; default: RND 4K at Q1 and Q32 and SEQ 128K at Q32, with writes and
    /// RND 4K W FLUSH/1 at Q1 if they are allowed
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub points: Vec<CalibrationPoint>,
    /// Measured time; of every run
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = more_than_nothing::<Nanos>)]
    pub time: Nanos,
    /// Ramp-up time before the measurement, not measured
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub ramp: Nanos,
    /// Number of measured runs; of every point with each engine. An even number lets both
    /// engines go first equally often
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// Bytes to use, from the beginning of the target
    #[arg(long, value_name = "BYTES", default_value = "8GiB", value_parser = more_than_nothing::<Bytes>)]
    pub test_size: Bytes,
    /// Largest difference in IOPS, in percent, at which the engines agree
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT", value_parser = percentage)]
    pub within: f64,
    /// Seed of every random choice
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Keep fio's job files and output in this directory
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// Serial number of the device that may be overwritten (its kernel name if it has none);
    /// without it a device is only read
    #[arg(long, value_name = "SERIAL")]
    pub yes_destroy: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `resume`.
#[derive(Debug, Args)]
pub struct ResumeArguments {
    /// The run directory, or the directory of several targets' runs
    pub run_dir: PathBuf,
    /// Maximum number of rounds; more than the run had
    #[arg(long, value_name = "N", conflicts_with = "stop", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub max_rounds: Option<u32>,
    /// Stop with the complete rounds and write the report
    #[arg(long)]
    pub stop: bool,
    /// Serial number of the device that may be overwritten (its kernel name if it has none);
    /// needed if steadfast cannot prove that it is the same one, and for each other namespace
    /// that the purge erases
    #[arg(long, value_name = "SERIAL")]
    pub yes_destroy: Vec<String>,
    /// Keep metrics of the run in this file, for Prometheus' textfile collector; its name
    /// ends in .prom (docs/formats.md)
    #[arg(long, value_name = "FILE")]
    pub prometheus: Option<PathBuf>,
    /// Print every step; otherwise steps that repeat are summed up. Not on a terminal, which
    /// shows the run live
    #[arg(long)]
    pub verbose: bool,
    /// Print JSON: the findings when the run ends
    #[arg(long)]
    pub json: bool,
}

/// `restore`.
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// The directory of a killed run; without it, restores what measure,
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
    #[arg(required_unless_present = "target", conflicts_with = "target")]
    pub run_dir: Option<PathBuf>,
    /// Device or file to work on: the drive, if there is no run directory
    #[arg(long, value_name = "TARGET")]
    pub target: Option<String>,
    /// The drive's user password; default: the one that a purge sets
    #[arg(long, value_name = "PASSWORD", requires = "target")]
    pub password: Option<String>,
}

/// `study`.
#[derive(Debug, Args)]
pub struct StudyArguments {
    /// A run directory, or results of another tool, which are printed
    pub run_dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `report`.
#[derive(Debug, Args)]
// A run's report is written without -o.
#[command(mut_arg("force", |force| force.requires(Resettable::<Id>::Reset)))]
#[command(mut_arg("group", |group| group.requires(Resettable::<Id>::Reset)))]
pub struct ReportArguments {
    /// A run directory, or results of another tool; several files of results are rounds
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Output: the directory for the report of another tool's results, which
    /// are printed without it; a run's report goes into the run directory
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Formats of the report; text is printed. Default: $STEADFAST_FORMATS, or html,pdf,csv,json.
    /// Without -o, results of another tool are printed as text, or json
    #[arg(long, value_name = "FORMATS", value_delimiter = ',')]
    pub format: Vec<Format>,
    /// Picture with the drive and eight figures, for sharing, instead of the report: a name that
    /// ends in .svg or .png
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "format"])]
    pub card: Option<PathBuf>,
}

/// Forms of the long table of `compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LongFormat {
    /// Comma-separated values.
    Csv,
    /// Parquet, for data frames and DuckDB.
    Parquet,
}

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Run directories, findings.json files, or results of other tools; percentages relate to
    /// the first. Two to seven; any number with --long-table
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Output: a directory for compare.html, compare.pdf and the tables as CSV,
    /// or one file ending in .html, .pdf, .json, .csv or .parquet
    #[arg(long, short, value_name = "DIR|FILE")]
    pub output: Option<PathBuf>,
    /// Every number of all runs as one long table instead: run, metric, point, size, mix,
    /// direction, unit, value. CSV goes to standard output without -o
    #[arg(long, value_name = "FORMAT", value_enum, conflicts_with = "json")]
    pub long_table: Option<LongFormat>,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Formats of a trend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum TrendFormat {
    /// Tables for a terminal.
    Text,
    /// Every value of every run; a directory gets one file per table.
    Csv,
    /// The shape of `findings.json`.
    Json,
    /// JUnit XML: one test per metric.
    Junit,
    /// One self-contained page.
    Html,
    /// Every value of every run, for data frames and DuckDB.
    Parquet,
}

/// `trend`.
#[derive(Debug, Args)]
pub struct TrendArguments {
    /// Run directories, directories that contain runs, or findings.json files: all of one
    /// procedure and one drive model
    #[arg(required = true, num_args = 1.., value_name = "RUN|DIR")]
    pub runs: Vec<PathBuf>,
    /// Run to compare the newest level with: its name in the trend, its directory, or the test ID
    /// it was given with --meta test-id=NAME. Default: the level before the last change
    #[arg(long, value_name = "NAME|DIR")]
    pub baseline: Option<String>,
    /// Procedure whose trend is shown, if the runs have several
    #[arg(long, value_name = "ID")]
    pub procedure: Option<String>,
    /// Smallest change that counts
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = common::change_percent)]
    pub change_min: f64,
    /// Output: a directory for trend.html, trend.json, trend.xml and the tables as
    /// CSV, or one file ending in .html, .json, .xml (JUnit), .csv, .txt or .parquet
    #[arg(long, short, value_name = "DIR|FILE")]
    pub output: Option<PathBuf>,
    /// Formats of the report; without -o, one of them is printed. Default: text, or
    /// html,csv,json,junit for a directory
    #[arg(long, value_name = "FORMATS", value_delimiter = ',', conflicts_with = "json")]
    pub format: Vec<TrendFormat>,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// A run directory, a findings.json file, or results of another tool
    pub run: PathBuf,
    /// The limits file; see docs/limits.md. Default: the targets of the suite that was run
    #[arg(long, value_name = "FILE")]
    pub limits: Option<PathBuf>,
    /// Print the names of tables, rows and columns that a limit can use
    #[arg(long, conflicts_with = "limits")]
    pub list: bool,
    /// Judge the numbers despite these reasons, separated by commas: unsteady, quick, simulated, gap,
    /// method, or another name that check prints. Without it such a run does not pass
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "list")]
    pub allow: Vec<String>,
    /// Output: a directory for check.html and check.pdf; default: the run
    /// directory
    #[arg(long, short, value_name = "DIR", conflicts_with_all = ["list", "no_report"])]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print the verdicts only; write no report
    #[arg(long)]
    pub no_report: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `identify`.
#[derive(Debug, Args)]
pub struct IdentifyAnyArguments {
    /// Files or directories
    #[arg(required = true, num_args = 1.., value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `capture`.
#[derive(Debug, Args)]
pub struct CaptureArguments {
    /// I/Os on this device; a disk or a partition, also zram, device-mapper or md. Up to 16
    #[arg(long, required_unless_present = "mount", value_name = "PATH")]
    pub device: Vec<PathBuf>,
    /// Mount point whose file system is captured, of any type: NFS, SMB, FUSE, overlay,
    /// ZFS, tmpfs
    #[arg(long, value_name = "DIR")]
    pub mount: Vec<PathBuf>,
    /// I/Os of this layer; block,filesystem for both; with --mount filesystem only
    #[arg(
        long,
        value_name = "LAYER",
        value_delimiter = ',',
        default_value = "block",
        default_value_if("mount", ArgPredicate::IsPresent, "filesystem"),
        value_parser = one_of(trace::LAYERS)
    )]
    pub layer: Vec<Layer>,
    /// Capture time; default: until Ctrl-C
    #[arg(long, value_name = "TIME", value_parser = more_than_nothing::<Nanos>)]
    pub duration: Option<Nanos>,
    /// Record only totals per process, I/O stream and capture step of this width
    /// (100us to 1h), added up in the kernel, instead of every I/O
    #[arg(long, value_name = "TIME")]
    pub totals_every: Option<Nanos>,
    /// Count the reads and writes of N equal LBA ranges of each device (up to 1024)
    /// in every step of --totals-every, for trace hits
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=LBA_RANGES_MAX.into()),
          requires = "totals_every")]
    pub totals_ranges: Option<u16>,
    /// I/Os of this process only; by its number
    #[arg(long, value_name = "PID", value_parser = process_number)]
    pub pid: Option<u32>,
    /// Put a mark with this name at the start
    #[arg(long, value_name = "NAME", value_parser = mark_name)]
    pub mark: Option<String>,
    /// Name of the captured workload, stored in the file
    #[arg(long, value_name = "NAME")]
    pub workload_name: Option<String>,
    /// A comment, stored in the file
    #[arg(long, value_name = "TEXT")]
    pub comment: Option<String>,
    /// Omit command names; process numbers are kept
    #[arg(long)]
    pub no_commands: bool,
    /// Sample written data: read back one 4 KiB block in N after its write and
    /// measure its compressibility and duplicates
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000),
          conflicts_with = "totals_every")]
    pub content_sample: Option<u64>,
    /// Buffer between kernel and reader, a power of two; default: 16 MiB, or 1 MiB
    /// per processor if there are more than 16
    #[arg(long, value_name = "BYTES")]
    pub buffer: Option<Bytes>,
    /// Where the events come from; default: ebpf if it works, otherwise tracefs
    #[arg(long, value_parser = one_of(CAPTURE_SOURCES))]
    pub source: Option<SourceName>,
    /// Probes for the layer filesystem: entry-points (of ext4, xfs and btrfs) or
    /// calls (system calls, io_uring); default: entry-points if they work
    #[arg(long, value_name = "PROBES", value_parser = one_of(FILE_PROBES))]
    pub file_probes: Option<FileCaptureMode>,
    /// Store the paths of files (layer filesystem); without it the trace has inode numbers only.
    /// Whoever can read the trace sees the paths
    #[arg(long, conflicts_with = "totals_every")]
    pub paths: bool,
    /// Record the cgroup (container, service) of each I/O's process; its path is stored. Needs eBPF
    #[arg(long, conflicts_with = "totals_every")]
    pub cgroups: bool,
    /// Count the requests that the kernel merges into each I/O, and those that it splits.
    /// Needs eBPF
    #[arg(long, conflicts_with = "totals_every")]
    pub merges: bool,
    /// Start a new file at this size: NAME.2.parquet, ...
    #[arg(long, value_name = "BYTES", value_parser = more_than_nothing::<Bytes>)]
    pub rotate_size: Option<Bytes>,
    /// Start a new file after this time
    #[arg(long, value_name = "TIME", value_parser = more_than_nothing::<Nanos>)]
    pub rotate_time: Option<Nanos>,
    /// Output: the trace file
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub writing: WritingArguments,
}

/// Sources of a capture's events.
const CAPTURE_SOURCES: [NamedValue<SourceName>; 2] = [
    NamedValue::new("ebpf", SourceName::Ebpf, "BPF programs at the block layer's tracepoints"),
    NamedValue::new("tracefs", SourceName::Tracefs, "The kernel's own trace buffers"),
];

/// Probes that capture the file-system layer.
const FILE_PROBES: [NamedValue<FileCaptureMode>; 2] = [
    NamedValue::new(
        "entry-points",
        FileCaptureMode::EntryPoints,
        "The file systems' own functions",
    ),
    NamedValue::new("calls", FileCaptureMode::Calls, "System calls and io_uring"),
];

/// `mark`.
#[derive(Debug, Args)]
pub struct MarkArguments {
    /// The name of the mark
    #[arg(value_parser = mark_name)]
    pub name: String,
    /// Only the running capture that writes this file; without it, every running capture
    #[arg(long, value_name = "TRACE")]
    pub capture: Option<PathBuf>,
}

fn mark_name(text: &str) -> Result<String, String> {
    steadfast_recorder::mark_name(text).map_err(|error| error.to_string())
}

/// `schema`.
#[derive(Debug, Args)]
pub struct SchemaArguments {
    /// The document; without it, the names of all are printed
    #[arg(value_name = "DOCUMENT")]
    pub document: Option<String>,
}

/// `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_every_command_may_stand_before_it() {
        let ordered = |line: &str| {
            let words = command_first(line.split(' ').map(OsString::from).collect());
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ordered("s -q --color never plan iops"), "s plan -q --color never iops");
        assert_eq!(ordered("s --help"), "s --help");
        assert_eq!(ordered("s plan --json"), "s plan --json");
    }

    #[test]
    fn json_is_refused_by_a_command_that_has_none() {
        let refused = |line: &str| {
            let matches = Cli::command().try_get_matches_from(line.split(' ')).unwrap();
            refuse_unknown_json(&matches).is_err()
        };
        assert!(refused("steadfast mark name --json"));
        assert!(refused("steadfast --json trace recover a -o b"));
        assert!(!refused("steadfast mark name"));
        assert!(!refused("steadfast iometer export iops --target sim:small -o a.icf"));
        assert!(!refused("steadfast devices --json"));
        assert!(!refused("steadfast --json trace streams a.parquet"));
        let cli = Cli::try_parse_from(["steadfast", "--json", "devices", "-q"]).unwrap();
        let Command::Devices(devices) = cli.command else { panic!("another command") };
        assert!(devices.json && cli.global.quiet);
    }
}
