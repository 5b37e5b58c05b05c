//! Counts the outstanding I/Os of a device from their issue and response times.

use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Maximum number of outstanding I/Os that are tracked. Beyond it the queue depth is unknown.
const OUTSTANDING_MAX: usize = 1 << 16;

/// Maximum number of entries to shift when a completion time is inserted into the sorted queue. If
/// more would have to move, it enters the heap.
const SHIFTED_MAX: usize = 32;

/// Completion times of the outstanding I/Os. Most I/Os complete nearly in issue order and enter a
/// sorted queue; the few others enter a heap.
#[derive(Default)]
pub struct OutstandingSet {
    /// Completion times, in ascending order.
    queue: VecDeque<u64>,
    heap: BinaryHeap<Reverse<u64>>,
    /// Latest completion time of the untracked I/Os.
    untracked_until: u64,
}

/// An [`OutstandingSet`] as a checkpoint stores it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutstandingState {
    /// Completion times of the tracked I/Os, in ascending order.
    tracked: Vec<u64>,
    untracked_until: u64,
}

impl OutstandingSet {
    pub(crate) fn from_state(state: &OutstandingState) -> Self {
        OutstandingSet {
            queue: state.tracked.iter().copied().collect(),
            heap: BinaryHeap::new(),
            untracked_until: state.untracked_until,
        }
    }

    pub(crate) fn state(&self) -> OutstandingState {
        let in_heap = self.heap.iter().map(|Reverse(completed)| *completed);
        let mut tracked: Vec<u64> = self.queue.iter().copied().chain(in_heap).collect();
        tracked.sort_unstable();
        OutstandingState { tracked, untracked_until: self.untracked_until }
    }

    /// Adds an I/O that is issued at `issued` and completes at `completed`. Returns the number of
    /// I/Os outstanding at `issued` including this one, or 0 while there are more than can be
    /// tracked.
    #[inline]
    pub fn add(&mut self, issued: u64, completed: u64) -> u32 {
        while self.queue.front().is_some_and(|first| *first <= issued) {
            self.queue.pop_front();
        }
        while self.heap.peek().is_some_and(|Reverse(first)| *first <= issued) {
            self.heap.pop();
        }
        if self.queue.len() + self.heap.len() >= OUTSTANDING_MAX {
            self.untracked_until = self.untracked_until.max(completed);
            return 0;
        }
        self.insert(completed);
        if self.untracked_until > issued {
            return 0;
        }
        (self.queue.len() + self.heap.len()) as u32
    }

    #[inline]
    fn insert(&mut self, completed: u64) {
        // One more, to detect that too many would have to move.
        let latest = self.queue.iter().rev().take(SHIFTED_MAX + 1);
        let shifted = latest.take_while(|other| **other > completed).count();
        match shifted {
            0 => self.queue.push_back(completed),
            1..=SHIFTED_MAX => self.queue.insert(self.queue.len() - shifted, completed),
            _ => self.heap.push(Reverse(completed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::random_bits::mix64;

    #[test]
    fn queue_and_heap_hold_all_outstanding_ios() {
        let mut set = OutstandingSet::default();
        let mut expected: Vec<u64> = Vec::new();
        let mut in_heap = 0;
        for at in 0..30_011u64 {
            // Some I/Os are issued out of order, some take long, some take no time.
            let issued = (at * 10).saturating_sub(mix64(at) % 25);
            let took = match mix64(at + 1) % 50 {
                0 => 5_000,
                1 => 0,
                n => n * 30,
            };
            expected.retain(|end| *end > issued);
            expected.push(issued + took);
            assert_eq!(set.add(issued, issued + took) as usize, expected.len(), "{at}");
            in_heap = in_heap.max(set.heap.len());
            if at % 1009 == 0 {
                expected.sort_unstable();
                assert_eq!(set.state().tracked, expected);
                set = OutstandingSet::from_state(&set.state());
            }
        }
        assert!(in_heap > 0);
    }

    #[test]
    fn the_depth_beyond_the_limit_is_unknown() {
        let mut set = OutstandingSet::default();
        for number in 1..=OUTSTANDING_MAX as u64 {
            assert_eq!(u64::from(set.add(0, number)), number);
        }
        // The untracked I/O completes at 70,000.
        assert_eq!(set.add(0, 70_000), 0);
        assert_eq!((set.add(65_000, 90_000), set.add(69_999, 90_000)), (0, 0));
        let mut set = OutstandingSet::from_state(&set.state());
        assert_eq!(set.add(69_999, 90_000), 0);
        // All four I/Os that complete at 90,000 are tracked.
        assert_eq!(set.add(70_000, 90_000), 4);
    }
}
