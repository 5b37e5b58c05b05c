//! Setup of the DIRTH test: its workload, its demand matrix and its loads.

use super::matrix::{self, DemandMatrix};
use super::points::{ChosenPoint, PointRole};
use crate::common::attempts::{attempt_phase, is_attempt_of, phases_of};
use crate::common::choices::RunChoices;
use crate::common::cyclic_load::{self, BETWEEN_TIME, CycleLayout, CyclicLoad, MEASURED_FIRST};
use crate::common::one_pass::{INSTEAD_OF_WIPC, SPARE};
use crate::common::rounds::check_steady_end;
use crate::common::{ProcedureSetup, preconditioning};
use crate::exhibits::disclosure;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::workload::{ALIGNMENT, CURSOR, MIX_JESD219, PtsWorkload, ZONE_SHIFT};
use steadfast_domain::{Bytes, Demand, Nanos, Record, Settings, Step, StepPlace};

/// Phase of the workload-dependent preconditioning.
pub const PRECONDITIONING: &str = "preconditioning";
/// Phase of the writes before the matrix in each round.
pub const PRE_WRITE: &str = "pre-write";
pub const DEMAND: &str = "demand";

const WORKLOAD: Parameter = Parameter {
    name: "workload",
    default: "RND 8K RW65",
    meaning: "the workload: metadata, write-intensive, read-intensive, oltp, video, composite, or \
        an access pattern such as RND 8K RW65",
    source: "public implementation of PTS 2.0.x; the six synthetic workloads: SNIA tutorial",
    ..Parameter::UNVERIFIED
};

pub(super) const LOOPS: Parameter = Parameter {
    of_demand: true,
    name: "loops",
    default: "32,16,8,6,4,2,1",
    quick: Some("32,8,1"),
    meaning: "thread counts of the outer loop and queue depths of the inner loop, in descending \
        order to 1",
    source: "two public implementations; a third omits 6",
    ..Parameter::UNVERIFIED
};

pub(super) const PRE_WRITE_TIME: Parameter = Parameter {
    name: "pre-write",
    default: "5min",
    quick: Some("2s"),
    meaning: "length of the writes before each round's matrix",
    source: "public implementation; another writes 10 minutes",
    ..Parameter::UNVERIFIED
};

const ART_CEILING: Parameter = Parameter {
    name: "art-ceiling",
    default: "5ms",
    meaning: "a point is chosen only if its average response time is below this",
    source: "public implementation of PTS 2.0.x",
    ..Parameter::UNVERIFIED
};

const POINT_PRE_WRITE_TIME: Parameter = Parameter {
    name: "point-pre-write",
    default: "60min",
    quick: Some("5s"),
    meaning: "length of the writes before each chosen point's histogram",
    source: "public implementation of PTS 2.0.x",
    ..Parameter::UNVERIFIED
};

const HISTOGRAM_TIME: Parameter = Parameter {
    name: "histogram-time",
    default: "10min",
    quick: Some("5s"),
    meaning: "time during which every response time of a chosen point is recorded",
    source: "public implementation of PTS 2.0.x",
    ..Parameter::UNVERIFIED
};

pub const PARAMETERS: &[Parameter] = &[
    WORKLOAD, MIX_JESD219, ZONE_SHIFT, ALIGNMENT, CURSOR, INSTEAD_OF_WIPC, SPARE, BETWEEN_TIME,
    MEASURED_FIRST, LOOPS, PRE_WRITE_TIME, ART_CEILING, POINT_PRE_WRITE_TIME, HISTOGRAM_TIME,
];

pub const COMPOSITE_PARAMETERS: &[Parameter] = &[
    MIX_JESD219, ZONE_SHIFT, ALIGNMENT, INSTEAD_OF_WIPC, SPARE, BETWEEN_TIME, MEASURED_FIRST,
    LOOPS, PRE_WRITE_TIME, ART_CEILING, POINT_PRE_WRITE_TIME, HISTOGRAM_TIME,
];

#[derive(Debug, Clone)]
pub struct Dirth {
    pub(super) setup: ProcedureSetup,
    pub(super) workload: PtsWorkload,
    pub(super) writes: PtsWorkload,
    left_out: Vec<Bytes>,
    pub(super) preconditioning: CyclicLoad,
    pub(super) matrix: DemandMatrix,
    pub(super) pre_write_time: Nanos,
    pub(super) art_ceiling: Nanos,
    pub(super) point_pre_write_time: Nanos,
    pub(super) histogram_time: Nanos,
}

impl Dirth {
    pub fn new(setup: ProcedureSetup) -> Result<Self, ProcedureError> {
        let workload = PtsWorkload::from_settings(
            &setup.parameters, &MIX_JESD219, &setup.settings, setup.geometry,
        )?;
        let settings = &setup.settings;
        check_settings(settings)?;
        let writes = workload.all_writes();
        let loops = LOOPS.parse(settings, matrix::parse_loops)?;
        let cycle = CycleLayout::from_settings(&MEASURED_FIRST, settings, setup.step_time)?;
        let rounds_max = |phase, is_last| setup.rounds_max(phase, is_last, setup.method.rounds_max);
        let matrix = DemandMatrix {
            demands: matrix::demands(&loops),
            label: workload.to_string(),
            criteria: setup.method.criteria,
            rounds_max: rounds_max(DEMAND, true),
        };
        let highest = matrix.highest();
        let label = format!("{writes} {highest}");
        let load = CyclicLoad::endless(&setup, PRECONDITIONING, label, &writes, highest, cycle);
        Ok(Dirth {
            left_out: workload.left_out(),
            preconditioning: CyclicLoad { cycles_max: rounds_max(PRECONDITIONING, false), ..load },
            pre_write_time: PRE_WRITE_TIME.time(settings)?,
            art_ceiling: ART_CEILING
                .parse(settings, |text| text.parse::<Nanos>().ok().filter(|t| t.0 > 0))?,
            point_pre_write_time: POINT_PRE_WRITE_TIME.time(settings)?,
            histogram_time: HISTOGRAM_TIME.time(settings)?,
            matrix,
            workload,
            writes,
            setup,
        })
    }

    pub(super) fn demand_step(&self, round: u32, point: u32, demand: Demand) -> Step {
        let label = format!("{} {demand}", self.workload);
        let place = StepPlace::new(DEMAND, round, point, label);
        self.setup.step(place, &self.workload, demand, self.setup.step_time)
    }

    pub(super) fn histogram_step(&self, chosen: &ChosenPoint, attempt: u32) -> Step {
        let phase = attempt_phase(chosen.role.histogram_phase(), attempt);
        let label = format!("{} {}", self.workload, chosen.demand);
        let place = StepPlace::new(&phase, 0, 1, label);
        self.setup.step(place, &self.workload, chosen.demand, self.histogram_time)
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        let mut measured_phases = vec![DEMAND];
        measured_phases.extend(PointRole::ALL.map(PointRole::histogram_phase));
        RunChoices {
            alignment: Some(self.workload.alignment_name(self.setup.alignment)),
            demands: self.matrix.demands.clone(),
            block_sizes_left_out: &self.left_out,
            rounds_max: Some(self.matrix.rounds_max),
            ending: disclosure::ending_text(self.setup.settings.steady_state),
            judged: true,
            preconditioning: preconditioning::patterns(&self.setup),
            measured_phases: phases_of(record, &measured_phases),
            gap_effect,
            quick: format!(
                "profile quick runs {} demands (the standard's flow: 49) in steps of {} instead \
                 of 60 s, writes {} before a round and {} before a histogram of {}.",
                self.matrix.demands.len(),
                self.setup.step_time,
                self.pre_write_time,
                self.point_pre_write_time,
                self.histogram_time
            ),
            ..self.setup.choices()
        }
    }
}

/// Returns an error for settings that this test does not support.
fn check_settings(settings: &Settings) -> Result<(), ProcedureError> {
    if settings.threads.is_some() || settings.depth.is_some() {
        return Err(ProcedureError(format!(
            "{} sweeps its own thread counts and queue depths; omit --threads and --depth, or \
             change the loops with --set loops=32,16,8,6,4,2,1",
            settings.procedure
        )));
    }
    check_steady_end(
        settings,
        "the steps after steady state would measure a drive that was written for longer; choose \
         rounds",
    )
}

fn gap_effect(step: &Step) -> &'static str {
    let phase = step.place.phase.as_str();
    let is_first = step.place.point == 1;
    match phase {
        PRECONDITIONING => cyclic_load::gap_effect(step),
        PRE_WRITE if is_first => "The steady-state window restarts with that round.",
        PRE_WRITE | DEMAND => "That round is void, and the steady-state window restarts after it.",
        _ if PointRole::ALL.iter().any(|role| is_attempt_of(phase, role.histogram_phase())) => {
            "That histogram is void. It was repeated with its hour of writes."
        }
        _ if is_first => "The writes before the histogram had not started.",
        _ => "The writes before the histogram, and the histogram, were repeated.",
    }
}
