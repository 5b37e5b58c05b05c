//! The guests and their cases.

mod asked;
mod capped;
mod cost;
mod files;
mod medium;
mod namespaces;
mod nvme;
mod overlaps;
mod scsi;
mod trace;
mod unplug;

use crate::guest::Guest;
use std::time::Duration;

/// A guest that does nothing: where it does not start, none will.
pub fn first() -> Guest {
    Guest {
        name: "first",
        drives: Vec::new(),
        script: "",
        meanwhile: Vec::new(),
        limit: Duration::from_secs(240),
        artefacts: &[],
        cases: Vec::new(),
        table: None,
    }
}

/// Every guest that is visited where none is named.
pub fn guests() -> Vec<Guest> {
    vec![
        nvme::guest(),
        namespaces::guest(),
        scsi::guest(),
        unplug::guest(),
        medium::guest(),
        capped::guest(),
        overlaps::guest(),
        trace::guest(),
        files::guest(),
    ]
}

/// Guests that are visited only by name: they measure, and pass or fail little.
pub fn benches() -> Vec<Guest> {
    vec![cost::guest()]
}
