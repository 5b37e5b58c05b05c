//! Completeness of a capture's I/Os: the number without a response time, without a process, without
//! a queue time, or beyond the end of their device.

use crate::cells::{Dimensions, FilteredCells};
use crate::fold::{AnnotatedRows, Fold};
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

/// Numbers of I/Os with unknown or invalid values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Completeness {
    /// All I/Os.
    pub ios: u64,
    /// I/Os of the block layer.
    pub at_block_layer: u64,
    /// I/Os without a response time.
    pub no_response: u64,
    /// I/Os without process ID and command name; `None` if only sums were kept.
    pub no_process: Option<u64>,
    /// I/Os of the block layer without a time in the queue; `None` if only sums were kept.
    pub no_queue_time: Option<u64>,
    /// I/Os without a queue depth.
    pub no_depth: u64,
    /// Failed I/Os.
    pub failed: u64,
    /// I/Os that end beyond the size of their device; `None` if only sums were kept.
    pub beyond_device: Option<u64>,
    /// Sizes of the devices in bytes, by device number.
    #[serde(skip)]
    sizes: Vec<Option<u64>>,
}

impl Completeness {
    /// Creates empty counts for a capture of these devices.
    pub fn from_conditions(conditions: &CaptureConditions) -> Self {
        let sizes = conditions.devices.iter().map(|device| device.capacity.map(|size| size.0));
        Completeness { sizes: sizes.collect(), ..Completeness::default() }
    }

    fn take_part(&mut self, rows: &AnnotatedRows<'_>, range: &Range<usize>) {
        self.count_layers(rows, range);
        self.count_unknown(rows, range);
        self.count_beyond(rows, range);
        let flags = rows.batch.narrow(Field::Flags);
        let failed = u32::from(flags::FAILED);
        let may_fail = simd::bits_of_flags(flags.part(range.clone())).cast_unsigned() & failed != 0;
        self.failed += count(rows, range, may_fail, |row| flags.at(row) & failed != 0);
    }

    fn count_layers(&mut self, rows: &AnnotatedRows<'_>, range: &Range<usize>) {
        let layer = rows.batch.narrow(Field::Layer);
        let ios = if simd::are_all(&rows.kept[range.clone()]) {
            range.len() as u64
        } else {
            count(rows, range, true, |_| true)
        };
        let may_differ = simd::bits_of_flags(layer.part(range.clone())) != 0;
        let others = count(rows, range, may_differ, |row| layer.layer(row) != Layer::Block);
        self.ios += ios;
        self.at_block_layer += ios - others;
    }

    fn count_unknown(&mut self, rows: &AnnotatedRows<'_>, range: &Range<usize>) {
        let batch = rows.batch;
        let (response, queued) = (batch.wide(Field::Response), batch.wide(Field::Queued));
        let (pid, layer) = (batch.narrow(Field::Pid), batch.narrow(Field::Layer));
        let any_unknown = simd::bits_of_any(response.part(range.clone())) < 0;
        self.no_response +=
            count(rows, range, any_unknown, |row| response.at(row) == RESPONSE_UNKNOWN);
        let (_, any_zero_depth) = simd::bits_of_depths(&rows.depth[range.clone()]);
        self.no_depth += count(rows, range, any_zero_depth, |row| rows.depth[row] == 0);
        let any_zero_pid = simd::any_zero(pid.part(range.clone()));
        let lacks_process = |row| pid.at(row) == 0 && batch.command(row).is_empty();
        *self.no_process.get_or_insert(0) += count(rows, range, any_zero_pid, lacks_process);
        let any_unqueued = simd::any_below_one(queued.part(range.clone()));
        let is_unqueued = |row| queued.at(row) == 0 && layer.layer(row) == Layer::Block;
        *self.no_queue_time.get_or_insert(0) += count(rows, range, any_unqueued, is_unqueued);
    }

    fn count_beyond(&mut self, rows: &AnnotatedRows<'_>, range: &Range<usize>) {
        let batch = rows.batch;
        let (offset, bytes) = (batch.wide(Field::Offset), batch.narrow(Field::Bytes));
        let (layer, device) = (batch.narrow(Field::Layer), batch.narrow(Field::Device));
        let smallest = self.sizes.iter().flatten().min().copied().unwrap_or(u64::MAX);
        let furthest = simd::furthest_end(offset.part(range.clone()), bytes.part(range.clone()));
        let any_beyond = furthest.is_none_or(|end| end > smallest);
        let end = |row| offset.at(row).saturating_add(u64::from(bytes.at(row)));
        let is_beyond = |row| {
            end(row) > self.end_of(device.at(row) & 0xffff) && layer.layer(row) == Layer::Block
        };
        *self.beyond_device.get_or_insert(0) += count(rows, range, any_beyond, is_beyond);
    }

    /// Returns the end of a device; `u64::MAX` if its size is unknown.
    #[inline]
    fn end_of(&self, device: u32) -> u64 {
        self.sizes.get(device as usize).copied().flatten().unwrap_or(u64::MAX)
    }
}

/// Counts the selected rows of a range for which `holds` returns true. Returns 0 at once unless
/// `may_hold`, which says that a row of the range may have the property.
#[inline(always)]
fn count(
    rows: &AnnotatedRows<'_>,
    range: &Range<usize>,
    may_hold: bool,
    holds: impl Fn(usize) -> bool,
) -> u64 {
    if !may_hold {
        return 0;
    }
    range.clone().map(|row| u64::from(rows.kept[row] && holds(row))).sum()
}

/// Adds two numbers; if only one is known, returns that one.
fn add_known(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.saturating_add(b)),
        (a, b) => a.or(b),
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
            self.take_part(rows, &(first..rows.kept.len().min(first + PART_MAX)));
        }
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(Completeness { sizes: self.sizes.clone(), ..Completeness::default() })
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Ok(())
    }
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        let (mut no_process, mut no_queue_time, mut beyond) = (0u64, 0u64, 0u64);
        for cell in cells.cells {
            let is_block = cell.layer == Layer::Block;
            let lacks_process = cell.who.pid == 0 && cell.who.command.is_empty();
            let at_block_layer = |count: u64| if is_block { count } else { 0 };
            self.ios = self.ios.saturating_add(cell.ios);
            self.at_block_layer = self.at_block_layer.saturating_add(at_block_layer(cell.ios));
            self.no_response += cell.ios.saturating_sub(cell.responses.total.count);
            self.no_depth += cell.ios.saturating_sub(cell.depths.count);
            self.failed = self.failed.saturating_add(cell.flag(flags::FAILED));
            no_process += if lacks_process { cell.ios } else { 0 };
            no_queue_time += at_block_layer(cell.ios.saturating_sub(cell.queued.total.count));
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
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.ios = self.ios.saturating_add(other.ios);
        self.at_block_layer = self.at_block_layer.saturating_add(other.at_block_layer);
        self.no_response = self.no_response.saturating_add(other.no_response);
        self.no_process = add_known(self.no_process, other.no_process);
        self.no_queue_time = add_known(self.no_queue_time, other.no_queue_time);
        self.no_depth = self.no_depth.saturating_add(other.no_depth);
        self.failed = self.failed.saturating_add(other.failed);
        self.beyond_device = add_known(self.beyond_device, other.beyond_device);
        Ok(())
    }
}
