//! Distribution of a random stream's offsets: uniform, or skewed as fio's `random_distribution`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Distribution of random offsets over the positions of a range.
///
/// The ranks of [`Distribution::Zipf`] and [`Distribution::Pareto`] are scattered over the range by
/// a permutation that depends only on the number of positions: the hottest position is anywhere,
/// no two ranks share a position, and every step of a run has the same hot positions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Every position is equally likely.
    #[default]
    Uniform,
    /// The position of rank k has a probability proportional to k^-theta.
    Zipf(Thousandths),
    /// Self-similar (J. Gray et al., "Quickly Generating Billion-Record Synthetic Databases",
    /// SIGMOD 1994): a share h of the positions has a share 1 - h of the I/Os, and so has the same
    /// share of these positions.
    Pareto(Thousandths),
    /// Normal around the middle of the range, with this standard deviation in percent of the range;
    /// cut off at its ends, and not scattered.
    Normal(Thousandths),
}

/// A decimal number with three digits behind the point, stored in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Thousandths(pub u32);

impl Distribution {
    /// Returns true if every position is equally likely.
    pub fn is_uniform(&self) -> bool {
        *self == Distribution::Uniform
    }
    /// Returns theta, h or the deviation in percent; 0 if uniform.
    pub fn parameter(self) -> f64 {
        match self {
            Distribution::Uniform => 0.0,
            Distribution::Zipf(value)
            | Distribution::Pareto(value)
            | Distribution::Normal(value) => f64::from(value.0) / 1000.0,
        }
    }
    /// Parses a word of an access pattern, in upper case: `ZIPF/1.1`, `PARETO/0.2`, `NORMAL/10`.
    /// Returns `None` if it is none of these, or its value lies outside of [`Self::limits`].
    ///
    /// ```
    /// use steadfast_domain::Distribution;
    /// let skewed = Distribution::from_word("ZIPF/1.1").unwrap();
    /// assert_eq!(skewed.to_string(), " ZIPF/1.1");
    /// assert_eq!(skewed.parameter(), 1.1);
    /// ```
    pub fn from_word(word: &str) -> Option<Distribution> {
        let (name, value) = word.split_once('/')?;
        Distribution::from_name(name, value)
    }
    /// Creates a distribution from its name, in any case, and its value.
    pub fn from_name(name: &str, value: &str) -> Option<Distribution> {
        let value: Thousandths = value.parse().ok()?;
        let distribution = match name.to_ascii_uppercase().as_str() {
            "ZIPF" => Distribution::Zipf(value),
            "PARETO" => Distribution::Pareto(value),
            "NORMAL" => Distribution::Normal(value),
            _ => return None,
        };
        let (least, most) = distribution.limits();
        (least..=most).contains(&distribution.parameter()).then_some(distribution)
    }
    /// Returns the smallest and the largest value: our choice, as wide as the arithmetic allows.
    pub fn limits(self) -> (f64, f64) {
        match self {
            Distribution::Uniform => (0.0, 0.0),
            Distribution::Zipf(_) => (0.001, 10.0),
            Distribution::Pareto(_) => (0.001, 0.999),
            Distribution::Normal(_) => (0.001, 100.0),
        }
    }
}

/// Prints as part of an access pattern, with a blank before it; empty if uniform.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Uniform => Ok(()),
            Distribution::Zipf(theta) => write!(f, " ZIPF/{theta}"),
            Distribution::Pareto(h) => write!(f, " PARETO/{h}"),
            Distribution::Normal(deviation) => write!(f, " NORMAL/{deviation}"),
        }
    }
}

impl fmt::Display for Thousandths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:03}", self.0 / 1000, self.0 % 1000);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl FromStr for Thousandths {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        let decimals = decimals.trim_end_matches('0');
        if whole.is_empty() || decimals.len() > 3 || !is_number(whole) || !is_number(decimals) {
            return Err(());
        }
        let number: u64 = format!("{whole}{decimals:0<3}").parse().map_err(|_| ())?;
        u32::try_from(number).map(Thousandths).map_err(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_parses_as_it_prints() {
        for thousandths in (0..12_000).chain([u32::MAX]) {
            let value = Thousandths(thousandths);
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        for (text, value) in [("1.100", 1100), ("0.2", 200), ("10", 10_000), ("10.", 10_000)] {
            assert_eq!(text.parse(), Ok(Thousandths(value)), "{text}");
        }
        for bad in ["", ".5", "1.0001", "-1", "1e3", "nan", "4294968", "1.+5"] {
            assert!(bad.parse::<Thousandths>().is_err(), "{bad}");
        }
    }

    #[test]
    fn values_beyond_the_limits_are_refused() {
        for bad in ["ZIPF/0", "ZIPF/10.001", "PARETO/1", "PARETO/0", "NORMAL/101", "ZIPF", "FUA"] {
            assert_eq!(Distribution::from_word(bad), None, "{bad}");
        }
    }
}
