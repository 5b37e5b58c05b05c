//! What the neighbors of an I/O decide: whether it is sequential, how many were
//! outstanding, how long it kept an otherwise idle device busy.

pub mod checkpoint;
pub mod data_transfers;
mod lookback;
mod outstanding;
pub mod sequence;
