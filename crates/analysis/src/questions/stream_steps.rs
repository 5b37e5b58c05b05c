//! The I/Os of every stream over capture steps, as far as memory allows. The streams to show are
//! chosen only after all I/Os were seen; keeping all of them saves a second pass.

use crate::fold::{AnnotatedRows, Fold};
use crate::questions::series::{SeriesOverTime, SeriesSelection};
use crate::questions::streams::StreamKey;
use crate::sums::io_count::IoCount;
use crate::sums::stream_chunk::{CHUNK_ROWS, StreamChunk};
use crate::tables::recent_cache::{SLOTS, slot};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::mem;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{Field, Fields};
use steadfast_tracefile::simd;

/// Maximum number of cells that are kept, of 8 bytes each.
pub(crate) const CELLS_MAX: usize = 1 << 20;

/// The I/Os of every stream over capture steps.
#[derive(Debug, Clone)]
pub(crate) struct StreamSteps {
    width_ns: u64,
    most: usize,
    numbers: FxHashMap<StreamKey, usize>,
    steps: BTreeMap<u64, Vec<u64>>,
    cells: usize,
    /// Set if there were more cells than are kept: the content was discarded.
    is_discarded: bool,
}

impl StreamSteps {
    /// Creates an empty table with steps of `width_ns` nanoseconds and at most `most` cells.
    pub(crate) fn new(width_ns: u64, most: usize) -> Self {
        StreamSteps {
            width_ns: width_ns.max(1),
            most,
            numbers: FxHashMap::default(),
            steps: BTreeMap::new(),
            cells: 0,
            is_discarded: false,
        }
    }

    /// Returns the series of the given streams over steps of a width. Returns `None` if the table
    /// was discarded or has another width, so that a second pass is necessary.
    pub(crate) fn series(&self, width_ns: u64, keys: &[StreamKey]) -> Option<SeriesOverTime> {
        if self.is_discarded || width_ns != self.width_ns {
            return None;
        }
        let mut series = SeriesOverTime::new(width_ns, &SeriesSelection::Streams(keys.to_vec()));
        let series_numbers: FxHashMap<StreamKey, usize> = keys.iter().copied().zip(0..).collect();
        // Series and transfer size by number of the stream.
        let mut streams = vec![(keys.len(), 0); self.numbers.len()];
        for (key, number) in &self.numbers {
            let series = series_numbers.get(key).copied().unwrap_or(keys.len());
            streams[*number] = (series, u64::from(key.bytes));
        }
        for (step, cells) in &self.steps {
            let known = cells.iter().zip(&streams).filter(|(ios, _)| **ios > 0);
            for (ios, (at, bytes)) in known {
                let cell = IoCount { ios: *ios, bytes: ios.saturating_mul(*bytes) };
                series.add_cell(*step, *at, cell).ok()?;
            }
        }
        Some(series)
    }

    /// Returns the number of a stream, and assigns one if it is new.
    fn number(&mut self, key: StreamKey) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(key).or_insert(next)
    }

    /// Opens the step of a time, unless it is open already. The next I/O is nearly always in the
    /// same step.
    #[inline]
    fn enter(&mut self, open: &mut OpenStep, at_ns: u64) {
        let is_within = at_ns.checked_sub(open.begin_ns).is_some_and(|at| at < self.width_ns);
        if !is_within || open.step.is_none() {
            self.close(open);
            let step = at_ns / self.width_ns;
            open.begin_ns = step * self.width_ns;
            open.step = Some(step);
            open.cells = mem::take(self.steps.entry(step).or_default());
        }
    }

    /// Returns whether all times lie in the open step.
    fn are_in_open_step(&self, open: &OpenStep, issued: &[i64]) -> bool {
        let last = open.begin_ns.saturating_add(self.width_ns - 1);
        open.step.is_some()
            && simd::are_within(issued, open.begin_ns.cast_signed(), last.cast_signed())
    }

    /// Counts an I/O in the open step.
    #[inline(always)]
    fn count(&mut self, open: &mut OpenStep, key: u64) {
        let (cached, ios) = &mut open.counts[slot(key)];
        if *cached == key { *ios += 1 } else { self.count_uncached(open, key) }
    }

    /// Counts an I/O whose stream is the first in its slot, or replaces another stream there.
    #[cold]
    fn count_uncached(&mut self, open: &mut OpenStep, key: u64) {
        match mem::replace(&mut open.counts[slot(key)], (key, 1)) {
            (_, 0) => open.slots_used.push(slot(key)),
            (evicted, ios) => self.add_stream(&mut open.cells, evicted, ios),
        }
    }

    /// Closes the open step and stores its cells.
    fn close(&mut self, open: &mut OpenStep) {
        let mut cells = mem::take(&mut open.cells);
        for slot in open.slots_used.drain(..) {
            let (key, ios) = mem::take(&mut open.counts[slot]);
            self.add_stream(&mut cells, key, ios);
        }
        if let Some(step) = open.step.take().filter(|_| !self.is_discarded) {
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
        if self.cells > self.most { self.discard() } else { cells.resize(number + 1, 0) }
    }

    #[cold]
    fn discard(&mut self) {
        self.is_discarded = true;
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
    /// Cache of packed stream keys, each with its I/Os that are not in the cells yet. Counting here
    /// is cheaper than looking up the number of a stream. Two streams with the same slot evict each
    /// other.
    counts: [(u64, u64); SLOTS],
    slots_used: Vec<usize>,
}

impl OpenStep {
    fn empty() -> Self {
        OpenStep {
            begin_ns: 0,
            step: None,
            cells: Vec::new(),
            counts: [(0, 0); SLOTS],
            slots_used: Vec::new(),
        }
    }
}

impl Fold for StreamSteps {
    fn fields(&self) -> Fields {
        Fields::new(&[Field::Issued, Field::Op, Field::Bytes])
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let issued = rows.batch.wide(Field::Issued);
        let (mut open, mut keys) = (OpenStep::empty(), Vec::new());
        for first in (0..rows.kept.len()).step_by(CHUNK_ROWS) {
            if self.is_discarded {
                return Ok(());
            }
            let range = first..rows.kept.len().min(first + CHUNK_ROWS);
            let (chunk, issued) = (StreamChunk::new(rows, range.clone()), issued.part(range));
            chunk.keys(&mut keys);
            let kept = keys.iter().zip(issued).zip(chunk.kept()).filter(|(_, kept)| **kept);
            if self.are_in_open_step(&open, issued) {
                kept.for_each(|((key, _), _)| self.count(&mut open, *key));
                continue;
            }
            for ((key, at), _) in kept {
                self.enter(&mut open, at.cast_unsigned());
                self.count(&mut open, *key);
            }
        }
        self.close(&mut open);
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(StreamSteps::new(self.width_ns, self.most))
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        if self.is_discarded || other.is_discarded {
            self.discard();
            return Ok(());
        }
        let mut ours = vec![0; other.numbers.len()];
        for (key, number) in &other.numbers {
            ours[*number] = self.number(*key);
        }
        let mut open = OpenStep::empty();
        for (step, cells) in &other.steps {
            self.enter(&mut open, step.saturating_mul(self.width_ns));
            for (ios, number) in cells.iter().zip(&ours).filter(|(ios, _)| **ios > 0) {
                self.add(&mut open.cells, *number, *ios);
            }
            self.close(&mut open);
            if self.is_discarded {
                return Ok(());
            }
        }
        Ok(())
    }
}
