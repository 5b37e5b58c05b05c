//! The IOPS test: 7 read/write mixes x 8 block sizes, random, in steady state
//! (PTS 2.0.2 p. 26; PTS-E 1.1 p. 30).
//!
//! Purge; write twice the user capacity sequentially; then rounds of 56
//! one-minute steps, mixes outside, block sizes inside, in the mandatory order,
//! until the tracking variables are steady in one common window of five rounds.
//! An interruption inside a round voids the round; the window begins anew after
//! every interruption.

mod exhibits;

use super::method::{Method, WIPC_PATTERN, active_range, check_geometry};
use super::results::Results;
use super::rounds::{self, MixedLoop};
use super::scattered::Ranged;
use super::{disclosure, preconditioning, workload};
use crate::{Parameter, Unsuitable};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{
    Bench, Bytes, Conditions, Demand, Findings, Halt, Nanos, Procedure, Profile, Record, Settings,
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

/// The parameters of the IOPS test.
pub const PARAMETERS: &[Parameter] = &[workload::ALIGNMENT];

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
    alignment: Option<Bytes>,
    mixed_loop: MixedLoop,
}

impl Ranged for Iops {
    fn by(
        method: Method,
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        check_geometry(geometry)?;
        rounds::check_ending(settings)?;
        let active_range = active_range(settings, &method, geometry)?;
        let (mixes, sizes) = matrix(settings.profile);
        let sector = u64::from(geometry.logical_sector);
        let (sizes, left_out): (Vec<_>, Vec<_>) =
            sizes.iter().partition(|size| size.0.is_multiple_of(sector));
        let points = mixes
            .iter()
            .flat_map(|mix| sizes.iter().map(|size| AccessPattern::random(*size, *mix)))
            .collect();
        Ok(Iops {
            alignment: workload::alignment(settings, geometry)?,
            demand: settings.demand_or(method.random_demand),
            step_time: method.step_time(settings)?,
            mixed_loop: MixedLoop {
                phase: rounds::PHASE.to_owned(),
                points,
                tracked: tracked(settings.profile),
                metric: |measurement| measurement.iops(),
                unit: "IOPS",
                criteria: method.criteria,
                rounds_max: rounds::rounds_max(settings, &method, amendments, rounds::PHASE, true),
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

    fn choices(&self) -> disclosure::Choices<'_> {
        disclosure::Choices {
            settings: &self.settings,
            method: &self.method,
            geometry: self.geometry,
            covered: vec![self.method.covering(&self.settings, self.active_range)],
            demands: vec![self.demand],
            alignment: Some(workload::alignment_name(self.alignment)),
            recommended: Some(self.method.random_demand),
            step_time: self.step_time,
            block_sizes_left_out: &self.left_out,
            rounds_max: Some(self.mixed_loop.rounds_max),
            ending: disclosure::ending_text(self.settings.steady_state),
            judged: true,
            preconditioning: vec![WIPC_PATTERN],
            measured_phases: vec![self.mixed_loop.phase.clone()],
            gap_effect: disclosure::loop_gap_effect,
            quick: format!(
                "profile quick runs 3 mixes x 3 block sizes in steps of {} (the standard: 7 x 8 \
                 in steps of 60 s) and at most {} rounds.",
                self.step_time, self.mixed_loop.rounds_max
            ),
            tkperf: "Profile tkperf follows TKperf's matrix, order and single tracking variable, \
                     but every step has its own random offsets, WIPC runs at T1Q32 and not \
                     at the demand of the test, and writes twice the capacity once (not once per \
                     thread), and a failed purge is reported.",
        }
    }
}

impl Iops {
    fn conditions(&self) -> Conditions {
        Conditions {
            write_cache: self.method.write_cache,
            merges: Some(false),
            ..Conditions::default()
        }
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

impl Procedure for Iops {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.conditions())?;
        bench.purge()?;
        preconditioning::precondition(bench, &self.settings, self.geometry, self.active_range)?;
        let steps = rounds::Steps {
            settings: &self.settings,
            demand: self.demand,
            active_range: self.active_range,
            time: self.step_time,
            alignment: self.alignment,
        };
        self.mixed_loop.conduct(bench, &steps)?;
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        let results = Results::of(&self.mixed_loop, record);
        exhibits::findings(self, record, &results)
    }
}

#[cfg(test)]
mod tests;
