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
use crate::parquet::{Batches, Field, Fields, Trace, TraceRef};
use std::collections::VecDeque;
use std::io::{Read, Seek};

/// Events that wait at most for earlier ones, unless set otherwise.
pub const WAITING_MAX: usize = 1 << 19;
/// Events read from the file at once.
const STRIDE: usize = 1 << 17;

/// How well the order could be kept.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
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
    /// Adds that of another capture.
    pub fn merge(&mut self, other: &OrderAccount) {
        self.overflowed = self.overflowed.saturating_add(other.overflowed);
        self.late = self.late.saturating_add(other.late);
        self.waited_max = self.waited_max.max(other.waited_max);
    }
}

/// The events of a trace, in issue order.
pub struct IssueOrder<'t, R> {
    batches: Batches<'t, R>,
    line: Line,
    /// Events issued before this are left out: a pass that begins in the middle.
    from_ns: u64,
    /// Row groups from this one on are not read.
    groups: usize,
    ended: bool,
}

impl<R: Read + Seek + Send + 'static> Trace<R> {
    /// The events in the order in which they were issued.
    pub fn in_issue_order(&self, fields: Fields) -> IssueOrder<'_, R> {
        IssueOrder::new(TraceRef::Borrowed(self), fields)
    }
}

impl<'t, R: Read + Seek + Send + 'static> IssueOrder<'t, R> {
    /// Starts at the beginning of a trace.
    pub fn new(trace: TraceRef<'t, R>, fields: Fields) -> Self {
        let fields = fields.and(Fields::of(&[Field::Issued]));
        let line = Line::new(trace.earliest_to_come());
        let batches = Batches::of(trace, fields);
        IssueOrder { line, batches, from_ns: 0, groups: usize::MAX, ended: false }
    }

    /// With another bound for the events that wait.
    pub fn waiting_at_most(mut self, events: usize) -> Self {
        self.line = self.line.waiting_at_most(events);
        self
    }

    /// Beginning with a row group, without the events issued before a time.
    pub fn beginning_at(mut self, group: usize, from_ns: u64) -> Self {
        self.batches.skip_to(group);
        self.from_ns = from_ns;
        self
    }

    /// Without the row groups from this one on.
    pub fn ending_before(mut self, group: usize) -> Self {
        self.groups = group;
        self
    }

    /// The latest issue time of what was given out, where the order could be kept.
    pub fn given_out_until(&self) -> Option<u64> {
        self.line.given_out_until()
    }

    /// The next events, in place of those in `batch`; `false` when there are
    /// no more.
    ///
    /// # Errors
    /// Where the medium fails or the file is damaged.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, TraceError> {
        while !self.line.next_ready(batch) {
            if self.ended {
                batch.clear();
                return Ok(false);
            }
            let mut fresh = self.line.spare();
            let is_over = self.batches.next_group() >= self.groups;
            if is_over || self.batches.read(STRIDE, &mut fresh)? == 0 {
                self.ended = true;
                self.line.end();
                continue;
            }
            fresh.sort(&mut self.line.space);
            if let Some(before) = self.from_ns.checked_sub(1) {
                let early = fresh.count_until(before);
                if early > 0 {
                    fresh.split_front(early, &mut Batch::default());
                }
            }
            self.line.offer(fresh, self.batches.next_group());
        }
        Ok(true)
    }

    /// How well the order could be kept so far.
    pub fn account(&self) -> OrderAccount {
        self.line.account
    }
}

/// Where events wait until it is certain that none is still to come that was issued
/// before them.
pub struct Line {
    /// The earliest issue time of each row group and all after it.
    earliest: Vec<u64>,
    waiting: Batch,
    ready: VecDeque<Batch>,
    spare: Vec<Batch>,
    space: SortSpace,
    waiting_max: usize,
    last_out: u64,
    account: OrderAccount,
}

/// Batches whose memory is kept for later ones.
const SPARE_MAX: usize = 4;

impl Line {
    /// Starts with nothing waiting; takes the earliest issue time from each row group on.
    pub fn new(earliest: Vec<u64>) -> Self {
        Line {
            earliest,
            waiting: Batch::default(),
            ready: VecDeque::new(),
            spare: Vec::new(),
            space: SortSpace::default(),
            waiting_max: WAITING_MAX,
            last_out: 0,
            account: OrderAccount::default(),
        }
    }

    /// With another bound for the events that wait.
    pub fn waiting_at_most(mut self, events: usize) -> Self {
        self.waiting_max = events;
        self
    }

    /// How well the order could be kept so far.
    pub fn account(&self) -> OrderAccount {
        self.account
    }

    /// The latest issue time of what was given out, where the order could be kept.
    pub fn given_out_until(&self) -> Option<u64> {
        let is_kept = self.account.late == 0 && self.account.overflowed == 0;
        is_kept.then_some(self.last_out)
    }

    /// An empty batch, with the memory of an earlier one.
    fn spare(&mut self) -> Batch {
        let mut batch = self.spare.pop().unwrap_or_default();
        batch.clear();
        batch
    }

    /// Takes the next events of the file, in issue order among themselves; those of
    /// row group `next` and later ones are still to come.
    pub fn offer(&mut self, mut fresh: Batch, next: usize) {
        self.interleave(&mut fresh);
        let limit = self.earliest.get(next).copied().unwrap_or(0);
        let certain = self.waiting.count_until(limit) + fresh.count_until(limit);
        let waits = self.waiting.len() + fresh.len() - certain;
        let forced = waits.saturating_sub(self.waiting_max);
        self.account.overflowed += forced as u64;
        self.account.waited_max = self.account.waited_max.max((waits - forced) as u64);
        self.let_go(certain + forced, fresh);
    }

    /// Puts those that wait and new ones in order, so that all that wait come before
    /// all new ones. What is in order already is not moved: only the few that were
    /// issued before the last of those that wait.
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

    /// Lets the first `count` go; the others wait.
    fn let_go(&mut self, count: usize, mut fresh: Batch) {
        let (waiting, mut first) = (self.waiting.len(), self.spare());
        if count < waiting {
            self.waiting.split_front(count, &mut first);
            self.waiting.append(&fresh, 0..fresh.len());
            self.keep_memory_of(fresh);
            self.ready.push_back(first);
            return;
        }
        fresh.split_front(count - waiting, &mut first);
        let before = std::mem::replace(&mut self.waiting, fresh);
        self.ready.extend([before, first]);
    }

    /// No more come: lets all go that wait.
    pub fn end(&mut self) {
        self.ready.push_back(std::mem::take(&mut self.waiting));
    }

    /// The next events that are in order for certain, in place of those in `batch`.
    pub fn next_ready(&mut self, batch: &mut Batch) -> bool {
        while let Some(next) = self.ready.pop_front() {
            let is_empty = next.is_empty();
            let gone = if is_empty { next } else { std::mem::replace(batch, next) };
            self.keep_memory_of(gone);
            if !is_empty {
                self.count(batch);
                return true;
            }
        }
        false
    }

    fn keep_memory_of(&mut self, batch: Batch) {
        if self.spare.len() < SPARE_MAX {
            self.spare.push(batch);
        }
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
