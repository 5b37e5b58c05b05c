//! Checks and caveats of a rig as lines of text.

use crate::terminal;
use steadfast_domain::Caveat;
use steadfast_domain::record::{Check, CheckState};

/// Returns a check that needs attention as one line; `None` for any other.
pub fn of_check(check: &Check) -> Option<String> {
    let word = match check.state {
        CheckState::Good | CheckState::Unknown => return None,
        CheckState::Attention => "Attention",
        CheckState::Bad => "BAD",
    };
    Some(format!("{word}: {}: {}", check.subject, check.found))
}

/// Prints the checks that need attention, and all caveats.
pub fn print(checks: &[Check], caveats: &[Caveat]) {
    checks.iter().filter_map(of_check).for_each(|line| terminal::warn(&line));
    caveats.iter().for_each(|caveat| terminal::warn(&format!("Caveat: {}", caveat.text)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(state: CheckState) -> Check {
        Check {
            id: "x".into(),
            subject: "Link".into(),
            state,
            found: "half of it".into(),
            advice: "use the other slot".into(),
        }
    }

    #[test]
    fn only_what_disturbs_is_said() {
        assert_eq!(of_check(&check(CheckState::Good)), None);
        assert_eq!(of_check(&check(CheckState::Unknown)), None);
        assert_eq!(of_check(&check(CheckState::Bad)).as_deref(), Some("BAD: Link: half of it"));
    }
}
