//! I/O streams: operation x RND/SEQ x transfer size, with counts, bytes, queue depths and response
//! times. This is the main fold over a trace.

use crate::cells::{Dimensions, FilteredCells};
use crate::columns::{ColumnValue::*, JsonRow, ListingColumn, ValueFormat::*, json_columns};
use crate::fold::{AnnotatedRows, Fold};
use crate::named_values::named_values;
use crate::sums::io_sums::IoSums;
use crate::sums::response::ResponseFigures;
use crate::sums::stream_chunk::{AT_ONCE, StreamChunk};
use crate::sums::stream_sums::{SUMMED_MAX, StreamSums};
use crate::tables::smallest_keys::{Admission, SmallestKeys};
use crate::threshold::Threshold;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::slice;
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
#[derive(Debug, Clone)]
pub struct StreamTable {
    /// Hash table of keys and stream numbers.
    places: Vec<(u64, u32)>,
    keys: Vec<u64>,
    tallies: Vec<IoSums>,
    firsts: SmallestKeys<StreamRank>,
    /// I/Os of streams beyond the limit.
    unlisted: IoSums,
    space: StreamBuffers,
}

/// Buffers for a few I/Os, and sums that are not yet added to the tallies.
#[derive(Debug, Clone, Default)]
struct StreamBuffers {
    keys: Vec<u64>,
    streams: Vec<u32>,
    buckets: Vec<u32>,
    sums: StreamSums,
}

/// Order by which streams are chosen if there are too many. In contrast to their share it is known
/// at the first I/O.
type StreamRank = (bool, u32, u64);

/// Number that stands for no stream.
const FREE: u32 = u32::MAX;
/// A free slot of the table.
const NOTHING: (u64, u32) = (0, FREE);

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
        StreamTable {
            places: vec![NOTHING; 256],
            keys: Vec::new(),
            tallies: Vec::new(),
            firsts: SmallestKeys::new(most),
            unlisted: IoSums::default(),
            space: StreamBuffers::default(),
        }
    }

    /// Adds sums of the I/Os of a stream.
    pub fn add(&mut self, key: StreamKey, tally: &IoSums) {
        self.tally(StreamKey::packed(key.op, key.sequential, key.bytes)).merge(tally);
    }

    /// Adds sums of I/Os that were not counted by stream.
    pub fn add_unlisted(&mut self, tally: &IoSums) {
        self.unlisted.merge(tally);
    }

    /// Iterates over the streams, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (StreamKey, &IoSums)> {
        self.keys.iter().zip(&self.tallies).map(|(key, tally)| (StreamKey::unpacked(*key), tally))
    }
    /// Returns the number of streams that are counted separately.
    pub fn len(&self) -> usize {
        self.keys.len()
    }
    /// Returns whether there are no streams.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
    /// Returns the I/Os of the streams beyond [`STREAMS_MAX`], all together.
    pub fn unlisted(&self) -> &IoSums {
        &self.unlisted
    }
    /// Returns the sums of one stream.
    pub fn get(&self, key: StreamKey) -> Option<&IoSums> {
        let at = self.place(StreamKey::packed(key.op, key.sequential, key.bytes));
        self.tallies.get(self.places[at].1 as usize)
    }
    /// Returns the sums over all streams.
    pub fn total(&self) -> IoSums {
        let mut total = self.unlisted.clone();
        self.tallies.iter().for_each(|tally| total.merge(tally));
        total
    }
    /// Returns the slot of a key, or the free slot where it would be inserted.
    #[inline]
    fn place(&self, key: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut at = self.home(key);
        loop {
            let (found, stream) = self.places[at];
            if found == key || stream == FREE {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Returns the home slot of a key, which it occupies unless that is taken.
    #[inline]
    fn home(&self, key: u64) -> usize {
        home(key) & (self.places.len() - 1)
    }

    #[inline]
    fn tally(&mut self, key: u64) -> &mut IoSums {
        let at = self.place(key);
        let index = self.places[at].1 as usize;
        if index < self.tallies.len() {
            return &mut self.tallies[index];
        }
        self.insert(key, at)
    }

    /// Takes a few I/Os.
    fn take_chunk(&mut self, chunk: &StreamChunk<'_>, space: &mut StreamBuffers) {
        chunk.keys(&mut space.keys);
        space.streams.resize(space.keys.len(), FREE);
        let mut known = 0;
        loop {
            known = self.find(known, chunk.kept(), &space.keys, &mut space.streams);
            let Some(key) = space.keys.get(known) else { break };
            if self.stream(*key).is_none() {
                // Inserting may evict a stream with I/Os that are not counted yet.
                return self.take_beyond(chunk, known, space);
            }
        }
        self.count(chunk, space.keys.len(), space);
    }

    /// Finds the streams of I/Os from `first` on. Returns the index of the first I/O whose stream
    /// is new, or the number of I/Os. Not inlined, so that all its values stay in registers.
    #[inline(never)]
    fn find(&self, first: usize, kept: &[bool], keys: &[u64], streams: &mut [u32]) -> usize {
        let (places, last) = (self.places.as_slice(), self.places.len() - 1);
        let each = streams[first..].iter_mut().zip(&keys[first..]).zip(&kept[first..]);
        for (row, ((stream, key), kept)) in each.enumerate() {
            // Fast path: the row is selected and its stream sits in its home slot.
            let (found, number) = places[home(*key) & last];
            if found == *key && *kept {
                *stream = number;
                continue;
            }
            *stream = if *kept { self.find_elsewhere(*key) } else { FREE };
            if *kept && *stream == FREE {
                return first + row;
            }
        }
        keys.len()
    }

    /// Returns the number of a stream that is not in its home slot.
    #[cold]
    fn find_elsewhere(&self, key: u64) -> u32 {
        self.places[self.place(key)].1
    }

    /// Counts the first `first` I/Os, whose streams are known.
    fn count(&mut self, chunk: &StreamChunk<'_>, first: usize, space: &mut StreamBuffers) {
        let StreamBuffers { streams, buckets, sums, .. } = space;
        let streams = &streams[..first];
        match chunk.telling().filter(|_| self.tallies.len() <= SUMMED_MAX) {
            Some(telling) => {
                let sums = sums.by_stream(telling, &self.keys, &mut self.tallies);
                chunk.add_up(telling, (streams, buckets), sums, &mut self.tallies);
            }
            None => chunk.count(streams, &self.keys, &mut self.tallies),
        }
    }

    /// Takes I/Os when there are more streams than are counted separately: first those whose
    /// streams are known, then the others one by one.
    #[cold]
    fn take_beyond(&mut self, chunk: &StreamChunk<'_>, known: usize, space: &mut StreamBuffers) {
        self.count(chunk, known, space);
        space.sums.flush(&self.keys, &mut self.tallies);
        let kept = space.keys.iter().zip(chunk.kept()).enumerate().skip(known);
        for (row, (key, _)) in kept.filter(|(_, (_, kept))| **kept) {
            let tally = slice::from_mut(self.tally(*key));
            chunk.row(row).count(&[0], &[*key], tally);
        }
    }

    /// Returns the number of a stream, and inserts it if there is room.
    #[inline]
    fn stream(&mut self, key: u64) -> Option<u32> {
        let at = self.place(key);
        let (_, stream) = self.places[at];
        if stream != FREE {
            return Some(stream);
        }
        if self.firsts.is_full() {
            return None;
        }
        self.insert(key, at);
        Some(self.places[self.place(key)].1)
    }

    #[cold]
    fn insert(&mut self, key: u64, at: usize) -> &mut IoSums {
        let index = match self.firsts.admit(rank(key)) {
            Admission::Free => {
                let index = self.keys.len();
                self.places[at] = (key, index as u32);
                self.keys.push(key);
                self.tallies.push(IoSums::default());
                self.grow();
                index
            }
            Admission::Of((_, _, gone)) => self.replace(gone, key),
            Admission::None => return &mut self.unlisted,
        };
        &mut self.tallies[index]
    }

    /// Evicts a stream, whose I/Os count as unlisted from now on, and gives its number to another.
    fn replace(&mut self, gone: u64, key: u64) -> usize {
        let hole = self.place(gone);
        let (_, number) = self.places[hole];
        let index = number as usize;
        self.unlisted.merge(&std::mem::take(&mut self.tallies[index]));
        self.free(hole);
        self.keys[index] = key;
        let at = self.place(key);
        self.places[at] = (key, number);
        index
    }

    /// Frees a slot. Entries whose probe passes it move up.
    fn free(&mut self, mut hole: usize) {
        let mask = self.places.len() - 1;
        let mut at = hole;
        self.places[hole] = NOTHING;
        loop {
            at = (at + 1) & mask;
            let (key, stream) = self.places[at];
            if stream == FREE {
                return;
            }
            let is_reached_by_way_of_hole =
                (at.wrapping_sub(self.home(key)) & mask) >= (at.wrapping_sub(hole) & mask);
            if is_reached_by_way_of_hole {
                self.places.swap(hole, at);
                hole = at;
            }
        }
    }

    fn grow(&mut self) {
        if self.keys.len() * 2 <= self.places.len() {
            return;
        }
        self.places = vec![NOTHING; self.places.len() * 2];
        for (number, key) in (0..).zip(&self.keys) {
            let at = self.place(*key);
            self.places[at] = (*key, number);
        }
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

    /// Returns the rows of [`Self::listing`] whose share of the whole is at least the threshold.
    pub fn listing_from(&self, by: ShareMeasure, threshold: Threshold) -> Vec<StreamFigures> {
        let whole = by.of(&self.total());
        let mut rows = self.listing(by);
        rows.retain(|row| threshold.admits(by.of(&row.sums), whole));
        rows
    }
}

/// Returns the hash of a key; a table uses as many of its low bits as it needs.
#[inline]
fn home(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

/// Returns the rank of a stream: sizes of whole sectors first, smaller sizes before larger ones.
fn rank(key: u64) -> StreamRank {
    let StreamKey { bytes, .. } = StreamKey::unpacked(key);
    (!bytes.is_multiple_of(512), bytes, key)
}

impl PartialEq for StreamTable {
    /// Two tables are equal if they have the same streams with the same tallies, in any order.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.unlisted == other.unlisted
            && self.iter().all(|(key, tally)| other.get(key) == Some(tally))
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
        let mut space = std::mem::take(&mut self.space);
        for first in (0..rows.kept.len()).step_by(AT_ONCE) {
            let range = first..rows.kept.len().min(first + AT_ONCE);
            self.take_chunk(&StreamChunk::new(rows, range), &mut space);
        }
        space.sums.flush(&self.keys, &mut self.tallies);
        self.space = space;
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(StreamTable::keeping(self.firsts.most()))
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Ok(())
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        for cell in cells.cells {
            self.tally(StreamKey::packed(cell.op, cell.sequential, cell.bytes))
                .add_cell(cell, cells.dimensions.single_ios, true);
        }
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.unlisted.merge(&other.unlisted);
        for (key, tally) in other.keys.iter().zip(other.tallies) {
            self.tally(*key).take_in(tally);
        }
        Ok(())
    }
}

named_values! {
    /// By what a stream's share is taken.
    #[derive(
        Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
    )]
    #[serde(rename_all = "kebab-case")]
    ShareMeasure {
        /// By frequency: I/Os.
        #[default]
        Count = "count",
        /// By amount transferred: bytes.
        Bytes = "bytes",
    }
}

impl ShareMeasure {
    /// Returns the I/Os or the bytes of some sums.
    pub fn of(self, sums: &IoSums) -> u64 {
        match self {
            ShareMeasure::Count => sums.count(),
            ShareMeasure::Bytes => sums.amount(),
        }
    }

    /// Returns the share of a part in a whole, 0 to 1; 0 of nothing.
    pub fn share(self, part: &IoSums, whole: &IoSums) -> f64 {
        match self.of(whole) {
            0 => 0.0,
            whole => self.of(part) as f64 / whole as f64,
        }
    }
}

/// One stream of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamFigures {
    /// Operation, order and size; prints in the standard's notation: `RND 4K W`.
    pub key: StreamKey,
    /// Share of all I/Os or of all bytes, as chosen; 0 to 1.
    pub share: f64,
    /// Share of all I/Os, 0 to 1.
    pub share_of_count: f64,
    /// Share of all bytes, 0 to 1.
    pub share_of_bytes: f64,
    /// Sums over the stream's I/Os, without histograms.
    pub sums: IoSums,
    /// Response times.
    pub response: ResponseFigures,
}

impl StreamFigures {
    fn new(key: StreamKey, tally: &IoSums, total: &IoSums, by: ShareMeasure) -> Self {
        let [share_of_count, share_of_bytes] =
            [ShareMeasure::Count, ShareMeasure::Bytes].map(|by| by.share(tally, total));
        StreamFigures {
            key,
            share: if by == ShareMeasure::Count { share_of_count } else { share_of_bytes },
            share_of_count,
            share_of_bytes,
            sums: tally.without_histograms(),
            response: tally.responses.figures(),
        }
    }

    /// Returns the number of I/Os.
    pub fn count(&self) -> u64 {
        self.sums.count()
    }
}

json_columns! {
    StreamFigures;
    /// Name of the stream: operation, order and transfer size.
    STREAM = "stream", "I/O stream", Plain(0), Text(|s| s.key.to_string());
    /// Operation.
    OP = "op", "op", Plain(0), Text(|s| s.key.op.to_string());
    /// RND or SEQ.
    ORDER = "order", "order", Plain(0), Text(|s| s.key.order().to_owned());
    /// Transfer size, in bytes.
    BYTES = "bytes", "bytes", Plain(0), Whole(|s| s.key.bytes.into());
    /// I/Os.
    COUNT = "count", "count", Plain(0), Whole(|s| s.count());
    /// Data moved, in bytes.
    AMOUNT = "amount", "amount", Plain(0), Whole(|s| s.sums.amount());
    /// Share of all I/Os or of all data, as selected.
    SHARE = "share", "%", Percent(2), Real(|s| s.share);
    /// Share of all I/Os.
    SHARE_OF_COUNT = "share_of_count", "% of count", Percent(4), Real(|s| s.share_of_count);
    /// Share of all data moved.
    SHARE_OF_BYTES = "share_of_bytes", "% of amount", Percent(4), Real(|s| s.share_of_bytes);
    /// Average queue depth at issue; null if unknown.
    QD_MEAN = "qd_mean", "QD avg", Plain(2), MaybeReal(|s| s.sums.depth_mean());
    /// Largest queue depth at issue; null if unknown.
    QD_MAX = "qd_max", "QD max", Plain(0), MaybeWhole(|s| s.sums.depth_max().map(u64::from));
    /// I/Os with a response time.
    SEEN = "response.count", "responses", Plain(0), Whole(|s| s.response.count);
    /// Average response time.
    ART = "response.mean_ns", "ART ms", Milliseconds, MaybeWhole(|s| s.response.mean_ns);
    /// Median response time.
    P50 = "response.p50_ns", "50% ms", Milliseconds, MaybeWhole(|s| s.response.p50_ns);
    /// 99th percentile of the response times.
    P99 = "response.p99_ns", "99% ms", Milliseconds, MaybeWhole(|s| s.response.p99_ns);
    /// 99.9th percentile of the response times.
    P99_9 = "response.p99_9_ns", "99.9% ms", Milliseconds, MaybeWhole(|s| s.response.p99_9_ns);
    /// 99.99th percentile of the response times.
    P99_99 = "response.p99_99_ns", "99.99% ms", Milliseconds, MaybeWhole(|s| s.response.p99_99_ns);
    /// 99.999th percentile of the response times.
    P99_999 = "response.p99_999_ns", "99.999% ms", Milliseconds,
        MaybeWhole(|s| s.response.p99_999_ns);
    /// Longest response time.
    MRT = "response.max_ns", "MRT ms", Milliseconds, MaybeWhole(|s| s.response.max_ns);
    /// I/Os with a time in the queue.
    QUEUE_COUNT = "queued.count", "queued", Plain(0), Whole(|s| s.sums.queued.count);
    /// Average time in the queue.
    QUEUE_MEAN = "queued.mean_ns", "queue ms", Milliseconds, MaybeWhole(|s| s.sums.queued.mean_ns());
    /// Longest time in the queue.
    QUEUE_MAX = "queued.max_ns", "queue max", Milliseconds, MaybeWhole(|s| s.sums.queued.longest_ns());
    /// Share of the time from queue insertion to completion that was spent in the queue.
    QUEUE_SHARE = "queue_share", "queue %", Percent(1), MaybeReal(|s| s.sums.together.share());
    /// Failed I/Os.
    FAILED = "failed", "failed", Plain(0), Whole(|s| s.sums.failed());
}

impl schemars::JsonSchema for JsonRow<StreamFigures> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StreamTotals".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        crate::columns::schema(&StreamFigures::OF_TOTAL)
    }
}

type StreamFigureColumn = ListingColumn<StreamFigures>;

/// Columns of the stream tables.
impl StreamFigures {
    /// Columns of all streams together, in JSON.
    const OF_TOTAL: [StreamFigureColumn; 17] = [
        Self::COUNT,
        Self::AMOUNT,
        Self::QD_MEAN,
        Self::QD_MAX,
        Self::SEEN,
        Self::ART,
        Self::P50,
        Self::P99,
        Self::P99_9,
        Self::P99_99,
        Self::P99_999,
        Self::MRT,
        Self::QUEUE_COUNT,
        Self::QUEUE_MEAN,
        Self::QUEUE_MAX,
        Self::QUEUE_SHARE,
        Self::FAILED,
    ];

    /// Columns of a terminal's table.
    const TABLE: [StreamFigureColumn; 11] = [
        Self::STREAM,
        Self::COUNT.headed("I/Os"),
        Self::SHARE_OF_COUNT.headed("%").printed(Percent(2)),
        Self::AMOUNT.headed("MB").printed(Megabytes(1)),
        Self::SHARE_OF_BYTES.headed("% of MB").printed(Percent(2)),
        Self::QD_MEAN,
        Self::QD_MAX,
        Self::ART,
        Self::P99,
        Self::P99_999,
        Self::MRT,
    ];

    /// Returns the columns of a terminal's table, with times in the queue if they are known.
    pub fn table(has_queue: bool) -> Vec<StreamFigureColumn> {
        let queue: &[StreamFigureColumn] =
            if has_queue { &[Self::QUEUE_MEAN, Self::QUEUE_SHARE] } else { &[] };
        Self::TABLE.iter().chain(queue).copied().collect()
    }

    /// Columns of a report's table of all streams, next to their names.
    pub const LONG_TABLE: [StreamFigureColumn; 15] = [
        Self::OP,
        Self::ORDER,
        Self::BYTES,
        Self::COUNT,
        Self::AMOUNT,
        Self::SHARE_OF_COUNT,
        Self::SHARE_OF_BYTES,
        Self::QD_MEAN.printed(Plain(3)),
        Self::QD_MAX,
        Self::ART,
        Self::P99,
        Self::P99_999,
        Self::MRT,
        Self::QUEUE_MEAN,
        Self::QUEUE_SHARE,
    ];

    /// Columns that a workload's table shows in addition to the applied values.
    pub const AS_CAPTURED: [StreamFigureColumn; 3] = [Self::QD_MAX, Self::ART, Self::MRT];

    /// Columns of response times.
    pub const RESPONSE_TIMES: [StreamFigureColumn; 7] = [
        Self::ART.headed("ART"),
        Self::P50.headed("50 %"),
        Self::P99.headed("99 %"),
        Self::P99_9.headed("99.9 %"),
        Self::P99_99.headed("99.99 %"),
        Self::P99_999.headed("99.999 %"),
        Self::MRT.headed("MRT"),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::AnnotatedBatch;
    use crate::sums::io_sums::SumColumns;
    use std::collections::HashMap;
    use steadfast_domain::IoEvent;
    use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};
    use steadfast_domain::step::mix64;

    /// I/Os of `sizes` different sizes, with columns that `tells` sets.
    fn ios(count: u64, sizes: u64, tells: impl Fn(u64, &mut IoEvent)) -> Vec<IoEvent> {
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
            tells(number, &mut event);
            event
        };
        (0..count).map(io).collect()
    }

    /// Takes the batches as a whole, with all or some rows selected, and compares with taking them
    /// one by one.
    fn is_taken_as_one_by_one(batches: &[Vec<IoEvent>]) {
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
                    ios: one_by_one.ios,
                    bytes: one_by_one.bytes,
                    sequential: one_by_one.sequential,
                    depth_sum: one_by_one.depth_sum,
                    depths: one_by_one.depths,
                    depth_max: one_by_one.depth_max,
                    offsets: one_by_one.offsets,
                    together: one_by_one.together,
                    responses: one_by_one.responses.clone(),
                    queued: tally.queued.clone(),
                    flags: tally.flags,
                    ..IoSums::default()
                };
                assert_eq!(*tally, expected);
                let queued = |sums: &IoSums| sums.queued.without_histogram();
                assert_eq!(queued(tally), queued(&one_by_one));
                assert_eq!(tally.failed(), one_by_one.failed());
            }
        }
    }

    #[test]
    fn streams_are_what_their_ios_add_up_to_whatever_these_tell() {
        let alike = || ios(5000, 7, |_, _| ());
        let some = |part: u64| move |number: u64| mix64(number / 3).is_multiple_of(part);
        let not_queued = ios(3000, 7, |_, event| event.queued_ns = 0);
        let seldom_queued = ios(3000, 7, |number, event| event.queued_ns *= number % 2);
        let unended = ios(3000, 7, |number, event| {
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
            unended,
            failed,
            long,
            deep,
            no_depths,
            few_depths,
            Vec::new(),
        ];
        for one in &each {
            is_taken_as_one_by_one(slice::from_ref(one));
        }
        is_taken_as_one_by_one(&[alike(), each.concat(), alike()]);
        is_taken_as_one_by_one(&[alike(), ios(30_000, 2000, |_, _| ()), alike()]);
    }
}
