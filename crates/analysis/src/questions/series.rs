//! Streams or processes over time: one cell per capture step and series. The IO Stream Map and the
//! process map are drawn from it.

use crate::cells::{CubeCell, Dimensions, FilteredCells};
use crate::fold::{AnnotatedRows, Fold};
use crate::questions::processes::ProcessKey;
use crate::questions::streams::StreamKey;
use crate::sums::io_count::IoCount;
use crate::sums::step_width::check_is_multiple;
use crate::tables::recent_cache::RecentCache;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
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

/// Numbers of the chosen series by key.
#[derive(Debug, Clone, PartialEq)]
enum SeriesKeys {
    Streams(FxHashMap<StreamKey, usize>),
    Processes(FxHashMap<ProcessKey, usize>),
}

/// I/Os by capture step and series.
#[derive(Debug, Clone, PartialEq)]
struct SeriesCells {
    width_ns: u64,
    /// Number of series. The last one holds the I/Os that belong to no chosen one.
    series_count: usize,
    steps: BTreeMap<u64, Vec<IoCount>>,
}

impl SeriesCells {
    /// Returns the cells of a step; creates them if the step is new.
    fn step_cells(&mut self, step: u64) -> Result<&mut Vec<IoCount>, TraceError> {
        if self.steps.len() * self.series_count >= CELLS_MAX && !self.steps.contains_key(&step) {
            let what = "the map over time has too many cells; choose wider steps with --step, or a \
                        higher --threshold";
            return Err(TraceError::TooFine(what.into()));
        }
        let series_count = self.series_count;
        Ok(self.steps.entry(step).or_insert_with(|| vec![IoCount::default(); series_count]))
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
                cells = self.step_cells(at / width)?;
            }
            cells[series_of(row)].add(IoCount { ios: 1, bytes: u64::from(bytes.at(row)) });
        }
        Ok(())
    }
}

/// Series over capture steps.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesOverTime {
    keys: SeriesKeys,
    cells: SeriesCells,
}

impl SeriesOverTime {
    /// Creates empty series over steps of `width_ns` nanoseconds.
    pub fn new(width_ns: u64, choice: &SeriesSelection) -> Self {
        let (keys, chosen_count) = match choice {
            SeriesSelection::Streams(keys) => {
                (SeriesKeys::Streams(keys.iter().copied().zip(0..).collect()), keys.len())
            }
            SeriesSelection::Processes(keys) => {
                (SeriesKeys::Processes(keys.iter().copied().zip(0..).collect()), keys.len())
            }
        };
        let cells = SeriesCells {
            width_ns: width_ns.max(1),
            series_count: chosen_count + 1,
            steps: BTreeMap::new(),
        };
        SeriesOverTime { keys, cells }
    }

    /// Returns the steps by number, counted from the beginning of the capture. The last cell of
    /// each step holds the I/Os that belong to no chosen series.
    pub fn steps(&self) -> &BTreeMap<u64, Vec<IoCount>> {
        &self.cells.steps
    }

    /// Adds to a series in a step. The last series holds the I/Os that belong to no chosen one.
    pub(crate) fn add_cell(
        &mut self,
        step: u64,
        series: usize,
        ios: IoCount,
    ) -> Result<(), TraceError> {
        self.cells.step_cells(step)?[series].add(ios);
        Ok(())
    }
}

impl Fold for SeriesOverTime {
    fn fields(&self) -> Fields {
        let own = Fields::new(&[Field::Issued, Field::Op, Field::Bytes]);
        match self.keys {
            SeriesKeys::Streams(_) => own,
            SeriesKeys::Processes(_) => own.and(Fields::new(&[Field::Pid, Field::Command])),
        }
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let (batch, others) = (rows.batch, self.cells.series_count - 1);
        match &self.keys {
            SeriesKeys::Streams(series_by_key) => {
                let (ops, sizes) = (batch.narrow(Field::Op), batch.narrow(Field::Bytes));
                let mut recent = RecentCache::new();
                self.cells.add(rows, |row| {
                    let (op, sequential) = (ops.op(row), rows.sequential[row]);
                    let key = StreamKey { op, sequential, bytes: sizes.at(row) };
                    let find = || series_by_key.get(&key).copied().unwrap_or(others);
                    recent.get_or(key.packed(), key, find)
                })
            }
            SeriesKeys::Processes(series_by_key) => {
                let pids = batch.narrow(Field::Pid);
                let mut recent = RecentCache::new();
                self.cells.add(rows, |row| {
                    let key = ProcessKey { pid: pids.at(row), command: batch.command(row) };
                    let find = || series_by_key.get(&key).copied().unwrap_or(others);
                    recent.get_or(u64::from(key.pid), key, find)
                })
            }
        }
    }
    fn new_part(&self) -> Option<Self> {
        let cells = SeriesCells { steps: BTreeMap::new(), ..self.cells };
        Some(SeriesOverTime { keys: self.keys.clone(), cells })
    }
    fn check_dimensions(&self, recorded: Dimensions) -> Result<(), NotRecorded> {
        match self.keys {
            SeriesKeys::Processes(_) if !recorded.processes => Err(NotRecorded::Processes),
            _ => Ok(()),
        }
    }

    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        let width_ns = self.cells.width_ns;
        check_is_multiple(width_ns, cells.step_ns)?;
        for cell in cells.cells {
            let CubeCell { op, sequential, bytes, who, .. } = *cell;
            let series = match &self.keys {
                SeriesKeys::Streams(series_by_key) => {
                    series_by_key.get(&StreamKey { op, sequential, bytes })
                }
                SeriesKeys::Processes(series_by_key) => {
                    series_by_key.get(&ProcessKey { pid: who.pid, command: who.command })
                }
            };
            let series = series.copied().unwrap_or(self.cells.series_count - 1);
            let ios = IoCount { ios: cell.ios, bytes: cell.amount() };
            self.add_cell(cell.begin_ns / width_ns, series, ios)?;
        }
        Ok(())
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        for (step, theirs) in &other.cells.steps {
            let ours = self.cells.step_cells(*step)?;
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| ours.add(*theirs));
        }
        Ok(())
    }
}
