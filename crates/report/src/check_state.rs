//! The verdict of a check as the badge of its report; `limits.rs` decides it.

use steadfast_domain::Findings;

/// How a check ended. The report of a check has its id in place of the procedure's, so that page
/// one shows the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckState {
    /// Every number is within its limits and counts.
    Pass,
    /// A number is outside its limits or missing.
    Fail,
    /// Every number is within its limits, but the run does not count.
    NoPass,
    /// The run has not ended.
    Unfinished,
}

impl CheckState {
    const ALL: [CheckState; 4] =
        [CheckState::Pass, CheckState::Fail, CheckState::NoPass, CheckState::Unfinished];

    /// Returns the state of a report of a check; `None` for other reports.
    pub fn of_report(findings: &Findings) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.id() == findings.id)
    }

    /// Returns the id of the report.
    pub const fn id(self) -> &'static str {
        match self {
            CheckState::Pass => "check-pass",
            CheckState::Fail => "check-fail",
            CheckState::NoPass => "check-no-pass",
            CheckState::Unfinished => "check-unfinished",
        }
    }

    /// Returns the word of the badge.
    pub const fn word(self) -> &'static str {
        match self {
            CheckState::Pass => "PASS",
            CheckState::Fail => "FAIL",
            CheckState::NoPass => "NO PASS",
            CheckState::Unfinished => "UNFINISHED",
        }
    }
}
