//! What every engine does: prepare a step, apply it, end a load.

use crate::prepared::{PreparedStep, StepRefusal};
use crate::start::StepStart;
use steadfast_domain::measurement::Interval;
use steadfast_domain::{Caveat, Halt, Measurement, Nanos, Step};
use steadfast_host::{Directory, LoadCgroups, Target};

/// Waits until a load may begin and returns the time, as in [`StepStart::begins`].
pub type StartAgreement<'a> = &'a mut dyn FnMut() -> Result<Option<Nanos>, Halt>;

/// Applies loads to a device.
pub trait Engine: Send {
    /// Returns the engine's name and what it could and could not use on this host, in one line.
    fn describe(&self) -> String;

    /// Allocates what the step needs before anything is touched. A prepared step is not refused
    /// afterwards.
    ///
    /// # Errors
    ///
    /// Why the step cannot be applied.
    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal>;

    /// Applies a step and returns its measurement. `watch` is called about once a second with
    /// each finished interval.
    ///
    /// A step with a `cut` leaves its load running if the cut comes first. A step that
    /// `continues` takes over the running load or, if none is running (a resumed run), starts it
    /// from `start`.
    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt>;

    /// Applies a step that begins together with those of other targets: `agree` waits for them
    /// and returns the time, which replaces `start.begins`. An engine that can creates its
    /// threads and memory first, so that it only has to wait for that time.
    fn apply_at_common_start(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        agree: StartAgreement<'_>,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        let start = StepStart { begins: agree()?, ..start.clone() };
        self.apply(prepared, &start, watch)
    }

    /// Prepares a step and applies it at once.
    fn perform(
        &mut self,
        step: &Step,
        start: &StepStart,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        let prepared = self.prepare(step).map_err(|refusal| refusal.at_step(step))?;
        self.apply(prepared, start, watch)
    }

    /// Ends a load that a cut left running and waits for its outstanding I/Os.
    fn end_load(&mut self);
}

/// An engine that holds an armed target.
pub trait TargetEngine: Engine {
    /// Returns the target that the engine drives.
    fn target(&self) -> &Target;

    /// Returns the target, to be purged or configured. Ends a load that still runs.
    fn target_mut(&mut self) -> &mut Target;

    /// From now on, stores files that the engine keeps in a run directory.
    fn keep_files_in(&mut self, run: &Directory) {
        let _ = run;
    }

    /// From now on, runs the loads of steps with control groups in these. An engine that has only
    /// one process for all loads refuses such steps.
    fn use_groups(&mut self, groups: LoadCgroups) {
        let _ = groups;
    }

    /// Returns the caveats about the numbers that arose since the last call.
    fn take_caveats(&mut self) -> Vec<Caveat> {
        Vec::new()
    }
}
