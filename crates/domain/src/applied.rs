//! An [`AppliedWorkload`]: the I/O streams of a captured workload that a test applies, with exact
//! counts and their origin.
//!
//! A run's settings contain it completely: the run can be resumed, and its report created, without
//! the file that it was read from. The I/Os of an exact replay are not included, only their
//! description and the place from which they are read.

use crate::script::ScriptLoad;
use crate::script_source::ScriptSource;
use crate::stimulus::{DataPattern, Demand, IoStream, Pace};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// The streams of a captured workload that a test applies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AppliedWorkload {
    /// Name in reports.
    pub name: String,
    /// File that it was read from, or name of a reference workload.
    pub source: String,
    /// Facts to be disclosed, label and value, in print order: capture tool, layer, host and
    /// device, and the selection (times, processes, streams, threshold).
    #[serde(default)]
    pub origin: Vec<(String, String)>,
    /// Remarks that a reader of the numbers must know, one sentence each.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// Applied streams; the weight of each is its count in the capture.
    pub streams: Vec<IoStream>,
    /// Number of captured I/Os of each stream if their sum exceeds 32 bits, so that the weights are
    /// rounded; empty if the weights are the numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stream_ios: Vec<u64>,
    /// Number of all I/Os of the capture, including streams that are not applied.
    pub captured_ios: u64,
    /// All bytes of the capture; `None` if only those of some streams are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub captured_bytes: Option<Bytes>,
    /// Number of all streams of the capture.
    pub captured_streams: u64,
    /// Threads x outstanding I/Os; `None` if the source does not specify them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<Demand>,
    /// Data pattern of the writes.
    #[serde(default)]
    pub data_pattern: DataPattern,
    /// Arrivals of all I/Os of the capture, as a pace; `None` if unknown. A test applies them only
    /// if it is asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Pace>,
    /// Arrivals of single streams, as paces: index in [`AppliedWorkload::streams`] and pace. A test
    /// applies them only if it is asked to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stream_arrivals: Vec<(usize, Pace)>,
    /// Capture steps with I/Os of applied streams, in order; empty if the source has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<AppliedStep>,
    /// Description of the I/Os of an exact replay; `None` for a composite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptLoad>,
    /// Trace and choices from which the script is made again; `None` for a composite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script_source: Option<Box<ScriptSource>>,
}

/// One capture step: the load applied in it, and the figures of the captured storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AppliedStep {
    /// Start of the step, since the start of the first one.
    pub began: Nanos,
    /// Length of the step.
    pub lasted: Nanos,
    /// Streams of the step: index in [`AppliedWorkload::streams`] and number of I/Os.
    pub streams: Vec<(usize, u64)>,
    /// Threads x outstanding I/Os with which the step is applied.
    pub demand: Demand,
    /// Schedule of the I/Os: the captured rate if the captured demand was below 1.
    pub pace: Pace,
    /// Number of all I/Os of the step in the capture.
    pub captured_ios: u64,
    /// All bytes of the step in the capture.
    pub captured_bytes: Bytes,
    /// Mean number of I/Os outstanding in the capture; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding_mean: Option<f64>,
    /// Maximum number of I/Os outstanding in the capture; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outstanding_max: Option<u32>,
    /// Mean response time in the capture; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_mean: Option<Nanos>,
    /// Longest response time in the capture; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_max: Option<Nanos>,
    /// Threads with I/Os in the captured step; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Data pattern nearest to the captured data of the step; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_pattern: Option<DataPattern>,
}

impl AppliedWorkload {
    /// Returns the number of I/Os of the applied streams in the capture.
    pub fn applied_ios(&self) -> u64 {
        (0..self.streams.len()).map(|place| self.ios_of(place)).fold(0, u64::saturating_add)
    }

    /// Returns the number of I/Os of an applied stream in the capture.
    fn ios_of(&self, place: usize) -> u64 {
        let exact = self.stream_ios.get(place).copied();
        exact.unwrap_or_else(|| u64::from(self.streams[place].weight))
    }

    /// Returns the bytes of the applied streams in the capture, saturating.
    pub fn applied_bytes(&self) -> Bytes {
        let bytes =
            |(place, stream): (usize, &IoStream)| self.ios_of(place).saturating_mul(stream.size.0);
        Bytes(self.streams.iter().enumerate().map(bytes).fold(0, u64::saturating_add))
    }

    /// Returns true if applying the workload changes the data on the device.
    pub fn alters(&self) -> bool {
        self.streams.iter().any(|stream| stream.op.alters())
            || self.script.as_ref().is_some_and(ScriptLoad::alters)
    }

    /// Returns the streams of one capture step, weighted by the step's own counts. All counts are
    /// halved together until they fit a weight; a stream keeps at least weight 1.
    pub fn streams_of(&self, step: &AppliedStep) -> Vec<IoStream> {
        let most = step.streams.iter().map(|(_, ios)| *ios).max().unwrap_or(0);
        let shift = (u64::BITS - most.leading_zeros()).saturating_sub(u32::BITS);
        let weighed = step.streams.iter().filter_map(|&(place, ios)| {
            let weight = u32::try_from((ios >> shift).max(1)).ok()?;
            Some(self.streams.get(place)?.clone().with_weight(weight))
        });
        weighed.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stimulus::{Op, Order};

    fn workload() -> AppliedWorkload {
        let stream = |op, ios| IoStream::new(op, Order::Random, Bytes::kib(4)).with_weight(ios);
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
            threads: None,
            data_pattern: None,
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
    fn a_workload_survives_serialization() {
        let workload = workload();
        assert_eq!((workload.applied_ios(), workload.applied_bytes()), (10, Bytes::kib(40)));
        assert!(workload.alters());
        let text = serde_json::to_string(&workload).unwrap();
        assert_eq!(serde_json::from_str::<AppliedWorkload>(&text).unwrap(), workload);
    }
}
