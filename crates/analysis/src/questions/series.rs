//! Streams or processes over time: one cell per capture step and series. The IO Stream Map and the
//! process map are drawn from it.

use crate::cells::{Dimensions, FilteredCells};
use crate::fold::{AnnotatedRows, Fold};
use crate::questions::processes::ProcessKey;
use crate::questions::streams::StreamKey;
use crate::sums::io_count::IoCount;
use crate::sums::step_width::made_of;
use crate::tables::recent_cache::{RecentCache, stream_number};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::mem;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of cells that are kept.
pub const CELLS_MAX: usize = 8 << 20;

/// Choice of the series.
#[derive(Debug, Clone)]
pub enum SeriesSelection {
    /// These I/O streams. I/Os of all other streams go into one last series.
    Streams(Vec<StreamKey>),
    /// These processes. I/Os of all other processes go into one last series.
    Processes(Vec<ProcessKey>),
}

/// Series over capture steps.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesOverTime {
    width_ns: u64,
    streams: FxHashMap<StreamKey, usize>,
    processes: FxHashMap<ProcessKey, usize>,
    by_process: bool,
    series: usize,
    steps: BTreeMap<u64, Vec<IoCount>>,
}

impl SeriesOverTime {
    /// Creates empty series over steps of `width_ns` nanoseconds.
    pub fn new(width_ns: u64, choice: &SeriesSelection) -> Self {
        let (streams, processes) = match choice {
            SeriesSelection::Streams(keys) => {
                (keys.iter().copied().zip(0..).collect(), FxHashMap::default())
            }
            SeriesSelection::Processes(keys) => {
                (FxHashMap::default(), keys.iter().copied().zip(0..).collect())
            }
        };
        SeriesOverTime {
            width_ns: width_ns.max(1),
            by_process: matches!(choice, SeriesSelection::Processes(_)),
            series: streams.len().max(processes.len()) + 1,
            streams,
            processes,
            steps: BTreeMap::new(),
        }
    }

    /// Returns the steps by number, counted from the beginning of the capture. The last cell of
    /// each step holds the I/Os that belong to no chosen series.
    pub fn steps(&self) -> &BTreeMap<u64, Vec<IoCount>> {
        &self.steps
    }

    /// Returns the cell of a series at a time.
    #[inline]
    fn cell(&mut self, at_ns: u64, series: usize) -> Result<&mut IoCount, TraceError> {
        Ok(&mut self.cells(at_ns / self.width_ns)?[series])
    }

    /// Adds to a series in a step. The last series holds the I/Os that belong to no chosen one.
    pub(crate) fn add_cell(
        &mut self,
        step: u64,
        series: usize,
        more: IoCount,
    ) -> Result<(), TraceError> {
        self.cells(step)?[series].add(more);
        Ok(())
    }

    /// Returns the cells of a step.
    fn cells(&mut self, step: u64) -> Result<&mut Vec<IoCount>, TraceError> {
        cells_of(&mut self.steps, self.series, step)
    }

    /// Adds each row to the series that `series_of` returns for it.
    fn add(
        &mut self,
        rows: &AnnotatedRows<'_>,
        mut series_of: impl FnMut(usize) -> usize,
    ) -> Result<(), TraceError> {
        let (issued, bytes) = (rows.batch.wide(Field::Issued), rows.batch.narrow(Field::Bytes));
        let width = self.width_ns;
        let (mut begin, mut cells): (u64, &mut [IoCount]) = (0, &mut []);
        for row in rows.iter() {
            let at = issued.at(row);
            // Consecutive I/Os mostly fall into the same step.
            if at < begin || at - begin >= width || cells.is_empty() {
                begin = at - at % width;
                cells = cells_of(&mut self.steps, self.series, at / width)?;
            }
            cells[series_of(row)].add(IoCount { ios: 1, bytes: u64::from(bytes.at(row)) });
        }
        Ok(())
    }

    fn add_by_process(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let (known, others) = (mem::take(&mut self.processes), self.series - 1);
        let (batch, pids) = (rows.batch, rows.batch.narrow(Field::Pid));
        let mut lately = RecentCache::new();
        let outcome = self.add(rows, |row| {
            let key = ProcessKey { pid: pids.at(row), command: batch.command(row) };
            let find = || known.get(&key).copied().unwrap_or(others);
            lately.get_or(u64::from(key.pid), key, find)
        });
        self.processes = known;
        outcome
    }

    fn add_by_stream(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let (known, others) = (mem::take(&mut self.streams), self.series - 1);
        let (ops, sizes) = (rows.batch.narrow(Field::Op), rows.batch.narrow(Field::Bytes));
        let mut lately = RecentCache::new();
        let outcome = self.add(rows, |row| {
            let (op, sequential, bytes) = (ops.op(row), rows.sequential[row], sizes.at(row));
            let stream = stream_number(op, sequential, bytes);
            let find =
                || known.get(&StreamKey { op, sequential, bytes }).copied().unwrap_or(others);
            lately.get_or(stream, stream, find)
        });
        self.streams = known;
        outcome
    }
}

/// Returns the cells of a step, and creates them if the step is new.
fn cells_of(
    steps: &mut BTreeMap<u64, Vec<IoCount>>,
    series: usize,
    step: u64,
) -> Result<&mut Vec<IoCount>, TraceError> {
    if steps.len() * series >= CELLS_MAX && !steps.contains_key(&step) {
        let what = "the map over time has too many cells; choose wider steps or a higher threshold";
        return Err(TraceError::TooFine(what.into()));
    }
    Ok(steps.entry(step).or_insert_with(|| vec![IoCount::default(); series]))
}

impl Fold for SeriesOverTime {
    fn fields(&self) -> Fields {
        let own = Fields::new(&[Field::Issued, Field::Op, Field::Bytes]);
        if self.by_process { own.and(Fields::new(&[Field::Pid, Field::Command])) } else { own }
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        if self.by_process { self.add_by_process(rows) } else { self.add_by_stream(rows) }
    }
    fn new_part(&self) -> Option<Self> {
        Some(SeriesOverTime {
            width_ns: self.width_ns,
            streams: self.streams.clone(),
            processes: self.processes.clone(),
            by_process: self.by_process,
            series: self.series,
            steps: BTreeMap::new(),
        })
    }
    fn check_dimensions(&self, recorded: Dimensions) -> Result<(), NotRecorded> {
        if self.by_process && !recorded.processes { Err(NotRecorded::Processes) } else { Ok(()) }
    }

    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        made_of(self.width_ns, cells.step_ns)?;
        for cell in cells.cells {
            let (sequential, bytes) = (cell.sequential, cell.bytes);
            let found = if self.by_process {
                self.processes.get(&ProcessKey { pid: cell.who.pid, command: cell.who.command })
            } else {
                self.streams.get(&StreamKey { op: cell.op, sequential, bytes })
            };
            let series = found.copied().unwrap_or(self.series - 1);
            self.cell(cell.begin_ns, series)?.add(IoCount { ios: cell.ios, bytes: cell.amount() });
        }
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        for (step, cells) in &other.steps {
            for (ours, theirs) in self.cells(*step)?.iter_mut().zip(cells) {
                ours.add(*theirs);
            }
        }
        Ok(())
    }
}
