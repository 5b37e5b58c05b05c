//! A load that runs on from cut to cut.

use steadfast_domain::{Bench, Halt, Load, Nanos, Place, Step, Stimulus};

/// A load that is left at a cut has this limit, which it never reaches: a year.
/// A limit at the very time of the last cut would race with it.
pub const NO_END: Nanos = Nanos::from_secs(365 * 86_400);

/// How often a load that ends by its bytes reaches the journal: a run that dies
/// loses no more.
pub const CHECKPOINT: Nanos = Nanos::from_secs(60);

/// A load that runs on from cut to cut until its time is over; where it has
/// none, until it is complete.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// Place of its first cut.
    pub place: Place,
    /// The load.
    pub stimulus: Stimulus,
    /// The time between cuts.
    pub cut: Nanos,
    /// When it is left, the last cut being the shorter where the cuts do not fit.
    pub time: Option<Nanos>,
}

impl Stretch {
    /// Runs it to its end; tells whether there was a gap after its first cut,
    /// so that it did not run in one piece.
    pub fn conduct(&self, bench: &mut dyn Bench) -> Result<Pieces, Halt> {
        conduct_in_parts(bench, &self.place, &self.stimulus.clone().into(), (self.cut, self.time))
    }
}

/// Applies a load from cut to cut, the first at this place, until its time is over; where
/// it has none, until it is complete.
pub fn conduct_in_parts(
    bench: &mut dyn Bench,
    place: &Place,
    load: &Load,
    (cut, time): (Nanos, Option<Nanos>),
) -> Result<Pieces, Halt> {
    let mut pieces = Pieces::default();
    let mut left = time;
    for point in 1.. {
        let cut = left.map_or(cut, |left| left.min(cut));
        left = left.map(|left| left.saturating_sub(cut));
        let place = Place { point, ..place.clone() };
        let outcome = bench.apply(&Step::part(place, load.clone(), cut, point > 1))?;
        if outcome.gap_before.is_some() {
            pieces.note(point);
        }
        if outcome.measurement.complete || left == Some(Nanos::ZERO) {
            break;
        }
    }
    Ok(pieces)
}

/// Whether a stretch ran in one piece.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pieces {
    /// There was a gap before its first cut.
    pub gap_before: bool,
    /// There was a gap inside it.
    pub gap_inside: bool,
}

impl Pieces {
    fn note(&mut self, point: u32) {
        match point {
            1 => self.gap_before = true,
            _ => self.gap_inside = true,
        }
    }
}
