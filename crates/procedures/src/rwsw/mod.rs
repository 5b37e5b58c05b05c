//! The tests of the SNIA Real World Storage Workload (RWSW) PTS 1.0.7, which apply a captured
//! workload.
//!
//! [`composite`] is the captured workload on a device, [`regime`] the purge and preconditioning
//! before it; [`segments`] and [`disclosure`] are shared by all reports. [`steady`] runs I/O
//! streams to steady state, one at a time or all together, [`dirth`] sweeps demands, [`replay`]
//! replays the capture. Only public summaries of the document could be read: docs/methods.md
//! lists the rules that are our choice.

pub mod composite;
pub mod dirth;
pub(crate) mod disclosure;
pub mod ladder;
pub mod method;
pub mod regime;
pub mod replay;
mod segments;
pub mod steady;

/// Names of the procedures of this document.
pub const NAMES: [&str; 4] = ["replay-native", "individual-streams", "multi-wsat", "rwsw-dirth"];
