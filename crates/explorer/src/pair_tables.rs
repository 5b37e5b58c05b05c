//! [`PairTables`]: the I/Os of each stream of each process in a few columns of time, so that a window
//! with a filter by operations, streams or processes is answered without reading its I/Os. Only
//! pairs that occur in a column take memory. If they take too much, the columns are widened, and if
//! that is not enough, nothing is kept and the I/Os are read.

use crate::cells::{BUCKETS, PairSums, TimeCells, TimeCellsBuilder, coarse_buckets, count_buckets};
use crate::maps::{
    ColumnAxis, FINE_RANGES, PARTS_PER_SECOND, SECOND_NS, TouchedRanges, hit_key, second_part,
};
use crate::pair_numbers::{Breakdowns, CountedIo, PairFilter, PairKey, PairNumbers};
use serde::{Deserialize, Serialize};
use steadfast_analysis::cells::CubeCell;
use steadfast_analysis::cube::{CellSums, Cube, CubeBuilder};
use steadfast_tracefile::TraceError;

/// Maximum number of columns with response times and depths.
const COLUMNS: u64 = 4096;
/// Maximum number of columns of the maps.
const MAP_COLUMNS: u64 = 1024;
/// Minimum number of columns that are useful. With fewer, nothing is kept.
const COLUMNS_MIN: u64 = 64;
/// Maximum number of pairs. With more, nothing is kept.
const PAIRS_MAX: u32 = 4096;
/// Maximum memory of one kind of columns, in bytes.
const BYTES_MAX: usize = 16 << 20;

/// Everything that is kept by pair.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PairTables {
    end_ns: u64,
    /// Key of each pair, by number; `None` for a pair without I/Os of its own.
    pairs: Vec<Option<PairKey>>,
    times: Cube<PairSums>,
    hits: Cube<()>,
    seconds: Cube<()>,
}

impl PairTables {
    /// Returns the width of the columns of response times, in nanoseconds; `None` if nothing is
    /// kept.
    pub fn width_ns(&self) -> Option<u64> {
        self.times.step_ns()
    }

    /// Returns the keys of the pairs that pass, by number.
    fn passing(&self, passing: PairFilter<'_>) -> Vec<Option<PairKey>> {
        self.pairs.iter().map(|key| key.filter(|key| passing.passes(key))).collect()
    }

    /// Returns cells from the beginning of the capture, filled with the I/Os that pass in a window.
    pub fn cells(
        &self,
        window_ns: (u64, u64),
        passing: PairFilter<'_>,
        by: Breakdowns,
    ) -> TimeCells {
        let (passing, width_ns) = (self.passing(passing), self.width_ns().unwrap_or(1));
        let columns = self.end_ns.div_ceil(width_ns).max(1) as usize;
        let mut cells = TimeCellsBuilder::new(ColumnAxis { width_ns, first: 0, columns });
        let mut pairs = PairNumbers::new(by);
        for cell in self.times.window(window_ns) {
            if let Some(Some(key)) = passing.get(cell.key as usize) {
                let counts = self.times.counts(cell);
                cells.add(cell.step, *key, &cell.sums, counts, &mut pairs);
            }
        }
        cells.finish(&pairs)
    }

    /// Returns the hits of the [`FINE_RANGES`] by the I/Os that pass; `None` if they are not kept.
    pub fn hits(&self, passing: PairFilter<'_>) -> Option<Cube<()>> {
        self.rolled_up(&self.hits, FINE_RANGES, passing, |pair| hit_key(pair.stream.op))
    }

    /// Returns the parts of seconds of the I/Os that pass; `None` if they are not kept.
    pub fn seconds(&self, passing: PairFilter<'_>) -> Option<Cube<()>> {
        self.rolled_up(&self.seconds, PARTS_PER_SECOND, passing, |_| 0)
    }

    fn rolled_up(
        &self,
        cube: &Cube<()>,
        buckets: usize,
        passing: PairFilter<'_>,
        key_of: impl Fn(&PairKey) -> u32,
    ) -> Option<Cube<()>> {
        let mut found = CubeBuilder::new(cube.step_ns()?, 0..u64::from(u32::MAX), buckets);
        let passing = self.passing(passing);
        for cell in cube.cells() {
            if let Some(Some(key)) = passing.get(cell.key as usize) {
                found.add(cube, cell, cell.step, key_of(key));
            }
        }
        Some(found.finish())
    }

    /// Returns the part of a window, in whole columns, in which I/Os that pass can lie; `None` if
    /// there are none.
    pub fn span_of(&self, window_ns: (u64, u64), passing: PairFilter<'_>) -> Option<(u64, u64)> {
        let (passing, width_ns) = (self.passing(passing), self.width_ns()?);
        let cells = self.times.window(window_ns).iter();
        let mut steps = cells
            .filter(|cell| matches!(passing.get(cell.key as usize), Some(Some(_))))
            .map(|cell| cell.step);
        let first = steps.next()?;
        let last = steps.next_back().unwrap_or(first);
        let begin = |step: u32| u64::from(step).saturating_mul(width_ns);
        Some((begin(first).max(window_ns.0), begin(last + 1).min(window_ns.1)))
    }
}

#[derive(Debug)]
pub struct PairTablesBuilder {
    end_ns: u64,
    times: CubeBuilder<PairSums>,
    hits: CubeBuilder<()>,
    seconds: CubeBuilder<()>,
    /// True if there were at most [`PAIRS_MAX`] pairs so far.
    is_whole: bool,
}

/// Creates empty columns, at most `columns_max` of them, whose width is `base_ns` times a power of
/// two.
fn columns<S: CellSums>(
    end_ns: u64,
    base_ns: u64,
    columns_max: u64,
    buckets: usize,
) -> CubeBuilder<S> {
    let mut width_ns = base_ns;
    while end_ns.div_ceil(width_ns) > columns_max {
        width_ns = width_ns.saturating_mul(2);
    }
    CubeBuilder::new(width_ns, 0..u64::from(u32::MAX), buckets)
}

/// Widens columns that take too much memory, or gives them up.
fn bound<S: CellSums>(columns: &mut CubeBuilder<S>, end_ns: u64) {
    while columns.bytes() > BYTES_MAX {
        if end_ns.div_ceil(columns.step_ns().saturating_mul(2)) < COLUMNS_MIN {
            columns.abandon();
        } else {
            columns.roll_up(2, |pair| pair);
        }
    }
}

impl PairTablesBuilder {
    /// Creates empty counts for a capture whose cells have the width `cell_ns`.
    pub fn new(cell_ns: u64, end_ns: u64) -> Self {
        PairTablesBuilder {
            end_ns,
            times: columns(end_ns, cell_ns, COLUMNS, BUCKETS),
            hits: columns(end_ns, cell_ns, MAP_COLUMNS, FINE_RANGES),
            seconds: columns(end_ns, SECOND_NS, MAP_COLUMNS, PARTS_PER_SECOND),
            is_whole: true,
        }
    }

    /// Takes I/Os with the address ranges that each touches.
    pub fn take(&mut self, ios: &[CountedIo], touched: &[Option<TouchedRanges>]) {
        self.is_whole &= ios.iter().all(|io| io.pair < PAIRS_MAX);
        if !self.is_whole {
            return;
        }
        for io in ios {
            let Some(cell) = self.times.at(io.issued_ns, io.pair) else { break };
            cell.sums.count(io);
            count_buckets(io, &mut cell.counts);
        }
        for (io, touched) in ios.iter().zip(touched) {
            let Some(touched) = *touched else { continue };
            let Some(cell) = self.hits.at(io.issued_ns, io.pair) else { break };
            touched.numbers_in_fine_map().for_each(|range| cell.counts.count(range));
        }
        for io in ios {
            let Some(cell) = self.seconds.at(io.issued_ns, io.pair) else { break };
            cell.counts.count(second_part(io.issued_ns));
        }
        self.bound();
    }

    fn bound(&mut self) {
        bound(&mut self.times, self.end_ns);
        bound(&mut self.hits, self.end_ns);
        bound(&mut self.seconds, self.end_ns);
    }

    /// Takes the sums of a cube cell, which have neither addresses nor parts of seconds.
    pub fn take_cell(&mut self, cell: &CubeCell, pair: u32) -> Result<(), TraceError> {
        self.is_whole &= pair < PAIRS_MAX;
        if !self.is_whole {
            return Ok(());
        }
        if let Some(open) = self.times.at(cell.begin_ns, pair) {
            open.sums.merge(&PairSums::from_cell(cell));
            coarse_buckets(cell)?.iter().for_each(|(at, ios)| open.counts.add(*at, *ios));
        }
        bound(&mut self.times, self.end_ns);
        Ok(())
    }

    /// Adds the counts of another share of the I/Os. `numbers` are the numbers of its pairs here.
    pub fn merge(&mut self, other: PairTablesBuilder, numbers: &[u32]) {
        self.is_whole &= other.is_whole;
        if self.is_whole {
            self.times.merge(other.times, numbers);
            self.hits.merge(other.hits, numbers);
            self.seconds.merge(other.seconds, numbers);
        }
    }

    /// Returns the counts; they are empty unless all pairs were counted separately.
    pub fn finish(mut self, pairs: &PairNumbers) -> PairTables {
        self.bound();
        let (times, hits, seconds) =
            (self.times.finish(), self.hits.finish(), self.seconds.finish());
        let pairs: Vec<_> = (0..pairs.keys().len() as u32).map(|pair| pairs.key(pair)).collect();
        let is_known = |pair: u32| pairs.get(pair as usize).is_some_and(Option::is_some);
        if self.is_whole && times.cells().iter().all(|cell| is_known(cell.key)) {
            PairTables { end_ns: self.end_ns, pairs, times, hits, seconds }
        } else {
            PairTables::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_analysis::questions::processes::ProcessKey;
    use steadfast_domain::IoOp;
    use steadfast_domain::io_event::{CommandName, ContentMeasurement};
    use steadfast_tracefile::StreamKey;

    const CELL: u64 = 100_000;

    #[test]
    fn tables_with_too_many_pairs_are_discarded() {
        let mut pairs = PairNumbers::new(Breakdowns { streams: true, processes: true });
        let tables = |count: u32, pairs: &mut PairNumbers| {
            let mut builder = PairTablesBuilder::new(CELL, 7 * CELL);
            for pid in 0..count {
                let stream = StreamKey { op: IoOp::Read, sequential: false, bytes: 1 << 20 };
                let process = ProcessKey { pid, command: CommandName::default() };
                let io = CountedIo {
                    row: 0,
                    pair: pairs.number(PairKey { stream, process }),
                    issued_ns: 0,
                    response_ns: 1000,
                    queued_ns: 0,
                    content: ContentMeasurement::default(),
                    bytes: stream.bytes,
                    depth: 1,
                    op: stream.op,
                    sequential: false,
                };
                builder.take(&[io], &[None]);
            }
            builder.finish(pairs).width_ns()
        };
        assert_eq!(tables(PAIRS_MAX, &mut pairs), Some(CELL));
        assert_eq!(tables(PAIRS_MAX + 1, &mut pairs), None);
    }
}
