//! [`PairNumbers`]: a number for every stream of every process. It is looked up once per I/O, and
//! everything that counts by stream or by process uses it as an index.

use crate::keys::{NumberedKeys, OTHERS, StoredProcessKey};
use std::collections::HashMap;
use steadfast_analysis::filter::ProcessSelector;
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_analysis::{AnnotatedRows, Filter};
use steadfast_domain::io_event::{CommandName, ContentMeasurement};
use steadfast_domain::{IoOp, io_event::RESPONSE_UNKNOWN};
use steadfast_tracefile::StreamKey;

/// Entries of the cache of pair numbers: a power of two.
const AT_HAND: usize = 1 << 10;
/// I/Os that are gathered at once: few enough for the processor's caches.
const AT_ONCE: usize = 512;
/// Multiplier that spreads hashes (2^64 over the golden ratio).
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of a process.
pub type PairKey = (StreamKey, ProcessKey);

/// Process of I/Os that are not counted by process.
const NOBODY: ProcessKey = ProcessKey { pid: 0, command: CommandName([0; 16]) };
/// Stream of I/Os that are not counted by stream.
const ANYTHING: StreamKey = StreamKey { op: IoOp::Other, sequential: false, bytes: 0 };

/// Breakdowns that cells keep in addition to the totals.
#[derive(Debug, Clone, Copy, Default)]
pub struct Breakdowns {
    /// Breakdown by stream.
    pub streams: bool,
    /// Breakdown by process.
    pub processes: bool,
}

impl Breakdowns {
    /// Returns a key without the parts that are not wanted.
    pub fn of(self, (stream, process): PairKey) -> PairKey {
        let stream = if self.streams { stream } else { ANYTHING };
        (stream, if self.processes { process } else { NOBODY })
    }
}

/// Numbers of pairs, assigned in order of first occurrence.
#[derive(Debug, Clone)]
pub struct PairNumbers {
    /// Numbers of streams.
    pub streams: NumberedKeys<StreamKey>,
    /// Numbers of processes.
    pub processes: NumberedKeys<ProcessKey>,
    numbers: HashMap<(u16, u16), u32>,
    all: Vec<(u16, u16)>,
    at_hand: Vec<Option<(PairKey, u32)>>,
}

impl Default for PairNumbers {
    fn default() -> Self {
        PairNumbers {
            streams: NumberedKeys::new(),
            processes: NumberedKeys::new(),
            numbers: HashMap::new(),
            all: Vec::new(),
            at_hand: vec![None; AT_HAND],
        }
    }
}

impl PairNumbers {
    /// Returns the number of a pair.
    #[inline]
    pub fn number(&mut self, key: PairKey) -> u32 {
        let (stream, process) = key;
        let name = u128::from_le_bytes(process.command.0) as u64;
        let who = u64::from(process.pid) << 32 ^ name;
        let what = u64::from(stream.bytes) << 8 | (stream.op as u64) << 1;
        let hash = (who ^ what ^ u64::from(stream.sequential)).wrapping_mul(APART);
        let place = (hash >> 40) as usize % AT_HAND;
        match &self.at_hand[place] {
            Some((known, number)) if *known == key => *number,
            _ => self.look_up(key, place),
        }
    }

    #[cold]
    fn look_up(&mut self, key: PairKey, place: usize) -> u32 {
        let numbers = (self.streams.number(key.0), self.processes.number(key.1));
        let number = self.number_of(numbers);
        self.at_hand[place] = Some((key, number));
        number
    }

    /// Returns the number of a pair, given the numbers of its stream and its process.
    pub fn number_of(&mut self, numbers: (u16, u16)) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(numbers).or_insert(next);
        if number == next {
            self.all.push(numbers);
        }
        number
    }

    /// Returns the stream number and the process number of every pair, by pair number.
    pub fn all(&self) -> &[(u16, u16)] {
        &self.all
    }

    /// Returns the key of a pair; `None` if its stream or its process has no number of its own.
    pub fn key(&self, number: u32) -> Option<PairKey> {
        let (stream, process) = *self.all.get(number as usize)?;
        let stream = self.streams.keys().get(usize::from(stream))?;
        Some((*stream, *self.processes.keys().get(usize::from(process))?))
    }

    /// Adds the pairs of another share of the I/Os. Returns the numbers that they have here.
    pub fn join(&mut self, other: &PairNumbers) -> RenumberTable {
        let streams = other.streams.keys().iter().map(|key| self.streams.number(*key));
        let streams: Vec<u16> = streams.collect();
        let processes = other.processes.keys().iter().map(|key| self.processes.number(*key));
        let processes: Vec<u16> = processes.collect();
        let ours = |numbers: &[u16], number: u16| {
            numbers.get(usize::from(number)).copied().unwrap_or(OTHERS)
        };
        let pairs = other.all.iter();
        let pairs = pairs.map(|(stream, process)| {
            self.number_of((ours(&streams, *stream), ours(&processes, *process)))
        });
        let pairs = pairs.collect();
        RenumberTable { streams, processes, pairs }
    }
}

/// Numbers that the streams, processes and pairs of another share of the I/Os have here.
#[derive(Debug, Clone)]
pub struct RenumberTable {
    streams: Vec<u16>,
    processes: Vec<u16>,
    /// Numbers of the pairs.
    pub pairs: Vec<u32>,
}

impl RenumberTable {
    /// Returns the numbers of the streams and those of the processes.
    pub fn halves(&self) -> [&[u16]; 2] {
        [&self.streams, &self.processes]
    }
}

/// The fields of an I/O that are counted.
#[derive(Debug, Clone, Copy)]
pub struct CountedIo {
    /// Row of the batch.
    pub row: usize,
    /// Pair number.
    pub pair: u32,
    /// Issue time, in nanoseconds.
    pub issued_ns: u64,
    /// Response time, in nanoseconds; `RESPONSE_UNKNOWN` if its completion was not seen.
    pub response_ns: u64,
    /// Time in the queue before issue, in nanoseconds; 0 if unknown.
    pub queued_ns: u64,
    /// Measurements of the blocks that it wrote.
    pub content: ContentMeasurement,
    /// Size, in bytes.
    pub bytes: u32,
    /// Queue depth at issue; 0 if unknown.
    pub depth: u32,
    /// Operation.
    pub op: IoOp,
    /// Whether the I/O is sequential.
    pub sequential: bool,
}

impl CountedIo {
    /// Returns the response time in nanoseconds; `None` if its completion was not seen.
    #[inline]
    pub fn response_ns(&self) -> Option<u64> {
        (self.response_ns != RESPONSE_UNKNOWN).then_some(self.response_ns)
    }
}

/// Passes I/Os on in groups, with the numbers of their pairs.
#[derive(Debug, Clone, Default)]
pub struct PairBatcher {
    /// The pairs seen so far.
    pub pairs: PairNumbers,
    ios: Vec<CountedIo>,
}

impl PairBatcher {
    /// Calls `take` with groups of I/Os until all selected rows were passed.
    pub fn each(
        &mut self,
        rows: &AnnotatedRows<'_>,
        wanted: Breakdowns,
        mut take: impl FnMut(&[CountedIo], &mut PairNumbers),
    ) {
        let (batch, mut passed) = (rows.batch, rows.iter());
        loop {
            self.ios.clear();
            for row in passed.by_ref().take(AT_ONCE) {
                let (op, bytes, sequential) =
                    (batch.op(row), batch.bytes(row), rows.sequential[row]);
                let stream = StreamKey { op, sequential, bytes };
                let process = if wanted.processes {
                    ProcessKey { pid: batch.pid(row), command: batch.command(row) }
                } else {
                    NOBODY
                };
                self.ios.push(CountedIo {
                    row,
                    pair: self.pairs.number(wanted.of((stream, process))),
                    issued_ns: batch.issued_ns(row),
                    response_ns: batch.response_ns(row),
                    queued_ns: rows.queued_ns(row).unwrap_or(0),
                    content: match batch.sampled_blocks(row) {
                        0 => ContentMeasurement::default(),
                        _ => batch.content(row),
                    },
                    bytes,
                    depth: rows.depth[row],
                    op,
                    sequential,
                });
            }
            if self.ios.is_empty() {
                return;
            }
            take(&self.ios, &mut self.pairs);
        }
    }
}

/// A filter by operations, streams and processes only. Whether an I/O passes depends on its pair
/// alone.
#[derive(Debug, Clone, Copy)]
pub struct PairFilter<'f>(&'f Filter);

impl<'f> PairFilter<'f> {
    /// Returns the filter if it differs from the usual one only in operations, streams and
    /// processes.
    pub fn of(filter: &'f Filter, usual: &Filter) -> Option<Self> {
        let rest = Filter { ops: Vec::new(), streams: Vec::new(), process: None, ..filter.clone() };
        (rest == *usual).then_some(PairFilter(filter))
    }

    /// Returns whether the I/Os of a pair pass.
    pub fn lets(self, (stream, process): &PairKey) -> bool {
        let PairFilter(filter) = self;
        (filter.ops.is_empty() || filter.ops.contains(&stream.op))
            && (filter.streams.is_empty() || filter.streams.contains(stream))
            && filter.process.as_ref().is_none_or(|wanted| match wanted {
                ProcessSelector::Pid(pid) => *pid == process.pid,
                ProcessSelector::Command(name) => process.command.to_string() == *name,
            })
    }
}

/// Returns a process in the form of an index file.
pub fn kept(process: &ProcessKey) -> StoredProcessKey {
    (process.pid, process.command.0)
}

/// Returns a process from the form of an index file.
pub fn process((pid, command): StoredProcessKey) -> ProcessKey {
    ProcessKey { pid, command: CommandName(command) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::NUMBERS;

    fn key(bytes: u32, pid: u32) -> PairKey {
        let stream = StreamKey { op: IoOp::Read, sequential: bytes % 2 == 1, bytes };
        (stream, ProcessKey { pid, command: CommandName::new("x") })
    }

    #[test]
    fn a_pair_keeps_its_number_and_finds_it_among_others() {
        let (mut one, mut other) = (PairNumbers::default(), PairNumbers::default());
        for n in 0..9_001u32 {
            let (a, b) = (one.number(key(n % 50, n % 7)), other.number(key(n % 7, n % 50)));
            assert_eq!((a, b), (one.number(key(n % 50, n % 7)), other.number(key(n % 7, n % 50))));
        }
        assert_eq!((one.all().len(), other.all().len()), (350, 350));
        assert_eq!(one.key(one.clone().number(key(49, 3))), Some(key(49, 3)));
        let ours = one.join(&other);
        for (theirs, ours) in (0..).zip(ours.pairs) {
            assert_eq!(one.key(ours), other.key(theirs));
        }
        assert_eq!(one.all().len(), 350 + 350 - 49);
    }

    #[test]
    fn what_has_no_number_keeps_the_half_that_has_one() {
        let mut pairs = PairNumbers::default();
        let mut last = 0;
        (0..=NUMBERS as u32).for_each(|pid| last = pairs.number(key(512, pid)));
        assert_eq!((pairs.all()[last as usize], pairs.key(last)), ((0, OTHERS), None));
    }

    #[test]
    fn a_filter_of_more_than_pairs_is_none_of_pairs() {
        let usual = Filter::default();
        let by = |process| Filter { process, ops: vec![IoOp::Read], ..Filter::default() };
        let named = by(Some(ProcessSelector::Command("x".into())));
        let passing = PairFilter::of(&named, &usual).unwrap();
        assert!(passing.lets(&key(512, 7)));
        assert!(
            !PairFilter::of(&by(Some(ProcessSelector::Pid(8))), &usual).unwrap().lets(&key(512, 7))
        );
        let devices = Filter { devices: vec![0], ..named };
        assert!(PairFilter::of(&devices, &usual).is_none());
    }
}
