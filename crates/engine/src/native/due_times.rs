//! Due times of I/Os, for a load that does not simply keep its queues full.
//!
//! An I/O is due whether or not an earlier one has completed. Its response time counts from then,
//! not from when a slot came free for it, so that a device that stalls is charged for the I/Os
//! that had to wait (no coordinated omission).

use super::clock::Clock;
use crate::xoshiro::Xoshiro256;
use steadfast_domain::stimulus::Pace;

/// One thread's share of a load's pace.
#[derive(Debug)]
pub(super) struct PaceSchedule {
    clock: Clock,
    start: u64,
    rhythm: Rhythm,
    /// Ticks at which the next I/O is due; `None` while a burst is outstanding and nothing is due
    /// before it has completed.
    next: Option<u64>,
}

#[derive(Debug)]
enum Rhythm {
    /// Every `threads`-th of the load's evenly spaced I/Os.
    Fixed { ios: u64, per_ns: u64, number: u64, threads: u64 },
    /// Exponential gaps; the processes of all threads add up to that of the load.
    Poisson { mean_ns: f64, elapsed_ns: f64, random: Xoshiro256 },
    /// The thread's share of each burst, and what is left of the current one.
    Burst { share: u64, left: u64, delay_ns: u64 },
}

impl PaceSchedule {
    /// Creates the schedule of thread `thread` of `threads`; `None` for a closed loop.
    pub(super) fn new(
        pace: Pace,
        thread: u32,
        threads: u32,
        seed: u64,
        clock: Clock,
        start: u64,
    ) -> Option<PaceSchedule> {
        let (number, count) = (u64::from(thread), u64::from(threads));
        let rhythm = match pace {
            Pace::Closed => return None,
            Pace::Fixed { ios, per } => {
                Rhythm::Fixed { ios, per_ns: per.0, number, threads: count }
            }
            Pace::Poisson { ios, per } => Rhythm::Poisson {
                mean_ns: per.0 as f64 / ios as f64 * count as f64,
                elapsed_ns: 0.0,
                random: Xoshiro256::new(seed, !number),
            },
            Pace::Burst { ios, delay } => {
                let share = ios / count + u64::from(number < ios % count);
                Rhythm::Burst { share, left: share, delay_ns: delay.0 }
            }
        };
        let mut schedule = PaceSchedule { clock, start, rhythm, next: None };
        schedule.next = schedule.first();
        Some(schedule)
    }

    fn first(&mut self) -> Option<u64> {
        match &self.rhythm {
            Rhythm::Fixed { .. } => Some(self.fixed_due()),
            Rhythm::Poisson { .. } => Some(self.poisson_due()),
            Rhythm::Burst { share, .. } => (*share > 0).then_some(self.start),
        }
    }

    /// Returns the ticks at which the next I/O is due.
    pub(super) fn due(&self) -> Option<u64> {
        self.next
    }

    /// Advances to the next I/O after one was issued.
    pub(super) fn issued(&mut self) {
        self.next = match &mut self.rhythm {
            Rhythm::Fixed { number, threads, .. } => {
                *number += *threads;
                Some(self.fixed_due())
            }
            Rhythm::Poisson { .. } => Some(self.poisson_due()),
            Rhythm::Burst { left, .. } => {
                *left -= 1;
                if *left > 0 { self.next } else { None }
            }
        };
    }

    /// Notes that all I/Os of the thread have completed at `now`.
    pub(super) fn all_complete(&mut self, now: u64) {
        if let Rhythm::Burst { share, left, delay_ns } = &mut self.rhythm
            && *left == 0
            && *share > 0
        {
            *left = *share;
            self.next = Some(now + self.clock.ticks_in(*delay_ns));
        }
    }

    fn fixed_due(&self) -> u64 {
        let Rhythm::Fixed { ios, per_ns, number, .. } = &self.rhythm else { return self.start };
        let nanos = u128::from(*number) * u128::from(*per_ns) / u128::from(*ios);
        self.start + self.clock.ticks_in(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    fn poisson_due(&mut self) -> u64 {
        let Rhythm::Poisson { mean_ns, elapsed_ns, random } = &mut self.rhythm else {
            return self.start;
        };
        *elapsed_ns -= *mean_ns * random.fraction().ln();
        self.start + self.clock.ticks_in(*elapsed_ns as u64)
    }
}

/// Returns why a pace cannot be kept; `None` if it can.
pub(super) fn fault(pace: Pace) -> Option<&'static str> {
    match pace {
        Pace::Fixed { ios: 0, .. } | Pace::Poisson { ios: 0, .. } | Pace::Burst { ios: 0, .. } => {
            Some("a pace needs at least one I/O")
        }
        Pace::Fixed { per, .. } | Pace::Poisson { per, .. } if per.0 == 0 => {
            Some("a pace needs a period longer than 0")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Nanos;

    fn dues(pace: Pace, thread: u32, threads: u32, count: usize) -> Vec<u64> {
        let clock = Clock::get();
        let start = 1 << 40;
        let mut schedule = PaceSchedule::new(pace, thread, threads, 1, clock, start).unwrap();
        let mut next = || {
            let due = schedule.due().unwrap();
            schedule.issued();
            clock.nanos(due - start)
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn fixed_ios_are_evenly_spaced_over_the_threads_and_never_drift() {
        let pace = Pace::Fixed { ios: 3, per: Nanos::from_secs(1) };
        let mut all = [dues(pace, 0, 2, 150), dues(pace, 1, 2, 150)].concat();
        all.sort_unstable();
        for (number, due) in all.iter().enumerate() {
            assert!(due.abs_diff(number as u64 * 1_000_000_000 / 3) <= 100, "{number} {due}");
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let pace = Pace::Poisson { ios: 1000, per: Nanos::from_secs(1) };
        let dues = dues(pace, 1, 4, 20_000);
        let gaps: Vec<f64> = dues.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 4e6 - 1.0).abs() < 0.05, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_burst_is_due_at_once_and_the_next_after_the_pause() {
        let clock = Clock::get();
        let pace = Pace::Burst { ios: 5, delay: Nanos::from_millis(20) };
        let mut schedule = PaceSchedule::new(pace, 1, 2, 1, clock, 77).unwrap();
        for _ in 0..2 {
            assert_eq!(schedule.due(), Some(77));
            schedule.issued();
        }
        assert_eq!(schedule.due(), None);
        schedule.all_complete(1000);
        assert_eq!(schedule.due(), Some(1000 + clock.ticks_in(20_000_000)));
        let lonely = Pace::Burst { ios: 1, delay: Nanos::from_millis(20) };
        assert_eq!(PaceSchedule::new(lonely, 1, 2, 1, clock, 77).unwrap().due(), None);
    }

    #[test]
    fn a_pace_without_ios_or_time_is_refused() {
        assert!(fault(Pace::Fixed { ios: 0, per: Nanos::SECOND }).is_some());
        assert!(fault(Pace::Poisson { ios: 5, per: Nanos::ZERO }).is_some());
        assert!(fault(Pace::Burst { ios: 5, delay: Nanos::ZERO }).is_none());
        assert!(fault(Pace::Closed).is_none());
    }
}
