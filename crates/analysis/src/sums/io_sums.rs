//! [`IoSums`] of I/Os that share a stream, a process, a device or several of these.

use crate::cells::{CubeCell, FLAGS};
use crate::cube::CellSums;
use crate::device_layer::DeviceLayer;
use crate::fold::AnnotatedRows;
use crate::sums::io_times::IoTimes;
use crate::sums::op_sums::OpSums;
use crate::sums::response::ResponseHistogram;
use serde::{Deserialize, Serialize};
use steadfast_domain::IoOp;
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};
use steadfast_tracefile::batch::{NarrowColumn, WideColumn};
use steadfast_tracefile::parquet::{Field, Fields};

/// Sums of I/Os. Merging the sums of parts, in any order, gives those of the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoSums {
    /// Sums by operation, in the order of `IoOp::ALL`.
    pub ops: [OpSums; IoOp::ALL.len()],
    /// Times, queue depths and written blocks.
    pub times: IoTimes<ResponseHistogram>,
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
        OpSums::total(self.ops).ios
    }

    /// Returns the bytes of all operations.
    pub fn amount(&self) -> u64 {
        OpSums::total(self.ops).bytes
    }

    /// Returns the number of sequential I/Os of all operations.
    pub fn sequential(&self) -> u64 {
        OpSums::total(self.ops).sequential
    }

    /// Returns the number of I/Os with a flag.
    pub fn flag(&self, bit: u16) -> u64 {
        self.flags.get(bit.trailing_zeros() as usize).copied().unwrap_or(0)
    }

    /// Returns the number of I/Os that failed.
    pub fn failed(&self) -> u64 {
        self.flag(flags::FAILED)
    }

    /// Returns the largest power of two that divides every offset, or `None` if all offsets were 0.
    pub fn alignment(&self) -> Option<u64> {
        (self.offsets != 0).then(|| 1 << self.offsets.trailing_zeros())
    }

    /// Returns the mean size of an I/O in bytes, or `None` if there are none.
    pub fn size_mean(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.amount() as f64 / self.count() as f64)
    }

    /// Returns the I/Os of an operation.
    pub fn of_op(&self, op: IoOp) -> OpSums {
        self.ops[op as usize]
    }

    /// Returns the reads and writes.
    pub fn transfers(&self) -> OpSums {
        OpSums::transfers(&self.ops)
    }

    /// Returns the share of reads among reads and writes, or `None` if there are neither.
    pub fn read_share(&self) -> Option<f64> {
        let all = self.transfers().ios;
        (all > 0).then(|| self.of_op(IoOp::Read).ios as f64 / all as f64)
    }

    /// Returns the sums without the histograms of the times, which take most of the memory.
    pub(crate) fn without_histograms(&self) -> Self {
        let responses = self.times.responses.without_histogram();
        let queued = self.times.queued.without_histogram();
        IoSums { times: IoTimes { responses, queued, ..self.times }, ..*self }
    }

    /// Adds one I/O.
    #[inline]
    pub fn add(&mut self, columns: &SumColumns<'_>, row: usize) {
        let op = columns.op.op(row) as usize;
        self.ops[op].add(columns.bytes.at(row), columns.rows.sequential[row]);
        let response_ns = columns.response.at(row);
        self.times.add_with(
            (response_ns != RESPONSE_UNKNOWN).then_some(response_ns),
            columns.queued.at(row),
            columns.rows.depth[row],
            |times, ns| if columns.percentiles { times.add(ns) } else { times.total.add(ns) },
        );
        self.offsets |= columns.offset.at(row);
        self.merged += u64::from(columns.merged.at(row) & 0xffff);
        if columns.sampled.at(row) & 0xffff > 0 {
            self.times.contents.count(columns.rows.batch.content(row));
        }
        self.add_flags(columns.flags.at(row));
        let issued_ns = columns.issued.at(row);
        self.reach((issued_ns, issued_ns));
    }

    /// Adds one I/O to the sums of its stream. A capture may have many streams, so their sums hold
    /// only what listings of streams show: of the flags only failures, no histogram of times in the
    /// queue, no issue times, no merges and no content.
    #[inline]
    pub(crate) fn add_of_stream(&mut self, columns: &SumColumns<'_>, row: usize) {
        let op = columns.op.op(row) as usize;
        self.ops[op].add(columns.bytes.at(row), columns.rows.sequential[row]);
        self.offsets |= columns.offset.at(row);
        self.times.depths.add(columns.rows.depth[row]);
        let has_failed = columns.flags.at(row) & u32::from(flags::FAILED) != 0;
        self.flags[flags::FAILED.trailing_zeros() as usize] += u64::from(has_failed);
        let (response_ns, queued_ns) = (columns.response.at(row), columns.queued.at(row));
        if response_ns != RESPONSE_UNKNOWN {
            self.times.responses.add(response_ns);
        }
        if queued_ns > 0 {
            self.times.queued.total.add(queued_ns);
            if response_ns != RESPONSE_UNKNOWN {
                self.times.together.add(queued_ns, response_ns);
            }
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
        self.ops[cell.op as usize].merge(OpSums::from_cell(cell));
        self.times.add_cell_with(cell, |times, more| {
            if percentiles {
                times.add_times(more);
            } else {
                times.total.merge(more.total);
            }
        });
        self.offsets |= cell.offsets;
        let flagged = if knows_flags { cell.ios } else { 0 };
        self.flagged = self.flagged.saturating_add(flagged);
        self.beyond = self.beyond.saturating_add(cell.beyond);
        self.merged = self.merged.saturating_add(cell.merged);
        for (ours, theirs) in self.flags.iter_mut().zip(&cell.flags) {
            *ours = ours.saturating_add(*theirs);
        }
        self.reach(cell.span_ns);
    }
}

impl CellSums for IoSums {
    fn merge(&mut self, other: &Self) {
        OpSums::merge_each(&mut self.ops, &other.ops);
        self.times.merge_with(&other.times, ResponseHistogram::merge);
        self.offsets |= other.offsets;
        for (ours, theirs) in self.flags.iter_mut().zip(&other.flags) {
            *ours = ours.saturating_add(*theirs);
        }
        self.flagged = self.flagged.saturating_add(other.flagged);
        self.beyond = self.beyond.saturating_add(other.beyond);
        self.merged = self.merged.saturating_add(other.merged);
        if let Some(span_ns) = other.span_ns {
            self.reach(span_ns);
        }
    }

    fn absorb(&mut self, mut other: Self) {
        self.times.responses.take_over(&mut other.times.responses);
        self.times.queued.take_over(&mut other.times.queued);
        self.merge(&other);
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

    #[inline]
    pub(crate) fn side(&self, row: usize) -> DeviceLayer {
        DeviceLayer { device: self.device.at(row) as u16, layer: self.layer.layer(row) }
    }
}
