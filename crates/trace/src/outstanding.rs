//! How many I/Os of a device are outstanding, counted from when they were issued and
//! how long they took.

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
}

impl Outstanding {
    /// I/Os that complete at these times, which ascend.
    pub(crate) fn going_on(completions: &[u64]) -> Self {
        Outstanding { line: completions.iter().copied().collect(), aside: BinaryHeap::new() }
    }

    /// When those complete that are outstanding, ascending.
    pub(crate) fn completions(&self) -> Vec<u64> {
        let aside = self.aside.iter().map(|end| end.0);
        let mut all: Vec<u64> = self.line.iter().copied().chain(aside).collect();
        all.sort_unstable();
        all
    }

    /// I/Os outstanding at `issued` with one that is issued then and completes at
    /// `completed`; 0 where too many.
    #[inline]
    pub(crate) fn with(&mut self, issued: u64, completed: u64) -> u32 {
        while self.line.front().is_some_and(|first| *first <= issued) {
            self.line.pop_front();
        }
        while self.aside.peek().is_some_and(|first| first.0 <= issued) {
            self.aside.pop();
        }
        if self.line.len() + self.aside.len() >= OUTSTANDING_MAX {
            return 0;
        }
        self.enter(completed);
        (self.line.len() + self.aside.len()) as u32
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
                assert_eq!(found.completions(), all);
                found = Outstanding::going_on(&all);
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
        assert_eq!((found.with(0, 7), found.with(1, 7)), (0, OUTSTANDING_MAX as u32));
    }
}
