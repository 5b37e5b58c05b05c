//! The values of a mixed loop's measurement window, point by point.

use super::rounds::{MixedLoop, RoundValues};
use super::secondary::Secondary;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Measurement, Record, Step, Tally, Verdict};

/// Everything that the exhibits of a loop are made of.
pub struct Results {
    /// Every complete round.
    pub rounds: Vec<RoundValues>,
    /// Steady or not, where, and by how much.
    pub verdict: Verdict,
    /// Every window that meets the criteria.
    pub steady_windows: Vec<(u32, u32)>,
    /// The rounds that the cells are averaged over; `None` where no round is complete.
    pub reported: Option<(u32, u32)>,
    /// One cell per point that was run.
    pub cells: Vec<Cell>,
}

/// One point over the reported rounds.
pub struct Cell {
    /// What was applied.
    pub pattern: AccessPattern,
    /// Mean of the rounds' IOPS; reads and writes added, never weighted.
    pub iops: Option<f64>,
    /// Mean of the rounds' MB/s.
    pub mb_per_second: Option<f64>,
    /// All I/Os of the window, reads and writes together.
    pub tally: Tally,
    /// What was sensed beside them.
    pub secondary: Secondary,
}

impl Results {
    /// The results of a loop in a record.
    pub fn of(mixed_loop: &MixedLoop, record: &Record) -> Self {
        let rounds = mixed_loop.rounds_of(record);
        let verdict = mixed_loop.verdict(&rounds);
        let reported = verdict.window.or_else(|| whole(&rounds));
        let cells = reported.map(|window| cells(mixed_loop, record, window)).unwrap_or_default();
        let steady_windows = mixed_loop.steady_windows(&rounds);
        Results { rounds, verdict, steady_windows, reported, cells }
    }

    /// The cell of a point.
    pub fn cell(&self, pattern: &AccessPattern) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.pattern == *pattern)
    }

    /// Whether a step of the loop lies in the reported rounds.
    pub fn reports(&self, mixed_loop: &MixedLoop, step: &Step) -> bool {
        step.place.phase == mixed_loop.phase
            && self.reported.is_some_and(|(first, last)| (first..=last).contains(&step.place.round))
    }
}

/// All complete rounds, for a run that ended before a window was full.
fn whole(rounds: &[RoundValues]) -> Option<(u32, u32)> {
    Some((rounds.first()?.round, rounds.last()?.round))
}

fn cells(mixed_loop: &MixedLoop, record: &Record, window: (u32, u32)) -> Vec<Cell> {
    let mut per_point: Vec<Vec<&Measurement>> = vec![Vec::new(); mixed_loop.points.len()];
    let inside = record.steps().filter(|(step, _)| {
        step.place.phase == mixed_loop.phase && (window.0..=window.1).contains(&step.place.round)
    });
    for (step, outcome) in inside {
        let index = (step.place.point as usize).wrapping_sub(1);
        if let Some(measurements) = per_point.get_mut(index) {
            measurements.push(&outcome.measurement);
        }
    }
    mixed_loop.points.iter().zip(per_point).map(|(point, m)| cell(*point, &m)).collect()
}

fn cell(pattern: AccessPattern, measurements: &[&Measurement]) -> Cell {
    let mut tally = Tally::default();
    measurements.iter().for_each(|measurement| tally.merge(&measurement.total()));
    let mean_of = |value: &dyn Fn(&Measurement) -> Option<f64>| -> Option<f64> {
        let values: Option<Vec<f64>> = measurements.iter().map(|m| value(m)).collect();
        let values = values.filter(|v| !v.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    };
    Cell {
        pattern,
        iops: mean_of(&|m| m.iops()),
        mb_per_second: mean_of(&|m| m.bytes_per_second().map(|rate| rate / 1e6)),
        tally,
        secondary: Secondary::of(measurements),
    }
}
