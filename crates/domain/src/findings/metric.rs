//! [`Metric`]: one measured number in long form, with everything that identifies it. Tables arrange
//! such numbers for print; programs and comparisons use them directly.

use crate::notation::AccessPattern;
use crate::stimulus::Op;
use crate::units::Bytes;
use crate::value_range::ValueRange;
use serde::{Deserialize, Serialize};

/// A measured number and what identifies it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Metric {
    /// Short name, stable across versions, such as `iops`, `art` or `five-nines`.
    pub metric: String,
    /// Load that was applied, as printed: `RND 4K RW65`, `SEQ 1024K W T1Q32`.
    pub point: String,
    /// Transfer size; `None` if the I/Os have different sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Percent of the I/Os that are reads; `None` if the load is not such a mix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u8>,
    /// Operation of the I/Os measured; `None` for all I/Os.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Op>,
    /// Unit of the value.
    pub unit: String,
    /// Value, not rounded.
    pub value: f64,
    /// Range of the rounds whose mean is the value; for a write amplification, the bounds that the
    /// device's counters allow. `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<ValueRange>,
}

impl Metric {
    /// Creates a metric of all I/Os of a point; `None` if `value` is missing or not finite.
    pub fn new(metric: &str, point: &str, value: Option<f64>, unit: &str) -> Option<Self> {
        let value = value.filter(|value| value.is_finite())?;
        Some(Metric {
            metric: metric.to_owned(),
            point: point.to_owned(),
            size: None,
            read_percent: None,
            direction: None,
            unit: unit.to_owned(),
            value,
            range: None,
        })
    }
    /// Sets transfer size and read percentage from a pattern.
    pub fn with_pattern(self, pattern: &AccessPattern) -> Self {
        let (size, read_percent) = (Some(pattern.size), Some(pattern.read_percent));
        Metric { size, read_percent, ..self }
    }
    /// Restricts the metric to one operation.
    pub fn only(self, direction: Option<Op>) -> Self {
        Metric { direction, ..self }
    }
    /// Sets the range of the values whose mean is the metric.
    pub fn with_range(self, range: Option<ValueRange>) -> Self {
        Metric { range, ..self }
    }
    /// Returns true if this is the rate in bytes of a point whose rate in I/Os is `other`, and all
    /// I/Os have the same size: both change alike.
    pub fn repeats(&self, other: &Metric) -> bool {
        self.metric == "throughput"
            && other.metric == "iops"
            && self.point == other.point
            && self.size.is_some()
    }
    /// Returns true if both metrics measure the same thing and can be compared.
    pub fn is_same(&self, other: &Metric) -> bool {
        let name = |one: &Metric| (one.size, one.read_percent, one.direction);
        (&self.metric, &self.point, &self.unit) == (&other.metric, &other.point, &other.unit)
            && name(self) == name(other)
    }
}

/// Direction in which a number improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricGoal {
    /// Higher is better: a rate.
    More,
    /// Lower is better: a time.
    Less,
}

impl MetricGoal {
    /// Returns the goal of numbers of a unit; `None` if neither direction is better, as for
    /// temperatures.
    pub fn from_unit(unit: &str) -> Option<Self> {
        match unit {
            "IOPS" | "MB/s" | "GB/s" | "MiB/s" | "IOPS/W" => Some(MetricGoal::More),
            "ms" | "us" | "µs" | "s" | "min" | "h" => Some(MetricGoal::Less),
            _ => None,
        }
    }
    /// Returns true if a change in percent is a change for the worse.
    pub fn is_worse(self, percent: f64) -> bool {
        match self {
            MetricGoal::More => percent < 0.0,
            MetricGoal::Less => percent > 0.0,
        }
    }
}

/// Metrics that comparisons show, with their printed names, in order. The rate in bytes follows the
/// rate in I/Os, because it adds nothing where all I/Os have the same size.
pub const COMPARED: [(&str, &str); 7] = [
    ("iops", "IOPS"),
    ("throughput", "MB/s"),
    ("art", "Mean response time"),
    ("p99-99", "99.99 % response time"),
    ("p99-999", "99.999 % response time"),
    ("mrt", "Maximum response time"),
    ("min-response", "Minimum response time"),
];

/// Secondary metrics that comparisons show on a page of their own, with their printed names.
pub const COMPARED_SECONDARY: [(&str, &str); 6] = [
    ("power", "Power"),
    ("iops-per-watt", "IOPS per watt"),
    ("joules-per-gb", "Energy per GB"),
    ("write-amplification", "Write amplification"),
    ("cpu-system", "CPU system time"),
    ("cpu-io-wait", "CPU I/O wait"),
];

/// Returns true if the difference between two values may be noise: their ranges overlap, or one
/// range is unknown. A percentile of a single histogram has no range, so its difference is never
/// shown to be more than noise.
pub fn may_be_noise(one: Option<ValueRange>, other: Option<ValueRange>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return true };
    one.overlaps(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_ranges_may_be_noise() {
        let range = |low, high| Some(ValueRange::new(low, high));
        let both = |one, other| may_be_noise(one, other) && may_be_noise(other, one);
        assert!(both(range(99.0, 101.0), range(100.5, 103.0)));
        assert!(both(range(90.0, 110.0), range(100.0, 100.0)));
        assert!(!both(range(99.0, 101.0), range(101.5, 103.0)));
        assert!(may_be_noise(None, range(0.0, 1.0)), "one range is unknown");
    }

    #[test]
    fn rates_should_rise_and_times_fall() {
        let is_worse = |unit, percent| MetricGoal::from_unit(unit).unwrap().is_worse(percent);
        assert!(is_worse("IOPS", -1.0) && !is_worse("IOPS", 1.0));
        assert!(is_worse("ms", 1.0) && !is_worse("ms", -1.0));
        assert_eq!(MetricGoal::from_unit("C"), None);
    }

    #[test]
    fn metrics_are_the_same_if_all_names_are_equal() {
        let pattern = AccessPattern::random(Bytes::kib(4), 65);
        let metric = |value| {
            Metric::new("art", "RND 4K RW65", Some(value), "ms").unwrap().with_pattern(&pattern)
        };
        assert!(metric(1.0).is_same(&metric(2.0)));
        assert!(!metric(1.0).is_same(&metric(1.0).only(Some(Op::Read))));
        assert!(Metric::new("art", "x", Some(f64::NAN), "ms").is_none());
        assert!(Metric::new("art", "x", None, "ms").is_none());
    }
}
