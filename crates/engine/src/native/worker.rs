//! The loop that every I/O goes through: draw, submit, reap, count.
//!
//! A response time runs from just before the system call that submits the I/O to the moment at
//! which its thread sees it completed. The clock is read once per call and once per reap: all
//! I/Os submitted by one call begin with it, and a reap takes only I/Os that had completed before
//! its clock reading. So a response time is never too short, and includes the time that the
//! kernel took to issue the I/Os before it in the same call. A paced I/O begins when it is due
//! instead (see `pace`).
//!
//! While I/Os flow, nothing here allocates, locks or logs; faults, verification and the end of a
//! load leave this path.

use super::clock::Clock;
use super::memory::{Arena, PageKind};
use super::pace::PaceSchedule;
use super::pattern::PatternWriter;
use super::queue::{Completion, Queue, Request, SlotBuffer, SubmitWait};
use super::shared::{IssuePermit, LoadFailure, LocatedFault, SharedLoad, ThreadLane};
use super::slot_waits::SlotWaits;
use super::verify::ReadVerifier;
use super::waking::WakeupTimer;
use crate::accounting::IntervalAccount;
use crate::commits::{CommitGroups, UncommittedWrite};
use crate::draw::{DrawnIo, IoGenerator};
use std::sync::atomic::Ordering;
use steadfast_domain::Op;

/// State of one outstanding I/O.
#[derive(Debug, Clone, Copy)]
struct WorkerSlot {
    began: u64,
    offset: u64,
    size: u32,
    stream: u32,
    /// Start error in ticks of an I/O of a paced load; see [`steadfast_domain::StartError`].
    late: u64,
    /// Bytes by which it is shorter than its stream's transfer size.
    missing: u32,
    /// Result of a complete transfer.
    expected: i32,
    op: Op,
}

const VACANT: WorkerSlot = WorkerSlot {
    began: 0,
    offset: 0,
    size: 0,
    stream: 0,
    late: 0,
    missing: 0,
    expected: 0,
    op: Op::Flush,
};

/// Data buffers of a thread's I/Os.
#[derive(Debug)]
pub(super) struct ThreadBuffers {
    reads: Option<Arena>,
    read_stride: usize,
    writer: Option<PatternWriter>,
}

impl ThreadBuffers {
    pub(super) fn new(
        reads: Option<Arena>,
        read_stride: usize,
        writer: Option<PatternWriter>,
    ) -> Self {
        ThreadBuffers { reads, read_stride, writer }
    }

    /// Returns the read buffers of all slots.
    pub(super) fn read_buffers(&self, depth: u32) -> Vec<SlotBuffer> {
        let Some(arena) = &self.reads else { return Vec::new() };
        (0..depth as usize)
            .map(|slot| {
                let start = arena.at(slot * self.read_stride);
                SlotBuffer { start, length: self.read_stride }
            })
            .collect()
    }

    /// Returns the write buffers of all slots.
    pub(super) fn write_buffers(&self, depth: u32) -> Vec<SlotBuffer> {
        let Some(writer) = &self.writer else { return Vec::new() };
        (0..depth)
            .map(|slot| {
                let (start, length) = writer.slot_memory(slot);
                SlotBuffer { start, length }
            })
            .collect()
    }

    /// Returns the kind of pages of the buffers, the smaller if they differ; `None` without
    /// buffers.
    pub(super) fn pages(&self) -> Option<PageKind> {
        let reads = self.reads.as_ref().map(Arena::pages);
        let writes = self.writer.as_ref().map(PatternWriter::pages);
        reads.into_iter().chain(writes).min()
    }

    #[inline(always)]
    pub(super) fn buffer(&mut self, slot: u32, op: Op, offset: u64, size: u32) -> *mut u8 {
        match (op, &self.reads, &mut self.writer) {
            (Op::Read, Some(arena), _) => arena.at(slot as usize * self.read_stride),
            (Op::Write, _, Some(writer)) => writer.next(slot, offset, size),
            _ => std::ptr::null_mut(),
        }
    }
}

/// One thread of a load.
pub(super) struct Worker<'s, Q: Queue> {
    shared: &'s SharedLoad,
    lane: &'s ThreadLane,
    clock: Clock,
    queue: Q,
    drawer: IoGenerator,
    /// Writes that wait for their flush; `None` if no flush follows them.
    commits: Option<CommitGroups>,
    slots: Box<[WorkerSlot]>,
    /// Slots whose I/O is submitted by the next call.
    batch: Vec<u32>,
    /// Slots without an I/O.
    vacant: Vec<u32>,
    transfers: ThreadBuffers,
    checker: Option<ReadVerifier>,
    schedule: Option<PaceSchedule>,
    slot_waits: SlotWaits,
    waking: WakeupTimer,
    outstanding: u32,
    /// Accounting turn that was last published to the lane.
    turn: u32,
    /// True if the load has a budget of I/Os or bytes.
    limited: bool,
    /// True once no more I/Os may be issued.
    closing: bool,
}

impl<'s, Q: Queue> Worker<'s, Q> {
    pub(super) fn new(
        shared: &'s SharedLoad,
        lane: usize,
        queue: Q,
        (drawer, commits): (IoGenerator, Option<CommitGroups>),
        transfers: ThreadBuffers,
        checker: Option<ReadVerifier>,
    ) -> Self {
        let depth = shared.target.depth;
        Worker {
            shared,
            lane: &shared.lanes[lane],
            clock: shared.clock,
            queue,
            drawer,
            commits,
            slots: vec![VACANT; depth as usize].into(),
            batch: Vec::with_capacity(depth as usize),
            vacant: (0..depth).rev().collect(),
            transfers,
            checker,
            schedule: None,
            slot_waits: SlotWaits::default(),
            waking: WakeupTimer::default(),
            outstanding: 0,
            turn: u32::MAX,
            limited: shared.budget.is_limited,
            closing: false,
        }
    }

    /// Issues I/Os until the load ends and all of them have completed.
    pub(super) fn run(mut self, schedule: Option<PaceSchedule>) {
        let paced = schedule.is_some();
        self.schedule = schedule;
        self.lane.note_clock(self.clock.ticks(), u64::MAX);
        let result = if paced { self.run_paced() } else { self.run_closed() };
        if let Err(errno) = result {
            self.shared.fail(LoadFailure::Broken(errno));
        }
        self.lane.publish(self.turn, self.outstanding);
        if self.outstanding > 0 {
            // The kernel may still write to this memory: it stays mapped.
            std::mem::forget(self.transfers);
        }
    }

    /// Keeps all slots busy.
    fn run_closed(&mut self) -> Result<(), i32> {
        // Each call submits one more I/O: a batch is never larger than the previous reap, plus
        // one while the queue fills.
        while let Some(slot) = self.open_slot() {
            if self.must_close() || !self.issue(slot, 0) {
                self.vacant.push(slot);
                break;
            }
            self.hand_over(SubmitWait::Not)?;
            self.reap();
        }
        while self.outstanding > 0 || self.flush_rest(self.clock.ticks()) {
            self.hand_over(SubmitWait::Completion)?;
            self.reap();
        }
        Ok(())
    }

    /// Issues I/Os when they are due.
    fn run_paced(&mut self) -> Result<(), i32> {
        sharpen_timer();
        loop {
            let now = self.clock.ticks();
            self.waking.awake(self.clock.nanos(now));
            while let Some(due) = self.due_by(now) {
                let Some(slot) = self.open_slot() else { break };
                if !self.issue(slot, due) {
                    self.vacant.push(slot);
                    break;
                }
                self.waking.handed_over();
            }
            if self.outstanding == 0 && (self.must_close() || self.next_due().is_none()) {
                if !self.flush_rest(now) {
                    return Ok(());
                }
                self.closing = true;
            }
            let wait = self.pause(now);
            // Nothing has to complete between two due times, however long that is.
            self.lane.publish_outstanding(self.outstanding);
            self.note_start_errors();
            let was_open = self.has_open_slot();
            let is_due = self.next_due().is_some_and(|due| due <= now);
            self.slot_waits.note_waiting(is_due && !was_open, now);
            self.submit(wait)?;
            let reaped = self.reap();
            if !was_open && self.has_open_slot() {
                self.slot_waits.note_opened(reaped);
            }
        }
    }

    /// Notes how late the I/Os of the batch are, which is submitted next.
    fn note_start_errors(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let now = self.clock.ticks();
        for slot in &self.batch {
            let slot = &mut self.slots[*slot as usize];
            slot.late = self.slot_waits.start_error(slot.began, now);
        }
    }

    /// Returns true if an I/O may be issued before any completes.
    fn has_open_slot(&self) -> bool {
        self.vacant.last().is_some_and(|slot| self.is_open(*slot))
    }

    /// Returns true if no flush has to complete before the next I/O of a slot.
    fn is_open(&self, slot: u32) -> bool {
        self.commits.as_ref().is_none_or(|commits| commits.may_issue(slot))
    }

    /// Takes a vacant slot that may issue an I/O. All slots of a group are alike, and a slot with
    /// a group of its own is vacant only when that is empty, so the last of them decides.
    fn open_slot(&mut self) -> Option<u32> {
        if self.has_open_slot() { self.vacant.pop() } else { None }
    }

    fn next_due(&self) -> Option<u64> {
        self.schedule.as_ref().and_then(PaceSchedule::due)
    }

    /// Returns when the next I/O was due; `None` if it is not due by `now` or cannot be issued.
    fn due_by(&self, now: u64) -> Option<u64> {
        let due = self.next_due().filter(|due| *due <= now)?;
        let may = !self.closing && self.has_open_slot();
        (may && due < self.shared.deadline()).then_some(due)
    }

    /// Returns how long to wait for completions before the schedule is checked again.
    fn pause(&mut self, now: u64) -> SubmitWait {
        if self.closing || !self.has_open_slot() {
            return SubmitWait::Completion;
        }
        let until = self.next_due().unwrap_or(u64::MAX).min(self.shared.deadline());
        if until == u64::MAX {
            return SubmitWait::Completion;
        }
        self.waking.until(self.clock.nanos(until), self.clock.nanos(now))
    }

    /// Returns true if the load is over for this thread.
    fn must_close(&mut self) -> bool {
        if self.clock.ticks() >= self.shared.deadline() {
            self.shared.time_out();
            self.closing = true;
        }
        self.closing |= self.shared.is_finishing();
        self.closing
    }

    /// Draws an I/O for a vacant slot and adds it to the batch. `due` is the start of its
    /// response time if that is not its submission. Returns false if nothing may be issued any
    /// more.
    #[inline(always)]
    fn issue(&mut self, slot: u32, due: u64) -> bool {
        let Some((drawn, missing)) = self.draw() else {
            self.closing = true;
            return false;
        };
        if let Some(commits) = &mut self.commits
            && drawn.op == Op::Write
        {
            commits.issued(slot);
        }
        let moves = matches!(drawn.op, Op::Read | Op::Write);
        self.slots[slot as usize] = WorkerSlot {
            began: due,
            offset: drawn.offset,
            size: drawn.size,
            stream: drawn.stream,
            late: 0,
            missing,
            expected: if moves { drawn.size as i32 } else { 0 },
            op: drawn.op,
        };
        let buffer = self.transfers.buffer(slot, drawn.op, drawn.offset, drawn.size);
        if self.checker.is_some() {
            self.note_read(slot, &drawn);
        }
        self.queue.push(Request {
            slot,
            op: drawn.op,
            fua: drawn.fua,
            offset: drawn.offset,
            size: drawn.size,
            buffer,
        });
        self.batch.push(slot);
        self.outstanding += 1;
        if let Some(schedule) = &mut self.schedule {
            schedule.issued();
            self.lane.issued(drawn.stream);
        }
        true
    }

    /// Draws the next I/O. Returns it with the bytes by which it was shortened; `None` at the
    /// load's limit.
    #[inline(always)]
    fn draw(&mut self) -> Option<(DrawnIo, u32)> {
        if self.limited {
            return self.draw_within_budget();
        }
        Some((self.drawer.draw(), 0))
    }

    fn draw_within_budget(&mut self) -> Option<(DrawnIo, u32)> {
        let budget = &self.shared.budget;
        let granted = match budget.ask() {
            IssuePermit::Exhausted => return None,
            IssuePermit::UpTo(size) => Some(size),
            IssuePermit::ToBeCharged => None,
        };
        let mut drawn = self.drawer.draw();
        let size = granted.unwrap_or_else(|| budget.charge(drawn.size));
        let missing = drawn.size - size;
        drawn.size = size;
        (size > 0 || missing == 0).then_some((drawn, missing))
    }

    /// Submits the batch; the response times of its I/Os start now.
    #[inline(always)]
    fn hand_over(&mut self, wait: SubmitWait) -> Result<(), i32> {
        let now = self.clock.ticks();
        for slot in &self.batch {
            self.slots[*slot as usize].began = now;
        }
        if let Some(slot) = self.batch.last() {
            self.lane.issued(self.slots[*slot as usize].stream);
        }
        self.submit(wait)
    }

    #[inline(always)]
    fn submit(&mut self, wait: SubmitWait) -> Result<(), i32> {
        self.batch.clear();
        self.queue.submit(wait)
    }

    /// Counts the completed I/Os and issues as many new ones. Returns its clock reading.
    #[inline(always)]
    fn reap(&mut self) -> u64 {
        let turn = self.lane.begin_reap(self.shared);
        let seen = self.queue.look();
        let now = self.clock.ticks();
        self.lane.note_clock(now, self.shared.long);
        let counting = now < self.shared.deadline();
        if !counting {
            self.shared.time_out();
        }
        self.closing |= !counting || self.shared.is_finishing();
        // SAFETY: this is the lane's thread, and the reap has begun with this turn; the reference
        // ends before the reap does.
        let account = unsafe { self.lane.account(turn) };
        while let Some(completion) = self.queue.next() {
            self.complete(completion, now, account, counting);
        }
        if counting && seen > 0 {
            self.lane.last.store(now, Ordering::Relaxed);
        }
        if self.closing && self.shared.is_given_up() {
            self.give_up(now, account);
        }
        self.lane.end_reap();
        if turn != self.turn || self.closing {
            self.turn = turn;
            self.lane.publish(turn, self.outstanding);
        }
        now
    }

    /// Counts the I/Os that are no longer waited for, once, with their time so far.
    #[cold]
    fn give_up(&mut self, now: u64, account: &mut IntervalAccount) {
        if self.lane.has_given_up() {
            return;
        }
        let deadline = self.shared.deadline();
        for (slot, io) in self.slots.iter().enumerate() {
            // While the load ends, a slot without an I/O is in the list of vacant slots or has
            // never had one.
            if io.began == 0 || self.vacant.contains(&(slot as u32)) {
                continue;
            }
            let response = self.clock.nanos(now.saturating_sub(io.began));
            match (&self.commits, io.op) {
                (Some(commits), Op::Flush) => {
                    if io.began < deadline {
                        account.count_outstanding(commits.flush_stream(), response);
                    }
                }
                (Some(commits), Op::Write) => {
                    account.count_outstanding(commits.alone_stream(), response);
                    account.count_outstanding(io.stream, response);
                }
                _ => account.count_outstanding(io.stream, response),
            }
        }
        if let Some(commits) = &mut self.commits {
            for write in commits.uncommitted() {
                let response = self.clock.nanos(now.saturating_sub(write.began));
                account.count_outstanding(write.stream, response);
            }
        }
        self.lane.give_up(self.outstanding);
    }

    #[inline(always)]
    fn complete(
        &mut self,
        completion: Completion,
        now: u64,
        account: &mut IntervalAccount,
        counting: bool,
    ) {
        let slot = self.slots[completion.slot as usize];
        self.outstanding -= 1;
        if self.commits.is_some() && matches!(slot.op, Op::Write | Op::Flush) {
            return self.complete_durable(completion, now, account, counting);
        }
        if completion.result != slot.expected {
            let WorkerSlot { op, offset, size, .. } = slot;
            let fault = LocatedFault { op, offset, size, errno: 0, at: now };
            note_fault(self.shared, self.lane, fault, completion.result, account);
        } else if !counting {
            // An I/O that was given up was counted then, with its time so far.
            if !self.lane.has_given_up() {
                self.lane.count_late(slot.op, slot.size);
                let response = self.clock.nanos(now.saturating_sub(slot.began));
                account.count_outstanding(slot.stream, response);
            }
        } else {
            let response = self.clock.nanos(now.saturating_sub(slot.began));
            if slot.missing == 0 {
                account.count(slot.stream, response);
            } else {
                account.count_short(slot.stream, response, slot.missing.into());
            }
            if self.schedule.is_some() {
                account.count_start_error(self.clock.nanos(slot.late));
            }
        }
        if self.checker.is_some() {
            self.check(completion, &slot);
        }
        self.refill(completion.slot, now);
    }

    /// Issues the next I/O in a slot that has completed one.
    #[inline(always)]
    fn refill(&mut self, slot: u32, now: u64) {
        if self.schedule.is_some() {
            self.leave_to_schedule(slot, now);
        } else if self.closing || !self.is_open(slot) || !self.issue(slot, 0) {
            self.vacant.push(slot);
        }
    }

    /// Counts a write that a flush follows, or that flush with the writes that it commits.
    fn complete_durable(
        &mut self,
        completion: Completion,
        now: u64,
        account: &mut IntervalAccount,
        counting: bool,
    ) {
        let Some(mut commits) = self.commits.take() else { return };
        let slot = self.slots[completion.slot as usize];
        let failed = completion.result != slot.expected;
        if failed {
            let WorkerSlot { op, offset, size, .. } = slot;
            let fault = LocatedFault { op, offset, size, errno: 0, at: now };
            note_fault(self.shared, self.lane, fault, completion.result, account);
        }
        let mut flushes = false;
        if slot.op == Op::Write {
            if self.checker.is_some() {
                self.check(completion, &slot);
            }
            let WorkerSlot { stream, size, missing, began, late, .. } = slot;
            if failed {
                commits.failed(completion.slot);
            } else {
                let response = self.clock.nanos(now.saturating_sub(began));
                if counting {
                    account.count_sized(commits.alone_stream(), response, size.into());
                    if self.schedule.is_some() {
                        account.count_start_error(self.clock.nanos(late));
                    }
                } else if !self.lane.has_given_up() {
                    account.count_outstanding(commits.alone_stream(), response);
                }
                let write = UncommittedWrite { stream, size, missing, began };
                flushes = commits.written(completion.slot, write);
            }
        } else {
            self.commit(&mut commits, completion.slot, now, account, counting, failed);
        }
        self.commits = Some(commits);
        if flushes {
            return self.flush(completion.slot, now);
        }
        self.refill(completion.slot, now);
        // A flush also opens the slots that waited for it.
        while self.schedule.is_none()
            && !self.closing
            && let Some(slot) = self.open_slot()
        {
            if !self.issue(slot, 0) {
                self.vacant.push(slot);
            }
        }
        if self.closing && self.outstanding == 0 {
            self.flush_rest(now);
        }
    }

    /// Counts a completed flush and the writes that it made durable. Without a flush that
    /// succeeded no write is durable.
    fn commit(
        &mut self,
        commits: &mut CommitGroups,
        slot: u32,
        now: u64,
        account: &mut IntervalAccount,
        counting: bool,
        failed: bool,
    ) {
        let (clock, flush_stream) = (self.clock, commits.flush_stream());
        let (flushed_from, writes) = commits.committed(slot);
        if failed {
            return drop(writes);
        }
        let response = clock.nanos(now.saturating_sub(flushed_from));
        if counting {
            account.count(flush_stream, response);
        } else {
            self.lane.count_late(Op::Flush, 0);
            // A flush that began after the end was not outstanding at it.
            if flushed_from < self.shared.deadline() && !self.lane.has_given_up() {
                account.count_outstanding(flush_stream, response);
            }
        }
        for UncommittedWrite { stream, size, missing, began } in writes {
            let response = clock.nanos(now.saturating_sub(began));
            match (counting, missing) {
                (true, 0) => account.count(stream, response),
                (true, missing) => account.count_short(stream, response, missing.into()),
                _ if self.lane.has_given_up() => {}
                _ => {
                    self.lane.count_late(Op::Write, size);
                    account.count_outstanding(stream, response);
                }
            }
        }
    }

    /// Flushes in a slot that has no I/O.
    fn flush(&mut self, slot: u32, now: u64) {
        if let Some(commits) = &mut self.commits {
            commits.flushing(slot, now);
        }
        let io = &mut self.slots[slot as usize];
        let (offset, buffer) = (0, std::ptr::null_mut());
        *io = WorkerSlot { began: now, expected: 0, op: Op::Flush, offset, size: 0, ..*io };
        self.queue.push(Request { slot, op: Op::Flush, fua: false, offset, size: 0, buffer });
        self.outstanding += 1;
    }

    /// Flushes the writes that no later flush would cover. Returns true if there are any.
    fn flush_rest(&mut self, now: u64) -> bool {
        let slot = self
            .vacant
            .last()
            .copied()
            .filter(|slot| self.commits.as_ref().is_some_and(|commits| commits.is_left(*slot)));
        if let Some(slot) = slot {
            self.vacant.pop();
            self.flush(slot, now);
        }
        slot.is_some()
    }

    fn leave_to_schedule(&mut self, slot: u32, now: u64) {
        self.vacant.push(slot);
        if self.outstanding == 0
            && let Some(schedule) = &mut self.schedule
        {
            schedule.all_complete(now);
        }
    }

    #[cold]
    fn note_read(&mut self, slot: u32, drawn: &DrawnIo) {
        if let (Op::Read, Some(checker)) = (drawn.op, &mut self.checker) {
            checker.before_read(slot, drawn.offset, drawn.size);
        }
    }

    #[cold]
    fn check(&mut self, completion: Completion, slot: &WorkerSlot) {
        let Some(checker) = &self.checker else { return };
        match (slot.op, &self.transfers.reads) {
            _ if completion.result != slot.expected => {}
            (Op::Write, _) => checker.after_write(slot.offset, slot.size),
            (Op::Read, Some(arena)) => {
                let start = arena.at(completion.slot as usize * self.transfers.read_stride);
                // SAFETY: the slot's buffer is at least as long as its read, which has completed;
                // nothing else uses it.
                let content = unsafe { std::slice::from_raw_parts_mut(start, slot.size as usize) };
                let (target, findings) = (&self.shared.target, &self.shared.findings);
                checker.after_read(target, findings, completion.slot, slot.offset, content);
            }
            _ => {}
        }
    }
}

/// Reports an I/O whose `result` is not the expected one as a fault.
#[cold]
pub(super) fn note_fault(
    shared: &SharedLoad,
    lane: &ThreadLane,
    fault: LocatedFault,
    result: i32,
    account: &IntervalAccount,
) {
    let errno = if result < 0 { -result } else { 0 };
    let nothing_done = account.ios() == 0 && lane.last.load(Ordering::Relaxed) == 0;
    let hopeless = nothing_done && matches!(errno, libc::EINVAL | libc::EOPNOTSUPP);
    shared.report_fault(LocatedFault { errno, ..fault }, hopeless);
}

/// Makes timers of this thread fire when they are due, not up to 50 µs later.
pub(super) fn sharpen_timer() {
    // SAFETY: sets one property of the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
