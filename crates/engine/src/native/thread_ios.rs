//! The outstanding I/Os of one thread: what its loop, which draws them (`worker`) or plays them
//! (`script_worker`), submits and reaps.
//!
//! While I/Os flow, nothing here allocates, locks or logs.

use super::buffers::ThreadBuffers;
use super::clock::Clock;
use super::queue::{Completion, Queue, Request, SubmitWait};
use super::shared::{LoadFailure, LocatedFault, SharedLoad, ThreadLane};
use crate::accounting::IntervalAccount;
use std::sync::atomic::Ordering;
use steadfast_domain::Op;

/// An I/O in its slot; times in ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct IoSlot {
    /// Start of its response time: when it is due or, without a due time, when it is submitted; 0
    /// until then.
    pub began: u64,
    /// Delay between the due time and the submission; 0 without a due time.
    pub start_error: u64,
    pub offset: u64,
    pub size: u32,
    /// Account stream; unused for a script.
    pub stream: u32,
    /// Bytes by which it is shorter than its stream's transfer size.
    pub short_by: u32,
    pub op: Op,
    pub fua: bool,
}

impl IoSlot {
    /// A flush that has not begun; also the content of a slot without an I/O.
    pub(super) const FLUSH: IoSlot = IoSlot {
        began: 0,
        start_error: 0,
        offset: 0,
        size: 0,
        stream: 0,
        short_by: 0,
        op: Op::Flush,
        fua: false,
    };

    /// Returns true if `result` is that of a complete transfer.
    #[inline(always)]
    pub(super) fn succeeded(&self, result: i32) -> bool {
        let transfers_data = matches!(self.op, Op::Read | Op::Write);
        result == if transfers_data { self.size as i32 } else { 0 }
    }
}

/// A reap that is being counted.
pub(super) struct Reap<'s> {
    turn: u32,
    /// Number of completions; a wake-up may count as one.
    pub seen: usize,
    /// Ticks that are not earlier than any of its completions.
    pub now: u64,
    /// False if its I/Os completed after the end of the load and are not measured.
    pub before_end: bool,
    pub account: &'s mut IntervalAccount,
}

/// The I/Os of one thread of a load, from their slots to the kernel and back.
pub(super) struct ThreadIos<'s, Q: Queue> {
    pub shared: &'s SharedLoad,
    pub lane: &'s ThreadLane,
    pub clock: Clock,
    pub queue: Q,
    pub buffers: ThreadBuffers,
    pub slots: Box<[IoSlot]>,
    /// Slots whose I/O is submitted by the next call.
    pub batch: Vec<u32>,
    pub vacant: Vec<u32>,
    pub count: u32,
    /// Accounting turn that was last published to the lane.
    turn: u32,
    /// True once no more I/Os may be issued.
    pub is_closing: bool,
}

impl<'s, Q: Queue> ThreadIos<'s, Q> {
    pub(super) fn new(
        shared: &'s SharedLoad,
        lane: usize,
        queue: Q,
        buffers: ThreadBuffers,
    ) -> Self {
        let depth = shared.target.depth;
        ThreadIos {
            shared,
            lane: &shared.lanes[lane],
            clock: shared.clock,
            queue,
            buffers,
            slots: vec![IoSlot::FLUSH; depth as usize].into(),
            batch: Vec::with_capacity(depth as usize),
            vacant: (0..depth).rev().collect(),
            count: 0,
            turn: u32::MAX,
            is_closing: false,
        }
    }

    pub(super) fn begin(&self) {
        self.lane.note_clock(self.clock.ticks(), u64::MAX);
    }

    /// Ends the thread's part of the load, with the error number of a kernel interface that
    /// failed.
    pub(super) fn end(self, result: Result<(), i32>) {
        if let Err(errno) = result {
            self.shared.fail(LoadFailure::Broken(errno));
        }
        self.lane.publish(self.turn, self.count);
        if self.count > 0 {
            // The kernel may still write to this memory: it stays mapped.
            std::mem::forget(self.buffers);
        }
    }

    /// Puts an I/O into a vacant slot and passes it to the queue.
    #[inline(always)]
    pub(super) fn push(&mut self, slot: u32, io: IoSlot) {
        self.slots[slot as usize] = io;
        let IoSlot { op, fua, offset, size, .. } = io;
        let buffer = self.buffers.buffer(slot, op, offset, size);
        self.queue.push(Request { slot, op, fua, offset, size, buffer });
        self.count += 1;
    }

    #[inline(always)]
    pub(super) fn submit(&mut self, wait: SubmitWait) -> Result<(), i32> {
        self.batch.clear();
        self.queue.submit(wait)
    }

    /// Polls for completions, which [`Self::next`] then returns. [`Self::end_reap`] has to follow
    /// before the next reap begins.
    #[inline(always)]
    pub(super) fn begin_reap(&mut self) -> Reap<'s> {
        let turn = self.lane.begin_reap(self.shared);
        let seen = self.queue.poll();
        let now = self.clock.ticks();
        self.lane.note_clock(now, self.shared.max_unread);
        let before_end = now < self.shared.deadline();
        // SAFETY: this is the lane's thread, and the reap has begun with this turn; `end_reap`
        // consumes the reference, and no other reap begins before.
        let account = unsafe { self.lane.account(turn) };
        Reap { turn, seen, now, before_end, account }
    }

    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<Completion> {
        let completion = self.queue.next()?;
        self.count -= 1;
        Some(completion)
    }

    /// Ends the reap, and publishes the thread's state once per turn.
    #[inline(always)]
    pub(super) fn end_reap(&mut self, reap: Reap<'s>) {
        self.lane.end_reap();
        if reap.turn != self.turn || self.is_closing {
            self.turn = reap.turn;
            self.lane.publish(reap.turn, self.count);
        }
    }

    /// Returns the response time in nanoseconds of an I/O that began at the ticks `began`.
    #[inline(always)]
    pub(super) fn response_ns(&self, began: u64, now: u64) -> u64 {
        self.clock.nanos(now.saturating_sub(began))
    }

    /// Counts a complete transfer in its stream.
    #[inline(always)]
    pub(super) fn count_transfer(&self, io: &IoSlot, reap: &mut Reap<'_>) {
        let response_ns = self.response_ns(io.began, reap.now);
        if !reap.before_end {
            // An I/O that was given up was counted then, with its time so far.
            if !self.lane.has_given_up() {
                self.lane.count_late(io.op, io.size);
                reap.account.count_outstanding(io.stream, response_ns);
            }
        } else if io.short_by == 0 {
            reap.account.count(io.stream, response_ns);
        } else {
            reap.account.count_short(io.stream, response_ns, io.short_by.into());
        }
    }

    /// Reports an I/O that did not succeed as a fault.
    #[cold]
    pub(super) fn note_fault(&self, completion: Completion, reap: &Reap<'_>) {
        let Completion { slot, result } = completion;
        let IoSlot { op, offset, size, .. } = self.slots[slot as usize];
        let errno = if result < 0 { -result } else { 0 };
        // If the first I/O of a load is rejected as unsupported, so are all that follow.
        let nothing_done = reap.account.ios() == 0 && self.lane.last.load(Ordering::Relaxed) == 0;
        let is_hopeless = nothing_done && matches!(errno, libc::EINVAL | libc::EOPNOTSUPP);
        self.shared
            .report_fault(LocatedFault { op, offset, size, errno, at: reap.now }, is_hopeless);
    }
}
