//! Capture steps: the I/Os in each interval of the capture's time.
//!
//! An I/O belongs to the step in which it was issued. Busy time is the time in which at least one
//! I/O was outstanding on a device; it is divided among the steps in which it passed.

use crate::annotate::sequential::BusySpan;
use crate::cells::{BusyInStep, CubeCell, Dimensions, FilteredCells};
use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, json_columns};
use crate::fold::{AnnotatedRows, EmptyLike, Fold, FoldCells, ParallelFold};
pub use crate::sums::capture_step::{CaptureStep, OpCount};
use crate::sums::content::{self, ContentFigures, HasContent};
use crate::sums::packed_steps::PackedSteps;
use crate::sums::queue_time::QueueTimeSums;
use crate::sums::server_cpu_use::ServerCpuUse;
use crate::sums::step_width::made_of;
use std::collections::BTreeMap;
use steadfast_domain::histogram::CoarseHistogram;
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_domain::{CaptureConditions, IoOp, Layer, Nanos};
use steadfast_tracefile::batch::{NarrowColumn, WideColumn};
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
    current: u64,
    /// Begin of the current step, in nanoseconds.
    begin_ns: u64,
    open: CaptureStep,
    dense: Vec<u64>,
    closed: PackedSteps,
    /// Busy time that is not yet divided among steps, in order of device and layer.
    carried: Vec<((u16, Layer), BusySpan)>,
    /// Index of the entry of `carried` that was used last.
    last_carried: usize,
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
            carried: Vec::new(),
            last_carried: 0,
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
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] beyond [`STEPS_MAX`] steps.
    #[inline]
    pub(crate) fn take_row(
        &mut self,
        columns: &StepColumns<'_>,
        row: usize,
    ) -> Result<(), TraceError> {
        let issued = columns.issued.at(row);
        // The next I/O nearly always belongs to the same step, and needs no division.
        if issued < self.begin_ns || issued - self.begin_ns >= self.width_ns {
            self.enter(issued)?;
        }
        let op = &mut self.open.ops[columns.op.op(row) as usize];
        op.ios += 1;
        op.bytes = op.bytes.saturating_add(u64::from(columns.bytes.at(row)));
        op.sequential += u64::from(columns.sequential[row]);
        self.add_times(columns.response.at(row), columns.queued.at(row));
        let depth = columns.depth[row];
        self.open.depth_sum += u64::from(depth);
        self.open.depths += u64::from(depth > 0);
        self.open.depth_max = self.open.depth_max.max(depth);
        match columns.busy[row] {
            (from, to) if to > from => self.carry(columns.side(row), (from, to)),
            _ => Ok(()),
        }
    }

    /// Adds a response time and a time in the queue, if they are known.
    #[inline]
    fn add_times(&mut self, response_ns: u64, queued_ns: u64) {
        let response = Some(response_ns).filter(|response| *response != RESPONSE_UNKNOWN);
        if let Some(response) = response {
            self.open.responses += 1;
            self.open.response_sum_ns = self.open.response_sum_ns.saturating_add(response);
            self.open.response_max_ns = self.open.response_max_ns.max(response);
            self.dense[CoarseHistogram::index(response)] += 1;
        }
        if queued_ns > 0 {
            self.open.queued.count_one(queued_ns, response);
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

    /// Adds busy time of a device and layer; extends its last span if the busy time continues it.
    #[inline]
    fn carry(&mut self, side: (u16, Layer), busy: BusySpan) -> Result<(), TraceError> {
        match self.carried.get_mut(self.last_carried) {
            Some((last, carried)) if *last == side && carried.1 == busy.0 => {
                carried.1 = busy.1;
                Ok(())
            }
            _ => self.carry_another(side, busy),
        }
    }

    /// Keeps busy time that does not continue the last entry.
    fn carry_another(&mut self, side: (u16, Layer), busy: BusySpan) -> Result<(), TraceError> {
        let at = match self.carried.binary_search_by_key(&side, |(known, _)| *known) {
            Ok(at) => at,
            Err(at) => {
                self.carried.insert(at, (side, (busy.0, busy.0)));
                at
            }
        };
        self.last_carried = at;
        let carried = &mut self.carried[at].1;
        if carried.1 == busy.0 {
            carried.1 = busy.1;
            return Ok(());
        }
        let done = std::mem::replace(carried, busy);
        let open = self.begin_ns..=self.begin_ns.saturating_add(self.width_ns).min(self.until_ns);
        if open.contains(&done.0) && open.contains(&done.1) {
            self.open.busy_ns += done.1 - done.0;
            return Ok(());
        }
        self.share_out(done)
    }

    fn share_out(&mut self, busy: BusySpan) -> Result<(), TraceError> {
        let (mut from, to) = (busy.0, busy.1.min(self.until_ns));
        while from < to {
            let step = from / self.width_ns;
            let end = (step + 1).saturating_mul(self.width_ns).min(to);
            self.at(step)?.busy_ns += end - from;
            from = end;
        }
        Ok(())
    }

    fn at(&mut self, step: u64) -> Result<&mut CaptureStep, TraceError> {
        self.closed.at(step, STEPS_MAX).ok_or_else(|| {
            TraceError::TooFine(format!(
                "more than {STEPS_MAX} capture steps of {}; choose wider steps",
                Nanos(self.width_ns)
            ))
        })
    }

    /// Closes the open step.
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
    fn settle(&mut self) -> Result<(), TraceError> {
        self.close()?;
        let carried = std::mem::take(&mut self.carried);
        carried.into_iter().try_for_each(|(_, busy)| self.share_out(busy))
    }

    /// Returns the I/Os in all steps.
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
        self.settle()?;
        self.closed.pack_all();
        Ok(self.closed)
    }

    /// Takes a cell of a fold file.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] beyond [`STEPS_MAX`] steps.
    pub(crate) fn take_cell(&mut self, cell: &CubeCell) -> Result<(), TraceError> {
        // The response times of single I/Os of an open step are in `dense` as well.
        self.close()?;
        let mut dense = std::mem::take(&mut self.dense);
        let step = self.at(cell.begin_ns / self.width_ns);
        let taken = step.map(|step| step.take_cell(cell, &mut dense));
        dense.fill(0);
        self.dense = dense;
        taken
    }

    /// Takes busy time of a fold file.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] beyond [`STEPS_MAX`] steps.
    pub(crate) fn take_busy(&mut self, busy: &BusyInStep) -> Result<(), TraceError> {
        if busy.begin_ns < self.until_ns {
            let step = self.at(busy.begin_ns / self.width_ns)?;
            step.busy_ns = step.busy_ns.saturating_add(busy.busy_ns);
        }
        Ok(())
    }
}

impl EmptyLike for Steps {
    fn alike(&self) -> Self {
        Steps::new(self.width_ns).until(self.until_ns)
    }
}

impl Fold for Steps {
    fn fields(&self) -> Fields {
        STEP_FIELDS
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let columns = StepColumns::new(rows);
        rows.iter().try_for_each(|row| self.take_row(&columns, row))
    }
    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }
    fn as_cell_fold(&mut self, _: Dimensions) -> Result<&mut dyn FoldCells, NotRecorded> {
        Ok(self)
    }
    fn merge(&mut self, mut other: Self) -> Result<(), TraceError> {
        other.settle()?;
        let rest = self.closed.take_over(other.closed, STEPS_MAX);
        rest.iter().try_for_each(|(step, found)| self.at(step).map(|ours| ours.merge(&found)))
    }
}

impl FoldCells for Steps {
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        made_of(self.width_ns, cells.step_ns)?;
        cells.cells.iter().try_for_each(|cell| self.take_cell(cell))?;
        cells.busy.iter().try_for_each(|busy| self.take_busy(busy))
    }
}

/// The columns from which capture steps are computed, looked up once for many rows.
pub(crate) struct StepColumns<'r> {
    issued: WideColumn<'r>,
    response: WideColumn<'r>,
    queued: WideColumn<'r>,
    op: NarrowColumn<'r>,
    bytes: NarrowColumn<'r>,
    device: NarrowColumn<'r>,
    layer: NarrowColumn<'r>,
    sequential: &'r [bool],
    depth: &'r [u32],
    busy: &'r [BusySpan],
}

impl<'r> StepColumns<'r> {
    pub(crate) fn new(rows: &AnnotatedRows<'r>) -> Self {
        let batch = rows.batch;
        StepColumns {
            issued: batch.wide(Field::Issued),
            response: batch.wide(Field::Response),
            queued: batch.wide(Field::Queued),
            op: batch.narrow(Field::Op),
            bytes: batch.narrow(Field::Bytes),
            device: batch.narrow(Field::Device),
            layer: batch.narrow(Field::Layer),
            sequential: rows.sequential,
            depth: rows.depth,
            busy: rows.busy,
        }
    }

    /// Returns the device and the layer of a row.
    #[inline]
    pub(crate) fn side(&self, row: usize) -> (u16, Layer) {
        (self.device.at(row) as u16, self.layer.layer(row))
    }
}

/// Columns from which capture steps are computed.
pub(crate) const STEP_FIELDS: Fields = Fields::new(&[
    Field::Issued,
    Field::Op,
    Field::Bytes,
    Field::Response,
    Field::Queued,
    Field::Depth,
    Field::Device,
    Field::Layer,
])
.and(Fields::BUSY);

/// One capture step of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFigures {
    /// Begin, in nanoseconds.
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
    pub queued: QueueTimeSums,
    /// Share of the time with at least one I/O outstanding, 0 to 1; `None` if unknown.
    pub utilisation: Option<f64>,
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

impl StepFigures {
    /// Computes the figures of a step from its number, its width and the observed time. `devices`
    /// is the number of devices by whose time the busy time is divided; `None` if busy time is
    /// unknown.
    pub fn new(
        number: u64,
        step: &CaptureStep,
        (width_ns, observed): (u64, &ObservedTime),
        devices: Option<u64>,
    ) -> Self {
        let observed_ns = observed.of_step(number, width_ns);
        let is_known = rate_is_known(observed_ns, width_ns);
        StepFigures {
            begin_ns: number.saturating_mul(width_ns),
            count: step.ios(),
            amount: step.bytes(),
            iops: observed.per_second_of_step(number, width_ns, step.ios() as f64),
            bytes_per_second: observed.per_second_of_step(number, width_ns, step.bytes() as f64),
            ios: step.ops.map(|op| op.ios),
            sequential_share: step.sequential_share(),
            response_mean_ns: step.response_mean().map(|time| time.0),
            response_p99_ns: step.percentile(0.99).map(|time| time.0),
            response_max_ns: step.response_max().map(|time| time.0),
            qd_mean: step.depth_mean(),
            qd_max: (step.depths > 0).then_some(step.depth_max),
            queued: step.queued,
            utilisation: devices
                .filter(|devices| *devices > 0 && is_known)
                .map(|devices| busy_share(step.busy_ns, observed_ns, devices)),
            threads: None,
            processors: None,
            content: ContentFigures::default(),
        }
    }

    /// Returns the figures without a busy time that the kernel's sums lack. A step with I/Os was
    /// busy, so its busy time was missed.
    pub fn without_missed_busy_time(self, conditions: &CaptureConditions) -> Self {
        let is_missed = conditions.busy_time && self.count > 0 && self.utilisation == Some(0.0);
        StepFigures { utilisation: self.utilisation.filter(|_| !is_missed), ..self }
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

    /// Returns the figures with measurements of written blocks.
    pub fn with_content(self, content: ContentFigures) -> Self {
        StepFigures { content, ..self }
    }

    /// Returns the begin of the step as tables show it.
    pub fn begin(&self) -> String {
        Self::BEGIN.text(self)
    }

    fn ios_of(&self, op: IoOp) -> u64 {
        self.ios[op as usize]
    }
}

/// Returns the busy share of the time of devices. An I/O may be outstanding beyond the observed
/// part of a step; at most that part is counted.
fn busy_share(busy_ns: u64, observed_ns: u64, devices: u64) -> f64 {
    let busy_ns = busy_ns.min(observed_ns.saturating_mul(devices));
    busy_ns as f64 / observed_ns as f64 / devices as f64
}

json_columns! {
    StepFigures + StepFigures::CONTENT;
    /// Begin of the step.
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
    QUEUE_MAX = "queue_max_ns", "queue max", Milliseconds, MaybeWhole(|s| s.queued.longest_ns());
    /// Share of the time from queue insertion to completion that was spent in the queue.
    QUEUE_SHARE = "queue_share", "queue %", Percent(1), MaybeReal(|s| s.queued.together.share());
    /// Share of the time with at least one I/O outstanding.
    BUSY = "utilisation", "busy %", Percent(1), MaybeReal(|s| s.utilisation);
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

/// Columns of the step tables.
impl StepFigures {
    const NO_READS_OR_WRITES: StepFigureColumn = ListingColumn::shown(
        "other",
        Plain(0),
        Whole(|s| [IoOp::Discard, IoOp::Flush, IoOp::Other].iter().map(|op| s.ios_of(*op)).sum()),
    );
    const CONTENT: [StepFigureColumn; 6] = content::all();

    /// Columns of a terminal's table.
    const TABLE: [StepFigureColumn; 13] = [
        Self::BEGIN,
        Self::IOPS,
        Self::MBS,
        Self::READS,
        Self::WRITES,
        Self::NO_READS_OR_WRITES,
        Self::SEQUENTIAL,
        Self::ART,
        Self::P99,
        Self::MRT,
        Self::QD_MEAN,
        Self::QD_MAX,
        Self::BUSY,
    ];

    /// Number of columns at the beginning of [`Self::table`] that every capture has.
    pub const USUAL_COLUMNS: usize = Self::TABLE.len() - 1;

    /// Columns about written blocks that are part of a table.
    pub const OF_CONTENT: [StepFigureColumn; 3] = content::table();

    /// Returns the columns of the terminal table after the start time. Columns for queue times,
    /// threads, processor use and written blocks are included only if any step has values for them.
    pub fn table(
        steps: impl Iterator<Item = StepFigures>,
        has_content: bool,
    ) -> Vec<StepFigureColumn> {
        let (mut queue, mut threads, mut processors) = (false, false, false);
        for step in steps {
            queue |= step.queued.count > 0;
            threads |= step.threads.is_some();
            processors |= step.processors.is_some();
        }
        let more: [(bool, &[StepFigureColumn]); 4] = [
            (queue, &[Self::QUEUE_MEAN, Self::QUEUE_SHARE]),
            (threads, &[Self::THREADS, Self::DEPTH_PER_THREAD]),
            (processors, &[Self::CPU, Self::IO_WAIT]),
            (has_content, &Self::OF_CONTENT),
        ];
        let more = more.into_iter().filter(|(is_known, _)| *is_known);
        let more = more.flat_map(|(_, columns)| columns);
        Self::TABLE[1..].iter().chain(more).copied().collect()
    }

    /// Columns of a report's table, next to the begins of the steps.
    pub const OF_REPORT: [StepFigureColumn; 19] = [
        Self::IOPS,
        Self::MBS,
        Self::READS,
        Self::WRITES,
        Self::DISCARDS,
        Self::FLUSHES,
        Self::SEQUENTIAL,
        Self::ART,
        Self::P99,
        Self::MRT,
        Self::QD_MEAN,
        Self::QD_MAX,
        Self::QUEUE_MEAN,
        Self::QUEUE_SHARE,
        Self::BUSY,
        Self::THREADS,
        Self::DEPTH_PER_THREAD,
        Self::CPU,
        Self::IO_WAIT,
    ];

    /// Columns of one device or layer in a table that compares several.
    pub const SIDE_BY_SIDE: [StepFigureColumn; 4] =
        [Self::IOPS, Self::MBS.printed(Megabytes(2)), Self::ART, Self::QD_MEAN.headed("QD")];
}
