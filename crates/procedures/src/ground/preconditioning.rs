//! Workload-independent preconditioning (WIPC): the whole active range written
//! until twice the user capacity has been written.

use crate::ground::Ground;
use crate::ground::stretch::Stretch;
use crate::parameters::Parameter;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Geometry;
use steadfast_domain::{Bench, Bytes, Demand, Halt};

/// Workload-independent preconditioning: sequential 128 KiB writes at T1Q32
/// (PTS 2.0.1 p. 17) ...
pub const WIPC_PATTERN: AccessPattern = AccessPattern::sequential(Bytes::kib(128), 0);
/// ... with one thread and 32 outstanding I/Os (the 2.0.2 pseudo-code can be
/// read as the test's own demand instead; see docs/methods.md, WIPC demand) ...
pub const WIPC_DEMAND: Demand = Demand::new(1, 32);
/// ... of twice the user capacity.
const WIPC_CAPACITIES: u64 = 2;

/// The phase under which its steps are journalled.
pub const PHASE: &str = "wipc";

/// The parameter `precondition` of tests whose method has none.
pub const PRECONDITION: Parameter = Parameter {
    name: "precondition",
    default: "no",
    meaning: "what is written between the purge and the saturation: no (nothing), or wipc (2 x \
              user capacity sequentially, as before the IOPS test), so that reads find blocks \
              that were written",
    source: "WSAT has no workload-independent preconditioning (SNIA tutorial)",
    ..Parameter::PLAIN
};

/// Bytes that it writes: twice the *full* user capacity, also where the active
/// range is smaller and is therefore written more often (docs/methods.md); a
/// whole number of transfers of `size`.
pub fn amount(geometry: Geometry, size: Bytes) -> Bytes {
    Bytes((WIPC_CAPACITIES * geometry.capacity.0).div_ceil(size.0) * size.0)
}

/// Sequential writes of a pattern, wrapping inside the active range, as one load
/// that runs on from checkpoint to checkpoint: all of the range is written, also
/// where the test touches segments of it only.
pub fn load(ground: &Ground, phase: &str, pattern: AccessPattern) -> Stretch {
    let bytes = amount(ground.geometry, pattern.size);
    let mut load = ground.amount(phase, &pattern, WIPC_DEMAND, bytes);
    load.stimulus.active_range = ground.active_range.in_one_piece();
    load
}

/// The standard's: [`WIPC_PATTERN`] under [`PHASE`].
pub fn precondition(bench: &mut dyn Bench, ground: &Ground) -> Result<(), Halt> {
    load(ground, PHASE, WIPC_PATTERN).conduct(bench).map(|_| ())
}
