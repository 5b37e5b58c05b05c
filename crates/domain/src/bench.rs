//! Traits against which a test specification is written.

use crate::conditions::Conditions;
use crate::findings::Findings;
use crate::outcome::Outcome;
use crate::power_cut::{PowerCutOutcome, PowerCutTrial};
use crate::purge::Purge;
use crate::record::{Note, Record};
use crate::step::Step;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Reason why a run stops before its end. All finished steps are on disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Halt {
    /// The user requested it.
    #[error("stopped on request")]
    Stopped,
    /// The power of the device was cut, as the procedure intended.
    #[error("the power of {device} was cut ({why}); resume when the device has returned")]
    PowerCut {
        /// Path of the device.
        device: String,
        /// Message of the kernel.
        why: String,
    },
    /// The device no longer responds.
    #[error("{device} is gone: {why}")]
    DeviceGone {
        /// Path of the device.
        device: String,
        /// Message of the kernel.
        why: String,
    },
    /// Too many I/Os failed for the step to be valid.
    #[error("{place}: {count} I/Os failed, the first a {first}; the step is void")]
    Faults {
        /// Place of the step.
        place: String,
        /// Number of failed I/Os.
        count: u64,
        /// Description of the first failed I/O.
        first: String,
    },
    /// No thread of the program could run for too large a part of a step, which is therefore void.
    #[error(
        "{place}: for {stalled} of {elapsed} no thread of this program could run (stopped, \
         frozen, suspended, or the virtual machine paused); the step is void"
    )]
    Stalled {
        /// Place of the step.
        place: String,
        /// Time in which no thread could run.
        stalled: Nanos,
        /// Measured time of the step.
        elapsed: Nanos,
    },
    /// The clock of the engine restarted during a step, which is therefore void.
    #[error(
        "{place}: the processor's cycle counter restarted (the machine was suspended, or a \
         processor was switched off), so the end of the step is unknown; the step is void and must \
         be repeated"
    )]
    ClockReset {
        /// Place of the step.
        place: String,
    },
    /// The engine, the test setup or the host cannot do what was requested.
    #[error("{0}")]
    Refused(String),
    /// The ledger could not be written, so no further step begins.
    #[error("{0}")]
    Ledger(String),
    /// The resumed procedure deviates from the steps in the journal.
    #[error("the journal does not match this procedure: {0}")]
    Mismatch(String),
}

/// The test bench that a procedure drives. It may be live, simulated, rehearsing or resuming; the
/// procedure cannot distinguish them. Methods return a [`Halt`] if the run has to stop.
pub trait Bench {
    /// Sets write cache and queue, and returns the conditions read back.
    fn settle(&mut self, wanted: &Conditions) -> Result<Conditions, Halt>;
    /// Purges the device: returns it to a state as if it had never been written.
    fn purge(&mut self) -> Result<Purge, Halt>;
    /// Applies a step and measures it. The outcome is on disk when this returns.
    fn apply(&mut self, step: &Step) -> Result<Outcome, Halt>;
    /// Leaves the device idle for `time`.
    fn idle(&mut self, time: Nanos) -> Result<(), Halt>;
    /// Writes the blocks of a trial until the power is cut, reads them back once the device has
    /// returned, and judges them.
    fn cut_power(&mut self, trial: &PowerCutTrial) -> Result<PowerCutOutcome, Halt> {
        let _ = trial;
        Err(Halt::Refused("power-cut cannot run as part of other tests".into()))
    }
    /// Records a verdict, a choice or a caveat, and shows it. If a note could not be recorded, the
    /// next step halts.
    fn note(&mut self, note: &Note);
}

/// A test specification as code.
pub trait Procedure: Send + Sync {
    /// Runs the specification's own loop on the bench.
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt>;
    /// Computes the findings of a record. Pure: every verdict is recomputed by the functions that
    /// `conduct` used.
    fn study(&self, record: &Record) -> Findings;
}
