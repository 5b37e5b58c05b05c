//! The browser's side of the explorer: an index of a capture, built in one pass and kept in the
//! cache directory; a read-only API on loopback that answers from the index or from the row groups
//! that a question is about; and the page that uses the API.
//!
//! The answers agree with the output of `steadfast trace`: the folds are the same, and sums over
//! cells give the same numbers.
#![forbid(unsafe_code)]

pub mod answers;
pub mod busy;
pub mod by_pair;
pub mod cache;
pub mod capture;
pub mod cells;
pub mod export;
pub mod index;
pub mod keys;
pub mod maps;
pub mod page;
pub mod pairs;
pub mod parts;
pub mod query;
pub mod refusal;
pub mod rows;
pub mod run;
pub mod selection;
pub mod server;
pub mod shown;
pub mod stretches;
pub mod tallies;
pub mod touches;
