//! Results of write-amplification: the windows of each cell, its steady value and how exact the
//! counters make it.

use super::greedy;
use super::setup::{AmplificationCell, WriteAmplificationTest};
use super::windows::{CountedWindow, amplification, track};
use crate::common::attempts::{measurements, steps_of};
use steadfast_domain::measurement::{LogDelta, WriteAmplification};
use steadfast_domain::steady_state::judge_first_steady;
use steadfast_domain::{Bytes, EndState, Measurement, Outcome, Record, Step, ValueRange, Verdict};

pub struct AmplificationResults<'a> {
    pub cells: Vec<CellResult<'a>>,
    /// Unit in which the counter of host writes advances; `None` if it is unknown.
    pub host_unit: Option<Bytes>,
    /// Unit in which the counter of flash writes advances; `None` if it is unknown.
    pub nand_unit: Option<Bytes>,
}

pub struct CellResult<'a> {
    pub cell: &'a AmplificationCell,
    /// Complete windows in the order of their numbers.
    pub windows: Vec<CountedWindow>,
    pub steps: Vec<&'a Measurement>,
    /// Verdict on the first steady windows, else on the last.
    pub verdict: Verdict,
    /// Value over the steady windows; `None` if they are not steady.
    pub steady: Option<SteadyAmplification>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyAmplification {
    /// Changes of the drive's counters in the five windows.
    pub counts: LogDelta,
    /// Bytes that this program wrote in them.
    pub written: u64,
    pub value: f64,
    /// The value with the bounds that the counters allow; `None` if their units are unknown or too
    /// coarse.
    pub bounds: Option<WriteAmplification>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SteadyRange {
    /// Lowest and highest value.
    pub bounds: ValueRange,
    /// True if the counters bound the value no better than this; false if it is the range of the
    /// windows.
    pub is_of_counters: bool,
}

impl<'a> AmplificationResults<'a> {
    pub fn new(test: &'a WriteAmplificationTest, record: &'a Record) -> Self {
        let logs =
            || record.steps().filter_map(|(_, outcome)| outcome.measurement.sensed.log.as_ref());
        // Later readings know the units better.
        let host_unit = logs().filter_map(|log| log.host_unit).last();
        let nand_unit = logs().filter_map(|log| log.nand_unit).last();
        let cells = test.cells.iter().map(|cell| {
            let steps = steps_of(record, &cell.phase());
            let windows = complete_windows(&steps);
            let tracks = [track(&cell.name(), &windows)];
            let verdict = judge_first_steady(&tracks, &test.setup.method.criteria);
            let steady = steady(&verdict, &windows);
            CellResult { cell, windows, steps: measurements(&steps), verdict, steady }
        });
        AmplificationResults { cells: cells.collect(), host_unit, nand_unit }
    }

    /// Returns the state in which a run that has ended is: that of its worst cell.
    pub fn end(&self) -> EndState {
        let end = |cell: &CellResult<'_>| EndState::new(true, Some(&cell.verdict));
        self.cells.iter().map(end).max().unwrap_or(EndState::Void)
    }

    /// Returns the cell of the workload uniform at a used capacity.
    pub fn uniform(&self, percent: u8) -> Option<&CellResult<'a>> {
        let mut uniform = self.cells.iter().filter(|result| result.cell.workload.is_uniform());
        uniform.find(|result| result.cell.percent == percent)
    }

    /// Returns the steady cells, the one with the least write amplification first.
    pub fn ascending(&self) -> Vec<&CellResult<'a>> {
        let mut steady: Vec<_> = self.cells.iter().filter(|cell| cell.steady.is_some()).collect();
        let value = |cell: &&CellResult<'_>| cell.value().unwrap_or_default();
        steady.sort_by(|a, b| value(a).total_cmp(&value(b)));
        steady
    }

    /// Returns the percentage of flash writes that a drive saves if only so much of it is used;
    /// negative if it writes more.
    pub fn saved_percent(&self, percent: u8) -> Option<f64> {
        let (full, part) = (self.uniform(100)?.value()?, self.uniform(percent)?.value()?);
        Some((1.0 - part / full) * 100.0)
    }

    /// Returns the ratio of physical to logical pages with which greedy collection would have the
    /// measured write amplification of the workload uniform on the whole drive.
    pub fn greedy_ratio(&self) -> Option<f64> {
        greedy::ratio(self.uniform(100)?.value()?)
    }
}

impl CellResult<'_> {
    /// Returns the steady write amplification; `None` if it is not steady.
    pub fn value(&self) -> Option<f64> {
        self.steady.map(|steady| steady.value)
    }

    /// Returns the steady write amplification with its bounds; `None` if these are unknown.
    pub fn amplification(&self) -> Option<WriteAmplification> {
        self.steady?.bounds
    }

    /// Returns the range of the values of the steady windows, or what the counters allow where that
    /// is wider.
    pub fn range(&self) -> Option<SteadyRange> {
        let counters = self.steady?.bounds.map(|amplification| amplification.bounds());
        let windows = self.verdict.range();
        let width = |range: Option<ValueRange>| range.map_or(-1.0, ValueRange::width);
        let is_of_counters = width(counters) > width(windows);
        let bounds = if is_of_counters { counters } else { windows }?;
        Some(SteadyRange { bounds, is_of_counters })
    }

    /// Returns the range of the values of the last windows that were judged.
    pub fn last_values(&self) -> Option<ValueRange> {
        ValueRange::from_values(self.verdict.tracks.first()?.values.iter().copied())
    }
}

fn complete_windows(steps: &[(&Step, &Outcome)]) -> Vec<CountedWindow> {
    let mut windows: Vec<CountedWindow> = Vec::new();
    for (step, outcome) in steps {
        if windows.last().is_none_or(|last| last.number != step.place.round) {
            windows.push(CountedWindow::new(step.place.round));
        }
        if let Some(window) = windows.last_mut() {
            window.add(step, outcome);
        }
    }
    windows.retain(|window| window.is_complete);
    windows
}

fn steady(verdict: &Verdict, windows: &[CountedWindow]) -> Option<SteadyAmplification> {
    let (first, last) = verdict.window.filter(|_| verdict.steady)?;
    let mut counts = LogDelta::default();
    let mut written = 0;
    for window in windows.iter().filter(|window| (first..=last).contains(&window.number)) {
        counts.merge(window.counts()?);
        written += window.written.0;
    }
    let value = amplification(&counts)?;
    let bounds = WriteAmplification::from_log(&counts);
    Some(SteadyAmplification { counts, written, value, bounds })
}
