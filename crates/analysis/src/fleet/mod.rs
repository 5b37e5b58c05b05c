//! Captures whose sums were kept, and captures of many hosts: fold files, and several captures read
//! as one.

mod cell_builder;
mod common;
mod file;
mod folding;
mod hosts;
mod members;
mod merge;
mod single_capture;
#[cfg(test)]
mod step_tests;
mod summed_capture;

pub(crate) use file::FoldFile;
pub use file::{FileIdentity, FoldOptions, Member};
pub use folding::{Folded, fingerprint, fold};
pub use hosts::{HostFigures, HostRank, Hosts};
pub(crate) use members::Fleet;
pub use merge::Merge;
pub(crate) use single_capture::SingleCapture;
pub(crate) use summed_capture::{CellTotals, SummedCapture};
