//! Time in the queue before an I/O reached the device, as it is added up beside the
//! response time. A source that does not report it gives 0.

use crate::cells::Cell;
use crate::fold::Rows;
use serde::{Deserialize, Serialize};

/// Times of I/Os of which both the time in the queue and the response time are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Together {
    /// Times in the queue added up, in nanoseconds.
    pub queued_ns: u64,
    /// Response times added up, in nanoseconds.
    pub response_ns: u64,
}

impl Together {
    /// Counts an I/O.
    #[inline]
    pub fn add(&mut self, queued_ns: u64, response_ns: u64) {
        self.queued_ns = self.queued_ns.saturating_add(queued_ns);
        self.response_ns = self.response_ns.saturating_add(response_ns);
    }
    /// Adds another part.
    pub fn merge(&mut self, other: Together) {
        self.add(other.queued_ns, other.response_ns);
    }
    /// The share of the time from entering the queue to completion that was spent in the
    /// queue.
    pub fn share(&self) -> Option<f64> {
        let whole = self.queued_ns.saturating_add(self.response_ns);
        (whole > 0).then(|| self.queued_ns as f64 / whole as f64)
    }
    /// That of a cell of a fold file.
    pub(crate) fn of_cell(cell: &Cell) -> Together {
        Together { queued_ns: cell.both_queued_ns, response_ns: cell.both_response_ns }
    }
}

/// Times in the queue of which no distribution is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queued {
    /// I/Os whose time in the queue is known.
    pub count: u64,
    /// All of them added up, in nanoseconds.
    pub sum_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
    /// Those whose response time is known too.
    pub together: Together,
}

impl Queued {
    /// Counts a row, where its time in the queue is known.
    #[inline]
    pub fn add(&mut self, rows: &Rows<'_>, row: usize) {
        if let Some(queued) = rows.queued_ns(row) {
            self.count_one(queued, rows.response_ns(row));
        }
    }
    /// Counts a time in the queue, beside the response time where that is known.
    #[inline]
    pub fn count_one(&mut self, queued_ns: u64, response_ns: Option<u64>) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(queued_ns);
        self.max_ns = self.max_ns.max(queued_ns);
        if let Some(response_ns) = response_ns {
            self.together.add(queued_ns, response_ns);
        }
    }
    /// Adds another part.
    pub fn merge(&mut self, other: Queued) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.together.merge(other.together);
    }
    /// That of a cell of a fold file.
    pub(crate) fn of_cell(cell: &Cell) -> Queued {
        let (count, sum_ns, max_ns) = (cell.queued.count, cell.queued.sum_ns, cell.queued.max_ns);
        Queued { count, sum_ns, max_ns, together: Together::of_cell(cell) }
    }
    /// The average.
    pub fn mean_ns(&self) -> Option<u64> {
        self.sum_ns.checked_div(self.count)
    }
    /// The longest.
    pub fn longest_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }
}
