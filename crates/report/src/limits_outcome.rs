//! The verdict of a check as the badge of its report; `limits.rs` decides it.

use steadfast_domain::Findings;

/// Outcome of a check. The report of a check has its id in place of the procedure's, by which page
/// one knows the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitsOutcome {
    /// Every number is within its limits and counts.
    Pass,
    /// A number is outside its limits or missing.
    Fail,
    /// Every number is within its limits, but the run does not count.
    NoPass,
    /// The run has not ended.
    Unfinished,
}

impl LimitsOutcome {
    const ALL: [LimitsOutcome; 4] = [
        LimitsOutcome::Pass,
        LimitsOutcome::Fail,
        LimitsOutcome::NoPass,
        LimitsOutcome::Unfinished,
    ];

    /// Returns the outcome in a report of a check; `None` for other reports.
    pub fn of_report(findings: &Findings) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.id() == findings.id)
    }

    /// Returns the id of the report.
    pub const fn id(self) -> &'static str {
        match self {
            LimitsOutcome::Pass => "check-pass",
            LimitsOutcome::Fail => "check-fail",
            LimitsOutcome::NoPass => "check-no-pass",
            LimitsOutcome::Unfinished => "check-unfinished",
        }
    }

    /// Returns the word of the badge.
    pub const fn word(self) -> &'static str {
        match self {
            LimitsOutcome::Pass => "PASS",
            LimitsOutcome::Fail => "FAIL",
            LimitsOutcome::NoPass => "NO PASS",
            LimitsOutcome::Unfinished => "UNFINISHED",
        }
    }
}
