//! Totals over sets of I/Os, used by measurements and replayed scripts.

use crate::histogram::FineHistogram;
use crate::serde_text::is_default;
use crate::stimulus::Op;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::iter::Sum;

/// Counts and response times of a set of I/Os.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Tally {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: Bytes,
    /// Sum of all response times.
    pub response_sum: Nanos,
    /// Shortest response time, exact; `None` if there is no response time, or if the record is
    /// older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_min: Option<Nanos>,
    /// Longest response time, exact.
    pub response_max: Nanos,
    /// Distribution of the response times; a bucket is up to 0.78 % wide.
    pub histogram: FineHistogram,
    /// I/Os that were outstanding when the load ended. Their response times are in
    /// `response_sum`, `response_min`, `response_max` and `histogram`; they are in neither `ios`
    /// nor `bytes`, because they did not complete in the measured time.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outstanding: u64,
}

impl Tally {
    /// Returns the number of response times: I/Os that completed in the measured time and those
    /// outstanding at its end.
    pub fn responses(&self) -> u64 {
        self.ios + self.outstanding
    }
    /// Returns the mean response time, rounded to a nanosecond; `None` if there is no response
    /// time. For display and comparison; use [`Tally::response_mean_ms`] in calculations.
    pub fn response_mean(&self) -> Option<Nanos> {
        mean(self.response_sum, self.responses())
    }
    /// Returns the mean response time in milliseconds, not rounded; `None` if there is no response
    /// time.
    pub fn response_mean_ms(&self) -> Option<f64> {
        mean_ms(self.response_sum, self.responses())
    }
    /// Returns the longest response time; `None` if there is no response time.
    pub fn response_longest(&self) -> Option<Nanos> {
        (self.responses() > 0).then_some(self.response_max)
    }
    /// Returns the response time that `fraction` of the I/Os did not exceed, never more than the
    /// longest one; `None` if fewer than ten I/Os lie beyond it.
    pub fn percentile(&self, fraction: f64) -> Option<Nanos> {
        Some(self.histogram.reportable_percentile(fraction)?.min(self.response_max))
    }
    /// Returns the shortest response time; `None` if there is no response time, or if it was not
    /// recorded.
    pub fn response_shortest(&self) -> Option<Nanos> {
        self.response_min.filter(|_| self.responses() > 0)
    }
    /// Adds another tally.
    pub fn merge(&mut self, other: &Tally) {
        self.response_min = match (self.responses(), other.responses()) {
            (_, 0) => self.response_min,
            (0, _) => other.response_min,
            // One that is unknown may be the shortest.
            _ => self.response_min.zip(other.response_min).map(|(own, other)| own.min(other)),
        };
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.response_sum += other.response_sum;
        self.response_max = self.response_max.max(other.response_max);
        self.histogram.merge(&other.histogram);
        self.outstanding += other.outstanding;
    }
}

impl<T: Borrow<Tally>> Sum<T> for Tally {
    fn sum<I: Iterator<Item = T>>(tallies: I) -> Self {
        tallies.fold(Tally::default(), |mut sum, tally| {
            sum.merge(tally.borrow());
            sum
        })
    }
}

/// Returns the mean of `count` response times, rounded to a nanosecond; `None` if `count` is 0.
pub fn mean(sum: Nanos, count: u64) -> Option<Nanos> {
    (count > 0).then(|| Nanos(sum.0 / count + u64::from(sum.0 % count >= count.div_ceil(2))))
}

/// Returns the mean of `count` response times in milliseconds, not rounded; `None` if `count` is 0.
pub fn mean_ms(sum: Nanos, count: u64) -> Option<f64> {
    (count > 0).then(|| sum.0 as f64 / count as f64 / 1e6)
}

/// Totals of one I/O stream in a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StreamTally {
    /// Operation of the stream.
    pub op: Op,
    /// Counts and response times.
    pub tally: Tally,
}

/// I/Os of one operation that completed outside the measured time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UnmeasuredIos {
    /// Operation of the I/Os.
    pub op: Op,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: Bytes,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shortest of all parts; nothing is added by a part without I/Os, and a part of an older
    /// record leaves the whole without one.
    #[test]
    fn the_shortest_response_time_of_parts_is_that_of_all_or_unknown() {
        let part = |ios, least: Option<u64>| Tally {
            ios,
            response_min: least.map(Nanos),
            response_max: Nanos(900),
            ..Tally::default()
        };
        let merged = |parts: &[Tally]| {
            let mut whole = Tally::default();
            parts.iter().for_each(|part| whole.merge(part));
            whole.response_shortest()
        };
        assert_eq!(merged(&[]), None);
        assert_eq!(merged(&[part(3, Some(70))]), Some(Nanos(70)));
        assert_eq!(merged(&[part(3, Some(70)), part(0, None), part(1, Some(40))]), Some(Nanos(40)));
        assert_eq!(merged(&[part(3, Some(70)), part(1, None)]), None);
        assert_eq!(merged(&[part(1, None), part(3, Some(70))]), None);
        let old = r#"{"ios":1,"bytes":1,"response_sum":1,"response_max":1,"histogram":"1"}"#;
        assert_eq!(serde_json::from_str::<Tally>(old).unwrap().response_shortest(), None);
    }

    #[test]
    fn means_include_outstanding_ios_and_are_rounded() {
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
