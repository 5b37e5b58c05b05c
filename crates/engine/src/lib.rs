//! The only crate that moves device data.
//!
//! [`native`] drives a real device or file through an armed `Target`; [`sim`] is an SSD in virtual
//! time. Both draw their I/Os with the same [`draw`] at the same [`arrival_times`], play scripts
//! with the same `play`, and count with the same `accounting`, so that a procedure sees no
//! difference. [`fio`] has an installed fio drive the target, for a second opinion.

mod accounting;
pub mod arrival_times;
mod commits;
pub mod draw;
mod engine;
pub mod fio;
mod handover;
mod kernel;
pub mod native;
mod play;
pub mod power_cut;
mod prepared;
mod refusals;
pub mod sim;
mod skewed;
mod stall;
mod start;
mod start_error_counts;
mod stop;
mod xoshiro;
mod zones;

pub use engine::{Engine, TargetEngine};
pub use prepared::{PreparedStep, StepRefusal};
pub use start::{StepStart, WorkDone};
pub use stop::StopSignal;
