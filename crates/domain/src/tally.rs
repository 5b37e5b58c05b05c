//! Sums over sets of I/Os: what measurements and replayed scripts are made of.

use crate::histogram::FineHistogram;
use crate::stimulus::Op;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Counts and response times of a set of I/Os.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Tally {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: Bytes,
    /// All response times added up.
    pub response_sum: Nanos,
    /// The longest response time, exact.
    pub response_max: Nanos,
    /// Every response time, to within a bucket (0.78 %).
    pub histogram: FineHistogram,
    /// I/Os that were outstanding when the load ended. Their response times are in
    /// `response_sum`, `response_max` and `histogram`; they are in neither `ios` nor `bytes`,
    /// because they did not complete in the measured time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outstanding: u64,
}

impl Tally {
    /// Number of response times: the I/Os that completed in the measured time and those that
    /// were outstanding at its end.
    pub fn responses(&self) -> u64 {
        self.ios + self.outstanding
    }
    /// Mean response time, rounded to a nanosecond: for a time to be shown or compared with
    /// another. Calculations take [`Tally::response_mean_ms`].
    pub fn response_mean(&self) -> Option<Nanos> {
        mean(self.response_sum, self.responses())
    }
    /// Mean response time in milliseconds, not rounded; `None` if there is no response time.
    pub fn response_mean_ms(&self) -> Option<f64> {
        mean_ms(self.response_sum, self.responses())
    }
    /// Longest response time; `None` if there is no response time.
    pub fn response_longest(&self) -> Option<Nanos> {
        (self.responses() > 0).then_some(self.response_max)
    }
    /// A percentile, where at least ten I/Os lie beyond it; never beyond the
    /// longest response time.
    pub fn percentile(&self, fraction: f64) -> Option<Nanos> {
        Some(self.histogram.supported_quantile(fraction)?.min(self.response_max))
    }
    /// Adds another tally.
    pub fn merge(&mut self, other: &Tally) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.response_sum += other.response_sum;
        self.response_max = self.response_max.max(other.response_max);
        self.histogram.merge(&other.histogram);
        self.outstanding += other.outstanding;
    }
}

/// The mean of this many response times, rounded to a nanosecond; `None` if there is none.
pub fn mean(sum: Nanos, count: u64) -> Option<Nanos> {
    (count > 0).then(|| Nanos(sum.0 / count + u64::from(sum.0 % count >= count.div_ceil(2))))
}

/// The mean of this many response times in milliseconds, not rounded; `None` if there is none.
pub fn mean_ms(sum: Nanos, count: u64) -> Option<f64> {
    (count > 0).then(|| sum.0 as f64 / count as f64 / 1e6)
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One I/O stream's part of a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StreamTally {
    /// What the stream's I/Os did.
    pub op: Op,
    /// Its counts.
    pub tally: Tally,
}

/// One direction's I/Os outside the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Unmeasured {
    /// What they did.
    pub op: Op,
    /// How many completed.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_all_response_times_and_lose_nothing() {
        let tally = Tally { ios: 2, outstanding: 1, response_sum: Nanos(38), ..Tally::default() };
        assert_eq!(tally.response_mean_ms(), Some(38.0 / 3.0 / 1e6));
        // 12.67 and not 12.
        assert_eq!(tally.response_mean(), Some(Nanos(13)));
        assert_eq!(mean(Nanos(37), 3), Some(Nanos(12)));
        assert_eq!(mean(Nanos(3), 2), Some(Nanos(2)));
        assert_eq!(mean(Nanos(u64::MAX), 1), Some(Nanos(u64::MAX)));
        assert_eq!(mean(Nanos(0), 0), None);
        assert_eq!(Tally::default().response_mean_ms(), None);
    }
}
