//! Playing a script: which I/O comes next, and when. Pure arithmetic, shared by every engine that
//! plays.
//!
//! A [`ScriptReader`] opens a script and checks its I/Os; a [`ScriptFeed`] delivers them one by
//! one. A [`ScriptPlayer`] computes when each is due, relative to the script's origin and never to
//! the previous I/O, so that errors cannot add up. It omits I/Os that are not to be played, and
//! detects I/Os that overlap ([`in_flight`]).

mod in_flight;
mod source;

pub(crate) use source::ScriptReader;

use crate::accounting::PlayedScript;
use in_flight::OutstandingRanges;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use steadfast_domain::measurement::UnmeasuredIos;
use steadfast_domain::replayed::ScriptPosition;
use steadfast_domain::script::{OverlapRule, ReplayOmissions, Timing};
use steadfast_domain::{Bytes, DueIo, Nanos, Op, ReplayResult, ScriptError, ScriptLoad};

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
    left_out: [(AtomicU64, AtomicU64); Op::ALL.len()],
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
        let taken = |counter: &AtomicU64| counter.swap(0, Ordering::Relaxed);
        ReplayResult {
            served: std::mem::take(&mut played.served),
            lateness: std::mem::take(&mut played.lateness),
            intervals: std::mem::take(&mut played.by_interval),
            overlaps: taken(&self.overlaps),
            held: taken(&self.held),
            starved: taken(&self.starved),
            starved_for: Nanos(taken(&self.starved_ns)),
            left_out: self.take_left_out(),
            fua_left_out: taken(&self.fua_left_out),
            position,
        }
    }

    /// Returns the omitted I/Os since the last call, by operation.
    fn take_left_out(&self) -> Vec<UnmeasuredIos> {
        let left_out_of = |op: Op| {
            let (ios, bytes) = &self.left_out[op as usize];
            let (ios, bytes) = (ios.swap(0, Ordering::Relaxed), bytes.swap(0, Ordering::Relaxed));
            UnmeasuredIos { op, ios, bytes: Bytes(bytes) }
        };
        Op::ALL.into_iter().map(left_out_of).filter(|part| part.ios > 0).collect()
    }
}

#[derive(Debug, Clone, Copy)]
struct PlaySettings {
    timing: Timing,
    order: bool,
    leave_out: ReplayOmissions,
    outstanding: u32,
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
    stuck: bool,
    /// Next I/O of the script and its position.
    next: Option<(DueIo, u64)>,
    is_over: bool,
    /// Number of I/Os taken from the feed, including those before the starting position.
    taken: u64,
    /// Time since when there has been room for the next I/O.
    room_since: u64,
    starving: Option<u64>,
}

impl<F: ScriptFeed> ScriptPlayer<F> {
    /// Creates a player for the I/Os of `feed`, whose first has position `from` in the script.
    /// Playing starts with [`begin`](Self::begin). `discards` is true if the target
    /// can discard.
    pub(crate) fn new(load: &ScriptLoad, feed: F, from: u64, discards: bool) -> Self {
        let outstanding = u32::try_from(load.demand.outstanding()).unwrap_or(u32::MAX);
        let leave_out =
            ReplayOmissions { discards: load.leave_out.discards || !discards, ..load.leave_out };
        let order = load.overlaps == OverlapRule::Order;
        let counts = PlayCounts { position: AtomicU64::new(from), ..PlayCounts::default() };
        ScriptPlayer {
            feed,
            settings: PlaySettings { timing: load.timing, order, leave_out, outstanding },
            counts: Arc::new(counts),
            origin: 0,
            in_flight: OutstandingRanges::new(outstanding),
            held: VecDeque::with_capacity(HELD_LIMIT),
            stuck: true,
            next: None,
            is_over: false,
            taken: from,
            room_since: 0,
            starving: None,
        }
    }

    /// Starts playing at `start`, when the script's playing time is `passed`.
    pub(crate) fn begin(&mut self, start: u64, passed: Nanos) {
        self.origin = i128::from(start) - i128::from(passed.0);
        self.room_since = start;
    }

    pub(crate) fn counts(&self) -> Arc<PlayCounts> {
        Arc::clone(&self.counts)
    }

    #[inline]
    pub(crate) fn next(&mut self, now: u64) -> PlayerAction {
        if !self.stuck {
            if let Some(ready) = self.release() {
                return PlayerAction::Submit(ready);
            }
            self.stuck = true;
        }
        loop {
            let Some((io, number)) = self.next else {
                match self.take(now) {
                    None => continue,
                    Some(next) => return next,
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
    pub(crate) fn submitted(&mut self, slot: u32, ready: &ReadyIo, now: u64) {
        self.in_flight.add(slot, &ready.io);
        self.room_since = now;
        let behind = self.next.map_or(self.taken, |(_, number)| number);
        let position = self.held.front().map_or(behind, |held| held.number.min(behind));
        self.counts.position.store(position, Ordering::Relaxed);
    }

    /// Notes that the I/O of this slot has completed.
    #[inline]
    pub(crate) fn completed(&mut self, slot: u32, now: u64) {
        if self.in_flight.used >= self.limit() {
            self.room_since = now;
        }
        self.in_flight.remove(slot);
        self.stuck = self.held.is_empty();
    }

    /// Returns the maximum number of outstanding I/Os that applies to the next I/O.
    #[inline]
    fn limit(&self) -> u32 {
        let own = self.next.and_then(|(io, _)| io.outstanding);
        match (self.settings.timing, own) {
            (Timing::Closed, Some(own)) => own.clamp(1, self.settings.outstanding),
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

    /// Takes the next I/O to be played from the feed. Returns the action to take if there is
    /// none.
    #[inline]
    fn take(&mut self, now: u64) -> Option<PlayerAction> {
        if self.is_over {
            let waits = !self.held.is_empty();
            return Some(if waits { PlayerAction::Completion } else { PlayerAction::Over });
        }
        match self.feed.next() {
            FeedResult::Io(io) => {
                self.fed(now);
                let number = self.taken;
                self.taken += 1;
                self.next = self.as_played(io).map(|io| (io, number));
                None
            }
            FeedResult::Starved => {
                if self.starving.is_none() {
                    self.starving = Some(now);
                    self.counts.starved.fetch_add(1, Ordering::Relaxed);
                }
                Some(PlayerAction::Starved)
            }
            FeedResult::Over => {
                self.fed(now);
                self.is_over = true;
                if self.held.is_empty() {
                    self.counts.position.store(self.taken, Ordering::Relaxed);
                }
                None
            }
            FeedResult::Failed(error) => Some(PlayerAction::Failed(error)),
        }
    }

    #[inline]
    fn fed(&mut self, now: u64) {
        if let Some(since) = self.starving.take() {
            self.counts.starved_ns.fetch_add(now.saturating_sub(since), Ordering::Relaxed);
        }
    }

    /// Returns the I/O as it is played; `None` if it is omitted.
    #[inline]
    fn as_played(&self, mut io: DueIo) -> Option<DueIo> {
        let leave_out = self.settings.leave_out;
        let out = match io.op {
            Op::Flush => leave_out.flushes,
            Op::Discard => leave_out.discards,
            Op::Read | Op::Write => false,
        };
        if out {
            let (ios, bytes) = &self.counts.left_out[io.op as usize];
            ios.fetch_add(1, Ordering::Relaxed);
            bytes.fetch_add(io.size.0, Ordering::Relaxed);
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
        let waits = || self.held.iter().any(|held| in_flight::conflict(&held.io, io));
        let overlaps = self.in_flight.overlaps(io) || waits();
        if overlaps {
            self.counts.overlaps.fetch_add(1, Ordering::Relaxed);
        }
        self.settings.order && overlaps
    }

    /// Returns the first held I/O that no longer has to wait.
    fn release(&mut self) -> Option<ReadyIo> {
        if self.in_flight.used >= self.settings.outstanding {
            return None;
        }
        let free = |place: &usize| {
            let io = &self.held[*place].io;
            let before = self.held.iter().take(*place);
            !self.in_flight.overlaps(io)
                && !before.into_iter().any(|h| in_flight::conflict(&h.io, io))
        };
        let place = (0..self.held.len()).find(free)?;
        self.held.remove(place)
    }
}

#[cfg(test)]
pub(crate) mod tests;
