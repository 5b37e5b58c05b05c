//! A [`Checkpoint`] from which a pass over a trace can begin.

use crate::annotate::sequential::SequencerState;
use serde::{Deserialize, Serialize};

/// A position in a trace from which a pass can begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Time of the position, in nanoseconds: every I/O before it was issued earlier, every I/O
    /// after it at this time or later.
    pub at_ns: u64,
    /// The first row group that holds I/Os after the position.
    pub(crate) group: usize,
    pub(crate) sequencer: SequencerState,
}
