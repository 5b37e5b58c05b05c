//! Counts the I/Os that were outstanding in the capture when each I/O was due. A closed loop keeps
//! as many outstanding.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Most I/Os that are tracked; with more, the number is unknown.
const TRACKED_MAX: usize = 1 << 16;

/// The completion times of the outstanding I/Os.
#[derive(Default)]
pub(super) struct CompletionHeap {
    completions: BinaryHeap<Reverse<u64>>,
}

impl CompletionHeap {
    /// Returns the number of I/Os outstanding at `due_ns`, including the one due then; `None` if
    /// its completion was not seen. I/Os must come in the order of their due times.
    pub(super) fn outstanding_at(&mut self, due_ns: u64, completed_ns: Option<u64>) -> Option<u32> {
        while self.completions.peek().is_some_and(|first| first.0 <= due_ns) {
            self.completions.pop();
        }
        let completed_ns = completed_ns.filter(|_| self.completions.len() < TRACKED_MAX)?;
        self.completions.push(Reverse(completed_ns));
        u32::try_from(self.completions.len()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_counts_from_when_it_is_due_until_it_completes() {
        let mut heap = CompletionHeap::default();
        let outstanding =
            [(0, Some(100)), (10, Some(20)), (20, Some(300)), (50, None), (100, Some(101))]
                .map(|(due, completed)| heap.outstanding_at(due, completed));
        assert_eq!(outstanding, [Some(1), Some(2), Some(2), None, Some(2)]);
    }
}
