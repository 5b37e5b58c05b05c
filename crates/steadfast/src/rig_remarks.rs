//! Checks and caveats of a rig as lines of text.

use crate::terminal;
use steadfast_domain::Caveat;
use steadfast_domain::record::{Check, CheckState};

/// Formats a check that needs attention as one line; `None` if it is good or unknown.
pub fn check_line(check: &Check) -> Option<String> {
    let word = match check.state {
        CheckState::Good | CheckState::Unknown => return None,
        CheckState::Attention => "ATTENTION",
        CheckState::Bad => "BAD",
    };
    Some(format!("{word}: {}: {}", check.subject, check.found))
}

/// Prints the checks that need attention, and all caveats.
pub fn print(checks: &[Check], caveats: &[Caveat]) {
    checks.iter().filter_map(check_line).for_each(|line| terminal::warn(&line));
    caveats.iter().for_each(|caveat| terminal::warn(&format!("Caveat: {}", caveat.text)));
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn check(state: CheckState) -> Check {
        Check {
            id: "x".into(),
            subject: "Link".into(),
            state,
            found: "half of it".into(),
            advice: "use the other slot".into(),
        }
    }

    #[test]
    fn good_and_unknown_checks_are_omitted() {
        assert_eq!(check_line(&check(CheckState::Good)), None);
        assert_eq!(check_line(&check(CheckState::Unknown)), None);
        assert_eq!(check_line(&check(CheckState::Bad)).as_deref(), Some("BAD: Link: half of it"));
    }
}
