//! [`IoCount`]: the smallest sum of I/Os. Series and parts keep millions of them.

use crate::cube::CellSums;
use serde::{Deserialize, Serialize};

/// Number of I/Os and of their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoCount {
    /// Number of I/Os.
    pub ios: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl IoCount {
    /// Adds the I/Os of another part.
    #[inline]
    pub fn add(&mut self, more: IoCount) {
        self.ios = self.ios.saturating_add(more.ios);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

impl CellSums for IoCount {
    fn merge(&mut self, other: &Self) {
        self.add(*other);
    }
}
