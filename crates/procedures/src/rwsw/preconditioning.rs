//! Purge and preconditioning before a captured workload is measured. They may be impractical and
//! are then left out, which the report discloses (SNIA tutorial, RWSW).

use super::composite::CapturedComposite;
use super::ladder::{DemandLadder, OUTSTANDING};
use super::method::{FILLS, MEASURED};
use crate::common::applied::ApplicableWorkload;
use crate::common::choices::RunChoices;
use crate::common::cyclic_load::{CycleLayout, CyclicLoad, FillRequirement};
use crate::common::preconditioning::{self, is_purged, precondition};
use crate::common::{ProcedureSetup, one_pass};
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::Op;
use steadfast_domain::{Bench, Bytes, Demand, Halt, IoStream, Settings};

/// Phase in which the composite runs to steady state before another part of the test.
pub const STEADY: &str = "steady-state";
/// Phase of the demands that precondition a replay.
pub const LADDER: &str = "preconditioning-demand";

/// Parameter `preconditioning` of tests that run to steady state.
pub const PRECONDITIONING: Parameter = Parameter {
    name: "preconditioning",
    default: "wipc",
    meaning: "what is written between the purge and the workload: wipc (2 x user capacity \
              sequentially, as the PTS has it) or none; --purge none leaves the purge out",
    source: "purge, preconditioning, steady state, workload is the basic flow; the regime is the \
             operator's choice (SNIA tutorial, RWSW); what preconditioning writes is ours",
    ..Parameter::UNVERIFIED
};

/// Parameter `preconditioning` of a replay, which does not reach steady state by itself.
pub const BEFORE_REPLAY: Parameter = Parameter {
    default: "multi-wsat",
    meaning: "what is done between the purge and the replay: multi-wsat (wipc, then the composite \
              to steady state), rwsw-dirth (the same, then once through the demands of \
              rwsw-dirth), wipc (2 x user capacity sequentially) or none; --purge none leaves the \
              purge out",
    source: "another RWSW test is recommended as preconditioning of a replay (SNIA tutorial, \
             RWSW); which of them is ours",
    ..PRECONDITIONING
};

#[derive(Debug, Clone, Copy)]
pub struct PreconditioningParts {
    /// Writes without regard to the workload: see [`PreconditioningPlan::wipc`].
    pub wipc: bool,
    /// Workload to steady state.
    pub steady: bool,
    /// Workload once with each demand.
    pub ladder: bool,
}

impl PreconditioningParts {
    pub const NONE: Self = PreconditioningParts { wipc: false, steady: false, ladder: false };
    pub const WIPC: Self = PreconditioningParts { wipc: true, ..Self::NONE };
    pub const STEADY: Self = PreconditioningParts { steady: true, ..Self::WIPC };
    pub const LADDER: Self = PreconditioningParts { ladder: true, ..Self::STEADY };
}

#[derive(Debug, Clone)]
pub struct PreconditioningPlan {
    /// True if twice the user capacity, or one pass in its place, is written first.
    pub wipc: bool,
    /// Run of the composite to steady state; `None` to leave it out.
    pub steady: Option<CyclicLoad>,
    /// Demands with which the composite is then applied once each; `None` to leave them out.
    pub ladder: Option<DemandLadder>,
}

impl PreconditioningPlan {
    /// Parses the preconditioning of a test that runs its workload to steady state itself.
    pub fn from_settings(settings: &Settings) -> Result<Self, ProcedureError> {
        let wipc = PRECONDITIONING.choice(settings, &[("wipc", true), ("none", false)])?;
        one_pass::check_place(wipc, settings)?;
        Ok(PreconditioningPlan { wipc, steady: None, ladder: None })
    }

    /// Parses the preconditioning of a replay. The composite runs to steady state at `demand`, or
    /// at the highest of the demands of `rwsw-dirth` if those follow.
    pub fn before_replay(
        setup: &ProcedureSetup,
        composite: &CapturedComposite,
        demand: Demand,
    ) -> Result<Self, ProcedureError> {
        let settings = &setup.settings;
        let choices = [
            ("none", PreconditioningParts::NONE),
            ("wipc", PreconditioningParts::WIPC),
            ("multi-wsat", PreconditioningParts::STEADY),
            ("rwsw-dirth", PreconditioningParts::LADDER),
        ];
        let parts = BEFORE_REPLAY.choice(settings, &choices)?;
        one_pass::check_place(parts.wipc, settings)?;
        if parts.steady && composite.data_streams().next().is_none() {
            return Err(ProcedureError(format!(
                "workload '{}' has no I/O streams to precondition with; choose --set \
                 preconditioning=wipc or none",
                composite.workload.name
            )));
        }
        let mut plan = PreconditioningPlan { wipc: parts.wipc, steady: None, ladder: None };
        if parts.ladder {
            plan.ladder = Some(DemandLadder::parse(&OUTSTANDING, settings)?);
        }
        if parts.steady {
            let demand = plan.ladder.as_ref().map_or(demand, DemandLadder::highest);
            plan.steady = Some(steady_composite(setup, composite, demand, &plan, false)?);
        }
        Ok(plan)
    }

    /// Returns the workload-independent preconditioning; empty if there is none.
    pub fn independent(&self, setup: &ProcedureSetup) -> Vec<AccessPattern> {
        if self.wipc { preconditioning::patterns(setup) } else { Vec::new() }
    }

    /// Returns the amount that these streams must write before a window counts. What
    /// preconditioning wrote does not count, because it was written in another order. Streams
    /// that do not write need no fill.
    pub fn fill(
        &self,
        setup: &ProcedureSetup,
        streams: &[IoStream],
    ) -> Result<FillRequirement, ProcedureError> {
        let chosen =
            FillRequirement::from_settings(&FILLS, &setup.settings, setup.geometry.capacity)?;
        if !streams.iter().any(|stream| stream.op == Op::Write) {
            return Ok(FillRequirement::default());
        }
        let before = if self.wipc { preconditioning::written(setup) } else { Bytes(0) };
        Ok(FillRequirement { before, own_writes: true, ..chosen })
    }

    pub fn conduct(
        &self,
        bench: &mut dyn Bench,
        setup: &ProcedureSetup,
        applied: &impl ApplicableWorkload,
    ) -> Result<(), Halt> {
        bench.settle(&setup.conditions())?;
        bench.purge()?;
        if self.wipc {
            precondition(bench, setup)?;
        }
        if let Some(steady) = &self.steady {
            steady.conduct(bench)?;
        }
        if let Some(ladder) = &self.ladder {
            ladder.conduct(bench, setup, applied, LADDER)?;
        }
        Ok(())
    }

    pub fn text(&self, choices: &RunChoices<'_>) -> String {
        let purge = if is_purged(choices.settings) { "purge" } else { "no purge" };
        let written = match choices.one_pass {
            Some(pass) => pass.text(),
            None if self.wipc => "2 x user capacity written sequentially (WIPC)".to_owned(),
            None => "no workload-independent preconditioning".to_owned(),
        };
        let mut parts = vec![purge.to_owned(), written];
        if self.steady.is_some() {
            parts.push("the composite to steady state".to_owned());
        }
        if self.ladder.is_some() {
            parts.push("once through the demands".to_owned());
        }
        parts.join("; ")
    }

    /// Returns true if reads may access blocks that were not written since the purge.
    pub fn reads_unwritten(&self, settings: &Settings, composite: &CapturedComposite) -> bool {
        is_purged(settings) && !self.wipc && composite.has(Op::Read)
    }
}

/// Returns the text on what profile quick leaves out; empty if a fill is required.
pub fn quick_fill_text(fill: &FillRequirement) -> &'static str {
    if fill.least > 0.0 {
        ""
    } else {
        "; steady state is judged before the workload has filled the drive once"
    }
}

/// Creates the run of the composite until measured minutes are steady.
pub fn steady_composite(
    setup: &ProcedureSetup,
    composite: &CapturedComposite,
    demand: Demand,
    preconditioning: &PreconditioningPlan,
    is_last: bool,
) -> Result<CyclicLoad, ProcedureError> {
    let cycle = cycle(setup)?;
    let label = setup.rated_label(format!("{composite} {demand}"));
    let load = CyclicLoad::endless(setup, STEADY, label, composite, demand, cycle);
    Ok(CyclicLoad {
        stimulus: setup.with_rate(load.stimulus.clone())?,
        cycles_max: setup.rounds_max(STEADY, is_last, setup.method.rounds_max),
        fill: preconditioning.fill(setup, &composite.streams())?,
        ..load
    })
}

/// Returns the cycle of measured minutes that the parameters ask for.
pub fn cycle(setup: &ProcedureSetup) -> Result<CycleLayout, ProcedureError> {
    CycleLayout::from_settings(&MEASURED, &setup.settings, setup.step_time)
}
