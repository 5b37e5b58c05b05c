//! Due times of one thread's I/Os, in ticks of the clock.

use super::clock::Clock;
use crate::arrival_times::ArrivalTimes;
use steadfast_domain::Stimulus;

/// One thread's share of a load's pace.
#[derive(Debug)]
pub(super) struct PaceSchedule {
    clock: Clock,
    start: u64,
    times: ArrivalTimes,
    /// Ticks at which the next I/O is due; `None` while that depends on a completion.
    next: Option<u64>,
}

impl PaceSchedule {
    /// Creates the schedule of thread `thread` of `threads`; `None` for a closed loop.
    pub(super) fn new(
        stimulus: &Stimulus,
        thread: u32,
        threads: u32,
        seed: u64,
        clock: Clock,
        start: u64,
    ) -> Option<PaceSchedule> {
        let times = ArrivalTimes::new(stimulus, thread, threads, seed)?;
        let mut schedule = PaceSchedule { clock, start, times, next: None };
        schedule.note_due();
        Some(schedule)
    }

    pub(super) fn due(&self) -> Option<u64> {
        self.next
    }

    /// Returns the stream of the I/O that is due next; `None` if it is chosen by weight.
    #[inline(always)]
    pub(super) fn stream(&self) -> Option<u32> {
        self.times.stream()
    }

    /// Advances to the next I/O after one was issued.
    pub(super) fn note_issue(&mut self) {
        self.times.note_issue();
        self.note_due();
    }

    /// Notes that all I/Os of the thread have completed at `now`.
    pub(super) fn note_idle(&mut self, now: u64) {
        self.times.note_idle(self.clock.nanos(now.saturating_sub(self.start)));
        self.note_due();
    }

    fn note_due(&mut self) {
        self.next = self.times.due_ns().map(|ns| self.start + self.clock.ticks_in(ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival_times::tests::load;
    use steadfast_domain::Nanos;
    use steadfast_domain::stimulus::Pace;

    #[test]
    fn due_times_count_in_ticks_from_the_start() {
        let (clock, start) = (Clock::get(), 1 << 40);
        let pace = Pace::Fixed { ios: 3, per: Nanos::from_secs(1) };
        let mut schedule = PaceSchedule::new(&load(&pace), 1, 2, 1, clock, start).unwrap();
        for number in [1, 3, 5] {
            let due = clock.nanos(schedule.due().unwrap() - start);
            assert!(due.abs_diff(number * 1_000_000_000 / 3) <= 100, "{number} {due}");
            schedule.note_issue();
        }
    }

    #[test]
    fn a_pause_begins_with_the_last_completion() {
        let (clock, start) = (Clock::get(), 77);
        let pace = Pace::Burst { ios: 1, delay: Nanos::from_millis(20) };
        let mut schedule = PaceSchedule::new(&load(&pace), 0, 1, 1, clock, start).unwrap();
        assert_eq!(schedule.due(), Some(77));
        schedule.note_issue();
        assert_eq!(schedule.due(), None);
        schedule.note_idle(start + clock.ticks_in(1_000_000));
        let due = clock.nanos(schedule.due().unwrap() - start);
        assert!(due.abs_diff(21_000_000) <= 100, "{due}");
    }
}
