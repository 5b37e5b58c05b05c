//! What the accesses of followed blocks come to: stack distances (how many other blocks
//! were touched since a block was touched last) and times from one access to the next.
//!
//! Accesses are put in their order a part of the time at a time, so that no more of them
//! than [`PART`] lie in memory beside the packed ones.

use super::followed::{Accesses, Followed, unmixed};
use super::spans::Spans;

/// Sizes of caches per doubling.
const PER_DOUBLING: i32 = 2;
/// Sizes of caches that are told apart.
const SIZES: i32 = 64 * PER_DOUBLING;
/// Accesses that are put in their order at once, nearly.
const PART: u64 = 1 << 18;
/// Accesses of which the bounds of the parts are chosen.
const BOUNDS_OF: u64 = 1 << 12;

/// What is found of the accesses of some blocks.
pub(super) struct Distances {
    /// The share of all blocks that these are.
    rate: f64,
    /// Sizes of caches in blocks.
    sizes: Vec<f64>,
    /// Of reads and of writes that touch a block again: how many every size holds that the
    /// one before does not.
    again: [Vec<u64>; 2],
    /// The greatest distance.
    largest: Option<u64>,
    /// Followed blocks.
    pub(super) blocks: u64,
    /// Writes of them.
    pub(super) writes: u64,
    /// Reads and writes of them.
    accesses: u64,
    /// Times from one access of a block to the next.
    pub(super) reuse: Spans,
    /// Times from one write of a block to the next.
    pub(super) overwrite: Spans,
}

impl Distances {
    /// Of all that is followed, which is such a share of all blocks.
    pub(super) fn of(followed: &Followed, rate: f64) -> Self {
        let size = |step| 2f64.powf(f64::from(step) / f64::from(PER_DOUBLING)).round();
        let sizes: Vec<f64> = (0..=SIZES).map(size).collect();
        let mut found = Distances {
            rate,
            again: [vec![0; sizes.len()], vec![0; sizes.len()]],
            sizes,
            largest: None,
            blocks: 0,
            writes: 0,
            accesses: 0,
            reuse: Spans::default(),
            overwrite: Spans::default(),
        };
        followed.blocks().for_each(|(_, accesses)| found.times(accesses));
        let mut stack = Stack::of(found.blocks as usize);
        let mut part = Vec::new();
        let bounds = bounds(followed, found.accesses);
        for (from, to) in bounds.iter().zip(&bounds[1..]) {
            gather(&mut part, followed, (*from, *to));
            for Touch { block, is_write, .. } in &part {
                if let Some(others) = stack.touch(*block) {
                    found.distance(others, *is_write);
                }
            }
        }
        found
    }

    /// Times between the accesses of one block.
    fn times(&mut self, accesses: Accesses<'_>) {
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

    fn distance(&mut self, others: u64, is_write: bool) {
        self.largest = self.largest.max(Some(others));
        let blocks = self.blocks_of(others);
        let at = self.sizes.partition_point(|size| blocks > *size);
        if let Some(count) = self.again[usize::from(is_write)].get_mut(at) {
            *count += 1;
        }
    }

    /// The cache that holds a block which was touched so many others ago.
    fn blocks_of(&self, others: u64) -> f64 {
        others as f64 / self.rate + 1.0
    }

    /// The share that a cache of each size in blocks misses of all accesses and of reads, up
    /// to the one that holds everything touched; `reads` and `writes` are those of all blocks.
    pub(super) fn curve(&self, reads: u64, writes: u64) -> Vec<(u64, f64, Option<f64>)> {
        let Some(largest) = self.largest else { return Vec::new() };
        let steps = (self.blocks_of(largest).log2() * f64::from(PER_DOUBLING)).ceil() as usize;
        // Sampled accesses are more or fewer than their share: the difference is
        // taken for accesses at no distance (SHARDS adj), which every cache hits.
        let misses = |hits: u64, sampled: u64, all: u64| {
            let missed = sampled as f64 - hits as f64;
            (all > 0).then(|| (missed / (all as f64 * self.rate)).clamp(0.0, 1.0))
        };
        let mut hits = [0; 2];
        let curve = self.sizes.iter().enumerate().take(steps + 1).map(|(at, size)| {
            hits = [0, 1].map(|kind| hits[kind] + self.again[kind][at]);
            let read = misses(hits[0], self.accesses - self.writes, reads);
            let write = misses(hits[1], self.writes, writes);
            let both = |kind: Option<f64>, of: u64| kind.unwrap_or(0.0) * of as f64;
            let all = (both(read, reads) + both(write, writes)) / (reads + writes) as f64;
            (*size as u64, all, read)
        });
        curve.collect()
    }
}

/// An access in the order of all. Each I/O has a time of its own; of its blocks that of the
/// lower address comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Touch {
    at: Moment,
    block: u32,
    is_write: bool,
}

/// A time, and the number of a block.
type Moment = (u64, u64);

/// Moments between which about [`PART`] accesses lie, the first and the last beyond all.
fn bounds(followed: &Followed, accesses: u64) -> Vec<Moment> {
    let every = (accesses / BOUNDS_OF).max(1) as usize;
    let moments = followed.blocks().flat_map(|(hash, accesses)| {
        let number = unmixed(hash);
        accesses.map(move |access| (access >> 1, number))
    });
    let mut some: Vec<Moment> = moments.step_by(every).collect();
    some.sort_unstable();
    let parts = accesses / PART + 1;
    let between = (1..parts).map(|part| some[part as usize * some.len() / parts as usize]);
    let last = (u64::MAX, u64::MAX);
    [(0, 0)].into_iter().chain(between).chain([last]).collect()
}

/// The accesses from a moment up to another, in their order.
fn gather(part: &mut Vec<Touch>, followed: &Followed, (from, to): (Moment, Moment)) {
    part.clear();
    for ((hash, accesses), block) in followed.blocks().zip(0..) {
        let number = unmixed(hash);
        let touches = accesses.map(|access| Touch {
            at: (access >> 1, number),
            block,
            is_write: access & 1 == 1,
        });
        let inside = touches.skip_while(|touch| touch.at < from);
        part.extend(inside.take_while(|touch| touch.at < to));
    }
    part.sort_unstable();
}

/// Blocks in the order of their last accesses: each has one place, the later the further
/// back. A tree (Fenwick's) counts how many lie before a place.
struct Stack {
    /// Of each block the number of its place, from 1; 0 before it was touched.
    places: Vec<u32>,
    /// Whose place each is or was.
    blocks: Vec<u32>,
    tree: Vec<u32>,
    /// Blocks that have a place.
    touched: u32,
}

impl Stack {
    /// Of so many blocks, none of which was touched yet.
    fn of(blocks: usize) -> Self {
        // Places are given anew when all were used: seldom, where they are twice as many.
        let places = blocks.saturating_mul(2).max(64);
        Stack {
            places: vec![0; blocks],
            blocks: Vec::with_capacity(places),
            tree: vec![0; places + 1],
            touched: 0,
        }
    }

    /// Touches a block; how many others were touched since it was touched last.
    fn touch(&mut self, block: u32) -> Option<u64> {
        if self.blocks.len() + 1 == self.tree.len() {
            self.give_anew();
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

    /// Gives the blocks the first places, in their order.
    fn give_anew(&mut self) {
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

    fn count(&mut self, place: u32, one_more: bool) {
        let mut at = place as usize;
        while let Some(count) = self.tree.get_mut(at) {
            *count = if one_more { *count + 1 } else { *count - 1 };
            at += at & at.wrapping_neg();
        }
    }

    /// Blocks up to a place, it included.
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
    use super::*;
    use steadfast_domain::step::mix64;

    #[test]
    fn distances_are_those_of_a_list_whatever_places_are_given_anew() {
        let (mut stack, mut list) = (Stack::of(37), Vec::new());
        for at in 0..3001 {
            let block = ((mix64(at) % 37) * (mix64(at + 1) % 37) / 37) as u32;
            let found = list.iter().rev().position(|kept| *kept == block);
            assert_eq!(stack.touch(block), found.map(|others| others as u64));
            list.retain(|kept| *kept != block);
            list.push(block);
        }
    }

    #[test]
    fn accesses_of_one_moment_are_parted_too() {
        let mut followed = Followed::new(usize::MAX);
        followed.take(&mut (0..2 * PART).map(|at| (mix64(at), 7)).collect());
        followed.pack();
        let bounds = bounds(&followed, 2 * PART);
        assert_eq!(bounds.len(), 4);
        let mut part = Vec::new();
        let sizes = bounds.windows(2).map(|bounds| {
            gather(&mut part, &followed, (bounds[0], bounds[1]));
            part.len() as u64
        });
        let sizes: Vec<u64> = sizes.collect();
        assert_eq!(sizes.iter().sum::<u64>(), 2 * PART);
        assert!(sizes.iter().all(|size| *size < PART), "{sizes:?}");
    }
}
