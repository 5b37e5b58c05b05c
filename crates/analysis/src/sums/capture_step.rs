//! [`CaptureStep`]: sums over the I/Os that were issued in one interval.

use crate::cells::CubeCell;
use crate::cube::CellSums;
use crate::sums::content::Contents;
use crate::sums::queue_time::QueueTimeSums;
use crate::sums::response::HISTOGRAM_SHARE_MIN;
use serde::{Deserialize, Serialize};
use steadfast_domain::histogram::CoarseHistogram;
use steadfast_domain::{IoOp, Nanos};

/// Sums over the I/Os of one operation. Sums from files saturate; single I/Os cannot overflow a count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpSums {
    /// Number of I/Os.
    pub ios: u64,
    /// Sum of their sizes, in bytes: a discard moves none of them.
    pub bytes: u64,
    /// Number of sequential I/Os.
    pub sequential: u64,
}

impl OpSums {
    /// Adds one I/O.
    #[inline]
    pub fn add(&mut self, bytes: u32, sequential: bool) {
        self.ios += 1;
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        self.sequential += u64::from(sequential);
    }
    /// Merges another part.
    pub fn merge(&mut self, other: OpSums) {
        self.ios = self.ios.saturating_add(other.ios);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.sequential = self.sequential.saturating_add(other.sequential);
    }
}

/// Response times, queue depths, queue times and sampled blocks of some I/Os.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTimes {
    /// Number of I/Os whose completion was seen.
    pub response_count: u64,
    /// Sum of the response times, in nanoseconds.
    pub response_sum_ns: u64,
    /// Longest response time, in nanoseconds.
    pub response_max_ns: u64,
    /// Sum of the queue depths at issue of [`Self::depth_count`] I/Os.
    pub depth_sum: u64,
    /// Number of I/Os with a known queue depth.
    pub depth_count: u64,
    /// Largest queue depth at issue.
    pub depth_max: u32,
    /// Queue times.
    pub queued: QueueTimeSums,
    /// Measurements of written blocks.
    pub contents: Contents,
}

impl StepTimes {
    /// Returns the sums of a cell.
    pub fn from_cell(cell: &CubeCell) -> Self {
        StepTimes {
            response_count: cell.responses.count,
            response_sum_ns: cell.responses.sum_ns,
            response_max_ns: cell.responses.max_ns,
            depth_sum: cell.depth_sum,
            depth_count: cell.depths,
            depth_max: cell.depth_max,
            queued: QueueTimeSums::of_cell(cell),
            contents: cell.contents,
        }
    }
    /// Adds an I/O without its content. A queue time or queue depth of 0 is unknown.
    #[inline]
    pub fn add(&mut self, response_ns: Option<u64>, queued_ns: u64, depth: u32) {
        if let Some(response) = response_ns {
            self.response_count += 1;
            self.response_sum_ns = self.response_sum_ns.saturating_add(response);
            self.response_max_ns = self.response_max_ns.max(response);
        }
        if queued_ns > 0 {
            self.queued.count_one(queued_ns, response_ns);
        }
        self.depth_sum += u64::from(depth);
        self.depth_count += u64::from(depth > 0);
        self.depth_max = self.depth_max.max(depth);
    }
    /// Merges another part.
    pub fn merge(&mut self, other: &StepTimes) {
        self.response_count = self.response_count.saturating_add(other.response_count);
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.depth_sum = self.depth_sum.saturating_add(other.depth_sum);
        self.depth_count = self.depth_count.saturating_add(other.depth_count);
        self.depth_max = self.depth_max.max(other.depth_max);
        self.queued.merge(other.queued);
        self.contents.merge(other.contents);
    }
    /// Returns the mean response time, or `None` if no completion was seen.
    pub fn response_mean(&self) -> Option<Nanos> {
        self.response_sum_ns.checked_div(self.response_count).map(Nanos)
    }
    /// Returns the longest response time, or `None` if no completion was seen.
    pub fn response_max(&self) -> Option<Nanos> {
        (self.response_count > 0).then_some(Nanos(self.response_max_ns))
    }
    /// Returns the mean queue depth at issue, or `None` if no depth is known.
    pub fn depth_mean(&self) -> Option<f64> {
        (self.depth_count > 0).then(|| self.depth_sum as f64 / self.depth_count as f64)
    }
    /// Returns the largest queue depth at issue, or `None` if no depth is known.
    pub fn depth_max(&self) -> Option<u32> {
        (self.depth_count > 0).then_some(self.depth_max)
    }
}

/// Sums over one capture step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureStep {
    /// Sums by operation, in the order of `IoOp::ALL`.
    pub ops: [OpSums; IoOp::ALL.len()],
    /// Times, queue depths and written blocks.
    pub times: StepTimes,
    /// Histogram of the response times, accurate to within 6.25 %.
    pub histogram: CoarseHistogram,
    /// Time with an I/O outstanding, summed over devices, in nanoseconds.
    pub busy_ns: u64,
}

impl CaptureStep {
    /// Returns the number of I/Os of all operations.
    pub fn ios(&self) -> u64 {
        self.ops.iter().map(|op| op.ios).sum()
    }
    /// Returns the number of bytes read and written.
    pub fn transferred_bytes(&self) -> u64 {
        [IoOp::Read, IoOp::Write].into_iter().map(|op| self.ops[op as usize].bytes).sum()
    }
    /// Returns a percentile of the response time, or `None` if fewer than ten I/Os lie beyond it or
    /// the histogram does not hold nearly all I/Os.
    pub fn percentile(&self, fraction: f64) -> Option<Nanos> {
        if (self.histogram.total() as f64) < self.times.response_count as f64 * HISTOGRAM_SHARE_MIN
        {
            return None;
        }
        let value = self.histogram.reportable_percentile(fraction)?;
        Some(Nanos(value.0.min(self.times.response_max_ns)))
    }
    /// Returns the share of reads and writes that are sequential, or `None` if there are none.
    pub fn sequential_share(&self) -> Option<f64> {
        let transfers = [IoOp::Read, IoOp::Write].map(|op| self.ops[op as usize]);
        let ios: u64 = transfers.iter().map(|op| op.ios).sum();
        let sequential: u64 = transfers.iter().map(|op| op.sequential).sum();
        (ios > 0).then(|| sequential as f64 / ios as f64)
    }

    /// Adds a cell of a fold file. `dense` is scratch memory of [`CoarseHistogram::LEN`] counts.
    pub(crate) fn add_cell(&mut self, cell: &CubeCell, dense: &mut [u64]) {
        let sequential = if cell.sequential { cell.ios } else { 0 };
        let op = OpSums { ios: cell.ios, bytes: cell.amount(), sequential };
        self.ops[cell.op as usize].merge(op);
        self.times.merge(&StepTimes::from_cell(cell));
        dense.fill(0);
        cell.responses.coarse_buckets().for_each(|(bucket, count)| dense[bucket] += count);
        self.histogram.merge(&CoarseHistogram::from_dense(dense));
    }
}

impl CellSums for CaptureStep {
    fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.ops.iter_mut().zip(other.ops) {
            ours.merge(theirs);
        }
        self.times.merge(&other.times);
        self.histogram.merge(&other.histogram);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
    }
}
