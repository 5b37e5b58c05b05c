//! A cache of I/Os that were read recently: those of the latest windows and filters. A page asks
//! several questions about the same I/Os, and narrower windows lie inside wider ones.

use std::sync::Arc;
use steadfast_analysis::annotate::busy_time::DeviceBusySpan;
use steadfast_analysis::{AnnotatedBatch, AnnotatedRows, Filter, Fold};
use steadfast_tracefile::{Fields, TraceError};

/// Memory of an I/O, in bytes: all columns and the values derived from its neighbors.
const IO_BYTES: usize = 144;
/// Maximum number of I/Os of one question that are cached: 48 MiB.
pub const IOS_MAX: usize = (48 << 20) / IO_BYTES;
/// Maximum number of I/Os that are cached in total: 72 MiB.
const ALL_IOS_MAX: usize = (72 << 20) / IO_BYTES;

/// All fields: a field that is left out would read as 0 in every question and filter about it.
const FIELDS: Fields = Fields::ALL.and(Fields::BUSY);

/// Some I/Os in issue order, with the values derived from their neighbors.
#[derive(Debug)]
struct RowChunk {
    /// Number of checkpoints before the I/Os and first issue time, by which chunks are sorted.
    order: (usize, u64),
    ios: AnnotatedBatch,
}

/// All I/Os of a window that pass a filter.
#[derive(Debug)]
pub struct CachedRows {
    window_ns: (u64, u64),
    filter: Filter,
    chunks: Vec<RowChunk>,
    edge_busy: Vec<DeviceBusySpan>,
    ios: usize,
}

impl CachedRows {
    /// Returns whether the I/Os of a window that pass a filter are included.
    fn covers(&self, window_ns: (u64, u64), filter: &Filter, default_filter: &Filter) -> bool {
        let (from, to) = self.window_ns;
        let is_inside = from <= window_ns.0 && window_ns.1 <= to;
        // I/Os cached without a filter include those that pass one, if the layer is the same.
        let is_wider = self.filter == *default_filter && filter.layer == default_filter.layer;
        is_inside && (self.filter == *filter || is_wider)
    }

    /// Passes on every chunk, with the rows marked that pass a filter.
    pub fn each(
        &self,
        passing: &Filter,
        mut take: impl FnMut(&AnnotatedRows<'_>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let (none, mut edges) = (AnnotatedBatch::default(), self.edge_busy.clone());
        passing.restrict_busy(&none.batch, &[], &mut [], &mut edges);
        take(&AnnotatedRows { edge_busy: &edges, ..none.rows() })?;
        let (mut kept, mut busy) = (Vec::new(), Vec::new());
        for chunk in &self.chunks {
            let ios = chunk.ios.rows();
            passing.mark(ios.batch, ios.sequential, &mut kept);
            busy.clear();
            busy.extend_from_slice(ios.busy);
            edges.clear();
            passing.restrict_busy(ios.batch, &kept, &mut busy, &mut edges);
            take(&AnnotatedRows { kept: &kept, busy: &busy, edge_busy: &edges, ..ios })?;
        }
        Ok(())
    }
}

/// A fold that collects the selected I/Os, up to a limit.
#[derive(Debug, Default)]
pub struct RowCollector {
    chunks: Vec<RowChunk>,
    edge_busy: Vec<DeviceBusySpan>,
    ios: usize,
}

/// Message of the error that marks more I/Os than are cached.
const TOO_MANY: &str = "more I/Os than are cached";

impl RowCollector {
    /// Returns the I/Os; `None` if there were too many.
    pub fn finish<T>(
        mut self,
        outcome: Result<T, TraceError>,
        window_ns: (u64, u64),
        filter: Filter,
    ) -> Result<Option<CachedRows>, TraceError> {
        match outcome {
            Err(TraceError::TooFine(what)) if what == TOO_MANY => return Ok(None),
            outcome => outcome.map(drop)?,
        }
        if self.ios > IOS_MAX {
            return Ok(None);
        }
        self.chunks.sort_by_key(|chunk| chunk.order);
        let RowCollector { chunks, edge_busy, ios } = self;
        Ok(Some(CachedRows { window_ns, filter, chunks, edge_busy, ios }))
    }
}

impl Fold for RowCollector {
    fn fields(&self) -> Fields {
        FIELDS
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        self.edge_busy.extend_from_slice(rows.edge_busy);
        if !rows.kept.contains(&true) {
            return Ok(());
        }
        // A clone has no spare capacity; the chosen rows have the capacity of all rows.
        let batch = rows.batch.filtered(rows.kept).clone();
        self.ios += batch.len();
        if self.ios > IOS_MAX {
            return Err(TraceError::TooFine(TOO_MANY.into()));
        }
        self.chunks.push(RowChunk {
            order: (rows.checkpoints, batch.issued_ns(0)),
            ios: AnnotatedBatch {
                batch,
                sequential: rows.iter().map(|row| rows.sequential[row]).collect(),
                depth: rows.iter().map(|row| rows.depth[row]).collect(),
                busy: rows.iter().map(|row| rows.busy[row]).collect(),
                ..AnnotatedBatch::default()
            },
        });
        Ok(())
    }

    fn new_part(&self) -> Option<Self> {
        Some(RowCollector::default())
    }

    fn merge(&mut self, mut other: Self) -> Result<(), TraceError> {
        self.chunks.append(&mut other.chunks);
        self.edge_busy.append(&mut other.edge_busy);
        self.ios += other.ios;
        Ok(())
    }
}

/// The cached I/Os, the most recently used last.
#[derive(Debug, Default)]
pub struct RecentRows {
    cached: Vec<Arc<CachedRows>>,
    /// Windows and filters with too many I/Os.
    too_many: Vec<((u64, u64), Filter)>,
}

/// Maximum number of cached windows, and of remembered windows with too many I/Os.
const WINDOWS_MAX: usize = 64;

impl RecentRows {
    /// Returns the I/Os of a window that pass a filter, possibly among others.
    pub fn find(
        &mut self,
        window_ns: (u64, u64),
        filter: &Filter,
        default_filter: &Filter,
    ) -> Option<Arc<CachedRows>> {
        let at =
            self.cached.iter().rposition(|rows| rows.covers(window_ns, filter, default_filter))?;
        let found = self.cached.remove(at);
        self.cached.push(Arc::clone(&found));
        Some(found)
    }

    /// Returns whether a window with a filter is known to have too many I/Os.
    pub fn are_too_many(&self, window_ns: (u64, u64), filter: &Filter) -> bool {
        let inside = |(from, to): (u64, u64)| window_ns.0 <= from && to <= window_ns.1;
        self.too_many.iter().any(|(window, known)| inside(*window) && known == filter)
    }

    /// Caches I/Os, and evicts the least recently used if there are too many.
    pub fn insert(&mut self, rows: Arc<CachedRows>) {
        self.cached.push(rows);
        while self.cached.iter().map(|rows| rows.ios).sum::<usize>() > ALL_IOS_MAX {
            self.cached.remove(0);
        }
        // Also limits the number of entries, or small ones would never be evicted.
        if self.cached.len() > WINDOWS_MAX {
            self.cached.remove(0);
        }
    }

    /// Remembers that a window with a filter has too many I/Os.
    pub fn add_too_many(&mut self, window_ns: (u64, u64), filter: Filter) {
        if self.too_many.len() == WINDOWS_MAX {
            self.too_many.remove(0);
        }
        self.too_many.push((window_ns, filter));
    }
}
