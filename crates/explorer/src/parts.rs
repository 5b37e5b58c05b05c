//! [`PairCounter`]: the I/Os of each cell by stream and process, counted by pair number.

use crate::keys::{CountKey, KeySum, NumberedKeys, OTHERS, StoredProcessKey};
use crate::pairs::{Breakdowns, PairNumbers, RenumberTable, kept};
use crate::sparse::EntryRange;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::mem;
use steadfast_tracefile::StreamKey;

/// Maximum number of streams, and maximum number of processes, that have a series of their own.
pub const SERIES: usize = 64;
/// Maximum number of parts that are held. Beyond it the least active streams and processes are
/// merged.
const PARTS_MAX: usize = 3 << 20;

/// The I/Os of a pair in a cell: pair number, I/Os and bytes.
type PairCount = (u32, u32, u64);

/// The keys that have a series of their own, the most active first, with their sums. One more sum,
/// after the last, is that of all other keys.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RankedKeys<K> {
    /// Keys, the most active first.
    pub keys: Vec<K>,
    /// Sum of each key, followed by that of all others.
    pub sums: Vec<KeySum>,
}

/// The finished counts of I/Os by stream and process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RankedPairCounts {
    /// Streams, if they were counted separately.
    pub streams: RankedKeys<StreamKey>,
    /// Processes, if they were counted separately.
    pub processes: RankedKeys<StoredProcessKey>,
    /// For each pair, its positions among the streams and the processes.
    places: Vec<(u16, u16)>,
    parts: Vec<PairCount>,
}

impl RankedPairCounts {
    /// Adds the parts of a cell to the sums of streams and of processes.
    pub fn add(&self, place: &EntryRange, streams: &mut [KeySum], processes: &mut [KeySum]) {
        let parts = self.parts.get(place.start as usize..place.end as usize);
        for (pair, ios, bytes) in parts.unwrap_or_default() {
            let Some((stream, process)) = self.places.get(*pair as usize) else { continue };
            streams[usize::from(*stream)].add((*ios).into(), *bytes);
            processes[usize::from(*process)].add((*ios).into(), *bytes);
        }
    }
}

/// Parts that are still being counted.
#[derive(Debug, Default)]
pub struct PairCounter {
    /// I/Os and bytes of every pair in the open cell.
    open: Vec<(u32, u64)>,
    touched: Vec<u32>,
    /// Sum of every pair over all cells.
    sums: Vec<KeySum>,
    kept: Vec<PairCount>,
    /// Numbers of streams and of processes that count as [`OTHERS`].
    dropped: [HashSet<u16>; 2],
    /// Number of streams and of processes that were left when room was last made; `None` if it
    /// never was.
    left: Option<usize>,
}

impl PairCounter {
    /// Counts I/Os in the open cell.
    #[inline]
    pub fn count(&mut self, pair: u32, ios: u32, bytes: u64) {
        let pair_at = pair as usize;
        if pair_at >= self.open.len() {
            self.open.resize(pair_at + 1, (0, 0));
        }
        let open = &mut self.open[pair_at];
        if open.0 == 0 {
            self.touched.push(pair);
        }
        open.0 += ios;
        open.1 = open.1.saturating_add(bytes);
    }

    /// Closes the open cell. Returns the place of its parts.
    pub fn close(&mut self, pairs: &mut PairNumbers) -> EntryRange {
        let begin = self.kept.len() as u32;
        self.sums.resize(self.open.len().max(self.sums.len()), KeySum::default());
        for pair in mem::take(&mut self.touched) {
            let (ios, bytes) = mem::take(&mut self.open[pair as usize]);
            self.sums[pair as usize].add(ios.into(), bytes);
            self.kept.push((self.counts_as(pair, pairs), ios, bytes));
        }
        begin..self.kept.len() as u32
    }

    /// Returns the pair under which the I/Os of a pair are counted.
    fn counts_as(&self, pair: u32, pairs: &mut PairNumbers) -> u32 {
        if self.left.is_none() {
            return pair;
        }
        let (stream, process) = pairs.all()[pair as usize];
        let [streams, processes] = &self.dropped;
        let stream = if streams.contains(&stream) { OTHERS } else { stream };
        pairs.number_of((stream, if processes.contains(&process) { OTHERS } else { process }))
    }

    /// Returns whether there are more parts than may be held.
    pub fn are_too_many(&self) -> bool {
        self.kept.len() > PARTS_MAX && self.left != Some(0)
    }

    /// Merges all but the most active streams and processes. Each call keeps half as many as the
    /// one before.
    pub fn make_room<'p>(
        &mut self,
        places: impl Iterator<Item = &'p mut EntryRange>,
        pairs: &mut PairNumbers,
    ) {
        let left = self.left.map_or(SERIES, |left| left / 2);
        self.left = Some(left);
        let (streams, processes) = self.sums_of_both(pairs);
        let gone = ranked(&streams, &pairs.streams, &self.dropped[0]).into_iter().skip(left);
        self.dropped[0].extend(gone);
        let gone = ranked(&processes, &pairs.processes, &self.dropped[1]).into_iter().skip(left);
        self.dropped[1].extend(gone);
        let old = mem::take(&mut self.kept);
        for place in places {
            let begin = self.kept.len();
            for (pair, ios, bytes) in &old[place.start as usize..place.end as usize] {
                let pair = self.counts_as(*pair, pairs);
                match self.kept[begin..].iter_mut().find(|part| part.0 == pair) {
                    Some(part) => {
                        part.1 += ios;
                        part.2 = part.2.saturating_add(*bytes);
                    }
                    None => self.kept.push((pair, *ios, *bytes)),
                }
            }
            *place = begin as u32..self.kept.len() as u32;
        }
    }

    /// Adds the parts of another share of the I/Os. Returns the index at which they begin.
    pub fn join(&mut self, other: PairCounter, joined: &RenumberTable) -> u32 {
        let begin = self.kept.len() as u32;
        let numbers = &joined.pairs;
        let most = numbers.iter().max().map_or(0, |most| *most as usize + 1);
        self.sums.resize(self.sums.len().max(most), KeySum::default());
        for (sum, number) in other.sums.iter().zip(numbers) {
            self.sums[*number as usize].add(sum.ios, sum.bytes);
        }
        let parts = other.kept.iter();
        self.kept.extend(parts.map(|(pair, ios, bytes)| (numbers[*pair as usize], *ios, *bytes)));
        for (ours, (theirs, numbers)) in
            self.dropped.iter_mut().zip(other.dropped.iter().zip(joined.halves()))
        {
            ours.extend(theirs.iter().filter_map(|number| numbers.get(usize::from(*number))));
        }
        self.left = match (self.left, other.left) {
            (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        begin
    }

    /// Returns the sums of each stream and of each process, by their numbers.
    fn sums_of_both(&self, pairs: &PairNumbers) -> (Vec<KeySum>, Vec<KeySum>) {
        let none = vec![KeySum::default(); usize::from(OTHERS) + 1];
        let (mut streams, mut processes) = (none.clone(), none);
        for ((stream, process), sum) in pairs.all().iter().zip(&self.sums) {
            streams[usize::from(*stream)].add(sum.ios, sum.bytes);
            processes[usize::from(*process)].add(sum.ios, sum.bytes);
        }
        (streams, processes)
    }

    /// Finishes the counts.
    pub fn finish(mut self, wanted: Breakdowns, pairs: &PairNumbers) -> RankedPairCounts {
        let (streams, processes) = self.sums_of_both(pairs);
        let best = |is_wanted: bool, mut ranked: Vec<u16>| {
            ranked.truncate(if is_wanted { SERIES } else { 0 });
            ranked
        };
        let of_streams = best(wanted.streams, ranked(&streams, &pairs.streams, &self.dropped[0]));
        let of_processes =
            best(wanted.processes, ranked(&processes, &pairs.processes, &self.dropped[1]));
        let (stream_places, process_places) = (places(&of_streams), places(&of_processes));
        let both = |(stream, process): &(u16, u16)| {
            (stream_places[usize::from(*stream)], process_places[usize::from(*process)])
        };
        self.kept.shrink_to_fit();
        RankedPairCounts {
            streams: listed(&of_streams, &streams, |number| pairs.streams.keys()[number]),
            processes: listed(&of_processes, &processes, |number| {
                kept(&pairs.processes.keys()[number])
            }),
            places: pairs.all().iter().map(both).collect(),
            parts: self.kept,
        }
    }
}

/// Returns the numbers of the keys with I/Os, the most active first.
fn ranked<K: CountKey>(
    sums: &[KeySum],
    keys: &NumberedKeys<K>,
    dropped: &HashSet<u16>,
) -> Vec<u16> {
    let keys = keys.keys();
    let mut ranked: Vec<u16> = (0..keys.len() as u16).collect();
    ranked.retain(|number| sums[usize::from(*number)].ios > 0 && !dropped.contains(number));
    ranked.sort_by_key(|number| {
        let at = usize::from(*number);
        (Reverse(sums[at].ios), keys[at])
    });
    ranked
}

/// Returns the position of every number; a number that is not listed gets the one after the last.
fn places(listed: &[u16]) -> Vec<u16> {
    let mut places = vec![listed.len() as u16; usize::from(OTHERS) + 1];
    (0..).zip(listed).for_each(|(place, number)| places[usize::from(*number)] = place);
    places
}

fn listed<K>(numbers: &[u16], sums: &[KeySum], key: impl Fn(usize) -> K) -> RankedKeys<K> {
    let places = places(numbers);
    let mut listed = vec![KeySum::default(); numbers.len() + 1];
    for (place, sum) in places.iter().zip(sums) {
        listed[usize::from(*place)].add(sum.ios, sum.bytes);
    }
    RankedKeys {
        keys: numbers.iter().map(|number| key(usize::from(*number))).collect(),
        sums: listed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_analysis::questions::processes::ProcessKey;
    use steadfast_domain::IoOp;
    use steadfast_domain::io_event::CommandName;

    #[test]
    fn without_room_fewer_are_told_apart_and_nothing_is_lost() {
        let (mut parts, mut pairs) = (PairCounter::default(), PairNumbers::default());
        let mut cells: Vec<EntryRange> = Vec::new();
        for cell in 0..100u32 {
            for n in 0..200u32 {
                let stream =
                    StreamKey { op: IoOp::Read, sequential: false, bytes: n % 100 * 512 + 512 };
                let process = ProcessKey { pid: n, command: CommandName::default() };
                parts.count(pairs.number((stream, process)), n + 1, u64::from(n));
            }
            cells.push(parts.close(&mut pairs));
            if cell % 10 == 9 {
                parts.make_room(cells.iter_mut(), &mut pairs);
            }
        }
        let all = Breakdowns { streams: true, processes: true };
        let shares = parts.finish(all, &pairs);
        let mut streams = vec![KeySum::default(); shares.streams.keys.len() + 1];
        let mut processes = vec![KeySum::default(); shares.processes.keys.len() + 1];
        cells.iter().for_each(|cell| shares.add(cell, &mut streams, &mut processes));
        let sum = |sums: &[KeySum]| {
            sums.iter().map(|sum| (sum.ios, sum.bytes)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
        };
        let wanted = (100 * 200 * 201 / 2, 100 * 199 * 200 / 2);
        assert_eq!([sum(&streams), sum(&processes)], [wanted; 2]);
        assert_eq!((sum(&shares.streams.sums), sum(&shares.processes.sums)), (wanted, wanted));
        assert!(shares.streams.keys.is_empty(), "{:?}", shares.streams.keys);
    }
}
