//! State shared by a load's threads and the accounting thread.
//!
//! Each thread has two accounts and counts into the one that `turn` selects. The accounting
//! thread advances `turn`, waits until no reap that began before is still being counted, and then
//! owns the other account. Neither side ever waits for a lock of the other.

use super::clock::Clock;
use super::queue::QueueTarget;
use super::verify::ReadBackFindings;
use crate::accounting::{IntervalAccount, IoCounter, LOCATED_FAULTS_MAX};
use crate::stall::{LateWakeup, STALL_MIN};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use steadfast_domain::measurement::UnmeasuredIos;
use steadfast_domain::{Bytes, Op, ScriptError};

/// Number and length of the waits for threads to count their outstanding I/Os.
const GIVE_UP_POLLS: u32 = 50;
const GIVE_UP_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// State of one load, shared by its threads and the accounting thread.
#[derive(Debug)]
pub(super) struct SharedLoad {
    pub clock: Clock,
    pub target: QueueTarget,
    pub budget: IoBudget,
    pub lanes: Box<[ThreadLane]>,
    pub findings: ReadBackFindings,
    /// Number of the current turn; its lowest bit selects the account of each lane.
    turn: AtomicU32,
    /// Ticks at which the load ends: an I/O reaped then or later is not counted, and none is
    /// issued.
    deadline: AtomicU64,
    /// Set when a thread has reached the deadline.
    timed_out: AtomicBool,
    /// Longest time in ticks between two clock readings of a thread whose I/Os complete.
    pub max_unread: u64,
    /// Set when no more I/Os are to be issued.
    finishing: AtomicBool,
    /// Set when outstanding I/Os are no longer waited for.
    given_up: AtomicBool,
    fault_count: AtomicU64,
    fault_limit: u64,
    state: Mutex<LockedState>,
    changed: Condvar,
}

/// Rarely used state, under a lock.
#[derive(Debug, Default)]
pub(super) struct LockedState {
    /// Number of threads that have ended.
    pub ended: usize,
    /// The first failed I/Os, at most [`LOCATED_FAULTS_MAX`].
    pub faults: Vec<LocatedFault>,
    /// Why the load fails; `None` while it runs.
    pub failure: Option<LoadFailure>,
    /// Ticks at which the threads begin; `None` until that is known.
    start: Option<u64>,
    /// Number of threads that have their memory and their queue.
    ready: usize,
    /// Notes on what this host could not provide to the threads, without duplicates.
    notes: Vec<String>,
    unready: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LocatedFault {
    pub op: Op,
    pub offset: u64,
    pub size: u32,
    /// Error number; 0 for a short transfer.
    pub errno: i32,
    pub at: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LoadFailure {
    /// Too many faults, or a first fault that every further I/O would repeat.
    Faults,
    /// The device is gone, with the error number.
    Gone(i32),
    /// The kernel interface failed, with the error number.
    Broken(i32),
    Died,
    Script(Box<ScriptError>),
}

/// Faults of a load since they were last taken.
#[derive(Debug, Default)]
pub(super) struct FaultSummary {
    pub count: u64,
    /// The first of them, at most [`LOCATED_FAULTS_MAX`].
    pub located: Vec<LocatedFault>,
}

/// Accounts of a turn that has ended.
pub(super) struct AccountTurn<'s> {
    /// Ticks at which it ended.
    pub ended: u64,
    /// One account per thread.
    pub accounts: Vec<&'s mut IntervalAccount>,
}

/// I/Os that a load no longer waits for.
#[derive(Debug, Default)]
pub(super) struct AbandonedIos {
    /// Number over all threads that have not ended.
    pub count: u64,
    /// Those whose threads are blocked and could not count them into an account.
    pub blocked: Vec<BlockedIo>,
}

/// The only I/O of a thread, which is blocked in its system call.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockedIo {
    pub stream: u32,
    /// Response time in nanoseconds so far.
    pub response_ns: u64,
}

/// Accounts and status of one thread. Written with every batch, and therefore in cache lines of
/// its own.
#[repr(align(128))]
#[derive(Debug)]
pub(super) struct ThreadLane {
    /// Odd while a reap is counted.
    reaps: AtomicU64,
    accounts: [UnsafeCell<IntervalAccount>; 2],
    /// Ticks of the last counted reap; 0 before the first.
    pub last: AtomicU64,
    /// I/Os completed after the end, in the order of `Op::ALL`.
    late: [IoCounter; Op::ALL.len()],
    /// Ticks of the thread's last clock reading.
    last_reading: AtomicU64,
    reading_gap: ReadingGap,
    /// Outstanding I/Os as of the last turn; always current for a script or a paced load.
    outstanding: AtomicU32,
    stream: AtomicU32,
    /// Set when the thread has counted the I/Os that are no longer waited for.
    has_given_up: AtomicBool,
    /// Number of I/Os that it counted then.
    given_up: AtomicU32,
    cpu_user: AtomicU64,
    cpu_system: AtomicU64,
    /// Turn at which the processor time was read.
    cpu_turn: AtomicU32,
    ended: AtomicBool,
}

/// The last time without a clock reading that was longer than allowed, in ticks.
#[derive(Debug, Default)]
struct ReadingGap {
    begin: AtomicU64,
    end: AtomicU64,
}

// SAFETY: an account is touched by the lane's thread between `begin_reap` and
// `end_reap` if the turn selects it, and by the accountant in `begin_turn` if it
// does not and no such reap is under way. Everything else is atomic.
unsafe impl Sync for ThreadLane {}

impl ThreadLane {
    fn new(streams: usize) -> ThreadLane {
        ThreadLane {
            reaps: AtomicU64::new(0),
            accounts: [IntervalAccount::new(streams), IntervalAccount::new(streams)]
                .map(UnsafeCell::new),
            last: AtomicU64::new(0),
            late: Default::default(),
            last_reading: AtomicU64::new(0),
            reading_gap: ReadingGap::default(),
            outstanding: AtomicU32::new(0),
            stream: AtomicU32::new(0),
            has_given_up: AtomicBool::new(false),
            given_up: AtomicU32::new(0),
            cpu_user: AtomicU64::new(0),
            cpu_system: AtomicU64::new(0),
            cpu_turn: AtomicU32::new(u32::MAX),
            ended: AtomicBool::new(false),
        }
    }

    /// Begins to count a reap and returns its turn.
    #[inline(always)]
    pub(super) fn begin_reap(&self, shared: &SharedLoad) -> u32 {
        // Sequentially consistent with `begin_turn`: either the accountant sees
        // this reap, or this reap sees the turn.
        self.reaps.fetch_add(1, Ordering::SeqCst);
        shared.turn.load(Ordering::SeqCst)
    }

    /// Returns the account of a turn.
    ///
    /// # Safety
    /// Either on the lane's own thread, between `begin_reap`, which returned `turn`, and
    /// `end_reap`; or on the accounting thread for the account that the turn does not select,
    /// once no reap that counts into it is under way. One reference at a time.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the cells are what makes it sound")]
    pub(super) unsafe fn account(&self, turn: u32) -> &mut IntervalAccount {
        // SAFETY: the caller guarantees that no other reference to this account exists.
        unsafe { &mut *self.accounts[(turn & 1) as usize].get() }
    }

    #[inline(always)]
    pub(super) fn end_reap(&self) {
        let reaps = self.reaps.load(Ordering::Relaxed);
        self.reaps.store(reaps + 1, Ordering::Release);
    }

    /// Counts an I/O that completed after the end of the load.
    #[cold]
    pub(super) fn count_late(&self, op: Op, size: u32) {
        self.late[op as usize].count(size.into());
    }

    /// Notes that the thread has read the clock at `now`; `max_unread` is the longest allowed time
    /// without a reading. Both are in ticks.
    #[inline(always)]
    pub(super) fn note_clock(&self, now: u64, max_unread: u64) {
        let before = self.last_reading.load(Ordering::Relaxed);
        if now.saturating_sub(before) > max_unread {
            self.note_reading_gap(before, now);
        }
        self.last_reading.store(now, Ordering::Release);
    }

    #[cold]
    fn note_reading_gap(&self, begin: u64, end: u64) {
        self.reading_gap.begin.store(begin, Ordering::Relaxed);
        self.reading_gap.end.store(end, Ordering::Relaxed);
    }

    /// Returns how many nanoseconds of a delay passed without a clock reading of this thread;
    /// `u64::MAX` if it has ended.
    fn time_without_reading(&self, late: &LateWakeup, clock: Clock) -> u64 {
        if self.ended.load(Ordering::Acquire) {
            return u64::MAX;
        }
        let nanos = |ticks: &AtomicU64, order| clock.nanos(ticks.load(order));
        let open_gap = nanos(&self.last_reading, Ordering::Acquire)..u64::MAX;
        let ReadingGap { begin, end } = &self.reading_gap;
        let closed_gap = nanos(begin, Ordering::Relaxed)..nanos(end, Ordering::Relaxed);
        late.overlap(open_gap).max(late.overlap(closed_gap))
    }

    #[inline(always)]
    pub(super) fn note_issue(&self, stream: u32) {
        self.stream.store(stream, Ordering::Relaxed);
    }

    /// Returns true if the thread has counted its outstanding I/Os as given up.
    pub(super) fn has_given_up(&self) -> bool {
        self.has_given_up.load(Ordering::Relaxed)
    }

    /// Notes that the thread has counted this many outstanding I/Os as given up.
    pub(super) fn give_up(&self, outstanding: u32) {
        self.outstanding.store(outstanding, Ordering::Relaxed);
        self.given_up.store(outstanding, Ordering::Relaxed);
        self.has_given_up.store(true, Ordering::Release);
    }

    #[inline(always)]
    pub(super) fn publish_outstanding(&self, outstanding: u32) {
        self.outstanding.store(outstanding, Ordering::Relaxed);
    }

    /// Returns a number that changes whenever one of the thread's I/Os completes.
    fn progress(&self) -> u64 {
        let late: u64 = self.late.iter().map(IoCounter::ios).sum();
        // Once it completes, an I/O that was given up appears in no other count.
        let given_up = if self.has_given_up() {
            u64::from(self.outstanding.load(Ordering::Relaxed))
        } else {
            0
        };
        self.last.load(Ordering::Relaxed).wrapping_add(late).wrapping_sub(given_up)
    }

    /// Publishes the number of outstanding I/Os and the thread's processor time as of this turn.
    /// Called by the thread itself.
    #[cold]
    pub(super) fn publish(&self, turn: u32, outstanding: u32) {
        self.outstanding.store(outstanding, Ordering::Relaxed);
        // SAFETY: all-zero is a valid value of this plain structure.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `usage` is a valid structure to write to.
        unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
        let nanos =
            |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        self.cpu_user.store(nanos(usage.ru_utime), Ordering::Relaxed);
        self.cpu_system.store(nanos(usage.ru_stime), Ordering::Relaxed);
        self.cpu_turn.store(turn, Ordering::Release);
    }

    /// Returns true if no reap that began before a turn is still being counted; `reaps_seen` is
    /// the value of `reaps` at the turn.
    fn is_past(&self, reaps_seen: u64) -> bool {
        reaps_seen.is_multiple_of(2) || self.reaps.load(Ordering::Acquire) != reaps_seen
    }
}

/// I/Os and bytes that a load may still issue, shared by its threads.
#[derive(Debug)]
pub(super) struct IoBudget {
    /// True if the load has a limit in I/Os or bytes.
    pub is_limited: bool,
    ios: AtomicU64,
    bytes: AtomicU64,
    /// Transfer size in bytes if all streams have the same; 0 otherwise.
    common_size: u32,
}

impl IoBudget {
    /// Creates a budget; `None` means no limit. `sizes` holds the transfer sizes of the streams.
    pub(super) fn new(ios: Option<u64>, bytes: Option<Bytes>, sizes: &[u32]) -> IoBudget {
        let common_size = match sizes {
            [first, others @ ..] if others.iter().all(|size| size == first) => *first,
            _ => 0,
        };
        IoBudget {
            is_limited: ios.is_some() || bytes.is_some(),
            ios: AtomicU64::new(ios.unwrap_or(u64::MAX)),
            bytes: AtomicU64::new(bytes.map_or(u64::MAX, |bytes| bytes.0)),
            common_size,
        }
    }

    /// Takes one I/O, whose size `draw` returns. Returns the bytes granted; `None` at the limit.
    /// If all sizes are equal, an I/O that is refused is not drawn, so that no cursor moves.
    pub(super) fn take(&self, draw: impl FnOnce() -> u32) -> Option<u32> {
        if self.bytes.load(Ordering::Relaxed) == 0 || take(&self.ios, 1) == 0 {
            return None;
        }
        if self.common_size == 0 {
            let size = draw();
            let granted = take(&self.bytes, size.into()) as u32;
            // A flush has no size and needs none.
            return (granted > 0 || size == 0).then_some(granted);
        }
        let granted = take(&self.bytes, self.common_size.into()) as u32;
        if granted == 0 {
            return None;
        }
        draw();
        Some(granted)
    }
}

/// Takes up to `amount` from a counter and returns what it took. `u64::MAX` is no limit and stays
/// unchanged.
fn take(counter: &AtomicU64, amount: u64) -> u64 {
    let reduced = |count: u64| {
        if count == u64::MAX { None } else { Some(count.saturating_sub(amount)) }
    };
    match counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reduced) {
        Ok(before) => before.min(amount),
        Err(_) => amount,
    }
}

/// Processor time of one thread of a load, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ThreadCpu {
    pub user: u64,
    pub system: u64,
}

impl SharedLoad {
    pub(super) fn new(
        clock: Clock,
        target: QueueTarget,
        budget: IoBudget,
        threads: u32,
        streams: usize,
        fault_limit: u64,
    ) -> SharedLoad {
        SharedLoad {
            clock,
            target,
            budget,
            lanes: (0..threads).map(|_| ThreadLane::new(streams)).collect(),
            findings: ReadBackFindings::default(),
            turn: AtomicU32::new(0),
            deadline: AtomicU64::new(u64::MAX),
            timed_out: AtomicBool::new(false),
            max_unread: clock.ticks_in(STALL_MIN.as_nanos() as u64),
            finishing: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            fault_count: AtomicU64::new(0),
            fault_limit,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LockedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // Called by the threads.

    /// Reports a thread as ready, with notes on what this host could not provide.
    pub(super) fn report_ready(&self, notes: Vec<String>) {
        let mut state = self.state();
        state.ready += 1;
        for note in notes {
            if !state.notes.contains(&note) {
                state.notes.push(note);
            }
        }
        self.changed.notify_all();
    }

    pub(super) fn report_unready(&self, why: String) {
        self.state().unready.get_or_insert(why);
        self.changed.notify_all();
    }

    /// Waits for the start and returns its ticks; `None` if the load is called off.
    pub(super) fn await_start(&self) -> Option<u64> {
        let mut state = self.state();
        loop {
            if self.is_finishing() {
                return None;
            }
            if let Some(start) = state.start {
                return Some(start);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the clock shows these ticks. Returns false if the load is called off.
    pub(super) fn await_ticks(&self, ticks: u64) -> bool {
        let mut state = self.state();
        loop {
            if self.is_finishing() {
                return false;
            }
            let remaining = self.clock.nanos(ticks.saturating_sub(self.clock.ticks()));
            if remaining == 0 {
                return true;
            }
            let wait = self.changed.wait_timeout(state, Duration::from_nanos(remaining));
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    #[inline(always)]
    pub(super) fn deadline(&self) -> u64 {
        self.deadline.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn is_finishing(&self) -> bool {
        self.finishing.load(Ordering::Relaxed)
    }

    /// Returns true if outstanding I/Os are no longer waited for.
    #[inline(always)]
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    pub(super) fn time_out(&self) {
        self.timed_out.store(true, Ordering::Relaxed);
    }

    /// Counts and records a fault; `is_hopeless` if every further I/O must fail as well.
    #[cold]
    pub(super) fn report_fault(&self, fault: LocatedFault, is_hopeless: bool) {
        let count = self.fault_count.fetch_add(1, Ordering::Relaxed) + 1;
        let gone = matches!(fault.errno, libc::ENODEV | libc::ENXIO);
        {
            let mut state = self.state();
            if state.faults.len() < LOCATED_FAULTS_MAX {
                state.faults.push(fault);
            }
        }
        if gone {
            self.fail(LoadFailure::Gone(fault.errno));
        } else if is_hopeless || count > self.fault_limit {
            self.fail(LoadFailure::Faults);
        }
    }

    /// Ends the load with this failure, unless it has failed already.
    #[cold]
    pub(super) fn fail(&self, failure: LoadFailure) {
        let mut state = self.state();
        state.failure.get_or_insert(failure);
        self.finishing.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Reports that the thread of this lane has ended.
    pub(super) fn thread_ended(&self, lane: usize) {
        let mut state = self.state();
        self.lanes[lane].ended.store(true, Ordering::Release);
        state.ended += 1;
        self.changed.notify_all();
    }

    // Called by the accounting thread.

    /// Waits until all threads are ready and returns their notes, or the reason why one of them
    /// cannot begin.
    pub(super) fn await_ready(&self) -> Result<Vec<String>, String> {
        let mut state = self.state();
        loop {
            if let Some(why) = state.unready.take() {
                return Err(why);
            }
            if state.ended > 0 {
                return Err("a thread of the load ended before it began".to_owned());
            }
            if state.ready == self.lanes.len() {
                return Ok(std::mem::take(&mut state.notes));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the threads begin at the ticks `at`, or at once, and sets the deadline
    /// `deadline_after` ticks later. Returns the ticks of the start.
    pub(super) fn open(&self, at: Option<u64>, deadline_after: Option<u64>) -> u64 {
        let mut state = self.state();
        let start = at.unwrap_or_else(|| self.clock.ticks());
        if let Some(after) = deadline_after {
            self.set_deadline(start.saturating_add(after));
        }
        state.start = Some(start);
        self.changed.notify_all();
        start
    }

    pub(super) fn set_deadline(&self, ticks: u64) {
        self.deadline.store(ticks, Ordering::Relaxed);
    }

    /// Returns the ticks at which a completed load ended: its deadline, or its last completion if
    /// that came first.
    pub(super) fn ended_at(&self) -> u64 {
        if self.timed_out.load(Ordering::Relaxed) {
            return self.deadline();
        }
        self.lanes.iter().map(|lane| lane.last.load(Ordering::Relaxed)).max().unwrap_or(0)
    }

    /// Stops the threads from issuing I/Os, and wakes those that wait.
    pub(super) fn finish(&self) {
        let state = self.state();
        self.finishing.store(true, Ordering::Relaxed);
        self.changed.notify_all();
        drop(state);
        let one = 1u64.to_ne_bytes();
        // SAFETY: eight bytes are valid to read; the descriptor is open.
        unsafe {
            let wake = std::os::fd::AsRawFd::as_raw_fd(&self.target.wake);
            libc::write(wake, one.as_ptr().cast(), one.len());
        }
    }

    pub(super) fn wait(&self, time: Duration) {
        let state = self.state();
        if state.ended == self.lanes.len() || state.failure.is_some() {
            return;
        }
        drop(self.changed.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner));
    }

    pub(super) fn all_ended(&self) -> bool {
        self.state().ended == self.lanes.len()
    }

    /// Begins a new turn. Returns the accounts of the previous one, which belong to the caller
    /// until the next one begins.
    ///
    /// # Safety
    /// Only one caller at a time, and it no longer holds accounts of an earlier turn.
    #[allow(clippy::mut_from_ref, reason = "the cells are what makes it sound")]
    pub(super) unsafe fn begin_turn(&self) -> AccountTurn<'_> {
        let old = self.turn.load(Ordering::Relaxed);
        self.turn.store(old.wrapping_add(1), Ordering::SeqCst);
        let reaps: Vec<u64> =
            self.lanes.iter().map(|lane| lane.reaps.load(Ordering::SeqCst)).collect();
        let ended = self.clock.ticks();
        for (lane, reaps_seen) in self.lanes.iter().zip(reaps) {
            while !lane.is_past(reaps_seen) {
                std::thread::yield_now();
            }
        }
        fence(Ordering::Acquire);
        // SAFETY: every reap from now on counts into the other account, and those that counted
        // into this one are over.
        let accounts = self.lanes.iter().map(|lane| unsafe { lane.account(old) }).collect();
        AccountTurn { ended, accounts }
    }

    /// Returns the processor time of each thread. Running threads get up to 2 ms to publish it; a
    /// thread that waits in the kernel has used none since it last did.
    pub(super) fn cpu_times(&self) -> Vec<ThreadCpu> {
        let turn = self.turn.load(Ordering::Relaxed);
        let is_current = |lane: &ThreadLane| {
            lane.cpu_turn.load(Ordering::Acquire) == turn || lane.ended.load(Ordering::Acquire)
        };
        for _ in 0..20 {
            if self.lanes.iter().all(is_current) {
                break;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        let cpu_of = |lane: &ThreadLane| ThreadCpu {
            user: lane.cpu_user.load(Ordering::Relaxed),
            system: lane.cpu_system.load(Ordering::Relaxed),
        };
        self.lanes.iter().map(cpu_of).collect()
    }

    /// Returns true if any thread has published outstanding I/Os.
    pub(super) fn waits_for_ios(&self) -> bool {
        self.lanes.iter().any(|lane| lane.outstanding.load(Ordering::Relaxed) > 0)
    }

    /// Returns how many nanoseconds of a delay passed without a clock reading of any thread.
    pub(super) fn time_without_reading(&self, late: &LateWakeup) -> u64 {
        self.lanes
            .iter()
            .map(|lane| lane.time_without_reading(late, self.clock))
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Returns a number that changes whenever an I/O completes.
    pub(super) fn progress(&self) -> u64 {
        self.lanes.iter().fold(0, |sum, lane| sum.wrapping_add(lane.progress()))
    }

    /// Ends the load without waiting for its outstanding I/Os, and returns them. A thread counts
    /// its I/Os with their time so far into its account, unless it is blocked in the system call
    /// of its only I/O.
    pub(super) fn give_up_waiting(&self) -> AbandonedIos {
        self.given_up.store(true, Ordering::Relaxed);
        self.finish();
        let is_done = |lane: &ThreadLane| {
            lane.has_given_up.load(Ordering::Acquire) || lane.ended.load(Ordering::Acquire)
        };
        for _ in 0..GIVE_UP_POLLS {
            if self.lanes.iter().all(is_done) {
                break;
            }
            std::thread::sleep(GIVE_UP_POLL_INTERVAL);
        }
        let now = self.clock.ticks();
        let mut abandoned = AbandonedIos::default();
        for lane in &self.lanes {
            if lane.has_given_up.load(Ordering::Acquire) {
                abandoned.count += u64::from(lane.given_up.load(Ordering::Relaxed));
            } else if !lane.ended.load(Ordering::Acquire) {
                abandoned.count += 1;
                let blocked_for = now.saturating_sub(lane.last_reading.load(Ordering::Acquire));
                abandoned.blocked.push(BlockedIo {
                    stream: lane.stream.load(Ordering::Relaxed),
                    response_ns: self.clock.nanos(blocked_for),
                });
            }
        }
        abandoned
    }

    /// Returns the I/Os completed after the end since the last call, by thread and operation.
    pub(super) fn take_late(&self) -> impl Iterator<Item = UnmeasuredIos> {
        let late = self.lanes.iter().flat_map(|lane| Op::ALL.into_iter().zip(&lane.late));
        late.map(|(op, counter)| counter.take(op))
    }

    /// Returns the faults since the last call.
    pub(super) fn take_faults(&self) -> FaultSummary {
        let located = std::mem::take(&mut self.state().faults);
        FaultSummary { count: self.fault_count.swap(0, Ordering::Relaxed), located }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_numbered_as_they_are_listed() {
        assert!(Op::ALL.iter().enumerate().all(|(number, op)| *op as usize == number));
    }

    #[test]
    fn a_budget_grants_exactly_what_it_holds() {
        let granted = |budget: IoBudget| (0..4).map_while(|_| budget.take(|| 4096)).collect();
        let by_bytes: Vec<u32> = granted(IoBudget::new(None, Some(Bytes(10_000)), &[4096]));
        assert_eq!(by_bytes, [4096, 4096, 1808]);
        let by_ios: Vec<u32> = granted(IoBudget::new(Some(2), None, &[4096]));
        assert_eq!(by_ios, [4096, 4096]);
    }

    #[test]
    fn mixed_sizes_are_charged_after_the_draw_and_equal_ones_before() {
        let mixed = IoBudget::new(None, Some(Bytes(5000)), &[4096, 512, 0]);
        assert_eq!(mixed.take(|| 4096), Some(4096));
        assert_eq!(mixed.take(|| 0), Some(0), "a flush");
        assert_eq!(mixed.take(|| 4096), Some(904));
        assert_eq!(mixed.take(|| panic!("drawn")), None);
        let equal = IoBudget::new(None, Some(Bytes(4096)), &[4096]);
        assert_eq!(equal.take(|| 4096), Some(4096));
        assert_eq!(equal.take(|| panic!("drawn")), None);
    }

    #[test]
    fn no_limit_is_never_used_up() {
        let budget = IoBudget::new(None, None, &[4096]);
        assert!(!budget.is_limited);
        assert!((0..1000).all(|_| budget.take(|| 4096) == Some(4096)));
    }
}
