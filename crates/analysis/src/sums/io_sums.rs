//! [`IoSums`] of I/Os that share a stream, a process, a device or several of these.

use crate::cells::{CubeCell, FLAGS, Times};
use crate::cube::CellSums;
use crate::device_layer::DeviceLayer;
use crate::fold::AnnotatedRows;
use crate::sums::content::Contents;
use crate::sums::io_count::IoCount;
use crate::sums::queue_time::QueueResponseSums;
use crate::sums::response::ResponseHistogram;
use serde::{Deserialize, Serialize};
use steadfast_domain::IoOp;
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};
use steadfast_tracefile::batch::{NarrowColumn, WideColumn};
use steadfast_tracefile::parquet::{Field, Fields};

/// Sums of I/Os. Merging the sums of parts, in any order, gives those of the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoSums {
    /// I/Os by operation, in the order of `IoOp::ALL`.
    pub ios: [u64; 5],
    /// Bytes by operation.
    pub bytes: [u64; 5],
    /// Sequential I/Os.
    pub sequential: u64,
    /// Response times.
    pub responses: ResponseHistogram,
    /// Queue times, of the I/Os for which they are known.
    pub queued: ResponseHistogram,
    /// Times of the I/Os for which both queue time and response time are known.
    pub together: QueueResponseSums,
    /// Sum of the queue depths at issue, over [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// I/Os with a known queue depth.
    pub depths: u64,
    /// Highest queue depth at issue.
    pub depth_max: u32,
    /// Bitwise OR of all offsets: its trailing zeros give the alignment.
    pub offsets: u64,
    /// I/Os by bit of `io_event::flags`.
    pub flags: [u64; FLAGS],
    /// I/Os with known flags.
    pub flagged: u64,
    /// I/Os that end beyond their device; 0 from [`Self::add`], which does not know its size.
    pub beyond: u64,
    /// Requests that were merged into these I/Os.
    pub merged: u64,
    /// Content measurements of the blocks that they wrote.
    pub contents: Contents,
    /// Issue time of the first and the last I/O, in nanoseconds.
    pub span_ns: Option<(u64, u64)>,
}

impl IoSums {
    /// The columns of single I/Os that [`Self::add`] needs. Sums of other columns stay zero if
    /// these are not read.
    pub const FIELDS: Fields =
        Fields::new(&[Field::Issued, Field::Op, Field::Bytes, Field::Response, Field::Queued]);

    /// Returns the number of I/Os of all operations.
    pub fn count(&self) -> u64 {
        self.ios.iter().fold(0, |sum, ios| sum.saturating_add(*ios))
    }

    /// Returns the bytes of all operations.
    pub fn amount(&self) -> u64 {
        self.bytes.iter().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// Returns the number of I/Os with a flag.
    pub fn flag(&self, bit: u16) -> u64 {
        self.flags.get(bit.trailing_zeros() as usize).copied().unwrap_or(0)
    }

    /// Returns the number of I/Os that failed.
    pub fn failed(&self) -> u64 {
        self.flag(flags::FAILED)
    }

    /// Returns the mean queue depth at issue, or `None` if no depth is known.
    pub fn depth_mean(&self) -> Option<f64> {
        (self.depths > 0).then(|| self.depth_sum as f64 / self.depths as f64)
    }

    /// Returns the largest power of two that divides every offset, or `None` if all offsets were 0.
    pub fn alignment(&self) -> Option<u64> {
        (self.offsets != 0).then(|| 1 << self.offsets.trailing_zeros())
    }

    /// Returns the largest queue depth at issue, or `None` if no depth is known.
    pub fn depth_max(&self) -> Option<u32> {
        (self.depths > 0).then_some(self.depth_max)
    }

    /// Returns the mean size of an I/O in bytes, or `None` if there are none.
    pub fn size_mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.amount() as f64 / self.count() as f64)
    }

    /// Returns the I/Os of an operation.
    pub fn of_op(&self, op: IoOp) -> IoCount {
        IoCount { ios: self.ios[op as usize], bytes: self.bytes[op as usize] }
    }

    /// Returns the reads and writes.
    pub fn transfers(&self) -> IoCount {
        let mut both = self.of_op(IoOp::Read);
        both.add(self.of_op(IoOp::Write));
        both
    }

    /// Returns the share of reads among reads and writes, or `None` if there are neither.
    pub fn read_share(&self) -> Option<f64> {
        let all = self.transfers().ios;
        (all > 0).then(|| self.of_op(IoOp::Read).ios as f64 / all as f64)
    }

    /// Returns the sums without the histograms of the times, which take most of the memory.
    pub(crate) fn without_histograms(&self) -> Self {
        let [responses, queued] =
            [&self.responses, &self.queued].map(ResponseHistogram::without_histogram);
        IoSums { responses, queued, ..*self }
    }

    /// Adds the sums of another part.
    pub fn merge(&mut self, other: &IoSums) {
        for op in 0..self.ios.len() {
            self.ios[op] = self.ios[op].saturating_add(other.ios[op]);
            self.bytes[op] = self.bytes[op].saturating_add(other.bytes[op]);
        }
        self.sequential = self.sequential.saturating_add(other.sequential);
        self.responses.merge(&other.responses);
        self.queued.merge(&other.queued);
        self.together.merge(other.together);
        self.depth_sum = self.depth_sum.saturating_add(other.depth_sum);
        self.depths = self.depths.saturating_add(other.depths);
        self.depth_max = self.depth_max.max(other.depth_max);
        self.offsets |= other.offsets;
        for (ours, theirs) in self.flags.iter_mut().zip(&other.flags) {
            *ours = ours.saturating_add(*theirs);
        }
        self.flagged = self.flagged.saturating_add(other.flagged);
        self.beyond = self.beyond.saturating_add(other.beyond);
        self.merged = self.merged.saturating_add(other.merged);
        self.contents.merge(other.contents);
        if let Some(span_ns) = other.span_ns {
            self.reach(span_ns);
        }
    }

    /// Adds the sums of another part and takes over its memory where possible.
    pub(crate) fn take_in(&mut self, mut other: IoSums) {
        self.responses.take_over(&mut other.responses);
        self.queued.take_over(&mut other.queued);
        self.merge(&other);
    }

    /// Adds one I/O.
    #[inline]
    pub fn add(&mut self, columns: &SumColumns<'_>, row: usize) {
        let op = columns.op.op(row) as usize;
        self.ios[op] += 1;
        self.bytes[op] = self.bytes[op].saturating_add(u64::from(columns.bytes.at(row)));
        self.sequential += u64::from(columns.rows.sequential[row]);
        self.add_times(columns.response.at(row), columns.queued.at(row), columns.percentiles);
        let depth = columns.rows.depth[row];
        self.depth_sum = self.depth_sum.saturating_add(u64::from(depth));
        self.depths += u64::from(depth > 0);
        self.depth_max = self.depth_max.max(depth);
        self.offsets |= columns.offset.at(row);
        self.merged += u64::from(columns.merged.at(row) & 0xffff);
        if columns.sampled.at(row) & 0xffff > 0 {
            self.contents.count(columns.rows.batch.content(row));
        }
        self.add_flags(columns.flags.at(row));
        let issued_ns = columns.issued.at(row);
        self.reach((issued_ns, issued_ns));
    }

    /// Adds the response time and the queue time of an I/O, if known.
    #[inline]
    fn add_times(&mut self, response_ns: u64, queued_ns: u64, has_percentiles: bool) {
        let is_answered = response_ns != RESPONSE_UNKNOWN;
        let add = |times: &mut ResponseHistogram, ns| {
            if has_percentiles { times.add(ns) } else { times.take_sum(1, ns, ns) }
        };
        if is_answered {
            add(&mut self.responses, response_ns);
        }
        if queued_ns > 0 {
            add(&mut self.queued, queued_ns);
        }
        if is_answered && queued_ns > 0 {
            self.together.add(queued_ns, response_ns);
        }
    }

    /// Counts the flags of an I/O. The loop is short: most I/Os have one flag or none.
    #[inline]
    fn add_flags(&mut self, mut bits: u32) {
        self.flagged += 1;
        while bits != 0 {
            if let Some(count) = self.flags.get_mut(bits.trailing_zeros() as usize) {
                *count += 1;
            }
            bits &= bits - 1;
        }
    }

    #[inline]
    fn reach(&mut self, (first, last): (u64, u64)) {
        let (from, to) = self.span_ns.unwrap_or((first, last));
        self.span_ns = Some((from.min(first), to.max(last)));
    }

    /// Adds a cell of a step file or a fold file. `knows_flags` is false for sums of the kernel,
    /// which record no flag except failures; `percentiles` says whether histograms are kept.
    pub fn add_cell(&mut self, cell: &CubeCell, knows_flags: bool, percentiles: bool) {
        let take = |ours: &mut ResponseHistogram, times: &Times| {
            if percentiles {
                ours.take_times(times);
            } else {
                ours.take_sum(times.count, times.sum_ns, times.max_ns);
            }
        };
        let op = cell.op as usize;
        self.ios[op] = self.ios[op].saturating_add(cell.ios);
        self.bytes[op] = self.bytes[op].saturating_add(cell.amount());
        let sequential = if cell.sequential { cell.ios } else { 0 };
        self.sequential = self.sequential.saturating_add(sequential);
        take(&mut self.responses, &cell.responses);
        take(&mut self.queued, &cell.queued);
        self.together.merge(QueueResponseSums::of_cell(cell));
        self.depth_sum = self.depth_sum.saturating_add(cell.depth_sum);
        self.depths = self.depths.saturating_add(cell.depths);
        self.depth_max = self.depth_max.max(cell.depth_max);
        self.offsets |= cell.offsets;
        let flagged = if knows_flags { cell.ios } else { 0 };
        self.flagged = self.flagged.saturating_add(flagged);
        self.beyond = self.beyond.saturating_add(cell.beyond);
        self.merged = self.merged.saturating_add(cell.merged);
        self.contents.merge(cell.contents);
        for (ours, theirs) in self.flags.iter_mut().zip(&cell.flags) {
            *ours = ours.saturating_add(*theirs);
        }
        self.reach(cell.span_ns);
    }
}

impl CellSums for IoSums {
    fn merge(&mut self, other: &Self) {
        IoSums::merge(self, other);
    }
}

/// The columns that sums are computed from, looked up once for many rows.
pub struct SumColumns<'r> {
    pub(crate) rows: &'r AnnotatedRows<'r>,
    pub(crate) issued: WideColumn<'r>,
    pub(crate) response: WideColumn<'r>,
    pub(crate) queued: WideColumn<'r>,
    offset: WideColumn<'r>,
    pub(crate) op: NarrowColumn<'r>,
    pub(crate) bytes: NarrowColumn<'r>,
    merged: NarrowColumn<'r>,
    pub(crate) sampled: NarrowColumn<'r>,
    flags: NarrowColumn<'r>,
    device: NarrowColumn<'r>,
    layer: NarrowColumn<'r>,
    percentiles: bool,
}

impl<'r> SumColumns<'r> {
    /// Looks up the columns; `percentiles` asks for histograms of the times.
    pub fn new(rows: &'r AnnotatedRows<'r>, percentiles: bool) -> Self {
        let batch = rows.batch;
        SumColumns {
            rows,
            issued: batch.wide(Field::Issued),
            response: batch.wide(Field::Response),
            queued: batch.wide(Field::Queued),
            offset: batch.wide(Field::Offset),
            op: batch.narrow(Field::Op),
            bytes: batch.narrow(Field::Bytes),
            merged: batch.narrow(Field::Merged),
            sampled: batch.narrow(Field::SampledBlocks),
            flags: batch.narrow(Field::Flags),
            device: batch.narrow(Field::Device),
            layer: batch.narrow(Field::Layer),
            percentiles,
        }
    }

    /// Returns the device and the layer of a row.
    #[inline]
    pub(crate) fn side(&self, row: usize) -> DeviceLayer {
        DeviceLayer { device: self.device.at(row) as u16, layer: self.layer.layer(row) }
    }
}
