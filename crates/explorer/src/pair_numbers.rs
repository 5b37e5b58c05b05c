//! [`PairNumbers`]: a number for every stream of every process. It is looked up once per I/O, and
//! everything that counts by stream or by process uses it as a key.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use steadfast_analysis::cells::CubeCell;
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_analysis::tables::recent_cache::RecentCache;
use steadfast_analysis::{AnnotatedRows, Filter};
use steadfast_domain::io_event::ContentMeasurement;
use steadfast_domain::{IoOp, io_event::RESPONSE_UNKNOWN};
use steadfast_tracefile::StreamKey;

/// I/Os that are gathered at once: few enough for the processor's caches.
const AT_ONCE: usize = 512;
/// Number of pairs that get a number of their own. I/Os of later ones count by stream alone.
const PAIRS_MAX: usize = 1 << 16;
/// Number of streams that get a number in addition. Of I/Os of later ones nothing is kept.
const STREAMS_MAX: usize = 1 << 12;

/// A stream of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PairKey {
    pub stream: StreamKey,
    pub process: ProcessKey,
}

impl From<&CubeCell> for PairKey {
    fn from(cell: &CubeCell) -> Self {
        PairKey {
            stream: StreamKey { op: cell.op, sequential: cell.sequential, bytes: cell.bytes },
            process: ProcessKey { pid: cell.who.pid, command: cell.who.command },
        }
    }
}

/// A stream of a process, as far as they are counted separately.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PartKey {
    /// Stream; `None` for any.
    pub stream: Option<StreamKey>,
    /// Process; `None` for any.
    pub process: Option<ProcessKey>,
}

/// Breakdowns that cells keep in addition to the totals.
#[derive(Debug, Clone, Copy, Default)]
pub struct Breakdowns {
    pub streams: bool,
    pub processes: bool,
}

/// Numbers of pairs, assigned in order of first occurrence.
#[derive(Debug)]
pub struct PairNumbers {
    breakdowns: Breakdowns,
    numbers: HashMap<PartKey, u32>,
    keys: Vec<PartKey>,
    recent: Box<RecentCache<PairKey, u32>>,
}

impl PairNumbers {
    pub fn new(breakdowns: Breakdowns) -> Self {
        let recent = Box::new(RecentCache::new());
        PairNumbers { breakdowns, numbers: HashMap::new(), keys: Vec::new(), recent }
    }

    #[inline]
    pub fn number(&mut self, key: PairKey) -> u32 {
        let PairKey { stream, process } = key;
        let name = u128::from_le_bytes(process.command.0) as u64;
        let process_code = u64::from(process.pid) << 32 ^ name;
        let (breakdowns, numbers, keys) = (self.breakdowns, &mut self.numbers, &mut self.keys);
        self.recent.get_or(process_code ^ stream.packed(), key, || {
            let stream = breakdowns.streams.then_some(stream);
            let process = breakdowns.processes.then_some(process);
            number_of(numbers, keys, PartKey { stream, process })
        })
    }

    /// Returns the number of a pair. Its stream, its process or both may be missing.
    pub fn number_of(&mut self, key: PartKey) -> u32 {
        number_of(&mut self.numbers, &mut self.keys, key)
    }

    /// Returns the keys of all pairs, by number.
    pub fn keys(&self) -> &[PartKey] {
        &self.keys
    }

    /// Returns the key of a pair; `None` if its stream or its process is not counted separately.
    pub fn key(&self, number: u32) -> Option<PairKey> {
        let PartKey { stream, process } = *self.keys.get(number as usize)?;
        Some(PairKey { stream: stream?, process: process? })
    }

    /// Adds the pairs of another share of the I/Os. Returns the numbers that they have here.
    pub fn merge(&mut self, other: &PairNumbers) -> Vec<u32> {
        other.keys.iter().map(|key| self.number_of(*key)).collect()
    }
}

#[cold]
fn number_of(
    numbers: &mut HashMap<PartKey, u32>,
    keys: &mut Vec<PartKey>,
    mut key: PartKey,
) -> u32 {
    if keys.len() >= PAIRS_MAX && !numbers.contains_key(&key) {
        key.process = None;
    }
    if keys.len() >= PAIRS_MAX + STREAMS_MAX && !numbers.contains_key(&key) {
        key.stream = None;
    }
    let next = keys.len() as u32;
    let number = *numbers.entry(key).or_insert(next);
    if number == next {
        keys.push(key);
    }
    number
}

/// The fields of an I/O that are counted.
#[derive(Debug, Clone, Copy)]
pub struct CountedIo {
    pub row: usize,
    pub pair: u32,
    pub issued_ns: u64,
    /// Response time, in nanoseconds; `RESPONSE_UNKNOWN` if its completion was not seen.
    pub response_ns: u64,
    /// Time in the queue before issue, in nanoseconds; 0 if unknown.
    pub queued_ns: u64,
    /// Measurements of the blocks that it wrote.
    pub content: ContentMeasurement,
    pub bytes: u32,
    /// Queue depth at issue; 0 if unknown.
    pub depth: u32,
    pub op: IoOp,
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
#[derive(Debug)]
pub struct PairBatcher {
    pub pairs: PairNumbers,
    ios: Vec<CountedIo>,
}

impl PairBatcher {
    pub fn new(breakdowns: Breakdowns) -> Self {
        PairBatcher { pairs: PairNumbers::new(breakdowns), ios: Vec::new() }
    }

    /// Calls `take` with groups of I/Os until all selected rows were passed.
    pub fn each(
        &mut self,
        rows: &AnnotatedRows<'_>,
        mut take: impl FnMut(&[CountedIo], &mut PairNumbers),
    ) {
        let (batch, mut passed) = (rows.batch, rows.iter());
        let has_processes = self.pairs.breakdowns.processes;
        loop {
            self.ios.clear();
            for row in passed.by_ref().take(AT_ONCE) {
                let (op, bytes, sequential) =
                    (batch.op(row), batch.bytes(row), rows.sequential[row]);
                let stream = StreamKey { op, sequential, bytes };
                let process = if has_processes {
                    ProcessKey { pid: batch.pid(row), command: batch.command(row) }
                } else {
                    ProcessKey::default()
                };
                self.ios.push(CountedIo {
                    row,
                    pair: self.pairs.number(PairKey { stream, process }),
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
    /// Returns the filter if it differs from the default one only in operations, streams and
    /// processes.
    pub fn new(filter: &'f Filter, default_filter: &Filter) -> Option<Self> {
        let rest = Filter { ops: Vec::new(), streams: Vec::new(), process: None, ..filter.clone() };
        (rest == *default_filter).then_some(PairFilter(filter))
    }

    pub fn passes(self, PairKey { stream, process }: &PairKey) -> bool {
        let PairFilter(filter) = self;
        let selector = filter.process.as_ref();
        filter.keeps_stream(stream)
            && selector.is_none_or(|selector| selector.selects(process.pid, process.command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_analysis::filter::ProcessSelector;
    use steadfast_domain::io_event::CommandName;

    const BOTH: Breakdowns = Breakdowns { streams: true, processes: true };

    fn key(bytes: u32, pid: u32) -> PairKey {
        let stream = StreamKey { op: IoOp::Read, sequential: bytes % 2 == 1, bytes };
        PairKey { stream, process: ProcessKey { pid, command: CommandName::new("x") } }
    }

    #[test]
    fn a_pair_keeps_its_number() {
        let (mut one, mut other) = (PairNumbers::new(BOTH), PairNumbers::new(BOTH));
        for n in 0..9_001u32 {
            let (a, b) = (one.number(key(n % 50, n % 7)), other.number(key(n % 7, n % 50)));
            assert_eq!((a, b), (one.number(key(n % 50, n % 7)), other.number(key(n % 7, n % 50))));
        }
        assert_eq!((one.keys().len(), other.keys().len()), (350, 350));
        let ours = one.merge(&other);
        for (theirs, ours) in (0..).zip(ours) {
            assert_eq!(one.key(ours), other.key(theirs));
        }
        assert_eq!(one.keys().len(), 350 + 350 - 49);
    }

    #[test]
    fn pairs_beyond_the_limit_count_by_stream() {
        let mut pairs = PairNumbers::new(BOTH);
        let mut last = 0;
        (0..=PAIRS_MAX as u32).for_each(|pid| last = pairs.number(key(512, pid)));
        let stream = Some(key(512, 0).stream);
        assert_eq!(pairs.keys()[last as usize], PartKey { stream, process: None });
        assert_eq!(pairs.key(last), None);
        (0..2 * STREAMS_MAX as u32).for_each(|bytes| last = pairs.number(key(bytes, 1 << 20)));
        assert_eq!(pairs.keys()[last as usize], PartKey::default());
        assert_eq!(pairs.keys().len(), PAIRS_MAX + STREAMS_MAX + 1);
    }

    #[test]
    fn only_filters_by_operation_stream_and_process_are_pair_filters() {
        let default_filter = Filter::default();
        let reads_of =
            |process| Filter { process: Some(process), ops: vec![IoOp::Read], ..Filter::default() };
        let passes = |filter: &Filter| {
            PairFilter::new(filter, &default_filter).map(|filter| filter.passes(&key(512, 7)))
        };
        let named = reads_of(ProcessSelector::Command("x".into()));
        assert_eq!(passes(&named), Some(true));
        assert_eq!(passes(&reads_of(ProcessSelector::Pid(8))), Some(false));
        assert_eq!(passes(&Filter { devices: vec![0], ..named }), None);
    }
}
