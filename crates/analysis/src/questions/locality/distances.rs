//! Stack distances of the accesses to followed blocks (the number of other blocks touched since a
//! block was last touched), and the times from one access to the next.
//!
//! Accesses are sorted one part of the time at a time, so that at most about [`PART`] unpacked
//! accesses are in memory next to the packed ones.

use super::followed::{PackedAccesses, SampledAccesses, block_number};
use super::reuse_times::ReuseTimes;
use std::ops::Range;

/// Cache sizes per doubling.
const PER_DOUBLING: i32 = 2;
const SIZES: i32 = 64 * PER_DOUBLING;
/// Approximate number of accesses that are sorted at once.
const PART: u64 = 1 << 18;
/// Number of accesses sampled to choose the bounds of the parts.
const BOUND_SAMPLES: u64 = 1 << 12;

/// Miss ratios of an LRU cache of one size.
pub(super) struct MissRatios {
    /// Size of the cache, in blocks.
    pub(super) blocks: u64,
    /// Share of reads and writes that miss.
    pub(super) misses: f64,
    /// Share of reads that miss; `None` if there were none.
    pub(super) read_misses: Option<f64>,
}

/// Stack distances and reuse times of the followed blocks.
pub(super) struct Distances {
    /// Share of all blocks that are followed, 0 to 1.
    rate: f64,
    /// Cache sizes, in blocks.
    sizes: Vec<f64>,
    /// For reads and for writes, by cache size: accesses that hit a cache of this size but not one
    /// of the size before.
    first_hits: [Vec<u64>; 2],
    /// Largest stack distance, in followed blocks.
    largest: Option<u64>,
    pub(super) blocks: u64,
    /// Writes of the followed blocks.
    pub(super) writes: u64,
    /// Reads and writes of the followed blocks.
    accesses: u64,
    /// Times from one access of a block to the next.
    pub(super) reuse: ReuseTimes,
    /// Times from one write of a block to the next.
    pub(super) overwrite: ReuseTimes,
}

impl Distances {
    /// Computes the results for all followed blocks, which are the share `rate` of all blocks.
    pub(super) fn new(followed: &SampledAccesses, rate: f64) -> Self {
        let size = |step| 2f64.powf(f64::from(step) / f64::from(PER_DOUBLING)).round();
        let sizes: Vec<f64> = (0..=SIZES).map(size).collect();
        let mut found = Distances {
            rate,
            first_hits: [vec![0; sizes.len()], vec![0; sizes.len()]],
            sizes,
            largest: None,
            blocks: 0,
            writes: 0,
            accesses: 0,
            reuse: ReuseTimes::default(),
            overwrite: ReuseTimes::default(),
        };
        followed.blocks().for_each(|(_, accesses)| found.add_block(accesses));
        let mut stack = LruStack::with_blocks(found.blocks as usize);
        let mut part = Vec::new();
        let bounds = bounds(followed, found.accesses);
        for (from, to) in bounds.iter().zip(&bounds[1..]) {
            gather(&mut part, followed, *from..*to);
            for BlockAccess { block, is_write, .. } in &part {
                if let Some(others) = stack.touch(*block) {
                    found.add_distance(others, *is_write);
                }
            }
        }
        found
    }

    /// Counts one block, its accesses and the times between them.
    fn add_block(&mut self, accesses: PackedAccesses<'_>) {
        let (mut last, mut last_write) = (None, None);
        self.blocks += 1;
        for access in accesses {
            let (time, is_write) = (access >> 1, access & 1 == 1);
            self.accesses += 1;
            if let Some(last) = last.replace(time) {
                self.reuse.add(time - last);
            }
            self.writes += u64::from(is_write);
            if is_write && let Some(last) = last_write.replace(time) {
                self.overwrite.add(time - last);
            }
        }
    }

    fn add_distance(&mut self, others: u64, is_write: bool) {
        self.largest = self.largest.max(Some(others));
        let blocks = self.cache_blocks(others);
        let size = self.sizes.partition_point(|size| blocks > *size);
        if let Some(count) = self.first_hits[usize::from(is_write)].get_mut(size) {
            *count += 1;
        }
    }

    /// Returns the smallest cache, in blocks, that holds a block after `others` other followed
    /// blocks were touched.
    fn cache_blocks(&self, others: u64) -> f64 {
        others as f64 / self.rate + 1.0
    }

    /// Returns the miss ratios of each cache size, up to the size that holds everything touched.
    /// `reads` and `writes` count the accesses of all blocks, followed or not.
    pub(super) fn curve(&self, reads: u64, writes: u64) -> Vec<MissRatios> {
        let Some(largest) = self.largest else { return Vec::new() };
        let steps = (self.cache_blocks(largest).log2() * f64::from(PER_DOUBLING)).ceil() as usize;
        // The sample has more or fewer accesses than its share. The difference counts as accesses
        // at distance zero, which every cache hits (SHARDS adj).
        let misses = |hits: u64, sampled: u64, all: u64| {
            let missed = sampled as f64 - hits as f64;
            (all > 0).then(|| (missed / (all as f64 * self.rate)).clamp(0.0, 1.0))
        };
        let (mut read_hits, mut write_hits) = (0, 0);
        let mut curve: Vec<MissRatios> = Vec::new();
        for (at, size) in self.sizes.iter().enumerate().take(steps + 1) {
            read_hits += self.first_hits[0][at];
            write_hits += self.first_hits[1][at];
            let read_misses = misses(read_hits, self.accesses - self.writes, reads);
            let write_misses = misses(write_hits, self.writes, writes);
            let missed = read_misses.unwrap_or(0.0) * reads as f64
                + write_misses.unwrap_or(0.0) * writes as f64;
            let blocks = *size as u64;
            // Rounded to whole blocks, the smallest sizes coincide: the last has the hits of all.
            curve.pop_if(|last| last.blocks == blocks);
            curve.push(MissRatios {
                blocks,
                misses: missed / (reads + writes) as f64,
                read_misses,
            });
        }
        curve
    }
}

/// An access in the order of all accesses. Each I/O has a distinct time; the blocks of one I/O are
/// in order of address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BlockAccess {
    at: AccessTime,
    block: u32,
    is_write: bool,
}

/// When a block was accessed, in the order of all accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AccessTime {
    time: u64,
    /// Number of the block on the device.
    number: u64,
}

impl AccessTime {
    const FIRST: AccessTime = AccessTime { time: 0, number: 0 };
    const LAST: AccessTime = AccessTime { time: u64::MAX, number: u64::MAX };
}

/// Returns times that divide the accesses into parts of about [`PART`] each. The first and the
/// last lie before and after all accesses.
fn bounds(followed: &SampledAccesses, accesses: u64) -> Vec<AccessTime> {
    let every = (accesses / BOUND_SAMPLES).max(1) as usize;
    let times = followed.blocks().flat_map(|(hash, accesses)| {
        let number = block_number(hash);
        accesses.map(move |access| AccessTime { time: access >> 1, number })
    });
    let mut some: Vec<AccessTime> = times.step_by(every).collect();
    some.sort_unstable();
    let parts = accesses / PART + 1;
    let between = (1..parts).map(|part| some[part as usize * some.len() / parts as usize]);
    [AccessTime::FIRST].into_iter().chain(between).chain([AccessTime::LAST]).collect()
}

/// Collects the accesses of a range of times, in order.
fn gather(part: &mut Vec<BlockAccess>, followed: &SampledAccesses, times: Range<AccessTime>) {
    part.clear();
    for ((hash, accesses), block) in followed.blocks().zip(0..) {
        let number = block_number(hash);
        let accesses = accesses.map(|access| BlockAccess {
            at: AccessTime { time: access >> 1, number },
            block,
            is_write: access & 1 == 1,
        });
        let accesses = accesses.skip_while(|access| access.at < times.start);
        part.extend(accesses.take_while(|access| access.at < times.end));
    }
    part.sort_unstable();
}

/// Blocks in the order of their last accesses. Each touched block has one place, and later accesses
/// have higher places. A Fenwick tree counts the occupied places before a place.
struct LruStack {
    /// Place of each block, from 1; 0 if it was not touched yet.
    places: Vec<u32>,
    /// Block of each place, current or former.
    blocks: Vec<u32>,
    tree: Vec<u32>,
    /// Number of blocks that have a place.
    touched: u32,
}

impl LruStack {
    /// Creates a stack for `blocks` blocks, none of them touched.
    fn with_blocks(blocks: usize) -> Self {
        // Places are reassigned when all are used. With twice as many as blocks this is rare.
        let places = blocks.saturating_mul(2).max(64);
        LruStack {
            places: vec![0; blocks],
            blocks: Vec::with_capacity(places),
            tree: vec![0; places + 1],
            touched: 0,
        }
    }

    /// Touches a block. Returns the number of other blocks touched since its last access, or `None`
    /// on its first access.
    fn touch(&mut self, block: u32) -> Option<u64> {
        if self.blocks.len() + 1 == self.tree.len() {
            self.renumber();
        }
        let before = self.places[block as usize];
        let others = (before > 0).then(|| u64::from(self.touched - self.up_to(before)));
        match before {
            0 => self.touched += 1,
            _ => self.count(before, false),
        }
        self.blocks.push(block);
        let place = self.blocks.len() as u32;
        self.places[block as usize] = place;
        self.count(place, true);
        others
    }

    /// Reassigns the lowest places to the blocks, in their order.
    fn renumber(&mut self) {
        let mut next = 0;
        for at in 0..self.blocks.len() {
            let block = self.blocks[at];
            if self.places[block as usize] as usize == at + 1 {
                self.blocks[next] = block;
                next += 1;
                self.places[block as usize] = next as u32;
            }
        }
        self.blocks.truncate(next);
        self.tree.fill(0);
        (1..=next).for_each(|place| self.count(place as u32, true));
    }

    /// Counts a place as occupied, or no longer.
    fn count(&mut self, place: u32, is_occupied: bool) {
        let mut at = place as usize;
        while let Some(count) = self.tree.get_mut(at) {
            *count = if is_occupied { *count + 1 } else { *count - 1 };
            at += at & at.wrapping_neg();
        }
    }

    /// Returns the number of blocks at places up to and including `place`.
    fn up_to(&self, place: u32) -> u32 {
        let (mut at, mut sum) = (place as usize, 0);
        while at > 0 {
            sum += self.tree[at];
            at &= at - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::super::followed::HashedAccess;
    use super::*;
    use steadfast_domain::random_bits::mix64;

    #[test]
    fn distances_equal_those_of_a_list_after_any_renumbering() {
        let (mut stack, mut list) = (LruStack::with_blocks(37), Vec::new());
        for at in 0..3001 {
            let block = ((mix64(at) % 37) * (mix64(at + 1) % 37) / 37) as u32;
            let found = list.iter().rev().position(|kept| *kept == block);
            assert_eq!(stack.touch(block), found.map(|others| others as u64));
            list.retain(|kept| *kept != block);
            list.push(block);
        }
    }

    #[test]
    fn simultaneous_accesses_are_divided_into_parts_too() {
        let mut followed = SampledAccesses::new(usize::MAX);
        let accesses = (0..2 * PART).map(|at| HashedAccess { hash: mix64(at), access: 7 });
        followed.take(&mut accesses.collect());
        followed.pack();
        let bounds = bounds(&followed, 2 * PART);
        assert_eq!(bounds.len(), 4);
        let mut part = Vec::new();
        let sizes = bounds.windows(2).map(|bounds| {
            gather(&mut part, &followed, bounds[0]..bounds[1]);
            part.len() as u64
        });
        let sizes: Vec<u64> = sizes.collect();
        assert_eq!(sizes.iter().sum::<u64>(), 2 * PART);
        assert!(sizes.iter().all(|size| *size < PART), "{sizes:?}");
    }
}
