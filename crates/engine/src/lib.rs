//! The only crate that moves device data.
//!
//! [`native`] drives a real device or file through an armed `Target`; [`sim`] is
//! an SSD in virtual time. Both draw their I/Os from the same [`draw`], play scripts
//! with the same `play`, and count with the same [`accounting`], so that a procedure
//! cannot tell them apart.
//! [`fio`] has an installed fio drive the target, for a second opinion.

pub mod accounting;
pub mod draw;
pub mod fio;
mod kernel;
pub mod native;
mod play;
mod prepared;
pub mod sim;
mod stall;

pub use prepared::{Prepared, Refusal};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use steadfast_domain::measurement::Interval;
use steadfast_domain::replayed::ScriptPosition;
use steadfast_domain::step::mix64;
use steadfast_domain::{Bytes, Caveat, Halt, Measurement, Nanos, Step};
use steadfast_host::Target;

/// Where a step begins: what earlier steps of the run left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Start {
    /// The byte offset of every sequential cursor's next I/O; a cursor that is
    /// not in it starts at the beginning of its range.
    pub cursors: BTreeMap<String, Bytes>,
    /// What the load has done in the steps that this one continues. Counts
    /// against the load's `until`; all zero for a step that begins anew.
    pub done: WorkDone,
    /// How often the run had been taken up again, for the first load that
    /// begins after that: the step that was broken off before may have drawn
    /// I/Os of which nothing is recorded. 0 for every other load.
    pub resumed: u64,
    /// Where a script goes on: its beginning, or where the steps that this one
    /// continues have left it.
    pub script: ScriptPosition,
    /// When a load is to begin, or a script to go on, so that several can do so
    /// together: a time of `CLOCK_MONOTONIC`, on a simulated drive virtual time.
    /// At once where it is absent. A script that cannot keep to it is refused; any
    /// other load begins as soon as it can, and the measurement says how late.
    pub begins: Option<Nanos>,
}

impl Start {
    /// The seed that a load draws its I/Os with: its own where it begins anew,
    /// and another one wherever it goes on after a gap. With its own it would
    /// draw again, from the first on, what it has drawn before the gap; a drive
    /// that is written to for hours would be written to in the same places.
    pub fn seed(&self, own: u64) -> u64 {
        if self.done == WorkDone::default() && self.resumed == 0 {
            return own;
        }
        let WorkDone { time, bytes, ios } = self.done;
        [time.0, bytes.0, ios, self.resumed].iter().fold(own, |seed, part| mix64(seed ^ part))
    }

    /// That seed, where it is not the load's own.
    pub(crate) fn other_seed(&self, own: u64) -> Option<u64> {
        Some(self.seed(own)).filter(|seed| *seed != own)
    }
}

/// How far a load has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WorkDone {
    /// Measured time.
    pub time: Nanos,
    /// Bytes moved.
    pub bytes: Bytes,
    /// I/Os completed.
    pub ios: u64,
}

/// What signals have asked of a running step; cheap to share and to look at.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    requested: Arc<AtomicBool>,
    hung_up: Arc<AtomicBool>,
}

impl Stop {
    /// The flag that asks for it, for a signal handler to set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }
    /// The flag that says that the terminal was lost, for a signal handler to set.
    pub fn hang_up_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.hung_up)
    }
    /// Asks for it.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }
    /// Whether it was asked for.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }
    /// Whether the terminal was lost, which stops nothing.
    pub fn lost_terminal(&self) -> bool {
        self.hung_up.load(Ordering::Relaxed)
    }
}

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

    /// What a reader of the numbers should know and that came up since this was
    /// last asked.
    fn take_caveats(&mut self) -> Vec<Caveat> {
        Vec::new()
    }
}
