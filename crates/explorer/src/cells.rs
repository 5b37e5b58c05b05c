//! I/Os by cells of time of equal width: the fold behind every series and every heat map of
//! response time and queue depth. Cells add up exactly, so wider cells need no second pass over the
//! I/Os.

use crate::busy::BusyTime;
use crate::keys::KeySum;
use crate::pairs::{Breakdowns, CountedIo, PairBatcher, PairKey, PairNumbers};
use crate::parts::{PairCounter, RankedPairCounts};
use crate::sparse::{DenseCounts, EntryRange, SparseCounts, later};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use steadfast_analysis::sums::content::Contents;
use steadfast_analysis::sums::queue_time::QueueTimeSums;
use steadfast_analysis::{AnnotatedRows, EmptyLike, Fold, ParallelFold};
use steadfast_domain::{CoarseHistogram, IoOp, QuarterHistogram};
use steadfast_tracefile::{Field, Fields, TraceError};

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

    fn add(&mut self, other: &TimeCellTotals) {
        for op in 0..self.ios.len() {
            self.ios[op] += other.ios[op];
            self.sequential[op] += other.sequential[op];
            self.bytes[op] = self.bytes[op].saturating_add(other.bytes[op]);
        }
        self.times.add(&other.times);
    }
}

impl TimeTotals {
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

    /// Adds the sums of other I/Os.
    pub fn add(&mut self, other: &TimeTotals) {
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

/// Consecutive I/Os of one cell. A cell has several pieces if I/Os arrived out of order.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct CellPiece {
    cell: u32,
    totals: TimeCellTotals,
    responses: EntryRange,
    depths: EntryRange,
    parts: EntryRange,
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
    pub shares: RankedPairCounts,
    pieces: Vec<CellPiece>,
    /// Histograms of response times and of depths.
    histograms: SparseCounts,
    busy_ns: Vec<u64>,
}

/// Sums of several adjacent cells.
#[derive(Debug, Clone)]
pub struct ColumnSums {
    /// Sums over all I/Os.
    pub totals: TimeCellTotals,
    /// Response times, counted by bucket of `CoarseHistogram`.
    pub responses: Vec<u64>,
    /// Queue depths, counted by bucket of `QuarterHistogram`.
    pub depths: Vec<u64>,
    /// Sums by stream; those of all other streams come last.
    pub streams: Vec<KeySum>,
    /// Sums by process; those of all other processes come last.
    pub processes: Vec<KeySum>,
    /// Time with an I/O outstanding, in nanoseconds, added up over devices.
    pub busy_ns: u64,
}

impl TimeCells {
    /// Returns the begin of the first cell and the end of the last, in nanoseconds.
    pub fn span_ns(&self) -> (u64, u64) {
        let end = self.first.saturating_add(self.count as u64);
        (self.first.saturating_mul(self.width_ns), end.saturating_mul(self.width_ns))
    }

    /// Returns the I/Os in a range of cells, counted from the first.
    pub fn ios_in(&self, cells: Range<usize>) -> u64 {
        let first = self.pieces.partition_point(|piece| (piece.cell as usize) < cells.start);
        let pieces = self.pieces[first..].iter();
        let within = pieces.take_while(|piece| (piece.cell as usize) < cells.end);
        within.map(|piece| piece.totals.all_ios()).sum()
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
        let mut column = self.empty();
        let mut next = self.pieces.partition_point(|piece| (piece.cell as usize) < from);
        let mut begin = from;
        while begin < to {
            let end = ((begin / wide + 1) * wide).min(to);
            let busy_ns = self.busy_ns[begin..end].iter().sum();
            let mut holds = busy_ns > 0;
            while let Some(piece) = self.pieces.get(next).filter(|p| (p.cell as usize) < end) {
                self.add(&mut column, piece);
                (holds, next) = (true, next + 1);
            }
            if holds {
                column.busy_ns = busy_ns;
                each(begin / wide - from / wide, &column);
                column = self.emptied(column);
            }
            begin = end;
        }
    }

    fn empty(&self) -> ColumnSums {
        ColumnSums {
            totals: TimeCellTotals::default(),
            responses: vec![0; CoarseHistogram::LEN],
            depths: vec![0; QuarterHistogram::LEN],
            streams: vec![KeySum::default(); self.shares.streams.keys.len() + 1],
            processes: vec![KeySum::default(); self.shares.processes.keys.len() + 1],
            busy_ns: 0,
        }
    }

    fn emptied(&self, mut column: ColumnSums) -> ColumnSums {
        column.totals = TimeCellTotals::default();
        column.responses.fill(0);
        column.depths.fill(0);
        column.streams.fill(KeySum::default());
        column.processes.fill(KeySum::default());
        column
    }

    fn add(&self, column: &mut ColumnSums, piece: &CellPiece) {
        column.totals.add(&piece.totals);
        self.histograms.add_to(&piece.responses, &mut column.responses);
        self.histograms.add_to(&piece.depths, &mut column.depths);
        self.shares.add(&piece.parts, &mut column.streams, &mut column.processes);
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
    /// Breakdowns to keep.
    pub by: Breakdowns,
}

/// Cells that are being filled.
#[derive(Debug)]
pub struct TimeCellsBuilder {
    wanted: CellSpec,
    current: u32,
    /// Begin and width of the open cell; the width is 0 if none is open.
    begin_ns: u64,
    lasts_ns: u64,
    open: TimeCellTotals,
    responses: DenseCounts,
    depths: DenseCounts,
    parts: PairCounter,
    pieces: Vec<CellPiece>,
    histograms: SparseCounts,
    /// Time with an I/O outstanding.
    pub busy: BusyTime,
}

impl TimeCellsBuilder {
    /// Creates empty cells.
    pub fn new(wanted: CellSpec) -> Self {
        let wanted = CellSpec { width_ns: wanted.width_ns.max(1), ..wanted };
        TimeCellsBuilder {
            wanted,
            current: 0,
            begin_ns: 0,
            lasts_ns: 0,
            open: TimeCellTotals::default(),
            responses: DenseCounts::new(CoarseHistogram::LEN),
            depths: DenseCounts::new(QuarterHistogram::LEN),
            parts: PairCounter::default(),
            pieces: Vec::new(),
            histograms: SparseCounts::default(),
            busy: BusyTime::new((wanted.width_ns, wanted.first, wanted.count)),
        }
    }

    /// Takes I/Os.
    pub fn take(&mut self, ios: &[CountedIo], pairs: &mut PairNumbers) {
        for io in ios {
            let is_here = io.issued_ns.wrapping_sub(self.begin_ns) < self.lasts_ns;
            if is_here || self.turn_to(io.issued_ns, pairs) {
                self.count(io);
            }
        }
    }

    /// Opens the cell of a time. Returns `false` if the time lies outside all cells.
    fn turn_to(&mut self, time_ns: u64, pairs: &mut PairNumbers) -> bool {
        let width_ns = self.wanted.width_ns;
        let cell = (time_ns / width_ns).wrapping_sub(self.wanted.first);
        if cell >= self.wanted.count as u64 {
            return false;
        }
        self.open_cell(cell as u32, pairs);
        (self.begin_ns, self.lasts_ns) = (time_ns / width_ns * width_ns, width_ns);
        true
    }

    fn open_cell(&mut self, cell: u32, pairs: &mut PairNumbers) {
        if cell != self.current {
            self.close(pairs);
            self.current = cell;
        }
    }

    #[inline]
    fn count(&mut self, io: &CountedIo) {
        let (op, bytes) = (io.op as usize, u64::from(io.bytes));
        self.open.ios[op] += 1;
        self.open.sequential[op] += u64::from(io.sequential);
        self.open.bytes[op] = self.open.bytes[op].saturating_add(bytes);
        self.open.times.count(io);
        if let Some(response) = io.response_ns() {
            self.responses.count(CoarseHistogram::index(response));
        }
        if io.depth > 0 {
            self.depths.count(QuarterHistogram::index(u64::from(io.depth)));
        }
        self.parts.count(io.pair, 1, bytes);
    }

    /// Adds sums of the I/Os of a stream and a process to a cell.
    pub fn add(
        &mut self,
        cell: u32,
        (key, added): (PairKey, &PairSums<'_>),
        pairs: &mut PairNumbers,
    ) {
        self.open_cell(cell, pairs);
        let (stream, ios) = (key.0, added.ios);
        let (op, bytes) = (stream.op as usize, u64::from(ios) * u64::from(stream.bytes));
        self.open.ios[op] += u64::from(ios);
        self.open.sequential[op] += if stream.sequential { u64::from(ios) } else { 0 };
        self.open.bytes[op] = self.open.bytes[op].saturating_add(bytes);
        self.open.times.add(added.times);
        let [responses, depths] = added.histograms;
        added.counts.of(responses).for_each(|(at, count)| self.responses.add(at, count));
        added.counts.of(depths).for_each(|(at, count)| self.depths.add(at, count));
        self.parts.count(pairs.number(self.wanted.by.of(key)), ios, bytes);
    }

    /// Closes the open cell.
    fn close(&mut self, pairs: &mut PairNumbers) {
        if self.open.all_ios() == 0 {
            return;
        }
        self.pieces.push(CellPiece {
            cell: self.current,
            totals: std::mem::take(&mut self.open),
            responses: self.histograms.keep(&mut self.responses),
            depths: self.histograms.keep(&mut self.depths),
            parts: self.parts.close(pairs),
        });
        self.make_room(pairs);
    }

    fn make_room(&mut self, pairs: &mut PairNumbers) {
        while self.parts.are_too_many() {
            let places = self.pieces.iter_mut().map(|piece| &mut piece.parts);
            self.parts.make_room(places, pairs);
        }
    }

    /// Returns the finished cells.
    pub fn finish(mut self, pairs: &mut PairNumbers) -> TimeCells {
        self.close(pairs);
        self.pieces.sort_by_key(|piece| piece.cell);
        self.pieces.shrink_to_fit();
        self.histograms.shrink();
        let CellSpec { width_ns, first, count, by } = self.wanted;
        TimeCells {
            width_ns,
            first,
            count,
            shares: self.parts.finish(by, pairs),
            pieces: self.pieces,
            histograms: self.histograms,
            busy_ns: self.busy.finish(),
        }
    }

    /// Adds the cells of another share of the I/Os with the same specification.
    pub fn join(
        &mut self,
        mut other: TimeCellsBuilder,
        (pairs, theirs): (&mut PairNumbers, &mut PairNumbers),
    ) {
        self.close(pairs);
        other.close(theirs);
        let joined = pairs.join(theirs);
        self.busy.join(other.busy);
        let histograms = self.histograms.append(other.histograms);
        let parts = self.parts.join(other.parts, &joined);
        self.pieces.extend(other.pieces.into_iter().map(|piece| CellPiece {
            responses: later(&piece.responses, histograms),
            depths: later(&piece.depths, histograms),
            parts: later(&piece.parts, parts),
            ..piece
        }));
        self.make_room(pairs);
    }
}

/// Sums of the I/Os of one pair.
pub struct PairSums<'a> {
    /// Number of I/Os.
    pub ios: u32,
    /// Response times and depths.
    pub times: &'a TimeTotals,
    /// Places of the histograms in [`Self::counts`]: response times, then depths.
    pub histograms: [&'a EntryRange; 2],
    /// Storage of the histograms.
    pub counts: &'a SparseCounts,
}

/// A fold that fills cells.
#[derive(Debug)]
pub struct CellsFold {
    gathering: PairBatcher,
    filling: TimeCellsBuilder,
}

impl CellsFold {
    /// Creates empty cells.
    pub fn new(wanted: CellSpec) -> Self {
        CellsFold { gathering: PairBatcher::default(), filling: TimeCellsBuilder::new(wanted) }
    }

    /// Returns the finished cells.
    pub fn finish(mut self) -> TimeCells {
        self.filling.finish(&mut self.gathering.pairs)
    }
}

impl EmptyLike for CellsFold {
    fn alike(&self) -> Self {
        CellsFold::new(self.filling.wanted)
    }
}

impl Fold for CellsFold {
    fn fields(&self) -> Fields {
        let own = Fields::of(&[
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
        if self.filling.wanted.by.processes {
            own.and(Fields::of(&[Field::Pid, Field::Command]))
        } else {
            own
        }
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let (by, filling) = (self.filling.wanted.by, &mut self.filling);
        self.gathering.each(rows, by, |ios, pairs| filling.take(ios, pairs));
        filling.busy.take(rows);
        Ok(())
    }

    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }

    fn merge(&mut self, mut other: Self) -> Result<(), TraceError> {
        let pairs = (&mut self.gathering.pairs, &mut other.gathering.pairs);
        self.filling.join(other.filling, pairs);
        Ok(())
    }
}
