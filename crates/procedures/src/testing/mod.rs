//! Fixtures for tests, and the example of docs/add-a-procedure.md.

mod fill;
pub(crate) mod scripted;
pub(crate) mod sequence;
pub(crate) mod workload;
