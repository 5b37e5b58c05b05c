//! The [`Fold`] trait: an aggregation over the single I/Os of a capture or, where these were not
//! kept, over their sums. Folds over parts merge to the fold over the whole.
//!
//! A fold with bounded memory keeps the entries that come first in a fixed order of keys
//! ([`crate::tables::smallest_keys`]), never the entries that it saw first. Otherwise the result
//! would depend on the order of folding and merging.

use crate::annotate::checkpoint::Checkpoint;
use crate::annotate::sequential::{BusySpan, IoAnnotations};
use crate::cells::{Dimensions, FilteredCells};
use std::any::Any;
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
    /// True for each I/O that passes the filter.
    pub kept: &'a [bool],
    /// Issue times, in nanoseconds, that strictly increase in file order: I/Os issued at the same
    /// time are spaced one nanosecond apart. Empty unless a fold asks for [`Fields::ORDER`].
    pub order_ns: &'a [u64],
    /// Gap, idle time and run position of the I/O. Empty unless a fold asks for
    /// [`Fields::NEIGHBORS`].
    pub after: &'a [IoAnnotations],
    /// Number of checkpoints taken so far, including [`Self::place`]; 0 if the pass takes none.
    pub stretch: usize,
    /// The checkpoint just before these I/Os, or `None` if none was taken here.
    pub place: Option<&'a Checkpoint>,
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

/// An aggregation over the I/Os of a capture.
pub trait Fold {
    /// Returns the columns of single I/Os that the fold reads.
    fn fields(&self) -> Fields;

    /// Adds the next batch of single I/Os.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if the result exceeds the memory limit.
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError>;

    /// Returns a handle for folding in parallel, or `None` if this fold must see all rows in order.
    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        None
    }

    /// Returns this fold as one that takes cells with the dimensions `recorded`.
    ///
    /// # Errors
    /// Returns the [`NotRecorded`] that the fold needs and cells with these dimensions lack.
    fn as_cell_fold(&mut self, recorded: Dimensions) -> Result<&mut dyn FoldCells, NotRecorded> {
        let _ = recorded;
        Err(NotRecorded::SingleIos)
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

/// A fold over the cells of a step file or a fold file.
pub trait FoldCells {
    /// Adds the next cells.
    ///
    /// # Errors
    /// Returns [`TraceError::TooFine`] if the result exceeds the memory limit, or
    /// [`TraceError::Unsuitable`] if the cells lack a dimension that the fold needs.
    fn take_cells(&mut self, cells: &FilteredCells<'_>) -> Result<(), TraceError>;
}

/// A fold that can create an empty fold with the same settings.
pub trait EmptyLike {
    /// Returns an empty fold with the same settings.
    fn alike(&self) -> Self;
}

/// A part of a fold, which may be filled on another thread.
pub trait FoldPart: Fold + Send + Any {}

impl<F: Fold + Send + Any> FoldPart for F {}

/// A fold that several threads can fill in parts.
pub trait ParallelFold {
    /// Returns an empty fold for a part of the capture.
    fn part(&self) -> Box<dyn FoldPart>;
    /// Merges a part that was created by [`Self::part`]. A part of another type is ignored.
    ///
    /// # Errors
    /// Returns the errors of [`Fold::merge`].
    fn join(&mut self, part: Box<dyn FoldPart>) -> Result<(), TraceError>;
}

impl<F: Fold + EmptyLike + Send + Any> ParallelFold for F {
    fn part(&self) -> Box<dyn FoldPart> {
        Box::new(self.alike())
    }
    fn join(&mut self, part: Box<dyn FoldPart>) -> Result<(), TraceError> {
        let part: Box<dyn Any> = part;
        part.downcast::<F>().map_or(Ok(()), |part| self.merge(*part))
    }
}
