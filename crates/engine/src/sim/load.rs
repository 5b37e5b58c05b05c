//! A load as it runs: drawn, issued, completed, counted, in virtual time.

use super::calendar::Calendar;
use super::drive::Drive;
use super::fault::{Fate, Fates};
use super::pace::Pacer;
use crate::accounting::{Account, Meter, PlayedIo, SCRIPT_STREAMS};
use crate::draw::{DrawPlan, Drawer, Drawn};
use crate::start::Start;
use crate::stop::Stop;
use std::sync::Arc;
use steadfast_domain::measurement::{self, Fault, Interval, Silence};
use steadfast_domain::{Bytes, Load, Nanos, Op, Stimulus};

/// A step is void after this many failed I/Os.
pub(super) const FAULT_LIMIT: u64 = 100;

/// Failed I/Os that are kept one by one.
const FAULTS_KEPT: usize = 32;

/// What Linux calls an I/O error.
const EIO: i32 = 5;

/// I/Os between two looks at whether to stop.
pub(super) const STOP_EVERY: u32 = 1024;

const SECOND: u64 = Nanos::SECOND.0;

/// A shorter interval counts as partial.
const WHOLE_INTERVAL: u64 = SECOND * 95 / 100;

/// Why a load's advance ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    /// The time was reached.
    Reached,
    /// The load did all it was to do, and its last I/O completed.
    Complete,
    /// Somebody asked to stop.
    Stopped,
    /// Too many I/Os failed.
    Faulty,
    /// The drive does not answer an I/O.
    Hangs,
    /// The drive is gone.
    Gone,
    /// The script cannot go on.
    Failed,
}

/// An outstanding I/O.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outstanding {
    /// When it was issued; when it was due, where the load has a pace.
    pub(super) since: u64,
    pub(super) offset: u64,
    pub(super) size: u32,
    /// Bytes by which it is shorter than its stream's size.
    pub(super) short: u32,
    pub(super) stream: u32,
    pub(super) op: Op,
    pub(super) fails: bool,
}

impl Outstanding {
    /// In a slot that has had no I/O yet.
    pub(super) const NONE: Outstanding = Outstanding {
        since: 0,
        offset: 0,
        size: 0,
        short: 0,
        stream: 0,
        op: Op::Read,
        fails: false,
    };
}

/// What a load runs on.
pub(super) struct SimContext<'a> {
    pub(super) drive: &'a mut Drive,
    pub(super) fates: &'a mut Fates,
    pub(super) stop: &'a Stop,
}

#[derive(Debug)]
pub(super) struct RunningLoad {
    stimulus: Stimulus,
    plan: Arc<DrawPlan>,
    drawers: Vec<Drawer>,
    /// What they draw with, where that is not the stimulus's own seed.
    pub(super) seed: Option<u64>,
    pacer: Pacer,
    calendar: Calendar,
    slots: Box<[Outstanding]>,
    free: Vec<usize>,
    now: u64,
    /// Since when nothing is outstanding, while that is so.
    idle_since: u64,
    /// When it begins.
    pub(super) begins: u64,
    /// When its ramp is over.
    pub(super) measured_from: u64,
    /// When it is complete, where time limits it.
    pub(super) ends_at: Option<u64>,
    /// What may still be issued.
    left_ios: u64,
    left_bytes: u64,
    until_stop: u32,
    /// Its first stream's place among those of all loads that run at once.
    first_stream: u32,
    /// Others run at the same time: when the drive rests is not for this one to say.
    is_accompanied: bool,
}

impl RunningLoad {
    /// Begins a load at `now`, all its slots free.
    pub(super) fn begin(stimulus: &Stimulus, plan: DrawPlan, start: &Start, now: u64) -> Self {
        let plan = Arc::new(plan.going_on_from(&start.cursors));
        let seed = start.seed(stimulus.seed);
        let drawers = (0..stimulus.demand.threads)
            .map(|thread| Drawer::new(Arc::clone(&plan), seed, thread))
            .collect();
        let slots = stimulus.demand.outstanding() as usize;
        let (until, done) = (stimulus.until, start.done);
        let measured_from = now + stimulus.ramp.0;
        let begins = now + stimulus.delay.saturating_sub(start.done.time).0;
        // Without a ramp its time counts from its first I/O.
        let timed_from = if stimulus.ramp > Nanos::ZERO { measured_from } else { begins };
        let now = begins;
        RunningLoad {
            plan,
            drawers,
            seed: start.other_seed(stimulus.seed),
            pacer: Pacer::new(stimulus.pace, seed, now),
            calendar: Calendar::new(slots, now),
            slots: vec![Outstanding::NONE; slots].into(),
            free: (0..slots).rev().collect(),
            now,
            idle_since: now,
            begins,
            measured_from,
            ends_at: until.time.map(|t| timed_from.saturating_add((t.saturating_sub(done.time)).0)),
            left_ios: until.ios.map_or(u64::MAX, |ios| ios.saturating_sub(done.ios)),
            left_bytes: until.bytes.map_or(u64::MAX, |b| b.0.saturating_sub(done.bytes.0)),
            until_stop: STOP_EVERY,
            first_stream: 0,
            is_accompanied: false,
            stimulus: stimulus.clone(),
        }
    }

    /// The same as one of several at once; its streams are counted from this one on.
    pub(super) fn accompanied(self, first_stream: u32) -> Self {
        RunningLoad { first_stream, is_accompanied: true, ..self }
    }

    /// Whether nothing is outstanding.
    pub(super) fn is_idle(&self) -> bool {
        self.calendar.first().is_none()
    }

    /// When it does something next; now, where it has nothing more to do.
    pub(super) fn next_event(&self) -> u64 {
        let completion = self.calendar.first().map(|(done, _)| done);
        let may = self.may_issue() && !self.free.is_empty();
        let issue = self.pacer.due().filter(|_| may).map(|due| due.max(self.now));
        let is_over = completion.is_none() && !self.may_issue();
        let nothing = if is_over { self.now } else { u64::MAX };
        completion.into_iter().chain(issue).min().unwrap_or(nothing)
    }

    /// The drive rests while this load has nothing outstanding.
    fn rest(&self, to: u64, context: &mut SimContext) {
        if !self.is_accompanied {
            context.drive.rest(self.idle_since, to);
        }
    }

    /// The virtual time that it has reached.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn plan(&self) -> &DrawPlan {
        &self.plan
    }

    /// Waits for what is outstanding when the load has ended.
    pub(super) fn drain(&mut self, window: &mut Window) {
        while let Some((done, slot)) = self.calendar.first() {
            self.now = self.now.max(done);
            self.calendar.clear(slot);
            window.note_completion(self.now);
            window.count_outstanding(&self.slots[slot], self.now);
        }
    }

    /// Runs up to `to`; what completes at `to` belongs to what comes then.
    pub(super) fn advance(
        &mut self,
        to: u64,
        context: &mut SimContext,
        window: &mut Window,
    ) -> Pause {
        if to <= self.now {
            return Pause::Reached;
        }
        loop {
            if self.may_issue()
                && !self.free.is_empty()
                && let Some(pause) = self.issue_due(to, context, window)
            {
                return pause;
            }
            let Some((done, slot)) = self.calendar.first() else {
                return self.pass_idle_time(to, context);
            };
            if done >= to {
                self.now = to;
                return Pause::Reached;
            }
            self.now = done;
            if !self.complete(slot, window) {
                return Pause::Faulty;
            }
            let again = self.pacer.is_closed() && self.may_issue();
            if !again {
                self.release(slot);
            } else if let Some(pause) = self.issue(slot, done, done, context) {
                return pause;
            }
        }
    }

    /// Looks at the flag now and then.
    #[inline(always)]
    fn is_to_stop(&mut self, stop: &Stop) -> bool {
        self.until_stop -= 1;
        if self.until_stop > 0 {
            return false;
        }
        self.until_stop = STOP_EVERY;
        stop.is_requested()
    }

    #[inline(always)]
    fn may_issue(&self) -> bool {
        self.left_ios > 0 && self.left_bytes > 0
    }

    fn release(&mut self, slot: usize) {
        self.calendar.clear(slot);
        self.free.push(slot);
        if self.free.len() == self.slots.len() {
            self.idle_since = self.now;
            self.pacer.drained(self.now);
        }
    }

    /// Issues what is due before the next completion, in free slots.
    fn issue_due(
        &mut self,
        to: u64,
        context: &mut SimContext,
        window: &mut Window,
    ) -> Option<Pause> {
        while self.may_issue() {
            let due = self.pacer.due()?;
            let at = due.max(self.now);
            let next = self.calendar.first().map_or(to, |(done, _)| done.min(to));
            if at >= next && due > self.now {
                return None;
            }
            if self.free.len() == self.slots.len() {
                if at > self.now {
                    self.rest(at, context);
                }
                if !self.is_accompanied {
                    window.end_idle_time(at);
                }
            }
            let slot = self.free.pop()?;
            let since = if self.pacer.is_closed() { at } else { due };
            self.now = at;
            self.pacer.took();
            if let Some(pause) = self.issue(slot, since, at, context) {
                return Some(pause);
            }
        }
        None
    }

    /// Nothing is outstanding: the load is over, or the next I/O is due later.
    fn pass_idle_time(&mut self, to: u64, context: &mut SimContext) -> Pause {
        if !self.may_issue() {
            return Pause::Complete;
        }
        self.rest(to, context);
        self.now = to;
        Pause::Reached
    }

    #[inline]
    fn issue(
        &mut self,
        slot: usize,
        since: u64,
        now: u64,
        context: &mut SimContext,
    ) -> Option<Pause> {
        if self.is_to_stop(context.stop) {
            return Some(Pause::Stopped);
        }
        let fate = context.fates.of_next();
        if fate == Fate::Gone || fate == Fate::Hangs {
            return Some(if fate == Fate::Gone { Pause::Gone } else { Pause::Hangs });
        }
        let thread = slot / self.stimulus.demand.depth as usize;
        let mut io = self.drawers[thread].draw();
        let short = self.book(&mut io);
        let done = context.fates.thawed(context.drive.submit(now, &io));
        let Drawn { op, offset, size, .. } = io;
        let stream = io.stream + self.first_stream;
        let fails = fate == Fate::Fails;
        self.slots[slot] = Outstanding { since, offset, size, short, stream, op, fails };
        self.calendar.set(slot, done);
        None
    }

    /// Takes an I/O off what is left; the last one before a limit in bytes may
    /// have to be shorter. Returns by how much.
    #[inline(always)]
    fn book(&mut self, io: &mut Drawn) -> u32 {
        self.left_ios -= 1;
        let size = u64::from(io.size).min(self.left_bytes) as u32;
        let short = io.size - size;
        io.size = size;
        self.left_bytes -= u64::from(size);
        short
    }

    /// Counts a completed I/O; `false` when too many failed.
    #[inline]
    fn complete(&mut self, slot: usize, window: &mut Window) -> bool {
        let io = self.slots[slot];
        window.note_completion(self.now);
        let plain = !io.fails && io.short == 0 && self.now >= self.measured_from;
        if plain {
            window.account.count(io.stream, self.now - io.since);
            return true;
        }
        self.complete_oddly(&io, window)
    }

    /// What failed is given back to what is left.
    #[cold]
    fn complete_oddly(&mut self, io: &Outstanding, window: &mut Window) -> bool {
        if !io.fails && self.now >= self.measured_from {
            window.account.count_short(io.stream, self.now - io.since, u64::from(io.short));
            return true;
        }
        if !io.fails {
            window.unmeasured.add(io);
            return true;
        }
        self.left_ios = self.left_ios.saturating_add(1);
        self.left_bytes = self.left_bytes.saturating_add(u64::from(io.size));
        window.fault(io, self.now)
    }
}

/// I/Os that completed in a ramp or after the end, by operation.
#[derive(Debug, Default)]
pub(super) struct Unmeasured([(u64, u64); Op::ALL.len()]);

impl Unmeasured {
    pub(super) fn add(&mut self, io: &Outstanding) {
        if !io.fails {
            let (ios, bytes) = &mut self.0[io.op as usize];
            *ios += 1;
            *bytes += u64::from(io.size);
        }
    }

    /// The operations of which there were any.
    pub(super) fn parts(&self) -> Vec<measurement::Unmeasured> {
        let part = |op: Op| {
            let (ios, bytes) = self.0[op as usize];
            measurement::Unmeasured { op, ios, bytes: Bytes(bytes) }
        };
        Op::ALL.into_iter().map(part).filter(|part| part.ios > 0).collect()
    }
}

/// What one step measures of a load.
pub(super) struct Window {
    account: Account,
    pub(super) meter: Meter,
    begin: u64,
    /// Beginning of the open interval.
    open: u64,
    pub(super) fault_count: u64,
    pub(super) faults: Vec<Fault>,
    pub(super) unmeasured: Unmeasured,
    pub(super) silences: Vec<Silence>,
    /// Since when I/Os are outstanding and none has completed.
    quiet_since: u64,
}

impl Window {
    pub(super) fn new(load: &Load, begin: u64) -> Self {
        let (streams, meter) = match load {
            Load::Script(_) => (SCRIPT_STREAMS, Meter::of_script()),
            drawn => (drawn.streams().count(), Meter::new(drawn.streams())),
        };
        Window {
            account: Account::new(streams),
            meter,
            begin,
            open: begin,
            fault_count: 0,
            faults: Vec::new(),
            unmeasured: Unmeasured::default(),
            silences: Vec::new(),
            quiet_since: begin,
        }
    }

    /// When the measurement began, in the drive's time.
    pub(super) fn begin(&self) -> u64 {
        self.begin
    }

    /// When the open interval is to be closed.
    pub(super) fn closes_at(&self) -> u64 {
        self.open + SECOND
    }

    /// Counts an I/O of a script.
    pub(super) fn count_played(&mut self, io: &PlayedIo) {
        self.account.count_played(io);
    }

    /// Counts an I/O that was outstanding when its load ended and completes at `now`.
    pub(super) fn count_outstanding(&mut self, io: &Outstanding, now: u64) {
        self.unmeasured.add(io);
        if !io.fails {
            self.account.count_outstanding(io.stream, now.saturating_sub(io.since));
        }
    }

    /// Adds what was outstanding when the load ended to the step's totals.
    pub(super) fn add_outstanding(&mut self) {
        self.meter.add(&mut self.account, 0);
    }

    /// The drive gets I/Os again after a time without any.
    pub(super) fn end_idle_time(&mut self, now: u64) {
        self.quiet_since = now;
    }

    /// An I/O has completed, or the step is cut while I/Os are outstanding: the time without a
    /// completion before it is kept if it is long enough.
    #[inline]
    pub(super) fn note_completion(&mut self, now: u64) {
        let from = self.quiet_since.max(self.begin);
        let lasted = Nanos(now.saturating_sub(from));
        if lasted >= Silence::SHORTEST {
            self.silences.push(Silence { at: Nanos(from - self.begin), lasted });
        }
        self.quiet_since = now;
    }

    /// Closes the open interval at `now`, unless it has no length.
    pub(super) fn close(&mut self, now: u64) -> Option<&Interval> {
        let (begin, end) = (self.open - self.begin, now.saturating_sub(self.begin));
        if end <= begin && self.account.ios() == 0 {
            return None;
        }
        self.open = now;
        let partial = end - begin < WHOLE_INTERVAL;
        let accounts = std::iter::once(&mut self.account);
        Some(self.meter.close_interval(accounts, Nanos(begin), Nanos(end), partial))
    }

    pub(super) fn fault(&mut self, io: &Outstanding, now: u64) -> bool {
        self.fault_count += 1;
        if self.faults.len() < FAULTS_KEPT {
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
