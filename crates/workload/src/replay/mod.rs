//! Prepares captures for replay: a [`Script`] of exact I/Os with due times, made from single I/Os
//! ([`script`]), or the list of capture steps, each with its own I/O streams ([`steps`]).
//!
//! A script is made in two passes. The first finds what the chosen I/Os need: the addresses they
//! reach, the times that are recorded, the I/Os that cannot be played. The second plays the
//! script once without a device and sums it up, so that all its totals and its digest are known
//! before the first I/O. Both passes decode the trace in batches, in memory that does not grow
//! with its length.
//!
//! [`Script`]: steadfast_domain::Script

pub mod address_map;
pub mod applied;
mod capture_gaps;
mod captured_io;
mod due_order;
mod error;
mod fua_emulation;
pub mod granules;
mod in_flight;
mod options;
mod plan;
mod player;
pub mod script;
pub mod steps;
mod summary;
mod survey;
mod think_times;

pub use address_map::{AddressMap, ReplayTarget};
pub use applied::Provenance;
pub use error::ReplayError;
pub use options::{OmittedIos, ScriptOptions};
pub use script::TraceScript;
pub use steadfast_domain::script::{DueTimeSource, MapRule};
pub use steps::{NativeSteps, StepChoice, StepSource};
pub use summary::{OpSize, Summary};
