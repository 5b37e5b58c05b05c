//! The command line of captured workloads: what of a capture a test applies, how
//! single I/Os are replayed, and how a replay is compared with its capture.

use super::common::{Format, WritingArguments};
use super::heading;
use super::selection::FilterArguments;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::questions::streams::By;
use steadfast_domain::Nanos;
use steadfast_domain::script::{IssueAt, MapRule, Overlaps, ReplayOmissions, Timing};

/// What of a captured workload a test applies, and how.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = heading::CAPTURED)]
pub struct ReplayArguments {
    /// Which I/Os.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// The smallest share of an I/O stream that is applied; by default 2% of a
    /// capture, and every stream of a workload file or with --exact
    #[arg(long)]
    pub threshold: Option<Threshold>,
    /// Shares of I/Os (count) or of bytes
    #[arg(long, default_value_t)]
    pub by: By,
    /// Width of a capture step; by default as kept, or by the capture's length
    #[arg(long, value_parser = super::common::capture_step)]
    pub step: Option<Nanos>,
    /// replay-native: play every single I/O of the trace, not its steps
    #[arg(long)]
    pub exact: bool,
    /// original, faster:N or closed (as soon as there is room)
    #[arg(long, requires = "exact", value_name = "TIMING")]
    pub timing: Option<Timing>,
    /// The captured time that counts: queue or issue; by default queue, where the
    /// trace holds it
    #[arg(long, requires = "exact", value_name = "TIME")]
    pub issue_at: Option<IssueAt>,
    /// Due times count from this time of the capture; by default from the first chosen I/O,
    /// and with --target DEVICE=T from the first of all these devices
    #[arg(long, requires = "exact", value_name = "TIME")]
    pub counted_from: Option<Nanos>,
    /// I/Os that overlap in flight: keep, or order (one waits for the other)
    #[arg(long, requires = "exact", value_name = "RULE")]
    pub overlaps: Option<Overlaps>,
    /// Addresses: same, wrap, pack or scale; by default same where all fit, or wrap
    #[arg(long, requires = "exact", value_name = "RULE")]
    pub map: Option<MapRule>,
    /// Do not play these: flush, fua, discard
    #[arg(long, requires = "exact", value_delimiter = ',', value_name = "LIST")]
    pub leave_out: Vec<LeftOutName>,
}

/// What of a script can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LeftOutName {
    /// Flushes.
    Flush,
    /// Forced unit access: the writes are played without.
    Fua,
    /// Discards.
    Discard,
}

impl ReplayArguments {
    /// What is not played.
    pub fn leave_out(&self) -> ReplayOmissions {
        ReplayOmissions {
            flushes: self.leave_out.contains(&LeftOutName::Flush),
            fua: self.leave_out.contains(&LeftOutName::Fua),
            discards: self.leave_out.contains(&LeftOutName::Discard),
        }
    }

    /// Returns the first option that was given, or `None`.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--threshold", self.threshold.is_some()),
            ("--by", self.by != By::default()),
            ("--step", self.step.is_some()),
            ("--exact", self.exact),
        ];
        let given = given.into_iter().find(|(_, is_given)| *is_given);
        self.filter.first_given().or(given.map(|(option, _)| option))
    }
}

/// `replay`.
#[derive(Debug, Args)]
pub struct ReplayCommandArguments {
    /// What to do
    #[command(subcommand)]
    pub command: ReplayCommand,
}

/// What can be done with replays.
#[derive(Debug, Subcommand)]
pub enum ReplayCommand {
    /// How true a replay was: its capture beside the original, or any two captures
    #[command(after_help = "Examples:\n  \
        steadfast replay verify monday.parquet replayed.parquet\n  \
        steadfast replay verify monday.parquet replayed.parquet --device sda --map wrap -o verified\n\n\
        Exits with 0 where the replay has the same I/Os as the original, with 5 where it differs.")]
    Verify(VerifyArguments),
}

/// `replay verify`.
#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// The original: a trace or a step file
    #[arg(value_name = "CAPTURE")]
    pub original: PathBuf,
    /// The capture of the replay
    #[arg(value_name = "REPLAYED")]
    pub replayed: PathBuf,
    /// Which I/Os of the original.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// Of the replay, I/Os on this device only
    #[arg(long, value_name = "NAME")]
    pub replayed_device: Vec<String>,
    /// Of the replay, I/Os of this process only
    #[arg(long, value_name = "PID|COMMAND")]
    pub replayed_pid: Option<String>,
    /// Of the replay, I/Os issued at or after this time from its capture's beginning; default:
    /// from the mark 'replay begins', if the capture has it
    #[arg(long, value_name = "TIME")]
    pub replayed_from: Option<Nanos>,
    /// Of the replay, I/Os issued before this time from its capture's beginning; default: up to
    /// the mark 'replay ends', if the capture has it
    #[arg(long, value_name = "TIME")]
    pub replayed_to: Option<Nanos>,
    /// The replay was played so many times as fast
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    pub faster: f64,
    /// How the replay mapped addresses: same, wrap, pack or scale, onto the device of
    /// its capture
    #[arg(long, value_name = "RULE")]
    pub map: Option<MapRule>,
    /// Width of a step of the pictures over time; by default by the length
    #[arg(long, value_parser = super::common::capture_step)]
    pub step: Option<Nanos>,
    /// Write a report into this directory; made where it is missing
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// What the report is written as: html, pdf, csv, json
    #[arg(long, value_delimiter = ',', default_value = "html,pdf,csv,json", requires = "output")]
    pub format: Vec<Format>,
    #[command(flatten)]
    pub writing: WritingArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
