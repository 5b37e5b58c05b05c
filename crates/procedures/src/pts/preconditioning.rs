//! Workload-independent preconditioning (WIPC): the whole active range written
//! until twice the user capacity has been written.

use super::method::{WIPC_CAPACITIES, WIPC_DEMAND, WIPC_PATTERN};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::{ActiveRange, Pace, Until};
use steadfast_domain::{Bench, Bytes, Halt, Load, Nanos, Place, Settings, Step, Stimulus};

/// The phase under which its steps are journalled.
pub const PHASE: &str = "wipc";

/// How often a checkpoint reaches the journal: a run that dies loses no more.
const CHECKPOINT: Nanos = Nanos::from_secs(60);

/// Bytes that it writes: twice the *full* user capacity, also where the active
/// range is smaller and is therefore written more often (docs/methods.md); a
/// whole number of transfers of `size`.
pub fn amount(geometry: Geometry, size: Bytes) -> Bytes {
    Bytes((WIPC_CAPACITIES * geometry.capacity.0).div_ceil(size.0) * size.0)
}

/// Preconditioning as a procedure wants it.
#[derive(Debug, Clone, Copy)]
pub struct Preconditioning<'a> {
    /// The run's settings: data pattern, seed, verification.
    pub settings: &'a Settings,
    /// The device's geometry.
    pub geometry: Geometry,
    /// The bytes that are written: all of the range, also where the test touches
    /// segments of it only.
    pub active_range: ActiveRange,
    /// What is written: [`WIPC_PATTERN`], or the block size under test.
    pub pattern: AccessPattern,
    /// The phase under which it is journalled: [`PHASE`], or one of its own.
    pub phase: &'a str,
}

impl Preconditioning<'_> {
    /// Sequential writes, wrapping inside the active range, as one load that
    /// runs on from checkpoint to checkpoint.
    pub fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        let label = self.pattern.to_string();
        let load = Load::Stimulus(Stimulus {
            streams: self.pattern.streams(),
            zones: Vec::new(),
            demand: WIPC_DEMAND,
            active_range: self.active_range.in_one_piece(),
            data_pattern: self.settings.data_pattern.clone(),
            pace: Pace::Closed,
            ramp: Nanos::ZERO,
            until: Until::bytes(amount(self.geometry, self.pattern.size)),
            seed: Place::new(self.phase, 0, 1, "").seed(self.settings.seed),
            verify: self.settings.verify,
        });
        for part in 1.. {
            let place = Place::new(self.phase, 0, part, label.clone());
            let continues = part > 1;
            let step = Step { place, load: load.clone(), cut: Some(CHECKPOINT), continues };
            if bench.apply(&step)?.measurement.complete {
                break;
            }
        }
        Ok(())
    }
}

/// The standard's: [`WIPC_PATTERN`] under [`PHASE`].
pub fn precondition(
    bench: &mut dyn Bench,
    settings: &Settings,
    geometry: Geometry,
    active_range: ActiveRange,
) -> Result<(), Halt> {
    Preconditioning { settings, geometry, active_range, pattern: WIPC_PATTERN, phase: PHASE }
        .conduct(bench)
}
