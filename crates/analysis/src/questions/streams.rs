//! I/O streams: operation x RND/SEQ x transfer size, with counts, bytes, queue depths and response
//! times. This is the main fold over a trace.

use crate::cells::{Dimensions, FilteredCells};
use crate::columns::JsonRow;
use crate::cube::CellSums;
use crate::fold::{AnnotatedRows, Fold};
pub(crate) use crate::questions::stream_figures::share_of;
pub use crate::questions::stream_figures::{ShareMeasure, StreamFigures};
use crate::sums::io_sums::{IoSums, SumColumns};
use crate::tables::bounded_table::BoundedTable;
use crate::tables::recent_cache::RecentCache;
use crate::threshold::Threshold;
use serde::Serialize;
use std::cmp::Reverse;
use steadfast_domain::IoOp;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};
pub use steadfast_tracefile::stream_key::StreamKey;

/// Maximum number of streams that are counted separately; I/Os of all others are counted together.
/// A file-system trace can have as many transfer sizes as bytes. Sizes of whole sectors take
/// precedence over others, and smaller sizes over larger ones.
pub const STREAMS_MAX: usize = 1 << 15;

/// The I/O streams of a capture.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamTable(BoundedTable<StreamRank>);

/// Order by which streams are chosen if there are too many: sizes of whole sectors first, smaller
/// sizes before larger ones. In contrast to their share it is known at the first I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct StreamRank {
    has_partial_sector: bool,
    bytes: u32,
    /// Packed key of the stream.
    key: u64,
}

impl From<StreamKey> for StreamRank {
    fn from(key: StreamKey) -> Self {
        let has_partial_sector = !key.bytes.is_multiple_of(512);
        StreamRank { has_partial_sector, bytes: key.bytes, key: key.packed() }
    }
}

impl Default for StreamTable {
    fn default() -> Self {
        Self::keeping(STREAMS_MAX)
    }
}

impl StreamTable {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty table that counts at most `most` streams separately.
    pub fn keeping(most: usize) -> Self {
        StreamTable(BoundedTable::keeping(most))
    }

    /// Adds sums of the I/Os of a stream.
    pub fn add(&mut self, key: StreamKey, tally: &IoSums) {
        self.0.tally(key.into()).merge(tally);
    }

    /// Adds sums of I/Os that were not counted by stream.
    pub fn add_unlisted(&mut self, tally: &IoSums) {
        self.0.rest_mut().merge(tally);
    }

    /// Iterates over the streams, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (StreamKey, &IoSums)> {
        self.0.iter().map(|(rank, tally)| (StreamKey::unpacked(rank.key), tally))
    }
    /// Returns the number of streams that are counted separately.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// Returns whether there are no streams.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the I/Os of the streams beyond [`STREAMS_MAX`], all together.
    pub fn unlisted(&self) -> &IoSums {
        self.0.rest()
    }
    /// Returns the sums of one stream.
    pub fn get(&self, key: StreamKey) -> Option<&IoSums> {
        self.0.get(&key.into())
    }
    /// Returns the sums over all streams.
    pub fn total(&self) -> IoSums {
        self.0.total()
    }

    /// Returns the sums over all streams for JSON.
    pub fn total_figures(&self, by: ShareMeasure) -> JsonRow<StreamFigures> {
        let total = self.total();
        let of_none = StreamKey { op: IoOp::Other, sequential: false, bytes: 0 };
        let figures = StreamFigures::new(of_none, &total, &total, by);
        JsonRow::new(&StreamFigures::OF_TOTAL, figures)
    }

    /// Returns one row per stream, the largest share first.
    pub fn listing(&self, by: ShareMeasure) -> Vec<StreamFigures> {
        let total = self.total();
        let mut rows: Vec<StreamFigures> =
            self.iter().map(|(key, tally)| StreamFigures::new(key, tally, &total, by)).collect();
        rows.sort_by_key(|row| (Reverse(by.of(&row.sums)), row.key));
        rows
    }
}

/// The streams of a table at or above a threshold, as they are listed.
#[derive(Serialize, schemars::JsonSchema)]
pub struct StreamListing {
    by: ShareMeasure,
    threshold_percent: f64,
    total: JsonRow<StreamFigures>,
    /// Streams at or above the threshold.
    streams: Vec<StreamFigures>,
    streams_in_all: usize,
    unlisted_count: u64,
}

impl StreamListing {
    /// Lists the streams of `table` whose share, measured by `by`, is at least `threshold`.
    pub fn new(table: &StreamTable, by: ShareMeasure, threshold: Threshold) -> Self {
        let total = table.total_figures(by);
        let whole = by.of(&total.row.sums);
        let mut streams = table.listing(by);
        streams.retain(|stream| threshold.admits(by.of(&stream.sums), whole));
        StreamListing {
            by,
            threshold_percent: f64::from(threshold.0) / 1e4,
            total,
            streams,
            streams_in_all: table.len(),
            unlisted_count: table.unlisted().count(),
        }
    }

    /// Returns the listed streams, the largest share first.
    pub fn streams(&self) -> &[StreamFigures] {
        &self.streams
    }
    /// Returns the number of streams, listed or not.
    pub fn streams_in_all(&self) -> usize {
        self.streams_in_all
    }
    /// Returns the figures of all I/Os.
    pub fn total(&self) -> &StreamFigures {
        &self.total.row
    }
}

impl Fold for StreamTable {
    fn fields(&self) -> Fields {
        Fields::new(&[
            Field::Op,
            Field::Bytes,
            Field::Offset,
            Field::Response,
            Field::Queued,
            Field::Depth,
            Field::Flags,
        ])
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let columns = SumColumns::new(rows, true);
        let mut cache = RecentCache::new();
        for row in rows.iter() {
            let (op, bytes) = (columns.op.op(row), columns.bytes.at(row));
            let key = StreamKey { op, sequential: rows.sequential[row], bytes };
            let tally = self.0.cached_tally(&mut cache, key.packed(), key, || key.into());
            tally.add_of_stream(&columns, row);
        }
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(StreamTable::keeping(self.0.most()))
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Ok(())
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        for cell in cells.cells {
            let key = StreamKey { op: cell.op, sequential: cell.sequential, bytes: cell.bytes };
            self.0.tally(key.into()).add_cell(cell, cells.dimensions.single_ios, true);
        }
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.0.merge(other.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::AnnotatedBatch;
    use crate::sums::io_sums::SumColumns;
    use crate::sums::io_times::IoTimes;
    use std::collections::HashMap;
    use steadfast_domain::IoEvent;
    use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};
    use steadfast_domain::random_bits::mix64;

    /// I/Os of `sizes` different sizes, with columns that `adjust` sets.
    fn ios(count: u64, sizes: u64, adjust: impl Fn(u64, &mut IoEvent)) -> Vec<IoEvent> {
        let io = |number: u64| {
            let random = mix64(number);
            let mut event = IoEvent {
                offset: random % 1000 * 512,
                bytes: (random >> 8) as u32 % sizes as u32 * 512,
                op: IoOp::ALL[(random >> 40) as usize % 5],
                response_ns: random >> 44,
                queued_ns: 1 + (random >> 54),
                depth: 1 + (random >> 60) as u32,
                ..IoEvent::default()
            };
            adjust(number, &mut event);
            event
        };
        (0..count).map(io).collect()
    }

    /// Takes the batches as a whole, with all or some rows selected, and compares with taking them
    /// one by one.
    fn assert_equals_one_by_one(batches: &[Vec<IoEvent>]) {
        for keeps in [1, 3] {
            let mut table = StreamTable::new();
            let mut tallies: HashMap<StreamKey, IoSums> = HashMap::new();
            for events in batches {
                let length = events.len() as u64;
                let is_kept = |row| keeps == 1 || !mix64(row).is_multiple_of(keeps);
                let batch = AnnotatedBatch {
                    sequential: (0..length).map(|row| mix64(row).is_multiple_of(4)).collect(),
                    kept: (0..length).map(is_kept).collect(),
                    ..AnnotatedBatch::from_events(events)
                };
                let rows = batch.rows();
                table.take(&rows).unwrap();
                let columns = SumColumns::new(&rows, true);
                for row in rows.iter() {
                    let (op, bytes) = (rows.batch.op(row), rows.batch.bytes(row));
                    let key = StreamKey { op, sequential: rows.sequential[row], bytes };
                    tallies.entry(key).or_default().add(&columns, row);
                }
            }
            assert_eq!(table.len(), tallies.len());
            // A table of streams has no flags but failures, no spans and no content.
            for (key, one_by_one) in tallies {
                let tally = table.get(key).unwrap();
                let expected = IoSums {
                    ops: one_by_one.ops,
                    times: IoTimes {
                        depths: one_by_one.times.depths,
                        together: one_by_one.times.together,
                        responses: one_by_one.times.responses.clone(),
                        queued: tally.times.queued.clone(),
                        ..IoTimes::default()
                    },
                    offsets: one_by_one.offsets,
                    flags: tally.flags,
                    ..IoSums::default()
                };
                assert_eq!(*tally, expected);
                let queued = |sums: &IoSums| sums.times.queued.without_histogram();
                assert_eq!(queued(tally), queued(&one_by_one));
                assert_eq!(tally.failed(), one_by_one.failed());
            }
        }
    }

    #[test]
    fn streams_are_the_sums_of_their_ios_whatever_is_unknown() {
        let usual = || ios(5000, 7, |_, _| ());
        let some = |part: u64| move |number: u64| mix64(number / 3).is_multiple_of(part);
        let not_queued = ios(3000, 7, |_, event| event.queued_ns = 0);
        let seldom_queued = ios(3000, 7, |number, event| event.queued_ns *= number % 2);
        let incomplete = ios(3000, 7, |number, event| {
            event.response_ns = if some(40)(number) { RESPONSE_UNKNOWN } else { 50 };
        });
        let failed = ios(3000, 7, |number, event| {
            event.flags = if some(2000)(number) { flags::FAILED } else { flags::SYNC };
        });
        let long = ios(3000, 7, |number, event| {
            event.response_ns <<= if some(700)(number) { 30 } else { 1 };
            event.queued_ns <<= if some(900)(number) { 52 } else { 1 };
        });
        let deep = ios(3000, 7, |_, event| event.depth = u32::MAX);
        let no_depths = ios(3000, 7, |_, event| event.depth = 0);
        let few_depths = ios(3000, 7, |number, event| event.depth *= (number % 3 / 2) as u32);
        let each = [
            not_queued,
            seldom_queued,
            incomplete,
            failed,
            long,
            deep,
            no_depths,
            few_depths,
            Vec::new(),
        ];
        for one in &each {
            assert_equals_one_by_one(std::slice::from_ref(one));
        }
        assert_equals_one_by_one(&[usual(), each.concat(), usual()]);
        assert_equals_one_by_one(&[usual(), ios(30_000, 2000, |_, _| ()), usual()]);
    }
}
