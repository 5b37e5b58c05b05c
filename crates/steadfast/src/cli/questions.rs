//! The command line of what an administrator asks of a capture: who did what, which
//! drives, at which time of day, and how far it can be trusted.

use super::selection::Selection;
use clap::{Args, ValueEnum};
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::questions::delta::Rank;
use steadfast_analysis::questions::group_figures::Show;
use steadfast_analysis::questions::groups::Facet;
use steadfast_analysis::questions::streams::By;
use steadfast_analysis::questions::totals::HitsShown;
use steadfast_domain::Nanos;

/// `trace groups`.
#[derive(Debug, Args)]
pub struct GroupsArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// What a group's I/Os have in common: host, device, process, command, thread, cgroup, file,
    /// stream, op, cpu; several separated by commas
    #[arg(long, value_delimiter = ',', default_value = "process,stream", value_name = "FACETS")]
    pub by: Vec<Facet>,
    /// What to show of each: counts, times (queue time beside response time), kinds (shares
    /// of synchronous, FUA, metadata, read-ahead and writeback I/Os; merged requests)
    #[arg(long, value_enum, default_value_t)]
    pub show: ShowName,
    /// Largest first by I/Os (count) or by bytes
    #[arg(long, default_value_t)]
    pub rank: By,
    /// Print at most this many rows; JSON has all
    #[arg(long, default_value_t = 40)]
    pub top: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What to show of a group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum ShowName {
    /// Counts, amounts, response times.
    #[default]
    Counts,
    /// Queue time beside response time.
    Times,
    /// Shares of kinds of I/Os.
    Kinds,
    /// Compression and duplicates of what was written (capture --content-sample).
    Content,
}

impl From<ShowName> for Show {
    fn from(name: ShowName) -> Show {
        match name {
            ShowName::Counts => Show::Counts,
            ShowName::Times => Show::Times,
            ShowName::Kinds => Show::Kinds,
            ShowName::Content => Show::Content,
        }
    }
}

/// What the largest change is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum RankName {
    /// I/Os per second.
    #[default]
    Iops,
    /// Bytes per second.
    Bytes,
    /// Share of all I/Os.
    Share,
    /// Average response time.
    Response,
}

impl From<RankName> for Rank {
    fn from(name: RankName) -> Rank {
        match name {
            RankName::Iops => Rank::Iops,
            RankName::Bytes => Rank::Bytes,
            RankName::Share => Rank::Share,
            RankName::Response => Rank::Response,
        }
    }
}

/// How moments are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TimeAxis {
    /// As the clock showed them, where the trace tells when it began.
    #[default]
    Clock,
    /// In seconds from the start.
    Relative,
}

/// What a hit map shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum HitsName {
    /// Hits of reads and writes.
    #[default]
    Count,
    /// Bytes read and written.
    Bytes,
    /// The stream with the most hits.
    Streams,
}

impl From<HitsName> for HitsShown {
    fn from(name: HitsName) -> HitsShown {
        match name {
            HitsName::Count => HitsShown::Count,
            HitsName::Bytes => HitsShown::Bytes,
            HitsName::Streams => HitsShown::Streams,
        }
    }
}

/// `trace hot`.
#[derive(Debug, Args)]
pub struct HotArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Number of LBA ranges to divide the device into: 1000 for 0.1 % each
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ranges: u32,
    /// Print at most this many ranges of each device; JSON has as many
    #[arg(long, default_value_t = 20)]
    pub top: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace drives`.
#[derive(Debug, Args)]
pub struct DrivesArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace profile`.
#[derive(Debug, Args)]
pub struct ProfileArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Width of an interval; must divide a day
    #[arg(long, default_value = "1h")]
    pub step: Nanos,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace locality`.
#[derive(Debug, Args)]
pub struct LocalityArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace shape`.
#[derive(Debug, Args)]
pub struct ShapeArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Omit streams with a smaller share from the table of gaps
    #[arg(long, default_value_t = Threshold::USUAL)]
    pub threshold: Threshold,
    /// Compute shares by I/Os (count) or by bytes
    #[arg(long, default_value_t)]
    pub by: By,
    /// Width of a capture step, 100us to 1h or whole hours; default: chosen from the capture's length
    #[arg(long, value_parser = super::common::capture_step)]
    pub step: Option<Nanos>,
    /// Time as the clock showed it, or relative to the start
    #[arg(long, value_enum, default_value_t)]
    pub time: TimeAxis,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
