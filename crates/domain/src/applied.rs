//! An [`AppliedWorkload`]: the I/O streams of a captured workload that a test
//! applies, with exact counts, and where they came from.
//!
//! It stands in a run's settings as a whole: a run can be resumed, and its report
//! made, without the file that it was read from. The I/Os of an exact replay do
//! not; of them it holds the description, and where they are read from.

use crate::script::ScriptLoad;
use crate::stimulus::{DataPattern, Demand, IoStream, Pace};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// The streams of a captured workload that are applied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AppliedWorkload {
    /// What it is called in reports.
    pub name: String,
    /// The file that it was read from, or the name of a reference workload.
    pub source: String,
    /// Facts to be disclosed, label and value, in the order of printing: capture tool,
    /// layer, host and device, what was chosen (times, processes, streams, threshold).
    #[serde(default)]
    pub origin: Vec<(String, String)>,
    /// What a reader of the numbers must know, one sentence each.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// The applied streams; the weight of each is its count in the capture.
    pub streams: Vec<IoStream>,
    /// All I/Os of the capture, of streams that are not applied too.
    pub captured_ios: u64,
    /// All bytes of the capture; `None` where only those of some streams are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_bytes: Option<Bytes>,
    /// All streams of the capture.
    pub captured_streams: u64,
    /// Threads x outstanding I/Os, where the source says them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<Demand>,
    /// What is written.
    #[serde(default)]
    pub data_pattern: DataPattern,
    /// The capture steps with I/Os of applied streams, in order; empty where the
    /// source keeps none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<AppliedStep>,
    /// The single I/Os of an exact replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptLoad>,
    /// How the script is opened again: its files by their full paths, then the options
    /// that choose from them, as on the command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opened_by: Vec<String>,
}

/// One capture step: what is applied in it, and how the captured storage did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AppliedStep {
    /// From the beginning of the first.
    pub began: Nanos,
    /// Its length.
    pub lasted: Nanos,
    /// Which of the workload's streams, by their place in it, and how many I/Os.
    pub streams: Vec<(usize, u64)>,
    /// Threads x outstanding I/Os with which it is applied.
    pub demand: Demand,
    /// When its I/Os are due: at its rate where the captured demand was below 1.
    pub pace: Pace,
    /// All I/Os of the step in the capture.
    pub captured_ios: u64,
    /// All bytes of the step in the capture.
    pub captured_bytes: Bytes,
    /// I/Os outstanding in the capture, averaged over the step's time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding_mean: Option<f64>,
    /// Most I/Os outstanding in the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding_max: Option<u32>,
    /// Mean response time in the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_mean: Option<Nanos>,
    /// Longest response time in the capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_max: Option<Nanos>,
}

impl AppliedWorkload {
    /// I/Os of the applied streams in the capture.
    pub fn applied_ios(&self) -> u64 {
        self.streams.iter().map(|stream| u64::from(stream.weight)).sum()
    }

    /// Bytes of the applied streams in the capture.
    pub fn applied_bytes(&self) -> Bytes {
        let bytes = |s: &IoStream| u64::from(s.weight).saturating_mul(s.size.0);
        Bytes(self.streams.iter().map(bytes).fold(0, u64::saturating_add))
    }

    /// Whether it changes what a device holds.
    pub fn alters(&self) -> bool {
        self.streams.iter().any(|stream| stream.op.alters())
            || self.script.as_ref().is_some_and(ScriptLoad::alters)
    }

    /// The composite of one capture step, weighed by its own counts. Counts are
    /// halved together until they fit a weight.
    pub fn streams_of(&self, step: &AppliedStep) -> Vec<IoStream> {
        let most = step.streams.iter().map(|(_, ios)| *ios).max().unwrap_or(0);
        let shift = (u64::BITS - most.leading_zeros()).saturating_sub(u32::BITS);
        let weighed = step.streams.iter().filter_map(|&(place, ios)| {
            let weight = u32::try_from((ios >> shift).max(1)).ok()?;
            Some(self.streams.get(place)?.clone().weighing(weight))
        });
        weighed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stimulus::{Op, Order};

    fn workload() -> AppliedWorkload {
        let stream = |op, ios| IoStream::new(op, Order::Random, Bytes::kib(4)).weighing(ios);
        let streams = vec![stream(Op::Read, 7), stream(Op::Write, 3)];
        AppliedWorkload { streams, ..AppliedWorkload::default() }
    }

    #[test]
    fn a_step_has_the_streams_of_the_workload_with_its_own_counts() {
        let workload = workload();
        let step = |streams| AppliedStep {
            began: Nanos::ZERO,
            lasted: Nanos::from_secs(1),
            streams,
            demand: Demand::new(1, 1),
            pace: Pace::Closed,
            captured_ios: 1,
            captured_bytes: Bytes(1),
            outstanding_mean: None,
            outstanding_max: None,
            response_mean: None,
            response_max: None,
        };
        let weights = |streams| -> Vec<u32> {
            workload.streams_of(&step(streams)).iter().map(|s| s.weight).collect()
        };
        assert_eq!(weights(vec![(1, 5), (0, 2)]), [5, 2]);
        assert_eq!(weights(vec![(0, 1 << 40), (1, 1 << 39)]), [1 << 31, 1 << 30]);
        assert_eq!(weights(vec![(0, 1 << 40), (1, 1)]), [1 << 31, 1], "none is lost");
        assert!(weights(vec![(9, 1)]).is_empty());
    }

    #[test]
    fn it_is_read_back_as_it_was_kept() {
        let workload = workload();
        assert_eq!((workload.applied_ios(), workload.applied_bytes()), (10, Bytes::kib(40)));
        assert!(workload.alters());
        let text = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<AppliedWorkload>(&text).unwrap(), workload);
    }
}
