//! A continuous load of which one step in each cycle is measured, until the measured steps are
//! steady: the between-round writes of the PTS (SNIA tutorial, steady-state determination,
//! method 3).
//!
//! A step lasts a minute, less in profile quick. A cycle is one measured step and those that fill
//! 30 minutes between (PTS-E 1.1 as implemented by CloudHarmony; other implementations have
//! cycles of 30 steps); the journal and the report call it a round. A parameter decides which step
//! of the cycle is measured. The window restarts after a gap; a step right after a gap has no
//! value, because the device was idle.

use crate::common::ProcedureSetup;
use crate::common::applied::ApplicableWorkload;
use crate::common::continuous_load::NO_END;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use steadfast_domain::settings::SteadyStateMethod;
use steadfast_domain::steady_state::{TrackPoint, judge_every};
use steadfast_domain::step::is_whole;
use steadfast_domain::stimulus::LoadLimits;
use steadfast_domain::{
    Bench, Bytes, Criteria, Demand, Halt, Nanos, Note, Outcome, Settings, Step, StepPlace,
    Stimulus, Track, Verdict, judge,
};

pub const BETWEEN_TIME: Parameter = Parameter {
    name: "between-time",
    default: "30min",
    quick: Some("4s"),
    meaning: "length of the writes between two rounds; one more step is measured",
    source: "SNIA tutorial (30 min between 1-min rounds: a cycle of 31 minutes); some public \
             implementations have cycles of 30",
    ..Parameter::UNVERIFIED
};

/// Parameter `measured-minute`; the default is the last step of a cycle (CloudHarmony).
pub const MEASURED_LAST: Parameter = Parameter {
    name: "measured-minute",
    default: "last",
    meaning: "which minute of a cycle is measured: first or last",
    source: "public implementations differ: the last in WSAT and HIR, the first in DIRTH",
    ..Parameter::UNVERIFIED
};

/// Parameter `measured-minute` with the first step of a cycle as the default.
pub const MEASURED_FIRST: Parameter = Parameter { default: "first", ..MEASURED_LAST };

pub const LEAST_FILLS: Parameter = Parameter {
    name: "least-fills",
    default: "1",
    meaning: "how many times the user capacity must be written after the purge before a measured \
        minute counts toward steady state; 0 for the plain rule",
    source: "our rule: a drive that was not fully written once can look steady while still fresh",
    ..Parameter::PLAIN
};

/// Position of the measured step in a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CyclePosition {
    /// First step: the cycle's writes follow it.
    First,
    /// Last step: the cycle's writes precede it.
    Last,
}

/// A continuous load with one measured step in every cycle.
#[derive(Debug, Clone)]
pub struct CyclicLoad {
    /// Phase of the steps in the journal; a cycle is a round of it.
    pub phase: String,
    pub label: String,
    /// Load to apply; its own limits also end it.
    pub stimulus: Stimulus,
    pub step_time: Nanos,
    /// Number of steps between two measured ones.
    pub steps_between: u32,
    pub measured: CyclePosition,
    pub criteria: Criteria,
    pub cycles_max: u32,
    /// True if the load stops at the first steady window.
    pub stops: bool,
    pub steps_max: u64,
    /// Amount that must have been written before a window counts.
    pub fill: FillRequirement,
}

/// Amount that must have been written to a drive before a window counts, and the amount written
/// before the load began.
#[derive(Debug, Clone, Copy, Default)]
pub struct FillRequirement {
    /// User capacity; zero disables the check, because the load does not write or the drive was
    /// filled before.
    pub capacity: Bytes,
    /// Bytes written between the purge and the start of the load.
    pub before: Bytes,
    /// Amount that must have been written, in user capacities.
    pub least: f64,
    /// True if only the load's own writes count toward `least`: preconditioning in another order
    /// leaves blocks free that the load then uses up.
    pub own_writes: bool,
}

impl FillRequirement {
    /// Creates a requirement for a drive of this capacity from `parameter`, the procedure's
    /// `least-fills`.
    pub fn from_settings(
        parameter: &Parameter,
        settings: &Settings,
        capacity: Bytes,
    ) -> Result<Self, ProcedureError> {
        let least = parameter.within(settings, 0.0..=100.0)?;
        Ok(FillRequirement { capacity, before: Bytes(0), least, own_writes: false })
    }

    /// Adjusts the verdict on a window before whose first step the load had written `written`
    /// bytes: changes it to not steady if that is too little, and adds a reservation if the drive
    /// had not been filled once.
    fn adjust(&self, verdict: Verdict, written: Bytes) -> Verdict {
        if !verdict.steady || self.capacity.0 == 0 {
            return verdict;
        }
        let capacity = self.capacity.0 as f64;
        let fills = (self.before.0 + written.0) as f64 / capacity;
        let own = written.0 as f64 / capacity;
        let (counted, writer) =
            if self.own_writes { (own, " by the workload itself") } else { (fills, "") };
        if counted < self.least {
            return verdict.refused(format!(
                "the values are within the limits, but do not count: {counted:.2} of {} drive \
                 fills were written{writer} when the window began",
                self.least
            ));
        }
        let reservation = (fills < 1.0).then(|| {
            format!("STILL FRESH: {fills:.2} drive fills were written when the window began")
        });
        Verdict { reservation, ..verdict }
    }
}

/// Steps of a cycle.
#[derive(Debug, Clone, Copy)]
pub struct CycleLayout {
    pub steps_between: u32,
    pub measured: CyclePosition,
}

impl CycleLayout {
    /// Returns the cycle that the parameters ask for; `measured` is the procedure's
    /// `measured-minute`.
    pub fn from_settings(
        measured: &Parameter,
        settings: &Settings,
        step_time: Nanos,
    ) -> Result<Self, ProcedureError> {
        let time = BETWEEN_TIME.time(settings)?;
        let positions = [("first", CyclePosition::First), ("last", CyclePosition::Last)];
        let measured = measured.choice(settings, &positions)?;
        let steps_between = u32::try_from(time.0.div_ceil(step_time.0)).unwrap_or(u32::MAX - 1);
        Ok(CycleLayout { steps_between, measured })
    }
}

impl CyclicLoad {
    /// Creates a load that ends by its steady state or its cycles only.
    pub fn endless(
        setup: &ProcedureSetup,
        phase: &str,
        label: String,
        workload: &impl ApplicableWorkload,
        demand: Demand,
        cycle: CycleLayout,
    ) -> Self {
        let place = StepPlace::new(phase, 0, 1, "");
        let stimulus = setup.stimulus(workload, demand, LoadLimits::time(NO_END), &place);
        CyclicLoad::new(setup, phase, label, stimulus, cycle)
    }

    /// Creates a load with the criteria and limits of the method and without a required fill.
    pub fn new(
        setup: &ProcedureSetup,
        phase: &str,
        label: String,
        stimulus: Stimulus,
        cycle: CycleLayout,
    ) -> Self {
        CyclicLoad {
            phase: phase.to_owned(),
            label,
            stimulus,
            step_time: setup.step_time,
            steps_between: cycle.steps_between,
            measured: cycle.measured,
            criteria: setup.method.criteria,
            cycles_max: setup.method.rounds_max,
            stops: setup.settings.steady_state != SteadyStateMethod::Post25,
            steps_max: u64::MAX,
            fill: FillRequirement::default(),
        }
    }

    pub fn steps_per_cycle(&self) -> u32 {
        self.steps_between + 1
    }

    pub fn cycle_time(&self) -> Nanos {
        Nanos(self.step_time.0 * u64::from(self.steps_per_cycle()))
    }

    /// Returns true if this step of a cycle, counted from 1, is measured.
    pub fn is_measured(&self, step: u32) -> bool {
        match self.measured {
            CyclePosition::First => step == 1,
            CyclePosition::Last => step == self.steps_per_cycle(),
        }
    }

    /// Applies the load until a window of measured steps is steady (if [`CyclicLoad::stops`] is
    /// true), the maximum number of cycles or steps is reached, or the load reaches its own limit.
    /// Returns the values of the measured steps.
    pub fn conduct(&self, bench: &mut dyn Bench) -> Result<Track, Halt> {
        let mut tracker = StepTracker::new(self);
        let mut applied = 0;
        for cycle in 1..=self.cycles_max {
            for number in 1..=self.steps_per_cycle() {
                let step = self.step(cycle, number);
                let outcome = bench.apply(&step)?;
                tracker.add(&step.place, &outcome);
                applied += 1;
                let is_measured = self.is_measured(number);
                let is_steady = is_measured && self.judge_last_window(bench, &tracker);
                // Writes after the last measured step would serve no purpose.
                let is_last = is_measured && cycle == self.cycles_max;
                let is_over = outcome.measurement.complete || applied == self.steps_max;
                if is_steady || is_last || is_over {
                    return Ok(tracker.track());
                }
            }
        }
        Ok(tracker.track())
    }

    /// Judges the last window and notes the verdict; returns true if it ends the load.
    fn judge_last_window(&self, bench: &mut dyn Bench, tracker: &StepTracker<'_>) -> bool {
        let verdict = tracker.adjust(judge(&[tracker.track()], &self.criteria));
        let ends = verdict.steady && self.stops;
        bench.note(&Note::Verdict(verdict));
        ends
    }

    fn step(&self, cycle: u32, number: u32) -> Step {
        let label = if self.is_measured(number) {
            self.label.clone()
        } else {
            format!("{} (between)", self.label)
        };
        let place = StepPlace::new(&self.phase, cycle, number, label);
        let continues = (cycle, number) != (1, 1);
        Step::part(place, self.stimulus.clone(), self.step_time, continues)
    }

    /// Returns the tracking variable over these steps.
    pub fn track(&self, steps: &[(&Step, &Outcome)]) -> Track {
        self.tracker(steps).track()
    }

    fn tracker(&self, steps: &[(&Step, &Outcome)]) -> StepTracker<'_> {
        let mut tracker = StepTracker::new(self);
        for (step, outcome) in steps {
            tracker.add(&step.place, outcome);
        }
        tracker
    }

    /// Returns the verdict for the report: on the first steady window, else on the last window.
    pub fn verdict(&self, steps: &[(&Step, &Outcome)]) -> Verdict {
        let tracker = self.tracker(steps);
        let tracks = [tracker.track()];
        for verdict in judge_every(&tracks, &self.criteria) {
            let verdict = tracker.adjust(verdict);
            if verdict.steady {
                return verdict;
            }
        }
        tracker.adjust(judge(&tracks, &self.criteria))
    }
}

/// The tracking variable, collected step by step.
struct StepTracker<'a> {
    load: &'a CyclicLoad,
    points: Vec<TrackPoint>,
    /// Bytes that the load had written before the step of each point.
    written_before: Vec<Bytes>,
    written: Bytes,
    /// True if a gap lies between the last point and the next one.
    has_gap: bool,
}

impl<'a> StepTracker<'a> {
    fn new(load: &'a CyclicLoad) -> Self {
        StepTracker {
            load,
            points: Vec::new(),
            written_before: Vec::new(),
            written: Bytes(0),
            has_gap: false,
        }
    }

    /// Adds a step; only a measured one has a point.
    fn add(&mut self, place: &StepPlace, outcome: &Outcome) {
        self.has_gap |= outcome.gap_before.is_some();
        let measurement = &outcome.measurement;
        let before = self.written + (outcome.written() - measurement.written());
        self.written += outcome.written();
        if !self.load.is_measured(place.point) {
            return;
        }
        // A gap before the first step is harmless.
        let is_first = (place.round, place.point) == (1, 1);
        let was_idle = outcome.gap_before.is_some() && !is_first;
        let is_whole = is_whole(measurement.elapsed, self.load.step_time);
        let value = measurement.iops().filter(|_| is_whole && !was_idle);
        self.points.push(TrackPoint { round: place.round, value, after_gap: self.has_gap });
        self.written_before.push(before);
        self.has_gap = false;
    }

    fn track(&self) -> Track {
        Track {
            name: self.load.label.clone(),
            unit: "IOPS".to_owned(),
            points: self.points.clone(),
        }
    }

    /// Adjusts a verdict by how much had been written when its window began.
    fn adjust(&self, verdict: Verdict) -> Verdict {
        let first = verdict.window.map(|(first, _)| first);
        let index = self.points.iter().position(|point| Some(point.round) == first);
        match index.and_then(|index| self.written_before.get(index)) {
            Some(written) => self.load.fill.adjust(verdict, *written),
            None => verdict,
        }
    }
}

/// Returns a sentence on the effect of a gap before a step of such a load.
pub fn gap_effect(step: &Step) -> &'static str {
    match (step.place.round, step.place.point) {
        (1, 1) => "The load had not started.",
        _ => "The load continued after it, and the steady-state window restarts.",
    }
}
