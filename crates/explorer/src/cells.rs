//! I/Os by cells of time of equal width: the fold behind every series and every heat map of
//! response time and queue depth. Cells add up exactly, so wider cells need no second pass over the
//! I/Os.

use crate::busy::BusyTime;
use crate::key_sums::KeySum;
use crate::pair_numbers::{Breakdowns, CountedIo, PairBatcher, PairKey, PairNumbers, pair_of};
use crate::part_counter::{PartCounter, RankedParts};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use steadfast_analysis::cells::{BusyInStep, CubeCell, Dimensions, FilteredCells};
use steadfast_analysis::cube::{CellSums, Cube, CubeBuilder};
use steadfast_analysis::sums::content::Contents;
use steadfast_analysis::sums::queue_time::QueueTimeSums;
use steadfast_analysis::sums::sparse::DenseCounts;
use steadfast_analysis::{AnnotatedRows, EmptyLike, Fold, FoldCells, ParallelFold};
use steadfast_domain::{CoarseHistogram, FineHistogram, IoOp, QuarterHistogram};
use steadfast_tracefile::{Field, Fields, NotRecorded, TraceError};

/// Buckets of the histogram of a cell: response times, then depths.
pub const BUCKETS: usize = CoarseHistogram::LEN + QuarterHistogram::LEN;

/// Counts the response time and the depth of an I/O in the histogram of a cell.
#[inline]
pub fn count_buckets(io: &CountedIo, counts: &mut DenseCounts) {
    if let Some(response) = io.response_ns() {
        counts.count(CoarseHistogram::index(response));
    }
    if io.depth > 0 {
        counts.count(CoarseHistogram::LEN + QuarterHistogram::index(u64::from(io.depth)));
    }
}

/// Returns the response times of a cube cell by bucket of `CoarseHistogram`. Each fine bucket lies
/// within one coarse bucket.
///
/// # Errors
/// Returns [`TraceError::TooFine`] if a bucket holds more I/Os than are counted.
pub fn coarse_buckets(cell: &CubeCell) -> Result<Vec<(usize, u32)>, TraceError> {
    let coarse = |(bucket, ios): &(u16, u64)| {
        let (least, _) = FineHistogram::bounds(usize::from(*bucket));
        let ios = u32::try_from(*ios).map_err(|_| {
            let what = format!("{ios} I/Os with one response time in a step; see the file with: steadfast trace report");
            TraceError::TooFine(what)
        })?;
        Ok((CoarseHistogram::index(least), ios))
    };
    cell.responses.buckets.iter().map(coarse).collect()
}

/// Response times, queue depths and related sums of some I/Os.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeTotals {
    /// I/Os whose completion was seen.
    pub responses: u64,
    /// Sum of the response times, in nanoseconds.
    pub response_sum_ns: u64,
    /// Longest response time, in nanoseconds.
    pub response_max_ns: u64,
    /// Sum of the queue depths at issue, over [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// I/Os whose queue depth is known.
    pub depths: u64,
    /// Largest queue depth at issue.
    pub depth_max: u32,
    /// Times spent in the queue before issue.
    pub queued: QueueTimeSums,
    /// Measurements of written blocks.
    pub contents: Contents,
}

/// Sums over the I/Os of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeCellTotals {
    /// I/Os by operation, in the order of `IoOp::ALL`.
    pub ios: [u64; 5],
    /// Bytes by operation.
    pub bytes: [u64; 5],
    /// Sequential I/Os by operation.
    pub sequential: [u64; 5],
    /// Response times and queue depths.
    pub times: TimeTotals,
}

impl TimeCellTotals {
    /// Returns the I/Os of all operations.
    pub fn all_ios(&self) -> u64 {
        self.ios.iter().sum()
    }

    /// Returns the bytes of reads and writes, as capture steps count them.
    pub fn moved(&self) -> u64 {
        [IoOp::Read, IoOp::Write].into_iter().map(|op| self.bytes[op as usize]).sum()
    }

    #[inline]
    fn count(&mut self, io: &CountedIo) {
        let op = io.op as usize;
        self.ios[op] += 1;
        self.sequential[op] += u64::from(io.sequential);
        self.bytes[op] = self.bytes[op].saturating_add(u64::from(io.bytes));
        self.times.count(io);
    }
}

impl CellSums for TimeCellTotals {
    fn merge(&mut self, other: &TimeCellTotals) {
        for op in 0..self.ios.len() {
            self.ios[op] += other.ios[op];
            self.sequential[op] += other.sequential[op];
            self.bytes[op] = self.bytes[op].saturating_add(other.bytes[op]);
        }
        self.times.merge(&other.times);
    }
}

/// Sums over the I/Os of a pair in a cell.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct PairSums {
    ios: u64,
    times: TimeTotals,
}

impl PairSums {
    /// Returns the sums of a cube cell.
    pub fn from_cell(cell: &CubeCell) -> Self {
        PairSums { ios: cell.ios, times: TimeTotals::from_cell(cell) }
    }

    /// Counts an I/O.
    #[inline]
    pub fn count(&mut self, io: &CountedIo) {
        self.ios += 1;
        self.times.count(io);
    }
}

impl CellSums for PairSums {
    fn merge(&mut self, other: &Self) {
        self.ios = self.ios.saturating_add(other.ios);
        self.times.merge(&other.times);
    }
}

impl TimeTotals {
    fn from_cell(cell: &CubeCell) -> Self {
        TimeTotals {
            responses: cell.responses.count,
            response_sum_ns: cell.responses.sum_ns,
            response_max_ns: cell.responses.max_ns,
            depth_sum: cell.depth_sum,
            depths: cell.depths,
            depth_max: cell.depth_max,
            queued: QueueTimeSums::of_cell(cell),
            contents: cell.contents,
        }
    }

    /// Counts an I/O.
    #[inline]
    pub fn count(&mut self, io: &CountedIo) {
        if let Some(response) = io.response_ns() {
            self.responses += 1;
            self.response_sum_ns = self.response_sum_ns.saturating_add(response);
            self.response_max_ns = self.response_max_ns.max(response);
        }
        self.depth_sum += u64::from(io.depth);
        self.depths += u64::from(io.depth > 0);
        self.depth_max = self.depth_max.max(io.depth);
        if io.queued_ns > 0 {
            self.queued.count_one(io.queued_ns, io.response_ns());
        }
        if io.content.blocks > 0 {
            self.contents.count(io.content);
        }
    }

    fn merge(&mut self, other: &TimeTotals) {
        self.responses += other.responses;
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.depth_sum += other.depth_sum;
        self.depths += other.depths;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.queued.merge(other.queued);
        self.contents.merge(other.contents);
    }
}

/// Finished cells.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TimeCells {
    /// Width of a cell, in nanoseconds.
    pub width_ns: u64,
    /// Number of the first cell, counted from the beginning of the capture.
    pub first: u64,
    /// Number of cells.
    pub count: usize,
    /// I/Os by stream and process.
    pub shares: RankedParts,
    totals: Cube<TimeCellTotals>,
    busy_ns: Vec<u64>,
}

/// Sums of several adjacent cells.
#[derive(Debug, Clone)]
pub struct ColumnSums {
    /// Sums over all I/Os.
    pub totals: TimeCellTotals,
    counts: Vec<u64>,
    /// Sums by stream; those of all other streams come last.
    pub streams: Vec<KeySum>,
    /// Sums by process; those of all other processes come last.
    pub processes: Vec<KeySum>,
    /// Time with an I/O outstanding, in nanoseconds, added up over devices.
    pub busy_ns: u64,
}

impl ColumnSums {
    /// Returns the response times, counted by bucket of `CoarseHistogram`.
    pub fn responses(&self) -> &[u64] {
        &self.counts[..CoarseHistogram::LEN]
    }

    /// Returns the queue depths, counted by bucket of `QuarterHistogram`.
    pub fn depths(&self) -> &[u64] {
        &self.counts[CoarseHistogram::LEN..]
    }
}

impl TimeCells {
    /// Returns the begin of the first cell and the end of the last, in nanoseconds.
    pub fn span_ns(&self) -> (u64, u64) {
        let end = self.first.saturating_add(self.count as u64);
        (self.first.saturating_mul(self.width_ns), end.saturating_mul(self.width_ns))
    }

    /// Returns the I/Os in a range of cells, counted from the first.
    pub fn ios_in(&self, cells: Range<usize>) -> u64 {
        self.totals.steps(cells).iter().map(|cell| cell.sums.all_ios()).sum()
    }

    /// Calls `each` with the number and the sums of every column that is not empty. A column has
    /// `wide` adjacent cells and begins at a multiple of `wide`. Only cells within the range
    /// `cells`, counted from the first, are added.
    pub fn columns(
        &self,
        cells: Range<usize>,
        wide: usize,
        mut each: impl FnMut(usize, &ColumnSums),
    ) {
        let wide = wide.max(1);
        let (from, to) = (cells.start.min(self.count), cells.end.min(self.count));
        let mut begin = from;
        while begin < to {
            let end = ((begin / wide + 1) * wide).min(to);
            let busy_ns = self.busy_ns[begin..end].iter().sum();
            let totals = self.totals.steps(begin..end);
            if busy_ns > 0 || !totals.is_empty() {
                let mut column = self.empty(busy_ns);
                for cell in totals {
                    column.totals.merge(&cell.sums);
                    self.totals
                        .counts(cell)
                        .for_each(|(at, count)| column.counts[at] += u64::from(count));
                }
                for part in self.shares.in_cells(begin..end) {
                    self.shares.add(part, &mut column.streams, &mut column.processes);
                }
                each(begin / wide - from / wide, &column);
            }
            begin = end;
        }
    }

    fn empty(&self, busy_ns: u64) -> ColumnSums {
        ColumnSums {
            totals: TimeCellTotals::default(),
            counts: vec![0; BUCKETS],
            streams: vec![KeySum::default(); self.shares.streams.keys.len() + 1],
            processes: vec![KeySum::default(); self.shares.processes.keys.len() + 1],
            busy_ns,
        }
    }
}

/// Specification of cells.
#[derive(Debug, Clone, Copy)]
pub struct CellSpec {
    /// Width of a cell, in nanoseconds.
    pub width_ns: u64,
    /// Number of the first cell.
    pub first: u64,
    /// Number of cells.
    pub count: usize,
}

/// Cells that are being filled.
#[derive(Debug)]
pub struct TimeCellsBuilder {
    wanted: CellSpec,
    totals: CubeBuilder<TimeCellTotals>,
    parts: PartCounter,
    /// Time with an I/O outstanding.
    pub busy: BusyTime,
}

impl TimeCellsBuilder {
    /// Creates empty cells.
    pub fn new(wanted: CellSpec) -> Self {
        let wanted = CellSpec { width_ns: wanted.width_ns.max(1), ..wanted };
        let CellSpec { width_ns, first, count } = wanted;
        let steps = first..first.saturating_add(count as u64);
        TimeCellsBuilder {
            wanted,
            totals: CubeBuilder::new(width_ns, steps.clone(), BUCKETS),
            parts: PartCounter::new(width_ns, steps),
            busy: BusyTime::new((width_ns, first, count)),
        }
    }

    /// Takes I/Os.
    pub fn take(&mut self, ios: &[CountedIo], pairs: &mut PairNumbers) {
        self.parts.make_room(pairs);
        for io in ios {
            let Some(cell) = self.totals.at(io.issued_ns, 0) else { continue };
            cell.sums.count(io);
            count_buckets(io, &mut cell.counts);
            self.parts.count(io.issued_ns, io.pair, u64::from(io.bytes));
        }
    }

    /// Adds the I/Os of a stream and a process, with their histogram, to a cell.
    pub fn add(
        &mut self,
        cell: u32,
        (key, sums): (PairKey, &PairSums),
        counts: impl Iterator<Item = (usize, u32)>,
        pairs: &mut PairNumbers,
    ) {
        let (stream, ios) = (key.0, sums.ios);
        let (op, bytes) = (stream.op as usize, ios * u64::from(stream.bytes));
        let open = self.totals.in_step(cell, 0);
        open.sums.ios[op] += ios;
        open.sums.sequential[op] += if stream.sequential { ios } else { 0 };
        open.sums.bytes[op] = open.sums.bytes[op].saturating_add(bytes);
        open.sums.times.merge(&sums.times);
        counts.for_each(|(at, count)| open.counts.add(at, count));
        self.parts.add(cell, pairs.number(key), ios, bytes);
    }

    /// Adds the sums of a cube cell. Those of a step outside of all cells are left out.
    ///
    /// # Errors
    /// Returns the errors of [`coarse_buckets`].
    pub fn take_cell(
        &mut self,
        cell: &CubeCell,
        pairs: &mut PairNumbers,
    ) -> Result<(), TraceError> {
        let counts = coarse_buckets(cell)?;
        if let Some(at) = self.place(cell.begin_ns) {
            let key = pair_of(cell);
            self.add(at, (key, &PairSums::from_cell(cell)), counts.into_iter(), pairs);
        }
        Ok(())
    }

    /// Adds the busy time of a device in a step.
    pub fn take_busy(&mut self, busy: &BusyInStep) {
        if let Some(at) = self.place(busy.begin_ns) {
            self.busy.add(at as usize, busy.busy_ns);
        }
    }

    /// Returns the number of the cell of a time, counted from the first.
    fn place(&self, time_ns: u64) -> Option<u32> {
        let at = (time_ns / self.wanted.width_ns).checked_sub(self.wanted.first)?;
        u32::try_from(at).ok().filter(|at| (*at as usize) < self.wanted.count)
    }

    /// Returns the finished cells.
    pub fn finish(self, pairs: &PairNumbers) -> TimeCells {
        let CellSpec { width_ns, first, count } = self.wanted;
        TimeCells {
            width_ns,
            first,
            count,
            shares: self.parts.finish(pairs),
            totals: self.totals.finish(),
            busy_ns: self.busy.finish(),
        }
    }

    /// Adds the cells of another share of the I/Os with the same specification, whose pairs have
    /// these numbers here.
    pub fn join(&mut self, other: TimeCellsBuilder, numbers: &[u32]) {
        self.busy.join(other.busy);
        self.totals.merge(other.totals, &[0]);
        self.parts.join(other.parts, numbers);
    }
}

/// A fold that fills cells.
#[derive(Debug)]
pub struct CellsFold {
    by: Breakdowns,
    gathering: PairBatcher,
    filling: TimeCellsBuilder,
}

impl CellsFold {
    /// Creates empty cells.
    pub fn new(wanted: CellSpec, by: Breakdowns) -> Self {
        CellsFold { by, gathering: PairBatcher::new(by), filling: TimeCellsBuilder::new(wanted) }
    }

    /// Returns the finished cells.
    pub fn finish(self) -> TimeCells {
        self.filling.finish(&self.gathering.pairs)
    }
}

impl EmptyLike for CellsFold {
    fn alike(&self) -> Self {
        CellsFold::new(self.filling.wanted, self.by)
    }
}

impl Fold for CellsFold {
    fn fields(&self) -> Fields {
        let own = Fields::new(&[
            Field::Issued,
            Field::Op,
            Field::Bytes,
            Field::Response,
            Field::Queued,
            Field::Depth,
            Field::Device,
            Field::Layer,
        ]);
        let own = own.and(Contents::FIELDS).and(Fields::BUSY);
        if self.by.processes { own.and(Fields::new(&[Field::Pid, Field::Command])) } else { own }
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let filling = &mut self.filling;
        self.gathering.each(rows, |ios, pairs| filling.take(ios, pairs));
        filling.busy.take(rows);
        Ok(())
    }

    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }

    fn as_cell_fold(&mut self, _: Dimensions) -> Result<&mut dyn FoldCells, NotRecorded> {
        Ok(self)
    }

    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        let numbers = self.gathering.pairs.join(&other.gathering.pairs);
        self.filling.join(other.filling, &numbers);
        Ok(())
    }
}

impl FoldCells for CellsFold {
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        cells.busy.iter().for_each(|busy| self.filling.take_busy(busy));
        let pairs = &mut self.gathering.pairs;
        cells.cells.iter().try_for_each(|cell| self.filling.take_cell(cell, pairs))
    }
}
