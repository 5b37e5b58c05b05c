//! Sorts the I/Os of a script by their due times.
//!
//! I/Os arrive in issue order. If they are due at queue entry, an I/O that waited long is due
//! before I/Os that were issued earlier. The first pass found the longest wait, which shows up to
//! which due time no earlier I/O can follow. The number of waiting I/Os is bounded.

use super::captured_io::CapturedIo;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use steadfast_tracefile::issue_order::WAITING_MAX;

/// A queue that sorts I/Os by their due times.
#[derive(Default)]
pub(super) struct DueOrder {
    /// Longest time that any I/O waited before its issue, in nanoseconds.
    wait_max_ns: u64,
    waiting_max: usize,
    waiting: BinaryHeap<Reverse<WaitingIo>>,
    ready: VecDeque<CapturedIo>,
    numbered: u64,
    last_due_ns: u64,
    /// Number of I/Os that arrived too late for their due time and are due immediately.
    pub(super) late: u64,
}

/// An I/O that waits, ordered by due time and number.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct WaitingIo {
    due_ns: u64,
    number: u64,
    io: CapturedIo,
}

impl DueOrder {
    pub(super) fn new(wait_max_ns: u64) -> Self {
        DueOrder { wait_max_ns, waiting_max: WAITING_MAX, ..DueOrder::default() }
    }

    /// Adds the next I/O in issue order.
    pub(super) fn add(&mut self, io: CapturedIo) {
        if self.wait_max_ns == 0 {
            self.release(io);
            return;
        }
        self.waiting.push(Reverse(WaitingIo { due_ns: io.due_ns, number: self.numbered, io }));
        self.numbered += 1;
        if self.waiting.len() > self.waiting_max {
            self.release_first();
        }
    }

    /// Releases the I/Os before which no later I/O can be due. All I/Os issued before `issued_ns`
    /// have been added.
    pub(super) fn release_until(&mut self, issued_ns: u64) {
        let last_due_ns = issued_ns.saturating_sub(self.wait_max_ns);
        while self.waiting.peek().is_some_and(|first| first.0.due_ns <= last_due_ns) {
            self.release_first();
        }
    }

    /// Releases all remaining I/Os.
    pub(super) fn release_all(&mut self) {
        while !self.waiting.is_empty() {
            self.release_first();
        }
    }

    /// Returns the next released I/O.
    pub(super) fn next(&mut self) -> Option<CapturedIo> {
        self.ready.pop_front()
    }

    fn release_first(&mut self) {
        if let Some(Reverse(first)) = self.waiting.pop() {
            self.release(first.io);
        }
    }

    /// Releases an I/O. Due times never decrease: an I/O that is too late is due immediately.
    fn release(&mut self, mut io: CapturedIo) {
        self.late += u64::from(io.due_ns < self.last_due_ns);
        io.due_ns = io.due_ns.max(self.last_due_ns);
        self.last_due_ns = io.due_ns;
        self.ready.push_back(io);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Op;

    fn io(due_ns: u64) -> CapturedIo {
        CapturedIo {
            due_ns,
            completed_ns: None,
            op: Op::Read,
            fua: false,
            offset: 0,
            size: 4096,
            process: 0,
        }
    }

    fn drained(order: &mut DueOrder) -> Vec<u64> {
        std::iter::from_fn(|| order.next()).map(|io| io.due_ns).collect()
    }

    #[test]
    fn an_io_waits_until_no_earlier_one_can_come() {
        let mut order = DueOrder::new(100);
        [50, 10, 90].into_iter().for_each(|due| order.add(io(due)));
        order.release_until(150);
        assert_eq!(drained(&mut order), [10, 50]);
        order.add(io(80));
        order.release_all();
        assert_eq!((drained(&mut order), order.late), (vec![80, 90], 0));
    }

    #[test]
    fn a_late_io_is_due_immediately_and_counted() {
        let mut order = DueOrder { waiting_max: 2, ..DueOrder::new(1000) };
        [30, 20, 40, 10].into_iter().for_each(|due| order.add(io(due)));
        order.release_all();
        assert_eq!((drained(&mut order), order.late), (vec![20, 20, 30, 40], 1));
        let mut plain = DueOrder::new(0);
        [1, 3, 2].into_iter().for_each(|due| plain.add(io(due)));
        assert_eq!((drained(&mut plain), plain.late), (vec![1, 3, 3], 1));
    }
}
