//! Results of idle exit: response times after each idle time, and the power states that they show.

use super::setup::{BACK_TO_BACK, IdleExit, after_phase};
use crate::common::attempts::{measurements, steps_of};
use steadfast_domain::{Measurement, Nanos, Record, Tally, ValueRange};

/// Factor by which the added time must grow to begin a deeper state (our choice).
const DEEPER: f64 = 1.5;

/// Standard errors by which the mean of a few I/Os may be off (our choice: 95 % of means of three
/// I/Os are off by less).
const STANDARD_ERRORS: f64 = 4.3;

pub struct IdleExitResults<'a> {
    /// I/Os back to back, before and after those with idle times.
    pub back_to_back: Tally,
    /// Results of the idle times, shortest first.
    pub idle_times: Vec<IdleResult<'a>>,
    /// States that the drive entered, the lightest first.
    pub states: Vec<EnteredState>,
    /// Measurements of the I/Os back to back.
    pub baseline_steps: Vec<&'a Measurement>,
}

/// I/Os after an idle time.
pub struct IdleResult<'a> {
    pub idle: Nanos,
    /// `None` if they were not measured.
    pub step: Option<&'a Measurement>,
    pub tally: Tally,
    /// Mean response time above that of I/Os back to back, in ms.
    pub added_ms: Option<f64>,
    /// Bounds of `added_ms`, from the spread of the response times; `None` for fewer than two.
    pub added_bounds: Option<ValueRange>,
    /// True if even the fastest of them was slower than 99 of 100 I/Os back to back.
    pub is_slower: bool,
}

/// A state in which the drive, its link or the host takes longer to answer.
pub struct EnteredState {
    /// Longest idle time after which it was not yet entered; `None` if the shortest one enters it.
    pub not_after: Option<Nanos>,
    /// Shortest idle time after which it was entered.
    pub after: Nanos,
    /// Mean response time above that of I/Os back to back, in ms.
    pub added_ms: f64,
}

impl<'a> IdleExitResults<'a> {
    pub fn new(test: &IdleExit, record: &'a Record) -> Self {
        let steps = |phase: &str| measurements(&steps_of(record, phase));
        let baseline_steps = steps(BACK_TO_BACK);
        let back_to_back: Tally = baseline_steps.iter().map(|step| step.total()).sum();
        let slow = back_to_back.percentile(0.99).or(back_to_back.response_longest());
        let mut times = test.idle_times.clone();
        times.sort_unstable();
        let idle_times: Vec<IdleResult<'a>> = times
            .into_iter()
            .map(|idle| {
                let step = steps(&after_phase(idle)).last().copied();
                let tally = step.map(Measurement::total).unwrap_or_default();
                let mean = tally.response_mean_ms().zip(back_to_back.response_mean_ms());
                let shortest = tally.response_shortest().zip(slow);
                let is_slower = shortest.is_some_and(|(shortest, slow)| shortest > slow);
                let added_ms = mean.map(|(after, before)| after - before);
                let errors = standard_error_ms(&tally).zip(standard_error_ms(&back_to_back));
                let added_bounds = added_ms.zip(errors).map(|(added, (after, before))| {
                    let error = STANDARD_ERRORS * after.hypot(before);
                    ValueRange::new(added - error, added + error)
                });
                IdleResult { idle, step, tally, added_ms, added_bounds, is_slower }
            })
            .collect();
        let states = states(&idle_times);
        IdleExitResults { back_to_back, idle_times, states, baseline_steps }
    }

    /// Returns the result of the longest idle time that was measured.
    pub(super) fn longest(&self) -> Option<&IdleResult<'a>> {
        self.idle_times.iter().rev().find(|result| result.step.is_some())
    }
}

/// Returns the standard error of the mean response time, in ms; `None` for fewer than two.
pub(super) fn standard_error_ms(tally: &Tally) -> Option<f64> {
    let (mean, count) = (tally.response_mean_ms()?, tally.responses() as f64);
    let squares: f64 = tally
        .histogram
        .buckets()
        .map(|(low, high, ios)| {
            let middle = (low.as_millis_f64() + high.as_millis_f64()) / 2.0;
            (middle - mean).powi(2) * ios as f64
        })
        .sum();
    (count > 1.0).then(|| (squares / (count - 1.0) / count).sqrt())
}

/// Returns the states that the response times show: the first slower one, and each that adds half
/// as much again as the one before.
fn states(idle_times: &[IdleResult<'_>]) -> Vec<EnteredState> {
    let mut states: Vec<EnteredState> = Vec::new();
    let mut not_after = None;
    for result in idle_times {
        let Some(added_ms) = result.added_ms else { continue };
        let least = states.last().map_or(0.0, |state| state.added_ms * DEEPER);
        if result.is_slower && added_ms > least {
            states.push(EnteredState { not_after, after: result.idle, added_ms });
        }
        not_after = Some(result.idle);
    }
    states
}
