//! Sleeps of a thread between two due times: how long before an I/O is due it stops sleeping.
//!
//! A sleep ends late: the timer fires, an idle processor wakes up (a virtual one must first be
//! given a real one), and the thread is scheduled. The delay is learned from the sleeps
//! themselves, so that as little processor time as possible is spent on polling the clock, and no
//! I/O is late for it.

use super::queue::SubmitWait;

/// Longest sleep in nanoseconds, so that the end of a load is noticed.
const SLEEP_MAX_NS: u64 = 40_000_000;

/// Shortest and longest time in nanoseconds that a thread is awake before an I/O is due.
const MARGIN_MIN_NS: u64 = 60_000;
const MARGIN_MAX_NS: u64 = 1_000_000;

/// Exponent n of the share 2^-n by which the margin shrinks after a sleep that ended in time.
const SHRINK_SHIFT: u32 = 8;

/// Exponent n of the share 2^-n by which it shrinks with every I/O: if all of them follow within
/// the margin, no sleep corrects it any more.
const DECAY_SHIFT: u32 = 13;

/// Plans the sleeps of one thread.
#[derive(Debug)]
pub(super) struct SleepPlanner {
    margin_ns: u64,
    /// Time at which the current sleep should end.
    planned: Option<u64>,
}

impl Default for SleepPlanner {
    fn default() -> Self {
        // Starts with the longest margin, so that no I/O is late before anything is learned.
        SleepPlanner { margin_ns: MARGIN_MAX_NS, planned: None }
    }
}

impl SleepPlanner {
    /// Returns how long to wait for completions if the next I/O is due at `due`. Times are in
    /// nanoseconds.
    #[inline(always)]
    pub(super) fn wait_until(&mut self, due: u64, now: u64) -> SubmitWait {
        match due.saturating_sub(now) {
            nanos if nanos > self.margin_ns => {
                let sleep = (nanos - self.margin_ns).min(SLEEP_MAX_NS);
                self.planned = Some(now + sleep);
                SubmitWait::AtMost(sleep)
            }
            _ => SubmitWait::NoWait,
        }
    }

    /// Notes that the thread is awake. A completion may have woken it early.
    #[inline(always)]
    pub(super) fn note_wake_up(&mut self, now: u64) {
        if let Some(planned) = self.planned.take()
            && now >= planned
        {
            self.learn(now - planned);
        }
    }

    #[inline(always)]
    pub(super) fn note_issue(&mut self) {
        self.margin_ns = (self.margin_ns - (self.margin_ns >> DECAY_SHIFT)).max(MARGIN_MIN_NS);
    }

    fn learn(&mut self, late: u64) {
        let shrunk = self.margin_ns - (self.margin_ns >> SHRINK_SHIFT);
        self.margin_ns = (2 * late).max(shrunk).clamp(MARGIN_MIN_NS, MARGIN_MAX_NS);
    }
}

/// Makes timers of this thread fire when they are due, not up to 50 µs later.
pub(super) fn sharpen_timer() {
    // SAFETY: sets one property of the calling thread.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_follows_how_late_sleeps_end() {
        let mut planner = SleepPlanner::default();
        let mut margin = |late: u64, times: u32| {
            for _ in 0..times {
                let SubmitWait::AtMost(sleep) = planner.wait_until(10_000_000, 0) else {
                    panic!("no sleep")
                };
                planner.note_wake_up(sleep + late);
            }
            match planner.wait_until(10_000_000, 0) {
                SubmitWait::AtMost(sleep) => 10_000_000 - sleep,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(margin(1_000, 2000), MARGIN_MIN_NS);
        assert_eq!(margin(150_000, 1), 300_000);
        assert_eq!(margin(80_000_000, 1), MARGIN_MAX_NS);
        let after = margin(1_000, 100);
        assert!((600_000..700_000).contains(&after), "one outlier is forgotten slowly: {after}");
        assert_eq!(margin(1_000, 1000), MARGIN_MIN_NS);
    }

    #[test]
    fn a_near_due_time_causes_no_sleep_and_a_completion_no_adjustment() {
        let mut planner = SleepPlanner::default();
        assert_eq!(planner.wait_until(1_000_000 + MARGIN_MAX_NS, 1_000_000), SubmitWait::NoWait);
        assert_eq!(planner.wait_until(5, 1_000_000), SubmitWait::NoWait);
        let SubmitWait::AtMost(sleep) = planner.wait_until(9_000_000, 0) else {
            panic!("no sleep")
        };
        planner.note_wake_up(sleep / 2);
        planner.note_wake_up(900_000_000);
        assert_eq!(planner.wait_until(9_000_000, 0), SubmitWait::AtMost(sleep));
        (0..100_000).for_each(|_| planner.note_issue());
        assert_eq!(planner.wait_until(1_000_000, 0), SubmitWait::AtMost(1_000_000 - MARGIN_MIN_NS));
        assert_eq!(planner.wait_until(u64::MAX, 0), SubmitWait::AtMost(SLEEP_MAX_NS));
    }
}
