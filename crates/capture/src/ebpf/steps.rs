//! Capture steps that the programs add up (bpf/steps.h): taken out of the table
//! that rests while the other one is in use.

use super::programs::Programs;
use crate::error::CaptureError;
use std::mem::size_of;
use steadfast_domain::io_event::StreamInStep;
use steadfast_domain::{IoEvent, IoOp};

/// The two tables that take turns.
pub(super) const TABLES: [&str; 2] = ["steps_a", "steps_b"];

/// Which table is in use.
pub(super) struct Turns {
    step_ns: u64,
    in_use: usize,
    /// What was under way when the capture ended.
    rest: Vec<StreamInStep>,
}

impl Turns {
    pub(super) fn new(step_ns: u64) -> Self {
        Turns { step_ns: step_ns.max(1), in_use: 0, rest: Vec::new() }
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

/// A shape that the programs write.
fn read<T: Copy>(bytes: &[u8]) -> Option<T> {
    // SAFETY: long enough, read without a demand on alignment; used for `Key`
    // and `Tally` alone, of which any bits are valid.
    (bytes.len() >= size_of::<T>()).then(|| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

impl Tally {
    fn read(bytes: &[u8]) -> Option<Tally> {
        read(bytes)
    }
}

impl Key {
    fn read(bytes: &[u8]) -> Option<Key> {
        read(bytes)
    }

    fn with(self, tally: &Tally) -> StreamInStep {
        StreamInStep {
            step: self.step,
            device: u16::from(self.device),
            op: IoOp::of_number(self.stream & 7).unwrap_or(IoOp::Other),
            sequential: self.stream & 8 != 0,
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
    }
}
