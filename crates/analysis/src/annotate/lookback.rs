//! Recent ends of I/Os and sequential runs of one operation on one device. They decide whether the
//! next I/O is sequential, and which run it continues.
//!
//! Most I/Os begin where nothing ended. Therefore the ends are counted by a hash of their offsets, and
//! an I/O that begins at an offset without a count needs no search.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Number of classes of offsets per end, so that most classes are empty.
const CLASSES_PER_END: usize = 16;
/// Maximum number of bits in a class number.
const CLASS_BITS_MAX: u32 = 16;

/// Ends of I/Os and runs, as a checkpoint stores them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LookbackState {
    window: usize,
    /// Ends of the last `window` I/Os, oldest first.
    ends: VecDeque<u64>,
    runs: Vec<SequentialRun>,
    clock: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SequentialRun {
    end: u64,
    /// Logical time at which the run was last continued.
    continued: u64,
    /// Number of sequential I/Os so far.
    length: u32,
}

impl LookbackState {
    /// Iterates over the runs by index and the number of sequential I/Os in each.
    pub(crate) fn run_lengths(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.runs.iter().map(|run| run.length).enumerate()
    }
}

/// Recent ends of I/Os and runs, with an index.
pub(crate) struct Lookback {
    past: LookbackState,
    /// Number of ends of I/Os and of runs by [`Self::class`]; grows with their number, because a
    /// trace may have 65,536 devices.
    classes: Vec<u16>,
    /// Number of hash bits to shift out to get a class.
    shift: u32,
}

/// The run that an I/O continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlaceInRun {
    /// Index of the run; a run that begins may take that of a run that ended.
    pub run: usize,
    /// Position of the I/O within the run, starting at 1.
    pub position: u32,
}

impl Lookback {
    pub(crate) fn new(window: usize) -> Self {
        let (ends, runs) = (VecDeque::new(), Vec::new());
        Self::resume_from(LookbackState { window, ends, runs, clock: 0 })
    }

    pub(crate) fn resume_from(past: LookbackState) -> Self {
        let mut lookback = Lookback { past, classes: Vec::new(), shift: 0 };
        lookback.count_ends();
        lookback
    }

    pub(crate) fn state(&self) -> LookbackState {
        self.past.clone()
    }

    /// Adds the next I/O, by the offsets of its first byte and of the byte after its last. Returns
    /// its place within its run if it is sequential.
    #[inline]
    pub(crate) fn take(&mut self, begin: u64, end: u64) -> Option<PlaceInRun> {
        let may_continue = self.classes[self.class(begin)] > 0;
        let place = if may_continue { self.continue_from(begin, end) } else { None };
        if self.past.ends.len() < self.past.window {
            self.grow();
        } else if let Some(oldest) = self.past.ends.pop_front() {
            self.remove(oldest);
        }
        self.past.ends.push_back(end);
        self.add(end);
        place
    }

    /// Continues the first run that ended where an I/O begins, or begins a run if a recent I/O ended
    /// there.
    fn continue_from(&mut self, begin: u64, end: u64) -> Option<PlaceInRun> {
        if let Some(run) = self.past.runs.iter().position(|run| run.end == begin) {
            self.remove(begin);
            return Some(self.extend_run(run, end));
        }
        self.past.ends.contains(&begin).then(|| self.begin_run(end))
    }

    /// Begins a run with an I/O. At the limit, it replaces the run that was not continued for the
    /// longest time.
    fn begin_run(&mut self, end: u64) -> PlaceInRun {
        let runs = self.past.runs.len();
        if runs < self.past.window {
            self.grow();
            self.past.runs.push(SequentialRun::default());
            return self.extend_run(runs, end);
        }
        let oldest = (0..runs).min_by_key(|at| self.past.runs[*at].continued).unwrap_or(0);
        let replaced = std::mem::take(&mut self.past.runs[oldest]);
        self.remove(replaced.end);
        self.extend_run(oldest, end)
    }

    /// Adds an I/O to a run whose end was removed.
    fn extend_run(&mut self, at: usize, end: u64) -> PlaceInRun {
        self.past.clock += 1;
        let run = &mut self.past.runs[at];
        let length = run.length.saturating_add(1);
        *run = SequentialRun { end, continued: self.past.clock, length };
        self.add(end);
        PlaceInRun { run: at, position: length }
    }

    /// Makes room in the index for one more end.
    fn grow(&mut self) {
        let ends = self.past.ends.len() + self.past.runs.len() + 1;
        if self.classes.len() < (ends * CLASSES_PER_END).min(1 << CLASS_BITS_MAX) {
            self.count_ends();
        }
    }

    /// Counts all ends, in classes for twice as many.
    #[cold]
    fn count_ends(&mut self) {
        let LookbackState { ends, runs, .. } = &self.past;
        let classes = (ends.len() + runs.len()).max(1) * 2 * CLASSES_PER_END;
        let bits = classes.ilog2().min(CLASS_BITS_MAX);
        self.shift = u64::BITS - bits;
        self.classes = vec![0; 1 << bits];
        let all: Vec<u64> = ends.iter().copied().chain(runs.iter().map(|run| run.end)).collect();
        all.into_iter().for_each(|end| self.add(end));
    }

    #[inline]
    fn add(&mut self, end: u64) {
        let class = self.class(end);
        self.classes[class] += 1;
    }

    #[inline]
    fn remove(&mut self, end: u64) {
        let class = self.class(end);
        self.classes[class] -= 1;
    }

    /// Returns the class of an offset: the top bits of a hash.
    #[inline]
    fn class(&self, offset: u64) -> usize {
        (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::VecDeque;
    use steadfast_domain::random_bits::mix64;

    /// The rule as documented, without the optimizations. `P` is a place on a device or in a file.
    pub(crate) struct ReferenceLookback<P> {
        window: usize,
        ends: VecDeque<P>,
        runs: Vec<ReferenceRun<P>>,
        clock: u64,
    }

    struct ReferenceRun<P> {
        end: P,
        continued: u64,
        length: u32,
    }

    impl<P: Copy + PartialEq> ReferenceLookback<P> {
        pub(crate) fn new(window: usize) -> Self {
            ReferenceLookback { window, ends: VecDeque::new(), runs: Vec::new(), clock: 0 }
        }

        /// Returns the position of an I/O within its run; 0 for a random I/O.
        pub(crate) fn take(&mut self, begin: P, end: P) -> u32 {
            let run = self.runs.iter().position(|run| run.end == begin);
            let is_sequential = run.is_some() || self.ends.contains(&begin);
            self.ends.push_back(end);
            if self.ends.len() > self.window {
                self.ends.pop_front();
            }
            if !is_sequential {
                return 0;
            }
            self.clock += 1;
            let continued = self.clock;
            if let Some(run) = run.map(|at| &mut self.runs[at]) {
                *run = ReferenceRun { end, continued, length: run.length + 1 };
                return run.length;
            }
            if self.runs.len() == self.window {
                let oldest = (0..self.window).min_by_key(|at| self.runs[*at].continued).unwrap();
                self.runs[oldest] = ReferenceRun { end, continued, length: 1 };
            } else {
                self.runs.push(ReferenceRun { end, continued, length: 1 });
            }
            1
        }
    }

    #[test]
    fn the_index_finds_what_a_full_search_finds() {
        for window in [1, 2, 3, 32, 700, 4096] {
            let mut reference = ReferenceLookback::new(window);
            let mut lookback = Lookback::new(window);
            let mut state = 3;
            let mut draw = |below: u64| {
                state += 1;
                mix64(state) % below
            };
            for at in 0..60_000u64 {
                // Few distinct offsets, so that runs meet and several end at one offset.
                let begin = if draw(50) == 0 { u64::MAX - draw(2) } else { draw(40) * 512 };
                let end = begin.wrapping_add(512 * (1 + draw(3)));
                let found = lookback.take(begin, end).map_or(0, |place| place.position);
                assert_eq!(found, reference.take(begin, end), "{window}, {at}");
                if at % 5000 == 0 {
                    lookback = Lookback::resume_from(lookback.state());
                }
            }
        }
    }

    #[test]
    fn a_lookback_of_one_io_takes_little_memory_and_continues_nothing() {
        let mut lookback = Lookback::new(4096);
        assert_eq!(lookback.take(u64::MAX, 511), None);
        assert!(lookback.past.ends.capacity() <= 4 && lookback.classes.len() <= 64);
        assert_eq!(lookback.past.runs.capacity(), 0);
    }
}
