//! [`Front`]: what stands on page one of a report. Whoever makes the findings chooses it:
//! nothing that prints a report knows which numbers a data sheet of this test has.

use super::setting::Setting;
use serde::{Deserialize, Serialize};

/// What stands on page one beside the ending, the verdict and the disclosures, which the
/// findings hold anyway.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Front {
    /// The device, as far as it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device: Vec<Setting>,
    /// Under which conditions it was tested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Setting>,
    /// The numbers that a data sheet has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<KeyFigure>,
    /// The ids of the plots that matter most, two or three of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plots: Vec<String>,
    /// The ids of the tables of the summary that stand on page one; what follows them does not
    /// begin on a new page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<String>,
}

impl Front {
    /// Whether there is nothing to put on page one.
    pub fn is_empty(&self) -> bool {
        *self == Front::default()
    }
}

/// Digits that a mean of exact counts has.
const OF_MEANS: u8 = 4;
/// Digits that a value read off a histogram has: its buckets are up to 0.78 % wide.
const OF_BUCKETS: u8 = 3;

/// Digits of a whole number.
fn whole_digits(number: u64) -> u8 {
    // At most 20 digits.
    number.checked_ilog10().unwrap_or(0) as u8 + 1
}

/// A number that a data sheet has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KeyFigure {
    /// A short name, stable across versions, by which figures of several runs are put
    /// together.
    pub id: String,
    /// What it is of.
    pub label: String,
    /// The value, not rounded; nothing where it was not measured.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: String,
    /// Significant digits that it has.
    pub digits: u8,
    /// The lowest and the highest value of the rounds that it is the mean of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(f64, f64)>,
}

impl KeyFigure {
    /// A mean or a count.
    pub fn new(id: &str, label: impl Into<String>, value: Option<f64>, unit: &str) -> Self {
        let value = value.filter(|value| value.is_finite());
        let (id, unit) = (id.to_owned(), unit.to_owned());
        KeyFigure { id, label: label.into(), value, unit, digits: OF_MEANS, range: None }
    }
    /// An exact count, which is never rounded.
    pub fn count(id: &str, label: impl Into<String>, count: Option<u64>, unit: &str) -> Self {
        let digits = count.map_or(1, whole_digits);
        let value = count.map(|count| count as f64);
        KeyFigure { digits, ..KeyFigure::new(id, label, value, unit) }
    }
    /// A count of whole units whose parts are not known, such as steps of a minute.
    pub fn whole(self) -> Self {
        let digits = self.value.map_or(1, |value| whole_digits(value.round().max(0.0) as u64));
        KeyFigure { digits, ..self }
    }
    /// The same read off a histogram.
    pub fn of_buckets(self) -> Self {
        KeyFigure { digits: OF_BUCKETS, ..self }
    }
    /// The same with the least and the greatest of the values that it is the mean of.
    pub fn ranging(self, range: Option<(f64, f64)>) -> Self {
        KeyFigure { range, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_the_digits_of_its_source_and_no_value_that_is_no_number() {
        let mean = KeyFigure::new("iops", "Random write", Some(61_969.4), "IOPS");
        assert_eq!((mean.digits, mean.clone().of_buckets().digits), (4, 3));
        assert_eq!(KeyFigure::new("iops", "x", Some(f64::NAN), "IOPS").value, None);
        let digits = |count| KeyFigure::count("sectors", "x", Some(count), "sectors").digits;
        assert_eq!([0, 9, 10, 1_048_576, u64::MAX].map(digits), [1, 1, 2, 7, 20]);
        assert_eq!(KeyFigure::new("recovery", "x", Some(41.999), "min").whole().digits, 2);
        let front = Front { figures: vec![mean], ..Front::default() };
        assert!(!front.is_empty() && Front::default().is_empty());
    }
}
