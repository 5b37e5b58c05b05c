//! Counts by bucket: [`DenseCounts`] holds every bucket while counting, [`SparseCounts`] stores only
//! the buckets that are not empty.

use serde::{Deserialize, Serialize};

/// Bits of a count; the bits above hold the bucket. A larger count is split over several entries.
const COUNT_BITS: u32 = 22;
const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;
const BUCKETS_MAX: usize = 1 << (u32::BITS - COUNT_BITS);

/// Counts that are being filled.
#[derive(Debug, Clone, Default)]
pub struct DenseCounts {
    counts: Vec<u32>,
    /// The non-empty buckets, in the order of their first count.
    filled: Vec<u16>,
    /// Buckets whose next count would have overflowed, with the counts that they held.
    overflowed: Vec<(u16, u32)>,
}

impl DenseCounts {
    /// Makes room for buckets below `buckets`.
    pub fn reserve(&mut self, buckets: usize) {
        debug_assert!(buckets <= BUCKETS_MAX);
        self.counts.resize(buckets, 0);
    }

    /// Creates `buckets` empty buckets.
    pub fn new(buckets: usize) -> Self {
        let mut counts = DenseCounts::default();
        counts.reserve(buckets);
        counts
    }

    /// Adds one to a bucket.
    #[inline]
    pub fn count(&mut self, bucket: usize) {
        self.add(bucket, 1);
    }

    /// Adds `more` to a bucket.
    #[inline]
    pub fn add(&mut self, bucket: usize, more: u32) {
        let count = &mut self.counts[bucket];
        if *count == 0 {
            self.filled.push(bucket as u16);
        }
        match count.checked_add(more) {
            Some(sum) => *count = sum,
            None => {
                self.overflowed.push((bucket as u16, *count));
                *count = more;
            }
        }
    }

    /// Clears all buckets; returns the non-empty ones with their counts, in ascending order. A
    /// bucket with more than a `u32` holds is returned in several parts, all but the last of them
    /// first.
    pub fn drain(&mut self) -> impl Iterator<Item = (u16, u32)> + '_ {
        self.filled.sort_unstable();
        let counts = &mut self.counts;
        let last = self.filled.drain(..);
        let last = last.map(|at| (at, std::mem::take(&mut counts[usize::from(at)])));
        self.overflowed.drain(..).chain(last)
    }
}

/// Counts of many histograms, one after the other. Each ends with an entry of 0.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SparseCounts {
    entries: Vec<u32>,
}

/// Place of the entries of one histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountsPlace(u32);

impl CountsPlace {
    /// Place of a histogram without counts.
    pub const EMPTY: CountsPlace = CountsPlace(u32::MAX);

    /// Returns the place after the counts were appended to others that end at `begin`.
    fn after(self, begin: usize) -> Self {
        if self == Self::EMPTY { self } else { CountsPlace(self.0 + begin as u32) }
    }
}

impl SparseCounts {
    /// Stores the counts and clears `dense`.
    pub fn keep(&mut self, dense: &mut DenseCounts) -> CountsPlace {
        if dense.filled.is_empty() {
            return CountsPlace::EMPTY;
        }
        let begin = self.entries.len() as u32;
        for (bucket, mut count) in dense.drain() {
            while count > 0 {
                let now = count.min(COUNT_MAX);
                self.entries.push(u32::from(bucket) << COUNT_BITS | now);
                count -= now;
            }
        }
        self.entries.push(0);
        CountsPlace(begin)
    }

    /// Iterates over the counts of a histogram by bucket. A bucket may occur several times.
    pub fn at(&self, place: CountsPlace) -> impl Iterator<Item = (usize, u32)> + '_ {
        let entries = self.entries.get(place.0 as usize..).unwrap_or_default();
        let split = |entry: &u32| ((entry >> COUNT_BITS) as usize, entry & COUNT_MAX);
        entries.iter().take_while(|entry| **entry != 0).map(split)
    }

    /// Appends other counts. Returns a function from their places there to those here.
    pub fn append(&mut self, other: SparseCounts) -> impl Fn(CountsPlace) -> CountsPlace + use<> {
        let begin = self.entries.len();
        if begin == 0 {
            self.entries = other.entries;
        } else {
            self.entries.extend_from_slice(&other.entries);
        }
        move |place| place.after(begin)
    }

    /// Frees unused capacity.
    pub fn shrink(&mut self) {
        self.entries.shrink_to_fit();
    }

    /// Returns the size in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.entries.len() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_counts_are_split_over_several_entries() {
        let (mut dense, mut sparse) = (DenseCounts::new(8), SparseCounts::default());
        dense.add(2, u32::MAX);
        dense.add(2, u32::MAX);
        dense.count(5);
        let place = sparse.keep(&mut dense);
        let mut sums = [0u64; 8];
        sparse.at(place).for_each(|(bucket, count)| sums[bucket] += u64::from(count));
        assert_eq!(sums, [0, 0, 2 * u64::from(u32::MAX), 0, 0, 1, 0, 0]);
        assert_eq!(sparse.keep(&mut dense), CountsPlace::EMPTY);
    }

    #[test]
    fn stored_counts_equal_those_counted() {
        let mut dense = DenseCounts::new(BUCKETS_MAX);
        let mut sparse = SparseCounts::default();
        dense.add(BUCKETS_MAX - 1, COUNT_MAX + 5);
        dense.count(3);
        let first = sparse.keep(&mut dense);
        assert_eq!(sparse.keep(&mut dense), CountsPlace::EMPTY);
        dense.add(7, 2);
        let second = sparse.keep(&mut dense);
        let mut joined = sparse.clone();
        let there = joined.append(sparse);
        for place in [first, there(first)] {
            let counts: Vec<_> = joined.at(place).collect();
            assert_eq!(counts, [(3, 1), (1023, COUNT_MAX), (1023, 5)]);
        }
        assert_eq!(joined.at(there(second)).collect::<Vec<_>>(), [(7, 2)]);
        assert_eq!(joined.at(there(CountsPlace::EMPTY)).count(), 0);
    }
}
