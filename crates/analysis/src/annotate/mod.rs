//! Annotations of an I/O that depend on its neighbors: whether it is sequential, how many I/Os were
//! outstanding, and for how long it kept an otherwise idle device busy.

pub(crate) mod arrival_gaps;
pub mod busy_time;
pub(crate) mod checkpoint;
pub(crate) mod data_transfers;
mod lookback;
pub mod outstanding;
pub(crate) mod overflow_guard;
mod rows_by_kind;
pub(crate) mod selected_runs;
pub mod sequential;
