//! What came of a step: its counts, and the gap before it.

use crate::measurement::Measurement;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A time during which the run did not hold the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Gap {
    /// Why: the process ended, was interrupted, the machine restarted.
    pub cause: String,
    /// From the last thing done to the device until the run was taken up
    /// again; `None` where no clock can tell. It counts as the longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasted: Option<Nanos>,
}

impl Gap {
    /// Its length in print.
    pub fn length(&self) -> String {
        self.lasted.map_or("unknown length".to_owned(), Nanos::taken)
    }
}

/// What a step did, and whether the run had let go of the device before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Outcome {
    /// The counts.
    pub measurement: Measurement,
    /// The gap before it, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_before: Option<Gap>,
}
