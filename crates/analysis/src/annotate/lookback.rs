//! Recent ends of I/Os and sequential runs of one operation on one device. They decide whether the
//! next I/O is sequential, and which run it continues.
//!
//! Nearly every I/O is looked up, and most begin where nothing ended. Therefore I/Os are processed
//! in batches: a hash table marks all offsets at which an I/O of the batch or an earlier one ended,
//! and an I/O that begins at no mark needs no further lookup.

use serde::{Deserialize, Serialize};

/// Maximum number of I/Os in a batch.
pub(crate) const IOS_MAX: usize = 4096;
/// Number of classes per I/O or run in the lookback, so that most classes are empty.
const CLASSES_PER_ENTRY: usize = 16;
/// Maximum number of bits in a class number.
const CLASS_BITS_MAX: u32 = 16;
/// Minimum number of bits in the class number of a mark: a batch holds many more I/Os than the
/// lookback.
const MARK_BITS: u32 = 14;
const MARKS_MAX: usize = 1 << CLASS_BITS_MAX;

/// Returns the number of bits in a class number for `number` I/Os or runs, at least `least`.
fn class_bits(number: usize, least: u32) -> u32 {
    let wanted = number.saturating_mul(CLASSES_PER_ENTRY).max(1);
    wanted.ilog2().clamp(least, CLASS_BITS_MAX)
}

/// Ends of I/Os and runs, as a checkpoint stores them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LookbackState {
    window: usize,
    ends: Vec<u64>,
    /// The [`short`] hash of each end.
    short_ends: Vec<u32>,
    /// Index of the oldest end, once the list is full.
    next: usize,
    runs: Vec<u64>,
    short_runs: Vec<u32>,
    /// Logical time at which each run was last continued.
    continued: Vec<u64>,
    /// Number of sequential I/Os in each run so far.
    lengths: Vec<u32>,
    clock: u64,
}

impl LookbackState {
    /// Iterates over the runs by index and the number of sequential I/Os in each.
    pub(crate) fn run_lengths(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        self.lengths.iter().copied().enumerate()
    }
}

/// Recent ends of I/Os and runs, with an index of the runs. An unused lookback takes no memory: a
/// trace may have 65,536 devices.
pub(crate) struct Lookback {
    window: usize,
    /// Ends of I/Os, oldest first.
    ends: Vec<u64>,
    runs: Vec<SequentialRun>,
    clock: u64,
    /// Runs by [`class`] of their end; grows with the number of runs.
    classes: Vec<RunClass>,
    /// Number of hash bits to shift out to get the class of a run.
    shift: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct SequentialRun {
    end: u64,
    /// Logical time at which the run was last continued.
    continued: u64,
    length: u32,
}

/// The run that an I/O continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlaceInRun {
    /// Index of the run; a run that begins may take that of a run that ended.
    pub run: usize,
    /// Position of the I/O within the run, starting at 1.
    pub position: u32,
}

/// The runs whose ends fall into one class.
#[derive(Debug, Clone, Copy, Default)]
struct RunClass {
    count: u32,
    /// Index of the run that entered the class last; it may have left the class since.
    last: u32,
}

/// Offsets of the first byte of an I/O and of the byte after its last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IoExtent {
    pub begin: u64,
    pub end: u64,
}

/// Successive I/Os of one operation on one device: at most [`IOS_MAX`] rows, and a function that
/// returns the extent of each.
#[derive(Clone, Copy)]
pub(crate) struct DeviceIos<'r, E> {
    pub rows: &'r [u16],
    pub extent_of: E,
}

/// A function that returns the extent of the I/O of a row.
pub(crate) trait RowExtent: Fn(u16) -> IoExtent + Copy {}

impl<E: Fn(u16) -> IoExtent + Copy> RowExtent for E {}

/// Scratch memory for processing a batch, shared by all operations and devices.
pub(crate) struct LookbackScratch {
    /// The [`short`] hashes of the remembered ends: at half the size, twice as many are compared at
    /// once.
    short_ends: Vec<u32>,
    marks: Box<EndMarks>,
    turn: u8,
    /// The highest class number of marks.
    last: usize,
}

/// Data written for each I/O, kept together because a processor has few registers.
struct EndMarks {
    /// Number of the last turn that marked each [`class`] of offsets. A new turn needs no clearing.
    turns: [u8; MARKS_MAX],
    /// The [`short`] hash of the end of each I/O.
    short_ends: [u32; IOS_MAX],
    /// Indexes of the I/Os that begin at a mark, ascending.
    candidates: [u16; IOS_MAX],
}

impl<E: RowExtent> DeviceIos<'_, E> {
    /// Returns the extent of the I/O at an index.
    #[inline]
    fn extent(self, index: usize) -> IoExtent {
        (self.extent_of)(self.rows[index])
    }
}

/// The marks of one operation on one device.
#[derive(Clone, Copy)]
struct OpMarks {
    number: u8,
    last: usize,
}

impl OpMarks {
    #[inline]
    fn mark(self, turns: &mut [u8; MARKS_MAX], short: u32) {
        turns[self.class(short)] = self.number;
    }

    #[inline]
    fn has(self, turns: &[u8; MARKS_MAX], short: u32) -> bool {
        turns[self.class(short)] == self.number
    }

    /// Returns the class of a mark. The mask lets the compiler see that it is in bounds.
    #[inline]
    fn class(self, short: u32) -> usize {
        class(short, u32::BITS - CLASS_BITS_MAX) & self.last
    }
}

impl EndMarks {
    /// Collects the I/Os that begin at a mark, and marks where each ends; returns the number
    /// collected. This is a separate function so that all its state stays in registers.
    #[inline(never)]
    fn gather(&mut self, turn: OpMarks, ios: DeviceIos<'_, impl RowExtent>) -> usize {
        let mut found = 0;
        for (index, (row, short_end)) in ios.rows.iter().zip(&mut self.short_ends).enumerate() {
            let IoExtent { begin, end } = (ios.extent_of)(*row);
            *short_end = short(end);
            // Every index is written, but few are kept. This is faster than a branch that the
            // processor cannot predict. The modulo never applies; it avoids a bounds check.
            self.candidates[found % IOS_MAX] = index as u16;
            found += usize::from(turn.has(&self.turns, short(begin)));
            turn.mark(&mut self.turns, short(end));
        }
        found
    }
}

impl LookbackScratch {
    pub(crate) fn new(window: usize) -> Self {
        let marks =
            EndMarks { turns: [0; MARKS_MAX], short_ends: [0; IOS_MAX], candidates: [0; IOS_MAX] };
        let last = (1 << class_bits(window, MARK_BITS)) - 1;
        LookbackScratch { short_ends: Vec::new(), marks: Box::new(marks), turn: 0, last }
    }

    fn next_turn(&mut self) -> OpMarks {
        self.turn = self.turn.wrapping_add(1);
        if self.turn == 0 {
            self.marks.turns.fill(0);
            self.turn = 1;
        }
        OpMarks { number: self.turn, last: self.last }
    }

    /// Marks the remembered ends, then collects the I/Os that begin at a mark; returns the number
    /// collected.
    fn gather(&mut self, before: &Lookback, ios: DeviceIos<'_, impl RowExtent>) -> usize {
        let turn = self.next_turn();
        self.short_ends.clear();
        self.short_ends.extend(before.ends.iter().map(|end| short(*end)));
        let short_runs = before.runs.iter().map(|run| short(run.end));
        let remembered = self.short_ends.iter().copied().chain(short_runs);
        remembered.for_each(|short| turn.mark(&mut self.marks.turns, short));
        self.marks.gather(turn, ios)
    }
}

impl Lookback {
    pub(crate) fn new(window: usize) -> Self {
        let (ends, runs, classes) = (Vec::new(), Vec::new(), Vec::new());
        Lookback { window, ends, runs, clock: 0, classes, shift: 0 }
    }

    pub(crate) fn resume_from(state: LookbackState) -> Self {
        let LookbackState { window, mut ends, next, clock, .. } = state;
        ends.rotate_left(next);
        let run = |((end, continued), length)| SequentialRun { end, continued, length };
        let runs = state.runs.into_iter().zip(state.continued).zip(state.lengths).map(run);
        let mut lookback = Lookback { ends, runs: runs.collect(), clock, ..Self::new(window) };
        lookback.class_runs(lookback.runs.len());
        lookback
    }

    pub(crate) fn state(&self) -> LookbackState {
        LookbackState {
            window: self.window,
            ends: self.ends.clone(),
            short_ends: self.ends.iter().map(|end| short(*end)).collect(),
            next: self.ends.len() % self.window,
            runs: self.runs.iter().map(|run| run.end).collect(),
            short_runs: self.runs.iter().map(|run| short(run.end)).collect(),
            continued: self.runs.iter().map(|run| run.continued).collect(),
            lengths: self.runs.iter().map(|run| run.length).collect(),
            clock: self.clock,
        }
    }

    /// Processes a batch of I/Os in order and remembers their ends. Calls `found` with the row of
    /// each sequential I/O and its place within its run.
    pub(crate) fn take_all(
        &mut self,
        scratch: &mut LookbackScratch,
        ios: DeviceIos<'_, impl RowExtent>,
        mut found: impl FnMut(u16, PlaceInRun),
    ) {
        let count = scratch.gather(self, ios);
        for candidate in &scratch.marks.candidates[..count] {
            let index = usize::from(*candidate);
            let IoExtent { begin, end } = ios.extent(index);
            if let Some(place) = self.continue_run(begin, end) {
                found(ios.rows[index], place);
            } else if self.continues_recent_io(scratch, ios, index) {
                found(ios.rows[index], self.begin_run(end));
            }
        }
        self.remember(ios);
    }

    /// Returns true if one of the last `window` I/Os before this one ended where it begins.
    #[inline(never)]
    fn continues_recent_io(
        &self,
        scratch: &LookbackScratch,
        ios: DeviceIos<'_, impl RowExtent>,
        index: usize,
    ) -> bool {
        let begin = ios.extent(index).begin;
        let remembered = self.ends.len();
        let first = (remembered + index).saturating_sub(self.window);
        // The window covers the last of the remembered ends, then I/Os of this batch.
        let earlier = first.min(remembered)..;
        let mut in_batch = first.saturating_sub(remembered)..index;
        // The short hashes are compared first, because many of them are compared at once.
        let may_contain = |short_ends| holds(short_ends, short(begin));
        may_contain(&scratch.marks.short_ends[in_batch.clone()])
            && in_batch.any(|index| ios.extent(index).end == begin)
            || may_contain(&scratch.short_ends[earlier.clone()])
                && self.ends[earlier].contains(&begin)
    }

    /// Remembers the ends of a batch and drops the oldest ends beyond the window.
    fn remember(&mut self, ios: DeviceIos<'_, impl RowExtent>) {
        let first = ios.rows.len().saturating_sub(self.window);
        let dropped = (self.ends.len() + ios.rows.len() - first).saturating_sub(self.window);
        self.ends.drain(..dropped);
        self.ends.extend((first..ios.rows.len()).map(|index| ios.extent(index).end));
    }

    /// Rebuilds the index of runs with room for twice as many runs.
    #[cold]
    #[inline(never)]
    fn class_runs(&mut self, runs: usize) {
        let bits = class_bits(2 * runs, 1);
        self.shift = u32::BITS - bits;
        self.classes = vec![RunClass::default(); if runs > 0 { 1 << bits } else { 0 }];
        for run in 0..self.runs.len() {
            self.class_mut(self.runs[run].end).enter(run);
        }
    }

    #[inline]
    fn class_mut(&mut self, offset: u64) -> &mut RunClass {
        &mut self.classes[class(short(offset), self.shift)]
    }

    /// Returns the first run that ended at an offset.
    #[inline]
    fn run_at(&self, begin: u64) -> Option<usize> {
        let RunClass { count, last } = *self.classes.get(class(short(begin), self.shift))?;
        match count {
            0 => None,
            // A run alone in its class cannot be preceded by another one.
            1 if self.runs.get(last as usize).is_some_and(|run| run.end == begin) => {
                Some(last as usize)
            }
            _ => self.runs.iter().position(|run| run.end == begin),
        }
    }

    /// Continues the first run that ended where an I/O begins.
    #[inline(always)]
    fn continue_run(&mut self, begin: u64, end: u64) -> Option<PlaceInRun> {
        let run = self.run_at(begin)?;
        self.class_mut(begin).count -= 1;
        Some(self.run_to(run, end))
    }

    /// Begins a run with an I/O. At the limit, it replaces the run that was not continued for the
    /// longest time.
    #[cold]
    #[inline(never)]
    fn begin_run(&mut self, end: u64) -> PlaceInRun {
        let runs = self.runs.len();
        if runs >= self.window {
            let oldest = self.runs.iter().map(|run| run.continued).zip(0..).min();
            let at = oldest.map_or(0, |(_, at)| at);
            self.class_mut(self.runs[at].end).count -= 1;
            self.runs[at].length = 0;
            return self.run_to(at, end);
        }
        if self.classes.len() < ((runs + 1) * CLASSES_PER_ENTRY).min(1 << CLASS_BITS_MAX) {
            self.class_runs(runs + 1);
        }
        self.runs.push(SequentialRun::default());
        self.run_to(runs, end)
    }

    /// Adds an I/O to a run that is in no class.
    #[inline(always)]
    fn run_to(&mut self, at: usize, end: u64) -> PlaceInRun {
        self.clock += 1;
        let run = &mut self.runs[at];
        let length = run.length.saturating_add(1);
        *run = SequentialRun { end, continued: self.clock, length };
        self.class_mut(end).enter(at);
        PlaceInRun { run: at, position: length }
    }
}

impl RunClass {
    #[inline]
    fn enter(&mut self, run: usize) {
        *self = RunClass { count: self.count + 1, last: run as u32 };
    }
}

/// Returns the class of a hash: its top bits.
#[inline]
fn class(short: u32, shift: u32) -> usize {
    (short >> shift) as usize
}

/// Returns a 32-bit hash of an offset.
#[inline]
fn short(offset: u64) -> u32 {
    (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// Returns true if a value occurs. There is no early exit, so that several values are compared at
/// once.
#[inline]
fn holds(values: &[u32], wanted: u32) -> bool {
    values.iter().fold(false, |found, value| found | (*value == wanted))
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
    fn marks_find_what_a_full_search_finds() {
        for window in [1, 2, 3, 32, 700, 4096] {
            let mut reference = ReferenceLookback::new(window);
            let mut lookback = Lookback::new(window);
            let mut scratch = LookbackScratch::new(window);
            let mut state = 3;
            let mut draw = |below: u64| {
                state += 1;
                mix64(state) % below
            };
            for at in 0..997u64 {
                // Few distinct offsets, so that runs meet and several end at one offset.
                let ios: Vec<(u64, u64)> = (0..draw(60) * draw(3))
                    .map(|_| {
                        let begin = if draw(50) == 0 { u64::MAX - draw(2) } else { draw(40) * 512 };
                        (begin, begin.wrapping_add(512 * (1 + draw(3))))
                    })
                    .collect();
                let mut found = vec![0; ios.len()];
                let rows: Vec<u16> = (0..ios.len() as u16).collect();
                let extent_of = |row: u16| {
                    let (begin, end) = ios[usize::from(row)];
                    IoExtent { begin, end }
                };
                let device_ios = DeviceIos { rows: &rows, extent_of };
                lookback.take_all(&mut scratch, device_ios, |row, place| {
                    found[usize::from(row)] = place.position;
                });
                let expected: Vec<u32> =
                    ios.iter().map(|(begin, end)| reference.take(*begin, *end)).collect();
                assert_eq!(found, expected, "{window}, {at}");
                if at % 97 == 0 {
                    lookback = Lookback::resume_from(lookback.state());
                }
            }
        }
    }

    #[test]
    fn an_unused_lookback_takes_no_memory_and_continues_nothing() {
        let (mut lookback, mut scratch) = (Lookback::new(4096), LookbackScratch::new(4096));
        let mut found = Vec::new();
        let extent_of = |_| IoExtent { begin: u64::MAX, end: 511 };
        let one = DeviceIos { rows: &[0], extent_of };
        lookback.take_all(&mut scratch, one, |row, _| found.push(row));
        assert!(found.is_empty() && lookback.ends.capacity() <= 4);
        assert_eq!((lookback.runs.capacity(), lookback.classes.capacity()), (0, 0));
    }
}
