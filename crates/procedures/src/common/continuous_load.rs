//! A load that runs without pause and is recorded in intervals, called cuts.

use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{Bench, Halt, Load, Nanos, Step, StepPlace, Stimulus};

/// Time limit of a load that is stopped at a cut: one year, which it never reaches. A limit equal
/// to the time of the last cut would race with the cut.
pub const NO_END: Nanos = Nanos::from_secs(365 * 86_400);

/// Time between the cuts of a load that ends after a number of bytes. A run that dies loses at
/// most this much of the journal.
pub const CHECKPOINT: Nanos = Nanos::from_secs(60);

/// A load that runs without pause, recorded from cut to cut.
#[derive(Debug, Clone)]
pub struct ContinuousLoad {
    pub place: StepPlace,
    /// Load to apply.
    pub stimulus: Stimulus,
    pub cut: Nanos,
    /// Time after which the load is stopped; the last cut is shorter if `cut` does not divide it.
    /// `None` runs the load until it is complete.
    pub time: Option<Nanos>,
}

impl ContinuousLoad {
    /// Returns the same load in another range.
    pub fn within(mut self, range: ActiveRange) -> Self {
        self.stimulus.active_range = range;
        self
    }

    /// Runs the load to its end and returns where there were gaps.
    pub fn conduct(&self, bench: &mut dyn Bench) -> Result<LoadGaps, Halt> {
        conduct_in_parts(bench, &self.place, &self.stimulus.clone().into(), self.cut, self.time)
    }
}

/// Applies a load from cut to cut, the first at this place, until `time` is over or, without a
/// time, until the load is complete.
pub fn conduct_in_parts(
    bench: &mut dyn Bench,
    place: &StepPlace,
    load: &Load,
    cut: Nanos,
    time: Option<Nanos>,
) -> Result<LoadGaps, Halt> {
    let mut gaps = LoadGaps::default();
    let mut remaining = time;
    for point in 1.. {
        let cut = remaining.map_or(cut, |remaining| remaining.min(cut));
        remaining = remaining.map(|remaining| remaining.saturating_sub(cut));
        let place = StepPlace { point, ..place.clone() };
        let outcome = bench.apply(&Step::part(place, load.clone(), cut, point > 1))?;
        if outcome.gap_before.is_some() {
            gaps.note(point);
        }
        if outcome.measurement.complete || remaining == Some(Nanos::ZERO) {
            break;
        }
    }
    Ok(gaps)
}

/// Where there were gaps in a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadGaps {
    /// True if there was a gap before the first cut.
    pub gap_before: bool,
    /// True if there was a gap inside the load, so that it did not run in one piece.
    pub gap_inside: bool,
}

impl LoadGaps {
    /// Notes a gap before the cut with this number, from 1.
    pub(crate) fn note(&mut self, point: u32) {
        match point {
            1 => self.gap_before = true,
            _ => self.gap_inside = true,
        }
    }
}
