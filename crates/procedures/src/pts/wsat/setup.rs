//! Setup of the WSAT test: its workload and the limits of its saturation.

use crate::common::ProcedureSetup;
use crate::common::attempts::{attempt_phase, is_attempt_of, phases_of};
use crate::common::choices::RunChoices;
use crate::common::continuous_load::{ContinuousLoad, NO_END};
use crate::common::cyclic_load::{
    self, BETWEEN_TIME, CycleLayout, CyclicLoad, FillRequirement, LEAST_FILLS, MEASURED_LAST,
};
use crate::common::one_pass::{ONE_PASS, OnePass, SPARE};
use crate::common::preconditioning::{self, PRECONDITION, WIPC_PATTERN, is_purged};
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method::has_histogram;
use crate::pts::workload::{ALIGNMENT, CURSOR, MIX_WRITES, PtsWorkload, ZONE_SHIFT};
use crate::report_notation::{count_word, limits_text};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{Geometry, SteadyStateMethod};
use steadfast_domain::stimulus::LoadLimits;
use steadfast_domain::{
    Bytes, Demand, Nanos, Profile, Record, Settings, Step, StepPlace, Stimulus,
};

pub const PHASE: &str = "saturation";
/// Phase in which every response time is recorded.
pub const HISTOGRAM: &str = "histogram";

/// Byte limit of the saturation in user capacities (SNIA tutorial; PTS-E 1.1 as implemented).
const FILLS: u32 = 4;
/// Time limit of PTS 2.0.x: 6 hours (public implementations; study notes).
const TIME_LIMIT_20: Nanos = Nanos::from_secs(6 * 3600);
/// Time limit of PTS-E 1.1: 24 hours (public implementation).
const TIME_LIMIT_11: Nanos = Nanos::from_secs(24 * 3600);
/// Time limit of profile quick: our choice.
const TIME_LIMIT_QUICK: Nanos = Nanos::from_secs(120);
/// Length of TKperf's saturation in minutes, according to its reports: 24 hours.
const TKPERF_MINUTES: u32 = 1440;

const WORKLOAD: Parameter = Parameter {
    name: "workload",
    default: "RND 4K W",
    meaning: "the workload: metadata, write-intensive, read-intensive, oltp, video, composite, or \
        an access pattern such as RND 8K RW65",
    source: "RND 4K W is WSAT's own; PTS 2.0.x adds the six synthetic workloads (SNIA tutorial)",
    ..Parameter::PLAIN
};

pub(super) const HISTOGRAM_TIME: Parameter = Parameter {
    name: "histogram-time",
    default: "20min",
    quick: Some("10s"),
    meaning: "time during which every response time is recorded after the saturation",
    source: "public implementation of PTS 2.0.x",
    applies: |settings| has_histogram(settings.profile),
    ..Parameter::UNVERIFIED
};

const BETWEEN: Parameter = Parameter { applies: is_judged, ..BETWEEN_TIME };
const MEASURED: Parameter = Parameter { applies: is_judged, ..MEASURED_LAST };
const FILLS_BEFORE: Parameter = Parameter { applies: is_judged, ..LEAST_FILLS };

pub const PARAMETERS: &[Parameter] = &[
    WORKLOAD, MIX_WRITES, ZONE_SHIFT, ALIGNMENT, CURSOR, PRECONDITION, SPARE, BETWEEN, MEASURED,
    FILLS_BEFORE, HISTOGRAM_TIME,
];

pub const COMPOSITE_PARAMETERS: &[Parameter] = &[
    MIX_WRITES, ZONE_SHIFT, ALIGNMENT, PRECONDITION, SPARE, BETWEEN, MEASURED, FILLS_BEFORE,
    HISTOGRAM_TIME,
];

/// Returns true if the saturation is judged by measured steps with writes between them.
fn is_judged(settings: &Settings) -> bool {
    match settings.steady_state {
        SteadyStateMethod::Btw | SteadyStateMethod::Post25 => true,
        SteadyStateMethod::Rounds => settings.profile != Profile::Tkperf,
        SteadyStateMethod::Time(_) | SteadyStateMethod::Bytes(_) | SteadyStateMethod::Fills(_) => {
            false
        }
    }
}

/// Load of the saturation, by how it ends.
#[derive(Debug, Clone)]
pub(super) enum SaturationLoad {
    /// Ends by measured steps with writes between them, or a limit.
    Judged(CyclicLoad),
    /// Ends by time, bytes or the number of steps only.
    Plain(ContinuousLoad),
}

#[derive(Debug, Clone)]
pub struct Wsat {
    pub(super) setup: ProcedureSetup,
    pub(super) workload: PtsWorkload,
    left_out: Vec<Bytes>,
    pub(super) demand: Demand,
    pub(super) saturation: SaturationLoad,
    pub(super) time_limit: Option<Nanos>,
    pub(super) histogram_time: Option<Nanos>,
    /// Preconditioning before the saturation, which the method does not have.
    pub(super) preconditioning: WsatPreconditioning,
}

impl Wsat {
    pub fn new(setup: ProcedureSetup) -> Result<Self, ProcedureError> {
        let workload = PtsWorkload::from_settings(
            &setup.parameters, &MIX_WRITES, &setup.settings, setup.geometry,
        )?;
        let (settings, geometry) = (&setup.settings, setup.geometry);
        let demand = settings.demand_or(workload.recommended_demand(&setup.method));
        let place = StepPlace::new(PHASE, 0, 1, "");
        let until = limits(&workload, settings, geometry)?;
        let stimulus = setup.with_rate(setup.stimulus(&workload, demand, until, &place))?;
        let label = setup.rated_label(workload.to_string());
        let time_limit = time_limit(&setup)?;
        let preconditioning = WsatPreconditioning::from_setup(&setup)?;
        check_reads(&workload, settings, &preconditioning)?;
        let fill = fill_requirement(&workload, settings, geometry, &preconditioning)?;
        let saturation = saturation(&setup, &label, stimulus, time_limit, fill)?;
        let histogram_time = HISTOGRAM_TIME.time(settings)?;
        Ok(Wsat {
            left_out: workload.left_out(),
            histogram_time: has_histogram(settings.profile).then_some(histogram_time),
            setup,
            workload,
            demand,
            saturation,
            time_limit,
            preconditioning,
        })
    }

    /// Returns the histogram run of an attempt.
    pub(super) fn histogram_step(&self, attempt: u32, time: Nanos) -> Step {
        let label = self.setup.rated_label(format!("{} {}", self.workload, self.demand));
        let place = StepPlace::new(&attempt_phase(HISTOGRAM, attempt), 0, 1, label);
        let until = LoadLimits::time(time);
        let stimulus = self.setup.stimulus(&self.workload, self.demand, until, &place);
        // The saturation has the same pace.
        Step::alone(place, stimulus.pace(self.stimulus().pace.clone()))
    }

    pub(super) fn stimulus(&self) -> &Stimulus {
        match &self.saturation {
            SaturationLoad::Judged(load) => &load.stimulus,
            SaturationLoad::Plain(load) => &load.stimulus,
        }
    }

    /// Returns the load of the saturation if it is judged by measured steps.
    pub(super) fn cyclic_load(&self) -> Option<&CyclicLoad> {
        match &self.saturation {
            SaturationLoad::Judged(load) => Some(load),
            SaturationLoad::Plain(_) => None,
        }
    }

    /// Returns true if the user chose `btw` or `post-25`; ending without steady state is then a
    /// failure.
    pub(super) fn requires_steady_state(&self) -> bool {
        matches!(
            self.setup.settings.steady_state,
            SteadyStateMethod::Btw | SteadyStateMethod::Post25
        )
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        let recommended = self.workload.recommended_demand(&self.setup.method);
        RunChoices {
            alignment: Some(self.workload.alignment_name(self.setup.alignment)),
            demands: vec![self.demand],
            recommended: Some(recommended),
            block_sizes_left_out: &self.left_out,
            rounds_max: self
                .cyclic_load()
                .filter(|_| self.requires_steady_state())
                .map(|load| load.cycles_max),
            ending: self.ending_rule(),
            judged: self.cyclic_load().is_some(),
            preconditioning: self.preconditioning.patterns(),
            measured_phases: phases_of(record, &[PHASE, HISTOGRAM]),
            gap_effect,
            quick: format!(
                "profile quick saturates in steps of {} instead of 60 s{}.",
                self.setup.step_time,
                self.time_limit.map(|time| format!(", for {time} at most")).unwrap_or_default()
            ),
            tkperf: "Profile tkperf runs TKperf's minutes without a steady-state check. \
                Differences: the minutes are one continuous load (TKperf restarts fio every \
                minute, with the same offsets); a failed purge is reported.",
            ..self.setup.choices()
        }
    }

    /// Returns the text on what ends the saturation.
    pub(super) fn ending_rule(&self) -> String {
        let until = self.stimulus().until;
        let mut limits = Vec::new();
        if let Some(bytes) = until.bytes {
            limits.push(format!("{} ({bytes} moved)", self.fills_text()));
        }
        if let Some(time) = self.time_limit {
            limits.push(format!("{time}"));
        }
        match &self.saturation {
            SaturationLoad::Judged(load) if load.stops => limits.push(format!(
                "{} rounds meet {} with writes between them",
                count_word(load.criteria.window),
                limits_text(&load.criteria)
            )),
            SaturationLoad::Judged(load) => limits.push(format!("{} rounds", load.cycles_max)),
            SaturationLoad::Plain(_) => {}
        }
        match limits.as_slice() {
            [only] => format!("after {only}"),
            several => format!("at the first of: {}", several.join("; ")),
        }
    }

    /// Returns the text for the byte limit. A mix ends by the sum of read and written bytes, so
    /// that its text names the writes as expected.
    pub(super) fn fills_text(&self) -> String {
        let amount = match self.setup.settings.steady_state {
            SteadyStateMethod::Bytes(bytes) => bytes.to_string(),
            SteadyStateMethod::Fills(fills) => format!("{fills} x user capacity"),
            _ => format!("{FILLS} x user capacity"),
        };
        if self.workload.read_percent() == 0 {
            format!("{amount} written")
        } else {
            format!("the I/Os expected to write {amount}")
        }
    }
}

/// Writes between the purge and the saturation.
#[derive(Debug, Clone)]
pub(super) enum WsatPreconditioning {
    /// Nothing, as the method requires.
    Nothing,
    /// Twice the user capacity, sequentially.
    Wipc,
    /// Random writes in one pass.
    OnePass(OnePass),
}

impl WsatPreconditioning {
    /// Parses the parameter `precondition`.
    fn from_setup(setup: &ProcedureSetup) -> Result<Self, ProcedureError> {
        let choices = [("no", false), ("wipc", true), (ONE_PASS, false)];
        let has_wipc = PRECONDITION.choice(&setup.settings, &choices)?;
        Ok(match &setup.one_pass {
            Some(pass) => WsatPreconditioning::OnePass(pass.clone()),
            None if has_wipc => WsatPreconditioning::Wipc,
            None => WsatPreconditioning::Nothing,
        })
    }

    /// Returns true if every block is written before the saturation.
    pub(super) fn writes(&self) -> bool {
        !matches!(self, WsatPreconditioning::Nothing)
    }

    fn patterns(&self) -> Vec<AccessPattern> {
        match self {
            WsatPreconditioning::Wipc => vec![WIPC_PATTERN],
            _ => Vec::new(),
        }
    }

    fn amount(&self, geometry: Geometry) -> Bytes {
        match self {
            WsatPreconditioning::Nothing => Bytes(0),
            WsatPreconditioning::Wipc => preconditioning::amount(geometry, WIPC_PATTERN.size),
            WsatPreconditioning::OnePass(pass) => pass.amount(),
        }
    }
}

/// Returns an error for a workload that reads only purged blocks: a drive answers such reads
/// without reading its flash.
fn check_reads(
    workload: &PtsWorkload,
    settings: &Settings,
    preconditioning: &WsatPreconditioning,
) -> Result<(), ProcedureError> {
    if workload.read_percent() < 100 || !is_purged(settings) || preconditioning.writes() {
        return Ok(());
    }
    Err(ProcedureError(format!(
        "after a purge, {workload} reads blocks that were never written, and a drive answers such \
         reads without reading its flash; write the blocks first with --set precondition=wipc, or \
         keep the drive's data with --purge none"
    )))
}

/// Returns the amount that must be written before a window counts; none for a workload that only
/// reads.
fn fill_requirement(
    workload: &PtsWorkload,
    settings: &Settings,
    geometry: Geometry,
    preconditioning: &WsatPreconditioning,
) -> Result<FillRequirement, ProcedureError> {
    let requirement = FillRequirement::from_settings(&LEAST_FILLS, settings, geometry.capacity)?;
    if workload.read_percent() == 100 {
        return Ok(FillRequirement::default());
    }
    Ok(FillRequirement { before: preconditioning.amount(geometry), ..requirement })
}

/// Returns the load's own limit in bytes. A time limit stops the load at a cut instead.
fn limits(
    workload: &PtsWorkload,
    settings: &Settings,
    geometry: Geometry,
) -> Result<LoadLimits, ProcedureError> {
    let written = match settings.steady_state {
        SteadyStateMethod::Btw | SteadyStateMethod::Post25 | SteadyStateMethod::Time(_) => {
            return Ok(LoadLimits::time(NO_END));
        }
        SteadyStateMethod::Rounds => {
            let bytes = workload.bytes_for_written(fill_bytes(FILLS, geometry)?);
            return Ok(LoadLimits { time: Some(NO_END), bytes, ios: None });
        }
        SteadyStateMethod::Bytes(written) => written,
        SteadyStateMethod::Fills(fills) => fill_bytes(fills, geometry)?,
    };
    workload.bytes_for_written(written).map(LoadLimits::bytes).ok_or_else(|| {
        ProcedureError(format!(
            "{workload} writes nothing, so it cannot end by --steady-state {}; choose rounds, btw \
             or time:6h",
            settings.steady_state
        ))
    })
}

/// Returns the bytes of this many drive fills.
fn fill_bytes(fills: u32, geometry: Geometry) -> Result<Bytes, ProcedureError> {
    let capacity = geometry.capacity;
    capacity.0.checked_mul(u64::from(fills)).map(Bytes).ok_or_else(|| {
        ProcedureError(format!("{fills} x {capacity} exceeds the largest byte count"))
    })
}

/// Returns the time after which the load is stopped at a cut; `None` for no time limit.
fn time_limit(setup: &ProcedureSetup) -> Result<Option<Nanos>, ProcedureError> {
    let settings = &setup.settings;
    match settings.steady_state {
        SteadyStateMethod::Time(time) if time < Nanos::from_millis(100) => {
            Err(ProcedureError(format!("WSAT for {time} is not possible; give at least 100 ms")))
        }
        SteadyStateMethod::Time(time) => Ok(Some(time)),
        SteadyStateMethod::Rounds => Ok(Some(match settings.profile {
            Profile::Pts20 => TIME_LIMIT_20,
            Profile::Pts11 => TIME_LIMIT_11,
            Profile::Quick => TIME_LIMIT_QUICK,
            Profile::Tkperf => {
                let minutes = setup.rounds_max(PHASE, true, TKPERF_MINUTES);
                Nanos(setup.step_time.0.saturating_mul(u64::from(minutes)))
            }
        })),
        _ => Ok(None),
    }
}

/// Returns the load of the saturation with its limits.
fn saturation(
    setup: &ProcedureSetup,
    label: &str,
    stimulus: Stimulus,
    time_limit: Option<Nanos>,
    fill: FillRequirement,
) -> Result<SaturationLoad, ProcedureError> {
    let settings = &setup.settings;
    if !is_judged(settings) {
        let place = StepPlace::new(PHASE, 0, 1, label);
        let (cut, time) = (setup.step_time, time_limit);
        return Ok(SaturationLoad::Plain(ContinuousLoad { place, stimulus, cut, time }));
    }
    let cycle = CycleLayout::from_settings(&MEASURED_LAST, settings, setup.step_time)?;
    let mut load = CyclicLoad::new(setup, PHASE, label.to_owned(), stimulus, cycle);
    load.fill = fill;
    // Bytes or time end the plain method.
    let preset = match settings.steady_state {
        SteadyStateMethod::Rounds => u32::MAX,
        _ => setup.method.rounds_max,
    };
    load.cycles_max = setup.rounds_max(PHASE, true, preset);
    if let Some(time) = time_limit {
        load.steps_max = time.0.div_ceil(setup.step_time.0);
    }
    Ok(SaturationLoad::Judged(load))
}

fn gap_effect(step: &Step) -> &'static str {
    if is_attempt_of(&step.place.phase, HISTOGRAM) {
        "That histogram run is void. It was repeated after the gap."
    } else {
        cyclic_load::gap_effect(step)
    }
}
