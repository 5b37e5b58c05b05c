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
}

impl Tally {
    /// Mean response time; `None` where no I/O completed.
    pub fn response_mean(&self) -> Option<Nanos> {
        self.response_sum.0.checked_div(self.ios).map(Nanos)
    }
    /// Longest response time; `None` where no I/O completed.
    pub fn response_longest(&self) -> Option<Nanos> {
        (self.ios > 0).then_some(self.response_max)
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
    }
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
