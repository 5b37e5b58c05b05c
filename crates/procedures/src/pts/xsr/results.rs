//! Results of XSR: the three segments step by step, and when the last one recovered.

use super::setup::{Xsr, XsrSegment};
use crate::common::attempts::{current_attempt_steps, measurements};
use crate::common::secondary::{mb_per_second, mean};
use crate::exhibits::matrix::millis;
use crate::exhibits::time_axis::minutes;
use steadfast_domain::step::is_whole;
use steadfast_domain::{Measurement, Nanos, Outcome, Record, Step};

/// Number of steps in the average over the end of a segment: our choice.
const END_STEPS: usize = 5;

/// Level of near recovery, in percent of the first segment's average: our choice. A recovered
/// drive oscillates around the average, and about half of the first segment's own steps are below
/// it.
pub const NEARLY: u8 = 95;

pub struct XsrResults<'a> {
    /// Results of the segments, in order.
    pub segments: Vec<SegmentResult<'a>>,
    /// Time at which the last segment reached the recovery level.
    pub recovery: RecoveryTime,
    /// Time at which the last segment reached [`NEARLY`] percent of the first one's average.
    pub nearly: RecoveryTime,
    /// Time at which the last segment reached the slowest whole step of the first one.
    pub within_range: RecoveryTime,
}

/// Time at which the last segment reached a level of throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RecoveryTime {
    /// The last segment was not measured, or there is no level to compare with.
    NotMeasured,
    /// The last segment did not reach the level while it ran.
    NotYet,
    /// Time from the start of the last segment to the end of the first step that reached the
    /// level, in minutes: 1 for the first step if steps last one minute.
    After(f64),
}

/// A segment and its steps in the last attempt.
pub struct SegmentResult<'a> {
    pub segment: XsrSegment,
    pub steps: Vec<XsrStep>,
    pub outcomes: Vec<(&'a Step, &'a Outcome)>,
}

/// Values of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct XsrStep {
    /// Start of the step, in minutes since the first segment began.
    pub begin: f64,
    /// End of the step, in minutes since the first segment began.
    pub time: f64,
    pub mb_per_second: Option<f64>,
    /// Average response time in milliseconds.
    pub art: Option<f64>,
    /// Maximum response time in milliseconds.
    pub mrt: Option<f64>,
}

impl<'a> XsrResults<'a> {
    /// Computes the results of the last attempt in a record.
    pub fn new(xsr: &Xsr, record: &'a Record) -> Self {
        let mut time = Nanos::ZERO;
        let segments: Vec<SegmentResult<'a>> = xsr
            .segments
            .iter()
            .map(|segment| {
                let outcomes = current_attempt_steps(record, segment.phase);
                let mut steps = Vec::new();
                for (_, outcome) in &outcomes {
                    let begin = time;
                    time += outcome.measurement.elapsed;
                    steps.push(step_values(&outcome.measurement, begin, time));
                }
                SegmentResult { segment: segment.clone(), steps, outcomes }
            })
            .collect();
        let average = segments.first().and_then(SegmentResult::average);
        let percent = |level: u8| average.map(|rate| rate * (f64::from(level) / 100.0));
        let lowest = segments.first().and_then(SegmentResult::lowest);
        XsrResults {
            recovery: recovery(&segments, percent(xsr.recovery_level)),
            nearly: recovery(&segments, percent(NEARLY)),
            within_range: recovery(&segments, lowest),
            segments,
        }
    }

    /// Returns the start of segment number `index`, from 0, in minutes since the first one began.
    pub fn begins(&self, index: usize) -> f64 {
        let mut earlier_steps = self.segments[..index].iter().flat_map(|segment| &segment.steps);
        earlier_steps.next_back().map_or(0.0, |step| step.time)
    }
}

fn step_values(measurement: &Measurement, begin: Nanos, time: Nanos) -> XsrStep {
    let total = measurement.total();
    XsrStep {
        begin: minutes(begin),
        time: minutes(time),
        mb_per_second: measurement.mb_per_second(),
        art: total.response_mean_ms(),
        mrt: millis(total.response_longest()),
    }
}

/// Returns the time at which the last segment first reached `wanted` MB/s.
fn recovery(segments: &[SegmentResult<'_>], wanted: Option<f64>) -> RecoveryTime {
    let [_, .., last] = segments else { return RecoveryTime::NotMeasured };
    let (Some(wanted), false) = (wanted, last.steps.is_empty()) else {
        return RecoveryTime::NotMeasured;
    };
    let mut passed = Nanos::ZERO;
    for ((_, outcome), step) in last.outcomes.iter().zip(&last.steps) {
        passed += outcome.measurement.elapsed;
        if step.mb_per_second.is_some_and(|rate| rate >= wanted) {
            return RecoveryTime::After(minutes(passed));
        }
    }
    RecoveryTime::NotYet
}

impl SegmentResult<'_> {
    /// Returns the throughput of the whole segment in MB/s.
    pub fn average(&self) -> Option<f64> {
        mb_per_second(&self.measurements())
    }

    /// Returns the throughput of the slowest step in MB/s, ignoring a last step that is shorter.
    fn lowest(&self) -> Option<f64> {
        let measurements = self.measurements();
        let longest = measurements.iter().map(|m| m.elapsed).max()?;
        let whole_steps = measurements.iter().filter(|m| is_whole(m.elapsed, longest));
        whole_steps.filter_map(|m| m.mb_per_second()).min_by(f64::total_cmp)
    }

    /// Returns the mean throughput of the last `END_STEPS` steps in MB/s.
    pub fn end(&self) -> Option<f64> {
        let from = self.steps.len().saturating_sub(END_STEPS);
        mean(self.steps[from..].iter().map(|step| step.mb_per_second))
    }

    /// Returns the largest average response time of a step, in milliseconds.
    pub fn peak_art(&self) -> Option<f64> {
        peak(self.steps.iter().map(|step| step.art))
    }

    /// Returns the maximum response time, in milliseconds.
    pub fn peak_mrt(&self) -> Option<f64> {
        peak(self.steps.iter().map(|step| step.mrt))
    }

    pub fn measurements(&self) -> Vec<&Measurement> {
        measurements(&self.outcomes)
    }
}

fn peak(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    values.flatten().max_by(f64::total_cmp)
}
