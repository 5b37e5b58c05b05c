//! How true a replay was: two captures side by side, one of the original and one of
//! the replay, or any other two.
//!
//! What sums tell is compared of any two: I/O streams, sizes, and both over time on
//! one axis that begins with each capture's first I/O. What only single I/Os tell
//! is compared where both have them, device by device: whether the same I/Os came
//! in the same order, how far each was from its time, and how the times between
//! I/Os are distributed.

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
pub use pairs::{DevicePair, Difference, DifferentIo, OpPair, SequenceFound, Starts};
pub use side::SideFound;
