//! I/Os by cells of time of equal width: the fold behind every series and every heat map of
//! response time and queue depth. Cells add up exactly, so wider cells need no second pass over the
//! I/Os.

use crate::busy::{BusyCell, BusyCells, BusyTime};
use crate::maps::ColumnAxis;
use crate::pair_numbers::{Breakdowns, CountedIo, PairBatcher, PairKey, PairNumbers};
use crate::part_counter::{PartCounter, RankedParts};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use steadfast_analysis::cells::{CubeCell, Dimensions, FilteredCells};
use steadfast_analysis::cube::{CellSums, Cube, CubeBuilder};
use steadfast_analysis::questions::steps::STEP_FIELDS;
use steadfast_analysis::sums::capture_step::CaptureStep;
use steadfast_analysis::sums::io_count::IoCount;
use steadfast_analysis::sums::io_times::StepTimes;
use steadfast_analysis::sums::op_sums::OpSums;
use steadfast_analysis::sums::sparse::DenseCounts;
use steadfast_analysis::{AnnotatedRows, Fold};
use steadfast_domain::{CoarseHistogram, QuarterHistogram};
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

/// Returns the response times of a cube cell by bucket of `CoarseHistogram`.
pub fn coarse_buckets(cell: &CubeCell) -> Result<Vec<(usize, u32)>, TraceError> {
    let counted = |(bucket, ios): (usize, u64)| match u32::try_from(ios) {
        Ok(count) => Ok((bucket, count)),
        Err(_) => Err(TraceError::TooFine(format!(
            "{ios} I/Os with one response time in a step; see the file with: steadfast trace report"
        ))),
    };
    cell.responses.coarse_buckets().map(counted).collect()
}

/// Sums over the I/Os of a pair in a cell.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct PairSums {
    ios: u64,
    times: StepTimes,
}

impl PairSums {
    pub fn from_cell(cell: &CubeCell) -> Self {
        PairSums { ios: cell.ios, times: StepTimes::from_cell(cell) }
    }

    #[inline]
    pub fn count(&mut self, io: &CountedIo) {
        self.ios += 1;
        count_times(&mut self.times, io);
    }
}

impl CellSums for PairSums {
    fn merge(&mut self, other: &Self) {
        self.ios = self.ios.saturating_add(other.ios);
        self.times.merge(&other.times);
    }
}

/// Adds an I/O to sums.
#[inline]
fn count_times(times: &mut StepTimes, io: &CountedIo) {
    times.add(io.response_ns(), io.queued_ns, io.depth);
    if io.content.blocks > 0 {
        times.contents.count(io.content);
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TimeCells {
    pub width_ns: u64,
    /// Number of the first cell, counted from the beginning of the capture.
    pub first: u64,
    pub count: usize,
    pub shares: RankedParts,
    /// Sums without histograms, which the cube keeps itself.
    totals: Cube<CaptureStep>,
    busy: BusyCells,
}

#[derive(Debug, Clone)]
pub struct ColumnSums {
    /// Sums over all I/Os, without their histogram.
    totals: CaptureStep,
    counts: Vec<u64>,
    /// Sums by stream; those of all other streams come last.
    pub streams: Vec<IoCount>,
    /// Sums by process; those of all other processes come last.
    pub processes: Vec<IoCount>,
}

impl ColumnSums {
    /// Returns the response times, counted by bucket of `CoarseHistogram`.
    pub fn responses(&self) -> &[u64] {
        &self.counts[..CoarseHistogram::LEN]
    }

    pub fn step(&self) -> CaptureStep {
        let histogram = CoarseHistogram::from_dense(self.responses());
        CaptureStep { histogram, ..self.totals.clone() }
    }

    /// Returns the queue depths, counted by bucket of `QuarterHistogram`.
    pub fn depths(&self) -> &[u64] {
        &self.counts[CoarseHistogram::LEN..]
    }
}

impl TimeCells {
    /// Returns the start of the first cell and the end of the last, in nanoseconds.
    pub fn span_ns(&self) -> (u64, u64) {
        let end = self.first.saturating_add(self.count as u64);
        (self.first.saturating_mul(self.width_ns), end.saturating_mul(self.width_ns))
    }

    pub fn ios_in(&self, cells: Range<usize>) -> u64 {
        self.totals.steps(cells).iter().map(|cell| cell.sums.ios()).sum()
    }

    /// Returns the busy time of a range of cells, counted from the first.
    fn busy(&self, cells: Range<usize>) -> BusyCell {
        let mut all = BusyCell::default();
        self.busy.cells[cells].iter().for_each(|cell| all.merge(*cell));
        all
    }

    /// Returns the number of devices (at a layer) with an I/O issued or outstanding in a range of
    /// cells, counted from the first; `None` if there are too many devices to know.
    pub fn devices_in(&self, cells: Range<usize>) -> Option<u64> {
        let cells = cells.start.min(self.count)..cells.end.min(self.count);
        self.busy.knows_devices.then(|| self.busy(cells).devices())
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
            let busy_ns = self.busy(begin..end).busy_ns;
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
            totals: CaptureStep { busy_ns, ..CaptureStep::default() },
            counts: vec![0; BUCKETS],
            streams: vec![IoCount::default(); self.shares.streams.keys.len() + 1],
            processes: vec![IoCount::default(); self.shares.processes.keys.len() + 1],
        }
    }
}

/// Cells that are being filled.
#[derive(Debug)]
pub struct TimeCellsBuilder {
    axis: ColumnAxis,
    totals: CubeBuilder<CaptureStep>,
    parts: PartCounter,
    pub busy: BusyTime,
}

impl TimeCellsBuilder {
    pub fn new(axis: ColumnAxis) -> Self {
        let axis = ColumnAxis { width_ns: axis.width_ns.max(1), ..axis };
        let ColumnAxis { width_ns, first, columns: count } = axis;
        let steps = first..first.saturating_add(count as u64);
        TimeCellsBuilder {
            axis,
            totals: CubeBuilder::new(width_ns, steps.clone(), BUCKETS),
            parts: PartCounter::new(width_ns, steps),
            busy: BusyTime::new(width_ns, first, count),
        }
    }

    pub fn take(&mut self, ios: &[CountedIo], pairs: &mut PairNumbers) {
        self.parts.make_room(pairs);
        for io in ios {
            let Some(cell) = self.totals.at(io.issued_ns, 0) else { continue };
            cell.sums.ops[io.op as usize].add(io.bytes, io.sequential);
            count_times(&mut cell.sums.times, io);
            count_buckets(io, &mut cell.counts);
            self.parts.count(io.issued_ns, io.pair, u64::from(io.bytes));
        }
    }

    /// Adds the I/Os of a stream and a process, with their histogram, to a cell.
    pub fn add(
        &mut self,
        cell: u32,
        key: PairKey,
        sums: &PairSums,
        counts: impl Iterator<Item = (usize, u32)>,
        pairs: &mut PairNumbers,
    ) {
        let (stream, ios) = (key.stream, sums.ios);
        let bytes = ios * u64::from(stream.bytes);
        let open = self.totals.in_step(cell, 0);
        let sequential = if stream.sequential { ios } else { 0 };
        open.sums.ops[stream.op as usize].merge(OpSums { ios, bytes, sequential });
        open.sums.times.merge(&sums.times);
        counts.for_each(|(at, count)| open.counts.add(at, count));
        self.parts.add(cell, pairs.number(key), IoCount { ios, bytes });
    }

    /// Adds the sums of a cube cell. Those of a step outside of all cells are left out.
    pub fn take_cell(
        &mut self,
        cell: &CubeCell,
        pairs: &mut PairNumbers,
    ) -> Result<(), TraceError> {
        let counts = coarse_buckets(cell)?;
        if let Some(at) = self.cell_at(cell.begin_ns) {
            self.busy.take_cell(cell);
            let sums = PairSums::from_cell(cell);
            self.add(at, cell.into(), &sums, counts.into_iter(), pairs);
        }
        Ok(())
    }

    /// Returns the number of the cell of a time, counted from the first.
    fn cell_at(&self, time_ns: u64) -> Option<u32> {
        let at = (time_ns / self.axis.width_ns).checked_sub(self.axis.first)?;
        u32::try_from(at).ok().filter(|at| (*at as usize) < self.axis.columns)
    }

    pub fn finish(self, pairs: &PairNumbers) -> TimeCells {
        let ColumnAxis { width_ns, first, columns: count } = self.axis;
        TimeCells {
            width_ns,
            first,
            count,
            shares: self.parts.finish(pairs),
            totals: self.totals.finish(),
            busy: self.busy.finish(),
        }
    }

    /// Adds the cells of another share of the I/Os with the same specification, whose pairs have
    /// these numbers here.
    pub fn merge(&mut self, other: TimeCellsBuilder, numbers: &[u32]) {
        self.busy.merge(other.busy);
        self.totals.merge(other.totals, &[0]);
        self.parts.merge(other.parts, numbers);
    }
}

#[derive(Debug)]
pub struct CellsFold {
    by: Breakdowns,
    batcher: PairBatcher,
    cells: TimeCellsBuilder,
}

impl CellsFold {
    pub fn new(axis: ColumnAxis, by: Breakdowns) -> Self {
        CellsFold { by, batcher: PairBatcher::new(by), cells: TimeCellsBuilder::new(axis) }
    }

    pub fn finish(self) -> TimeCells {
        self.cells.finish(&self.batcher.pairs)
    }
}

impl Fold for CellsFold {
    fn fields(&self) -> Fields {
        let processes = Fields::new(&[Field::Pid, Field::Command]);
        if self.by.processes { STEP_FIELDS.and(processes) } else { STEP_FIELDS }
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let cells = &mut self.cells;
        self.batcher.each(rows, |ios, pairs| cells.take(ios, pairs));
        cells.busy.take(rows);
        Ok(())
    }

    fn new_part(&self) -> Option<Self> {
        Some(CellsFold::new(self.cells.axis, self.by))
    }

    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Ok(())
    }

    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        cells.busy.iter().for_each(|busy| self.cells.busy.take_busy(busy));
        let pairs = &mut self.batcher.pairs;
        cells.cells.iter().try_for_each(|cell| self.cells.take_cell(cell, pairs))
    }

    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        let numbers = self.batcher.pairs.merge(&other.batcher.pairs);
        self.cells.merge(other.cells, &numbers);
        Ok(())
    }
}
