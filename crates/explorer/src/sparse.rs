//! Counts by bucket: [`DenseCounts`] holds every bucket while counting, [`SparseCounts`] stores only the
//! buckets that are not empty.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bits of a count; the bits above hold the bucket. A larger count is split over several entries.
const COUNT_BITS: u32 = 22;
const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;
/// Maximum number of buckets that can be stored.
const BUCKETS_MAX: usize = 1 << (u32::BITS - COUNT_BITS);

/// Counts that are being filled.
#[derive(Debug, Clone, Default)]
pub struct DenseCounts {
    counts: Vec<u32>,
    /// The buckets from `low` to before `end` may be non-empty.
    low: usize,
    end: usize,
}

impl DenseCounts {
    /// Creates `buckets` empty buckets.
    pub fn new(buckets: usize) -> Self {
        debug_assert!(buckets <= BUCKETS_MAX);
        DenseCounts { counts: vec![0; buckets], low: buckets, end: 0 }
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
        *count = count.saturating_add(more);
        self.low = self.low.min(bucket);
        self.end = self.end.max(bucket + 1);
    }

    /// Iterates over the non-empty buckets and their counts.
    pub fn filled(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        let counts = self.counts.get(self.low..self.end).unwrap_or_default();
        (self.low..).zip(counts).filter(|(_, count)| **count > 0).map(|(at, count)| (at, *count))
    }
}

/// Counts of many histograms, one after the other.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SparseCounts {
    entries: Vec<u32>,
}

/// Range of the entries of one histogram.
pub type EntryRange = Range<u32>;

impl SparseCounts {
    /// Stores the counts and clears `dense`.
    pub fn keep(&mut self, dense: &mut DenseCounts) -> EntryRange {
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

    /// Iterates over the counts of a histogram by bucket. A bucket may occur several times.
    pub fn of(&self, place: &EntryRange) -> impl Iterator<Item = (usize, u32)> + '_ {
        let entries = self.entries.get(place.start as usize..place.end as usize);
        let split = |entry: &u32| ((entry >> COUNT_BITS) as usize, entry & COUNT_MAX);
        entries.unwrap_or_default().iter().map(split)
    }

    /// Adds the counts of a histogram to `sums`. Buckets beyond the end of `sums` are ignored.
    pub fn add_to(&self, place: &EntryRange, sums: &mut [u64]) {
        for (bucket, count) in self.of(place) {
            if let Some(sum) = sums.get_mut(bucket) {
                *sum += u64::from(count);
            }
        }
    }

    /// Adds the counts of a histogram to 32-bit sums, saturating.
    pub fn add_to_narrow(&self, place: &EntryRange, sums: &mut [u32]) {
        for (bucket, count) in self.of(place) {
            if let Some(sum) = sums.get_mut(bucket) {
                *sum = sum.saturating_add(count);
            }
        }
    }

    /// Appends other counts. Returns the index at which they begin.
    pub fn append(&mut self, other: SparseCounts) -> u32 {
        let begin = self.entries.len() as u32;
        if self.entries.is_empty() {
            self.entries = other.entries;
        } else {
            self.entries.extend_from_slice(&other.entries);
        }
        begin
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

/// Returns the place of a histogram after its counts were appended at `begin`.
pub fn later(place: &EntryRange, begin: u32) -> EntryRange {
    place.start + begin..place.end + begin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_what_was_counted() {
        let mut dense = DenseCounts::new(BUCKETS_MAX);
        let mut sparse = SparseCounts::default();
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
