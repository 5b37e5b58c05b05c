//! Options of a script made from single I/Os, and the I/Os that it cannot hold.

use super::address_map::ReplayTarget;
use steadfast_analysis::PassOptions;
use steadfast_domain::script::{DueTimeSource, MapRule, ReplayOmissions};

/// Options of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptOptions {
    /// Name in reports.
    pub name: String,
    /// Selection of the I/Os.
    pub pass: PassOptions,
    /// Captured time at which I/Os are due; `None` for the time of queue entry if the trace has it,
    /// otherwise that of issue.
    pub issue_at: Option<DueTimeSource>,
    /// Address mapping; `None` to keep the addresses if all fit, and to wrap them otherwise.
    pub map: Option<MapRule>,
    /// Size and sector of the target.
    pub target: ReplayTarget,
    /// Parts of the script that are not played.
    pub leave_out: ReplayOmissions,
    /// Origin of the due times, in nanoseconds from the capture's beginning; `None` for the first
    /// chosen I/O. Scripts that are played together, each on its own target, share an origin.
    pub origin_ns: Option<u64>,
}

impl ScriptOptions {
    /// Chooses all I/Os, with the default options.
    pub fn new(name: impl Into<String>, target: ReplayTarget) -> Self {
        ScriptOptions {
            name: name.into(),
            pass: PassOptions::default(),
            issue_at: None,
            map: None,
            target,
            leave_out: ReplayOmissions::default(),
            origin_ns: None,
        }
    }
}

/// The number of chosen I/Os that are not in the script, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct OmittedIos {
    /// I/Os of an unknown operation.
    pub unknown_ops: u64,
    /// Reads, writes and discards without bytes.
    pub without_bytes: u64,
    /// I/Os larger than the target.
    pub too_large: u64,
}

impl OmittedIos {
    /// Returns the sum of all counts.
    pub fn total(&self) -> u64 {
        self.reasons().into_iter().map(|(count, _)| count).sum()
    }

    /// Returns every reason with its count.
    pub fn reasons(&self) -> [(u64, &'static str); 3] {
        [
            (self.unknown_ops, "of an unknown operation"),
            (self.without_bytes, "without bytes"),
            (self.too_large, "larger than the target"),
        ]
    }

    /// Formats the counts like `3 of an unknown operation; 2 without bytes`.
    pub fn describe(&self) -> String {
        let reasons = self.reasons().into_iter().filter(|(count, _)| *count > 0);
        reasons.map(|(count, why)| format!("{count} {why}")).collect::<Vec<_>>().join("; ")
    }
}
