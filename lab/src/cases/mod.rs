//! The guests and their cases.

mod capped;
mod checks;
mod cost;
mod fabric;
mod files;
mod mapped;
mod medium;
mod namespaces;
mod neighbors;
mod nvme;
mod outage;
mod overlaps;
mod paths;
mod power;
mod scsi;
mod service;
mod trace;
mod unplug;

use crate::guest::Guest;

/// Returns a guest that does nothing; if it does not start, none will.
pub fn first() -> Guest {
    Guest::new("first", "", 240)
}

/// Returns the guests that run by default; `cycles` is the number of power cuts of each drive.
pub fn guests(cycles: u32) -> Vec<Guest> {
    vec![
        nvme::guest(),
        namespaces::guest(),
        scsi::guest(),
        unplug::guest(),
        medium::guest(),
        capped::guest(),
        neighbors::guest(),
        service::guest(),
        overlaps::guest(),
        paths::guest(),
        mapped::guest(),
        fabric::guest(),
        power::guest(cycles),
        outage::guest(),
        trace::guest(),
        files::guest(),
    ]
}

/// Returns the guests that run only if named: they measure and check little.
pub fn benches() -> Vec<Guest> {
    vec![cost::guest()]
}
