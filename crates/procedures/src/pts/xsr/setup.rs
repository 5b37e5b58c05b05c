//! Setup of the XSR test: its three segments.

use crate::common::ProcedureSetup;
use crate::common::attempts::{attempt_phase, is_attempt_of, phases_of};
use crate::common::choices::RunChoices;
use crate::common::continuous_load::ContinuousLoad;
use crate::common::rounds::check_no_rounds;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::workload::{ALIGNMENT, PtsWorkload, SEQUENTIAL_DEMAND};
use crate::report_notation::joined;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Demand, Nanos, Record, Step};

pub const SEGMENTS: [&str; 3] = ["segment-1", "segment-2", "segment-3"];

const SEQUENTIAL: AccessPattern = AccessPattern::sequential(Bytes::kib(1024), 0);
const RANDOM: AccessPattern = AccessPattern::random(Bytes::kib(8), 0);

pub(super) const FIRST_TIME: Parameter = Parameter {
    name: "first-time",
    default: "8h",
    quick: Some("30s"),
    meaning: "time of the first segment, SEQ 1024K W",
    source: "two public implementations of PTS 2.0.x",
    ..Parameter::UNVERIFIED
};

pub(super) const MIDDLE_TIME: Parameter = Parameter {
    name: "middle-time",
    default: "6h",
    quick: Some("20s"),
    meaning: "time of the middle segment, RND 8K W",
    ..FIRST_TIME
};

pub(super) const LAST_TIME: Parameter = Parameter {
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
    meaning: "demand of the middle segment (--threads and --depth also change it)",
    source: "SNIA tutorial (T1Q32 / T4Q32 / T1Q32); public implementations have T1Q32 or T8Q32",
    ..Parameter::UNVERIFIED
};

const RECOVERY_LEVEL: Parameter = Parameter {
    name: "recovery-level",
    default: "100",
    meaning: "percent of the first segment's average throughput at which the last segment counts \
              as recovered, 1 to 100",
    source: "public implementation of PTS 2.0.x",
    ..Parameter::UNVERIFIED
};

pub const PARAMETERS: &[Parameter] =
    &[FIRST_TIME, MIDDLE_TIME, LAST_TIME, MIDDLE_DEMAND, RECOVERY_LEVEL, ALIGNMENT];

#[derive(Debug, Clone)]
pub struct XsrSegment {
    /// Phase of its steps in the journal, in the first attempt.
    pub phase: &'static str,
    pub workload: PtsWorkload,
    /// Threads and queue depth.
    pub demand: Demand,
    pub time: Nanos,
}

#[derive(Debug, Clone)]
pub struct Xsr {
    pub(super) setup: ProcedureSetup,
    pub(super) segments: Vec<XsrSegment>,
    pub(super) recovery_level: u8,
}

impl Xsr {
    pub fn new(setup: ProcedureSetup) -> Result<Self, ProcedureError> {
        let settings = &setup.settings;
        check_no_rounds(
            settings,
            "its segments end by their time; change that with --set first-time=8h, middle-time \
             and last-time",
        )?;
        let middle = MIDDLE_DEMAND.parse(settings, |text| text.parse::<Demand>().ok())?;
        let segment = |phase: &'static str, pattern: AccessPattern, demand, time: &Parameter| {
            Ok::<_, ProcedureError>(XsrSegment {
                phase,
                workload: PtsWorkload::Pattern(pattern),
                demand,
                time: time.time(settings)?,
            })
        };
        let segments = vec![
            segment(SEGMENTS[0], SEQUENTIAL, SEQUENTIAL_DEMAND, &FIRST_TIME)?,
            segment(SEGMENTS[1], RANDOM, settings.demand_or(middle), &MIDDLE_TIME)?,
            segment(SEGMENTS[2], SEQUENTIAL, SEQUENTIAL_DEMAND, &LAST_TIME)?,
        ];
        let recovery_level = RECOVERY_LEVEL
            .parse(settings, |text| steadfast_domain::units::parse_percent(text).ok())?;
        Ok(Xsr { setup, segments, recovery_level })
    }

    pub(super) fn segment_load(&self, segment: &XsrSegment, attempt: u32) -> ContinuousLoad {
        let phase = attempt_phase(segment.phase, attempt);
        self.setup.load_for_time(&phase, 0, &segment.workload, segment.demand, segment.time)
    }

    pub(super) fn choices(&self, record: &Record) -> RunChoices<'_> {
        RunChoices {
            demands: self.segments.iter().map(|segment| segment.demand).collect(),
            ending: "each segment by its time".into(),
            measured_phases: phases_of(record, &SEGMENTS),
            gap_effect,
            quick: format!(
                "profile quick runs segments of {} instead of 8, 6 and 8 h.",
                joined(self.segments.iter().map(|s| s.time))
            ),
            ..self.setup.choices()
        }
    }
}

fn gap_effect(step: &Step) -> &'static str {
    let place = &step.place;
    match place.point {
        1 if is_attempt_of(&place.phase, SEGMENTS[0]) => "Nothing had been written yet.",
        _ => "The test restarted with the purge; earlier measurements do not count.",
    }
}
