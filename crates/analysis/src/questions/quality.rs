//! Completeness of a capture's I/Os: the number without a response time, without a process, without
//! a queue time, or beyond the end of their device.

use crate::cells::{Dimensions, FilteredCells};
use crate::fold::{AnnotatedRows, Fold};
use serde::Serialize;
use steadfast_domain::CaptureConditions;
use steadfast_domain::Layer;
use steadfast_domain::io_event::{RESPONSE_UNKNOWN, flags};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};

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

    /// Returns the end of a device; `u64::MAX` if its size is unknown.
    #[inline]
    fn end_of(&self, device: u32) -> u64 {
        self.sizes.get(device as usize).copied().flatten().unwrap_or(u64::MAX)
    }
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
        let batch = rows.batch;
        let (response, queued) = (batch.wide(Field::Response), batch.wide(Field::Queued));
        let (offset, bytes) = (batch.wide(Field::Offset), batch.narrow(Field::Bytes));
        let (device, layer) = (batch.narrow(Field::Device), batch.narrow(Field::Layer));
        let (pid, flag_bits) = (batch.narrow(Field::Pid), batch.narrow(Field::Flags));
        let (mut no_process, mut no_queue_time, mut beyond) = (0, 0, 0);
        for row in rows.iter() {
            self.ios += 1;
            self.no_response += u64::from(response.at(row) == RESPONSE_UNKNOWN);
            self.no_depth += u64::from(rows.depth[row] == 0);
            self.failed += u64::from(flag_bits.at(row) & u32::from(flags::FAILED) != 0);
            no_process += u64::from(pid.at(row) == 0 && batch.command(row).is_empty());
            if layer.layer(row) == Layer::Block {
                self.at_block_layer += 1;
                no_queue_time += u64::from(queued.at(row) == 0);
                let end = offset.at(row).saturating_add(u64::from(bytes.at(row)));
                beyond += u64::from(end > self.end_of(device.at(row) & 0xffff));
            }
        }
        *self.no_process.get_or_insert(0) += no_process;
        *self.no_queue_time.get_or_insert(0) += no_queue_time;
        *self.beyond_device.get_or_insert(0) += beyond;
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
