//! Every I/O stream over capture steps, as far as memory allows: which of them are
//! chosen is known only when all I/Os were seen, and this spares a second pass.

use crate::fold::{EmptyLike, Fold, ParallelFold, Rows};
use crate::questions::series::{Cell, SeriesOf, SeriesOverTime};
use crate::questions::streams::StreamKey;
use crate::sums::stream_chunk::{AT_ONCE, Chunk};
use crate::tables::recent_cache::{PLACES, place};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::mem;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{Field, Fields};
use steadfast_tracefile::simd;

/// Cells kept at most, of 8 bytes each.
pub(crate) const CELLS_MAX: usize = 1 << 20;

/// Every stream over capture steps.
#[derive(Debug, Clone)]
pub(crate) struct StreamSteps {
    width_ns: u64,
    most: usize,
    numbers: FxHashMap<StreamKey, usize>,
    /// Of each step the I/Os of each stream, up to the last one that has any.
    steps: BTreeMap<u64, Vec<u64>>,
    cells: usize,
    /// There were more cells than were set aside: nothing is known.
    is_too_much: bool,
}

impl StreamSteps {
    /// In steps of a width in nanoseconds, with at most so many cells.
    pub(crate) fn new(width_ns: u64, most: usize) -> Self {
        StreamSteps {
            width_ns: width_ns.max(1),
            most,
            numbers: FxHashMap::default(),
            steps: BTreeMap::new(),
            cells: 0,
            is_too_much: false,
        }
    }

    /// The chosen streams over steps of a width; `None` where they have to be looked
    /// for again.
    pub(crate) fn chosen(&self, width_ns: u64, keys: &[StreamKey]) -> Option<SeriesOverTime> {
        if self.is_too_much || width_ns != self.width_ns {
            return None;
        }
        let mut series = SeriesOverTime::new(width_ns, &SeriesOf::Streams(keys.to_vec()));
        let places: FxHashMap<StreamKey, usize> = keys.iter().copied().zip(0..).collect();
        let mut place_of = vec![(keys.len(), 0); self.numbers.len()];
        for (key, number) in &self.numbers {
            let place = places.get(key).copied().unwrap_or(keys.len());
            place_of[*number] = (place, u64::from(key.bytes));
        }
        for (step, cells) in &self.steps {
            let known = cells.iter().zip(&place_of).filter(|(ios, _)| **ios > 0);
            for (ios, (place, bytes)) in known {
                let cell = Cell { ios: *ios, bytes: ios.saturating_mul(*bytes) };
                series.add_cell(*step, *place, cell).ok()?;
            }
        }
        Some(series)
    }

    /// The number of a stream.
    fn number(&mut self, key: StreamKey) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(key).or_insert(next)
    }

    /// Takes the cells of the step of a moment in hand; the next I/O is nearly always of
    /// the same one.
    #[inline]
    fn enter(&mut self, hand: &mut OpenStep, at_ns: u64) {
        let is_within = at_ns.checked_sub(hand.begin_ns).is_some_and(|at| at < self.width_ns);
        if !is_within || hand.step.is_none() {
            self.leave(hand);
            let step = at_ns / self.width_ns;
            hand.begin_ns = step * self.width_ns;
            hand.step = Some(step);
            hand.cells = mem::take(self.steps.entry(step).or_default());
        }
    }

    /// Whether all of some moments are of the step in hand.
    fn is_in_hand(&self, hand: &OpenStep, issued: &[i64]) -> bool {
        let last = hand.begin_ns.saturating_add(self.width_ns - 1);
        hand.step.is_some()
            && simd::are_within(issued, hand.begin_ns.cast_signed(), last.cast_signed())
    }

    /// Counts an I/O of the step in hand.
    #[inline(always)]
    fn count(&mut self, hand: &mut OpenStep, key: u64) {
        let (seen, ios) = &mut hand.counts[place(key)];
        if *seen == key { *ios += 1 } else { self.count_another(hand, key) }
    }

    /// The same with the first of a stream, or where another stream has its place.
    #[cold]
    fn count_another(&mut self, hand: &mut OpenStep, key: u64) {
        match mem::replace(&mut hand.counts[place(key)], (key, 1)) {
            (_, 0) => hand.taken.push(place(key)),
            (gone, ios) => self.add_stream(&mut hand.cells, gone, ios),
        }
    }

    /// Puts the cells of the step in hand back.
    fn leave(&mut self, hand: &mut OpenStep) {
        let mut cells = mem::take(&mut hand.cells);
        for place in hand.taken.drain(..) {
            let (key, ios) = mem::take(&mut hand.counts[place]);
            self.add_stream(&mut cells, key, ios);
        }
        if let Some(step) = hand.step.take().filter(|_| !self.is_too_much) {
            self.steps.insert(step, cells);
        }
    }

    fn add_stream(&mut self, cells: &mut Vec<u64>, key: u64, ios: u64) {
        let number = self.number(StreamKey::unpacked(key));
        self.add(cells, number, ios);
    }

    #[inline]
    fn add(&mut self, cells: &mut Vec<u64>, number: usize, more: u64) {
        if cells.len() <= number {
            self.widen(cells, number);
        }
        if let Some(ios) = cells.get_mut(number) {
            *ios = ios.saturating_add(more);
        }
    }

    #[cold]
    fn widen(&mut self, cells: &mut Vec<u64>, number: usize) {
        self.cells += number + 1 - cells.len();
        if self.cells > self.most { self.give_up() } else { cells.resize(number + 1, 0) }
    }

    #[cold]
    fn give_up(&mut self) {
        self.is_too_much = true;
        self.numbers = FxHashMap::default();
        self.steps = BTreeMap::new();
        self.cells = 0;
    }
}

/// The step that I/Os are being added to.
struct OpenStep {
    begin_ns: u64,
    step: Option<u64>,
    cells: Vec<u64>,
    /// Packed keys of streams, each with its I/Os that are not in the cells yet: adding to
    /// one takes less than finding its number. Two of one place push each other out.
    counts: [(u64, u64); PLACES],
    /// Those that have any.
    taken: Vec<usize>,
}

impl OpenStep {
    /// With no step.
    fn empty() -> Self {
        let counts = [(0, 0); PLACES];
        OpenStep { begin_ns: 0, step: None, cells: Vec::new(), counts, taken: Vec::new() }
    }
}

impl EmptyLike for StreamSteps {
    fn alike(&self) -> Self {
        StreamSteps::new(self.width_ns, self.most)
    }
}

impl Fold for StreamSteps {
    fn fields(&self) -> Fields {
        Fields::of(&[Field::Issued, Field::Op, Field::Bytes])
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        let issued = rows.batch.wide(Field::Issued);
        let (mut hand, mut keys) = (OpenStep::empty(), Vec::new());
        for first in (0..rows.kept.len()).step_by(AT_ONCE) {
            if self.is_too_much {
                return Ok(());
            }
            let range = first..rows.kept.len().min(first + AT_ONCE);
            let (chunk, issued) = (Chunk::of(rows, range.clone()), issued.part(range));
            chunk.keys(&mut keys);
            let of_rows = keys.iter().zip(issued).zip(chunk.kept()).filter(|(_, kept)| **kept);
            if self.is_in_hand(&hand, issued) {
                of_rows.for_each(|((key, _), _)| self.count(&mut hand, *key));
                continue;
            }
            for ((key, at), _) in of_rows {
                self.enter(&mut hand, at.cast_unsigned());
                self.count(&mut hand, *key);
            }
        }
        self.leave(&mut hand);
        Ok(())
    }
    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        if self.is_too_much || other.is_too_much {
            self.give_up();
            return Ok(());
        }
        let mut ours = vec![0; other.numbers.len()];
        for (key, number) in &other.numbers {
            ours[*number] = self.number(*key);
        }
        let mut hand = OpenStep::empty();
        for (step, cells) in &other.steps {
            let seen = cells.iter().zip(&ours).filter(|(ios, _)| **ios > 0);
            self.enter(&mut hand, step.saturating_mul(self.width_ns));
            seen.for_each(|(ios, number)| self.add(&mut hand.cells, *number, *ios));
            self.leave(&mut hand);
            if self.is_too_much {
                return Ok(());
            }
        }
        Ok(())
    }
}
