//! Capture steps that the programs add up (bpf/steps.h): taken out of the table
//! that rests while the other one is in use.

use super::programs::Programs;
use crate::error::CaptureError;
use std::collections::BTreeMap;
use std::mem::size_of;
use steadfast_domain::io_event::{StreamInStep, StreamResponses};
use steadfast_domain::{CoarseHistogram, IoEvent, IoOp};

/// The two tables that take turns.
const TABLES: [&str; 2] = ["steps_a", "steps_b"];
/// Response times of each stream since the capture began.
const HISTOGRAMS: &str = "histograms";

/// Whether this is a map that only capture steps need.
pub(super) fn is_for_steps(map: &str) -> bool {
    TABLES.contains(&map) || map == HISTOGRAMS
}

/// Which table is in use.
pub(super) struct Turns {
    step_ns: u64,
    in_use: usize,
    /// What was under way when the capture ended.
    rest: Vec<StreamInStep>,
    /// What the kernel's histograms held when they were last looked at.
    seen: BTreeMap<[u8; 8], Counts>,
}

impl Turns {
    pub(super) fn new(step_ns: u64) -> Self {
        Turns { step_ns: step_ns.max(1), in_use: 0, rest: Vec::new(), seen: BTreeMap::new() }
    }

    /// Has the tables change places and appends what the one that was in use
    /// holds.
    pub(super) fn take(
        &mut self,
        programs: &Programs,
        into: &mut Vec<StreamInStep>,
    ) -> Result<(), CaptureError> {
        let full = self.in_use;
        self.in_use = 1 - full;
        programs.place(TABLES[self.in_use], "steps_now")?;
        programs.drain(TABLES[full], |key, tally| {
            into.extend(
                Key::read(key).zip(Tally::read(tally)).map(|(key, tally)| key.with(&tally)),
            );
        })?;
        into.append(&mut self.rest);
        Ok(())
    }

    /// Appends the response times that were added since the last call.
    pub(super) fn take_responses(
        &mut self,
        programs: &Programs,
        into: &mut Vec<StreamResponses>,
    ) -> Result<(), CaptureError> {
        let seen = &mut self.seen;
        programs.each(HISTOGRAMS, |key, counts| {
            let (Some(name), Some(key)) = (read(key), HistogramKey::read(key)) else { return };
            let Some(counts) = Counts::read(counts) else { return };
            let before = seen.insert(name, counts);
            into.extend(counts.since(before).map(|histogram| key.with(histogram)));
        })
    }

    /// Counts an I/O that was under way at the end.
    pub(super) fn add(&mut self, event: &IoEvent, sequential: bool) {
        self.rest.push(StreamInStep {
            step: event.issued_ns / self.step_ns,
            device: event.device,
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

/// `struct step_key`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Key {
    step: u64,
    bytes: u32,
    cpu: u16,
    device: u8,
    stream: u8,
}

/// `struct step_tally`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Tally {
    ios: u64,
    responses: u64,
    response_sum_ns: u64,
    response_max_ns: u64,
    depth_sum: u64,
    sectors: u64,
    depth_max: u32,
    failed: u32,
}

/// `struct histogram_key`.
#[repr(C)]
#[derive(Clone, Copy)]
struct HistogramKey {
    bytes: u32,
    unused: u16,
    device: u8,
    stream: u8,
}

/// `struct histogram`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Counts([u32; CoarseHistogram::LEN]);

/// A shape that the programs write.
fn read<T: Copy>(bytes: &[u8]) -> Option<T> {
    // SAFETY: long enough, read without a demand on alignment; used for this
    // module's shapes alone, which are integers: any bits are valid.
    (bytes.len() >= size_of::<T>()).then(|| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

impl Tally {
    fn read(bytes: &[u8]) -> Option<Tally> {
        read(bytes)
    }
}

impl Counts {
    fn read(bytes: &[u8]) -> Option<Counts> {
        read(bytes)
    }

    /// What was counted since; `None` where that is nothing. The kernel's
    /// counters may have gone round.
    fn since(&self, before: Option<Counts>) -> Option<CoarseHistogram> {
        let before = before.unwrap_or(Counts([0; CoarseHistogram::LEN]));
        let new = self.0.iter().zip(before.0).map(|(now, then)| now.wrapping_sub(then));
        let new: Vec<u32> = new.collect();
        new.iter().any(|ios| *ios > 0).then(|| CoarseHistogram::from_dense(&new))
    }
}

impl HistogramKey {
    fn read(bytes: &[u8]) -> Option<HistogramKey> {
        read(bytes)
    }

    fn with(self, histogram: CoarseHistogram) -> StreamResponses {
        let (op, sequential) = stream(self.stream);
        let (device, bytes) = (u16::from(self.device), self.bytes);
        StreamResponses { device, op, sequential, bytes, histogram }
    }
}

/// Operation and order of the programs' number of a stream.
fn stream(number: u8) -> (IoOp, bool) {
    (IoOp::of_number(number & 7).unwrap_or(IoOp::Other), number & 8 != 0)
}

impl Key {
    fn read(bytes: &[u8]) -> Option<Key> {
        read(bytes)
    }

    fn with(self, tally: &Tally) -> StreamInStep {
        let (op, sequential) = stream(self.stream);
        StreamInStep {
            step: self.step,
            device: u16::from(self.device),
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
            offsets: tally.sectors << 9,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_are_as_long_as_the_programs_have_them() {
        assert_eq!((size_of::<Key>(), size_of::<Tally>()), (16, 56));
        assert_eq!((size_of::<HistogramKey>(), size_of::<Counts>()), (8, 4 * 624));
    }

    #[test]
    fn histograms_are_what_was_added_since_the_last_look() {
        let mut counts = Counts([0; CoarseHistogram::LEN]);
        counts.0[40] = u32::MAX;
        let first = counts.since(None).unwrap();
        assert_eq!(first.total(), u64::from(u32::MAX));
        assert_eq!(counts.since(Some(counts)), None);
        let before = counts;
        counts.0[40] = 2;
        counts.0[100] = 7;
        assert_eq!(counts.since(Some(before)).unwrap().total(), 10);
    }
}
