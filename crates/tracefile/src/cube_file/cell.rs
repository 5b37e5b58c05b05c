//! [`CubeCell`]: sums over the I/Os of one stream, one thread, one cgroup and one file in one step.

use crate::batch::Batch;
use crate::schema::{Field, Fields};
use serde::{Deserialize, Serialize};
use steadfast_domain::io_event::{CommandName, ContentMeasurement, StreamInStep, flags};
use steadfast_domain::{CoarseHistogram, FineHistogram, IoOp, Layer};

/// Number of bits of `io_event::flags` that are counted.
pub const FLAGS: usize = 9;

/// A sum of times, with their histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Times {
    /// Number of times.
    pub count: u64,
    /// Sum of all times, in nanoseconds.
    pub sum_ns: u64,
    /// Longest time, in nanoseconds.
    pub max_ns: u64,
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
pub struct Who {
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

/// Sums over the I/Os of one stream and one [`Who`] in one step of a device at a layer.
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
    pub who: Who,
    /// Number of I/Os.
    pub ios: u64,
    /// Issue times of the first and the last I/O, in nanoseconds; the bounds of the step if these
    /// were not recorded.
    pub span_ns: (u64, u64),
    /// Response times.
    pub responses: Times,
    /// Queue times, over the I/Os that have one.
    pub queued: Times,
    /// Sum of the queue times of the I/Os that have both a queue time and a response time, in
    /// nanoseconds.
    pub both_queued_ns: u64,
    /// Sum of the response times of the same I/Os, in nanoseconds.
    pub both_response_ns: u64,
    /// Sum of the queue depths at issue of [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// Number of I/Os with a known queue depth.
    pub depths: u64,
    /// Largest queue depth at issue.
    pub depth_max: u32,
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
            who: Who { pid: row.pid, command: row.command, ..Who::default() },
            ios: row.ios,
            span_ns,
            responses: Times {
                count: row.responses,
                sum_ns: row.response_sum_ns,
                max_ns: row.response_max_ns,
                buckets: row.response_buckets,
            },
            depth_sum: row.depth_sum,
            depths: if row.depth_sum > 0 { row.ios } else { 0 },
            depth_max: row.depth_max,
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

/// Sums over sampled blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Number of blocks.
    pub blocks: u64,
    /// Number of blocks that equal a block read before.
    pub duplicates: u64,
    /// Size of the blocks, in bytes.
    pub bytes: u64,
    /// Size of the blocks, each compressed, in bytes.
    pub compressed_bytes: u64,
}

impl Contents {
    /// The columns that hold the measurements.
    pub const FIELDS: Fields = Fields::new(&[
        Field::SampledBlocks,
        Field::DuplicateBlocks,
        Field::SampledBytes,
        Field::CompressedBytes,
    ]);

    /// Adds the measurements of one I/O.
    #[inline]
    pub fn add(&mut self, batch: &Batch, row: usize) {
        if batch.sampled_blocks(row) > 0 {
            self.count(batch.content(row));
        }
    }

    /// Adds the measurements of one I/O.
    pub fn count(&mut self, content: ContentMeasurement) {
        self.merge(Contents {
            blocks: content.blocks.into(),
            duplicates: content.duplicates.into(),
            bytes: content.bytes.into(),
            compressed_bytes: content.compressed_bytes.into(),
        });
    }

    /// Returns the original size divided by the compressed size, or `None` if nothing was measured.
    pub fn compression_ratio(&self) -> Option<f64> {
        (self.compressed_bytes > 0).then(|| self.bytes as f64 / self.compressed_bytes as f64)
    }

    /// Adds the sums of another part.
    pub fn merge(&mut self, other: Contents) {
        self.blocks = self.blocks.saturating_add(other.blocks);
        self.duplicates = self.duplicates.saturating_add(other.duplicates);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.compressed_bytes = self.compressed_bytes.saturating_add(other.compressed_bytes);
    }
}
