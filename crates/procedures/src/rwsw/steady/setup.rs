//! Setup of the runs to steady state.

use crate::common::ProcedureSetup;
use crate::common::applied::ALIGNMENT;
use crate::common::choices::RunChoices;
use crate::common::cyclic_load::{self, CyclicLoad};
use crate::common::one_pass::{INSTEAD_OF_WIPC, SPARE};
use crate::exhibits::disclosure;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::workload::SEQUENTIAL_DEMAND;
use crate::report_notation::distinct;
use crate::rwsw::composite::{CapturedComposite, NamedStreams};
use crate::rwsw::method::{ARRIVALS, BETWEEN, CONTENT, FILLS, MEASURED, ZONES, check_ending};
use crate::rwsw::preconditioning::{
    PRECONDITIONING, PreconditioningPlan, cycle, quick_fill_text, steady_composite,
};
use steadfast_domain::{Demand, Order};

pub const MULTI_PARAMETERS: &[Parameter] = &[
    PRECONDITIONING, INSTEAD_OF_WIPC, SPARE, CONTENT, ZONES, ARRIVALS, ALIGNMENT, BETWEEN,
    MEASURED, FILLS,
];
pub const INDIVIDUAL_PARAMETERS: &[Parameter] =
    &[PRECONDITIONING, INSTEAD_OF_WIPC, SPARE, CONTENT, ZONES, ALIGNMENT, BETWEEN, MEASURED, FILLS];

/// Test that runs a captured workload to steady state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RwswWsatKind {
    /// Individual Streams WSAT: each stream alone.
    Individual,
    /// Multi-Stream WSAT: all streams together.
    Multi,
}

/// Runs of a captured workload to steady state, ready to run.
#[derive(Debug, Clone)]
pub struct SteadyStreams {
    pub(super) kind: RwswWsatKind,
    pub(super) setup: ProcedureSetup,
    pub(super) composite: CapturedComposite,
    pub(super) preconditioning: PreconditioningPlan,
    /// Runs to steady state: one for all streams, or one per stream.
    pub(super) runs: Vec<CyclicLoad>,
    demands: Vec<Demand>,
}

impl SteadyStreams {
    pub fn new(kind: RwswWsatKind, setup: ProcedureSetup) -> Result<Self, ProcedureError> {
        let settings = &setup.settings;
        let composite = CapturedComposite::on_range(&setup)?.with_streams()?;
        check_ending(settings)?;
        let preconditioning = PreconditioningPlan::from_settings(settings)?;
        let runs = match kind {
            RwswWsatKind::Multi => {
                let demand = composite.demand(&setup);
                vec![steady_composite(&setup, &composite, demand, &preconditioning, true)?]
            }
            RwswWsatKind::Individual => stream_runs(&setup, &composite, &preconditioning)?,
        };
        let demands = distinct(runs.iter().map(|run| run.stimulus.demand));
        Ok(SteadyStreams { kind, setup, composite, preconditioning, runs, demands })
    }

    pub(super) fn choices(&self) -> RunChoices<'_> {
        RunChoices {
            demands: self.demands.clone(),
            rounds_max: self.runs.first().map(|run| run.cycles_max),
            ending: disclosure::ending_text(self.setup.settings.steady_state),
            judged: true,
            preconditioning: self.preconditioning.independent(&self.setup),
            measured_phases: self.runs.iter().map(|run| run.phase.clone()).collect(),
            gap_effect: cyclic_load::gap_effect,
            quick: format!(
                "profile quick measures steps of {} instead of 60 s, one in each cycle of {}{}.",
                self.setup.step_time,
                self.cycle_text(),
                self.runs.first().map(|run| quick_fill_text(&run.fill)).unwrap_or_default()
            ),
            ..self.setup.choices()
        }
    }

    /// Returns the length of a cycle as text; empty without runs.
    pub(super) fn cycle_text(&self) -> String {
        self.runs.first().map(|run| run.cycle_time().to_string()).unwrap_or_default()
    }
}

/// Creates one run per stream, at the demand for which manufacturers specify their drives: that of
/// the class for random streams, T1Q32 for sequential ones.
fn stream_runs(
    setup: &ProcedureSetup,
    composite: &CapturedComposite,
    preconditioning: &PreconditioningPlan,
) -> Result<Vec<CyclicLoad>, ProcedureError> {
    let count = composite.data_streams().count();
    let mut runs = Vec::new();
    for (index, stream) in composite.data_streams().enumerate() {
        let stream = stream.with_weight(1);
        let preset = match stream.order {
            Order::Sequential(_) => SEQUENTIAL_DEMAND,
            Order::Random => setup.method.random_demand,
        };
        let demand = setup.settings.demand_or(preset);
        let name = stream.to_string();
        let applied = NamedStreams { name, streams: vec![stream], zones: Vec::new() };
        let phase = format!("stream-{}", index + 1);
        let label = format!("{applied} {demand}");
        let load = CyclicLoad::endless(setup, &phase, label, &applied, demand, cycle(setup)?);
        let is_last = index + 1 == count;
        runs.push(CyclicLoad {
            cycles_max: setup.rounds_max(&phase, is_last, setup.method.rounds_max),
            fill: preconditioning.fill(setup, &applied.streams)?,
            ..load
        });
    }
    Ok(runs)
}
