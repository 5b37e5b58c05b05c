//! A [`RunPlan`]: what was decided before a run began.

use serde::{Deserialize, Serialize};
use steadfast_domain::record::RECORD_VERSION;
use steadfast_domain::settings::Geometry;
use steadfast_domain::{Device, Settings};

/// Everything that was decided before a run began: made once from the arguments, kept as
/// `settings.json` of the run directory, never edited. Resume and reports read it back; neither
/// interprets the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunPlan {
    /// Version of the ledger format.
    pub version: u32,
    /// Name and version of the program.
    pub software: String,
    /// Start time by the wall clock, in milliseconds since 1970 (UTC).
    pub began_unix_ms: u64,
    /// Engine: `uring`, `fio` or `sim`.
    pub engine: String,
    /// The device as it was found.
    pub device: Device,
    /// The user's settings.
    pub settings: Settings,
}

impl RunPlan {
    /// Creates a plan in the current version of the ledger format.
    pub fn new(
        software: &str,
        began_unix_ms: u64,
        engine: &str,
        device: Device,
        settings: Settings,
    ) -> Self {
        let (software, engine) = (software.to_owned(), engine.to_owned());
        RunPlan { version: RECORD_VERSION, software, began_unix_ms, engine, device, settings }
    }

    /// Returns the properties of the device that determine what a procedure does.
    pub fn geometry(&self) -> Geometry {
        Geometry { capacity: self.device.capacity, logical_sector: self.device.logical_sector }
    }
}
