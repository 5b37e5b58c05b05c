//! What an I/O stream is named by ([`StreamKey`]) and what its I/Os add up to
//! ([`StreamTally`]).

use crate::cells::Cell;
use crate::error::TraceError;
use crate::fold::Rows;
use crate::queue::Queued;
use crate::response::Responses;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use steadfast_domain::IoOp;
use steadfast_domain::io_event::{StreamInStep, flags};
use steadfast_domain::units::Bytes;

/// A distinct combination of operation, order and transfer size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamKey {
    /// What it does.
    pub op: IoOp,
    /// SEQ, otherwise RND.
    pub sequential: bool,
    /// Transfer size in bytes.
    pub bytes: u32,
}

impl StreamKey {
    /// `RND` or `SEQ`.
    pub fn order(&self) -> &'static str {
        if self.sequential { "SEQ" } else { "RND" }
    }
    /// That of a row of a step file.
    #[inline]
    pub(crate) fn of_sum(row: &StreamInStep) -> StreamKey {
        StreamKey { op: row.op, sequential: row.sequential, bytes: row.bytes }
    }
    #[inline]
    pub(crate) fn packed(op: IoOp, sequential: bool, bytes: u32) -> u64 {
        Self::packed_number(op as u32, sequential, bytes)
    }
    /// Of an operation's number; one that means nothing counts as `Other`.
    #[inline]
    pub(crate) fn packed_number(op: u32, sequential: bool, bytes: u32) -> u64 {
        let op = op.min(IoOp::Other as u32);
        // Never 0, which marks a free place of the table.
        1 << 40 | u64::from(sequential) << 36 | u64::from(op) << 32 | u64::from(bytes)
    }
    /// The other way round.
    pub(crate) fn unpacked(key: u64) -> StreamKey {
        let op = u8::try_from(key >> 32 & 7).ok().and_then(IoOp::of_number).unwrap_or(IoOp::Other);
        StreamKey { op, sequential: key >> 36 & 1 == 1, bytes: (key & u64::from(u32::MAX)) as u32 }
    }
}

impl fmt::Display for StreamKey {
    /// The standard's notation: `RND 4K W`, `SEQ 128K R`, `FLUSH`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Bytes(u64::from(self.bytes)).transfer_size();
        let op = match self.op {
            IoOp::Read => "R",
            IoOp::Write => "W",
            IoOp::Discard => "DISCARD",
            IoOp::Flush if self.bytes == 0 => return f.write_str("FLUSH"),
            IoOp::Flush => "FLUSH",
            IoOp::Other => "OTHER",
        };
        write!(f, "{} {size} {op}", self.order())
    }
}

impl FromStr for StreamKey {
    type Err = TraceError;
    fn from_str(text: &str) -> Result<Self, TraceError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_ascii_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let key = match words.as_slice() {
            ["FLUSH"] => Some(StreamKey { op: IoOp::Flush, sequential: false, bytes: 0 }),
            [order, size, op] => parse_key(order, size, op),
            _ => None,
        };
        key.ok_or_else(|| {
            let what = format!(
                "'{text}' is not an I/O stream; write it like \"RND 4K W\" or \"SEQ 128K \
                    R\""
            );
            TraceError::Unsuitable(what)
        })
    }
}

fn parse_key(order: &str, size: &str, op: &str) -> Option<StreamKey> {
    let sequential = match order {
        "RND" => false,
        "SEQ" => true,
        _ => return None,
    };
    let op = match op {
        "R" => IoOp::Read,
        "W" => IoOp::Write,
        "DISCARD" | "TRIM" => IoOp::Discard,
        "FLUSH" => IoOp::Flush,
        "OTHER" => IoOp::Other,
        _ => return None,
    };
    let size: Bytes = size.parse().ok()?;
    Some(StreamKey { op, sequential, bytes: u32::try_from(size.0).ok()? })
}

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

    /// Adds I/Os of one size that were added up before.
    pub(crate) fn take_sum(&mut self, sum: &StreamInStep) {
        self.ios = self.ios.saturating_add(sum.ios);
        self.bytes = self.bytes.saturating_add(sum.ios.saturating_mul(u64::from(sum.bytes)));
        self.failed = self.failed.saturating_add(sum.failed);
        self.responses.take_sum(sum.responses, sum.response_sum_ns, sum.response_max_ns);
        self.depth_sum = self.depth_sum.saturating_add(sum.depth_sum);
        self.depths = self.depths.saturating_add(sum.ios);
        self.depth_max = self.depth_max.max(sum.depth_max);
        self.offsets |= sum.offsets;
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
