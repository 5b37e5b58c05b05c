//! [`KernelCounters`]: I/O counts that the kernel keeps for a device.

use crate::stimulus::Op;
use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reads, writes and flushes of a device as counted by the kernel (`/proc/diskstats`). Discards are
/// not included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelCounters {
    /// Reads completed.
    pub reads: u64,
    /// Reads merged.
    pub read_merges: u64,
    /// Bytes read.
    pub read_bytes: Bytes,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged.
    pub write_merges: u64,
    /// Bytes written.
    pub write_bytes: Bytes,
    /// Flushes that the device executed: the kernel makes one of several that wait at the same
    /// time, and sends none to a device without a volatile cache. `None` if the kernel does not
    /// count them, as for a partition and for a device without a request queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OpCount {
    pub ios: u64,
    pub bytes: u64,
}

impl KernelCounters {
    /// Returns the counts since an earlier reading. The kernel's counters wrap around at the
    /// width of its `unsigned long`.
    pub fn since(&self, earlier: &KernelCounters) -> KernelCounters {
        KernelCounters {
            reads: self.reads.wrapping_sub(earlier.reads),
            read_merges: self.read_merges.wrapping_sub(earlier.read_merges),
            read_bytes: Bytes(self.read_bytes.0.wrapping_sub(earlier.read_bytes.0)),
            writes: self.writes.wrapping_sub(earlier.writes),
            write_merges: self.write_merges.wrapping_sub(earlier.write_merges),
            write_bytes: Bytes(self.write_bytes.0.wrapping_sub(earlier.write_bytes.0)),
            flushes: self.flushes.zip(earlier.flushes).map(|(now, then)| now.wrapping_sub(then)),
        }
    }

    /// Adds the counts of another path to the same device.
    pub fn add(&mut self, other: &KernelCounters) {
        self.reads = self.reads.wrapping_add(other.reads);
        self.read_merges = self.read_merges.wrapping_add(other.read_merges);
        self.read_bytes = Bytes(self.read_bytes.0.wrapping_add(other.read_bytes.0));
        self.writes = self.writes.wrapping_add(other.writes);
        self.write_merges = self.write_merges.wrapping_add(other.write_merges);
        self.write_bytes = Bytes(self.write_bytes.0.wrapping_add(other.write_bytes.0));
        self.flushes = self.flushes.zip(other.flushes).map(|(own, other)| own.wrapping_add(other));
    }

    /// Returns true if no read or write was counted.
    pub fn is_zero(&self) -> bool {
        KernelCounters { flushes: None, ..*self } == KernelCounters::default()
    }

    /// Returns the counts of one operation; merged I/Os count separately. All zeros for discards
    /// and flushes.
    pub(crate) fn direction(&self, op: Op) -> OpCount {
        match op {
            Op::Read => OpCount { ios: self.reads + self.read_merges, bytes: self.read_bytes.0 },
            Op::Write => {
                OpCount { ios: self.writes + self.write_merges, bytes: self.write_bytes.0 }
            }
            Op::Discard | Op::Flush => OpCount::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_around() {
        let before = KernelCounters { reads: u64::MAX, ..KernelCounters::default() };
        let after = KernelCounters { reads: 4, ..KernelCounters::default() };
        assert_eq!(after.since(&before).reads, 5);
    }

    #[test]
    fn flushes_are_unknown_unless_both_readings_have_them() {
        let read = |flushes| KernelCounters { flushes, ..KernelCounters::default() };
        assert_eq!(read(Some(9)).since(&read(Some(4))).flushes, Some(5));
        assert_eq!(read(Some(9)).since(&read(None)).flushes, None);
        let mut sum = read(Some(2));
        sum.add(&read(Some(3)));
        assert_eq!(sum.flushes, Some(5));
        assert!(sum.is_zero());
    }
}
