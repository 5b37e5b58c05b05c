//! [`EndState`]: the end of a run as a value, for programs that act on it without reading text.

use crate::steady_state::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State in which a run, or a part of one, ended; ordered from best to worst.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum EndState {
    /// Completed; nothing in it is judged for steady state.
    #[default]
    Complete,
    /// Completed; steady state was achieved.
    Steady,
    /// Completed; steady state was not achieved.
    NotSteady,
    /// Completed, but nothing could be judged: fewer rounds without a gap than a window has.
    Void,
    /// Completed, but a check failed: data read back are not what was written.
    Failed,
    /// Not completed: none of its numbers is final.
    Unfinished,
}

impl EndState {
    /// Returns the end state for `verdict`, which is `None` if nothing is judged.
    pub fn new(ended: bool, verdict: Option<&Verdict>) -> Self {
        match verdict {
            _ if !ended => EndState::Unfinished,
            None => EndState::Complete,
            Some(verdict) if verdict.steady => EndState::Steady,
            Some(verdict) if verdict.tracks.is_empty() => EndState::Void,
            Some(_) => EndState::NotSteady,
        }
    }
    /// Returns true if the end is a success, false if it is a failure, and `None` if nothing is
    /// judged or the result is not yet known. Determines the exit code and the color of a report.
    pub fn good(self) -> Option<bool> {
        match self {
            EndState::Failed => Some(false),
            other => other.steady(),
        }
    }
    /// Returns true if steady state was achieved; `None` if it is not judged or not yet known: a
    /// run interrupted after a steady preconditioning is no success.
    pub fn steady(self) -> Option<bool> {
        match self {
            EndState::Complete | EndState::Failed | EndState::Unfinished => None,
            EndState::Steady => Some(true),
            EndState::NotSteady | EndState::Void => Some(false),
        }
    }
    /// Returns the name used in files, stable across versions.
    pub const fn id(self) -> &'static str {
        match self {
            EndState::Complete => "complete",
            EndState::Steady => "steady",
            EndState::NotSteady => "not-steady",
            EndState::Void => "void",
            EndState::Failed => "failed",
            EndState::Unfinished => "unfinished",
        }
    }
    /// Returns true if the run completed.
    pub fn is_final(self) -> bool {
        self != EndState::Unfinished
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steady_state::{Criteria, Track, TrackPoint, judge};

    fn verdict(values: &[f64]) -> Verdict {
        let points = (1..).zip(values).map(|(round, value)| TrackPoint {
            round,
            value: Some(*value),
            after_gap: false,
        });
        let track = Track { name: "x".into(), unit: String::new(), points: points.collect() };
        judge(&[track], &Criteria { window: 3, data_excursion: 0.2, slope_excursion: 0.1 })
    }

    #[test]
    fn the_end_state_follows_from_the_verdict() {
        let (flat, steep, short) =
            (verdict(&[1.0, 1.0, 1.0]), verdict(&[1.0, 2.0, 3.0]), verdict(&[1.0]));
        for (ended, verdict, expected) in [
            (true, Some(&flat), EndState::Steady),
            (true, Some(&steep), EndState::NotSteady),
            (true, Some(&short), EndState::Void),
            (false, Some(&flat), EndState::Unfinished),
            (true, None, EndState::Complete),
        ] {
            assert_eq!(EndState::new(ended, verdict), expected);
        }
    }

    #[test]
    fn the_worst_part_counts() {
        use EndState::{Complete, Failed, NotSteady, Steady, Unfinished, Void};
        let worst = |states: &[EndState]| states.iter().max().copied();
        assert_eq!(worst(&[Complete, Steady]).and_then(EndState::steady), Some(true));
        assert_eq!(worst(&[Steady, NotSteady, Complete]), Some(NotSteady));
        assert_eq!(worst(&[Void, NotSteady]).and_then(EndState::steady), Some(false));
        let failed = worst(&[Steady, Failed, Void]).unwrap();
        assert_eq!(
            (failed.steady(), failed.good()),
            (None, Some(false)),
            "a failure is not judged for steady state"
        );
        let broken_off = worst(&[NotSteady, Unfinished, Steady]).unwrap();
        assert_eq!((broken_off.steady(), broken_off.is_final()), (None, false));
    }
}
