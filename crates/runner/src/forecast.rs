//! Forecast of a procedure, at best and at worst, and the time left of a run.
//!
//! Both come from two rehearsals: with a drive that is steady at the first chance, and with one
//! that never is.

use crate::rehearsal::{
    DriveOutlook, PlannedStep, StepPlan, bytes_of_unknown_time, known_time, rehearse,
};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use steadfast_domain::measurement::Interval;
use steadfast_domain::{
    Bytes, Demand, Halt, Measurement, Nanos, Procedure, Step, StepPlace, WriteCache,
};

/// Consecutive steps of one phase and round.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct OutlineSection {
    /// The phase.
    pub phase: String,
    /// The round; 0 outside rounds.
    pub round: u32,
    /// Steps, in order.
    pub steps: Vec<RepeatedStep>,
    /// Duration of all steps; `None` if it depends on the drive's speed.
    pub time_ns: Option<Nanos>,
    /// Bytes that end the first step; `None` if its time does.
    pub bytes: Option<Bytes>,
    /// Bytes at which the load ends even before its time is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_at_most: Option<Bytes>,
}

impl OutlineSection {
    /// Returns the number of steps.
    pub fn step_count(&self) -> u32 {
        self.steps.iter().map(|step| step.times).sum()
    }
}

/// Steps in a row that do the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct RepeatedStep {
    /// Description of one step.
    pub label: String,
    /// Number of steps.
    pub times: u32,
}

/// The steps of a run in order, and their duration.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Outline {
    /// Number of rounds if the drive is steady at the first chance.
    pub best_rounds: u32,
    /// Number of rounds if it never is.
    pub worst_rounds: u32,
    /// Fewest and most rounds of every phase that has rounds.
    pub rounds: BTreeMap<String, (u32, u32)>,
    /// Total of the known times if the drive is steady at the first chance, in nanoseconds.
    pub best_time_ns: Nanos,
    /// Total of the known times if it never is, in nanoseconds.
    pub worst_time_ns: Nanos,
    /// Bytes of the steps whose duration depends on the drive's speed.
    pub unknown_time_bytes: Bytes,
    /// Write cache setting that the procedure asks for; `None` if it leaves the cache alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCache>,
    /// Demands of the steps in rounds, or of all steps if there are no rounds: each once, in
    /// order of appearance.
    pub demands: Vec<Demand>,
    /// All steps that may run.
    pub sections: Vec<OutlineSection>,
}

impl Outline {
    /// Rehearses a procedure, with an assumed rate of sequential writes in bytes per second if
    /// there is one.
    ///
    /// # Errors
    /// Returns an error if the procedure halts.
    pub fn rehearse(
        procedure: &dyn Procedure,
        bytes_per_second: Option<u64>,
    ) -> Result<Self, Halt> {
        let best = rehearse(procedure, DriveOutlook::Best, bytes_per_second)?;
        let worst = rehearse(procedure, DriveOutlook::Worst, bytes_per_second)?;
        Ok(Outline {
            best_rounds: best.rounds(),
            worst_rounds: worst.rounds(),
            rounds: rounds(&best, &worst),
            best_time_ns: known_time(&best.steps),
            worst_time_ns: known_time(&worst.steps),
            unknown_time_bytes: bytes_of_unknown_time(&best.steps),
            write_cache: worst.write_cache,
            demands: demands(&worst),
            sections: sections(&worst),
        })
    }
}

fn demands(plan: &StepPlan) -> Vec<Demand> {
    let has_rounds = plan.rounds() > 0;
    let mut demands = Vec::new();
    for step in plan.steps.iter().filter(|step| step.round > 0 || !has_rounds) {
        if let Some(demand) = step.demand
            && !demands.contains(&demand)
        {
            demands.push(demand);
        }
    }
    demands
}

fn sections(plan: &StepPlan) -> Vec<OutlineSection> {
    let mut sections: Vec<OutlineSection> = Vec::new();
    for step in &plan.steps {
        match sections.last_mut() {
            Some(last) if last.phase == step.phase && last.round == step.round => {
                match last.steps.last_mut() {
                    Some(same) if same.label == step.label => same.times += 1,
                    _ => last.steps.push(RepeatedStep { label: step.label.clone(), times: 1 }),
                }
                last.time_ns = last.time_ns.zip(step.time).map(|(a, b)| a + b);
            }
            _ => sections.push(OutlineSection {
                phase: step.phase.clone(),
                round: step.round,
                steps: vec![RepeatedStep { label: step.label.clone(), times: 1 }],
                time_ns: step.time,
                bytes: step.bytes,
                bytes_at_most: step.bytes_at_most,
            }),
        }
    }
    sections
}

/// Returns the fewest and the most rounds of every phase that has rounds.
fn rounds(best: &StepPlan, worst: &StepPlan) -> BTreeMap<String, (u32, u32)> {
    let mut rounds: BTreeMap<String, (u32, u32)> = BTreeMap::new();
    for step in &best.steps {
        let (fewest, _) = rounds.entry(step.phase.clone()).or_default();
        *fewest = (*fewest).max(step.round);
    }
    for step in &worst.steps {
        let (_, most) = rounds.entry(step.phase.clone()).or_default();
        *most = (*most).max(step.round);
    }
    rounds.retain(|_, (_, most)| *most > 0);
    rounds
}

/// Time left, from two rehearsals and the progress of the run.
pub struct Forecast {
    best: PlanPosition,
    worst: PlanPosition,
    /// Bytes that the current step moved in its finished intervals.
    step_bytes: u64,
    /// Time of these intervals.
    step_time: Nanos,
    /// Phase of a round that only the worst case has.
    worst_case_phase: Option<String>,
    /// Bytes that the current load moved in earlier steps.
    earlier_bytes: u64,
    recent_rates: VecDeque<f64>,
}

/// A plan, and the position of the run in it.
struct PlanPosition {
    plan: StepPlan,
    /// Index of the current step.
    index: usize,
}

impl PlanPosition {
    fn new(procedure: &dyn Procedure, outlook: DriveOutlook) -> Self {
        PlanPosition { plan: rehearse(procedure, outlook, None).unwrap_or_default(), index: 0 }
    }

    /// Advances to the planned step at this place. Returns false if there is none: a place
    /// outside the plan (a round beyond the best case, the next part of a load that is planned as
    /// one step) changes nothing.
    fn advance_to(&mut self, place: &StepPlace) -> bool {
        let is_here = |s: &PlannedStep| {
            s.phase == place.phase && s.round == place.round && s.point == place.point
        };
        let steps_ahead = self.plan.steps[self.index..].iter().position(is_here);
        self.index += steps_ahead.unwrap_or(0);
        steps_ahead.is_some()
    }

    /// Returns the current step and all later ones.
    fn remaining_steps(&self) -> &[PlannedStep] {
        self.plan.steps.get(self.index..).unwrap_or_default()
    }

    /// Returns the time of this step and the rest of its round.
    fn remaining_round_time(&self) -> Nanos {
        let is_same_round = |one: &PlannedStep, other: &PlannedStep| {
            (&one.phase, one.round) == (&other.phase, other.round)
        };
        let mut rounds = self.remaining_steps().chunk_by(is_same_round);
        rounds.next().map_or(Nanos::ZERO, known_time)
    }

    /// Returns the time of the phases after this one.
    fn time_after(&self, phase: &str) -> Nanos {
        let last = self.plan.steps.iter().rposition(|s| s.phase == phase);
        known_time(&self.plan.steps[last.map_or(0, |last| last + 1)..])
    }

    /// Returns the number of rounds that the plan has of a phase.
    fn rounds_of(&self, phase: &str) -> u32 {
        let steps = self.plan.steps.iter().filter(|s| s.phase == phase);
        steps.map(|s| s.round).max().unwrap_or(0)
    }

    fn step(&self) -> Option<&PlannedStep> {
        self.plan.steps.get(self.index)
    }

    /// Returns how much of the current step's known time has passed; zero for a step whose
    /// duration depends on the drive's speed.
    fn passed(&self, elapsed: Nanos) -> Nanos {
        elapsed.min(self.step().and_then(|step| step.time).unwrap_or_default())
    }
}

/// Number of intervals of one second over which the write rate is averaged.
const RECENT_INTERVALS: usize = 30;

/// Longest forecast in seconds: thirty years.
const SECONDS_MAX: f64 = 1e9;

impl Forecast {
    /// Rehearses a procedure that is about to be conducted.
    pub fn new(procedure: &dyn Procedure) -> Self {
        Forecast {
            best: PlanPosition::new(procedure, DriveOutlook::Best),
            worst: PlanPosition::new(procedure, DriveOutlook::Worst),
            step_bytes: 0,
            step_time: Nanos::ZERO,
            worst_case_phase: None,
            earlier_bytes: 0,
            recent_rates: VecDeque::new(),
        }
    }

    /// Notes that a step begins.
    pub fn begin(&mut self, step: &Step) {
        if !step.continues {
            self.earlier_bytes = 0;
        }
        (self.step_bytes, self.step_time) = (0, Nanos::ZERO);
        let (is_best, is_worst) =
            (self.best.advance_to(&step.place), self.worst.advance_to(&step.place));
        self.worst_case_phase = (is_worst && !is_best).then(|| step.place.phase.clone());
    }

    /// Adds a finished interval of the step.
    pub fn count(&mut self, interval: &Interval) {
        self.step_bytes += interval.tallies.iter().map(|t| t.bytes.0).sum::<u64>();
        self.step_time = interval.end;
        let by_bytes = self.best.step().is_some_and(|step| step.time.is_none());
        if let Some(rate) = interval.bytes_per_second().filter(|_| by_bytes && !interval.partial) {
            self.recent_rates.push_back(rate);
            if self.recent_rates.len() > RECENT_INTERVALS {
                self.recent_rates.pop_front();
            }
        }
    }

    /// Notes that the step has finished.
    pub fn finish(&mut self, measurement: &Measurement) {
        self.earlier_bytes += measurement.bytes().0;
        (self.step_bytes, self.step_time) = (0, Nanos::ZERO);
    }

    fn moved(&self) -> u64 {
        self.earlier_bytes + self.step_bytes
    }

    /// Returns the completed share of a load that ends by bytes, from 0 to 1; `None` for any
    /// other load.
    pub fn share_written(&self) -> Option<f64> {
        match self.best.step() {
            Some(PlannedStep { time: None, bytes: Some(all), .. }) if all.0 > 0 => {
                Some(self.moved().min(all.0) as f64 / all.0 as f64)
            }
            _ => None,
        }
    }

    /// Returns the completed share of the current step, from 0 to 1; `None` if its end is
    /// unknown.
    pub fn share_of_step(&self) -> Option<f64> {
        let planned = self.worst.step().and_then(|step| step.time).filter(|time| time.0 > 0);
        let by_time = planned.map(|all| self.step_time.0.min(all.0) as f64 / all.0 as f64);
        self.share_written().or(by_time)
    }

    /// Returns the fewest and the most rounds of a phase.
    pub fn rounds(&self, phase: &str) -> (u32, u32) {
        (self.best.rounds_of(phase), self.worst.rounds_of(phase))
    }

    /// Returns the number of points in a round of a phase.
    pub fn points(&self, phase: &str, round: u32) -> usize {
        let steps = self.worst.plan.steps.iter();
        steps.filter(|step| step.phase == phase && step.round == round).count()
    }

    /// Returns the time left; `None` while the rate of the bytes still to be written is unknown.
    pub fn left(&self) -> Option<TimeLeft> {
        let write_seconds = self.write_seconds_left()?;
        let span = |planned: Nanos, current: &PlanPosition| {
            let timed = planned.saturating_sub(current.passed(self.step_time));
            Duration::from_secs_f64((write_seconds + timed.as_secs_f64()).min(SECONDS_MAX))
        };
        // Beyond the best case, this round may still be the one that is steady.
        let best = match &self.worst_case_phase {
            Some(phase) => {
                let planned = self.worst.remaining_round_time() + self.best.time_after(phase);
                span(planned, &self.worst)
            }
            None => span(known_time(self.best.remaining_steps()), &self.best),
        };
        let worst = span(known_time(self.worst.remaining_steps()), &self.worst);
        Some(TimeLeft { best, worst })
    }

    /// Returns the seconds to write the loads that end by bytes, at the recent rate.
    fn write_seconds_left(&self) -> Option<f64> {
        let moved = match self.best.step() {
            Some(PlannedStep { time: None, bytes: Some(all), .. }) => self.moved().min(all.0),
            _ => 0,
        };
        let planned = bytes_of_unknown_time(self.best.remaining_steps()).0 - moved;
        let rate = self.recent_rates.iter().sum::<f64>() / self.recent_rates.len().max(1) as f64;
        match planned {
            0 => Some(0.0),
            _ if rate <= 0.0 => None,
            planned => Some(planned as f64 / rate),
        }
    }
}

/// Remaining time of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeLeft {
    /// If the drive is steady at the first chance.
    pub best: Duration,
    /// If it never is.
    pub worst: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::settings::Geometry;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Bytes, Demand, Settings, Stimulus};
    use steadfast_procedures::procedure;

    /// The IOPS test of the specification: twice the capacity in sequential writes, then 5 to 25
    /// rounds of 56 minutes.
    #[test]
    fn an_outline_has_rounds_and_preconditioning() {
        let geometry = Geometry { capacity: Bytes::gib(1), logical_sector: 512 };
        let iops = procedure(&Settings::new("iops", 1), geometry, &[]).unwrap();
        let outline = Outline::rehearse(iops.as_ref(), None).unwrap();
        assert_eq!((outline.best_rounds, outline.worst_rounds), (5, 25));
        assert_eq!(outline.rounds, BTreeMap::from([("rounds".to_owned(), (5, 25))]));
        assert_eq!(outline.unknown_time_bytes, Bytes::gib(2));
        let round = outline.sections.iter().find(|s| s.round == 25).unwrap();
        assert_eq!((round.step_count(), round.time_ns), (56, Some(Nanos::from_secs(56 * 60))));
        assert_eq!(outline.best_time_ns, Nanos::from_secs(5 * 56 * 60));
        let assumed = Outline::rehearse(iops.as_ref(), Some(1 << 30)).unwrap();
        assert_eq!(assumed.unknown_time_bytes, Bytes(0));
        assert_eq!(assumed.best_time_ns, Nanos::from_secs(5 * 56 * 60 + 2));
    }

    /// Two fills of 1000 bytes at 100 bytes per second, and a minute of a load between them.
    #[test]
    fn fills_and_timed_loads_are_forecast_separately() {
        let step = |point, time, bytes| PlannedStep {
            phase: "load".into(),
            round: 0,
            point,
            label: String::new(),
            time,
            bytes,
            bytes_at_most: None,
            demand: None,
        };
        let fill = |point| step(point, None, Some(Bytes(1000)));
        let steps = vec![fill(1), step(2, Some(Nanos::from_secs(60)), None), fill(3)];
        let plan = StepPlan { steps, write_cache: None };
        for (index, bytes, seconds, left) in [
            (0, 0, 0, 80),
            (0, 300, 3, 77),
            (0, 1000, 10, 70),
            (1, 0, 0, 70),
            (1, 999_999, 20, 50),
            (1, 999_999, 61, 10),
            (2, 400, 4, 6),
        ] {
            let position = || PlanPosition { plan: plan.clone(), index };
            let forecast = Forecast {
                best: position(),
                worst: position(),
                step_bytes: bytes,
                step_time: Nanos::from_secs(seconds),
                worst_case_phase: None,
                earlier_bytes: 0,
                recent_rates: [100.0].into(),
            };
            let both = Duration::from_secs(left);
            let expected = TimeLeft { best: both, worst: both };
            assert_eq!(forecast.left(), Some(expected), "step {index}, {bytes} bytes");
        }
    }

    /// Five rounds are the best case. In the sixth, what is left is the rest of that round and
    /// the histogram, not the end of a finished plan.
    #[test]
    fn beyond_the_best_case_this_round_may_be_the_last() {
        let geometry = Geometry { capacity: Bytes::gib(1), logical_sector: 512 };
        let latency = procedure(&Settings::new("latency", 1), geometry, &[]).unwrap();
        let mut forecast = Forecast::new(latency.as_ref());
        let sixth = |s: &&PlannedStep| s.phase == "rounds" && s.round == 6 && s.point == 8;
        let planned = forecast.worst.plan.steps.iter().find(sixth).unwrap().clone();
        let place = StepPlace::new(&planned.phase, planned.round, planned.point, "");
        let range = ActiveRange::new(Bytes(0), Bytes::gib(1));
        let minute = LoadLimits::time(Nanos::from_secs(60));
        let stimulus = Stimulus::new(Vec::new(), range, Demand::new(1, 1), minute);
        let last_of_best = StepPlace::new("rounds", 5, 9, "");
        forecast.begin(&Step::alone(last_of_best, stimulus.clone()));
        forecast.begin(&Step::alone(place, stimulus));
        forecast.step_time = Nanos::from_secs(20);
        let left = forecast.left().unwrap();
        assert_eq!(left.best, Duration::from_secs(21 * 60 + 40));
    }
}
