//! Setup of RWSW DIRTH.

use crate::common::ProcedureSetup;
use crate::common::applied::ALIGNMENT;
use crate::common::attempts::{attempt_phase, is_attempt_of, phases_of};
use crate::common::choices::RunChoices;
use crate::common::cyclic_load::{self, CyclicLoad};
use crate::common::one_pass::{INSTEAD_OF_WIPC, SPARE};
use crate::exhibits::disclosure;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::dirth::most;
use crate::rwsw::composite::CapturedComposite;
use crate::rwsw::ladder::{DemandLadder, OUTSTANDING};
use crate::rwsw::method::{
    ARRIVALS, BETWEEN, CONTENT, FILLS, MEASURED, ZONES, check_demand, check_ending,
};
use crate::rwsw::preconditioning::{
    PRECONDITIONING, PreconditioningPlan, STEADY, quick_fill_text, steady_composite,
};
use steadfast_domain::{Demand, Measurement, Nanos, Record, Step, StepPlace};

pub const DEMAND: &str = "demand";
/// Phase in which every response time is recorded.
pub const HISTOGRAM: &str = "max-histogram";
/// Suffix of the phase that runs the composite before one of those phases.
pub const RUN_IN: &str = "-run-in";

const ART_CEILING: Parameter = Parameter {
    name: "art-ceiling",
    default: "5ms",
    meaning: "MaxIOPS is chosen among demands whose average response time stays below this; among \
              all where none does",
    source: "public implementation of the PTS's DIRTH; the rule of RWSW PTS could not be read",
    ..Parameter::UNVERIFIED
};

const RUN_IN_TIME: Parameter = Parameter {
    name: "run-in",
    default: "5min",
    quick: Some("2s"),
    meaning: "time of the composite before the histogram, and before demands that are done again \
              after a gap",
    source: "ours, as long as the writes before a round of the PTS's DIRTH",
    ..Parameter::UNVERIFIED
};

pub(super) const HISTOGRAM_TIME: Parameter = Parameter {
    name: "histogram-time",
    default: "10min",
    quick: Some("5s"),
    meaning: "time during which every response time at MaxIOPS is recorded",
    source: "public implementation of the PTS's DIRTH; the rule of RWSW PTS could not be read",
    ..Parameter::UNVERIFIED
};

pub const PARAMETERS: &[Parameter] = &[
    PRECONDITIONING, INSTEAD_OF_WIPC, SPARE, CONTENT, ZONES, ARRIVALS, ALIGNMENT, BETWEEN,
    MEASURED, FILLS, OUTSTANDING, ART_CEILING, RUN_IN_TIME, HISTOGRAM_TIME,
];

#[derive(Debug, Clone)]
pub struct RwswDirth {
    pub(super) setup: ProcedureSetup,
    pub(super) composite: CapturedComposite,
    pub(super) preconditioning: PreconditioningPlan,
    pub(super) steady: CyclicLoad,
    pub(super) ladder: DemandLadder,
    pub(super) art_ceiling: Nanos,
    pub(super) run_in_time: Nanos,
    pub(super) histogram_time: Nanos,
}

impl RwswDirth {
    /// Creates the test for the captured workload of the settings.
    pub fn on(setup: ProcedureSetup) -> Result<Self, ProcedureError> {
        let settings = &setup.settings;
        let composite = CapturedComposite::on_range(&setup)?.with_streams()?;
        check_ending(settings)?;
        check_demand(settings, ", or change them with --set outstanding=32,8,1")?;
        let preconditioning = PreconditioningPlan::from_settings(settings)?;
        let ladder = DemandLadder::parse(&OUTSTANDING, settings)?;
        Ok(RwswDirth {
            steady: steady_composite(&setup, &composite, ladder.highest(), &preconditioning, true)?,
            art_ceiling: ART_CEILING
                .parse(settings, |text| text.parse::<Nanos>().ok().filter(|t| t.0 > 0))?,
            run_in_time: RUN_IN_TIME.time(settings)?,
            histogram_time: HISTOGRAM_TIME.time(settings)?,
            ladder,
            preconditioning,
            composite,
            setup,
        })
    }

    pub(super) fn histogram(&self, attempt: u32, demand: Demand) -> Step {
        let label = format!("{} {demand}", self.composite);
        let place = StepPlace::new(&attempt_phase(HISTOGRAM, attempt), 0, 1, label);
        self.setup.step(place, &self.composite, demand, self.histogram_time)
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        RunChoices {
            demands: self.ladder.demands.clone(),
            rounds_max: Some(self.steady.cycles_max),
            ending: disclosure::ending_text(self.setup.settings.steady_state),
            judged: true,
            preconditioning: self.preconditioning.independent(&self.setup),
            measured_phases: phases_of(record, &[DEMAND, HISTOGRAM]),
            gap_effect,
            quick: format!(
                "profile quick runs {} demands in steps of {} instead of 60 s, and {} before a \
                 histogram of {}{}.",
                self.ladder.demands.len(),
                self.setup.step_time,
                self.run_in_time,
                self.histogram_time,
                quick_fill_text(&self.steady.fill)
            ),
            ..self.setup.choices()
        }
    }
}

/// Returns the demand with the most IOPS among those whose average response time is below the
/// ceiling, or among all if none is. Of demands with equal IOPS within the noise, it is the one
/// with the fewest outstanding I/Os. Without response times (in a rehearsal), it is the highest
/// demand.
pub(super) fn best(ladder: &DemandLadder, measured: &[&Measurement], ceiling: Nanos) -> Demand {
    let mut rated = Vec::new();
    let mut rated_below = Vec::new();
    for (demand, measurement) in ladder.demands.iter().zip(measured) {
        if let (Some(iops), Some(mean)) = (measurement.iops(), measurement.total().response_mean())
        {
            rated.push((*demand, iops));
            if mean < ceiling {
                rated_below.push((*demand, iops));
            }
        }
    }
    let candidates = if rated_below.is_empty() { rated } else { rated_below };
    most(candidates.into_iter()).unwrap_or(ladder.highest())
}

fn gap_effect(step: &Step) -> &'static str {
    let phase = step.place.phase.as_str();
    match phase {
        STEADY => cyclic_load::gap_effect(step),
        _ if is_attempt_of(phase, DEMAND) => {
            "The loop of demands was done again from its beginning."
        }
        _ if is_attempt_of(phase, HISTOGRAM) => "That histogram is void: it was done again.",
        _ if step.place.point == 1 => "The run-in had not begun.",
        _ => "What it runs in was done again with it.",
    }
}
