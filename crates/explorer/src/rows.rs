//! I/Os that were read once and are kept for a while: those of the windows and filters
//! that were asked for last. A page asks several questions about the same I/Os, and
//! narrower windows lie inside wider ones.

use std::sync::Arc;
use steadfast_analysis::annotate::sequence::Busy;
use steadfast_analysis::sums::content::Contents;
use steadfast_analysis::{EmptyLike, Filter, Fold, ParallelFold, Rows};
use steadfast_tracefile::{Batch, Field, Fields, TraceError};

/// Memory that an I/O takes: all columns, and what its neighbors tell of it.
const IO_BYTES: usize = 96;
/// I/Os of one question that are kept, at most: 32 MiB.
pub const KEPT_MOST: usize = (32 << 20) / IO_BYTES;
/// I/Os that are kept in all: 48 MiB.
const ALL_MOST: usize = (48 << 20) / IO_BYTES;

/// What any question reads of an I/O.
const FIELDS: Fields = Fields::of(&[
    Field::Issued,
    Field::Response,
    Field::Queued,
    Field::Offset,
    Field::Bytes,
    Field::Depth,
    Field::Pid,
    Field::Flags,
    Field::Device,
    Field::Op,
    Field::Layer,
    Field::Command,
])
.and(Contents::FIELDS)
.and(Fields::BUSY);

/// Some I/Os in issue order with what their neighbors tell.
#[derive(Debug)]
struct Run {
    /// Where they stand among the others.
    place: (usize, u64),
    batch: Batch,
    sequential: Vec<bool>,
    depth: Vec<u32>,
    busy: Vec<Busy>,
}

/// All I/Os of a window that pass a filter.
#[derive(Debug)]
pub struct Kept {
    window_ns: (u64, u64),
    filter: Filter,
    runs: Vec<Run>,
    ios: usize,
}

impl Kept {
    /// Whether the I/Os of a window that pass a filter are among them.
    fn covers(&self, window_ns: (u64, u64), filter: &Filter, usual: &Filter) -> bool {
        let (from, to) = self.window_ns;
        let is_inside = from <= window_ns.0 && window_ns.1 <= to;
        // What passes a filter passes none just as well, on the same layer.
        let is_wider = self.filter == *usual && filter.layer == usual.layer;
        is_inside && (self.filter == *filter || is_wider)
    }

    /// Hands every run over, with those rows marked that pass.
    ///
    /// # Errors
    /// The first that comes back.
    pub fn each(
        &self,
        passing: &Filter,
        mut take: impl FnMut(&Rows<'_>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let mut kept = Vec::new();
        for run in &self.runs {
            passing.mark(&run.batch, &run.sequential, &mut kept);
            take(&run.rows(&kept))?;
        }
        Ok(())
    }
}

impl Run {
    fn rows<'r>(&'r self, kept: &'r [bool]) -> Rows<'r> {
        Rows {
            batch: &self.batch,
            sequential: &self.sequential,
            depth: &self.depth,
            busy: &self.busy,
            kept,
            after: &[],
            stretch: 0,
            order_ns: &[],
            place: None,
        }
    }
}

/// Keeps what passes, up to a bound.
#[derive(Debug, Default)]
pub struct Keeping {
    runs: Vec<Run>,
    ios: usize,
}

/// Said where there are more I/Os than are kept.
const TOO_MANY: &str = "more I/Os than are kept";

impl Keeping {
    /// What was kept; `None` where a pass found too many.
    ///
    /// # Errors
    /// Why the pass failed otherwise.
    pub fn finish<T>(
        mut self,
        passed: Result<T, TraceError>,
        window_ns: (u64, u64),
        filter: Filter,
    ) -> Result<Option<Kept>, TraceError> {
        match passed {
            Err(TraceError::TooFine(what)) if what == TOO_MANY => return Ok(None),
            passed => passed.map(drop)?,
        }
        if self.ios > KEPT_MOST {
            return Ok(None);
        }
        self.runs.sort_by_key(|run| run.place);
        Ok(Some(Kept { window_ns, filter, runs: self.runs, ios: self.ios }))
    }
}

impl EmptyLike for Keeping {
    fn alike(&self) -> Self {
        Keeping::default()
    }
}

impl Fold for Keeping {
    fn fields(&self) -> Fields {
        FIELDS
    }

    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        if !rows.kept.contains(&true) {
            return Ok(());
        }
        // A copy has no more room than it needs; what was chosen has that of all rows.
        let batch = rows.batch.chosen(rows.kept).clone();
        self.ios += batch.len();
        if self.ios > KEPT_MOST {
            return Err(TraceError::TooFine(TOO_MANY.into()));
        }
        self.runs.push(Run {
            place: (rows.stretch, batch.issued_ns(0)),
            batch,
            sequential: rows.iter().map(|row| rows.sequential[row]).collect(),
            depth: rows.iter().map(|row| rows.depth[row]).collect(),
            busy: rows.iter().map(|row| rows.busy[row]).collect(),
        });
        Ok(())
    }

    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }

    fn merge(&mut self, mut other: Self) -> Result<(), TraceError> {
        self.runs.append(&mut other.runs);
        self.ios += other.ios;
        Ok(())
    }
}

/// What was kept lately, the latest last.
#[derive(Debug, Default)]
pub struct RecentCache {
    kept: Vec<Arc<Kept>>,
    /// Windows and filters that have more.
    too_many: Vec<((u64, u64), Filter)>,
}

/// Windows with too many I/Os that are remembered.
const TOO_MANY_MOST: usize = 64;

impl RecentCache {
    /// The I/Os of a window that pass a filter, perhaps among others.
    pub fn find(
        &mut self,
        window_ns: (u64, u64),
        filter: &Filter,
        usual: &Filter,
    ) -> Option<Arc<Kept>> {
        let at = self.kept.iter().rposition(|kept| kept.covers(window_ns, filter, usual))?;
        let found = self.kept.remove(at);
        self.kept.push(Arc::clone(&found));
        Some(found)
    }

    /// Whether they are known to be too many.
    pub fn are_too_many(&self, window_ns: (u64, u64), filter: &Filter) -> bool {
        let inside = |(from, to): (u64, u64)| window_ns.0 <= from && to <= window_ns.1;
        self.too_many.iter().any(|(window, known)| inside(*window) && known == filter)
    }

    /// Keeps what was found, and lets the oldest go where there is too much.
    pub fn keep(&mut self, kept: &Arc<Kept>) {
        self.kept.push(Arc::clone(kept));
        while self.kept.iter().map(|kept| kept.ios).sum::<usize>() > ALL_MOST {
            self.kept.remove(0);
        }
        // Small ones would stay for ever.
        if self.kept.len() > TOO_MANY_MOST {
            self.kept.remove(0);
        }
    }

    /// Remembers that there are too many.
    pub fn give_up(&mut self, window_ns: (u64, u64), filter: Filter) {
        if self.too_many.len() == TOO_MANY_MOST {
            self.too_many.remove(0);
        }
        self.too_many.push((window_ns, filter));
    }
}
