//! Shrinks a failing scenario: fewer lives, fewer faults, earlier crashes.

use crate::fault::PlannedFault;

const TRIALS_MAX: usize = 400;

/// A scenario that can be made smaller.
pub trait Shrink: Clone {
    /// Returns smaller scenarios, the smallest first.
    fn smaller(&self) -> Vec<Self>;
}

/// Returns the smallest failing scenario found.
pub fn shrink<S: Shrink>(failing: &S, fails: impl Fn(&S) -> bool) -> S {
    let mut smallest = failing.clone();
    let mut trials = 0;
    loop {
        let is_failing = |smaller: &S| {
            trials += 1;
            trials <= TRIALS_MAX && fails(smaller)
        };
        match smallest.smaller().into_iter().find(is_failing) {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

/// Returns the lives without one of them, and with one of them made smaller, for each.
pub fn smaller_lives<L: Clone>(lives: &[L], smaller: impl Fn(&L) -> Vec<L>) -> Vec<Vec<L>> {
    let mut all = Vec::new();
    for (position, life) in lives.iter().enumerate() {
        all.push([&lives[..position], &lives[position + 1..]].concat());
        for life in smaller(life) {
            let mut lives = lives.to_vec();
            lives[position] = life;
            all.push(lives);
        }
    }
    all
}

/// Returns the faults without one of them, for each.
pub fn fewer_faults(faults: &[PlannedFault]) -> Vec<Vec<PlannedFault>> {
    let without = |position| {
        let mut fewer = faults.to_vec();
        fewer.remove(position);
        fewer
    };
    (0..faults.len()).map(without).collect()
}

/// Returns the faults with one of them at an earlier call, for each.
pub fn earlier_faults(faults: &[PlannedFault]) -> Vec<Vec<PlannedFault>> {
    let mut all = Vec::new();
    for (position, planned) in faults.iter().enumerate() {
        for call in [planned.call / 2, planned.call * 7 / 8, planned.call - 1] {
            if call > 0 && call < planned.call {
                let mut earlier = faults.to_vec();
                earlier[position].call = call;
                all.push(earlier);
            }
        }
    }
    all
}
