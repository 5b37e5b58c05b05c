//! The loop that the I/Os of a script go through: hand over when due, reap,
//! count.
//!
//! One thread hands over all of them, so that they leave in the script's order
//! and an overlap is seen; the kernel interface carries as many at once as the
//! step asks for. It sleeps until shortly before an I/O is due and looks at the
//! clock from then on, so that a processor is busy only where I/Os follow
//! closely.
//!
//! The clock is `CLOCK_MONOTONIC`, whose nanoseconds are the ticks here: due
//! times keep to it for days, and two targets can begin at one moment of it.
//!
//! Nothing here allocates, locks or logs while I/Os flow.

use super::ahead::Ahead;
use super::clock::Clock;
use super::queue::{Completion, Queue, Request, Wait};
use super::shared::{Failure, Lane, LocatedFault, Shared};
use super::worker::{SPIN_NS, Transfers, note_fault, sharpen_timer};
use crate::accounting::{Account, PlayedIo};
use crate::play::{Next, Player, Ready};
use std::sync::atomic::Ordering;
use steadfast_domain::Op;

/// The longest sleep, so that an end is noticed.
const NAP_NS: u64 = 40_000_000;

/// Between two looks at a reader that has nothing decoded.
const STARVING_NS: u64 = 100_000;

/// A place for one outstanding I/O.
#[derive(Debug, Clone, Copy)]
struct Slot {
    due: u64,
    handed: u64,
    offset: u64,
    size: u32,
    /// The result of a complete transfer.
    expected: i32,
    op: Op,
}

const VACANT: Slot = Slot { due: 0, handed: 0, offset: 0, size: 0, expected: 0, op: Op::Flush };

/// The thread that plays.
pub(super) struct Performer<'s, Q: Queue> {
    shared: &'s Shared,
    lane: &'s Lane,
    clock: Clock,
    queue: Q,
    player: Player<Ahead>,
    transfers: Transfers,
    slots: Box<[Slot]>,
    /// Slots whose I/O goes with the next call.
    batch: Vec<u32>,
    vacant: Vec<u32>,
    outstanding: u32,
    turn: u32,
    closing: bool,
}

impl<'s, Q: Queue> Performer<'s, Q> {
    pub(super) fn new(
        shared: &'s Shared,
        lane: usize,
        queue: Q,
        player: Player<Ahead>,
        transfers: Transfers,
    ) -> Self {
        let depth = shared.carrier.depth;
        Performer {
            shared,
            lane: &shared.lanes[lane],
            clock: shared.clock,
            queue,
            player,
            transfers,
            slots: vec![VACANT; depth as usize].into(),
            batch: Vec::with_capacity(depth as usize),
            vacant: (0..depth).rev().collect(),
            outstanding: 0,
            turn: u32::MAX,
            closing: false,
        }
    }

    /// Plays until the script or the load ends and all I/Os have come back.
    pub(super) fn run(mut self) {
        sharpen_timer();
        self.lane.look(self.clock.ticks(), u64::MAX);
        if let Err(errno) = self.play() {
            self.shared.fail(Failure::Broken(errno));
        }
        self.lane.tell(self.turn, self.outstanding);
        if self.outstanding > 0 {
            // The kernel may still write to this memory: it stays mapped.
            std::mem::forget(self.transfers);
        }
    }

    fn play(&mut self) -> Result<(), i32> {
        loop {
            let now = self.clock.ticks();
            let wait = self.gather(now);
            if self.outstanding == 0 && wait.is_none() {
                return Ok(());
            }
            self.hand_over(wait.unwrap_or(Wait::Completion))?;
            self.reap();
        }
    }

    /// Puts what is due into the batch. How long to wait for completions then;
    /// `None` where nothing more will come.
    #[inline(always)]
    fn gather(&mut self, now: u64) -> Option<Wait> {
        loop {
            self.closing |= self.shared.is_finishing();
            if self.closing {
                return None;
            }
            match self.player.next(now) {
                Next::HandOver(ready) => self.issue(&ready, now),
                Next::At(due) => return Some(until(due, now)),
                Next::Completion => return Some(Wait::Completion),
                Next::Starved => return Some(Wait::AtMost(STARVING_NS)),
                Next::Over => self.closing = true,
                Next::Failed(error) => self.shared.fail(Failure::Script(error)),
            }
        }
    }

    /// Puts an I/O into the batch. There is a vacant slot wherever the player
    /// hands something over.
    #[inline(always)]
    fn issue(&mut self, ready: &Ready, now: u64) {
        let Some(slot) = self.vacant.pop() else { return };
        let io = &ready.io;
        let moves = matches!(io.op, Op::Read | Op::Write);
        let (offset, size) = (io.offset.0, io.size.0 as u32);
        self.slots[slot as usize] = Slot {
            due: ready.due,
            handed: now,
            offset,
            size,
            expected: if moves { size as i32 } else { 0 },
            op: io.op,
        };
        let buffer = self.transfers.buffer(slot, io.op, offset, size);
        self.queue.push(Request { slot, op: io.op, fua: io.fua, offset, size, buffer });
        self.batch.push(slot);
        self.outstanding += 1;
        self.player.handed_over(slot, ready, now);
    }

    #[inline(always)]
    fn hand_over(&mut self, wait: Wait) -> Result<(), i32> {
        if !self.batch.is_empty() {
            let now = self.clock.ticks();
            for slot in &self.batch {
                self.slots[*slot as usize].handed = now;
            }
            self.batch.clear();
            self.lane.hold(self.outstanding);
        }
        self.queue.submit(wait)
    }

    #[inline(always)]
    fn reap(&mut self) {
        let turn = self.lane.begin_reap(self.shared);
        let seen = self.queue.look();
        let now = self.clock.ticks();
        self.lane.look(now, self.shared.long);
        // SAFETY: this is the lane's thread, and the reap has begun with this
        // turn; the reference ends before the reap does.
        let account = unsafe { self.lane.account(turn) };
        while let Some(completion) = self.queue.next() {
            self.complete(completion, now, account);
        }
        if seen > 0 {
            self.lane.last.store(now, Ordering::Relaxed);
            self.lane.hold(self.outstanding);
        }
        self.lane.end_reap();
        if turn != self.turn || self.closing {
            self.turn = turn;
            self.lane.tell(turn, self.outstanding);
        }
    }

    #[inline(always)]
    fn complete(&mut self, completion: Completion, now: u64, account: &mut Account) {
        let slot = self.slots[completion.slot as usize];
        self.outstanding -= 1;
        if completion.result == slot.expected {
            account.count_played(&PlayedIo {
                op: slot.op,
                bytes: slot.size.into(),
                response_ns: now.saturating_sub(slot.due),
                served_ns: now.saturating_sub(slot.handed),
                late_ns: slot.handed.saturating_sub(slot.due),
            });
        } else {
            let Slot { op, offset, size, .. } = slot;
            let fault = LocatedFault { op, offset, size, errno: 0, at: now };
            note_fault(self.shared, self.lane, fault, completion.result, account);
        }
        self.vacant.push(completion.slot);
        self.player.completed(completion.slot, now);
    }
}

/// How long to sleep before an I/O is due.
#[inline(always)]
fn until(due: u64, now: u64) -> Wait {
    match due.saturating_sub(now) {
        nanos if nanos > SPIN_NS => Wait::AtMost((nanos - SPIN_NS).min(NAP_NS)),
        _ => Wait::Not,
    }
}
