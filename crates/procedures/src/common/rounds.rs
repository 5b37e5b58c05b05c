//! The mixed-block loop: rounds of one-minute steps until the tracking variables are steady. The
//! IOPS, throughput and latency tests use it. Also here: checks of how a procedure may end, the
//! verdict on several loops, and the points of a loop over mixes and sizes.

use super::ProcedureSetup;
use crate::procedure_error::ProcedureError;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::steady_state::{TrackPoint, judge_every, judge_first_steady};
use steadfast_domain::{
    Bench, Bytes, Criteria, Demand, Halt, Measurement, Note, Outcome, Record, Settings, Step,
    StepPlace, Track, Verdict, judge,
};

/// Phase of the steps in the journal if a procedure has only one loop.
pub const PHASE: &str = "rounds";

/// Returns an error if the user chose another end than rounds to steady state for a test that only
/// has that one; `why` completes the message.
pub fn check_steady_end(settings: &Settings, why: &str) -> Result<(), ProcedureError> {
    match settings.steady_state {
        SteadyStateMethod::Rounds | SteadyStateMethod::Btw => Ok(()),
        other => Err(ProcedureError(format!(
            "{} cannot end by --steady-state {other}: {why}",
            settings.procedure
        ))),
    }
}

/// Returns an error if a mixed loop cannot end by the chosen steady-state method.
pub fn check_ending(settings: &Settings) -> Result<(), ProcedureError> {
    let why = match settings.steady_state {
        SteadyStateMethod::Rounds | SteadyStateMethod::Post25 => return Ok(()),
        SteadyStateMethod::Btw => {
            "writes between the rounds belong to tests of a single access pattern (WSAT, DIRTH, \
             HIR); in a mixed loop every round writes already"
        }
        SteadyStateMethod::Time(_) | SteadyStateMethod::Bytes(_) | SteadyStateMethod::Fills(_) => {
            "pseudo steady state by time, bytes or drive fills belongs to WSAT; a mixed loop is \
             judged by its rounds"
        }
    };
    Err(ProcedureError(format!(
        "{} cannot end by --steady-state {}: {why}; choose rounds or post-25",
        settings.procedure, settings.steady_state
    )))
}

/// Returns an error if the user chose a steady-state method or a number of rounds for a procedure
/// without rounds; `instead` describes how the procedure ends.
pub fn check_no_rounds(settings: &Settings, instead: &str) -> Result<(), ProcedureError> {
    if settings.steady_state == SteadyStateMethod::Rounds && settings.rounds_max.is_none() {
        return Ok(());
    }
    Err(ProcedureError(format!(
        "{} has no rounds and no steady state: {instead}",
        settings.procedure
    )))
}

/// Returns one verdict for several loops: steady if all are, with each variable in its own window.
/// The window is named only if it is common to all.
pub fn joint_verdict(verdicts: &[Verdict], criteria: &Criteria) -> Verdict {
    let first = verdicts.first().and_then(|verdict| verdict.window);
    Verdict {
        steady: !verdicts.is_empty() && verdicts.iter().all(|verdict| verdict.steady),
        window: first.filter(|window| verdicts.iter().all(|v| v.window == Some(*window))),
        tracks: verdicts.iter().flat_map(|verdict| verdict.tracks.clone()).collect(),
        criteria: *criteria,
        reservation: None,
    }
}

/// Function that computes the tracked value of a step; `None` if the step has none.
pub type TrackedMetric = fn(&Measurement) -> Option<f64>;

/// A loop of rounds: the points of a round in order, and the points that are tracked.
#[derive(Debug, Clone)]
pub struct MixedLoop {
    pub phase: String,
    /// Access patterns of the steps of a round, in order.
    pub points: Vec<AccessPattern>,
    pub tracked: Vec<AccessPattern>,
    pub metric: TrackedMetric,
    pub unit: &'static str,
    pub criteria: Criteria,
    pub rounds_max: u32,
    pub ending: SteadyStateMethod,
    pub demand: Demand,
}

/// Values of a round, and the position of its first gap: a time when the run did not hold the
/// device.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundValues {
    /// Number of the round, from 1.
    pub round: u32,
    /// One value per point that was run.
    pub values: Vec<Option<f64>>,
    /// First point, from 1, before which there was a gap; `None` without a gap.
    pub gap_at: Option<u32>,
}

impl RoundValues {
    fn new(round: u32) -> Self {
        RoundValues { round, values: Vec::new(), gap_at: None }
    }
    /// Adds the step of the next point.
    fn push(&mut self, outcome: &Outcome, metric: TrackedMetric) {
        self.values.push(metric(&outcome.measurement));
        if outcome.gap_before.is_some() && self.gap_at.is_none() {
            self.gap_at = u32::try_from(self.values.len()).ok();
        }
    }
    /// Returns true if a gap inside the round voids it. A gap before its first step does not.
    pub fn is_void(&self) -> bool {
        self.gap_at.is_some_and(|point| point > 1)
    }
}

/// Returns random access patterns of an outer loop over mixes, in percent of reads, and an inner
/// loop over block sizes.
pub fn random_points(mixes: &[u8], sizes: &[Bytes]) -> Vec<AccessPattern> {
    let mut points = Vec::new();
    for mix in mixes {
        points.extend(sizes.iter().map(|size| AccessPattern::random(*size, *mix)));
    }
    points
}

impl MixedLoop {
    /// Creates a loop that tracks IOPS, with the criteria and limits of the method. The caller sets
    /// its points and which of them are tracked.
    pub fn new(setup: &ProcedureSetup, phase: &str, is_last: bool, demand: Demand) -> Self {
        MixedLoop {
            phase: phase.to_owned(),
            points: Vec::new(),
            tracked: Vec::new(),
            metric: Measurement::iops,
            unit: "IOPS",
            criteria: setup.method.criteria,
            rounds_max: setup.rounds_max(phase, is_last, setup.method.rounds_max),
            ending: setup.settings.steady_state,
            demand,
        }
    }

    /// Runs rounds until the tracking variables are steady in one common window or the maximum
    /// number of rounds is reached; with `post-25`, always runs all rounds. Returns true if a
    /// window was steady.
    pub fn conduct(&self, bench: &mut dyn Bench, setup: &ProcedureSetup) -> Result<bool, Halt> {
        let mut rounds = Vec::new();
        let mut steady = false;
        for round in 1..=self.rounds_max {
            rounds.push(self.conduct_round(bench, round, setup)?);
            let verdict = judge(&self.tracks(&rounds), &self.criteria);
            bench.note(&Note::Verdict(verdict.clone()));
            steady |= verdict.steady;
            if steady && self.ending == SteadyStateMethod::Rounds {
                break;
            }
        }
        Ok(steady)
    }

    fn conduct_round(
        &self,
        bench: &mut dyn Bench,
        round: u32,
        setup: &ProcedureSetup,
    ) -> Result<RoundValues, Halt> {
        let mut values = RoundValues::new(round);
        for (point, pattern) in (1..).zip(&self.points) {
            let step = self.step(setup, round, point, pattern);
            values.push(&bench.apply(&step)?, self.metric);
        }
        Ok(values)
    }

    fn step(
        &self,
        setup: &ProcedureSetup,
        round: u32,
        point: u32,
        pattern: &AccessPattern,
    ) -> Step {
        let place = StepPlace::new(&self.phase, round, point, pattern.to_string());
        setup.step(place, pattern, self.demand, setup.step_time)
    }

    /// Returns the complete rounds of a record with the values of the tracked metric.
    pub fn rounds_of(&self, record: &Record) -> Vec<RoundValues> {
        self.rounds_by(record, self.metric)
    }

    /// Returns the complete rounds of a record with the values of another metric.
    pub fn rounds_by(&self, record: &Record, metric: TrackedMetric) -> Vec<RoundValues> {
        let mut rounds: Vec<RoundValues> = Vec::new();
        for (step, outcome) in record.steps().filter(|(step, _)| step.place.phase == self.phase) {
            if rounds.last().is_none_or(|last| last.round != step.place.round) {
                rounds.push(RoundValues::new(step.place.round));
            }
            if let Some(last) = rounds.last_mut() {
                last.push(outcome, metric);
            }
        }
        let points = self.points.len();
        rounds.retain(|r| r.values.len() == points && r.round <= self.rounds_max);
        rounds
    }

    /// Returns the tracking variables over complete rounds. A void round has no value; no window
    /// extends across a gap.
    pub fn tracks(&self, rounds: &[RoundValues]) -> Vec<Track> {
        self.tracked.iter().filter_map(|pattern| self.track(pattern, rounds)).collect()
    }

    fn track(&self, pattern: &AccessPattern, rounds: &[RoundValues]) -> Option<Track> {
        if !self.points.contains(pattern) {
            return None;
        }
        let points = rounds
            .iter()
            .map(|r| TrackPoint {
                round: r.round,
                value: self.value(r, pattern),
                after_gap: r.gap_at.is_some(),
            })
            .collect();
        Some(Track { name: pattern.to_string(), unit: self.unit.to_owned(), points })
    }

    /// Returns the value of a point in a round; `None` in a void round.
    pub fn value(&self, round: &RoundValues, pattern: &AccessPattern) -> Option<f64> {
        let index = self.points.iter().position(|point| point == pattern)?;
        if round.is_void() { None } else { round.values.get(index).copied().flatten() }
    }

    /// Returns the verdict for the report; see [`judge_first_steady`].
    pub fn verdict(&self, rounds: &[RoundValues]) -> Verdict {
        judge_first_steady(&self.tracks(rounds), &self.criteria)
    }

    /// Returns the first and last round of every steady window, which a run of 25 rounds lists.
    pub fn steady_windows(&self, rounds: &[RoundValues]) -> Vec<(u32, u32)> {
        judge_every(&self.tracks(rounds), &self.criteria)
            .into_iter()
            .filter(|verdict| verdict.steady)
            .filter_map(|verdict| verdict.window)
            .collect()
    }
}
