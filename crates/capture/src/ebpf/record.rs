//! The shapes that bpf/block.bpf.c and this crate have in common.

use super::plain::Plain;
use super::rings::Record;
use crate::options::{DEVICES_MAX, Options};
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::{Command, Layer, RESPONSE_UNKNOWN};

/// What the kernel calls a sector, whatever the device's sectors are.
const SECTOR_SHIFT: u32 = 9;

const OP_FLUSH: u8 = 3;

/// `struct record`: one completed I/O.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Wire {
    /// Sector << 8 | lap.
    head: u64,
    issued_ns: u64,
    response_ns: u64,
    queued_ns: u64,
    bytes: u32,
    /// Outstanding at issue << 8 | operation.
    depth_op: u32,
    process: u32,
    cpu: u16,
    /// Flags (12 bits) | device << 12.
    flags_device: u16,
    command: [u8; 16],
}

// SAFETY: integers, no padding.
unsafe impl Plain for Wire {}

impl Record for Wire {
    #[inline]
    fn event(&self, began_ns: u64) -> IoEvent {
        let number = (self.depth_op & 0xff) as u8;
        IoEvent {
            issued_ns: self.issued_ns.saturating_sub(began_ns),
            response_ns: self.response_ns,
            queued_ns: self.queued_ns,
            offset: if number == OP_FLUSH { 0 } else { self.head >> 8 << SECTOR_SHIFT },
            bytes: self.bytes,
            depth: self.depth_op >> 8,
            pid: self.process,
            cpu: self.cpu,
            flags: self.flags_device & 0xfff,
            device: self.flags_device >> 12,
            op: op(number),
            layer: Layer::Block,
            command: Command(self.command),
            inode: 0,
        }
    }
}

/// `struct journey`: an I/O on its way.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Journey {
    submitted_ns: u64,
    process: u32,
    flags: u16,
    wanted: u16,
    command: [u8; 16],
    issued_ns: u64,
    sector: u64,
    bytes: u32,
    depth: u32,
    cpu: u16,
    device: u8,
    op: u8,
    outstanding: u8,
    before: u8,
    sequential: u8,
    unused: u8,
}

/// `struct bucket`: places for I/Os on their way.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Bucket {
    elsewhere: u64,
    /// 0 where the place is free.
    keys: [u64; WAYS],
    journeys: [Journey; WAYS],
}

const WAYS: usize = 7;

// SAFETY: integers, no padding.
unsafe impl Plain for Bucket {}

impl Bucket {
    /// What is on its way.
    pub(super) fn journeys(&self) -> impl Iterator<Item = &Journey> {
        self.keys.iter().zip(&self.journeys).filter(|(key, _)| **key != 0).map(|(_, found)| found)
    }
}

impl Journey {
    pub(super) fn sequential(&self) -> bool {
        self.sequential != 0
    }

    /// The event of an I/O that the device still had when the capture ended;
    /// `None` of any other.
    pub(super) fn unended(&self, began_ns: u64) -> Option<IoEvent> {
        let counts = self.outstanding == 1 && self.before == 0 && self.wanted != 0;
        let wire = Wire {
            head: self.sector << 8,
            issued_ns: self.issued_ns,
            response_ns: RESPONSE_UNKNOWN,
            queued_ns: match self.submitted_ns {
                0 => 0,
                submitted => self.issued_ns.saturating_sub(submitted),
            },
            bytes: self.bytes,
            depth_op: self.depth << 8 | u32::from(self.op),
            process: self.process,
            cpu: self.cpu,
            flags_device: self.flags | u16::from(self.device) << 12,
            command: self.command,
        };
        (counts && self.issued_ns > 0).then(|| wire.event(began_ns))
    }
}

fn op(number: u8) -> steadfast_domain::IoOp {
    steadfast_domain::IoOp::of_number(number).unwrap_or(steadfast_domain::IoOp::Other)
}

/// `struct device`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Place {
    number: u32,
    bio_based: u32,
    first_sector: u64,
    end_sector: u64,
}

/// `struct settings`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct BlockSettings {
    device_count: u32,
    process: u32,
    commands: u32,
    by_bio: u32,
    step_ns: u64,
    device: [Place; DEVICES_MAX],
}

// SAFETY: integers, no padding.
unsafe impl Plain for BlockSettings {}

impl BlockSettings {
    pub(super) fn of(options: &Options, by_bio: bool) -> Self {
        let mut settings = BlockSettings {
            device_count: options.devices.len() as u32,
            process: options.process.unwrap_or(0),
            commands: options.commands.into(),
            by_bio: by_bio.into(),
            step_ns: options.step_ns.unwrap_or(0),
            device: [Place::default(); DEVICES_MAX],
        };
        for (place, device) in settings.device.iter_mut().zip(&options.devices) {
            *place = Place {
                number: device.number.0 << 20 | device.number.1,
                bio_based: device.bio_based.into(),
                first_sector: device.sectors.start,
                end_sector: device.sectors.end,
            };
        }
        settings
    }
}

/// `struct counters`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelCounters {
    pub lost: u64,
    pub unfollowed: u64,
    pub begun_before: u64,
    pub unended: u64,
    pub partial_completions: u64,
    pub requeues: u64,
    pub outstanding: [u32; DEVICES_MAX],
}

// SAFETY: integers, no padding.
unsafe impl Plain for KernelCounters {}

impl KernelCounters {
    /// I/Os outstanding on all devices.
    pub(super) fn under_way(&self) -> u64 {
        self.outstanding.iter().map(|count| u64::from(*count)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shapes_are_as_long_as_the_programs_have_them() {
        assert_eq!(size_of::<Wire>(), 64);
        assert_eq!(size_of::<Journey>(), 64);
        assert_eq!(size_of::<Bucket>(), 512);
        assert_eq!(size_of::<BlockSettings>(), 24 + 24 * DEVICES_MAX);
        assert_eq!(size_of::<KernelCounters>(), 48 + 4 * DEVICES_MAX);
    }
}
