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
/// At least, where runs are told by it.
const RUN_BITS: u32 = 9;
/// At least, where I/Os are: those that are taken at once are many more than those that are
/// looked back at.
const MARK_BITS: u32 = 14;
const MARKS_MAX: usize = 1 << CLASS_BITS_MAX;

/// Bits of the number of a class where `window` I/Os are looked back at.
fn class_bits(window: usize, least: u32) -> u32 {
    let wanted = window.saturating_mul(CLASSES_EACH).max(1);
    wanted.ilog2().clamp(least, CLASS_BITS_MAX)
}

/// Ends of I/Os and of runs, as they are kept with a place in a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recent {
    ends: Vec<u64>,
    /// What [`short`] makes of each: twice as many are compared at once.
    short_ends: Vec<u32>,
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
    /// By [`class`].
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
        let (begin, before) = (self.begins[at], at..at + self.before);
        holds(&self.short_ends[before.clone()], short(begin)) && self.ends[before].contains(&begin)
    }
}

impl Recent {
    fn new(window: usize) -> Self {
        // Nothing begins at the last byte of the address space.
        Recent {
            ends: vec![u64::MAX; window],
            short_ends: vec![short(u64::MAX); window],
            next: 0,
            runs: vec![u64::MAX; window],
            short_runs: vec![short(u64::MAX); window],
            continued: vec![0; window],
            lengths: vec![0; window],
            clock: 0,
        }
    }

    /// The first run that ended at a place.
    fn run_at(&self, begin: u64) -> Option<usize> {
        self.runs.iter().position(|run| *run == begin)
    }

    /// Remembers the ends of I/Os in the place of those that came the longest time ago.
    fn remember(&mut self, all: &Successive) {
        let window = self.ends.len();
        let taken = all.begins.len();
        // The first of so many that none is written over.
        let first = taken.saturating_sub(window);
        self.next = (self.next + first) % window;
        for at in all.before + first..all.before + taken {
            self.ends[self.next] = all.ends[at];
            self.short_ends[self.next] = all.short_ends[at];
            self.next = (self.next + 1) % window;
        }
    }

    /// The run that was not continued for the longest time.
    #[cold]
    #[inline(never)]
    fn oldest_run(&self) -> Option<usize> {
        self.continued.iter().zip(0..).min().map(|(_, at)| at)
    }
}

impl Lookback {
    /// Back to the last `window` I/Os and runs, of which there were none yet.
    pub(crate) fn new(window: usize) -> Self {
        Self::going_on(Recent::new(window))
    }

    /// One that goes on where another stood.
    pub(crate) fn going_on(recent: Recent) -> Self {
        let bits = class_bits(recent.runs.len(), RUN_BITS);
        let runs = vec![RunsOfClass::default(); 1 << bits];
        let mut lookback = Lookback { recent, runs, shift: u32::BITS - bits };
        for run in 0..lookback.recent.short_runs.len() {
            lookback.enter_run(lookback.recent.short_runs[run], run);
        }
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

    #[inline]
    fn class(&mut self, short: u32) -> &mut RunsOfClass {
        &mut self.runs[class(short, self.shift)]
    }

    fn enter_run(&mut self, short: u32, run: usize) {
        let class = self.class(short);
        class.count += 1;
        class.last = run as u32;
    }

    /// The first run that ended at a place.
    #[inline]
    fn run_at(&self, begin: u64) -> Option<usize> {
        let RunsOfClass { count, last } = self.runs[class(short(begin), self.shift)];
        match count {
            0 => None,
            // One alone in its class cannot have another before it.
            1 if self.recent.runs.get(last as usize) == Some(&begin) => Some(last as usize),
            _ => self.recent.run_at(begin),
        }
    }

    /// Moves a run's end, or puts a new run in the place of the one that was
    /// not continued for the longest time; gives its length.
    #[inline(always)]
    fn run_to(&mut self, end: u64, known: Option<usize>) -> u32 {
        self.recent.clock += 1;
        let Some(at) = known.or_else(|| self.recent.oldest_run()) else { return 1 };
        let (gone, new) = (self.recent.short_runs[at], short(end));
        self.class(gone).count -= 1;
        self.enter_run(new, at);
        let recent = &mut self.recent;
        recent.runs[at] = end;
        recent.short_runs[at] = new;
        recent.continued[at] = recent.clock;
        recent.lengths[at] = if known.is_some() { recent.lengths[at].saturating_add(1) } else { 1 };
        recent.lengths[at]
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

    /// The rule as it is written, compared with every end that is remembered.
    fn plainly(recent: &mut Recent, begin: u64, end: u64) -> u32 {
        let run = recent.runs.iter().position(|run| *run == begin);
        let sequential = run.is_some() || recent.ends.contains(&begin);
        let next = recent.next;
        recent.ends[next] = end;
        recent.next = (next + 1) % recent.ends.len();
        if !sequential {
            return 0;
        }
        recent.clock += 1;
        let at = run.or_else(|| recent.oldest_run()).unwrap();
        recent.lengths[at] = if run.is_some() { recent.lengths[at] + 1 } else { 1 };
        (recent.runs[at], recent.continued[at]) = (end, recent.clock);
        recent.lengths[at]
    }

    #[test]
    fn marks_find_what_a_search_of_all_finds() {
        for window in [1, 2, 3, 32, 700, 4096] {
            let (mut plain, mut quick) = (Recent::new(window), Lookback::new(window));
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
                    ios.iter().map(|(begin, end)| plainly(&mut plain, *begin, *end)).collect();
                assert_eq!(plainly, found, "{window}, {at}");
                if at % 97 == 0 {
                    quick = Lookback::going_on(quick.recent().clone());
                }
            }
            assert_eq!((&plain.ends, &plain.runs), (&quick.recent.ends, &quick.recent.runs));
            assert_eq!(plain.next, quick.recent.next);
        }
    }
}
