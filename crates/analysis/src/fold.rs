//! What a capture is folded into: a [`Fold`] takes single I/Os, and where these
//! were not kept their sums. Folds over parts merge to the fold over the whole.
//!
//! A fold with a bound for its memory keeps what comes first by a fixed order of
//! keys ([`crate::tables::smallest_keys`]), never what was seen first: otherwise the order of
//! folding and merging would show in the outcome.

use crate::annotate::checkpoint::Checkpoint;
use crate::annotate::sequence::{After, Busy};
use crate::cells::{Cells, Dimensions};
use std::any::Any;
use steadfast_domain::io_event::RESPONSE_UNKNOWN;
use steadfast_tracefile::batch::Batch;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::Fields;

/// Some single I/Os with what their neighbors tell about them.
pub struct Rows<'a> {
    /// The events.
    pub batch: &'a Batch,
    /// Whether each is sequential.
    pub sequential: &'a [bool],
    /// I/Os outstanding when it was issued; 0 where unknown.
    pub depth: &'a [u32],
    /// The part of its time in which the device would have been idle without it; empty unless a
    /// fold asks for [`Fields::BUSY`].
    pub busy: &'a [Busy],
    /// Whether the filter lets it pass.
    pub kept: &'a [bool],
    /// Issue times that increase from each I/O to the next in the order of the file: those that
    /// share a time stand a nanosecond apart; empty unless a fold asks for [`Fields::ORDER`].
    pub order_ns: &'a [u64],
    /// What the I/Os before tell; empty unless a fold asks for [`Fields::NEIGHBORS`].
    pub after: &'a [After],
    /// How many places where a pass can begin lie before the end of these I/Os, where a
    /// pass keeps places.
    pub stretch: usize,
    /// The place just before them, where they are the first of their stretch.
    pub place: Option<&'a Checkpoint>,
}

impl Rows<'_> {
    /// The rows that passed the filter.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.kept.iter().enumerate().filter(|(_, kept)| **kept).map(|(row, _)| row)
    }
    /// Response time, where the completion was seen.
    #[inline]
    pub fn response_ns(&self, row: usize) -> Option<u64> {
        Some(self.batch.response_ns(row)).filter(|response| *response != RESPONSE_UNKNOWN)
    }
    /// Time in the queue, where the source reports it.
    #[inline]
    pub fn queued_ns(&self, row: usize) -> Option<u64> {
        Some(self.batch.queued_ns(row)).filter(|queued| *queued > 0)
    }
    /// Queue depth at issue, where it is known.
    #[inline]
    pub fn depth(&self, row: usize) -> Option<u32> {
        Some(self.depth[row]).filter(|depth| *depth > 0)
    }
}

/// Something that a capture is folded into.
pub trait Fold {
    /// The columns of single I/Os that it reads.
    fn fields(&self) -> Fields;

    /// Takes the next single I/Os.
    ///
    /// # Errors
    /// Where they do not fit into the memory set aside.
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError>;

    /// Itself, as what can be folded in parts side by side; `None` where all must go
    /// into one.
    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        None
    }

    /// Returns this fold as one that takes sums which tell these dimensions.
    ///
    /// # Errors
    /// Returns what it needs that they do not tell.
    fn as_cell_fold(&mut self, recorded: Dimensions) -> Result<&mut dyn FoldCells, NotRecorded> {
        let _ = recorded;
        Err(NotRecorded::SingleIos)
    }

    /// Adds the fold over another part of the same capture, made alike. What comes
    /// of it is the fold over both, in whatever order parts are merged.
    ///
    /// # Errors
    /// Where both together do not fit into the memory set aside.
    fn merge(&mut self, other: Self) -> Result<(), TraceError>
    where
        Self: Sized;
}

/// Something that takes the cells of a step file or a fold file.
pub trait FoldCells {
    /// Takes the next cells.
    ///
    /// # Errors
    /// Where they do not fit into the memory set aside, or cannot be told apart as
    /// finely as asked.
    fn take_cells(&mut self, cells: &Cells<'_>) -> Result<(), TraceError>;
}

/// A fold of which an empty one can be made.
pub trait EmptyLike {
    /// An empty one, made alike.
    fn alike(&self) -> Self;
}

/// A part of a fold, which another thread may fill.
pub trait Part: Fold + Send + Any {}

impl<F: Fold + Send + Any> Part for F {}

/// A fold that can be filled in parts, side by side.
pub trait ParallelFold {
    /// An empty fold for a part of the capture.
    fn part(&self) -> Box<dyn Part>;
    /// Takes in a part that was made by [`Self::part`]; one of another kind is ignored.
    ///
    /// # Errors
    /// As [`Fold::merge`].
    fn join(&mut self, part: Box<dyn Part>) -> Result<(), TraceError>;
}

impl<F: Fold + EmptyLike + Send + Any> ParallelFold for F {
    fn part(&self) -> Box<dyn Part> {
        Box::new(self.alike())
    }
    fn join(&mut self, part: Box<dyn Part>) -> Result<(), TraceError> {
        let part: Box<dyn Any> = part;
        part.downcast::<F>().map_or(Ok(()), |part| self.merge(*part))
    }
}
