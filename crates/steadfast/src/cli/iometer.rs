//! The command line of Iometer's tests.

use super::common::{WritingArguments, more_than_nothing};
use super::other_tools::{FrontArguments, TEST_OPTIONS};
use super::procedure::ProcedureArguments;
use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use steadfast_domain::Nanos;

/// Replaces Iometer's own options: `/c FILE` is the configuration, `/r FILE` the results. Other
/// command lines are returned unchanged.
pub fn rewrite_words(words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_none_or(|command| command != "iometer") {
        return words;
    }
    let mut rewritten = Vec::new();
    for word in words {
        match word.to_str() {
            Some("/c" | "/C") => {}
            Some("/r" | "/R") => rewritten.push("-r".into()),
            _ => rewritten.push(word),
        }
    }
    rewritten
}

/// `iometer`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct IometerArguments {
    #[command(subcommand)]
    pub command: Option<IometerCommand>,
    /// Iometer's configuration (.icf)
    #[arg(required_unless_present = "preset", conflicts_with = "preset")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub front: FrontArguments,
    /// Write the result as a file of the other tool; in the form of the configuration's version
    #[arg(long, short, value_name = "FILE", conflicts_with = "plan")]
    pub result: Option<PathBuf>,
    /// Overwrite an existing regular file
    #[arg(long, requires = "result")]
    pub force: bool,
    /// Measured time; of every test, instead of the file's (Iometer's /t)
    #[arg(long, value_name = "TIME", value_parser = more_than_nothing::<Nanos>)]
    pub time: Option<Nanos>,
    /// Only the I/Os that go to this disk of the file
    #[arg(long, value_name = "NAME", conflicts_with = "preset")]
    pub disk: Option<String>,
    /// Write the results of this finished run of the same file; nothing is tested
    #[arg(long, value_name = "RUN_DIR", requires = "result", conflicts_with_all = TEST_OPTIONS,
          conflicts_with_all = ["preset", "output", "json"])]
    pub from_run: Option<PathBuf>,
    /// A procedure that is known without a file
    #[arg(long, value_name = "NAME", value_enum)]
    pub preset: Option<IometerPreset>,
    /// Number of times that the preconditioning writes the whole target; with --preset viking
    #[arg(long, value_name = "N", default_value_t = 2, requires = "preset",
          value_parser = clap::value_parser!(u64).range(1..=100))]
    pub fills: u64,
    /// Leave out the purge and the tests of the fresh drive; with --preset viking
    #[arg(long, requires = "preset")]
    pub no_fresh: bool,
}

impl IometerArguments {
    /// Returns the options for the files that it writes.
    pub fn writing(&self) -> WritingArguments {
        WritingArguments { force: self.force, group: self.front.group.clone() }
    }
}

/// Commands for Iometer's files other than running a configuration.
#[derive(Debug, Subcommand)]
pub enum IometerCommand {
    /// Write the steps of a procedure as an Iometer configuration
    #[command(after_help = "Examples:\n  \
        steadfast iometer export iops --target /dev/nvme0n1 -o iops.icf\n  \
        steadfast iometer export replay-native --workload retail-web-portal --target \
        sim:small -o web.icf")]
    Export(Box<ExportArguments>),
    /// Write the steps of a run as an Iometer configuration
    #[command(after_help = "Example:\n  steadfast iometer export-run RUN_DIR -o steps.icf")]
    ExportRun(ExportRunArguments),
    /// Report results that Iometer wrote before; nothing is tested
    #[command(after_help = "Examples:\n  steadfast iometer report old.csv -o old\n  \
        steadfast compare old.csv RUN_DIR -o both")]
    Report(ReportResultsArguments),
}

/// `iometer export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    #[command(flatten)]
    pub procedure: ProcedureArguments,
    #[command(flatten)]
    pub file: ConfigurationArguments,
}

/// `iometer export-run`.
#[derive(Debug, Args)]
pub struct ExportRunArguments {
    /// The run directory
    #[arg(value_name = "RUN_DIR")]
    pub run: PathBuf,
    #[command(flatten)]
    pub file: ConfigurationArguments,
}

/// `iometer report`.
#[derive(Debug, Args)]
pub struct ReportResultsArguments {
    /// Iometer's file of results
    #[arg(value_name = "CSV")]
    pub file: PathBuf,
    /// Output: the directory for the report (JSON, CSV, HTML, PDF); default: text
    /// on the screen
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print JSON: the findings
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub writing: WritingArguments,
}

/// A configuration that is written.
#[derive(Debug, Args)]
pub struct ConfigurationArguments {
    /// Output: the configuration; /dev/stdout prints it
    #[arg(long, short, value_name = "FILE")]
    pub output: PathBuf,
    /// Version of Iometer that is to read the file
    #[arg(long, value_name = "VERSION", value_enum, default_value_t)]
    pub icf_version: IcfVersion,
    #[command(flatten)]
    pub writing: WritingArguments,
}

/// Procedures of Iometer's users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IometerPreset {
    /// Viking's SSD benchmarking (AN0006): four corners, fresh and preconditioned
    Viking,
}

/// Versions whose form is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum IcfVersion {
    /// 2006.07.27
    #[default]
    #[value(name = "2006")]
    Y2006,
    /// 1.1.0
    #[value(name = "1.1.0")]
    V1_1,
}
