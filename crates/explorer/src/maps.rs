//! Pictures with other axes than response time and queue depth: hits by address over time, and
//! issue times within the second.

use crate::pairs::CountedIo;
use serde::{Deserialize, Serialize};
use steadfast_analysis::{AnnotatedRows, EmptyLike, Fold, ParallelFold};
use steadfast_domain::{IoOp, Layer};
use steadfast_tracefile::{Field, Fields, TraceError};

/// Maximum number of columns of the address map of an index.
pub const COLUMNS: usize = 1024;
/// Maximum number of columns of the map of seconds.
const SECONDS_COLUMNS: usize = 4096;
/// Address ranges of the address map of an index.
pub const RANGES: usize = 1024;
/// Parts of a second in the map of an index.
pub const PARTS: usize = 100;
const SECOND: u64 = 1_000_000_000;

/// Maximum number of columns of the address map with finer time.
pub const FINE_COLUMNS: usize = 16_384;
/// Address ranges of the address map with finer time.
pub const FINE_RANGES: usize = 128;

/// The first and the last of the [`RANGES`] that an I/O touches; `None` if it touches none.
pub type TouchedRanges = Option<(u16, u16)>;

/// Maps of a whole capture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexMaps {
    /// Hits by address.
    pub hits: IndexHitMap,
    /// Hits by address, with finer time and fewer ranges.
    pub fine: IndexHitMap,
    /// I/Os by part of the second.
    pub seconds: SecondMap,
}

impl IndexMaps {
    /// Creates empty maps of a capture. `coarse` and `fine` are the columns and the number of
    /// ranges of the two address maps.
    pub fn new(
        (coarse, fine): ((ColumnAxis, usize), (ColumnAxis, usize)),
        reach: u64,
        end_ns: u64,
    ) -> Self {
        IndexMaps {
            hits: IndexHitMap::new(coarse.0, (0, reach), coarse.1),
            fine: IndexHitMap::coarse(fine.0, reach, fine.1),
            seconds: SecondMap::new((0, end_ns), SECONDS_COLUMNS, PARTS),
        }
    }

    /// Takes I/Os with the ranges of [`Self::hits`] that they touch.
    pub fn take(&mut self, ios: &[CountedIo], touched: &[TouchedRanges]) {
        self.hits.count(ios, touched);
        self.fine.count(ios, touched);
        self.seconds.count(ios.iter().map(|io| io.issued_ns));
    }
}

/// Hits of each address range in each column of time, stored column by column with the lowest
/// address first. An I/O hits every range that it touches, as in `steadfast trace hits`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexHitMap {
    /// Width of a column, in nanoseconds.
    pub width_ns: u64,
    /// Number of the first column, counted from the beginning of the capture.
    pub first: u64,
    /// Number of columns.
    pub columns: usize,
    /// First address, in bytes.
    pub low: u64,
    /// Bytes of a range.
    pub range_bytes: u64,
    /// Number of ranges.
    pub ranges: usize,
    /// Hits by reads.
    pub reads: Vec<u32>,
    /// Hits by writes.
    pub writes: Vec<u32>,
}

/// A time axis of columns of equal width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnAxis {
    /// Width of a column, in nanoseconds.
    pub width_ns: u64,
    /// Number of the first column, counted from the beginning of the capture.
    pub first: u64,
    /// Number of columns.
    pub columns: usize,
}

impl IndexHitMap {
    /// Creates an empty map of the addresses from `low` to `high`.
    pub fn new(axis: ColumnAxis, (low, high): (u64, u64), ranges: usize) -> Self {
        let ColumnAxis { width_ns, first, columns } = axis;
        let bytes = high.saturating_sub(low).div_ceil(ranges as u64).max(1);
        let cells = columns * ranges;
        IndexHitMap {
            width_ns: width_ns.max(1),
            first,
            columns,
            low,
            range_bytes: bytes,
            ranges,
            reads: vec![0; cells],
            writes: vec![0; cells],
        }
    }

    /// Creates an empty map with fewer ranges, each of which combines several of the [`RANGES`].
    fn coarse(axis: ColumnAxis, reach: u64, ranges: usize) -> Self {
        let bytes = reach.div_ceil(RANGES as u64).max(1);
        let map = IndexHitMap::new(axis, (0, reach), ranges);
        IndexHitMap { range_bytes: bytes.saturating_mul((RANGES / ranges) as u64), ..map }
    }

    /// Returns a map of the same ranges, without columns.
    pub fn empty(&self) -> IndexHitMap {
        let IndexHitMap { width_ns, low, range_bytes, ranges, .. } = *self;
        IndexHitMap { width_ns, low, range_bytes, ranges, ..IndexHitMap::default() }
    }

    /// Returns an empty map of the same ranges with columns of a width; `None` if the width is 0.
    pub fn of_columns(&self, width_ns: u64, end_ns: u64) -> Option<IndexHitMap> {
        let columns = end_ns.checked_div(width_ns)? as usize + 1;
        let none = vec![0; columns * self.ranges];
        let (reads, writes) = (none.clone(), none);
        Some(IndexHitMap { width_ns, columns, reads, writes, ..self.empty() })
    }

    /// Counts a hit in each of the [`RANGES`] from the first to the last that an I/O touches.
    fn count(&mut self, ios: &[CountedIo], touched: &[TouchedRanges]) {
        let together = (RANGES / self.ranges.max(1)).max(1).ilog2();
        let mut open = LastColumn::new(self.width_ns);
        for (io, touched) in ios.iter().zip(touched) {
            let Some((first, last)) = *touched else { continue };
            let column = open.of(io.issued_ns).saturating_sub(self.first);
            if column >= self.columns as u64 {
                continue;
            }
            let begin = column as usize * self.ranges;
            let hits = if io.op == IoOp::Read { &mut self.reads } else { &mut self.writes };
            for range in first..=last {
                if let Some(hit) = hits.get_mut(begin + usize::from(range >> together)) {
                    *hit = hit.saturating_add(1);
                }
            }
        }
    }

    /// Takes one row. Returns the first and the last range that it touches.
    #[inline]
    pub fn take_row(&mut self, rows: &AnnotatedRows<'_>, row: usize) -> Option<(usize, usize)> {
        let (first, last) = self.touched(rows, row)?;
        let column = (rows.batch.issued_ns(row) / self.width_ns).checked_sub(self.first)?;
        let column = usize::try_from(column).ok().filter(|column| *column < self.columns)?;
        let is_read = rows.batch.op(row) == IoOp::Read;
        let hits = if is_read { &mut self.reads } else { &mut self.writes };
        for hit in &mut hits[column * self.ranges + first..=column * self.ranges + last] {
            *hit = hit.saturating_add(1);
        }
        Some((first, last))
    }

    /// Returns the first and the last range that an I/O touches, regardless of its time.
    #[inline]
    pub fn touched(&self, rows: &AnnotatedRows<'_>, row: usize) -> Option<(usize, usize)> {
        let batch = rows.batch;
        let (op, bytes) = (batch.op(row), u64::from(batch.bytes(row)));
        if !matches!(op, IoOp::Read | IoOp::Write) || bytes == 0 || batch.layer(row) != Layer::Block
        {
            return None;
        }
        let begin = batch.offset(row);
        let end = begin.saturating_add(bytes - 1).checked_sub(self.low)?;
        let begin = begin.saturating_sub(self.low);
        let first = begin / self.range_bytes;
        // Most I/Os touch one range, which saves the second division.
        let is_one = end - first * self.range_bytes < self.range_bytes;
        let last = if is_one { first } else { end / self.range_bytes };
        let first = usize::try_from(first).ok().filter(|first| *first < self.ranges)?;
        let last = usize::try_from(last).unwrap_or(usize::MAX).min(self.ranges - 1);
        Some((first, last))
    }
}

/// I/Os by their position within the second. A column stands for one second or several, and its
/// rows for the parts of a second.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondMap {
    /// Seconds of a column.
    pub seconds: u64,
    /// First second.
    pub first: u64,
    /// Number of columns.
    pub columns: usize,
    /// Number of parts of a second.
    pub parts: usize,
    /// Counts, column by column.
    pub counts: Vec<u32>,
}

impl SecondMap {
    /// Creates an empty map of a time span, with one column per second, or with wider columns so
    /// that there are at most `most`.
    pub fn new(span_ns: (u64, u64), most: usize, parts: usize) -> Self {
        let most = most.max(1) as u64;
        let last = span_ns.1.saturating_sub(1).max(span_ns.0) / SECOND;
        let mut seconds = 1;
        while last / seconds - span_ns.0 / SECOND / seconds >= most {
            seconds *= 2;
        }
        let first = span_ns.0 / SECOND / seconds * seconds;
        let columns = ((last - first) / seconds + 1) as usize;
        SecondMap { seconds, first, columns, parts, counts: vec![0; columns * parts] }
    }

    /// Creates an empty map from the beginning of the capture with columns of `seconds` seconds;
    /// `None` if that is 0.
    pub fn of_seconds(seconds: u64, end_ns: u64) -> Option<Self> {
        let columns = (end_ns / SECOND).checked_div(seconds)? as usize + 1;
        let counts = vec![0; columns * PARTS];
        Some(SecondMap { seconds, first: 0, columns, parts: PARTS, counts })
    }

    /// Returns the part of its second in which a time lies, out of `parts` parts.
    #[inline]
    pub fn part(time_ns: u64, parts: usize) -> usize {
        (time_ns % SECOND) as usize * parts / SECOND as usize
    }

    /// Counts I/Os that were issued at these times.
    fn count(&mut self, times_ns: impl Iterator<Item = u64>) {
        let mut open = LastColumn::new(self.seconds.saturating_mul(SECOND));
        let first = self.first / self.seconds.max(1);
        for time_ns in times_ns {
            let Some(column) = open.of(time_ns).checked_sub(first) else { continue };
            if column < self.columns as u64 {
                let part = Self::part(time_ns, self.parts);
                let count = &mut self.counts[column as usize * self.parts + part];
                *count = count.saturating_add(1);
            }
        }
    }
}

/// The column of the previous I/O. The next one is nearly always in the same column and needs no
/// division.
struct LastColumn {
    column: u64,
    begin_ns: u64,
    width_ns: u64,
    /// Width of the open column; 0 if none is open.
    lasts_ns: u64,
}

impl LastColumn {
    fn new(width_ns: u64) -> Self {
        LastColumn { column: 0, begin_ns: 0, width_ns: width_ns.max(1), lasts_ns: 0 }
    }

    /// Returns the number of the column of a time.
    #[inline]
    fn of(&mut self, time_ns: u64) -> u64 {
        if time_ns.wrapping_sub(self.begin_ns) >= self.lasts_ns {
            self.column = time_ns / self.width_ns;
            self.begin_ns = self.column * self.width_ns;
            self.lasts_ns = self.width_ns;
        }
        self.column
    }
}

impl EmptyLike for IndexHitMap {
    fn alike(&self) -> Self {
        let (reads, writes) = (vec![0; self.reads.len()], vec![0; self.writes.len()]);
        IndexHitMap { first: self.first, columns: self.columns, reads, writes, ..self.empty() }
    }
}

impl Fold for IndexHitMap {
    fn fields(&self) -> Fields {
        Fields::of(&[Field::Issued, Field::Offset, Field::Bytes, Field::Op, Field::Layer])
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        for row in rows.iter() {
            self.take_row(rows, row);
        }
        Ok(())
    }

    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }

    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        add(&mut self.reads, &other.reads);
        add(&mut self.writes, &other.writes);
        Ok(())
    }
}

impl EmptyLike for SecondMap {
    fn alike(&self) -> Self {
        SecondMap { counts: vec![0; self.counts.len()], ..*self }
    }
}

impl Fold for SecondMap {
    fn fields(&self) -> Fields {
        Fields::of(&[Field::Issued])
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        self.count(rows.iter().map(|row| rows.batch.issued_ns(row)));
        Ok(())
    }

    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }

    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        add(&mut self.counts, &other.counts);
        Ok(())
    }
}

fn add(ours: &mut [u32], theirs: &[u32]) {
    ours.iter_mut().zip(theirs).for_each(|(a, b)| *a = a.saturating_add(*b));
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::IoEvent;
    use steadfast_tracefile::Batch;

    fn with_rows(events: &[IoEvent], mut each: impl FnMut(&AnnotatedRows<'_>, usize)) {
        let (batch, none) = (Batch::of(events), vec![false; events.len()]);
        let (depth, busy) = (vec![0; events.len()], vec![(0, 0); events.len()]);
        let (batch, sequential, depth, busy) = (&batch, &none, &depth, &busy);
        let rows = AnnotatedRows {
            batch,
            sequential,
            depth,
            busy,
            kept: &none,
            after: &[],
            stretch: 0,
            order_ns: &[],
            place: None,
        };
        (0..events.len()).for_each(|row| each(&rows, row));
    }

    #[test]
    fn an_io_hits_every_range_that_it_touches() {
        let axis = ColumnAxis { width_ns: 10, first: 1, columns: 2 };
        let mut map = IndexHitMap::new(axis, (0, 4096), 4);
        let io = |issued_ns, offset, bytes, op| IoEvent {
            issued_ns,
            offset,
            bytes,
            op,
            ..IoEvent::default()
        };
        let events = [
            io(10, 512, 1024, IoOp::Read),
            io(29, 3072, 9000, IoOp::Write),
            io(5, 0, 512, IoOp::Read),
            io(30, 0, 512, IoOp::Read),
            io(10, 4096, 512, IoOp::Read),
            io(10, 0, 0, IoOp::Flush),
        ];
        let mut touched = Vec::new();
        with_rows(&events, |rows, row| touched.push(map.take_row(rows, row)));
        assert_eq!(touched, [Some((0, 1)), Some((3, 3)), None, None, None, None]);
        assert_eq!(map.reads, [1, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(map.writes, [0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_second_is_cut_into_parts() {
        let mut map = SecondMap::new((0, 5 * SECOND), 3, 4);
        assert_eq!((map.seconds, map.columns), (2, 3));
        let io = |issued_ns| IoEvent { issued_ns, ..IoEvent::default() };
        let events = [io(0), io(SECOND - 1), io(SECOND), io(4 * SECOND + SECOND / 2)];
        map.count(events.iter().map(|event| event.issued_ns));
        assert_eq!(map.counts, [2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0]);
        assert_eq!(SecondMap::new((7 * SECOND, 8 * SECOND), 9, 4).columns, 1);
    }
}
