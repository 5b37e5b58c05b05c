//! Service levels: limits of response-time percentiles.

use crate::serde_text::serde_text;
use crate::tally::Tally;
use crate::text::excerpt;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Highest percentile: a million I/Os for each of ten beyond it.
const PERCENT_MAX: f64 = 99.9999;

/// A limit that a percentile of the response times must not exceed, written `p99=1ms`.
///
/// ```
/// use steadfast_domain::Nanos;
/// use steadfast_domain::service_level::ServiceLevel;
/// let slo: ServiceLevel = "p99.9=500us".parse().unwrap();
/// assert_eq!((slo.percent, slo.limit), (99.9, Nanos(500_000)));
/// assert!("p99=1".parse::<ServiceLevel>().is_err(), "a limit has a unit");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(description = "A limit of a response-time percentile, such as `p99=1ms`.")]
pub struct ServiceLevel {
    /// Percentile, in percent: 1 to 99.9999.
    pub percent: f64,
    /// Longest time that the percentile may be.
    pub limit: Nanos,
}

/// Error for a text that is not a service level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{}' is not a service level; write a percentile from p1 to p99.9999 and its limit with a \
     unit, like p99=1ms or p99.9=500us",
    excerpt(.0)
)]
pub struct ServiceLevelError(String);

impl ServiceLevel {
    /// Returns the share of the I/Os that must not exceed the limit, from 0 to 1.
    pub fn fraction(self) -> f64 {
        self.percent / 100.0
    }
    /// Returns true if these I/Os meet the limit; `None` if fewer than ten of them lie beyond the
    /// percentile.
    pub fn is_met(self, tally: &Tally) -> Option<bool> {
        tally.percentile(self.fraction()).map(|time| time <= self.limit)
    }
}

impl fmt::Display for ServiceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit.0;
        let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
        let largest = units.into_iter().find(|(_, factor)| limit.is_multiple_of(*factor));
        let (unit, factor) = largest.unwrap_or(("ns", 1));
        write!(f, "p{}={}{unit}", self.percent, limit / factor)
    }
}

impl FromStr for ServiceLevel {
    type Err = ServiceLevelError;
    fn from_str(text: &str) -> Result<Self, ServiceLevelError> {
        let parse = || {
            let (percentile, limit) = text.trim().split_once('=')?;
            let percent = percentile.trim().strip_prefix(['p', 'P'])?.parse::<f64>().ok()?;
            let limit = limit.trim();
            let has_unit = limit.ends_with(|last: char| last.is_alphabetic());
            let limit = limit.parse::<Nanos>().ok().filter(|limit| has_unit && limit.0 > 0)?;
            (1.0..=PERCENT_MAX).contains(&percent).then_some(ServiceLevel { percent, limit })
        };
        parse().ok_or_else(|| ServiceLevelError(text.to_owned()))
    }
}

serde_text!(ServiceLevel);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_level_parses_as_it_prints() {
        for text in ["p99=1ms", "p99.9=500us", "p50=2s", "p99.99=1234567ns", "P95 = 90 s"] {
            let level: ServiceLevel = text.parse().unwrap();
            assert_eq!(level.to_string().parse(), Ok(level), "{text}");
        }
        assert_eq!("p99=0.5ms".parse::<ServiceLevel>().unwrap().to_string(), "p99=500us");
    }

    #[test]
    fn invalid_service_levels_are_refused_with_an_example() {
        for bad in [
            "", "p99", "99=1ms", "p99=1", "p99=0ms", "p0.5=1ms", "p100=1ms", "p99.99999=1ms",
            "pnan=1ms", "p99=-1ms", "p99=fast", "p99=1ms,p50=1ms", "p99=1e999s",
        ] {
            let why = bad.parse::<ServiceLevel>().unwrap_err().to_string();
            assert!(why.contains("like p99=1ms"), "{bad}: {why}");
        }
    }
}
