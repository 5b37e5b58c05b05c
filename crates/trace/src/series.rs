//! Streams, processes or operations over time: one cell per capture step and
//! series. The IO Stream Map and the process map are made of it.

use crate::cells::Cells;
use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::fold::{Alike, Fold, FoldCells, FoldSums, InParts, Rows, Sums};
use crate::processes::ProcessKey;
use crate::streams::StreamKey;
use crate::untold::Untold;
use crate::widths::{made_of, wide_enough};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Cells kept at most.
pub const CELLS_MAX: usize = 8 << 20;

/// I/Os and bytes of one series in one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cell {
    /// I/Os.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
}

impl Cell {
    #[inline]
    pub(crate) fn add(&mut self, more: Cell) {
        self.ios = self.ios.saturating_add(more.ios);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// What the series are.
#[derive(Debug, Clone)]
pub enum SeriesOf {
    /// These I/O streams; what belongs to none goes into a last series.
    Streams(Vec<StreamKey>),
    /// These processes; what belongs to none goes into a last series.
    Processes(Vec<ProcessKey>),
}

/// Series over capture steps.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesOverTime {
    width_ns: u64,
    streams: HashMap<StreamKey, usize>,
    processes: HashMap<ProcessKey, usize>,
    by_process: bool,
    series: usize,
    steps: BTreeMap<u64, Vec<Cell>>,
}

impl SeriesOverTime {
    /// Series of a choice over steps of a width in nanoseconds.
    pub fn new(width_ns: u64, choice: &SeriesOf) -> Self {
        let (streams, processes) = match choice {
            SeriesOf::Streams(keys) => (keys.iter().copied().zip(0..).collect(), HashMap::new()),
            SeriesOf::Processes(keys) => (HashMap::new(), keys.iter().copied().zip(0..).collect()),
        };
        SeriesOverTime {
            width_ns: width_ns.max(1),
            by_process: matches!(choice, SeriesOf::Processes(_)),
            series: streams.len().max(processes.len()) + 1,
            streams,
            processes,
            steps: BTreeMap::new(),
        }
    }

    /// The steps by number from the capture's beginning; the last cell of each
    /// holds what was not chosen.
    pub fn steps(&self) -> &BTreeMap<u64, Vec<Cell>> {
        &self.steps
    }

    /// The cell of a series at a time.
    #[inline]
    fn cell(&mut self, at_ns: u64, series: usize) -> Result<&mut Cell, TraceError> {
        Ok(&mut self.cells(at_ns / self.width_ns)?[series])
    }

    /// Adds to a series in a step; the last series holds what was not chosen.
    pub(crate) fn add_cell(
        &mut self,
        step: u64,
        series: usize,
        more: Cell,
    ) -> Result<(), TraceError> {
        self.cells(step)?[series].add(more);
        Ok(())
    }

    /// The cells of a step.
    fn cells(&mut self, step: u64) -> Result<&mut Vec<Cell>, TraceError> {
        cells_of(&mut self.steps, self.series, step)
    }

    /// The series of each row, looked up again only where a row's kind was not seen
    /// lately.
    fn add<K: Eq + Hash>(
        &mut self,
        rows: &Rows<'_>,
        known: &HashMap<K, usize>,
        key: impl Fn(usize) -> (u64, K),
    ) -> Result<(), TraceError> {
        let (width, series, others) = (self.width_ns, self.series, self.series - 1);
        let mut lately: [Option<(K, usize)>; LATELY] = [const { None }; LATELY];
        let (mut begin, mut open): (u64, Option<&mut Vec<Cell>>) = (0, None);
        for row in rows.iter() {
            let (hash, key) = key(row);
            let place = (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize % LATELY;
            let found = match &lately[place] {
                Some((seen, series)) if *seen == key => *series,
                _ => {
                    let series = known.get(&key).copied().unwrap_or(others);
                    lately[place] = Some((key, series));
                    series
                }
            };
            let at = rows.batch.issued_ns(row);
            let cells = match open {
                Some(cells) if at >= begin && at - begin < width => cells,
                _ => {
                    begin = at - at % width;
                    cells_of(&mut self.steps, series, at / width)?
                }
            };
            cells[found].add(Cell { ios: 1, bytes: u64::from(rows.batch.bytes(row)) });
            open = Some(cells);
        }
        Ok(())
    }
}

/// Kinds of I/Os whose series is kept at hand.
const LATELY: usize = 256;

/// The cells of a step.
fn cells_of(
    steps: &mut BTreeMap<u64, Vec<Cell>>,
    series: usize,
    step: u64,
) -> Result<&mut Vec<Cell>, TraceError> {
    if steps.len() * series >= CELLS_MAX && !steps.contains_key(&step) {
        let what = "the map over time has too many cells; choose wider steps or a higher threshold";
        return Err(TraceError::TooFine(what.into()));
    }
    Ok(steps.entry(step).or_insert_with(|| vec![Cell::default(); series]))
}

impl Alike for SeriesOverTime {
    fn alike(&self) -> Self {
        SeriesOverTime {
            width_ns: self.width_ns,
            streams: self.streams.clone(),
            processes: self.processes.clone(),
            by_process: self.by_process,
            series: self.series,
            steps: BTreeMap::new(),
        }
    }
}

impl Fold for SeriesOverTime {
    fn fields(&self) -> Fields {
        let own = Fields::of(&[Field::Issued, Field::Op, Field::Bytes]);
        if self.by_process { own.and(Fields::of(&[Field::Pid, Field::Command])) } else { own }
    }

    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        let batch = rows.batch;
        if self.by_process {
            let known = std::mem::take(&mut self.processes);
            let outcome = self.add(rows, &known, |row| {
                let (pid, command) = (batch.pid(row), batch.command(row));
                (u64::from(pid), ProcessKey { pid, command })
            });
            self.processes = known;
            return outcome;
        }
        let known = std::mem::take(&mut self.streams);
        let outcome = self.add(rows, &known, |row| {
            let (op, sequential, bytes) = (batch.op(row), rows.sequential[row], batch.bytes(row));
            let hash = u64::from(bytes) << 4 | (op as u64) << 1 | u64::from(sequential);
            (hash, StreamKey { op, sequential, bytes })
        });
        self.streams = known;
        outcome
    }
    fn in_parts(&mut self) -> Option<&mut dyn InParts> {
        Some(self)
    }
    fn of_sums(&mut self) -> Result<&mut dyn FoldSums, Untold> {
        if self.by_process { Err(Untold::Processes) } else { Ok(self) }
    }

    fn of_cells(&mut self) -> Result<&mut dyn FoldCells, Untold> {
        Ok(self)
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

impl FoldSums for SeriesOverTime {
    fn take_sums(&mut self, sums: &Sums<'_>) -> Result<(), TraceError> {
        wide_enough(self.width_ns, sums)?;
        for row in sums.streams {
            let series = self.streams.get(&StreamKey::of_sum(row)).copied();
            let series = series.unwrap_or(self.series - 1);
            let bytes = row.ios.saturating_mul(u64::from(row.bytes));
            self.cell(sums.begin_of(row), series)?.add(Cell { ios: row.ios, bytes });
        }
        Ok(())
    }
}

impl FoldCells for SeriesOverTime {
    fn take_cells(&mut self, cells: &Cells<'_>) -> Result<(), TraceError> {
        made_of(self.width_ns, cells.step_ns)?;
        for cell in cells.cells {
            let (sequential, bytes) = (cell.sequential, cell.bytes);
            let found = match self.by_process {
                true => {
                    self.processes.get(&ProcessKey { pid: cell.who.pid, command: cell.who.command })
                }
                false => self.streams.get(&StreamKey { op: cell.op, sequential, bytes }),
            };
            let series = found.copied().unwrap_or(self.series - 1);
            self.cell(cell.begin_ns, series)?.add(Cell { ios: cell.ios, bytes: cell.amount() });
        }
        Ok(())
    }
}
