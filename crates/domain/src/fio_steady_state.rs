//! [`FioSteadyState`]: the rule by which fio ends a job once its rate is steady (option
//! `steadystate`).

use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// fio's steady-state condition, judged on the one-second rates of a window that begins after the
/// ramp.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FioSteadyState {
    /// Rate that is judged.
    pub rate: SteadyRate,
    /// True if the slope of a line through the window is judged, per second; false if the largest
    /// deviation from the mean is.
    pub slope: bool,
    /// Maximum slope or deviation: percent of the mean if `percent`, otherwise I/Os or bytes per
    /// second.
    pub limit: f64,
    /// True if the limit is in percent of the mean.
    pub percent: bool,
    /// Length of the window.
    pub window: Nanos,
    /// Time at the beginning that is in no window.
    pub ramp: Nanos,
}

/// A rate that may be steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SteadyRate {
    /// I/Os per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
}

impl FioSteadyState {
    /// Returns true if the rates, one per second after the ramp, have become steady.
    pub fn is_reached(&self, rates: &[f64]) -> bool {
        let length = (self.window.0 / Nanos::SECOND.0) as usize;
        let Some(window) = rates.len().checked_sub(length.max(1)).map(|from| &rates[from..]) else {
            return false;
        };
        let count = window.len() as f64;
        let mean = window.iter().sum::<f64>() / count;
        let deviation = if self.slope {
            // Slope of the least-squares line.
            let middle = (count - 1.0) / 2.0;
            let (mut covariance, mut variance) = (0.0, 0.0);
            for (second, rate) in window.iter().enumerate() {
                let x = second as f64 - middle;
                covariance += x * (rate - mean);
                variance += x * x;
            }
            if variance > 0.0 { (covariance / variance).abs() } else { 0.0 }
        } else {
            window.iter().map(|rate| (rate - mean).abs()).fold(0.0, f64::max)
        };
        if self.percent {
            mean > 0.0 && deviation / mean * 100.0 <= self.limit
        } else {
            deviation <= self.limit
        }
    }
}

impl fmt::Display for FioSteadyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = match self.rate {
            SteadyRate::Iops => "IOPS",
            SteadyRate::Bandwidth => "bandwidth",
        };
        let what = if self.slope { "the slope" } else { "the largest deviation" };
        write!(f, "steady {rate}: over {} {what} at most {}", self.window, self.limit)?;
        f.write_str(match (self.percent, self.rate) {
            (true, _) => " % of the mean",
            (false, SteadyRate::Iops) => " IOPS",
            (false, SteadyRate::Bandwidth) => " B/s",
        })?;
        if self.slope {
            f.write_str(" per second")?;
        }
        if self.ramp > Nanos::ZERO {
            write!(f, ", not before {}", self.ramp + self.window)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_steady_by_its_slope_or_its_deviation() {
        let rule = |slope, limit| FioSteadyState {
            rate: SteadyRate::Iops,
            slope,
            limit,
            percent: true,
            window: Nanos::from_secs(5),
            ramp: Nanos::ZERO,
        };
        // Mean 102, slope 1 per second (0.98 %), largest deviation 2 (1.96 %).
        let rates = [7.0, 100.0, 101.0, 102.0, 103.0, 104.0];
        assert!(rule(true, 1.0).is_reached(&rates) && !rule(true, 0.9).is_reached(&rates));
        assert!(rule(false, 2.0).is_reached(&rates) && !rule(false, 1.9).is_reached(&rates));
        assert!(!rule(false, 100.0).is_reached(&rates[..4]), "the window is not full");
    }
}
