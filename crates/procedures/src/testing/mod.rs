//! Fixtures for tests, and the example of docs/add-a-procedure.md.

mod fill;
mod refusals;
pub(crate) mod scripted;
pub(crate) mod sequence;
pub(crate) mod workload;
