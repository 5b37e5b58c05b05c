//! Setup of load-curve: its workload, its preparation, its rates and the length of its steps.

use super::search::{AnsweredRate, RateAnswer, RateSearch};
use super::workload::CurveWorkload;
use crate::common::ProcedureSetup;
use crate::common::applied::ApplicableWorkload;
use crate::common::attempts::{attempt_phase, is_attempt_of, phases_of, steps_of};
use crate::common::choices::RunChoices;
use crate::common::cyclic_load::{
    self, BETWEEN_TIME, CycleLayout, CyclePosition, CyclicLoad, MEASURED_LAST,
};
use crate::common::method::Method;
use crate::common::one_pass::{self, INSTEAD_OF_WIPC, SPARE};
use crate::common::preconditioning::is_purged;
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_steady_end;
use crate::exhibits::disclosure;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use crate::pts::workload::{ALIGNMENT, CURSOR, MIX_JESD219, ZONE_SHIFT};
use crate::rwsw::method::{CONTENT, FILLS, with_content};
use crate::rwsw::preconditioning::{PreconditioningParts, PreconditioningPlan, STEADY};
use steadfast_domain::rate::THREAD_RATE_MAX;
use steadfast_domain::steady_state::judge_first_steady;
use steadfast_domain::stimulus::{LoadLimits, Op, Pace};
use steadfast_domain::{
    Demand, Measurement, Nanos, Outcome, Profile, Record, ServiceLevel, Settings, Step, StepPlace,
    Track,
};

pub(super) const MAXIMUM: &str = "maximum";
pub(super) const CURVE: &str = "curve";
/// Phase of the rates at which the service level is searched for.
pub(super) const SEARCH: &str = "slo-search";

pub(super) const HIGHEST_PERCENTILE: f64 = 0.9999;

/// I/Os of a step, relative to those of which ten lie beyond its highest percentile on average:
/// arrivals are random, so that some steps have fewer.
const MORE_IOS: f64 = 1.1;

/// I/Os that must lie beyond a percentile (docs/methods.md).
const BEYOND: f64 = 10.0;

const WORKLOAD: Parameter = Parameter {
    name: "workload",
    default: "RND 4K R",
    meaning: "the workload: metadata, write-intensive, read-intensive, oltp, video, composite, or \
              an access pattern such as RND 8K RW70",
    source: "our choice: the most common figure of a data sheet",
    applies: is_synthetic,
    ..Parameter::PLAIN
};

const PRECONDITIONING: Parameter = Parameter {
    name: "preconditioning",
    default: "steady",
    meaning: "what is written between the purge and the closed loop: steady (2 x user capacity \
              sequentially, then the workload to steady state; of a workload that only reads its \
              transfers as writes), wipc (2 x user capacity sequentially) or none; --purge none \
              leaves the purge out",
    source: "our choice: purge, preconditioning, steady state and measurement is the flow of the PTS",
    ..Parameter::PLAIN
};

const POINTS: Parameter = Parameter {
    name: "points",
    default: "5,10,20,30,40,50,60,70,80,90,95,98,102",
    quick: Some("10,50,80,95,102"),
    meaning: "offered rates in percent of the closed-loop maximum, ascending, each 0.01 to 200",
    source: "our choice: dense where response times grow, and one rate above the maximum",
    ..Parameter::PLAIN
};

const SETTLING: Parameter = Parameter {
    name: "settling",
    default: "5s",
    quick: Some("500ms"),
    meaning: "time at the beginning of each rate that is not measured",
    source: "our choice: the queue of the rate has then replaced that of the rate before",
    ..Parameter::PLAIN
};

pub(super) const POINT_TIME: Parameter = Parameter {
    name: "point-time",
    default: "60s",
    quick: Some("2s"),
    meaning: "shortest measured time of a rate; it is longer where its I/Os are too few for ten \
              beyond the highest percentile",
    source: "our choice: a step of the PTS takes a minute",
    ..Parameter::PLAIN
};

pub(super) const POINT_TIME_MAX: Parameter = Parameter {
    name: "point-time-max",
    default: "10min",
    quick: Some("5s"),
    meaning: "longest measured time of a rate; percentiles that need more print a dash",
    source: "our choice",
    ..Parameter::PLAIN
};

const CONTENT_OF_CAPTURED: Parameter =
    Parameter { applies: |settings| settings.workload.is_some(), ..CONTENT };
const BETWEEN: Parameter = Parameter { applies: runs_to_steady_state, ..BETWEEN_TIME };
const MEASURED: Parameter = Parameter { applies: runs_to_steady_state, ..MEASURED_LAST };
const FILLS_BEFORE: Parameter = Parameter { applies: runs_to_steady_state, ..FILLS };

pub const PARAMETERS: &[Parameter] = &[
    WORKLOAD, MIX_JESD219, ZONE_SHIFT, ALIGNMENT, CURSOR, CONTENT_OF_CAPTURED, PRECONDITIONING,
    INSTEAD_OF_WIPC, SPARE, BETWEEN, MEASURED, FILLS_BEFORE, POINTS, SETTLING, POINT_TIME,
    POINT_TIME_MAX,
];

fn is_synthetic(settings: &Settings) -> bool {
    settings.workload.is_none()
}

fn runs_to_steady_state(settings: &Settings) -> bool {
    PRECONDITIONING.value(settings) == "steady"
}

#[derive(Debug, Clone)]
pub struct LoadCurve {
    pub(super) setup: ProcedureSetup,
    pub(super) workload: CurveWorkload,
    pub(super) demand: Demand,
    pub(super) preparation: PreconditioningPlan,
    /// Closed loop whose steady rate is the maximum.
    pub(super) maximum: CyclicLoad,
    /// Offered rates in percent of the maximum, ascending.
    pub(super) points: Vec<f64>,
    pub(super) slo: Option<ServiceLevel>,
    pub(super) settling: Nanos,
    pub(super) point_time: Nanos,
    pub(super) point_time_max: Nanos,
}

impl LoadCurve {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        check_steady_end(
            request.settings,
            "its rates are percentages of a steady maximum; omit --steady-state, or \
             allow fewer rounds with --max-rounds",
        )?;
        let settings = with_content(request.settings)?;
        let request = ProcedureRequest { settings: &settings, ..request.clone() };
        let setup = ProcedureSetup::new(&request, of_profile(&settings))?;
        let workload = CurveWorkload::from_settings(&WORKLOAD, &setup)?;
        let demand = workload.demand(&setup);
        let preparation = preparation(&setup, &workload, demand)?;
        let every = CycleLayout { steps_between: 0, measured: CyclePosition::Last };
        let label = format!("{workload} {demand}");
        let load = CyclicLoad::endless(&setup, MAXIMUM, label, &workload, demand, every);
        let (point_time, point_time_max) =
            (POINT_TIME.time(&settings)?, POINT_TIME_MAX.time(&settings)?);
        if point_time > point_time_max {
            return Err(ProcedureError(format!(
                "point-time {point_time} is longer than point-time-max {point_time_max}; change \
                 one of them with --set"
            )));
        }
        Ok(LoadCurve {
            maximum: CyclicLoad {
                cycles_max: setup.rounds_max(MAXIMUM, true, setup.method.rounds_max),
                ..load
            },
            points: POINTS.ascending(&settings, |text| {
                text.parse().ok().filter(|percent| (0.01..=200.0).contains(percent))
            })?,
            settling: SETTLING.time(&settings)?,
            slo: settings.slo,
            point_time,
            point_time_max,
            preparation,
            demand,
            workload,
            setup,
        })
    }

    /// Returns the closed-loop maximum in IOPS: the mean of the steady window. Without one, it is
    /// the lowest of the last five minutes, the rate that held; `None` without a minute.
    pub(super) fn maximum_of(&self, track: &Track) -> Option<f64> {
        let verdict = judge_first_steady(std::slice::from_ref(track), &self.maximum.criteria);
        if let Some(window) = verdict.tracks.first().filter(|_| verdict.steady) {
            return Some(window.average);
        }
        let values = track.points.iter().rev().filter_map(|point| point.value);
        values.take(self.maximum.criteria.window as usize).reduce(f64::min).filter(|v| *v > 0.0)
    }

    /// Returns the closed-loop maximum of a record in IOPS; `None` until the closed loop has ended.
    pub(super) fn measured_maximum(&self, record: &Record) -> Option<f64> {
        let has_rates = record.steps().any(|(step, _)| step.place.phase.starts_with(CURVE));
        let track = self.maximum.track(&steps_of(record, MAXIMUM));
        self.maximum_of(&track).filter(|_| has_rates || record.has_ended())
    }

    /// Returns the drawn I/Os per second at a rate in IOPS.
    pub(super) fn drawn(&self, rate: f64) -> f64 {
        rate * self.workload.drawn_per_io()
    }

    pub(super) fn rate(&self, maximum: f64, percent: f64) -> f64 {
        // More than the threads can issue is offered to no device; only a rehearsed one is as fast.
        (maximum * percent / 100.0).min(THREAD_RATE_MAX * f64::from(self.demand.threads))
    }

    pub(super) fn point_step(&self, point: u32, percent: f64, rate: f64, attempt: u32) -> Step {
        let label = format!("{} at {percent} %", self.workload);
        let own = self.slo.map_or(0.0, ServiceLevel::fraction);
        self.rated_step(CURVE, point, attempt, label, rate, HIGHEST_PERCENTILE.max(own))
    }

    pub(super) fn search_step(
        &self,
        point: u32,
        slo: ServiceLevel,
        rate: f64,
        attempt: u32,
    ) -> Step {
        let label = format!("{} for {slo}", self.workload);
        self.rated_step(SEARCH, point, attempt, label, rate, slo.fraction())
    }

    /// Returns a step that offers `rate` IOPS for long enough to have `highest`, a percentile as a
    /// fraction.
    fn rated_step(
        &self,
        phase: &str,
        point: u32,
        attempt: u32,
        label: String,
        rate: f64,
        highest: f64,
    ) -> Step {
        let place = StepPlace::new(&attempt_phase(phase, attempt), 0, point, label);
        let needed = BEYOND / (1.0 - highest) * MORE_IOS / rate;
        let cap = self.point_time_max.as_secs_f64();
        let needed = Nanos((needed.min(cap) * 1e9) as u64);
        let until = LoadLimits::time(needed.max(self.point_time));
        let stimulus = self
            .setup
            .stimulus(&self.workload, self.demand, until, &place)
            .pace(Pace::poisson(self.drawn(rate)))
            .ramp(self.settling);
        Step::alone(place, stimulus)
    }

    /// Returns whether a rate met the service level. One above the closed-loop maximum never does:
    /// only the time was too short for its queue.
    pub(super) fn rate_answer(
        &self,
        slo: ServiceLevel,
        maximum: f64,
        measured: &MeasuredRate<'_>,
    ) -> RateAnswer {
        let MeasuredRate { rate, step, measurement } = *measured;
        if is_above(rate, maximum) || !keeps_up(step, measurement, Some(self.drawn(maximum))) {
            return RateAnswer::Missed;
        }
        let tally = measurement.total();
        match slo.is_met(&tally) {
            Some(true) => RateAnswer::Met,
            Some(false) => RateAnswer::Missed,
            None if tally.histogram.total() == 0 => RateAnswer::NoResponseTimes,
            None => RateAnswer::TooFewIos,
        }
    }

    /// Returns the search that begins with the rates of the curve, in ascending order.
    pub(super) fn search<'a>(
        &self,
        slo: ServiceLevel,
        maximum: f64,
        curve: impl Iterator<Item = MeasuredRate<'a>>,
    ) -> RateSearch {
        let answered = curve.map(|measured| AnsweredRate {
            rate: measured.rate,
            answer: self.rate_answer(slo, maximum, &measured),
        });
        RateSearch::new(&answered.collect::<Vec<_>>())
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        RunChoices {
            alignment: Some(self.workload.alignment_name(self.setup.alignment)),
            demands: vec![self.demand],
            recommended: self.workload.recommended_demand(&self.setup.method),
            rounds_max: Some(self.maximum.cycles_max),
            ending: disclosure::ending_text(self.setup.settings.steady_state),
            judged: true,
            preconditioning: self.preparation.independent(&self.setup),
            measured_phases: phases_of(record, &[MAXIMUM, CURVE, SEARCH]),
            closed_loop_maximum: self.measured_maximum(record).map(|maximum| self.drawn(maximum)),
            gap_effect,
            quick: format!(
                "profile quick offers {} rates for {} to {} each, and judges steady state in steps \
                 of {} instead of 60 s before the workload has filled the drive once.",
                self.points.len(),
                self.point_time,
                self.point_time_max,
                self.setup.step_time
            ),
            ..self.setup.choices()
        }
    }

    pub(super) fn preparation_text(&self) -> String {
        let purge = if is_purged(&self.setup.settings) { "purge" } else { "no purge" };
        let wipc = match &self.setup.one_pass {
            Some(pass) => pass.text(),
            None if self.preparation.wipc => {
                "2 x user capacity written sequentially (WIPC)".to_owned()
            }
            None => "no preconditioning".to_owned(),
        };
        let steady = self.preparation.steady.as_ref();
        let steady = steady.map(|load| format!("; {} to steady state", load.label));
        format!("{purge}; {wipc}{}", steady.unwrap_or_default())
    }

    /// Returns true if reads may access blocks that were not written since the purge.
    pub(super) fn reads_unwritten(&self) -> bool {
        let reads = self.workload.streams().iter().any(|stream| stream.op == Op::Read);
        is_purged(&self.setup.settings) && !self.preparation.wipc && reads
    }
}

/// An offered rate and the step that offered it.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeasuredRate<'a> {
    /// Rate in IOPS.
    pub rate: f64,
    pub step: &'a Step,
    pub measurement: &'a Measurement,
}

/// Returns true if a rate is above the maximum by more than the rounding of a percentage.
pub(super) fn is_above(rate: f64, maximum: f64) -> bool {
    rate > maximum * (1.0 + 1e-9)
}

/// Returns true if a step that offers a rate completed as many I/Os as were offered. `maximum` is
/// the closed-loop maximum in drawn I/Os per second, if it is known.
pub(super) fn keeps_up(step: &Step, measured: &Measurement, maximum: Option<f64>) -> bool {
    let pace = step.load.stimulus().map_or(&Pace::Closed, |stimulus| &stimulus.pace);
    measured.kept_up_below(pace, maximum) != Some(false)
}

/// Returns the steps that count of a phase: of each point the one without a gap before it.
pub(super) fn steps_without_gap<'a>(
    record: &'a Record,
    phase: &str,
) -> Vec<(&'a Step, &'a Outcome)> {
    record
        .steps()
        .filter(|(step, _)| is_attempt_of(&step.place.phase, phase))
        .filter(|(_, outcome)| outcome.gap_before.is_none())
        .collect()
}

/// Returns our method: conditions, range and demand of the class, short steps in profile quick.
fn of_profile(settings: &Settings) -> Method {
    if settings.profile == Profile::Quick {
        return method::for_profile(Profile::Quick, settings.class);
    }
    Method {
        document: "load-curve",
        revision: "Load-curve",
        disclaimer: Some("LOAD-CURVE: response times at offered rates, not a method of the PTS"),
        ..method::for_profile(Profile::Pts20, settings.class)
    }
}

fn preparation(
    setup: &ProcedureSetup,
    workload: &CurveWorkload,
    demand: Demand,
) -> Result<PreconditioningPlan, ProcedureError> {
    let settings = &setup.settings;
    let choices = [
        ("steady", PreconditioningParts::STEADY),
        ("wipc", PreconditioningParts::WIPC),
        ("none", PreconditioningParts::NONE),
    ];
    let parts = PRECONDITIONING.choice(settings, &choices)?;
    one_pass::check_place(parts.wipc, settings)?;
    let plan = PreconditioningPlan { wipc: parts.wipc, steady: None, ladder: None };
    if !parts.steady {
        return Ok(plan);
    }
    let writes = workload.preparing();
    let cycle = CycleLayout::from_settings(&MEASURED_LAST, settings, setup.step_time)?;
    let label = format!("{writes} {demand}");
    let load = CyclicLoad::endless(setup, STEADY, label, &writes, demand, cycle);
    let load = CyclicLoad {
        cycles_max: setup.rounds_max(STEADY, false, setup.method.rounds_max),
        fill: plan.fill(setup, &writes.streams())?,
        ..load
    };
    Ok(PreconditioningPlan { steady: Some(load), ..plan })
}

fn gap_effect(step: &Step) -> &'static str {
    match step.place.phase.as_str() {
        STEADY | MAXIMUM => cyclic_load::gap_effect(step),
        _ => "That step is void. It was repeated after the gap.",
    }
}
