//! [`Pairs`]: a number for every stream of every process. It is looked up once for each
//! I/O; everything that counts by stream or by process counts by this number.

use crate::keys::{Keys, OTHERS, ProcessKeyKept};
use std::collections::HashMap;
use steadfast_analysis::filter::Process;
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_analysis::{Filter, Rows};
use steadfast_domain::io_event::{Command, Content};
use steadfast_domain::{IoOp, io_event::RESPONSE_UNKNOWN};
use steadfast_tracefile::StreamKey;

/// Pairs whose number is at hand: a power of two.
const AT_HAND: usize = 1 << 10;
/// I/Os that are gathered at once: few enough for the processor's caches.
const AT_ONCE: usize = 512;
/// Multiplies hashes apart (2^64 over the golden ratio).
const APART: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of a process.
pub type PairKey = (StreamKey, ProcessKey);

/// The process of what is not told apart by process.
const NOBODY: ProcessKey = ProcessKey { pid: 0, command: Command([0; 16]) };
/// The stream of what is not told apart by stream.
const ANYTHING: StreamKey = StreamKey { op: IoOp::Other, sequential: false, bytes: 0 };

/// What cells are to tell beside the sums of everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    /// By stream.
    pub streams: bool,
    /// By process.
    pub processes: bool,
}

impl Wanted {
    /// A key without what is not wanted.
    pub fn of(self, (stream, process): PairKey) -> PairKey {
        let stream = if self.streams { stream } else { ANYTHING };
        (stream, if self.processes { process } else { NOBODY })
    }
}

/// Numbers of pairs, given out as these are first seen.
#[derive(Debug, Clone)]
pub struct Pairs {
    /// Numbers of streams.
    pub streams: Keys<StreamKey>,
    /// Numbers of processes.
    pub processes: Keys<ProcessKey>,
    numbers: HashMap<(u16, u16), u32>,
    all: Vec<(u16, u16)>,
    at_hand: Vec<Option<(PairKey, u32)>>,
}

impl Default for Pairs {
    fn default() -> Self {
        Pairs {
            streams: Keys::new(),
            processes: Keys::new(),
            numbers: HashMap::new(),
            all: Vec::new(),
            at_hand: vec![None; AT_HAND],
        }
    }
}

impl Pairs {
    /// The number of a pair.
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

    /// The number of a stream's number and a process's.
    pub fn number_of(&mut self, numbers: (u16, u16)) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(numbers).or_insert(next);
        if number == next {
            self.all.push(numbers);
        }
        number
    }

    /// The numbers of stream and process of every pair, by its own.
    pub fn all(&self) -> &[(u16, u16)] {
        &self.all
    }

    /// A pair whose stream and process both have a number of their own.
    pub fn key(&self, number: u32) -> Option<PairKey> {
        let (stream, process) = *self.all.get(number as usize)?;
        let stream = self.streams.keys().get(usize::from(stream))?;
        Some((*stream, *self.processes.keys().get(usize::from(process))?))
    }

    /// Takes in the pairs of another part of the I/Os; gives their numbers here.
    pub fn join(&mut self, other: &Pairs) -> Joined {
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
        Joined { streams, processes, pairs }
    }
}

/// The numbers that streams, processes and pairs of another part of the I/Os have here.
#[derive(Debug, Clone)]
pub struct Joined {
    streams: Vec<u16>,
    processes: Vec<u16>,
    /// Of pairs.
    pub pairs: Vec<u32>,
}

impl Joined {
    /// Of streams, and of processes.
    pub fn halves(&self) -> [&[u16]; 2] {
        [&self.streams, &self.processes]
    }
}

/// What is counted of an I/O.
#[derive(Debug, Clone, Copy)]
pub struct Io {
    /// Its row.
    pub row: usize,
    /// The number of its pair.
    pub pair: u32,
    /// Issue time.
    pub issued_ns: u64,
    /// Response time; `RESPONSE_UNKNOWN` where its completion was not seen.
    pub response_ns: u64,
    /// Time in the queue before; 0 where unknown.
    pub queued_ns: u64,
    /// What was measured of the blocks that it wrote.
    pub content: Content,
    /// Size.
    pub bytes: u32,
    /// Queue depth at issue; 0 where unknown.
    pub depth: u32,
    /// What it did.
    pub op: IoOp,
    /// Whether it is sequential.
    pub sequential: bool,
}

impl Io {
    /// Response time, where its completion was seen.
    #[inline]
    pub fn response_ns(&self) -> Option<u64> {
        (self.response_ns != RESPONSE_UNKNOWN).then_some(self.response_ns)
    }
}

/// Hands I/Os over, some at once, with the numbers of their pairs.
#[derive(Debug, Clone, Default)]
pub struct Gathering {
    /// Which pairs there are.
    pub pairs: Pairs,
    ios: Vec<Io>,
}

impl Gathering {
    /// All rows that passed.
    pub fn each(
        &mut self,
        rows: &Rows<'_>,
        wanted: Wanted,
        mut take: impl FnMut(&[Io], &mut Pairs),
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
                self.ios.push(Io {
                    row,
                    pair: self.pairs.number(wanted.of((stream, process))),
                    issued_ns: batch.issued_ns(row),
                    response_ns: batch.response_ns(row),
                    queued_ns: rows.queued_ns(row).unwrap_or(0),
                    content: match batch.sampled_blocks(row) {
                        0 => Content::default(),
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

/// A filter that asks for operations, streams and processes alone: it is known of every
/// pair whether it passes.
#[derive(Debug, Clone, Copy)]
pub struct Passing<'f>(&'f Filter);

impl<'f> Passing<'f> {
    /// The filter, where it is one beside what is usual.
    pub fn of(filter: &'f Filter, usual: &Filter) -> Option<Self> {
        let rest = Filter { ops: Vec::new(), streams: Vec::new(), process: None, ..filter.clone() };
        (rest == *usual).then_some(Passing(filter))
    }

    /// Whether the I/Os of a pair pass.
    pub fn lets(self, (stream, process): &PairKey) -> bool {
        let Passing(filter) = self;
        (filter.ops.is_empty() || filter.ops.contains(&stream.op))
            && (filter.streams.is_empty() || filter.streams.contains(stream))
            && filter.process.as_ref().is_none_or(|wanted| match wanted {
                Process::Pid(pid) => *pid == process.pid,
                Process::Command(name) => process.command.to_string() == *name,
            })
    }
}

/// A process as an index file keeps it.
pub fn kept(process: &ProcessKey) -> ProcessKeyKept {
    (process.pid, process.command.0)
}

/// A process that was kept.
pub fn process((pid, command): ProcessKeyKept) -> ProcessKey {
    ProcessKey { pid, command: Command(command) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::NUMBERS;

    fn key(bytes: u32, pid: u32) -> PairKey {
        let stream = StreamKey { op: IoOp::Read, sequential: bytes % 2 == 1, bytes };
        (stream, ProcessKey { pid, command: Command::new("x") })
    }

    #[test]
    fn a_pair_keeps_its_number_and_finds_it_among_others() {
        let (mut one, mut other) = (Pairs::default(), Pairs::default());
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
        let mut pairs = Pairs::default();
        let mut last = 0;
        (0..=NUMBERS as u32).for_each(|pid| last = pairs.number(key(512, pid)));
        assert_eq!((pairs.all()[last as usize], pairs.key(last)), ((0, OTHERS), None));
    }

    #[test]
    fn a_filter_of_more_than_pairs_is_none_of_pairs() {
        let usual = Filter::default();
        let by = |process| Filter { process, ops: vec![IoOp::Read], ..Filter::default() };
        let named = by(Some(Process::Command("x".into())));
        let passing = Passing::of(&named, &usual).unwrap();
        assert!(passing.lets(&key(512, 7)));
        assert!(!Passing::of(&by(Some(Process::Pid(8))), &usual).unwrap().lets(&key(512, 7)));
        let devices = Filter { devices: vec![0], ..named };
        assert!(Passing::of(&devices, &usual).is_none());
    }
}
