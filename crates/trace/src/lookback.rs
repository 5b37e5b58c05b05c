//! Where the last I/Os and the last sequential runs of one operation on one device
//! ended: what tells whether the next I/O is sequential, and of which run.
//!
//! Nearly every I/O is asked for, and most begin where nothing ended. So places are
//! counted by class, a few bits of their hash: where a class is empty nothing needs to
//! be compared.

use serde::{Deserialize, Serialize};

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

/// The same with what finds a place among them.
pub(crate) struct Lookback {
    recent: Recent,
    classes: Vec<Class>,
    /// What is not used of a hash for its class.
    shift: u32,
}

/// What ended at places of one class.
#[derive(Debug, Clone, Copy, Default)]
struct Class {
    /// I/Os.
    ends: u32,
    /// Runs.
    runs: u32,
    /// The run that came last, which may be elsewhere by now.
    run: u32,
}

/// Classes for every I/O that is looked back at, so that most are empty.
const CLASSES_EACH: usize = 16;
/// Bits of the number of a class, at least and at most.
const CLASS_BITS: (u32, u32) = (9, 20);

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

    /// The run that ended at a place.
    fn run_at(&self, begin: u64) -> Option<usize> {
        let is_likely = holds(&self.short_runs, short(begin));
        is_likely.then(|| self.runs.iter().position(|run| *run == begin)).flatten()
    }

    /// Whether an I/O ended at a place.
    fn has_end(&self, begin: u64) -> bool {
        holds(&self.short_ends, short(begin)) && self.ends.contains(&begin)
    }

    /// The run that was not continued for the longest time.
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
        let wanted = recent.ends.len().saturating_mul(CLASSES_EACH).max(1);
        let bits = wanted.ilog2().clamp(CLASS_BITS.0, CLASS_BITS.1);
        let mut lookback = Lookback {
            recent,
            classes: vec![Class::default(); 1 << bits],
            shift: u32::BITS - bits,
        };
        for at in 0..lookback.recent.short_ends.len() {
            lookback.class(lookback.recent.short_ends[at]).ends += 1;
        }
        for run in 0..lookback.recent.short_runs.len() {
            lookback.enter_run(lookback.recent.short_runs[run], run);
        }
        lookback
    }

    /// What it remembers.
    pub(crate) fn recent(&self) -> &Recent {
        &self.recent
    }

    #[inline]
    fn class(&mut self, short: u32) -> &mut Class {
        &mut self.classes[(short >> self.shift) as usize]
    }

    fn enter_run(&mut self, short: u32, run: usize) {
        let class = self.class(short);
        class.runs += 1;
        class.run = run as u32;
    }

    /// The how manieth of a run the I/O from `begin` to `end` is, 0 where it is not
    /// sequential; remembers it.
    #[inline]
    pub(crate) fn take(&mut self, begin: u64, end: u64) -> u32 {
        let class = *self.class(short(begin));
        let run = if class.runs == 0 { None } else { self.run_at(begin, class) };
        let sequential = run.is_some() || (class.ends > 0 && self.recent.has_end(begin));
        let place = if sequential { self.run_to(end, run) } else { 0 };
        self.remember(end);
        place
    }

    /// Takes many I/Os, one after the other; tells those that are sequential, and the how
    /// manieth of its run each is.
    #[inline(never)]
    pub(crate) fn take_all(
        &mut self,
        rows: &[u32],
        place: impl Fn(usize) -> (u64, u64),
        mut found: impl FnMut(usize, u32),
    ) {
        for row in rows {
            let row = *row as usize;
            let (begin, end) = place(row);
            let run = self.take(begin, end);
            if run > 0 {
                found(row, run);
            }
        }
    }

    /// The first run that ended at a place of a class that has some.
    fn run_at(&self, begin: u64, class: Class) -> Option<usize> {
        let lately = class.run as usize;
        // One alone in its class cannot have another before it.
        match class.runs == 1 && self.recent.runs.get(lately) == Some(&begin) {
            true => Some(lately),
            false => self.recent.run_at(begin),
        }
    }

    /// Puts the end of an I/O in the place of the one that came the longest time ago.
    #[inline]
    fn remember(&mut self, end: u64) {
        let (at, new) = (self.recent.next, short(end));
        let gone = self.recent.short_ends[at];
        self.class(gone).ends -= 1;
        self.class(new).ends += 1;
        self.recent.ends[at] = end;
        self.recent.short_ends[at] = new;
        self.recent.next = if at + 1 == self.recent.ends.len() { 0 } else { at + 1 };
    }

    /// Moves a run's end, or puts a new run in the place of the one that was
    /// not continued for the longest time; gives its length.
    fn run_to(&mut self, end: u64, known: Option<usize>) -> u32 {
        self.recent.clock += 1;
        let Some(at) = known.or_else(|| self.recent.oldest_run()) else { return 1 };
        let (gone, new) = (self.recent.short_runs[at], short(end));
        self.class(gone).runs -= 1;
        self.enter_run(new, at);
        let recent = &mut self.recent;
        recent.runs[at] = end;
        recent.short_runs[at] = new;
        recent.continued[at] = recent.clock;
        recent.lengths[at] = if known.is_some() { recent.lengths[at].saturating_add(1) } else { 1 };
        recent.lengths[at]
    }
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
    fn classes_find_what_a_search_of_all_finds() {
        for window in [1, 2, 3, 32, 700] {
            let (mut plain, mut quick) = (Recent::new(window), Lookback::new(window));
            let mut state = 3;
            let mut draw = |below: u64| {
                state += 1;
                mix64(state) % below
            };
            for at in 0..20_011u64 {
                // Few places, so that runs meet and several end at one.
                let begin = if draw(50) == 0 { u64::MAX - draw(2) } else { draw(40) * 512 };
                let end = begin.wrapping_add(512 * (1 + draw(3)));
                assert_eq!(
                    plainly(&mut plain, begin, end),
                    quick.take(begin, end),
                    "{window}, {at}"
                );
                if at % 997 == 0 {
                    quick = Lookback::going_on(quick.recent().clone());
                }
            }
            assert_eq!((&plain.ends, &plain.runs), (&quick.recent.ends, &quick.recent.runs));
        }
    }
}
