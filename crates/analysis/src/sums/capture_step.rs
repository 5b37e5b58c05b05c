//! [`CaptureStep`]: sums over the I/Os that were issued in one interval.

use crate::cells::CubeCell;
use crate::sums::queue_time::QueueTimeSums;
use crate::sums::response::TOLD_LEAST;
use steadfast_domain::histogram::{CoarseHistogram, FineHistogram};
use steadfast_domain::{IoOp, Nanos};

/// Sums over the I/Os of one operation in one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OpCount {
    /// Number of I/Os.
    pub ios: u64,
    /// Number of bytes moved.
    pub bytes: u64,
    /// Number of sequential I/Os.
    pub sequential: u64,
}

/// Sums over one capture step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureStep {
    /// Sums by operation, in the order of `IoOp::ALL`.
    pub ops: [OpCount; 5],
    /// Number of I/Os whose completion was seen.
    pub responses: u64,
    /// Sum of the response times, in nanoseconds.
    pub response_sum_ns: u64,
    /// Longest response time, in nanoseconds.
    pub response_max_ns: u64,
    /// Histogram of the response times, accurate to within 6.25 %.
    pub histogram: CoarseHistogram,
    /// Sum of the queue depths at issue of [`Self::depths`] I/Os.
    pub depth_sum: u64,
    /// Number of I/Os with a known queue depth.
    pub depths: u64,
    /// Largest queue depth at issue.
    pub depth_max: u32,
    /// Queue times.
    pub queued: QueueTimeSums,
    /// Time with an I/O outstanding, summed over devices, in nanoseconds.
    pub busy_ns: u64,
}

impl CaptureStep {
    /// Returns the number of I/Os of all operations.
    pub fn ios(&self) -> u64 {
        self.ops.iter().map(|op| op.ios).sum()
    }
    /// Returns the number of bytes of all reads and writes.
    pub fn bytes(&self) -> u64 {
        [IoOp::Read, IoOp::Write].into_iter().map(|op| self.ops[op as usize].bytes).sum()
    }
    /// Returns the mean response time, or `None` if no completion was seen.
    pub fn response_mean(&self) -> Option<Nanos> {
        self.response_sum_ns.checked_div(self.responses).map(Nanos)
    }
    /// Returns the longest response time, or `None` if no completion was seen.
    pub fn response_max(&self) -> Option<Nanos> {
        (self.responses > 0).then_some(Nanos(self.response_max_ns))
    }
    /// Returns a percentile of the response time, or `None` if fewer than ten I/Os lie beyond it or
    /// the histogram does not hold nearly all I/Os.
    pub fn percentile(&self, fraction: f64) -> Option<Nanos> {
        if (self.histogram.total() as f64) < self.responses as f64 * TOLD_LEAST {
            return None;
        }
        let value = self.histogram.reportable_percentile(fraction)?;
        Some(Nanos(value.0.min(self.response_max_ns)))
    }
    /// Returns the mean queue depth at issue, or `None` if no depth is known.
    pub fn depth_mean(&self) -> Option<f64> {
        (self.depths > 0).then(|| self.depth_sum as f64 / self.depths as f64)
    }
    /// Returns the share of reads and writes that are sequential, or `None` if there are none.
    pub fn sequential_share(&self) -> Option<f64> {
        let moving = [IoOp::Read, IoOp::Write].map(|op| self.ops[op as usize]);
        let ios: u64 = moving.iter().map(|op| op.ios).sum();
        let sequential: u64 = moving.iter().map(|op| op.sequential).sum();
        (ios > 0).then(|| sequential as f64 / ios as f64)
    }

    /// Adds a cell of a fold file. Each fine bucket lies within one coarse bucket.
    pub(crate) fn take_cell(&mut self, cell: &CubeCell, dense: &mut [u64]) {
        let op = &mut self.ops[cell.op as usize];
        op.ios = op.ios.saturating_add(cell.ios);
        op.bytes = op.bytes.saturating_add(cell.amount());
        op.sequential = op.sequential.saturating_add(if cell.sequential { cell.ios } else { 0 });
        let responses = &cell.responses;
        self.responses = self.responses.saturating_add(responses.count);
        self.response_sum_ns = self.response_sum_ns.saturating_add(responses.sum_ns);
        self.response_max_ns = self.response_max_ns.max(responses.max_ns);
        dense.fill(0);
        for (index, count) in &responses.buckets {
            let (least, _) = FineHistogram::bounds(usize::from(*index));
            dense[CoarseHistogram::index(least)] += count;
        }
        self.histogram.merge(&CoarseHistogram::from_dense(dense));
        self.depth_sum = self.depth_sum.saturating_add(cell.depth_sum);
        self.depths = self.depths.saturating_add(cell.depths);
        self.depth_max = self.depth_max.max(cell.depth_max);
        self.queued.merge(QueueTimeSums::of_cell(cell));
    }
    /// Adds another part of the same step.
    pub fn merge(&mut self, other: &CaptureStep) {
        for (ours, theirs) in self.ops.iter_mut().zip(&other.ops) {
            ours.ios += theirs.ios;
            ours.bytes = ours.bytes.saturating_add(theirs.bytes);
            ours.sequential += theirs.sequential;
        }
        self.responses += other.responses;
        self.response_sum_ns = self.response_sum_ns.saturating_add(other.response_sum_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.histogram.merge(&other.histogram);
        self.depth_sum += other.depth_sum;
        self.depths += other.depths;
        self.depth_max = self.depth_max.max(other.depth_max);
        self.queued.merge(other.queued);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
    }
}
