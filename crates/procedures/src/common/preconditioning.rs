//! Workload-independent preconditioning (WIPC): sequential writes over the active range until
//! twice the user capacity has been written.

use crate::common::ProcedureSetup;
use crate::common::stretch::ContinuousLoad;
use crate::parameters::Parameter;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Geometry;
use steadfast_domain::{Bench, Bytes, Demand, Halt};

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
    meaning: "what is written between the purge and the saturation: no (nothing), or wipc (2 x \
              user capacity sequentially, as before the IOPS test), so that reads find blocks \
              that were written",
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

/// Runs the standard's WIPC: [`WIPC_PATTERN`] under [`PHASE`].
pub fn precondition(bench: &mut dyn Bench, ground: &ProcedureSetup) -> Result<(), Halt> {
    load(ground, PHASE, WIPC_PATTERN).conduct(bench).map(|_| ())
}
