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

/// A part of a portrait that is shorter than the procedure alone.
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

/// Procedures of a portrait, in the order of the parts.
pub(super) const PROCEDURES: [&str; 6] = [FILL, IOPS, LATENCY, COMMIT, load_curve::NAME, IDLE_EXIT];

/// Parts of a portrait of one hour (our choice).
pub(super) const ONE_HOUR: [ShortPart; 6] = [
    ShortPart {
        procedure: FILL,
        step_time: None,
        rounds_max: None,
        shares_preconditioning: false,
        parameters: &[("levels", "0"), ("idle-times", "30s,2min"), ("again-max", "20")],
    },
    ShortPart {
        procedure: IOPS,
        step_time: Some(Nanos::from_secs(1)),
        rounds_max: Some(8),
        shares_preconditioning: true,
        parameters: &[],
    },
    ShortPart {
        procedure: LATENCY,
        step_time: Some(Nanos::from_secs(3)),
        rounds_max: Some(8),
        shares_preconditioning: true,
        parameters: &[("histogram-time", "1min")],
    },
    ShortPart {
        procedure: COMMIT,
        step_time: Some(Nanos::from_secs(3)),
        rounds_max: Some(8),
        shares_preconditioning: true,
        parameters: &[
            ("committers", "1,16"),
            ("block-sizes", "4K"),
            ("run-in", "1s"),
            ("between-time", "12s"),
            ("least-fills", "0"),
        ],
    },
    ShortPart {
        procedure: load_curve::NAME,
        step_time: Some(Nanos::from_secs(3)),
        rounds_max: Some(8),
        shares_preconditioning: true,
        parameters: &[
            ("preconditioning", "none"),
            ("points", "10,30,50,70,90,102"),
            ("settling", "500ms"),
            ("point-time", "5s"),
            ("point-time-max", "20s"),
        ],
    },
    ShortPart {
        procedure: IDLE_EXIT,
        step_time: None,
        rounds_max: None,
        shares_preconditioning: false,
        parameters: &[
            ("idle-times", "1ms,10ms,100ms,1s,5s"),
            ("samples", "50"),
            ("most", "15s"),
            ("baseline-time", "5s"),
        ],
    },
];

/// Parts of a portrait of eight hours (our choice).
pub(super) const EIGHT_HOURS: [ShortPart; 6] = [
    ShortPart {
        procedure: FILL,
        step_time: None,
        rounds_max: None,
        shares_preconditioning: false,
        parameters: &[("levels", "0"), ("idle-times", "30s,2min,10min")],
    },
    ShortPart {
        procedure: IOPS,
        step_time: Some(Nanos::from_secs(15)),
        rounds_max: Some(8),
        shares_preconditioning: false,
        parameters: &[],
    },
    ShortPart {
        procedure: LATENCY,
        step_time: Some(Nanos::from_secs(20)),
        rounds_max: Some(8),
        shares_preconditioning: true,
        parameters: &[("histogram-time", "5min")],
    },
    ShortPart {
        procedure: COMMIT,
        step_time: Some(Nanos::from_secs(15)),
        rounds_max: Some(8),
        shares_preconditioning: true,
        parameters: &[
            ("committers", "1,4,16,64"),
            ("run-in", "5s"),
            ("between-time", "165s"),
            ("least-fills", "0"),
        ],
    },
    ShortPart {
        procedure: load_curve::NAME,
        step_time: Some(Nanos::from_secs(15)),
        rounds_max: Some(8),
        shares_preconditioning: true,
        parameters: &[
            ("preconditioning", "none"),
            ("point-time", "20s"),
            ("point-time-max", "60s"),
        ],
    },
    ShortPart {
        procedure: IDLE_EXIT,
        step_time: None,
        rounds_max: None,
        shares_preconditioning: false,
        parameters: &[
            ("idle-times", "1ms,3ms,10ms,30ms,100ms,300ms,1s,3s,10s,30s,1min"),
            ("most", "30s"),
        ],
    },
];

/// Length of a portrait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PortraitLength {
    OneHour,
    EightHours,
    Complete,
}

impl PortraitLength {
    /// Parses the length that the settings ask for.
    ///
    /// # Errors
    /// Returns [`ProcedureError`] if it is not one of the three.
    pub fn chosen(settings: &Settings) -> Result<Self, ProcedureError> {
        LENGTH.parse(settings, |text| match text {
            "1h" => Some(PortraitLength::OneHour),
            "8h" => Some(PortraitLength::EightHours),
            "complete" => Some(PortraitLength::Complete),
            _ => None,
        })
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
