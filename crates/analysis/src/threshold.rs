//! The minimum share of a stream that is listed separately.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use steadfast_domain::text::excerpt;
use steadfast_tracefile::error::TraceError;

/// The smallest share that a stream must have, in parts per million.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Threshold(pub u32);

impl Threshold {
    /// The default threshold, 2 %: that of the example in SNIA's tutorial on real-world workloads.
    pub const DEFAULT: Threshold = Threshold(20_000);

    /// Returns true if `part` is at least this share of `whole`. The comparison is exact.
    pub fn admits(self, part: u64, whole: u64) -> bool {
        u128::from(part) * 1_000_000 >= u128::from(whole) * u128::from(self.0)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 1e4)
    }
}

impl FromStr for Threshold {
    type Err = TraceError;
    /// Parses a percentage: `2%`, `0.5%` or `2`.
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
        match number {
            Ok(percent) if (0.0..=100.0).contains(&percent) => {
                Ok(Threshold((percent * 1e4).round() as u32))
            }
            _ => Err(TraceError::Unsuitable(format!(
                "'{text}' is not a threshold; write a percentage like 2% or 0.5%",
                text = excerpt(text)
            ))),
        }
    }
}
