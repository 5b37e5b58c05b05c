//! The axis of time, in seconds or minutes.

use steadfast_domain::Nanos;
use steadfast_domain::findings::{Axis, TimeUnit};

/// Step time from which on plots have minutes instead of seconds.
const MINUTES_FROM: Nanos = Nanos::from_secs(10);

/// An axis of time with the scale of its unit.
pub(crate) struct PlotTimeAxis {
    pub axis: Axis,
    /// Number of axis units per minute.
    units_per_minute: f64,
}

impl PlotTimeAxis {
    pub fn seconds(name: &str) -> Self {
        PlotTimeAxis { axis: Axis::time(name, TimeUnit::Seconds), units_per_minute: 60.0 }
    }

    pub fn minutes(name: &str) -> Self {
        PlotTimeAxis { axis: Axis::time(name, TimeUnit::Minutes), units_per_minute: 1.0 }
    }

    pub fn for_steps(name: &str, step_time: Nanos) -> Self {
        if step_time < MINUTES_FROM {
            PlotTimeAxis::seconds(name)
        } else {
            PlotTimeAxis::minutes(name)
        }
    }

    pub fn position(&self, minutes: f64) -> f64 {
        minutes * self.units_per_minute
    }
}

pub(crate) fn minutes(time: Nanos) -> f64 {
    time.as_secs_f64() / 60.0
}
