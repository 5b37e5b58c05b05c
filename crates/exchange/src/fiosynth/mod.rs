//! FioSynth's suites: JSON that names templates (fio job files) and the values of their
//! variables, first those that precondition, then those that are measured; and what their
//! results must be.
//!
//! Rates and think times are scaled by the capacity of the drive in TB, as FioSynth does.

mod suite;
mod targets;
#[cfg(test)]
mod tests;
mod workloads;

pub use suite::{FioSynthSuite, SuiteWorkload};
pub use workloads::{DriveScale, TemplateSource, sequence};
