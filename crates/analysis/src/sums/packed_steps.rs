//! Capture steps in packed form: unpacked, a million steps of a busy device would take half a
//! gigabyte.
//!
//! Steps are written and read nearly in order. Consecutive steps are packed in chunks,
//! and the most recently used chunks stay unpacked.

use crate::sums::capture_step::CaptureStep;
use crate::sums::content::Contents;
use crate::sums::io_times::StepTimes;
use crate::sums::op_sums::OpSums;
use std::collections::BTreeMap;
use std::mem;
use steadfast_domain::IoOp;
use steadfast_domain::histogram::CoarseHistogram;
use steadfast_domain::varint;
use steadfast_tracefile::cube_file::{DepthSums, QueueResponseSums, TimeSums};

const CHUNK_STEPS: u64 = 512;
const OPEN_MAX: usize = 4;

/// Capture steps by number, counted from the beginning of the capture.
#[derive(Debug, Clone, Default)]
pub struct PackedSteps {
    packed: BTreeMap<u64, Box<[u8]>>,
    /// Unpacked chunks, the most recently used last.
    open: Vec<UnpackedSteps>,
    len: usize,
}

/// A chunk of unpacked steps.
#[derive(Debug, Clone)]
struct UnpackedSteps {
    number: u64,
    steps: BTreeMap<u64, CaptureStep>,
}

impl PackedSteps {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns all steps, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, CaptureStep)> + '_ {
        let mut numbers: Vec<u64> = self.packed.keys().copied().collect();
        numbers.extend(self.open.iter().map(|chunk| chunk.number));
        numbers.sort_unstable();
        numbers.into_iter().flat_map(|number| self.chunk(number))
    }

    fn chunk(&self, number: u64) -> BTreeMap<u64, CaptureStep> {
        match self.open.iter().find(|chunk| chunk.number == number) {
            Some(open) => open.steps.clone(),
            None => {
                self.packed.get(&number).map(|bytes| unpacked(number, bytes)).unwrap_or_default()
            }
        }
    }

    /// Returns a step, which is created if it does not exist. Returns `None` if there are already
    /// `most` steps.
    pub(crate) fn at(&mut self, step: u64, most: usize) -> Option<&mut CaptureStep> {
        let is_full = self.len >= most;
        self.open(step / CHUNK_STEPS);
        let steps = &mut self.open.last_mut()?.steps;
        if !steps.contains_key(&step) {
            if is_full {
                return None;
            }
            self.len += 1;
        }
        Some(steps.entry(step).or_default())
    }

    /// Takes over the chunks of `other` that do not exist here and fit within `most` steps;
    /// returns the other chunks.
    pub(crate) fn take_over(&mut self, mut other: PackedSteps, most: usize) -> PackedSteps {
        other.pack_all();
        let mut rest = PackedSteps::default();
        self.pack_all();
        for (number, bytes) in other.packed {
            let count = count_of(&bytes);
            let is_here = self.packed.contains_key(&number) || self.len + count > most;
            let to = if is_here { &mut rest } else { &mut *self };
            to.packed.insert(number, bytes);
            to.len += count;
        }
        rest
    }

    pub(crate) fn unpacked(self) -> BTreeMap<u64, CaptureStep> {
        self.iter().collect()
    }

    /// Unpacks a chunk and makes it the last of the unpacked ones.
    #[inline]
    fn open(&mut self, number: u64) {
        if self.open.last().is_some_and(|last| last.number == number) {
            return;
        }
        self.open_other(number);
    }

    fn open_other(&mut self, number: u64) {
        if let Some(at) = self.open.iter().position(|chunk| chunk.number == number) {
            let chunk = self.open.remove(at);
            self.open.push(chunk);
            return;
        }
        if self.open.len() == OPEN_MAX {
            let chunk = self.open.remove(0);
            self.pack(&chunk);
        }
        let bytes = self.packed.remove(&number);
        let steps = bytes.map(|bytes| unpacked(number, &bytes)).unwrap_or_default();
        self.open.push(UnpackedSteps { number, steps });
    }

    fn pack(&mut self, chunk: &UnpackedSteps) {
        if !chunk.steps.is_empty() {
            self.packed.insert(chunk.number, packed(chunk));
        }
    }

    pub(crate) fn pack_all(&mut self) {
        mem::take(&mut self.open).iter().for_each(|chunk| self.pack(chunk));
    }
}

impl PartialEq for PackedSteps {
    /// Compares the steps, whether they are packed or not.
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl Eq for PackedSteps {}

fn count_of(bytes: &[u8]) -> usize {
    VarintReader(bytes).next() as usize
}

fn packed(chunk: &UnpackedSteps) -> Box<[u8]> {
    let mut out = VarintWriter(Vec::new());
    out.number(chunk.steps.len() as u64);
    for (at, step) in &chunk.steps {
        out.number(at % CHUNK_STEPS);
        out.step(step);
    }
    out.0.into_boxed_slice()
}

fn unpacked(number: u64, bytes: &[u8]) -> BTreeMap<u64, CaptureStep> {
    let mut from = VarintReader(bytes);
    let mut dense = vec![0; CoarseHistogram::LEN];
    let count = from.next();
    (0..count).map(|_| (number * CHUNK_STEPS + from.next(), from.step(&mut dense))).collect()
}

/// An encoder that writes numbers as variable-length integers: seven bits per byte, and one bit
/// that says whether more bytes follow.
struct VarintWriter(Vec<u8>);

impl VarintWriter {
    fn number(&mut self, value: u64) {
        varint::put(&mut self.0, value);
    }

    /// Writes a number that is mostly close to `other`.
    fn near(&mut self, value: u64, other: u64) {
        self.number(varint::zigzag(value.wrapping_sub(other).cast_signed()));
    }

    fn step(&mut self, step: &CaptureStep) {
        let known = step.ops.iter().enumerate().filter(|(_, op)| **op != OpSums::default());
        self.number(known.clone().fold(0, |bits, (at, _)| bits | 1 << at));
        for (_, op) in known {
            self.number(op.ios);
            self.number(op.bytes);
            self.number(op.sequential);
        }
        self.times(&step.times, step.ios());
        self.number(step.busy_ns);
        self.histogram(&step.histogram);
    }

    fn times(&mut self, times: &StepTimes, ios: u64) {
        let StepTimes { responses, depths, queued, together, contents } = times;
        self.time_sums(responses, ios);
        self.number(depths.sum);
        self.near(depths.count, ios);
        self.number(u64::from(depths.max));
        self.time_sums(queued, responses.count);
        self.near(together.queued_ns, queued.sum_ns);
        self.near(together.response_ns, responses.sum_ns);
        let Contents { blocks, duplicates, bytes, compressed_bytes } = *contents;
        self.number(blocks);
        if blocks > 0 {
            [duplicates, bytes, compressed_bytes].into_iter().for_each(|sum| self.number(sum));
        }
    }

    /// Writes sums of times that are mostly as many as `count`.
    fn time_sums(&mut self, times: &TimeSums, count: u64) {
        self.near(times.count, count);
        self.number(times.sum_ns);
        self.number(times.max_ns);
    }

    /// Writes the non-empty buckets, each as its distance from the previous one and its count. Both
    /// share a byte if they are small, as most are. A zero ends the list.
    fn histogram(&mut self, histogram: &CoarseHistogram) {
        let mut next = 0;
        for (least, _, count) in histogram.buckets() {
            let at = CoarseHistogram::index(least.0) as u64;
            let distance = at - next + 1;
            match (distance, count) {
                (1..=15, 1..=15) => self.0.push((distance << 4 | count) as u8),
                _ => {
                    self.0.push(LARGE);
                    self.number(distance);
                    self.number(count);
                }
            }
            next = at + 1;
        }
        self.0.push(0);
    }
}

/// Prefix of a bucket that does not fit into one byte. It differs from every small bucket, whose
/// upper four bits are never 0.
const LARGE: u8 = 1;

/// A decoder for the output of [`VarintWriter`]. The bytes never left this process, so they are complete.
struct VarintReader<'b>(&'b [u8]);

impl VarintReader<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn next(&mut self) -> u64 {
        varint::take(&mut self.0).unwrap_or_default()
    }

    fn near(&mut self, other: u64) -> u64 {
        other.wrapping_add_signed(varint::unzigzag(self.next()))
    }

    /// Reads a step. `dense` must hold zeros and holds zeros afterwards.
    fn step(&mut self, dense: &mut [u64]) -> CaptureStep {
        let known = self.next();
        let mut step = CaptureStep::default();
        for (at, op) in step.ops.iter_mut().enumerate().take(IoOp::ALL.len()) {
            if known >> at & 1 == 1 {
                *op = OpSums { ios: self.next(), bytes: self.next(), sequential: self.next() };
            }
        }
        step.times = self.times(step.ios());
        step.busy_ns = self.next();
        step.histogram = self.histogram(dense);
        step
    }

    fn times(&mut self, ios: u64) -> StepTimes {
        let responses = self.time_sums(ios);
        let depths = DepthSums {
            sum: self.next(),
            count: self.near(ios),
            max: u32::try_from(self.next()).unwrap_or(u32::MAX),
        };
        let queued = self.time_sums(responses.count);
        let together = QueueResponseSums {
            queued_ns: self.near(queued.sum_ns),
            response_ns: self.near(responses.sum_ns),
        };
        let mut contents = Contents { blocks: self.next(), ..Contents::default() };
        if contents.blocks > 0 {
            contents.duplicates = self.next();
            contents.bytes = self.next();
            contents.compressed_bytes = self.next();
        }
        StepTimes { responses, depths, queued, together, contents }
    }

    fn time_sums(&mut self, count: u64) -> TimeSums {
        TimeSums { count: self.near(count), sum_ns: self.next(), max_ns: self.next() }
    }

    fn histogram(&mut self, dense: &mut [u64]) -> CoarseHistogram {
        let mut next = 0;
        loop {
            let (distance, count) = match self.byte() {
                0 => break,
                LARGE => (self.next(), self.next()),
                small => (u64::from(small >> 4), u64::from(small & 15)),
            };
            next += distance as usize;
            dense[next - 1] = count;
        }
        let histogram = CoarseHistogram::from_dense(&dense[..next]);
        dense[..next].fill(0);
        histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::random_bits::mix64;

    /// Returns a step with values of every length.
    fn some_step(seed: u64) -> CaptureStep {
        let mut state = seed;
        let mut draw = || {
            state += 1;
            let bits = mix64(state) % 65;
            mix64(state + 1000).checked_shr(u32::try_from(64 - bits).unwrap()).unwrap_or(0)
        };
        let mut dense = vec![0; CoarseHistogram::LEN];
        for _ in 0..seed % 40 {
            dense[(draw() % CoarseHistogram::LEN as u64) as usize] = draw();
        }
        dense[CoarseHistogram::LEN - 1] = seed % 3;
        let times = StepTimes {
            responses: TimeSums { count: draw(), sum_ns: draw(), max_ns: draw() },
            depths: DepthSums { sum: draw(), count: draw(), max: draw() as u32 },
            queued: TimeSums { count: draw(), sum_ns: draw(), max_ns: draw() },
            together: QueueResponseSums { queued_ns: draw(), response_ns: draw() },
            contents: match seed % 4 {
                0 => Contents {
                    blocks: draw() | 1,
                    duplicates: draw(),
                    bytes: draw(),
                    compressed_bytes: draw(),
                },
                _ => Contents::default(),
            },
        };
        let mut step = CaptureStep {
            times,
            histogram: CoarseHistogram::from_dense(&dense),
            busy_ns: draw(),
            ..CaptureStep::default()
        };
        for at in 0..(seed % 5) as usize {
            step.ops[at] = OpSums { ios: draw() >> 3, bytes: draw(), sequential: draw() };
        }
        step
    }

    #[test]
    fn steps_are_the_same_after_they_were_packed() {
        let (mut packed, mut plain) = (PackedSteps::default(), BTreeMap::new());
        for seed in 0..5000 {
            // Some steps come back long after, some are far apart.
            let at = match seed % 10 {
                0 => mix64(seed) % 4000,
                1 => mix64(seed),
                _ => seed,
            };
            let step = some_step(seed);
            *packed.at(at, usize::MAX).unwrap() = step.clone();
            plain.insert(at, step);
        }
        assert_eq!(packed.len(), plain.len());
        assert!(packed.packed.len() > OPEN_MAX);
        assert!(packed.iter().eq(plain.iter().map(|(at, step)| (*at, step.clone()))));
        let mut closed = packed.clone();
        closed.pack_all();
        assert_eq!(closed, packed);
        assert_eq!(closed.unpacked(), plain);
    }

    #[test]
    fn the_number_of_steps_is_limited() {
        let mut steps = PackedSteps::default();
        for at in [1, 5000, 10_000] {
            assert!(steps.at(at, 3).is_some());
        }
        assert!(steps.at(2, 3).is_none() && steps.at(5000, 3).is_some());
        assert_eq!(steps.len(), 3);
    }

    #[test]
    fn chunks_that_are_nowhere_else_are_taken_over() {
        let (mut ours, mut theirs) = (PackedSteps::default(), PackedSteps::default());
        for at in 0..10 {
            let to = if at % 2 == 0 { &mut ours } else { &mut theirs };
            to.at(at * CHUNK_STEPS, 100).unwrap().busy_ns = at;
        }
        theirs.at(1, 100).unwrap().busy_ns = 77;
        let rest = ours.take_over(theirs, 100);
        assert_eq!(rest.iter().map(|(at, step)| (at, step.busy_ns)).collect::<Vec<_>>(), [(1, 77)]);
        let busy: Vec<u64> = ours.iter().map(|(_, step)| step.busy_ns).collect();
        assert_eq!((ours.len(), busy), (10, (0..10).collect()));
    }
}
