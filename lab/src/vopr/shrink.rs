//! Shrinks a failing scenario: fewer lives, fewer faults, earlier crashes.

use crate::fault::PlantedBug;
use crate::scenario::Scenario;
use crate::trial::{UndisturbedRun, play};

/// Maximum number of scenarios tried.
const TRIALS_MAX: usize = 400;

/// Returns the smallest failing scenario found.
pub fn shrink(
    scenario: &Scenario,
    undisturbed: &[UndisturbedRun],
    bug: Option<PlantedBug>,
) -> Scenario {
    let mut smallest = scenario.clone();
    let mut trials = 0;
    loop {
        let fails = |smaller: &Scenario| {
            trials += 1;
            trials <= TRIALS_MAX && play(smaller, undisturbed, bug, false).violation.is_some()
        };
        match smallest.smaller().into_iter().find(fails) {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}
