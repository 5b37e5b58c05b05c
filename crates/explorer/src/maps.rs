//! Pictures with other axes than response time and queue depth: hits by address over time, and
//! issue times within the second. Each is a cube whose histograms have a bucket for every address
//! range or part of a second.

use crate::pair_numbers::CountedIo;
use serde::{Deserialize, Serialize};
use std::ops::{Range, RangeInclusive};
use steadfast_analysis::cube::{Cube, CubeBuilder};
use steadfast_analysis::{AnnotatedRows, Fold};
use steadfast_domain::{IoOp, Layer};
use steadfast_tracefile::{Field, Fields, TraceError};

/// Maximum number of columns of the address map of an index.
pub const COLUMNS: usize = 1024;
const SECONDS_COLUMNS: u64 = 4096;
/// Address ranges of the address map of an index.
pub const ADDRESS_RANGES: usize = 1024;
pub const PARTS_PER_SECOND: usize = 100;
pub const SECOND_NS: u64 = 1_000_000_000;

/// Maximum number of columns of the address map with finer time.
pub const FINE_COLUMNS: usize = 16_384;
/// Address ranges of the address map with finer time.
pub const FINE_RANGES: usize = 128;

/// Address ranges that an I/O touches, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TouchedRanges {
    pub first: u16,
    pub last: u16,
}

impl TouchedRanges {
    #[inline]
    pub fn numbers(self) -> RangeInclusive<usize> {
        usize::from(self.first)..=usize::from(self.last)
    }

    /// Returns the numbers that the ranges have in the map with [`FINE_RANGES`].
    #[inline]
    pub fn numbers_in_fine_map(self) -> impl Iterator<Item = usize> {
        self.numbers().map(|range| range * FINE_RANGES / ADDRESS_RANGES)
    }
}

/// A time axis of columns of equal width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnAxis {
    pub width_ns: u64,
    /// Number of the first column, counted from the beginning of the capture.
    pub first: u64,
    pub columns: usize,
}

impl ColumnAxis {
    fn cube(&self, buckets: usize) -> CubeBuilder<()> {
        let steps = self.first..self.first.saturating_add(self.columns as u64);
        CubeBuilder::new(self.width_ns.max(1), steps, buckets)
    }
}

/// Address ranges of equal size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressRanges {
    pub low: u64,
    pub range_bytes: u64,
    pub ranges: usize,
}

impl AddressRanges {
    /// The columns of single I/Os that [`Self::touched`] needs.
    pub const FIELDS: Fields =
        Fields::new(&[Field::Issued, Field::Offset, Field::Bytes, Field::Op, Field::Layer]);

    pub fn new(addresses: Range<u64>, ranges: usize) -> Self {
        let bytes = addresses.end.saturating_sub(addresses.start);
        let range_bytes = bytes.div_ceil(ranges as u64).max(1);
        AddressRanges { low: addresses.start, range_bytes, ranges }
    }

    /// Combines adjacent ranges so that `ranges` of them remain.
    pub fn combined(self, ranges: usize) -> Self {
        let range_bytes = self.range_bytes.saturating_mul((self.ranges / ranges) as u64);
        AddressRanges { range_bytes, ranges, ..self }
    }

    /// Returns the first address of a range, in bytes.
    pub fn begin(&self, range: usize) -> u64 {
        self.low.saturating_add(self.range_bytes.saturating_mul(range as u64))
    }

    /// Returns the ranges that an I/O touches, or `None` if it touches none.
    #[inline]
    pub fn touched(&self, rows: &AnnotatedRows<'_>, row: usize) -> Option<TouchedRanges> {
        let batch = rows.batch;
        let (op, bytes) = (batch.op(row), u64::from(batch.bytes(row)));
        if !matches!(op, IoOp::Read | IoOp::Write) || bytes == 0 || batch.layer(row) != Layer::Block
        {
            return None;
        }
        let offset = batch.offset(row);
        // An I/O that ends below the first range touches none.
        let last_byte = offset.saturating_add(bytes - 1).checked_sub(self.low)?;
        let first_byte = offset.saturating_sub(self.low);
        let first = first_byte / self.range_bytes;
        // Most I/Os touch one range and need no second division.
        let is_in_one = last_byte - first * self.range_bytes < self.range_bytes;
        let last = if is_in_one { first } else { last_byte / self.range_bytes };
        let first = u16::try_from(first).ok().filter(|first| usize::from(*first) < self.ranges)?;
        let last = usize::try_from(last).unwrap_or(usize::MAX).min(self.ranges - 1);
        Some(TouchedRanges { first, last: last as u16 })
    }
}

/// Returns the key of an operation's hits in an address map: 0 for reads, 1 for all others.
pub fn hit_key(op: IoOp) -> u32 {
    u32::from(op != IoOp::Read)
}

/// Returns the part of its second in which a time lies.
#[inline]
pub fn second_part(time_ns: u64) -> usize {
    (time_ns % SECOND_NS) as usize * PARTS_PER_SECOND / SECOND_NS as usize
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexMaps {
    /// Address ranges of [`Self::hits`].
    pub addresses: AddressRanges,
    pub hits: Cube<()>,
    /// Hits by address, with finer time and [`FINE_RANGES`].
    pub fine: Cube<()>,
    pub seconds: Cube<()>,
}

#[derive(Debug)]
pub struct IndexMapsBuilder {
    hits: CubeBuilder<()>,
    fine: CubeBuilder<()>,
    seconds: CubeBuilder<()>,
}

impl IndexMapsBuilder {
    /// Creates empty maps of a capture with the columns of the two address maps.
    pub fn new(coarse: ColumnAxis, fine: ColumnAxis, end_ns: u64) -> Self {
        IndexMapsBuilder {
            hits: coarse.cube(ADDRESS_RANGES),
            fine: fine.cube(FINE_RANGES),
            seconds: MapFold::for_seconds(0..end_ns, SECONDS_COLUMNS).cube,
        }
    }

    pub fn take(&mut self, ios: &[CountedIo], touched: &[Option<TouchedRanges>]) {
        for (io, touched) in ios.iter().zip(touched) {
            if let Some(cell) = self.seconds.at(io.issued_ns, 0) {
                cell.counts.count(second_part(io.issued_ns));
            }
            let Some(touched) = *touched else { continue };
            let key = hit_key(io.op);
            if let Some(cell) = self.hits.at(io.issued_ns, key) {
                touched.numbers().for_each(|range| cell.counts.count(range));
            }
            if let Some(cell) = self.fine.at(io.issued_ns, key) {
                touched.numbers_in_fine_map().for_each(|range| cell.counts.count(range));
            }
        }
    }

    pub fn merge(&mut self, other: IndexMapsBuilder) {
        self.hits.merge(other.hits, &[0, 1]);
        self.fine.merge(other.fine, &[0, 1]);
        self.seconds.merge(other.seconds, &[0]);
    }

    pub fn finish(self, addresses: AddressRanges) -> IndexMaps {
        IndexMaps {
            addresses,
            hits: self.hits.finish(),
            fine: self.fine.finish(),
            seconds: self.seconds.finish(),
        }
    }
}

/// Counted quantity of a [`MapFold`].
#[derive(Debug, Clone, Copy)]
enum MapKind {
    /// Hits of each address range, reads and writes apart. An I/O hits every range that it touches,
    /// as in `steadfast trace hits`.
    Addresses(AddressRanges),
    /// I/Os by their part of the second.
    Seconds,
}

/// A fold that fills a map of the I/Os in a window.
pub struct MapFold {
    axis: ColumnAxis,
    kind: MapKind,
    /// Counts so far.
    pub cube: CubeBuilder<()>,
}

impl MapFold {
    fn new(axis: ColumnAxis, kind: MapKind) -> Self {
        let buckets = match kind {
            MapKind::Addresses(addresses) => addresses.ranges,
            MapKind::Seconds => PARTS_PER_SECOND,
        };
        MapFold { axis, kind, cube: axis.cube(buckets) }
    }

    /// Creates an empty map of address ranges.
    pub fn for_addresses(axis: ColumnAxis, addresses: AddressRanges) -> Self {
        Self::new(axis, MapKind::Addresses(addresses))
    }

    /// Creates an empty map of seconds over a time span, with one column per second, or with wider
    /// columns so that there are at most `columns_max`.
    pub fn for_seconds(span_ns: Range<u64>, columns_max: u64) -> Self {
        let first = span_ns.start / SECOND_NS;
        let last = span_ns.end.saturating_sub(1).max(span_ns.start) / SECOND_NS;
        let mut width_s = 1;
        while last / width_s - first / width_s >= columns_max.max(1) {
            width_s *= 2;
        }
        let axis = ColumnAxis {
            width_ns: width_s.saturating_mul(SECOND_NS),
            first: first / width_s,
            columns: (last / width_s - first / width_s + 1) as usize,
        };
        Self::new(axis, MapKind::Seconds)
    }
}

impl Fold for MapFold {
    fn fields(&self) -> Fields {
        match self.kind {
            MapKind::Addresses(_) => AddressRanges::FIELDS,
            MapKind::Seconds => Fields::new(&[Field::Issued]),
        }
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        for row in rows.iter() {
            let issued_ns = rows.batch.issued_ns(row);
            let (key, buckets) = match self.kind {
                MapKind::Addresses(addresses) => {
                    let Some(touched) = addresses.touched(rows, row) else { continue };
                    (hit_key(rows.batch.op(row)), touched.numbers())
                }
                MapKind::Seconds => {
                    let part = second_part(issued_ns);
                    (0, part..=part)
                }
            };
            if let Some(cell) = self.cube.at(issued_ns, key) {
                buckets.for_each(|bucket| cell.counts.count(bucket));
            }
        }
        Ok(())
    }

    fn new_part(&self) -> Option<Self> {
        Some(Self::new(self.axis, self.kind))
    }

    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.cube.merge(other.cube, &[0, 1]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_analysis::AnnotatedBatch;
    use steadfast_analysis::cube::KeyCell;
    use steadfast_domain::IoEvent;

    /// A cell of a map, with its counts as (bucket, count).
    #[derive(Debug, PartialEq)]
    struct ListedCell {
        step: u32,
        key: u32,
        counts: Vec<(usize, u32)>,
    }

    /// Returns the cells after a fold over some I/Os.
    fn folded(mut fold: MapFold, events: &[IoEvent]) -> Vec<ListedCell> {
        fold.take(&AnnotatedBatch::from_events(events).rows()).unwrap();
        let cube = fold.cube.finish();
        let listed = |cell: &KeyCell<()>| ListedCell {
            step: cell.step,
            key: cell.key,
            counts: cube.counts(cell).collect(),
        };
        cube.cells().iter().map(listed).collect()
    }

    #[test]
    fn an_io_hits_every_range_that_it_touches() {
        let axis = ColumnAxis { width_ns: 10, first: 1, columns: 2 };
        let fold = MapFold::for_addresses(axis, AddressRanges::new(0..4096, 4));
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
        let reads = ListedCell { step: 0, key: 0, counts: vec![(0, 1), (1, 1)] };
        let writes = ListedCell { step: 1, key: 1, counts: vec![(3, 1)] };
        assert_eq!(folded(fold, &events), [reads, writes]);
    }

    #[test]
    fn a_second_is_divided_into_parts() {
        let fold = MapFold::for_seconds(0..5 * SECOND_NS, 3);
        assert_eq!((fold.axis.width_ns, fold.axis.columns), (2 * SECOND_NS, 3));
        let io = |issued_ns| IoEvent { issued_ns, ..IoEvent::default() };
        let events = [io(0), io(SECOND_NS - 1), io(SECOND_NS), io(4 * SECOND_NS + SECOND_NS / 2)];
        let first = ListedCell { step: 0, key: 0, counts: vec![(0, 2), (99, 1)] };
        let last = ListedCell { step: 2, key: 0, counts: vec![(50, 1)] };
        assert_eq!(folded(fold, &events), [first, last]);
        assert_eq!(MapFold::for_seconds(7 * SECOND_NS..8 * SECOND_NS, 9).axis.columns, 1);
    }
}
