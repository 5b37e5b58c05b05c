//! Runs captures: takes events from the probes, writes them to one file after another, and records
//! losses and cost. The counterpart of `runner` for captures.
//!
//! A [`Recording`] states what to record and into which files. [`record`] runs it, reports its
//! state to a [`RecordingProgress`] and returns a [`Recorded`]. [`mark`] names a moment in every
//! running capture.
#![warn(missing_docs)]

mod capture_result;
mod disk_watch;
mod error;
mod marks;
mod open_file;
mod processors;
mod progress;
mod recording;
mod session;
mod sink;

pub use capture_result::{CostPerIo, Recorded, Written};
pub use error::{MarkError, RecordError};
pub use marks::{Marked, mark, mark_name};
pub use progress::{CaptureStatus, RecordingEvent, RecordingProgress};
pub use recording::{Output, Recording};
pub use session::record;
pub use steadfast_capture::{CaptureCounters, FileCaptureMode, SourceName, remove_left_behind};
