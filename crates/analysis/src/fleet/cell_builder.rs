//! [`FoldCellBuilder`]: the cells of a fold file from single I/Os. Each step is written as soon as it
//! is over.

use super::file::FoldOptions;
use crate::annotate::busy_time::{BusySpan, DeviceBusySpan};
use crate::cells::{BusyInStep, CubeCell, Dimensions, Originator};
use crate::device_layer::DeviceLayer;
use crate::fold::{AnnotatedRows, Fold};
use crate::sums::busy_spans::{OpenBusySpans, by_step};
use crate::sums::io_sums::{IoSums, SumColumns};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::Cursor;
use steadfast_domain::io_event::CommandName;
use steadfast_domain::{CaptureConditions, IoOp, Layer, Nanos};
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::cube_file::{CubeFile, CubeWriter};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{Fields, SharedMedium, footer};

/// Maximum number of cells in one step.
const CELLS_MAX: usize = 1 << 18;
/// Maximum number of late cells in memory.
const LATE_MAX: usize = 1 << 16;
/// Maximum number of busy-time entries, one per step, device and layer.
const BUSY_MAX: usize = 1 << 22;

/// Maximum time that a device may stay busy after the last I/O was issued: an I/O that never
/// completes would create an unlimited number of steps.
const OVERHANG_NS: u64 = 3_600_000_000_000;
/// The same limit in steps; the lower one applies.
const OVERHANG_STEPS: u64 = 1000;

/// Key of a cell within its step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct FoldCellKey {
    device: u16,
    layer: Layer,
    op: IoOp,
    sequential: bool,
    bytes: u32,
    originator: Originator,
}

/// Returns the cell of a key in the step that begins at `begin_ns`. Issue times in the sums count from
/// `began_ns`.
fn fold_cell(key: FoldCellKey, sums: &IoSums, begin_ns: u64, began_ns: u64) -> CubeCell {
    let (first, last) = sums.span_ns.unwrap_or_default();
    CubeCell {
        begin_ns,
        device: key.device,
        layer: key.layer,
        op: key.op,
        sequential: key.sequential,
        bytes: key.bytes,
        who: key.originator,
        ios: sums.count(),
        span_ns: (first.saturating_add(began_ns), last.saturating_add(began_ns)),
        responses: sums.times.responses.times(),
        queued: sums.times.queued.times(),
        together: sums.times.together,
        depths: sums.times.depths,
        offsets: sums.offsets,
        flags: sums.flags,
        beyond: sums.beyond,
        merged: sums.merged,
        contents: sums.times.contents,
    }
}

/// The cells of a capture under construction.
pub(super) struct FoldCellBuilder {
    step_ns: u64,
    /// Time from 1970 (UTC) to the beginning of the capture, in nanoseconds; 0 if unknown. Steps
    /// count from 1970, so that the steps of all captures lie on one grid.
    began_ns: u64,
    dimensions: Dimensions,
    /// Sizes of the devices in bytes; `None` if unknown.
    sizes: Vec<Option<u64>>,
    step: u64,
    current: FxHashMap<FoldCellKey, IoSums>,
    /// Cells of I/Os that came after their step was written. They get rows of their own, which
    /// readers add to the others.
    late: BTreeMap<(u64, FoldCellKey), IoSums>,
    open_busy_spans: OpenBusySpans,
    /// Busy time that belongs to no row; few parts per device and end of a time span.
    edge_busy: Vec<DeviceBusySpan>,
    busy_ns_by_step: BTreeMap<(u64, DeviceLayer), u64>,
    writer: CubeWriter<Vec<u8>>,
    cells: u64,
}

pub(super) struct FoldCells {
    /// Cells and busy time, as a file in memory.
    pub cube: CubeFile,
    /// Number of rows with cells in it.
    pub cells: u64,
}

impl FoldCellBuilder {
    /// Starts the cells of a capture with these conditions.
    ///
    /// # Errors
    /// Returns [`TraceError::Encode`] if the cells cannot be written.
    pub fn new(options: &FoldOptions, conditions: &CaptureConditions) -> Result<Self, TraceError> {
        let (step_ns, columns) = (options.step_ns, options.columns(conditions));
        let sizes = conditions.devices.iter().map(|device| device.capacity.map(|size| size.0));
        Ok(FoldCellBuilder {
            step_ns,
            began_ns: conditions.began_unix_ns.unwrap_or(0),
            dimensions: options.dimensions(),
            sizes: sizes.collect(),
            step: 0,
            current: FxHashMap::default(),
            late: BTreeMap::new(),
            open_busy_spans: OpenBusySpans::default(),
            edge_busy: Vec::new(),
            busy_ns_by_step: BTreeMap::new(),
            writer: CubeWriter::fold(Vec::new(), columns, step_ns, conditions)?,
            cells: 0,
        })
    }

    /// Finishes the cells of a capture whose last I/O was issued at `last_ns`.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if there is busy time in too many steps, or
    /// [`TraceError::Encode`] if the cells cannot be written.
    pub fn finish(mut self, last_ns: u64) -> Result<FoldCells, TraceError> {
        self.write_current()?;
        self.write_late()?;
        let after = OVERHANG_NS.min(self.step_ns.saturating_mul(OVERHANG_STEPS));
        let last = last_ns.saturating_add(self.began_ns).saturating_add(after) / self.step_ns;
        let until_ns = last.saturating_add(1).saturating_mul(self.step_ns);
        let mut rest = self.open_busy_spans.take();
        rest.append(&mut self.edge_busy);
        for DeviceBusySpan { side, span: (from, to) } in rest {
            self.add_busy(side, (from, to.min(until_ns)))?;
        }
        for ((step, DeviceLayer { device, layer }), busy_ns) in self.busy_ns_by_step {
            let begin_ns = step.saturating_mul(self.step_ns);
            self.writer.add_busy(BusyInStep { begin_ns, device, layer, busy_ns })?;
        }
        let source = SharedMedium::new(Cursor::new(self.writer.finish_fold(&())?))?;
        let found = footer(&source)?;
        let conditions = found.conditions.as_ref();
        let cube = CubeFile::new(source, found.groups, conditions, &mut Vec::new())?;
        Ok(FoldCells { cube, cells: self.cells })
    }

    fn key(&self, rows: &AnnotatedRows<'_>, row: usize) -> FoldCellKey {
        let batch = rows.batch;
        FoldCellKey {
            device: batch.device(row),
            layer: batch.layer(row),
            op: batch.op(row),
            sequential: rows.sequential[row],
            bytes: batch.bytes(row),
            originator: self.originator(batch, row),
        }
    }

    /// Returns the originator of an I/O, as far as the cells distinguish it.
    fn originator(&self, batch: &Batch, row: usize) -> Originator {
        let (pid, command) = if self.dimensions.processes {
            (batch.pid(row), batch.command(row))
        } else {
            (0, CommandName::default())
        };
        let (tid, thread) = if self.dimensions.threads {
            (batch.tid(row), batch.thread(row))
        } else {
            (0, CommandName::default())
        };
        let is_file_io = self.dimensions.files && batch.layer(row) == Layer::FileSystem;
        let inode = if is_file_io { batch.inode(row) } else { 0 };
        Originator { pid, command, tid, thread, cgroup: batch.cgroup(row), inode }
    }

    fn is_beyond(&self, rows: &AnnotatedRows<'_>, row: usize) -> bool {
        let batch = rows.batch;
        let size = self.sizes.get(usize::from(batch.device(row))).copied().flatten();
        let end = batch.offset(row).saturating_add(u64::from(batch.bytes(row)));
        batch.layer(row) == Layer::Block && size.is_some_and(|size| end > size)
    }

    /// Adds an I/O to its cell, and its busy span to its device.
    fn take_row(
        &mut self,
        rows: &AnnotatedRows<'_>,
        columns: &SumColumns<'_>,
        row: usize,
    ) -> Result<(), TraceError> {
        let step = rows.batch.issued_ns(row).saturating_add(self.began_ns) / self.step_ns;
        if step > self.step {
            self.write_current()?;
            self.step = step;
        }
        let (key, is_beyond) = (self.key(rows, row), self.is_beyond(rows, row));
        let sums =
            if step < self.step { self.late_cell(step, key)? } else { self.current_cell(key)? };
        sums.add(columns, row);
        sums.beyond += u64::from(is_beyond);
        let side = DeviceLayer { device: key.device, layer: key.layer };
        let busy = self.by_clock(rows.busy[row]);
        match self.open_busy_spans.add(side, busy) {
            Some(finished) => self.add_busy(side, finished),
            None => Ok(()),
        }
    }

    /// Returns a span counted from the origin of the clock.
    fn by_clock(&self, (from, to): BusySpan) -> BusySpan {
        (from.saturating_add(self.began_ns), to.saturating_add(self.began_ns))
    }

    /// Returns the cell of a key in the current step.
    fn current_cell(&mut self, key: FoldCellKey) -> Result<&mut IoSums, TraceError> {
        if self.current.len() >= CELLS_MAX && !self.current.contains_key(&key) {
            return Err(TraceError::TooFine(format!(
                "a step of {} has more than {CELLS_MAX} combinations of stream, file, thread and \
                 process; use a shorter --step, or --no-files, --no-threads or --no-processes",
                Nanos(self.step_ns)
            )));
        }
        Ok(self.current.entry(key).or_default())
    }

    /// Returns the cell of a key in a step that was written.
    #[cold]
    fn late_cell(&mut self, step: u64, key: FoldCellKey) -> Result<&mut IoSums, TraceError> {
        if self.late.len() >= LATE_MAX && !self.late.contains_key(&(step, key)) {
            self.write_late()?;
        }
        Ok(self.late.entry((step, key)).or_default())
    }

    /// Divides a finished busy span of a device and layer among steps.
    fn add_busy(&mut self, side: DeviceLayer, busy: BusySpan) -> Result<(), TraceError> {
        for (step, busy_ns) in by_step(busy, self.step_ns) {
            *self.busy_ns_by_step.entry((step, side)).or_insert(0) += busy_ns;
            if self.busy_ns_by_step.len() > BUSY_MAX {
                return Err(TraceError::TooFine(format!(
                    "busy time needs more than {BUSY_MAX} entries (one per step, device and \
                     layer); choose wider steps with --step, or fewer devices with --device"
                )));
            }
        }
        Ok(())
    }

    fn write_current(&mut self) -> Result<(), TraceError> {
        let mut cells: Vec<(FoldCellKey, IoSums)> = self.current.drain().collect();
        cells.sort_unstable_by_key(|(key, _)| *key);
        cells.into_iter().try_for_each(|(key, sums)| self.write(self.step, key, sums))
    }

    fn write_late(&mut self) -> Result<(), TraceError> {
        let mut late = std::mem::take(&mut self.late).into_iter();
        late.try_for_each(|((step, key), sums)| self.write(step, key, sums))
    }

    fn write(&mut self, step: u64, key: FoldCellKey, sums: IoSums) -> Result<(), TraceError> {
        self.cells += 1;
        let begin_ns = step.saturating_mul(self.step_ns);
        self.writer.add(fold_cell(key, &sums, begin_ns, self.began_ns))
    }
}

impl Fold for FoldCellBuilder {
    fn fields(&self) -> Fields {
        Fields::ALL.and(Fields::BUSY)
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let columns = SumColumns::new(rows, true);
        rows.iter().try_for_each(|row| self.take_row(rows, &columns, row))?;
        for busy in rows.edge_busy {
            self.edge_busy.push(DeviceBusySpan { span: self.by_clock(busy.span), ..*busy });
        }
        Ok(())
    }
    /// A capture is folded in one piece; only fold files can be merged.
    fn merge(&mut self, _: Self) -> Result<(), TraceError> {
        let what = "a capture is folded in one piece; merge fold files with: steadfast trace merge";
        Err(TraceError::Unsuitable(what.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::AnnotatedBatch;
    use steadfast_domain::IoEvent;

    const STEP_NS: u64 = 1_000_000_000;

    #[test]
    fn late_ios_of_a_step_share_one_row() {
        let times_ms = [100, 1100, 200, 1200, 300, 2100, 1300];
        let events = times_ms.map(|ms| IoEvent {
            issued_ns: ms * 1_000_000,
            bytes: 4096,
            ..IoEvent::default()
        });
        let options = FoldOptions {
            step_ns: STEP_NS,
            processes: true,
            window: 32,
            threads: false,
            files: false,
        };
        let mut builder = FoldCellBuilder::new(&options, &CaptureConditions::default()).unwrap();
        builder.take(&AnnotatedBatch::from_events(&events).rows()).unwrap();
        let found = builder.finish(2_100_000_000).unwrap();
        let rows = found.cube.read(0).unwrap().cells;
        let rows: Vec<(u64, u64)> =
            rows.iter().map(|cell| (cell.begin_ns / STEP_NS, cell.ios)).collect();
        assert_eq!(rows, [(0, 1), (1, 2), (2, 1), (0, 2), (1, 1)]);
        assert_eq!(found.cells, 5);
    }
}
