//! [`Captured`]: a capture as its files hold it, as single I/Os or as the sums of its capture
//! steps. Both answer the same questions. A question that needs single I/Os fails with one error,
//! [`NotRecorded`], if these were not kept.

use crate::filter::Filter;
use crate::fleet::{CellTotals, Fleet, FoldFile, SingleCapture, SummedCapture};
use crate::fold::{Fold, dyn_folds};
use crate::pass::{AnnotatedBatches, PassAccount, PassOptions};
use crate::questions::compare::{SideSet, SideSteps, Sides, SidesResult, host_name};
use crate::questions::cumulative::{CumulativeWorkload, Threshold};
use crate::questions::series::{SeriesOverTime, SeriesSelection};
use crate::questions::steps::{CaptureStep, STEPS_MAX, StepContext, StepFigures, Steps};
use crate::questions::stream_steps::{CELLS_MAX, StreamSteps};
use crate::questions::streams::{ShareMeasure, StreamKey, StreamTable};
use crate::questions::threads::ThreadSteps;
use crate::sums::packed_steps::PackedSteps;
use crate::sums::step_width::{step_width, step_width_of};
use crate::thread_pool::ThreadPool;
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::sync::Arc;
use steadfast_domain::text::counted;
use steadfast_domain::{CaptureConditions, Layer};
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::observed_time::{ObservedTime, StepGrid};
use steadfast_tracefile::parquet::parts::PartFile;
use steadfast_tracefile::parquet::{
    Fields, Footer, Integrity, Recovery, SharedMedium, Trace, TraceWriter, footer,
    footer_or_blocks, is_same_capture,
};
use steadfast_tracefile::{StepWriter, TraceMedium};

/// A capture: one file, or several if it was rotated; or several captures read together.
pub struct Captured {
    content: CaptureContent,
    threads: Option<Arc<dyn ThreadPool>>,
}

enum CaptureContent {
    Single(SingleCapture),
    /// Several captures, or a fold file.
    Fleet(Box<Fleet>),
}

/// The answer to a question, and the account of the pass that found it.
#[derive(Debug, Clone, PartialEq)]
pub struct PassResult<T> {
    /// The answer.
    pub found: T,
    /// Account of the pass.
    pub account: PassAccount,
}

/// Capture steps of all I/Os that pass a filter.
#[derive(Debug, Clone, PartialEq)]
pub struct StepsResult {
    /// Width of a step, in nanoseconds.
    pub width_ns: u64,
    /// Steps by number, counted from the beginning of the capture.
    pub steps: PackedSteps,
    /// Observed time that passes the filter.
    pub observed: ObservedTime,
    /// Number of devices, counted per layer, that busy time is a share of; `None` if busy time is
    /// unknown.
    pub devices: Option<u64>,
    /// Threads with I/Os by step; `None` if threads were not recorded.
    pub threads: Option<ThreadSteps>,
}

/// I/O streams over capture steps.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamMapResult {
    /// Width of a step, in nanoseconds.
    pub width_ns: u64,
    /// Streams with a series of their own, in the order of the series.
    pub keys: Vec<StreamKey>,
    /// One series per stream over the steps.
    pub series: SeriesOverTime,
}

impl StepsResult {
    /// Returns the figures of every step in ascending order. `conditions` are those of the capture.
    pub fn figures<'s>(
        &'s self,
        conditions: &'s CaptureConditions,
    ) -> impl Iterator<Item = StepFigures> + 's {
        let StepsResult { width_ns, ref observed, devices, .. } = *self;
        let context = StepContext { width_ns, observed, devices, conditions };
        self.steps.iter().map(move |(at, step)| {
            StepFigures::new(at, &step, &context)
                .with_threads(self.threads.as_ref().and_then(|threads| threads.count(at)))
                .with_processors(conditions, width_ns)
        })
    }
}

impl From<Trace> for Captured {
    fn from(trace: Trace) -> Self {
        SingleCapture::Ios(Arc::new(trace)).into()
    }
}

impl From<SingleCapture> for Captured {
    fn from(capture: SingleCapture) -> Self {
        Captured { content: CaptureContent::Single(capture), threads: None }
    }
}

impl From<Fleet> for Captured {
    fn from(fleet: Fleet) -> Self {
        Captured { content: CaptureContent::Fleet(Box::new(fleet)), threads: None }
    }
}

impl Captured {
    /// Opens a trace, a step file or a fold file. A file whose writer was killed is read up to its
    /// last complete row group, as [`Self::recovery`] reports.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if reading fails, [`TraceError::NotATrace`] if the file is none
    /// of these, or another [`TraceError`] if the file is damaged or unsupported.
    pub fn open(medium: impl TraceMedium) -> Result<Self, TraceError> {
        let source = SharedMedium::new(medium)?;
        let found = footer(&source)?;
        Self::from_footer(source, found)
    }

    /// Opens a file by its recovery blocks if its footer is damaged.
    ///
    /// # Errors
    /// Returns the errors of [`Self::open`].
    pub fn recover(medium: impl TraceMedium) -> Result<Self, TraceError> {
        let source = SharedMedium::new(medium)?;
        let found = footer_or_blocks(&source)?;
        Self::from_footer(source, found)
    }

    fn from_footer(source: SharedMedium, found: Footer) -> Result<Self, TraceError> {
        if found.is_fold() {
            Fleet::from_file(FoldFile::from_footer(source, found)?).map(Self::from)
        } else if found.holds_only_sums() {
            let sums = SummedCapture::from_steps(source, found)?;
            Ok(SingleCapture::Sums(Box::new(sums)).into())
        } else {
            Trace::from_footer(source, found).map(Self::from)
        }
    }

    /// Combines the files of one capture, given in any order.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if `parts` is empty, the files belong to different
    /// captures, a part occurs twice, or some files hold single I/Os and others capture steps.
    pub fn together(parts: Vec<Self>) -> Result<Self, TraceError> {
        let (mut traces, mut steps) = (Vec::new(), Vec::new());
        for part in parts {
            match part.content {
                CaptureContent::Fleet(_) => return Err(not_one_capture()),
                CaptureContent::Single(SingleCapture::Ios(trace)) => {
                    traces.push(Arc::into_inner(trace).ok_or_else(still_in_use)?)
                }
                CaptureContent::Single(SingleCapture::Sums(file)) => steps.push(*file),
            }
        }
        match (traces.is_empty(), steps.is_empty()) {
            (_, true) => Trace::join(traces).map(Self::from),
            (true, false) => {
                Ok(SingleCapture::Sums(Box::new(SummedCapture::together(steps)?)).into())
            }
            (false, false) => {
                let what = "some of the files hold single I/Os, others only capture steps; \
                    compare captures with: steadfast trace compare";
                Err(TraceError::Unsuitable(what.into()))
            }
        }
    }

    /// Combines files of any captures. Files of one capture are combined by [`Self::together`];
    /// several captures, of one host or of several, share one time axis.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if `parts` is empty, a part occurs twice, or captures
    /// cannot be combined.
    pub fn several(parts: Vec<Self>) -> Result<Self, TraceError> {
        let mut captures: Vec<Vec<Self>> = Vec::new();
        for part in parts {
            match captures.iter_mut().find(|capture| part.is_part_of(capture)) {
                Some(capture) => capture.push(part),
                None => captures.push(vec![part]),
            }
        }
        if captures.len() < 2 {
            return Self::from_files(captures.pop().unwrap_or_default());
        }
        let (mut members, mut left_out) = (Vec::new(), Vec::new());
        for files in captures {
            match Self::from_files(files)?.content {
                CaptureContent::Single(capture) => members.push(capture),
                CaptureContent::Fleet(fleet) => {
                    let (captures, files) = fleet.into_members();
                    members.extend(captures);
                    left_out.extend(files);
                }
            }
        }
        left_out.sort();
        left_out.dedup();
        Fleet::new(members, left_out).map(Self::from)
    }

    /// Combines the files of one capture; a single file may be a fold file.
    fn from_files(mut files: Vec<Self>) -> Result<Self, TraceError> {
        match files.len() {
            1 => files.pop().ok_or_else(not_one_capture),
            _ => Self::together(files),
        }
    }

    /// Returns true if this is a file of the same capture as one of `files`.
    pub fn is_part_of(&self, files: &[Self]) -> bool {
        let mut parts = files.iter().filter(|file| !file.is_several());
        !self.is_several()
            && parts.any(|file| is_same_capture(file.conditions(), self.conditions()))
    }

    /// Returns true if this is a file of the same capture as one of `files`, and a different part
    /// than each of them.
    pub fn is_further_part_of(&self, files: &[Self]) -> bool {
        self.is_part_of(files) && !files.iter().any(|file| self.is_same_part_as(file))
    }

    fn is_same_part_as(&self, other: &Self) -> bool {
        use SingleCapture::{Ios, Sums};
        let (CaptureContent::Single(own), CaptureContent::Single(other)) =
            (&self.content, &other.content)
        else {
            return false;
        };
        match (own, other) {
            (Ios(one), Ios(other)) => one.overlaps(other.as_ref()),
            (Sums(one), Sums(other)) => one.overlaps(other.as_ref()),
            _ => false,
        }
    }

    /// Returns the number of captures that are read together, or `None` for the files of one
    /// capture.
    pub fn captures(&self) -> Option<usize> {
        match &self.content {
            CaptureContent::Fleet(fleet) => Some(fleet.captures()),
            _ => None,
        }
    }

    /// Returns the conditions of the only capture, without those that a fold adds; `None` for
    /// several captures.
    pub fn only_capture(&self) -> Option<&CaptureConditions> {
        match &self.content {
            CaptureContent::Fleet(fleet) => fleet.only_capture(),
            _ => Some(self.conditions()),
        }
    }

    /// Returns true if this is a fold file or several captures.
    pub fn is_several(&self) -> bool {
        matches!(self.content, CaptureContent::Fleet(_))
    }

    /// Returns the observed time of each host that passes a filter.
    pub fn observed_by_host(&self, filter: &Filter) -> BTreeMap<String, ObservedTime> {
        match &self.content {
            CaptureContent::Single(_) => {
                BTreeMap::from([(host_name(self.conditions(), 0), self.observed(filter))])
            }
            CaptureContent::Fleet(fleet) => fleet.observed_by_host(filter),
        }
    }

    /// Sets the threads for reading single I/Os. Results do not depend on them.
    pub fn with_thread_pool(mut self, threads: Arc<dyn ThreadPool>) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Returns the observed time that passes a filter. Of several captures, this is the time in
    /// which any of them was observed; it begins after the origin of their axis and may have gaps.
    pub fn observed(&self, filter: &Filter) -> ObservedTime {
        match &self.content {
            CaptureContent::Single(capture) => {
                capture.observed().passing(&filter.spans_ns, capture.step_grid(0))
            }
            CaptureContent::Fleet(fleet) => {
                let hosts = fleet.observed_by_host(filter).into_values();
                hosts.fold(ObservedTime::default(), |all, host| all.and(&host))
            }
        }
    }

    /// Returns the end of the observed time, in nanoseconds.
    pub fn end_ns(&self) -> u64 {
        self.observed(&Filter::default()).end_ns().unwrap_or(0)
    }

    /// Returns the origin of the times that a user gives, in nanoseconds. It is 0 for one capture,
    /// including its later parts, and the beginning of the first capture for several.
    pub fn begin_ns(&self) -> u64 {
        match &self.content {
            CaptureContent::Fleet(fleet) => fleet.begin_ns(),
            _ => 0,
        }
    }

    /// Returns the grid of the steps whose sums were kept, on the time axis; `None` if single I/Os
    /// were kept or captures have different grids.
    pub fn step_grid(&self) -> Option<StepGrid> {
        match &self.content {
            CaptureContent::Single(capture) => capture.step_grid(0),
            CaptureContent::Fleet(fleet) => fleet.step_grid(),
        }
    }

    /// Returns the conditions of the capture.
    pub fn conditions(&self) -> &CaptureConditions {
        match &self.content {
            CaptureContent::Single(capture) => capture.conditions(),
            CaptureContent::Fleet(fleet) => &fleet.conditions,
        }
    }

    /// Returns what could not be read because the writer was killed; `None` if the file is
    /// complete.
    pub fn recovery(&self) -> Option<&Recovery> {
        match &self.content {
            CaptureContent::Single(capture) => capture.recovery(),
            CaptureContent::Fleet(fleet) => fleet.recovery(),
        }
    }

    /// Returns the known damage and gaps. Damage of single I/Os is known only as far as they were
    /// read.
    pub fn integrity(&self) -> Integrity {
        match &self.content {
            CaptureContent::Single(capture) => capture.integrity(),
            CaptureContent::Fleet(fleet) => fleet.integrity(),
        }
    }

    /// Returns the number of files of rotated captures that precede the first file given.
    pub fn earlier_parts(&self) -> u64 {
        match &self.content {
            CaptureContent::Fleet(fleet) => fleet.earlier_parts(),
            _ => self.conditions().earlier_parts(),
        }
    }

    /// Checks that the capture can report something that needs single I/Os.
    ///
    /// # Errors
    /// Returns [`TraceError::NotRecorded`] if it cannot, or [`TraceError::Unsuitable`] if a fold
    /// file cannot.
    pub fn check_recorded(&self, what: NotRecorded) -> Result<(), TraceError> {
        match &self.content {
            CaptureContent::Single(capture) => capture.check_recorded(what),
            CaptureContent::Fleet(fleet) => fleet.check_recorded(what),
        }
    }

    /// Checks that all captures counted the same number of LBA ranges, or none.
    pub(crate) fn check_lba_ranges(&self) -> Result<(), TraceError> {
        match &self.content {
            CaptureContent::Fleet(fleet) => fleet.check_lba_ranges(),
            CaptureContent::Single(_) => Ok(()),
        }
    }

    /// Reads the capture once and passes every batch to all folds.
    ///
    /// # Errors
    /// Returns the errors of [`PassOptions::run`], [`TraceError::NotRecorded`] if a fold or the filter
    /// needs single I/Os that were not kept, or [`TraceError::Unsuitable`] if no kept step begins
    /// within a time filter or a fold file lacks what is needed.
    pub fn run(
        &self,
        pass: &PassOptions,
        folds: &mut [&mut dyn Fold],
    ) -> Result<PassAccount, TraceError> {
        let threads = self.threads.as_deref();
        match &self.content {
            CaptureContent::Single(capture) => {
                capture.run(pass, None, folds, &mut CellTotals::default(), threads)
            }
            CaptureContent::Fleet(fleet) => fleet.run(pass, folds, threads),
        }
    }

    /// Reads the capture once and passes every batch to all folds of one kind.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`].
    pub fn run_each<F: Fold>(
        &self,
        pass: &PassOptions,
        folds: &mut [F],
    ) -> Result<PassAccount, TraceError> {
        let mut folds: Vec<&mut dyn Fold> = dyn_folds(folds).collect();
        self.run(pass, &mut folds)
    }

    /// Returns the single I/Os in issue order, annotated and filtered, for replay or for an
    /// analysis that is no fold.
    ///
    /// # Errors
    /// Returns [`TraceError::NotRecorded`] if no single I/Os were kept, or
    /// [`TraceError::Unsuitable`] for several captures or a fold file.
    pub fn ios(
        &self,
        pass: &PassOptions,
        fields: Fields,
    ) -> Result<AnnotatedBatches<'_>, TraceError> {
        Ok(pass.read(self.trace()?, fields))
    }

    /// Returns a shared handle to the trace of single I/Os.
    ///
    /// # Errors
    /// Returns [`TraceError::NotRecorded`] if no single I/Os were kept, or
    /// [`TraceError::Unsuitable`] for several captures or a fold file.
    pub fn shared_trace(&self) -> Result<Arc<Trace>, TraceError> {
        self.trace().map(Arc::clone)
    }

    fn trace(&self) -> Result<&Arc<Trace>, TraceError> {
        match &self.content {
            CaptureContent::Single(SingleCapture::Ios(trace)) => Ok(trace),
            CaptureContent::Single(SingleCapture::Sums(_)) => Err(NotRecorded::SingleIos.into()),
            CaptureContent::Fleet(fleet) => Err(fleet.refusal(NotRecorded::SingleIos)),
        }
    }

    /// Returns a byte offset that no I/O of any device exceeds, or `None` if it is unknown without
    /// reading the I/Os.
    pub fn end_of_range(&self) -> Option<u64> {
        match &self.content {
            CaptureContent::Single(capture) => capture.end_of_range(),
            CaptureContent::Fleet(fleet) => fleet.end_of_range(),
        }
    }

    /// Returns an upper bound for the addresses of a device in bytes: its size, or the end of the
    /// last I/O on any device; `None` if neither is known without reading the I/Os.
    pub fn size_of(&self, device: u16) -> Option<u64> {
        let device = self.conditions().devices.get(usize::from(device));
        let capacity = device.and_then(|device| device.capacity).map(|bytes| bytes.0);
        capacity.or(self.end_of_range())
    }

    /// Returns the number of single I/Os, or `None` if no single I/Os were kept.
    pub fn rows(&self) -> Option<u64> {
        match &self.content {
            CaptureContent::Single(SingleCapture::Ios(trace)) => Some(trace.rows()),
            _ => None,
        }
    }

    /// Returns the number of I/Os in the sums of one capture, as far as its files record it;
    /// `None` for single I/Os and for several captures.
    pub fn ios_in_sums(&self) -> Option<u64> {
        match &self.content {
            CaptureContent::Single(SingleCapture::Sums(file)) => Some(file.ios()),
            _ => None,
        }
    }

    /// Returns the times of the first and the last I/O that pass, in nanoseconds.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`], or [`TraceError::Unsuitable`] if nothing passes.
    pub fn span_ns(&self, pass: &PassOptions) -> Result<(u64, u64), TraceError> {
        match self.span_unread(pass) {
            Some(span) => Ok(span),
            None => self.span_of(pass, &self.run(pass, &mut [])?),
        }
    }

    /// Returns [`Self::span_ns`] if it is known without reading the I/Os.
    pub(crate) fn span_unread(&self, pass: &PassOptions) -> Option<(u64, u64)> {
        match &self.content {
            CaptureContent::Single(SingleCapture::Ios(trace))
                if pass.filter == Filter::default() =>
            {
                trace.span_ns()
            }
            _ => None,
        }
    }

    /// Returns the times of the first and the last I/O that a pass found, in nanoseconds.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] with the reason if the pass found nothing.
    pub fn span_of(
        &self,
        pass: &PassOptions,
        account: &PassAccount,
    ) -> Result<(u64, u64), TraceError> {
        account.span_ns.ok_or_else(|| {
            if account.events == 0 {
                return TraceError::Unsuitable("it contains no I/O".to_owned());
            }
            let filter = &pass.filter;
            let remedy = if !filter.files.is_empty() && filter.layer == Some(Layer::Block) {
                "only the file-system layer has files: --layer filesystem"
            } else if !filter.files.is_empty() {
                "the files are listed by: steadfast trace groups --by file"
            } else if filter.thread.is_some() {
                "the threads are listed by: steadfast trace groups --by thread"
            } else if !filter.cgroups.is_empty() {
                "the cgroups are listed by: steadfast trace groups --by cgroup"
            } else if filter.process.is_some() {
                "the processes are listed by: steadfast trace processes"
            } else {
                "widen it"
            };
            let described = filter.describe(self.conditions());
            let described = described.map(|filter| format!(" ({filter})")).unwrap_or_default();
            TraceError::Unsuitable(format!("no I/O passes the filter{described}; {remedy}"))
        })
    }

    /// Returns a step width in nanoseconds: `requested_ns`, or the narrowest default width
    /// that gives a readable picture. If step sums were kept, it is a whole multiple of their
    /// width.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if the width is impossible or gives more than `most` steps.
    pub fn width(
        &self,
        requested_ns: Option<u64>,
        span_ns: (u64, u64),
        most: u64,
    ) -> Result<u64, TraceError> {
        let kept_ns = match &self.content {
            CaptureContent::Single(capture) => capture.step_ns(),
            CaptureContent::Fleet(fleet) => fleet.conditions.step_ns,
        };
        match kept_ns {
            Some(kept_ns) => step_width_of(kept_ns, requested_ns, span_ns, most),
            None => step_width(requested_ns, span_ns, most),
        }
    }

    /// Returns the I/O streams. They have no response-time percentiles if only steps were kept and
    /// the filter selects by time.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`].
    pub fn streams(&self, pass: &PassOptions) -> Result<PassResult<StreamTable>, TraceError> {
        let mut found = StreamTable::new();
        let account = self.run(pass, &mut [&mut found])?;
        Ok(PassResult { found, account })
    }

    /// Returns capture steps of `requested_ns`, or of a width that suits the length.
    ///
    /// # Errors
    /// Returns the errors of [`Self::run`] and [`Self::width`], or [`TraceError::Unsuitable`] if
    /// nothing passes.
    pub fn steps(
        &self,
        pass: &PassOptions,
        requested_ns: Option<u64>,
    ) -> Result<PassResult<StepsResult>, TraceError> {
        let span_ns = self.span_ns(pass)?;
        let width_ns = self.width(requested_ns, span_ns, STEPS_MAX as u64)?;
        let mut steps = steps_over(pass, span_ns, width_ns);
        let mut sides = SideSet::with_busy_sides(!pass.filter.spans_ns.is_empty());
        let mut folds: Vec<&mut dyn Fold> = vec![&mut steps, &mut sides];
        let mut threads = self.thread_steps(width_ns);
        folds.extend(dyn_folds(&mut threads));
        let account = self.run(pass, &mut folds)?;
        let steps = steps.finish_packed()?;
        let has_busy_time = self.has_busy_time(pass, steps.iter().map(|(_, step)| step));
        let devices = has_busy_time.then_some(sides.busy_count());
        let observed = self.observed(&pass.filter);
        let found = StepsResult { width_ns, steps, observed, devices, threads };
        Ok(PassResult { found, account })
    }

    /// Returns the empty fold of the threads in each step of `width_ns` nanoseconds, or `None` if the
    /// capture kept no single I/Os or recorded no threads. There is none for several captures: the
    /// threads of different hosts have the same numbers.
    pub fn thread_steps(&self, width_ns: u64) -> Option<ThreadSteps> {
        match &self.content {
            CaptureContent::Single(SingleCapture::Ios(trace)) => {
                ThreadSteps::new(trace.conditions(), width_ns)
            }
            _ => None,
        }
    }

    /// Returns the streams at or above a threshold over time.
    ///
    /// # Errors
    /// Returns the errors of [`Self::steps`].
    pub fn map(
        &self,
        pass: &PassOptions,
        requested_ns: Option<u64>,
        by: ShareMeasure,
        threshold: Threshold,
    ) -> Result<PassResult<StreamMapResult>, TraceError> {
        let mut stream_steps = self.stream_steps_fold(pass, requested_ns, STEPS_MAX as u64);
        let mut table = StreamTable::new();
        let mut folds: Vec<&mut dyn Fold> = vec![&mut table];
        folds.extend(dyn_folds(&mut stream_steps));
        let account = self.run(pass, &mut folds)?;
        let span_ns = self.span_of(pass, &account)?;
        let width_ns = self.width(requested_ns, span_ns, STEPS_MAX as u64)?;
        let keys = CumulativeWorkload::new(&table, by, threshold).keys();
        let series = self.series(pass, stream_steps.as_ref(), width_ns, &keys)?;
        Ok(PassResult { found: StreamMapResult { width_ns, keys, series }, account })
    }

    /// Returns a fold that gathers all streams over steps during a first pass, or `None` if no
    /// single I/Os were kept or the step width is unknown before the pass.
    pub(crate) fn stream_steps_fold(
        &self,
        pass: &PassOptions,
        requested_ns: Option<u64>,
        steps_max: u64,
    ) -> Option<StreamSteps> {
        self.check_recorded(NotRecorded::SingleIos).ok()?;
        let width = match self.span_unread(pass) {
            Some(span) => self.width(requested_ns, span, steps_max).ok()?,
            None => requested_ns?,
        };
        Some(StreamSteps::new(width, CELLS_MAX))
    }

    /// Returns the series of some streams, from the fold of a first pass if that suffices, or else
    /// by a second pass.
    pub(crate) fn series(
        &self,
        pass: &PassOptions,
        stream_steps: Option<&StreamSteps>,
        width_ns: u64,
        keys: &[StreamKey],
    ) -> Result<SeriesOverTime, TraceError> {
        if let Some(series) = stream_steps.and_then(|steps| steps.series(width_ns, keys)) {
            return Ok(series);
        }
        let mut series = SeriesOverTime::new(width_ns, &SeriesSelection::Streams(keys.to_vec()));
        self.run(pass, &mut [&mut series])?;
        Ok(series)
    }

    /// Returns capture steps of every device and layer, as far as these are kept separate.
    ///
    /// # Errors
    /// Returns the errors of [`Self::steps`].
    pub fn sides(
        &self,
        pass: &PassOptions,
        width_ns: u64,
    ) -> Result<PassResult<SidesResult>, TraceError> {
        let span_ns = self.span_ns(pass)?;
        let mut sides = Sides::new(width_ns, until(pass, span_ns, width_ns));
        let account = self.run(pass, &mut [&mut sides])?;
        Ok(PassResult { found: sides.finish()?, account })
    }

    /// Returns the figures of a side's steps of `width_ns` nanoseconds, in ascending order.
    pub fn figures_of_side(
        &self,
        pass: &PassOptions,
        SideSteps { side, steps }: &SideSteps,
        width_ns: u64,
    ) -> Vec<StepFigures> {
        // Busy time is a share of one device's time: that of the side.
        let devices = self.has_busy_time(pass, steps.values()).then_some(1);
        let mut observed = self.observed_by_host(&pass.filter);
        let host = host_name(self.conditions(), side.device);
        let observed = observed.remove(&host).unwrap_or_default();
        let conditions = self.conditions();
        let context = StepContext { width_ns, observed: &observed, devices, conditions };
        steps.iter().map(|(at, step)| StepFigures::new(*at, step, &context)).collect()
    }

    /// Returns true if busy time is known and covers all I/Os of the devices. It is unknown for
    /// capture steps without single I/Os, with a filter by operation, stream or process, and for a
    /// source whose response times are missing or rounded.
    pub fn has_busy_time<S: Borrow<CaptureStep>>(
        &self,
        pass: &PassOptions,
        mut steps: impl Iterator<Item = S>,
    ) -> bool {
        self.check_recorded(NotRecorded::BusyTime).is_ok()
            && pass.filter.keeps_whole_devices()
            && !self.conditions().rounded_times
            && steps.any(|step| step.borrow().times.responses.count > 0)
    }

    /// Writes everything readable as a finished file. `conditions` is called last because damage is
    /// known only after everything was read.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] or [`TraceError::Encode`] if reading or writing fails, or
    /// [`TraceError::Unsuitable`] if this is not a single capture.
    pub fn copy<W: Write + Send>(
        &self,
        sink: W,
        conditions: impl FnOnce() -> CaptureConditions,
    ) -> Result<(W, CopyCounts), TraceError> {
        match &self.content {
            CaptureContent::Single(SingleCapture::Ios(trace)) => copy_ios(trace, sink, conditions),
            CaptureContent::Single(SingleCapture::Sums(file)) => copy_sums(file, sink, conditions),
            CaptureContent::Fleet(_) => Err(not_one_capture()),
        }
    }
}

fn not_one_capture() -> TraceError {
    let what = "the files of one trace are needed, and this is a fold file or several captures";
    TraceError::Unsuitable(what.into())
}

fn still_in_use() -> TraceError {
    TraceError::Unsuitable("a script already reads it; merge its files first".into())
}

/// Returns an empty fold into steps of a width over a span.
pub fn steps_over(pass: &PassOptions, span_ns: (u64, u64), width_ns: u64) -> Steps {
    Steps::new(width_ns).until(until(pass, span_ns, width_ns))
}

/// Returns the end of the last step of a span, or the end of the filter if that is earlier.
pub(crate) fn until(pass: &PassOptions, span_ns: (u64, u64), width_ns: u64) -> u64 {
    let end_ns = (span_ns.1 / width_ns.max(1) + 1).saturating_mul(width_ns);
    end_ns.min(pass.filter.end_ns().unwrap_or(u64::MAX))
}

/// Counts of a finished copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyCounts {
    /// Number of I/Os, single or within sums.
    pub ios: u64,
    /// Number of rows of sums; `None` if every row is one I/O.
    pub sums: Option<u64>,
}

impl fmt::Display for CopyCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&counted(self.ios, "I/O"))?;
        self.sums
            .map_or(Ok(()), |rows| write!(f, " in {} of streams and steps", counted(rows, "row")))
    }
}

const COPIED_AT_ONCE: usize = 1 << 16;

fn copy_ios<W: Write + Send>(
    trace: &Trace,
    sink: W,
    conditions: impl FnOnce() -> CaptureConditions,
) -> Result<(W, CopyCounts), TraceError> {
    let mut writer = TraceWriter::new(sink, trace.conditions())?;
    let (mut batches, mut batch) = (trace.batches(Fields::ALL), Batch::default());
    while batches.read(COPIED_AT_ONCE, &mut batch)? > 0 {
        let events: Vec<_> = (0..batch.len()).map(|row| batch.event(row)).collect();
        writer.write(&events)?;
        batch.clear();
    }
    let copied = CopyCounts { ios: writer.rows(), sums: None };
    Ok((writer.finish(conditions())?, copied))
}

fn copy_sums<W: Write + Send>(
    file: &SummedCapture,
    sink: W,
    conditions: impl FnOnce() -> CaptureConditions,
) -> Result<(W, CopyCounts), TraceError> {
    let mut writer = StepWriter::new(sink, &file.conditions)?;
    let mut ios = 0u64;
    for rows in file.rows() {
        let rows = rows?;
        ios = rows.cells.iter().fold(ios, |sum, cell| sum.saturating_add(cell.ios));
        writer.copy(rows)?;
    }
    let copied = CopyCounts { ios, sums: Some(writer.rows()) };
    Ok((writer.finish(&conditions())?, copied))
}
