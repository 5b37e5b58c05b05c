//! Writes the cube file of a capture of steps.

use super::cell::{BusyInStep, CubeCell, RangeHits};
use super::columns::CubeColumns;
use super::reader::CubeRows;
use super::writer::CubeWriter;
use crate::error::TraceError;
use std::collections::BTreeMap;
use std::io::Write;
use steadfast_domain::io_event::{DeviceBusyStep, RangeInStep, StepStreamKey, StreamInStep};
use steadfast_domain::{CaptureConditions, Layer};

/// A writer of the I/O streams of capture steps. Parts of the same step, stream and process are
/// summed while they wait in memory. Every method returns [`TraceError::Io`] or
/// [`TraceError::Encode`] if writing fails, and [`TraceError::Unsuitable`] if the conditions cannot
/// be written as JSON.
pub struct StepWriter<W: Write + Send> {
    cube: CubeWriter<W>,
    step_ns: u64,
    waiting: BTreeMap<u64, BTreeMap<StepStreamKey, StreamInStep>>,
    busy: BTreeMap<(u64, u16, Layer), u64>,
    ranges: BTreeMap<(u64, u16, u16), RangeInStep>,
    rows: u64,
}

/// Returns the columns of a file of capture steps; the kernel sums by process.
pub(super) fn columns(conditions: &CaptureConditions) -> CubeColumns {
    CubeColumns {
        processes: true,
        busy: conditions.busy_time,
        ranges: conditions.lba_ranges.is_some(),
        ..CubeColumns::default()
    }
}

impl<W: Write + Send> StepWriter<W> {
    /// Begins a file with the conditions known so far; their `step_ns` is the step width.
    pub fn new(sink: W, conditions: &CaptureConditions) -> Result<Self, TraceError> {
        Ok(StepWriter {
            cube: CubeWriter::new(sink, columns(conditions), conditions)?,
            step_ns: conditions.step_ns.unwrap_or(1),
            waiting: BTreeMap::new(),
            busy: BTreeMap::new(),
            ranges: BTreeMap::new(),
            rows: 0,
        })
    }

    /// Adds parts of steps.
    pub fn add(&mut self, parts: &[StreamInStep]) {
        for part in parts {
            let stream = self.waiting.entry(part.step).or_default().entry(part.key());
            stream.and_modify(|row| row.merge(part)).or_insert_with(|| part.clone());
        }
    }

    /// Adds busy time of devices. It is written if the conditions have `busy_time`.
    pub fn add_busy(&mut self, parts: &[DeviceBusyStep]) {
        for part in parts {
            *self.busy.entry((part.step, part.device, part.layer)).or_default() += part.busy_ns;
        }
    }

    /// Adds I/Os of LBA ranges. They are written if the conditions have `lba_ranges`.
    pub fn add_ranges(&mut self, parts: &[RangeInStep]) {
        for part in parts {
            let range = self.ranges.entry((part.step, part.device, part.range));
            range.and_modify(|range| range.merge(part)).or_insert(*part);
        }
    }

    /// Updates the conditions, for the case that the file is never finished.
    pub fn update(&mut self, conditions: &CaptureConditions) -> Result<(), TraceError> {
        self.cube.update(conditions)
    }

    /// Writes the steps before `step` as a row group. They survive a kill once they have reached the
    /// sink. Parts of these steps that are added later get rows of their own.
    pub fn flush_before(&mut self, step: u64) -> Result<(), TraceError> {
        let later = self.waiting.split_off(&step);
        let before = std::mem::replace(&mut self.waiting, later);
        for row in before.into_values().flat_map(BTreeMap::into_values) {
            let begin_ns = row.step.saturating_mul(self.step_ns);
            self.rows += 1;
            self.cube.add(CubeCell::from_step(row, begin_ns, (begin_ns, begin_ns)))?;
        }
        let later = self.busy.split_off(&(step, 0, Layer::Block));
        for ((step, device, layer), busy_ns) in std::mem::replace(&mut self.busy, later) {
            let begin_ns = step.saturating_mul(self.step_ns);
            self.cube.add_busy(BusyInStep { begin_ns, device, layer, busy_ns })?;
        }
        let later = self.ranges.split_off(&(step, 0, 0));
        for part in std::mem::replace(&mut self.ranges, later).into_values() {
            self.cube.add_range(RangeHits {
                begin_ns: part.step.saturating_mul(self.step_ns),
                device: part.device,
                range: part.range,
                reads: part.reads,
                read_bytes: part.read_bytes,
                writes: part.writes,
                written_bytes: part.written_bytes,
            })?;
        }
        self.cube.flush()
    }

    /// Adds the rows of a row group of another file as a row group.
    pub fn copy(&mut self, rows: CubeRows) -> Result<(), TraceError> {
        self.rows += rows.cells.len() as u64;
        rows.cells.into_iter().try_for_each(|cell| self.cube.add(cell))?;
        rows.busy.into_iter().try_for_each(|busy| self.cube.add_busy(busy))?;
        rows.ranges.into_iter().try_for_each(|hits| self.cube.add_range(hits))?;
        self.cube.flush()
    }

    /// Returns the number of streams of steps, written and waiting.
    pub fn rows(&self) -> u64 {
        self.rows + self.streams_waiting() as u64
    }

    fn streams_waiting(&self) -> usize {
        self.waiting.values().map(BTreeMap::len).sum()
    }

    /// Returns the number of streams and LBA ranges of steps that wait in memory.
    pub fn waiting(&self) -> usize {
        self.streams_waiting() + self.ranges.len()
    }

    /// Returns the size of the file so far, in bytes.
    pub fn bytes_written(&self) -> u64 {
        self.cube.bytes_written()
    }

    /// Finishes the file with the final conditions and returns the sink.
    pub fn finish(mut self, conditions: &CaptureConditions) -> Result<W, TraceError> {
        self.flush_before(u64::MAX)?;
        self.cube.finish(conditions)
    }
}
