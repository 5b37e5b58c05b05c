//! What a capture of steps alone cannot tell: one refusal, with what to do.

use std::fmt;

/// What only single I/Os tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold {
    /// The I/Os one by one.
    SingleIos,
    /// Which process did them, and a filter by process.
    Processes,
    /// Which LBA ranges were hit when.
    HitMaps,
    /// Working set and reuse.
    WorkingSets,
    /// Response-time percentiles of a capture step.
    StepPercentiles,
    /// The time with an I/O outstanding.
    BusyTime,
    /// RND and SEQ with another window than the capture's.
    OtherWindow,
}

impl Untold {
    /// Everything, in the order in which a report would show it.
    pub const ALL: [Untold; 7] = [
        Untold::SingleIos,
        Untold::OtherWindow,
        Untold::StepPercentiles,
        Untold::BusyTime,
        Untold::Processes,
        Untold::HitMaps,
        Untold::WorkingSets,
    ];

    /// The refusal: what is not there, and what to do about it.
    pub(crate) fn refusal(self) -> String {
        let kept = "its capture kept the I/O streams of every capture step, but no single I/Os";
        let read = "it can be used with trace streams, steps, map, drives, profile, doctor, \
            compare and report, and workload derive";
        match self {
            Untold::OtherWindow => {
                format!("{kept}; RND and SEQ were decided during the capture: omit --window")
            }
            Untold::Processes => {
                format!("{kept}, so it cannot report {self}; omit --pid; {read}")
            }
            _ => format!("{kept}, so it cannot report {self}; {read}"),
        }
    }
}

impl fmt::Display for Untold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Untold::SingleIos => "single I/Os",
            Untold::Processes => "processes",
            Untold::HitMaps => "LBA range hits",
            Untold::WorkingSets => "working sets",
            Untold::StepPercentiles => "response-time percentiles of a capture step",
            Untold::BusyTime => "disk utilization",
            Untold::OtherWindow => "RND and SEQ by another window",
        })
    }
}
