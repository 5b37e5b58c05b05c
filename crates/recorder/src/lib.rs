//! Runs captures: takes events from the probes, writes them to one file after another, and records
//! losses and cost. The counterpart of `runner` for captures.
//!
//! A [`Recording`] states what to record and into which files. [`record`] runs it, reports its
//! state to a [`RecordingProgress`] and returns a [`CaptureResult`]. [`record_from`] is the same
//! loop on another [`RecordingSource`] and [`RecordingHost`]. [`mark`] names a moment in every
//! running capture.
#![warn(missing_docs)]

mod capture_result;
mod disk_watch;
mod error;
mod live_host;
mod marks;
mod open_file;
mod processors;
mod progress;
mod recording;
mod session;
mod sink;
mod source;

pub use capture_result::{CaptureResult, CapturedFile, CostPerIo};
pub use disk_watch::ReplacedDisk;
pub use error::{MarkError, RecordError};
pub use marks::{MarkFile, MarkResult, MarkStorage, mark, mark_in, mark_name};
pub use progress::{CaptureStatus, RecordingEvent, RecordingProgress};
pub use recording::{Output, Recording};
pub use session::{record, record_from};
pub use source::{RecordingHost, RecordingSource};
pub use steadfast_capture::{
    CaptureCounters, CaptureError, FileCaptureMode, LBA_RANGES_MAX, SourceName, StepParts,
    remove_left_behind,
};
