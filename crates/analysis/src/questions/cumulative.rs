//! The cumulative workload: the I/O streams of a whole capture at or above a threshold, and the
//! applied test workload that is made from them, a `Stimulus`.
//!
//! Counts are kept as integers, and percentages are computed from them, never the other way round.
//! The tutorial's own example shows the effect of rounding: it prints 27.3 % where its counts give
//! 27.5 %.

use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*};
use crate::questions::streams::{ShareMeasure, StreamKey, StreamTable, share_of};
use crate::sums::io_count::IoCount;
pub use crate::threshold::Threshold;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use steadfast_domain::io_event::Share;
use steadfast_domain::stimulus::{Cursor, DataPattern, Durability};
use steadfast_domain::units::Bytes;
use steadfast_domain::{CaptureConditions, Demand, IoOp, IoStream, Op, Order};
use steadfast_tracefile::error::TraceError;

/// One stream of a workload, with exact counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkloadStream {
    /// Name in the notation of the standard, for display.
    #[serde(default)]
    pub stream: String,
    /// Operation.
    pub op: IoOp,
    /// Durability of the writes. Captures do not record it; an edited workload file may set it.
    #[serde(default, skip_serializing_if = "Durability::is_cached")]
    pub durability: Durability,
    /// SEQ, otherwise RND.
    pub sequential: bool,
    /// Transfer size in bytes.
    pub bytes: u32,
    /// I/Os.
    pub count: u64,
    /// Bytes moved.
    pub amount: u64,
    /// Largest power of two that divides every offset; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alignment: Option<u64>,
    /// Average queue depth at issue, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qd_mean: Option<f64>,
    /// Share of everything captured, 0 to 1, by count or bytes as the workload says.
    #[serde(default)]
    pub share: f64,
    /// Share of the selected streams, 0 to 1: these add up to 1.
    #[serde(default)]
    pub normalized: f64,
}

impl WorkloadStream {
    /// Creates a stream with its I/Os and bytes, whose shares are not known yet.
    pub fn new(key: StreamKey, count: u64, amount: u64) -> Self {
        WorkloadStream {
            stream: key.to_string(),
            op: key.op,
            sequential: key.sequential,
            bytes: key.bytes,
            count,
            amount,
            ..WorkloadStream::default()
        }
    }

    /// Returns the key of the stream: operation, order and size.
    pub fn key(&self) -> StreamKey {
        StreamKey { op: self.op, sequential: self.sequential, bytes: self.bytes }
    }
}

type WorkloadStreamColumn = ListingColumn<WorkloadStream>;

impl WorkloadStream {
    const STREAM: WorkloadStreamColumn =
        ListingColumn::shown("I/O stream", Plain(0), Text(|s| s.stream.clone()));
    const COUNT: WorkloadStreamColumn = ListingColumn::shown("I/Os", Plain(0), Whole(|s| s.count));
    const SHARE: WorkloadStreamColumn =
        ListingColumn::shown("% of all", Percent(2), Real(|s| s.share));
    const NORMALIZED: WorkloadStreamColumn =
        ListingColumn::shown("Normalized %", Percent(2), Real(|s| s.normalized));
    const AMOUNT: WorkloadStreamColumn =
        ListingColumn::shown("MB", Megabytes(1), Whole(|s| s.amount));
    const QD_MEAN: WorkloadStreamColumn =
        ListingColumn::shown("QD avg", Plain(2), MaybeReal(|s| s.qd_mean));

    /// Columns of a terminal's table.
    pub const TABLE: [WorkloadStreamColumn; 5] = [
        Self::STREAM,
        Self::COUNT,
        Self::SHARE,
        Self::NORMALIZED.headed("normalized %"),
        Self::QD_MEAN,
    ];

    /// Columns of a report's table, next to the stream names.
    pub const OF_REPORT: [WorkloadStreamColumn; 5] =
        [Self::COUNT, Self::SHARE, Self::NORMALIZED, Self::AMOUNT, Self::QD_MEAN];
}

/// The cumulative workload of a capture.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CumulativeWorkload {
    /// By what shares are taken.
    #[serde(default)]
    pub by: ShareMeasure,
    /// The smallest share of everything that a selected stream has.
    #[serde(default)]
    pub threshold: Threshold,
    /// I/Os of the whole capture, streams below the threshold included.
    pub total_count: u64,
    /// Bytes of the whole capture; 0 if unknown ([`CumulativeWorkload::total_bytes`]).
    pub total_amount: u64,
    /// Streams of the whole capture.
    pub total_streams: usize,
    /// The selected streams, the largest share first.
    pub streams: Vec<WorkloadStream>,
}

impl CumulativeWorkload {
    /// Selects the streams at or above a threshold.
    pub fn new(table: &StreamTable, by: ShareMeasure, threshold: Threshold) -> Self {
        let total = table.total();
        let streams = table
            .iter()
            .map(|(key, tally)| WorkloadStream {
                alignment: tally.alignment(),
                qd_mean: tally.times.depths.mean(),
                ..WorkloadStream::new(key, tally.count(), tally.amount())
            })
            .collect();
        let total = IoCount { ios: total.count(), bytes: total.amount() };
        Self::select(streams, total, by, threshold)
    }

    /// Selects among streams with given counts. `total` counts the whole capture, including streams
    /// that are not listed.
    pub fn select(
        mut streams: Vec<WorkloadStream>,
        total: IoCount,
        by: ShareMeasure,
        threshold: Threshold,
    ) -> Self {
        let total_streams = streams.len();
        let measure = |stream: &WorkloadStream| by.choose(stream.count, stream.amount);
        let whole = by.choose(total.ios, total.bytes);
        streams.retain(|stream| stream.count > 0 && threshold.admits(measure(stream), whole));
        streams.sort_by_key(|stream| (Reverse(measure(stream)), stream.key()));
        let selected: u64 = streams.iter().map(measure).sum();
        for stream in &mut streams {
            stream.share = share_of(measure(stream), whole);
            stream.normalized = share_of(measure(stream), selected);
        }
        CumulativeWorkload {
            by,
            threshold,
            total_count: total.ios,
            total_amount: total.bytes,
            total_streams,
            streams,
        }
    }

    /// Returns the bytes of the whole capture; `None` if unknown.
    pub fn total_bytes(&self) -> Option<Bytes> {
        (self.total_amount > 0 || self.total_count == 0).then_some(Bytes(self.total_amount))
    }

    /// Returns the keys of the selected streams.
    pub fn keys(&self) -> Vec<StreamKey> {
        self.streams.iter().map(WorkloadStream::key).collect()
    }

    /// Returns the I/Os and the bytes of the selected streams.
    pub fn selected(&self) -> IoCount {
        let mut selected = IoCount::default();
        for stream in &self.streams {
            selected.add(IoCount { ios: stream.count, bytes: stream.amount });
        }
        selected
    }

    /// Returns the share of the whole capture that the selected streams cover, 0 to 1.
    pub fn coverage(&self) -> f64 {
        let selected = self.selected();
        share_of(
            self.by.choose(selected.ios, selected.bytes),
            self.by.choose(self.total_count, self.total_amount),
        )
    }

    /// Returns one thread with the average queue depth of the selected streams, rounded up; `None`
    /// if no depth is known. An average below 1 means that the server paused between I/Os, which
    /// only a pace reproduces.
    pub fn demand_seen(&self) -> Option<Demand> {
        mean_demand(
            self.streams.iter().filter_map(|stream| {
                Some(WeightedDepth { depth: stream.qd_mean?, ios: stream.count })
            }),
        )
    }

    /// Returns the applied test workload.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if no selected stream can be applied to a device.
    pub fn applied_streams(&self) -> Result<AppliedStreams, TraceError> {
        let mut remarks = Vec::new();
        let (mut streams, mut counts) = (Vec::new(), Vec::new());
        for stream in &self.streams {
            match stimulus_op(stream.op) {
                Some(op) => {
                    streams.push(io_stream(op, stream));
                    counts.push(stream.count);
                }
                None => remarks.push(format!(
                    "{} ({} I/Os) is omitted: its operation is unknown.",
                    stream.key(),
                    stream.count
                )),
            }
        }
        if streams.is_empty() {
            return Err(TraceError::Unsuitable(no_stream_message(self.threshold)));
        }
        let StreamWeights { weights, are_exact } = StreamWeights::from_counts(&counts);
        if !are_exact {
            remarks.push("Counts beyond 32 bits: weights are rounded.".into());
        }
        for (stream, weight) in streams.iter_mut().zip(weights) {
            stream.weight = weight;
        }
        Ok(AppliedStreams { streams, remarks })
    }
}

/// The applied test workload: a fixed composite of the selected streams, each weighted by its count
/// of I/Os.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedStreams {
    /// Selected streams, with their weights.
    pub streams: Vec<IoStream>,
    /// Differences from the capture, one sentence each.
    pub remarks: Vec<String>,
}

/// Returns the message that no stream can be applied.
pub fn no_stream_message(threshold: Threshold) -> String {
    match threshold {
        Threshold(0) => "no I/O stream has I/Os that can be applied; a workload file needs a \
                         stream of reads, writes, discards or flushes with ios = 1 or more"
            .to_owned(),
        _ => format!("no I/O stream reaches the threshold of {threshold}; choose a lower one"),
    }
}

/// Returns the data pattern nearest to the captured data. It is random if nothing is known;
/// otherwise the compression ratio becomes a share of random bytes, combined with the share of
/// duplicates.
pub fn data_pattern_seen(conditions: &CaptureConditions) -> DataPattern {
    // A share that is only a lower bound is not used as a pattern.
    let duplicates = conditions.duplicates().and_then(Share::exact);
    data_pattern_of(conditions.compression_ratio, duplicates).unwrap_or_default()
}

/// Returns the data pattern nearest to data with this compression ratio and this share of
/// duplicates, 0 to 1; `None` if both are unknown.
pub fn data_pattern_of(ratio: Option<f64>, duplicates: Option<f64>) -> Option<DataPattern> {
    let percent = |share: f64| (share * 100.0).round().clamp(0.0, 100.0) as u8;
    (ratio.is_some() || duplicates.is_some()).then(|| DataPattern::Entropy {
        random_percent: ratio.filter(|r| *r >= 1.0).map_or(100, |ratio| percent(1.0 / ratio)),
        duplicate_percent: duplicates.map_or(0, percent),
    })
}

/// Returns the operation of a load, or `None` if no operation of a load does the same.
pub fn stimulus_op(op: IoOp) -> Option<Op> {
    match op {
        IoOp::Read => Some(Op::Read),
        IoOp::Write => Some(Op::Write),
        IoOp::Discard => Some(Op::Discard),
        IoOp::Flush => Some(Op::Flush),
        IoOp::Other => None,
    }
}

/// Returns a stream of a load with the order, size and alignment of a captured one.
pub fn io_stream(op: Op, stream: &WorkloadStream) -> IoStream {
    let order = if stream.sequential { Order::Sequential(Cursor::Own) } else { Order::Random };
    let size = u64::from(stream.bytes);
    // A 28 KiB write on a 4 KiB boundary must not be moved to a multiple of 28 KiB.
    let alignment = stream.alignment.map(|alignment| alignment.min(size.next_power_of_two()));
    let alignment = alignment.filter(|alignment| *alignment != size && size > 0).map(Bytes);
    IoStream { durability: stream.durability, alignment, ..IoStream::new(op, order, Bytes(size)) }
}

/// 32-bit weights in the ratios of counts of I/Os.
#[derive(Debug, PartialEq, Eq)]
struct StreamWeights {
    weights: Vec<u32>,
    /// True if no weight was rounded.
    are_exact: bool,
}

impl StreamWeights {
    fn from_counts(counts: &[u64]) -> Self {
        let divisor = counts.iter().copied().fold(0, greatest_common_divisor).max(1);
        // The sum of all weights must fit in 32 bits, not only each of them.
        let sum: u128 = counts.iter().map(|count| u128::from(count / divisor)).sum();
        let shift = (u128::BITS - sum.leading_zeros()).saturating_sub(u32::BITS);
        let weight = |count: &u64| {
            let rounded = u32::try_from((count / divisor) >> shift).unwrap_or(u32::MAX);
            rounded.max(u32::from(*count > 0))
        };
        StreamWeights { weights: counts.iter().map(weight).collect(), are_exact: shift == 0 }
    }
}

pub(crate) fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Average queue depth of some I/Os.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedDepth {
    /// Average queue depth at issue.
    pub depth: f64,
    /// Number of I/Os.
    pub ios: u64,
}

/// Returns one thread with the average queue depth of all I/Os, rounded up; `None` if there are no
/// I/Os.
pub fn mean_demand(depths: impl Iterator<Item = WeightedDepth>) -> Option<Demand> {
    let (mut depth_sum, mut ios) = (0.0, 0.0);
    for one in depths {
        depth_sum += one.depth * one.ios as f64;
        ios += one.ios as f64;
    }
    if ios <= 0.0 {
        return None;
    }
    let depth: f64 = depth_sum / ios;
    Some(Demand::new(1, depth.ceil().clamp(1.0, 65_536.0) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::ContentSample;

    /// The tutorial's nine streams and the next one below the threshold.
    fn seed_streams() -> Vec<WorkloadStream> {
        let rows = [
            ("SEQ 4K W", 757_697),
            ("RND 16K W", 422_999),
            ("SEQ 0.5K W", 409_357),
            ("SEQ 16K W", 376_211),
            ("RND 4K W", 336_424),
            ("SEQ 1K W", 173_343),
            ("RND 8K W", 121_532),
            ("RND 1K W", 84_592),
            ("SEQ 1.5K W", 72_871),
            ("RND 28K W", 68_616),
        ];
        rows.iter()
            .map(|(name, count)| {
                let key: StreamKey = name.parse().unwrap();
                let amount = count * u64::from(key.bytes);
                WorkloadStream { alignment: Some(4096), ..WorkloadStream::new(key, *count, amount) }
            })
            .collect()
    }

    #[test]
    fn the_tutorials_workload_is_selected_and_normalized_exactly() {
        let threshold = "2%".parse().unwrap();
        let total = IoCount { ios: 3_512_860, bytes: u64::MAX };
        let workload =
            CumulativeWorkload::select(seed_streams(), total, ShareMeasure::Count, threshold);
        assert_eq!(workload.streams.len(), 9);
        assert_eq!(workload.selected().ios, 2_755_026);
        assert!((workload.coverage() - 0.7843).abs() < 5e-5);
        let percent: Vec<String> =
            workload.streams.iter().map(|s| format!("{:.2}", s.normalized * 100.0)).collect();
        assert_eq!(
            percent,
            ["27.50", "15.35", "14.86", "13.66", "12.21", "6.29", "4.41", "3.07", "2.65"]
        );
        let sum: f64 = workload.streams.iter().map(|s| s.normalized).sum();
        assert!((sum - 1.0).abs() < 1e-12);
        let AppliedStreams { streams, remarks } = workload.applied_streams().unwrap();
        let weights: Vec<u32> = streams.iter().map(|s| s.weight).collect();
        assert_eq!(weights[..2], [757_697, 422_999]);
        assert!(remarks.is_empty());
    }

    #[test]
    fn sizes_that_are_no_power_of_two_keep_their_alignment() {
        let total = IoCount { ios: 3_512_860, bytes: 1 };
        let workload =
            CumulativeWorkload::select(seed_streams(), total, ShareMeasure::Count, Threshold(0));
        let streams = workload.applied_streams().unwrap().streams;
        let stream = streams.iter().find(|s| s.size == Bytes::kib(28)).unwrap();
        assert_eq!(stream.alignment(), Bytes(4096));
        let plain = streams.iter().find(|s| s.size == Bytes::kib(4)).unwrap();
        assert_eq!(plain.alignment, None);
    }

    #[test]
    fn weights_are_exact_while_they_fit() {
        let small = StreamWeights { weights: vec![2, 3], are_exact: true };
        assert_eq!(StreamWeights::from_counts(&[6, 9]), small);
        let StreamWeights { weights, are_exact } = StreamWeights::from_counts(&[u64::MAX - 1, 3]);
        assert!(!are_exact && weights[0] > 1 << 30 && weights[1] == 1);
    }

    #[test]
    fn an_empty_selection_is_an_error() {
        let empty = CumulativeWorkload { threshold: Threshold(20_000), ..Default::default() };
        let error = empty.applied_streams().unwrap_err().to_string();
        assert!(error.contains("lower"), "{error}");
        assert!("200%".parse::<Threshold>().is_err() && "x".parse::<Threshold>().is_err());
        assert_eq!("0.5 %".parse::<Threshold>().unwrap().to_string(), "0.5%");
    }

    #[test]
    fn the_data_pattern_follows_what_was_sampled() {
        let mut conditions = CaptureConditions::default();
        assert_eq!(data_pattern_seen(&conditions), DataPattern::RandomUnique);
        conditions.compression_ratio = Some(5.0);
        conditions.duplicate_share = Some(0.28);
        let pattern = DataPattern::Entropy { random_percent: 20, duplicate_percent: 28 };
        assert_eq!(data_pattern_seen(&conditions), pattern);
        // One block in a hundred was sampled: the compression holds for all blocks, the duplicates
        // do not.
        let sample =
            ContentSample { every: 100, blocks: 100, duplicates: 28, ..Default::default() };
        conditions.content = Some(sample);
        let pattern = DataPattern::Entropy { random_percent: 20, duplicate_percent: 0 };
        assert_eq!(data_pattern_seen(&conditions), pattern);
        conditions.compression_ratio = None;
        assert_eq!(data_pattern_seen(&conditions), DataPattern::RandomUnique);
    }
}
