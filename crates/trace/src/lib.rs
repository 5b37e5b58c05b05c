//! Block I/O traces: formats in and out, events folded into I/O streams and
//! capture steps, and the applied workload that comes of them.
//!
//! [`Captured`] answers for what a capture left, whether that is every I/O or the
//! sums of its capture steps. Everything works over `Read + Seek` and `Write`;
//! nothing here opens a file, reads a clock or starts a thread: a caller lends
//! threads ([`Crew`]). Folds over parts merge to the fold over the whole, exactly.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod apart;
pub mod batch;
mod buckets;
pub mod capture_step;
pub mod captured;
pub mod cells;
mod checkpoint;
pub mod clock;
pub mod columns;
pub mod compare;
pub mod content;
mod content_of_part;
pub mod content_steps;
pub mod crew;
pub mod day_profile;
pub mod delta;
pub mod delta_findings;
pub mod drives;
pub mod error;
pub mod extremes;
pub mod fidelity;
pub mod file;
pub mod filter;
pub mod findings;
mod firsts;
pub mod fleet;
pub mod fold;
pub mod group_figures;
pub mod groups;
pub mod hits;
pub mod hot;
pub mod import;
mod lately;
pub mod locality;
mod lookback;
mod moving;
pub mod observed_time;
pub mod order;
mod outstanding;
pub mod packed_steps;
pub mod pass;
mod place;
pub mod placement;
pub mod processes;
pub mod quality;
pub mod queue;
pub mod reach;
mod remedies;
pub mod replay;
pub mod replay_representation;
pub mod response;
mod schema;
pub mod sequence;
pub mod series;
pub mod shape;
pub mod shape_figures;
mod side_by_side;
pub mod step_file;
pub mod steps;
mod stream_chunk;
mod stream_key;
mod stream_steps;
mod stream_sums;
mod stream_tally;
pub mod streams;
pub mod study;
pub mod table;
mod threshold;
pub mod totals;
pub mod trust;
pub mod untold;
mod wide;
pub mod widths;
pub mod workload;
pub mod workload_file;

pub use batch::Batch;
pub use captured::Captured;
pub use crew::Crew;
pub use error::TraceError;
pub use file::{Field, Fields, Trace, Writer};
pub use filter::Filter;
pub use findings::findings;
pub use fold::{Alike, Fold, FoldSums, InParts, Rows, Sums};
pub use order::IssueOrder;
pub use pass::Pass;
pub use placement::Placement;
pub use step_file::StepWriter;
pub use streams::{By, StreamKey, StreamTable};
pub use study::Study;
pub use totals::{Derivation, StudyOptions, Totals};
pub use untold::Untold;
pub use workload_file::WorkloadFile;
