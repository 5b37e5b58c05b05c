//! Points at which engines are compared.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::Durability;
use steadfast_domain::{Bytes, Demand};

/// An access pattern and a demand, such as `RND 4K R T1Q32`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalibrationPoint {
    /// Access pattern.
    pub pattern: AccessPattern,
    /// Threads and outstanding I/Os.
    pub demand: Demand,
}

impl CalibrationPoint {
    /// Returns the default points: one small I/O at a time, many, and large ones; each read, and
    /// also written if that is allowed. Then commits one at a time follow.
    pub fn usual(may_write: bool) -> Vec<CalibrationPoint> {
        let mut points = Vec::new();
        for (pattern, depth) in [
            (AccessPattern::random(Bytes::kib(4), 100), 1),
            (AccessPattern::random(Bytes::kib(4), 100), 32),
            (AccessPattern::sequential(Bytes::kib(128), 100), 32),
        ] {
            let demand = Demand::new(1, depth);
            points.push(CalibrationPoint { pattern, demand });
            if may_write {
                let pattern = AccessPattern { read_percent: 0, ..pattern };
                points.push(CalibrationPoint { pattern, demand });
            }
        }
        points.extend(may_write.then(CalibrationPoint::commits));
        points
    }

    /// Returns commits one at a time: a write and its flush.
    pub(super) fn commits() -> CalibrationPoint {
        let pattern =
            AccessPattern::random(Bytes::kib(4), 0).durability(Durability::Flush(NonZeroU32::MIN));
        CalibrationPoint { pattern, demand: Demand::new(1, 1) }
    }

    /// Returns true if writes are flushed.
    pub(super) fn has_commits(&self) -> bool {
        self.pattern.read_percent < 100 && !self.pattern.durability.is_cached()
    }

    /// Returns the load of one thread whose rates are offered.
    pub(super) fn rates() -> CalibrationPoint {
        let pattern = AccessPattern::random(Bytes::kib(4), 100);
        CalibrationPoint { pattern, demand: Demand::new(1, 256) }
    }

    /// Returns the point that writes a range once.
    pub(super) fn filling() -> CalibrationPoint {
        let pattern = AccessPattern::sequential(Bytes::kib(128), 0);
        CalibrationPoint { pattern, demand: Demand::new(1, 32) }
    }
}

impl fmt::Display for CalibrationPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.pattern, self.demand)
    }
}

impl FromStr for CalibrationPoint {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.trim().rsplit_once(char::is_whitespace);
        let (pattern, demand) = parts.ok_or_else(|| {
            format!("'{text}' is not a point; write a point like \"RND 4K R T1Q32\"")
        })?;
        Ok(CalibrationPoint {
            pattern: pattern.parse().map_err(|e| format!("{e}"))?,
            demand: demand.parse().map_err(|e| format!("{e}"))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_parses_as_it_prints() {
        let point: CalibrationPoint = " SEQ 128K RW90 T2Q16".parse().unwrap();
        assert_eq!(point.to_string(), "SEQ 128K RW90 T2Q16");
        assert!("RND".parse::<CalibrationPoint>().unwrap_err().contains("RND 4K R T1Q32"));
        assert!("RND 4K R 32".parse::<CalibrationPoint>().unwrap_err().contains("demand"));
    }

    #[test]
    fn read_only_points_write_nothing() {
        let names = |may_write| -> Vec<String> {
            CalibrationPoint::usual(may_write).iter().map(CalibrationPoint::to_string).collect()
        };
        assert_eq!(names(false), ["RND 4K R T1Q1", "RND 4K R T1Q32", "SEQ 128K R T1Q32"]);
        let both = names(true);
        assert_eq!((both.len(), both[1].as_str()), (7, "RND 4K W T1Q1"));
        assert_eq!(both[6], "RND 4K W FLUSH/1 T1Q1");
        assert_eq!(CalibrationPoint::filling().to_string(), "SEQ 128K W T1Q32");
        assert_eq!(CalibrationPoint::commits().to_string(), "RND 4K W FLUSH/1 T1Q1");
        assert_eq!(CalibrationPoint::rates().to_string(), "RND 4K R T1Q256");
    }
}
