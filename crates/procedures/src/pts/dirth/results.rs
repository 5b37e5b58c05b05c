//! Results of DIRTH: preconditioning, rounds, and chosen points with their histograms.

use super::matrix::Round;
use super::points::{self, ChosenPoint, PointSelection};
use super::setup::{DEMAND, Dirth, PRE_WRITE};
use crate::common::attempts::{attempt_suffix, last_attempt_steps, steps_of};
use crate::common::continuous_load::LoadGaps;
use crate::exhibits::cyclic_load::JudgedLoad;
use steadfast_domain::{Measurement, Outcome, Record, Step, Tally, Verdict};

pub struct DirthResults<'a> {
    pub preconditioning: JudgedLoad<'a>,
    pub rounds: Vec<Round>,
    /// Verdict on IOPS at the highest demand.
    pub verdict: Verdict,
    /// Chosen points; `None` if no round is complete and free of gaps.
    pub selection: Option<PointSelection>,
    pub histograms: Vec<PointHistogram<'a>>,
    /// Steps of the writes before the rounds.
    pub round_pre_write_steps: Vec<(&'a Step, &'a Outcome)>,
}

/// Writes and histogram of a chosen point.
pub struct PointHistogram<'a> {
    pub chosen: ChosenPoint,
    /// Steps of the writes before the histogram, in the last attempt.
    pub pre_write: Vec<(&'a Step, &'a Outcome)>,
    /// Measurement of the histogram run; `None` if there was none or it is void.
    pub measurement: Option<&'a Measurement>,
}

impl PointHistogram<'_> {
    /// Returns the tally of all I/Os of the histogram run; `None` if there was none or it is void.
    pub fn tally(&self) -> Option<Tally> {
        self.measurement.map(Measurement::total)
    }
}

impl<'a> DirthResults<'a> {
    pub fn new(dirth: &'a Dirth, record: &'a Record) -> Self {
        let rounds = rounds_of(dirth, record);
        let selection = points::select(&dirth.matrix, &rounds, dirth.art_ceiling);
        let chosen = selection.iter().flat_map(|selection| &selection.points);
        DirthResults {
            preconditioning: JudgedLoad::new(&dirth.preconditioning, record),
            verdict: dirth.matrix.verdict(&rounds),
            histograms: chosen.map(|chosen| histogram(record, chosen)).collect(),
            selection,
            rounds,
            round_pre_write_steps: steps_of(record, PRE_WRITE),
        }
    }

    /// Returns the round from which the points were chosen.
    pub fn chosen_round(&self) -> Option<&Round> {
        let round = self.selection.as_ref()?.round;
        self.rounds.iter().find(|r| r.round == round)
    }
}

fn histogram<'a>(record: &'a Record, chosen: &ChosenPoint) -> PointHistogram<'a> {
    let histogram = last_attempt_steps(record, chosen.role.histogram_phase());
    let pre_write = last_attempt_steps(record, chosen.role.pre_write_phase());
    // A gap before the first write does no harm: all writes follow it.
    let is_unbroken = pre_write.iter().skip(1).all(|(_, outcome)| outcome.gap_before.is_none());
    // While an attempt's writes are still running, the last histogram in the record is that of the
    // previous, void attempt.
    let is_valid = |(step, outcome): &(&Step, &Outcome)| {
        let attempt = attempt_suffix(&step.place.phase);
        let is_same_attempt = |writes: &Step| attempt_suffix(&writes.place.phase) == attempt;
        is_unbroken
            && outcome.gap_before.is_none()
            && pre_write.last().is_some_and(|(writes, _)| is_same_attempt(writes))
    };
    let measurement = histogram.last().filter(|step| is_valid(step));
    let measurement = measurement.map(|(_, outcome)| &outcome.measurement);
    PointHistogram { chosen: chosen.clone(), pre_write, measurement }
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
            round.add_pre_write(LoadGaps { gap_before: first, gap_inside: !first });
        }
    }
    let demand_count = dirth.matrix.demands.len();
    rounds.retain(|r| r.cells.len() == demand_count && r.round <= dirth.matrix.rounds_max);
    rounds
}
