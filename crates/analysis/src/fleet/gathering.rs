//! Adds up single I/Os to the cells of a fold file in a cube. Each step is written as soon as it is
//! over.

use super::file::FoldOptions;
use crate::annotate::sequential::BusySpan;
use crate::cells::{BusyInStep, CubeCell, Dimensions, Who};
use crate::cube::{CellSums, CubeBuilder};
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
/// Maximum number of busy-time entries, one per step and device.
const BUSY_MAX: usize = 1 << 22;

/// Maximum time that a device may stay busy after the last I/O was issued: an I/O that never
/// completes would create an unlimited number of steps.
const OVERHANG_NS: u64 = 3_600_000_000_000;
/// The same limit in steps; the lower one applies.
const OVERHANG_STEPS: u64 = 1000;

/// Device, layer, operation, sequentiality, size, and originator.
type Key = (u16, Layer, IoOp, bool, u32, Who);

/// Sums of a cell.
#[derive(Debug, Default)]
struct FoldSums {
    sums: IoSums,
    /// I/Os that end beyond their device.
    beyond: u64,
}

impl CellSums for FoldSums {
    fn merge(&mut self, other: &Self) {
        self.sums.merge(&other.sums);
        self.beyond += other.beyond;
    }
}

/// The cells of a capture under construction.
pub(super) struct Gathering {
    step_ns: u64,
    /// Beginning of the capture since 1970 (UTC), in nanoseconds; 0 if unknown. Steps count from
    /// there, so that the steps of all captures lie on one grid.
    began_ns: u64,
    /// Dimensions that the cells distinguish.
    dimensions: Dimensions,
    /// Sizes of the devices in bytes; `None` if unknown.
    sizes: Vec<Option<u64>>,
    step: u64,
    open: CubeBuilder<FoldSums>,
    /// Numbers of the keys of the open step.
    numbers: FxHashMap<Key, u32>,
    open_busy: OpenBusySpans,
    busy: BTreeMap<(u64, u16, Layer), u64>,
    cube: CubeWriter<Vec<u8>>,
    cells: u64,
}

/// The finished cells of a capture.
pub(super) struct Gathered {
    /// Cells and busy time, as a file in memory.
    pub cube: CubeFile<Cursor<Vec<u8>>>,
    /// Number of cells in it.
    pub cells: u64,
}

impl Gathering {
    /// Starts the cells of a capture with these conditions.
    ///
    /// # Errors
    /// Returns [`TraceError::Encode`] if the cells cannot be written.
    pub fn new(options: &FoldOptions, conditions: &CaptureConditions) -> Result<Self, TraceError> {
        let (step_ns, columns) = (options.step_ns, options.columns(conditions));
        let sizes = conditions.devices.iter().map(|device| device.capacity.map(|size| size.0));
        let began_ns = conditions.began_unix_ns.unwrap_or(0);
        let first = began_ns / step_ns;
        Ok(Gathering {
            step_ns,
            began_ns,
            dimensions: options.dimensions(),
            sizes: sizes.collect(),
            step: 0,
            open: CubeBuilder::new(step_ns, first..first + u64::from(u32::MAX), 0),
            numbers: FxHashMap::default(),
            open_busy: OpenBusySpans::default(),
            busy: BTreeMap::new(),
            cube: CubeWriter::fold(Vec::new(), columns, step_ns, conditions)?,
            cells: 0,
        })
    }

    /// Finishes the cells of a capture whose last I/O was issued at `last_ns`.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if there are too many steps, or [`TraceError::Encode`] if
    /// the cells cannot be written.
    pub fn finish(mut self, last_ns: u64) -> Result<Gathered, TraceError> {
        self.close()?;
        let after = OVERHANG_NS.min(self.step_ns.saturating_mul(OVERHANG_STEPS));
        let last = last_ns.saturating_add(self.began_ns).saturating_add(after) / self.step_ns;
        let until_ns = last.saturating_add(1).saturating_mul(self.step_ns);
        for (side, (from, to)) in self.open_busy.take() {
            self.add_busy(side, (from, to.min(until_ns)))?;
        }
        for ((step, device, layer), busy_ns) in self.busy {
            let begin_ns = step.saturating_mul(self.step_ns);
            self.cube.add_busy(BusyInStep { begin_ns, device, layer, busy_ns })?;
        }
        let source = SharedMedium::new(Cursor::new(self.cube.finish_fold(&())?))?;
        let found = footer(&source)?;
        let conditions = found.conditions.as_ref();
        let cube = CubeFile::new(source, found.groups, conditions, &mut Vec::new())?;
        Ok(Gathered { cube, cells: self.cells })
    }

    fn key(&self, rows: &AnnotatedRows<'_>, row: usize) -> Key {
        let batch = rows.batch;
        let (op, bytes, sequential) = (batch.op(row), batch.bytes(row), rows.sequential[row]);
        (batch.device(row), batch.layer(row), op, sequential, bytes, self.who(batch, row))
    }

    /// Returns the originator of an I/O, as far as the cells distinguish it.
    fn who(&self, batch: &Batch, row: usize) -> Who {
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
        let is_of_file = self.dimensions.files && batch.layer(row) == Layer::FileSystem;
        let inode = if is_of_file { batch.inode(row) } else { 0 };
        Who { pid, command, tid, thread, cgroup: batch.cgroup(row), inode }
    }

    fn is_beyond(&self, rows: &AnnotatedRows<'_>, row: usize) -> bool {
        let batch = rows.batch;
        let size = self.sizes.get(usize::from(batch.device(row))).copied().flatten();
        let end = batch.offset(row).saturating_add(u64::from(batch.bytes(row)));
        batch.layer(row) == Layer::Block && size.is_some_and(|size| end > size)
    }

    fn take_row(
        &mut self,
        rows: &AnnotatedRows<'_>,
        columns: &SumColumns<'_>,
        row: usize,
    ) -> Result<(), TraceError> {
        let at = rows.batch.issued_ns(row).saturating_add(self.began_ns);
        if at / self.step_ns != self.step {
            self.close()?;
            self.step = at / self.step_ns;
        }
        let (key, is_beyond) = (self.key(rows, row), self.is_beyond(rows, row));
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number as usize >= CELLS_MAX {
            let what = format!(
                "a step of {} has more than {CELLS_MAX} streams of files, threads and processes; \
                 choose narrower steps, or leave some out with --no-files, --no-threads or \
                 --no-processes",
                Nanos(self.step_ns)
            );
            return Err(TraceError::TooFine(what));
        }
        let Some(cell) = self.open.at(at, number) else {
            let what = "too many steps; choose wider ones with --step";
            return Err(TraceError::TooFine(what.into()));
        };
        cell.sums.sums.add(columns, row);
        cell.sums.beyond += u64::from(is_beyond);
        let side = (key.0, key.1);
        let shifted = |time: u64| time.saturating_add(self.began_ns);
        let (from, to) = rows.busy[row];
        match self.open_busy.add(side, (shifted(from), shifted(to))) {
            Some(finished) => self.add_busy(side, finished),
            None => Ok(()),
        }
    }

    /// Divides a finished busy span of a device and layer among steps.
    fn add_busy(
        &mut self,
        (device, layer): (u16, Layer),
        busy: BusySpan,
    ) -> Result<(), TraceError> {
        for (step, busy_ns) in by_step(busy, self.step_ns) {
            *self.busy.entry((step, device, layer)).or_insert(0) += busy_ns;
            if self.busy.len() > BUSY_MAX {
                let what = format!("more than {BUSY_MAX} steps; choose wider ones with --step");
                return Err(TraceError::TooFine(what));
            }
        }
        Ok(())
    }

    /// Writes the cells of the current step.
    fn close(&mut self) -> Result<(), TraceError> {
        let mut keys: Vec<(Key, u32)> = self.numbers.drain().collect();
        let mut sums: Vec<FoldSums> = Vec::new();
        sums.resize_with(keys.len(), FoldSums::default);
        for (number, closed) in self.open.take_closed() {
            sums[number as usize] = closed;
        }
        keys.sort_unstable_by_key(|(key, _)| *key);
        self.cells += keys.len() as u64;
        let begin_ns = self.step.saturating_mul(self.step_ns);
        keys.into_iter().try_for_each(|(key, number)| {
            let sums = std::mem::take(&mut sums[number as usize]);
            self.cube.add(sums.cell(key, begin_ns, self.began_ns))
        })
    }
}

impl FoldSums {
    /// Returns the cell of a key in the step that begins at `begin_ns`. Issue times in the sums count
    /// from `began_ns`.
    fn cell(self, key: Key, begin_ns: u64, began_ns: u64) -> CubeCell {
        let (device, layer, op, sequential, bytes, who) = key;
        let FoldSums { sums, beyond } = self;
        let (first, last) = sums.span_ns.unwrap_or_default();
        CubeCell {
            begin_ns,
            device,
            layer,
            op,
            sequential,
            bytes,
            who,
            ios: sums.count(),
            span_ns: (first.saturating_add(began_ns), last.saturating_add(began_ns)),
            responses: sums.responses.times(),
            queued: sums.queued.times(),
            both_queued_ns: sums.together.queued_ns,
            both_response_ns: sums.together.response_ns,
            depth_sum: sums.depth_sum,
            depths: sums.depths,
            depth_max: sums.depth_max,
            offsets: sums.offsets,
            flags: sums.flags,
            beyond,
            merged: sums.merged,
            contents: sums.contents,
        }
    }
}

impl Fold for Gathering {
    fn fields(&self) -> Fields {
        Fields::ALL.and(Fields::BUSY)
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let columns = SumColumns::new(rows, true);
        rows.iter().try_for_each(|row| self.take_row(rows, &columns, row))
    }
    /// A capture is folded in one piece; only fold files can be merged.
    fn merge(&mut self, _: Self) -> Result<(), TraceError> {
        let what = "a capture is folded in one piece; merge fold files with: steadfast trace merge";
        Err(TraceError::Unsuitable(what.into()))
    }
}
