//! [`Outcome`]: the measurement of a step, and the gap before it.

use crate::measurement::Measurement;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Result of a step, and the gap before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Measurement of the step.
    pub measurement: Measurement,
    /// Gap before the step; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_before: Option<Gap>,
}

impl Outcome {
    /// Returns the bytes written by the step and in the gap before it, as far as they were counted.
    pub fn written(&self) -> Bytes {
        let gap = self.gap_before.as_ref().and_then(|gap| gap.written).unwrap_or_default();
        gap + self.measurement.written()
    }
}

/// A period during which the run did not hold the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// Cause: the process ended or was interrupted, or the machine restarted.
    pub cause: String,
    /// Time from the last operation on the device until the run was resumed; `None` if no clock
    /// can determine it. An unknown length counts as the longest possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasted: Option<Nanos>,
    /// Bytes that the kernel counted as written to the device in that time: by the
    /// interrupted step and by every other writer; `None` if the counters are not comparable, as
    /// after a reboot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Bytes>,
}

impl Gap {
    /// Returns the length as text.
    pub fn length(&self) -> String {
        self.lasted.map_or("unknown length".to_owned(), Nanos::taken)
    }
}
