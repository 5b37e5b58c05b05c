//! The tests of the SNIA Real World Storage Workload (RWSW) PTS 1.0.7, which apply a captured
//! workload.
//!
//! [`composite`] is the captured workload on a device, [`preconditioning`] the purge and preconditioning
//! before it; [`segments`] and [`disclosure`] are shared by all reports. [`steady`] runs I/O
//! streams to steady state, one at a time or all together, [`dirth`] sweeps demands, [`replay`]
//! replays the capture. Only public summaries of the document could be read: docs/methods.md
//! lists the rules that are our choice.

pub(crate) mod composite;
pub(crate) mod dirth;
pub(crate) mod disclosure;
pub(crate) mod ladder;
pub(crate) mod method;
pub(crate) mod preconditioning;
pub(crate) mod replay;
mod segments;
pub(crate) mod steady;

/// Names of the procedures of this document.
pub const NAMES: [&str; 4] = ["replay-native", "individual-streams", "multi-wsat", "rwsw-dirth"];
