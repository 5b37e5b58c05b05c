//! The tests of the SNIA Real World Storage Workload (RWSW) PTS 1.0.7 that apply a
//! captured workload.
//!
//! [`composite`] is the captured workload as it is applied, [`regime`] what happens
//! before it, [`segments`] and [`disclosure`] what every one of these reports shows;
//! [`steady`] runs I/O streams to steady state, one at a time or all together,
//! [`dirth`] goes through demands, [`replay`] plays the capture again. Only public
//! summaries of the document could be read: docs/methods.md says which rules are ours.

pub mod composite;
pub mod dirth;
mod disclosure;
pub mod ladder;
pub mod method;
pub mod regime;
pub mod replay;
#[cfg(test)]
pub(crate) mod sample;
mod segments;
pub mod steady;

/// The procedures of this document.
pub const NAMES: [&str; 4] = ["replay-native", "individual-streams", "multi-wsat", "rwsw-dirth"];
