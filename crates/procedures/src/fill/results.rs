//! Results of fill: the curve of each level, what returned after each idle time, and the reads.

use super::curve::{Plateau, RateSample, ReturnedAmount, WriteCurve, rate_samples};
use super::setup::{DriveFill, FillLevel};
use crate::common::attempts::{last_attempt_steps, measurements};
use crate::common::preconditioning;
use steadfast_domain::{Measurement, Nanos, Record};

pub struct FillResults<'a> {
    pub levels: Vec<LevelResult<'a>>,
}

pub struct LevelResult<'a> {
    pub level: FillLevel,
    /// False if the run purges nothing: level 0 is not empty then.
    pub is_purged: bool,
    /// Rate of the measured writes; empty unless all of them ran without a gap.
    pub curve: WriteCurve,
    pub steps: Vec<&'a Measurement>,
    pub after_idle: Vec<AfterIdleResult>,
    /// Rates of the reads in MB/s: of what was just written, and of what was written long ago.
    pub reads: [Option<f64>; 2],
}

pub struct AfterIdleResult {
    pub idle: Nanos,
    /// GB written at full speed in the first place; `None` without a cliff.
    first_gb: Option<f64>,
    /// Bytes written; `None` if the writes were not measured.
    pub written: Option<f64>,
    /// Amount written at full speed; `None` without a cliff.
    pub returned: Option<ReturnedAmount>,
    /// Rate of all of them in MB/s.
    pub mean: Option<f64>,
}

impl<'a> FillResults<'a> {
    pub fn new(test: &DriveFill, record: &'a Record) -> Self {
        let is_purged = preconditioning::is_purged(&test.setup.settings);
        let level = |level: &FillLevel| {
            let is_empty = level.percent == 0;
            let steps = unbroken(record, &level.fill_phase(), is_empty);
            let curve = WriteCurve::new(samples(&steps), test.drop_share);
            let first_gb = curve.first_cliff().map(|cliff| cliff.before.gigabytes());
            let after_idle = test.idle_times.iter().map(|idle| {
                let steps = unbroken(record, &level.after_idle_phase(*idle), false);
                let samples = samples(&steps);
                let all = WriteCurve { samples: samples.clone(), ..WriteCurve::default() };
                AfterIdleResult {
                    idle: *idle,
                    first_gb,
                    written: (!steps.is_empty())
                        .then(|| steps.iter().map(|step| step.bytes().0 as f64).sum()),
                    returned: curve.returned(&samples),
                    mean: all.mean(),
                }
            });
            let after_idle = after_idle.collect();
            let rate = |phase: String| {
                unbroken(record, &phase, false).first().and_then(|step| step.mb_per_second())
            };
            let reads = level.read_phases().map(rate);
            LevelResult { level: *level, is_purged, curve, steps, after_idle, reads }
        };
        FillResults { levels: test.levels.iter().map(level).collect() }
    }
}

/// Returns the measurements of the last attempt at a phase; empty unless it is complete and there
/// was no gap in it, or before it if that matters.
fn unbroken<'a>(
    record: &'a Record,
    phase: &str,
    may_begin_after_a_gap: bool,
) -> Vec<&'a Measurement> {
    let steps = last_attempt_steps(record, phase);
    let is_broken = steps.iter().enumerate().any(|(index, (_, outcome))| {
        outcome.gap_before.is_some() && !(index == 0 && may_begin_after_a_gap)
    });
    let is_complete = steps.last().is_some_and(|(_, outcome)| outcome.measurement.complete);
    if is_broken || !is_complete {
        return Vec::new();
    }
    measurements(&steps)
}

fn samples(steps: &[&Measurement]) -> Vec<RateSample> {
    steps.iter().flat_map(|step| rate_samples(step)).collect()
}

impl AfterIdleResult {
    /// Returns the GB written at full speed.
    pub(super) fn returned_gb(&self) -> Option<f64> {
        self.returned.map(|returned| returned.bytes / 1e9)
    }

    /// Returns the amount written at full speed in percent of that in the first place.
    pub(super) fn returned_percent(&self) -> Option<f64> {
        Some(self.returned_gb()? / self.first_gb? * 100.0)
    }
}

impl LevelResult<'_> {
    /// Returns the full speed in MB/s: up to the first cliff, or of everything without one.
    pub(super) fn full_speed(&self) -> Option<f64> {
        match self.curve.first_cliff() {
            Some(cliff) => Some(cliff.before.mb_per_second()),
            None => self.curve.mean(),
        }
    }

    /// Returns the GB written at full speed before the first cliff; `None` without a cliff.
    pub(super) fn full_speed_gb(&self) -> Option<f64> {
        self.curve.first_cliff().map(|cliff| cliff.before.gigabytes())
    }

    /// Returns the bytes written if the rate did not drop; `None` with a cliff.
    pub(super) fn bytes_without_cliff(&self) -> Option<f64> {
        let last = self.curve.plateaus.last()?;
        self.curve.first_cliff().is_none().then_some(last.to)
    }

    /// Returns the rate after the first cliff in MB/s; `None` without a cliff.
    pub(super) fn next_speed(&self) -> Option<f64> {
        self.curve.first_cliff().map(|cliff| cliff.after.mb_per_second())
    }

    pub(super) fn slowest(&self) -> Option<Plateau> {
        let rate = |plateau: &Plateau| plateau.mb_per_second();
        self.curve.plateaus.iter().copied().min_by(|a, b| rate(a).total_cmp(&rate(b)))
    }

    /// Returns the rate of the slowest plateau in MB/s.
    pub(super) fn lowest_speed(&self) -> Option<f64> {
        self.slowest().map(|plateau| plateau.mb_per_second())
    }
}
