//! What a run tells while it runs.

use steadfast_domain::measurement::Interval;
use steadfast_domain::record::Check;
use steadfast_domain::{Conditions, Gap, Note, Outcome, Purge, Step};
use steadfast_host::PurgeProgress;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// Device and host were looked over.
    Examined(&'a [Check]),
    /// The ledger holds this many steps already; they are not repeated. What is told from here to
    /// [`Event::Live`] happened in an earlier process.
    Replaying {
        /// Finished steps.
        steps: usize,
    },
    /// The whole ledger was replayed: from here on steps are live.
    Live {
        /// The gap since the last finished entry; none in a new run.
        gap: Option<&'a Gap>,
    },
    /// Conditions were read back.
    Settled(&'a Conditions),
    /// A purge begins.
    Purging,
    /// The purge has come so far; told often.
    PurgeProgress(&'a PurgeProgress<'a>),
    /// The device was purged.
    Purged(&'a Purge),
    /// A step begins.
    Begins(&'a Step),
    /// An interval of the running step is complete.
    Interval(&'a Interval),
    /// A step was finished, live or in the ledger.
    Finished {
        /// The step.
        step: &'a Step,
        /// What it did.
        outcome: &'a Outcome,
        /// It stands in the ledger from an earlier process.
        replayed: bool,
    },
    /// The procedure noted something.
    Noted(&'a Note),
}

/// Somebody who wants to be told.
pub trait Progress {
    /// Tells it.
    fn tell(&mut self, event: &Event<'_>);
}

/// Nobody.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn tell(&mut self, _: &Event<'_>) {}
}
