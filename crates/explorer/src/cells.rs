//! Time cut into cells of equal width, and what was done in each: the fold behind
//! every series and every heat map of response time and queue depth. Cells add up
//! exactly, so that wider ones need no second look at the I/Os.

use crate::keys::{Key, Keys, NUMBERS, OTHERS, Sum};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use steadfast_domain::{CoarseHistogram, IoOp, Layer, QuarterHistogram};
use steadfast_trace::processes::ProcessKey;
use steadfast_trace::sequence::Busy;
use steadfast_trace::{Field, Fields, Rows, StreamKey};

/// Streams and processes that have a series of their own.
pub const SERIES: usize = 64;
/// Parts of cells by stream or process that are held at most; beyond it the
/// smallest streams or processes are counted together.
const PARTS_MAX: usize = 6 << 20;

/// What the I/Os of a cell add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// I/Os by operation, in the order of `IoOp::ALL`.
    pub ios: [u64; 5],
    /// Bytes by operation.
    pub bytes: [u64; 5],
    /// Sequential I/Os by operation.
    pub sequential: [u64; 5],
    /// I/Os whose completion was seen.
    pub responses: u64,
    /// Their response times added up.
    pub response_sum_ns: u64,
    /// The longest.
    pub response_max_ns: u64,
    /// Queue depths at issue added up, over [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// I/Os whose depth is known.
    pub depths: u64,
    /// Deepest queue at issue.
    pub depth_max: u32,
}

impl Totals {
    /// I/Os of all operations.
    pub fn all_ios(&self) -> u64 {
        self.ios.iter().sum()
    }

    /// Bytes of reads and writes, as capture steps count them.
    pub fn moved(&self) -> u64 {
        [IoOp::Read, IoOp::Write].into_iter().map(|op| self.bytes[op as usize]).sum()
    }

    fn add(&mut self, other: &Totals) {
        for op in 0..self.ios.len() {
            self.ios[op] += other.ios[op];
            self.sequential[op] += other.sequential[op];
            self.bytes[op] = self.bytes[op].saturating_add(other.bytes[op]);
        }
        self.responses += other.responses;
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.depth_sum += other.depth_sum;
        self.depths += other.depths;
        self.depth_max = self.depth_max.max(other.depth_max);
    }
}

/// Some I/Os of a cell, all of one time: a cell has several where I/Os came late.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Piece {
    cell: u32,
    totals: Totals,
    responses: Range<u32>,
    depths: Range<u32>,
    streams: Range<u32>,
    processes: Range<u32>,
}

/// A bucket of a histogram and its count.
type Bucket = (u16, u32);
/// The I/Os of a stream or process in a cell: its number, I/Os, bytes.
type Part = (u16, u32, u64);

/// Who did the I/Os: the keys with a series of their own, the most active first,
/// and their parts of every piece. The number after the last is everything else.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shares<K> {
    /// The keys that have a series.
    pub keys: Vec<K>,
    /// What each adds up to; the last is of everything else.
    pub sums: Vec<Sum>,
    parts: Vec<Part>,
}

impl<K> Shares<K> {
    fn none() -> Self {
        Shares { keys: Vec::new(), sums: Vec::new(), parts: Vec::new() }
    }
}

/// Cells, done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cells {
    /// Width of a cell.
    pub width_ns: u64,
    /// Number of the first cell from the capture's beginning.
    pub first: u64,
    /// How many.
    pub count: usize,
    /// By stream, where they were told apart.
    pub streams: Shares<StreamKey>,
    /// By process, where they were told apart.
    pub processes: Shares<ProcessKeyKept>,
    pieces: Vec<Piece>,
    responses: Vec<Bucket>,
    depths: Vec<Bucket>,
    busy_ns: Vec<u64>,
}

/// A process as an index file keeps it: number and command name.
pub type ProcessKeyKept = (u32, [u8; 16]);

/// Several cells that stand beside one another, added up.
#[derive(Debug, Clone)]
pub struct Column {
    /// Everything.
    pub totals: Totals,
    /// Counts by bucket of `CoarseHistogram`.
    pub responses: Vec<u64>,
    /// Counts by bucket of `QuarterHistogram`, of depths.
    pub depths: Vec<u64>,
    /// By stream, everything else last.
    pub streams: Vec<Sum>,
    /// By process, everything else last.
    pub processes: Vec<Sum>,
    /// Time with an I/O outstanding, added up over devices.
    pub busy_ns: u64,
}

impl Cells {
    /// The beginning of the first cell and the end of the last.
    pub fn span_ns(&self) -> (u64, u64) {
        let end = self.first.saturating_add(self.count as u64);
        (self.first.saturating_mul(self.width_ns), end.saturating_mul(self.width_ns))
    }

    /// Calls `each` with the number and the sums of every column that holds anything:
    /// `wide` cells beside one another, beginning at a multiple of `wide`, as far as
    /// they lie in a range of cells (counted from the first).
    pub fn columns(&self, cells: Range<usize>, wide: usize, mut each: impl FnMut(usize, &Column)) {
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

    fn empty(&self) -> Column {
        Column {
            totals: Totals::default(),
            responses: vec![0; CoarseHistogram::LEN],
            depths: vec![0; QuarterHistogram::LEN],
            streams: vec![Sum::default(); self.streams.keys.len() + 1],
            processes: vec![Sum::default(); self.processes.keys.len() + 1],
            busy_ns: 0,
        }
    }

    fn emptied(&self, mut column: Column) -> Column {
        column.totals = Totals::default();
        column.responses.fill(0);
        column.depths.fill(0);
        column.streams.fill(Sum::default());
        column.processes.fill(Sum::default());
        column
    }

    fn add(&self, column: &mut Column, piece: &Piece) {
        column.totals.add(&piece.totals);
        for (index, count) in of(&self.responses, &piece.responses) {
            column.responses[usize::from(*index)] += u64::from(*count);
        }
        for (index, count) in of(&self.depths, &piece.depths) {
            column.depths[usize::from(*index)] += u64::from(*count);
        }
        for (index, ios, bytes) in of(&self.streams.parts, &piece.streams) {
            column.streams[usize::from(*index)].add(*ios, *bytes);
        }
        for (index, ios, bytes) in of(&self.processes.parts, &piece.processes) {
            column.processes[usize::from(*index)].add(*ios, *bytes);
        }
    }
}

impl Sum {
    fn add(&mut self, ios: u32, bytes: u64) {
        self.ios += u64::from(ios);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

fn of<'a, T>(all: &'a [T], range: &Range<u32>) -> &'a [T] {
    all.get(range.start as usize..range.end as usize).unwrap_or_default()
}

/// What is counted by stream or by process while a cell is open.
struct Counting<K> {
    is_on: bool,
    keys: Keys<K>,
    sums: Vec<Sum>,
    open: Vec<(u32, u64)>,
    touched: Vec<u16>,
    parts: Vec<Part>,
    /// Numbers that count as [`OTHERS`] from now on.
    dropped: Vec<bool>,
    last: Option<(K, u16)>,
}

impl<K: Key> Counting<K> {
    fn new(is_on: bool) -> Self {
        Counting {
            is_on,
            keys: Keys::new(),
            sums: vec![Sum::default(); NUMBERS + 1],
            open: vec![(0, 0); NUMBERS + 1],
            touched: Vec::new(),
            parts: Vec::new(),
            dropped: vec![false; NUMBERS + 1],
            last: None,
        }
    }

    #[inline]
    fn count(&mut self, key: K, bytes: u64) -> u16 {
        let number = match self.last {
            Some((last, number)) if last == key => number,
            _ => {
                let number = self.keys.number(key);
                self.last = Some((key, number));
                number
            }
        };
        let open = &mut self.open[usize::from(number)];
        if open.0 == 0 {
            self.touched.push(number);
        }
        open.0 += 1;
        open.1 += bytes;
        number
    }

    fn close(&mut self) -> Range<u32> {
        let begin = self.parts.len();
        for number in self.touched.drain(..) {
            let (ios, bytes) = std::mem::take(&mut self.open[usize::from(number)]);
            self.sums[usize::from(number)].add(ios, bytes);
            let number = if self.dropped[usize::from(number)] { OTHERS } else { number };
            self.parts.push((number, ios, bytes));
        }
        begin as u32..self.parts.len() as u32
    }

    /// The numbers of the most active keys, these first.
    fn ranked(&self, keys: &[K]) -> Vec<u16> {
        let mut ranked: Vec<u16> = (0..keys.len() as u16).collect();
        ranked.retain(|number| !self.dropped[usize::from(*number)]);
        let rank = |number: &u16| {
            let at = usize::from(*number);
            (std::cmp::Reverse(self.sums[at].ios), keys[at])
        };
        ranked.sort_by_key(rank);
        ranked
    }

    /// Counts all but the most active keys together where there are too many parts.
    fn make_room(&mut self, pieces: &mut [Piece], range: impl Fn(&mut Piece) -> &mut Range<u32>) {
        let keys = self.keys.clone().into_keys();
        for number in self.ranked(&keys).into_iter().skip(SERIES) {
            self.dropped[usize::from(number)] = true;
        }
        let dropped = &self.dropped;
        let number = |number: u16| if dropped[usize::from(number)] { OTHERS } else { number };
        self.parts = regrouped(&self.parts, pieces, range, number);
    }

    fn finish<T>(
        self,
        pieces: &mut [Piece],
        range: impl Fn(&mut Piece) -> &mut Range<u32>,
        kept: impl Fn(&K) -> T,
    ) -> Shares<T> {
        if !self.is_on {
            return Shares::none();
        }
        let keys = self.keys.clone().into_keys();
        let mut ranked = self.ranked(&keys);
        ranked.truncate(SERIES);
        let mut places = vec![ranked.len() as u16; NUMBERS + 1];
        for (place, number) in (0..).zip(&ranked) {
            places[usize::from(*number)] = place;
        }
        let mut sums = vec![Sum::default(); ranked.len() + 1];
        for (number, sum) in self.sums.iter().enumerate() {
            let place = &mut sums[usize::from(places[number])];
            place.ios += sum.ios;
            place.bytes = place.bytes.saturating_add(sum.bytes);
        }
        let parts = regrouped(&self.parts, pieces, range, |number| places[usize::from(number)]);
        let keys = ranked.iter().map(|number| kept(&keys[usize::from(*number)])).collect();
        Shares { keys, sums, parts }
    }
}

/// The parts of every piece with other numbers; those that come to have the same are
/// one.
fn regrouped(
    parts: &[Part],
    pieces: &mut [Piece],
    range: impl Fn(&mut Piece) -> &mut Range<u32>,
    number: impl Fn(u16) -> u16,
) -> Vec<Part> {
    let mut regrouped: Vec<Part> = Vec::new();
    for piece in pieces {
        let range = range(piece);
        let begin = regrouped.len();
        for (old, ios, bytes) in of(parts, range) {
            let new = number(*old);
            match regrouped[begin..].iter_mut().find(|part| part.0 == new) {
                Some(part) => {
                    part.1 += ios;
                    part.2 = part.2.saturating_add(*bytes);
                }
                None => regrouped.push((new, *ios, *bytes)),
            }
        }
        *range = begin as u32..regrouped.len() as u32;
    }
    regrouped
}

/// Which cells are wanted, and of whom.
#[derive(Debug, Clone, Copy)]
pub struct CellsWanted {
    /// Width of a cell.
    pub width_ns: u64,
    /// Number of the first.
    pub first: u64,
    /// How many.
    pub count: usize,
    /// By stream too.
    pub streams: bool,
    /// By process too.
    pub processes: bool,
}

/// Fills cells.
pub struct CellsFold {
    wanted: CellsWanted,
    current: u32,
    open: Totals,
    responses: Vec<u32>,
    depths: Vec<u32>,
    streams: Counting<StreamKey>,
    processes: Counting<ProcessKey>,
    done: Cells,
    /// Busy time that was not yet shared out, per device and layer.
    carried: BTreeMap<(u16, Layer), Busy>,
}

impl CellsFold {
    /// The columns that it reads.
    pub fn fields(wanted: &CellsWanted) -> Fields {
        let own = Fields::of(&[
            Field::Issued,
            Field::Op,
            Field::Bytes,
            Field::Response,
            Field::Depth,
            Field::Device,
            Field::Layer,
        ]);
        match wanted.processes {
            true => own.and(Fields::of(&[Field::Pid, Field::Command])),
            false => own,
        }
    }

    /// Empty cells.
    pub fn new(wanted: CellsWanted) -> Self {
        let wanted = CellsWanted { width_ns: wanted.width_ns.max(1), ..wanted };
        CellsFold {
            wanted,
            current: 0,
            open: Totals::default(),
            responses: vec![0; CoarseHistogram::LEN],
            depths: vec![0; QuarterHistogram::LEN],
            streams: Counting::new(wanted.streams),
            processes: Counting::new(wanted.processes),
            done: Cells {
                width_ns: wanted.width_ns,
                first: wanted.first,
                count: wanted.count,
                streams: Shares::none(),
                processes: Shares::none(),
                pieces: Vec::new(),
                responses: Vec::new(),
                depths: Vec::new(),
                busy_ns: vec![0; wanted.count],
            },
            carried: BTreeMap::new(),
        }
    }

    /// Takes one row; gives the number of its process, where these are counted.
    #[inline]
    pub fn take_row(&mut self, rows: &Rows<'_>, row: usize) -> u16 {
        let batch = rows.batch;
        let cell = (batch.issued_ns(row) / self.wanted.width_ns).wrapping_sub(self.wanted.first);
        if cell >= self.wanted.count as u64 {
            return OTHERS;
        }
        let cell = cell as u32;
        if cell != self.current {
            self.close();
            self.current = cell;
        }
        let (op, bytes) = (batch.op(row), batch.bytes(row));
        self.open.ios[op as usize] += 1;
        self.open.sequential[op as usize] += u64::from(rows.sequential[row]);
        let moved = &mut self.open.bytes[op as usize];
        *moved = moved.saturating_add(u64::from(bytes));
        if let Some(response) = rows.response_ns(row) {
            self.open.responses += 1;
            self.open.response_sum_ns = self.open.response_sum_ns.saturating_add(response);
            self.open.response_max_ns = self.open.response_max_ns.max(response);
            self.responses[CoarseHistogram::index(response)] += 1;
        }
        if let Some(depth) = rows.depth(row) {
            self.open.depth_sum += u64::from(depth);
            self.open.depths += 1;
            self.open.depth_max = self.open.depth_max.max(depth);
            self.depths[QuarterHistogram::index(u64::from(depth))] += 1;
        }
        if self.streams.is_on {
            let key = StreamKey { op, sequential: rows.sequential[row], bytes };
            self.streams.count(key, u64::from(bytes));
        }
        self.carry((batch.device(row), batch.layer(row)), rows.busy[row]);
        if !self.processes.is_on {
            return OTHERS;
        }
        let key = ProcessKey { pid: batch.pid(row), command: batch.command(row) };
        self.processes.count(key, u64::from(bytes))
    }

    /// Keeps busy time until it is known where it ends.
    #[inline]
    fn carry(&mut self, device: (u16, Layer), busy: Busy) {
        if busy.1 <= busy.0 {
            return;
        }
        match self.carried.get_mut(&device) {
            Some(carried) if carried.1 == busy.0 => carried.1 = busy.1,
            Some(carried) => {
                let done = std::mem::replace(carried, busy);
                self.share_out(done);
            }
            None => {
                self.carried.insert(device, busy);
            }
        }
    }

    fn share_out(&mut self, (from, to): Busy) {
        let width = self.wanted.width_ns;
        let (begin, end) = self.done.span_ns();
        let (mut from, to) = (from.max(begin), to.min(end));
        while from < to {
            let cell = from / width;
            let until = (cell + 1).saturating_mul(width).min(to);
            if let Some(busy) = self.done.busy_ns.get_mut((cell - self.wanted.first) as usize) {
                *busy += until - from;
            }
            from = until;
        }
    }

    /// Ends the cell that is being filled.
    fn close(&mut self) {
        if self.open.all_ios() == 0 {
            return;
        }
        let piece = Piece {
            cell: self.current,
            totals: std::mem::take(&mut self.open),
            responses: moved(&mut self.responses, &mut self.done.responses),
            depths: moved(&mut self.depths, &mut self.done.depths),
            streams: self.streams.close(),
            processes: self.processes.close(),
        };
        self.done.pieces.push(piece);
        if self.streams.parts.len() > PARTS_MAX {
            self.streams.make_room(&mut self.done.pieces, |piece| &mut piece.streams);
        }
        if self.processes.parts.len() > PARTS_MAX {
            self.processes.make_room(&mut self.done.pieces, |piece| &mut piece.processes);
        }
    }

    /// The cells.
    pub fn finish(mut self) -> Cells {
        self.close();
        for busy in std::mem::take(&mut self.carried).into_values() {
            self.share_out(busy);
        }
        let mut done = self.done;
        done.pieces.sort_by_key(|piece| piece.cell);
        let pieces = &mut done.pieces;
        done.streams = self.streams.finish(pieces, |piece| &mut piece.streams, |key| *key);
        let kept = |key: &ProcessKey| (key.pid, key.command.0);
        done.processes = self.processes.finish(pieces, |piece| &mut piece.processes, kept);
        done.responses.shrink_to_fit();
        done.pieces.shrink_to_fit();
        done
    }

    /// The processes by the numbers that [`Self::take_row`] gave.
    pub fn process_numbers(&self) -> Vec<ProcessKey> {
        self.processes.keys.clone().into_keys()
    }
}

/// Appends the counts that are not 0 and sets them to 0.
fn moved(dense: &mut [u32], sparse: &mut Vec<Bucket>) -> Range<u32> {
    let begin = sparse.len() as u32;
    for (index, count) in (0u16..).zip(dense.iter_mut()) {
        if *count > 0 {
            sparse.push((index, std::mem::take(count)));
        }
    }
    begin..sparse.len() as u32
}
