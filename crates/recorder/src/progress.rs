//! Progress reports of a running capture.

use crate::capture_result::CapturedFile;
use steadfast_domain::Nanos;

/// An event in the course of a capture.
#[derive(Debug)]
pub enum RecordingEvent<'a> {
    /// The tracefs instance of a killed capture was removed.
    Removed {
        /// Name of the instance.
        instance: &'a str,
    },
    /// A remark for readers of the files, which contain it as well.
    Remark(&'a str),
    /// The capture has started.
    Begun {
        /// Description of the sources of events.
        source: &'a str,
    },
    /// State of the capture, reported about once a second.
    Status(CaptureStatus),
    /// A file is complete.
    Written(&'a CapturedFile),
}

/// State of a running capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureStatus {
    /// Time since the start.
    pub lasted: Nanos,
    /// I/Os so far.
    pub ios: u64,
    /// I/Os lost so far because the buffer was full.
    pub lost: u64,
}

/// A receiver of progress reports.
pub trait RecordingProgress {
    /// Handles an event.
    fn report(&mut self, event: &RecordingEvent<'_>);

    /// Returns true if [`RecordingEvent::Status`] is wanted; each such report reads the kernel's
    /// counters.
    fn is_watched(&self) -> bool {
        false
    }
}
