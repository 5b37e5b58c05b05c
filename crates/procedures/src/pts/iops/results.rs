//! The values of the measurement window, cell by cell.

use super::Iops;
use crate::pts::rounds::{PHASE, RoundValues};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Measurement, Record, Tally, Verdict};

/// Everything that the exhibits are made of.
pub struct Results {
    /// Every complete round.
    pub rounds: Vec<RoundValues>,
    /// Steady or not, where, and by how much.
    pub verdict: Verdict,
    /// Every window that meets the criteria.
    pub steady_windows: Vec<(u32, u32)>,
    /// The rounds that the cells are averaged over; `None` where no round is complete.
    pub reported: Option<(u32, u32)>,
    /// One cell per mix and size that was run.
    pub cells: Vec<Cell>,
}

/// One mix and block size over the reported rounds.
pub struct Cell {
    /// Mix and size.
    pub pattern: AccessPattern,
    /// Mean of the rounds' IOPS; reads and writes added, never weighted.
    pub iops: Option<f64>,
    /// Mean of the rounds' MB/s.
    pub mb_per_second: Option<f64>,
    /// All I/Os of the window, reads and writes together.
    pub tally: Tally,
}

impl Results {
    /// The results of a record.
    pub fn of(iops: &Iops, record: &Record) -> Self {
        let rounds = iops.mixed_loop.rounds_of(record);
        let verdict = iops.mixed_loop.verdict(&rounds);
        let reported = verdict.window.or_else(|| whole(&rounds));
        let cells = reported.map(|window| cells(iops, record, window)).unwrap_or_default();
        let steady_windows = iops.mixed_loop.steady_windows(&rounds);
        Results { rounds, verdict, steady_windows, reported, cells }
    }

    /// The cell of a mix and a size.
    pub fn cell(&self, read_percent: u8, size: Bytes) -> Option<&Cell> {
        self.cells.iter().find(|c| c.pattern == AccessPattern::random(size, read_percent))
    }

    /// A cell's IOPS.
    pub fn iops(&self, read_percent: u8, size: Bytes) -> Option<f64> {
        self.cell(read_percent, size)?.iops
    }

    /// A point's value in a round; none in a void round.
    pub fn round_value(
        &self,
        iops: &Iops,
        round: &RoundValues,
        pattern: AccessPattern,
    ) -> Option<f64> {
        let index = iops.mixed_loop.points.iter().position(|point| *point == pattern)?;
        if round.is_void() { None } else { round.values.get(index).copied().flatten() }
    }
}

/// All complete rounds, for a run that ended before a window was full.
fn whole(rounds: &[RoundValues]) -> Option<(u32, u32)> {
    Some((rounds.first()?.round, rounds.last()?.round))
}

fn cells(iops: &Iops, record: &Record, window: (u32, u32)) -> Vec<Cell> {
    let mut per_point: Vec<Vec<&Measurement>> = vec![Vec::new(); iops.mixed_loop.points.len()];
    let inside = record.steps().filter(|(step, _)| {
        step.place.phase == PHASE && (window.0..=window.1).contains(&step.place.round)
    });
    for (step, outcome) in inside {
        let index = (step.place.point as usize).wrapping_sub(1);
        if let Some(measurements) = per_point.get_mut(index) {
            measurements.push(&outcome.measurement);
        }
    }
    iops.mixed_loop.points.iter().zip(per_point).map(|(point, m)| cell(*point, &m)).collect()
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
    }
}
