//! Sums that cells, steps and tables share.

use crate::batch::Batch;
use crate::schema::{Field, Fields};
use serde::{Deserialize, Serialize};
use steadfast_domain::io_event::ContentMeasurement;

/// Number, sum and maximum of some times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSums {
    /// Number of times.
    pub count: u64,
    /// Sum of all times, in nanoseconds.
    pub sum_ns: u64,
    /// Longest time, in nanoseconds.
    pub max_ns: u64,
}

impl TimeSums {
    /// Adds one time.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the sums of another part.
    pub fn merge(&mut self, other: TimeSums) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Returns the mean time in nanoseconds, or `None` if there is none.
    pub fn mean_ns(&self) -> Option<u64> {
        self.sum_ns.checked_div(self.count)
    }

    /// Returns the longest time in nanoseconds, or `None` if there is none.
    pub fn longest_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }
}

/// Sums over the I/Os for which both queue time and response time are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueResponseSums {
    /// Sum of the queue times, in nanoseconds.
    pub queued_ns: u64,
    /// Sum of the response times, in nanoseconds.
    pub response_ns: u64,
}

impl QueueResponseSums {
    /// Adds one I/O.
    #[inline]
    pub fn add(&mut self, queued_ns: u64, response_ns: u64) {
        self.queued_ns = self.queued_ns.saturating_add(queued_ns);
        self.response_ns = self.response_ns.saturating_add(response_ns);
    }

    /// Adds the sums of another part.
    pub fn merge(&mut self, other: QueueResponseSums) {
        self.add(other.queued_ns, other.response_ns);
    }

    /// Returns the share of the time from entering the queue to completion that was spent in the
    /// queue, or `None` without any time.
    pub fn share(&self) -> Option<f64> {
        let whole = self.queued_ns.saturating_add(self.response_ns);
        (whole > 0).then(|| self.queued_ns as f64 / whole as f64)
    }
}

/// Queue depths at issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthSums {
    /// Sum of the known depths.
    pub sum: u64,
    /// Number of I/Os with a known depth.
    pub count: u64,
    /// Largest depth.
    pub max: u32,
}

impl DepthSums {
    /// Adds the depth of one I/O; 0 is unknown.
    #[inline]
    pub fn add(&mut self, depth: u32) {
        self.sum = self.sum.saturating_add(u64::from(depth));
        self.count += u64::from(depth > 0);
        self.max = self.max.max(depth);
    }

    /// Adds the sums of another part.
    pub fn merge(&mut self, other: DepthSums) {
        self.sum = self.sum.saturating_add(other.sum);
        self.count = self.count.saturating_add(other.count);
        self.max = self.max.max(other.max);
    }

    /// Returns the mean depth, or `None` if none is known.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Returns the largest depth, or `None` if none is known.
    pub fn largest(&self) -> Option<u32> {
        (self.count > 0).then_some(self.max)
    }
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
