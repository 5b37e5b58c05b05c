//! Setup of the IOPS test: its matrix and its tracking variables.

use crate::common::choices::RunChoices;
use crate::common::one_pass::{INSTEAD_OF_WIPC, SPARE};
use crate::common::rounds::{self, MixedLoop, random_points};
use crate::common::{ProcedureSetup, preconditioning};
use crate::exhibits::disclosure;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::scattered::RangedTest;
use crate::pts::workload::ALIGNMENT;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Profile};

/// Outer loop: percent of reads, in the mandatory order.
const MIXES: [u8; 7] = [100, 95, 65, 50, 35, 5, 0];

/// Inner loop: block sizes, in the mandatory order.
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

/// Mixes of profile `quick`: our choice, including the tracking variables.
const QUICK_MIXES: [u8; 3] = [100, 65, 0];
/// Block sizes of profile `quick`: our choice, including the tracking variables.
const QUICK_SIZES: [Bytes; 3] = [Bytes::kib(1024), Bytes::kib(64), Bytes::kib(4)];

/// Tracking variable of PTS 1.1 and TKperf, and the first one of PTS 2.0.x.
pub(super) const TRACKED_4K: AccessPattern = AccessPattern::random(Bytes::kib(4), 0);
/// Tracking variables of PTS 2.0.x, which must be steady in the same window (tutorial; PTS 2.0.2).
const TRACKED_20: [AccessPattern; 3] = [
    TRACKED_4K,
    AccessPattern::random(Bytes::kib(64), 65),
    AccessPattern::random(Bytes::kib(1024), 100),
];

pub const PARAMETERS: &[Parameter] = &[ALIGNMENT, INSTEAD_OF_WIPC, SPARE];

#[derive(Debug, Clone)]
pub struct Iops {
    pub(super) setup: ProcedureSetup,
    pub(super) mixes: Vec<u8>,
    pub(super) sizes: Vec<Bytes>,
    left_out: Vec<Bytes>,
    pub(super) mixed_loop: MixedLoop,
}

impl RangedTest for Iops {
    fn new(setup: ProcedureSetup) -> Result<Self, ProcedureError> {
        rounds::check_ending(&setup.settings)?;
        let profile = setup.settings.profile;
        let (mixes, sizes): (&[u8], &[Bytes]) = match profile {
            Profile::Quick => (&QUICK_MIXES, &QUICK_SIZES),
            _ => (&MIXES, &SIZES),
        };
        let tracked = match profile {
            Profile::Pts20 | Profile::Quick => TRACKED_20.to_vec(),
            Profile::Pts11 | Profile::Tkperf => vec![TRACKED_4K],
        };
        let (sizes, left_out) = setup.split_sizes(sizes);
        let demand = setup.settings.demand_or(setup.method.random_demand);
        let mixed_loop = MixedLoop {
            points: random_points(mixes, &sizes),
            tracked,
            ..MixedLoop::new(&setup, rounds::PHASE, true, demand)
        };
        Ok(Iops { mixes: mixes.to_vec(), sizes, left_out, mixed_loop, setup })
    }

    fn choices(&self) -> RunChoices<'_> {
        RunChoices {
            demands: vec![self.mixed_loop.demand],
            recommended: Some(self.setup.method.random_demand),
            block_sizes_left_out: &self.left_out,
            rounds_max: Some(self.mixed_loop.rounds_max),
            ending: disclosure::ending_text(self.setup.settings.steady_state),
            judged: true,
            preconditioning: preconditioning::patterns(&self.setup),
            measured_phases: vec![self.mixed_loop.phase.clone()],
            gap_effect: disclosure::loop_gap_effect,
            quick: format!(
                "profile quick runs 3 mixes x 3 block sizes in steps of {} (the standard: 7 x 8 \
                 in steps of 60 s) and at most {} rounds.",
                self.setup.step_time, self.mixed_loop.rounds_max
            ),
            tkperf: "Profile tkperf follows TKperf's matrix, order and single tracking variable. \
                Differences: every step has its own random offsets; WIPC runs at T1Q32 instead of \
                the test's demand and writes twice the capacity once (not once per thread); a \
                failed purge is reported.",
            ..self.setup.choices()
        }
    }
}
