//! Workload-independent preconditioning (WIPC): the whole active range written
//! until twice the user capacity has been written.

use super::method::{WIPC_CAPACITIES, WIPC_DEMAND, WIPC_PATTERN};
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::{ActiveRange, Pace, Until};
use steadfast_domain::{Bench, Bytes, Halt, Load, Nanos, Place, Settings, Step, Stimulus};

/// The phase under which its steps are journalled.
pub const PHASE: &str = "wipc";

/// How often a checkpoint reaches the journal: a run that dies loses no more.
const CHECKPOINT: Nanos = Nanos::from_secs(60);

/// Bytes that it writes: twice the *full* user capacity, also where the active
/// range is smaller and is therefore written more often (docs/methods.md).
pub fn amount(geometry: Geometry) -> Bytes {
    let size = WIPC_PATTERN.size.0;
    Bytes((WIPC_CAPACITIES * geometry.capacity.0).div_ceil(size) * size)
}

/// Sequential writes, wrapping inside the active range, as one load that runs
/// on from checkpoint to checkpoint.
pub fn precondition(
    bench: &mut dyn Bench,
    settings: &Settings,
    geometry: Geometry,
    active_range: ActiveRange,
) -> Result<(), Halt> {
    let label = WIPC_PATTERN.to_string();
    let load = Load::Stimulus(Stimulus {
        streams: WIPC_PATTERN.streams(),
        zones: Vec::new(),
        demand: WIPC_DEMAND,
        active_range,
        data_pattern: settings.data_pattern.clone(),
        pace: Pace::Closed,
        ramp: Nanos::ZERO,
        until: Until::bytes(amount(geometry)),
        seed: Place::new(PHASE, 0, 1, "").seed(settings.seed),
        verify: settings.verify,
    });
    for part in 1.. {
        let place = Place::new(PHASE, 0, part, label.clone());
        let step = Step { place, load: load.clone(), cut: Some(CHECKPOINT), continues: part > 1 };
        if bench.apply(&step)?.measurement.complete {
            break;
        }
    }
    Ok(())
}
