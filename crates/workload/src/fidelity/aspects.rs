//! Scores of a derived workload, one for each aspect of a capture. A score is 1 if the two traces
//! agree and 0 if they have nothing in common. Scores are never added up: a workload that matches
//! in six aspects and not in the seventh is useless to a user who needs the seventh.

use super::distance::{Distance, DistributionSample, between};
use crate::details::AddressRange;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use steadfast_analysis::questions::locality::{Locality, LocalityFigures};
use steadfast_analysis::questions::streams::{STREAMS_MAX, StreamKey};
use steadfast_analysis::{Captured, PassOptions};
use steadfast_domain::{Bytes, IoOp, Nanos};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{Fields, TraceMedium};

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
    score: fn(&[&TraceProfile; 2]) -> Result<ScoredDifference, &'static str>,
}

/// A score and the largest difference behind it.
type ScoredDifference = (f64, String);

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
        score: pairs,
    },
];

/// How well a trace agrees with a capture in one aspect.
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
        ASPECTS.iter().map(|aspect| AspectScore::new(aspect, &[capture, other])).collect()
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

    fn new(aspect: &Aspect, pair: &[&TraceProfile; 2]) -> Self {
        let found = (aspect.score)(pair);
        let unknown = found.as_ref().err().copied();
        let (score, difference) = found.ok().unzip();
        AspectScore {
            aspect: aspect.name,
            score: score.map(|score| score.clamp(0.0, 1.0)),
            best: None,
            by_stream: None,
            definition: aspect.definition,
            difference,
            unknown,
        }
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
                let mut place = 0;
                self.values.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
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
    /// Issue time of the last I/O of a stream and the gaps between its I/Os.
    stream_gaps: BTreeMap<StreamKey, (u64, DistributionSample)>,
    depths: DistributionSample,
    /// Counts by previous operation and operation.
    pairs: BTreeMap<(IoOp, IoOp), u64>,
    slices: [bool; SLICES],
    locality: Option<LocalityFigures>,
    responses: [EvenSample; IoOp::ALL.len()],
}

impl TraceProfile {
    /// Reads the single I/Os of a trace, and once more for the reuse distances if the addresses are
    /// those of one device.
    ///
    /// # Errors
    /// Returns the errors of [`Captured::ios`] and of reading.
    pub fn read<R: TraceMedium>(
        captured: &Captured<R>,
        pass: &PassOptions,
        range: Option<AddressRange>,
    ) -> Result<Self, TraceError> {
        let mut profile = TraceProfile {
            ios: 0,
            streams: BTreeMap::new(),
            gaps: DistributionSample::keeping(EXACT_MAX),
            stream_gaps: BTreeMap::new(),
            depths: DistributionSample::keeping(EXACT_MAX),
            pairs: BTreeMap::new(),
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
                    *profile.pairs.entry((before, op)).or_default() += 1;
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
        let place = choice.checked_rem(values.len() as u64)?;
        values.get(place as usize).copied()
    }

    /// Counts an I/O of a stream. Streams beyond [`STREAMS_MAX`] are counted together, by operation.
    fn count(&mut self, key: StreamKey) {
        let is_full = self.streams.len() >= STREAMS_MAX && !self.streams.contains_key(&key);
        let others = StreamKey { bytes: u32::MAX, ..key };
        *self.streams.entry(if is_full { others } else { key }).or_default() += 1;
    }

    fn add_stream_gap(&mut self, key: StreamKey, at_ns: u64) {
        if let Some((last_ns, gaps)) = self.stream_gaps.get_mut(&key) {
            gaps.add(at_ns.saturating_sub(*last_ns));
            *last_ns = at_ns;
        } else if self.stream_gaps.len() < STREAMS_WITH_GAPS {
            self.stream_gaps.insert(key, (at_ns, DistributionSample::keeping(0)));
        }
    }

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
    Ok((1.0 - distance, text))
}

fn streams(pair: &[&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let shares = pair.map(|side| shares(side.streams.iter().map(|(k, n)| (*k, *n))));
    agreement(shares, StreamKey::to_string)
}

fn sizes(pair: &[&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let shares =
        pair.map(|side| shares(side.streams.iter().map(|(key, n)| ((key.op, key.bytes), *n))));
    agreement(shares, |(op, bytes)| format!("{op} of {}", Bytes(u64::from(*bytes)).binary()))
}

fn pairs(pair: &[&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let shares = pair.map(|side| shares(side.pairs.iter().map(|(k, n)| (*k, *n))));
    agreement(shares, |(before, op)| format!("{op} after {before}"))
}

fn gaps(pair: &[&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let distance = between(pair.map(|side| side.gaps.clone()));
    let distance = distance.ok_or("the times of the I/Os are unknown in one of the traces")?;
    let [captured, applied] = medians(&distance).map(Nanos);
    Ok((1.0 - distance.ks, format!("median gap {captured} captured, {applied} applied")))
}

fn stream_gaps(pair: &[&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let [captured, applied] = pair.map(|side| &side.stream_gaps);
    if captured.is_empty() || applied.is_empty() {
        return Err("the times of the I/Os are unknown in one of the traces");
    }
    // Nothing is known of the gaps of an applied stream beyond the first 256.
    let is_known =
        |stream: &StreamKey| applied.contains_key(stream) || !pair[1].streams.contains_key(stream);
    let compared = || {
        let streams = captured.iter().filter(|(stream, _)| is_known(stream));
        streams.filter(|(_, (_, gaps))| gaps.count() > 0)
    };
    let whole: f64 = compared().map(|(_, (_, gaps))| gaps.count() as f64).sum();
    if whole == 0.0 {
        return Err("no stream has two I/Os in both of the traces");
    }
    let (mut score, mut largest) = (1.0, (0.0, String::new()));
    for (stream, (_, gaps)) in compared() {
        let others = applied.get(stream).map(|(_, gaps)| gaps.clone());
        let distance = others.and_then(|others| between([gaps.clone(), others]));
        let lost = gaps.count() as f64 / whole * distance.as_ref().map_or(1.0, |d| d.ks);
        score -= lost;
        if lost > largest.0 || largest.1.is_empty() {
            let text = match distance.as_ref().map(medians) {
                Some(medians) => {
                    let [captured, applied] = medians.map(Nanos);
                    format!("{stream}: median gap {captured} captured, {applied} applied")
                }
                None => format!("{stream}: no gap applied"),
            };
            largest = (lost, text);
        }
    }
    Ok((score, largest.1))
}

fn depths(pair: &[&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let distance = between(pair.map(|side| side.depths.clone()));
    let distance = distance.ok_or("queue depths are unknown in one of the traces")?;
    let [captured, applied] = medians(&distance);
    let text = format!("median of {captured} I/Os outstanding captured, {applied} applied");
    Ok((1.0 - distance.ks, text))
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

fn locality(pair: &[&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
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
    let misses = |bytes| [captured, applied].map(|side| misses(side, bytes));
    let difference = |[a, b]: [f64; 2]| (a - b).abs();
    let largest = sizes.max_by(|a, b| difference(misses(*a)).total_cmp(&difference(misses(*b))));
    let Some(bytes) = largest else {
        return Ok((1.0, "no block is touched twice in either".to_owned()));
    };
    let [a, b] = misses(bytes).map(|share| share * 100.0);
    let text =
        format!("a cache of {} misses {a:.2} % captured, {b:.2} % applied", Bytes(bytes).binary());
    Ok((1.0 - difference(misses(bytes)), text))
}

/// Returns the miss ratio of a cache of this size.
fn misses(figures: &LocalityFigures, bytes: u64) -> f64 {
    let held = figures.curve.partition_point(|point| point.bytes <= bytes);
    held.checked_sub(1).map_or(1.0, |at| figures.curve[at].misses)
}

fn coverage(pair: &[&TraceProfile; 2]) -> Result<ScoredDifference, &'static str> {
    let count = |is_in: &dyn Fn(bool, bool) -> bool| {
        let slices = pair[0].slices.iter().zip(&pair[1].slices);
        slices.filter(|(a, b)| is_in(**a, **b)).count()
    };
    if pair.iter().any(|side| !side.slices.contains(&true)) {
        return Err("the addresses are those of files or of several devices");
    }
    let [captured, applied] =
        [count(&|a, _| a), count(&|_, b| b)].map(|n| n as f64 * 100.0 / SLICES as f64);
    let text = format!("{captured:.1} % of the range touched captured, {applied:.1} % applied");
    Ok((count(&|a, b| a && b) as f64 / count(&|a, b| a || b) as f64, text))
}
