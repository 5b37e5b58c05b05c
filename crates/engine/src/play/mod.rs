//! Playing a script: which I/O comes next, and when. Pure arithmetic, shared by every engine that
//! plays.
//!
//! A [`ScriptReader`] opens a script and checks its I/Os; a [`ScriptFeed`] delivers them one by
//! one. A [`ScriptPlayer`] computes when each is due, relative to the script's origin and never to
//! the previous I/O, so that errors cannot add up. It omits I/Os that are not to be played, and
//! detects I/Os that overlap ([`in_flight`]).

mod in_flight;
mod script_reader;

pub(crate) use script_reader::ScriptReader;

use crate::accounting::{IoCounter, PlayedScript};
use in_flight::OutstandingRanges;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use steadfast_domain::measurement::UnmeasuredIos;
use steadfast_domain::replayed::ScriptPosition;
use steadfast_domain::script::{OverlapRule, ReplayOmissions, Timing};
use steadfast_domain::{DueIo, Nanos, Op, ReplayResult, ScriptError, ScriptLoad};

pub(crate) const BATCH: usize = 4096;

/// Maximum number of I/Os held back because they overlap an outstanding one; when it is reached,
/// the script waits until one of them is released.
const HELD_LIMIT: usize = 256;

/// Result of asking a feed for an I/O.
#[derive(Debug)]
pub(crate) enum FeedResult {
    Io(DueIo),
    Starved,
    Over,
    Failed(Box<ScriptError>),
}

pub(crate) trait ScriptFeed {
    fn next(&mut self) -> FeedResult;
}

/// An I/O to be submitted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadyIo {
    pub io: DueIo,
    /// Due time on the engine's clock.
    pub due: u64,
    /// Position in the script, from 0.
    number: u64,
}

#[derive(Debug)]
pub(crate) enum PlayerAction {
    Submit(ReadyIo),
    /// Nothing is due before this time.
    At(u64),
    /// Nothing can be submitted before an I/O completes.
    Completion,
    Starved,
    Over,
    Failed(Box<ScriptError>),
}

/// Counts of a player that appear in no tally. Written by the playing thread, taken by the
/// accounting thread.
#[derive(Debug, Default)]
pub(crate) struct PlayCounts {
    overlaps: AtomicU64,
    held: AtomicU64,
    starved: AtomicU64,
    starved_ns: AtomicU64,
    fua_left_out: AtomicU64,
    /// Omitted I/Os, in the order of `Op::ALL`.
    left_out: [IoCounter; Op::ALL.len()],
    /// Number of I/Os from the start of the script that need not be played again.
    position: AtomicU64,
}

impl PlayCounts {
    /// Returns the number of I/Os from the start of the script that need not be played again.
    pub(crate) fn position(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }

    /// Returns the result since the last call, up to `position`: the tallies of `played`, and the
    /// counts that appear in none.
    pub(crate) fn take(&self, played: &mut PlayedScript, position: ScriptPosition) -> ReplayResult {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        ReplayResult {
            served: std::mem::take(&mut played.served),
            lateness: std::mem::take(&mut played.lateness),
            intervals: std::mem::take(&mut played.by_interval),
            overlaps: take(&self.overlaps),
            held: take(&self.held),
            starved: take(&self.starved),
            starved_for: Nanos(take(&self.starved_ns)),
            left_out: self.take_left_out(),
            fua_left_out: take(&self.fua_left_out),
            position,
        }
    }

    /// Returns the omitted I/Os since the last call, by operation.
    fn take_left_out(&self) -> Vec<UnmeasuredIos> {
        let left_out = Op::ALL.into_iter().map(|op| self.left_out[op as usize].take(op));
        left_out.filter(|omitted| omitted.ios > 0).collect()
    }
}

#[derive(Debug, Clone, Copy)]
struct PlaySettings {
    timing: Timing,
    /// True if I/Os that overlap an outstanding one wait for it.
    keeps_order: bool,
    leave_out: ReplayOmissions,
    outstanding: u32,
}

/// An I/O of the script and its position, from 0.
#[derive(Debug, Clone, Copy)]
struct NumberedIo {
    io: DueIo,
    number: u64,
}

#[derive(Debug)]
pub(crate) struct ScriptPlayer<F> {
    feed: F,
    settings: PlaySettings,
    counts: Arc<PlayCounts>,
    /// Time 0 of the script on the engine's clock; before the clock's own zero if a script is
    /// resumed late in its course.
    origin: i128,
    in_flight: OutstandingRanges,
    /// I/Os held back because they overlap an outstanding one, in script order.
    held: VecDeque<ReadyIo>,
    /// True if none of them can be released before another I/O completes.
    is_stuck: bool,
    next: Option<NumberedIo>,
    is_over: bool,
    /// Position in the script of the next I/O from the feed.
    feed_position: u64,
    /// Time since when there has been room for the next I/O.
    room_since: u64,
    /// Time since when the feed has had no I/O; `None` if it has any.
    starving_since: Option<u64>,
}

impl<F: ScriptFeed> ScriptPlayer<F> {
    /// Creates a player for the I/Os of `feed`, whose first has position `from` in the script.
    /// Playing starts with [`begin`](Self::begin). `discards` is true if the target
    /// can discard.
    pub(crate) fn new(load: &ScriptLoad, feed: F, from: u64, discards: bool) -> Self {
        let outstanding = u32::try_from(load.demand.outstanding()).unwrap_or(u32::MAX);
        let leave_out =
            ReplayOmissions { discards: load.leave_out.discards || !discards, ..load.leave_out };
        let keeps_order = load.overlaps == OverlapRule::Order;
        let counts = PlayCounts { position: AtomicU64::new(from), ..PlayCounts::default() };
        ScriptPlayer {
            feed,
            settings: PlaySettings { timing: load.timing, keeps_order, leave_out, outstanding },
            counts: Arc::new(counts),
            origin: 0,
            in_flight: OutstandingRanges::new(outstanding),
            held: VecDeque::with_capacity(HELD_LIMIT),
            is_stuck: true,
            next: None,
            is_over: false,
            feed_position: from,
            room_since: 0,
            starving_since: None,
        }
    }

    /// Starts playing at `start`, when the script's playing time is `time`.
    pub(crate) fn begin(&mut self, start: u64, time: Nanos) {
        self.origin = i128::from(start) - i128::from(time.0);
        self.room_since = start;
    }

    pub(crate) fn counts(&self) -> Arc<PlayCounts> {
        Arc::clone(&self.counts)
    }

    #[inline]
    pub(crate) fn next(&mut self, now: u64) -> PlayerAction {
        if !self.is_stuck {
            if let Some(ready) = self.release() {
                return PlayerAction::Submit(ready);
            }
            self.is_stuck = true;
        }
        loop {
            let Some(NumberedIo { io, number }) = self.next else {
                match self.fetch(now) {
                    None => continue,
                    Some(action) => return action,
                }
            };
            if self.in_flight.used >= self.limit() || self.held.len() == HELD_LIMIT {
                return PlayerAction::Completion;
            }
            let due = self.due(&io);
            if due > now {
                return PlayerAction::At(due);
            }
            self.next = None;
            let ready = ReadyIo { io, due, number };
            if !self.must_wait(&io) {
                return PlayerAction::Submit(ready);
            }
            self.counts.held.fetch_add(1, Ordering::Relaxed);
            self.held.push_back(ready);
        }
    }

    /// Notes that an I/O is submitted in this slot.
    #[inline]
    pub(crate) fn note_submission(&mut self, slot: u32, ready: &ReadyIo, now: u64) {
        self.in_flight.add(slot, &ready.io);
        self.room_since = now;
        let unheld = self.next.map_or(self.feed_position, |next| next.number);
        let position = self.held.front().map_or(unheld, |held| held.number.min(unheld));
        self.counts.position.store(position, Ordering::Relaxed);
    }

    /// Notes that the I/O of this slot has completed.
    #[inline]
    pub(crate) fn note_completion(&mut self, slot: u32, now: u64) {
        if self.in_flight.used >= self.limit() {
            self.room_since = now;
        }
        self.in_flight.remove(slot);
        self.is_stuck = self.held.is_empty();
    }

    /// Returns the maximum number of outstanding I/Os that applies to the next I/O.
    #[inline]
    fn limit(&self) -> u32 {
        let io_limit = self.next.and_then(|next| next.io.outstanding);
        match (self.settings.timing, io_limit) {
            (Timing::Closed, Some(limit)) => limit.clamp(1, self.settings.outstanding),
            _ => self.settings.outstanding,
        }
    }

    #[inline]
    fn due(&self, io: &DueIo) -> u64 {
        match self.settings.timing.played(io.due) {
            None => self.room_since.saturating_add(io.think.0),
            // I/Os due before a resumed script continues are due at once.
            Some(played) => u64::try_from(self.origin + i128::from(played.0)).unwrap_or(0),
        }
    }

    /// Fetches the next I/O to be played from the feed. Returns the action to take if there is
    /// none.
    #[inline]
    fn fetch(&mut self, now: u64) -> Option<PlayerAction> {
        if self.is_over {
            let waits = !self.held.is_empty();
            return Some(if waits { PlayerAction::Completion } else { PlayerAction::Over });
        }
        match self.feed.next() {
            FeedResult::Io(io) => {
                self.end_starving(now);
                let number = self.feed_position;
                self.feed_position += 1;
                self.next = self.as_played(io).map(|io| NumberedIo { io, number });
                None
            }
            FeedResult::Starved => {
                if self.starving_since.is_none() {
                    self.starving_since = Some(now);
                    self.counts.starved.fetch_add(1, Ordering::Relaxed);
                }
                Some(PlayerAction::Starved)
            }
            FeedResult::Over => {
                self.end_starving(now);
                self.is_over = true;
                if self.held.is_empty() {
                    self.counts.position.store(self.feed_position, Ordering::Relaxed);
                }
                None
            }
            FeedResult::Failed(error) => Some(PlayerAction::Failed(error)),
        }
    }

    #[inline]
    fn end_starving(&mut self, now: u64) {
        if let Some(since) = self.starving_since.take() {
            self.counts.starved_ns.fetch_add(now.saturating_sub(since), Ordering::Relaxed);
        }
    }

    /// Returns the I/O as it is played; `None` if it is omitted.
    #[inline]
    fn as_played(&self, mut io: DueIo) -> Option<DueIo> {
        let leave_out = self.settings.leave_out;
        let is_omitted = match io.op {
            Op::Flush => leave_out.flushes,
            Op::Discard => leave_out.discards,
            Op::Read | Op::Write => false,
        };
        if is_omitted {
            self.counts.left_out[io.op as usize].count(io.size.0);
            return None;
        }
        if io.fua && leave_out.fua {
            self.counts.fua_left_out.fetch_add(1, Ordering::Relaxed);
            io.fua = false;
        }
        Some(io)
    }

    /// Counts an overlap. Returns true if the I/O has to wait for the other.
    #[inline]
    fn must_wait(&self, io: &DueIo) -> bool {
        // Held I/Os must not be overtaken either.
        let overlaps = self.in_flight.overlaps(io)
            || self.held.iter().any(|held| in_flight::conflict(&held.io, io));
        if overlaps {
            self.counts.overlaps.fetch_add(1, Ordering::Relaxed);
        }
        self.settings.keeps_order && overlaps
    }

    /// Returns the first held I/O that no longer has to wait.
    fn release(&mut self) -> Option<ReadyIo> {
        if self.in_flight.used >= self.settings.outstanding {
            return None;
        }
        let is_free = |index: &usize| {
            let io = &self.held[*index].io;
            let mut earlier = self.held.iter().take(*index);
            !self.in_flight.overlaps(io) && !earlier.any(|held| in_flight::conflict(&held.io, io))
        };
        let index = (0..self.held.len()).find(is_free)?;
        self.held.remove(index)
    }
}

#[cfg(test)]
pub(crate) mod tests;
