//! Results of playing a script, in addition to the counts that every step has.
//!
//! Every I/O of a script has three times: its due time, its submission to the kernel, and its
//! completion. The response times in a measurement's tallies start at the due time, as a user would
//! experience them; the ones here start at submission, together with the lateness of the
//! submissions.

use crate::histogram::FineHistogram;
use crate::tally::{StreamTally, UnmeasuredIos};
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lateness of the submissions: the time from due time to submission.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lateness {
    /// I/Os completed.
    pub ios: u64,
    /// Sum of their lateness.
    pub sum: Nanos,
    /// Maximum lateness, exact.
    pub max: Nanos,
    /// Distribution of the lateness; a bucket is up to 0.78 % wide.
    pub histogram: FineHistogram,
}

/// Lateness of the submissions in one interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalLateness {
    /// I/Os that completed in the interval.
    pub ios: u64,
    /// Sum of their lateness.
    pub sum: Nanos,
    /// Maximum lateness.
    pub max: Nanos,
}

impl IntervalLateness {
    /// Returns the mean lateness; `None` if nothing completed.
    pub fn mean(&self) -> Option<Nanos> {
        self.sum.0.checked_div(self.ios).map(Nanos)
    }
}

/// Position in a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptPosition {
    /// I/Os since the beginning of the script that were submitted or left out. Those still
    /// outstanding count in the next step and not in this one.
    pub ios: u64,
    /// Playing time since the beginning of the script.
    pub time: Nanos,
}

/// Results of playing a script in one step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayResult {
    /// Response times from submission, one tally per operation; those of the measurement itself
    /// start at the due time.
    pub served: Vec<StreamTally>,
    /// Time from due time to submission.
    pub lateness: Lateness,
    /// Lateness per interval of the measurement, in order.
    pub intervals: Vec<IntervalLateness>,
    /// I/Os that overlapped one that was outstanding or waiting, where at least one of the two
    /// changes data.
    #[serde(default)]
    pub overlaps: u64,
    /// Overlapping I/Os that waited for the other one.
    #[serde(default)]
    pub held: u64,
    /// Number of times that the next I/O was not yet decoded when it was needed.
    #[serde(default)]
    pub starved: u64,
    /// Total time spent waiting for decoding.
    #[serde(default)]
    pub starved_for: Nanos,
    /// I/Os that were not played, by operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<UnmeasuredIos>,
    /// Writes that were played without forced unit access.
    #[serde(default)]
    pub fua_left_out: u64,
    /// Position reached in the script: a step that continues starts from it.
    pub position: ScriptPosition,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_lateness_of_no_ios_is_unknown() {
        assert_eq!(IntervalLateness::default().mean(), None);
        let lateness = IntervalLateness { ios: 4, sum: Nanos(100), max: Nanos(100) };
        assert_eq!(lateness.mean(), Some(Nanos(25)));
    }
}
