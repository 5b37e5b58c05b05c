//! Workload-independent preconditioning (WIPC): sequential writes over the active range until
//! twice the user capacity has been written.

use crate::common::continuous_load::ContinuousLoad;
use crate::common::{ProcedureSetup, one_pass};
use crate::parameters::Parameter;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Geometry;
use steadfast_domain::{Bench, Bytes, Demand, Halt, Purge, PurgeChoice, PurgeMethod, Settings};

/// Returns true unless the user chose no purge.
pub fn is_purged(settings: &Settings) -> bool {
    settings.purge != PurgeChoice::Method(PurgeMethod::Nothing)
}

/// Refuses a device whose purge failed or did nothing, for a measurement that needs unwritten
/// blocks.
///
/// # Errors
/// Returns [`Halt::Refused`] with the reason.
pub fn require_purged(purge: &Purge) -> Result<(), Halt> {
    let why = match &purge.failed {
        Some(why) => format!("the purge failed ({why})"),
        None if purge.method == PurgeMethod::Nothing => {
            format!("the device was not purged ({})", purge.remark)
        }
        None => return Ok(()),
    };
    Err(Halt::Refused(format!("{why}, but this test needs a device with unwritten blocks")))
}

/// Pattern of WIPC: sequential 128 KiB writes (PTS 2.0.1 p. 17).
pub const WIPC_PATTERN: AccessPattern = AccessPattern::sequential(Bytes::kib(128), 0);
/// Demand of WIPC: one thread with 32 outstanding I/Os (PTS 2.0.1 p. 17). The 2.0.2 pseudo-code
/// can be read as the test's own demand instead; see docs/methods.md, WIPC demand.
pub const WIPC_DEMAND: Demand = Demand::new(1, 32);
/// Amount that WIPC writes, in user capacities.
const WIPC_CAPACITIES: u64 = 2;

pub const PHASE: &str = "wipc";

/// Parameter `precondition` of tests whose method has no preconditioning.
pub const PRECONDITION: Parameter = Parameter {
    name: one_pass::CHOICE,
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
pub fn load(setup: &ProcedureSetup, phase: &str, pattern: AccessPattern) -> ContinuousLoad {
    let bytes = amount(setup.geometry, pattern.size);
    let range = setup.active_range.in_one_piece();
    setup.load_for_bytes(phase, &pattern, WIPC_DEMAND, bytes).within(range)
}

/// Returns the pattern of the standard's WIPC; nothing if one pass replaces it, or if earlier parts
/// of the run have preconditioned the drive.
pub fn patterns(setup: &ProcedureSetup) -> Vec<AccessPattern> {
    let has_own = !setup.settings.shares_preconditioning && setup.one_pass.is_none();
    if has_own { vec![WIPC_PATTERN] } else { Vec::new() }
}

/// Returns the bytes that [`precondition`] writes.
pub fn written(setup: &ProcedureSetup) -> Bytes {
    match &setup.one_pass {
        Some(pass) => pass.amount(),
        None => amount(setup.geometry, WIPC_PATTERN.size),
    }
}

/// First line of the listing of a part that shares the preconditioning of the parts before it.
pub const SHARED: &str = "The drive as the parts of the run before this one left it";

/// Returns the lines on purge and preconditioning in the listing of a test.
pub fn listing(setup: &ProcedureSetup) -> String {
    match &setup.one_pass {
        _ if setup.settings.shares_preconditioning => SHARED.to_owned(),
        Some(pass) => format!("Purge\nPreconditioning: {}", pass.text()),
        None => format!(
            "Purge\nWorkload independent preconditioning: {WIPC_PATTERN}, {WIPC_DEMAND}, \
             {WIPC_CAPACITIES} x user capacity"
        ),
    }
}

/// Runs the standard's WIPC, [`WIPC_PATTERN`] under [`PHASE`], or the pass that replaces it. Does
/// nothing if earlier parts of the run have preconditioned the drive.
pub fn precondition(bench: &mut dyn Bench, setup: &ProcedureSetup) -> Result<(), Halt> {
    if setup.settings.shares_preconditioning {
        return Ok(());
    }
    if let Some(pass) = &setup.one_pass {
        return pass.conduct(bench, one_pass::PHASE);
    }
    load(setup, PHASE, WIPC_PATTERN).conduct(bench).map(|_| ())
}
