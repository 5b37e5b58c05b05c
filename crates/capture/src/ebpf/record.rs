//! Structures shared by bpf/block.bpf.c and this crate.

use super::cgroups::CgroupHierarchy;
use super::plain::PlainData;
use super::rings::RingRecord;
use crate::options::{CaptureOptions, DEVICES_MAX};
use steadfast_domain::io_event::{CommandName, Layer, RESPONSE_UNKNOWN};
use steadfast_domain::{IoEvent, IoOp};

/// log2 of the kernel's sector in bytes, whatever the device's sector size.
const SECTOR_SHIFT: u32 = 9;

const OP_FLUSH: u32 = 3;

/// Bit widths of a response time, a time in the queue, and a process or thread number, several of
/// which share a word of `struct record`.
const RESPONSE_BITS: u32 = 48;
const QUEUED_BITS: u32 = 42;
const TASK_BITS: u32 = 22;

/// Bit widths of a queue depth and an operation.
const DEPTH_BITS: u32 = 17;
const OP_BITS: u32 = 3;

/// Returns the lowest `bits` bits of a word.
const fn low(word: u64, bits: u32) -> u64 {
    word & ((1 << bits) - 1)
}

/// `struct record`: a completed I/O.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct BlockRecord {
    /// Sector << 8 | lap.
    head: u64,
    issued_ns: u64,
    /// Response time | cgroup << 48.
    response_cgroup: u64,
    /// Time in the queue | thread << 42.
    queued_thread: u64,
    bytes: u32,
    /// Outstanding at issue | operation << 17 | merged bios << 20.
    depth_op_merged: u32,
    process: u32,
    cpu: u16,
    /// Flags (12 bits) | device << 12.
    flags_device: u16,
    command: [u8; 16],
}

// SAFETY: integers, no padding.
unsafe impl PlainData for BlockRecord {}

impl RingRecord for BlockRecord {
    #[inline]
    fn event(&self, began_ns: u64) -> IoEvent {
        let number = self.depth_op_merged >> DEPTH_BITS & ((1 << OP_BITS) - 1);
        let response = low(self.response_cgroup, RESPONSE_BITS);
        let unknown = response == low(u64::MAX, RESPONSE_BITS);
        IoEvent {
            issued_ns: self.issued_ns.saturating_sub(began_ns),
            response_ns: if unknown { RESPONSE_UNKNOWN } else { response },
            queued_ns: low(self.queued_thread, QUEUED_BITS),
            offset: if number == OP_FLUSH { 0 } else { self.head >> 8 << SECTOR_SHIFT },
            bytes: self.bytes,
            depth: self.depth_op_merged & ((1 << DEPTH_BITS) - 1),
            pid: self.process,
            tid: (self.queued_thread >> QUEUED_BITS) as u32,
            cgroup: (self.response_cgroup >> RESPONSE_BITS) as u16,
            merged: (self.depth_op_merged >> (DEPTH_BITS + OP_BITS)) as u16,
            cpu: self.cpu,
            flags: self.flags_device & 0xfff,
            device: self.flags_device >> 12,
            op: IoOp::from_number(number as u8).unwrap_or(IoOp::Other),
            layer: Layer::Block,
            command: CommandName(self.command),
            ..IoEvent::default()
        }
    }
}

/// `struct journey`: an I/O being followed.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct InFlightEntry {
    submitted_ns: u64,
    /// Process, thread (22 bits each), flags (8), wanted (1), cgroup (11).
    who: u64,
    command: [u8; 16],
    issued_ns: u64,
    sector: u64,
    bytes: u32,
    /// Depth (17 bits), merged bios (12), outstanding, before, sequential (1 each).
    depth_and_marks: u32,
    cpu: u16,
    device: u8,
    op: u8,
    unused: u32,
}

/// `struct bucket`: slots for I/Os being followed.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct InFlightBucket {
    /// Number of I/Os of this bucket that are in their second-choice bucket.
    elsewhere: u64,
    /// 0 if the slot is free.
    keys: [u64; WAYS],
    journeys: [InFlightEntry; WAYS],
}

const WAYS: usize = 7;

// SAFETY: integers, no padding.
unsafe impl PlainData for InFlightBucket {}

impl InFlightBucket {
    pub(super) fn entries(&self) -> impl Iterator<Item = &InFlightEntry> {
        self.keys.iter().zip(&self.journeys).filter(|(key, _)| **key != 0).map(|(_, entry)| entry)
    }
}

impl InFlightEntry {
    pub(super) fn sequential(&self) -> bool {
        self.mark(2)
    }

    /// Returns a mark by its number: 0 outstanding, 1 issued before the capture, 2 sequential.
    fn mark(&self, number: u32) -> bool {
        self.depth_and_marks >> (29 + number) & 1 == 1
    }

    /// Returns the event of an I/O that was outstanding when the capture ended, or `None` if the
    /// I/O was not outstanding or is not to be recorded.
    pub(super) fn unended(&self, began_ns: u64) -> Option<IoEvent> {
        let wanted = self.who >> 52 & 1 == 1;
        if !self.mark(0) || self.mark(1) || !wanted || self.issued_ns == 0 {
            return None;
        }
        let queued = match self.submitted_ns {
            0 => 0,
            submitted => self.issued_ns.saturating_sub(submitted),
        };
        let queued = queued.min(low(u64::MAX, QUEUED_BITS));
        let depth = self.depth_and_marks & ((1 << DEPTH_BITS) - 1);
        let merged = self.depth_and_marks >> DEPTH_BITS & 0xfff;
        let op = u32::from(self.op) << DEPTH_BITS;
        let flags = low(self.who >> (2 * TASK_BITS), 8) as u16;
        let thread = low(self.who >> TASK_BITS, TASK_BITS);
        let record = BlockRecord {
            head: self.sector << 8,
            issued_ns: self.issued_ns,
            response_cgroup: low(u64::MAX, RESPONSE_BITS) | self.who >> 53 << RESPONSE_BITS,
            queued_thread: queued | thread << QUEUED_BITS,
            bytes: self.bytes,
            depth_op_merged: depth | op | merged << (DEPTH_BITS + OP_BITS),
            process: low(self.who, TASK_BITS) as u32,
            cpu: self.cpu,
            flags_device: flags | u16::from(self.device) << 12,
            command: self.command,
        };
        Some(record.event(began_ns))
    }
}

/// `struct device` of the programs.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct KernelDevice {
    number: u32,
    bio_based: u32,
    first_sector: u64,
    end_sector: u64,
    range_bytes: u64,
}

/// `struct settings` of the programs.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct BlockProgramSettings {
    device_count: u32,
    process: u32,
    commands: u32,
    by_bio: u32,
    step_ns: u64,
    cgroups: u32,
    merges: u32,
    device: [KernelDevice; DEVICES_MAX],
}

// SAFETY: integers, no padding.
unsafe impl PlainData for BlockProgramSettings {}

impl BlockProgramSettings {
    pub(super) fn from_options(
        options: &CaptureOptions,
        by_bio: bool,
        cgroups: Option<CgroupHierarchy>,
    ) -> Self {
        let mut settings = BlockProgramSettings {
            device_count: options.devices.len() as u32,
            process: options.process.unwrap_or(0),
            commands: options.commands.into(),
            by_bio: by_bio.into(),
            step_ns: options.step_ns.unwrap_or(0),
            cgroups: CgroupHierarchy::number(cgroups),
            merges: options.merges.into(),
            device: [KernelDevice::default(); DEVICES_MAX],
        };
        let range_bytes = options.range_bytes.iter().copied().chain(std::iter::repeat(0));
        let devices = options.devices.iter().zip(range_bytes);
        for (place, (device, range_bytes)) in settings.device.iter_mut().zip(devices) {
            *place = KernelDevice {
                number: device.number.kernel_encoding(),
                bio_based: device.bio_based.into(),
                first_sector: device.sectors.start,
                end_sector: device.sectors.end,
                range_bytes,
            };
        }
        settings
    }
}

/// `struct counters` of the programs.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockProgramCounters {
    pub lost: u64,
    pub unfollowed: u64,
    pub begun_before: u64,
    pub unended: u64,
    pub partial_completions: u64,
    pub requeues: u64,
    pub outstanding: [u32; DEVICES_MAX],
    pub splits: [u64; DEVICES_MAX],
    pub without_range: u64,
}

// SAFETY: integers, no padding.
unsafe impl PlainData for BlockProgramCounters {}

impl BlockProgramCounters {
    /// Returns the I/Os outstanding on all devices.
    pub(super) fn all_outstanding(&self) -> u64 {
        self.outstanding.iter().map(|count| u64::from(*count)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structures_have_the_sizes_of_those_in_the_programs() {
        assert_eq!(size_of::<BlockRecord>(), 64);
        assert_eq!(size_of::<InFlightEntry>(), 64);
        assert_eq!(size_of::<InFlightBucket>(), 512);
        assert_eq!(size_of::<BlockProgramSettings>(), 32 + 32 * DEVICES_MAX);
        assert_eq!(size_of::<BlockProgramCounters>(), 56 + 12 * DEVICES_MAX);
    }

    #[test]
    fn fields_that_share_a_word_are_separated() {
        let entry = InFlightEntry {
            submitted_ns: 900,
            who: 4_194_303 | 4_194_301 << 22 | 0x81 << 44 | 1 << 52 | 1_024 << 53,
            command: CommandName::new("dd").0,
            issued_ns: 1_000,
            sector: (1 << 40) + 3,
            bytes: 4096,
            depth_and_marks: 57_344 | 1023 << 17 | 1 << 29,
            cpu: 511,
            device: 15,
            op: 4,
            unused: 0,
        };
        let event = entry.unended(600).unwrap();
        assert_eq!((event.pid, event.tid, event.cgroup), (4_194_303, 4_194_301, 1_024));
        assert_eq!((event.flags, event.device, event.cpu), (0x81, 15, 511));
        assert_eq!((event.depth, event.merged), (57_344, 1_023));
        assert_eq!((event.op, event.bytes), (IoOp::Other, 4096));
        assert_eq!((event.issued_ns, event.queued_ns), (400, 100));
        assert_eq!((event.response_ns, event.offset), (RESPONSE_UNKNOWN, ((1 << 40) + 3) * 512));
        assert_eq!(event.command.to_string(), "dd");
        for (marks, why) in [(0, "not outstanding"), (3, "issued before")] {
            let depth_and_marks = marks << 29;
            assert_eq!(InFlightEntry { depth_and_marks, ..entry }.unended(600), None, "{why}");
        }
    }
}
