//! The HIR test (Host Idle Recovery): what a saturated drive gains from pauses
//! of the host (PTS 2.0.x; PTS-E 1.1).
//!
//! Purge, no workload-independent preconditioning; RND 4K W until measured
//! minutes with writes between them are steady; then for idle times of 5, 10, 15,
//! 25 and 50 s, in this order: 360 times 5 s of RND 4K W and the idle time, and
//! after them 1800 s of RND 4K W without a pause, to come back to where it was.
//! IOPS are those of the 5 s of access alone; time is wall time.
//!
//! A gap in the preconditioning begins its window anew; a gap in the wait states
//! begins the test anew with the purge.

mod exhibits;
mod results;

use super::between::{self, BETWEEN_TIME, BetweenRounds, Cycle, Fill, LEAST_FILLS, MEASURED_LAST};
use super::ground::{self, Ground, NO_END, Stretch, attempt_phase};
use super::workload::{ALIGNMENT, Workload};
use super::{disclosure, rounds};
use crate::{Parameter, Unsuitable};
use results::Results;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{Amendment, Geometry, SteadyStateMethod};
use steadfast_domain::stimulus::Until;
use steadfast_domain::{
    Bench, Bytes, Demand, Findings, Halt, Nanos, Place, Procedure, Record, Settings, Step,
};

/// The phase of the writes until steady state.
pub const PRECONDITIONING: &str = "preconditioning";

const PATTERN: AccessPattern = AccessPattern::random(Bytes::kib(4), 0);

const IDLE_TIMES: Parameter = Parameter {
    name: "idle-times",
    default: "5,10,15,25,50",
    quick: Some("1,2,3,5,10"),
    meaning: "idle times between accesses, in seconds, in the order in which they are tried",
    source: "three public implementations (the tutorial prints 0,5,10,15,15 & 50)",
    unverified: true,
    ..Parameter::PLAIN
};

const ACCESS_TIME: Parameter = Parameter {
    name: "access-time",
    default: "5s",
    quick: Some("1s"),
    meaning: "time of the writes between two idle times, and of one value of the baseline",
    source: "three public implementations",
    unverified: true,
    ..Parameter::PLAIN
};

const ACCESSES: Parameter = Parameter {
    name: "accesses",
    default: "360",
    quick: Some("4"),
    meaning: "accesses of a wait state; as many follow without a pause, as its baseline",
    source: "three public implementations",
    unverified: true,
    ..Parameter::PLAIN
};

/// The parameters of `hir`.
pub const PARAMETERS: &[Parameter] =
    &[IDLE_TIMES, ACCESS_TIME, ACCESSES, BETWEEN_TIME, MEASURED_LAST, LEAST_FILLS, ALIGNMENT];

/// The HIR test, ready to be conducted on a device of known geometry.
#[derive(Debug, Clone)]
pub struct Hir {
    ground: Ground,
    workload: Workload,
    demand: Demand,
    preconditioning: BetweenRounds,
    idle_times: Vec<Nanos>,
    access_time: Nanos,
    accesses: u32,
}

impl Hir {
    /// The test that `settings` ask for.
    pub fn new(
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        check(settings)?;
        let ground = Ground::new(settings, geometry)?;
        let workload = Workload::of(PATTERN);
        let demand = settings.demand_or(workload.recommended_demand(&ground.method));
        let cycle = Cycle::chosen(&MEASURED_LAST, settings, ground.minute)?;
        let mut preconditioning = load_until_steady(&ground, &workload, demand, cycle);
        preconditioning.fill = Fill::chosen(settings, geometry.capacity)?;
        preconditioning.cycles_max =
            rounds::rounds_max(settings, &ground.method, amendments, PRECONDITIONING, true);
        Ok(Hir {
            idle_times: IDLE_TIMES.parse(settings, idle_times)?,
            access_time: ground::time(&ACCESS_TIME, settings)?,
            accesses: ACCESSES.parse(settings, |text| {
                text.parse::<u32>().ok().filter(|n| (1..=100_000).contains(n))
            })?,
            ground,
            workload,
            demand,
            preconditioning,
        })
    }

    /// From the purge to the last baseline; `true` where the wait states ran in
    /// one piece.
    fn attempt(&self, bench: &mut dyn Bench, attempt: u32) -> Result<bool, Halt> {
        bench.purge()?;
        self.load(attempt).conduct(bench)?;
        for idle in &self.idle_times {
            if !self.wait_state(bench, *idle, attempt)? {
                return Ok(false);
            }
            let pieces = self.baseline(*idle, attempt).conduct(bench)?;
            if pieces.gap_before || pieces.gap_inside {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn load(&self, attempt: u32) -> BetweenRounds {
        let phase = attempt_phase(PRECONDITIONING, attempt);
        BetweenRounds { phase, ..self.preconditioning.clone() }
    }

    /// Accesses with the same idle time after each; `false` at the first gap.
    fn wait_state(&self, bench: &mut dyn Bench, idle: Nanos, attempt: u32) -> Result<bool, Halt> {
        for access in 1..=self.accesses {
            let outcome = bench.apply(&self.access(idle, attempt, access))?;
            if outcome.gap_before.is_some() {
                return Ok(false);
            }
            bench.idle(idle)?;
        }
        Ok(true)
    }

    fn access(&self, idle: Nanos, attempt: u32, access: u32) -> Step {
        let phase = attempt_phase(&wait_phase(idle), attempt);
        let label = format!("{} {}, then {idle} idle", self.workload, self.demand);
        let place = Place::new(&phase, 0, access, label);
        let until = Until::time(self.access_time);
        let stimulus = self.ground.stimulus(&self.workload, self.demand, until, &place);
        Step::alone(place, stimulus)
    }

    /// The same access time without idling, in one load cut into as many values.
    fn baseline(&self, idle: Nanos, attempt: u32) -> Stretch {
        let phase = attempt_phase(&baseline_phase(idle), attempt);
        let time = Nanos(self.access_time.0.saturating_mul(u64::from(self.accesses)));
        let stretch = self.ground.stretch((&phase, 0), &self.workload, self.demand, time);
        Stretch { cut: self.access_time, ..stretch }
    }

    fn choices(&self, record: &Record) -> disclosure::Choices<'_> {
        let bases: Vec<String> = self
            .idle_times
            .iter()
            .flat_map(|idle| [wait_phase(*idle), baseline_phase(*idle)])
            .chain([PRECONDITIONING.to_owned()])
            .collect();
        let bases: Vec<&str> = bases.iter().map(String::as_str).collect();
        disclosure::Choices {
            demands: vec![self.demand],
            recommended: Some(self.workload.recommended_demand(&self.ground.method)),
            rounds_max: Some(self.preconditioning.cycles_max),
            ending: "preconditioning: five measurements with writes between them (btw); wait \
                     states: by their count"
                .into(),
            judged: true,
            measured_phases: ground::phases_of(record, &bases),
            gap_effect,
            quick: format!(
                "profile quick makes {} accesses of {} per idle time instead of 360 of 5 s, and \
                 preconditions in steps of {}.",
                self.accesses, self.access_time, self.ground.minute
            ),
            ..self.ground.choices()
        }
    }
}

/// The phase of the accesses with this idle time: `wait-5s`.
pub fn wait_phase(idle: Nanos) -> String {
    format!("wait-{}s", idle.as_secs_f64())
}

/// The phase of the accesses without a pause that follow it.
pub fn baseline_phase(idle: Nanos) -> String {
    format!("baseline-{}s", idle.as_secs_f64())
}

/// `5,10,15`: seconds, or times with a unit.
fn idle_times(text: &str) -> Option<Vec<Nanos>> {
    let possible = Nanos::from_millis(1)..=Nanos::from_secs(86_400);
    let times: Option<Vec<Nanos>> = text
        .split(',')
        .map(|time| time.trim().parse::<Nanos>().ok().filter(|t| possible.contains(t)))
        .collect();
    let times = times?;
    // The journal tells wait states apart by their idle time.
    let all_differ = (1..times.len()).all(|n| !times[..n].contains(&times[n]));
    all_differ.then_some(times)
}

fn load_until_steady(
    ground: &Ground,
    workload: &Workload,
    demand: Demand,
    cycle: Cycle,
) -> BetweenRounds {
    let place = Place::new(PRECONDITIONING, 0, 1, "");
    let stimulus = ground.stimulus(workload, demand, Until::time(NO_END), &place);
    BetweenRounds::new(ground, (PRECONDITIONING, workload.to_string()), stimulus, cycle)
}

/// Refuses an ending that this test does not have.
fn check(settings: &Settings) -> Result<(), Unsuitable> {
    match settings.steady_state {
        SteadyStateMethod::Rounds | SteadyStateMethod::Btw => Ok(()),
        other => Err(Unsuitable(format!(
            "hir cannot end by --steady-state {other}: its wait states begin when measured minutes \
             with writes between them are steady; choose btw"
        ))),
    }
}

/// What a gap did.
fn gap_effect(step: &Step) -> &'static str {
    match ground::is_attempt_of(&step.place.phase, PRECONDITIONING) {
        true => between::gap_effect(step),
        false => "The test began anew with the purge; what was measured before does not count.",
    }
}

impl Procedure for Hir {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.ground.conditions())?;
        ground::until_unbroken(bench, |bench, attempt| self.attempt(bench, attempt))
    }

    fn study(&self, record: &Record) -> Findings {
        let results = Results::of(self, record);
        exhibits::findings(self, record, &results)
    }
}

#[cfg(test)]
mod tests;
