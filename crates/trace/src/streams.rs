//! I/O streams: operation x RND/SEQ x transfer size, with counts, bytes, queue
//! depths and response times. The main fold over a trace.

use crate::batch::{Narrow, Wide};
use crate::cells::{Cell, Cells};
use crate::columns::{self, Column, Object, Print};
use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::firsts::{Firsts, Place};
use crate::fold::{Alike, Fold, FoldCells, FoldSums, InParts, Rows, Sums};
use crate::queue::Queued;
use crate::response::{ResponseFigures, Responses};
use crate::threshold::Threshold;
use crate::untold::Untold;
use serde::{Deserialize, Serialize, Serializer};
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;
use steadfast_domain::IoOp;
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, StreamInStep, StreamResponses, flags};
use steadfast_domain::units::Bytes;

/// Streams kept apart; I/Os of further ones are counted together. A file-system
/// trace can have as many transfer sizes as bytes: sizes of whole sectors are kept
/// before others, and of these the smaller before the larger.
pub const STREAMS_MAX: usize = 1 << 15;

/// A distinct combination of operation, order and transfer size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamKey {
    /// What it does.
    pub op: IoOp,
    /// SEQ, otherwise RND.
    pub sequential: bool,
    /// Transfer size in bytes.
    pub bytes: u32,
}

impl StreamKey {
    /// `RND` or `SEQ`.
    pub fn order(&self) -> &'static str {
        if self.sequential { "SEQ" } else { "RND" }
    }
    /// That of a row of a step file.
    #[inline]
    pub(crate) fn of_sum(row: &StreamInStep) -> StreamKey {
        StreamKey { op: row.op, sequential: row.sequential, bytes: row.bytes }
    }
    #[inline]
    fn packed(op: IoOp, sequential: bool, bytes: u32) -> u64 {
        // Never 0, which marks a free place of the table.
        1 << 40 | u64::from(sequential) << 36 | (op as u64) << 32 | u64::from(bytes)
    }
}

impl fmt::Display for StreamKey {
    /// The standard's notation: `RND 4K W`, `SEQ 128K R`, `FLUSH`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Bytes(u64::from(self.bytes)).transfer_size();
        let op = match self.op {
            IoOp::Read => "R",
            IoOp::Write => "W",
            IoOp::Discard => "DISCARD",
            IoOp::Flush if self.bytes == 0 => return f.write_str("FLUSH"),
            IoOp::Flush => "FLUSH",
            IoOp::Other => "OTHER",
        };
        write!(f, "{} {size} {op}", self.order())
    }
}

impl FromStr for StreamKey {
    type Err = TraceError;
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_ascii_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let key = match words.as_slice() {
            ["FLUSH"] => Some(StreamKey { op: IoOp::Flush, sequential: false, bytes: 0 }),
            [order, size, op] => parse_key(order, size, op),
            _ => None,
        };
        key.ok_or_else(|| {
            let what = format!(
                "'{text}' is not an I/O stream; write it like \"RND 4K W\" or \"SEQ 128K \
                    R\""
            );
            TraceError::Unsuitable(what)
        })
    }
}

fn parse_key(order: &str, size: &str, op: &str) -> Option<StreamKey> {
    let sequential = match order {
        "RND" => false,
        "SEQ" => true,
        _ => return None,
    };
    let op = match op {
        "R" => IoOp::Read,
        "W" => IoOp::Write,
        "DISCARD" | "TRIM" => IoOp::Discard,
        "FLUSH" => IoOp::Flush,
        "OTHER" => IoOp::Other,
        _ => return None,
    };
    let size: Bytes = size.parse().ok()?;
    Some(StreamKey { op, sequential, bytes: u32::try_from(size.0).ok()? })
}

/// What a stream's I/Os add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTally {
    /// I/Os.
    pub ios: u64,
    /// I/Os that failed.
    pub failed: u64,
    /// Response times.
    pub responses: Responses,
    /// Queue depths at issue added up, over [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// I/Os whose depth is known.
    pub depths: u64,
    /// Deepest queue at issue.
    pub depth_max: u32,
    /// Times in the queue.
    pub queued: Queued,
    /// All offsets combined by OR: its trailing zeros are the alignment.
    pub offsets: u64,
    bytes: u64,
}

impl StreamTally {
    /// Bytes moved.
    pub fn amount(&self) -> u64 {
        self.bytes
    }
    /// Average queue depth at issue.
    pub fn depth_mean(&self) -> Option<f64> {
        (self.depths > 0).then(|| self.depth_sum as f64 / self.depths as f64)
    }
    /// The largest power of two that every offset is a multiple of; `None`
    /// where all were 0.
    pub fn alignment(&self) -> Option<u64> {
        (self.offsets != 0).then(|| 1 << self.offsets.trailing_zeros())
    }
    /// Adds those of another part.
    pub fn merge(&mut self, other: &StreamTally) {
        self.ios += other.ios;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.failed += other.failed;
        self.responses.merge(&other.responses);
        self.depth_sum += other.depth_sum;
        self.depths += other.depths;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.queued.merge(other.queued);
        self.offsets |= other.offsets;
    }

    /// Adds those of another part, whose memory is taken over where that can be.
    fn take_in(&mut self, mut other: StreamTally) {
        self.responses.take_over(&mut other.responses);
        self.merge(&other);
    }

    /// Adds I/Os of one size that were added up before.
    fn take_sum(&mut self, sum: &StreamInStep) {
        self.ios = self.ios.saturating_add(sum.ios);
        self.bytes = self.bytes.saturating_add(sum.ios.saturating_mul(u64::from(sum.bytes)));
        self.failed = self.failed.saturating_add(sum.failed);
        self.responses.take_sum(sum.responses, sum.response_sum_ns, sum.response_max_ns);
        self.depth_sum = self.depth_sum.saturating_add(sum.depth_sum);
        self.depths = self.depths.saturating_add(sum.ios);
        self.depth_max = self.depth_max.max(sum.depth_max);
        self.offsets |= sum.offsets;
    }

    /// Adds I/Os of one size that a fold file holds.
    fn take_cell(&mut self, cell: &Cell) {
        self.ios = self.ios.saturating_add(cell.ios);
        self.bytes = self.bytes.saturating_add(cell.amount());
        self.failed = self.failed.saturating_add(cell.flag(flags::FAILED));
        self.responses.take_times(&cell.responses);
        self.depth_sum = self.depth_sum.saturating_add(cell.depth_sum);
        self.depths = self.depths.saturating_add(cell.depths);
        self.depth_max = self.depth_max.max(cell.depth_max);
        self.queued.merge(Queued::of_cell(cell));
        self.offsets |= cell.offsets;
    }

    /// Counts a row.
    #[inline]
    pub fn add(&mut self, rows: &Rows<'_>, row: usize) {
        self.ios += 1;
        self.bytes = self.bytes.saturating_add(u64::from(rows.batch.bytes(row)));
        if rows.batch.flags(row) & flags::FAILED != 0 {
            self.failed += 1;
        }
        if let Some(response) = rows.response_ns(row) {
            self.responses.add(response);
        }
        let depth = rows.depth[row];
        self.depth_sum += u64::from(depth);
        self.depths += u64::from(depth > 0);
        self.depth_max = self.depth_max.max(depth);
        self.queued.add(rows, row);
        self.offsets |= rows.batch.offset(row);
    }

    /// Adds I/Os of one size, column by column: so the sums of each stay at hand.
    fn add_all(&mut self, columns: &Columns<'_>, rows: &[u32]) {
        let each = || rows.iter().map(|row| *row as usize);
        let ios = rows.len() as u64;
        let size = each().next().map_or(0, |row| u64::from(columns.bytes.at(row)));
        let is_failed = |row: &usize| columns.flags.at(*row) & u32::from(flags::FAILED) != 0;
        self.ios += ios;
        self.bytes = self.bytes.saturating_add(ios * size);
        self.failed += each().filter(is_failed).count() as u64;
        self.offsets |= each().fold(0, |all, row| all | columns.offset.at(row));
        for depth in each().map(|row| columns.depth[row]) {
            self.depth_sum += u64::from(depth);
            self.depths += u64::from(depth > 0);
            self.depth_max = self.depth_max.max(depth);
        }
        self.add_responses(columns, each());
        let mut queued = Queued::default();
        for row in each() {
            let (waited, response) = (columns.queued.at(row), columns.response(row));
            if waited > 0 {
                queued.count_one(waited, response);
            }
        }
        self.queued.merge(queued);
    }

    fn add_responses(&mut self, columns: &Columns<'_>, rows: impl Iterator<Item = usize>) {
        let (mut count, mut sum_ns, mut max_ns) = (0, 0u64, 0);
        for response in rows.filter_map(|row| columns.response(row)) {
            count += 1;
            sum_ns = sum_ns.saturating_add(response);
            max_ns = response.max(max_ns);
            self.responses.count_bucket(response);
        }
        self.responses.take_sum(count, sum_ns, max_ns);
    }
}

/// What a tally takes of some I/Os.
struct Columns<'r> {
    op: Narrow<'r>,
    bytes: Narrow<'r>,
    flags: Narrow<'r>,
    offset: Wide<'r>,
    response: Wide<'r>,
    queued: Wide<'r>,
    depth: &'r [u32],
    sequential: &'r [bool],
}

impl<'r> Columns<'r> {
    fn of(rows: &Rows<'r>) -> Self {
        let batch = rows.batch;
        Columns {
            op: batch.narrow(Field::Op),
            bytes: batch.narrow(Field::Bytes),
            flags: batch.narrow(Field::Flags),
            offset: batch.wide(Field::Offset),
            response: batch.wide(Field::Response),
            queued: batch.wide(Field::Queued),
            depth: rows.depth,
            sequential: rows.sequential,
        }
    }

    /// The response time of an I/O whose completion was seen.
    #[inline]
    fn response(&self, row: usize) -> Option<u64> {
        let response = self.response.at(row);
        (response != RESPONSE_UNKNOWN).then_some(response)
    }

    #[inline]
    fn key(&self, row: usize) -> u64 {
        StreamKey::packed(self.op.op(row), self.sequential[row], self.bytes.at(row))
    }
}

/// I/Os that are sorted by stream before they are counted: their columns fit a processor's
/// nearest caches.
const AT_ONCE: usize = 1024;

/// Some I/Os, sorted by stream: each tells the one before it of the same stream.
#[derive(Debug, Clone)]
struct Sorted {
    /// By the I/O's place among those that are sorted at once.
    before: [u16; AT_ONCE],
    /// The last I/O of each stream.
    last: Vec<u16>,
    /// The streams that have one.
    streams: Vec<u32>,
    /// The rows of one of them.
    rows: Vec<u32>,
}

/// No I/O: the end of those of a stream.
const NO_IO: u16 = u16::MAX;

impl Default for Sorted {
    fn default() -> Self {
        Sorted { before: [NO_IO; AT_ONCE], last: Vec::new(), streams: Vec::new(), rows: Vec::new() }
    }
}

impl Sorted {
    /// Takes the next I/O of a stream.
    #[inline]
    fn take(&mut self, at: usize, stream: usize) {
        if self.last.len() <= stream {
            self.last.resize(stream + 1, NO_IO);
        }
        let before = std::mem::replace(&mut self.last[stream], at as u16);
        self.before[at] = before;
        if before == NO_IO {
            self.streams.push(stream as u32);
        }
    }

    /// Counts what was taken, the I/Os from row `first` on, and holds nothing any more.
    fn count(&mut self, columns: &Columns<'_>, first: usize, tallies: &mut [StreamTally]) {
        for stream in self.streams.drain(..) {
            let stream = stream as usize;
            let mut at = std::mem::replace(&mut self.last[stream], NO_IO);
            self.rows.clear();
            while at != NO_IO {
                self.rows.push((first + usize::from(at)) as u32);
                at = self.before[usize::from(at)];
            }
            tallies[stream].add_all(columns, &self.rows);
        }
    }
}

/// The I/O streams of a capture.
#[derive(Debug, Clone)]
pub struct StreamTable {
    places: Vec<u32>,
    keys: Vec<u64>,
    tallies: Vec<StreamTally>,
    firsts: Firsts<Rank>,
    /// I/Os of streams beyond those kept apart.
    unlisted: StreamTally,
    sorted: Sorted,
}

/// By what streams are chosen where there are too many: unlike their share it is
/// known when the first I/O comes.
type Rank = (bool, u32, u64);

/// A place of the table that holds nothing.
const FREE: u32 = u32::MAX;

impl Default for StreamTable {
    fn default() -> Self {
        Self::keeping(STREAMS_MAX)
    }
}

impl StreamTable {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty one that keeps at most so many streams apart.
    pub fn keeping(most: usize) -> Self {
        StreamTable {
            places: vec![FREE; 256],
            keys: Vec::new(),
            tallies: Vec::new(),
            firsts: Firsts::new(most),
            unlisted: StreamTally::default(),
            sorted: Sorted::default(),
        }
    }

    /// Adds a stream's I/Os that were added up before.
    pub fn add(&mut self, key: StreamKey, tally: &StreamTally) {
        self.tally(StreamKey::packed(key.op, key.sequential, key.bytes)).merge(tally);
    }

    /// Adds I/Os that were not kept apart by stream.
    pub fn add_unlisted(&mut self, tally: &StreamTally) {
        self.unlisted.merge(tally);
    }

    /// The streams, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (StreamKey, &StreamTally)> {
        self.keys.iter().zip(&self.tallies).map(|(key, tally)| (unpacked(*key), tally))
    }
    /// Streams that are kept apart.
    pub fn len(&self) -> usize {
        self.keys.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }
    /// I/Os beyond [`STREAMS_MAX`] streams, all together.
    pub fn unlisted(&self) -> &StreamTally {
        &self.unlisted
    }
    /// One stream.
    pub fn get(&self, key: StreamKey) -> Option<&StreamTally> {
        let at = self.place(StreamKey::packed(key.op, key.sequential, key.bytes));
        self.tallies.get(self.places[at] as usize)
    }
    /// Everything together.
    pub fn total(&self) -> StreamTally {
        let mut total = self.unlisted.clone();
        self.tallies.iter().for_each(|tally| total.merge(tally));
        total
    }
    /// Where the key is, or the free place where it would be.
    #[inline]
    fn place(&self, key: u64) -> usize {
        let mask = self.places.len() - 1;
        let mut at = self.home(key);
        while let Some(found) = self.keys.get(self.places[at] as usize) {
            if *found == key {
                break;
            }
            at = (at + 1) & mask;
        }
        at
    }

    /// Where a key belongs while nothing else is there.
    #[inline]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.places.len() - 1)
    }

    #[inline]
    fn tally(&mut self, key: u64) -> &mut StreamTally {
        let at = self.place(key);
        let index = self.places[at] as usize;
        if index < self.tallies.len() {
            return &mut self.tallies[index];
        }
        self.insert(key, at)
    }

    /// Takes I/Os from row `first` on.
    fn take_some(
        &mut self,
        columns: &Columns<'_>,
        first: usize,
        kept: &[bool],
        sorted: &mut Sorted,
    ) {
        for at in kept.iter().enumerate().filter(|(_, kept)| **kept).map(|(at, _)| at) {
            let key = columns.key(first + at);
            match self.stream(key) {
                Some(stream) => sorted.take(at, stream),
                None => {
                    // It may take the place of a stream whose I/Os were not counted yet.
                    sorted.count(columns, first, &mut self.tallies);
                    self.tally(key).add_all(columns, &[(first + at) as u32]);
                }
            }
        }
        sorted.count(columns, first, &mut self.tallies);
    }

    /// The number of a stream, a new one where there is a free place.
    #[inline]
    fn stream(&mut self, key: u64) -> Option<usize> {
        let at = self.place(key);
        let index = self.places[at] as usize;
        if index < self.keys.len() {
            return Some(index);
        }
        if self.firsts.is_full() {
            return None;
        }
        self.insert(key, at);
        Some(self.keys.len() - 1)
    }

    #[cold]
    fn insert(&mut self, key: u64, at: usize) -> &mut StreamTally {
        let index = match self.firsts.admit(rank(key)) {
            Place::Free => {
                let index = self.keys.len();
                self.places[at] = u32::try_from(index).unwrap_or(FREE);
                self.keys.push(key);
                self.tallies.push(StreamTally::default());
                self.grow();
                index
            }
            Place::Of((_, _, gone)) => self.replace(gone, key),
            Place::None => return &mut self.unlisted,
        };
        &mut self.tallies[index]
    }

    /// Puts another stream in the place of one, which counts as unlisted from now on.
    fn replace(&mut self, gone: u64, key: u64) -> usize {
        let hole = self.place(gone);
        let number = self.places[hole];
        let index = number as usize;
        self.unlisted.merge(&std::mem::take(&mut self.tallies[index]));
        self.free(hole);
        self.keys[index] = key;
        let at = self.place(key);
        self.places[at] = number;
        index
    }

    /// Frees a place; those that are found by way of it move up.
    fn free(&mut self, mut hole: usize) {
        let mask = self.places.len() - 1;
        let mut at = hole;
        self.places[hole] = FREE;
        loop {
            at = (at + 1) & mask;
            let Some(key) = self.keys.get(self.places[at] as usize) else { return };
            let is_reached_by_way_of_hole =
                (at.wrapping_sub(self.home(*key)) & mask) >= (at.wrapping_sub(hole) & mask);
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
        self.places = vec![FREE; self.places.len() * 2];
        for index in 0..self.keys.len() {
            let at = self.place(self.keys[index]);
            self.places[at] = u32::try_from(index).unwrap_or(FREE);
        }
    }

    /// Everything together, as JSON tells it.
    pub fn total_figures(&self, by: By) -> Object<StreamFigures> {
        let total = self.total();
        let of_none = StreamKey { op: IoOp::Other, sequential: false, bytes: 0 };
        let figures = StreamFigures::of(of_none, &total, &total, by);
        Object::new(&StreamFigures::OF_TOTAL, figures)
    }

    /// The streams as a report lists them: the largest share first.
    pub fn listing(&self, by: By) -> Vec<StreamFigures> {
        let total = self.total();
        let mut rows: Vec<StreamFigures> =
            self.iter().map(|(key, tally)| StreamFigures::of(key, tally, &total, by)).collect();
        rows.sort_by_key(|row| (Reverse(row.measure(by)), row.key));
        rows
    }

    /// The streams of that list whose share of the whole is at least the threshold.
    pub fn listing_from(&self, by: By, threshold: Threshold) -> Vec<StreamFigures> {
        let whole = self.total_figures(by).row.measure(by);
        let mut rows = self.listing(by);
        rows.retain(|row| threshold.admits(row.measure(by), whole));
        rows
    }
}

/// Sizes of whole sectors first, the smaller before the larger.
fn rank(key: u64) -> Rank {
    let StreamKey { bytes, .. } = unpacked(key);
    (!bytes.is_multiple_of(512), bytes, key)
}

fn unpacked(key: u64) -> StreamKey {
    let op = u8::try_from(key >> 32 & 7).ok().and_then(IoOp::of_number).unwrap_or(IoOp::Other);
    StreamKey { op, sequential: key >> 36 & 1 == 1, bytes: (key & u64::from(u32::MAX)) as u32 }
}

impl PartialEq for StreamTable {
    /// Equal where the same streams have the same tallies, however found.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.unlisted == other.unlisted
            && self.iter().all(|(key, tally)| other.get(key) == Some(tally))
    }
}

impl Alike for StreamTable {
    fn alike(&self) -> Self {
        StreamTable::keeping(self.firsts.most())
    }
}

impl Fold for StreamTable {
    fn fields(&self) -> Fields {
        Fields::of(&[
            Field::Op,
            Field::Bytes,
            Field::Offset,
            Field::Response,
            Field::Queued,
            Field::Depth,
            Field::Flags,
        ])
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        let (columns, mut sorted) = (Columns::of(rows), std::mem::take(&mut self.sorted));
        for (number, kept) in rows.kept.chunks(AT_ONCE).enumerate() {
            self.take_some(&columns, number * AT_ONCE, kept, &mut sorted);
        }
        self.sorted = sorted;
        Ok(())
    }
    fn in_parts(&mut self) -> Option<&mut dyn InParts> {
        Some(self)
    }
    fn of_sums(&mut self) -> Result<&mut dyn FoldSums, Untold> {
        Ok(self)
    }
    fn of_cells(&mut self) -> Result<&mut dyn FoldCells, Untold> {
        Ok(self)
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.unlisted.merge(&other.unlisted);
        for (key, tally) in other.keys.iter().zip(other.tallies) {
            self.tally(*key).take_in(tally);
        }
        Ok(())
    }
}

impl FoldSums for StreamTable {
    fn take_sums(&mut self, sums: &Sums<'_>) -> Result<(), TraceError> {
        for row in sums.streams {
            self.tally(StreamKey::packed(row.op, row.sequential, row.bytes)).take_sum(row);
        }
        for StreamResponses { op, sequential, bytes, histogram, .. } in sums.responses {
            let tally = self.tally(StreamKey::packed(*op, *sequential, *bytes));
            tally.responses.take_histogram(histogram);
        }
        Ok(())
    }
}

impl FoldCells for StreamTable {
    fn take_cells(&mut self, cells: &Cells<'_>) -> Result<(), TraceError> {
        for cell in cells.cells {
            self.tally(StreamKey::packed(cell.op, cell.sequential, cell.bytes)).take_cell(cell);
        }
        Ok(())
    }
}

/// By what a stream's share is taken.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// By frequency: I/Os.
    #[default]
    Count,
    /// By amount transferred: bytes.
    Bytes,
}

impl FromStr for By {
    type Err = TraceError;
    fn from_str(text: &str) -> Result<Self, TraceError> {
        match text {
            "count" => Ok(By::Count),
            "bytes" => Ok(By::Bytes),
            _ => Err(TraceError::Unsuitable(format!("'{text}' is neither count nor bytes"))),
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            By::Count => "count",
            By::Bytes => "bytes",
        })
    }
}

/// One stream of a listing.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamFigures {
    /// The standard's notation: `RND 4K W`.
    pub key: StreamKey,
    /// What it does.
    pub op: IoOp,
    /// `RND` or `SEQ`.
    pub order: &'static str,
    /// Transfer size in bytes.
    pub bytes: u32,
    /// I/Os.
    pub count: u64,
    /// Bytes moved.
    pub amount: u64,
    /// Share of all I/Os, or of all bytes, as was asked; 0 to 1.
    pub share: f64,
    /// Share of all I/Os.
    pub share_of_count: f64,
    /// Share of all bytes.
    pub share_of_bytes: f64,
    /// Average queue depth at issue.
    pub qd_mean: Option<f64>,
    /// Deepest queue at issue.
    pub qd_max: Option<u32>,
    /// Response times.
    pub response: ResponseFigures,
    /// Times in the queue before.
    pub queued: Queued,
    /// I/Os that failed.
    pub failed: u64,
}

impl StreamFigures {
    fn of(key: StreamKey, tally: &StreamTally, total: &StreamTally, by: By) -> Self {
        let share =
            |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let share_of_count = share(tally.ios, total.ios);
        let share_of_bytes = share(tally.amount(), total.amount());
        StreamFigures {
            key,
            op: key.op,
            order: key.order(),
            bytes: key.bytes,
            count: tally.ios,
            amount: tally.amount(),
            share: if by == By::Count { share_of_count } else { share_of_bytes },
            share_of_count,
            share_of_bytes,
            qd_mean: tally.depth_mean(),
            qd_max: (tally.depths > 0).then_some(tally.depth_max),
            response: tally.responses.figures(),
            queued: tally.queued,
            failed: tally.failed,
        }
    }

    fn measure(&self, by: By) -> u64 {
        if by == By::Count { self.count } else { self.amount }
    }
}

impl schemars::JsonSchema for StreamFigures {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StreamFigures".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        columns::schema(&Self::ALL)
    }
}

impl schemars::JsonSchema for Object<StreamFigures> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "StreamTotals".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        columns::schema(&StreamFigures::OF_TOTAL)
    }
}

impl Serialize for StreamFigures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        columns::serialize(&Self::ALL, self, serializer)
    }
}

type Of = Column<StreamFigures>;

/// A column of response times.
macro_rules! response {
    ($field:ident, $head:literal) => {
        Column::new(
            concat!("response.", stringify!($field)),
            $head,
            Print::Milliseconds,
            |stream: &StreamFigures| stream.response.$field.into(),
        )
    };
}

/// What is told of a stream.
impl StreamFigures {
    const STREAM: Of =
        Column::new("stream", "I/O stream", Print::Plain(0), |s| s.key.to_string().into());
    const OP: Of = Column::new("op", "op", Print::Plain(0), |s| s.op.to_string().into());
    const ORDER: Of = Column::new("order", "order", Print::Plain(0), |s| s.order.into());
    const BYTES: Of = Column::new("bytes", "bytes", Print::Plain(0), |s| s.bytes.into());
    const COUNT: Of = Column::new("count", "count", Print::Plain(0), |s| s.count.into());
    const AMOUNT: Of = Column::new("amount", "amount", Print::Plain(0), |s| s.amount.into());
    const SHARE: Of = Column::new("share", "%", Print::Percent(2), |s| s.share.into());
    const SHARE_OF_COUNT: Of =
        Column::new("share_of_count", "% of count", Print::Percent(4), |s| s.share_of_count.into());
    const SHARE_OF_BYTES: Of =
        Column::new("share_of_bytes", "% of amount", Print::Percent(4), |s| {
            s.share_of_bytes.into()
        });
    const QD_MEAN: Of = Column::new("qd_mean", "QD avg", Print::Plain(2), |s| s.qd_mean.into());
    const QD_MAX: Of = Column::new("qd_max", "QD max", Print::Plain(0), |s| s.qd_max.into());
    const SEEN: Of =
        Column::new("response.count", "responses", Print::Plain(0), |s| s.response.count.into());
    const ART: Of = response!(mean_ns, "ART ms");
    const P50: Of = response!(p50_ns, "50% ms");
    const P99: Of = response!(p99_ns, "99% ms");
    const P99_9: Of = response!(p99_9_ns, "99.9% ms");
    const P99_99: Of = response!(p99_99_ns, "99.99% ms");
    const P99_999: Of = response!(p99_999_ns, "99.999% ms");
    const MRT: Of = response!(max_ns, "MRT ms");
    const QUEUE_COUNT: Of =
        Column::new("queued.count", "queued", Print::Plain(0), |s| s.queued.count.into());
    const QUEUE_MEAN: Of = Column::new("queued.mean_ns", "queue ms", Print::Milliseconds, |s| {
        s.queued.mean_ns().into()
    });
    const QUEUE_MAX: Of = Column::new("queued.max_ns", "queue max", Print::Milliseconds, |s| {
        s.queued.longest_ns().into()
    });
    const QUEUE_SHARE: Of = Column::new("queue_share", "queue %", Print::Percent(1), |s| {
        s.queued.together.share().into()
    });
    const FAILED: Of = Column::new("failed", "failed", Print::Plain(0), |s| s.failed.into());

    /// Everything, as JSON has it.
    const ALL: [Of; 24] = [
        Self::STREAM,
        Self::OP,
        Self::ORDER,
        Self::BYTES,
        Self::COUNT,
        Self::AMOUNT,
        Self::SHARE,
        Self::SHARE_OF_COUNT,
        Self::SHARE_OF_BYTES,
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

    /// What JSON tells of all streams together.
    const OF_TOTAL: [Of; 17] = [
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

    /// A terminal's table.
    const TABLE: [Of; 11] = [
        Self::STREAM,
        Self::COUNT.headed("I/Os"),
        Self::SHARE_OF_COUNT.headed("%").printed(Print::Percent(2)),
        Self::AMOUNT.headed("MB").printed(Print::Megabytes(1)),
        Self::SHARE_OF_BYTES.headed("% of MB").printed(Print::Percent(2)),
        Self::QD_MEAN,
        Self::QD_MAX,
        Self::ART,
        Self::P99,
        Self::P99_999,
        Self::MRT,
    ];

    /// A terminal's table, with times in the queue where they are known.
    pub fn table(tells_queue: bool) -> Vec<Of> {
        let queue: &[Of] = if tells_queue { &[Self::QUEUE_MEAN, Self::QUEUE_SHARE] } else { &[] };
        Self::TABLE.iter().chain(queue).copied().collect()
    }

    /// A report's table of all streams, beside their names.
    pub const LONG_TABLE: [Of; 15] = [
        Self::OP,
        Self::ORDER,
        Self::BYTES,
        Self::COUNT,
        Self::AMOUNT,
        Self::SHARE_OF_COUNT,
        Self::SHARE_OF_BYTES,
        Self::QD_MEAN.printed(Print::Plain(3)),
        Self::QD_MAX,
        Self::ART,
        Self::P99,
        Self::P99_999,
        Self::MRT,
        Self::QUEUE_MEAN,
        Self::QUEUE_SHARE,
    ];

    /// What a workload's table adds to what is applied.
    pub const AS_CAPTURED: [Of; 3] = [Self::QD_MAX, Self::ART, Self::MRT];

    /// Response times alone.
    pub const RESPONSE_TIMES: [Of; 7] = [
        Self::ART.headed("ART"),
        Self::P50.headed("50 %"),
        Self::P99.headed("99 %"),
        Self::P99_9.headed("99.9 %"),
        Self::P99_99.headed("99.99 %"),
        Self::P99_999.headed("99.999 %"),
        Self::MRT.headed("MRT"),
    ];
}
