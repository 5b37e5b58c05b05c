//! [`CubeCell`]: sums over the I/Os of one stream, one thread, one cgroup and one file in one step.

use super::sums::{Contents, DepthSums, QueueResponseSums, TimeSums};
use steadfast_domain::io_event::{CommandName, StreamInStep, flags};
use steadfast_domain::{CoarseHistogram, FineHistogram, IoOp, Layer};

/// Number of bits of `io_event::flags` that are counted.
pub const FLAGS: usize = 9;

/// Sums of times, with their histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// Number, sum and maximum.
    pub total: TimeSums,
    /// Non-empty buckets of the domain's fine histogram as (bucket, count), ascending.
    pub buckets: Vec<(u16, u64)>,
}

impl Times {
    /// Returns the times by bucket of `CoarseHistogram`, ascending. A bucket may repeat: each fine
    /// bucket lies within one coarse bucket.
    pub fn coarse_buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        self.buckets.iter().map(|(bucket, count)| {
            let (least, _) = FineHistogram::bounds(usize::from(*bucket));
            (CoarseHistogram::index(least), *count)
        })
    }
}

/// The process, thread, cgroup and file of some I/Os.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Originator {
    /// Process ID; 0 if unknown or left out.
    pub pid: u32,
    /// Command name of the process.
    pub command: CommandName,
    /// Thread ID; 0 if unknown or left out.
    pub tid: u32,
    /// Thread name, if it differs from the command name.
    pub thread: CommandName,
    /// Cgroup, as its position in the conditions from 1; 0 if unknown.
    pub cgroup: u16,
    /// Inode of the file; 0 at the block layer or if left out.
    pub inode: u64,
}

/// Sums over the I/Os of one stream and one [`Originator`] in one step of a device at a layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CubeCell {
    /// Start of the step, in nanoseconds.
    pub begin_ns: u64,
    /// Device, as its position in the conditions.
    pub device: u16,
    /// Layer at which the I/Os were captured.
    pub layer: Layer,
    /// Operation.
    pub op: IoOp,
    /// True if the I/Os were sequential.
    pub sequential: bool,
    /// Size of each I/O in bytes.
    pub bytes: u32,
    /// The process, thread, cgroup and file of the I/Os.
    pub who: Originator,
    /// Number of I/Os.
    pub ios: u64,
    /// Issue times of the first and the last I/O, in nanoseconds; the bounds of the step if these
    /// were not recorded.
    pub span_ns: (u64, u64),
    /// Response times.
    pub responses: Times,
    /// Queue times, over the I/Os that have one.
    pub queued: Times,
    /// Times of the I/Os for which both queue time and response time are known.
    pub together: QueueResponseSums,
    /// Queue depths at issue.
    pub depths: DepthSums,
    /// Bitwise OR of all offsets.
    pub offsets: u64,
    /// Number of I/Os that have each bit of `io_event::flags` set.
    pub flags: [u64; FLAGS],
    /// Number of I/Os that end beyond the size of their device.
    pub beyond: u64,
    /// Number of requests that were merged into the I/Os.
    pub merged: u64,
    /// Content measurements of the blocks that the I/Os wrote.
    pub contents: Contents,
}

impl CubeCell {
    /// Returns the sums of a stream in a capture step that begins at `begin_ns`.
    pub fn from_step(row: StreamInStep, begin_ns: u64, span_ns: (u64, u64)) -> CubeCell {
        let mut counts = [0; FLAGS];
        counts[flags::FAILED.trailing_zeros() as usize] = row.failed;
        CubeCell {
            begin_ns,
            device: row.device,
            layer: row.layer,
            op: row.op,
            sequential: row.sequential,
            bytes: row.bytes,
            who: Originator { pid: row.pid, command: row.command, ..Originator::default() },
            ios: row.ios,
            span_ns,
            responses: Times {
                total: TimeSums {
                    count: row.responses,
                    sum_ns: row.response_sum_ns,
                    max_ns: row.response_max_ns,
                },
                buckets: row.response_buckets,
            },
            depths: DepthSums {
                sum: row.depth_sum,
                count: if row.depth_sum > 0 { row.ios } else { 0 },
                max: row.depth_max,
            },
            offsets: row.offsets,
            flags: counts,
            ..CubeCell::default()
        }
    }

    /// Returns the number of bytes moved.
    pub fn amount(&self) -> u64 {
        self.ios.saturating_mul(u64::from(self.bytes))
    }

    /// Returns the number of I/Os that have a flag.
    pub fn flag(&self, bit: u16) -> u64 {
        self.flags.get(bit.trailing_zeros() as usize).copied().unwrap_or(0)
    }
}

/// The time within a step in which a device had an I/O outstanding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BusyInStep {
    /// Start of the step, in nanoseconds.
    pub begin_ns: u64,
    /// Device, as its position in the conditions.
    pub device: u16,
    /// Layer at which the I/Os were captured.
    pub layer: Layer,
    /// Busy time, in nanoseconds.
    pub busy_ns: u64,
}

/// Reads and writes of an LBA range of a device in a step, at the block layer. An I/O counts in every
/// range that it touches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RangeHits {
    /// Start of the step, in nanoseconds.
    pub begin_ns: u64,
    /// Device, as its position in the conditions.
    pub device: u16,
    /// Number of the range.
    pub range: u16,
    /// Reads that touch the range.
    pub reads: u64,
    /// Bytes read from the range.
    pub read_bytes: u64,
    /// Writes that touch the range.
    pub writes: u64,
    /// Bytes written to the range.
    pub written_bytes: u64,
}
