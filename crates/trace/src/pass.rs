//! One pass over a trace: in issue order, judged for sequentiality, filtered,
//! and handed to any number of folds.

use crate::batch::Batch;
use crate::error::TraceError;
use crate::file::{Field, Fields, Trace};
use crate::filter::Filter;
use crate::order::{OrderAccount, WAITING_MAX};
use crate::sequence::{Busy, Depths, Sequencer, WINDOW};
use serde::Serialize;
use std::io::{Read, Seek};
use steadfast_domain::io_event::RESPONSE_UNKNOWN;

/// Some events of a trace with what their neighbours tell about them.
pub struct Rows<'a> {
    /// The events.
    pub batch: &'a Batch,
    /// Whether each is sequential.
    pub sequential: &'a [bool],
    /// I/Os outstanding when it was issued; 0 where unknown.
    pub depth: &'a [u32],
    /// The part of its time in which the device would have been idle without it.
    pub busy: &'a [Busy],
    /// Whether the filter lets it pass.
    pub kept: &'a [bool],
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
    /// Queue depth at issue, where it is known.
    #[inline]
    pub fn depth(&self, row: usize) -> Option<u32> {
        Some(self.depth[row]).filter(|depth| *depth > 0)
    }
}

/// Something that a trace is folded into.
pub trait Fold {
    /// The columns that it reads.
    fn fields(&self) -> Fields;
    /// Takes the next rows.
    ///
    /// # Errors
    /// Where they do not fit into the memory set aside.
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError>;
}

/// How to go over a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Pass {
    /// Which events count. Sequentiality, depth and busy time are judged before.
    pub filter: Filter,
    /// I/Os looked back at for sequentiality.
    pub window: usize,
    /// Events that may wait for earlier ones.
    pub waiting_max: usize,
}

impl Default for Pass {
    fn default() -> Self {
        Pass { filter: Filter::default(), window: WINDOW, waiting_max: WAITING_MAX }
    }
}

/// What a pass saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct PassAccount {
    /// Events read.
    pub events: u64,
    /// Events that passed the filter.
    pub kept: u64,
    /// Issue time of the first and the last that passed.
    pub span_ns: Option<(u64, u64)>,
    /// Events whose queue depth was counted from issue and response times.
    pub depths_counted: u64,
    /// How well the order could be kept.
    pub order: OrderAccount,
}

/// Columns that a pass itself reads.
const OWN: Fields = Fields::of(&[
    Field::Issued,
    Field::Response,
    Field::Offset,
    Field::Inode,
    Field::Bytes,
    Field::Depth,
    Field::Device,
    Field::Op,
    Field::Layer,
]);

impl Pass {
    /// Goes over the trace once and hands every batch to all folds.
    ///
    /// # Errors
    /// Where the trace cannot be read or a fold is out of room.
    pub fn run<R: Read + Seek + Send + 'static>(
        &self,
        trace: &Trace<R>,
        folds: &mut [&mut dyn Fold],
    ) -> Result<PassAccount, TraceError> {
        let fields =
            folds.iter().fold(OWN.and(self.filter.fields()), |f, fold| f.and(fold.fields()));
        let mut order = trace.in_issue_order(fields).waiting_at_most(self.waiting_max);
        let mut sequencer = Sequencer::new(self.window).with(Depths::of(trace.conditions()));
        let mut account = PassAccount::default();
        let (mut batch, mut kept) = (Batch::default(), Vec::new());
        let mut times = ResponseTimes::default();
        while order.next_batch(&mut batch)? {
            account.events += batch.len() as u64;
            times.see(&batch)?;
            sequencer.follow(&batch);
            self.filter.mark(&batch, &sequencer.sequential, &mut kept);
            account.see(&batch, &kept);
            let rows = Rows {
                batch: &batch,
                sequential: &sequencer.sequential,
                depth: &sequencer.depth,
                busy: &sequencer.busy,
                kept: &kept,
            };
            folds.iter_mut().try_for_each(|fold| fold.take(&rows))?;
            if self.filter.is_over(batch.issued_ns(0)) {
                break;
            }
        }
        account.order = order.account();
        account.depths_counted = sequencer.depths_counted;
        Ok(account)
    }
}

/// All response times added up: where this sum has room, that of any of them has.
#[derive(Default)]
struct ResponseTimes(u64);

impl ResponseTimes {
    fn see(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let known = (0..batch.len()).map(|row| batch.response_ns(row));
        let mut known = known.filter(|response| *response != RESPONSE_UNKNOWN);
        self.0 = known.try_fold(self.0, u64::checked_add).ok_or_else(|| {
            let what = "response times that no capture can have: together more than 584 years";
            TraceError::damaged("in column response_ns", what)
        })?;
        Ok(())
    }
}

impl PassAccount {
    fn see(&mut self, batch: &Batch, kept: &[bool]) {
        self.kept += kept.iter().filter(|kept| **kept).count() as u64;
        let first = kept.iter().position(|kept| *kept);
        let last = kept.iter().rposition(|kept| *kept);
        if let (Some(first), Some(last)) = (first, last) {
            let (first, last) = (batch.issued_ns(first), batch.issued_ns(last));
            let (from, to) = self.span_ns.unwrap_or((first, last));
            self.span_ns = Some((from.min(first), to.max(last)));
        }
    }
}
