//! Setup of a replay: the steps that it plays, when, and how long.

use crate::common::applied::ALIGNMENT;
use crate::common::choices::RunChoices;
use crate::common::one_pass::{INSTEAD_OF_WIPC, SPARE};
use crate::common::{ProcedureSetup, cyclic_load};
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::rwsw::composite::{CapturedComposite, NamedStreams};
use crate::rwsw::ladder::OUTSTANDING;
use crate::rwsw::method::{
    BETWEEN, CONTENT, FILLS, MEASURED, ZONES, check_demand, check_ending, writes_as_captured,
};
use crate::rwsw::preconditioning::{BEFORE_REPLAY, LADDER, PreconditioningPlan, STEADY};
use steadfast_domain::applied::AppliedStep;
use steadfast_domain::script::ScriptLoad;
use steadfast_domain::stimulus::{LoadLimits, Pace};
use steadfast_domain::{Demand, Load, Nanos, Settings, Step, StepPlace};

pub const PHASE: &str = "replay";

/// Shortest time between the cuts of single I/Os: our choice.
const CUT_MIN: Nanos = Nanos::SECOND;

/// Shortest capture step that can be applied: our choice.
const STEP_MIN: Nanos = Nanos::from_millis(10);

pub(super) const LONGEST: Parameter = Parameter {
    name: "longest-step",
    default: "whole",
    quick: Some("1s"),
    meaning: "how long a capture step is played at most: whole, or a time; its rate and its \
              demand stay",
    source: "ours: whole is what was captured",
    applies: plays_steps,
    ..Parameter::PLAIN
};

pub(super) const PAUSES: Parameter = Parameter {
    name: "pauses",
    default: "keep",
    quick: Some("skip"),
    meaning: "what becomes of the time between capture steps in which no applied stream had an \
              I/O: keep (the drive is left alone for as long) or skip",
    source: "ours: keep is what was captured",
    applies: plays_steps,
    ..Parameter::PLAIN
};

pub(super) const CUT: Parameter = Parameter {
    name: "cut",
    default: "60s",
    meaning: "how often the progress of single I/Os is journaled, in 1s or more: a run that was \
              broken off goes on from there",
    source: "ours: a run that dies repeats no more than that",
    applies: |settings| !plays_steps(settings),
    ..Parameter::PLAIN
};

/// Parameter `outstanding`: the demands that precondition a replay.
const BEFORE: Parameter = Parameter {
    applies: |settings| BEFORE_REPLAY.value(settings) == "rwsw-dirth",
    of_demand: false,
    ..OUTSTANDING
};

/// Returns whether the workload's streams are applied, before the replay or in its steps. Single I/Os
/// have their own offsets.
fn applies_streams(settings: &Settings) -> bool {
    plays_steps(settings) || runs_to_steady_state(settings)
}

/// Returns whether the composite precedes the replay.
fn runs_to_steady_state(settings: &Settings) -> bool {
    matches!(BEFORE_REPLAY.value(settings), "multi-wsat" | "rwsw-dirth")
}

pub const PARAMETERS: &[Parameter] = &[
    BEFORE_REPLAY,
    INSTEAD_OF_WIPC,
    SPARE,
    CONTENT,
    Parameter {
        applies: |settings| (ZONES.applies)(settings) && applies_streams(settings),
        ..ZONES
    },
    Parameter { applies: applies_streams, ..ALIGNMENT },
    LONGEST,
    PAUSES,
    CUT,
    Parameter { applies: runs_to_steady_state, ..BETWEEN },
    Parameter { applies: runs_to_steady_state, ..MEASURED },
    Parameter { applies: runs_to_steady_state, ..FILLS },
    BEFORE,
];

fn plays_steps(settings: &Settings) -> bool {
    settings.workload.as_ref().is_some_and(|workload| workload.script.is_none())
}

#[derive(Debug, Clone)]
pub(super) enum ReplayContent {
    Steps(Vec<PlannedCaptureStep>),
    /// Single I/Os.
    Script {
        script: Box<ScriptLoad>,
        /// Time between cuts.
        cut: Nanos,
    },
}

#[derive(Debug, Clone)]
pub(super) struct PlannedCaptureStep {
    /// Idle time before the step.
    pub pause: Nanos,
    pub index: usize,
    pub step: Step,
}

impl PlannedCaptureStep {
    /// Returns the number of I/Os of the applied streams in the captured step, scaled to the time
    /// that is played.
    pub(super) fn captured_ios(&self, replay: &Replay) -> f64 {
        let captured = &replay.composite.workload.steps[self.index];
        let ios: u64 = replay.composite.counts_of(captured).iter().map(|(_, ios)| *ios).sum();
        ios as f64 * self.played_part(replay)
    }

    /// Returns the part of the captured step's time that is played, from 0 to 1.
    pub(super) fn played_part(&self, replay: &Replay) -> f64 {
        let captured = &replay.composite.workload.steps[self.index];
        let time = self.step.load.stimulus().and_then(|stimulus| stimulus.until.time);
        time.map_or(1.0, |time| time.as_secs_f64() / captured.lasted.as_secs_f64())
    }
}

#[derive(Debug, Clone)]
pub struct Replay {
    pub(super) setup: ProcedureSetup,
    pub(super) composite: CapturedComposite,
    pub(super) preconditioning: PreconditioningPlan,
    pub(super) content: ReplayContent,
    demands: Vec<Demand>,
}

impl Replay {
    pub fn on(setup: ProcedureSetup) -> Result<Self, ProcedureError> {
        let settings = &setup.settings;
        let composite = CapturedComposite::on_range(&setup)?;
        check_ending(settings)?;
        if composite.workload.script.is_none() {
            check_demand(settings, ": every capture step has its own")?;
        }
        let demand = composite.demand(&setup);
        let preconditioning = PreconditioningPlan::before_replay(&setup, &composite, demand)?;
        let content = match &composite.workload.script {
            Some(script) => ReplayContent::Script {
                script: Box::new(script.clone()),
                cut: CUT.parse(settings, |text| {
                    text.parse().ok().filter(|time: &Nanos| *time >= CUT_MIN)
                })?,
            },
            None => ReplayContent::Steps(planned(&setup, &composite)?),
        };
        let mut demands = match &content {
            ReplayContent::Script { script, .. } => vec![script.demand],
            ReplayContent::Steps(steps) => steps.iter().filter_map(demand_of).collect(),
        };
        demands.sort_by_key(|demand| (demand.outstanding(), demand.threads));
        demands.dedup();
        Ok(Replay { setup, composite, preconditioning, content, demands })
    }

    /// Describes what the capture steps write: how many have a data pattern of their own.
    pub(super) fn data_text(&self) -> String {
        let ReplayContent::Steps(steps) = &self.content else { return String::new() };
        let captured = &self.composite.workload.steps;
        let known = steps.iter().filter(|step| captured[step.index].data_pattern.is_some()).count();
        if known > 0 && writes_as_captured(&self.setup.settings) {
            format!("as captured in {known} of {} steps", steps.len())
        } else {
            "the same in every step".to_owned()
        }
    }

    pub(super) fn choices(&self) -> RunChoices<'_> {
        let choices = self.setup.choices();
        RunChoices {
            demands: self.demands.clone(),
            rounds_max: self.preconditioning.steady.as_ref().map(|steady| steady.cycles_max),
            ending: "when the capture is played to its end".to_owned(),
            step_text: Some("each capture step's own".to_owned()),
            alignment: choices.alignment.filter(|_| applies_streams(&self.setup.settings)),
            judged: self.preconditioning.steady.is_some(),
            preconditioning: self.preconditioning.independent(&self.setup),
            measured_phases: vec![PHASE.to_owned()],
            gap_effect,
            quick: format!(
                "profile quick plays at most {} of every capture step and preconditions in steps \
                 of {}.",
                LONGEST.value(&self.setup.settings),
                self.setup.step_time
            ),
            ..choices
        }
    }
}

/// Returns the number of capture steps that are played at their captured rate.
pub(super) fn count_paced(steps: &[PlannedCaptureStep]) -> usize {
    let is_paced = |planned: &&PlannedCaptureStep| {
        planned.step.load.stimulus().is_some_and(|stimulus| stimulus.pace != Pace::Closed)
    };
    steps.iter().filter(is_paced).count()
}

fn demand_of(planned: &PlannedCaptureStep) -> Option<Demand> {
    planned.step.load.stimulus().map(|stimulus| stimulus.demand)
}

/// Returns part number `point`, from 1, of a replay of single I/Os.
pub(super) fn part(script: &ScriptLoad, cut: Nanos, point: u32) -> Step {
    let place = StepPlace::new(PHASE, 0, point, script.name.clone());
    Step::part(place, Load::Script(script.clone()), cut, point > 1)
}

/// Plans the capture steps that have I/Os that can be applied.
fn planned(
    setup: &ProcedureSetup,
    composite: &CapturedComposite,
) -> Result<Vec<PlannedCaptureStep>, ProcedureError> {
    let settings = &setup.settings;
    let longest = LONGEST.parse(settings, longest)?;
    let keeps = PAUSES.choice(settings, &[("keep", true), ("skip", false)])?;
    let mut steps = Vec::new();
    let mut ended = composite.workload.steps.first().map_or(Nanos::ZERO, |step| step.began);
    for (index, captured) in composite.workload.steps.iter().enumerate() {
        if composite.counts_of(captured).is_empty() {
            continue;
        }
        check_length(captured, &composite.workload.name)?;
        let step = step(setup, composite, index, steps.len(), longest);
        let pause = if keeps { captured.began.saturating_sub(ended) } else { Nanos::ZERO };
        ended = Nanos(captured.began.0.saturating_add(captured.lasted.0));
        steps.push(PlannedCaptureStep { pause, index, step });
    }
    if !steps.is_empty() {
        return Ok(steps);
    }
    Err(ProcedureError(format!(
        "workload '{}' has no capture steps to replay; read it from a trace or a step file, or \
         run multi-wsat, which needs none",
        composite.workload.name
    )))
}

fn longest(text: &str) -> Option<Nanos> {
    match text {
        "whole" => Some(Nanos(u64::MAX)),
        time => time.parse::<Nanos>().ok().filter(|time| *time >= STEP_MIN),
    }
}

fn check_length(step: &AppliedStep, name: &str) -> Result<(), ProcedureError> {
    if step.lasted >= STEP_MIN {
        return Ok(());
    }
    Err(ProcedureError(format!(
        "workload '{name}' has a capture step of {}, which is shorter than {STEP_MIN}; read it \
         with wider steps, or replay its single I/Os with --exact",
        step.lasted
    )))
}

fn step(
    setup: &ProcedureSetup,
    composite: &CapturedComposite,
    index: usize,
    played: usize,
    longest: Nanos,
) -> Step {
    let captured = &composite.workload.steps[index];
    let streams = composite.streams_of(captured);
    let noun = if streams.len() == 1 { "stream" } else { "streams" };
    let label =
        format!("capture step {}: {} {noun}, {}", index + 1, streams.len(), captured.demand);
    let point = u32::try_from(played + 1).unwrap_or(u32::MAX);
    let place = StepPlace::new(PHASE, 0, point, label.clone());
    let until = LoadLimits::time(captured.lasted.min(longest));
    let applied = NamedStreams { name: label, streams, zones: Vec::new() };
    let stimulus = setup.stimulus(&applied, captured.demand, until, &place);
    let stimulus = stimulus.pace(composite.pace_of(captured));
    match &captured.data_pattern {
        Some(pattern) if writes_as_captured(&setup.settings) => {
            Step::alone(place, stimulus.data_pattern(pattern.clone()))
        }
        _ => Step::alone(place, stimulus),
    }
}

fn gap_effect(step: &Step) -> &'static str {
    let phase = step.place.phase.as_str();
    match (phase, &step.load) {
        (STEADY, _) => cyclic_load::gap_effect(step),
        (LADDER, _) => "The demands that precondition went on with this one.",
        (_, Load::Script(_)) if step.continues => {
            "The replay continued from the last cut: what was played after it before the gap was \
             played again, and what was outstanding at the cut is left out."
        }
        _ => {
            "The capture step in which the run broke off was played from its beginning; nothing is \
             left out, but the drive had rested."
        }
    }
}
