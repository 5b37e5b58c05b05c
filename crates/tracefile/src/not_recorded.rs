//! What a capture of steps alone cannot tell: one refusal, with what to do.

use std::fmt;

/// What only single I/Os tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotRecorded {
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

impl NotRecorded {
    /// Everything, in the order in which a report would show it.
    pub const ALL: [NotRecorded; 7] = [
        NotRecorded::SingleIos,
        NotRecorded::OtherWindow,
        NotRecorded::StepPercentiles,
        NotRecorded::BusyTime,
        NotRecorded::Processes,
        NotRecorded::HitMaps,
        NotRecorded::WorkingSets,
    ];

    /// The refusal: what is not there, and what to do about it.
    pub fn refusal(self) -> String {
        let kept = "its capture kept the I/O streams of every capture step, but no single I/Os";
        let read = "it can be used with trace streams, steps, map, drives, profile, doctor, \
            compare and report, and workload derive";
        match self {
            NotRecorded::OtherWindow => {
                format!("{kept}; RND and SEQ were decided during the capture: omit --window")
            }
            NotRecorded::Processes => {
                format!("{kept}, so it cannot report {self}; omit --pid; {read}")
            }
            _ => format!("{kept}, so it cannot report {self}; {read}"),
        }
    }
}

impl fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotRecorded::SingleIos => "single I/Os",
            NotRecorded::Processes => "processes",
            NotRecorded::HitMaps => "LBA range hits",
            NotRecorded::WorkingSets => "working sets",
            NotRecorded::StepPercentiles => "response-time percentiles of a capture step",
            NotRecorded::BusyTime => "disk utilization",
            NotRecorded::OtherWindow => "RND and SEQ by another window",
        })
    }
}
