//! Results of HIR: accesses of the wait states and their baselines by wall time.

use super::setup::{Hir, PRECONDITIONING, baseline_phase, wait_phase};
use crate::common::attempts::current_steps;
use crate::exhibits::time_axis::minutes;
use steadfast_domain::{Measurement, Nanos, Outcome, Record, Step, Tally, Verdict};

pub struct HirResults<'a> {
    pub preconditioning: Vec<(&'a Step, &'a Outcome)>,
    pub verdict: Verdict,
    /// Wait states, one per idle time, in order.
    pub waits: Vec<WaitState<'a>>,
}

/// A wait state and its baseline, the accesses without a pause that follow it.
pub struct WaitState<'a> {
    pub idle: Nanos,
    /// Accesses with the idle time between them.
    pub accesses: AccessSeries<'a>,
    pub baseline: AccessSeries<'a>,
}

pub struct AccessSeries<'a> {
    pub steps: Vec<(&'a Step, &'a Outcome)>,
    /// Start of each access, in minutes of wall time since the first wait state began, and its
    /// IOPS.
    pub points: Vec<(f64, Option<f64>)>,
}

impl<'a> HirResults<'a> {
    /// Computes the results of the last attempt in a record.
    pub fn new(hir: &Hir, record: &'a Record) -> Self {
        let preconditioning = current_steps(record, PRECONDITIONING);
        let first = hir.idle_times.first().map(|idle| current_steps(record, &wait_phase(*idle)));
        let origin = first
            .and_then(|steps| steps.first().map(|(_, o)| o.measurement.began_unix_ms))
            .unwrap_or(0);
        let series = |phase: String| AccessSeries::new(current_steps(record, &phase), origin);
        let waits = hir.idle_times.iter().map(|idle| WaitState {
            idle: *idle,
            accesses: series(wait_phase(*idle)),
            baseline: series(baseline_phase(*idle)),
        });
        HirResults {
            verdict: hir.preconditioning.verdict(&preconditioning),
            preconditioning,
            waits: waits.collect(),
        }
    }

    /// Returns the IOPS before the first pause: the mean of the judged window; `None` if there is
    /// no window.
    pub fn saturated(&self) -> Option<f64> {
        self.verdict.tracks.first().map(|track| track.average)
    }
}

impl<'a> AccessSeries<'a> {
    fn new(steps: Vec<(&'a Step, &'a Outcome)>, origin_ms: u64) -> Self {
        let points = steps
            .iter()
            .map(|(_, outcome)| {
                let began = outcome.measurement.began_unix_ms.saturating_sub(origin_ms);
                (minutes(Nanos::from_millis(began)), outcome.measurement.iops())
            })
            .collect();
        AccessSeries { steps, points }
    }

    /// Returns the IOPS over the time of the accesses, without the idle times.
    pub fn iops(&self) -> Option<f64> {
        let time: f64 = self.measurements().map(|m| m.elapsed.as_secs_f64()).sum();
        (time > 0.0).then(|| self.tally().ios as f64 / time)
    }

    pub fn tally(&self) -> Tally {
        self.measurements().map(Measurement::total).sum()
    }

    pub fn first(&self) -> Option<f64> {
        self.points.first().and_then(|point| point.1)
    }

    pub fn last(&self) -> Option<f64> {
        self.points.last().and_then(|point| point.1)
    }

    pub fn measurements(&self) -> impl Iterator<Item = &'a Measurement> {
        self.steps.iter().map(|(_, outcome)| &outcome.measurement)
    }
}
