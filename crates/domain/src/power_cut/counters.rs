//! Power losses that a drive counts itself, which prove a cut or refute it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lifetime counters of a drive's power. `None` if the drive does not report a counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PowerCounters {
    /// Power cycles.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_cycles: Option<u64>,
    /// Power losses without notice (NVMe: unexpected power losses).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsafe_shutdowns: Option<u64>,
}

/// Result of comparing two readings of [`PowerCounters`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountedPowerLoss {
    /// The drive reports no power cycles, or its counters went backwards.
    #[default]
    Unknown,
    /// A counter advanced: the drive lost its power.
    Yes,
    /// The counters did not advance: the drive kept its power.
    No,
}

impl PowerCounters {
    /// Compares these counters with an earlier reading.
    ///
    /// A running drive was switched on at least once. A drive that reports no power cycle does not
    /// count them, and that both readings are 0 refutes nothing.
    pub fn since(&self, before: &PowerCounters) -> CountedPowerLoss {
        let cycles = self.power_cycles.zip(before.power_cycles);
        let shutdowns = self.unsafe_shutdowns.zip(before.unsafe_shutdowns);
        let pairs = || cycles.into_iter().chain(shutdowns);
        if pairs().any(|(now, then)| now < then) {
            CountedPowerLoss::Unknown
        } else if pairs().any(|(now, then)| now > then) {
            CountedPowerLoss::Yes
        } else if cycles.is_some_and(|(now, _)| now > 0) {
            CountedPowerLoss::No
        } else {
            CountedPowerLoss::Unknown
        }
    }
}
