//! Setup of the throughput test: its block sizes, each with its own loop.

use crate::common::choices::RunChoices;
use crate::common::preconditioning::WIPC_PATTERN;
use crate::common::rounds::{self, MixedLoop};
use crate::common::{ProcedureSetup, preconditioning};
use crate::exhibits::disclosure;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::scattered::RangedTest;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Class, Demand, Measurement, Profile, Settings};

/// Block sizes, in the order in which the public implementations of PTS 1.1 and 2.0 run them.
const SIZES: [Bytes; 2] = [Bytes::kib(1024), Bytes::kib(128)];

/// Block size of PTS-C 1.x (SNIA web pages on PTS terms).
const SIZES_CLIENT_1: [Bytes; 1] = [Bytes::kib(1024)];

/// Block sizes of TKperf, in its order (TKperf 2.x reports, "Throughput").
const SIZES_TKPERF: [Bytes; 5] =
    [Bytes::kib(1024), Bytes::kib(64), Bytes::kib(8), Bytes::kib(4), Bytes(512)];

/// Mixes of a round in percent of reads, in the mandatory order.
const MIXES: [u8; 2] = [100, 0];

/// Demand of sequential tests in both classes: T1Q32 (SNIA tutorial, "Test Settings").
const DEMAND: Demand = Demand::new(1, 32);

/// Default demand of TKperf.
const DEMAND_TKPERF: Demand = Demand::new(1, 1);

/// Parameter `precondition` of profile `tkperf`: whether to write the drive before each block
/// size.
pub const PRECONDITION: Parameter = Parameter {
    name: "precondition",
    default: "no",
    meaning: "what is written after each purge: no (nothing), or wipc (2 x user capacity, \
        SEQ 128K W)",
    source: "TKperf 2.x preconditions nothing before its throughput test",
    ..Parameter::PLAIN
};

/// Parameters of the throughput test in profile `tkperf`; it has none in other profiles.
pub const PARAMETERS_TKPERF: &[Parameter] = &[PRECONDITION];

/// The loop of one block size, after its own purge and preconditioning.
#[derive(Debug, Clone)]
pub struct SizeLoop {
    pub size: Bytes,
    pub wipc_phase: String,
    pub mixed_loop: MixedLoop,
}

impl SizeLoop {
    /// Returns the block size in the notation, such as `128K`.
    pub fn size_name(&self) -> String {
        self.size.transfer_size()
    }
    /// Returns the block size as a part of an id, such as `128k`.
    pub fn size_id(&self) -> String {
        self.size_name().to_lowercase()
    }
    pub fn reads(&self) -> AccessPattern {
        AccessPattern::sequential(self.size, 100)
    }
    pub fn writes(&self) -> AccessPattern {
        AccessPattern::sequential(self.size, 0)
    }
}

#[derive(Debug, Clone)]
pub struct Throughput {
    pub(super) setup: ProcedureSetup,
    pub(super) demand: Demand,
    left_out: Vec<Bytes>,
    /// True if every block size is preconditioned.
    pub(super) preconditions: bool,
    pub(super) loops: Vec<SizeLoop>,
}

impl RangedTest for Throughput {
    fn new(setup: ProcedureSetup) -> Result<Self, ProcedureError> {
        rounds::check_ending(&setup.settings)?;
        let (sizes, left_out) = setup.split_sizes(block_sizes(&setup.settings));
        let demand = setup.settings.demand_or(recommended_demand(setup.settings.profile));
        let preconditions = preconditions(&setup.settings)?;
        let mut loops = Vec::new();
        for (number, size) in (1..).zip(&sizes) {
            loops.push(size_loop(&setup, *size, number == sizes.len(), demand));
        }
        Ok(Throughput { demand, left_out, preconditions, loops, setup })
    }

    fn choices(&self) -> RunChoices<'_> {
        let rounds_max = self.loops.iter().map(|l| l.mixed_loop.rounds_max).max();
        RunChoices {
            demands: vec![self.demand],
            recommended: Some(recommended_demand(self.setup.settings.profile)),
            block_sizes_left_out: &self.left_out,
            rounds_max,
            ending: disclosure::ending_text(self.setup.settings.steady_state),
            judged: true,
            preconditioning: if self.preconditions {
                self.loops.iter().map(|size_loop| self.wipc_pattern(size_loop)).collect()
            } else {
                Vec::new()
            },
            measured_phases: self.loops.iter().map(|l| l.mixed_loop.phase.clone()).collect(),
            gap_effect: disclosure::loop_gap_effect,
            quick: format!(
                "profile quick runs steps of {} (the standard: 60 s) and at most {} rounds of \
                 each block size.",
                self.setup.step_time,
                rounds_max.unwrap_or_default()
            ),
            tkperf: tkperf_text(self.preconditions),
            ..self.setup.choices()
        }
    }
}

impl Throughput {
    /// Returns the pattern of the preconditioning: the block size under test, except in profile
    /// tkperf, whose smallest size would take days; it uses the standard's pattern.
    pub(super) fn wipc_pattern(&self, size_loop: &SizeLoop) -> AccessPattern {
        match self.setup.settings.profile {
            Profile::Tkperf => WIPC_PATTERN,
            _ => size_loop.writes(),
        }
    }
}

/// Returns true if the test has workload-independent preconditioning: always, except in profile
/// tkperf, where the user must ask for it.
fn preconditions(settings: &Settings) -> Result<bool, ProcedureError> {
    if settings.profile != Profile::Tkperf {
        return Ok(true);
    }
    PRECONDITION.choice(settings, &[("no", false), ("wipc", true)])
}

/// Returns the text on where profile tkperf deviates from TKperf.
fn tkperf_text(preconditions: bool) -> &'static str {
    if preconditions {
        "Profile tkperf follows TKperf's five block sizes, their order, its purge before each, and \
         its demand. Differences: after each purge, twice the user capacity is written (TKperf \
         writes nothing); every block size is judged by its own writes (TKperf judges all by those \
         of 1024 KiB); sequential I/O continues from step to step, and threads share one position; \
         a failed purge is reported."
    } else {
        "Profile tkperf follows TKperf's five block sizes, their order, its purge before each, and \
         its demand. Like TKperf and unlike the PTS, it has no workload independent \
         preconditioning. Differences: every block size is judged by its own writes (TKperf judges \
         all by those of 1024 KiB); sequential I/O continues from step to step; a failed purge is \
         reported."
    }
}

fn size_loop(setup: &ProcedureSetup, size: Bytes, is_last: bool, demand: Demand) -> SizeLoop {
    let phase = |base: &str| format!("{base}-{}", size.transfer_size());
    SizeLoop {
        size,
        wipc_phase: phase(preconditioning::PHASE),
        mixed_loop: MixedLoop {
            points: MIXES.map(|mix| AccessPattern::sequential(size, mix)).to_vec(),
            tracked: vec![AccessPattern::sequential(size, 0)],
            metric: Measurement::mb_per_second,
            unit: "MB/s",
            ..MixedLoop::new(setup, &phase(rounds::PHASE), is_last, demand)
        },
    }
}

fn block_sizes(settings: &Settings) -> &'static [Bytes] {
    match (settings.profile, settings.class) {
        (Profile::Tkperf, _) => &SIZES_TKPERF,
        (Profile::Pts11, Class::Client) => &SIZES_CLIENT_1,
        _ => &SIZES,
    }
}

fn recommended_demand(profile: Profile) -> Demand {
    if profile == Profile::Tkperf { DEMAND_TKPERF } else { DEMAND }
}
