//! Counts the outstanding I/Os of a device from their issue and response times.

use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Maximum number of outstanding I/Os that are tracked. Beyond it the queue depth is unknown.
const OUTSTANDING_MAX: usize = 1 << 16;

/// Maximum number of later completions that a new one is inserted before in the sorted queue.
const PASSED_MAX: usize = 32;

/// Completion times of the outstanding I/Os. Most I/Os complete nearly in issue order and enter a
/// sorted queue; the few others enter a heap.
#[derive(Default)]
pub(crate) struct OutstandingSet {
    /// In ascending order.
    line: VecDeque<u64>,
    aside: BinaryHeap<Reverse<u64>>,
    /// Time until which I/Os beyond the limit are outstanding.
    unfollowed_until: u64,
}

/// Completion times of the outstanding I/Os, as a checkpoint stores them: those of the tracked I/Os
/// in ascending order, and the time until which others are outstanding.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutstandingState {
    all: Vec<u64>,
    unfollowed_until: u64,
}

impl OutstandingSet {
    /// Restores the outstanding I/Os from a checkpoint.
    pub(crate) fn resume_from(completions: &OutstandingState) -> Self {
        let OutstandingState { all, unfollowed_until } = completions;
        let line = all.iter().copied().collect();
        OutstandingSet { line, aside: BinaryHeap::new(), unfollowed_until: *unfollowed_until }
    }

    /// Returns the state for a checkpoint.
    pub(crate) fn completions(&self) -> OutstandingState {
        let aside = self.aside.iter().map(|end| end.0);
        let mut all: Vec<u64> = self.line.iter().copied().chain(aside).collect();
        all.sort_unstable();
        OutstandingState { all, unfollowed_until: self.unfollowed_until }
    }

    /// Adds an I/O that is issued at `issued` and completes at `completed`. Returns the number of
    /// I/Os outstanding at `issued` including this one, or 0 while there are more than can be
    /// tracked.
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
        let mut found = OutstandingSet::default();
        let mut all: Vec<u64> = Vec::new();
        let mut aside = 0;
        for at in 0..30_011u64 {
            // Some I/Os are issued out of order, some take long, some take no time.
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
                found = OutstandingSet::resume_from(&found.completions());
            }
        }
        assert!(aside > 0);
    }

    #[test]
    fn too_many_are_not_counted() {
        let mut found = OutstandingSet::default();
        for number in 1..=OUTSTANDING_MAX as u64 {
            assert_eq!(u64::from(found.with(0, number)), number);
        }
        // The untracked I/O completes at 70,000.
        assert_eq!(found.with(0, 70_000), 0);
        assert_eq!((found.with(65_000, 90_000), found.with(69_999, 90_000)), (0, 0));
        let mut found = OutstandingSet::resume_from(&found.completions());
        assert_eq!((found.with(69_999, 90_000), found.with(70_000, 90_000)), (0, 4));
    }
}
