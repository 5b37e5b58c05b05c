//! What every procedure stands on: settings, geometry, method, active range;
//! loads and steps made of them; what a report says of them.
//!
//! [`rounds`] and [`stretch`] are the loops that several procedures share,
//! [`attempts`] what is done anew after a gap, [`results`] what a loop of rounds
//! gave. No number of a specification is here: [`method`] is what a specification
//! fills in.

pub mod applied;
pub mod asked;
pub mod attempts;
pub mod choices;
pub mod method;
pub(crate) mod metrics;
pub mod preconditioning;
pub mod ranges;
pub mod results;
pub mod rounds;
#[cfg(test)]
pub(crate) mod scripted;
pub mod secondary;
pub mod stretch;

use crate::parameters::Parameter;
use crate::unsuitable::Unsuitable;
use applied::{Applied, aligned, alignment, alignment_name};
use asked::Asked;
use choices::Choices;
use method::{Method, check_geometry};
use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::stimulus::{ActiveRange, Until};
use steadfast_domain::{Bytes, Conditions, Demand, Nanos, Place, Settings, Step, Stimulus};
use stretch::{CHECKPOINT, NO_END, Stretch};

/// Settings, geometry, method and active range of a run.
#[derive(Debug, Clone)]
pub struct Ground {
    /// As the user gave them.
    pub settings: Settings,
    /// The device's geometry.
    pub geometry: Geometry,
    /// What the operator changed later, in order.
    pub amendments: Vec<Amendment>,
    /// The procedure's parameters.
    pub parameters: Vec<Parameter>,
    /// What profile and class ask for.
    pub method: Method,
    /// The bytes that may be touched.
    pub active_range: ActiveRange,
    /// The length of a step, and of one accounted stretch: a minute.
    pub minute: Nanos,
    /// What random offsets are multiples of, where it was chosen.
    pub alignment: Option<Bytes>,
}

impl Ground {
    /// The ground of a run, where the device and the settings allow one.
    pub fn new(asked: &Asked<'_>, method: Method) -> Result<Self, Unsuitable> {
        let (settings, geometry) = (asked.settings, asked.geometry);
        check_geometry(geometry)?;
        Ok(Ground {
            active_range: method.active_range(settings, geometry)?,
            minute: method.step_time(settings)?,
            alignment: alignment(settings, geometry)?,
            settings: settings.clone(),
            geometry,
            amendments: asked.amendments.to_vec(),
            parameters: asked.parameters.clone(),
            method,
        })
    }

    /// What is settled before the purge.
    pub fn conditions(&self) -> Conditions {
        Conditions {
            write_cache: self.method.write_cache,
            merges: Some(false),
            ..Conditions::default()
        }
    }

    /// The most rounds of the loop with this phase: what the operator amended
    /// last, what the user chose, or `preset`. An amendment that names no loop is
    /// for the procedure's last one: earlier loops stand in the journal already.
    pub fn rounds_max(&self, phase: &str, is_last: bool, preset: u32) -> u32 {
        let amended = self.amendments.iter().rev().find_map(|amendment| match amendment {
            Amendment::RoundsMax(rounds) if is_last => Some(*rounds),
            Amendment::RoundsMaxOf { phase: of, rounds } if of == phase => Some(*rounds),
            _ => None,
        });
        amended.or(self.settings.rounds_max).unwrap_or(preset)
    }

    /// The block sizes that the device's sectors can hold, and those that they
    /// cannot.
    pub fn sizes(&self, sizes: &[Bytes]) -> (Vec<Bytes>, Vec<Bytes>) {
        let sector = u64::from(self.geometry.logical_sector);
        sizes.iter().partition(|size| size.0.is_multiple_of(sector))
    }

    /// What is applied at a place; the place decides the seed.
    pub fn stimulus(
        &self,
        applied: &impl Applied,
        demand: Demand,
        until: Until,
        place: &Place,
    ) -> Stimulus {
        let streams = aligned(applied.streams(), self.alignment);
        Stimulus::new(streams, self.active_range, demand, until)
            .zones(applied.zones())
            .data_pattern(self.settings.data_pattern.clone())
            .seed(place.seed(self.settings.seed))
            .verify(self.settings.verify)
    }

    /// A step of this length that begins and ends by itself.
    pub fn step(&self, place: Place, applied: &impl Applied, demand: Demand, time: Nanos) -> Step {
        let stimulus = self.stimulus(applied, demand, Until::time(time), &place);
        Step::alone(place, stimulus)
    }

    /// A load that runs on for `time`, cut every minute.
    pub fn stretch(
        &self,
        (phase, round): (&str, u32),
        applied: &impl Applied,
        demand: Demand,
        time: Nanos,
    ) -> Stretch {
        let place = Place::new(phase, round, 1, format!("{applied} {demand}"));
        let stimulus = self.stimulus(applied, demand, Until::time(NO_END), &place);
        Stretch { place, stimulus, cut: self.minute, time: Some(time) }
    }

    /// A load that runs on until so many bytes were moved, cut at every checkpoint.
    pub fn amount(
        &self,
        phase: &str,
        applied: &impl Applied,
        demand: Demand,
        bytes: Bytes,
    ) -> Stretch {
        let place = Place::new(phase, 0, 1, applied.to_string());
        let stimulus = self.stimulus(applied, demand, Until::bytes(bytes), &place);
        Stretch { place, stimulus, cut: CHECKPOINT, time: None }
    }

    /// The form's disclosure of a run with nothing but a minute, to be completed
    /// by a procedure.
    pub fn choices(&self) -> Choices<'_> {
        Choices {
            settings: &self.settings,
            method: &self.method,
            geometry: self.geometry,
            parameters: &self.parameters,
            covered: vec![self.method.covering(&self.settings, self.active_range)],
            demands: Vec::new(),
            alignment: Some(alignment_name(self.alignment)),
            recommended: None,
            step_time: self.minute,
            block_sizes_left_out: &[],
            rounds_max: None,
            ending: String::new(),
            judged: false,
            preconditioning: Vec::new(),
            measured_phases: Vec::new(),
            gap_effect: |_| "",
            quick: String::new(),
            tkperf: "",
            step_text: None,
            preconditioning_text: None,
            own_loads: None,
        }
    }
}
