//! Setup of idle exit: its loads and its parameters.

use crate::common::ProcedureSetup;
use crate::common::choices::RunChoices;
use crate::common::continuous_load::ContinuousLoad;
use crate::common::method::Method;
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_no_rounds;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::{ActiveRange, LoadLimits, Pace};
use steadfast_domain::{
    Bytes, Conditions, Demand, Nanos, Profile, Record, Step, StepPlace, Stimulus,
};

/// Phase of the writes that put data where the I/Os go.
const PREPARE: &str = "prepare";
pub(super) const BACK_TO_BACK: &str = "back-to-back";

/// Pattern and demand of the preparation (our choice, as for preconditioning).
pub(super) const WRITES: AccessPattern = AccessPattern::sequential(Bytes::kib(128), 0);
const WRITES_DEMAND: Demand = Demand::new(1, 32);

/// Demand of the measured I/Os: the next one is issued when the last has completed.
pub(super) const ONE: Demand = Demand::new(1, 1);

/// Largest part of the active range that is used (our choice: more than a drive's own memory
/// caches of data, and quickly written).
const RANGE_MAX: Bytes = Bytes::gib(4);

/// Fewest I/Os after an idle time, however long it is (our choice).
const LEAST_IOS: u64 = 3;

/// Shortest and longest time at the start of a step that is not measured (our choice: a disk has
/// moved its head by the first and spun up by the second). The first I/O follows no known idle time.
const RAMP_MIN: Nanos = Nanos::SECOND;
const RAMP_MAX: Nanos = Nanos::from_secs(10);

/// Time for the response of an I/O in the time of a step (our choice: one of a disk).
const RESPONSE: Nanos = Nanos::from_millis(10);

pub(super) const PATTERN: Parameter = Parameter {
    name: "pattern",
    default: "RND 4K R",
    meaning: "the I/Os after idle times: reads or writes, such as RND 4K W FUA",
    source: "our choice",
    ..Parameter::PLAIN
};

pub(super) const IDLE_TIMES: Parameter = Parameter {
    name: "idle-times",
    default: "1ms,3ms,10ms,30ms,100ms,300ms,1s,3s,10s,30s,1min,10min",
    quick: Some("1ms,10ms,100ms,1s,3s"),
    meaning: "idle times before an I/O, from 1 ms to 24 h",
    source: "our choice: from the shortest pause to beyond the power states of drives",
    ..Parameter::PLAIN
};

const SAMPLES: Parameter = Parameter {
    name: "samples",
    default: "100",
    quick: Some("20"),
    meaning: "I/Os per idle time, 3 to 100000, as far as they fit into the time of --set most, \
              which allows 10 ms per response: a drive that answers sooner makes more",
    source: "our choice",
    ..Parameter::PLAIN
};

const MOST: Parameter = Parameter {
    name: "most",
    default: "1min",
    quick: Some("10s"),
    meaning: "time for the I/Os of one idle time, in which at least three are made",
    source: "our choice",
    ..Parameter::PLAIN
};

const BASELINE_TIME: Parameter = Parameter {
    name: "baseline-time",
    default: "10s",
    quick: Some("2s"),
    meaning: "time of the I/Os back to back, before and after those with idle times",
    source: "our choice",
    ..Parameter::PLAIN
};

/// Value of a parameter that leaves power management as it was found.
const UNCHANGED: &str = "unchanged";

/// Policies that the kernel documents for SATA ports.
const LINK_POLICIES: [&str; 5] = [
    "max_performance", "medium_power", "med_power_with_dipm", "min_power_with_partial", "min_power",
];

pub(super) const LINK_POWER: Parameter = Parameter {
    name: "link-power",
    default: UNCHANGED,
    meaning: "power management of a SATA drive's link during the run: unchanged, max_performance, \
              medium_power, med_power_with_dipm, min_power_with_partial or min_power",
    source: "our choice: a drive is measured as its host runs it",
    ..Parameter::PLAIN
};

pub(super) const APST: Parameter = Parameter {
    name: "apst",
    default: UNCHANGED,
    meaning: "whether an NVMe controller may change its power state by itself during the run: \
              unchanged, on or off",
    source: "our choice: a drive is measured as its host runs it",
    ..Parameter::PLAIN
};

pub const PARAMETERS: &[Parameter] =
    &[PATTERN, IDLE_TIMES, SAMPLES, MOST, BASELINE_TIME, LINK_POWER, APST];

#[derive(Debug, Clone)]
pub struct IdleExit {
    pub(super) setup: ProcedureSetup,
    pub(super) pattern: AccessPattern,
    pub(super) range: ActiveRange,
    pub(super) idle_times: Vec<Nanos>,
    samples: u64,
    most: Nanos,
    baseline_time: Nanos,
    /// Policy of the link during the run; `None` leaves it as it was found.
    link_power: Option<String>,
    /// True if the controller may change its power state by itself; `None` leaves that as it was
    /// found.
    power_state_changes: Option<bool>,
}

impl IdleExit {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        let settings = request.settings;
        check_no_rounds(
            settings,
            "it ends after the longest idle time; omit --steady-state and --max-rounds",
        )?;
        if settings.threads.is_some() || settings.depth.is_some() {
            return Err(ProcedureError(
                "idle-exit has one outstanding I/O: the next one follows when the drive was idle; \
                 omit --threads and --depth"
                    .into(),
            ));
        }
        let method = Method {
            document: "idle-exit",
            revision: "Idle exit",
            disclaimer: Some("IDLE EXIT: our own test, not a method of the PTS"),
            // The class decides the active range.
            ..method::for_profile(Profile::Pts20, settings.class)
        };
        let setup = ProcedureSetup::new(request, method)?;
        let whole = setup.active_range;
        Ok(IdleExit {
            pattern: PATTERN.parse(settings, |text| {
                let pattern = text.parse::<AccessPattern>().ok()?;
                [0, 100].contains(&pattern.read_percent).then_some(pattern)
            })?,
            range: ActiveRange { length: whole.length.min(RANGE_MAX), ..whole },
            idle_times: IDLE_TIMES.times(settings)?,
            samples: SAMPLES.within(settings, LEAST_IOS..=100_000)?,
            most: MOST.time(settings)?,
            baseline_time: BASELINE_TIME.time(settings)?,
            link_power: LINK_POWER.parse(settings, |text| match text {
                UNCHANGED => Some(None),
                policy => LINK_POLICIES.contains(&policy).then(|| Some(policy.to_owned())),
            })?,
            power_state_changes: APST
                .choice(settings, &[(UNCHANGED, None), ("on", Some(true)), ("off", Some(false))])?,
            setup,
        })
    }

    /// Returns the writes that put data where the I/Os go.
    pub(super) fn preparation(&self) -> ContinuousLoad {
        let amount = self.range.length;
        self.setup.load_for_bytes(PREPARE, &WRITES, WRITES_DEMAND, amount).within(self.range)
    }

    fn step(&self, place: StepPlace, time: Nanos, pace: Pace, ramp: Nanos) -> Step {
        let stimulus = self.setup.stimulus(&self.pattern, ONE, LoadLimits::time(time), &place);
        let stimulus = Stimulus { active_range: self.range, ..stimulus };
        Step::alone(place, stimulus.pace(pace).ramp(ramp))
    }

    /// Returns the I/Os without idle times: the first before those with idle times, the second
    /// after them.
    pub(super) fn back_to_back(&self, point: u32) -> Step {
        let place = StepPlace::new(BACK_TO_BACK, 0, point, format!("{} {ONE}", self.pattern));
        self.step(place, self.baseline_time, Pace::Closed, RAMP_MAX)
    }

    /// Returns the I/Os with this idle time between them. The one at the start is not measured.
    pub(super) fn after_idle(&self, idle: Nanos) -> Step {
        let label = format!("{} {ONE} after {idle} idle", self.pattern);
        let place = StepPlace::new(&after_phase(idle), 0, 1, label);
        let time_per_io = (idle + RESPONSE).0;
        let ios = (self.most.0 / time_per_io).clamp(LEAST_IOS, self.samples);
        let ramp = Nanos(idle.0 / 2).clamp(RAMP_MIN, RAMP_MAX);
        let pace = Pace::Burst { ios: 1, delay: idle };
        self.step(place, Nanos(time_per_io * ios), pace, ramp)
    }

    /// Returns the conditions to set: the state of the write cache is left alone, because nothing
    /// depends on it but the writes of the preparation.
    pub(super) fn conditions(&self) -> Conditions {
        Conditions {
            write_cache: None,
            link_power: self.link_power.clone(),
            power_state_changes: self.power_state_changes,
            ..self.setup.conditions()
        }
    }

    /// Returns why the run cannot be made with the conditions that were read back; `None` if it can:
    /// response times under power management that could not be set would be those of another.
    pub(super) fn refusal(&self, got: &Conditions) -> Option<String> {
        let reasons = || got.unmet.iter().map(|text| format!(" ({text})")).collect::<String>();
        if self.link_power.is_some() && got.link_power != self.link_power {
            return Some(format!(
                "link-power cannot be set: no link_power_management_policy of this drive took it{}; \
                 omit --set link-power",
                reasons()
            ));
        }
        if self.power_state_changes.is_some() && got.power_state_changes != self.power_state_changes
        {
            return Some(format!(
                "apst cannot be set: no power/pm_qos_latency_tolerance_us of this drive's controller \
                 took it{}; omit --set apst",
                reasons()
            ));
        }
        None
    }

    /// Returns the sentence on what the run changed of power management; `None` if nothing.
    pub(super) fn changed_text(&self) -> Option<String> {
        let link = self.link_power.as_ref().map(|policy| format!("link power management {policy}"));
        let changes = self
            .power_state_changes
            .map(|on| format!("NVMe power state changes (APST) {}", if on { "on" } else { "off" }));
        let settings: Vec<String> = link.into_iter().chain(changes).collect();
        (!settings.is_empty()).then(|| {
            format!("During the run: {}, as requested; put back at its end.", settings.join(", "))
        })
    }

    pub(super) fn choices(&self, _: &Record) -> RunChoices<'_> {
        let mut measured = vec![BACK_TO_BACK.to_owned()];
        measured.extend(self.idle_times.iter().map(|idle| after_phase(*idle)));
        RunChoices {
            demands: vec![ONE],
            ending: "after the I/Os with the last idle time".into(),
            measured_phases: measured,
            gap_effect: |_| "The gap made the idle time before the step longer; its first I/O is not measured.",
            quick: format!(
                "profile quick has {} idle times up to {}, each for the time in which a drive that \
                 answers within {RESPONSE} makes {} I/Os ({} at most, but for {LEAST_IOS} I/Os).",
                self.idle_times.len(),
                self.idle_times.iter().max().copied().unwrap_or_default(),
                self.samples,
                self.most
            ),
            step_text: Some("each idle time's own".into()),
            ..self.setup.choices()
        }
    }
}

pub(super) fn after_phase(idle: Nanos) -> String {
    format!("after-{}s", idle.as_secs_f64())
}
