//! [`IoTimes`]: the sums that a capture step and a row of a table have in common.

use crate::cells::{CubeCell, Times};
use crate::sums::content::Contents;
use serde::{Deserialize, Serialize};
use steadfast_domain::Nanos;
use steadfast_tracefile::cube_file::{DepthSums, QueueResponseSums, TimeSums};

/// Response times, queue depths, queue times and sampled blocks of some I/Os. `T` holds the sums of
/// times, with a histogram or without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoTimes<T> {
    /// Response times.
    pub responses: T,
    /// Queue depths at issue.
    pub depths: DepthSums,
    /// Queue times, of the I/Os for which they are known.
    pub queued: T,
    /// Times of the I/Os for which both queue time and response time are known.
    pub together: QueueResponseSums,
    /// Measurements of written blocks.
    pub contents: Contents,
}

impl<T> IoTimes<T> {
    /// Adds an I/O without its content; `add` adds a time to its sums. A queue time or queue depth
    /// of 0 is unknown.
    #[inline]
    pub(crate) fn add_with(
        &mut self,
        response_ns: Option<u64>,
        queued_ns: u64,
        depth: u32,
        add: impl Fn(&mut T, u64),
    ) {
        if let Some(response_ns) = response_ns {
            add(&mut self.responses, response_ns);
        }
        if queued_ns > 0 {
            add(&mut self.queued, queued_ns);
            if let Some(response_ns) = response_ns {
                self.together.add(queued_ns, response_ns);
            }
        }
        self.depths.add(depth);
    }

    /// Merges another part; `merge` merges sums of times.
    pub(crate) fn merge_with(&mut self, other: &Self, merge: impl Fn(&mut T, &T)) {
        merge(&mut self.responses, &other.responses);
        merge(&mut self.queued, &other.queued);
        self.depths.merge(other.depths);
        self.together.merge(other.together);
        self.contents.merge(other.contents);
    }

    /// Adds a cell; `merge` adds its times to sums of times.
    pub(crate) fn add_cell_with(&mut self, cell: &CubeCell, merge: impl Fn(&mut T, &Times)) {
        merge(&mut self.responses, &cell.responses);
        merge(&mut self.queued, &cell.queued);
        self.depths.merge(cell.depths);
        self.together.merge(cell.together);
        self.contents.merge(cell.contents);
    }
}

/// Times without histograms.
pub type StepTimes = IoTimes<TimeSums>;

impl StepTimes {
    /// Returns the sums of a cell.
    pub fn from_cell(cell: &CubeCell) -> Self {
        let mut times = StepTimes::default();
        times.add_cell_with(cell, |sums, more| sums.merge(more.total));
        times
    }

    /// Adds an I/O without its content. A queue time or queue depth of 0 is unknown.
    #[inline]
    pub fn add(&mut self, response_ns: Option<u64>, queued_ns: u64, depth: u32) {
        self.add_with(response_ns, queued_ns, depth, TimeSums::add);
    }

    /// Merges another part.
    pub fn merge(&mut self, other: &StepTimes) {
        self.merge_with(other, |sums, more| sums.merge(*more));
    }

    /// Returns the mean response time, or `None` if no completion was seen.
    pub fn response_mean(&self) -> Option<Nanos> {
        self.responses.mean_ns().map(Nanos)
    }

    /// Returns the longest response time, or `None` if no completion was seen.
    pub fn response_max(&self) -> Option<Nanos> {
        self.responses.longest_ns().map(Nanos)
    }
}
