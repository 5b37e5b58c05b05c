//! The loop that the I/Os of a script go through: submit when due, reap, count.
//!
//! One thread submits all of them, so that they leave in script order and overlaps are detected;
//! the kernel interface carries as many at once as the step allows. The thread sleeps until shortly
//! before an I/O is due and polls the clock from then on (`sleep_planner`), so that a processor is
//! busy only where I/Os follow closely; `scheduling_class` sets its scheduling class.
//!
//! The clock is `CLOCK_MONOTONIC`, whose nanoseconds are the ticks here: due times stay accurate
//! for days, and two targets can start at the same time.
//!
//! While I/Os flow, nothing here allocates, locks or logs.

use super::prefetch::Prefetcher;
use super::queue::{Queue, SubmitWait};
use super::scheduling_class::SchedulingClass;
use super::shared::LoadFailure;
use super::sleep_planner::{SleepPlanner, sharpen_timer};
use super::thread_ios::{IoSlot, ThreadIos};
use crate::accounting::PlayedIo;
use crate::play::{PlayerAction, ReadyIo, ScriptPlayer};
use std::sync::atomic::Ordering;

/// Wait in nanoseconds between two checks of a reader that has nothing decoded.
const STARVING_NS: u64 = 100_000;

pub(super) struct ScriptWorker<'s, Q: Queue> {
    ios: ThreadIos<'s, Q>,
    player: ScriptPlayer<Prefetcher>,
    sleep: SleepPlanner,
    scheduling: SchedulingClass,
}

impl<'s, Q: Queue> ScriptWorker<'s, Q> {
    pub(super) fn new(
        ios: ThreadIos<'s, Q>,
        player: ScriptPlayer<Prefetcher>,
        scheduling: SchedulingClass,
    ) -> Self {
        ScriptWorker { ios, player, sleep: SleepPlanner::default(), scheduling }
    }

    /// Plays until the script or the load ends and all I/Os have completed.
    pub(super) fn run(mut self) {
        sharpen_timer();
        self.ios.begin();
        let result = self.play();
        self.ios.end(result);
    }

    fn play(&mut self) -> Result<(), i32> {
        loop {
            let now = self.ios.clock.ticks();
            self.sleep.note_wake_up(now);
            self.scheduling.awake(now);
            let wait = self.gather(now);
            if self.ios.count == 0 && wait.is_none() {
                return Ok(());
            }
            let wait = wait.unwrap_or(SubmitWait::Completion);
            if wait != SubmitWait::NoWait {
                self.scheduling.before_wait();
            }
            self.stamp_and_submit(wait)?;
            self.reap();
        }
    }

    /// Adds all due I/Os to the batch. Returns how long to wait for completions then; `None` if
    /// no more I/Os follow.
    #[inline(always)]
    fn gather(&mut self, now: u64) -> Option<SubmitWait> {
        loop {
            self.ios.is_closing |= self.ios.shared.is_finishing();
            if self.ios.is_closing {
                return None;
            }
            match self.player.next(now) {
                PlayerAction::Submit(ready) => self.issue(&ready, now),
                PlayerAction::At(due) => return Some(self.sleep.wait_until(due, now)),
                PlayerAction::Completion => return Some(SubmitWait::Completion),
                PlayerAction::Starved => return Some(SubmitWait::AtMost(STARVING_NS)),
                PlayerAction::Over => self.ios.is_closing = true,
                PlayerAction::Failed(error) => self.ios.shared.fail(LoadFailure::Script(error)),
            }
        }
    }

    /// Adds an I/O to the batch. A slot is vacant whenever the player returns an I/O.
    #[inline(always)]
    fn issue(&mut self, ready: &ReadyIo, now: u64) {
        let Some(slot) = self.ios.vacant.pop() else { return };
        let (op, fua) = (ready.io.op, ready.io.fua);
        let (offset, size) = (ready.io.offset.0, ready.io.size.0 as u32);
        let io = IoSlot { began: ready.due, op, fua, offset, size, ..IoSlot::FLUSH };
        self.ios.push(slot, io);
        self.ios.batch.push(slot);
        self.player.note_submission(slot, ready, now);
        self.sleep.note_issue();
    }

    /// Submits the batch and notes how late its I/Os are.
    #[inline(always)]
    fn stamp_and_submit(&mut self, wait: SubmitWait) -> Result<(), i32> {
        if !self.ios.batch.is_empty() {
            let now = self.ios.clock.ticks();
            for slot in &self.ios.batch {
                let io = &mut self.ios.slots[*slot as usize];
                io.start_error = now.saturating_sub(io.began);
            }
            self.ios.lane.publish_outstanding(self.ios.count);
        }
        self.ios.submit(wait)
    }

    #[inline(always)]
    fn reap(&mut self) {
        let reap = self.ios.begin_reap();
        let now = reap.now;
        while let Some(completion) = self.ios.next() {
            let io = self.ios.slots[completion.slot as usize];
            if io.succeeded(completion.result) {
                reap.account.count_played(&PlayedIo {
                    op: io.op,
                    bytes: io.size.into(),
                    response_ns: now.saturating_sub(io.began),
                    served_ns: now.saturating_sub(io.began + io.start_error),
                    late_ns: io.start_error,
                });
            } else {
                self.ios.note_fault(completion, &reap);
            }
            self.ios.vacant.push(completion.slot);
            self.player.note_completion(completion.slot, now);
        }
        if reap.seen > 0 {
            self.ios.lane.last.store(now, Ordering::Relaxed);
            self.ios.lane.publish_outstanding(self.ios.count);
        }
        self.ios.end_reap(reap);
    }
}

#[cfg(test)]
mod tests {
    use super::super::buffers::ThreadBuffers;
    use super::super::clock::Clock;
    use super::super::queue::{Completion, QueueTarget, Request};
    use super::super::shared::{IoBudget, SharedLoad};
    use super::*;
    use crate::StopSignal;
    use crate::accounting::{SCRIPT_STREAMS, StepMeter};
    use crate::play::ScriptReader;
    use crate::play::tests::{EndlessFeed, listed};
    use std::fs::File;
    use std::sync::{Arc, Mutex};
    use steadfast_domain::{Bytes, DueIo, Nanos, Op, ScriptLoad};

    /// Operation, FUA, offset and size.
    type TakenIo = (Op, bool, u64, u32);

    /// Records every I/O and completes it at once.
    #[derive(Default)]
    struct RecordingQueue {
        taken: Arc<Mutex<Vec<TakenIo>>>,
        done: Vec<Completion>,
        seen: usize,
    }

    impl Queue for RecordingQueue {
        fn push(&mut self, request: Request) {
            let Request { slot, op, fua, offset, size, .. } = request;
            self.taken.lock().unwrap().push((op, fua, offset, size));
            let result = if matches!(op, Op::Read | Op::Write) { size as i32 } else { 0 };
            self.done.push(Completion { slot, result });
        }
        fn submit(&mut self, wait: SubmitWait) -> Result<(), i32> {
            if let (SubmitWait::AtMost(nanos), true) = (wait, self.done.is_empty()) {
                std::thread::sleep(std::time::Duration::from_nanos(nanos));
            }
            Ok(())
        }
        fn poll(&mut self) -> usize {
            self.seen = self.done.len();
            self.seen
        }
        fn next(&mut self) -> Option<Completion> {
            self.seen = self.seen.checked_sub(1)?;
            Some(self.done.remove(0))
        }
    }

    fn shared(depth: u32) -> SharedLoad {
        let null = || File::open("/dev/null").unwrap().into();
        let target = QueueTarget { file: null(), wake: null(), is_block_device: false, depth };
        let budget = IoBudget::new(None, None, &[]);
        SharedLoad::new(Clock::monotonic(), target, budget, 1, SCRIPT_STREAMS, 0)
    }

    /// Plays a script on a device that takes no time. Returns the recorded I/Os and the meter.
    fn played(load: &ScriptLoad) -> (Vec<TakenIo>, StepMeter) {
        let depth = load.demand.outstanding() as u32;
        let shared = shared(depth);
        let feed = Prefetcher::begin(ScriptReader::open(load).unwrap(), 0, &StopSignal::default())
            .unwrap();
        let mut player = ScriptPlayer::new(load, feed, 0, true);
        player.begin(shared.clock.ticks(), Nanos::ZERO);
        let queue = RecordingQueue::default();
        let taken = Arc::clone(&queue.taken);
        let ios = ThreadIos::new(&shared, 0, queue, ThreadBuffers::default());
        ScriptWorker::new(ios, player, SchedulingClass::unchanged()).run();
        assert_eq!(shared.state().failure, None);
        let mut meter = StepMeter::for_script();
        // SAFETY: nothing else advances the turn, and the thread that counted has ended.
        let turn = unsafe { shared.begin_turn() };
        meter.close_interval(turn.accounts, Nanos::ZERO, Nanos::SECOND, false);
        (std::mem::take(&mut *taken.lock().unwrap()), meter)
    }

    #[test]
    fn all_ios_are_submitted_in_order_as_scripted() {
        let ios: Vec<DueIo> = (0..10_007u64)
            .map(|n| {
                let op = [Op::Write, Op::Read, Op::Read, Op::Discard, Op::Flush][(n % 5) as usize];
                let size = if op == Op::Flush { 0 } else { 512 << (n % 7) };
                let offset = steadfast_domain::random_bits::mix64(n) % 100_000 * 512;
                let io = DueIo::new(Nanos(n * 3000), op, Bytes(offset), Bytes(size));
                DueIo { fua: n % 35 == 0, ..io }
            })
            .collect();
        let (taken, meter) = played(&listed(&ios, 16));
        let expected: Vec<_> =
            ios.iter().map(|io| (io.op, io.fua, io.offset.0, io.size.0 as u32)).collect();
        assert_eq!(taken, expected);
        let done = meter.finish_script();
        assert_eq!((done.lateness.ios, done.lateness.histogram.total()), (10_007, 10_007));
        for tally in &done.streams {
            let of_op = || ios.iter().filter(|io| io.op == tally.op);
            assert_eq!(tally.tally.ios, of_op().count() as u64);
            assert_eq!(tally.tally.bytes.0, of_op().map(|io| io.size.0).sum::<u64>());
        }
        assert!(done.by_interval[0].mean().is_some());
    }

    #[test]
    fn decoding_ahead_is_bounded() {
        let (script, delivered) = EndlessFeed::load();
        let mut feed =
            Prefetcher::begin(ScriptReader::open(&script).unwrap(), 0, &StopSignal::default())
                .unwrap();
        let count = || delivered.load(Ordering::SeqCst);
        for round in 1..=3u64 {
            // Meanwhile the reader fills all available batches, and then waits.
            let mut before = 0;
            while before != count() {
                before = count();
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            let batch = crate::play::BATCH as u64;
            let waiting = before - (round - 1) * batch;
            let waiting_max = (super::super::prefetch::BATCHES_MAX as u64 + 2) * batch;
            assert!((waiting_max / 2..=waiting_max).contains(&waiting), "{waiting}");
            for _ in 0..batch {
                assert!(matches!(
                    crate::play::ScriptFeed::next(&mut feed),
                    crate::play::FeedResult::Io(_)
                ));
            }
        }
    }
}
