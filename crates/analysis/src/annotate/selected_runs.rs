//! [`SelectedRunLengths`]: the lengths of sequential runs under a filter. The I/Os of one run may come from
//! several processes, or the run may begin before the selected time.

use crate::annotate::sequential::{IoAnnotations, SequencerState};
use rustc_hash::FxHashMap;

/// Counts the I/Os of sequential runs that the filter drops.
#[derive(Debug, Default)]
pub(crate) struct SelectedRunLengths {
    /// Dropped I/Os of each run that has any, by slot.
    dropped: FxHashMap<u32, u32>,
}

impl SelectedRunLengths {
    /// Starts at a checkpoint. The I/Os before it count as dropped.
    pub(crate) fn resume_from(before: &SequencerState) -> Self {
        SelectedRunLengths { dropped: before.run_lengths().collect() }
    }

    /// Changes positions among all I/Os of a run to positions among those that pass the filter.
    pub(crate) fn count(&mut self, annotations: &mut [IoAnnotations], kept: &[bool]) {
        if self.dropped.is_empty() && !kept.contains(&false) {
            return;
        }
        let sequential = annotations.iter_mut().zip(kept).filter(|(io, _)| io.run > 0);
        for (io, is_kept) in sequential {
            if io.run == 1 {
                self.dropped.remove(&io.run_slot);
            }
            if *is_kept {
                let dropped = self.dropped.get(&io.run_slot).copied().unwrap_or(0);
                io.run = io.run.saturating_sub(dropped);
            } else {
                let dropped = self.dropped.entry(io.run_slot).or_insert(0);
                *dropped = dropped.saturating_add(1);
            }
        }
    }
}
