//! [`OpSums`]: number, bytes and order of the I/Os of one operation.

use crate::cells::CubeCell;
use serde::{Deserialize, Serialize};
use steadfast_domain::IoOp;

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
    /// Returns the sums of a cell.
    pub fn from_cell(cell: &CubeCell) -> Self {
        let sequential = if cell.sequential { cell.ios } else { 0 };
        OpSums { ios: cell.ios, bytes: cell.amount(), sequential }
    }

    /// Returns the sums over some operations.
    pub fn total(ops: impl IntoIterator<Item = OpSums>) -> Self {
        ops.into_iter().fold(OpSums::default(), |mut total, op| {
            total.merge(op);
            total
        })
    }

    /// Returns the sums over reads and writes, given those of all operations.
    pub fn transfers(ops: &[OpSums; IoOp::ALL.len()]) -> Self {
        Self::total([IoOp::Read, IoOp::Write].map(|op| ops[op as usize]))
    }

    /// Returns the share of sequential I/Os, 0 to 1, or `None` if there are no I/Os.
    pub fn sequential_share(&self) -> Option<f64> {
        (self.ios > 0).then(|| self.sequential as f64 / self.ios as f64)
    }

    /// Adds one I/O.
    #[inline]
    pub fn add(&mut self, bytes: u32, sequential: bool) {
        self.ios += 1;
        self.bytes = self.bytes.saturating_add(u64::from(bytes));
        self.sequential += u64::from(sequential);
    }

    /// Merges the sums of another part, operation by operation.
    pub fn merge_each(ops: &mut [OpSums; IoOp::ALL.len()], others: &[OpSums; IoOp::ALL.len()]) {
        for (op, other) in ops.iter_mut().zip(others) {
            op.merge(*other);
        }
    }

    /// Merges another part.
    pub fn merge(&mut self, other: OpSums) {
        self.ios = self.ios.saturating_add(other.ios);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.sequential = self.sequential.saturating_add(other.sequential);
    }
}
