//! The throughput test: sequential reads and writes of one block size in steady
//! state, for 1024 KiB and again for 128 KiB (SNIA tutorial, "TP 128K, TP
//! 1024K"; public implementations of PTS-E 1.1 and 2.0).
//!
//! Each block size has its own purge and its own preconditioning at that size,
//! then rounds of two one-minute steps, all reads and all writes, until the
//! writes' MB/s are steady. An interruption between the two steps voids the
//! round; the window begins anew after every interruption.

mod exhibits;

use super::method::{Method, active_range, check_geometry};
use super::preconditioning::Preconditioning;
use super::results::Results;
use super::rounds::{self, MixedLoop};
use super::scattered::Ranged;
use super::{disclosure, workload};
use crate::Unsuitable;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{
    Bench, Bytes, Class, Conditions, Demand, Findings, Halt, Nanos, Procedure, Profile, Record,
    Settings,
};

/// The block sizes, in the order in which the public implementations of PTS 1.1
/// and 2.0 run them.
const SIZES: [Bytes; 2] = [Bytes::kib(1024), Bytes::kib(128)];

/// PTS-C 1.x has one (SNIA web pages on PTS terms).
const SIZES_CLIENT_1: [Bytes; 1] = [Bytes::kib(1024)];

/// TKperf's sizes in its order (TKperf 2.x reports, "Throughput").
const SIZES_TKPERF: [Bytes; 5] =
    [Bytes::kib(1024), Bytes::kib(64), Bytes::kib(8), Bytes::kib(4), Bytes(512)];

/// The mixes of a round: percent of reads, in the mandatory order.
const MIXES: [u8; 2] = [100, 0];

/// T1Q32 for sequential tests of both classes (SNIA tutorial, "Test Settings").
const DEMAND: Demand = Demand::new(1, 32);

/// TKperf's default.
const DEMAND_TKPERF: Demand = Demand::new(1, 1);

/// One block size: its preconditioning and its loop.
#[derive(Debug, Clone)]
struct SizeLoop {
    size: Bytes,
    /// The phase of its preconditioning.
    wipc_phase: String,
    mixed_loop: MixedLoop,
}

impl SizeLoop {
    fn reads(&self) -> AccessPattern {
        AccessPattern::sequential(self.size, 100)
    }
    fn writes(&self) -> AccessPattern {
        AccessPattern::sequential(self.size, 0)
    }
}

/// The throughput test, ready to be conducted on a device of known geometry.
#[derive(Debug, Clone)]
pub struct Throughput {
    settings: Settings,
    geometry: Geometry,
    method: Method,
    demand: Demand,
    step_time: Nanos,
    active_range: ActiveRange,
    left_out: Vec<Bytes>,
    loops: Vec<SizeLoop>,
}

impl Ranged for Throughput {
    fn by(
        method: Method,
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        check_geometry(geometry)?;
        rounds::check_ending(settings)?;
        let sector = u64::from(geometry.logical_sector);
        let (sizes, left_out): (Vec<Bytes>, Vec<Bytes>) =
            sizes(settings).iter().partition(|size| size.0.is_multiple_of(sector));
        let last = sizes.last().copied();
        let loops = sizes
            .iter()
            .map(|size| {
                let phase = format!("{}-{}", rounds::PHASE, size.transfer_size());
                let is_last = Some(*size) == last;
                let rounds_max = rounds::rounds_max(settings, &method, amendments, &phase, is_last);
                size_loop(*size, phase, settings, &method, rounds_max)
            })
            .collect();
        Ok(Throughput {
            demand: settings.demand_or(recommended(settings.profile)),
            step_time: method.step_time(settings)?,
            active_range: active_range(settings, &method, geometry)?,
            settings: settings.clone(),
            geometry,
            method,
            left_out,
            loops,
        })
    }

    fn choices(&self) -> disclosure::Choices<'_> {
        let cap = self.loops.iter().map(|l| l.mixed_loop.rounds_max).max();
        disclosure::Choices {
            settings: &self.settings,
            method: &self.method,
            geometry: self.geometry,
            covered: vec![self.method.covering(&self.settings, self.active_range)],
            demands: vec![self.demand],
            // Sequential I/Os lie at whole multiples of their size.
            alignment: Some(workload::alignment_name(None)),
            recommended: Some(recommended(self.settings.profile)),
            step_time: self.step_time,
            block_sizes_left_out: &self.left_out,
            rounds_max: cap,
            ending: disclosure::ending_text(self.settings.steady_state),
            judged: true,
            preconditioning: match self.preconditions() {
                true => self.loops.iter().map(SizeLoop::writes).collect(),
                false => Vec::new(),
            },
            measured_phases: self.loops.iter().map(|l| l.mixed_loop.phase.clone()).collect(),
            gap_effect: disclosure::loop_gap_effect,
            quick: format!(
                "profile quick runs steps of {} (the standard: 60 s) and at most {} rounds of \
                 each block size.",
                self.step_time,
                cap.unwrap_or_default()
            ),
            tkperf: "Profile tkperf follows TKperf's five block sizes, its order, its purge \
                     before each, its demand, and has no workload independent preconditioning, \
                     which is TKperf's own method and not the PTS's; but every block size is \
                     judged by its own writes (TKperf judges all by those of 1024 KiB), \
                     sequential I/O goes on from step to step, and a failed purge is reported.",
        }
    }
}

impl Throughput {
    /// TKperf has no workload-independent preconditioning before its throughput
    /// test; all others have it.
    fn preconditions(&self) -> bool {
        self.settings.profile != Profile::Tkperf
    }

    fn conduct_size(&self, size: &SizeLoop, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.purge()?;
        if self.preconditions() {
            Preconditioning {
                settings: &self.settings,
                geometry: self.geometry,
                active_range: self.active_range,
                pattern: size.writes(),
                phase: &size.wipc_phase,
            }
            .conduct(bench)?;
        }
        let steps = rounds::Steps {
            settings: &self.settings,
            demand: self.demand,
            active_range: self.active_range,
            time: self.step_time,
            alignment: None,
        };
        size.mixed_loop.conduct(bench, &steps)?;
        Ok(())
    }
}

fn size_loop(
    size: Bytes,
    phase: String,
    settings: &Settings,
    method: &Method,
    rounds_max: u32,
) -> SizeLoop {
    SizeLoop {
        size,
        wipc_phase: format!("{}-{}", super::preconditioning::PHASE, size.transfer_size()),
        mixed_loop: MixedLoop {
            phase,
            points: MIXES.map(|mix| AccessPattern::sequential(size, mix)).to_vec(),
            tracked: vec![AccessPattern::sequential(size, 0)],
            metric: |measurement| measurement.bytes_per_second().map(|rate| rate / 1e6),
            unit: "MB/s",
            criteria: method.criteria,
            rounds_max,
            ending: settings.steady_state,
        },
    }
}

fn sizes(settings: &Settings) -> &'static [Bytes] {
    match (settings.profile, settings.class) {
        (Profile::Tkperf, _) => &SIZES_TKPERF,
        (Profile::Pts11, Class::Client) => &SIZES_CLIENT_1,
        _ => &SIZES,
    }
}

fn recommended(profile: Profile) -> Demand {
    if profile == Profile::Tkperf { DEMAND_TKPERF } else { DEMAND }
}

impl Procedure for Throughput {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&Conditions {
            write_cache: self.method.write_cache,
            merges: Some(false),
            ..Conditions::default()
        })?;
        self.loops.iter().try_for_each(|size| self.conduct_size(size, bench))
    }

    fn study(&self, record: &Record) -> Findings {
        let results: Vec<Results> =
            self.loops.iter().map(|size| Results::of(&size.mixed_loop, record)).collect();
        exhibits::findings(self, record, &results)
    }
}

#[cfg(test)]
mod tests;
