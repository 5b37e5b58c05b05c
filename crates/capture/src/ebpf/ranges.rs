//! Reads and writes by LBA range and capture step, added up by the programs (bpf/block_steps.h).
//! The programs count an I/O in its first and its last range only; [`RangeSums`] derives the ranges
//! between them.

use super::plain::PlainData;
use crate::options::LBA_RANGES_MAX;
use std::collections::BTreeMap;
use steadfast_domain::io_event::RangeInStep;
use steadfast_domain::{IoEvent, IoOp};

/// Names of the two tables, which are used alternately.
pub(super) const TABLES: [&str; 2] = ["ranges_a", "ranges_b"];
/// Name of the map that holds the table in use.
pub(super) const IN_USE: &str = "ranges_now";

/// Name of the array of the ranges of two steps.
pub(super) const RECENT: &str = "recent_ranges";
/// Elements of [`RECENT`] per device: halves, steps, ranges and operations.
pub(super) const RECENT_PER_DEVICE: u32 = 2 * 2 * LBA_RANGES_MAX as u32 * 2;

/// `struct range_key` of the programs.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RangeKey {
    step: u64,
    range: u32,
    device: u16,
    op: u16,
}

// SAFETY: integers, no padding.
unsafe impl PlainData for RangeKey {}

impl RangeKey {
    /// Returns the key of the element of [`RECENT`] with this index, and its half. `first` is the
    /// first step in the map.
    pub(super) fn from_index(at: u32, first: u64) -> (Self, usize) {
        let key = RangeKey {
            step: first + u64::from(at >> 11 & 1),
            range: at >> 1 & 1023,
            device: (at >> 13) as u16,
            op: (at & 1) as u16,
        };
        (key, (at >> 12 & 1) as usize)
    }
}

/// `struct range_tally` of the programs.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(super) struct RangeTally {
    begins: u64,
    leaves: u64,
    arrives: u64,
    bytes: u64,
}

// SAFETY: integers, no padding.
unsafe impl PlainData for RangeTally {}

/// A step, a device and an operation, whose I/Os are counted by range.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RangeStep {
    step: u64,
    device: u16,
    is_write: bool,
}

/// The ranges in which an I/O begins or ends, by their number.
type RangeTallies = BTreeMap<u32, RangeTally>;

/// The ranges of each step, device and operation in which an I/O begins or ends.
#[derive(Default)]
pub(super) struct RangeSums(BTreeMap<RangeStep, RangeTallies>);

impl RangeSums {
    /// Adds an entry of a table.
    pub(super) fn add(&mut self, key: RangeKey, tally: RangeTally) {
        let RangeKey { step, device, .. } = key;
        let is_write = key.op == IoOp::Write as u16;
        let ranges = self.0.entry(RangeStep { step, device, is_write }).or_default();
        let sum = ranges.entry(key.range).or_default();
        sum.begins += tally.begins;
        sum.leaves += tally.leaves;
        sum.arrives += tally.arrives;
        sum.bytes += tally.bytes;
    }

    /// Adds an I/O as the programs do; `range_bytes` is the size of its device's ranges.
    pub(super) fn add_io(&mut self, step: u64, io: &IoEvent, range_bytes: u64) {
        if !matches!(io.op, IoOp::Read | IoOp::Write) || io.bytes == 0 || range_bytes == 0 {
            return;
        }
        let end = io.offset.saturating_add(io.bytes.into());
        let (first, last) = (io.offset / range_bytes, (end - 1) / range_bytes);
        let key = |range| RangeKey { step, range, device: io.device, op: io.op as u16 };
        let beyond = u64::from(first < last);
        let in_first = end.min((first + 1).saturating_mul(range_bytes)) - io.offset;
        let tally = RangeTally { begins: 1, leaves: beyond, arrives: 0, bytes: in_first };
        self.add(key(first as u32), tally);
        if beyond > 0 {
            let bytes = end - last * range_bytes;
            self.add(key(last as u32), RangeTally { arrives: 1, bytes, ..RangeTally::default() });
        }
    }

    /// Appends every range that was touched. `range_bytes` has the size of each device's ranges.
    pub(super) fn finish(self, range_bytes: &[u64], into: &mut Vec<RangeInStep>) {
        let mut touched: BTreeMap<(u64, u16, u16), RangeInStep> = BTreeMap::new();
        for (RangeStep { step, device, is_write }, ranges) in self.0 {
            let width = range_bytes.get(usize::from(device)).copied().unwrap_or(0);
            let mut add = |range: u32, ios: u64, bytes: u64| {
                let Ok(range) = u16::try_from(range) else { return };
                let empty = RangeInStep { step, device, range, ..RangeInStep::default() };
                let row = touched.entry((step, device, range)).or_insert(empty);
                if is_write {
                    (row.writes, row.written_bytes) = (ios, bytes);
                } else {
                    (row.reads, row.read_bytes) = (ios, bytes);
                }
            };
            // I/Os that began in an earlier range and have not ended, and the next range.
            let (mut continuing, mut next) = (0u64, 0u32);
            for (range, tally) in ranges {
                if continuing > 0 {
                    (next..range).for_each(|range| add(range, continuing, continuing * width));
                }
                let through = continuing.saturating_sub(tally.arrives);
                add(range, continuing + tally.begins, tally.bytes + through * width);
                continuing = through + tally.leaves;
                next = range + 1;
            }
        }
        // The programs leave an empty entry where the other range of an I/O found no room.
        into.extend(touched.into_values().filter(|row| row.reads > 0 || row.writes > 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_of_those_in_the_programs() {
        assert_eq!((size_of::<RangeKey>(), size_of::<RangeTally>()), (16, 32));
    }

    #[test]
    fn an_index_has_device_half_step_range_and_operation() {
        let (key, half) = RangeKey::from_index(((3 * 4 + 2 + 1) * 1024 + 999) * 2 + 1, 70);
        let write = IoOp::Write as u16;
        assert_eq!((key.step, key.range, key.device, key.op, half), (71, 999, 3, write, 1));
        assert_eq!(RangeKey::from_index(RECENT_PER_DEVICE, 0).0.device, 1);
    }

    #[test]
    fn an_entry_without_ios_is_no_row() {
        let mut sums = RangeSums::default();
        let key = |range| RangeKey { step: 3, range, device: 0, op: IoOp::Read as u16 };
        sums.add(key(5), RangeTally::default());
        sums.add(key(7), RangeTally { begins: 1, bytes: 512, ..RangeTally::default() });
        let mut rows = Vec::new();
        sums.finish(&[4096], &mut rows);
        let row =
            RangeInStep { step: 3, range: 7, reads: 1, read_bytes: 512, ..Default::default() };
        assert_eq!(rows, [row]);
    }

    /// Every I/O is counted in each range that it touches, one by one.
    #[test]
    fn ranges_between_the_first_and_the_last_are_derived() {
        let range_bytes = [4096, 10_000];
        let mut sums = RangeSums::default();
        let mut expected: BTreeMap<(u64, u16, u16), RangeInStep> = BTreeMap::new();
        for n in 0..10_007u64 {
            let io = IoEvent {
                device: (n % 2) as u16,
                op: if n % 5 == 0 { IoOp::Write } else { IoOp::Read },
                offset: n * 7919 % 1009 * 512,
                bytes: (n % 97) as u32 * 512,
                ..IoEvent::default()
            };
            let (step, width) = (n % 3, range_bytes[usize::from(io.device)]);
            sums.add_io(step, &io, width);
            let end = io.offset + u64::from(io.bytes);
            for range in 0..1024u16 {
                let (from, to) = (u64::from(range) * width, (u64::from(range) + 1) * width);
                let bytes = end.min(to).saturating_sub(io.offset.max(from));
                if bytes == 0 {
                    continue;
                }
                let key = (step, io.device, range);
                let empty = RangeInStep { step, device: io.device, range, ..Default::default() };
                let one = match io.op {
                    IoOp::Write => RangeInStep { writes: 1, written_bytes: bytes, ..empty },
                    _ => RangeInStep { reads: 1, read_bytes: bytes, ..empty },
                };
                expected.entry(key).or_insert(empty).merge(&one);
            }
        }
        let mut rows = Vec::new();
        sums.finish(&range_bytes, &mut rows);
        assert_eq!(rows, expected.into_values().collect::<Vec<_>>());
    }
}
