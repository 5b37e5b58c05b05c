//! The browser's side of the explorer: an index of a capture, built in one pass and kept in the
//! cache directory; a read-only API on loopback that answers from the index or from the row groups
//! that a question is about; and the page that uses the API.
//!
//! The answers agree with the output of `steadfast trace`: the folds are the same, and sums over
//! cells give the same numbers.
#![forbid(unsafe_code)]

pub mod answers;
pub mod busy;
pub mod cache;
pub mod capture;
pub mod cells;
pub mod explorer_items;
pub mod export;
pub mod http_error;
pub mod index;
pub mod index_segments;
pub mod maps;
pub mod page;
pub mod pair_numbers;
pub mod pair_tables;
pub mod pair_tallies;
pub mod part_counter;
pub mod process_hits;
pub mod query;
pub mod row_cache;
pub mod run;
pub mod selection;
pub mod server;
