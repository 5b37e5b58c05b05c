//! [`ValueRange`]: the lowest and the highest of several values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lowest and highest of several values, or bounds of one that is not known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueRange {
    /// Lowest value.
    pub low: f64,
    /// Highest value.
    pub high: f64,
}

impl ValueRange {
    /// Creates a range from its ends.
    pub fn new(low: f64, high: f64) -> Self {
        ValueRange { low, high }
    }
    /// Returns the range of the values; `None` if there are none.
    pub fn from_values(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        values.into_iter().fold(None, |range: Option<ValueRange>, value| {
            let ValueRange { low, high } = range.unwrap_or(ValueRange::new(value, value));
            Some(ValueRange::new(low.min(value), high.max(value)))
        })
    }
    /// Returns the range of the values times a factor that is not negative.
    pub fn scaled(self, factor: f64) -> Self {
        ValueRange::new(self.low * factor, self.high * factor)
    }
    /// Returns the difference between the highest and the lowest value.
    pub fn width(self) -> f64 {
        self.high - self.low
    }
    /// Returns true if a value lies in both ranges.
    pub fn overlaps(self, other: ValueRange) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}
