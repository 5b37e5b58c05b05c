//! Bucket counts of the fine histogram in little memory: only used octaves take any, and small
//! counts take 16 bits. A capture may have 32,768 streams.

use std::collections::BTreeMap;
use steadfast_domain::FineHistogram;

const OCTAVE: usize = 128;
const OCTAVES: usize = FineHistogram::LEN / OCTAVE;

#[derive(Debug, Clone)]
pub(crate) struct BucketCounts {
    /// End of each octave within `counts`; 0 for an octave without counts.
    ends: [u16; OCTAVES],
    /// Counts of the used octaves, in order of their first use. Each wraps to 0 on overflow.
    counts: Vec<u16>,
    /// Overflow of the counts, by bucket.
    carried: BTreeMap<u16, u64>,
}

impl Default for BucketCounts {
    fn default() -> Self {
        BucketCounts { ends: [0; OCTAVES], counts: Vec::new(), carried: BTreeMap::new() }
    }
}

impl PartialEq for BucketCounts {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for BucketCounts {}

impl BucketCounts {
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns the index of a bucket in `counts`. It is far out of bounds if the octave is unused.
    #[inline]
    fn place(&self, index: usize) -> usize {
        (usize::from(self.ends[index / OCTAVE]) + index % OCTAVE).wrapping_sub(OCTAVE)
    }

    #[inline]
    pub(crate) fn count(&mut self, index: usize) {
        let place = self.place(index);
        let Some(count) = self.counts.get_mut(place) else { return self.add(index, 1) };
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.carry(index, 1 << u16::BITS);
        }
    }

    /// Adds the overflow of a count.
    #[cold]
    fn carry(&mut self, index: usize, more: u64) {
        let carried = self.carried.entry(index as u16).or_default();
        *carried = carried.saturating_add(more);
    }

    #[inline(never)]
    pub(crate) fn add(&mut self, index: usize, more: u64) {
        if self.ends[index / OCTAVE] == 0 {
            self.begin_octave(index / OCTAVE);
        }
        let place = self.place(index);
        let Some(count) = self.counts.get_mut(place) else { return };
        let sum = more.saturating_add(u64::from(*count));
        *count = u16::try_from(sum).unwrap_or(0);
        if *count == 0 && sum > 0 {
            self.carry(index, sum);
        }
    }

    fn begin_octave(&mut self, number: usize) {
        // Reserves no spare memory, because a stream seldom uses many octaves.
        self.counts.reserve_exact(OCTAVE);
        self.counts.resize(self.counts.len() + OCTAVE, 0);
        self.ends[number] = self.counts.len() as u16;
    }

    pub(crate) fn merge(&mut self, other: &BucketCounts) {
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        other.iter().for_each(|(index, count)| self.add(index, count));
    }

    /// Returns the non-empty buckets, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let octaves = self.ends.iter().enumerate().filter(|(_, end)| **end > 0);
        let buckets = octaves.flat_map(|(number, _)| number * OCTAVE..(number + 1) * OCTAVE);
        buckets.map(|index| (index, self.get(index))).filter(|(_, count)| *count > 0)
    }

    fn get(&self, index: usize) -> u64 {
        let count = self.counts.get(self.place(index)).copied().unwrap_or(0);
        let carried = self.carried.get(&(index as u16)).copied().unwrap_or(0);
        carried.saturating_add(u64::from(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_the_same_however_wide_they_are_kept() {
        let last = FineHistogram::LEN - 1;
        let mut one_by_one = BucketCounts::default();
        assert!(one_by_one.is_empty());
        for _ in 0..70_000 {
            one_by_one.count(last);
        }
        (0..9).for_each(|_| one_by_one.count(3));
        one_by_one.count(0);
        let mut at_once = BucketCounts::default();
        [(0, 1), (3, 9), (last, 65_535), (last, 4_465)]
            .into_iter()
            .for_each(|(index, count)| at_once.add(index, count));
        assert_eq!(one_by_one, at_once);
        assert_eq!(at_once.iter().collect::<Vec<_>>(), [(0, 1), (3, 9), (last, 70_000)]);
        at_once.merge(&one_by_one);
        assert_eq!(at_once.iter().collect::<Vec<_>>(), [(0, 2), (3, 18), (last, 140_000)]);
        let mut merged = BucketCounts::default();
        merged.merge(&at_once);
        assert_eq!(merged, at_once);
        merged.add(4, 1);
        assert_ne!(merged, at_once);
    }
}
