//! Every I/O stream over capture steps, as far as memory allows: which of them are
//! chosen is known only when all I/Os were seen, and this spares a second pass.

use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::fold::{Alike, Fold, FoldSums, InParts, Rows};
use crate::lately::Lately;
use crate::quick::QuickMap;
use crate::series::{Cell, SeriesOf, SeriesOverTime};
use crate::stream_chunk::{AT_ONCE, Chunk};
use crate::streams::StreamKey;
use crate::untold::Untold;
use std::collections::BTreeMap;
use std::mem;

/// Cells kept at most, of 8 bytes each.
pub(crate) const CELLS_MAX: usize = 1 << 20;

/// Every stream over capture steps.
#[derive(Debug, Clone)]
pub(crate) struct StreamSteps {
    width_ns: u64,
    most: usize,
    numbers: QuickMap<StreamKey, usize>,
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
            numbers: QuickMap::default(),
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
        let places: QuickMap<StreamKey, usize> = keys.iter().copied().zip(0..).collect();
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
    fn enter(&mut self, current: &mut Current, at_ns: u64) {
        let is_within = at_ns.checked_sub(current.begin_ns).is_some_and(|at| at < self.width_ns);
        if !is_within || current.step.is_none() {
            self.leave(mem::take(current));
            let step = at_ns / self.width_ns;
            let cells = mem::take(self.steps.entry(step).or_default());
            *current = Current { begin_ns: step * self.width_ns, step: Some(step), cells };
        }
    }

    /// Puts the cells of a step back.
    fn leave(&mut self, Current { step, cells, .. }: Current) {
        if let Some(step) = step.filter(|_| !self.is_too_much) {
            self.steps.insert(step, cells);
        }
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
        match self.cells > self.most {
            true => self.give_up(),
            false => cells.resize(number + 1, 0),
        }
    }

    #[cold]
    fn give_up(&mut self) {
        self.is_too_much = true;
        self.numbers = QuickMap::default();
        self.steps = BTreeMap::new();
        self.cells = 0;
    }
}

/// The step that I/Os are being added to.
#[derive(Default)]
struct Current {
    begin_ns: u64,
    step: Option<u64>,
    cells: Vec<u64>,
}

impl Alike for StreamSteps {
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
        let (mut lately, mut keys) = (Lately::new(), Vec::new());
        let mut current = Current::default();
        for first in (0..rows.kept.len()).step_by(AT_ONCE) {
            if self.is_too_much {
                return Ok(());
            }
            let range = first..rows.kept.len().min(first + AT_ONCE);
            let (chunk, issued) = (Chunk::of(rows, range.clone()), issued.part(range));
            chunk.keys(&mut keys);
            let each = keys.iter().zip(chunk.kept()).zip(issued);
            for ((key, _), at) in each.filter(|((_, kept), _)| **kept) {
                let find = || self.number(StreamKey::unpacked(*key));
                let number = lately.get_or(*key, *key, find);
                self.enter(&mut current, at.cast_unsigned());
                self.add(&mut current.cells, number, 1);
            }
        }
        self.leave(current);
        Ok(())
    }
    fn in_parts(&mut self) -> Option<&mut dyn InParts> {
        Some(self)
    }
    fn of_sums(&mut self) -> Result<&mut dyn FoldSums, Untold> {
        Err(Untold::SingleIos)
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
        for (step, cells) in &other.steps {
            let seen = cells.iter().zip(&ours).filter(|(ios, _)| **ios > 0);
            let begin_ns = step.saturating_mul(self.width_ns);
            let mut current = Current::default();
            self.enter(&mut current, begin_ns);
            seen.for_each(|(ios, number)| self.add(&mut current.cells, *number, *ios));
            self.leave(current);
            if self.is_too_much {
                return Ok(());
            }
        }
        Ok(())
    }
}
