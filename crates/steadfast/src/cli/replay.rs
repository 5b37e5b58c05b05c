//! The command line of captured workloads: selection of the I/Os that a test applies, replay of
//! single I/Os, and comparison of a replay with its capture.

use super::common::ReportFiles;
use super::heading;
use super::selection::FilterArguments;
use crate::exit::first_given;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::questions::streams::ShareMeasure;
use steadfast_domain::Nanos;
use steadfast_domain::script::{DueTimeSource, MapRule, OverlapRule, ReplayOmissions, Timing};

/// Selection and replay of a captured workload.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = heading::CAPTURED)]
pub struct ReplayArguments {
    /// I/Os to apply.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// Smallest share of a stream that is listed separately; only such streams are applied.
    /// Default: 2% of a capture, and every stream of a workload file or with --exact
    #[arg(long, value_name = "PERCENT")]
    pub threshold: Option<Threshold>,
    /// Measure of shares: I/Os (count) or bytes
    #[arg(long, value_name = "count|bytes", default_value_t)]
    pub shares: ShareMeasure,
    /// Width of a step of the capture's time; default: as kept, or by the capture's length
    #[arg(long, value_name = "TIME", value_parser = super::common::capture_step)]
    pub step: Option<Nanos>,
    /// Play every single I/O of the trace, not its steps; with replay-native
    #[arg(long)]
    pub exact: bool,
    /// When each I/O is played: original, faster:N or closed (as soon as there is room)
    #[arg(long, requires = "exact", value_name = "RULE")]
    pub timing: Option<Timing>,
    /// Captured time that counts: queue or issue; default: queue, if the trace has it
    #[arg(long, requires = "exact", value_name = "queue|issue")]
    pub issue_at: Option<DueTimeSource>,
    /// Count due times from this time of the capture; default: from the first chosen I/O, and
    /// with --target DEVICE=TARGET from the first of all these devices
    #[arg(long, requires = "exact", value_name = "TIME")]
    pub counted_from: Option<Nanos>,
    /// What to do with I/Os that overlap in flight: keep, or order (one waits for the other)
    #[arg(long, requires = "exact", value_name = "RULE")]
    pub overlaps: Option<OverlapRule>,
    /// How addresses are mapped: same, wrap, pack or scale; default: same if all fit, else wrap
    #[arg(long, requires = "exact", value_name = "RULE")]
    pub map: Option<MapRule>,
    /// Do not play these operations: flush, fua, discard
    #[arg(long, requires = "exact", value_delimiter = ',', value_name = "LIST")]
    pub leave_out: Vec<LeftOutName>,
}

/// Operations of a script that can be left out.
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
    /// Returns the operations to leave out.
    pub fn leave_out(&self) -> ReplayOmissions {
        ReplayOmissions {
            flushes: self.leave_out.contains(&LeftOutName::Flush),
            fua: self.leave_out.contains(&LeftOutName::Fua),
            discards: self.leave_out.contains(&LeftOutName::Discard),
        }
    }

    /// Returns the first option that was given, or `None`.
    pub fn first_given(&self) -> Option<&'static str> {
        let own = [
            ("--threshold", self.threshold.is_some()),
            ("--shares", self.shares != ShareMeasure::default()),
            ("--step", self.step.is_some()),
            ("--exact", self.exact),
        ];
        self.filter.first_given().or_else(|| first_given(&own))
    }
}

/// `replay`.
#[derive(Debug, Args)]
pub struct ReplayCommandArguments {
    /// What to do
    #[command(subcommand)]
    pub command: ReplayCommand,
}

/// Commands for replays.
#[derive(Debug, Subcommand)]
pub enum ReplayCommand {
    /// Compare a replay's capture with the original, or any two captures
    #[command(after_help = "Examples:\n  \
        steadfast replay verify monday.parquet replayed.parquet\n  \
        steadfast replay verify monday.parquet replayed.parquet --device sda --map wrap -o verified\n\n\
        Exits with 0 if the replay has the same I/Os as the original, with 5 if it differs.")]
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
    /// I/Os of the original.
    #[command(flatten)]
    pub filter: FilterArguments,
    /// I/Os of the replay on this device only
    #[arg(long, value_name = "NAME")]
    pub replayed_device: Vec<String>,
    /// I/Os of the replay by this process only; by its number or command name
    #[arg(long, value_name = "PID|COMMAND")]
    pub replayed_pid: Option<String>,
    /// I/Os of the replay issued at or after this time from its capture's start; default:
    /// the mark 'replay begins on TARGET', if the capture has it
    #[arg(long, value_name = "TIME")]
    pub replayed_from: Option<Nanos>,
    /// I/Os of the replay issued before this time from its capture's start; default: the
    /// mark 'replay ends on TARGET', if the capture has it
    #[arg(long, value_name = "TIME")]
    pub replayed_to: Option<Nanos>,
    /// Speed of the replay, as a multiple of the original
    #[arg(long, default_value_t = 1.0, value_name = "N")]
    pub faster: f64,
    /// How addresses are mapped: same, wrap, pack or scale, onto the device of the replay's
    /// capture
    #[arg(long, value_name = "RULE")]
    pub map: Option<MapRule>,
    /// Width of a step of the capture's time; default: by the capture's length
    #[arg(long, value_name = "TIME", value_parser = super::common::capture_step)]
    pub step: Option<Nanos>,
    #[command(flatten)]
    pub report: ReportFiles,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
