//! Events of a run.

use steadfast_domain::measurement::Interval;
use steadfast_domain::power_cut::{PowerCutOutcome, PowerCutTrial};
use steadfast_domain::record::{Check, CoolDown};
use steadfast_domain::{Conditions, Gap, Nanos, Note, Outcome, Purge, Step};
use steadfast_host::PurgeProgress;

/// Event of a run.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// Device and host were checked.
    Examined(&'a [Check]),
    /// The ledger contains this many steps, which are not repeated. Events until [`RunEvent::Live`]
    /// are from an earlier process.
    Replaying {
        /// Number of finished steps.
        steps: usize,
    },
    /// The ledger was replayed; later steps are live.
    Live {
        /// Gap since the last finished entry; `None` in a new run.
        gap: Option<&'a Gap>,
    },
    /// Conditions were set and read back.
    Settled(&'a Conditions),
    /// A purge starts.
    Purging,
    /// Progress of a purge; sent often.
    PurgeProgress(&'a PurgeProgress<'a>),
    /// The device was purged.
    Purged(&'a Purge),
    /// The bench waits until the device is cool enough for a test; sent often.
    Cooling {
        /// Temperatures and time so far.
        cooling: &'a CoolDown,
        /// Longest wait.
        limit: Nanos,
    },
    /// The device is cool enough for the first load of a test.
    Cooled(&'a CoolDown),
    /// A step starts.
    Begins(&'a Step),
    /// An interval of the running step is complete.
    Interval(&'a Interval),
    /// A step finished, live or in the ledger.
    Finished {
        /// The step.
        step: &'a Step,
        /// Result of the step.
        outcome: &'a Outcome,
        /// True if an earlier process finished it.
        replayed: bool,
    },
    /// A trial of a power cut reached a stage.
    PowerCut(&'a PowerCutTrial, PowerCutStage<'a>),
    /// The procedure added a note.
    Noted(&'a Note),
}

/// Stage of a trial of a power cut.
#[derive(Debug, Clone, Copy)]
pub enum PowerCutStage<'a> {
    /// Blocks are written and flushed.
    Writes,
    /// Request to cut the power: by this command, or by the user.
    Cuts(Option<&'a str>),
    /// The writes have ended, but for I/Os that the kernel neither completes nor fails.
    Hangs,
    /// The blocks are read back.
    Reads,
    /// The blocks were judged.
    Judged(&'a PowerCutOutcome),
}

/// Receiver of a run's events.
pub trait ProgressSink {
    /// Receives an event.
    fn report(&mut self, event: &RunEvent<'_>);
}

/// Ignores all events.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoProgress;

impl ProgressSink for NoProgress {
    fn report(&mut self, _: &RunEvent<'_>) {}
}
