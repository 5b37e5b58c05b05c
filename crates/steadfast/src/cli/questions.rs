//! The command line of an administrator's questions about a capture: processes, drives, time of
//! day, hot addresses, trust.

use super::common::{AxisArguments, NamedValue, SharesArguments, one_of};
use super::selection::Selection;
use clap::Args;
use steadfast_analysis::questions::delta::DeltaRank;
use steadfast_analysis::questions::group_figures::GroupFigureSet;
use steadfast_analysis::questions::groups::Facet;
use steadfast_analysis::questions::hits::HitMapQuantity;
use steadfast_analysis::questions::streams::ShareMeasure;
use steadfast_domain::Nanos;

/// `trace groups`.
#[derive(Debug, Args)]
pub struct GroupsArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Attributes by which I/Os are grouped: host, device, process, command, thread, cgroup, file, stream, op,
    /// cpu; several separated by commas
    #[arg(long, value_delimiter = ',', default_value = "process,stream", value_name = "FACETS")]
    pub by: Vec<Facet>,
    /// Value to show: per group
    #[arg(long, value_name = "WHAT", default_value = "counts", value_parser = one_of(GROUP_FIGURE_SETS))]
    pub show: GroupFigureSet,
    /// Largest first by this figure: I/Os (count) or bytes
    #[arg(long, value_name = "FIGURE", default_value_t)]
    pub rank: ShareMeasure,
    /// Print at most this many rows; JSON has all
    #[arg(long, value_name = "N", default_value_t = 40, conflicts_with = "json")]
    pub top: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Sets of figures of a group.
const GROUP_FIGURE_SETS: [NamedValue<GroupFigureSet>; 4] = [
    NamedValue::new("counts", GroupFigureSet::Counts, "Counts, amounts, response times"),
    NamedValue::new("times", GroupFigureSet::Times, "Queue time and response time"),
    NamedValue::new(
        "kinds",
        GroupFigureSet::Kinds,
        "Shares of synchronous, FUA, metadata, read-ahead and writeback I/Os; merged requests",
    ),
    NamedValue::new(
        "content",
        GroupFigureSet::Content,
        "Compression and duplicates of what was written (capture --content-sample)",
    ),
];

/// Figures by which changes are ranked.
pub(super) const DELTA_RANKS: [NamedValue<DeltaRank>; 4] = [
    NamedValue::new("iops", DeltaRank::Iops, "I/Os per second"),
    NamedValue::new("bytes", DeltaRank::Bytes, "Bytes per second"),
    NamedValue::new("share", DeltaRank::Share, "Share of all I/Os"),
    NamedValue::new("response", DeltaRank::Response, "Average response time"),
];

/// Quantities of a hit map.
pub(super) const HIT_MAP_QUANTITIES: [NamedValue<HitMapQuantity>; 3] = [
    NamedValue::new("count", HitMapQuantity::Count, "Hits of reads and writes"),
    NamedValue::new("bytes", HitMapQuantity::Bytes, "Bytes read and written"),
    NamedValue::new("streams", HitMapQuantity::Streams, "The stream with the most hits"),
];

/// `trace hot`.
#[derive(Debug, Args)]
pub struct HotArguments {
    #[command(flatten)]
    pub selection: Selection,
    /// Number of LBA ranges to divide the device into; 1000 for 0.1 % each
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub ranges: u32,
    /// Print at most this many rows; of each device. JSON has as many
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace drives`, `trace doctor` and `trace locality`, which have no options of their own.
#[derive(Debug, Args)]
pub struct QuestionArguments {
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
    /// Width of a step of the capture's time; must divide a day
    #[arg(long, value_name = "TIME", default_value = "1h")]
    pub step: Nanos,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `trace map` and `trace shape`: streams over time.
#[derive(Debug, Args)]
pub struct StreamTimeArguments {
    #[command(flatten)]
    pub selection: Selection,
    #[command(flatten)]
    pub shares: SharesArguments,
    #[command(flatten)]
    pub axis: AxisArguments,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
