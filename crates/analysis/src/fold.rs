//! The [`Fold`] trait: an aggregation over the single I/Os of a capture or, where these were not
//! kept, over their sums. Folds over parts merge to the fold over the whole.
//!
//! A fold with bounded memory keeps the entries that come first in a fixed order of keys
//! ([`crate::tables::smallest_keys`]), never the entries that it saw first. Otherwise the result
//! would depend on the order of folding and merging.

use crate::annotate::busy_time::{BusySpan, DeviceBusySpan};
use crate::annotate::checkpoint::Checkpoint;
use crate::annotate::sequential::IoAnnotations;
use crate::cells::{Dimensions, FilteredCells};
use std::any::Any;
use steadfast_domain::IoEvent;
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::Fields;

/// A batch of single I/Os, annotated from the I/Os before them. Slices have one entry per row.
pub struct AnnotatedRows<'a> {
    /// The events.
    pub batch: &'a Batch,
    /// True for each sequential I/O.
    pub sequential: &'a [bool],
    /// I/Os outstanding at issue, including the I/O itself; 0 if unknown.
    pub depth: &'a [u32],
    /// The time in which the device would have been idle without the I/O. Empty unless a fold asks
    /// for [`Fields::BUSY`].
    pub busy: &'a [BusySpan],
    /// Busy time within the time spans of the filter that belongs to no row: of I/Os that were
    /// issued outside of the spans, or are outstanding across an end of one.
    pub edge_busy: &'a [DeviceBusySpan],
    /// True for each I/O that passes the filter.
    pub kept: &'a [bool],
    /// Issue times, in nanoseconds, that strictly increase in file order: I/Os issued at the same
    /// time are spaced one nanosecond apart. Empty unless a fold asks for [`Fields::ORDER`].
    pub order_ns: &'a [u64],
    /// Gap, idle time and run position of the I/O. Empty unless a fold asks for
    /// [`Fields::NEIGHBORS`].
    pub annotations: &'a [IoAnnotations],
    /// Number of checkpoints taken so far, including [`Self::checkpoint`]; 0 if the pass takes none.
    pub checkpoints: usize,
    /// The checkpoint just before these I/Os, or `None` if none was taken here.
    pub checkpoint: Option<&'a Checkpoint>,
}

/// The I/Os of [`AnnotatedRows`] in memory of their own.
#[derive(Debug, Default)]
pub struct AnnotatedBatch {
    /// The events.
    pub batch: Batch,
    /// True for each sequential I/O.
    pub sequential: Vec<bool>,
    /// I/Os outstanding at issue; empty for the depths of the batch.
    pub depth: Vec<u32>,
    /// Busy time that each I/O adds to its device.
    pub busy: Vec<BusySpan>,
    /// Busy time within the time spans of the filter that belongs to no row.
    pub edge_busy: Vec<DeviceBusySpan>,
    /// True for each I/O that passes the filter.
    pub kept: Vec<bool>,
    /// Issue times that strictly increase.
    pub order_ns: Vec<u64>,
    /// Gap, idle time and run position.
    pub annotations: Vec<IoAnnotations>,
    /// Number of checkpoints taken so far.
    pub checkpoints: usize,
    /// The checkpoint just before these I/Os.
    pub checkpoint: Option<Checkpoint>,
}

impl AnnotatedBatch {
    /// Returns random I/Os that pass the filter, with their recorded depths and no busy time.
    ///
    /// ```
    /// use steadfast_analysis::{AnnotatedBatch, Fold, StreamTable};
    /// use steadfast_domain::IoEvent;
    ///
    /// let reads = AnnotatedBatch::from_events(&[IoEvent { bytes: 4096, ..IoEvent::default() }; 3]);
    /// let mut streams = StreamTable::new();
    /// streams.take(&reads.rows()).unwrap();
    /// assert_eq!(streams.total().count(), 3);
    /// ```
    pub fn from_events(events: &[IoEvent]) -> Self {
        AnnotatedBatch {
            batch: Batch::from_events(events),
            sequential: vec![false; events.len()],
            busy: vec![(0, 0); events.len()],
            kept: vec![true; events.len()],
            ..AnnotatedBatch::default()
        }
    }

    /// Returns the I/Os as a fold takes them.
    pub fn rows(&self) -> AnnotatedRows<'_> {
        AnnotatedRows {
            batch: &self.batch,
            sequential: &self.sequential,
            depth: if self.depth.is_empty() { self.batch.depths() } else { &self.depth },
            busy: &self.busy,
            edge_busy: &self.edge_busy,
            kept: &self.kept,
            order_ns: &self.order_ns,
            annotations: &self.annotations,
            checkpoints: self.checkpoints,
            checkpoint: self.checkpoint.as_ref(),
        }
    }
}

impl AnnotatedRows<'_> {
    /// Returns the rows that passed the filter.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.kept.iter().enumerate().filter(|(_, kept)| **kept).map(|(row, _)| row)
    }
    /// Returns the response time in nanoseconds, or `None` if the completion was not seen.
    #[inline]
    pub fn response_ns(&self, row: usize) -> Option<u64> {
        Some(self.batch.response_ns(row)).filter(|response| *response != RESPONSE_UNKNOWN)
    }
    /// Returns the queue time in nanoseconds, or `None` if the source does not report it.
    #[inline]
    pub fn queued_ns(&self, row: usize) -> Option<u64> {
        Some(self.batch.queued_ns(row)).filter(|queued| *queued > 0)
    }
    /// Returns the queue depth at issue, or `None` if it is unknown.
    #[inline]
    pub fn depth(&self, row: usize) -> Option<u32> {
        Some(self.depth[row]).filter(|depth| *depth > 0)
    }
}

/// Iterates over folds of one kind as folds of any kind.
pub(crate) fn dyn_folds<'f, F: Fold + 'f>(
    folds: impl IntoIterator<Item = &'f mut F>,
) -> impl Iterator<Item = &'f mut dyn Fold> {
    folds.into_iter().map(|fold| fold as &mut dyn Fold)
}

/// An aggregation over the I/Os of a capture.
pub trait Fold: AnyFold {
    /// Returns the columns of single I/Os that the fold reads.
    fn fields(&self) -> Fields;

    /// Adds the next batch of single I/Os.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if the result exceeds the memory limit.
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError>;

    /// Checks whether cells with the dimensions `recorded` suffice for [`Self::take_cells`].
    ///
    /// # Errors
    /// Returns the [`NotRecorded`] that the fold needs and the cells lack.
    fn check_dimensions(&self, recorded: Dimensions) -> Result<(), NotRecorded> {
        let _ = recorded;
        Err(NotRecorded::SingleIos)
    }

    /// Adds the next cells of a step file or a fold file.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if the result exceeds the memory limit, or
    /// [`TraceError::Unsuitable`] if the cells lack a dimension that the fold needs.
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError> {
        Ok(self.check_dimensions(cells.dimensions)?)
    }

    /// Returns an empty fold with the same settings, to be filled by another thread and merged, or
    /// `None` if the fold must see all rows in order.
    fn new_part(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Adds a fold over another part of the same capture, created with the same settings. The
    /// result is the fold over both parts, in whatever order parts are merged.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if the merged result exceeds the memory limit.
    fn merge(&mut self, other: Self) -> Result<(), TraceError>
    where
        Self: Sized;
}

/// [`Fold::new_part`] and [`Fold::merge`] of a fold whose type is not known. Every fold has them.
pub trait AnyFold: Send + Any {
    /// Returns the same as [`Fold::new_part`].
    fn boxed_part(&self) -> Option<Box<dyn Fold>>;
    /// Merges a part that was created by [`Self::boxed_part`]. A part of another type is ignored.
    ///
    /// # Errors
    /// Returns the errors of [`Fold::merge`].
    fn merge_part(&mut self, part: Box<dyn Fold>) -> Result<(), TraceError>;
}

impl<F: Fold + Send + Any> AnyFold for F {
    fn boxed_part(&self) -> Option<Box<dyn Fold>> {
        Some(Box::new(self.new_part()?))
    }
    fn merge_part(&mut self, part: Box<dyn Fold>) -> Result<(), TraceError> {
        let part: Box<dyn Any> = part;
        part.downcast::<F>().map_or(Ok(()), |part| self.merge(*part))
    }
}
