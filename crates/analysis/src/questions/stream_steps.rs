//! The I/Os of every stream over capture steps, as far as memory allows. The streams to show are
//! chosen only after all I/Os were seen; keeping all of them saves a second pass.

use crate::fold::{AnnotatedRows, Fold};
use crate::questions::series::{SeriesOverTime, SeriesSelection};
use crate::questions::streams::StreamKey;
use crate::sums::io_count::IoCount;
use crate::tables::recent_cache::RecentCache;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{Field, Fields};

/// Maximum number of cells that are kept, of 8 bytes each.
pub(crate) const CELLS_MAX: usize = 1 << 20;

/// The I/Os of every stream over capture steps.
#[derive(Debug, Clone)]
pub(crate) struct StreamSteps {
    width_ns: u64,
    most: usize,
    /// Numbers of the streams, in order of first occurrence.
    numbers: FxHashMap<StreamKey, usize>,
    /// I/Os by step and by number of the stream. Streams that follow the last one of a step have no
    /// I/Os in it.
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

    /// Removes the cells of a step to add I/Os to them, until [`Self::put`].
    fn take_step(&mut self, step: u64) -> Vec<u64> {
        self.steps.remove(&step).unwrap_or_default()
    }

    fn put(&mut self, step: u64, cells: Vec<u64>) {
        if self.is_discarded {
            self.discard();
        } else if !cells.is_empty() {
            self.steps.insert(step, cells);
        }
    }

    fn discard(&mut self) {
        *self = StreamSteps { is_discarded: true, ..Self::new(self.width_ns, self.most) };
    }

    /// Adds I/Os of a stream to the cells of a step.
    #[inline]
    fn add(&mut self, cells: &mut Vec<u64>, number: usize, ios: u64) {
        if cells.len() <= number {
            self.cells += number + 1 - cells.len();
            self.is_discarded |= self.cells > self.most;
            cells.resize(number + 1, 0);
        }
        cells[number] = cells[number].saturating_add(ios);
    }
}

impl Fold for StreamSteps {
    fn fields(&self) -> Fields {
        Fields::new(&[Field::Issued, Field::Op, Field::Bytes])
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        let (issued, op) = (rows.batch.wide(Field::Issued), rows.batch.narrow(Field::Op));
        let bytes = rows.batch.narrow(Field::Bytes);
        let mut recent = RecentCache::new();
        let mut begin = 0;
        let mut cells = self.take_step(0);
        for row in rows.iter() {
            if self.is_discarded {
                break;
            }
            let at = issued.at(row);
            // The next I/O is nearly always in the same step.
            if at < begin || at - begin >= self.width_ns {
                self.put(begin / self.width_ns, cells);
                begin = at - at % self.width_ns;
                cells = self.take_step(at / self.width_ns);
            }
            let (op, bytes) = (op.op(row), bytes.at(row));
            let key = StreamKey { op, sequential: rows.sequential[row], bytes };
            let number = recent.get_or(key.packed(), key, || self.number(key));
            self.add(&mut cells, number, 1);
        }
        self.put(begin / self.width_ns, cells);
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
        for (step, theirs) in &other.steps {
            let mut cells = self.take_step(*step);
            for (ios, number) in theirs.iter().zip(&ours).filter(|(ios, _)| **ios > 0) {
                self.add(&mut cells, *number, *ios);
            }
            self.put(*step, cells);
        }
        Ok(())
    }
}
