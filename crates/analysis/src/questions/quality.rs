//! Completeness of a capture's I/Os: the number without a response time, without a process, without
//! a queue time, or beyond the end of their device.

use crate::cells::{Dimensions, FilteredCells};
use crate::fold::{AnnotatedRows, EmptyLike, Fold, FoldCells, ParallelFold};
use serde::Serialize;
use std::ops::Range;
use steadfast_domain::CaptureConditions;
use steadfast_domain::Layer;
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};
use steadfast_tracefile::batch::PART_MAX;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};
use steadfast_tracefile::simd;

/// I/Os by what is not known of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Completeness {
    /// All I/Os.
    pub ios: u64,
    /// Of the block layer.
    pub at_block_layer: u64,
    /// Without a response time.
    pub no_response: u64,
    /// Without process number and command name; `None` where only sums were kept.
    pub no_process: Option<u64>,
    /// Of the block layer without a time in the queue; `None` where only sums were kept.
    pub no_queue_time: Option<u64>,
    /// Without a queue depth.
    pub no_depth: u64,
    /// That failed.
    pub failed: u64,
    /// That end beyond their device's size; `None` where only sums were kept.
    pub beyond_device: Option<u64>,
    #[serde(skip)]
    sizes: Vec<Option<u64>>,
}

impl Completeness {
    /// Creates empty counts for a capture of these devices.
    pub fn from_conditions(conditions: &CaptureConditions) -> Self {
        let sizes = conditions.devices.iter().map(|device| device.capacity.map(|size| size.0));
        Completeness { sizes: sizes.collect(), ..Completeness::default() }
    }

    fn take_part(&mut self, part: (&AnnotatedRows<'_>, &Range<usize>)) {
        self.count_layers(part);
        self.count_unknown(part);
        self.count_beyond(part);
        let flags = part.0.batch.narrow(Field::Flags);
        let any = simd::bits_of_flags(flags.part(part.1.clone())).cast_unsigned();
        let failed = u32::from(flags::FAILED);
        self.failed += count(part, any & failed != 0, |row| flags.at(row) & failed != 0);
    }

    fn count_layers(&mut self, part: (&AnnotatedRows<'_>, &Range<usize>)) {
        let (rows, range) = part;
        let layer = rows.batch.narrow(Field::Layer);
        let ios = if simd::are_all(&rows.kept[range.clone()]) {
            range.len() as u64
        } else {
            count(part, true, |_| true)
        };
        let may_differ = simd::bits_of_flags(layer.part(range.clone())) != 0;
        let others = count(part, may_differ, |row| layer.layer(row) != Layer::Block);
        self.ios += ios;
        self.at_block_layer += ios - others;
    }

    fn count_unknown(&mut self, part: (&AnnotatedRows<'_>, &Range<usize>)) {
        let (rows, range) = part;
        let (batch, here) = (rows.batch, || range.clone());
        let (response, queued) = (batch.wide(Field::Response), batch.wide(Field::Queued));
        let (pid, layer) = (batch.narrow(Field::Pid), batch.narrow(Field::Layer));
        let may_be = simd::bits_of_any(response.part(here())) < 0;
        self.no_response += count(part, may_be, |row| response.at(row) == RESPONSE_UNKNOWN);
        let (_, may_be) = simd::bits_of_depths(&rows.depth[here()]);
        self.no_depth += count(part, may_be, |row| rows.depth[row] == 0);
        let may_be = simd::any_zero(pid.part(here()));
        let is_nobody = |row| pid.at(row) == 0 && batch.command(row).is_empty();
        *self.no_process.get_or_insert(0) += count(part, may_be, is_nobody);
        let may_be = simd::any_below_one(queued.part(here()));
        let is_unqueued = |row| queued.at(row) == 0 && layer.layer(row) == Layer::Block;
        *self.no_queue_time.get_or_insert(0) += count(part, may_be, is_unqueued);
    }

    fn count_beyond(&mut self, part: (&AnnotatedRows<'_>, &Range<usize>)) {
        let (batch, range) = (part.0.batch, part.1);
        let (offset, bytes) = (batch.wide(Field::Offset), batch.narrow(Field::Bytes));
        let (layer, device) = (batch.narrow(Field::Layer), batch.narrow(Field::Device));
        let smallest = self.sizes.iter().flatten().min().copied().unwrap_or(u64::MAX);
        let furthest = simd::furthest_end(offset.part(range.clone()), bytes.part(range.clone()));
        let may_be = furthest.is_none_or(|end| end > smallest);
        let end = |row| offset.at(row).saturating_add(u64::from(bytes.at(row)));
        let is_beyond = |row| {
            end(row) > self.end_of(device.at(row) & 0xffff) && layer.layer(row) == Layer::Block
        };
        let beyond = count(part, may_be, is_beyond);
        *self.beyond_device.get_or_insert(0) += beyond;
    }

    /// Returns the end of a device; `u64::MAX` if its size is unknown.
    #[inline]
    fn end_of(&self, device: u32) -> u64 {
        self.sizes.get(device as usize).copied().flatten().unwrap_or(u64::MAX)
    }
}

/// Counts the selected rows of a part for which a property holds. Each property is tested for all
/// rows before the next one, and only if `may_hold` says that any row may have it.
#[inline(always)]
fn count(
    (rows, part): (&AnnotatedRows<'_>, &Range<usize>),
    may_hold: bool,
    holds: impl Fn(usize) -> bool,
) -> u64 {
    if !may_hold {
        return 0;
    }
    part.clone().map(|row| u64::from(rows.kept[row] && holds(row))).sum()
}

impl EmptyLike for Completeness {
    fn alike(&self) -> Self {
        Completeness { sizes: self.sizes.clone(), ..Completeness::default() }
    }
}

impl Fold for Completeness {
    fn fields(&self) -> Fields {
        Fields::new(&[
            Field::Response,
            Field::Queued,
            Field::Depth,
            Field::Pid,
            Field::Command,
            Field::Flags,
            Field::Device,
            Field::Layer,
            Field::Offset,
            Field::Bytes,
        ])
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        for first in (0..rows.kept.len()).step_by(PART_MAX) {
            self.take_part((rows, &(first..rows.kept.len().min(first + PART_MAX))));
        }
        Ok(())
    }
    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }
    fn as_cell_fold(&mut self, _: Dimensions) -> Result<&mut dyn FoldCells, NotRecorded> {
        Ok(self)
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        let both = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.ios = self.ios.saturating_add(other.ios);
        self.at_block_layer = self.at_block_layer.saturating_add(other.at_block_layer);
        self.no_response = self.no_response.saturating_add(other.no_response);
        self.no_process = both(self.no_process, other.no_process);
        self.no_queue_time = both(self.no_queue_time, other.no_queue_time);
        self.no_depth = self.no_depth.saturating_add(other.no_depth);
        self.failed = self.failed.saturating_add(other.failed);
        self.beyond_device = both(self.beyond_device, other.beyond_device);
        Ok(())
    }
}

impl FoldCells for Completeness {
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        let (mut no_process, mut no_queue_time, mut beyond) = (0u64, 0u64, 0u64);
        for cell in cells.cells {
            let is_block = cell.layer == Layer::Block;
            let unnamed = cell.who.pid == 0 && cell.who.command.is_empty();
            let at_block_layer = |count: u64| if is_block { count } else { 0 };
            self.ios = self.ios.saturating_add(cell.ios);
            self.at_block_layer = self.at_block_layer.saturating_add(at_block_layer(cell.ios));
            self.no_response += cell.ios.saturating_sub(cell.responses.count);
            self.no_depth += cell.ios.saturating_sub(cell.depths);
            self.failed = self.failed.saturating_add(cell.flag(flags::FAILED));
            no_process += if unnamed { cell.ios } else { 0 };
            no_queue_time += at_block_layer(cell.ios.saturating_sub(cell.queued.count));
            beyond = beyond.saturating_add(cell.beyond);
        }
        if cells.dimensions.processes {
            *self.no_process.get_or_insert(0) += no_process;
        }
        if cells.dimensions.single_ios {
            *self.no_queue_time.get_or_insert(0) += no_queue_time;
            *self.beyond_device.get_or_insert(0) += beyond;
        }
        Ok(())
    }
}
