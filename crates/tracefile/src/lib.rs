//! Block I/O traces as files: events in columns, reading and writing Parquet, sums of
//! I/Os in cube files, and importing the traces of other tools.
//!
//! [`TraceWriter`] and [`Trace`] work over `Write` and `Read + Seek`; nothing here opens a
//! file, reads a clock or starts a thread.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod batch;
pub mod cube_file;
pub mod error;
pub mod import;
pub mod issue_order;
pub mod merge_mapping;
pub mod not_recorded;
pub mod observed_time;
pub mod parquet;
pub mod run_table;
pub mod schema;
pub mod simd;
pub mod stream_key;
pub mod table;
#[cfg(test)]
mod testing;

pub use batch::Batch;
pub use cube_file::StepWriter;
pub use error::TraceError;
pub use issue_order::IssueOrder;
pub use not_recorded::NotRecorded;
pub use parquet::{Field, Fields, Trace, TraceMedium, TraceWriter};
pub use stream_key::StreamKey;
