//! [`Metric`]: a measured number in long form, with everything that says what it is of. Tables
//! fold such numbers for print; programs and comparisons take them as they are.

use crate::notation::AccessPattern;
use crate::stimulus::Op;
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// A measured number and what it is of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Metric {
    /// A short name, stable across versions: `iops`, `art`, `five-nines`.
    pub metric: String,
    /// What was applied, as it prints: `RND 4K RW65`, `SEQ 1024K W T1Q32`.
    pub point: String,
    /// The transfer size, where all I/Os have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Percent of the I/Os that read, where the load is such a mix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u8>,
    /// The I/Os that it is of; nothing where it is of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Op>,
    /// Its unit.
    pub unit: String,
    /// The value, not rounded.
    pub value: f64,
    /// The lowest and the highest value of the rounds that it is the mean of: how far it moved
    /// while it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
}

impl Metric {
    /// A number of all I/Os of a point; nothing where it was not measured.
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
    /// The same of the I/Os of a pattern.
    pub fn of(self, pattern: &AccessPattern) -> Self {
        let (size, read_percent) = (Some(pattern.size), Some(pattern.read_percent));
        Metric { size, read_percent, ..self }
    }
    /// The same of one direction.
    pub fn only(self, direction: Option<Op>) -> Self {
        Metric { direction, ..self }
    }
    /// The same with the least and the greatest of the values that it is the mean of.
    pub fn ranging(self, range: Option<(f64, f64)>) -> Self {
        Metric { range, ..self }
    }
    /// Whether two are of the same thing, and can be compared.
    pub fn is_same(&self, other: &Metric) -> bool {
        let name = |one: &Metric| (one.size, one.read_percent, one.direction);
        (&self.metric, &self.point, &self.unit) == (&other.metric, &other.point, &other.unit)
            && name(self) == name(other)
    }
}

/// The metrics that comparisons show, with how they print, in their order. A rate in bytes
/// stands behind that in I/Os, which says the same where all I/Os are of one size.
pub const COMPARED: [(&str, &str); 6] = [
    ("iops", "IOPS"),
    ("throughput", "MB/s"),
    ("art", "Mean response time"),
    ("p99-99", "99.99 % response time"),
    ("p99-999", "99.999 % response time"),
    ("mrt", "Maximum response time"),
];

/// Whether a difference between two values may come from how far each of them moved while it
/// was measured: their ranges meet, or one of them is not known. A percentile of one histogram has
/// no range, so that nothing shows its difference to be more than noise.
pub fn may_be_noise(one: Option<(f64, f64)>, other: Option<(f64, f64)>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return true };
    one.0 <= other.1 && other.0 <= one.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_noise_where_the_ranges_meet() {
        let meets = |a, b| may_be_noise(Some(a), Some(b)) && may_be_noise(Some(b), Some(a));
        assert!(meets((99.0, 101.0), (100.5, 103.0)));
        assert!(meets((90.0, 110.0), (100.0, 100.0)));
        assert!(!meets((99.0, 101.0), (101.5, 103.0)));
        assert!(may_be_noise(None, Some((0.0, 1.0))), "nothing is known of the one");
    }

    #[test]
    fn a_metric_is_what_all_of_its_names_say() {
        let pattern = AccessPattern::random(Bytes::kib(4), 65);
        let of = |value| Metric::new("art", "RND 4K RW65", Some(value), "ms").unwrap().of(&pattern);
        assert!(of(1.0).is_same(&of(2.0)));
        assert!(!of(1.0).is_same(&of(1.0).only(Some(Op::Read))));
        assert!(Metric::new("art", "x", Some(f64::NAN), "ms").is_none());
        assert!(Metric::new("art", "x", None, "ms").is_none());
    }
}
