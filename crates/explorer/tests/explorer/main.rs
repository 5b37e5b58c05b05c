//! What an index, a selection and the page are held to. How a browser meets the whole
//! is tested with the binary (`crates/steadfast/tests/cli/explore.rs`).
#![allow(clippy::unwrap_used)]

mod cached;
mod page;
mod paths;
#[path = "../../../analysis/tests/scoped_threads/mod.rs"]
mod scoped_threads;
