//! How many I/Os of a device are outstanding, counted from when they were issued and
//! how long they took.

use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Outstanding I/Os that are followed at most; beyond that their number is unknown.
const OUTSTANDING_MAX: usize = 1 << 16;

/// I/Os that one which completes before them is put in front of, at most.
const PASSED_MAX: usize = 32;

/// When I/Os that are outstanding complete. Most complete nearly in the order in which
/// they were issued: these stand in line, the few others aside.
#[derive(Default)]
pub(crate) struct Outstanding {
    /// Ascending.
    line: VecDeque<u64>,
    aside: BinaryHeap<Reverse<u64>>,
    /// Until when some are outstanding that were too many to be followed.
    unfollowed_until: u64,
}

/// What is outstanding, as it is kept with a place in a trace: when those that are followed
/// complete, ascending, and until when there are others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Completions {
    all: Vec<u64>,
    unfollowed_until: u64,
}

impl Outstanding {
    /// What was outstanding where another stood.
    pub(crate) fn going_on(completions: &Completions) -> Self {
        let Completions { all, unfollowed_until } = completions;
        let line = all.iter().copied().collect();
        Outstanding { line, aside: BinaryHeap::new(), unfollowed_until: *unfollowed_until }
    }

    /// When those complete that are outstanding.
    pub(crate) fn completions(&self) -> Completions {
        let aside = self.aside.iter().map(|end| end.0);
        let mut all: Vec<u64> = self.line.iter().copied().chain(aside).collect();
        all.sort_unstable();
        Completions { all, unfollowed_until: self.unfollowed_until }
    }

    /// I/Os outstanding at `issued` with one that is issued then and completes at
    /// `completed`; 0 as long as there are more than can be followed.
    #[inline]
    pub(crate) fn with(&mut self, issued: u64, completed: u64) -> u32 {
        while self.line.front().is_some_and(|first| *first <= issued) {
            self.line.pop_front();
        }
        while self.aside.peek().is_some_and(|first| first.0 <= issued) {
            self.aside.pop();
        }
        if self.line.len() + self.aside.len() >= OUTSTANDING_MAX {
            self.unfollowed_until = self.unfollowed_until.max(completed);
            return 0;
        }
        self.enter(completed);
        let are_all = self.unfollowed_until <= issued;
        if are_all { (self.line.len() + self.aside.len()) as u32 } else { 0 }
    }

    #[inline]
    fn enter(&mut self, completed: u64) {
        let later = self.line.iter().rev().take(PASSED_MAX + 1);
        let passed = later.take_while(|end| **end > completed).count();
        match passed {
            0 => self.line.push_back(completed),
            1..=PASSED_MAX => self.line.insert(self.line.len() - passed, completed),
            _ => self.aside.push(Reverse(completed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::step::mix64;

    #[test]
    fn those_in_line_and_those_aside_are_all_that_are_outstanding() {
        let mut found = Outstanding::default();
        let mut all: Vec<u64> = Vec::new();
        let mut aside = 0;
        for at in 0..30_011u64 {
            // Some are issued out of turn, some take long, some no time at all.
            let issued = (at * 10).saturating_sub(mix64(at) % 25);
            let took = match mix64(at + 1) % 50 {
                0 => 5_000,
                1 => 0,
                n => n * 30,
            };
            all.retain(|end| *end > issued);
            all.push(issued + took);
            assert_eq!(found.with(issued, issued + took) as usize, all.len(), "{at}");
            aside = aside.max(found.aside.len());
            if at % 1009 == 0 {
                all.sort_unstable();
                assert_eq!(found.completions().all, all);
                found = Outstanding::going_on(&found.completions());
            }
        }
        assert!(aside > 0);
    }

    #[test]
    fn too_many_are_not_counted() {
        let mut found = Outstanding::default();
        for number in 1..=OUTSTANDING_MAX as u64 {
            assert_eq!(u64::from(found.with(0, number)), number);
        }
        // That of which there is no account completes at 70,000.
        assert_eq!(found.with(0, 70_000), 0);
        assert_eq!((found.with(65_000, 90_000), found.with(69_999, 90_000)), (0, 0));
        let mut found = Outstanding::going_on(&found.completions());
        assert_eq!((found.with(69_999, 90_000), found.with(70_000, 90_000)), (0, 4));
    }
}
