//! TKperf: its run of several tests ([`run`]), its tests of hard disks ([`hdd`]), and reports of
//! its own logs ([`foreign`]). Its tests of solid-state drives are those of the PTS with profile
//! `tkperf`.
//!
//! Sources: TKperf 2.x as published in its reports and its source (docs/methods.md, K).

pub mod foreign;
pub(crate) mod hdd;
mod run;
#[cfg(test)]
mod tests;

pub(crate) use run::{NAME, SPEC};
