//! Code that all procedures share: settings, geometry, method and active range of a run, and the
//! loads, steps and disclosures made from them.
//!
//! [`rounds`], [`continuous_load`] and [`cyclic_load`] are the loops that several procedures use,
//! [`attempts`] repeats a test after a gap, [`results`] evaluates a loop of rounds. No number from a
//! specification is here: a specification fills in a [`method::Method`].

pub mod applied;
pub mod attempts;
pub mod choices;
pub mod continuous_load;
pub mod cyclic_load;
pub mod method;
pub(crate) mod metrics;
pub mod one_pass;
pub mod preconditioning;
pub mod procedure_request;
pub mod results;
pub mod rounds;
pub mod secondary;

use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use applied::{ApplicableWorkload, aligned, alignment, alignment_name};
use choices::RunChoices;
use continuous_load::{CHECKPOINT, ContinuousLoad, NO_END};
use method::{Method, check_geometry};
use one_pass::OnePass;
use procedure_request::ProcedureRequest;
use steadfast_domain::rate::OfferedLoad;
use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
use steadfast_domain::{Bytes, Conditions, Demand, Nanos, Settings, Step, StepPlace, Stimulus};

/// Settings, geometry, method and active range of a run.
#[derive(Debug, Clone)]
pub struct ProcedureSetup {
    pub settings: Settings,
    /// Capacity and sector size of the device.
    pub geometry: Geometry,
    /// Changes that the operator made after the start, in order.
    pub amendments: Vec<Amendment>,
    pub parameters: Vec<Parameter>,
    pub method: Method,
    /// Part of the device that may be accessed.
    pub active_range: ActiveRange,
    /// Length of a step, and of each recorded interval of a longer load: one minute by default.
    pub step_time: Nanos,
    /// Alignment of random offsets in bytes; `None` if the user chose none.
    pub alignment: Option<Bytes>,
    /// Random writes in one pass that replace the method's preconditioning; `None` without them.
    pub one_pass: Option<OnePass>,
}

impl ProcedureSetup {
    /// Creates the setup of a procedure with this method.
    ///
    /// # Errors
    /// Returns [`ProcedureError`] if the settings do not fit the device.
    pub fn new(request: &ProcedureRequest<'_>, method: Method) -> Result<Self, ProcedureError> {
        let (settings, geometry) = (request.settings, request.geometry);
        check_geometry(geometry)?;
        let active_range = method.active_range(settings, geometry)?;
        Ok(ProcedureSetup {
            one_pass: OnePass::from_settings(
                &request.parameters, settings, geometry, active_range,
            )?,
            active_range,
            step_time: method.step_time(settings)?,
            alignment: alignment(settings, geometry)?,
            settings: settings.clone(),
            geometry,
            amendments: request.amendments.to_vec(),
            parameters: request.parameters.clone(),
            method,
        })
    }

    /// Returns the conditions to set before the purge.
    pub fn conditions(&self) -> Conditions {
        Conditions {
            write_cache: self.method.write_cache,
            merges: Some(false),
            ..Conditions::default()
        }
    }

    /// Returns the maximum number of rounds of the loop with this phase: the operator's last
    /// amendment, else the user's choice, else `preset`. An amendment that names no loop applies
    /// to the procedure's last loop, because earlier ones are already in the journal.
    pub fn rounds_max(&self, phase: &str, is_last: bool, preset: u32) -> u32 {
        let amended = self.amendments.iter().rev().find_map(|amendment| match amendment {
            Amendment::RoundsMax(rounds) if is_last => Some(*rounds),
            Amendment::RoundsMaxOf { phase: amended, rounds } if amended == phase => Some(*rounds),
            _ => None,
        });
        amended.or(self.settings.rounds_max).unwrap_or(preset)
    }

    /// Splits block sizes into those that are a multiple of the logical sector size and those
    /// that are not.
    pub fn split_sizes(&self, sizes: &[Bytes]) -> (Vec<Bytes>, Vec<Bytes>) {
        let sector = u64::from(self.geometry.logical_sector);
        sizes.iter().partition(|size| size.0.is_multiple_of(sector))
    }

    /// Returns the stimulus for a place. Its seed is derived from the place and the run's seed.
    pub fn stimulus(
        &self,
        applied: &impl ApplicableWorkload,
        demand: Demand,
        until: LoadLimits,
        place: &StepPlace,
    ) -> Stimulus {
        let streams = aligned(applied.streams(), self.alignment).into_iter();
        let streams = streams.map(|stream| stream.with_room_in_zones(self.active_range.length));
        Stimulus::new(streams.collect(), self.active_range, demand, until)
            .zones(applied.zones())
            .pace(applied.pace())
            .data_pattern(self.settings.data_pattern.clone())
            .seed(place.seed(self.settings.seed))
            .verify(self.settings.verify)
    }

    /// Returns the load at the rate that the user chose; unchanged without one.
    pub fn with_rate(&self, stimulus: Stimulus) -> Result<Stimulus, ProcedureError> {
        let Some(OfferedLoad { rate, arrivals }) = self.settings.rate else { return Ok(stimulus) };
        let pace = rate.pace(&stimulus.streams, stimulus.demand.threads, arrivals);
        Ok(stimulus.pace(pace.map_err(ProcedureError)?))
    }

    /// Returns the name of a load with the rate that the user chose.
    pub fn rated_label(&self, label: String) -> String {
        match self.settings.rate {
            Some(offered) => format!("{label} at {}", offered.rate),
            None => label,
        }
    }

    /// Returns a step of this length that starts and stops its load.
    pub fn step(
        &self,
        place: StepPlace,
        applied: &impl ApplicableWorkload,
        demand: Demand,
        time: Nanos,
    ) -> Step {
        let stimulus = self.stimulus(applied, demand, LoadLimits::time(time), &place);
        Step::alone(place, stimulus)
    }

    /// Returns a continuous load that ends after `time`, recorded in steps of the method's length.
    pub fn load_for_time(
        &self,
        phase: &str,
        round: u32,
        applied: &impl ApplicableWorkload,
        demand: Demand,
        time: Nanos,
    ) -> ContinuousLoad {
        let place = StepPlace::new(phase, round, 1, format!("{applied} {demand}"));
        let stimulus = self.stimulus(applied, demand, LoadLimits::time(NO_END), &place);
        ContinuousLoad { place, stimulus, cut: self.step_time, time: Some(time) }
    }

    /// Returns a continuous load that ends when `bytes` have been transferred, recorded every
    /// [`CHECKPOINT`].
    pub fn load_for_bytes(
        &self,
        phase: &str,
        applied: &impl ApplicableWorkload,
        demand: Demand,
        bytes: Bytes,
    ) -> ContinuousLoad {
        let place = StepPlace::new(phase, 0, 1, applied.to_string());
        let stimulus = self.stimulus(applied, demand, LoadLimits::bytes(bytes), &place);
        ContinuousLoad { place, stimulus, cut: CHECKPOINT, time: None }
    }

    /// Returns the disclosed choices that all procedures share; a procedure adds its own.
    pub fn choices(&self) -> RunChoices<'_> {
        RunChoices {
            settings: &self.settings,
            method: &self.method,
            geometry: self.geometry,
            parameters: &self.parameters,
            covered: vec![self.method.covering(&self.settings, self.active_range)],
            demands: Vec::new(),
            alignment: Some(alignment_name(self.alignment)),
            recommended: None,
            step_time: self.step_time,
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
            preconditioning_text: if self.settings.shares_preconditioning {
                Some("by the parts before it".to_owned())
            } else {
                self.one_pass.as_ref().map(OnePass::text)
            },
            one_pass: self.one_pass.as_ref(),
            own_loads: None,
            closed_loop_maximum: None,
        }
    }
}
