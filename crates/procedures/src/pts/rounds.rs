//! The mixed-block loop: rounds of one-minute steps until the tracking
//! variables are steady. IOPS, throughput and latency share it.

use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::steady_state::{Point, judge_every};
use steadfast_domain::{
    Bench, Criteria, Halt, Measurement, Note, Outcome, Record, Step, Track, Verdict, judge,
};

/// The phase under which its steps are journalled.
pub const PHASE: &str = "rounds";

/// What is read off a step for tracking.
pub type Metric = fn(&Measurement) -> Option<f64>;

/// A loop: the points of a round in order, and which of them are tracked.
#[derive(Debug, Clone)]
pub struct MixedLoop {
    /// The steps of a round.
    pub points: Vec<AccessPattern>,
    /// The tracking variables.
    pub tracked: Vec<AccessPattern>,
    /// What is tracked of them.
    pub metric: Metric,
    /// Its unit.
    pub unit: &'static str,
    /// When a window is steady.
    pub criteria: Criteria,
    /// The most rounds.
    pub rounds_max: u32,
    /// How the rounds end.
    pub ending: SteadyStateMethod,
}

/// What a round gave: one value per point, and the first point before which
/// the run had let go of the device.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundValues {
    /// The round, from 1.
    pub round: u32,
    /// One value per point that was run.
    pub values: Vec<Option<f64>>,
    /// The point, from 1, before which there was a gap.
    pub gap_at: Option<u32>,
}

impl RoundValues {
    fn new(round: u32) -> Self {
        RoundValues { round, values: Vec::new(), gap_at: None }
    }
    fn push(&mut self, outcome: &Outcome, metric: Metric) {
        self.values.push(metric(&outcome.measurement));
        if outcome.gap_before.is_some() && self.gap_at.is_none() {
            self.gap_at = u32::try_from(self.values.len()).ok();
        }
    }
    /// A gap inside a round voids it; one before its first step does not.
    pub fn is_void(&self) -> bool {
        self.gap_at.is_some_and(|point| point > 1)
    }
}

impl MixedLoop {
    /// Runs rounds until the tracking variables are steady in one common
    /// window, or the cap is reached.
    pub fn conduct(
        &self,
        bench: &mut dyn Bench,
        step: &dyn Fn(u32, u32, &AccessPattern) -> Step,
    ) -> Result<(), Halt> {
        let mut rounds = Vec::new();
        for round in 1..=self.rounds_max {
            rounds.push(self.conduct_round(bench, round, step)?);
            let verdict = judge(&self.tracks(&rounds), &self.criteria);
            bench.note(&Note::Verdict(verdict.clone()));
            if verdict.steady && self.ending == SteadyStateMethod::Rounds {
                break;
            }
        }
        Ok(())
    }

    fn conduct_round(
        &self,
        bench: &mut dyn Bench,
        round: u32,
        step: &dyn Fn(u32, u32, &AccessPattern) -> Step,
    ) -> Result<RoundValues, Halt> {
        let mut values = RoundValues::new(round);
        for (point, pattern) in (1..).zip(&self.points) {
            values.push(&bench.apply(&step(round, point, pattern))?, self.metric);
        }
        Ok(values)
    }

    /// The complete rounds of a record.
    pub fn rounds_of(&self, record: &Record) -> Vec<RoundValues> {
        let mut rounds: Vec<RoundValues> = Vec::new();
        for (step, outcome) in record.steps().filter(|(step, _)| step.place.phase == PHASE) {
            if rounds.last().is_none_or(|last| last.round != step.place.round) {
                rounds.push(RoundValues::new(step.place.round));
            }
            if let Some(last) = rounds.last_mut() {
                last.push(outcome, self.metric);
            }
        }
        let points = self.points.len();
        rounds.retain(|r| r.values.len() == points && r.round <= self.rounds_max);
        rounds
    }

    /// The tracking variables over complete rounds. A void round has no value;
    /// a round after a gap begins a new window.
    pub fn tracks(&self, rounds: &[RoundValues]) -> Vec<Track> {
        self.tracked.iter().filter_map(|pattern| self.track(pattern, rounds)).collect()
    }

    fn track(&self, pattern: &AccessPattern, rounds: &[RoundValues]) -> Option<Track> {
        let index = self.points.iter().position(|point| point == pattern)?;
        let points = rounds
            .iter()
            .map(|r| Point {
                round: r.round,
                value: if r.is_void() { None } else { r.values.get(index).copied().flatten() },
                after_gap: r.gap_at.is_some(),
            })
            .collect();
        Some(Track { name: pattern.to_string(), unit: self.unit.to_owned(), points })
    }

    /// The verdict that counts: the first steady window, as a loop that stops
    /// there would have found it; the last window where none is steady.
    pub fn verdict(&self, rounds: &[RoundValues]) -> Verdict {
        let tracks = self.tracks(rounds);
        judge_every(&tracks, &self.criteria)
            .into_iter()
            .find(|verdict| verdict.steady)
            .unwrap_or_else(|| judge(&tracks, &self.criteria))
    }

    /// Every steady window, for the reader of a run of 25 rounds.
    pub fn steady_windows(&self, rounds: &[RoundValues]) -> Vec<(u32, u32)> {
        judge_every(&self.tracks(rounds), &self.criteria)
            .into_iter()
            .filter(|verdict| verdict.steady)
            .filter_map(|verdict| verdict.window)
            .collect()
    }
}
