//! A running load in virtual time: its I/Os are drawn, issued, completed and counted.

use super::calendar::EventCalendar;
use super::drive::SimulatedDrive;
use super::fault::{FaultState, IoOutcome};
use super::pace::Pacer;
use crate::accounting::{IntervalAccount, LOCATED_FAULTS_MAX, StepMeter};
use crate::commits::{CommitGroups, UncommittedWrite};
use crate::draw::{DrawPlan, DrawnIo, IoGenerator};
use crate::start::StepStart;
use crate::stop::StopSignal;
use std::sync::Arc;
use steadfast_domain::measurement::{Fault, Interval, Silence, UnmeasuredIos};
use steadfast_domain::step::is_partial;
use steadfast_domain::{Bytes, Load, Nanos, Op, Stimulus};

/// Number of failed I/Os after which a step is void.
pub(super) const FAULT_LIMIT: u64 = 100;

/// Error number of an I/O error on Linux.
const EIO: i32 = 5;

/// Number of I/Os between two checks for a stop.
pub(super) const STOP_EVERY: u32 = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AdvanceEnd {
    Reached,
    /// The load has done all its work, and its last I/O has completed.
    Complete,
    Stopped,
    Faulty,
    Hangs,
    Gone,
    Failed,
}

/// A slot of a load as its thread knows it.
#[derive(Debug, Clone, Copy)]
struct ThreadSlot {
    thread: usize,
    number: u32,
}

impl IoOutcome {
    /// Returns how the load ends, if this outcome ends it.
    pub(super) fn end(self) -> Option<AdvanceEnd> {
        match self {
            IoOutcome::Gone => Some(AdvanceEnd::Gone),
            IoOutcome::Hangs => Some(AdvanceEnd::Hangs),
            IoOutcome::Completes | IoOutcome::Fails => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SettleTime {
    Ramp,
    Measured,
    /// After the end of the load, which was at this time.
    Ended(u64),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct OutstandingIo {
    /// Time at which it was issued or, if the load has a pace, due.
    pub(super) began: u64,
    pub(super) offset: u64,
    pub(super) size: u32,
    /// Bytes by which it is shorter than its stream's transfer size.
    pub(super) short_by: u32,
    pub(super) stream: u32,
    pub(super) op: Op,
    pub(super) fails: bool,
}

impl OutstandingIo {
    /// Content of a slot that has had no I/O yet.
    pub(super) const NONE: OutstandingIo = OutstandingIo {
        began: 0,
        offset: 0,
        size: 0,
        short_by: 0,
        stream: 0,
        op: Op::Read,
        fails: false,
    };
}

/// The drive that a load runs on, its faults, the stop flag, and the measurement of the step.
pub(super) struct SimContext<'a> {
    pub(super) drive: &'a mut SimulatedDrive,
    pub(super) faults: &'a mut FaultState,
    pub(super) stop: &'a StopSignal,
    pub(super) measurement: &'a mut SimulatedMeasurement,
}

#[derive(Debug)]
pub(super) struct RunningLoad {
    pub(super) stimulus: Stimulus,
    pub(super) plan: Arc<DrawPlan>,
    drawers: Vec<IoGenerator>,
    /// Seed in use, if it is not the stimulus's own.
    pub(super) seed: Option<u64>,
    pacer: Pacer,
    /// Writes of each thread that wait for their flush; empty if no flush follows them.
    commits: Vec<CommitGroups>,
    calendar: EventCalendar,
    slots: Box<[OutstandingIo]>,
    free: Vec<usize>,
    pub(super) now: u64,
    /// Time since when nothing is outstanding; valid only while that is so.
    idle_since: u64,
    /// Virtual time at which it begins, in nanoseconds.
    pub(super) begins: u64,
    /// Virtual time at which its ramp ends, in nanoseconds.
    pub(super) measured_from: u64,
    /// Time at which the load is complete; `None` if no time limit applies.
    pub(super) ends_at: Option<u64>,
    /// I/Os and bytes that the load may still issue.
    remaining_ios: u64,
    remaining_bytes: u64,
    until_stop: u32,
    /// Index of its first stream among the streams of all loads that run at once.
    first_stream: u32,
    /// True if other loads run at the same time, so that this one does not decide when the drive
    /// is idle.
    is_concurrent: bool,
}

impl RunningLoad {
    /// Starts a load at `now` with all slots free.
    pub(super) fn begin(stimulus: &Stimulus, plan: DrawPlan, start: &StepStart, now: u64) -> Self {
        let plan = Arc::new(plan.with_cursors(&start.cursors));
        let seed = start.seed(stimulus.seed);
        let drawers = (0..stimulus.demand.threads)
            .map(|thread| IoGenerator::new(Arc::clone(&plan), seed, thread))
            .collect();
        let slots = stimulus.demand.outstanding() as usize;
        let (until, done) = (stimulus.until, start.done);
        let (delay, ramp) = (stimulus.delay, stimulus.ramp);
        let measured_from = now + ramp.0;
        let begins = now + delay.saturating_sub(start.elapsed_with(ramp)).0;
        let measured = start.measured_time(delay, ramp);
        // Without a ramp its time counts from its first I/O.
        let timed_from = if ramp > Nanos::ZERO { measured_from } else { begins };
        RunningLoad {
            plan,
            drawers,
            seed: start.other_seed(stimulus.seed),
            pacer: Pacer::new(stimulus, seed, begins),
            commits: (0..stimulus.demand.threads)
                .filter_map(|_| CommitGroups::new(&stimulus.streams, stimulus.demand.depth))
                .collect(),
            calendar: EventCalendar::new(slots, begins),
            slots: vec![OutstandingIo::NONE; slots].into(),
            free: (0..slots).rev().collect(),
            now: begins,
            idle_since: begins,
            begins,
            measured_from,
            ends_at: until
                .time
                .map(|time| timed_from.saturating_add(time.saturating_sub(measured).0)),
            remaining_ios: until.ios.map_or(u64::MAX, |ios| ios.saturating_sub(done.ios)),
            remaining_bytes: until
                .bytes
                .map_or(u64::MAX, |bytes| bytes.0.saturating_sub(done.bytes.0)),
            until_stop: STOP_EVERY,
            first_stream: 0,
            is_concurrent: false,
            stimulus: stimulus.clone(),
        }
    }

    /// Makes it one of several loads at once; its streams start at index `first_stream`.
    pub(super) fn among_others(self, first_stream: u32) -> Self {
        RunningLoad { first_stream, is_concurrent: true, ..self }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.calendar.first().is_none()
    }

    /// Returns the time of the load's next event; the current time if it has nothing more to do.
    pub(super) fn next_event(&self) -> u64 {
        let completion = self.calendar.first().map(|(done, _)| done);
        let can_issue = self.may_issue() && self.has_open_slot();
        let issue = self.pacer.due().filter(|_| can_issue).map(|due| due.max(self.now));
        let is_over = completion.is_none() && !self.may_issue();
        let without_event = if is_over { self.now } else { u64::MAX };
        completion.into_iter().chain(issue).min().unwrap_or(without_event)
    }

    /// Lets the drive collect garbage while this load has nothing outstanding.
    fn idle(&self, to: u64, context: &mut SimContext) {
        if !self.is_concurrent {
            context.drive.idle(self.idle_since, to);
        }
    }

    /// Completes the I/Os that are outstanding at the end of the load.
    pub(super) fn drain(
        &mut self,
        drive: &mut SimulatedDrive,
        measurement: &mut SimulatedMeasurement,
    ) {
        let end = self.now;
        loop {
            while let Some((done, slot)) = self.calendar.first() {
                self.now = self.now.max(done);
                self.calendar.clear(slot);
                measurement.note_completion(self.now);
                if !self.is_durable(slot) {
                    measurement.count_outstanding(&self.slots[slot], self.now);
                } else if self.settle(slot, measurement, SettleTime::Ended(end)) {
                    self.flush(slot, drive);
                    continue;
                }
                self.free.push(slot);
            }
            if !self.flush_rest(drive) {
                return;
            }
        }
    }

    /// Returns true if the I/O of a slot is a write that a flush follows, or that flush.
    #[inline(always)]
    fn is_durable(&self, slot: usize) -> bool {
        !self.commits.is_empty() && matches!(self.slots[slot].op, Op::Write | Op::Flush)
    }

    fn thread_slot(&self, slot: usize) -> ThreadSlot {
        let depth = self.stimulus.demand.depth as usize;
        ThreadSlot { thread: slot / depth, number: (slot % depth) as u32 }
    }

    /// Returns true if no flush has to complete before the next I/O of a slot.
    #[inline(always)]
    fn is_open(&self, slot: usize) -> bool {
        if self.commits.is_empty() {
            return true;
        }
        let slot = self.thread_slot(slot);
        self.commits[slot.thread].may_issue(slot.number)
    }

    /// Returns true if an I/O may be issued before any completes.
    #[inline(always)]
    fn has_open_slot(&self) -> bool {
        self.free.iter().rev().any(|slot| self.is_open(*slot))
    }

    /// Takes a free slot whose next I/O need not wait for a flush.
    fn take_open_slot(&mut self) -> Option<usize> {
        let index = self.free.iter().rposition(|slot| self.is_open(*slot))?;
        Some(self.free.remove(index))
    }

    /// Counts a completed write that a flush follows, or that flush with the writes that it
    /// commits. Returns true if the slot has to flush.
    fn settle(
        &mut self,
        slot: usize,
        measurement: &mut SimulatedMeasurement,
        time: SettleTime,
    ) -> bool {
        if self.slots[slot].op == Op::Write {
            return self.settle_write(slot, measurement, time);
        }
        self.settle_flush(slot, measurement, time);
        false
    }

    /// Counts a completed write that a flush follows. Returns true if the slot has to flush.
    fn settle_write(
        &mut self,
        slot: usize,
        measurement: &mut SimulatedMeasurement,
        time: SettleTime,
    ) -> bool {
        let io = self.slots[slot];
        let slot = self.thread_slot(slot);
        let is_paced = !self.pacer.is_closed();
        let (now, commits) = (self.now, &mut self.commits[slot.thread]);
        if io.fails {
            commits.note_failure(slot.number);
            return false;
        }
        let write_stream = commits.write_only_stream() + self.first_stream;
        match time {
            SettleTime::Measured => {
                measurement.account.count_sized(write_stream, now - io.began, io.size.into());
                if is_paced {
                    measurement.account.count_start_error(0);
                }
            }
            SettleTime::Ramp => {}
            SettleTime::Ended(_) => {
                measurement.account.count_outstanding(write_stream, now - io.began)
            }
        }
        let OutstandingIo { stream, size, short_by, began, .. } = io;
        commits.note_completion(slot.number, UncommittedWrite { stream, size, short_by, began })
    }

    /// Counts a completed flush and the writes that it commits.
    fn settle_flush(
        &mut self,
        slot: usize,
        measurement: &mut SimulatedMeasurement,
        time: SettleTime,
    ) {
        let slot = self.thread_slot(slot);
        let (now, commits) = (self.now, &mut self.commits[slot.thread]);
        let flush_stream = commits.flush_stream + self.first_stream;
        let flush_began = commits.end_flush(slot.number);
        match time {
            SettleTime::Measured => measurement.account.count(flush_stream, now - flush_began),
            SettleTime::Ramp => measurement.count_unmeasured(Op::Flush, 0),
            SettleTime::Ended(end) => {
                measurement.count_unmeasured(Op::Flush, 0);
                // A flush that began after the end was not outstanding at it.
                if flush_began < end {
                    measurement.account.count_outstanding(flush_stream, now - flush_began);
                }
            }
        }
        for UncommittedWrite { stream, size, short_by, began } in commits.take_writes(slot.number) {
            let response = now - began;
            match time {
                SettleTime::Measured if short_by == 0 => {
                    measurement.account.count(stream, response)
                }
                SettleTime::Measured => {
                    measurement.account.count_short(stream, response, u64::from(short_by));
                }
                SettleTime::Ramp => measurement.count_unmeasured(Op::Write, size),
                SettleTime::Ended(_) => {
                    measurement.count_unmeasured(Op::Write, size);
                    measurement.account.count_outstanding(stream, response);
                }
            }
        }
    }

    /// Flushes in a slot without an outstanding I/O.
    fn flush(&mut self, slot: usize, drive: &mut SimulatedDrive) {
        let io = DrawnIo { stream: 0, op: Op::Flush, fua: false, offset: 0, size: 0 };
        let done = drive.submit(self.now, &io);
        let thread_slot = self.thread_slot(slot);
        self.commits[thread_slot.thread].begin_flush(thread_slot.number, self.now);
        self.slots[slot] = OutstandingIo { began: self.now, op: Op::Flush, ..OutstandingIo::NONE };
        self.calendar.set(slot, done);
    }

    /// Flushes for writes that no later write will flush for. Returns true if there are any.
    fn flush_rest(&mut self, drive: &mut SimulatedDrive) -> bool {
        let unflushed = self.free.iter().position(|slot| {
            let slot = self.thread_slot(*slot);
            let commits = self.commits.get(slot.thread);
            commits.is_some_and(|commits| commits.needs_final_flush(slot.number))
        });
        if let Some(index) = unflushed {
            let slot = self.free.remove(index);
            self.flush(slot, drive);
        }
        unflushed.is_some()
    }

    /// Runs up to `to`; an I/O that completes exactly at `to` belongs to the next call.
    pub(super) fn advance(&mut self, to: u64, context: &mut SimContext) -> AdvanceEnd {
        if to <= self.now {
            return AdvanceEnd::Reached;
        }
        loop {
            if self.may_issue()
                && self.has_open_slot()
                && let Some(end) = self.issue_due(to, context)
            {
                return end;
            }
            let Some((done, slot)) = self.calendar.first() else {
                if !self.may_issue() && self.flush_rest(context.drive) {
                    continue;
                }
                return self.pass_idle_time(to, context);
            };
            if done >= to {
                self.now = to;
                return AdvanceEnd::Reached;
            }
            self.now = done;
            if self.is_durable(slot) {
                let is_measured = self.now >= self.measured_from;
                let time = if is_measured { SettleTime::Measured } else { SettleTime::Ramp };
                context.measurement.note_completion(self.now);
                if self.settle(slot, context.measurement, time) {
                    self.flush(slot, context.drive);
                    continue;
                }
            }
            let is_settled = self.is_durable(slot) && !self.slots[slot].fails;
            if !is_settled && !self.complete(slot, context.measurement) {
                self.release(slot);
                return AdvanceEnd::Faulty;
            }
            let reissues = self.pacer.is_closed() && self.may_issue() && self.is_open(slot);
            if !reissues {
                self.release(slot);
            } else if let Some(end) = self.issue(slot, done, done, context) {
                self.release(slot);
                return end;
            }
        }
    }

    /// Checks for a stop once every [`STOP_EVERY`] I/Os.
    #[inline(always)]
    fn is_stop_requested(&mut self, stop: &StopSignal) -> bool {
        self.until_stop -= 1;
        if self.until_stop > 0 {
            return false;
        }
        self.until_stop = STOP_EVERY;
        stop.is_requested()
    }

    #[inline(always)]
    fn may_issue(&self) -> bool {
        self.remaining_ios > 0 && self.remaining_bytes > 0
    }

    fn release(&mut self, slot: usize) {
        self.calendar.clear(slot);
        self.free.push(slot);
        if self.free.len() == self.slots.len() {
            self.idle_since = self.now;
            self.pacer.note_idle(self.now);
        }
    }

    /// Issues the I/Os that are due before the next completion, as long as slots are free.
    fn issue_due(&mut self, to: u64, context: &mut SimContext) -> Option<AdvanceEnd> {
        while self.may_issue() {
            let due = self.pacer.due()?;
            let at = due.max(self.now);
            let next = self.calendar.first().map_or(to, |(done, _)| done.min(to));
            if at >= next && due > self.now {
                return None;
            }
            if self.free.len() == self.slots.len() {
                if at > self.now {
                    self.idle(at, context);
                }
                if !self.is_concurrent {
                    context.measurement.end_idle_time(at);
                }
            }
            let slot = self.take_open_slot()?;
            let began = if self.pacer.is_closed() { at } else { due };
            self.now = at;
            if let Some(end) = self.issue(slot, began, at, context) {
                self.free.push(slot);
                return Some(end);
            }
        }
        None
    }

    /// Handles the time without outstanding I/Os: the load is over, or the next I/O is due later.
    fn pass_idle_time(&mut self, to: u64, context: &mut SimContext) -> AdvanceEnd {
        if !self.may_issue() {
            return AdvanceEnd::Complete;
        }
        self.idle(to, context);
        self.now = to;
        AdvanceEnd::Reached
    }

    #[inline]
    fn issue(
        &mut self,
        slot: usize,
        began: u64,
        now: u64,
        context: &mut SimContext,
    ) -> Option<AdvanceEnd> {
        if self.is_stop_requested(context.stop) {
            return Some(AdvanceEnd::Stopped);
        }
        let outcome = context.faults.next_outcome();
        if let Some(end) = outcome.end() {
            return Some(end);
        }
        let thread = slot / self.stimulus.demand.depth as usize;
        let mut io = self.drawers[thread].draw_of(self.pacer.stream());
        self.pacer.note_issue();
        let short_by = self.charge(&mut io);
        let done = context.faults.delayed_by_freeze(context.drive.submit(now, &io));
        let DrawnIo { op, offset, size, .. } = io;
        let stream = io.stream + self.first_stream;
        let fails = outcome == IoOutcome::Fails;
        if op == Op::Write && !self.commits.is_empty() {
            let slot = self.thread_slot(slot);
            self.commits[slot.thread].note_issue(slot.number);
        }
        self.slots[slot] = OutstandingIo { began, offset, size, short_by, stream, op, fails };
        self.calendar.set(slot, done);
        None
    }

    /// Subtracts an I/O from what is left. The last one before a limit in bytes may have to be
    /// shortened; returns by how many bytes.
    #[inline(always)]
    fn charge(&mut self, io: &mut DrawnIo) -> u32 {
        self.remaining_ios -= 1;
        let size = u64::from(io.size).min(self.remaining_bytes) as u32;
        let short_by = io.size - size;
        io.size = size;
        self.remaining_bytes -= u64::from(size);
        short_by
    }

    /// Counts the start error of an I/O of a paced load: nothing is late in virtual time.
    #[inline(always)]
    fn count_start(&self, measurement: &mut SimulatedMeasurement) {
        if !self.pacer.is_closed() {
            measurement.account.count_start_error(0);
        }
    }

    /// Counts a completed I/O. Returns false if too many have failed.
    #[inline]
    fn complete(&mut self, slot: usize, measurement: &mut SimulatedMeasurement) -> bool {
        let io = self.slots[slot];
        measurement.note_completion(self.now);
        let is_plain = !io.fails && io.short_by == 0 && self.now >= self.measured_from;
        if is_plain {
            measurement.account.count(io.stream, self.now - io.began);
            self.count_start(measurement);
            return true;
        }
        self.complete_slow_path(&io, measurement)
    }

    /// Counts an I/O that failed, was shortened or is not measured. A failed one no longer counts
    /// toward the load's limits.
    #[cold]
    fn complete_slow_path(
        &mut self,
        io: &OutstandingIo,
        measurement: &mut SimulatedMeasurement,
    ) -> bool {
        if !io.fails && self.now >= self.measured_from {
            measurement.account.count_short(io.stream, self.now - io.began, u64::from(io.short_by));
            self.count_start(measurement);
            return true;
        }
        if !io.fails {
            measurement.count_unmeasured(io.op, io.size);
            return true;
        }
        self.remaining_ios = self.remaining_ios.saturating_add(1);
        self.remaining_bytes = self.remaining_bytes.saturating_add(u64::from(io.size));
        measurement.note_fault(io, self.now)
    }
}

pub(super) struct SimulatedMeasurement {
    pub(super) account: IntervalAccount,
    pub(super) meter: StepMeter,
    pub(super) begin: u64,
    interval_began: u64,
    pub(super) fault_count: u64,
    pub(super) faults: Vec<Fault>,
    /// I/Os completed in a ramp or after the end, by operation.
    pub(super) unmeasured: [UnmeasuredIos; Op::ALL.len()],
    pub(super) silences: Vec<Silence>,
    /// Time since when I/Os are outstanding and none has completed.
    quiet_since: u64,
    interval: Nanos,
}

impl SimulatedMeasurement {
    pub(super) fn new(load: &Load, interval: Nanos, begin: u64) -> Self {
        let meter = StepMeter::for_load(load);
        SimulatedMeasurement {
            account: IntervalAccount::new(meter.account_streams()),
            meter,
            begin,
            interval_began: begin,
            fault_count: 0,
            faults: Vec::new(),
            unmeasured: Op::ALL.map(|op| UnmeasuredIos { op, ios: 0, bytes: Bytes(0) }),
            silences: Vec::new(),
            quiet_since: begin,
            interval,
        }
    }

    pub(super) fn closes_at(&self) -> u64 {
        self.interval_began + self.interval.0
    }

    pub(super) fn count_unmeasured(&mut self, op: Op, size: u32) {
        let sum = &mut self.unmeasured[op as usize];
        sum.ios += 1;
        sum.bytes.0 += u64::from(size);
    }

    /// Counts an I/O that was outstanding when its load ended and completes at `now`.
    pub(super) fn count_outstanding(&mut self, io: &OutstandingIo, now: u64) {
        if !io.fails {
            self.count_unmeasured(io.op, io.size);
            self.account.count_outstanding(io.stream, now.saturating_sub(io.began));
        }
    }

    /// Adds the I/Os that were outstanding when the load ended to the step's totals.
    pub(super) fn add_outstanding(&mut self) {
        self.meter.add(&mut self.account, 0);
    }

    /// Notes that the drive gets I/Os again after a time without any.
    pub(super) fn end_idle_time(&mut self, now: u64) {
        self.quiet_since = now;
    }

    /// Notes that an I/O has completed, or that the step is cut while I/Os are outstanding. The
    /// time without a completion before it is recorded if it is long enough.
    #[inline]
    pub(super) fn note_completion(&mut self, now: u64) {
        let from = self.quiet_since.max(self.begin);
        let lasted = Nanos(now.saturating_sub(from));
        if lasted >= Silence::SHORTEST {
            self.silences.push(Silence { at: Nanos(from - self.begin), lasted });
        }
        self.quiet_since = now;
    }

    /// Closes the open interval at `now`; `None` if it has no length and no I/O.
    pub(super) fn close(&mut self, now: u64) -> Option<&Interval> {
        let (begin, end) = (self.interval_began - self.begin, now.saturating_sub(self.begin));
        if end <= begin && self.account.ios() == 0 {
            return None;
        }
        self.interval_began = now;
        let partial = is_partial(Nanos(end - begin), self.interval);
        let accounts = std::iter::once(&mut self.account);
        Some(self.meter.close_interval(accounts, Nanos(begin), Nanos(end), partial))
    }

    /// Notes an I/O that failed at `now`. Returns false if too many have failed.
    pub(super) fn note_fault(&mut self, io: &OutstandingIo, now: u64) -> bool {
        self.fault_count += 1;
        if self.faults.len() < LOCATED_FAULTS_MAX {
            self.faults.push(Fault {
                op: io.op,
                offset: Bytes(io.offset),
                size: Bytes(u64::from(io.size)),
                errno: EIO,
                at: Nanos(now.saturating_sub(self.begin)),
            });
        }
        self.fault_count < FAULT_LIMIT
    }
}
