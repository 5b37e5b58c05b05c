//! Captures of many hosts: fold files, which hold sums of captures instead of their I/Os, and
//! several captures read as one. `docs/formats.md` describes the file format.

mod block;
mod common;
mod file;
mod folding;
mod gathering;
mod hosts;
mod members;
mod merge;
mod numbers;

pub use file::{FileIdentity, FoldOptions, Member};
pub(crate) use file::{FoldFile, begins};
pub use folding::{Folded, fingerprint, fold};
pub use hosts::{HostFigures, HostRank, Hosts};
pub(crate) use members::{Fleet, Of};
pub use merge::Merge;
