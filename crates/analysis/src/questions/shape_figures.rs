//! Figures of the shape of a load, as rows of tables and of JSON.

use crate::captured::{Captured, PassResult, StepsResult, StreamMapResult, steps_over};
use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, json_columns};
use crate::pass::PassOptions;
use crate::questions::compare::SideSet;
use crate::questions::load_shape::{
    DEPTH_CLASSES, DepthRange, IDLE_ENDS_NS, IdleClass, LoadShape, RUN_CLASSES, RunLengths,
};
use crate::questions::series::SeriesOverTime;
use crate::questions::steps::CaptureStep;
use crate::questions::streams::ShareMeasure;
use crate::sums::response::ResponseFigures;
use crate::threshold::Threshold;
use serde::Serialize;
use std::collections::BTreeMap;
use steadfast_domain::{CaptureConditions, IoOp, Nanos};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;

/// Minimum number of steps from which an index of dispersion is computed.
const DISPERSION_STEPS_MIN: u64 = 10;

/// The shape of a capture's load, with the steps and series it was measured on.
pub struct ShapeResult {
    /// Capture steps, with their response times.
    pub steps: StepsResult,
    /// Queue depths, gaps, runs and idle periods.
    pub shape: LoadShape,
    /// I/O streams over the capture steps.
    pub series: SeriesOverTime,
    /// Issue times of the first and the last I/O, in nanoseconds.
    pub span_ns: (u64, u64),
}

impl ShapeResult {
    /// Reads a capture once for its streams and once more for their shape.
    ///
    /// `requested_ns` is the width of a step in nanoseconds; `None` chooses a readable width.
    ///
    /// # Errors
    /// Returns [`TraceError::NotRecorded`] if the capture kept no single I/Os, and the errors of
    /// [`Captured::map`].
    pub fn read(
        captured: &Captured,
        pass: &PassOptions,
        requested_ns: Option<u64>,
        by: ShareMeasure,
        threshold: Threshold,
    ) -> Result<PassResult<Self>, TraceError> {
        captured.check_recorded(NotRecorded::SingleIos)?;
        let PassResult { found: map, account } = captured.map(pass, requested_ns, by, threshold)?;
        let StreamMapResult { width_ns, keys, series } = map;
        let span_ns = captured.span_of(pass, &account)?;
        let (mut shape, mut sides) = (LoadShape::new(width_ns, &keys), SideSet::default());
        let mut steps = steps_over(pass, span_ns, width_ns);
        captured.run(pass, &mut [&mut shape, &mut steps, &mut sides])?;
        let steps = steps.finish_packed()?;
        let has_busy_time = captured.has_busy_time(pass, steps.iter().map(|(_, step)| step));
        let devices = has_busy_time.then_some(sides.count());
        let observed = captured.observed(&pass.filter);
        let steps = StepsResult { width_ns, steps, observed, devices, threads: None };
        Ok(PassResult { found: ShapeResult { steps, shape, series, span_ns }, account })
    }

    /// Returns one row per stream.
    pub fn streams(&self) -> Vec<StreamShape> {
        streams(&self.shape, &self.series, self.span_ns, self.steps.width_ns)
    }

    /// Returns one row per capture step.
    pub fn over_time(&self) -> Vec<StepShape> {
        let depths = self.shape.depths();
        let mut rows = Vec::new();
        for (number, step) in self.steps.steps.iter() {
            let begin_ns = number.saturating_mul(self.steps.width_ns);
            rows.push(StepShape::new(begin_ns, &step, depths.get(&number)));
        }
        rows
    }
}

/// Returns one row per stream of a shape.
pub(crate) fn streams(
    shape: &LoadShape,
    series: &SeriesOverTime,
    span_ns: (u64, u64),
    width_ns: u64,
) -> Vec<StreamShape> {
    let mut rows = Vec::new();
    for (number, (key, gaps)) in shape.gaps().enumerate() {
        rows.push(StreamShape {
            stream: key.to_string(),
            gaps: gaps.times.figures(),
            variation: gaps.variation(),
            dispersion: dispersion(series, number, span_ns, width_ns),
        });
    }
    rows
}

/// Returns the index of dispersion of the series with this number: the variance of the number of
/// I/Os per step over its mean. The first and the last step are left out, since the capture covers
/// only part of them.
fn dispersion(
    series: &SeriesOverTime,
    number: usize,
    span_ns: (u64, u64),
    width_ns: u64,
) -> Option<f64> {
    let (first, last) = (span_ns.0 / width_ns + 1, span_ns.1 / width_ns);
    let count = last.checked_sub(first).filter(|count| *count >= DISPERSION_STEPS_MIN)?;
    let (mut sum, mut squares) = (0u128, 0u128);
    for cells in series.steps().range(first..last).map(|(_, cells)| cells) {
        let ios = u128::from(cells.get(number).map_or(0, |cell| cell.ios));
        (sum, squares) = (sum + ios, squares + ios * ios);
    }
    let mean = sum as f64 / count as f64;
    (sum > 0).then(|| (squares as f64 / count as f64 - mean * mean).max(0.0) / mean)
}

/// Gaps between the I/Os of a stream and how evenly they are spread.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamShape {
    /// Name of the stream.
    pub stream: String,
    /// Times from one I/O to the next, in nanoseconds.
    pub gaps: ResponseFigures,
    /// Coefficient of variation of the gaps: standard deviation over mean.
    pub variation: Option<f64>,
    /// Index of dispersion: variance over mean of the I/Os per capture step. `None` if there are
    /// fewer than ten whole steps, or no I/Os in them.
    pub dispersion: Option<f64>,
}

json_columns! {
    StreamShape;
    /// Name of the stream.
    STREAM = "stream", "I/O stream", Plain(0), Text(|s| s.stream.clone());
    /// Gaps between the stream's I/Os.
    GAPS_COUNT = "gaps.count", "gaps", Plain(0), Whole(|s| s.gaps.count);
    /// Average gap.
    GAPS_MEAN_NS = "gaps.mean_ns", "average ms", Milliseconds, MaybeWhole(|s| s.gaps.mean_ns);
    /// Median gap.
    GAPS_P50_NS = "gaps.p50_ns", "50% ms", Milliseconds, MaybeWhole(|s| s.gaps.p50_ns);
    /// 99th percentile of the gaps.
    GAPS_P99_NS = "gaps.p99_ns", "99% ms", Milliseconds, MaybeWhole(|s| s.gaps.p99_ns);
    /// Longest gap.
    GAPS_MAX_NS = "gaps.max_ns", "max ms", Milliseconds, MaybeWhole(|s| s.gaps.max_ns);
    /// Coefficient of variation of the gaps: standard deviation over mean.
    VARIATION = "variation", "variation", Plain(2), MaybeReal(|s| s.variation);
    /// Index of dispersion: variance over mean of the I/Os per capture step.
    DISPERSION = "dispersion", "dispersion", Plain(2), MaybeReal(|s| s.dispersion);
}

json_columns! {
    RunShape;
    /// Fewest selected I/Os in a sequential run of this class.
    FROM = "from", "from I/Os", Plain(0), Whole(|r| r.lengths.0);
    /// Most selected I/Os in a sequential run of this class; null if unlimited.
    TO = "to", "to", Plain(0), MaybeWhole(|r| r.lengths.1);
    /// Sequential runs of reads.
    READS = "reads", "runs of reads", Plain(0), Whole(|r| r.reads);
    /// Sequential runs of writes.
    WRITES = "writes", "runs of writes", Plain(0), Whole(|r| r.writes);
}

json_columns! {
    IdleShape;
    /// Name of the device, with the layer.
    DEVICE = "device", "Device", Plain(0), Text(|i| i.device.clone());
    /// Shortest period of this class, in nanoseconds.
    FROM_NS = "from_ns", "ns", Plain(0), Whole(|i| i.times_ns.0);
    /// End of this class, in nanoseconds; null if unlimited.
    TO_NS = "to_ns", "to ns", Plain(0), MaybeWhole(|i| i.times_ns.1);
    /// Idle periods.
    PERIODS = "periods", "periods", Plain(0), Whole(|i| i.periods);
    /// Total length of the idle periods.
    IDLE = "idle_ns", "idle s", Seconds, Whole(|i| i.idle_ns);
}

impl StreamShape {
    /// Columns of a report's table, next to the stream names.
    pub(crate) const OF_REPORT: &[ListingColumn<StreamShape>] = Self::ALL.split_at(1).1;
}

/// Number of sequential runs in one class of lengths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunShape {
    /// Smallest and largest number of I/Os in a run of this class; the last class has no upper
    /// bound.
    pub lengths: (u64, Option<u64>),
    /// Runs of reads.
    pub reads: u64,
    /// Runs of writes.
    pub writes: u64,
}

/// Returns the sequential runs of a shape by length, up to the longest class that occurs.
pub fn runs(shape: &LoadShape) -> Vec<RunShape> {
    let classes = |op| shape.runs(op).map_or([0; RUN_CLASSES], RunLengths::classes);
    let (reads, writes) = (classes(IoOp::Read), classes(IoOp::Write));
    let used = (0..RUN_CLASSES).rev().find(|class| reads[*class] + writes[*class] > 0);
    let class = |class: usize| RunShape {
        lengths: (1 << class, (class + 1 < RUN_CLASSES).then(|| (1 << (class + 1)) - 1)),
        reads: reads[class],
        writes: writes[class],
    };
    used.map_or(Vec::new(), |last| (0..=last).map(class).collect())
}

/// Idle periods of one length class on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleShape {
    /// Name of the device, with the layer.
    pub device: String,
    /// Shortest period of the class and the end of the class, in nanoseconds. The last class has no
    /// end.
    pub times_ns: (u64, Option<u64>),
    /// Number of periods.
    pub periods: u64,
    /// Total length of the periods, in nanoseconds.
    pub idle_ns: u64,
}

impl IdleShape {
    const NAMED: ListingColumn<IdleShape> =
        ListingColumn::shown("idle for", Plain(0), Text(IdleShape::class));

    /// Columns of a terminal's table.
    pub const TABLE: [ListingColumn<IdleShape>; 4] =
        [Self::DEVICE, Self::NAMED, Self::PERIODS, Self::IDLE];
    /// Columns of a report's table, next to the class names.
    pub(crate) const OF_REPORT: [ListingColumn<IdleShape>; 2] = [Self::PERIODS, Self::IDLE];

    /// Returns the class as text: `1 ms to 10 ms`.
    pub fn class(&self) -> String {
        match self.times_ns {
            (0, Some(to)) => format!("less than {}", Nanos(to)),
            (from, Some(to)) => format!("{} to {}", Nanos(from), Nanos(to)),
            (from, None) => format!("{} and longer", Nanos(from)),
        }
    }
}

/// Returns the idle periods of a shape by device and length class.
pub fn idle(shape: &LoadShape, conditions: &CaptureConditions) -> Vec<IdleShape> {
    let mut rows = Vec::new();
    for (side, idle) in shape.idle() {
        for (class, IdleClass { periods, idle_ns }) in idle.classes.into_iter().enumerate() {
            let from_ns = class.checked_sub(1).map_or(0, |before| IDLE_ENDS_NS[before]);
            let times_ns = (from_ns, IDLE_ENDS_NS.get(class).copied());
            rows.push(IdleShape { device: side.name(conditions), times_ns, periods, idle_ns });
        }
    }
    rows
}

/// Response times and queue depths of one capture step.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct StepShape {
    /// When it begins, in nanoseconds.
    pub begin_ns: u64,
    /// 50 %, 99 % and 99.9 % of the response times.
    pub response_p50_ns: Option<u64>,
    /// 99 %.
    pub response_p99_ns: Option<u64>,
    /// 99.9 %.
    pub response_p99_9_ns: Option<u64>,
    /// I/Os by response time: class n has those of 2^n nanoseconds and more, but less than
    /// twice that.
    pub responses: BTreeMap<u32, u64>,
    /// I/Os by queue depth at issue: 1, 2, 3 to 4, 5 to 8 and so on.
    pub depths: Vec<u64>,
}

impl StepShape {
    fn new(begin_ns: u64, step: &CaptureStep, depths: Option<&[u64; DEPTH_CLASSES]>) -> Self {
        let percentile = |fraction| step.percentile(fraction).map(|time| time.0);
        StepShape {
            begin_ns,
            response_p50_ns: percentile(0.5),
            response_p99_ns: percentile(0.99),
            response_p99_9_ns: percentile(0.999),
            responses: response_classes(step),
            depths: depths.copied().unwrap_or_default().to_vec(),
        }
    }
}

/// Returns the I/Os of a step by the power of two of their response time in nanoseconds. The
/// histogram keeps response times below 16 ns in one bucket, so they share one class.
pub(crate) fn response_classes(step: &CaptureStep) -> BTreeMap<u32, u64> {
    let mut classes = BTreeMap::new();
    for (shortest, _, count) in step.histogram.buckets() {
        *classes.entry(shortest.0.max(1).ilog2()).or_default() += count;
    }
    classes
}

/// Returns a class of queue depths as text: `3 to 4`.
pub fn depth_name(class: usize) -> String {
    let DepthRange { from, to } = DepthRange::from_class(class);
    match to {
        Some(to) if from == to => from.to_string(),
        Some(to) => format!("{from} to {to}"),
        None => format!("{from} and more"),
    }
}
