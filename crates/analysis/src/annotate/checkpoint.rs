//! A [`Checkpoint`]: a place in a trace from which a pass can begin.

use crate::annotate::sequence::Neighbors;
use serde::{Deserialize, Serialize};

/// A place in a trace from which a pass can begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Everything before it was issued earlier than this, everything after it then or
    /// later.
    pub at_ns: u64,
    /// The first row group that holds anything after it.
    pub(crate) group: usize,
    /// What is remembered of the I/Os before it.
    pub(crate) neighbors: Neighbors,
}
