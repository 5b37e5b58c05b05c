//! What the I/Os of an I/O stream add up to ([`StreamTally`]).

use crate::cells::Cell;
use crate::fold::Rows;
use crate::sums::queue_time::Queued;
use crate::sums::response::Responses;
use serde::{Deserialize, Serialize};
use steadfast_domain::io_event::flags;

/// What a stream's I/Os add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTally {
    /// I/Os.
    pub ios: u64,
    /// I/Os that failed.
    pub failed: u64,
    /// Response times.
    pub responses: Responses,
    /// Queue depths at issue added up, over [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// I/Os whose depth is known.
    pub depths: u64,
    /// Deepest queue at issue.
    pub depth_max: u32,
    /// Times in the queue.
    pub queued: Queued,
    /// All offsets combined by OR: its trailing zeros are the alignment.
    pub offsets: u64,
    pub(crate) bytes: u64,
}

impl StreamTally {
    /// Bytes moved.
    pub fn amount(&self) -> u64 {
        self.bytes
    }
    /// Average queue depth at issue.
    pub fn depth_mean(&self) -> Option<f64> {
        (self.depths > 0).then(|| self.depth_sum as f64 / self.depths as f64)
    }
    /// The largest power of two that every offset is a multiple of; `None`
    /// where all were 0.
    pub fn alignment(&self) -> Option<u64> {
        (self.offsets != 0).then(|| 1 << self.offsets.trailing_zeros())
    }
    /// Adds those of another part.
    pub fn merge(&mut self, other: &StreamTally) {
        self.ios += other.ios;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.failed += other.failed;
        self.responses.merge(&other.responses);
        self.depth_sum += other.depth_sum;
        self.depths += other.depths;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.queued.merge(other.queued);
        self.offsets |= other.offsets;
    }

    /// Adds those of another part, whose memory is taken over where that can be.
    pub(crate) fn take_in(&mut self, mut other: StreamTally) {
        self.responses.take_over(&mut other.responses);
        self.merge(&other);
    }

    /// Adds I/Os of one size that a fold file holds.
    pub(crate) fn take_cell(&mut self, cell: &Cell) {
        self.ios = self.ios.saturating_add(cell.ios);
        self.bytes = self.bytes.saturating_add(cell.amount());
        self.failed = self.failed.saturating_add(cell.flag(flags::FAILED));
        self.responses.take_times(&cell.responses);
        self.depth_sum = self.depth_sum.saturating_add(cell.depth_sum);
        self.depths = self.depths.saturating_add(cell.depths);
        self.depth_max = self.depth_max.max(cell.depth_max);
        self.queued.merge(Queued::of_cell(cell));
        self.offsets |= cell.offsets;
    }

    /// Counts a row.
    #[inline]
    pub fn add(&mut self, rows: &Rows<'_>, row: usize) {
        self.ios += 1;
        self.bytes = self.bytes.saturating_add(u64::from(rows.batch.bytes(row)));
        if rows.batch.flags(row) & flags::FAILED != 0 {
            self.failed += 1;
        }
        if let Some(response) = rows.response_ns(row) {
            self.responses.add(response);
        }
        let depth = rows.depth[row];
        self.depth_sum += u64::from(depth);
        self.depths += u64::from(depth > 0);
        self.depth_max = self.depth_max.max(depth);
        self.queued.add(rows, row);
        self.offsets |= rows.batch.offset(row);
    }
}
