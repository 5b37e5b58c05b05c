//! Setup of the HIR test: its idle times and its loads.

use crate::common::ProcedureSetup;
use crate::common::attempts::{attempt_phase, is_attempt_of, phases_of};
use crate::common::choices::RunChoices;
use crate::common::continuous_load::ContinuousLoad;
use crate::common::cyclic_load::{
    self, BETWEEN_TIME, CycleLayout, CyclicLoad, FillRequirement, LEAST_FILLS, MEASURED_LAST,
};
use crate::common::one_pass::{BEFORE_RANDOM_WRITES, ONE_PASS, OnePass, SPARE};
use crate::common::rounds::check_steady_end;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::workload::{ALIGNMENT, PtsWorkload};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Demand, Nanos, Record, Step, StepPlace};

/// Phase of the writes until steady state.
pub const PRECONDITIONING: &str = "preconditioning";

const PATTERN: AccessPattern = AccessPattern::random(Bytes::kib(4), 0);

pub(super) const IDLE_TIMES: Parameter = Parameter {
    name: "idle-times",
    default: "5,10,15,25,50",
    quick: Some("1,2,3,5,10"),
    meaning: "idle times between accesses, in seconds, in test order",
    source: "three public implementations (the tutorial prints 0,5,10,15,15 & 50)",
    ..Parameter::UNVERIFIED
};

pub(super) const ACCESS_TIME: Parameter = Parameter {
    name: "access-time",
    default: "5s",
    quick: Some("1s"),
    meaning: "length of the writes between two idle times, and of one value of the baseline",
    source: "three public implementations",
    ..Parameter::UNVERIFIED
};

pub(super) const ACCESSES: Parameter = Parameter {
    name: "accesses",
    default: "360",
    quick: Some("4"),
    meaning: "accesses per wait state; the same number follows without a pause as its baseline",
    source: "three public implementations",
    ..Parameter::UNVERIFIED
};

pub const PARAMETERS: &[Parameter] = &[
    IDLE_TIMES, ACCESS_TIME, ACCESSES, BEFORE_RANDOM_WRITES, SPARE, BETWEEN_TIME, MEASURED_LAST,
    LEAST_FILLS, ALIGNMENT,
];

#[derive(Debug, Clone)]
pub struct Hir {
    pub(super) setup: ProcedureSetup,
    pub(super) workload: PtsWorkload,
    pub(super) demand: Demand,
    pub(super) preconditioning: CyclicLoad,
    pub(super) idle_times: Vec<Nanos>,
    pub(super) access_time: Nanos,
    pub(super) accesses: u32,
}

impl Hir {
    pub fn new(setup: ProcedureSetup) -> Result<Self, ProcedureError> {
        let settings = &setup.settings;
        check_steady_end(
            settings,
            "its wait states begin when rounds with writes between them are steady; \
             choose btw",
        )?;
        let workload = PtsWorkload::Pattern(PATTERN);
        let demand = settings.demand_or(workload.recommended_demand(&setup.method));
        let cycle = CycleLayout::from_settings(&MEASURED_LAST, settings, setup.step_time)?;
        let label = workload.to_string();
        let load = CyclicLoad::endless(&setup, PRECONDITIONING, label, &workload, demand, cycle);
        BEFORE_RANDOM_WRITES.choice(settings, &[("no", ()), (ONE_PASS, ())])?;
        let before = setup.one_pass.as_ref().map(OnePass::amount).unwrap_or_default();
        let fill = FillRequirement::from_settings(&LEAST_FILLS, settings, setup.geometry.capacity)?;
        let preconditioning = CyclicLoad {
            fill: FillRequirement { before, ..fill },
            cycles_max: setup.rounds_max(PRECONDITIONING, true, setup.method.rounds_max),
            ..load
        };
        Ok(Hir {
            idle_times: IDLE_TIMES.times(settings)?,
            access_time: ACCESS_TIME.time(settings)?,
            accesses: ACCESSES.within(settings, 1..=100_000)?,
            setup,
            workload,
            demand,
            preconditioning,
        })
    }

    /// Returns the writes to steady state of an attempt.
    pub(super) fn preconditioning_load(&self, attempt: u32) -> CyclicLoad {
        let phase = attempt_phase(PRECONDITIONING, attempt);
        CyclicLoad { phase, ..self.preconditioning.clone() }
    }

    /// Returns an access of a wait state, counted from 1.
    pub(super) fn access(&self, idle: Nanos, attempt: u32, access: u32) -> Step {
        let phase = attempt_phase(&wait_phase(idle), attempt);
        let label = format!("{} {}, then {idle} idle", self.workload, self.demand);
        let place = StepPlace::new(&phase, 0, access, label);
        self.setup.step(place, &self.workload, self.demand, self.access_time)
    }

    /// Returns the baseline of a wait state: the same total access time as one load without
    /// pauses, recorded in as many steps.
    pub(super) fn baseline(&self, idle: Nanos, attempt: u32) -> ContinuousLoad {
        let phase = attempt_phase(&baseline_phase(idle), attempt);
        let time = Nanos(self.access_time.0.saturating_mul(u64::from(self.accesses)));
        let baseline = self.setup.load_for_time(&phase, 0, &self.workload, self.demand, time);
        ContinuousLoad { cut: self.access_time, ..baseline }
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        let mut phases = vec![PRECONDITIONING.to_owned()];
        for idle in &self.idle_times {
            phases.extend([wait_phase(*idle), baseline_phase(*idle)]);
        }
        let phases: Vec<&str> = phases.iter().map(String::as_str).collect();
        RunChoices {
            demands: vec![self.demand],
            recommended: Some(self.workload.recommended_demand(&self.setup.method)),
            rounds_max: Some(self.preconditioning.cycles_max),
            ending: "preconditioning: five measurements with writes between them (btw); wait \
                     states: by their count"
                .into(),
            judged: true,
            measured_phases: phases_of(record, &phases),
            gap_effect,
            quick: format!(
                "profile quick makes {} accesses of {} per idle time instead of 360 of 5 s, and \
                 preconditions in steps of {}.",
                self.accesses, self.access_time, self.setup.step_time
            ),
            ..self.setup.choices()
        }
    }
}

/// Returns the phase of the accesses with this idle time, such as `wait-5s`.
pub fn wait_phase(idle: Nanos) -> String {
    format!("wait-{}s", idle.as_secs_f64())
}

/// Returns the phase of the accesses without a pause that follow the wait state with this idle
/// time.
pub fn baseline_phase(idle: Nanos) -> String {
    format!("baseline-{}s", idle.as_secs_f64())
}

fn gap_effect(step: &Step) -> &'static str {
    if is_attempt_of(&step.place.phase, PRECONDITIONING) {
        cyclic_load::gap_effect(step)
    } else {
        "The test restarted with the purge; earlier measurements do not count."
    }
}
