//! Response-time histograms with a bounded error, and their percentiles.
//!
//! Buckets are log-linear: every value below `2^(BITS+1)` ns has its own bucket; above that, every
//! power of two is split into `2^BITS` equal buckets, so a bucket is never wider than `1/2^BITS` of
//! the values in it. [`FineHistogram`] (7 bits: 0.78 %) holds the response times of a step,
//! [`CoarseHistogram`] (4 bits: 6.25 %) those of one second, [`QuarterHistogram`] (2 bits: 25 %)
//! those that a capture accumulates in the kernel. A percentile is reported as the upper edge of
//! its bucket: it may be too long by the bucket width, never too short, except in the last bucket,
//! which has no upper limit.
//!
//! The buckets match those of HdrHistogram (the tests compare with that library). This
//! implementation exists because the engines index it once per I/O and the journal stores it by the
//! million.

use crate::text::excerpt;
use crate::units::Nanos;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Number of I/Os that must lie beyond a percentile for it to be printed: a smaller tail is chance.
pub const MIN_IOS_BEYOND_PERCENTILE: u64 = 10;

/// Histogram of a step.
pub type FineHistogram = Histogram<7>;
/// Histogram of one interval.
pub type CoarseHistogram = Histogram<4>;
/// Histogram of an I/O stream that a capture accumulates in the kernel.
pub type QuarterHistogram = Histogram<2>;

/// Response times of 2^42 ns (over an hour) or more are counted in the last bucket.
const MAX_BITS: u32 = 42;

/// Histogram of response times: the buckets with a nonzero count, in ascending order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram<const BITS: u32> {
    buckets: Vec<(u32, u64)>,
}

impl<const BITS: u32> Histogram<BITS> {
    /// Number of buckets of a dense array for this histogram.
    pub const LEN: usize = ((MAX_BITS - BITS) as usize + 1) << BITS;

    /// Returns the bucket index of a response time in nanoseconds.
    #[inline(always)]
    pub const fn index(ns: u64) -> usize {
        let width = 64 - (ns | 1).leading_zeros();
        if width <= BITS + 1 {
            return ns as usize;
        }
        if width > MAX_BITS {
            return Self::LEN - 1;
        }
        let shift = width - BITS - 1;
        ((shift as usize) << BITS) + (ns >> shift) as usize
    }

    /// Returns the smallest and the largest response time of a bucket, in nanoseconds.
    pub const fn bounds(index: usize) -> (u64, u64) {
        if index < 2 << BITS {
            return (index as u64, index as u64);
        }
        let shift = (index >> BITS) as u32 - 1;
        let low = ((index & ((1 << BITS) - 1)) as u64 + (1 << BITS)) << shift;
        (low, low + (1 << shift) - 1)
    }

    /// Creates a histogram from a dense array of counts, as an engine fills it.
    pub fn from_dense<C: Copy + Into<u64>>(counts: &[C]) -> Self {
        let buckets = (0..).zip(counts).map(|(index, count)| (index, Into::<u64>::into(*count)));
        Histogram { buckets: buckets.filter(|(_, count)| *count > 0).collect() }
    }

    /// Creates a histogram of response times in nanoseconds, each with its number of I/Os.
    pub fn from_counts(counts: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut dense = vec![0u64; Self::LEN];
        for (ns, ios) in counts {
            dense[Self::index(ns)] += ios;
        }
        Self::from_dense(&dense)
    }

    /// Returns smallest value, largest value and count of each bucket with a nonzero count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, Nanos, u64)> + '_ {
        self.buckets.iter().map(|(index, count)| {
            let (low, high) = Self::bounds(*index as usize);
            (Nanos(low), Nanos(high), *count)
        })
    }

    /// Returns the number of response times.
    pub fn total(&self) -> u64 {
        self.buckets.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        let mut merged = Vec::with_capacity(self.buckets.len().max(other.buckets.len()));
        let (mut left, mut right) =
            (self.buckets.iter().peekable(), other.buckets.iter().peekable());
        loop {
            let next = match (left.peek(), right.peek()) {
                (Some(a), Some(b)) if a.0 == b.0 => (a.0, a.1.saturating_add(b.1)),
                (Some(a), Some(b)) if a.0 < b.0 => **a,
                (Some(a), None) => **a,
                (_, Some(b)) => **b,
                (None, None) => break,
            };
            left.next_if(|a| a.0 == next.0);
            right.next_if(|b| b.0 == next.0);
            merged.push(next);
        }
        self.buckets = merged;
    }

    /// Returns the same counts in wider buckets.
    pub fn coarsen<const WIDER: u32>(&self) -> Histogram<WIDER> {
        let mut coarse = Histogram::<WIDER>::default();
        for (low, _, count) in self.buckets() {
            let index = Histogram::<WIDER>::index(low.0) as u32;
            match coarse.buckets.last_mut() {
                Some(last) if last.0 == index => last.1 += count,
                _ => coarse.buckets.push((index, count)),
            }
        }
        coarse
    }

    /// Returns the response time that `fraction` of the I/Os did not exceed: the upper edge of its
    /// bucket. `None` if the histogram is empty.
    ///
    /// ```
    /// use steadfast_domain::{FineHistogram, Nanos};
    /// let histogram = FineHistogram::from_counts([(100, 99), (1_000, 1)]);
    /// assert_eq!(histogram.percentile(0.99), Some(Nanos(100)));
    /// assert_eq!(histogram.reportable_percentile(0.99), None); // only one I/O lies beyond it
    /// ```
    pub fn percentile(&self, fraction: f64) -> Option<Nanos> {
        let rank = self.rank(fraction)?;
        let mut seen = 0;
        self.buckets().find_map(|(_, high, count)| {
            seen += count;
            (seen >= rank).then_some(high)
        })
    }

    /// Returns the same as [`Self::percentile`], but `None` if fewer than
    /// [`MIN_IOS_BEYOND_PERCENTILE`] I/Os lie beyond it, or if it lies in the last bucket, which has
    /// no upper limit.
    pub fn reportable_percentile(&self, fraction: f64) -> Option<Nanos> {
        let rank = self.rank(fraction)?;
        let beyond = self.total() - rank;
        let found = self.percentile(fraction).filter(|_| beyond >= MIN_IOS_BEYOND_PERCENTILE)?;
        // Values in the last bucket have no known upper limit.
        (Self::index(found.0) < Self::LEN - 1).then_some(found)
    }

    fn rank(&self, fraction: f64) -> Option<u64> {
        let total = self.total();
        let exact = fraction * total as f64;
        // A product that misses an integer only by the rounding of binary fractions is that integer.
        let rank = if (exact - exact.round()).abs() <= exact * 4.0 * f64::EPSILON {
            exact.round() as u64
        } else {
            exact.ceil() as u64
        };
        (total > 0).then(|| rank.clamp(1, total))
    }

    /// Formats the histogram as text: `index-step[:count]` for every bucket, where a count of 1 is
    /// omitted.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        let mut last = 0;
        for (index, count) in &self.buckets {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(&(index - last).to_string());
            if *count != 1 {
                text.push(':');
                text.push_str(&count.to_string());
            }
            last = *index;
        }
        text
    }

    /// Parses the text that [`Self::encode`] produces; `None` if it is not valid.
    pub fn decode(text: &str) -> Option<Self> {
        let (mut index, mut total) = (0u32, 0u64);
        let mut buckets: Vec<(u32, u64)> = Vec::new();
        for word in text.split_whitespace() {
            let (step, count) = word.split_once(':').unwrap_or((word, "1"));
            let step: u32 = step.parse().ok()?;
            let count: u64 = count.parse().ok()?;
            index = index.checked_add(step)?;
            total = total.checked_add(count)?;
            let ascending = step > 0 || buckets.is_empty();
            if !ascending || count == 0 || index as usize >= Self::LEN {
                return None;
            }
            buckets.push((index, count));
        }
        Some(Histogram { buckets })
    }
}

impl<const BITS: u32> Serialize for Histogram<BITS> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

impl<const BITS: u32> schemars::JsonSchema for Histogram<BITS> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Histogram{BITS}").into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A histogram: see docs/formats.md.",
        })
    }
}

impl<'de, const BITS: u32> Deserialize<'de> for Histogram<BITS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::decode(&text).ok_or_else(|| {
            serde::de::Error::custom(format!(
                "'{}' is not a histogram of {BITS} bits",
                excerpt(&text)
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(values: &[u64]) -> FineHistogram {
        FineHistogram::from_counts(values.iter().map(|ns| (*ns, 1)))
    }

    #[test]
    fn buckets_are_contiguous() {
        let mut expected_low = 0;
        for index in 0..FineHistogram::LEN {
            let (low, high) = FineHistogram::bounds(index);
            assert_eq!(low, expected_low, "bucket {index}");
            assert_eq!(FineHistogram::index(low), index);
            assert_eq!(FineHistogram::index(high), index);
            assert!(high - low <= low >> 7);
            expected_low = high + 1;
        }
        assert_eq!(expected_low, 1 << MAX_BITS);
        assert_eq!(FineHistogram::index(u64::MAX), FineHistogram::LEN - 1);
    }

    #[test]
    fn a_percentile_needs_ten_ios_beyond_it() {
        let histogram = FineHistogram::from_counts((1..=1000).map(|n| (n * 1000, 1)));
        assert!(histogram.reportable_percentile(0.99).is_some());
        assert_eq!(histogram.reportable_percentile(0.991), None);
        assert_eq!(FineHistogram::default().percentile(0.5), None);
    }

    #[test]
    fn the_rank_of_a_percentile_is_exact() {
        for total in [1_000u64, 10_000, 100_000, 1_000_000, 30_000, 70_000, 1_100_000] {
            let histogram = FineHistogram { buckets: vec![(5, total)] };
            for (fraction, beyond) in [(0.9, 10), (0.99, 100), (0.999, 1_000)] {
                assert_eq!(histogram.rank(fraction), Some(total - total / beyond), "{total}");
            }
        }
        let two = FineHistogram { buckets: vec![(1, 99_999), (2, 1)] };
        assert_eq!(two.rank(0.999_991), Some(100_000));
    }

    #[test]
    fn counts_of_a_damaged_file_saturate() {
        let all = FineHistogram { buckets: vec![(1, u64::MAX)] };
        let mut sum = all.clone();
        sum.merge(&all);
        assert_eq!(sum, all);
        sum.merge(&histogram(&[7]));
        assert_eq!(sum.total(), u64::MAX);
    }

    #[test]
    fn broken_texts_are_refused() {
        let too_many = format!("1:{} 1:1", u64::MAX);
        for bad in ["x", "1:0", "5 0", "99999999", "4294967295 4294967295", "1:-2", &too_many] {
            assert!(FineHistogram::decode(bad).is_none(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_hdrhistogram(
            values in prop::collection::vec(1u64..(1 << 40), 1..400), q in 0.0f64..1.0
        ) {
            let ours = histogram(&values).percentile(q).unwrap().0 as f64;
            let mut oracle = hdrhistogram::Histogram::<u64>::new_with_bounds(1, 1 << 41, 4).unwrap();
            values.iter().for_each(|v| oracle.record(*v).unwrap());
            let theirs = oracle.value_at_quantile(q) as f64;
            prop_assert!(ours >= theirs * (1.0 - 1e-3) && ours <= theirs * (1.0 + 0.0079));
        }

        #[test]
        fn merging_parts_is_the_whole(
            left in prop::collection::vec(any::<u64>(), 0..200),
            right in prop::collection::vec(any::<u64>(), 0..200)
        ) {
            let mut merged = histogram(&left);
            merged.merge(&histogram(&right));
            let whole = histogram(&[left, right].concat());
            prop_assert_eq!(&merged, &whole);
            prop_assert_eq!(whole.coarsen::<4>().total(), whole.total());
        }

        #[test]
        fn text_and_back(values in prop::collection::vec(any::<u64>(), 0..200)) {
            let values = histogram(&values);
            prop_assert_eq!(FineHistogram::decode(&values.encode()), Some(values));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") { let _ = FineHistogram::decode(&text); }
    }
}
