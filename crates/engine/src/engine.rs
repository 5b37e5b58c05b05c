//! What every engine does: it prepares a step, applies it, and ends a load.

use crate::prepared::{Prepared, Refusal};
use crate::start::Start;
use steadfast_domain::measurement::Interval;
use steadfast_domain::{Caveat, Halt, Measurement, Nanos, Step};
use steadfast_host::{Directory, Target};

/// Waits until a load may begin: the moment, as [`Start::begins`] has it.
pub type Agree<'a> = &'a mut dyn FnMut() -> Result<Option<Nanos>, Halt>;

/// Applies loads to a device.
pub trait Engine: Send {
    /// Its name and what it could and could not use here, in one line.
    fn describe(&self) -> String;

    /// Makes what the step needs, or says why it cannot be applied, before
    /// anything is touched. What was prepared is not refused afterwards.
    fn prepare(&mut self, step: &Step) -> Result<Prepared, Refusal>;

    /// Applies a step and returns what it did. `watch` is called about once a
    /// second with each finished interval.
    ///
    /// A step with a `cut` leaves its load running when the cut comes first; a
    /// step that `continues` takes over the running load, or, where none is
    /// running (a resumed run), starts it from `start`.
    fn apply(
        &mut self,
        prepared: Prepared,
        start: &Start,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt>;

    /// The same for a step that begins together with those of other targets: `agree` waits
    /// for them and gives the moment, in place of `start`'s. An engine that can makes its
    /// threads and memory first, so that nothing but the moment is left to wait for.
    fn apply_with_others(
        &mut self,
        prepared: Prepared,
        start: &Start,
        agree: Agree<'_>,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        let start = Start { begins: agree()?, ..start.clone() };
        self.apply(prepared, &start, watch)
    }

    /// Prepares a step and applies it at once.
    fn perform(
        &mut self,
        step: &Step,
        start: &Start,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        let prepared = self.prepare(step).map_err(|refusal| refusal.of(step))?;
        self.apply(prepared, start, watch)
    }

    /// Ends a load that a cut left running, waiting for its outstanding I/Os.
    fn end_load(&mut self);
}

/// An engine that holds an armed target.
pub trait OnTarget: Engine {
    /// What it drives.
    fn target(&self) -> &Target;

    /// What it drives, to be purged or set. Ends a load that still runs.
    fn target_mut(&mut self) -> &mut Target;

    /// From now on, files that the engine keeps go into the directory of a run.
    fn keep_files_in(&mut self, run: &Directory) {
        let _ = run;
    }

    /// What a reader of the numbers should know and that came up since this was
    /// last asked.
    fn take_caveats(&mut self) -> Vec<Caveat> {
        Vec::new()
    }
}
