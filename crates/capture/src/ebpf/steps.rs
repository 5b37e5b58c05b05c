//! Capture steps added up by the programs (bpf/steps.h), read from one table while the programs use
//! the other.

use super::plain::{self, PlainData};
use super::programs::AttachedPrograms;
use crate::error::CaptureError;
use std::collections::BTreeMap;
use steadfast_domain::io_event::{StreamInStep, StreamResponses};
use steadfast_domain::{IoEvent, IoOp, Layer, QuarterHistogram};

/// Names of the two tables, which are used alternately.
pub(super) const TABLES: [&str; 2] = ["steps_a", "steps_b"];
/// Buckets of response times: four per power of two, from 2^10 ns on.
const BUCKETS: usize = 96;

/// Alternation of the two tables, and the sums not handed out yet.
pub(super) struct StepTables {
    step_ns: u64,
    layer: Layer,
    in_use: usize,
    /// I/Os outstanding when the capture ended.
    rest: Vec<StreamInStep>,
    /// Response times per stream that were not handed out yet.
    times: BTreeMap<DeviceStreamKey, ResponseBuckets>,
}

/// Device, operation, sequential or not, transfer size in bytes.
type DeviceStreamKey = (u16, IoOp, bool, u32);

impl StepTables {
    pub(super) fn new(step_ns: u64, layer: Layer) -> Self {
        let step_ns = step_ns.max(1);
        StepTables { step_ns, layer, in_use: 0, rest: Vec::new(), times: BTreeMap::new() }
    }

    /// Swaps the tables and appends the content of the one that was in use.
    pub(super) fn take(
        &mut self,
        programs: &AttachedPrograms,
        into: &mut Vec<StreamInStep>,
    ) -> Result<(), CaptureError> {
        let full = self.in_use;
        self.in_use = 1 - full;
        programs.place(TABLES[self.in_use], "steps_now")?;
        let (times, layer) = (&mut self.times, self.layer);
        programs.drain(TABLES[full], |key, tally| {
            let (Some(key), Some(tally)) =
                (plain::read::<StepKey>(key), plain::read::<StepTally>(tally))
            else {
                return;
            };
            let part = key.with(&tally, layer);
            let stream = (part.device, part.op, part.sequential, part.bytes);
            times.entry(stream).or_default().add(&tally);
            into.push(part);
        })?;
        into.append(&mut self.rest);
        Ok(())
    }

    /// Appends the response times of all parts taken since the last call.
    pub(super) fn take_responses(&mut self, into: &mut Vec<StreamResponses>) {
        let times = std::mem::take(&mut self.times);
        let layer = self.layer;
        into.extend(times.into_iter().map(|((device, op, sequential, bytes), times)| {
            let histogram = times.histogram();
            StreamResponses { device, layer, op, sequential, bytes, histogram }
        }));
    }

    /// Adds an I/O that was outstanding at the end.
    pub(super) fn add(&mut self, event: &IoEvent, sequential: bool) {
        self.rest.push(StreamInStep {
            step: event.issued_ns / self.step_ns,
            device: event.device,
            layer: self.layer,
            op: event.op,
            sequential,
            bytes: event.bytes,
            ios: 1,
            depth_sum: u64::from(event.depth),
            depth_max: event.depth,
            offsets: event.offset,
            ..StreamInStep::default()
        });
    }
}

/// `struct step_key` of the programs.
#[repr(C)]
#[derive(Clone, Copy)]
struct StepKey {
    step: u64,
    bytes: u32,
    cpu: u16,
    device: u8,
    stream: u8,
}

/// `struct step_tally` of the programs.
#[repr(C)]
#[derive(Clone, Copy)]
struct StepTally {
    ios: u64,
    responses: u64,
    response_sum_ns: u64,
    response_max_ns: u64,
    depth_sum: u64,
    offsets: u64,
    depth_max: u32,
    failed: u32,
    times: [u16; BUCKETS],
}

// SAFETY: integers, no padding.
unsafe impl PlainData for StepTally {}

/// Response times of a stream, by the programs' buckets.
struct ResponseBuckets([u64; BUCKETS]);

impl Default for ResponseBuckets {
    fn default() -> Self {
        ResponseBuckets([0; BUCKETS])
    }
}

impl ResponseBuckets {
    fn add(&mut self, tally: &StepTally) {
        self.0.iter_mut().zip(tally.times).for_each(|(sum, ios)| *sum += u64::from(ios));
    }

    /// Returns a histogram in which every I/O counts with the longest time of its bucket.
    fn histogram(&self) -> QuarterHistogram {
        let mut dense = vec![0u64; QuarterHistogram::LEN];
        for (bucket, ios) in self.0.iter().enumerate() {
            dense[QuarterHistogram::index(longest(bucket))] += ios;
        }
        QuarterHistogram::from_dense(&dense)
    }
}

/// Returns the longest time of a bucket in nanoseconds; the last bucket is unbounded.
fn longest(bucket: usize) -> u64 {
    match bucket + 1 {
        BUCKETS => u64::MAX,
        next => (((4 + next as u64 % 4) << (next / 4)) << 8) - 1,
    }
}

/// Returns the operation and the order (true if sequential) encoded in the programs' stream number.
fn stream(number: u8) -> (IoOp, bool) {
    (IoOp::of_number(number & 7).unwrap_or(IoOp::Other), number & 8 != 0)
}

// SAFETY: integers, no padding.
unsafe impl PlainData for StepKey {}

impl StepKey {
    fn with(self, tally: &StepTally, layer: Layer) -> StreamInStep {
        let (op, sequential) = stream(self.stream);
        StreamInStep {
            step: self.step,
            device: u16::from(self.device),
            layer,
            op,
            sequential,
            bytes: self.bytes,
            ios: tally.ios,
            failed: u64::from(tally.failed),
            responses: tally.responses,
            response_sum_ns: tally.response_sum_ns,
            response_max_ns: tally.response_max_ns,
            depth_sum: tally.depth_sum,
            depth_max: tally.depth_max,
            offsets: tally.offsets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_are_as_long_as_the_programs_have_them() {
        assert_eq!((size_of::<StepKey>(), size_of::<StepTally>()), (16, 248));
    }

    /// Returns a tally of these I/Os alone.
    fn tally(times: &[(usize, u16)]) -> StepTally {
        let mut bytes = vec![0; size_of::<StepTally>()];
        for (bucket, ios) in times {
            bytes[56 + bucket * 2..][..2].copy_from_slice(&ios.to_ne_bytes());
        }
        plain::read(&bytes).unwrap()
    }

    #[test]
    fn buckets_are_as_long_as_their_longest_time() {
        let mut times = ResponseBuckets::default();
        times.add(&tally(&[(0, 5), (1, 7), (40, 9)]));
        times.add(&tally(&[(1, 1), (95, 2)]));
        let buckets: Vec<_> = times.histogram().buckets().map(|(_, high, n)| (high.0, n)).collect();
        // The octave from 2^20 ns has four buckets of 2^18 ns; the last bucket is unbounded.
        let (last, rest) = buckets.split_last().unwrap();
        assert_eq!(rest, [(1279, 5), (1535, 8), ((1 << 20) + (1 << 18) - 1, 9)]);
        assert_eq!(*last, ((1 << 42) - 1, 2));
    }
}
