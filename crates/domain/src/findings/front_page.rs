//! [`FrontPage`]: the content of page one of a report. The code that creates the findings chooses it:
//! nothing that prints a report knows which numbers the data sheet of a test has.

use super::setting::Setting;
use crate::device_log::WriteAmplification;
use crate::text::significant;
use crate::value_range::ValueRange;
use serde::{Deserialize, Serialize};

/// Content of page one in addition to the end state, the verdict and the disclosures, which the
/// findings hold anyway.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FrontPage {
    /// Facts about the device, as far as they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub device: Vec<Setting>,
    /// Conditions of the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Setting>,
    /// Numbers as in a data sheet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<KeyFigure>,
    /// IDs of the two or three most important plots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plots: Vec<String>,
    /// IDs of the tables of the summary shown on page one; the content after them does not start on
    /// a new page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<String>,
    /// Questions that the figures answer; where there are any, page one prints the figures below
    /// their questions, also those without a value, and the tests of a run of several procedures
    /// stand in the summary only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<FrontQuestion>,
    /// IDs of the figures on the card, in order; empty for the first ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub card: Vec<String>,
}

/// A question of a reader and the figures that answer it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FrontQuestion {
    /// The question in plain words.
    pub question: String,
    /// The answer in one or two sentences, which contain values of the figures.
    pub answer: String,
    /// Figures that answer it, in print order.
    pub answers: Vec<FrontAnswer>,
    /// The load behind the figures in one or two sentences.
    pub note: String,
}

/// A figure that answers a question, and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FrontAnswer {
    /// ID of the key figure.
    pub figure: String,
    /// ID of the part that measured it.
    pub part: String,
    /// Reason why it has no value; `None` if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

/// Significant digits of a mean of exact counts.
const MEAN_DIGITS: u8 = 4;
/// Significant digits of a value read from a histogram: its buckets are up to 0.78 % wide.
const BUCKET_DIGITS: u8 = 3;

fn whole_digits(number: u64) -> u8 {
    // At most 20 digits.
    number.checked_ilog10().unwrap_or(0) as u8 + 1
}

/// A number as in a data sheet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KeyFigure {
    /// Short name, stable across versions, by which figures of several runs are matched.
    pub id: String,
    /// Label in print.
    pub label: String,
    /// Load or cell that the value belongs to, if the results decide that, such as the load of the
    /// best value. Figures of several runs are compared only if their subjects are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Value, not rounded; `None` if it was not measured.
    pub value: Option<f64>,
    /// Unit of the value.
    pub unit: String,
    /// Significant digits of the value.
    pub digits: u8,
    /// Range of the rounds whose mean is the value; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<ValueRange>,
    /// True if `range` bounds the true value, which is known no better than that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_bounded: bool,
    /// Restriction of the value, such as `no drop`: printed after its unit, or in place
    /// of a value that does not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl KeyFigure {
    /// Creates a figure for a mean or a count. A value that is not finite counts as not measured.
    pub fn new(id: &str, label: impl Into<String>, value: Option<f64>, unit: &str) -> Self {
        let value = value.filter(|value| value.is_finite());
        let (id, unit) = (id.to_owned(), unit.to_owned());
        KeyFigure {
            id,
            label: label.into(),
            subject: None,
            value,
            unit,
            digits: MEAN_DIGITS,
            range: None,
            is_bounded: false,
            note: None,
        }
    }
    /// Creates a figure for an exact count, which is never rounded.
    pub fn count(id: &str, label: impl Into<String>, count: Option<u64>, unit: &str) -> Self {
        let digits = count.map_or(1, whole_digits);
        let value = count.map(|count| count as f64);
        KeyFigure { digits, ..KeyFigure::new(id, label, value, unit) }
    }
    /// Changes the digits to those of a count of whole units whose fractions are unknown, such as
    /// steps of a minute.
    pub fn whole(self) -> Self {
        let digits = self.value.map_or(1, |value| whole_digits(value.round().max(0.0) as u64));
        KeyFigure { digits, ..self }
    }
    /// Changes the digits to those of a value read from a histogram.
    pub fn of_buckets(self) -> Self {
        KeyFigure { digits: BUCKET_DIGITS, ..self }
    }
    /// Sets the range of the values whose mean is the figure.
    pub fn with_range(self, range: Option<ValueRange>) -> Self {
        KeyFigure { range, ..self }
    }
    /// Sets the load or cell that the value belongs to, if the results decide that.
    pub fn with_subject(self, subject: Option<String>) -> Self {
        KeyFigure { subject, ..self }
    }
    /// Sets what is printed after the unit, or in place of a missing value.
    pub fn with_note(self, note: Option<String>) -> Self {
        KeyFigure { note, ..self }
    }
    /// Sets the bounds of a value that is not known exactly, such as one from coarse counters.
    pub fn bounded(self, bounds: Option<ValueRange>) -> Self {
        KeyFigure { range: bounds, is_bounded: bounds.is_some(), ..self }
    }
    /// Returns the value with its significant digits, without its unit; `None` if there is none.
    pub fn number(&self) -> Option<String> {
        self.value.map(|value| significant(value, i32::from(self.digits.max(1))))
    }
    /// Returns the bounds if they are too far apart for the value to be given
    /// ([`WriteAmplification::NARROW`]).
    pub fn wide_bounds(&self) -> Option<ValueRange> {
        let bounds = self.range.filter(|_| self.is_bounded)?;
        (bounds.width() > WriteAmplification::NARROW * self.value?.abs()).then_some(bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_has_the_digits_of_its_source() {
        let mean = KeyFigure::new("iops", "Random write", Some(61_969.4), "IOPS");
        assert_eq!((mean.digits, mean.of_buckets().digits), (4, 3));
        assert_eq!(KeyFigure::new("iops", "x", Some(f64::NAN), "IOPS").value, None);
        let digits = |count| KeyFigure::count("sectors", "x", Some(count), "sectors").digits;
        assert_eq!([0, 9, 10, 1_048_576, u64::MAX].map(digits), [1, 1, 2, 7, 20]);
        assert_eq!(KeyFigure::new("recovery", "x", Some(41.999), "min").whole().digits, 2);
    }
}
