//! Sorts events by issue time while a trace is read.
//!
//! A capture records an I/O when it completes, so a long I/O appears after I/Os that were
//! issued later. The file keeps the earliest issue time of every row group, which shows up to
//! which time no earlier event can follow: events up to there are delivered, the others wait.
//! The number of waiting events is bounded. Beyond [`WAITING_MAX`] the earliest are delivered
//! anyway, and events that then arrive too late are counted.

use crate::batch::{Batch, SortBuffers};
use crate::error::TraceError;
use crate::parquet::{Field, Fields, Trace, TraceBatches, TraceRef};
use schemars::JsonSchema;
use std::collections::VecDeque;

/// Default limit for the number of waiting events.
pub const WAITING_MAX: usize = 1 << 19;
/// Events read from the file at a time.
const STRIDE: usize = 1 << 17;

/// I/Os that could not be put in issue order.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, JsonSchema,
)]
pub struct OrderAccount {
    /// Events given out before it was certain that no earlier one would come.
    pub overflowed: u64,
    /// Events that came after one that was issued later.
    pub late: u64,
    /// Most events that waited at one time.
    pub waited_max: u64,
}

impl OrderAccount {
    /// Adds the account of another capture.
    pub fn merge(&mut self, other: &OrderAccount) {
        self.overflowed = self.overflowed.saturating_add(other.overflowed);
        self.late = self.late.saturating_add(other.late);
        self.waited_max = self.waited_max.max(other.waited_max);
    }
}

/// The events of a trace in issue order.
pub struct IssueOrder<'t> {
    batches: TraceBatches<'t>,
    buffer: ReorderBuffer,
    /// Events issued before this time are skipped, for a pass that begins in the middle.
    from_ns: u64,
    /// Number of the first row group that is not read.
    groups: usize,
    ended: bool,
}

impl Trace {
    /// Returns the events in issue order.
    pub fn in_issue_order(&self, fields: Fields) -> IssueOrder<'_> {
        IssueOrder::new(TraceRef::Borrowed(self), fields)
    }
}

impl<'t> IssueOrder<'t> {
    /// Creates a reader at the beginning of a trace.
    pub fn new(trace: TraceRef<'t>, fields: Fields) -> Self {
        let fields = fields.and(Fields::new(&[Field::Issued]));
        let buffer = ReorderBuffer::new(trace.earliest_to_come());
        let batches = TraceBatches::new(trace, fields);
        IssueOrder { buffer, batches, from_ns: 0, groups: usize::MAX, ended: false }
    }

    /// Sets the limit for the number of waiting events.
    pub fn waiting_at_most(mut self, events: usize) -> Self {
        self.buffer = self.buffer.waiting_at_most(events);
        self
    }

    /// Starts at a row group and skips the events issued before `from_ns`.
    pub fn beginning_at(mut self, group: usize, from_ns: u64) -> Self {
        self.batches.skip_to(group);
        self.from_ns = from_ns;
        self
    }

    /// Stops before a row group.
    pub fn ending_before(mut self, group: usize) -> Self {
        self.groups = group;
        self
    }

    /// Returns the latest issue time delivered so far; `None` if events were out of order.
    pub fn delivered_until_ns(&self) -> Option<u64> {
        self.buffer.delivered_until_ns()
    }

    /// Replaces the contents of `batch` with the next events; returns `false` at the end.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if the medium fails, or [`TraceError::Damaged`] if a column
    /// cannot be read or decoded.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        while !self.buffer.next_ready(batch) {
            if self.ended {
                batch.clear();
                return Ok(false);
            }
            let mut fresh = self.buffer.spare();
            let is_over = self.batches.next_group() >= self.groups;
            if is_over || self.batches.read(STRIDE, &mut fresh)? == 0 {
                self.ended = true;
                self.buffer.end();
                continue;
            }
            fresh.sort(&mut self.buffer.space);
            if let Some(before) = self.from_ns.checked_sub(1) {
                let early = fresh.count_until(before);
                if early > 0 {
                    fresh.split_front(early, &mut Batch::default());
                }
            }
            self.buffer.offer(fresh, self.batches.next_group());
        }
        Ok(true)
    }

    /// Returns the number of I/Os that could not be put in order so far.
    pub fn account(&self) -> OrderAccount {
        self.buffer.account
    }
}

/// A queue in which events wait until no event with an earlier issue time can follow.
pub struct ReorderBuffer {
    /// Earliest issue time from each row group to the end of the trace.
    earliest: Vec<u64>,
    waiting: Batch,
    ready: VecDeque<Batch>,
    spare: Vec<Batch>,
    space: SortBuffers,
    waiting_max: usize,
    last_out: u64,
    account: OrderAccount,
}

/// Emptied batches whose memory is kept for reuse.
const SPARE_MAX: usize = 4;

impl ReorderBuffer {
    /// Creates an empty queue from the earliest issue time from each row group on.
    pub fn new(earliest: Vec<u64>) -> Self {
        ReorderBuffer {
            earliest,
            waiting: Batch::default(),
            ready: VecDeque::new(),
            spare: Vec::new(),
            space: SortBuffers::default(),
            waiting_max: WAITING_MAX,
            last_out: 0,
            account: OrderAccount::default(),
        }
    }

    /// Sets the limit for the number of waiting events.
    pub fn waiting_at_most(mut self, events: usize) -> Self {
        self.waiting_max = events;
        self
    }

    /// Returns the number of I/Os that could not be put in order so far.
    pub fn account(&self) -> OrderAccount {
        self.account
    }

    /// Returns the latest issue time delivered so far; `None` if events were out of order.
    pub fn delivered_until_ns(&self) -> Option<u64> {
        let is_kept = self.account.late == 0 && self.account.overflowed == 0;
        is_kept.then_some(self.last_out)
    }

    /// Returns an empty batch that reuses memory.
    fn spare(&mut self) -> Batch {
        let mut batch = self.spare.pop().unwrap_or_default();
        batch.clear();
        batch
    }

    /// Adds the next events of the file, sorted by issue time. `next` is the number of the first
    /// row group that is still to come.
    pub fn offer(&mut self, mut fresh: Batch, next: usize) {
        self.interleave(&mut fresh);
        let limit = self.earliest.get(next).copied().unwrap_or(0);
        let certain = self.waiting.count_until(limit) + fresh.count_until(limit);
        let waits = self.waiting.len() + fresh.len() - certain;
        let forced = waits.saturating_sub(self.waiting_max);
        self.account.overflowed += forced as u64;
        self.account.waited_max = self.account.waited_max.max((waits - forced) as u64);
        self.release(certain + forced, fresh);
    }

    /// Sorts waiting and new events so that all waiting ones precede all new ones. Only the few
    /// new events issued before the last waiting one are moved.
    fn interleave(&mut self, fresh: &mut Batch) {
        let waiting = self.waiting.len();
        let Some(last) = waiting.checked_sub(1) else { return };
        let earlier = fresh.count_before(self.waiting.issued_ns(last));
        if earlier > 0 {
            self.waiting.append(fresh, 0..earlier);
            self.waiting.sort(&mut self.space);
            self.waiting.move_tail(waiting, fresh);
        }
    }

    /// Releases the first `count` events; the others wait.
    fn release(&mut self, count: usize, mut fresh: Batch) {
        let (waiting, mut first) = (self.waiting.len(), self.spare());
        if count < waiting {
            self.waiting.split_front(count, &mut first);
            self.waiting.append(&fresh, 0..fresh.len());
            self.reuse(fresh);
            self.ready.push_back(first);
            return;
        }
        fresh.split_front(count - waiting, &mut first);
        let before = std::mem::replace(&mut self.waiting, fresh);
        self.ready.extend([before, first]);
    }

    /// Releases all waiting events at the end of the trace.
    pub fn end(&mut self) {
        self.ready.push_back(std::mem::take(&mut self.waiting));
    }

    /// Replaces the contents of `batch` with the next released events; returns `false` if there
    /// are none.
    pub fn next_ready(&mut self, batch: &mut Batch) -> bool {
        while let Some(next) = self.ready.pop_front() {
            let is_empty = next.is_empty();
            let unused = if is_empty { next } else { std::mem::replace(batch, next) };
            self.reuse(unused);
            if !is_empty {
                self.count_late(batch);
                return true;
            }
        }
        false
    }

    fn reuse(&mut self, batch: Batch) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(batch);
        }
    }

    fn count_late(&mut self, batch: &Batch) {
        let late = batch.count_until(self.last_out.saturating_sub(1));
        if self.last_out > 0 {
            self.account.late += late as u64;
        }
        if let Some(last) = batch.len().checked_sub(1) {
            self.last_out = self.last_out.max(batch.issued_ns(last));
        }
    }
}
