//! What the I/Os of a trace add up to: I/O streams, capture steps, processes, drives,
//! working sets, and how two captures differ.
//!
//! [`Captured`] answers for what a capture left, whether that is every I/O or the
//! sums of its capture steps. A question is a [`Fold`] over single I/Os or sums; folds over
//! parts merge to the fold over the whole, exactly. Nothing here opens a file, reads a clock
//! or starts a thread: a caller lends threads ([`ThreadPool`]).
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod annotate;
pub mod captured;
pub mod cells;
mod cgroup_owner;
pub mod clock;
pub mod columns;
pub mod cube;
pub mod device_layer;
pub mod filter;
pub mod findings;
pub mod fleet;
pub mod fold;
pub mod moment;
mod named_values;
mod parallel_pass;
pub mod pass;
pub mod questions;
pub mod sums;
pub mod tables;
pub mod thread_pool;
mod threshold;

pub use captured::Captured;
pub use cube::{Cube, CubeBuilder};
pub use filter::Filter;
pub use findings::findings;
pub use fold::{AnnotatedBatch, AnnotatedRows, Fold};
pub use pass::PassOptions;
pub use questions::streams::{ShareMeasure, StreamTable};
pub use questions::study::Study;
pub use questions::totals::{CaptureTotals, Derivation, StudyOptions};
pub use thread_pool::ThreadPool;
