//! Response times: exact count, sum and maximum, and a histogram that takes memory only for the
//! octaves in use.

use crate::cells::Times;
use crate::sums::buckets::BucketCounts;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use steadfast_domain::FineHistogram;
use steadfast_tracefile::cube_file::TimeSums;

/// Share of the I/Os that the histogram must hold before percentiles are reported.
pub(super) const HISTOGRAM_SHARE_MIN: f64 = 0.99;

/// Sums and histogram of response times. Merging two gives those of both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResponseHistogram {
    /// Number, sum and maximum.
    pub total: TimeSums,
    buckets: BucketCounts,
}

impl ResponseHistogram {
    /// Adds one response time.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.total.add(ns);
        self.buckets.count(FineHistogram::index(ns));
    }

    pub(crate) fn add_times(&mut self, times: &Times) {
        self.total.merge(times.total);
        for (index, count) in &times.buckets {
            self.buckets.add(usize::from(*index), *count);
        }
    }

    /// Returns the sums as a fold file stores them.
    pub(crate) fn times(&self) -> Times {
        let buckets = self.buckets.iter().map(|(index, count)| (index as u16, count));
        Times { total: self.total, buckets: buckets.collect() }
    }

    /// Adds the response times of another part.
    pub fn merge(&mut self, other: &ResponseHistogram) {
        self.total.merge(other.total);
        self.buckets.merge(&other.buckets);
    }

    /// Moves the histogram of another part here if this one is empty, so that [`Self::merge`] need
    /// not copy it.
    pub(crate) fn take_over(&mut self, other: &mut ResponseHistogram) {
        if self.buckets.is_empty() {
            std::mem::swap(&mut self.buckets, &mut other.buckets);
        }
    }

    /// Returns count, sum and maximum, without the histogram.
    pub(crate) fn without_histogram(&self) -> Self {
        ResponseHistogram { total: self.total, buckets: BucketCounts::default() }
    }

    /// Returns the histogram.
    pub fn histogram(&self) -> FineHistogram {
        let mut dense = vec![0u64; FineHistogram::LEN];
        self.buckets.iter().for_each(|(index, count)| dense[index] = count);
        FineHistogram::from_dense(&dense)
    }

    /// Returns the figures of a report.
    pub fn figures(&self) -> ResponseFigures {
        let histogram = self.histogram();
        // Percentiles of a part of the I/Os would not be those of all. The tolerance allows for
        // counters of the kernel that were read at slightly different times.
        let of_all = histogram.total() as f64 >= self.total.count as f64 * HISTOGRAM_SHARE_MIN;
        let percentile = |fraction| {
            let found = histogram.reportable_percentile(fraction).filter(|_| of_all)?;
            Some(found.0.min(self.total.max_ns))
        };
        ResponseFigures {
            count: self.total.count,
            mean_ns: self.total.mean_ns(),
            p50_ns: percentile(0.5),
            p99_ns: percentile(0.99),
            p99_9_ns: percentile(0.999),
            p99_99_ns: percentile(0.9999),
            p99_999_ns: percentile(0.99999),
            max_ns: self.total.longest_ns(),
        }
    }
}

/// Serialized form of [`ResponseHistogram`]: the sums and the non-empty buckets.
type SerializedHistogram = (TimeSums, Vec<(u32, u64)>);

impl Serialize for ResponseHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let buckets = self.buckets.iter().map(|(index, count)| (index as u32, count));
        let serialized: SerializedHistogram = (self.total, buckets.collect());
        serialized.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ResponseHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (total, buckets) = SerializedHistogram::deserialize(deserializer)?;
        let mut responses = ResponseHistogram { total, buckets: BucketCounts::default() };
        for (index, count) in buckets {
            if index as usize >= FineHistogram::LEN {
                return Err(serde::de::Error::custom("no such bucket"));
            }
            responses.buckets.add(index as usize, count);
        }
        Ok(responses)
    }
}

/// Response times in nanoseconds; a percentile only where at least ten I/Os lie
/// beyond it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ResponseFigures {
    /// I/Os whose completion was seen.
    pub count: u64,
    /// Average (ART).
    pub mean_ns: Option<u64>,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99 %.
    pub p99_ns: Option<u64>,
    /// 99.9 %.
    pub p99_9_ns: Option<u64>,
    /// 99.99 %.
    pub p99_99_ns: Option<u64>,
    /// Five nines.
    pub p99_999_ns: Option<u64>,
    /// Maximum (MRT).
    pub max_ns: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_in_the_last_bucket_is_not_known() {
        let mut times = ResponseHistogram::default();
        (0..1000).for_each(|_| times.add(1 << 20));
        (0..400).for_each(|n| times.add((1 << 43) + n));
        let figures = times.figures();
        assert!(figures.p50_ns.is_some_and(|ns| ns < 1 << 21));
        assert_eq!((figures.p99_ns, figures.max_ns), (None, Some((1 << 43) + 399)));
    }
}
