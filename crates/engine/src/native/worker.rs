//! The loop that every drawn I/O goes through: draw, submit, reap, count.
//!
//! A response time runs from just before the system call that submits the I/O to the moment at
//! which its thread sees it completed. The clock is read once per call and once per reap: all
//! I/Os submitted by one call begin with it, and a reap takes only I/Os that had completed before
//! its clock reading. So a response time is never too short, and includes the time that the
//! kernel took to issue the I/Os before it in the same call. A paced I/O begins when it is due
//! instead (see `arrival_times`).
//!
//! While I/Os flow, nothing here allocates, locks or logs; faults, verification and the end of a
//! load leave this path.

mod durable;

use super::pace_schedule::PaceSchedule;
use super::queue::{Completion, Queue, SubmitWait};
use super::sleep_planner::{SleepPlanner, sharpen_timer};
use super::slot_waits::SlotWaits;
use super::thread_ios::{IoSlot, Reap, ThreadIos};
use super::verify::ReadVerifier;
use crate::commits::CommitGroups;
use crate::draw::{DrawnIo, IoGenerator};
use std::sync::atomic::Ordering;
use steadfast_domain::Op;

pub(super) struct Worker<'s, Q: Queue> {
    ios: ThreadIos<'s, Q>,
    generator: IoGenerator,
    /// Writes that wait for their flush; `None` if no flush follows them.
    commits: Option<CommitGroups>,
    verifier: Option<ReadVerifier>,
    schedule: Option<PaceSchedule>,
    slot_waits: SlotWaits,
    sleep: SleepPlanner,
    /// True if the load has a limit in I/Os or bytes.
    has_budget: bool,
}

impl<'s, Q: Queue> Worker<'s, Q> {
    pub(super) fn new(
        ios: ThreadIos<'s, Q>,
        generator: IoGenerator,
        commits: Option<CommitGroups>,
        verifier: Option<ReadVerifier>,
    ) -> Self {
        Worker {
            generator,
            commits,
            verifier,
            schedule: None,
            slot_waits: SlotWaits::default(),
            sleep: SleepPlanner::default(),
            has_budget: ios.shared.budget.is_limited,
            ios,
        }
    }

    /// Issues I/Os until the load ends and all of them have completed.
    pub(super) fn run(mut self, schedule: Option<PaceSchedule>) {
        self.schedule = schedule;
        self.ios.begin();
        let result = if self.schedule.is_some() { self.run_paced() } else { self.run_closed() };
        self.ios.end(result);
    }

    fn run_closed(&mut self) -> Result<(), i32> {
        // Each call submits one more I/O: a batch is never larger than the previous reap, plus
        // one while the queue fills.
        while !self.must_close()
            && let Some(slot) = self.take_open_slot()
            && self.issue(slot, None)
        {
            self.stamp_and_submit(SubmitWait::NoWait)?;
            self.reap();
        }
        while self.ios.count > 0 || self.start_final_flush(self.ios.clock.ticks()) {
            self.stamp_and_submit(SubmitWait::Completion)?;
            self.reap();
        }
        Ok(())
    }

    fn run_paced(&mut self) -> Result<(), i32> {
        sharpen_timer();
        loop {
            let now = self.ios.clock.ticks();
            self.sleep.note_wake_up(self.ios.clock.nanos(now));
            while let Some(due) = self.due_by(now)
                && let Some(slot) = self.take_open_slot()
                && self.issue(slot, Some(due))
            {
                self.sleep.note_issue();
            }
            if self.ios.count == 0 && (self.must_close() || self.next_due().is_none()) {
                if !self.start_final_flush(now) {
                    return Ok(());
                }
                self.ios.is_closing = true;
            }
            let wait = self.wait_until_next_due(now);
            // Nothing has to complete between two due times, however long that is.
            self.ios.lane.publish_outstanding(self.ios.count);
            self.stamp_start_errors();
            let was_open = self.has_open_slot();
            let is_due = self.next_due().is_some_and(|due| due <= now);
            self.slot_waits.note_waiting(is_due && !was_open, now);
            self.ios.submit(wait)?;
            if wait == SubmitWait::NoWait && self.ios.count > 0 {
                // Yields the processor to a kernel thread that may serve these I/Os, such as a
                // loop device's.
                std::thread::yield_now();
            }
            let reaped = self.reap();
            if !was_open && self.has_open_slot() {
                self.slot_waits.note_opened(reaped);
            }
        }
    }

    /// Draws an I/O for a vacant slot and adds it to the batch. Its response time starts at `due`
    /// or, without one, with its submission. Returns false, and leaves the slot vacant, once
    /// nothing more may be issued.
    #[inline(always)]
    fn issue(&mut self, slot: u32, due: Option<u64>) -> bool {
        let Some(drawn) = self.draw() else {
            self.ios.is_closing = true;
            self.ios.vacant.push(slot);
            return false;
        };
        let io = IoSlot { began: due.unwrap_or(0), ..drawn };
        if let Some(commits) = &mut self.commits
            && io.op == Op::Write
        {
            commits.note_issue(slot);
        }
        self.ios.push(slot, io);
        if self.verifier.is_some() {
            self.note_read(slot);
        }
        self.ios.batch.push(slot);
        if let Some(schedule) = &mut self.schedule {
            schedule.note_issue();
            self.ios.lane.note_issue(io.stream);
        }
        true
    }

    /// Draws the next I/O; `None` at the load's limit.
    #[inline(always)]
    fn draw(&mut self) -> Option<IoSlot> {
        if self.has_budget {
            return self.draw_within_budget();
        }
        Some(self.draw_io())
    }

    #[inline(always)]
    fn draw_io(&mut self) -> IoSlot {
        let stream = self.schedule.as_ref().and_then(PaceSchedule::stream);
        let DrawnIo { stream, op, fua, offset, size } = self.generator.draw_of(stream);
        IoSlot { stream, op, fua, offset, size, ..IoSlot::FLUSH }
    }

    fn draw_within_budget(&mut self) -> Option<IoSlot> {
        let mut io = IoSlot::FLUSH;
        let shared = self.ios.shared;
        let size = shared.budget.take(|| {
            io = self.draw_io();
            io.size
        })?;
        Some(IoSlot { size, short_by: io.size - size, ..io })
    }

    /// Submits the batch; the response times of its I/Os start now.
    #[inline(always)]
    fn stamp_and_submit(&mut self, wait: SubmitWait) -> Result<(), i32> {
        let now = self.ios.clock.ticks();
        for slot in &self.ios.batch {
            self.ios.slots[*slot as usize].began = now;
        }
        if let Some(slot) = self.ios.batch.last() {
            self.ios.lane.note_issue(self.ios.slots[*slot as usize].stream);
        }
        self.ios.submit(wait)
    }

    /// Notes how late the I/Os of the batch are, which is submitted next.
    fn stamp_start_errors(&mut self) {
        if self.ios.batch.is_empty() {
            return;
        }
        let now = self.ios.clock.ticks();
        for slot in &self.ios.batch {
            let io = &mut self.ios.slots[*slot as usize];
            io.start_error = self.slot_waits.start_error(io.began, now);
        }
    }

    /// Counts completed I/Os; a closed loop queues a successor for each. Returns its clock
    /// reading.
    #[inline(always)]
    fn reap(&mut self) -> u64 {
        let mut reap = self.ios.begin_reap();
        if !reap.before_end {
            self.ios.shared.time_out();
        }
        self.ios.is_closing |= !reap.before_end || self.ios.shared.is_finishing();
        while let Some(completion) = self.ios.next() {
            self.complete(completion, &mut reap);
        }
        if reap.before_end && reap.seen > 0 {
            self.ios.lane.last.store(reap.now, Ordering::Relaxed);
        }
        if self.ios.is_closing && self.ios.shared.is_given_up() {
            self.give_up(&mut reap);
        }
        let now = reap.now;
        self.ios.end_reap(reap);
        now
    }

    #[inline(always)]
    fn complete(&mut self, completion: Completion, reap: &mut Reap<'_>) {
        // A copy whose address no call takes stays in registers: the rare paths read the slot.
        let io = self.ios.slots[completion.slot as usize];
        if self.commits.is_some() && matches!(io.op, Op::Write | Op::Flush) {
            return self.complete_durable(completion, reap);
        }
        if io.succeeded(completion.result) {
            self.ios.count_transfer(&io, reap);
            if self.schedule.is_some() && reap.before_end {
                reap.account.count_start_error(self.ios.clock.nanos(io.start_error));
            }
        } else {
            self.ios.note_fault(completion, reap);
        }
        if self.verifier.is_some() {
            self.verify(completion);
        }
        self.refill(completion.slot, reap.now);
    }

    /// Issues the next I/O in a slot that has completed one, or leaves that to the schedule.
    #[inline(always)]
    fn refill(&mut self, slot: u32, now: u64) {
        if let Some(schedule) = &mut self.schedule {
            self.ios.vacant.push(slot);
            if self.ios.count == 0 {
                schedule.note_idle(now);
            }
        } else if self.ios.is_closing || !self.is_open(slot) {
            self.ios.vacant.push(slot);
        } else {
            self.issue(slot, None);
        }
    }

    /// Counts the I/Os that are no longer waited for, once, with their time so far.
    #[cold]
    fn give_up(&mut self, reap: &mut Reap<'_>) {
        if self.ios.lane.has_given_up() {
            return;
        }
        let deadline = self.ios.shared.deadline();
        self.ios.vacant.sort_unstable();
        for (slot, io) in self.ios.slots.iter().enumerate() {
            // An I/O without a start is not submitted yet.
            if io.began == 0 || self.ios.vacant.binary_search(&(slot as u32)).is_ok() {
                continue;
            }
            let response_ns = self.ios.response_ns(io.began, reap.now);
            match (&self.commits, io.op) {
                (Some(commits), Op::Flush) => {
                    if io.began < deadline {
                        reap.account.count_outstanding(commits.flush_stream, response_ns);
                    }
                }
                (Some(commits), Op::Write) => {
                    reap.account.count_outstanding(commits.write_only_stream(), response_ns);
                    reap.account.count_outstanding(io.stream, response_ns);
                }
                _ => reap.account.count_outstanding(io.stream, response_ns),
            }
        }
        if let Some(commits) = &mut self.commits {
            for write in commits.take_all_writes() {
                let response_ns = self.ios.response_ns(write.began, reap.now);
                reap.account.count_outstanding(write.stream, response_ns);
            }
        }
        self.ios.lane.give_up(self.ios.count);
    }

    #[cold]
    fn note_read(&mut self, slot: u32) {
        let io = self.ios.slots[slot as usize];
        if let (Op::Read, Some(verifier)) = (io.op, &mut self.verifier) {
            verifier.before_read(slot, io.offset, io.size);
        }
    }

    #[cold]
    fn verify(&mut self, completion: Completion) {
        let Some(verifier) = &self.verifier else { return };
        let io = self.ios.slots[completion.slot as usize];
        if !io.succeeded(completion.result) {
            return;
        }
        let (slot, IoSlot { op, offset, size, .. }) = (completion.slot, io);
        match op {
            Op::Write => verifier.after_write(offset, size),
            Op::Read => {
                let start = self.ios.buffers.buffer(slot, op, offset, size);
                // SAFETY: the slot's buffer is at least as long as its read, which has completed;
                // nothing else uses it.
                let content = unsafe { std::slice::from_raw_parts_mut(start, size as usize) };
                let shared = self.ios.shared;
                verifier.after_read(&shared.target, &shared.findings, slot, offset, content);
            }
            Op::Discard | Op::Flush => {}
        }
    }

    /// Returns true if the load is over for this thread.
    fn must_close(&mut self) -> bool {
        if self.ios.clock.ticks() >= self.ios.shared.deadline() {
            self.ios.shared.time_out();
            self.ios.is_closing = true;
        }
        self.ios.is_closing |= self.ios.shared.is_finishing();
        self.ios.is_closing
    }

    /// Takes a vacant slot that may issue an I/O. All slots of a group are alike, and a slot with
    /// a group of its own is vacant only when that is empty, so the last of them decides.
    fn take_open_slot(&mut self) -> Option<u32> {
        if self.has_open_slot() { self.ios.vacant.pop() } else { None }
    }

    /// Returns true if an I/O may be issued before any completes.
    fn has_open_slot(&self) -> bool {
        self.ios.vacant.last().is_some_and(|slot| self.is_open(*slot))
    }

    /// Returns true if no flush has to complete before the next I/O of a slot.
    fn is_open(&self, slot: u32) -> bool {
        self.commits.as_ref().is_none_or(|commits| commits.may_issue(slot))
    }

    fn next_due(&self) -> Option<u64> {
        self.schedule.as_ref().and_then(PaceSchedule::due)
    }

    /// Returns when the next I/O was due; `None` if it is not due by `now` or cannot be issued.
    fn due_by(&self, now: u64) -> Option<u64> {
        let due = self.next_due().filter(|due| *due <= now)?;
        let can_issue = !self.ios.is_closing && self.has_open_slot();
        (can_issue && due < self.ios.shared.deadline()).then_some(due)
    }

    fn wait_until_next_due(&mut self, now: u64) -> SubmitWait {
        if self.ios.is_closing || !self.has_open_slot() {
            return SubmitWait::Completion;
        }
        let until = self.next_due().unwrap_or(u64::MAX).min(self.ios.shared.deadline());
        if until == u64::MAX {
            return SubmitWait::Completion;
        }
        let clock = self.ios.clock;
        self.sleep.wait_until(clock.nanos(until), clock.nanos(now))
    }
}
