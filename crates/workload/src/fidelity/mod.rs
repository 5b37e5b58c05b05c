//! Compares a replay with its capture, or any other two captures.
//!
//! Sums are compared for any two captures: I/O streams, sizes, and both over time on one axis
//! that begins with each capture's first I/O. If both captures have single I/Os, these are
//! compared device by device: whether the same I/Os came in the same order, how far each
//! was from its time, and how the times between I/Os are distributed.

mod distance;
mod findings;
mod found;
mod options;
mod pairs;
mod plots;
mod side;
mod tables;

pub use distance::Distance;
pub use findings::{caveats, chapters, findings};
pub use found::Fidelity;
pub use options::FidelityOptions;
pub use pairs::{DevicePair, DifferentIo, IoDifference, OpPair, SequenceComparison, StartErrors};
pub use side::FidelitySide;
