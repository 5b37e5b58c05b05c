//! Compares a replay with its capture, or any other two captures.
//!
//! Sums are compared for any two captures: I/O streams, sizes, and both over time on one axis
//! that begins with each capture's first I/O. If both captures have single I/Os, these are
//! compared device by device: whether the same I/Os came in the same order, how far each
//! was from its time, and how the times between I/Os are distributed.
//!
//! A derived workload repeats no single I/O. It is compared with its capture by aspects, each with
//! a score of its own ([`AspectScore`]), after it was applied in pure code ([`VirtualApplication`])
//! or captured again.

mod aspects;
mod comparison;
mod distance;
mod findings;
mod options;
mod pairs;
mod plots;
mod side;
mod simplifications;
mod tables;
mod virtual_application;

pub use aspects::{ASPECT_NOISE, AspectScore, TraceProfile};
pub use comparison::Fidelity;
pub use distance::Distance;
pub use findings::{caveats, chapters, findings};
pub use options::FidelityOptions;
pub use pairs::{DevicePair, DifferentIo, IoDifference, OpPair, SequenceComparison, StartErrors};
pub use side::FidelitySide;
pub use simplifications::simplifications;
pub use virtual_application::{AppliedIo, DRAWN_MAX, DrawnLoad, VirtualApplication};
