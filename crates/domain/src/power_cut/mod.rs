//! Power cuts: the writes before a cut, the writes that must survive it, and the verdict.
//!
//! A trial writes blocks in batches. The writes of a batch are outstanding together and followed by
//! a flush; when the flush has returned, its sequence number is acknowledged in a log that survives
//! the cut. After the cut, [`judge`] compares the blocks read back with the log. It is a pure
//! function, so a [`ModeledDrive`] can take the place of a real drive.

mod acknowledged;
mod counters;
mod judge;
mod modeled_drive;
mod stamp;
#[cfg(test)]
mod tests;
mod trial;

pub use acknowledged::{AcknowledgedWrites, Acknowledgment};
pub use counters::{CountedPowerLoss, PowerCounters};
pub use judge::{CutEvidence, PowerCutOutcome, PowerCutViolation, ViolationKind, judge};
pub use modeled_drive::{ModeledDrive, PowerLossBehavior};
pub use stamp::{BlockFault, FoundBlock, stamp_block};
pub use trial::{PowerCutTrial, WritePlan};
