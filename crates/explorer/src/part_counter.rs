//! [`PartCounter`]: the I/Os of each cell by stream and process, counted by pair number.

use crate::pair_numbers::{PairNumbers, PartKey};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::Range;
use steadfast_analysis::cube::{Cube, CubeBuilder, KeyCell};
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_analysis::sums::io_count::IoCount;
use steadfast_tracefile::StreamKey;

/// Maximum number of streams, and maximum number of processes, that have a series of their own.
pub const SERIES: usize = 64;
/// Maximum number of parts that are held. Beyond it the least active streams and processes are
/// merged.
const PARTS_MAX: usize = 2 << 20;

/// The keys that have a series of their own, the most active first, with their sums. One more sum,
/// after the last, is that of all other keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RankedKeys<K> {
    pub keys: Vec<K>,
    /// Sum of each key, followed by that of all others.
    pub sums: Vec<IoCount>,
}

/// The finished counts of I/Os by stream and process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RankedParts {
    pub streams: RankedKeys<StreamKey>,
    pub processes: RankedKeys<ProcessKey>,
    /// Series of each pair, by its number.
    series: Vec<PairSeries>,
    parts: Cube<IoCount>,
}

/// Positions of a pair among the streams and among the processes.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct PairSeries {
    stream: u16,
    process: u16,
}

impl RankedParts {
    pub fn in_cells(&self, cells: Range<usize>) -> &[KeyCell<IoCount>] {
        self.parts.steps(cells)
    }

    pub fn add(&self, part: &KeyCell<IoCount>, streams: &mut [IoCount], processes: &mut [IoCount]) {
        if let Some(series) = self.series.get(part.key as usize) {
            streams[usize::from(series.stream)].add(part.sums);
            processes[usize::from(series.process)].add(part.sums);
        }
    }
}

/// Streams and processes that are no longer counted separately.
#[derive(Debug, Default)]
struct DroppedKeys {
    streams: HashSet<StreamKey>,
    processes: HashSet<ProcessKey>,
}

impl DroppedKeys {
    fn without(&self, key: PartKey) -> PartKey {
        PartKey {
            stream: key.stream.filter(|stream| !self.streams.contains(stream)),
            process: key.process.filter(|process| !self.processes.contains(process)),
        }
    }
}

/// Parts that are still being counted.
#[derive(Debug)]
pub struct PartCounter {
    parts: CubeBuilder<IoCount>,
    dropped: DroppedKeys,
    /// For each pair, the pair as which it counts; empty as long as nothing was dropped.
    counts_as: Vec<u32>,
    /// Number of streams and of processes that were left when room was last made; `None` if it
    /// never was.
    left: Option<usize>,
}

impl PartCounter {
    pub fn new(step_ns: u64, steps: Range<u64>) -> Self {
        PartCounter {
            parts: CubeBuilder::new(step_ns, steps, 0),
            dropped: DroppedKeys::default(),
            counts_as: Vec::new(),
            left: None,
        }
    }

    #[inline]
    pub fn count(&mut self, time_ns: u64, pair: u32, bytes: u64) {
        let pair = self.counts_as.get(pair as usize).copied().unwrap_or(pair);
        if let Some(cell) = self.parts.at(time_ns, pair) {
            cell.sums.add(IoCount { ios: 1, bytes });
        }
    }

    pub fn add(&mut self, cell: u32, pair: u32, ios: IoCount) {
        self.parts.in_step(cell, pair).sums.add(ios);
    }

    /// Merges the least active streams and processes if there are too many parts, and determines as
    /// what new pairs count.
    pub fn make_room(&mut self, pairs: &mut PairNumbers) {
        while self.parts.cells().len() > PARTS_MAX && self.left != Some(0) {
            self.drop_half(pairs);
        }
        if self.left.is_some() {
            self.renumber(pairs);
        }
    }

    /// Merges all but the most active streams and processes. Each call keeps half as many as the
    /// one before.
    fn drop_half(&mut self, pairs: &mut PairNumbers) {
        let left = self.left.map_or(SERIES, |left| left / 2);
        self.left = Some(left);
        let sums = sums(self.parts.cells(), pairs);
        let streams = ranked(&sums, |key| key.stream).into_iter().skip(left);
        self.dropped.streams.extend(streams.map(|(stream, _)| stream));
        let processes = ranked(&sums, |key| key.process).into_iter().skip(left);
        self.dropped.processes.extend(processes.map(|(process, _)| process));
        self.counts_as.clear();
        self.renumber(pairs);
        self.parts.roll_up(1, |pair| self.counts_as[pair as usize]);
    }

    fn renumber(&mut self, pairs: &mut PairNumbers) {
        while let Some(key) = pairs.keys().get(self.counts_as.len()).copied() {
            self.counts_as.push(pairs.number_of(self.dropped.without(key)));
        }
    }

    /// Adds the parts of another share of the I/Os, whose pairs have these numbers here.
    pub fn merge(&mut self, other: PartCounter, numbers: &[u32]) {
        self.parts.merge(other.parts, numbers);
        self.dropped.streams.extend(other.dropped.streams);
        self.dropped.processes.extend(other.dropped.processes);
        self.counts_as.clear();
        self.left = [self.left, other.left].into_iter().flatten().min();
    }

    pub fn finish(self, pairs: &PairNumbers) -> RankedParts {
        let parts = self.parts.finish();
        let mut sums = sums(parts.cells(), pairs);
        sums.iter_mut().for_each(|(key, _)| *key = self.dropped.without(*key));
        let streams = RankedKeys::from_sums(&sums, |key| key.stream);
        let processes = RankedKeys::from_sums(&sums, |key| key.process);
        let (stream_numbers, process_numbers) = (streams.numbers(), processes.numbers());
        let series = |(key, _): &(PartKey, IoCount)| PairSeries {
            stream: streams.series(&stream_numbers, key.stream),
            process: processes.series(&process_numbers, key.process),
        };
        let series = sums.iter().map(series).collect();
        RankedParts { streams, processes, series, parts }
    }
}

/// Returns the key and the sums of every pair, by number.
fn sums(parts: &[KeyCell<IoCount>], pairs: &PairNumbers) -> Vec<(PartKey, IoCount)> {
    let mut sums: Vec<(PartKey, IoCount)> =
        pairs.keys().iter().map(|key| (*key, IoCount::default())).collect();
    for part in parts {
        sums[part.key as usize].1.add(part.sums);
    }
    sums
}

/// Returns the keys with I/Os and their sums, the most active first.
fn ranked<K: Copy + Ord + Hash>(
    sums: &[(PartKey, IoCount)],
    key: impl Fn(&PartKey) -> Option<K>,
) -> Vec<(K, IoCount)> {
    let mut by_key: HashMap<K, IoCount> = HashMap::new();
    for (pair, sum) in sums.iter().filter(|(_, sum)| sum.ios > 0) {
        if let Some(key) = key(pair) {
            by_key.entry(key).or_default().add(*sum);
        }
    }
    let mut ranked: Vec<(K, IoCount)> = by_key.into_iter().collect();
    ranked.sort_by_key(|(key, sum)| (Reverse(sum.ios), *key));
    ranked
}

impl<K: Copy + Ord + Hash> RankedKeys<K> {
    fn from_sums(sums: &[(PartKey, IoCount)], key: impl Fn(&PartKey) -> Option<K>) -> Self {
        let mut ranked = ranked(sums, key);
        ranked.truncate(SERIES);
        let mut others = IoCount::default();
        sums.iter().for_each(|(_, sum)| others.add(*sum));
        for (_, sum) in &ranked {
            others.ios -= sum.ios;
            others.bytes = others.bytes.saturating_sub(sum.bytes);
        }
        let (keys, mut sums): (Vec<K>, Vec<IoCount>) = ranked.into_iter().unzip();
        sums.push(others);
        RankedKeys { keys, sums }
    }

    /// Returns the position of each key.
    fn numbers(&self) -> HashMap<K, u16> {
        (0..).zip(&self.keys).map(|(number, key)| (*key, number)).collect()
    }

    /// Returns the position of the sum that counts a key, given the [`Self::numbers`].
    fn series(&self, numbers: &HashMap<K, u16>, key: Option<K>) -> u16 {
        let number = key.and_then(|key| numbers.get(&key).copied());
        number.unwrap_or(self.keys.len() as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair_numbers::{Breakdowns, PairKey};
    use steadfast_domain::IoOp;
    use steadfast_domain::io_event::CommandName;

    #[test]
    fn dropped_streams_and_processes_are_merged_without_loss() {
        let both = Breakdowns { streams: true, processes: true };
        let (mut parts, mut pairs) = (PartCounter::new(1, 0..100), PairNumbers::new(both));
        for cell in 0..100u32 {
            for n in 0..200u32 {
                let stream =
                    StreamKey { op: IoOp::Read, sequential: false, bytes: n % 100 * 512 + 512 };
                let process = ProcessKey { pid: n, command: CommandName::default() };
                let pair = pairs.number(PairKey { stream, process });
                let pair = parts.counts_as.get(pair as usize).copied().unwrap_or(pair);
                parts.add(cell, pair, IoCount { ios: u64::from(n) + 1, bytes: u64::from(n) });
            }
            if cell % 10 == 9 {
                parts.drop_half(&mut pairs);
            }
        }
        let shares = parts.finish(&pairs);
        let mut streams = vec![IoCount::default(); shares.streams.keys.len() + 1];
        let mut processes = vec![IoCount::default(); shares.processes.keys.len() + 1];
        shares
            .in_cells(0..100)
            .iter()
            .for_each(|part| shares.add(part, &mut streams, &mut processes));
        let sum = |sums: &[IoCount]| {
            sums.iter().map(|sum| (sum.ios, sum.bytes)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
        };
        let expected = (100 * 200 * 201 / 2, 100 * 199 * 200 / 2);
        assert_eq!([sum(&streams), sum(&processes)], [expected; 2]);
        assert_eq!([sum(&shares.streams.sums), sum(&shares.processes.sums)], [expected; 2]);
        assert!(shares.streams.keys.is_empty(), "{:?}", shares.streams.keys);
    }
}
