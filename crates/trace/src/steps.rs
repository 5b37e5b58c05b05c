//! Capture steps: what was done in every interval of the capture's time.
//!
//! An I/O belongs to the step in which it was issued. Busy time is the time in
//! which at least one I/O was outstanding on a device; it is shared out to the
//! steps in which it passed.

use crate::cells::{BusyInStep, Cell, Cells};
use crate::columns::{self, Column, Print};
use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::fold::{Alike, Fold, FoldCells, FoldSums, InParts, Rows, Sums};
use crate::sequence::Busy;
use crate::untold::Untold;
use crate::widths::{made_of, wide_enough};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use steadfast_domain::histogram::{CoarseHistogram, FineHistogram};
use steadfast_domain::io_event::StreamInStep;
use steadfast_domain::{IoOp, Layer, Nanos};

/// Steps kept at most (about 250 MB).
pub const STEPS_MAX: usize = 1 << 20;

/// I/Os of one operation in one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpCount {
    /// I/Os.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Sequential I/Os.
    pub sequential: u64,
}

/// One capture step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureStep {
    /// By operation, in the order of `IoOp::ALL`.
    pub ops: [OpCount; 5],
    /// I/Os whose completion was seen.
    pub responses: u64,
    /// Their response times added up, in nanoseconds.
    pub response_sum_ns: u64,
    /// The longest, in nanoseconds.
    pub response_max_ns: u64,
    /// All of them, to within 6.25 %.
    pub histogram: CoarseHistogram,
    /// Queue depths at issue added up, over [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// I/Os whose depth is known.
    pub depths: u64,
    /// Deepest queue at issue.
    pub depth_max: u32,
    /// Time with an I/O outstanding, added up over devices, in nanoseconds.
    pub busy_ns: u64,
}

impl CaptureStep {
    /// I/Os of all operations.
    pub fn ios(&self) -> u64 {
        self.ops.iter().map(|op| op.ios).sum()
    }
    /// Bytes of all reads and writes.
    pub fn bytes(&self) -> u64 {
        [IoOp::Read, IoOp::Write].into_iter().map(|op| self.ops[op as usize].bytes).sum()
    }
    /// Average response time.
    pub fn response_mean(&self) -> Option<Nanos> {
        self.response_sum_ns.checked_div(self.responses).map(Nanos)
    }
    /// Longest response time.
    pub fn response_max(&self) -> Option<Nanos> {
        (self.responses > 0).then_some(Nanos(self.response_max_ns))
    }
    /// A percentile, where at least ten I/Os lie beyond it.
    pub fn percentile(&self, fraction: f64) -> Option<Nanos> {
        let value = self.histogram.supported_quantile(fraction)?;
        Some(Nanos(value.0.min(self.response_max_ns)))
    }
    /// Average queue depth at issue.
    pub fn depth_mean(&self) -> Option<f64> {
        (self.depths > 0).then(|| self.depth_sum as f64 / self.depths as f64)
    }
    /// Share of the reads and writes that are sequential.
    pub fn sequential_share(&self) -> Option<f64> {
        let moving = [IoOp::Read, IoOp::Write].map(|op| self.ops[op as usize]);
        let ios: u64 = moving.iter().map(|op| op.ios).sum();
        let sequential: u64 = moving.iter().map(|op| op.sequential).sum();
        (ios > 0).then(|| sequential as f64 / ios as f64)
    }
    /// Adds I/Os of one stream that were added up before.
    fn take_sum(&mut self, sum: &StreamInStep) {
        let op = &mut self.ops[sum.op as usize];
        op.ios = op.ios.saturating_add(sum.ios);
        op.bytes = op.bytes.saturating_add(sum.ios.saturating_mul(u64::from(sum.bytes)));
        op.sequential = op.sequential.saturating_add(if sum.sequential { sum.ios } else { 0 });
        self.responses = self.responses.saturating_add(sum.responses);
        self.response_sum_ns = self.response_sum_ns.saturating_add(sum.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(sum.response_max_ns);
        self.depth_sum = self.depth_sum.saturating_add(sum.depth_sum);
        self.depths = self.depths.saturating_add(sum.ios);
        self.depth_max = self.depth_max.max(sum.depth_max);
    }
    /// Adds I/Os of one stream that a fold file holds. Every fine bucket lies in one coarse one.
    fn take_cell(&mut self, cell: &Cell, dense: &mut [u64]) {
        let op = &mut self.ops[cell.op as usize];
        op.ios = op.ios.saturating_add(cell.ios);
        op.bytes = op.bytes.saturating_add(cell.amount());
        op.sequential = op.sequential.saturating_add(if cell.sequential { cell.ios } else { 0 });
        let responses = &cell.responses;
        self.responses = self.responses.saturating_add(responses.count);
        self.response_sum_ns = self.response_sum_ns.saturating_add(responses.sum_ns);
        self.response_max_ns = self.response_max_ns.max(responses.max_ns);
        dense.fill(0);
        for (index, count) in &responses.buckets {
            let (least, _) = FineHistogram::bounds(usize::from(*index));
            dense[CoarseHistogram::index(least)] += count;
        }
        self.histogram.merge(&CoarseHistogram::from_dense(dense));
        self.depth_sum = self.depth_sum.saturating_add(cell.depth_sum);
        self.depths = self.depths.saturating_add(cell.depths);
        self.depth_max = self.depth_max.max(cell.depth_max);
    }
    /// Adds another part of the same step.
    pub fn merge(&mut self, other: &CaptureStep) {
        for (ours, theirs) in self.ops.iter_mut().zip(&other.ops) {
            ours.ios += theirs.ios;
            ours.bytes = ours.bytes.saturating_add(theirs.bytes);
            ours.sequential += theirs.sequential;
        }
        self.responses += other.responses;
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.histogram.merge(&other.histogram);
        self.depth_sum += other.depth_sum;
        self.depths += other.depths;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
    }
}

/// The capture steps of a trace.
#[derive(Debug, Clone)]
pub struct Steps {
    width_ns: u64,
    until_ns: u64,
    current: u64,
    /// When the current one begins.
    begin_ns: u64,
    open: CaptureStep,
    dense: Vec<u64>,
    closed: BTreeMap<u64, CaptureStep>,
    /// Busy time that was not yet shared out, per device and layer: ascending,
    /// no overlap.
    carried: BTreeMap<(u16, Layer), Busy>,
}

impl Steps {
    /// Steps of a width in nanoseconds.
    pub fn new(width_ns: u64) -> Self {
        Steps {
            width_ns: width_ns.max(1),
            until_ns: u64::MAX,
            current: 0,
            begin_ns: 0,
            open: CaptureStep::default(),
            dense: vec![0; CoarseHistogram::LEN],
            closed: BTreeMap::new(),
            carried: BTreeMap::new(),
        }
    }

    /// Busy time after this, in nanoseconds, is not counted. Without it an I/O
    /// that never ends makes steps without end.
    pub fn until(mut self, until_ns: u64) -> Self {
        self.until_ns = until_ns;
        self
    }

    /// Width of a step in nanoseconds.
    pub fn width_ns(&self) -> u64 {
        self.width_ns
    }

    /// Takes one row.
    ///
    /// # Errors
    /// Beyond [`STEPS_MAX`] steps.
    #[inline]
    pub fn take_row(&mut self, rows: &Rows<'_>, row: usize) -> Result<(), TraceError> {
        let batch = rows.batch;
        let issued = batch.issued_ns(row);
        // The next I/O nearly always belongs to the same step: no division then.
        let is_of_open = issued.checked_sub(self.begin_ns).is_some_and(|at| at < self.width_ns);
        if !is_of_open {
            self.close()?;
            self.current = issued / self.width_ns;
            self.begin_ns = self.current * self.width_ns;
        }
        let op = &mut self.open.ops[batch.op(row) as usize];
        op.ios += 1;
        op.bytes = op.bytes.saturating_add(u64::from(batch.bytes(row)));
        op.sequential += u64::from(rows.sequential[row]);
        if let Some(response) = rows.response_ns(row) {
            self.open.responses += 1;
            self.open.response_sum_ns = self.open.response_sum_ns.saturating_add(response);
            self.open.response_max_ns = self.open.response_max_ns.max(response);
            self.dense[CoarseHistogram::index(response)] += 1;
        }
        let depth = rows.depth[row];
        self.open.depth_sum += u64::from(depth);
        self.open.depths += u64::from(depth > 0);
        self.open.depth_max = self.open.depth_max.max(depth);
        self.carry((batch.device(row), batch.layer(row)), rows.busy[row])
    }

    /// Keeps busy time until the steps in which it passed are over.
    fn carry(&mut self, device: (u16, Layer), busy: Busy) -> Result<(), TraceError> {
        if busy.1 <= busy.0 {
            return Ok(());
        }
        match self.carried.get_mut(&device) {
            Some(carried) if carried.1 == busy.0 => carried.1 = busy.1,
            Some(carried) => {
                let done = std::mem::replace(carried, busy);
                self.share_out(done)?;
            }
            None => {
                self.carried.insert(device, busy);
            }
        }
        Ok(())
    }

    fn share_out(&mut self, busy: Busy) -> Result<(), TraceError> {
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
        if self.closed.len() >= STEPS_MAX && !self.closed.contains_key(&step) {
            return Err(TraceError::TooFine(format!(
                "more than {STEPS_MAX} capture steps of {}; choose wider steps",
                Nanos(self.width_ns)
            )));
        }
        Ok(self.closed.entry(step).or_default())
    }

    /// Ends the step that is being filled.
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

    /// Ends the step that is being filled and shares out all busy time.
    fn settle(&mut self) -> Result<(), TraceError> {
        self.close()?;
        let carried = std::mem::take(&mut self.carried);
        carried.into_values().try_for_each(|busy| self.share_out(busy))
    }

    /// I/Os in all steps.
    pub fn ios(&self) -> u64 {
        self.open.ios() + self.closed.values().map(CaptureStep::ios).sum::<u64>()
    }

    /// All steps with an I/O or with busy time, by number from the capture's
    /// beginning.
    ///
    /// # Errors
    /// Beyond [`STEPS_MAX`] steps.
    pub fn finish(mut self) -> Result<BTreeMap<u64, CaptureStep>, TraceError> {
        self.settle()?;
        Ok(self.closed)
    }

    /// Takes a cell of a fold file.
    ///
    /// # Errors
    /// Beyond [`STEPS_MAX`] steps.
    pub(crate) fn take_cell(&mut self, cell: &Cell) -> Result<(), TraceError> {
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
    /// Beyond [`STEPS_MAX`] steps.
    pub(crate) fn take_busy(&mut self, busy: &BusyInStep) -> Result<(), TraceError> {
        if busy.begin_ns < self.until_ns {
            let step = self.at(busy.begin_ns / self.width_ns)?;
            step.busy_ns = step.busy_ns.saturating_add(busy.busy_ns);
        }
        Ok(())
    }

    /// Takes a row that was added up before.
    ///
    /// # Errors
    /// Beyond [`STEPS_MAX`] steps.
    pub(crate) fn take_sum(&mut self, at_ns: u64, sum: &StreamInStep) -> Result<(), TraceError> {
        self.at(at_ns / self.width_ns)?.take_sum(sum);
        Ok(())
    }
}

impl Alike for Steps {
    fn alike(&self) -> Self {
        Steps::new(self.width_ns).until(self.until_ns)
    }
}

impl Fold for Steps {
    fn fields(&self) -> Fields {
        STEP_FIELDS
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        rows.iter().try_for_each(|row| self.take_row(rows, row))
    }
    fn in_parts(&mut self) -> Option<&mut dyn InParts> {
        Some(self)
    }
    fn of_sums(&mut self) -> Result<&mut dyn FoldSums, Untold> {
        Ok(self)
    }
    fn of_cells(&mut self) -> Result<&mut dyn FoldCells, Untold> {
        Ok(self)
    }
    fn merge(&mut self, mut other: Self) -> Result<(), TraceError> {
        other.settle()?;
        for (step, found) in other.closed {
            self.at(step)?.merge(&found);
        }
        Ok(())
    }
}

impl FoldSums for Steps {
    fn take_sums(&mut self, sums: &Sums<'_>) -> Result<(), TraceError> {
        wide_enough(self.width_ns, sums)?;
        sums.streams.iter().try_for_each(|row| self.take_sum(sums.begin_of(row), row))
    }
}

impl FoldCells for Steps {
    fn take_cells(&mut self, cells: &Cells<'_>) -> Result<(), TraceError> {
        made_of(self.width_ns, cells.step_ns)?;
        cells.cells.iter().try_for_each(|cell| self.take_cell(cell))?;
        cells.busy.iter().try_for_each(|busy| self.take_busy(busy))
    }
}

/// Columns that capture steps are made of.
pub(crate) const STEP_FIELDS: Fields = Fields::of(&[
    Field::Issued,
    Field::Op,
    Field::Bytes,
    Field::Response,
    Field::Depth,
    Field::Device,
    Field::Layer,
]);

/// One capture step of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFigures {
    /// When it begins, in nanoseconds.
    pub begin_ns: u64,
    /// I/Os of all operations.
    pub count: u64,
    /// Bytes of reads and writes.
    pub amount: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes of reads and writes per second.
    pub bytes_per_second: f64,
    /// I/Os by operation, in the order of `IoOp::ALL`.
    pub ios: [u64; 5],
    /// Share of the reads and writes that are sequential.
    pub sequential_share: Option<f64>,
    /// Average response time.
    pub response_mean_ns: Option<u64>,
    /// 99 % of the response times, where single I/Os were kept.
    pub response_p99_ns: Option<u64>,
    /// Longest response time.
    pub response_max_ns: Option<u64>,
    /// Average queue depth at issue.
    pub qd_mean: Option<f64>,
    /// Deepest queue at issue.
    pub qd_max: Option<u32>,
    /// Share of the time with an I/O outstanding; `None` where it is not known.
    pub utilisation: Option<f64>,
}

impl StepFigures {
    /// A step, by its number; with the devices of whose time busy parts are shares,
    /// where they are known.
    pub fn of(number: u64, step: &CaptureStep, width_ns: u64, devices: Option<u64>) -> Self {
        let seconds = width_ns as f64 / 1e9;
        StepFigures {
            begin_ns: number.saturating_mul(width_ns),
            count: step.ios(),
            amount: step.bytes(),
            iops: step.ios() as f64 / seconds,
            bytes_per_second: step.bytes() as f64 / seconds,
            ios: step.ops.map(|op| op.ios),
            sequential_share: step.sequential_share(),
            response_mean_ns: step.response_mean().map(|time| time.0),
            response_p99_ns: step.percentile(0.99).map(|time| time.0),
            response_max_ns: step.response_max().map(|time| time.0),
            qd_mean: step.depth_mean(),
            qd_max: (step.depths > 0).then_some(step.depth_max),
            utilisation: devices
                .filter(|devices| *devices > 0)
                .map(|devices| step.busy_ns as f64 / width_ns as f64 / devices as f64),
        }
    }

    /// When it begins, as tables have it.
    pub fn begin(&self) -> String {
        Self::BEGIN.text(self)
    }

    fn ios_of(&self, op: IoOp) -> u64 {
        self.ios[op as usize]
    }
}

impl schemars::JsonSchema for StepFigures {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StepFigures".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        columns::schema(&Self::ALL)
    }
}

impl Serialize for StepFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        columns::serialize(&Self::ALL, self, serializer)
    }
}

type Of = Column<StepFigures>;

/// What is told of a step.
impl StepFigures {
    const BEGIN: Of = Column::new("begin_ns", "Begin s", Print::Seconds, |s| s.begin_ns.into());
    const COUNT: Of = Column::new("count", "I/Os", Print::Plain(0), |s| s.count.into());
    const AMOUNT: Of = Column::new("amount", "MB", Print::Megabytes(1), |s| s.amount.into());
    const IOPS: Of = Column::new("iops", "IOPS", Print::Plain(1), |s| s.iops.into());
    const MBS: Of =
        Column::new("bytes_per_second", "MB/s", Print::Megabytes(3), |s| s.bytes_per_second.into());
    const READS: Of =
        Column::new("reads", "reads", Print::Plain(0), |s| s.ios_of(IoOp::Read).into());
    const WRITES: Of =
        Column::new("writes", "writes", Print::Plain(0), |s| s.ios_of(IoOp::Write).into());
    const DISCARDS: Of =
        Column::new("discards", "discards", Print::Plain(0), |s| s.ios_of(IoOp::Discard).into());
    const FLUSHES: Of =
        Column::new("flushes", "flushes", Print::Plain(0), |s| s.ios_of(IoOp::Flush).into());
    const DISCARDS_AND_FLUSHES: Of = Column::new("discards", "other", Print::Plain(0), |s| {
        (s.ios_of(IoOp::Discard) + s.ios_of(IoOp::Flush)).into()
    });
    const SEQUENTIAL: Of =
        Column::new("sequential_share", "SEQ %", Print::Percent(1), |s| s.sequential_share.into());
    const ART: Of = Column::new("response_mean_ns", "ART ms", Print::Milliseconds, |s| {
        s.response_mean_ns.into()
    });
    const P99: Of =
        Column::new("response_p99_ns", "99% ms", Print::Milliseconds, |s| s.response_p99_ns.into());
    const MRT: Of =
        Column::new("response_max_ns", "MRT ms", Print::Milliseconds, |s| s.response_max_ns.into());
    const QD_MEAN: Of = Column::new("qd_mean", "QD avg", Print::Plain(2), |s| s.qd_mean.into());
    const QD_MAX: Of = Column::new("qd_max", "QD max", Print::Plain(0), |s| s.qd_max.into());
    const BUSY: Of =
        Column::new("utilisation", "busy %", Print::Percent(1), |s| s.utilisation.into());

    /// Everything, as JSON has it.
    const ALL: [Of; 16] = [
        Self::BEGIN,
        Self::COUNT,
        Self::AMOUNT,
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
        Self::BUSY,
    ];

    /// A terminal's table.
    pub const TABLE: [Of; 13] = [
        Self::BEGIN,
        Self::IOPS,
        Self::MBS,
        Self::READS,
        Self::WRITES,
        Self::DISCARDS_AND_FLUSHES,
        Self::SEQUENTIAL,
        Self::ART,
        Self::P99,
        Self::MRT,
        Self::QD_MEAN,
        Self::QD_MAX,
        Self::BUSY,
    ];

    /// A report's table, beside the steps' beginnings.
    pub const OF_REPORT: [Of; 13] = [
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
        Self::BUSY,
    ];

    /// What of each device or layer stands beside that of others.
    pub const SIDE_BY_SIDE: [Of; 4] =
        [Self::IOPS, Self::MBS.printed(Print::Megabytes(2)), Self::ART, Self::QD_MEAN.headed("QD")];
}
