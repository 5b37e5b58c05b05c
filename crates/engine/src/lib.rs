//! The only crate that moves device data.
//!
//! [`uring`] drives a real device or file through an armed `Target`; [`sim`] is
//! an SSD in virtual time. Both draw their I/Os from the same [`draw`] and count
//! them with the same [`accounting`], so that a procedure cannot tell them apart.
//! [`fio`] has an installed fio drive the target, for a second opinion.

pub mod accounting;
pub mod draw;
pub mod fio;
pub mod sim;
pub mod uring;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use steadfast_domain::measurement::Interval;
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
    pub done: Progress,
}

/// How far a load has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Measured time.
    pub time: Nanos,
    /// Bytes moved.
    pub bytes: Bytes,
    /// I/Os completed.
    pub ios: u64,
}

/// Asks a running step to stop; cheap to share and to look at.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// The flag itself, for a signal handler to set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
    /// Asks for it.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
    /// Whether it was asked for.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Applies loads to a device.
pub trait Engine {
    /// Its name and what it could and could not use here, in one line.
    fn describe(&self) -> String;

    /// Why it cannot apply this step, said before anything is touched.
    fn refuse(&self, step: &Step) -> Option<String>;

    /// Applies a step and returns what it did. `watch` is called about once a
    /// second with each finished interval.
    ///
    /// A step with a `cut` leaves its load running when the cut comes first; a
    /// step that `continues` takes over the running load, or, where none is
    /// running (a resumed run), starts it from `start`.
    fn apply(
        &mut self,
        step: &Step,
        start: &Start,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt>;

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
