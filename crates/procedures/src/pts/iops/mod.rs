//! The IOPS test: 7 read/write mixes x 8 block sizes, random, in steady state
//! (PTS 2.0.2 p. 26; PTS-E 1.1 p. 30).
//!
//! Purge; write twice the user capacity sequentially; then rounds of 56
//! one-minute steps, mixes outside, block sizes inside, in the mandatory order,
//! until the tracking variables are steady in one common window of five rounds.
//! An interruption inside a round voids the round; the window begins anew after
//! every interruption.

mod exhibits;
mod results;

use super::method::{Method, active_range, check_geometry};
use super::rounds::{self, MixedLoop};
use super::{disclosure, preconditioning};
use crate::Unsuitable;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::stimulus::{ActiveRange, Pace, Until};
use steadfast_domain::{
    Bench, Bytes, Conditions, Demand, Findings, Halt, Nanos, Place, Procedure, Profile, Record,
    Settings, Step, Stimulus,
};

/// The outer loop: percent of reads, in the mandatory order.
const MIXES: [u8; 7] = [100, 95, 65, 50, 35, 5, 0];

/// The inner loop, in the mandatory order.
const SIZES: [Bytes; 8] = [
    Bytes::kib(1024),
    Bytes::kib(128),
    Bytes::kib(64),
    Bytes::kib(32),
    Bytes::kib(16),
    Bytes::kib(8),
    Bytes::kib(4),
    Bytes(512),
];

/// The matrix of profile `quick`: our choice, holding the tracking variables.
const QUICK_MIXES: [u8; 3] = [100, 65, 0];
/// Its block sizes.
const QUICK_SIZES: [Bytes; 3] = [Bytes::kib(1024), Bytes::kib(64), Bytes::kib(4)];

/// The tracking variable of PTS 1.1 and TKperf, and the first of PTS 2.0.x ...
const TRACKED_4K: AccessPattern = AccessPattern::random(Bytes::kib(4), 0);
/// ... which adds two more, steady in the same window (tutorial; PTS 2.0.2).
const TRACKED_20: [AccessPattern; 3] = [
    TRACKED_4K,
    AccessPattern::random(Bytes::kib(64), 65),
    AccessPattern::random(Bytes::kib(1024), 100),
];

/// The IOPS test, ready to be conducted on a device of known geometry.
#[derive(Debug, Clone)]
pub struct Iops {
    settings: Settings,
    geometry: Geometry,
    method: Method,
    mixes: Vec<u8>,
    sizes: Vec<Bytes>,
    left_out: Vec<Bytes>,
    demand: Demand,
    step_time: Nanos,
    active_range: ActiveRange,
    mixed_loop: MixedLoop,
}

impl Iops {
    /// The test that `settings` ask for.
    pub fn new(
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        check_geometry(geometry)?;
        let method = Method::of(settings.profile, settings.class)?;
        let active_range = active_range(settings, &method, geometry)?;
        let (mixes, sizes) = matrix(settings.profile);
        let sector = u64::from(geometry.logical_sector);
        let (sizes, left_out): (Vec<_>, Vec<_>) =
            sizes.iter().partition(|size| size.0.is_multiple_of(sector));
        let points = mixes
            .iter()
            .flat_map(|mix| sizes.iter().map(|size| AccessPattern::random(*size, *mix)))
            .collect();
        let rounds_max = amendments
            .iter()
            .map(|Amendment::RoundsMax(rounds)| *rounds)
            .next_back()
            .or(settings.rounds_max)
            .unwrap_or(method.rounds_max);
        Ok(Iops {
            demand: settings.demand_or(method.random_demand),
            step_time: checked_step_time(settings.step_time.unwrap_or(method.step_time))?,
            mixed_loop: MixedLoop {
                points,
                tracked: tracked(settings.profile),
                metric: |measurement| measurement.iops(),
                unit: "IOPS",
                criteria: method.criteria,
                rounds_max,
                ending: settings.steady_state,
            },
            settings: settings.clone(),
            mixes: mixes.to_vec(),
            sizes,
            geometry,
            method,
            left_out,
            active_range,
        })
    }

    fn conditions(&self) -> Conditions {
        Conditions {
            write_cache: self.method.write_cache,
            merges: Some(false),
            ..Conditions::default()
        }
    }

    fn step(&self, round: u32, point: u32, pattern: &AccessPattern) -> Step {
        let place = Place::new(rounds::PHASE, round, point, pattern.to_string());
        let stimulus = Stimulus {
            streams: pattern.streams(),
            zones: Vec::new(),
            demand: self.demand,
            active_range: self.active_range,
            data_pattern: self.settings.data_pattern.clone(),
            pace: Pace::Closed,
            ramp: Nanos::ZERO,
            until: Until::time(self.step_time),
            seed: place.seed(self.settings.seed),
            verify: self.settings.verify,
        };
        Step::alone(place, stimulus)
    }
}

fn matrix(profile: Profile) -> (&'static [u8], &'static [Bytes]) {
    match profile {
        Profile::Quick => (&QUICK_MIXES, &QUICK_SIZES),
        _ => (&MIXES, &SIZES),
    }
}

fn tracked(profile: Profile) -> Vec<AccessPattern> {
    match profile {
        Profile::Pts20 | Profile::Quick => TRACKED_20.to_vec(),
        Profile::Pts11 | Profile::Tkperf => vec![TRACKED_4K],
    }
}

fn checked_step_time(time: Nanos) -> Result<Nanos, Unsuitable> {
    if (Nanos::from_millis(100)..=Nanos::from_secs(86_400)).contains(&time) {
        return Ok(time);
    }
    Err(Unsuitable(format!("a step time of {time} is not possible; give 100 ms to 24 h")))
}

impl Procedure for Iops {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.conditions())?;
        bench.purge()?;
        preconditioning::precondition(bench, &self.settings, self.geometry, self.active_range)?;
        self.mixed_loop.conduct(bench, &|round, point, pattern| self.step(round, point, pattern))
    }

    fn study(&self, record: &Record) -> Findings {
        let results = results::Results::of(self, record);
        exhibits::findings(self, record, &results)
    }
}

impl Iops {
    fn choices(&self) -> disclosure::Choices<'_> {
        disclosure::Choices {
            settings: &self.settings,
            method: &self.method,
            geometry: self.geometry,
            active_range: self.active_range,
            demand: self.demand,
            step_time: self.step_time,
            block_sizes_left_out: &self.left_out,
            rounds_max: self.mixed_loop.rounds_max,
        }
    }
}

#[cfg(test)]
mod tests;
