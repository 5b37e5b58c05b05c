//! Puts chosen I/Os in the order in which they are due.
//!
//! They come in the order of issue. Where they are due when they entered the queue,
//! an I/O that waited long is due before others that were issued earlier. How long
//! any of them waited is known from the first pass, so it is known which can have
//! no earlier one still to come. What waits is bounded.

use super::chosen::Chosen;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use steadfast_tracefile::issue_order::WAITING_MAX;

/// I/Os on their way into due order.
pub(super) struct DueOrder {
    /// The longest that any I/O waited before it was issued, in nanoseconds.
    slack_ns: u64,
    waiting_max: usize,
    waiting: BinaryHeap<Reverse<Waiting>>,
    ready: VecDeque<Chosen>,
    numbered: u64,
    last_due_ns: u64,
    /// I/Os that came too late for their place and are due at once.
    pub(super) late: u64,
}

struct Waiting {
    number: u64,
    io: Chosen,
}

impl Waiting {
    fn key(&self) -> (u64, u64) {
        (self.io.due_ns, self.number)
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Waiting {}

impl DueOrder {
    pub(super) fn new(slack_ns: u64) -> Self {
        DueOrder {
            slack_ns,
            waiting_max: WAITING_MAX,
            waiting: BinaryHeap::new(),
            ready: VecDeque::new(),
            numbered: 0,
            last_due_ns: 0,
            late: 0,
        }
    }

    /// Takes the next in the order of issue.
    pub(super) fn take(&mut self, io: Chosen) {
        if self.slack_ns == 0 {
            self.give(io);
            return;
        }
        self.waiting.push(Reverse(Waiting { number: self.numbered, io }));
        self.numbered += 1;
        if self.waiting.len() > self.waiting_max {
            self.give_first();
        }
    }

    /// Gives out those that nothing still to come can be due before: all I/Os issued
    /// before `issued_ns` were taken.
    pub(super) fn issued_until(&mut self, issued_ns: u64) {
        let certain = issued_ns.saturating_sub(self.slack_ns);
        while self.waiting.peek().is_some_and(|first| first.0.io.due_ns <= certain) {
            self.give_first();
        }
    }

    /// Gives out the rest.
    pub(super) fn end(&mut self) {
        self.issued_until(u64::MAX);
        while !self.waiting.is_empty() {
            self.give_first();
        }
    }

    pub(super) fn next(&mut self) -> Option<Chosen> {
        self.ready.pop_front()
    }

    fn give_first(&mut self) {
        if let Some(Reverse(first)) = self.waiting.pop() {
            self.give(first.io);
        }
    }

    /// Due times never go back: what comes too late is due at once.
    fn give(&mut self, mut io: Chosen) {
        self.late += u64::from(io.due_ns < self.last_due_ns);
        io.due_ns = io.due_ns.max(self.last_due_ns);
        self.last_due_ns = io.due_ns;
        self.ready.push_back(io);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(due_ns: u64) -> Chosen {
        Chosen { due_ns, ..Chosen::default() }
    }

    fn drained(order: &mut DueOrder) -> Vec<u64> {
        std::iter::from_fn(|| order.next()).map(|io| io.due_ns).collect()
    }

    #[test]
    fn an_io_waits_until_no_earlier_one_can_come() {
        let mut order = DueOrder::new(100);
        [50, 10, 90].into_iter().for_each(|due| order.take(io(due)));
        order.issued_until(150);
        assert_eq!(drained(&mut order), [10, 50]);
        order.take(io(80));
        order.end();
        assert_eq!((drained(&mut order), order.late), (vec![80, 90], 0));
    }

    #[test]
    fn what_comes_too_late_is_due_at_once_and_counted() {
        let mut order = DueOrder { waiting_max: 2, ..DueOrder::new(1000) };
        [30, 20, 40, 10].into_iter().for_each(|due| order.take(io(due)));
        order.end();
        assert_eq!((drained(&mut order), order.late), (vec![20, 20, 30, 40], 1));
        let mut plain = DueOrder::new(0);
        [1, 3, 2].into_iter().for_each(|due| plain.take(io(due)));
        assert_eq!((drained(&mut plain), plain.late), (vec![1, 3, 3], 1));
    }
}
