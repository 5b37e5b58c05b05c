//! Where the last I/Os and the last sequential runs of one operation on one device
//! ended: what tells whether the next I/O is sequential, and of which run.
//!
//! Nearly every I/O is asked for, and most begin where nothing ended. So I/Os are taken
//! many at once: all places where one of them, or one before, ended are marked by a hash;
//! one that begins at no mark needs no other look.

use serde::{Deserialize, Serialize};

/// I/Os that are taken at once, at most.
pub(crate) const IOS_MAX: usize = 4096;
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

/// Ends of I/Os and of runs, as they are kept with a place in a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recent {
    window: usize,
    ends: Vec<u64>,
    /// What [`short`] makes of each.
    short_ends: Vec<u32>,
    /// Where the oldest end is, once there are enough.
    next: usize,
    runs: Vec<u64>,
    short_runs: Vec<u32>,
    /// When each run was last continued.
    continued: Vec<u64>,
    /// Sequential I/Os of each run so far.
    lengths: Vec<u32>,
    clock: u64,
}

/// Ends of I/Os and of runs, with what finds a run among them. They take no memory before
/// there are some: a trace may be of 65,536 devices.
pub(crate) struct Lookback {
    window: usize,
    /// As they came, the oldest first.
    ends: Vec<u64>,
    runs: Vec<Run>,
    clock: u64,
    /// By [`class`]; grows with the runs.
    classes: Vec<RunsOfClass>,
    /// What is not used of a hash for the class of a run.
    shift: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Run {
    end: u64,
    /// When it was last continued.
    continued: u64,
    /// Its sequential I/Os so far.
    length: u32,
}

/// Runs that ended at places of one class.
#[derive(Debug, Clone, Copy, Default)]
struct RunsOfClass {
    count: u32,
    /// The one that came last, which may be elsewhere by now.
    last: u32,
}

/// I/Os of one operation on one device, one after the other: at most [`IOS_MAX`] rows, and
/// where that of each begins and ends.
#[derive(Clone, Copy)]
pub(crate) struct Ios<'r, P> {
    pub rows: &'r [u16],
    pub place: P,
}

/// Where the I/O of a row begins and ends.
pub(crate) trait Place: Fn(u16) -> (u64, u64) + Copy {}

impl<P: Fn(u16) -> (u64, u64) + Copy> Place for P {}

/// Memory to look back from some I/Os; the same for whatever operation comes next.
pub(crate) struct Successive {
    /// What [`short`] makes of the ends that are remembered: twice as many are compared at
    /// once.
    short_ends: Vec<u32>,
    desk: Box<OutstandingByPlace>,
    turn: u8,
    /// The last class of marks there is.
    last: usize,
}

/// What is written of each I/O, all in one place: a processor has few registers.
struct OutstandingByPlace {
    /// In whose turn something ended at places of a [`class`]. Nothing has to be wiped out for
    /// the next operation.
    turns: [u8; MARKS_MAX],
    /// What [`short`] makes of the end of each.
    short_ends: [u32; IOS_MAX],
    /// Those that begin where something may have ended, ascending.
    candidates: [u16; IOS_MAX],
}

impl<P: Place> Ios<'_, P> {
    /// Where one of them begins and ends.
    #[inline]
    fn at(self, at: usize) -> (u64, u64) {
        (self.place)(self.rows[at])
    }
}

/// The marks of one operation on one device.
#[derive(Clone, Copy)]
struct Turn {
    number: u8,
    last: usize,
}

impl Turn {
    #[inline]
    fn mark(self, turns: &mut [u8; MARKS_MAX], short: u32) {
        turns[self.class(short)] = self.number;
    }

    #[inline]
    fn has(self, turns: &[u8; MARKS_MAX], short: u32) -> bool {
        turns[self.class(short)] == self.number
    }

    /// Never beyond the end, as can be seen from it alone.
    #[inline]
    fn class(self, short: u32) -> usize {
        class(short, u32::BITS - CLASS_BITS_MAX) & self.last
    }
}

impl OutstandingByPlace {
    /// Looks at I/Os one after the other: finds those that begin where something may have
    /// ended, and gives their number. Apart from what comes next, so that all that it takes
    /// stays in registers.
    #[inline(never)]
    fn gather(&mut self, turn: Turn, ios: Ios<'_, impl Place>) -> usize {
        let mut found = 0;
        for (at, (row, to_short)) in ios.rows.iter().zip(&mut self.short_ends).enumerate() {
            let (begin, end) = (ios.place)(*row);
            let short_end = short(end);
            *to_short = short_end;
            // Written for each and kept for few: quicker than a choice that a processor
            // cannot foresee. The bound is never reached, and spares a check.
            self.candidates[found % IOS_MAX] = at as u16;
            found += usize::from(turn.has(&self.turns, short(begin)));
            turn.mark(&mut self.turns, short_end);
        }
        found
    }
}

impl Successive {
    /// None yet, where `window` I/Os are looked back at.
    pub(crate) fn new(window: usize) -> Self {
        let desk = OutstandingByPlace {
            turns: [0; MARKS_MAX],
            short_ends: [0; IOS_MAX],
            candidates: [0; IOS_MAX],
        };
        let last = (1 << class_bits(window, MARK_BITS)) - 1;
        Successive { short_ends: Vec::new(), desk: Box::new(desk), turn: 0, last }
    }

    /// The next turn, without a mark.
    fn next_turn(&mut self) -> Turn {
        self.turn = self.turn.wrapping_add(1);
        if self.turn == 0 {
            self.desk.turns.fill(0);
            self.turn = 1;
        }
        Turn { number: self.turn, last: self.last }
    }

    /// Takes I/Os after those that are remembered; gives how many begin where something may
    /// have ended.
    fn gather(&mut self, before: &Lookback, ios: Ios<'_, impl Place>) -> usize {
        let turn = self.next_turn();
        self.short_ends.clear();
        self.short_ends.extend(before.ends.iter().map(|end| short(*end)));
        let short_runs = before.runs.iter().map(|run| short(run.end));
        let remembered = self.short_ends.iter().copied().chain(short_runs);
        remembered.for_each(|short| turn.mark(&mut self.desk.turns, short));
        self.desk.gather(turn, ios)
    }
}

impl Lookback {
    /// Back to the last `window` I/Os and runs, of which there were none yet.
    pub(crate) fn new(window: usize) -> Self {
        let (ends, runs, classes) = (Vec::new(), Vec::new(), Vec::new());
        Lookback { window, ends, runs, clock: 0, classes, shift: 0 }
    }

    /// One that goes on where another stood.
    pub(crate) fn going_on(recent: Recent) -> Self {
        let Recent { window, mut ends, next, clock, .. } = recent;
        ends.rotate_left(next);
        let run = |((end, continued), length): ((&u64, &u64), &u32)| Run {
            end: *end,
            continued: *continued,
            length: *length,
        };
        let runs = recent.runs.iter().zip(&recent.continued).zip(&recent.lengths).map(run);
        let mut lookback = Lookback { ends, runs: runs.collect(), clock, ..Self::new(window) };
        lookback.class_runs(lookback.runs.len());
        lookback
    }

    /// What it remembers.
    pub(crate) fn recent(&self) -> Recent {
        Recent {
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

    /// Takes I/Os one after the other, and remembers them; tells the rows of those that are
    /// sequential, and the how manieth of its run each is.
    pub(crate) fn take_all(
        &mut self,
        space: &mut Successive,
        ios: Ios<'_, impl Place>,
        mut found: impl FnMut(u16, u32),
    ) {
        let count = space.gather(self, ios);
        for at in space.desk.candidates[..count].iter().map(|at| usize::from(*at)) {
            let (begin, end) = ios.at(at);
            if let Some(length) = self.go_on(begin, end) {
                found(ios.rows[at], length);
            } else if self.has_end(space, ios, at) {
                found(ios.rows[at], self.begin_run(end));
            }
        }
        self.remember(ios);
    }

    /// Whether one of the I/Os before this one ended where it begins.
    #[inline(never)]
    fn has_end(&self, space: &Successive, ios: Ios<'_, impl Place>, at: usize) -> bool {
        let (begin, _) = ios.at(at);
        let remembered = self.ends.len();
        let first = (remembered + at).saturating_sub(self.window);
        let (earlier, mut these) = (first.min(remembered).., first.saturating_sub(remembered)..at);
        let is_among = |short_ends| holds(short_ends, short(begin));
        is_among(&space.desk.short_ends[these.clone()]) && these.any(|at| ios.at(at).1 == begin)
            || is_among(&space.short_ends[earlier.clone()]) && self.ends[earlier].contains(&begin)
    }

    /// Remembers the ends of I/Os in the place of those that came the longest time ago.
    fn remember(&mut self, ios: Ios<'_, impl Place>) {
        let first = ios.rows.len().saturating_sub(self.window);
        let gone = (self.ends.len() + ios.rows.len() - first).saturating_sub(self.window);
        self.ends.drain(..gone);
        self.ends.extend((first..ios.rows.len()).map(|at| ios.at(at).1));
    }

    /// Puts the runs into classes, of which there are enough for twice as many as there will
    /// be.
    #[cold]
    #[inline(never)]
    fn class_runs(&mut self, runs: usize) {
        let bits = class_bits(2 * runs, 1);
        self.shift = u32::BITS - bits;
        self.classes = vec![RunsOfClass::default(); if runs > 0 { 1 << bits } else { 0 }];
        for run in 0..self.runs.len() {
            self.class_mut(self.runs[run].end).enter(run);
        }
    }

    #[inline]
    fn class_mut(&mut self, place: u64) -> &mut RunsOfClass {
        &mut self.classes[class(short(place), self.shift)]
    }

    /// The first run that ended at a place.
    #[inline]
    fn run_at(&self, begin: u64) -> Option<usize> {
        let RunsOfClass { count, last } = *self.classes.get(class(short(begin), self.shift))?;
        match count {
            0 => None,
            // One alone in its class cannot have another before it.
            1 if self.runs.get(last as usize).is_some_and(|run| run.end == begin) => {
                Some(last as usize)
            }
            _ => self.runs.iter().position(|run| run.end == begin),
        }
    }

    /// Goes on with the first run that ended where an I/O begins; gives its length.
    #[inline(always)]
    fn go_on(&mut self, begin: u64, end: u64) -> Option<u32> {
        let run = self.run_at(begin)?;
        self.class_mut(begin).count -= 1;
        Some(self.run_to(run, end))
    }

    /// Begins a run with an I/O, in the place of the one that was not continued for the
    /// longest time once there are enough; gives its length.
    #[cold]
    #[inline(never)]
    fn begin_run(&mut self, end: u64) -> u32 {
        let runs = self.runs.len();
        if runs >= self.window {
            let oldest = self.runs.iter().map(|run| run.continued).zip(0..).min();
            let at = oldest.map_or(0, |(_, at)| at);
            self.class_mut(self.runs[at].end).count -= 1;
            self.runs[at].length = 0;
            return self.run_to(at, end);
        }
        if self.classes.len() < ((runs + 1) * CLASSES_EACH).min(1 << CLASS_BITS_MAX) {
            self.class_runs(runs + 1);
        }
        self.runs.push(Run::default());
        self.run_to(runs, end)
    }

    /// Moves the end of a run that is in no class; gives its length.
    #[inline(always)]
    fn run_to(&mut self, at: usize, end: u64) -> u32 {
        self.clock += 1;
        let run = &mut self.runs[at];
        let length = run.length.saturating_add(1);
        *run = Run { end, continued: self.clock, length };
        self.class_mut(end).enter(at);
        length
    }
}

impl RunsOfClass {
    #[inline]
    fn enter(&mut self, run: usize) {
        *self = RunsOfClass { count: self.count + 1, last: run as u32 };
    }
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
                let rows: Vec<u16> = (0..ios.len() as u16).collect();
                let each = Ios { rows: &rows, place: |row: u16| ios[usize::from(row)] };
                quick.take_all(&mut space, each, |row, run| found[usize::from(row)] = run);
                let plainly: Vec<u32> =
                    ios.iter().map(|(begin, end)| plain.take(*begin, *end)).collect();
                assert_eq!(plainly, found, "{window}, {at}");
                if at % 97 == 0 {
                    quick = Lookback::going_on(quick.recent());
                }
            }
        }
    }
    #[test]
    fn what_was_never_seen_takes_no_memory_and_continues_nothing() {
        let (mut lookback, mut space) = (Lookback::new(4096), Successive::new(4096));
        let mut found = Vec::new();
        let one = Ios { rows: &[0], place: |_| (u64::MAX, 511) };
        lookback.take_all(&mut space, one, |row, _| found.push(row));
        assert!(found.is_empty() && lookback.ends.capacity() <= 4);
        assert_eq!((lookback.runs.capacity(), lookback.classes.capacity()), (0, 0));
    }
}
