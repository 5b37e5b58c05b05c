//! Playing a script in virtual time.

use super::calendar::EventCalendar;
use super::fault::IoOutcome;
use super::load::{AdvanceEnd, OutstandingIo, STOP_EVERY, SimContext, SimulatedMeasurement};
use crate::accounting::{PlayedIo, PlayedScript};
use crate::draw::DrawnIo;
use crate::play::{
    FeedResult, PlayCounts, PlayerAction, ReadyIo, ScriptFeed, ScriptPlayer, ScriptReader,
};
use crate::start::StepStart;
use std::sync::Arc;
use steadfast_domain::replayed::ScriptPosition;
use steadfast_domain::{DueIo, Nanos, ReplayResult, ScriptError, ScriptLoad};

/// Decodes a script as it is played; it never starves.
#[derive(Debug)]
struct DirectFeed {
    reader: ScriptReader,
    batch: Vec<DueIo>,
    /// Index of the next I/O in the batch.
    next: usize,
}

impl ScriptFeed for DirectFeed {
    #[inline]
    fn next(&mut self) -> FeedResult {
        if self.next == self.batch.len() {
            self.next = 0;
            match self.reader.fill(&mut self.batch) {
                Ok(true) => {}
                Ok(false) => return FeedResult::Over,
                Err(error) => return FeedResult::Failed(Box::new(error)),
            }
        }
        self.next += 1;
        FeedResult::Io(self.batch[self.next - 1])
    }
}

#[derive(Debug, Clone, Copy)]
struct PlayedSlot {
    io: OutstandingIo,
    /// Time at which the drive got the I/O.
    submitted: u64,
}

#[derive(Debug)]
pub(super) struct RunningScript {
    player: ScriptPlayer<DirectFeed>,
    counts: Arc<PlayCounts>,
    calendar: EventCalendar,
    slots: Box<[PlayedSlot]>,
    free: Vec<u32>,
    pub(super) now: u64,
    /// Time since when nothing is outstanding; valid only while that is so.
    idle_since: u64,
    /// Time at which the script started or was resumed, and the playing time before that.
    pub(super) began: u64,
    time_before: Nanos,
    until_stop: u32,
    /// Why the script failed; `None` while it runs.
    pub(super) error: Option<Box<ScriptError>>,
}

impl RunningScript {
    /// Starts to play at `now`, or at the time that `start` gives.
    pub(super) fn begin(
        load: &ScriptLoad,
        mut reader: ScriptReader,
        start: &StepStart,
        now: u64,
    ) -> Result<Self, ScriptError> {
        let mut batch = ScriptReader::batch();
        reader.pass_over(start.script.ios, &mut batch)?;
        let feed = DirectFeed { reader, batch, next: 0 };
        let mut player = ScriptPlayer::new(load, feed, start.script.ios, true);
        let began = start.begins.map_or(now, |begins| begins.0);
        player.begin(began, start.script.time);
        let slots = load.demand.outstanding() as usize;
        Ok(RunningScript {
            counts: player.counts(),
            player,
            calendar: EventCalendar::new(slots, now),
            slots: vec![PlayedSlot { io: OutstandingIo::NONE, submitted: 0 }; slots].into(),
            free: (0..slots as u32).rev().collect(),
            now,
            idle_since: now,
            began,
            time_before: start.script.time,
            until_stop: STOP_EVERY,
            error: None,
        })
    }

    /// Returns the result of the replay, which takes what it reports of `played`.
    pub(super) fn replay_result(&self, played: &mut PlayedScript) -> ReplayResult {
        let time = self.time_before + Nanos(self.now.saturating_sub(self.began));
        self.counts.take(played, ScriptPosition { ios: self.counts.position(), time })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.calendar.first().is_none()
    }

    /// Completes the outstanding I/Os of a script that was interrupted; they are not measured.
    pub(super) fn drain(&mut self, measurement: &mut SimulatedMeasurement) {
        while let Some((done, slot)) = self.calendar.first() {
            self.now = self.now.max(done);
            self.calendar.clear(slot);
            let io = self.slots[slot].io;
            if !io.fails {
                measurement.count_unmeasured(io.op, io.size);
            }
        }
    }

    /// Runs up to `to`; an I/O that completes exactly at `to` belongs to the next call.
    pub(super) fn advance(&mut self, to: u64, context: &mut SimContext) -> AdvanceEnd {
        if to <= self.now {
            return AdvanceEnd::Reached;
        }
        loop {
            let first = self.calendar.first();
            let next = match self.player.next(self.now) {
                PlayerAction::Submit(ready) => match self.submit(&ready, context) {
                    None => continue,
                    Some(end) => return end,
                },
                PlayerAction::At(due) => first.map_or(due, |(done, _)| done.min(due)),
                PlayerAction::Failed(error) => {
                    self.error = Some(error);
                    return AdvanceEnd::Failed;
                }
                PlayerAction::Completion | PlayerAction::Starved | PlayerAction::Over => {
                    match first {
                        Some((done, _)) => done,
                        None => return AdvanceEnd::Complete,
                    }
                }
            };
            if first.is_none() {
                context.drive.idle(self.idle_since, next.min(to));
            }
            if next >= to {
                self.now = to;
                return AdvanceEnd::Reached;
            }
            self.now = next;
            if let Some((done, slot)) = first
                && done == next
                && !self.complete(slot, context.measurement)
            {
                return AdvanceEnd::Faulty;
            }
        }
    }

    fn submit(&mut self, ready: &ReadyIo, context: &mut SimContext) -> Option<AdvanceEnd> {
        self.until_stop -= 1;
        if self.until_stop == 0 {
            self.until_stop = STOP_EVERY;
            if context.stop.is_requested() {
                return Some(AdvanceEnd::Stopped);
            }
        }
        let outcome = context.faults.next_outcome();
        if let Some(end) = outcome.end() {
            return Some(end);
        }
        let slot = self.free.pop()?;
        let DueIo { op, fua, offset, size, .. } = ready.io;
        let (offset, size) = (offset.0, size.0 as u32);
        if self.is_idle() {
            context.measurement.end_idle_time(self.now);
        }
        let drawn = DrawnIo { stream: 0, op, fua, offset, size };
        let done = context.faults.delayed_by_freeze(context.drive.submit(self.now, &drawn));
        let fails = outcome == IoOutcome::Fails;
        let io =
            OutstandingIo { began: ready.due, offset, size, short_by: 0, stream: 0, op, fails };
        self.slots[slot as usize] = PlayedSlot { io, submitted: self.now };
        self.calendar.set(slot as usize, done);
        self.player.note_submission(slot, ready, self.now);
        None
    }

    /// Counts a completed I/O. Returns false if too many have failed.
    fn complete(&mut self, slot: usize, measurement: &mut SimulatedMeasurement) -> bool {
        let PlayedSlot { io, submitted } = self.slots[slot];
        measurement.note_completion(self.now);
        self.calendar.clear(slot);
        self.free.push(slot as u32);
        self.player.note_completion(slot as u32, self.now);
        if self.free.len() == self.slots.len() {
            self.idle_since = self.now;
        }
        if io.fails {
            return measurement.note_fault(&io, self.now);
        }
        measurement.account.count_played(&PlayedIo {
            op: io.op,
            bytes: io.size.into(),
            response_ns: self.now - io.began,
            served_ns: self.now - submitted,
            late_ns: submitted - io.began,
        });
        true
    }
}
