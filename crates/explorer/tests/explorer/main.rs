//! Tests of indexes, selections and the page. Tests of the whole in a browser are those of the
//! binary (`crates/steadfast/tests/cli/explore.rs`).
#![allow(clippy::unwrap_used)]

mod cached;
mod page;
mod paths;
#[path = "../../../analysis/tests/scoped_threads/mod.rs"]
mod scoped_threads;
