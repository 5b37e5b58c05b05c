//! Times of a study of a capture: its clock, and the first column of a table over time.

use crate::cli::{AxisArguments, SharesArguments, TimeAxis};
use crate::filtered_capture::FilteredCapture;
use steadfast_analysis::StudyOptions;
use steadfast_analysis::clock::CaptureClock;

/// Returns the options of a study of a capture, with its clock if one is requested.
pub fn study_options(
    capture: &FilteredCapture,
    shares: &SharesArguments,
    axis: &AxisArguments,
) -> StudyOptions {
    StudyOptions { clock: clock(capture, axis.time_axis), ..capture.options(shares, axis.step) }
}

/// Returns the requested clock; `None` if relative time is requested or the capture has no clock.
fn clock(capture: &FilteredCapture, requested: TimeAxis) -> Option<CaptureClock> {
    match requested {
        TimeAxis::Clock => {
            CaptureClock::from_conditions(capture.conditions(), capture.time_zone.as_ref())
        }
        TimeAxis::Relative => None,
    }
}

/// Row labels of a table over time.
pub struct StepTimeFormat {
    clock: Option<CaptureClock>,
    step_ns: u64,
    span_ns: (u64, u64),
}

impl StepTimeFormat {
    /// Returns the format for steps of `step_ns` within `span_ns` (begin and end); relative if the
    /// capture has no clock.
    pub fn new(
        capture: &FilteredCapture,
        requested: TimeAxis,
        step_ns: u64,
        span_ns: Option<(u64, u64)>,
    ) -> Self {
        let span_ns = span_ns.unwrap_or_default();
        StepTimeFormat { clock: clock(capture, requested), step_ns, span_ns }
    }

    /// Returns the step width in nanoseconds.
    pub fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// Returns the column's heading.
    pub fn head(&self) -> String {
        if self.clock.is_some() { "Start".to_owned() } else { "Start s".to_owned() }
    }

    /// Formats a time given in nanoseconds since the start.
    pub fn text(&self, at_ns: u64) -> String {
        match &self.clock {
            Some(clock) => clock.in_table(at_ns, self.step_ns, self.span_ns),
            None => format!("{:.4}", at_ns as f64 / 1e9),
        }
    }
}
