//! The Kolmogorov-Smirnov distance between two distributions: the largest difference of their
//! cumulative shares. It is exact if both samples fit into memory; larger samples use fine
//! histograms, whose buckets bound the distance.

use steadfast_domain::{FineHistogram, Nanos};

/// Values per sample that are kept for the exact distance: 32 MB.
const EXACT_MAX: usize = 1 << 22;

/// The distance between two distributions.
#[derive(Debug, Clone, PartialEq)]
pub struct Distance {
    /// Largest difference of cumulative shares, 0 to 1; a lower bound if it is not exact.
    pub ks: f64,
    /// Upper bound of the distance; equal to `ks` if that is exact.
    pub at_most: f64,
    /// Number of values of each sample.
    pub counts: [u64; 2],
    /// Both distributions, to within 0.8 %.
    pub histograms: [FineHistogram; 2],
}

impl Distance {
    /// Returns whether the distance was computed from all values.
    pub fn is_exact(&self) -> bool {
        self.ks == self.at_most
    }

    /// Returns the distance between two samples; `None` if one of them is empty.
    pub(super) fn between(mut samples: [DistributionSample; 2]) -> Option<Distance> {
        let counts = [samples[0].count, samples[1].count];
        if counts.contains(&0) {
            return None;
        }
        let histograms = [0, 1].map(|side: usize| FineHistogram::from_dense(&samples[side].dense));
        let (ks, at_most) = if samples.iter().all(DistributionSample::is_whole) {
            samples.iter_mut().for_each(|sample| sample.values.sort_unstable());
            let ks = exact_distance(&samples[0].values, &samples[1].values);
            (ks, ks)
        } else {
            distance_bounds(&histograms)
        };
        Some(Distance { ks, at_most, counts, histograms })
    }
}

/// The values of one of the two samples.
#[derive(Clone)]
pub(super) struct DistributionSample {
    /// The first values, at most `exact_max`.
    values: Vec<u64>,
    exact_max: usize,
    /// Counts of all values by bucket of [`FineHistogram`].
    dense: Vec<u64>,
    /// Number of values.
    pub(super) count: u64,
}

impl Default for DistributionSample {
    fn default() -> Self {
        DistributionSample::keeping(EXACT_MAX)
    }
}

impl DistributionSample {
    /// Creates an empty sample that keeps this many values for the exact distance.
    pub(super) fn keeping(exact_max: usize) -> Self {
        DistributionSample {
            values: Vec::new(),
            exact_max,
            dense: vec![0; FineHistogram::LEN],
            count: 0,
        }
    }

    pub(super) fn add(&mut self, value: u64) {
        self.dense[FineHistogram::index(value)] += 1;
        self.count += 1;
        if self.values.len() < self.exact_max {
            self.values.push(value);
        }
    }

    fn is_whole(&self) -> bool {
        self.values.len() as u64 == self.count
    }
}

/// Returns the distance between two sorted samples.
fn exact_distance(a: &[u64], b: &[u64]) -> f64 {
    let (mut seen_a, mut seen_b, mut largest) = (0, 0, 0f64);
    while let (Some(next_a), Some(next_b)) = (a.get(seen_a), b.get(seen_b)) {
        // Skip all values equal to the smaller of the two: shares are compared after ties.
        let value = *next_a.min(next_b);
        seen_a += a[seen_a..].iter().take_while(|next| **next == value).count();
        seen_b += b[seen_b..].iter().take_while(|next| **next == value).count();
        let difference = seen_a as f64 / a.len() as f64 - seen_b as f64 / b.len() as f64;
        largest = largest.max(difference.abs());
    }
    largest
}

/// Returns the distance at the edges of all buckets, and the largest distance possible inside a
/// bucket.
fn distance_bounds(histograms: &[FineHistogram; 2]) -> (f64, f64) {
    let totals = [0, 1].map(|side: usize| histograms[side].total() as f64);
    let mut buckets: Vec<(Nanos, usize, u64)> = Vec::new();
    for (side, histogram) in histograms.iter().enumerate() {
        buckets.extend(histogram.buckets().map(|(low, _, count)| (low, side, count)));
    }
    buckets.sort_unstable();
    let (mut seen, mut ks, mut at_most) = ([0u64; 2], 0f64, 0f64);
    let mut rest = &buckets[..];
    while let Some((low, _, _)) = rest.first() {
        let equal = rest.iter().take_while(|(other, _, _)| other == low).count();
        let before = seen;
        rest[..equal].iter().for_each(|(_, side, count)| seen[*side] += count);
        rest = &rest[equal..];
        let share = |counts: [u64; 2], side: usize| counts[side] as f64 / totals[side];
        ks = ks.max((share(seen, 0) - share(seen, 1)).abs());
        let inside = (share(seen, 0) - share(before, 1)).max(share(seen, 1) - share(before, 0));
        at_most = at_most.max(inside);
    }
    (ks, at_most.max(ks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn distance(exact_max: usize, a: &[u64], b: &[u64]) -> Distance {
        let sample = |values: &[u64]| {
            let mut sample = DistributionSample::keeping(exact_max);
            values.iter().for_each(|value| sample.add(*value));
            sample
        };
        Distance::between([sample(a), sample(b)]).unwrap()
    }

    #[test]
    fn distances_worked_out_by_hand() {
        let ks = |a: &[u64], b: &[u64]| distance(EXACT_MAX, a, b).ks;
        assert_eq!(ks(&[1, 2, 3, 4], &[1, 2, 3, 4]), 0.0);
        let repeated = [4, 3, 2, 1, 1, 2, 3, 4];
        assert_eq!(ks(&[1, 2, 3, 4], &repeated), 0.0, "order and number do not count");
        assert_eq!(ks(&[1, 2], &[10, 20, 30]), 1.0);
        // After 2: 2/4 versus 0/5; after 3: 3/4 versus 1/5; after 4: 1 versus 2/5.
        assert_eq!(ks(&[1, 2, 3, 4], &[3, 4, 5, 6, 7]), 0.6);
        // Ties: after 5 all of the first and half of the second.
        assert_eq!(ks(&[5, 5, 5], &[5, 5, 9, 9]), 0.5);
        assert_eq!(ks(&[100], &[100, 101]), 0.5);
        let empty = [DistributionSample::default(), DistributionSample::default()];
        assert!(Distance::between(empty).is_none());
    }

    #[test]
    fn the_distance_of_large_samples_is_bounded_by_histograms() {
        let a: Vec<u64> = (0..5000).map(|n| 1_000_000 + n).collect();
        let b: Vec<u64> = (0..5000).map(|n| 1_002_500 + n).collect();
        let exact = distance(EXACT_MAX, &a, &b);
        assert_eq!((exact.ks, exact.is_exact()), (0.5, true));
        let bounded = distance(100, &a, &b);
        assert!(!bounded.is_exact() && bounded.counts == [5000, 5000]);
        assert!(bounded.ks <= 0.5 && 0.5 <= bounded.at_most, "{bounded:?}");
    }

    proptest! {
        #[test]
        fn the_exact_distance_agrees_with_its_definition_and_lies_within_the_bound(
            a in prop::collection::vec(0u64..5000, 1..120),
            b in prop::collection::vec(0u64..5000, 1..120)
        ) {
            let share = |values: &[u64], x: u64| {
                values.iter().filter(|value| **value <= x).count() as f64 / values.len() as f64
            };
            let everywhere = a.iter().chain(&b).map(|x| (share(&a, *x) - share(&b, *x)).abs());
            let defined = everywhere.fold(0.0, f64::max);
            prop_assert!((distance(EXACT_MAX, &a, &b).ks - defined).abs() < 1e-12);
            let bounded = distance(0, &a, &b);
            prop_assert!(bounded.ks <= defined + 1e-12 && defined <= bounded.at_most + 1e-12);
        }
    }
}
