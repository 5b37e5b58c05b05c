//! Before and after: two captures compared by stream, by process or by device, the largest change
//! first. Rates are per second of observed time, so that captures of different lengths can be
//! compared.

use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, columns, json_columns};
use crate::questions::group_figures::GroupFigures;
use crate::questions::groups::{Facet, Groups};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use steadfast_domain::CaptureConditions;
use steadfast_domain::text::excerpt;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::observed_time::{ObservedTime, StepGrid};

/// Alignment of the time axes of two captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeAlignment {
    /// Both captures from their beginning.
    Start,
    /// Both captures from their event mark of this name, optionally with an offset.
    Mark(String),
    /// By clock time: the time that both captures cover.
    Clock,
}

impl FromStr for TimeAlignment {
    type Err = TraceError;
    fn from_str(text: &str) -> Result<Self, TraceError> {
        match (text, text.strip_prefix("mark:")) {
            ("start", _) => Ok(TimeAlignment::Start),
            ("clock", _) => Ok(TimeAlignment::Clock),
            (_, Some(name)) if !name.is_empty() => Ok(TimeAlignment::Mark(name.to_owned())),
            _ => {
                let what =
                    format!("'{text}' is none of: start, clock, mark:NAME", text = excerpt(text));
                Err(TraceError::Unsuitable(what))
            }
        }
    }
}

impl fmt::Display for TimeAlignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeAlignment::Start => f.write_str("start"),
            TimeAlignment::Mark(name) => write!(f, "mark:{name}"),
            TimeAlignment::Clock => f.write_str("clock"),
        }
    }
}

/// A capture on a time axis that it shares with another one.
#[derive(Debug, Clone)]
pub struct AlignedCapture {
    /// Position of its own beginning on the shared axis, in nanoseconds.
    pub origin_ns: u64,
    /// Observed time that is compared, on its own axis.
    pub observed: ObservedTime,
    /// Grid of the steps for which it kept sums, on its own axis; `None` if single I/Os were kept.
    pub grid: Option<StepGrid>,
}

/// Maximum number of attempts to round a span to the steps of both captures.
const ROUNDINGS_MAX: usize = 10_000;

impl AlignedCapture {
    /// Places a capture on the clock; `None` if it does not record its start time.
    pub fn by_clock(
        conditions: &CaptureConditions,
        observed: ObservedTime,
        grid: Option<StepGrid>,
    ) -> Option<Self> {
        Some(AlignedCapture { origin_ns: conditions.began_unix_ns?, observed, grid })
    }

    /// Converts a span of the shared axis to its own axis.
    pub fn own(&self, (from, to): (u64, u64)) -> (u64, u64) {
        let own = |at: u64| if at == u64::MAX { at } else { at.saturating_sub(self.origin_ns) };
        (own(from), own(to))
    }

    /// Returns the part of a span of the shared axis that consists of whole steps of the capture.
    fn whole_steps(&self, span: (u64, u64)) -> (u64, u64) {
        let Some(grid) = self.grid else { return span };
        let (from, to) = self.observed.inner_steps(self.own(span), grid);
        (from.saturating_add(self.origin_ns), to.saturating_add(self.origin_ns))
    }
}

/// Narrows a span of the shared axis to whole steps of both captures, so that sums and single I/Os
/// cover the same time. Returns `None` if nothing is left.
pub fn in_whole_steps(captures: &[AlignedCapture; 2], span: (u64, u64)) -> Option<(u64, u64)> {
    let mut span = span;
    for _ in 0..ROUNDINGS_MAX {
        let narrower = captures.iter().fold(span, |span, capture| capture.whole_steps(span));
        if narrower.0 >= narrower.1 {
            return None;
        }
        if narrower == span {
            return Some(span);
        }
        span = narrower;
    }
    None
}

/// Returns the spans of the shared axis that both captures observed, in whole steps of both.
pub fn shared_time(captures: &[AlignedCapture; 2]) -> Vec<(u64, u64)> {
    let [a, b] = captures.each_ref().map(|one| one.observed.shifted(one.origin_ns));
    let common = a.within(b.spans_ns());
    common.spans_ns().iter().filter_map(|span| in_whole_steps(captures, *span)).collect()
}

/// Returns true if every capture overlaps another one on the shared axis.
pub fn overlap(captures: &[AlignedCapture]) -> bool {
    let times: Vec<ObservedTime> =
        captures.iter().map(|one| one.observed.shifted(one.origin_ns)).collect();
    let meets = |a: usize, b: usize| a != b && times[a].within(times[b].spans_ns()).total_ns() > 0;
    (0..times.len()).all(|a| (0..times.len()).any(|b| meets(a, b)))
}

/// Returns how much later than the earliest each capture begins, in nanoseconds.
pub fn delays(captures: &[AlignedCapture]) -> Vec<i64> {
    let earliest = captures.iter().map(|one| one.origin_ns).min().unwrap_or(0);
    let delay = |one: &AlignedCapture| i64::try_from(one.origin_ns - earliest).unwrap_or(i64::MAX);
    captures.iter().map(delay).collect()
}

/// Measure by which changes are ranked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DeltaRank {
    /// I/Os per second.
    #[default]
    Iops,
    /// Bytes per second.
    Bytes,
    /// Share of the I/Os.
    Share,
    /// Average response time.
    Response,
}

/// One capture of a comparison.
#[derive(Debug, Clone)]
pub struct DeltaSide {
    groups: BTreeMap<String, GroupFigures>,
    total: GroupFigures,
    observed: ObservedTime,
}

impl DeltaSide {
    /// Creates a side from the groups of a capture and its observed time.
    pub fn new(groups: &Groups, conditions: &CaptureConditions, observed: ObservedTime) -> Self {
        // Device numbers differ between captures; names are the same in both.
        DeltaSide {
            groups: groups.by_name(conditions),
            total: groups.total_figures(conditions),
            observed,
        }
    }
}

/// Returns the facet by which two captures are compared. Process numbers differ between captures,
/// so processes are grouped by command name.
pub fn facets(by: Facet) -> [Facet; 1] {
    [if by == Facet::Process { Facet::Command } else { by }]
}

/// Figures of one group in one capture.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeltaFigures {
    /// Number of I/Os; 0 if the group does not exist.
    pub count: u64,
    /// I/Os per second.
    pub iops: Option<f64>,
    /// Bytes per second.
    pub bytes_per_second: Option<f64>,
    /// Share of all I/Os, 0 to 1.
    pub share: f64,
    /// Average size, in bytes.
    pub size_mean: Option<f64>,
    /// Average queue depth.
    pub qd_mean: Option<f64>,
    /// Average time in the queue, in nanoseconds.
    pub queue_mean_ns: Option<u64>,
    /// Share of the time between insertion into the queue and completion that was spent in the
    /// queue.
    pub queue_share: Option<f64>,
    /// Average response time, in nanoseconds.
    pub response_mean_ns: Option<u64>,
    /// 99th percentile of the response times, in nanoseconds.
    pub response_p99_ns: Option<u64>,
    /// Longest response time, in nanoseconds.
    pub response_max_ns: Option<u64>,
}

/// One group in both captures.
#[derive(Debug, Clone, PartialEq)]
pub struct Delta {
    /// Name of the group.
    pub name: String,
    /// Figures before.
    pub a: DeltaFigures,
    /// Figures after.
    pub b: DeltaFigures,
}

impl DeltaFigures {
    fn new(side: &DeltaSide, group: Option<&GroupFigures>) -> DeltaFigures {
        let rate = |amount: u64| side.observed.per_second(amount as f64);
        let Some(group) = group else {
            return DeltaFigures { iops: rate(0), bytes_per_second: rate(0), ..Default::default() };
        };
        DeltaFigures {
            count: group.count,
            iops: rate(group.count),
            bytes_per_second: rate(group.amount),
            share: group.share_of_count,
            size_mean: group.tally.size_mean(),
            qd_mean: group.tally.times.depths.mean(),
            queue_mean_ns: group.queued.mean_ns,
            queue_share: group.queue_share(),
            response_mean_ns: group.response.mean_ns,
            response_p99_ns: group.response.p99_ns,
            response_max_ns: group.response.max_ns,
        }
    }

    fn ranked(&self, rank: DeltaRank) -> f64 {
        match rank {
            DeltaRank::Iops => self.iops.unwrap_or(0.0),
            DeltaRank::Bytes => self.bytes_per_second.unwrap_or(0.0),
            DeltaRank::Share => self.share,
            DeltaRank::Response => self.response_mean_ns.unwrap_or(0) as f64,
        }
    }
}

/// Returns every group of either capture, the largest change first.
pub fn deltas(sides: &[DeltaSide; 2], rank: DeltaRank) -> Vec<Delta> {
    let [a, b] = sides;
    let mut names: Vec<&String> = a.groups.keys().chain(b.groups.keys()).collect();
    names.sort();
    names.dedup();
    let delta = |name: &String| Delta {
        name: name.clone(),
        a: DeltaFigures::new(a, a.groups.get(name)),
        b: DeltaFigures::new(b, b.groups.get(name)),
    };
    let mut deltas: Vec<Delta> = names.into_iter().map(delta).collect();
    let change = |delta: &Delta| {
        // If one side has no response time, there is no change to rank.
        let are_known = delta.a.response_mean_ns.and(delta.b.response_mean_ns).is_some();
        let known = rank != DeltaRank::Response || are_known;
        if known { (delta.b.ranked(rank) - delta.a.ranked(rank)).abs() } else { -1.0 }
    };
    deltas.sort_by(|one, other| change(other).partial_cmp(&change(one)).unwrap_or(Ordering::Equal));
    deltas
}

/// Returns the figures of all groups together.
pub fn total(sides: &[DeltaSide; 2]) -> Delta {
    let [a, b] = sides.each_ref().map(|side| DeltaFigures::new(side, Some(&side.total)));
    Delta { name: "all".into(), a, b }
}

/// Returns the relative change from `a` to `b`; `None` if `a` is zero or unknown.
fn change(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let (a, b) = a.zip(b)?;
    (a > 0.0).then(|| b / a - 1.0)
}

json_columns! {
    Delta;
    /// Name of the group.
    NAME = "name", "", Plain(0), Text(|d| d.name.clone());
    /// I/Os in A.
    COUNT_A = "a.count", "A I/Os", Plain(0), Whole(|d| d.a.count);
    /// I/Os per second in A; null if too little time was observed.
    IOPS_A = "a.iops", "A IOPS", Plain(1), MaybeReal(|d| d.a.iops);
    /// Data moved in A; null if too little time was observed.
    BYTES_A = "a.bytes_per_second", "A MB/s", Megabytes(2), MaybeReal(|d| d.a.bytes_per_second);
    /// Share of all I/Os in A.
    SHARE_A = "a.share", "A %", Percent(2), Real(|d| d.a.share);
    /// Average size of an I/O in A, in bytes.
    SIZE_A = "a.size_mean", "A bytes", Plain(0), MaybeReal(|d| d.a.size_mean);
    /// Average queue depth at issue in A.
    DEPTH_A = "a.qd_mean", "A QD", Plain(2), MaybeReal(|d| d.a.qd_mean);
    /// Average time in the queue in A.
    QUEUE_A = "a.queue_mean_ns", "A queue ms", Milliseconds, MaybeWhole(|d| d.a.queue_mean_ns);
    /// Share of the time from queue insertion to completion that was spent in the queue in A.
    QUEUE_SHARE_A = "a.queue_share", "A queue %", Percent(1), MaybeReal(|d| d.a.queue_share);
    /// Average response time in A.
    ART_A = "a.response_mean_ns", "A ART ms", Milliseconds, MaybeWhole(|d| d.a.response_mean_ns);
    /// 99th percentile of the response times in A.
    P99_A = "a.response_p99_ns", "A 99% ms", Milliseconds, MaybeWhole(|d| d.a.response_p99_ns);
    /// Longest response time in A.
    MRT_A = "a.response_max_ns", "A MRT ms", Milliseconds, MaybeWhole(|d| d.a.response_max_ns);
    /// I/Os in B.
    COUNT_B = "b.count", "B I/Os", Plain(0), Whole(|d| d.b.count);
    /// I/Os per second in B; null if too little time was observed.
    IOPS_B = "b.iops", "B IOPS", Plain(1), MaybeReal(|d| d.b.iops);
    /// Data moved in B; null if too little time was observed.
    BYTES_B = "b.bytes_per_second", "B MB/s", Megabytes(2), MaybeReal(|d| d.b.bytes_per_second);
    /// Share of all I/Os in B.
    SHARE_B = "b.share", "B %", Percent(2), Real(|d| d.b.share);
    /// Average size of an I/O in B, in bytes.
    SIZE_B = "b.size_mean", "B bytes", Plain(0), MaybeReal(|d| d.b.size_mean);
    /// Average queue depth at issue in B.
    DEPTH_B = "b.qd_mean", "B QD", Plain(2), MaybeReal(|d| d.b.qd_mean);
    /// Average time in the queue in B.
    QUEUE_B = "b.queue_mean_ns", "B queue ms", Milliseconds, MaybeWhole(|d| d.b.queue_mean_ns);
    /// Share of the time from queue insertion to completion that was spent in the queue in B.
    QUEUE_SHARE_B = "b.queue_share", "B queue %", Percent(1), MaybeReal(|d| d.b.queue_share);
    /// Average response time in B.
    ART_B = "b.response_mean_ns", "B ART ms", Milliseconds, MaybeWhole(|d| d.b.response_mean_ns);
    /// 99th percentile of the response times in B.
    P99_B = "b.response_p99_ns", "B 99% ms", Milliseconds, MaybeWhole(|d| d.b.response_p99_ns);
    /// Longest response time in B.
    MRT_B = "b.response_max_ns", "B MRT ms", Milliseconds, MaybeWhole(|d| d.b.response_max_ns);
    /// Relative change of the I/Os per second.
    IOPS_CHANGE = "change.iops", "IOPS %", Percent(1), MaybeReal(|d| change(d.a.iops, d.b.iops));
    /// Relative change of the data rate.
    BYTES_CHANGE = "change.bytes_per_second", "MB/s %", Percent(1),
        MaybeReal(|d| change(d.a.bytes_per_second, d.b.bytes_per_second));
    /// Change of the share of all I/Os.
    SHARE_CHANGE = "change.share", "% points", Percent(2), Real(|d| d.b.share - d.a.share);
    /// Relative change of the average response time.
    ART_CHANGE = "change.response_mean_ns", "ART %", Percent(1),
        MaybeReal(|d| {
            let time = |side: &DeltaFigures| side.response_mean_ns.map(|ns| ns as f64);
            change(time(&d.a), time(&d.b))
        });
}

type DeltaColumn = ListingColumn<Delta>;

impl Delta {
    /// Columns of a report's table, next to the group names.
    pub const OF_REPORT: [DeltaColumn; 23] = columns![
        COUNT_A, COUNT_B, IOPS_A, IOPS_B, IOPS_CHANGE, SHARE_A, SHARE_B, SHARE_CHANGE, SIZE_A,
        SIZE_B, DEPTH_A, DEPTH_B, QUEUE_A, QUEUE_B, QUEUE_SHARE_A, QUEUE_SHARE_B, ART_A, ART_B,
        ART_CHANGE, P99_A, P99_B, MRT_A, MRT_B
    ];

    /// Columns of a terminal's table.
    const TABLE: [DeltaColumn; 14] = columns![
        NAME, COUNT_A, COUNT_B, IOPS_A, IOPS_B, IOPS_CHANGE, SHARE_CHANGE, DEPTH_A, DEPTH_B, ART_A,
        ART_B, ART_CHANGE, P99_A, P99_B
    ];

    /// Returns the columns of a terminal's table, with times in the queue if either side has them.
    pub fn table(has_queue: bool) -> Vec<DeltaColumn> {
        let queue: &[DeltaColumn] = if has_queue { &[Self::QUEUE_A, Self::QUEUE_B] } else { &[] };
        Self::TABLE.iter().chain(queue).copied().collect()
    }
}
