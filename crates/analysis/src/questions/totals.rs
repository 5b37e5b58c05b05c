//! Results of the first pass over a capture, on which everything over time is based: I/O streams,
//! the cumulative workload and the time span. [`Derivation`] adds the workload over time, from
//! which applied workloads are made.

use crate::captured::{Captured, steps_over};
use crate::clock::CaptureClock;
use crate::fold::{Fold, dyn_folds};
use crate::pass::{PassAccount, PassOptions};
use crate::questions::compare::SideSet;
use crate::questions::cumulative::{CumulativeWorkload, Threshold};
use crate::questions::hits::HitMapQuantity;
use crate::questions::series::{SeriesOverTime, SeriesSelection};
use crate::questions::steps::{CaptureStep, Steps};
use crate::questions::streams::{ShareMeasure, StreamTable};
use crate::sums::content_of_part::PartContent;
use std::collections::BTreeMap;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::Layer;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::observed_time::ObservedTime;

/// Maximum number of steps of a plot of the whole capture.
pub const PLOT_STEPS_MAX: u64 = 4000;

/// Options for the study of a capture.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyOptions {
    /// Filter and sequentiality.
    pub pass: PassOptions,
    /// Measure by which shares are taken.
    pub by: ShareMeasure,
    /// Smallest share of a stream that is listed separately.
    pub threshold: Threshold,
    /// Width of a capture step, in nanoseconds; `None` chooses one by the length of the capture.
    pub step_ns: Option<u64>,
    /// Number of LBA ranges of a hit map.
    pub ranges: usize,
    /// Meaning of the shades or colors of a hit map.
    pub hits: HitMapQuantity,
    /// Clock of plots over time; `None` shows times since the beginning of the capture.
    pub clock: Option<CaptureClock>,
}

impl Default for StudyOptions {
    fn default() -> Self {
        StudyOptions {
            pass: PassOptions::default(),
            by: ShareMeasure::Count,
            threshold: Threshold::DEFAULT,
            step_ns: None,
            ranges: 200,
            hits: HitMapQuantity::default(),
            clock: None,
        }
    }
}

/// Totals of a capture.
#[derive(Debug, Clone)]
pub struct CaptureTotals {
    /// Options with which the totals were made.
    pub options: StudyOptions,
    /// Conditions of the capture. If a filter selects some I/Os, compression and duplicates are
    /// those of the selected I/Os.
    pub conditions: CaptureConditions,
    /// Account of the first pass.
    pub account: PassAccount,
    /// First and last issue time; for a capture of sums, begin and end of the steps.
    pub span_ns: (u64, u64),
    /// Observed time that passes the filter. Rates are per second of it.
    pub observed: ObservedTime,
    /// Width of a capture step, in nanoseconds.
    pub step_ns: u64,
    /// Requested step width if it is too narrow for a plot of the whole capture; detail plots use
    /// it.
    pub detail_step_ns: Option<u64>,
    /// All I/O streams.
    pub streams: StreamTable,
    /// Streams at or above the threshold.
    pub workload: CumulativeWorkload,
    /// Devices and layers with selected I/Os.
    pub sides_seen: SideSet,
}

impl CaptureTotals {
    /// Reads a capture once, and passes its batches to `other_folds` as well.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if no I/O passes the filter, [`TraceError::TooFine`] if
    /// the steps are too narrow for a plot, and the errors of [`Captured::width`] and
    /// [`Captured::run`].
    pub fn read(
        captured: &Captured,
        options: &StudyOptions,
        other_folds: Vec<&mut dyn Fold>,
    ) -> Result<Self, TraceError> {
        let totals = Self::read_with_wider_steps(captured, options, other_folds)?;
        if totals.detail_step_ns.is_some() {
            // Always fails here, with the reason.
            captured.width(options.step_ns, totals.span_ns, PLOT_STEPS_MAX)?;
        }
        Ok(totals)
    }

    /// Does the same as [`Self::read`], but uses wider steps if those requested are too narrow for a
    /// plot.
    ///
    /// # Errors
    /// Same as [`Self::read`], except for steps that are too narrow.
    pub fn read_with_wider_steps(
        captured: &Captured,
        options: &StudyOptions,
        other_folds: Vec<&mut dyn Fold>,
    ) -> Result<Self, TraceError> {
        let mut streams = StreamTable::new();
        let mut sides_seen = SideSet::with_busy_sides(!options.pass.filter.spans_ns.is_empty());
        let mut folds: Vec<&mut dyn Fold> = vec![&mut streams, &mut sides_seen];
        folds.extend(other_folds.into_iter().map(|fold| fold as &mut dyn Fold));
        let mut content = PartContent::read(captured, &options.pass);
        folds.extend(content.fold());
        let account = captured.run(&options.pass, &mut folds)?;
        let span_ns = captured.span_of(&options.pass, &account)?;
        let (step_ns, detail_step_ns) = plot_width(captured, options.step_ns, span_ns)?;
        let workload = CumulativeWorkload::new(&streams, options.by, options.threshold);
        Ok(CaptureTotals {
            options: options.clone(),
            conditions: content.conditions(captured.conditions()),
            account,
            span_ns,
            observed: captured.observed(&options.pass.filter),
            step_ns,
            detail_step_ns,
            streams,
            workload,
            sides_seen,
        })
    }

    /// Describes the filter in words; `None` if all I/Os of the capture are counted.
    pub fn describe_filter(&self) -> Option<String> {
        self.options.pass.filter.describe(&self.conditions)
    }

    /// Returns true if both layers are counted, so that a program's request and the device I/Os it
    /// caused are added up.
    pub fn mixes_layers(&self) -> bool {
        let has = |layer| self.sides_seen.iter().any(|side| side.layer == layer);
        has(Layer::Block) && has(Layer::FileSystem)
    }

    /// Returns empty series of the workload's streams over the capture steps.
    pub fn series(&self) -> SeriesOverTime {
        SeriesOverTime::new(self.step_ns, &SeriesSelection::Streams(self.workload.keys()))
    }

    /// Returns empty capture steps.
    pub fn steps(&self) -> Steps {
        steps_over(&self.options.pass, self.span_ns, self.step_ns)
    }
}

/// Returns the step width of a plot of the whole capture, and the requested width if that gives too
/// many steps.
fn plot_width(
    captured: &Captured,
    requested_ns: Option<u64>,
    span_ns: (u64, u64),
) -> Result<(u64, Option<u64>), TraceError> {
    let width_ns = captured.width(requested_ns, span_ns, u64::MAX)?;
    if span_ns.1.saturating_sub(span_ns.0) / width_ns <= PLOT_STEPS_MAX {
        return Ok((width_ns, None));
    }
    let steps = span_ns.1 / width_ns - span_ns.0 / width_ns + 1;
    Ok((width_ns.saturating_mul(steps.div_ceil(PLOT_STEPS_MAX)), Some(width_ns)))
}

/// The cumulative workload of a capture, in total and over time.
pub struct Derivation {
    /// The totals with the cumulative workload.
    pub totals: CaptureTotals,
    /// The streams of the workload over time.
    pub streams_over_time: SeriesOverTime,
    /// Capture steps of all I/Os, if they were requested.
    pub steps: Option<BTreeMap<u64, CaptureStep>>,
}

impl Derivation {
    /// Derives the workload. Capture steps of all I/Os take another pass and are included only if
    /// `with_steps` is set.
    ///
    /// # Errors
    /// Same as [`CaptureTotals::read`].
    pub fn read(
        captured: &Captured,
        options: &StudyOptions,
        with_steps: bool,
    ) -> Result<Self, TraceError> {
        let (pass, requested_ns) = (&options.pass, options.step_ns);
        let mut stream_steps = captured.stream_steps_fold(pass, requested_ns, PLOT_STEPS_MAX);
        let totals =
            CaptureTotals::read(captured, options, dyn_folds(&mut stream_steps).collect())?;
        let keys = totals.workload.keys();
        let series = captured.series(pass, stream_steps.as_ref(), totals.step_ns, &keys)?;
        let mut steps = with_steps.then(|| totals.steps());
        if let Some(steps) = &mut steps {
            captured.run(pass, &mut [steps])?;
        }
        let steps = steps.map(Steps::finish).transpose()?;
        Ok(Derivation { totals, streams_over_time: series, steps })
    }
}
