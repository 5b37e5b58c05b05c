//! The WSAT test: one workload written without a pause from the purge on,
//! minute by minute, until the drive is saturated (PTS 2.0.x; PTS-E 1.1).
//!
//! Purge, no workload-independent preconditioning, one load that runs on. It
//! ends at the first of: four times the user capacity written, a time limit, or
//! steady state of measured minutes with writes between them (module
//! `between`) that began after the drive was filled once (ours). PTS 2.0.x then records every response time of 20 more minutes.
//! The composite (JESD219) is one of the workloads; `composite` is WSAT of it.
//!
//! A gap begins the steady-state window anew and the load goes on; a histogram
//! run with a gap before it is done again, the first one serving as its
//! pre-write.

mod exhibits;
mod results;

use super::between::{self, BETWEEN_TIME, BetweenRounds, Cycle, Fill, LEAST_FILLS, MEASURED_LAST};
use super::ground::{self, Ground, NO_END, Stretch, attempt_phase};
use super::method::{Method, WIPC_PATTERN};
use super::workload::{ALIGNMENT, CURSOR, MIX_WRITES, Workload};
use super::{disclosure, preconditioning, rounds};
use crate::{Parameter, Unsuitable};
use results::Results;
use steadfast_domain::purge::{PurgeChoice, PurgeMethod};
use steadfast_domain::settings::{Amendment, Geometry, SteadyStateMethod};
use steadfast_domain::stimulus::Until;
use steadfast_domain::{
    Bench, Bytes, Demand, Findings, Halt, Nanos, Place, Procedure, Profile, Record, Settings, Step,
    Stimulus,
};

/// The phase of the load that saturates.
pub const PHASE: &str = "saturation";
/// The phase in which every response time is recorded.
pub const HISTOGRAM: &str = "histogram";

/// It ends when the user capacity has been written this often (SNIA tutorial;
/// PTS-E 1.1 as implemented).
const FILLS: u32 = 4;
/// Time limit of PTS 2.0.x (public implementations; study notes).
const TIME_LIMIT_20: Nanos = Nanos::from_secs(6 * 3600);
/// Time limit of PTS-E 1.1 (public implementation).
const TIME_LIMIT_11: Nanos = Nanos::from_secs(24 * 3600);
/// Time limit of profile quick: our choice.
const TIME_LIMIT_QUICK: Nanos = Nanos::from_secs(120);
/// Minutes of TKperf, its reports say: 24 hours.
const TKPERF_MINUTES: u32 = 1440;

const WORKLOAD: Parameter = Parameter {
    name: "workload",
    default: "RND 4K W",
    meaning: "what is applied: metadata, write-intensive, read-intensive, oltp, video, composite, \
              or an access pattern like RND 8K RW65",
    source: "RND 4K W is WSAT's own; PTS 2.0.x adds the six synthetic workloads (SNIA tutorial)",
    ..Parameter::PLAIN
};

const HISTOGRAM_TIME: Parameter = Parameter {
    name: "histogram-time",
    default: "20min",
    quick: Some("10s"),
    meaning: "time during which every response time is recorded after the saturation",
    source: "public implementation of PTS 2.0.x",
    unverified: true,
    applies: |settings| has_histogram(settings.profile),
    ..Parameter::PLAIN
};

const BETWEEN: Parameter = Parameter { applies: is_judged, ..BETWEEN_TIME };
const MEASURED: Parameter = Parameter { applies: is_judged, ..MEASURED_LAST };
const FILLS_BEFORE: Parameter = Parameter { applies: is_judged, ..LEAST_FILLS };

pub(crate) const PRECONDITION: Parameter = Parameter {
    name: "precondition",
    default: "no",
    meaning: "what is written between the purge and the saturation: no (nothing), or wipc (2 x \
              user capacity sequentially, as before the IOPS test), so that reads find blocks \
              that were written",
    source: "WSAT has no workload-independent preconditioning (SNIA tutorial)",
    ..Parameter::PLAIN
};

/// The parameters of `wsat`.
pub const PARAMETERS: &[Parameter] = &[
    WORKLOAD,
    MIX_WRITES,
    ALIGNMENT,
    CURSOR,
    PRECONDITION,
    BETWEEN,
    MEASURED,
    FILLS_BEFORE,
    HISTOGRAM_TIME,
];

/// The parameters of `composite`.
pub const COMPOSITE_PARAMETERS: &[Parameter] =
    &[MIX_WRITES, ALIGNMENT, PRECONDITION, BETWEEN, MEASURED, FILLS_BEFORE, HISTOGRAM_TIME];

/// Whether the saturation is judged: measured minutes with writes between them.
fn is_judged(settings: &Settings) -> bool {
    match settings.steady_state {
        SteadyStateMethod::Btw | SteadyStateMethod::Post25 => true,
        SteadyStateMethod::Rounds => settings.profile != Profile::Tkperf,
        SteadyStateMethod::Time(_) | SteadyStateMethod::Bytes(_) | SteadyStateMethod::Fills(_) => {
            false
        }
    }
}

/// PTS 1.1 and TKperf end with the saturation.
fn has_histogram(profile: Profile) -> bool {
    matches!(profile, Profile::Pts20 | Profile::Quick)
}

/// How the saturation ends.
#[derive(Debug, Clone)]
enum Saturation {
    /// Judged: measured minutes with writes between them.
    Judged(BetweenRounds),
    /// By time, bytes or minutes alone.
    Plain(Stretch),
}

/// The WSAT test, ready to be conducted on a device of known geometry.
#[derive(Debug, Clone)]
pub struct Wsat {
    ground: Ground,
    workload: Workload,
    left_out: Vec<Bytes>,
    demand: Demand,
    saturation: Saturation,
    time_limit: Option<Nanos>,
    histogram_time: Option<Nanos>,
    /// Whether everything is written before the saturation, which is no part of
    /// the method.
    preconditions: bool,
}

impl Wsat {
    /// WSAT of the workload that the settings name.
    pub fn new(
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        let workload = Workload::chosen(Some(&WORKLOAD), &MIX_WRITES, settings, geometry)?;
        Wsat::of(workload, settings, geometry, amendments)
    }

    /// WSAT of the JESD219 composite.
    pub fn composite(
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        let workload = Workload::chosen(None, &MIX_WRITES, settings, geometry)?;
        Wsat::of(workload, settings, geometry, amendments)
    }

    fn of(
        workload: Workload,
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        let ground = Ground::new(settings, geometry)?;
        let demand = settings.demand_or(workload.recommended_demand(&ground.method));
        let place = Place::new(PHASE, 0, 1, "");
        let until = limits(&workload, settings, geometry)?;
        let stimulus = ground.stimulus(&workload, demand, until, &place);
        let label = workload.to_string();
        let time_limit = time_limit(&ground, amendments)?;
        let preconditions = preconditions(settings)?;
        check_reads(&workload, settings, preconditions)?;
        let fill = fill(&workload, settings, geometry, preconditions)?;
        let mut saturation = saturation(&ground, &label, stimulus, time_limit, amendments)?;
        if let Saturation::Judged(between) = &mut saturation {
            between.fill = fill;
        }
        let has_histogram = has_histogram(settings.profile);
        let histogram_time = ground::time(&HISTOGRAM_TIME, settings)?;
        Ok(Wsat {
            left_out: workload.left_out(),
            histogram_time: has_histogram.then_some(histogram_time),
            ground,
            workload,
            demand,
            saturation,
            time_limit,
            preconditions,
        })
    }

    fn histogram(&self, attempt: u32, time: Nanos) -> Step {
        let place = Place::new(
            &attempt_phase(HISTOGRAM, attempt),
            0,
            1,
            format!("{} {}", self.workload, self.demand),
        );
        let until = Until::time(time);
        let stimulus = self.ground.stimulus(&self.workload, self.demand, until, &place);
        Step::alone(place, stimulus)
    }

    fn stimulus(&self) -> &Stimulus {
        match &self.saturation {
            Saturation::Judged(between) => &between.stimulus,
            Saturation::Plain(stretch) => &stretch.stimulus,
        }
    }

    fn between(&self) -> Option<&BetweenRounds> {
        match &self.saturation {
            Saturation::Judged(between) => Some(between),
            Saturation::Plain(_) => None,
        }
    }

    /// Whether 20/10 alone may end it, so that not reaching it is a failure.
    fn only_steady(&self) -> bool {
        matches!(
            self.ground.settings.steady_state,
            SteadyStateMethod::Btw | SteadyStateMethod::Post25
        )
    }

    fn choices(&self, record: &Record) -> disclosure::Choices<'_> {
        let recommended = self.workload.recommended_demand(&self.ground.method);
        disclosure::Choices {
            alignment: Some(self.workload.alignment_name(self.ground.alignment)),
            demands: vec![self.demand],
            recommended: Some(recommended),
            block_sizes_left_out: &self.left_out,
            rounds_max: self.between().filter(|_| self.only_steady()).map(|b| b.cycles_max),
            ending: self.ending_rule(),
            judged: self.between().is_some(),
            preconditioning: match self.preconditions {
                true => vec![WIPC_PATTERN],
                false => Vec::new(),
            },
            measured_phases: ground::phases_of(record, &[PHASE, HISTOGRAM]),
            gap_effect,
            quick: format!(
                "profile quick saturates in steps of {} instead of 60 s{}.",
                self.ground.minute,
                self.time_limit.map(|time| format!(", for {time} at most")).unwrap_or_default()
            ),
            tkperf: "Profile tkperf runs TKperf's minutes without a check of steady state, but as \
                     one load that runs on (TKperf begins fio anew every minute, with the same \
                     offsets), and a failed purge is reported.",
            ..self.ground.choices()
        }
    }

    /// What ends it, in words.
    fn ending_rule(&self) -> String {
        let until = self.stimulus().until;
        let mut limits = Vec::new();
        if let Some(bytes) = until.bytes {
            limits.push(format!("{bytes} moved ({})", self.fills_text()));
        }
        if let Some(time) = self.time_limit {
            limits.push(format!("{time} passed"));
        }
        match &self.saturation {
            Saturation::Judged(between) if between.stops => {
                limits.push("five measured minutes meet 20/10 with writes between them".into());
            }
            Saturation::Judged(between) => {
                limits.push(format!("{} measured minutes done", between.cycles_max));
            }
            Saturation::Plain(_) => {}
        }
        format!("at the first of: {}", limits.join("; "))
    }

    fn fills_text(&self) -> String {
        match self.ground.settings.steady_state {
            SteadyStateMethod::Bytes(bytes) => format!("{bytes} written"),
            SteadyStateMethod::Fills(fills) => format!("{fills} x user capacity written"),
            _ => format!("{FILLS} x user capacity written"),
        }
    }
}

/// Whether the drive is written before the saturation.
fn preconditions(settings: &Settings) -> Result<bool, Unsuitable> {
    PRECONDITION.parse(settings, |text| match text {
        "no" => Some(false),
        "wipc" => Some(true),
        _ => None,
    })
}

/// Whether nothing has been written where a workload that only reads reads.
fn reads_nothing_written(workload: &Workload, settings: &Settings, preconditions: bool) -> bool {
    let is_purged = settings.purge != PurgeChoice::Method(PurgeMethod::Nothing);
    workload.read_percent() == 100 && is_purged && !preconditions
}

/// Refuses reads of what a purge has emptied: a drive answers them without its
/// flash.
fn check_reads(
    workload: &Workload,
    settings: &Settings,
    preconditions: bool,
) -> Result<(), Unsuitable> {
    if settings.rules == 0 || !reads_nothing_written(workload, settings, preconditions) {
        return Ok(());
    }
    Err(Unsuitable(format!(
        "{workload} after a purge reads blocks that nothing was written to, which a drive answers \
         without its flash; write them first with --set precondition=wipc, or keep what is on the \
         drive with --purge none"
    )))
}

/// How far the drive must be filled before minutes count; a workload that only
/// reads fills nothing.
fn fill(
    workload: &Workload,
    settings: &Settings,
    geometry: Geometry,
    preconditions: bool,
) -> Result<Fill, Unsuitable> {
    let chosen = Fill::chosen(settings, geometry.capacity)?;
    if workload.read_percent() == 100 {
        return Ok(Fill::default());
    }
    let before = match preconditions {
        true => preconditioning::amount(geometry, WIPC_PATTERN.size),
        false => Bytes(0),
    };
    Ok(Fill { before, ..chosen })
}

/// Bytes at which the load ends by itself; time ends it at a cut.
fn limits(
    workload: &Workload,
    settings: &Settings,
    geometry: Geometry,
) -> Result<Until, Unsuitable> {
    let fills = |fills: u32| -> Result<Bytes, Unsuitable> {
        let written = geometry.capacity.0.checked_mul(u64::from(fills)).ok_or_else(|| {
            Unsuitable(format!("{fills} x {} is more than can be counted", geometry.capacity))
        })?;
        Ok(Bytes(written))
    };
    let asked = |written: Bytes| {
        let bytes = workload.bytes_for_written(written).ok_or_else(|| {
            Unsuitable(format!(
                "{workload} writes nothing, so it cannot end by --steady-state {}; choose \
                 rounds, btw or time:6h",
                settings.steady_state
            ))
        })?;
        Ok(Until::bytes(bytes))
    };
    match settings.steady_state {
        SteadyStateMethod::Btw | SteadyStateMethod::Post25 | SteadyStateMethod::Time(_) => {
            Ok(Until::time(NO_END))
        }
        SteadyStateMethod::Bytes(written) => asked(written),
        SteadyStateMethod::Fills(n) => asked(fills(n)?),
        SteadyStateMethod::Rounds => {
            let bytes = workload.bytes_for_written(fills(FILLS)?);
            Ok(Until { time: Some(NO_END), bytes, ios: None })
        }
    }
}

/// The time after which it is left at a cut.
fn time_limit(ground: &Ground, amendments: &[Amendment]) -> Result<Option<Nanos>, Unsuitable> {
    let settings = &ground.settings;
    match settings.steady_state {
        SteadyStateMethod::Time(time) if time < Nanos::from_millis(100) => {
            Err(Unsuitable(format!("WSAT for {time} is not possible; give at least 100 ms")))
        }
        SteadyStateMethod::Time(time) => Ok(Some(time)),
        SteadyStateMethod::Rounds => Ok(Some(match settings.profile {
            Profile::Pts20 => TIME_LIMIT_20,
            Profile::Pts11 => TIME_LIMIT_11,
            Profile::Quick => TIME_LIMIT_QUICK,
            Profile::Tkperf => {
                let minutes = rounds_max(ground, amendments, TKPERF_MINUTES);
                Nanos(ground.minute.0.saturating_mul(u64::from(minutes)))
            }
        })),
        _ => Ok(None),
    }
}

/// The most rounds: amended, chosen, or `preset`.
fn rounds_max(ground: &Ground, amendments: &[Amendment], preset: u32) -> u32 {
    let method = Method { rounds_max: preset, ..ground.method.clone() };
    rounds::rounds_max(&ground.settings, &method, amendments, PHASE, true)
}

fn saturation(
    ground: &Ground,
    label: &str,
    stimulus: Stimulus,
    time_limit: Option<Nanos>,
    amendments: &[Amendment],
) -> Result<Saturation, Unsuitable> {
    let settings = &ground.settings;
    let ends_by_rounds = settings.steady_state == SteadyStateMethod::Rounds;
    if !is_judged(settings) {
        let place = Place::new(PHASE, 0, 1, label);
        let cut = ground.minute;
        return Ok(Saturation::Plain(Stretch { place, stimulus, cut, time: time_limit }));
    }
    let cycle = Cycle::chosen(&MEASURED_LAST, settings, ground.minute)?;
    let mut between = BetweenRounds::new(ground, (PHASE, label.to_owned()), stimulus, cycle);
    let preset = if ends_by_rounds { u32::MAX } else { ground.method.rounds_max };
    between.cycles_max = rounds_max(ground, amendments, preset);
    if let Some(time) = time_limit {
        between.minutes_max = time.0.div_ceil(ground.minute.0);
    }
    Ok(Saturation::Judged(between))
}

/// What a gap did.
fn gap_effect(step: &Step) -> &'static str {
    if step.place.phase == preconditioning::PHASE {
        return "Preconditioning went on from its last checkpoint.";
    }
    match ground::is_attempt_of(&step.place.phase, HISTOGRAM) {
        true => "That histogram run is void: it was done again after it.",
        false => between::gap_effect(step),
    }
}

impl Procedure for Wsat {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.ground.conditions())?;
        bench.purge()?;
        if self.preconditions {
            let Ground { settings, geometry, active_range, .. } = &self.ground;
            preconditioning::precondition(bench, settings, *geometry, *active_range)?;
        }
        match &self.saturation {
            Saturation::Judged(between) => between.conduct(bench)?,
            Saturation::Plain(stretch) => stretch.conduct(bench).map(|_| ())?,
        }
        let Some(time) = self.histogram_time else { return Ok(()) };
        for attempt in 1.. {
            if bench.apply(&self.histogram(attempt, time))?.gap_before.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        let results = Results::of(self, record);
        exhibits::findings(self, record, &results)
    }
}

#[cfg(test)]
mod tests;
