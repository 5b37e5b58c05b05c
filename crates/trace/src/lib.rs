//! Block I/O traces: formats in and out, events folded into I/O streams and
//! capture steps, and the applied workload that comes of them.
//!
//! Everything works over `Read + Seek` and `Write`; nothing here opens a file,
//! reads a clock or starts a thread. Folds over parts can be merged to the fold
//! over the whole.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod batch;
pub mod compare;
pub mod error;
pub mod fidelity;
pub mod file;
pub mod filter;
pub mod findings;
pub mod hits;
pub mod import;
pub mod order;
pub mod pass;
pub mod processes;
pub mod reach;
pub mod replay;
pub mod replay_representation;
pub mod response;
pub mod sequence;
pub mod series;
pub mod step_file;
pub mod steps;
pub mod streams;
pub mod study;
pub mod workload;
pub mod workload_file;

pub use batch::Batch;
pub use error::TraceError;
pub use file::{Field, Fields, Trace, Writer};
pub use filter::Filter;
pub use findings::findings;
pub use order::IssueOrder;
pub use pass::{Fold, Ios, Pass, Rows};
pub use step_file::{StepFile, StepWriter};
pub use streams::{By, StreamKey, StreamTable};
pub use study::{Study, StudyOptions};
pub use workload_file::WorkloadFile;
