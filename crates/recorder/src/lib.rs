//! The capture at work: takes what the probes have seen, writes it to one file
//! after the other, and accounts for what was lost and what it cost. The mirror
//! of `runner`.
//!
//! A [`Recording`] says what to record and into which files; [`record`] does it
//! and tells a [`RecordingProgress`] how far it is; [`Recorded`] is what came of it.
//! [`mark`] names a moment in captures that run.
#![warn(missing_docs)]

mod disk_watch;
mod error;
mod marks;
mod open_file;
mod progress;
mod recorded;
mod recording;
mod session;
mod sink;

pub use error::{MarkError, RecordError};
pub use marks::{Marked, mark, mark_name};
pub use progress::{RecordingEvent, RecordingProgress, UnderWay};
pub use recorded::{CostPerIo, Recorded, Written};
pub use recording::{Output, Recording};
pub use session::record;
pub use steadfast_capture::{Counters, FilesWay, SourceName, remove_left_behind};
