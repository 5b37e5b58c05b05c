//! [`CaptureStep`]: sums over the I/Os that were issued in one interval.

use crate::cells::CubeCell;
use crate::cube::CellSums;
use crate::sums::io_times::StepTimes;
use crate::sums::op_sums::OpSums;
use crate::sums::response::HISTOGRAM_SHARE_MIN;
use serde::{Deserialize, Serialize};
use steadfast_domain::histogram::CoarseHistogram;
use steadfast_domain::{IoOp, Nanos};

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
        OpSums::total(self.ops).ios
    }
    /// Returns the number of bytes read and written.
    pub fn transferred_bytes(&self) -> u64 {
        OpSums::transfers(&self.ops).bytes
    }
    /// Returns a percentile of the response time, or `None` if fewer than ten I/Os lie beyond it or
    /// the histogram does not hold nearly all I/Os.
    pub fn percentile(&self, fraction: f64) -> Option<Nanos> {
        let responses = self.times.responses;
        if (self.histogram.total() as f64) < responses.count as f64 * HISTOGRAM_SHARE_MIN {
            return None;
        }
        let value = self.histogram.reportable_percentile(fraction)?;
        Some(Nanos(value.0.min(responses.max_ns)))
    }
    /// Returns the share of reads and writes that are sequential, or `None` if there are none.
    pub fn sequential_share(&self) -> Option<f64> {
        OpSums::transfers(&self.ops).sequential_share()
    }

    /// Adds a cell of a fold file. `dense` is scratch memory of [`CoarseHistogram::LEN`] counts.
    pub(crate) fn add_cell(&mut self, cell: &CubeCell, dense: &mut [u64]) {
        self.ops[cell.op as usize].merge(OpSums::from_cell(cell));
        self.times.merge(&StepTimes::from_cell(cell));
        dense.fill(0);
        cell.responses.coarse_buckets().for_each(|(bucket, count)| dense[bucket] += count);
        self.histogram.merge(&CoarseHistogram::from_dense(dense));
    }
}

impl CellSums for CaptureStep {
    fn merge(&mut self, other: &Self) {
        OpSums::merge_each(&mut self.ops, &other.ops);
        self.times.merge(&other.times);
        self.histogram.merge(&other.histogram);
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
    }
}
