//! Cells: what the I/Os of one stream and one process in one step add up to. A fold
//! file holds them in place of single I/Os, and every question that needs no single
//! I/O is answered from them as it would be from the I/Os themselves.

use steadfast_domain::io_event::Command;
use steadfast_domain::{IoOp, Layer};

/// Bits of `io_event::flags` that are counted.
pub const FLAGS: usize = 9;

/// Times that were added up, with their histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// All of them added up, in nanoseconds.
    pub sum_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
    /// Buckets of the domain's fine histogram with a count, ascending.
    pub buckets: Vec<(u16, u64)>,
}

/// The I/Os of one stream and one process in one step of a device at a layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// When its step begins, in nanoseconds.
    pub begin_ns: u64,
    /// Which device.
    pub device: u16,
    /// Where they were seen.
    pub layer: Layer,
    /// What they did.
    pub op: IoOp,
    /// They were sequential.
    pub sequential: bool,
    /// Their size.
    pub bytes: u32,
    /// Their process; 0 where unknown or left out.
    pub pid: u32,
    /// Its command name.
    pub command: Command,
    /// How many they are.
    pub ios: u64,
    /// Issue time of the first and the last of them, in nanoseconds.
    pub span_ns: (u64, u64),
    /// Response times.
    pub responses: Times,
    /// Times in the queue, of the I/Os where it is known.
    pub queued: Times,
    /// Times in the queue of I/Os whose response time is known too, added up.
    pub both_queued_ns: u64,
    /// Response times of the same I/Os, added up.
    pub both_response_ns: u64,
    /// Queue depths at issue added up, over [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// I/Os whose depth is known.
    pub depths: u64,
    /// Deepest queue at issue.
    pub depth_max: u32,
    /// All offsets combined by OR.
    pub offsets: u64,
    /// I/Os by bit of `io_event::flags`.
    pub flags: [u64; FLAGS],
    /// I/Os that end beyond their device's size.
    pub beyond: u64,
}

impl Cell {
    /// Bytes moved.
    pub fn amount(&self) -> u64 {
        self.ios.saturating_mul(u64::from(self.bytes))
    }
    /// I/Os that have a flag.
    pub fn flag(&self, bit: u16) -> u64 {
        self.flags.get(bit.trailing_zeros() as usize).copied().unwrap_or(0)
    }
}

/// The time in a step in which a device had an I/O outstanding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BusyInStep {
    /// When its step begins, in nanoseconds.
    pub begin_ns: u64,
    /// Which device.
    pub device: u16,
    /// Where it was seen.
    pub layer: Layer,
    /// How long, in nanoseconds.
    pub busy_ns: u64,
}

/// Some cells; all of them passed the filter.
#[derive(Debug, Clone, Copy)]
pub struct Cells<'a> {
    /// Width of their steps in nanoseconds.
    pub step_ns: u64,
    /// Whether they tell processes.
    pub processes: bool,
    /// The cells.
    pub cells: &'a [Cell],
    /// Busy time.
    pub busy: &'a [BusyInStep],
}
