//! The XSR test (Cross Stimulus Recovery): how a drive answers sequential writes
//! of large blocks before and after hours of small random writes (PTS 2.0.x).
//!
//! Purge, then three segments without a pause: SEQ 1024K W for 8 hours, RND 8K W
//! for 6, SEQ 1024K W for 8. There is no other preconditioning and no steady
//! state: the segments are the test. Recovery is the first minute of the third
//! segment that reaches the first segment's average throughput (public
//! implementation; the standard's definition could not be checked).
//!
//! A gap anywhere in the segments begins the test anew with the purge.

mod exhibits;
mod results;

use super::disclosure;
use super::ground::{self, Ground, attempt_phase};
use super::workload::{ALIGNMENT, SEQUENTIAL_DEMAND, Workload};
use crate::{Parameter, Unsuitable};
use results::Results;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{Amendment, Geometry, SteadyStateMethod};
use steadfast_domain::{
    Bench, Bytes, Demand, Findings, Halt, Nanos, Procedure, Record, Settings, Step,
};

/// The phases of the three segments.
pub const SEGMENTS: [&str; 3] = ["segment-1", "segment-2", "segment-3"];

const SEQUENTIAL: AccessPattern = AccessPattern::sequential(Bytes::kib(1024), 0);
const RANDOM: AccessPattern = AccessPattern::random(Bytes::kib(8), 0);

const FIRST_TIME: Parameter = Parameter {
    name: "first-time",
    default: "8h",
    quick: Some("30s"),
    meaning: "time of the first segment, SEQ 1024K W",
    source: "two public implementations of PTS 2.0.x",
    unverified: true,
    ..Parameter::PLAIN
};

const MIDDLE_TIME: Parameter = Parameter {
    name: "middle-time",
    default: "6h",
    quick: Some("20s"),
    meaning: "time of the middle segment, RND 8K W",
    ..FIRST_TIME
};

const LAST_TIME: Parameter = Parameter {
    name: "last-time",
    default: "8h",
    quick: Some("30s"),
    meaning: "time of the last segment, SEQ 1024K W",
    ..FIRST_TIME
};

const MIDDLE_DEMAND: Parameter = Parameter {
    of_demand: true,
    name: "middle-demand",
    default: "T4Q32",
    meaning: "demand of the middle segment (--threads and --depth change it too)",
    source: "SNIA tutorial (T1Q32 / T4Q32 / T1Q32); public implementations have T1Q32 or T8Q32",
    unverified: true,
    ..Parameter::PLAIN
};

const RECOVERY_LEVEL: Parameter = Parameter {
    name: "recovery-level",
    default: "100",
    meaning: "percent of the first segment's average throughput at which the last segment counts \
              as recovered, 1 to 100",
    source: "public implementation of PTS 2.0.x",
    unverified: true,
    ..Parameter::PLAIN
};

/// The parameters of `xsr`.
pub const PARAMETERS: &[Parameter] =
    &[FIRST_TIME, MIDDLE_TIME, LAST_TIME, MIDDLE_DEMAND, RECOVERY_LEVEL, ALIGNMENT];

/// One of the three.
#[derive(Debug, Clone)]
pub struct Segment {
    /// Its phase.
    pub phase: &'static str,
    /// What it applies.
    pub workload: Workload,
    /// How hard.
    pub demand: Demand,
    /// How long.
    pub time: Nanos,
}

/// The XSR test, ready to be conducted on a device of known geometry.
#[derive(Debug, Clone)]
pub struct Xsr {
    ground: Ground,
    segments: Vec<Segment>,
    recovery_level: u8,
}

impl Xsr {
    /// The test that `settings` ask for.
    pub fn new(
        settings: &Settings,
        geometry: Geometry,
        _: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        if settings.steady_state != SteadyStateMethod::Rounds || settings.rounds_max.is_some() {
            return Err(Unsuitable(
                "xsr has no rounds and no steady state: its segments end by their time; change \
                 that with --set first-time=8h, middle-time and last-time"
                    .into(),
            ));
        }
        let ground = Ground::new(settings, geometry)?;
        let middle = MIDDLE_DEMAND.parse(settings, |text| text.parse::<Demand>().ok())?;
        let segment = |phase: &'static str, pattern: AccessPattern, demand, time: &Parameter| {
            Ok::<_, Unsuitable>(Segment {
                phase,
                workload: Workload::of(pattern),
                demand,
                time: ground::time(time, settings)?,
            })
        };
        let segments = vec![
            segment(SEGMENTS[0], SEQUENTIAL, SEQUENTIAL_DEMAND, &FIRST_TIME)?,
            segment(SEGMENTS[1], RANDOM, settings.demand_or(middle), &MIDDLE_TIME)?,
            segment(SEGMENTS[2], SEQUENTIAL, SEQUENTIAL_DEMAND, &LAST_TIME)?,
        ];
        let recovery_level = RECOVERY_LEVEL
            .parse(settings, |text| steadfast_domain::units::parse_percent(text).ok())?;
        Ok(Xsr { ground, segments, recovery_level })
    }

    /// Purges and runs the three segments; `true` where they ran in one piece.
    fn attempt(&self, bench: &mut dyn Bench, attempt: u32) -> Result<bool, Halt> {
        bench.purge()?;
        for (index, segment) in self.segments.iter().enumerate() {
            let phase = attempt_phase(segment.phase, attempt);
            let load =
                self.ground.stretch((&phase, 0), &segment.workload, segment.demand, segment.time);
            let pieces = load.conduct(bench)?;
            // Between the purge and the first write nothing was written yet.
            if pieces.gap_inside || (index > 0 && pieces.gap_before) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn choices(&self, record: &Record) -> disclosure::Choices<'_> {
        disclosure::Choices {
            demands: self.segments.iter().map(|segment| segment.demand).collect(),
            ending: "each segment by its time".into(),
            measured_phases: ground::phases_of(record, &SEGMENTS),
            gap_effect,
            quick: format!(
                "profile quick runs segments of {} instead of 8, 6 and 8 h.",
                self.segments.iter().map(|s| s.time.to_string()).collect::<Vec<_>>().join(", ")
            ),
            ..self.ground.choices()
        }
    }
}

/// What a gap did.
fn gap_effect(step: &Step) -> &'static str {
    let place = &step.place;
    match place.point {
        1 if ground::is_attempt_of(&place.phase, SEGMENTS[0]) => "Nothing had been written yet.",
        _ => "The test began anew with the purge; what was measured before does not count.",
    }
}

impl Procedure for Xsr {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&self.ground.conditions())?;
        ground::until_unbroken(bench, |bench, attempt| self.attempt(bench, attempt))
    }

    fn study(&self, record: &Record) -> Findings {
        let results = Results::of(self, record);
        exhibits::findings(self, record, &results)
    }
}

#[cfg(test)]
mod tests;
