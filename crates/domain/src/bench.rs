//! The traits that a test specification is written against.

use crate::conditions::Conditions;
use crate::findings::Findings;
use crate::outcome::Outcome;
use crate::purge::Purge;
use crate::record::{Note, Record};
use crate::step::Step;
use crate::units::Nanos;

/// Why a run stops where it is. All finished steps are on disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Halt {
    /// The user asked for it.
    #[error("stopped on request")]
    Stopped,
    /// The device does not answer any more.
    #[error("{device} is gone: {why}")]
    DeviceGone {
        /// Which device.
        device: String,
        /// What the kernel said.
        why: String,
    },
    /// Too many I/Os failed for the step to mean anything.
    #[error("{place}: {count} I/Os failed, the first a {first}; the step is void")]
    Faults {
        /// Which step.
        place: String,
        /// How many.
        count: u64,
        /// The first of them.
        first: String,
    },
    /// The process was frozen for so much of a step that it means nothing.
    #[error(
        "{place}: for {stalled} of {elapsed} no thread of this program could run (stopped, \
         frozen, suspended, or the virtual machine paused); the step is void"
    )]
    Stalled {
        /// Which step.
        place: String,
        /// For how long.
        stalled: Nanos,
        /// Of how much.
        elapsed: Nanos,
    },
    /// The engine, the rig or the host cannot do what is asked.
    #[error("{0}")]
    Refused(String),
    /// The ledger could not be written: no more steps are begun.
    #[error("{0}")]
    Ledger(String),
    /// The resumed procedure does not do what the journal says was done.
    #[error("the journal does not match this procedure: {0}")]
    Mismatch(String),
}

/// The test bench that a procedure drives. Live, simulated, rehearsing or
/// resuming: a procedure cannot tell.
pub trait Bench {
    /// Sets write cache and queue; returns what was read back.
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt>;
    /// Brings the device to the state of never having been written.
    fn purge(&mut self) -> Result<Purge, Halt>;
    /// Applies a step and measures it. It is on disk when this returns.
    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt>;
    /// Leaves the device alone.
    fn idle(&mut self, time: Nanos) -> Result<(), Halt>;
    /// Keeps a verdict, a choice or a caveat, and shows it. A note that could
    /// not be kept halts the next step.
    fn note(&mut self, note: &Note);
}

/// A test specification as code.
pub trait Procedure {
    /// The specification's own loop.
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt>;
    /// What a record means. Pure: every verdict is computed again, by the
    /// functions that `conduct` used.
    fn study(&self, record: &Record) -> Findings;
}
