//! Setup of fill: its levels, its loads and its parameters.

use super::curve::WriteCurve;
use crate::common::ProcedureSetup;
use crate::common::attempts::{attempt_phase, is_attempt_of, phases_of};
use crate::common::choices::RunChoices;
use crate::common::continuous_load::ContinuousLoad;
use crate::common::method::{Method, RANGE_UNIT, part_of};
use crate::common::procedure_request::ProcedureRequest;
use crate::common::rounds::check_no_rounds;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use crate::report_notation::joined;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{Bytes, Demand, Nanos, Order, Profile, Record, Step};

/// Length of a sample (our choice: TechPowerUp's plots have half seconds).
pub(super) const SAMPLE: Nanos = Nanos::from_millis(500);

/// Default demand (our choice, as for preconditioning).
const DEMAND: Demand = Demand::new(1, 32);

/// Part of the range written after an idle time if the drive has no cliff, and largest part read
/// (our choice).
const SMALL_PART: u64 = 20;

/// Smallest amount read if it depends on what returned (our choice): a rate of one or two transfers
/// is noise.
const LEAST_READ: u64 = 16 << 20;

pub(super) const PATTERN: Parameter = Parameter {
    name: "pattern",
    default: "SEQ 128K W",
    meaning: "what is written: any pattern of writes, such as SEQ 1024K W or RND 4K W",
    source: "our choice, the pattern of preconditioning",
    ..Parameter::PLAIN
};

pub(super) const LEVELS: Parameter = Parameter {
    name: "levels",
    default: "0,50,90",
    quick: Some("0,50"),
    meaning: "percent of the active range that hold data before the measured writes, 0 to 100; 0 \
              writes the whole range after the purge",
    source: "our choice: an empty drive, one in use, and one that is nearly full",
    ..Parameter::PLAIN
};

pub(super) const IDLE_TIMES: Parameter = Parameter {
    name: "idle-times",
    default: "30s,2min,10min,30min",
    quick: Some("10s,30s"),
    meaning: "idle times after which the drive is written again; the longest is also the rest \
              before the measured writes of a level above 0",
    source: "our choice",
    ..Parameter::PLAIN
};

const AFTER_IDLE_MAX: Parameter = Parameter {
    name: "again-max",
    default: "50",
    meaning: "percent of a level's range written after an idle time at most, 1 to 75; otherwise \
              half as much again as the first plateau had",
    source: "our choice",
    ..Parameter::PLAIN
};

const DROP: Parameter = Parameter {
    name: "drop",
    default: "20",
    meaning: "percent by which the rate must change to begin a new plateau, 5 to 90",
    source: "our choice, with at most one wrong cliff in 100 noisy curves",
    ..Parameter::PLAIN
};

pub const PARAMETERS: &[Parameter] = &[PATTERN, LEVELS, IDLE_TIMES, AFTER_IDLE_MAX, DROP];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillLevel {
    /// Percent of the active range that hold data before the measured writes.
    pub percent: u8,
    /// Range that the measured writes cover.
    pub range: ActiveRange,
}

impl FillLevel {
    pub(super) fn preload_phase(self) -> String {
        format!("load-{}", self.percent)
    }

    pub(super) fn fill_phase(self) -> String {
        format!("fill-{}", self.percent)
    }

    pub(super) fn after_idle_phase(self, idle: Nanos) -> String {
        format!("again-{}-{}s", self.percent, idle.as_secs_f64())
    }

    /// Returns the phase of the writes that use up what returned in a gap after an idle time.
    pub(super) fn use_up_phase(self, idle: Nanos) -> String {
        format!("use-up-{}-{}s", self.percent, idle.as_secs_f64())
    }

    /// Returns the phases of the reads: of what was just written, and of what was written long
    /// ago.
    pub(super) fn read_phases(self) -> [String; 2] {
        [format!("read-new-{}", self.percent), format!("read-old-{}", self.percent)]
    }
}

/// Writes after the last idle time of a level.
#[derive(Debug, Clone, Copy, Default)]
pub struct LastWrites {
    pub amount: Bytes,
    /// Bytes of them that were written at full speed; `None` if that is unknown.
    pub returned: Option<f64>,
    /// Where they ended; `None` if that is unknown.
    pub end: Option<Bytes>,
}

#[derive(Debug, Clone)]
pub struct DriveFill {
    pub(super) setup: ProcedureSetup,
    pub(super) pattern: AccessPattern,
    pub(super) demand: Demand,
    pub(super) levels: Vec<FillLevel>,
    pub(super) idle_times: Vec<Nanos>,
    after_idle_percent: u64,
    /// Share of the higher rate by which the rate must change.
    pub(super) drop_share: f64,
}

impl DriveFill {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        let settings = request.settings;
        check_no_rounds(
            settings,
            "it ends when everything is written; omit --steady-state and --max-rounds",
        )?;
        let method = Method {
            document: "fill",
            revision: "Fill",
            disclaimer: Some("FILL: our own test, not a method of the PTS"),
            // The class decides the write cache and the active range.
            ..method::for_profile(Profile::Pts20, settings.class)
        };
        let setup = ProcedureSetup::new(request, method)?;
        let pattern = PATTERN.parse(settings, |text| {
            text.parse::<AccessPattern>().ok().filter(|pattern| pattern.read_percent == 0)
        })?;
        let level = |text: &str| {
            let percent = text.parse::<u8>().ok().filter(|percent| *percent <= 100)?;
            let part = if percent == 0 { 100 } else { percent };
            Some(FillLevel { percent, range: part_of(setup.active_range, part) })
        };
        let levels = LEVELS.list(settings, level)?;
        if let Some(level) = levels.iter().find(|level| level.range.length < pattern.size) {
            return Err(ProcedureError(format!(
                "{} % of the active range are less than one transfer of {}; choose higher levels \
                 with --set levels=0,50,90",
                level.percent,
                pattern.size.binary()
            )));
        }
        Ok(DriveFill {
            demand: settings.demand_or(DEMAND),
            idle_times: IDLE_TIMES.times(settings)?,
            after_idle_percent: AFTER_IDLE_MAX.within(settings, 1..=75)?,
            drop_share: DROP.within(settings, 5..=90u64)? as f64 / 100.0,
            setup,
            pattern,
            levels,
        })
    }

    /// Returns a load of `bytes` in `range`.
    fn load(
        &self,
        phase: &str,
        pattern: AccessPattern,
        range: ActiveRange,
        bytes: Bytes,
    ) -> ContinuousLoad {
        self.setup.load_for_bytes(phase, &pattern, self.demand, bytes).within(range)
    }

    /// Returns the writes that fill the drive up to a level; `None` at level 0.
    pub(super) fn preload(&self, level: FillLevel, attempt: u32) -> Option<ContinuousLoad> {
        let phase = attempt_phase(&level.preload_phase(), attempt);
        let sequential = AccessPattern::sequential(Bytes::kib(128), 0);
        (level.percent > 0).then(|| self.load(&phase, sequential, level.range, level.range.length))
    }

    pub(super) fn fill(&self, level: FillLevel, attempt: u32) -> ContinuousLoad {
        self.writes(level, &level.fill_phase(), level.range.length, attempt)
    }

    /// Returns writes of an amount to the range of a level.
    pub(super) fn writes(
        &self,
        level: FillLevel,
        phase: &str,
        amount: Bytes,
        attempt: u32,
    ) -> ContinuousLoad {
        self.load(&attempt_phase(phase, attempt), self.pattern, level.range, amount)
    }

    /// Returns how much is written after an idle time: more than can have returned, so that each
    /// idle time begins with nothing left of it, unless `again-max` permits less.
    pub(super) fn amount_after_idle(&self, level: FillLevel, curve: &WriteCurve) -> Bytes {
        let length = level.range.length.0;
        let most = length / 100 * self.after_idle_percent;
        let wanted = match curve.first_cliff() {
            Some(cliff) => (cliff.before.to * 1.5) as u64,
            None if curve.samples.is_empty() => most,
            None => length / SMALL_PART,
        };
        let least = self.pattern.size.0.max(RANGE_UNIT);
        Bytes(wanted.min(most).max(least).min(length)).round_down(self.pattern.size.0)
    }

    /// Returns the reads of a level: of what was just written at full speed, which is half of what
    /// had returned or less, and of as much that was written longest ago, which follows the last
    /// writes. None if the writes are random, because they have no place, or if too little had
    /// returned to time its reads.
    pub(super) fn reads(&self, level: FillLevel, last: LastWrites) -> Vec<Step> {
        if self.pattern.order == Order::Random {
            return Vec::new();
        }
        let (begin, whole) = (level.range.start.0, level.range.length.0);
        let part = Bytes(whole / SMALL_PART);
        let part = last.returned.map_or(part, |bytes| part.min(Bytes((bytes / 2.0) as u64)));
        let length = part.max(self.pattern.size).round_down(self.pattern.size.0).0;
        if last.returned.is_some() && length < LEAST_READ {
            return Vec::new();
        }
        // Sequential writes continue where those before them ended, and wrap inside the range.
        let end = last.end.map_or(last.amount.0, |end| end.0.saturating_sub(begin));
        let new = (end + whole - last.amount.0.min(whole)) % whole;
        let starts = [new, end].map(|start| if start + length > whole { 0 } else { start });
        let pattern = AccessPattern { read_percent: 100, ..self.pattern };
        let read = |(phase, start): (String, u64)| {
            let range = ActiveRange::new(Bytes(begin + start), Bytes(length));
            let load = self.load(&phase, pattern, range, Bytes(length));
            Step::alone(load.place, load.stimulus).with_interval(SAMPLE)
        };
        level.read_phases().into_iter().zip(starts).map(read).collect()
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        let mut measured: Vec<String> = Vec::new();
        for level in &self.levels {
            measured.push(level.fill_phase());
            measured.extend(self.idle_times.iter().map(|idle| level.after_idle_phase(*idle)));
            measured.extend(level.read_phases());
        }
        let bases: Vec<&str> = measured.iter().map(String::as_str).collect();
        RunChoices {
            demands: vec![self.demand],
            ending: "when the last level was filled and written again after every idle time".into(),
            measured_phases: phases_of(record, &bases),
            gap_effect,
            quick: format!(
                "profile quick has levels of {} % and idle times of {} instead of 0, 50, 90 % and \
                 30 s to 30 min.",
                joined(self.levels.iter().map(|level| level.percent)),
                joined(self.idle_times.iter())
            ),
            step_text: Some("none: each load ends with its amount".into()),
            ..self.setup.choices()
        }
    }
}

fn gap_effect(step: &Step) -> &'static str {
    let phase = step.place.phase.as_str();
    if phase.starts_with("again-") {
        "The idle time was repeated; the interrupted writes do not count."
    } else if phase.starts_with("use-up-") {
        "These writes only use up what had returned; they do not count."
    } else if phase.starts_with("read-") {
        "The reads after it have no value: the drive may have moved the data meanwhile."
    } else if step.place.point == 1
        && (phase.starts_with("load-") || is_attempt_of(phase, "fill-0"))
    {
        "Nothing had been written yet."
    } else {
        "The fill level restarted with its purge; its earlier writes do not count."
    }
}
