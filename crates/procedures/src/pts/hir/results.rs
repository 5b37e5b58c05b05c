//! Results of HIR: accesses of the wait states and their baselines by wall time.

use super::setup::{Hir, PRECONDITIONING, baseline_phase, wait_phase};
use crate::common::attempts::{current_attempt_steps, measurements};
use crate::exhibits::cyclic_load::JudgedLoad;
use crate::exhibits::time_axis::minutes;
use steadfast_domain::{Measurement, Nanos, Outcome, Record, Step, Tally};

pub struct HirResults<'a> {
    pub preconditioning: JudgedLoad<'a>,
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

/// Accesses of a wait state or of a baseline.
pub struct AccessSeries<'a> {
    pub steps: Vec<(&'a Step, &'a Outcome)>,
    /// Start of each access, in minutes of wall time since the first wait state began, and its
    /// IOPS.
    pub points: Vec<(f64, Option<f64>)>,
}

impl<'a> HirResults<'a> {
    /// Computes the results of the last attempt in a record.
    pub fn new(hir: &'a Hir, record: &'a Record) -> Self {
        let mut origin_ms = None;
        let mut waits = Vec::new();
        for idle in &hir.idle_times {
            let accesses = current_attempt_steps(record, &wait_phase(*idle));
            let baseline = current_attempt_steps(record, &baseline_phase(*idle));
            let first = accesses.first().map_or(0, |(_, o)| o.measurement.began_unix_ms);
            let origin_ms = *origin_ms.get_or_insert(first);
            waits.push(WaitState {
                idle: *idle,
                accesses: AccessSeries::new(accesses, origin_ms),
                baseline: AccessSeries::new(baseline, origin_ms),
            });
        }
        let preconditioning = current_attempt_steps(record, PRECONDITIONING);
        let preconditioning = JudgedLoad::of_steps(&hir.preconditioning, preconditioning);
        HirResults { preconditioning, waits }
    }

    /// Returns the IOPS before the first pause: the mean of the judged window; `None` if there is
    /// no window.
    pub fn saturated(&self) -> Option<f64> {
        self.preconditioning.verdict.tracks.first().map(|track| track.average)
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
        let time: f64 = self.measurements().iter().map(|m| m.elapsed.as_secs_f64()).sum();
        (time > 0.0).then(|| self.tally().ios as f64 / time)
    }

    pub fn tally(&self) -> Tally {
        self.measurements().into_iter().map(Measurement::total).sum()
    }

    /// Returns the IOPS of the first access.
    pub fn first_iops(&self) -> Option<f64> {
        self.points.first().and_then(|(_, iops)| *iops)
    }

    /// Returns the IOPS of the last access.
    pub fn last_iops(&self) -> Option<f64> {
        self.points.last().and_then(|(_, iops)| *iops)
    }

    pub fn measurements(&self) -> Vec<&'a Measurement> {
        measurements(&self.steps)
    }
}
