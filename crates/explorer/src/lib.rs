//! The browser's side of the explorer: an index of a capture, built in one pass and kept in the
//! cache directory; a read-only API on loopback that answers from the index or from the row groups
//! that a question is about; and the page that uses the API.
//!
//! The answers agree with the output of `steadfast trace`: the folds are the same, and sums over
//! cells give the same numbers.
#![forbid(unsafe_code)]

pub mod answers;
mod busy;
pub mod cache;
pub mod capture;
mod cells;
pub mod explorer_items;
pub mod export;
pub mod http_error;
pub mod index;
mod index_segments;
mod maps;
mod page;
mod pair_numbers;
mod pair_tables;
mod pair_tallies;
mod part_counter;
mod process_hits;
pub mod query;
mod row_cache;
pub mod run;
pub mod selection;
pub mod server;
