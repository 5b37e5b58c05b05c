//! Scores of a derived workload, one for each aspect of a capture. A score is 1 if the two traces
//! agree and 0 if they have nothing in common. Scores are never added up: a workload that matches
//! in six aspects and not in the seventh is useless to a user who needs the seventh.

use super::distance::{Distance, DistributionSample};
use crate::details::AddressRange;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use steadfast_analysis::questions::locality::{Locality, LocalityFigures};
use steadfast_analysis::questions::streams::{STREAMS_MAX, StreamKey};
use steadfast_analysis::{Captured, PassOptions};
use steadfast_domain::{Bytes, IoOp, Nanos};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::Fields;

/// Largest shortfall from the best possible score that counts as noise (our choice).
pub const ASPECT_NOISE: f64 = 0.02;

/// Number of equal parts of the address range whose coverage is compared.
const SLICES: usize = 256;
/// Gaps and depths per trace up to which distances are exact. Beyond, values are distinguished to
/// within 0.8 %: a bound of what may lie within a bucket would call equal depths different.
const EXACT_MAX: usize = 1 << 20;
/// Number of streams whose own gaps are compared: those seen first. 60 KB each.
const STREAMS_WITH_GAPS: usize = 256;
/// Number of response times kept per operation.
const RESPONSES_MAX: usize = 1 << 16;

/// An aspect of a trace, and the definition of its score.
struct Aspect {
    name: &'static str,
    definition: &'static str,
    score: fn([&TraceProfile; 2]) -> Result<ScoredDifference, &'static str>,
}

/// A score and the largest difference behind it.
struct ScoredDifference {
    score: f64,
    /// The difference in words, capture first.
    text: String,
}

const ASPECTS: [Aspect; 8] = [
    Aspect {
        name: "streams",
        definition: "1 - half the sum of the differences between the shares of the I/O streams \
                     (operation, order, size) in the I/Os",
        score: streams,
    },
    Aspect {
        name: "sizes",
        definition: "1 - half the sum of the differences between the shares of the transfer sizes \
                     of each operation in the I/Os",
        score: sizes,
    },
    Aspect {
        name: "inter-arrival",
        definition: "1 - the Kolmogorov-Smirnov distance of the gaps between issue times",
        score: gaps,
    },
    Aspect {
        name: "stream-inter-arrival",
        definition: "the mean over the I/O streams (the first 256 of each trace), weighted by their \
                     captured gaps, of 1 - the Kolmogorov-Smirnov distance of the gaps between issue \
                     times of one stream; 0 for a stream that was not applied",
        score: stream_gaps,
    },
    Aspect {
        name: "depth",
        definition: "1 - the Kolmogorov-Smirnov distance of the I/Os outstanding at issue",
        score: depths,
    },
    Aspect {
        name: "locality",
        definition: "1 - the Kolmogorov-Smirnov distance of the reuse distances of 4 KiB blocks, that \
                     is the largest difference of the miss ratios of LRU caches of any size",
        score: locality,
    },
    Aspect {
        name: "coverage",
        definition: "of 256 equal parts of the address range: those touched in both traces, divided by \
                     those touched in either",
        score: coverage,
    },
    Aspect {
        name: "read-write",
        definition: "1 - half the sum of the differences between the shares of the pairs of \
                     consecutive operations (a read after a read, a write after a read, ...)",
        score: op_pairs,
    },
];

/// Agreement of a trace with a capture in one aspect.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct AspectScore {
    /// Name of the aspect.
    pub aspect: &'static str,
    /// 1 for agreement, 0 for nothing in common; null if the aspect is unknown.
    pub score: Option<f64>,
    /// Score that two drawings of the applied workload have against each other: the best that as
    /// many I/Os can reach. Null if the trace was not drawn.
    pub best: Option<f64>,
    /// Score of a drawing in which each stream has its own arrivals. Null if they are unknown or the
    /// trace was not drawn.
    pub by_stream: Option<f64>,
    /// Definition of the score.
    pub definition: &'static str,
    /// The largest difference, capture first; null if the aspect is unknown.
    pub difference: Option<String>,
    /// Why the aspect is unknown; null if it is known.
    pub unknown: Option<&'static str>,
}

impl AspectScore {
    /// Scores a trace against a capture, in every aspect.
    pub fn all(capture: &TraceProfile, other: &TraceProfile) -> Vec<AspectScore> {
        ASPECTS.iter().map(|aspect| AspectScore::new(aspect, [capture, other])).collect()
    }

    /// Scores the first drawing of a workload against a capture. The second drawing shows the best
    /// possible scores. In `by_stream` each stream has its own arrivals.
    pub fn of_drawings(
        capture: &TraceProfile,
        drawings: [&TraceProfile; 2],
        by_stream: Option<&TraceProfile>,
    ) -> Vec<AspectScore> {
        let mut scores = Self::all(capture, drawings[0]);
        for (score, best) in scores.iter_mut().zip(Self::all(drawings[0], drawings[1])) {
            score.best = best.score.filter(|_| score.score.is_some());
        }
        if let Some(drawing) = by_stream {
            for (score, own) in scores.iter_mut().zip(Self::all(capture, drawing)) {
                score.by_stream = own.score;
            }
        }
        scores
    }

    fn new(aspect: &Aspect, pair: [&TraceProfile; 2]) -> Self {
        let mut score = AspectScore {
            aspect: aspect.name,
            score: None,
            best: None,
            by_stream: None,
            definition: aspect.definition,
            difference: None,
            unknown: None,
        };
        match (aspect.score)(pair) {
            Ok(found) => {
                score.score = Some(found.score.clamp(0.0, 1.0));
                score.difference = Some(found.text);
            }
            Err(why) => score.unknown = Some(why),
        }
        score
    }

    /// Returns true if the aspect was lost: its score falls short of the best by more than
    /// [`ASPECT_NOISE`].
    pub fn is_lost(&self) -> bool {
        self.score.is_some_and(|score| score < self.best.unwrap_or(1.0) - ASPECT_NOISE)
    }
}

/// A sample of a sequence of unknown length: every n-th value.
#[derive(Debug, Clone, Default)]
struct EvenSample {
    values: Vec<u64>,
    seen: u64,
    every: u64,
}

impl EvenSample {
    fn add(&mut self, value: u64) {
        self.every = self.every.max(1);
        if self.seen.is_multiple_of(self.every) {
            if self.values.len() == RESPONSES_MAX {
                self.values = self.values.iter().copied().step_by(2).collect();
                self.every *= 2;
            }
            if self.seen.is_multiple_of(self.every) {
                self.values.push(value);
            }
        }
        self.seen += 1;
    }
}

/// Data from which the aspects of a trace are computed.
#[derive(Clone)]
pub struct TraceProfile {
    /// Number of I/Os.
    pub ios: u64,
    streams: BTreeMap<StreamKey, u64>,
    /// Empty if the trace has no times.
    gaps: DistributionSample,
    stream_gaps: BTreeMap<StreamKey, StreamGapSample>,
    depths: DistributionSample,
    /// Counts by previous operation and operation.
    op_pairs: BTreeMap<(IoOp, IoOp), u64>,
    slices: [bool; SLICES],
    locality: Option<LocalityFigures>,
    responses: [EvenSample; IoOp::ALL.len()],
}

/// The gaps between the I/Os of a stream.
#[derive(Clone)]
struct StreamGapSample {
    /// Issue time of the last I/O in nanoseconds.
    last_ns: u64,
    gaps: DistributionSample,
}

impl TraceProfile {
    /// Reads the single I/Os of a trace, and once more for the reuse distances if the addresses are
    /// those of one device.
    pub fn read(
        captured: &Captured,
        pass: &PassOptions,
        range: Option<AddressRange>,
    ) -> Result<Self, TraceError> {
        let mut profile = TraceProfile {
            ios: 0,
            streams: BTreeMap::new(),
            gaps: DistributionSample::keeping(EXACT_MAX),
            stream_gaps: BTreeMap::new(),
            depths: DistributionSample::keeping(EXACT_MAX),
            op_pairs: BTreeMap::new(),
            slices: [false; SLICES],
            locality: None,
            responses: Default::default(),
        };
        let (mut last, mut has_times) = (None, false);
        let mut ios = captured.ios(pass, Fields::NONE)?;
        while let Some(rows) = ios.next_batch()? {
            for row in rows.iter() {
                let (op, bytes) = (rows.batch.op(row), rows.batch.bytes(row));
                let at_ns = rows.batch.issued_ns(row);
                profile.ios += 1;
                let key = StreamKey { op, sequential: rows.sequential[row], bytes };
                profile.count(key);
                profile.add_stream_gap(key, at_ns);
                if let Some((before, before_ns)) = last.replace((op, at_ns)) {
                    *profile.op_pairs.entry((before, op)).or_default() += 1;
                    profile.gaps.add(at_ns.saturating_sub(before_ns));
                    has_times |= at_ns > before_ns;
                }
                if let Some(depth) = rows.depth(row) {
                    profile.depths.add(u64::from(depth));
                }
                if let Some(response) = rows.response_ns(row) {
                    profile.responses[op as usize].add(response);
                }
                if let Some(range) = range.filter(|_| bytes > 0) {
                    profile.touch(rows.batch.offset(row), u64::from(bytes), range.length);
                }
            }
        }
        if !has_times || captured.conditions().rounded_times {
            profile.forget_gaps();
            profile.forget_depths();
        }
        if let Some(range) = range {
            let mut locality = Locality::new(range.device);
            captured.run(pass, &mut [&mut locality])?;
            profile.locality = Some(locality.figures());
        }
        Ok(profile)
    }

    /// Marks the gaps as unknown, for a load whose issue times depend on unknown response times.
    pub fn forget_gaps(&mut self) {
        self.gaps = DistributionSample::keeping(0);
        self.stream_gaps.clear();
    }

    /// Marks the queue depths as unknown, for a load with unknown response times.
    pub fn forget_depths(&mut self) {
        self.depths = DistributionSample::keeping(0);
    }

    /// Marks the reuse distances as unknown, for a trace of different length.
    pub fn forget_locality(&mut self) {
        self.locality = None;
    }

    /// Returns true if any response time is known.
    pub fn has_responses(&self) -> bool {
        self.responses.iter().any(|sample| !sample.values.is_empty())
    }

    /// Returns one of the captured response times of this operation, selected by `choice`; `None`
    /// if none is known.
    pub(super) fn response_ns(&self, op: IoOp, choice: u64) -> Option<u64> {
        let values = &self.responses[op as usize].values;
        let at = choice.checked_rem(values.len() as u64)?;
        values.get(at as usize).copied()
    }

    /// Counts an I/O of a stream. Streams beyond [`STREAMS_MAX`] are counted together, by operation.
    fn count(&mut self, key: StreamKey) {
        let is_full = self.streams.len() >= STREAMS_MAX && !self.streams.contains_key(&key);
        let others = StreamKey { bytes: u32::MAX, ..key };
        *self.streams.entry(if is_full { others } else { key }).or_default() += 1;
    }

    fn add_stream_gap(&mut self, key: StreamKey, at_ns: u64) {
        if let Some(stream) = self.stream_gaps.get_mut(&key) {
            stream.gaps.add(at_ns.saturating_sub(stream.last_ns));
            stream.last_ns = at_ns;
        } else if self.stream_gaps.len() < STREAMS_WITH_GAPS {
            let gaps = DistributionSample::keeping(0);
            self.stream_gaps.insert(key, StreamGapSample { last_ns: at_ns, gaps });
        }
    }

    /// Marks the slices that an I/O touches in an address range of `length` bytes.
    fn touch(&mut self, offset: u64, bytes: u64, length: u64) {
        let slice = |byte: u64| {
            let at = u128::from(byte) * SLICES as u128 / u128::from(length.max(1));
            usize::try_from(at).map_or(SLICES - 1, |at| at.min(SLICES - 1))
        };
        let last = offset.saturating_add(bytes - 1);
        self.slices[slice(offset)..=slice(last)].fill(true);
    }
}

/// Returns the share of each key in the sum of all counts.
fn shares<K: Ord>(counts: impl Iterator<Item = (K, u64)>) -> BTreeMap<K, f64> {
    let mut shares = BTreeMap::new();
    let mut whole = 0;
    for (key, count) in counts {
        *shares.entry(key).or_insert(0.0) += count as f64;
        whole += count;
    }
    shares.values_mut().for_each(|share| *share /= whole as f64);
    shares
}

/// Returns 1 less half the sum of the differences of two sets of shares, and the largest
/// difference in words.
fn agreement<K: Ord + Clone>(
    shares: [BTreeMap<K, f64>; 2],
    name: impl Fn(&K) -> String,
) -> Result<ScoredDifference, &'static str> {
    if shares.iter().any(BTreeMap::is_empty) {
        return Err("too few I/Os");
    }
    let keys: BTreeSet<&K> = shares.iter().flat_map(BTreeMap::keys).collect();
    let share = |side: usize, key: &K| shares[side].get(key).copied().unwrap_or(0.0);
    let difference = |key: &K| (share(0, key) - share(1, key)).abs();
    let distance = keys.iter().map(|key| difference(key)).sum::<f64>() / 2.0;
    let largest = keys.iter().max_by(|a, b| difference(a).total_cmp(&difference(b)));
    let text = largest.map_or(String::new(), |key| {
        let percent = |side| share(side, key) * 100.0;
        format!("{}: {:.2} % captured, {:.2} % applied", name(key), percent(0), percent(1))
    });
    Ok(ScoredDifference { score: 1.0 - distance, text })
}

fn streams(pair: [&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let shares = pair.map(|side| shares(side.streams.iter().map(|(k, n)| (*k, *n))));
    agreement(shares, StreamKey::to_string)
}

fn sizes(pair: [&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let shares =
        pair.map(|side| shares(side.streams.iter().map(|(key, n)| ((key.op, key.bytes), *n))));
    agreement(shares, |(op, bytes)| format!("{op} of {}", Bytes(u64::from(*bytes)).binary()))
}

fn op_pairs(pair: [&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let shares = pair.map(|side| shares(side.op_pairs.iter().map(|(k, n)| (*k, *n))));
    agreement(shares, |(before, op)| format!("{op} after {before}"))
}

fn gaps(pair: [&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let distance = Distance::between(pair.map(|side| side.gaps.clone()));
    let distance = distance.ok_or("the times of the I/Os are unknown in one of the traces")?;
    let [captured, applied] = medians(&distance).map(Nanos);
    let text = format!("median gap {captured} captured, {applied} applied");
    Ok(ScoredDifference { score: 1.0 - distance.ks, text })
}

fn stream_gaps(pair: [&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let [captured, applied] = pair.map(|side| &side.stream_gaps);
    if captured.is_empty() || applied.is_empty() {
        return Err("the times of the I/Os are unknown in one of the traces");
    }
    // Nothing is known of the gaps of an applied stream beyond the first 256.
    let is_known =
        |stream: &StreamKey| applied.contains_key(stream) || !pair[1].streams.contains_key(stream);
    let mut compared: Vec<(&StreamKey, &DistributionSample)> = Vec::new();
    for (stream, StreamGapSample { gaps, .. }) in captured {
        if gaps.count > 0 && is_known(stream) {
            compared.push((stream, gaps));
        }
    }
    let total: f64 = compared.iter().map(|(_, gaps)| gaps.count as f64).sum();
    if total == 0.0 {
        return Err("no stream has two I/Os in both of the traces");
    }
    let mut result = ScoredDifference { score: 1.0, text: String::new() };
    let mut largest_loss = 0.0;
    for (stream, gaps) in compared {
        let applied_gaps = applied.get(stream).map(|applied| applied.gaps.clone());
        let distance = applied_gaps.and_then(|other| Distance::between([gaps.clone(), other]));
        let ks = distance.as_ref().map_or(1.0, |distance| distance.ks);
        let loss = gaps.count as f64 / total * ks;
        result.score -= loss;
        if loss > largest_loss || result.text.is_empty() {
            largest_loss = loss;
            result.text = match distance.as_ref().map(medians) {
                Some(medians) => {
                    let [captured, applied] = medians.map(Nanos);
                    format!("{stream}: median gap {captured} captured, {applied} applied")
                }
                None => format!("{stream}: no gap applied"),
            };
        }
    }
    Ok(result)
}

fn depths(pair: [&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let distance = Distance::between(pair.map(|side| side.depths.clone()));
    let distance = distance.ok_or("queue depths are unknown in one of the traces")?;
    let [captured, applied] = medians(&distance);
    let text = format!("median of {captured} I/Os outstanding captured, {applied} applied");
    Ok(ScoredDifference { score: 1.0 - distance.ks, text })
}

/// Returns the medians of both samples, to within 0.8 %.
fn medians(distance: &Distance) -> [u64; 2] {
    distance.histograms.each_ref().map(|histogram| {
        let half = histogram.total().div_ceil(2);
        let mut seen = 0;
        let median = histogram.buckets().find(|(.., count)| {
            seen += count;
            seen >= half
        });
        median.map_or(0, |(low, ..)| low.0)
    })
}

fn locality(pair: [&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let [Some(captured), Some(applied)] = pair.map(|side| side.locality.as_ref()) else {
        return Err("the reuse distances of one of the traces cannot be compared");
    };
    if captured.accesses == 0 || applied.accesses == 0 {
        return Err("one of the traces has no reads or writes");
    }
    if captured.is_too_small() || applied.is_too_small() {
        return Err("one of the traces has too few blocks that were followed");
    }
    let sizes = captured.curve.iter().chain(&applied.curve).map(|point| point.bytes);
    let difference = |bytes: u64| (miss_ratio(captured, bytes) - miss_ratio(applied, bytes)).abs();
    let largest = sizes.max_by(|a, b| difference(*a).total_cmp(&difference(*b)));
    let Some(bytes) = largest else {
        let text = "no block is touched twice in either".to_owned();
        return Ok(ScoredDifference { score: 1.0, text });
    };
    let text = format!(
        "a cache of {} misses {:.2} % captured, {:.2} % applied",
        Bytes(bytes).binary(),
        miss_ratio(captured, bytes) * 100.0,
        miss_ratio(applied, bytes) * 100.0
    );
    Ok(ScoredDifference { score: 1.0 - difference(bytes), text })
}

/// Returns the miss ratio of a cache of this size.
fn miss_ratio(figures: &LocalityFigures, bytes: u64) -> f64 {
    let held = figures.curve.partition_point(|point| point.bytes <= bytes);
    held.checked_sub(1).map_or(1.0, |at| figures.curve[at].misses)
}

fn coverage(pair: [&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let [captured, applied] = pair.map(|side| &side.slices);
    if !captured.contains(&true) || !applied.contains(&true) {
        return Err("the addresses are those of files or of several devices");
    }
    let [in_capture, in_other] =
        [captured, applied].map(|slices| slices.iter().filter(|is_touched| **is_touched).count());
    let in_both = captured.iter().zip(applied).filter(|(a, b)| **a && **b).count();
    let in_either = in_capture + in_other - in_both;
    let text = format!(
        "{:.1} % of the range touched captured, {:.1} % applied",
        in_capture as f64 * 100.0 / SLICES as f64,
        in_other as f64 * 100.0 / SLICES as f64
    );
    Ok(ScoredDifference { score: in_both as f64 / in_either as f64, text })
}
