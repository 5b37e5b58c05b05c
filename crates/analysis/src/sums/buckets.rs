//! Counts of the fine histogram's buckets, which take memory only where there are some,
//! and little where they are small: a capture may have 32,768 streams.

use std::collections::BTreeMap;
use steadfast_domain::FineHistogram;

/// Buckets of one octave.
const OCTAVE: usize = 128;
const OCTAVES: usize = FineHistogram::LEN / OCTAVE;

/// Counts by bucket.
#[derive(Debug, Clone)]
pub(crate) struct Buckets {
    /// Where the counts of each octave end among `counts`; 0 where it counts nothing.
    ends: [u16; OCTAVES],
    /// Those of one octave after the other, in the order in which they came.
    counts: Vec<u16>,
    /// What became too large for those, to be added to them.
    carried: BTreeMap<u16, u64>,
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets { ends: [0; OCTAVES], counts: Vec::new(), carried: BTreeMap::new() }
    }
}

impl PartialEq for Buckets {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Buckets {}

impl Buckets {
    /// Whether nothing was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Where a bucket's count is; nowhere, far beyond the end, where its octave has none.
    #[inline]
    fn place(&self, index: usize) -> usize {
        (usize::from(self.ends[index / OCTAVE]) + index % OCTAVE).wrapping_sub(OCTAVE)
    }

    /// Counts one more in a bucket.
    #[inline]
    pub(crate) fn count(&mut self, index: usize) {
        let place = self.place(index);
        let Some(count) = self.counts.get_mut(place) else { return self.add(index, 1) };
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.carry(index, 1 << u16::BITS);
        }
    }

    /// Adds what became too large for a count.
    #[cold]
    fn carry(&mut self, index: usize, more: u64) {
        let carried = self.carried.entry(index as u16).or_default();
        *carried = carried.saturating_add(more);
    }

    /// Counts more in a bucket.
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
        // Exactly as much as it takes: a stream seldom has many.
        self.counts.reserve_exact(OCTAVE);
        self.counts.resize(self.counts.len() + OCTAVE, 0);
        self.ends[number] = self.counts.len() as u16;
    }

    /// Adds those of another part.
    pub(crate) fn merge(&mut self, other: &Buckets) {
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        other.iter().for_each(|(index, count)| self.add(index, count));
    }

    /// The buckets with a count, ascending.
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
        let mut one_by_one = Buckets::default();
        assert!(one_by_one.is_empty());
        for _ in 0..70_000 {
            one_by_one.count(last);
        }
        (0..9).for_each(|_| one_by_one.count(3));
        one_by_one.count(0);
        let mut at_once = Buckets::default();
        [(0, 1), (3, 9), (last, 65_535), (last, 4_465)]
            .into_iter()
            .for_each(|(index, count)| at_once.add(index, count));
        assert_eq!(one_by_one, at_once);
        assert_eq!(at_once.iter().collect::<Vec<_>>(), [(0, 1), (3, 9), (last, 70_000)]);
        at_once.merge(&one_by_one);
        assert_eq!(at_once.iter().collect::<Vec<_>>(), [(0, 2), (3, 18), (last, 140_000)]);
        let mut merged = Buckets::default();
        merged.merge(&at_once);
        assert_eq!(merged, at_once);
        merged.add(4, 1);
        assert_ne!(merged, at_once);
    }
}
