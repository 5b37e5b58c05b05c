//! Workload-independent preconditioning (WIPC): sequential writes over the active range until
//! twice the user capacity has been written.

use crate::common::ProcedureSetup;
use crate::common::stretch::ContinuousLoad;
use crate::parameters::Parameter;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Geometry;
use steadfast_domain::{Bench, Bytes, Demand, Halt, Purge};

/// Refuses a device that was not purged, for a measurement that is about unwritten blocks.
///
/// # Errors
/// Returns [`Halt::Refused`] with the reason.
pub fn require_purged(purge: &Purge) -> Result<(), Halt> {
    match &purge.failed {
        None => Ok(()),
        Some(why) => Err(Halt::Refused(format!(
            "the purge failed ({why}), and this measures a device with unwritten blocks"
        ))),
    }
}

/// Pattern of WIPC: sequential 128 KiB writes (PTS 2.0.1 p. 17).
pub const WIPC_PATTERN: AccessPattern = AccessPattern::sequential(Bytes::kib(128), 0);
/// Demand of WIPC: one thread with 32 outstanding I/Os (PTS 2.0.1 p. 17). The 2.0.2 pseudo-code
/// can be read as the test's own demand instead; see docs/methods.md, WIPC demand.
pub const WIPC_DEMAND: Demand = Demand::new(1, 32);
/// Amount that WIPC writes, in user capacities.
const WIPC_CAPACITIES: u64 = 2;

/// Phase of the steps in the journal.
pub const PHASE: &str = "wipc";

/// Parameter `precondition` of tests whose method has no preconditioning.
pub const PRECONDITION: Parameter = Parameter {
    name: "precondition",
    default: "no",
    meaning: "what is written between the purge and the saturation: no (nothing), wipc (2 x \
              user capacity sequentially, as before the IOPS test), so that reads find blocks \
              that were written, or one-pass (random writes in one pass that leave the drive as \
              in steady state; needs spare)",
    source: "WSAT has no workload-independent preconditioning (SNIA tutorial)",
    ..Parameter::PLAIN
};

/// Returns the bytes that WIPC writes: twice the *full* user capacity, rounded up to a multiple of
/// `size`. A smaller active range is therefore written more often (docs/methods.md).
pub fn amount(geometry: Geometry, size: Bytes) -> Bytes {
    Bytes((WIPC_CAPACITIES * geometry.capacity.0).div_ceil(size.0) * size.0)
}

/// Returns WIPC with a pattern as one load that wraps inside the active range and is recorded at
/// every checkpoint. It writes the whole range even if the test accesses only segments of it.
pub fn load(ground: &ProcedureSetup, phase: &str, pattern: AccessPattern) -> ContinuousLoad {
    let bytes = amount(ground.geometry, pattern.size);
    let mut load = ground.amount(phase, &pattern, WIPC_DEMAND, bytes);
    load.stimulus.active_range = ground.active_range.in_one_piece();
    load
}

/// Returns the pattern of the standard's WIPC; nothing if the parts of the run before this one have
/// preconditioned the drive.
pub fn patterns(ground: &ProcedureSetup) -> Vec<AccessPattern> {
    if ground.settings.shares_preconditioning { Vec::new() } else { vec![WIPC_PATTERN] }
}

/// First line of the listing of a part that shares the preconditioning of the parts before it.
pub const SHARED: &str = "The drive as the parts of the run before this one left it";

/// Returns the lines on purge and WIPC in the listing of a test.
pub fn listing(ground: &ProcedureSetup) -> &'static str {
    if ground.settings.shares_preconditioning {
        SHARED
    } else {
        "Purge\nWorkload independent preconditioning: SEQ 128K W, T1Q32, 2 x user capacity"
    }
}

/// Runs the standard's WIPC: [`WIPC_PATTERN`] under [`PHASE`]. Does nothing if the parts of the run
/// before this one have preconditioned the drive.
pub fn precondition(bench: &mut dyn Bench, ground: &ProcedureSetup) -> Result<(), Halt> {
    if ground.settings.shares_preconditioning {
        return Ok(());
    }
    load(ground, PHASE, WIPC_PATTERN).conduct(bench).map(|_| ())
}
