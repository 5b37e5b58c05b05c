//! What a first pass over a capture finds, on which everything over time rests:
//! I/O streams, the cumulative workload, the span. Then [`Derivation`]: the
//! workload over time. Applied workloads are made from it.

use crate::captured::{Captured, steps_over};
use crate::clock::Clock;
use crate::fold::Fold;
use crate::pass::{Pass, PassAccount};
use crate::questions::compare::{SideKey, SidesSeen};
use crate::questions::cumulative::{Threshold, Workload};
use crate::questions::series::{SeriesOf, SeriesOverTime};
use crate::questions::steps::{CaptureStep, Steps};
use crate::questions::streams::{By, StreamTable};
use crate::sums::content_of_part::ContentOfPart;
use std::collections::BTreeMap;
use std::io::{Read, Seek};
use steadfast_domain::CaptureConditions;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::observed_time::ObservedTime;

/// Steps over a whole picture, at most.
pub const PICTURE_STEPS_MAX: u64 = 4000;

/// How to study a capture.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyOptions {
    /// Filter and sequentiality.
    pub pass: Pass,
    /// By what shares are taken.
    pub by: By,
    /// The smallest share of a stream that is told apart.
    pub threshold: Threshold,
    /// Width of a capture step; chosen by the length of the capture where absent.
    pub step_ns: Option<u64>,
    /// LBA ranges of a hit map.
    pub ranges: usize,
    /// What the shades or colors of a hit map stand for.
    pub hits: HitsShown,
    /// The clock that pictures over time show; without one they show times from the
    /// capture's beginning.
    pub clock: Option<Clock>,
}

/// What a report's hit maps show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HitsShown {
    /// Hits of reads and of writes.
    #[default]
    Count,
    /// Bytes read and written.
    Bytes,
    /// The stream with the most hits.
    Streams,
}

impl Default for StudyOptions {
    fn default() -> Self {
        StudyOptions {
            pass: Pass::default(),
            by: By::Count,
            threshold: Threshold::USUAL,
            step_ns: None,
            ranges: 200,
            hits: HitsShown::default(),
            clock: None,
        }
    }
}

/// What a capture adds up to.
#[derive(Debug, Clone)]
pub struct Totals {
    /// How it was made.
    pub options: StudyOptions,
    /// How the capture came about. Where some I/Os are chosen, compression and duplicates are
    /// those of these.
    pub conditions: CaptureConditions,
    /// What the first pass saw.
    pub account: PassAccount,
    /// First and last issue time; of sums, beginning and end of the steps.
    pub span_ns: (u64, u64),
    /// The time that was observed and that the filter lets pass: rates are per second of it.
    pub observed: ObservedTime,
    /// Width of a capture step in nanoseconds.
    pub step_ns: u64,
    /// The width that was asked for, where a picture has no room for so many steps and
    /// has wider ones.
    pub fine_ns: Option<u64>,
    /// Every I/O stream.
    pub streams: StreamTable,
    /// The streams at or above the threshold.
    pub workload: Workload,
    /// Devices and layers with I/Os that count.
    pub sides_seen: SidesSeen,
}

impl Totals {
    /// Goes over a capture once, and hands its batches to further folds as well.
    ///
    /// # Errors
    /// Where it cannot be read, nothing passes the filter, the steps are too narrow
    /// for a picture or no multiple of those that were kept.
    pub fn of<R: Read + Seek + Send + 'static>(
        captured: &Captured<R>,
        options: &StudyOptions,
        more: Vec<&mut dyn Fold>,
    ) -> Result<Self, TraceError> {
        let totals = Self::widened(captured, options, more)?;
        match totals.fine_ns {
            // Says what is wrong with it.
            Some(_) => {
                captured.width(options.step_ns, totals.span_ns, PICTURE_STEPS_MAX)?;
                Ok(totals)
            }
            None => Ok(totals),
        }
    }

    /// The same, in wider steps where those asked for are too narrow for a picture.
    ///
    /// # Errors
    /// As [`Self::of`], but for that.
    pub fn widened<R: Read + Seek + Send + 'static>(
        captured: &Captured<R>,
        options: &StudyOptions,
        more: Vec<&mut dyn Fold>,
    ) -> Result<Self, TraceError> {
        let (mut streams, mut sides_seen) = (StreamTable::new(), SidesSeen::default());
        let mut folds: Vec<&mut dyn Fold> = vec![&mut streams, &mut sides_seen];
        folds.extend(more.into_iter().map(|fold| fold as &mut dyn Fold));
        let mut content = ContentOfPart::of(captured, &options.pass);
        folds.extend(content.fold());
        let account = captured.run(&options.pass, &mut folds)?;
        let span_ns = captured.span_of(&options.pass, &account)?;
        let (step_ns, fine_ns) = picture_width(captured, options.step_ns, span_ns)?;
        let workload = Workload::of(&streams, options.by, options.threshold);
        Ok(Totals {
            options: options.clone(),
            conditions: content.conditions(captured.conditions()),
            account,
            span_ns,
            observed: captured.observed(&options.pass.filter),
            step_ns,
            fine_ns,
            streams,
            workload,
            sides_seen,
        })
    }

    /// Which of the capture's I/Os are counted; `None` where all are.
    pub fn filter_told(&self) -> Option<String> {
        self.options.pass.filter.told(&self.conditions)
    }

    /// Whether I/Os of the block and of the file-system layer are counted
    /// together: what a program asked, and what the device got of it.
    pub fn mixes_layers(&self) -> bool {
        let layers = || self.sides_seen.iter().map(|SideKey { layer, .. }| layer);
        layers().any(|layer| Some(layer) != layers().next())
    }

    /// The workload's streams over capture steps, not yet filled.
    pub fn series(&self) -> SeriesOverTime {
        SeriesOverTime::new(self.step_ns, &SeriesOf::Streams(self.workload.keys()))
    }

    /// The capture steps, not yet filled.
    pub fn steps(&self) -> Steps {
        steps_over(&self.options.pass, self.span_ns, self.step_ns)
    }
}

/// The width of a picture's steps; with the one that was asked for where that makes too
/// many.
fn picture_width<R: Read + Seek + Send + 'static>(
    captured: &Captured<R>,
    asked: Option<u64>,
    span_ns: (u64, u64),
) -> Result<(u64, Option<u64>), TraceError> {
    let Some(fine) = asked.filter(|fine| *fine > 0) else {
        return Ok((captured.width(asked, span_ns, PICTURE_STEPS_MAX)?, None));
    };
    captured.width(asked, span_ns, u64::MAX)?;
    let steps = span_ns.1 / fine - span_ns.0 / fine + 1;
    match captured.width(asked, span_ns, PICTURE_STEPS_MAX) {
        Ok(width) => Ok((width, None)),
        Err(_) => Ok((fine.saturating_mul(steps.div_ceil(PICTURE_STEPS_MAX)), Some(fine))),
    }
}

/// The cumulative workload of a capture, and what was done of it when.
pub struct Derivation {
    /// The workload and what it is of.
    pub totals: Totals,
    /// Its streams over time.
    pub streams_over_time: SeriesOverTime,
    /// Capture steps of everything, where they were asked for.
    pub steps: Option<BTreeMap<u64, CaptureStep>>,
}

impl Derivation {
    /// Derives the workload; with everything that was done in each capture step
    /// only where that is asked for.
    ///
    /// # Errors
    /// As [`Totals::of`].
    pub fn of<R: Read + Seek + Send + 'static>(
        captured: &Captured<R>,
        options: &StudyOptions,
        with_steps: bool,
    ) -> Result<Self, TraceError> {
        let (pass, asked) = (&options.pass, options.step_ns);
        let mut gathered = captured.gathering(pass, asked, PICTURE_STEPS_MAX);
        let more = gathered.iter_mut().map(|fold| fold as &mut dyn Fold);
        let totals = Totals::of(captured, options, more.collect())?;
        let keys = totals.workload.keys();
        let series = captured.series(pass, gathered.as_ref(), (totals.step_ns, &keys))?;
        let steps = if with_steps {
            let mut steps = totals.steps();
            captured.run(pass, &mut [&mut steps])?;
            Some(steps.finish()?)
        } else {
            None
        };
        Ok(Derivation { totals, streams_over_time: series, steps })
    }
}
