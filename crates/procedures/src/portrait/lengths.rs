//! Lengths of a portrait: its parts, and how much shorter they are than the procedures alone.

use crate::load_curve;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use steadfast_domain::{Nanos, ServiceLevel, Settings};

/// Procedures of the parts; load-curve has its own constant.
pub(super) const FILL: &str = "fill";
pub(super) const IOPS: &str = "iops";
pub(super) const LATENCY: &str = "latency";
pub(super) const COMMIT: &str = "commit";
pub(super) const IDLE_EXIT: &str = "idle-exit";

/// Service level whose highest load page one shows, unless the user chose another (our choice).
pub(super) const SERVICE_LEVEL: ServiceLevel =
    ServiceLevel { percent: 99.0, limit: Nanos::from_millis(1) };

pub(super) const LENGTH: Parameter = Parameter {
    name: "length",
    default: "8h",
    quick: Some("complete"),
    meaning: "time for all parts on a drive of 1 TB that writes 1 GB/s: 1h, 8h, or complete, which \
        runs each procedure as it stands alone and takes days; give a parameter of a part as \
        PROCEDURE.NAME=VALUE",
    source: "our choice: a lunch break, a night, and the methods in full",
    ..Parameter::PLAIN
};

pub(super) struct ShortPart {
    pub procedure: &'static str,
    /// Length of a step; `None` for a procedure whose steps end by themselves.
    pub step_time: Option<Nanos>,
    /// Maximum number of rounds; `None` for a procedure without rounds.
    pub rounds_max: Option<u32>,
    /// True if it starts from the state that the parts before it left.
    pub shares_preconditioning: bool,
    pub parameters: &'static [(&'static str, &'static str)],
}

pub(super) const PROCEDURES: [&str; 6] = [FILL, IOPS, LATENCY, COMMIT, load_curve::NAME, IDLE_EXIT];

/// Creates a part whose steps end by themselves.
const fn whole(
    procedure: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> ShortPart {
    ShortPart {
        procedure,
        step_time: None,
        rounds_max: None,
        shares_preconditioning: false,
        parameters,
    }
}

/// Creates a part of at most eight rounds that starts from the state that the parts before it left.
const fn shared(
    procedure: &'static str,
    step_seconds: u64,
    parameters: &'static [(&'static str, &'static str)],
) -> ShortPart {
    ShortPart {
        step_time: Some(Nanos::from_secs(step_seconds)),
        rounds_max: Some(8),
        shares_preconditioning: true,
        ..whole(procedure, parameters)
    }
}

/// Parts of a portrait of one hour (our choice).
pub(super) const ONE_HOUR: [ShortPart; 6] = [
    whole(FILL, &[("levels", "0"), ("idle-times", "30s,2min"), ("again-max", "20")]),
    shared(IOPS, 1, &[]),
    shared(LATENCY, 3, &[("histogram-time", "1min")]),
    shared(
        COMMIT,
        3,
        &[
            ("committers", "1,16"),
            ("block-sizes", "4K"),
            ("run-in", "1s"),
            ("between-time", "12s"),
            ("least-fills", "0"),
        ],
    ),
    shared(
        load_curve::NAME,
        3,
        &[
            ("preconditioning", "none"),
            ("points", "10,30,50,70,90,102"),
            ("settling", "500ms"),
            ("point-time", "5s"),
            ("point-time-max", "20s"),
        ],
    ),
    whole(
        IDLE_EXIT,
        &[
            ("idle-times", "1ms,10ms,100ms,1s,5s"),
            ("samples", "50"),
            ("most", "15s"),
            ("baseline-time", "5s"),
        ],
    ),
];

/// Parts of a portrait of eight hours (our choice).
pub(super) const EIGHT_HOURS: [ShortPart; 6] = [
    whole(FILL, &[("levels", "0"), ("idle-times", "30s,2min,10min")]),
    ShortPart { shares_preconditioning: false, ..shared(IOPS, 15, &[]) },
    shared(LATENCY, 20, &[("histogram-time", "5min")]),
    shared(
        COMMIT,
        15,
        &[
            ("committers", "1,4,16,64"),
            ("run-in", "5s"),
            ("between-time", "165s"),
            ("least-fills", "0"),
        ],
    ),
    shared(
        load_curve::NAME,
        15,
        &[("preconditioning", "none"), ("point-time", "20s"), ("point-time-max", "60s")],
    ),
    whole(
        IDLE_EXIT,
        &[("idle-times", "1ms,3ms,10ms,30ms,100ms,300ms,1s,3s,10s,30s,1min"), ("most", "30s")],
    ),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PortraitLength {
    OneHour,
    EightHours,
    Complete,
}

impl PortraitLength {
    pub fn from_settings(settings: &Settings) -> Result<Self, ProcedureError> {
        let lengths = [
            ("1h", PortraitLength::OneHour),
            ("8h", PortraitLength::EightHours),
            ("complete", PortraitLength::Complete),
        ];
        LENGTH.choice(settings, &lengths)
    }

    /// Returns the parts that are shorter than the procedures alone.
    pub fn parts(self) -> &'static [ShortPart] {
        match self {
            PortraitLength::OneHour => &ONE_HOUR,
            PortraitLength::EightHours => &EIGHT_HOURS,
            PortraitLength::Complete => &[],
        }
    }
}
