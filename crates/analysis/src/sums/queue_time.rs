//! Sums of queue times: the time that I/Os spent queued before they reached the device. It is not
//! part of the response time. A source that does not report it records 0.

use crate::cells::CubeCell;
use crate::fold::AnnotatedRows;
use serde::{Deserialize, Serialize};

/// Sums over the I/Os for which both queue time and response time are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueResponseSums {
    /// Sum of the queue times, in nanoseconds.
    pub queued_ns: u64,
    /// Sum of the response times, in nanoseconds.
    pub response_ns: u64,
}

impl QueueResponseSums {
    /// Adds one I/O.
    #[inline]
    pub fn add(&mut self, queued_ns: u64, response_ns: u64) {
        self.queued_ns = self.queued_ns.saturating_add(queued_ns);
        self.response_ns = self.response_ns.saturating_add(response_ns);
    }
    /// Adds another part.
    pub fn merge(&mut self, other: QueueResponseSums) {
        self.add(other.queued_ns, other.response_ns);
    }
    /// Returns the share of the time from entering the queue to completion that was spent in the
    /// queue, or `None` without any time.
    pub fn share(&self) -> Option<f64> {
        let whole = self.queued_ns.saturating_add(self.response_ns);
        (whole > 0).then(|| self.queued_ns as f64 / whole as f64)
    }
    /// Returns the sums of a cell.
    pub(crate) fn of_cell(cell: &CubeCell) -> QueueResponseSums {
        QueueResponseSums { queued_ns: cell.both_queued_ns, response_ns: cell.both_response_ns }
    }
}

/// Queue times without their distribution.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueTimeSums {
    /// Number of I/Os with a known queue time.
    pub count: u64,
    /// Sum of the queue times, in nanoseconds.
    pub sum_ns: u64,
    /// Longest queue time, in nanoseconds.
    pub max_ns: u64,
    /// Sums over the I/Os whose response time is known too.
    pub together: QueueResponseSums,
}

impl QueueTimeSums {
    /// Adds a row if its queue time is known.
    #[inline]
    pub fn add(&mut self, rows: &AnnotatedRows<'_>, row: usize) {
        if let Some(queued) = rows.queued_ns(row) {
            self.count_one(queued, rows.response_ns(row));
        }
    }
    /// Adds a queue time and, if known, the response time of the same I/O.
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
    pub fn merge(&mut self, other: QueueTimeSums) {
        self.count = self.count.saturating_add(other.count);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.together.merge(other.together);
    }
    /// Returns the sums of a cell.
    pub fn of_cell(cell: &CubeCell) -> QueueTimeSums {
        let (count, sum_ns, max_ns) = (cell.queued.count, cell.queued.sum_ns, cell.queued.max_ns);
        QueueTimeSums { count, sum_ns, max_ns, together: QueueResponseSums::of_cell(cell) }
    }
    /// Returns the mean queue time in nanoseconds, or `None` if there is none.
    pub fn mean_ns(&self) -> Option<u64> {
        self.sum_ns.checked_div(self.count)
    }
    /// Returns the longest queue time in nanoseconds, or `None` if there is none.
    pub fn longest_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }
}
