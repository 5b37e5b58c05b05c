//! The LBA range hit map: hits of each range of a device in each capture step. A sequential scan
//! shows as a diagonal.

use crate::annotate::data_transfers::{DataTransfer, DataTransfers};
use crate::cells::{Dimensions, FilteredCells};
use crate::fold::{AnnotatedRows, Fold};
use crate::questions::streams::{ShareMeasure, StreamKey};
use crate::tables::recent_cache::RecentCache;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;
use steadfast_domain::{CaptureConditions, IoOp, Layer};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of steps, and maximum number of ranges, of a map.
pub const SIDE_MAX: usize = 4096;

/// Quantity shown by the hit maps of a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HitMapQuantity {
    /// Hits of reads and of writes.
    #[default]
    Count,
    /// Bytes read and written.
    Bytes,
    /// The stream with the most hits.
    Streams,
}

/// The steps of a map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HitSteps {
    /// Start of the first step, in nanoseconds.
    pub begin_ns: u64,
    /// Width of a step, in nanoseconds.
    pub width_ns: u64,
    /// Number of steps, from 1 to [`SIDE_MAX`].
    pub count: usize,
}

impl HitSteps {
    /// Divides a time span into `count` steps.
    pub fn over(span_ns: (u64, u64), count: usize) -> Self {
        let count = count.clamp(1, SIDE_MAX);
        let time = span_ns.1.saturating_sub(span_ns.0).saturating_add(1);
        HitSteps { begin_ns: span_ns.0, width_ns: time.div_ceil(count as u64), count }
    }

    /// Covers a time span with steps of a width. The first step begins at a multiple of the width,
    /// as in every other table.
    pub fn with_width(span_ns: (u64, u64), width_ns: u64) -> Self {
        let width_ns = width_ns.max(1);
        let first = span_ns.0 / width_ns;
        let count = (span_ns.1 / width_ns).saturating_sub(first).saturating_add(1);
        let count = usize::try_from(count).unwrap_or(SIDE_MAX).min(SIDE_MAX);
        HitSteps { begin_ns: first * width_ns, width_ns, count }
    }
}

/// Hits of a device by address range and step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitMap {
    /// Number of ranges; all have the same size.
    pub ranges: usize,
    /// Bytes of a range.
    pub range_bytes: u64,
    /// Number of steps.
    pub steps: usize,
    /// Width of a step, in nanoseconds.
    pub width_ns: u64,
    /// Start of step 0, in nanoseconds.
    pub begin_ns: u64,
    /// I/Os that lie outside the map in address or time, or that move no data.
    pub outside: u64,
    device: u16,
    measure: ShareMeasure,
    planes: HitPlanes,
    /// The counts, plane by plane; within a plane range by range, and within a range step by step.
    cells: Vec<u64>,
}

/// The planes of a map: what is counted separately within a range and step.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HitPlanes {
    /// Reads, then writes.
    Operations,
    /// Plane numbers of I/O streams. All other streams share the last plane.
    Streams(FxHashMap<StreamKey, usize>),
}

impl HitPlanes {
    fn count(&self) -> usize {
        match self {
            HitPlanes::Operations => 2,
            HitPlanes::Streams(numbers) => numbers.len() + 1,
        }
    }
}

impl HitMap {
    /// Creates an empty map of the reads and writes of a device's first `capacity` bytes over
    /// steps.
    pub fn new(device: u16, capacity: u64, ranges: usize, steps: HitSteps) -> Self {
        let ranges = ranges.clamp(1, SIDE_MAX);
        let HitSteps { begin_ns, width_ns, count } = steps;
        let empty = HitMap {
            ranges,
            range_bytes: capacity.div_ceil(ranges as u64).max(1),
            steps: count,
            width_ns: width_ns.max(1),
            begin_ns,
            outside: 0,
            device,
            measure: ShareMeasure::Count,
            planes: HitPlanes::Operations,
            cells: Vec::new(),
        };
        empty.empty()
    }

    /// Returns a map with the same settings and without hits.
    fn empty(&self) -> Self {
        let cells = vec![0; self.planes() * self.ranges * self.steps];
        HitMap { outside: 0, cells, planes: self.planes.clone(), ..*self }
    }

    /// Returns the map with another measure: hits or bytes.
    pub fn by(self, measure: ShareMeasure) -> Self {
        HitMap { measure, ..self }
    }

    /// Returns an empty map with one plane per given I/O stream and one for all others, instead of
    /// reads and writes.
    pub fn by_stream(self, keys: &[StreamKey]) -> Self {
        let planes = HitPlanes::Streams(keys.iter().copied().zip(0..).collect());
        HitMap { planes, ..self }.empty()
    }

    /// Returns the map with what a quantity counts; `keys` are the streams with planes of their own.
    pub fn showing(self, shown: HitMapQuantity, keys: &[StreamKey]) -> Self {
        match shown {
            HitMapQuantity::Count => self,
            HitMapQuantity::Bytes => self.by(ShareMeasure::Bytes),
            HitMapQuantity::Streams => self.by_stream(keys),
        }
    }

    /// Returns the number of the device in the trace.
    pub fn device(&self) -> u16 {
        self.device
    }

    /// Returns the number of planes: two for reads and writes, otherwise one per stream and one
    /// more.
    pub fn planes(&self) -> usize {
        self.planes.count()
    }

    /// Returns the hits, or bytes, of a range in a step on one plane; 0 outside the map.
    pub fn plane_hits(&self, plane: usize, range: usize, step: usize) -> u64 {
        let inside = plane < self.planes() && range < self.ranges && step < self.steps;
        if inside { self.cells[self.place(plane, range, step)] } else { 0 }
    }

    /// Returns the hits, or bytes, of a range in a step for reads or writes. The map must have
    /// planes of reads and writes.
    pub fn hits(&self, op: IoOp, range: usize, step: usize) -> u64 {
        match op {
            IoOp::Read => self.plane_hits(0, range, step),
            IoOp::Write => self.plane_hits(1, range, step),
            _ => 0,
        }
    }

    /// Returns the plane with the most in a cell; the first of several that are equal. `None` if
    /// the cell is empty.
    pub fn strongest(&self, range: usize, step: usize) -> Option<usize> {
        self.strongest_of(range..range + 1, step)
    }

    fn strongest_of(&self, ranges: Range<usize>, step: usize) -> Option<usize> {
        let hits = |plane| -> u64 {
            ranges.clone().map(|range| self.plane_hits(plane, range, step)).sum()
        };
        let (most, Reverse(plane)) =
            (0..self.planes()).map(|plane| (hits(plane), Reverse(plane))).max()?;
        (most > 0).then_some(plane)
    }

    fn place(&self, plane: usize, range: usize, step: usize) -> usize {
        (plane * self.ranges + range) * self.steps + step
    }

    /// Returns the sum over all planes of every step, in `rows` rows that combine adjacent ranges.
    /// The first row holds the lowest LBAs.
    pub fn rows(&self, rows: usize) -> Vec<Vec<u64>> {
        let all = |range, step| -> u64 {
            (0..self.planes()).map(|plane| self.plane_hits(plane, range, step)).sum()
        };
        let row = |ranges: Range<usize>| {
            let of_step = |step| ranges.clone().map(|range| all(range, step)).sum();
            (0..self.steps).map(of_step).collect()
        };
        self.ranges_of_rows(rows).map(row).collect()
    }

    /// Returns the plane with the most in every step, in the rows of [`Self::rows`].
    pub fn strongest_rows(&self, rows: usize) -> Vec<Vec<Option<usize>>> {
        let row = |ranges: Range<usize>| {
            (0..self.steps).map(|step| self.strongest_of(ranges.clone(), step)).collect()
        };
        self.ranges_of_rows(rows).map(row).collect()
    }

    fn ranges_of_rows(&self, rows: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let rows = rows.clamp(1, self.ranges);
        (0..rows).map(move |row| row * self.ranges / rows..(row + 1) * self.ranges / rows)
    }

    /// Returns the step of a time; `None` outside the map.
    fn step(&self, time: u64) -> Option<usize> {
        let step = time.checked_sub(self.begin_ns)? / self.width_ns;
        usize::try_from(step).ok().filter(|step| *step < self.steps)
    }

    /// Counts an I/O in every range that it touches.
    #[inline]
    fn hit(&mut self, plane: usize, step: Option<usize>, transfer: DataTransfer) {
        let first = usize::try_from(transfer.from / self.range_bytes).ok();
        let first = first.filter(|first| *first < self.ranges);
        let (Some(step), Some(first)) = (step, first) else {
            self.outside += 1;
            return;
        };
        let (from, end) = (transfer.from, transfer.end());
        let mut begin = self.range_bytes.saturating_mul(first as u64);
        let mut place = self.place(plane, first, step);
        for _ in first..self.ranges {
            let next = begin.saturating_add(self.range_bytes);
            let value = match self.measure {
                ShareMeasure::Count => 1,
                ShareMeasure::Bytes => end.min(next) - from.max(begin),
            };
            self.cells[place] = self.cells[place].saturating_add(value);
            if next >= end {
                return;
            }
            (begin, place) = (next, place + self.steps);
        }
    }

    /// Counts the reads and writes of the device. `plane` returns the plane of each.
    fn take_transfers(
        &mut self,
        rows: &AnnotatedRows<'_>,
        mut plane: impl FnMut(usize, DataTransfer) -> usize,
    ) {
        let issued = rows.batch.wide(Field::Issued);
        let (mut step, mut within) = (None, 0..0);
        DataTransfers::new(rows, self.device).each(|row, transfer| {
            let Some(transfer) = transfer else {
                self.outside += 1;
                return;
            };
            let time = issued.at(row);
            // Consecutive I/Os are mostly in the same step, which saves a division.
            if !within.contains(&time) {
                step = self.step(time);
                within = self.times(step);
            }
            self.hit(plane(row, transfer), step, transfer);
        });
    }

    /// Returns the times of a step; empty outside the map.
    fn times(&self, step: Option<usize>) -> Range<u64> {
        step.map_or(0..0, |step| {
            let begin = self.begin_ns + step as u64 * self.width_ns;
            begin..begin.saturating_add(self.width_ns)
        })
    }
}

impl Fold for HitMap {
    fn fields(&self) -> Fields {
        DataTransfers::FIELDS.and(Fields::new(&[Field::Issued]))
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        match mem::replace(&mut self.planes, HitPlanes::Operations) {
            HitPlanes::Operations => {
                self.take_transfers(rows, |_, transfer| usize::from(transfer.op == IoOp::Write));
            }
            HitPlanes::Streams(numbers) => {
                let mut cache = RecentCache::new();
                self.take_transfers(rows, |row, DataTransfer { op, bytes, .. }| {
                    let key = StreamKey { op, sequential: rows.sequential[row], bytes };
                    let find = || numbers.get(&key).copied().unwrap_or(numbers.len());
                    cache.get_or(key.packed(), key, find)
                });
                self.planes = HitPlanes::Streams(numbers);
            }
        }
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(self.empty())
    }
    fn check_dimensions(&self, recorded: Dimensions) -> Result<(), NotRecorded> {
        if !recorded.ranges {
            return Err(NotRecorded::HitMaps);
        }
        match self.planes {
            HitPlanes::Operations => Ok(()),
            HitPlanes::Streams(_) => Err(NotRecorded::StreamHits),
        }
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        for cell in cells.cells {
            let moves_data = matches!(cell.op, IoOp::Read | IoOp::Write) && cell.bytes > 0;
            // The first step may begin before the map.
            let step = self.step(cell.begin_ns.max(self.begin_ns));
            let is_of_device = cell.layer == Layer::Block && cell.device == self.device;
            if is_of_device && (!moves_data || step.is_none()) {
                self.outside = self.outside.saturating_add(cell.ios);
            }
        }
        for hits in cells.ranges.iter().filter(|hits| hits.device == self.device) {
            let Some(step) = self.step(hits.begin_ns.max(self.begin_ns)) else { continue };
            let range = usize::from(hits.range);
            // The device grew after the capture began.
            if range >= self.ranges {
                let ios = hits.reads.saturating_add(hits.writes);
                self.outside = self.outside.saturating_add(ios);
                continue;
            }
            let values = self
                .measure
                .choose([hits.reads, hits.writes], [hits.read_bytes, hits.written_bytes]);
            for (plane, value) in values.into_iter().enumerate() {
                let place = self.place(plane, range, step);
                self.cells[place] = self.cells[place].saturating_add(value);
            }
        }
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.outside += other.outside;
        debug_assert_eq!(self.cells.len(), other.cells.len());
        for (ours, theirs) in self.cells.iter_mut().zip(&other.cells) {
            *ours = ours.saturating_add(*theirs);
        }
        Ok(())
    }
}

/// Number of devices whose ends are kept in an array while rows are read.
const FIRST_DEVICES: usize = 16;

/// Largest end address of the reads and writes of each device at the block layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceEnds(BTreeMap<u16, u64>);

impl DeviceEnds {
    /// Iterates over the devices with reads or writes, in order.
    pub fn devices(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.keys().copied()
    }

    /// Returns the size of a device, or the end of what was touched if the size is unknown.
    pub fn end(&self, device: u16, conditions: &CaptureConditions) -> u64 {
        let size = conditions.devices.get(usize::from(device)).and_then(|device| device.capacity);
        let touched = self.0.get(&device).copied().unwrap_or(1);
        size.map_or(touched, |bytes| bytes.0).max(1)
    }

    /// Raises the end of a device to that of an I/O.
    fn raise(&mut self, device: u16, end: u64) {
        let known = self.0.entry(device).or_default();
        *known = end.max(*known);
    }
}

impl Fold for DeviceEnds {
    fn fields(&self) -> Fields {
        DataTransfers::FIELDS
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let (transfers, device) = (DataTransfers::new(rows, 0), rows.batch.narrow(Field::Device));
        let layer = rows.batch.narrow(Field::Layer);
        // Ends of the first devices; 0 stands for no I/O.
        let mut ends = [0; FIRST_DEVICES];
        for row in rows.iter().filter(|row| layer.layer(*row) == Layer::Block) {
            let Some(transfer) = transfers.transfer(row) else { continue };
            match ends.get_mut(device.at(row) as usize) {
                Some(known) => *known = transfer.end().max(*known),
                None => self.raise(device.at(row) as u16, transfer.end()),
            }
        }
        let known = (0..).zip(ends).filter(|(_, end)| *end > 0);
        known.for_each(|(device, end)| self.raise(device, end));
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(DeviceEnds::default())
    }
    fn check_dimensions(&self, recorded: Dimensions) -> Result<(), NotRecorded> {
        if recorded.ranges { Ok(()) } else { Err(NotRecorded::HitMaps) }
    }
    /// Takes the devices. Their ends are unknown: ranges divide the size of a device.
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        cells.ranges.iter().for_each(|hits| self.raise(hits.device, 0));
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        other.0.into_iter().for_each(|(device, end)| self.raise(device, end));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::RangeHits;

    #[test]
    fn steps_have_the_requested_width() {
        let second = 1_000_000_000;
        let steps = HitSteps::with_width((9 * second, 66 * second), 10 * second);
        assert_eq!((steps.begin_ns, steps.width_ns, steps.count), (0, 10 * second, 7));
        let steps = HitSteps::with_width((10 * second, 19 * second), 10 * second);
        assert_eq!((steps.begin_ns, steps.count), (10 * second, 1));
        let steps = HitSteps::over((0, u64::MAX), 60);
        assert!(steps.count == 60 && steps.width_ns >= u64::MAX / 60);
    }

    /// A capture step may begin before the map; a range beyond the size is of a device that grew.
    #[test]
    fn counted_ranges_outside_the_map_are_no_damage() {
        let steps = HitSteps { begin_ns: 15, width_ns: 10, count: 2 };
        let mut map = HitMap::new(0, 40_960, 4, steps);
        let hits = |begin_ns, range| RangeHits { begin_ns, range, reads: 3, ..Default::default() };
        let cells = FilteredCells {
            step_ns: 10,
            dimensions: Dimensions { ranges: true, ..Dimensions::default() },
            cells: &[],
            busy: &[],
            ranges: &[hits(10, 1), hits(25, 2), hits(25, 4)],
        };
        map.take_cells(&cells).unwrap();
        assert_eq!((map.hits(IoOp::Read, 1, 0), map.hits(IoOp::Read, 2, 1)), (3, 3));
        assert_eq!(map.outside, 3);
        let ranges = Dimensions { ranges: true, ..Dimensions::default() };
        assert!(map.check_dimensions(ranges).is_ok());
        let refused = map.by_stream(&[]).check_dimensions(ranges).err();
        assert_eq!(refused, Some(NotRecorded::StreamHits));
    }

    #[test]
    fn bytes_fall_where_they_lie_and_the_strongest_stream_is_found() {
        let (read, write) = (
            StreamKey { op: IoOp::Read, sequential: false, bytes: 4096 },
            StreamKey { op: IoOp::Write, sequential: true, bytes: 65_536 },
        );
        let steps = HitSteps { begin_ns: 0, width_ns: 10, count: 2 };
        let mut map =
            HitMap::new(0, 40_960, 4, steps).by(ShareMeasure::Bytes).by_stream(&[read, write]);
        assert_eq!((map.planes(), map.range_bytes), (3, 10_240));
        let transfer = |from, bytes| DataTransfer { op: IoOp::Read, from, bytes };
        map.hit(0, Some(0), transfer(8192, 4096));
        map.hit(1, Some(0), transfer(0, 12_000));
        map.hit(2, map.step(15), transfer(40_448, 512));
        assert_eq!((map.plane_hits(0, 0, 0), map.plane_hits(0, 1, 0)), (2048, 2048));
        assert_eq!((map.plane_hits(1, 0, 0), map.plane_hits(1, 1, 0)), (10_240, 1760));
        assert_eq!([map.strongest(0, 0), map.strongest(1, 0)], [Some(1), Some(0)]);
        assert_eq!([map.strongest(3, 0), map.strongest(3, 1)], [None, Some(2)]);
        assert_eq!(map.rows(2), [[16_096, 0], [0, 512]]);
        assert_eq!(map.strongest_rows(2), [[Some(1), None], [None, Some(2)]]);
        map.hit(0, Some(0), transfer(40_960, 512));
        map.hit(0, map.step(20), transfer(0, 512));
        assert_eq!(map.outside, 2);
    }
}
