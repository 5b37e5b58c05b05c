//! Compares two captures of single I/Os device by device. Each I/O of the original is paired
//! with the I/O of the replay that has the same number in issue order. If the I/Os differ, each
//! operation is also paired on its own, because a single missing flush would shift the pairing
//! of all I/Os after it.

use super::distance::{Distance, DistributionSample};
use super::options::FidelityOptions;
use super::side::FidelitySide;
use std::collections::VecDeque;
use std::fmt;
use steadfast_analysis::device_layer::device_name;
use steadfast_analysis::pass::AnnotatedBatches;
use steadfast_analysis::{Captured, Filter, PassOptions};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::{Bytes, FineHistogram, IoOp};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::Fields;

/// Most device pairs that are compared.
const DEVICES_MAX: usize = 16;
/// Pairs at the end over which the drift is taken, so that a single late I/O does not count.
const DRIFT_OVER: usize = 1000;

/// A device of the original and the device of the replay it is compared with.
#[derive(Debug, Clone, PartialEq)]
pub struct DevicePair {
    /// Names of both.
    pub names: [String; 2],
    /// Number of I/Os of each.
    pub ios: [u64; 2],
    /// I/Os of the original that the map cannot place on the target, because they are larger.
    pub unmapped: u64,
    /// Comparison of operation, size, offset and order.
    pub sequence: SequenceComparison,
    /// Start-time errors. If the captures differ, they are those of the operations that both have
    /// equally often, or of all operations if there is none.
    pub starts: StartErrors,
    /// Comparison per operation; empty if the captures have the same I/Os in the same order.
    pub by_op: Vec<OpPair>,
    /// Distance between the inter-arrival times; `None` if one side has fewer than two I/Os.
    pub gaps: Option<Distance>,
}

/// The I/Os of one operation, on a device of the original and on one of the replay.
#[derive(Debug, Clone, PartialEq)]
pub struct OpPair {
    /// The operation.
    pub op: IoOp,
    /// Number of I/Os of each.
    pub ios: [u64; 2],
    /// Comparison of size, offset and order.
    pub sequence: SequenceComparison,
    /// Start-time errors.
    pub starts: StartErrors,
}

/// The result of comparing I/Os by operation, size and offset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SequenceComparison {
    /// Number of pairs that differ.
    pub different: u64,
    /// First pair that differs, or first I/O without a counterpart; `None` if all are equal.
    pub first: Option<IoDifference>,
    /// True if both sides have the same I/Os equally often, in any order.
    pub same_ios: bool,
}

/// The first difference between two captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoDifference {
    /// Number in issue order, from 1.
    pub number: u64,
    /// I/O of each side; `None` if the side has ended.
    pub ios: [Option<DifferentIo>; 2],
}

/// An I/O at which two captures differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DifferentIo {
    /// Operation.
    pub op: IoOp,
    /// Offset of the first byte; 0 for a flush.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
}

impl fmt::Display for DifferentIo {
    /// Formats like `write 4K at 8192`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.op {
            IoOp::Flush => f.write_str("flush"),
            op => write!(f, "{op} {} at {}", Bytes(self.size).transfer_size(), self.offset),
        }
    }
}

impl fmt::Display for IoDifference {
    /// Formats like `I/O 12: write 4K at 0 as captured, read 4K at 0 as replayed`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [captured, replayed] =
            self.ios.map(|io| io.map_or("nothing".to_owned(), |io| io.to_string()));
        write!(f, "I/O {}: {captured} as captured, {replayed} as replayed", self.number)
    }
}

/// Start-time errors of a replay: the distance of each I/O from its time, after aligning the
/// first I/Os of both captures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StartErrors {
    /// Number of pairs.
    pub pairs: u64,
    /// Errors, early or late, in nanoseconds.
    pub errors: FineHistogram,
    /// Largest error in nanoseconds.
    pub max_ns: u64,
    /// Number of early I/Os.
    pub early: u64,
    /// Delay of the replay at its end, negative if early: the median over the last pairs, in
    /// nanoseconds; `None` without pairs.
    pub drift_ns: Option<i64>,
}

/// Compares the devices of both captures in pairs, in the order of their numbers.
pub(super) fn compare_devices(
    original: &Captured,
    replay: &Captured,
    options: &FidelityOptions,
    sides: &[FidelitySide; 2],
) -> Result<Vec<DevicePair>, TraceError> {
    let captures = CapturePair { original, replay, options };
    let mut pairs = Vec::new();
    for (captured, replayed) in
        sides[0].devices.keys().zip(sides[1].devices.keys()).take(DEVICES_MAX)
    {
        let devices = [*captured, *replayed];
        let passes = [0, 1].map(|side: usize| on_device(&options.passes[side], devices[side]));
        let names = [0, 1].map(|side: usize| device_name(&sides[side].conditions, devices[side]));
        pairs.push(captures.compare(&passes, names)?);
    }
    Ok(pairs)
}

/// Two captures and the options of their comparison.
struct CapturePair<'t> {
    original: &'t Captured,
    replay: &'t Captured,
    options: &'t FidelityOptions,
}

impl CapturePair<'_> {
    fn compare(
        &self,
        passes: &[PassOptions; 2],
        names: [String; 2],
    ) -> Result<DevicePair, TraceError> {
        let all = self.pair(passes, None)?;
        if all.sequence.first.is_none() {
            return Ok(all.finish(names));
        }
        let mut by_op = Vec::new();
        for op in IoOp::ALL {
            let chosen_ops = &passes[0].filter.ops;
            if chosen_ops.is_empty() || chosen_ops.contains(&op) {
                let passes = passes.each_ref().map(|pass| with_op(pass, op));
                let state = self.pair(&passes, all.begins_ns)?;
                if state.ios != [0, 0] {
                    by_op.push((op, state));
                }
            }
        }
        let starts = merged_starts(&by_op);
        let by_op = by_op.into_iter().map(|(op, state)| state.finish_op(op)).collect();
        Ok(DevicePair { starts, by_op, ..all.finish(names) })
    }

    /// Pairs the chosen I/Os by number.
    fn pair(
        &self,
        passes: &[PassOptions; 2],
        begins_ns: Option<[u64; 2]>,
    ) -> Result<ComparisonState, TraceError> {
        let mut original = SideIos::new(self.original.ios(&passes[0], Fields::NONE)?);
        let mut replay = SideIos::new(self.replay.ios(&passes[1], Fields::NONE)?);
        let mut state = ComparisonState { begins_ns, ..ComparisonState::default() };
        loop {
            let captured = self.next_mapped(&mut original, &mut state.unmapped)?;
            let replayed = replay.next()?;
            if captured.is_none() && replayed.is_none() {
                return Ok(state);
            }
            state.add(captured, replayed);
        }
    }

    /// Returns the next I/O of the original, at the time and place where the replay had to issue
    /// it. Counts the I/Os that the map cannot place.
    fn next_mapped(
        &self,
        original: &mut SideIos<'_>,
        unmapped: &mut u64,
    ) -> Result<Option<TimedIo>, TraceError> {
        let FidelityOptions { map, faster, .. } = self.options;
        while let Some(mut timed) = original.next()? {
            if *faster != 1.0 {
                timed.issued_ns = (timed.issued_ns as f64 / faster).round() as u64;
            }
            let Some(map) = map.as_ref().filter(|_| timed.io.op != IoOp::Flush) else {
                return Ok(Some(timed));
            };
            if let Some(mapped) = map.map_io(timed.io.offset, timed.io.size) {
                timed.io = DifferentIo { offset: mapped.offset, size: mapped.size, ..timed.io };
                return Ok(Some(timed));
            }
            *unmapped += 1;
        }
        Ok(None)
    }
}

fn with_op(pass: &PassOptions, op: IoOp) -> PassOptions {
    PassOptions { filter: Filter { ops: vec![op], ..pass.filter.clone() }, ..pass.clone() }
}

fn on_device(pass: &PassOptions, device: u16) -> PassOptions {
    PassOptions { filter: Filter { devices: vec![device], ..pass.filter.clone() }, ..pass.clone() }
}

/// An I/O and its issue time.
#[derive(Debug, Clone, Copy)]
struct TimedIo {
    issued_ns: u64,
    io: DifferentIo,
}

/// The chosen I/Os of one side, one by one.
struct SideIos<'t> {
    ios: AnnotatedBatches<'t>,
    ready: VecDeque<TimedIo>,
}

impl<'t> SideIos<'t> {
    fn new(ios: AnnotatedBatches<'t>) -> Self {
        SideIos { ios, ready: VecDeque::new() }
    }

    fn next(&mut self) -> Result<Option<TimedIo>, TraceError> {
        while self.ready.is_empty() {
            let Some(rows) = self.ios.next_batch()? else { return Ok(None) };
            self.ready.extend(rows.iter().map(|row| {
                let op = rows.batch.op(row);
                let (offset, size) = match op {
                    IoOp::Flush => (0, 0),
                    _ => (rows.batch.offset(row), u64::from(rows.batch.bytes(row))),
                };
                let io = DifferentIo { op, offset, size };
                TimedIo { issued_ns: rows.batch.issued_ns(row), io }
            }));
        }
        Ok(self.ready.pop_front())
    }
}

/// The state of a comparison of paired I/Os.
struct ComparisonState {
    ios: [u64; 2],
    /// Number of I/Os of the original that the map cannot place.
    unmapped: u64,
    sequence: SequenceComparison,
    /// Sum of the hashes of all I/Os of a side, independent of their order.
    sums: [u128; 2],
    /// Times of the first pair, from which start-time errors count.
    begins_ns: Option<[u64; 2]>,
    /// Issue time of the last I/O of each side.
    last_ns: [Option<u64>; 2],
    gaps: [DistributionSample; 2],
    /// Start-time errors by bucket of [`FineHistogram`].
    errors: Vec<u64>,
    starts: StartErrors,
    /// The last pairs, at most [`DRIFT_OVER`].
    last: VecDeque<PairDelay>,
}

/// Delay of the replay at a pair; ordered by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PairDelay {
    captured_ns: u64,
    /// Negative if the replay was early.
    late_ns: i64,
}

impl Default for ComparisonState {
    fn default() -> Self {
        ComparisonState {
            ios: [0; 2],
            unmapped: 0,
            sequence: SequenceComparison::default(),
            sums: [0; 2],
            begins_ns: None,
            last_ns: [None; 2],
            gaps: Default::default(),
            errors: vec![0; FineHistogram::LEN],
            starts: StartErrors::default(),
            last: VecDeque::with_capacity(DRIFT_OVER + 1),
        }
    }
}

impl ComparisonState {
    /// Adds the next I/O of each side; `None` for a side that has ended.
    fn add(&mut self, captured: Option<TimedIo>, replayed: Option<TimedIo>) {
        for (side, timed) in [captured, replayed].into_iter().enumerate() {
            let Some(TimedIo { issued_ns, io }) = timed else { continue };
            self.ios[side] += 1;
            self.sums[side] = self.sums[side].wrapping_add(hash(&io));
            if let Some(last_ns) = self.last_ns[side].replace(issued_ns) {
                self.gaps[side].add(issued_ns.saturating_sub(last_ns));
            }
        }
        let ios = [captured.map(|at| at.io), replayed.map(|at| at.io)];
        if ios[0] != ios[1] {
            self.sequence.different += u64::from(ios.iter().all(Option::is_some));
            let number = self.ios[0].max(self.ios[1]);
            self.sequence.first.get_or_insert(IoDifference { number, ios });
        }
        if let (Some(captured), Some(replayed)) = (captured, replayed) {
            self.add_pair(captured.issued_ns, replayed.issued_ns);
        }
    }

    /// Adds the times of a pair.
    fn add_pair(&mut self, captured_ns: u64, replayed_ns: u64) {
        let begins_ns = *self.begins_ns.get_or_insert([captured_ns, replayed_ns]);
        let since = |at: u64, begin: u64| at.saturating_sub(begin).min(i64::MAX as u64) as i64;
        let late_ns = since(replayed_ns, begins_ns[1]) - since(captured_ns, begins_ns[0]);
        self.starts.pairs += 1;
        self.starts.early += u64::from(late_ns < 0);
        self.starts.max_ns = self.starts.max_ns.max(late_ns.unsigned_abs());
        self.errors[FineHistogram::index(late_ns.unsigned_abs())] += 1;
        self.last.push_back(PairDelay { captured_ns, late_ns });
        if self.last.len() > DRIFT_OVER {
            self.last.pop_front();
        }
    }

    fn finish(self, names: [String; 2]) -> DevicePair {
        DevicePair {
            names,
            ios: self.ios,
            unmapped: self.unmapped,
            sequence: self.sequence(),
            starts: self.starts(),
            by_op: Vec::new(),
            gaps: Distance::between(self.gaps),
        }
    }

    fn finish_op(self, op: IoOp) -> OpPair {
        OpPair { op, ios: self.ios, sequence: self.sequence(), starts: self.starts() }
    }

    fn sequence(&self) -> SequenceComparison {
        let same_ios = self.ios[0] == self.ios[1] && self.sums[0] == self.sums[1];
        SequenceComparison { same_ios, ..self.sequence.clone() }
    }

    fn starts(&self) -> StartErrors {
        let mut last: Vec<i64> = self.last.iter().map(|pair| pair.late_ns).collect();
        last.sort_unstable();
        StartErrors {
            errors: FineHistogram::from_dense(&self.errors),
            drift_ns: last.get(last.len() / 2).copied(),
            ..self.starts.clone()
        }
    }
}

/// Merges the start-time errors of operations: those that both sides have equally often, or
/// all if there is none.
fn merged_starts(by_op: &[(IoOp, ComparisonState)]) -> StartErrors {
    let is_whole = |state: &ComparisonState| state.ios[0] == state.ios[1];
    let has_whole = by_op.iter().any(|(_, state)| is_whole(state));
    let mut merged = ComparisonState::default();
    let mut last = Vec::new();
    for (_, state) in by_op.iter().filter(|(_, state)| !has_whole || is_whole(state)) {
        merged.starts.pairs += state.starts.pairs;
        merged.starts.early += state.starts.early;
        merged.starts.max_ns = merged.starts.max_ns.max(state.starts.max_ns);
        merged.errors.iter_mut().zip(&state.errors).for_each(|(sum, count)| *sum += count);
        last.extend(&state.last);
    }
    last.sort_unstable();
    merged.last = last.split_off(last.len().saturating_sub(DRIFT_OVER)).into();
    merged.starts()
}

/// Returns a hash of an I/O with a negligible risk of collision.
fn hash(io: &DifferentIo) -> u128 {
    let size_and_op = mix64(io.size << 3 | io.op as u64);
    let low = mix64(io.offset ^ size_and_op);
    u128::from(mix64(low.wrapping_add(size_and_op))) << 64 | u128::from(low)
}
