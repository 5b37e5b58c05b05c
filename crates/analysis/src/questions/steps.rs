//! Capture steps: the I/Os in each interval of the capture's time.
//!
//! An I/O belongs to the step in which it was issued. Busy time is the time in which at least one
//! I/O was outstanding on a device, whenever it was issued; it is divided among the steps in which
//! it passed, and restricted to the time spans of the filter ([`Filter::restrict_busy`]).
//!
//! [`Filter::restrict_busy`]: crate::Filter::restrict_busy

use crate::annotate::busy_time::BusySpan;
use crate::cells::{BusyInStep, CubeCell, Dimensions, FilteredCells};
use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, columns, json_columns};
use crate::cube::CellSums;
use crate::fold::{AnnotatedRows, Fold};
use crate::sums::busy_spans::{OpenBusySpans, by_step};
pub use crate::sums::capture_step::CaptureStep;
use crate::sums::content::{self, ContentFigures, Contents, HasContent};
use crate::sums::io_sums::SumColumns;
pub use crate::sums::io_times::StepTimes;
use crate::sums::packed_steps::PackedSteps;
use crate::sums::server_cpu_use::ServerCpuUse;
use crate::sums::step_width::check_is_multiple;
use std::collections::BTreeMap;
use steadfast_domain::histogram::CoarseHistogram;
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_domain::{CaptureConditions, IoOp, Nanos};
use steadfast_tracefile::cube_file::TimeSums;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::observed_time::{ObservedTime, rate_is_known};
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of steps that are kept; packed they take about 100 MB.
pub const STEPS_MAX: usize = 1 << 20;

/// The capture steps of a trace.
#[derive(Debug, Clone)]
pub struct Steps {
    width_ns: u64,
    until_ns: u64,
    /// Number of the open step.
    current: u64,
    /// Start of the current step, in nanoseconds.
    begin_ns: u64,
    open: CaptureStep,
    /// Response times of the open step, by bucket.
    dense: Vec<u64>,
    closed: PackedSteps,
    busy: OpenBusySpans,
}

impl Steps {
    /// Creates empty steps of `width_ns` nanoseconds.
    pub fn new(width_ns: u64) -> Self {
        Steps {
            width_ns: width_ns.max(1),
            until_ns: u64::MAX,
            current: 0,
            begin_ns: 0,
            open: CaptureStep::default(),
            dense: vec![0; CoarseHistogram::LEN],
            closed: PackedSteps::default(),
            busy: OpenBusySpans::default(),
        }
    }

    /// Ignores busy time after `until_ns`. Without this limit an I/O that never ends would create
    /// steps without end.
    pub fn until(mut self, until_ns: u64) -> Self {
        self.until_ns = until_ns;
        self
    }

    /// Returns the width of a step, in nanoseconds.
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// Takes one row.
    #[inline]
    pub(crate) fn take_row(
        &mut self,
        columns: &SumColumns<'_>,
        row: usize,
    ) -> Result<(), TraceError> {
        let issued = columns.issued.at(row);
        // The next I/O nearly always belongs to the same step, and needs no division.
        if issued < self.begin_ns || issued - self.begin_ns >= self.width_ns {
            self.enter(issued)?;
        }
        let op = columns.op.op(row) as usize;
        self.open.ops[op].add(columns.bytes.at(row), columns.rows.sequential[row]);
        let response = columns.response.at(row);
        let response = (response != RESPONSE_UNKNOWN).then_some(response);
        self.open.times.add(response, columns.queued.at(row), columns.rows.depth[row]);
        if let Some(response) = response {
            self.dense[CoarseHistogram::index(response)] += 1;
        }
        if columns.sampled.at(row) & 0xffff > 0 {
            self.open.times.contents.count(columns.rows.batch.content(row));
        }
        match self.busy.add(columns.side(row), columns.rows.busy[row]) {
            Some(finished) => self.add_busy(finished),
            None => Ok(()),
        }
    }

    /// Closes the open step and opens that of `issued_ns`.
    #[cold]
    fn enter(&mut self, issued_ns: u64) -> Result<(), TraceError> {
        self.close()?;
        self.current = issued_ns / self.width_ns;
        self.begin_ns = self.current * self.width_ns;
        Ok(())
    }

    fn add_busy(&mut self, (from, to): BusySpan) -> Result<(), TraceError> {
        let open = self.begin_ns..=self.begin_ns.saturating_add(self.width_ns).min(self.until_ns);
        if open.contains(&from) && open.contains(&to) {
            self.open.busy_ns += to - from;
            return Ok(());
        }
        self.divide_busy((from, to))
    }

    /// Divides a busy span among closed steps.
    pub(crate) fn divide_busy(&mut self, (from, to): BusySpan) -> Result<(), TraceError> {
        for (step, busy_ns) in by_step((from, to.min(self.until_ns)), self.width_ns) {
            self.at(step)?.busy_ns += busy_ns;
        }
        Ok(())
    }

    fn at(&mut self, step: u64) -> Result<&mut CaptureStep, TraceError> {
        self.closed.at(step, STEPS_MAX).ok_or_else(|| {
            TraceError::TooFine(format!(
                "more than {STEPS_MAX} capture steps of {}; choose wider steps with --step",
                Nanos(self.width_ns)
            ))
        })
    }

    fn close(&mut self) -> Result<(), TraceError> {
        if self.open.ios() == 0 {
            return Ok(());
        }
        let mut step = std::mem::take(&mut self.open);
        step.histogram = CoarseHistogram::from_dense(&self.dense);
        self.dense.fill(0);
        self.at(self.current)?.merge(&step);
        Ok(())
    }

    /// Closes the open step and divides all remaining busy time among the steps.
    fn close_all(&mut self) -> Result<(), TraceError> {
        self.close()?;
        self.busy.take().into_iter().try_for_each(|busy| self.divide_busy(busy.span))
    }

    /// Returns the number of I/Os in all steps.
    pub fn ios(&self) -> u64 {
        self.open.ios() + self.closed.iter().map(|(_, step)| step.ios()).sum::<u64>()
    }

    /// Returns all steps with an I/O or with busy time, by number from the beginning of the
    /// capture.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] beyond [`STEPS_MAX`] steps.
    pub fn finish(self) -> Result<BTreeMap<u64, CaptureStep>, TraceError> {
        self.finish_packed().map(PackedSteps::unpacked)
    }

    /// Like [`Self::finish`], but returns the steps packed, for up to a million steps.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] beyond [`STEPS_MAX`] steps.
    pub fn finish_packed(mut self) -> Result<PackedSteps, TraceError> {
        self.close_all()?;
        self.closed.pack_all();
        Ok(self.closed)
    }

    /// Takes a cell of a fold file.
    pub(crate) fn take_cell(&mut self, cell: &CubeCell) -> Result<(), TraceError> {
        // Closed first, because `dense` still holds the response times of the open step.
        self.close()?;
        let mut dense = std::mem::take(&mut self.dense);
        let step = self.at(cell.begin_ns / self.width_ns);
        let taken = step.map(|step| step.add_cell(cell, &mut dense));
        dense.fill(0);
        self.dense = dense;
        taken
    }

    /// Takes busy time of a fold file.
    pub(crate) fn take_busy(&mut self, busy: &BusyInStep) -> Result<(), TraceError> {
        if busy.begin_ns < self.until_ns {
            let step = self.at(busy.begin_ns / self.width_ns)?;
            step.busy_ns = step.busy_ns.saturating_add(busy.busy_ns);
        }
        Ok(())
    }
}

impl Fold for Steps {
    fn fields(&self) -> Fields {
        STEP_FIELDS
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let columns = SumColumns::new(rows, true);
        rows.iter().try_for_each(|row| self.take_row(&columns, row))?;
        rows.edge_busy.iter().try_for_each(|busy| self.divide_busy(busy.span))
    }
    fn new_part(&self) -> Option<Self> {
        Some(Steps::new(self.width_ns).until(self.until_ns))
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Ok(())
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        check_is_multiple(self.width_ns, cells.step_ns)?;
        cells.cells.iter().try_for_each(|cell| self.take_cell(cell))?;
        cells.busy.iter().try_for_each(|busy| self.take_busy(busy))
    }
    fn merge(&mut self, mut other: Self) -> Result<(), TraceError> {
        other.close_all()?;
        let rest = self.closed.take_over(other.closed, STEPS_MAX);
        rest.iter().try_for_each(|(step, found)| self.at(step).map(|ours| ours.merge(&found)))
    }
}

/// Columns from which capture steps are computed.
pub const STEP_FIELDS: Fields = Fields::new(&[
    Field::Issued,
    Field::Op,
    Field::Bytes,
    Field::Response,
    Field::Queued,
    Field::Depth,
    Field::Device,
    Field::Layer,
])
.and(Contents::FIELDS)
.and(Fields::BUSY);

/// One capture step of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFigures {
    /// Start, in nanoseconds.
    pub begin_ns: u64,
    /// I/Os of all operations.
    pub count: u64,
    /// Bytes of reads and writes.
    pub amount: u64,
    /// I/Os per second of observed time that passes the filter; `None` if too little was observed.
    pub iops: Option<f64>,
    /// Bytes of reads and writes per second; `None` if too little was observed.
    pub bytes_per_second: Option<f64>,
    /// I/Os by operation, in the order of `IoOp::ALL`.
    pub ios: [u64; 5],
    /// Share of the reads and writes that are sequential, 0 to 1.
    pub sequential_share: Option<f64>,
    /// Average response time, in nanoseconds.
    pub response_mean_ns: Option<u64>,
    /// 99th percentile of the response times, in nanoseconds; `None` if no single I/Os were kept.
    pub response_p99_ns: Option<u64>,
    /// Longest response time, in nanoseconds.
    pub response_max_ns: Option<u64>,
    /// Average queue depth at issue.
    pub qd_mean: Option<f64>,
    /// Largest queue depth at issue.
    pub qd_max: Option<u32>,
    /// Times spent in the queue before issue.
    pub queued: TimeSums,
    /// Share of the time from queue insertion to completion that was spent in the queue, 0 to 1.
    pub queue_share: Option<f64>,
    /// Share of the time with at least one I/O outstanding, 0 to 1; `None` if unknown.
    pub busy_share: Option<f64>,
    /// Threads with I/Os in the step; `None` if unknown.
    pub threads: Option<u32>,
    /// Processor use of the captured host; `None` if unknown.
    pub processors: Option<ServerCpuUse>,
    /// Measurements of written blocks.
    pub content: ContentFigures,
}

impl HasContent for StepFigures {
    fn content(&self) -> &ContentFigures {
        &self.content
    }
}

/// The properties of a capture on which the figures of its steps depend.
#[derive(Debug, Clone, Copy)]
pub struct StepContext<'c> {
    /// Width of a step, in nanoseconds.
    pub width_ns: u64,
    /// Observed time that passes the filter.
    pub observed: &'c ObservedTime,
    /// Number of devices whose busy time is summed; `None` if busy time is unknown.
    pub devices: Option<u64>,
    /// Conditions of the capture.
    pub conditions: &'c CaptureConditions,
}

impl StepFigures {
    /// Returns the figures of the step with this number, without threads and processor use.
    pub fn new(number: u64, step: &CaptureStep, context: &StepContext<'_>) -> Self {
        let StepContext { width_ns, observed, devices, conditions } = *context;
        let times = &step.times;
        let observed_ns = observed.of_step(number, width_ns);
        let is_known = rate_is_known(observed_ns, width_ns);
        StepFigures {
            begin_ns: number.saturating_mul(width_ns),
            count: step.ios(),
            amount: step.transferred_bytes(),
            iops: observed.per_second_of_step(number, width_ns, step.ios() as f64),
            bytes_per_second: observed.per_second_of_step(
                number,
                width_ns,
                step.transferred_bytes() as f64,
            ),
            ios: step.ops.map(|op| op.ios),
            sequential_share: step.sequential_share(),
            response_mean_ns: times.response_mean().map(|time| time.0),
            response_p99_ns: step.percentile(0.99).map(|time| time.0),
            response_max_ns: times.response_max().map(|time| time.0),
            qd_mean: times.depths.mean(),
            qd_max: times.depths.largest(),
            queued: times.queued,
            queue_share: times.together.share(),
            busy_share: devices
                .filter(|devices| *devices > 0 && is_known)
                .map(|devices| busy_share(step.busy_ns, observed_ns, devices))
                .filter(|share| !is_busy_time_missed(conditions, step.ios(), *share)),
            threads: None,
            processors: None,
            content: ContentFigures::new(times.contents, conditions),
        }
    }

    /// Returns the figures with the number of threads that had I/Os in the step.
    pub fn with_threads(self, threads: Option<u32>) -> Self {
        StepFigures { threads, ..self }
    }

    /// Returns the figures with the processor use of the captured host, for a step of `width_ns`
    /// nanoseconds.
    pub fn with_processors(self, conditions: &CaptureConditions, width_ns: u64) -> Self {
        let end_ns = self.begin_ns.saturating_add(width_ns);
        let processors = ServerCpuUse::between(conditions, self.begin_ns, end_ns);
        StepFigures { processors, ..self }
    }

    /// Returns the mean queue depth divided by the threads; `None` if one of them is unknown.
    pub fn depth_per_thread(&self) -> Option<f64> {
        Some(self.qd_mean? / f64::from(self.threads.filter(|threads| *threads > 0)?))
    }

    /// Returns the start of the step as tables show it.
    pub fn begin(&self) -> String {
        Self::BEGIN.text(self)
    }

    fn ios_of(&self, op: IoOp) -> u64 {
        self.ios[op as usize]
    }
}

/// Returns the busy share of the time of devices. An I/O may be outstanding beyond the observed
/// part of a step; at most that part is counted.
pub fn busy_share(busy_ns: u64, observed_ns: u64, devices: u64) -> f64 {
    let busy_ns = busy_ns.min(observed_ns.saturating_mul(devices));
    busy_ns as f64 / observed_ns as f64 / devices as f64
}

/// Returns true if the kernel's sums lack the busy time of a step: a step with I/Os was busy.
pub fn is_busy_time_missed(conditions: &CaptureConditions, ios: u64, busy_share: f64) -> bool {
    conditions.busy_time && ios > 0 && busy_share == 0.0
}

json_columns! {
    StepFigures + StepFigures::CONTENT;
    /// Start of the step.
    BEGIN = "begin_ns", "Begin s", Seconds, Whole(|s| s.begin_ns);
    /// I/Os.
    COUNT = "count", "I/Os", Plain(0), Whole(|s| s.count);
    /// Data of reads and writes.
    AMOUNT = "amount", "MB", Megabytes(1), Whole(|s| s.amount);
    /// I/Os per second; null if too little time was observed.
    IOPS = "iops", "IOPS", Plain(1), MaybeReal(|s| s.iops);
    /// Data moved; null if too little time was observed.
    MBS = "bytes_per_second", "MB/s", Megabytes(3), MaybeReal(|s| s.bytes_per_second);
    /// Reads.
    READS = "reads", "reads", Plain(0), Whole(|s| s.ios_of(IoOp::Read));
    /// Writes.
    WRITES = "writes", "writes", Plain(0), Whole(|s| s.ios_of(IoOp::Write));
    /// Discards.
    DISCARDS = "discards", "discards", Plain(0), Whole(|s| s.ios_of(IoOp::Discard));
    /// Flushes.
    FLUSHES = "flushes", "flushes", Plain(0), Whole(|s| s.ios_of(IoOp::Flush));
    /// I/Os of other operations.
    OTHERS = "others", "others", Plain(0), Whole(|s| s.ios_of(IoOp::Other));
    /// Share of sequential I/Os among reads and writes; null without them.
    SEQUENTIAL = "sequential_share", "SEQ %", Percent(1), MaybeReal(|s| s.sequential_share);
    /// Average response time.
    ART = "response_mean_ns", "ART ms", Milliseconds, MaybeWhole(|s| s.response_mean_ns);
    /// 99th percentile of the response times.
    P99 = "response_p99_ns", "99% ms", Milliseconds, MaybeWhole(|s| s.response_p99_ns);
    /// Longest response time.
    MRT = "response_max_ns", "MRT ms", Milliseconds, MaybeWhole(|s| s.response_max_ns);
    /// Average queue depth at issue; null if unknown.
    QD_MEAN = "qd_mean", "QD avg", Plain(2), MaybeReal(|s| s.qd_mean);
    /// Largest queue depth at issue; null if unknown.
    QD_MAX = "qd_max", "QD max", Plain(0), MaybeWhole(|s| s.qd_max.map(u64::from));
    /// Average time in the queue.
    QUEUE_MEAN = "queue_mean_ns", "queue ms", Milliseconds, MaybeWhole(|s| s.queued.mean_ns());
    /// Longest time in the queue.
    QUEUE_MAX = "queue_max_ns", "queue max ms", Milliseconds, MaybeWhole(|s| s.queued.longest_ns());
    /// Share of the time from queue insertion to completion that was spent in the queue.
    QUEUE_SHARE = "queue_share", "queue %", Percent(1), MaybeReal(|s| s.queue_share);
    /// Share of the time with at least one I/O outstanding.
    BUSY = "utilisation", "busy %", Percent(1), MaybeReal(|s| s.busy_share);
    /// Threads with I/Os in the step; null if unknown.
    THREADS = "threads", "threads", Plain(0), MaybeWhole(|s| s.threads.map(u64::from));
    /// Average queue depth divided by the threads; null if unknown.
    DEPTH_PER_THREAD = "qd_per_thread", "QD/thread", Plain(2), MaybeReal(|s| s.depth_per_thread());
    /// CPU use of the captured host; null if unknown.
    CPU = "host_cpu_share", "host CPU %", Percent(1),
        MaybeReal(|s| s.processors.map(|processors| processors.busy));
    /// I/O wait of the captured host; null if unknown.
    IO_WAIT = "host_io_wait_share", "I/O wait %", Percent(1),
        MaybeReal(|s| s.processors.map(|processors| processors.io_wait));
}

type StepFigureColumn = ListingColumn<StepFigures>;

impl StepFigures {
    const NO_READS_OR_WRITES: StepFigureColumn = ListingColumn::shown(
        "other",
        Plain(0),
        Whole(|s| [IoOp::Discard, IoOp::Flush, IoOp::Other].iter().map(|op| s.ios_of(*op)).sum()),
    );
    const CONTENT: [StepFigureColumn; 6] = content::all();

    const TABLE: [StepFigureColumn; 13] = columns![
        BEGIN, IOPS, MBS, READS, WRITES, NO_READS_OR_WRITES, SEQUENTIAL, ART, P99, MRT, QD_MEAN,
        QD_MAX, BUSY
    ];

    /// Number of columns at the beginning of [`Self::table`] that every capture has.
    pub const COMMON_COLUMNS: usize = Self::TABLE.len() - 1;

    /// Columns about written blocks that are part of a table.
    pub const OF_CONTENT: [StepFigureColumn; 3] = content::table();

    /// Returns the columns of the terminal table after the start time. Columns for queue times,
    /// threads, processor use and written blocks are included only if any step has values for them.
    pub fn table(steps: impl Iterator<Item = StepFigures>) -> Vec<StepFigureColumn> {
        let (mut queue, mut threads, mut processors, mut content) = (false, false, false, false);
        for step in steps {
            queue |= step.queued.count > 0;
            threads |= step.threads.is_some();
            processors |= step.processors.is_some();
            content |= step.content.duplicates.is_some();
        }
        let optional: [(bool, &[StepFigureColumn]); 4] = [
            (queue, &[Self::QUEUE_MEAN, Self::QUEUE_SHARE]),
            (threads, &[Self::THREADS, Self::DEPTH_PER_THREAD]),
            (processors, &[Self::CPU, Self::IO_WAIT]),
            (content, &Self::OF_CONTENT),
        ];
        let optional = optional.into_iter().filter(|(is_known, _)| *is_known);
        let optional = optional.flat_map(|(_, columns)| columns);
        Self::TABLE[1..].iter().chain(optional).copied().collect()
    }

    /// Columns of a report's table, after the start of each step.
    pub const OF_REPORT: [StepFigureColumn; 19] = columns![
        IOPS, MBS, READS, WRITES, DISCARDS, FLUSHES, SEQUENTIAL, ART, P99, MRT, QD_MEAN, QD_MAX,
        QUEUE_MEAN, QUEUE_SHARE, BUSY, THREADS, DEPTH_PER_THREAD, CPU, IO_WAIT
    ];

    /// Columns of one device or layer in a table that compares several.
    pub const SIDE_BY_SIDE: [StepFigureColumn; 4] =
        [Self::IOPS, Self::MBS.printed(Megabytes(2)), Self::ART, Self::QD_MEAN.headed("QD")];
}
