//! Counts by bucket: every bucket at hand while they are counted ([`Dense`]), only those
//! that hold something once they are kept ([`Sparse`]).

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bits of a count. The bucket is in the bits above; what does not fit stands in a second
/// entry.
const COUNT_BITS: u32 = 22;
const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;
/// Buckets that can be kept.
const BUCKETS_MAX: usize = 1 << (u32::BITS - COUNT_BITS);

/// Counts that grow.
#[derive(Debug, Clone, Default)]
pub struct Dense {
    counts: Vec<u32>,
    /// The buckets that may hold something: from the first to before the second.
    low: usize,
    end: usize,
}

impl Dense {
    /// So many buckets, all empty.
    pub fn new(buckets: usize) -> Self {
        debug_assert!(buckets <= BUCKETS_MAX);
        Dense { counts: vec![0; buckets], low: buckets, end: 0 }
    }

    /// Counts one more.
    #[inline]
    pub fn count(&mut self, bucket: usize) {
        self.add(bucket, 1);
    }

    /// Counts more.
    #[inline]
    pub fn add(&mut self, bucket: usize, more: u32) {
        let count = &mut self.counts[bucket];
        *count = count.saturating_add(more);
        self.low = self.low.min(bucket);
        self.end = self.end.max(bucket + 1);
    }

    /// The buckets that hold something.
    pub fn filled(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let counts = self.counts.get(self.low..self.end).unwrap_or_default();
        (self.low..).zip(counts).filter(|(_, count)| **count > 0).map(|(at, count)| (at, *count))
    }
}

/// Counts of many histograms, one after the other.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sparse {
    entries: Vec<u32>,
}

/// Where the counts of one histogram are.
pub type Place = Range<u32>;

impl Sparse {
    /// Keeps what was counted, and empties it.
    pub fn keep(&mut self, dense: &mut Dense) -> Place {
        let begin = self.entries.len() as u32;
        for bucket in dense.low..dense.end {
            let count = std::mem::take(&mut dense.counts[bucket]);
            self.push(bucket as u32, count);
        }
        (dense.low, dense.end) = (dense.counts.len(), 0);
        begin..self.entries.len() as u32
    }

    fn push(&mut self, bucket: u32, mut count: u32) {
        while count > 0 {
            let now = count.min(COUNT_MAX);
            self.entries.push(bucket << COUNT_BITS | now);
            count -= now;
        }
    }

    /// The counts of a histogram by bucket; a bucket may come several times.
    pub fn of(&self, place: &Place) -> impl Iterator<Item = (usize, u32)> + '_ {
        let entries = self.entries.get(place.start as usize..place.end as usize);
        let split = |entry: &u32| ((entry >> COUNT_BITS) as usize, entry & COUNT_MAX);
        entries.unwrap_or_default().iter().map(split)
    }

    /// Adds the counts of a histogram up; what has no bucket there is left out.
    pub fn add_to(&self, place: &Place, sums: &mut [u64]) {
        for (bucket, count) in self.of(place) {
            if let Some(sum) = sums.get_mut(bucket) {
                *sum += u64::from(count);
            }
        }
    }

    /// The same to narrower sums.
    pub fn add_to_narrow(&self, place: &Place, sums: &mut [u32]) {
        for (bucket, count) in self.of(place) {
            if let Some(sum) = sums.get_mut(bucket) {
                *sum = sum.saturating_add(count);
            }
        }
    }

    /// Takes in others; gives where they begin.
    pub fn append(&mut self, other: Sparse) -> u32 {
        let begin = self.entries.len() as u32;
        if self.entries.is_empty() {
            self.entries = other.entries;
        } else {
            self.entries.extend_from_slice(&other.entries);
        }
        begin
    }

    /// Gives back memory that is not needed.
    pub fn shrink(&mut self) {
        self.entries.shrink_to_fit();
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.entries.len() * size_of::<u32>()
    }
}

/// A place among counts that were appended.
pub fn later(place: &Place, begin: u32) -> Place {
    place.start + begin..place.end + begin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_counted() {
        let mut dense = Dense::new(BUCKETS_MAX);
        let mut sparse = Sparse::default();
        dense.count(3);
        dense.add(BUCKETS_MAX - 1, COUNT_MAX + 5);
        assert_eq!(dense.filled().collect::<Vec<_>>(), [(3, 1), (1023, COUNT_MAX + 5)]);
        let first = sparse.keep(&mut dense);
        assert_eq!(dense.filled().count(), 0);
        dense.add(7, 2);
        let second = sparse.keep(&mut dense);
        let mut joined = sparse.clone();
        let begin = joined.append(sparse);
        for place in [first.clone(), later(&first, begin)] {
            let mut sums = vec![0; BUCKETS_MAX];
            joined.add_to(&place, &mut sums);
            assert_eq!((sums[3], sums[7], sums[1023]), (1, 0, u64::from(COUNT_MAX) + 5));
        }
        assert_eq!(joined.of(&later(&second, begin)).collect::<Vec<_>>(), [(7, 2)]);
        assert_eq!(joined.of(&(900..1000)).count(), 0);
    }
}
