//! [`PairTables`]: the I/Os of each stream of each process in a few columns of time, so that a window
//! with a filter by operations, streams or processes is answered without reading its I/Os. Only
//! pairs that occur in a column take memory. If they take too much, the columns are widened, and if
//! that is not enough, nothing is kept and the I/Os are read.

use crate::cells::{CellSpec, PairSums, TimeCells, TimeCellsBuilder, TimeTotals};
use crate::keys::StoredProcessKey;
use crate::maps::{FINE_RANGES, IndexHitMap, IndexMaps, PARTS, RANGES, SecondMap, TouchedRanges};
use crate::pairs::{Breakdowns, CountedIo, PairFilter, PairKey, PairNumbers, kept, process};
use crate::sparse::{DenseCounts, EntryRange, SparseCounts, later};
use serde::{Deserialize, Serialize};
use std::mem;
use steadfast_domain::{CoarseHistogram, IoOp, QuarterHistogram};
use steadfast_tracefile::StreamKey;

/// Maximum number of columns with response times and depths.
const COLUMNS: u64 = 4096;
/// Maximum number of columns of the maps.
const PICTURE_COLUMNS: u64 = 1024;
/// Minimum number of columns that are useful. With fewer, nothing is kept.
const COLUMNS_LEAST: u64 = 64;
/// Maximum number of pairs. With more, nothing is kept.
const PAIRS_MAX: u32 = 4096;
/// Maximum memory of one kind of columns, in bytes.
const BYTES_MAX: usize = 16 << 20;
const SECOND: u64 = 1_000_000_000;

/// The I/Os of a pair in a column.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PairPiece {
    column: u32,
    pair: u32,
    ios: u32,
    times: TimeTotals,
    /// Two histograms, or one and an empty one.
    histograms: [EntryRange; 2],
}

/// Columns of equal width.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct PairColumns {
    width_ns: u64,
    pieces: Vec<PairPiece>,
    counts: SparseCounts,
}

/// Everything that is kept by pair.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PairTables {
    end_ns: u64,
    /// Key of each pair, by number; `None` for a pair without I/Os of its own.
    pairs: Vec<Option<(StreamKey, StoredProcessKey)>>,
    /// Response times and depths.
    times: PairColumns,
    /// Address ranges.
    hits: PairColumns,
    /// Parts of seconds.
    seconds: PairColumns,
}

impl PairTables {
    /// Returns the width of the columns of response times, in nanoseconds; `None` if nothing is
    /// kept.
    pub fn width_ns(&self) -> Option<u64> {
        (self.times.width_ns > 0).then_some(self.times.width_ns)
    }

    fn passing(&self, passing: PairFilter<'_>) -> Vec<Option<PairKey>> {
        let key = |(stream, who): (StreamKey, StoredProcessKey)| (stream, process(who));
        let keys = self.pairs.iter().map(|pair| pair.map(key));
        keys.map(|key| key.filter(|key| passing.lets(key))).collect()
    }

    /// Returns cells from the beginning of the capture, filled with the I/Os that pass in a window.
    pub fn cells(
        &self,
        window_ns: (u64, u64),
        passing: PairFilter<'_>,
        by: Breakdowns,
    ) -> TimeCells {
        let (passing, width_ns) = (self.passing(passing), self.times.width_ns.max(1));
        let count = self.end_ns.div_ceil(width_ns).max(1) as usize;
        let mut filling = TimeCellsBuilder::new(CellSpec { width_ns, first: 0, count, by });
        let mut pairs = PairNumbers::default();
        for piece in self.times.of(window_ns) {
            let Some(Some(key)) = passing.get(piece.pair as usize) else { continue };
            let [responses, depths] = &piece.histograms;
            let added = PairSums {
                ios: piece.ios,
                times: &piece.times,
                histograms: [responses, depths],
                counts: &self.times.counts,
            };
            filling.add(piece.column, (*key, &added), &mut pairs);
        }
        filling.finish(&mut pairs)
    }

    /// Returns the hits by address of the I/Os that pass; `None` if they are not kept.
    pub fn hits(&self, passing: PairFilter<'_>, all: &IndexMaps) -> Option<IndexHitMap> {
        let mut map = all.fine.of_columns(self.hits.width_ns, self.end_ns)?;
        let passing = self.passing(passing);
        for piece in &self.hits.pieces {
            let Some(Some((stream, _))) = passing.get(piece.pair as usize) else { continue };
            let begin = piece.column as usize * map.ranges;
            let is_read = stream.op == IoOp::Read;
            let hits = if is_read { &mut map.reads } else { &mut map.writes };
            let hits = hits.get_mut(begin..begin + map.ranges).unwrap_or_default();
            self.hits.counts.add_to_narrow(&piece.histograms[0], hits);
        }
        Some(map)
    }

    /// Returns the parts of seconds of the I/Os that pass; `None` if they are not kept.
    pub fn seconds(&self, passing: PairFilter<'_>) -> Option<SecondMap> {
        let seconds = self.seconds.width_ns / SECOND;
        let mut map = SecondMap::of_seconds(seconds, self.end_ns)?;
        let passing = self.passing(passing);
        for piece in &self.seconds.pieces {
            if let Some(Some(_)) = passing.get(piece.pair as usize) {
                let begin = piece.column as usize * map.parts;
                let counts = map.counts.get_mut(begin..begin + map.parts).unwrap_or_default();
                self.seconds.counts.add_to_narrow(&piece.histograms[0], counts);
            }
        }
        Some(map)
    }

    /// Returns the part of a window, in whole columns, in which I/Os that pass can lie; `None` if
    /// there are none.
    pub fn span_of(&self, window_ns: (u64, u64), passing: PairFilter<'_>) -> Option<(u64, u64)> {
        let passing = self.passing(passing);
        let passes = |piece: &&PairPiece| matches!(passing.get(piece.pair as usize), Some(Some(_)));
        let mut found = self.times.of(window_ns).iter().filter(passes);
        let first = found.next()?;
        let last = found.next_back().unwrap_or(first);
        let begin = |column: u32| u64::from(column).saturating_mul(self.times.width_ns);
        Some((begin(first.column).max(window_ns.0), begin(last.column + 1).min(window_ns.1)))
    }
}

impl PairColumns {
    /// Returns the pieces of the columns that a window touches.
    fn of(&self, (from, to): (u64, u64)) -> &[PairPiece] {
        let width_ns = self.width_ns.max(1);
        let (first, end) = (from / width_ns, to.div_ceil(width_ns));
        let before = |column: u64| self.pieces.partition_point(|p| u64::from(p.column) < column);
        &self.pieces[before(first)..before(end).max(before(first))]
    }

    fn bytes(&self) -> usize {
        self.pieces.len() * size_of::<PairPiece>() + self.counts.bytes()
    }
}

/// A pair in the open column.
#[derive(Debug)]
struct OpenPair {
    ios: u32,
    times: TimeTotals,
    histograms: [DenseCounts; 2],
}

/// Columns that are being filled.
#[derive(Debug)]
struct PairColumnsBuilder {
    column: u32,
    /// Begin and width of the open column; the width is 0 if none is open.
    begin_ns: u64,
    lasts_ns: u64,
    /// Number of buckets of the two histograms.
    buckets: [usize; 2],
    end_ns: u64,
    open: Vec<Option<Box<OpenPair>>>,
    touched: Vec<u32>,
    done: PairColumns,
}

impl PairColumnsBuilder {
    fn new(width_ns: u64, end_ns: u64, buckets: [usize; 2]) -> Self {
        PairColumnsBuilder {
            column: 0,
            begin_ns: 0,
            lasts_ns: 0,
            buckets,
            end_ns,
            open: Vec::new(),
            touched: Vec::new(),
            done: PairColumns { width_ns, ..PairColumns::default() },
        }
    }

    fn alike(&self, width_ns: u64) -> Self {
        PairColumnsBuilder::new(width_ns, self.end_ns, self.buckets)
    }

    /// Returns the counts of a pair at a time; `None` if counting was given up.
    #[inline]
    fn at(&mut self, time_ns: u64, pair: u32) -> Option<&mut OpenPair> {
        if time_ns.wrapping_sub(self.begin_ns) >= self.lasts_ns {
            self.turn_to(time_ns)?;
        }
        Some(self.of_pair(pair))
    }

    #[inline]
    fn of_pair(&mut self, pair: u32) -> &mut OpenPair {
        let at = pair as usize;
        if at >= self.open.len() {
            self.open.resize_with(at + 1, || None);
        }
        let buckets = self.buckets;
        let open = self.open[at].get_or_insert_with(|| {
            let histograms = buckets.map(DenseCounts::new);
            Box::new(OpenPair { ios: 0, times: TimeTotals::default(), histograms })
        });
        if open.ios == 0 {
            self.touched.push(pair);
        }
        open
    }

    fn turn_to(&mut self, time_ns: u64) -> Option<()> {
        self.close();
        let column = time_ns.checked_div(self.done.width_ns)?;
        self.column = column as u32;
        self.lasts_ns = self.done.width_ns;
        self.begin_ns = column.saturating_mul(self.lasts_ns);
        Some(())
    }

    fn close(&mut self) {
        self.keep();
        while self.done.bytes() > BYTES_MAX && self.done.width_ns > 0 {
            self.widen();
        }
    }

    /// Stores the open column.
    fn keep(&mut self) {
        self.touched.sort_unstable();
        for pair in mem::take(&mut self.touched) {
            let Some(open) = &mut self.open[pair as usize] else { continue };
            let [one, other] = &mut open.histograms;
            let histograms = [self.done.counts.keep(one), self.done.counts.keep(other)];
            let (ios, times) = (mem::take(&mut open.ios), mem::take(&mut open.times));
            self.done.pieces.push(PairPiece { column: self.column, pair, ios, times, histograms });
        }
    }

    /// Merges every two adjacent columns into one.
    fn widen(&mut self) {
        let mut old = mem::take(&mut self.done);
        old.pieces.sort_by_key(|piece| (piece.column, piece.pair));
        let width_ns = old.width_ns.saturating_mul(2);
        self.lasts_ns = 0;
        if self.end_ns.div_ceil(width_ns) < COLUMNS_LEAST {
            return;
        }
        let mut wider = self.alike(width_ns);
        wider.add_all(&old);
        self.done = wider.done;
    }

    /// Adds columns of the same width or half of it, in order.
    fn add_all(&mut self, columns: &PairColumns) {
        let beside = (self.done.width_ns / columns.width_ns.max(1)).max(1) as u32;
        for piece in &columns.pieces {
            self.turn_to_kept(piece.column / beside);
            let open = self.of_pair(piece.pair);
            open.ios = open.ios.saturating_add(piece.ios);
            open.times.add(&piece.times);
            for (dense, place) in open.histograms.iter_mut().zip(&piece.histograms) {
                columns.counts.of(place).for_each(|(at, count)| dense.add(at, count));
            }
        }
        self.keep();
    }

    fn turn_to_kept(&mut self, column: u32) {
        if column != self.column {
            self.keep();
            self.column = column;
        }
    }

    /// Adds the columns of another share of the I/Os. `numbers` are the numbers of its pairs here.
    fn join(&mut self, mut other: PairColumnsBuilder, numbers: &[u32]) {
        self.keep();
        other.keep();
        while self.done.width_ns != other.done.width_ns {
            if self.done.width_ns == 0 || other.done.width_ns == 0 {
                self.done = PairColumns::default();
                return;
            }
            let narrower =
                if self.done.width_ns < other.done.width_ns { &mut *self } else { &mut other };
            narrower.widen();
        }
        let begin = self.done.counts.append(other.done.counts);
        self.done.pieces.extend(other.done.pieces.into_iter().map(|piece| PairPiece {
            pair: numbers[piece.pair as usize],
            histograms: piece.histograms.map(|place| later(&place, begin)),
            ..piece
        }));
    }

    fn finish(mut self) -> PairColumns {
        self.close();
        self.done.pieces.sort_by_key(|piece| (piece.column, piece.pair));
        self.done.pieces.shrink_to_fit();
        self.done.counts.shrink();
        self.done
    }
}

/// Everything that is kept by pair, while it is being counted.
#[derive(Debug)]
pub struct PairTablesBuilder {
    end_ns: u64,
    times: PairColumnsBuilder,
    hits: PairColumnsBuilder,
    seconds: PairColumnsBuilder,
    /// Whether there were at most [`PAIRS_MAX`] pairs so far.
    is_whole: bool,
}

impl PairTablesBuilder {
    /// Creates empty counts for a capture whose cells have the width `cell_ns`.
    pub fn new(cell_ns: u64, end_ns: u64) -> Self {
        let width = |base_ns: u64, most: u64| {
            let mut width_ns = base_ns;
            while end_ns.div_ceil(width_ns) > most {
                width_ns = width_ns.saturating_mul(2);
            }
            width_ns
        };
        let buckets = [CoarseHistogram::LEN, QuarterHistogram::LEN];
        PairTablesBuilder {
            end_ns,
            times: PairColumnsBuilder::new(width(cell_ns, COLUMNS), end_ns, buckets),
            hits: PairColumnsBuilder::new(
                width(cell_ns, PICTURE_COLUMNS),
                end_ns,
                [FINE_RANGES, 0],
            ),
            seconds: PairColumnsBuilder::new(width(SECOND, PICTURE_COLUMNS), end_ns, [PARTS, 0]),
            is_whole: true,
        }
    }

    /// Takes I/Os with the first and the last address range that each touches.
    pub fn take(&mut self, ios: &[CountedIo], touched: &[TouchedRanges]) {
        self.is_whole &= ios.iter().all(|io| io.pair < PAIRS_MAX);
        if self.is_whole {
            self.take_times(ios);
            self.take_touched(ios, touched);
            self.take_seconds(ios);
        }
    }

    fn take_times(&mut self, ios: &[CountedIo]) {
        for io in ios {
            let Some(open) = self.times.at(io.issued_ns, io.pair) else { return };
            open.ios += 1;
            open.times.count(io);
            if let Some(response) = io.response_ns() {
                open.histograms[0].count(CoarseHistogram::index(response));
            }
            if io.depth > 0 {
                open.histograms[1].count(QuarterHistogram::index(u64::from(io.depth)));
            }
        }
    }

    fn take_touched(&mut self, ios: &[CountedIo], touched: &[TouchedRanges]) {
        for (io, touched) in ios.iter().zip(touched) {
            let Some((first, last)) = *touched else { continue };
            let Some(open) = self.hits.at(io.issued_ns, io.pair) else { return };
            open.ios += 1;
            for range in first..=last {
                open.histograms[0].count(usize::from(range) * FINE_RANGES / RANGES);
            }
        }
    }

    fn take_seconds(&mut self, ios: &[CountedIo]) {
        for io in ios {
            let Some(open) = self.seconds.at(io.issued_ns, io.pair) else { return };
            open.ios += 1;
            open.histograms[0].count(SecondMap::part(io.issued_ns, PARTS));
        }
    }

    /// Adds the counts of another share of the I/Os. `numbers` are the numbers of its pairs here.
    pub fn join(&mut self, other: PairTablesBuilder, numbers: &[u32]) {
        self.is_whole &= other.is_whole;
        if self.is_whole {
            self.times.join(other.times, numbers);
            self.hits.join(other.hits, numbers);
            self.seconds.join(other.seconds, numbers);
        }
    }

    /// Returns the counts; they are empty unless all pairs were counted separately.
    pub fn finish(self, pairs: &PairNumbers) -> PairTables {
        let (times, hits, seconds) =
            (self.times.finish(), self.hits.finish(), self.seconds.finish());
        let all = 0..pairs.all().len() as u32;
        let key = |number: u32| pairs.key(number).map(|(stream, who)| (stream, kept(&who)));
        let keys: Vec<_> = all.map(key).collect();
        let is_known =
            |piece: &PairPiece| keys.get(piece.pair as usize).is_some_and(Option::is_some);
        if self.is_whole && times.pieces.iter().all(is_known) {
            PairTables { end_ns: self.end_ns, pairs: keys, times, hits, seconds }
        } else {
            PairTables::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_analysis::Filter;
    use steadfast_analysis::questions::processes::ProcessKey;
    use steadfast_domain::io_event::{CommandName, ContentMeasurement};

    const CELL: u64 = 100_000;

    fn key(n: u32) -> PairKey {
        let stream =
            StreamKey { op: IoOp::Read, sequential: n.is_multiple_of(2), bytes: 512 * (n % 3 + 1) };
        (stream, ProcessKey { pid: n % 5 + 1, command: CommandName::new("x") })
    }

    fn io(n: u32, pairs: &mut PairNumbers) -> CountedIo {
        let (stream, who) = key(n);
        CountedIo {
            row: 0,
            pair: pairs.number((stream, who)),
            issued_ns: u64::from(n) * CELL / 3,
            response_ns: 1000 + u64::from(n % 100) * 1000,
            queued_ns: u64::from(n % 3),
            content: ContentMeasurement::default(),
            bytes: stream.bytes,
            depth: n % 7,
            op: stream.op,
            sequential: stream.sequential,
        }
    }

    /// Returns the I/Os and the sums of the histograms of each column that is not empty.
    fn told(by_pair: &PairTables, wide: usize) -> Vec<(usize, u64, u64, u64)> {
        let filter = Filter::default();
        let passing = PairFilter::of(&filter, &filter).unwrap();
        let cells = by_pair.cells((0, by_pair.end_ns), passing, Breakdowns::default());
        let mut found = Vec::new();
        cells.columns(0..cells.count, wide, |at, column| {
            let depths = column.depths.iter().sum();
            found.push((at, column.totals.all_ios(), column.responses.iter().sum(), depths));
        });
        found
    }

    #[test]
    fn wider_columns_hold_the_same() {
        let count = 12_000;
        let end_ns = u64::from(count) * CELL / 3;
        let (mut pairs, mut one, mut other) = (
            PairNumbers::default(),
            PairTablesBuilder::new(CELL, end_ns),
            PairTablesBuilder::new(CELL, end_ns),
        );
        let mut all = PairTablesBuilder::new(CELL, end_ns);
        for n in 0..count {
            let (io, touched) = (io(n, &mut pairs), Some((n as u16 % 1000, n as u16 % 1000 + 3)));
            let part = if n / 1000 % 2 == 0 { &mut one } else { &mut other };
            part.take(&[io], &[touched]);
            all.take(&[io], &[touched]);
        }
        other.times.keep();
        other.times.widen();
        let numbers: Vec<u32> = (0..pairs.all().len() as u32).collect();
        one.join(other, &numbers);
        let (joined, all) = (one.finish(&pairs), all.finish(&pairs));
        assert_eq!(joined.width_ns(), all.width_ns().map(|width| width * 2));
        assert_eq!(told(&joined, 4), told(&all, 8));
        assert_eq!(told(&all, 1).iter().map(|column| column.1).sum::<u64>(), u64::from(count));
    }

    #[test]
    fn with_too_many_pairs_nothing_is_told() {
        let (mut pairs, mut filled) =
            (PairNumbers::default(), PairTablesBuilder::new(CELL, 7 * CELL));
        let wide = (IoOp::Read, 1 << 20);
        for pid in 0..=PAIRS_MAX {
            let stream = StreamKey { op: wide.0, sequential: false, bytes: wide.1 };
            let process = ProcessKey { pid, command: CommandName::default() };
            filled.take(
                &[CountedIo {
                    pair: pairs.number((stream, process)),
                    ..io(0, &mut PairNumbers::default())
                }],
                &[None],
            );
        }
        assert_eq!(filled.finish(&pairs).width_ns(), None);
    }
}
