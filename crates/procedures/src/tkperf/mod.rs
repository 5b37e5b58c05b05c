//! TKperf: its run of several tests ([`whole`]), its tests of hard disks ([`hdd`]), and what
//! its own logs hold, shown like our runs ([`foreign`]). Its tests of solid-state drives are
//! those of the PTS with profile `tkperf`.
//!
//! Sources: TKperf 2.x as published in its reports and its source (docs/methods.md, K).

pub mod foreign;
pub mod hdd;
#[cfg(test)]
mod tests;
mod whole;

pub use whole::{NAME, OFFER, TkperfRun};
