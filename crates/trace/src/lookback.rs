//! Where the last I/Os and the last sequential runs of one operation on one device
//! ended: what tells whether the next I/O is sequential, and of which run.
//!
//! Nearly every I/O is asked for, and most begin where nothing ended. So I/Os are taken
//! many at once: all places where one of them, or one before, ended are marked by a hash;
//! one that begins at no mark needs no other look.

use serde::{Deserialize, Serialize};

/// Classes for every I/O or run that is looked back at, so that most are empty.
const CLASSES_EACH: usize = 16;
/// Bits of the number of a class at most.
const CLASS_BITS_MAX: u32 = 16;
/// At least, where I/Os are told by it: those that are taken at once are many more than those
/// that are looked back at.
const MARK_BITS: u32 = 14;
const MARKS_MAX: usize = 1 << CLASS_BITS_MAX;

/// Bits of the number of a class where so many I/Os or runs are looked back at.
fn class_bits(number: usize, least: u32) -> u32 {
    let wanted = number.saturating_mul(CLASSES_EACH).max(1);
    wanted.ilog2().clamp(least, CLASS_BITS_MAX)
}

/// Ends of I/Os and of runs, as they are kept with a place in a trace. They take no memory
/// before there are some: a trace may be of 65,536 devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recent {
    window: usize,
    ends: Vec<u64>,
    /// What [`short`] makes of each: twice as many are compared at once.
    short_ends: Vec<u32>,
    /// Where the next end is put, in the place of the oldest once there are enough.
    next: usize,
    runs: Vec<u64>,
    short_runs: Vec<u32>,
    /// When each run was last continued.
    continued: Vec<u64>,
    /// Sequential I/Os of each run so far.
    lengths: Vec<u32>,
    clock: u64,
}

/// The same with what finds a run among them.
pub(crate) struct Lookback {
    recent: Recent,
    /// By [`class`]; grows with the runs.
    runs: Vec<RunsOfClass>,
    /// What is not used of a hash for the class of a run.
    shift: u32,
}

/// Runs that ended at places of one class.
#[derive(Debug, Clone, Copy, Default)]
struct RunsOfClass {
    count: u32,
    /// The one that came last, which may be elsewhere by now.
    last: u32,
}

/// I/Os of one operation on one device, one after the other, and memory to look back from
/// them; the same for whatever operation comes next.
pub(crate) struct Successive {
    /// Where each begins and ends.
    begins: Vec<u64>,
    ends: Vec<u64>,
    /// What [`short`] makes of the ends.
    short_ends: Vec<u32>,
    /// Those that begin where something may have ended, ascending.
    candidates: Vec<u32>,
    marks: Marks,
    /// I/Os before the first that are among the ends.
    before: usize,
    window: usize,
}

/// Where something ended, by [`class`]. Nothing has to be wiped out for the next operation:
/// a mark says in whose turn it was made.
struct Marks {
    turns: Box<[u8; MARKS_MAX]>,
    turn: u8,
    /// The last class there is.
    last: usize,
}

/// The marks of one operation on one device.
struct Turn<'m> {
    turns: &'m mut [u8; MARKS_MAX],
    number: u8,
    last: usize,
}

impl Marks {
    /// None yet, where `window` I/Os are looked back at.
    fn new(window: usize) -> Self {
        let last = (1 << class_bits(window, MARK_BITS)) - 1;
        Marks { turns: Box::new([0; MARKS_MAX]), turn: 0, last }
    }

    /// The next turn, without a mark.
    fn next(&mut self) -> Turn<'_> {
        self.turn = self.turn.wrapping_add(1);
        if self.turn == 0 {
            self.turns.fill(0);
            self.turn = 1;
        }
        Turn { turns: &mut self.turns, number: self.turn, last: self.last }
    }
}

impl Turn<'_> {
    #[inline]
    fn mark(&mut self, short: u32) {
        self.turns[self.class(short)] = self.number;
    }

    #[inline]
    fn has(&self, short: u32) -> bool {
        self.turns[self.class(short)] == self.number
    }

    /// Never beyond the end, as can be seen from it alone.
    #[inline]
    fn class(&self, short: u32) -> usize {
        class(short, u32::BITS - CLASS_BITS_MAX) & self.last
    }
}

impl Successive {
    /// None yet, where `window` I/Os are looked back at.
    pub(crate) fn new(window: usize) -> Self {
        Successive {
            begins: Vec::new(),
            ends: Vec::new(),
            short_ends: Vec::new(),
            candidates: Vec::new(),
            marks: Marks::new(window),
            before: 0,
            window,
        }
    }

    /// I/Os from `begin` to `end` each, after those that are remembered: finds those that
    /// begin where something may have ended.
    fn gather(&mut self, recent: &Recent, ios: impl ExactSizeIterator<Item = (u64, u64)>) {
        self.before = in_their_order(&recent.ends, recent.next, &mut self.ends);
        in_their_order(&recent.short_ends, recent.next, &mut self.short_ends);
        self.make_room(ios.len());
        let (mut marks, candidates) = (self.marks.next(), self.candidates.as_mut_slice());
        let remembered = self.short_ends[..self.before].iter().chain(&recent.short_runs);
        remembered.for_each(|short| marks.mark(*short));
        let ends = self.ends[self.before..].iter_mut().zip(&mut self.short_ends[self.before..]);
        let each = self.begins.iter_mut().zip(ends).zip(ios);
        let mut found = 0;
        for (at, ((to_begin, (to_end, to_short)), (begin, end))) in (0u32..).zip(each) {
            let short_end = short(end);
            (*to_begin, *to_end, *to_short) = (begin, end, short_end);
            // Written for each and kept for few: quicker than a choice that a processor
            // cannot foresee.
            candidates[found] = at;
            found += usize::from(marks.has(short(begin)));
            marks.mark(short_end);
        }
        self.candidates.truncate(found);
    }

    /// For so many I/Os.
    fn make_room(&mut self, ios: usize) {
        self.begins.resize(ios, 0);
        self.candidates.resize(ios, 0);
        self.ends.resize(self.before + ios, 0);
        self.short_ends.resize(self.before + ios, 0);
    }

    /// Whether one of the I/Os before this one ended where it begins.
    fn has_end(&self, at: usize) -> bool {
        let end = self.before + at;
        let (begin, before) = (self.begins[at], end.saturating_sub(self.window)..end);
        holds(&self.short_ends[before.clone()], short(begin)) && self.ends[before].contains(&begin)
    }
}

impl Recent {
    fn new(window: usize) -> Self {
        Recent {
            window,
            ends: Vec::new(),
            short_ends: Vec::new(),
            next: 0,
            runs: Vec::new(),
            short_runs: Vec::new(),
            continued: Vec::new(),
            lengths: Vec::new(),
            clock: 0,
        }
    }

    /// The first run that ended at a place.
    fn run_at(&self, begin: u64) -> Option<usize> {
        self.runs.iter().position(|run| *run == begin)
    }

    /// Remembers the ends of I/Os in the place of those that came the longest time ago.
    fn remember(&mut self, all: &Successive) {
        // No more than are not written over.
        let first = all.begins.len().saturating_sub(self.window);
        for at in all.before + first..all.before + all.begins.len() {
            let (end, short) = (all.ends[at], all.short_ends[at]);
            if self.ends.len() < self.window {
                self.ends.push(end);
                self.short_ends.push(short);
            } else {
                (self.ends[self.next], self.short_ends[self.next]) = (end, short);
            }
            self.next = (self.next + 1) % self.window;
        }
    }

    /// Begins a run, in the place of the one that was not continued for the longest time
    /// once there are enough; gives its place, and what [`short`] makes of that run's end.
    fn begin_run(&mut self) -> (usize, Option<u32>) {
        if self.runs.len() < self.window {
            self.runs.push(0);
            self.short_runs.push(0);
            self.continued.push(0);
            self.lengths.push(0);
            return (self.runs.len() - 1, None);
        }
        let at = self.oldest_run();
        self.lengths[at] = 0;
        (at, Some(self.short_runs[at]))
    }

    /// The run that was not continued for the longest time.
    #[cold]
    #[inline(never)]
    fn oldest_run(&self) -> usize {
        self.continued.iter().zip(0..).min().map_or(0, |(_, at)| at)
    }
}

impl Lookback {
    /// Back to the last `window` I/Os and runs, of which there were none yet.
    pub(crate) fn new(window: usize) -> Self {
        Self::going_on(Recent::new(window))
    }

    /// One that goes on where another stood.
    pub(crate) fn going_on(recent: Recent) -> Self {
        let mut lookback = Lookback { recent, runs: Vec::new(), shift: 0 };
        lookback.class_runs();
        lookback
    }

    /// What it remembers.
    pub(crate) fn recent(&self) -> &Recent {
        &self.recent
    }

    /// Takes I/Os from `begin` to `end` each, one after the other, and remembers them; tells
    /// those that are sequential by their place among them, and the how manieth of its run
    /// each is.
    pub(crate) fn take_all(
        &mut self,
        space: &mut Successive,
        ios: impl ExactSizeIterator<Item = (u64, u64)>,
        mut found: impl FnMut(usize, u32),
    ) {
        space.gather(&self.recent, ios);
        for at in space.candidates.iter().map(|at| *at as usize) {
            let run = self.run_at(space.begins[at]);
            if run.is_some() || space.has_end(at) {
                found(at, self.run_to(space.ends[space.before + at], run));
            }
        }
        self.recent.remember(space);
    }

    /// Puts the runs into classes, of which there are enough for twice as many.
    #[cold]
    #[inline(never)]
    fn class_runs(&mut self) {
        let runs = self.recent.runs.len();
        let bits = class_bits(2 * runs, 1);
        self.shift = u32::BITS - bits;
        self.runs = vec![RunsOfClass::default(); if runs > 0 { 1 << bits } else { 0 }];
        for run in 0..runs {
            self.enter_run(self.recent.short_runs[run], run);
        }
    }

    /// Whether there are fewer classes than there should be.
    fn are_too_few(&self) -> bool {
        let wanted = (self.recent.runs.len() * CLASSES_EACH).min(1 << CLASS_BITS_MAX);
        self.runs.len() < wanted
    }

    #[inline]
    fn enter_run(&mut self, short: u32, run: usize) {
        let class = &mut self.runs[class(short, self.shift)];
        class.count += 1;
        class.last = run as u32;
    }

    /// The first run that ended at a place.
    #[inline]
    fn run_at(&self, begin: u64) -> Option<usize> {
        let RunsOfClass { count, last } = *self.runs.get(class(short(begin), self.shift))?;
        match count {
            0 => None,
            // One alone in its class cannot have another before it.
            1 if self.recent.runs.get(last as usize) == Some(&begin) => Some(last as usize),
            _ => self.recent.run_at(begin),
        }
    }

    /// Moves a run's end, or begins a run; gives its length.
    #[inline(always)]
    fn run_to(&mut self, end: u64, known: Option<usize>) -> u32 {
        let (at, gone) = match known {
            Some(at) => (at, Some(self.recent.short_runs[at])),
            None => self.recent.begin_run(),
        };
        let recent = &mut self.recent;
        recent.clock += 1;
        recent.runs[at] = end;
        recent.short_runs[at] = short(end);
        recent.continued[at] = recent.clock;
        recent.lengths[at] = recent.lengths[at].saturating_add(1);
        let length = recent.lengths[at];
        match gone {
            Some(gone) => {
                self.runs[class(gone, self.shift)].count -= 1;
                self.enter_run(short(end), at);
            }
            None if self.are_too_few() => self.class_runs(),
            None => self.enter_run(short(end), at),
        }
        length
    }
}

/// Puts what is remembered in the order in which it came, the oldest of it at `next`; gives
/// how much that is.
fn in_their_order<T: Copy>(remembered: &[T], next: usize, values: &mut Vec<T>) -> usize {
    let (newer, older) = remembered.split_at(next);
    values.clear();
    values.extend(older.iter().chain(newer));
    remembered.len()
}

/// A few bits of the hash of a place.
#[inline]
fn class(short: u32, shift: u32) -> usize {
    (short >> shift) as usize
}

/// 32 bits of a place that differ nearly always where the places do.
#[inline]
fn short(place: u64) -> u32 {
    (place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// Whether one of the values is this; without an early end, so that several are
/// compared at once.
#[inline]
fn holds(values: &[u32], wanted: u32) -> bool {
    values.iter().fold(false, |found, value| found | (*value == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::step::mix64;

    /// The rule as it is written.
    #[derive(Default)]
    struct Plain {
        window: usize,
        ends: Vec<u64>,
        /// Where each ended, when it was continued, its length.
        runs: Vec<(u64, usize, u32)>,
        clock: usize,
    }

    impl Plain {
        fn take(&mut self, begin: u64, end: u64) -> u32 {
            let run = self.runs.iter().position(|run| run.0 == begin);
            let last = self.ends.iter().rev().take(self.window);
            let is_sequential = run.is_some() || last.copied().any(|end| end == begin);
            self.ends.push(end);
            if !is_sequential {
                return 0;
            }
            self.clock += 1;
            let at = run.unwrap_or_else(|| self.begin());
            self.runs[at] = (end, self.clock, self.runs[at].2 + 1);
            self.runs[at].2
        }

        fn begin(&mut self) -> usize {
            if self.runs.len() < self.window {
                self.runs.push((0, 0, 0));
                return self.runs.len() - 1;
            }
            let oldest = self.runs.iter().map(|run| run.1).min();
            let at = self.runs.iter().position(|run| Some(run.1) == oldest).unwrap();
            self.runs[at].2 = 0;
            at
        }
    }

    #[test]
    fn marks_find_what_a_search_of_all_finds() {
        for window in [1, 2, 3, 32, 700, 4096] {
            let mut plain = Plain { window, ..Plain::default() };
            let mut quick = Lookback::new(window);
            let mut space = Successive::new(window);
            let mut state = 3;
            let mut draw = |below: u64| {
                state += 1;
                mix64(state) % below
            };
            for at in 0..997u64 {
                // Few places, so that runs meet and several end at one.
                let ios: Vec<(u64, u64)> = (0..draw(60) * draw(3))
                    .map(|_| {
                        let begin = if draw(50) == 0 { u64::MAX - draw(2) } else { draw(40) * 512 };
                        (begin, begin.wrapping_add(512 * (1 + draw(3))))
                    })
                    .collect();
                let mut found = vec![0; ios.len()];
                quick.take_all(&mut space, ios.iter().copied(), |at, run| found[at] = run);
                let plainly: Vec<u32> =
                    ios.iter().map(|(begin, end)| plain.take(*begin, *end)).collect();
                assert_eq!(plainly, found, "{window}, {at}");
                if at % 97 == 0 {
                    quick = Lookback::going_on(quick.recent().clone());
                }
            }
        }
    }
    #[test]
    fn what_was_never_seen_takes_no_memory_and_continues_nothing() {
        let (mut lookback, mut space) = (Lookback::new(4096), Successive::new(4096));
        let mut found = Vec::new();
        lookback.take_all(&mut space, [(u64::MAX, 511)].into_iter(), |at, _| found.push(at));
        let kept = &lookback.recent;
        assert!(found.is_empty() && kept.ends.capacity() <= 4 && lookback.runs.is_empty());
        assert_eq!(kept.runs.capacity(), 0);
    }
}
