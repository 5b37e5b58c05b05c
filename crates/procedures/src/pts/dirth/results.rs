//! What a DIRTH record holds: preconditioning, rounds, chosen points.

use super::matrix::Round;
use super::points::{self, Chosen, Selection};
use super::setup::{DEMAND, Dirth, PRE_WRITE, PRECONDITIONING};
use crate::ground::attempts::{attempt_of, last_attempt};
use crate::ground::stretch::Pieces;
use crate::pts::between::{self, steps_of};
use steadfast_domain::{Measurement, Nanos, Outcome, Record, Step, Verdict};

/// Everything that the exhibits are made of.
pub struct Results<'a> {
    /// The minutes of the preconditioning.
    pub preconditioning: Vec<(&'a Step, &'a Outcome)>,
    /// The verdict on its measured minutes.
    pub preconditioned: Verdict,
    /// Every complete round.
    pub rounds: Vec<Round>,
    /// The verdict on IOPS at the highest demand.
    pub verdict: Verdict,
    /// The points that were chosen; `None` where no round is complete.
    pub selection: Option<Selection>,
    /// The histograms that count.
    pub histograms: Vec<Histogram<'a>>,
    /// The minutes of writes before the rounds.
    pub pre_writes: Vec<(&'a Step, &'a Outcome)>,
}

/// A chosen point's writes and its histogram.
pub struct Histogram<'a> {
    /// The point.
    pub chosen: Chosen,
    /// The minutes of its writes.
    pub pre_write: Vec<(&'a Step, &'a Outcome)>,
    /// Its response times; `None` where it is not done, or void.
    pub measurement: Option<&'a Measurement>,
}

impl<'a> Results<'a> {
    /// The results of a record.
    pub fn of(dirth: &Dirth, record: &'a Record) -> Self {
        let preconditioning = steps_of(record, PRECONDITIONING);
        let rounds = rounds_of(dirth, record);
        let selection = points::select(&dirth.matrix, &rounds, dirth.art_ceiling);
        let chosen = selection.iter().flat_map(|selection| &selection.points);
        Results {
            preconditioned: dirth.preconditioning.verdict(&preconditioning),
            preconditioning,
            verdict: dirth.matrix.verdict(&rounds),
            histograms: chosen.map(|chosen| histogram(record, chosen)).collect(),
            selection,
            rounds,
            pre_writes: steps_of(record, PRE_WRITE),
        }
    }

    /// The round that the points come from.
    pub fn reported(&self) -> Option<&Round> {
        let round = self.selection.as_ref()?.round;
        self.rounds.iter().find(|r| r.round == round)
    }
}

fn histogram<'a>(record: &'a Record, chosen: &Chosen) -> Histogram<'a> {
    let measured = last_attempt(record, &chosen.role.histogram_phase());
    let pre_write = last_attempt(record, &chosen.role.pre_write_phase());
    let whole = pre_write.iter().skip(1).all(|(_, outcome)| outcome.gap_before.is_none());
    // A void attempt leaves its histogram behind while the next one's writes run.
    let same_attempt = match (pre_write.last(), measured.last()) {
        (Some((writes, _)), Some((step, _))) => {
            attempt_of(&writes.place.phase) == attempt_of(&step.place.phase)
        }
        _ => false,
    };
    let measurement = measured
        .last()
        .filter(|(_, outcome)| whole && same_attempt && outcome.gap_before.is_none())
        .map(|(_, outcome)| &outcome.measurement);
    Histogram { chosen: chosen.clone(), pre_write, measurement }
}

fn rounds_of(dirth: &Dirth, record: &Record) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    for (step, outcome) in record.steps() {
        let place = &step.place;
        if place.phase != PRE_WRITE && place.phase != DEMAND {
            continue;
        }
        if rounds.last().is_none_or(|last| last.round != place.round) {
            rounds.push(Round::new(place.round));
        }
        let Some(round) = rounds.last_mut() else { continue };
        if place.phase == DEMAND {
            round.push(outcome);
        } else if outcome.gap_before.is_some() {
            let first = place.point == 1;
            round.add_pre_write(Pieces { gap_before: first, gap_inside: !first });
        }
    }
    let points = dirth.matrix.demands.len();
    rounds.retain(|r| r.cells.len() == points && r.round <= dirth.matrix.rounds_max);
    rounds
}

/// IOPS of minutes against their number.
pub fn minutes(steps: &[(&Step, &Outcome)]) -> Vec<(f64, Option<f64>)> {
    let mut time = Nanos::ZERO;
    steps
        .iter()
        .map(|(_, outcome)| {
            time += outcome.measurement.elapsed;
            (between::minutes(time), outcome.measurement.iops())
        })
        .collect()
}
