//! Results of the commit test: one measurement for each load of its matrix.

use super::setup::{COMMITS, Commit, CommitKind, CommitLoad, CommitOrder, REFRESH};
use crate::common::attempts::{attempt_suffix, is_attempt_of};
use crate::exhibits::cyclic_load::JudgedLoad;
use std::num::NonZeroU32;
use steadfast_domain::{Bytes, Measurement, Nanos, Op, Outcome, Record, Step, Tally};

/// Results of the commit test, from which its tables and plots are made.
pub struct CommitResults<'a> {
    pub(super) preconditioning: JudgedLoad<'a>,
    /// Every load in the order of the steps, measured or not.
    pub(super) points: Vec<CommitPoint<'a>>,
}

pub(super) struct CommitPoint<'a> {
    pub load: CommitLoad,
    /// Step without a gap before it or in the load that precedes it; `None` if there is none yet.
    pub step: Option<(&'a Step, &'a Outcome)>,
}

impl<'a> CommitResults<'a> {
    pub(super) fn new(test: &'a Commit, record: &'a Record) -> Self {
        let mut points: Vec<CommitPoint<'a>> =
            test.loads.iter().map(|load| CommitPoint { load: *load, step: None }).collect();
        for (step, outcome) in record.steps() {
            let at = (step.place.point as usize).wrapping_sub(1);
            if is_attempt_of(&step.place.phase, COMMITS)
                && outcome.gap_before.is_none()
                && is_conditioned(record, step)
                && let Some(point) = points.get_mut(at)
            {
                point.step = Some((step, outcome));
            }
        }
        CommitResults { preconditioning: JudgedLoad::new(&test.preconditioning, record), points }
    }

    /// Returns the number of loads that were measured.
    pub(super) fn measured(&self) -> usize {
        self.points.iter().filter(|point| point.step.is_some()).count()
    }

    /// Returns the point of a load; `None` if the matrix does not have it.
    pub(super) fn point(
        &self,
        order: CommitOrder,
        size: Bytes,
        kind: CommitKind,
        committers: NonZeroU32,
    ) -> Option<&CommitPoint<'a>> {
        let load = CommitLoad { order, size, kind, committers };
        self.points.iter().find(|point| point.load == load)
    }
}

/// Returns true if the preconditioning's load before this attempt ran in one piece. The first
/// attempt at a point has none.
fn is_conditioned(record: &Record, step: &Step) -> bool {
    let Some(attempt) = attempt_suffix(&step.place.phase) else { return true };
    let has_gap_inside = record.steps().any(|(part, outcome)| {
        is_attempt_of(&part.place.phase, REFRESH)
            && attempt_suffix(&part.place.phase) == Some(attempt)
            && part.place.round == step.place.point
            && part.place.point > 1
            && outcome.gap_before.is_some()
    });
    !has_gap_inside
}

impl<'a> CommitPoint<'a> {
    fn measurement(&self) -> Option<&'a Measurement> {
        self.step.map(|(_, outcome)| &outcome.measurement)
    }

    /// Returns the tally of the writes until their commit.
    pub fn commits(&self) -> Option<Tally> {
        self.measurement().map(|m| m.direction(Op::Write))
    }

    pub fn rate(&self) -> Option<f64> {
        self.measurement()?.iops()
    }

    pub fn mb_per_second(&self) -> Option<f64> {
        self.measurement()?.mb_per_second()
    }

    /// Returns the flushes per second that the load asked for; `None` for a load without.
    pub fn flush_rate(&self) -> Option<f64> {
        let m = self.measurement().filter(|m| m.writes_alone.is_some())?;
        let seconds = m.elapsed.as_secs_f64();
        (seconds > 0.0).then(|| m.direction(Op::Flush).ios as f64 / seconds)
    }

    /// Returns the flushes that the kernel sent to the device per commit, including those outside
    /// the measured time; `None` if the kernel does not count them.
    pub fn device_flushes(&self) -> Option<f64> {
        let m = self.measurement()?;
        let outside = m.unmeasured.iter().filter(|part| part.op == Op::Write);
        let writes = m.direction(Op::Write).ios + outside.map(|part| part.ios).sum::<u64>();
        let flushes = m.kernel?.flushes?;
        (writes > 0).then(|| flushes as f64 / writes as f64)
    }

    /// Returns the mean time of a commit in milliseconds.
    pub fn mean_ms(&self) -> Option<f64> {
        self.commits()?.response_mean_ms()
    }

    /// Returns the mean time until a write was written, without its flush, in milliseconds.
    pub fn alone_ms(&self) -> Option<f64> {
        self.measurement()?.writes_alone.as_ref()?.response_mean_ms()
    }

    /// Returns the mean time of a flush in milliseconds.
    pub fn flush_ms(&self) -> Option<f64> {
        self.measurement()?.direction(Op::Flush).response_mean_ms()
    }

    /// Returns a percentile of the commits in milliseconds, given as a fraction; `None` if fewer
    /// than ten commits lie beyond it.
    pub fn percentile_ms(&self, fraction: f64) -> Option<f64> {
        self.commits()?.percentile(fraction).map(Nanos::as_millis_f64)
    }

    pub fn longest_ms(&self) -> Option<f64> {
        self.commits()?.response_longest().map(Nanos::as_millis_f64)
    }
}
