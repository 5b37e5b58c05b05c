//! The first column of a table over time: as the clock showed it, or from the start.

use crate::cli::TimeAxis;
use crate::cli::trace::FilterArguments;
use steadfast_analysis::clock::Clock;
use steadfast_domain::CaptureConditions;

/// The clock that was asked for, where the capture has one.
pub fn clock(
    conditions: &CaptureConditions,
    filter: &FilterArguments,
    asked: TimeAxis,
) -> Option<Clock> {
    Clock::of(conditions, filter.time_zone.as_ref()).filter(|_| asked == TimeAxis::Clock)
}

/// How a table over time names its rows.
pub struct Axis {
    clock: Option<Clock>,
    step_ns: u64,
    span_ns: (u64, u64),
}

impl Axis {
    /// The axis of steps of a width over a span; relative where the capture has no clock.
    pub fn of(
        conditions: &CaptureConditions,
        filter: &FilterArguments,
        asked: TimeAxis,
        (step_ns, span_ns): (u64, (u64, u64)),
    ) -> Self {
        Axis { clock: clock(conditions, filter, asked), step_ns, span_ns }
    }

    /// The width of its steps.
    pub fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// What stands over the column.
    pub fn head(&self) -> String {
        if self.clock.is_some() { "Start".to_owned() } else { "Start s".to_owned() }
    }

    /// A moment.
    pub fn text(&self, at_ns: u64) -> String {
        match &self.clock {
            Some(clock) => clock.in_table(at_ns, self.step_ns, self.span_ns),
            None => format!("{:.4}", at_ns as f64 / 1e9),
        }
    }
}
