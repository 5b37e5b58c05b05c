//! What came of a step: its counts, and the gap before it.

use crate::measurement::Measurement;
use crate::units::{Bytes, Nanos};
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
    /// Bytes that the kernel counted as written to the device in that time: by the step that
    /// was broken off, and by anybody else; `None` where nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Bytes>,
}

impl Outcome {
    /// Bytes written by the step and in the gap before it, as far as they were counted.
    pub fn written(&self) -> Bytes {
        let gap = self.gap_before.as_ref().and_then(|gap| gap.written).unwrap_or_default();
        gap + self.measurement.written()
    }
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
