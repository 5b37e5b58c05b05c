//! What a step played of a script, beside the counts that every step has.
//!
//! Every I/O of a script has three times: when it was due, when it was handed
//! over to the kernel, and when it completed. A measurement's tallies have
//! response times from the due time, which is what its user would have felt;
//! here stand those from the hand-over, and how late the hand-overs were.

use crate::histogram::FineHistogram;
use crate::tally::{StreamTally, Unmeasured};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// How late I/Os were handed over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Lateness {
    /// I/Os that have completed.
    pub ios: u64,
    /// Their lateness added up.
    pub sum: Nanos,
    /// The latest, exact.
    pub max: Nanos,
    /// Every I/O's lateness, to within a bucket (0.78 %).
    pub histogram: FineHistogram,
}

/// How late the I/Os of one interval were handed over.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct IntervalLateness {
    /// I/Os that completed in it.
    pub ios: u64,
    /// Their lateness added up.
    pub sum: Nanos,
    /// The latest.
    pub max: Nanos,
}

impl IntervalLateness {
    /// On average; `None` where nothing completed.
    pub fn mean(&self) -> Option<Nanos> {
        self.sum.0.checked_div(self.ios).map(Nanos)
    }
}

/// How far a script was played.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct ScriptPosition {
    /// I/Os from its beginning that were handed over or left out; those that had
    /// not come back are in no count of this step, but in the next one's.
    pub ios: u64,
    /// Playing time since its beginning.
    pub time: Nanos,
}

/// What a step played of a script.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Replayed {
    /// Response times from the hand-over, one tally per operation, as the
    /// measurement's own, which are from the due time.
    pub served: Vec<StreamTally>,
    /// From the due time to the hand-over.
    pub lateness: Lateness,
    /// The same for each interval of the measurement, in order.
    pub intervals: Vec<IntervalLateness>,
    /// I/Os that overlapped one that was outstanding, or waited to be, one of the
    /// two a change.
    #[serde(default)]
    pub overlaps: u64,
    /// Of those, the ones that waited for the other.
    #[serde(default)]
    pub held: u64,
    /// How often nothing was decoded yet when an I/O was looked for.
    #[serde(default)]
    pub starved: u64,
    /// For how long.
    #[serde(default)]
    pub starved_for: Nanos,
    /// What was not played, by operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Unmeasured>,
    /// Writes that were played without their forced unit access.
    #[serde(default)]
    pub fua_left_out: u64,
    /// Where the script stands: a step that continues goes on from there.
    pub position: ScriptPosition,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_needs_an_io() {
        let of = |ios, sum| IntervalLateness { ios, sum: Nanos(sum), max: Nanos(sum) }.mean();
        assert_eq!((of(0, 0), of(4, 100)), (None, Some(Nanos(25))));
    }
}
