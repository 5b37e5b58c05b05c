//! What a capture tells while it runs.

use crate::recorded::Written;
use steadfast_domain::Nanos;

/// Something that happened.
#[derive(Debug)]
pub enum RecordingEvent<'a> {
    /// The trace instance of a killed capture was removed.
    Removed {
        /// Its name.
        instance: &'a str,
    },
    /// What a reader of the files should know; it is in them as well.
    Remark(&'a str),
    /// It listens from now on.
    Begun {
        /// Where the events come from.
        source: &'a str,
    },
    /// How far it is; about once a second.
    UnderWay(UnderWay),
    /// A file is complete.
    Written(&'a Written),
}

/// How far a capture is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnderWay {
    /// How long it has lasted.
    pub lasted: Nanos,
    /// I/Os so far.
    pub ios: u64,
    /// I/Os so far that there was no room for.
    pub lost: u64,
}

/// Somebody who wants to be told.
pub trait RecordingProgress {
    /// Tells it.
    fn tell(&mut self, event: &RecordingEvent<'_>);

    /// Whether to tell [`RecordingEvent::UnderWay`], for which the kernel's counters are
    /// read each time.
    fn is_watched(&self) -> bool {
        false
    }
}
