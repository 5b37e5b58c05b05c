//! How a script is made of single I/Os, and what of them it cannot hold.

use super::map::Space;
use steadfast_analysis::Pass;
use steadfast_domain::script::{IssueAt, MapRule, ReplayOmissions};

/// How a script is made.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptOptions {
    /// What it is called in reports.
    pub name: String,
    /// Which I/Os.
    pub pass: Pass,
    /// Which captured time they are due at: that of entering the queue where the
    /// trace holds it, unless set.
    pub issue_at: Option<IssueAt>,
    /// Where they land: as they were where all fit, wrapped otherwise, unless set.
    pub map: Option<MapRule>,
    /// The target.
    pub space: Space,
    /// What is in the script and not played.
    pub leave_out: ReplayOmissions,
    /// What due times are counted from, in nanoseconds from the capture's beginning;
    /// from the first chosen I/O, unless set. Scripts that are played together, each
    /// on its own target, share it.
    pub origin_ns: Option<u64>,
}

impl ScriptOptions {
    /// All I/Os, with the usual choices.
    pub fn new(name: impl Into<String>, space: Space) -> Self {
        ScriptOptions {
            name: name.into(),
            pass: Pass::default(),
            issue_at: None,
            map: None,
            space,
            leave_out: ReplayOmissions::default(),
            origin_ns: None,
        }
    }
}

/// Chosen I/Os that are not in the script, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct LeftOut {
    /// What they did is not known.
    pub unknown_ops: u64,
    /// Reads, writes or discards of no bytes.
    pub without_bytes: u64,
    /// Larger than the target.
    pub too_large: u64,
}

impl LeftOut {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.reasons().into_iter().map(|(count, _)| count).sum()
    }

    /// Every reason with its count.
    pub fn reasons(&self) -> [(u64, &'static str); 3] {
        [
            (self.unknown_ops, "of an unknown operation"),
            (self.without_bytes, "without bytes"),
            (self.too_large, "larger than the target"),
        ]
    }

    /// `3 of an unknown operation; 2 without bytes`.
    pub fn told(&self) -> String {
        let some = self.reasons().into_iter().filter(|(count, _)| *count > 0);
        some.map(|(count, why)| format!("{count} {why}")).collect::<Vec<_>>().join("; ")
    }
}
