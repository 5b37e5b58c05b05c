//! The [`Index`] of a capture: the result of one pass over all I/Os, from which most questions are
//! answered without a second one. Several threads build it, each for its own share of the I/Os.

use crate::cells::{TimeCells, TimeCellsBuilder};
use crate::index_segments::{IOS_MIN, IndexSegments, SEGMENTS_MAX, ThreadCheckpoints};
use crate::maps::{
    ADDRESS_RANGES, AddressRanges, COLUMNS, ColumnAxis, FINE_COLUMNS, IndexMaps, IndexMapsBuilder,
    TouchedRanges,
};
use crate::pair_numbers::{Breakdowns, PairBatcher};
use crate::pair_tables::{PairTables, PairTablesBuilder};
use crate::pair_tallies::{PackedTables, PairTallies};
use crate::query::default_layer;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use steadfast_analysis::cells::{CubeCell, Dimensions, FilteredCells};
use steadfast_analysis::device_layer::DeviceLayer;
use steadfast_analysis::pass::PassAccount;
use steadfast_analysis::questions::processes::ProcessTable;
use steadfast_analysis::questions::quality::Completeness;
use steadfast_analysis::questions::trust::Evidence;
use steadfast_analysis::{AnnotatedRows, Captured, Filter, Fold, PassOptions, StreamTable};
use steadfast_domain::Caveat;
use steadfast_tracefile::{Fields, NotRecorded, TraceError};

/// Version of the index format. It is raised whenever the content of an index changes.
pub const VERSION: u32 = 14;
/// Maximum number of cells of an index.
pub const CELLS: u64 = 131_072;
/// Width of the narrowest cell, in nanoseconds: 100 us.
pub const NARROWEST_NS: u64 = 100_000;
/// Number of cells beyond which a window is answered by adding up cells.
pub const CELLS_ENOUGH: u64 = 2048;
/// Maximum number of I/Os of a window that are read if cells could be added up instead.
pub const IOS_READ_MAX: u64 = 1 << 18;

/// Result of one pass over a capture.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Index {
    /// Start of the first capture, in nanoseconds; 0 unless several are read together.
    pub begin_ns: u64,
    /// Width of the capture steps in nanoseconds; `None` for single I/Os.
    pub step_ns: Option<u64>,
    /// End of the capture, in nanoseconds since its beginning.
    pub end_ns: u64,
    /// Issue times of the first and the last selected I/O; `None` if no I/O was selected.
    pub span_ns: Option<(u64, u64)>,
    /// Number of I/Os read.
    pub events: u64,
    /// Number of selected I/Os.
    pub ios: u64,
    /// Number of I/Os that could not be put into issue order.
    pub late: u64,
    /// Devices and layers with I/Os.
    pub sides: Vec<DeviceLayer>,
    /// I/Os by cell of time.
    pub cells: TimeCells,
    /// The same by stream and process, with fewer columns.
    pub by_pair: PairTables,
    /// Maps with other axes.
    pub maps: IndexMaps,
    /// Checkpoints at which a pass can begin, with the tables between them.
    pub segments: IndexSegments,
    /// Caveats of the capture.
    pub caveats: Vec<Caveat>,
}

/// Progress of an index under construction, and the flag to abandon it.
#[derive(Debug, Default)]
pub struct IndexProgress {
    /// I/Os read so far.
    pub done: AtomicU64,
    /// I/Os to read.
    pub all: AtomicU64,
    /// Set to abandon the index.
    pub is_abandoned: AtomicBool,
}

impl IndexProgress {
    /// Returns the share that is done, 0 to 1.
    pub fn share(&self) -> f64 {
        let (done, all) = (self.done.load(Ordering::Relaxed), self.all.load(Ordering::Relaxed));
        if all == 0 { 0.0 } else { (done as f64 / all as f64).min(1.0) }
    }

    /// Returns an error once the index is no longer wanted.
    fn check(&self) -> Result<(), TraceError> {
        if self.is_abandoned.load(Ordering::Relaxed) {
            return Err(TraceError::Unsuitable("it was given up".into()));
        }
        Ok(())
    }
}

/// Returns the width of the cells of a capture, in nanoseconds. Cells of sums consist of whole
/// steps.
pub fn cell_width(end_ns: u64, step_ns: Option<u64>) -> u64 {
    let mut width = step_ns.unwrap_or(NARROWEST_NS);
    while end_ns.div_ceil(width) > CELLS {
        width = width.saturating_mul(2);
    }
    width
}

impl Index {
    /// Reads a capture once.
    ///
    /// # Errors
    /// Returns the errors of [`Captured::run`], for example if the capture cannot be read.
    pub fn read(captured: &Captured, progress: &Arc<IndexProgress>) -> Result<Self, TraceError> {
        let rows = captured.rows().or(captured.ios_in_sums()).unwrap_or_default();
        progress.all.store(rows, Ordering::Relaxed);
        let (begin_ns, end_ns) = (captured.begin_ns(), captured.end_ns().max(1));
        let step_ns = captured.step_grid().map(|grid| grid.step_ns);
        let layer = default_layer(captured.conditions());
        let filter = Filter { layer, ..Filter::default() };
        let checkpoint_every = Some((rows / SEGMENTS_MAX).max(IOS_MIN));
        let pass = PassOptions { filter, checkpoint_every, ..PassOptions::default() };
        // The end of the I/Os is an upper bound, which may lie beyond the device.
        let sizes = captured.conditions().devices.iter().map(|device| device.capacity);
        let size = sizes.collect::<Option<Vec<_>>>().and_then(|sizes| sizes.into_iter().max());
        let reach = captured.end_of_range().unwrap_or(1 << 40);
        let reach = size.map_or(reach, |size| reach.min(size.0));
        let quality = Completeness::from_conditions(captured.conditions());
        let addresses = AddressRanges::new(0..reach, ADDRESS_RANGES);
        let time = IndexedTime { begin_ns, end_ns, step_ns };
        let mut builder = IndexBuilder::new(time, addresses, Arc::clone(progress), quality);
        let account = captured.run(&pass, &mut [&mut builder])?;
        builder.finish(captured, account)
    }
}

/// The time that an index covers, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct IndexedTime {
    begin_ns: u64,
    end_ns: u64,
    /// Width of the capture steps; `None` for single I/Os.
    step_ns: Option<u64>,
}

impl IndexedTime {
    fn cells(&self) -> ColumnAxis {
        let width_ns = cell_width(self.end_ns, self.step_ns);
        let columns = self.end_ns.div_ceil(width_ns).max(1) as usize;
        ColumnAxis { width_ns, first: 0, columns }
    }

    /// Returns the width of the segments of sums, which consist of whole cells.
    fn segment_ns(&self) -> u64 {
        let ColumnAxis { width_ns, columns, .. } = self.cells();
        width_ns.saturating_mul((columns as u64).div_ceil(SEGMENTS_MAX))
    }
}

struct IndexBuilder {
    time: IndexedTime,
    batcher: PairBatcher,
    cells: TimeCellsBuilder,
    by_pair: PairTablesBuilder,
    maps: IndexMapsBuilder,
    addresses: AddressRanges,
    touched: Vec<Option<TouchedRanges>>,
    progress: Arc<IndexProgress>,
    sides: BTreeSet<DeviceLayer>,
    last_side: Option<DeviceLayer>,
    quality: Completeness,
    /// Tables of the open segment.
    tables: PairTallies,
    segment: usize,
    parts: ThreadCheckpoints,
    /// Tables of sums, with the numbers of their segments.
    tables_of_sums: Vec<(usize, PackedTables)>,
}

const BY_PAIR: Breakdowns = Breakdowns { streams: true, processes: true };

/// Returns an axis of at most `most` columns that consist of whole cells.
fn axis(cells: &ColumnAxis, most: usize) -> ColumnAxis {
    let cells_per_column = cells.columns.div_ceil(most).next_power_of_two();
    ColumnAxis {
        width_ns: cells.width_ns.saturating_mul(cells_per_column as u64),
        first: 0,
        columns: cells.columns.div_ceil(cells_per_column),
    }
}

impl IndexBuilder {
    fn new(
        time: IndexedTime,
        addresses: AddressRanges,
        progress: Arc<IndexProgress>,
        quality: Completeness,
    ) -> Self {
        let (cells, end_ns) = (time.cells(), time.end_ns);
        let (coarse, fine) = (axis(&cells, COLUMNS), axis(&cells, FINE_COLUMNS));
        IndexBuilder {
            time,
            batcher: PairBatcher::new(BY_PAIR),
            cells: TimeCellsBuilder::new(cells),
            by_pair: PairTablesBuilder::new(cells.width_ns, end_ns),
            maps: IndexMapsBuilder::new(coarse, fine, end_ns),
            addresses,
            touched: Vec::new(),
            progress,
            sides: BTreeSet::new(),
            last_side: None,
            quality,
            tables: PairTallies::default(),
            segment: 0,
            parts: ThreadCheckpoints::default(),
            tables_of_sums: Vec::new(),
        }
    }

    fn close(&mut self) -> Result<(), TraceError> {
        let tables = self.tables.close()?;
        if self.time.step_ns.is_some() {
            let numbered = tables.into_iter().map(|tables| (self.segment, tables));
            self.tables_of_sums.extend(numbered);
        } else {
            self.parts.add(self.segment, tables);
        }
        Ok(())
    }

    /// Counts the sums of a cube cell.
    fn add_cell(&mut self, cell: &CubeCell, knows_flags: bool) -> Result<(), TraceError> {
        if cell.begin_ns >= self.time.end_ns {
            return Ok(());
        }
        let segment = (cell.begin_ns / self.time.segment_ns()) as usize;
        if self.segment != segment {
            self.close()?;
            self.segment = segment;
        }
        let pairs = &mut self.batcher.pairs;
        self.cells.take_cell(cell, pairs)?;
        self.by_pair.take_cell(cell, pairs.number(cell.into()))?;
        self.tables.take_cell(cell, knows_flags)?;
        self.sides.insert(cell.into());
        Ok(())
    }

    /// Counts the I/Os in everything that is kept by stream or by process.
    fn add_ios(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let mut outcome = Ok(());
        self.batcher.each(rows, |ios, pairs| {
            self.cells.take(ios, pairs);
            self.touched.clear();
            self.touched.extend(ios.iter().map(|io| self.addresses.touched(rows, io.row)));
            self.by_pair.take(ios, &self.touched);
            self.maps.take(ios, &self.touched);
            let taken = self.tables.take(rows, ios, &self.touched, pairs);
            if outcome.is_ok() {
                outcome = taken;
            }
        });
        self.cells.busy.take(rows);
        outcome
    }

    fn add_sides(&mut self, rows: &AnnotatedRows<'_>) {
        for row in 0..rows.batch.len() {
            let side = DeviceLayer { device: rows.batch.device(row), layer: rows.batch.layer(row) };
            if self.last_side != Some(side) {
                self.last_side = Some(side);
                self.sides.insert(side);
            }
        }
    }

    fn finish(mut self, captured: &Captured, account: PassAccount) -> Result<Index, TraceError> {
        self.close()?;
        let caveats = Evidence::from_pass(captured, account, self.quality).limits();
        let IndexedTime { begin_ns, end_ns, step_ns } = self.time;
        let segments = match step_ns {
            None => self.parts.finish(end_ns)?,
            Some(_) => {
                IndexSegments::from_sums(self.time.segment_ns(), end_ns, self.tables_of_sums)?
            }
        };
        Ok(Index {
            begin_ns,
            step_ns,
            end_ns,
            span_ns: account.span_ns,
            events: account.events,
            ios: account.kept,
            late: account.order.late,
            sides: self.sides.into_iter().collect(),
            cells: self.cells.finish(&self.batcher.pairs),
            by_pair: self.by_pair.finish(&self.batcher.pairs),
            maps: self.maps.finish(self.addresses),
            segments,
            caveats,
        })
    }
}

impl Fold for IndexBuilder {
    fn fields(&self) -> Fields {
        let tables = StreamTable::new().fields().and(ProcessTable::default().fields());
        tables.and(AddressRanges::FIELDS).and(self.quality.fields())
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        self.progress.check()?;
        if self.segment != rows.checkpoints {
            self.close()?;
            self.segment = rows.checkpoints;
        }
        if let Some(checkpoint) = rows.checkpoint {
            self.parts.begin(rows.checkpoints, checkpoint);
        }
        self.add_sides(rows);
        self.add_ios(rows)?;
        self.quality.take(rows)?;
        self.progress.done.fetch_add(rows.batch.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn new_part(&self) -> Option<Self> {
        let progress = Arc::clone(&self.progress);
        Some(Self::new(self.time, self.addresses, progress, self.quality.new_part()?))
    }

    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        if self.time.step_ns.is_some() { Ok(()) } else { Err(NotRecorded::SingleIos) }
    }

    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        self.progress.check()?;
        for cell in cells.cells {
            self.add_cell(cell, cells.dimensions.single_ios)?;
        }
        cells.busy.iter().for_each(|busy| self.cells.busy.take_busy(busy));
        self.quality.take_cells(cells)?;
        let ios = cells.cells.iter().fold(0, |sum: u64, cell| sum.saturating_add(cell.ios));
        self.progress.done.fetch_add(ios, Ordering::Relaxed);
        Ok(())
    }

    fn merge(&mut self, mut other: Self) -> Result<(), TraceError> {
        other.close()?;
        let numbers = self.batcher.pairs.merge(&other.batcher.pairs);
        self.cells.merge(other.cells, &numbers);
        self.by_pair.merge(other.by_pair, &numbers);
        self.maps.merge(other.maps);
        self.sides.append(&mut other.sides);
        self.parts.merge(other.parts);
        self.quality.merge(other.quality)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_a_power_of_two_wide_and_few_enough() {
        assert_eq!(cell_width(1, None), NARROWEST_NS);
        assert_eq!(cell_width(NARROWEST_NS * CELLS, None), NARROWEST_NS);
        assert_eq!(cell_width(NARROWEST_NS * CELLS + 1, None), 2 * NARROWEST_NS);
        let minute = 60_000_000_000;
        assert_eq!(cell_width(minute * CELLS, Some(minute)), minute);
        assert_eq!(cell_width(minute * CELLS + 1, Some(minute)), 2 * minute);
        for end in [86_400_000_000_000, u64::MAX / 2, u64::MAX] {
            let width = cell_width(end, None);
            assert!(end.div_ceil(width) <= CELLS && width.is_multiple_of(NARROWEST_NS));
            assert!((width / NARROWEST_NS).is_power_of_two());
        }
    }
}
