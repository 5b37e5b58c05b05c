//! Threads with I/Os in each capture step. Together with the queue depth they are the "thread count
//! x queue depth" of a test: the outstanding I/Os, divided among those who wait for them.

use crate::fold::{AnnotatedRows, Fold};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use steadfast_domain::CaptureConditions;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of pairs of step and thread that are kept, of about 10 bytes each.
const PAIRS_MAX: usize = 1 << 22;

/// The threads with I/Os in each capture step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSteps {
    width_ns: u64,
    most: usize,
    /// Thread IDs by step; steps without a known thread are absent.
    steps: BTreeMap<u64, FxHashSet<u32>>,
    pairs: usize,
    /// Set if there were more pairs than are kept: the content was discarded.
    is_discarded: bool,
}

impl ThreadSteps {
    /// Creates an empty fold over steps of `width_ns` nanoseconds, or returns `None` if the capture
    /// recorded no threads.
    pub(crate) fn new(conditions: &CaptureConditions, width_ns: u64) -> Option<Self> {
        conditions.threads.then(|| Self::keeping(PAIRS_MAX, width_ns))
    }

    fn keeping(most: usize, width_ns: u64) -> Self {
        let width_ns = width_ns.max(1);
        ThreadSteps { width_ns, most, steps: BTreeMap::new(), pairs: 0, is_discarded: false }
    }

    /// Returns the number of threads with I/Os in a step; `None` if none is known.
    pub fn count(&self, step: u64) -> Option<u32> {
        self.steps.get(&step).and_then(|threads| u32::try_from(threads.len()).ok())
    }

    fn add(&mut self, step: u64, thread: u32) {
        if self.is_discarded || !self.steps.entry(step).or_default().insert(thread) {
            return;
        }
        self.pairs += 1;
        if self.pairs > self.most {
            self.is_discarded = true;
            self.steps = BTreeMap::new();
        }
    }
}

impl Fold for ThreadSteps {
    fn fields(&self) -> Fields {
        Fields::new(&[Field::Issued, Field::Tid])
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let batch = rows.batch;
        let tids = batch.narrow(Field::Tid);
        let mut last = None;
        // Thread 0 is the idle task, which submits for others.
        for row in rows.iter().filter(|row| tids.at(*row) > 0) {
            let pair = (batch.issued_ns(row) / self.width_ns, tids.at(row));
            // Consecutive I/Os are mostly of the same thread and step.
            if last != Some(pair) {
                self.add(pair.0, pair.1);
                last = Some(pair);
            }
        }
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(Self::keeping(self.most, self.width_ns))
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.is_discarded |= other.is_discarded;
        if self.is_discarded {
            self.steps = BTreeMap::new();
        }
        for (step, threads) in other.steps {
            threads.into_iter().for_each(|thread| self.add(step, thread));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_counts_once_in_a_step() {
        let mut all = ThreadSteps::keeping(100, 10);
        for (step, thread) in [(0, 7), (0, 7), (0, 8), (2, 9)] {
            all.add(step, thread);
        }
        assert_eq!([0, 1, 2].map(|step| all.count(step)), [Some(2), None, Some(1)]);
        let mut other = all.new_part().unwrap();
        assert_eq!(other.count(0), None);
        for (step, thread) in [(0, 7), (1, 7)] {
            other.add(step, thread);
        }
        all.merge(other).unwrap();
        assert_eq!([0, 1, 2].map(|step| all.count(step)), [Some(2), Some(1), Some(1)]);
    }

    #[test]
    fn more_pairs_than_are_kept_leave_none() {
        let mut whole = ThreadSteps::keeping(2, 10);
        let mut part = whole.new_part().unwrap();
        (0..2).for_each(|step| whole.add(step, 5));
        assert_eq!(whole.count(1), Some(1));
        (1..3).for_each(|step| part.add(step, 5));
        whole.merge(part).unwrap();
        assert_eq!([0, 1, 2].map(|step| whole.count(step)), [None; 3]);
    }
}
