//! Puts events in the order in which they were issued.
//!
//! A capture records an I/O when it completes, so a long I/O stands behind
//! later ones. The file tells the earliest issue time of every row group, so it
//! is known which events can have no earlier one still to come: those are given
//! out, the others wait. What waits is bounded: beyond [`WAITING_MAX`] events
//! the earliest are given out all the same, and whatever then comes too late is
//! counted.

use crate::batch::{Batch, SortSpace};
use crate::error::TraceError;
use crate::file::{Batches, Field, Fields, Lent, Trace};
use std::io::{Read, Seek};

/// Events that wait at most for earlier ones, unless set otherwise.
pub const WAITING_MAX: usize = 1 << 19;
/// Events read from the file at once.
const STRIDE: usize = 1 << 17;

/// How well the order could be kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct OrderAccount {
    /// Events given out before it was certain that no earlier one would come.
    pub overflowed: u64,
    /// Events that came after one that was issued later.
    pub late: u64,
    /// Most events that waited at one time.
    pub waited_max: u64,
}

/// The events of a trace, in issue order.
pub struct IssueOrder<'t, R> {
    batches: Batches<'t, R>,
    earliest: Vec<u64>,
    waiting: Batch,
    space: SortSpace,
    waiting_max: usize,
    last_out: u64,
    /// Events issued before this are left out: a pass that begins in the middle.
    from_ns: u64,
    ended: bool,
    account: OrderAccount,
}

impl<R: Read + Seek + Send + 'static> Trace<R> {
    /// The events in the order in which they were issued.
    pub fn in_issue_order(&self, fields: Fields) -> IssueOrder<'_, R> {
        IssueOrder::new(Lent::Borrowed(self), fields)
    }
}

impl<'t, R: Read + Seek + Send + 'static> IssueOrder<'t, R> {
    pub(crate) fn new(trace: Lent<'t, R>, fields: Fields) -> Self {
        let fields = fields.and(Fields::of(&[Field::Issued]));
        IssueOrder {
            earliest: trace.earliest_to_come(),
            batches: Batches::of(trace, fields),
            waiting: Batch::default(),
            space: SortSpace::default(),
            waiting_max: WAITING_MAX,
            last_out: 0,
            from_ns: 0,
            ended: false,
            account: OrderAccount::default(),
        }
    }

    /// With another bound for the events that wait.
    pub fn waiting_at_most(mut self, events: usize) -> Self {
        self.waiting_max = events;
        self
    }

    /// Beginning with a row group, without the events issued before a time.
    pub(crate) fn beginning_at(mut self, group: usize, from_ns: u64) -> Self {
        self.batches.skip_to(group);
        self.from_ns = from_ns;
        self
    }

    /// The latest issue time of what was given out, where the order could be kept.
    pub(crate) fn given_out_until(&self) -> Option<u64> {
        (self.account.late == 0 && self.account.overflowed == 0).then_some(self.last_out)
    }

    /// The next events, in place of those in `batch`; `false` when there are
    /// no more.
    ///
    /// # Errors
    /// Where the medium fails or the file is damaged.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        loop {
            if self.ended && self.waiting.is_empty() {
                batch.clear();
                return Ok(false);
            }
            if !self.ended {
                self.ended = self.batches.read(STRIDE, &mut self.waiting)? == 0;
                self.waiting.sort(&mut self.space);
                self.leave_out_early(batch);
            }
            let ready = self.ready();
            if ready > 0 {
                self.waiting.split_front(ready, batch);
                self.count(batch);
                return Ok(true);
            }
        }
    }

    /// How well the order could be kept so far.
    pub fn account(&self) -> OrderAccount {
        self.account
    }

    /// Drops what was issued before the beginning; `space` is overwritten.
    fn leave_out_early(&mut self, space: &mut Batch) {
        if let Some(before) = self.from_ns.checked_sub(1) {
            let early = self.waiting.count_until(before);
            if early > 0 {
                self.waiting.split_front(early, space);
            }
        }
    }

    fn ready(&mut self) -> usize {
        if self.ended {
            return self.waiting.len();
        }
        let next = self.batches.next_group();
        let certain = self.waiting.count_until(self.earliest.get(next).copied().unwrap_or(0));
        let waits = self.waiting.len() - certain;
        let forced = waits.saturating_sub(self.waiting_max);
        self.account.overflowed += forced as u64;
        self.account.waited_max = self.account.waited_max.max((waits - forced) as u64);
        certain + forced
    }

    fn count(&mut self, batch: &Batch) {
        let late = batch.count_until(self.last_out.saturating_sub(1));
        if self.last_out > 0 {
            self.account.late += late as u64;
        }
        if let Some(last) = batch.len().checked_sub(1) {
            self.last_out = self.last_out.max(batch.issued_ns(last));
        }
    }
}
