//! Times at which I/Os are due, for a load that does not simply keep its queues full.
//!
//! An I/O is due whether or not an earlier one has completed, except in bursts with pauses that
//! begin with a completion. Its response time counts from then, not from when a slot came free for
//! it, so that a device that stalls is charged for the I/Os that had to wait (no coordinated
//! omission).

use crate::xoshiro::Xoshiro256;
use steadfast_domain::empirical::EmpiricalTimes;
use steadfast_domain::stimulus::Pace;

/// Lane of the generator that draws due times. The I/Os of thread n are drawn with lane n.
const LANE: u64 = 0xace;

/// One thread's share of a load's due times, in nanoseconds since the load began.
#[derive(Debug)]
pub(crate) struct ArrivalTimes {
    rhythm: Rhythm,
    /// Time at which the next I/O is due; `None` while a burst is outstanding and nothing is due
    /// before it has completed.
    next_ns: Option<u64>,
}

#[derive(Debug)]
enum Rhythm {
    /// Every `threads`-th of the load's evenly spaced I/Os.
    Fixed { ios: u64, per_ns: u64, number: u64, threads: u64 },
    /// Exponential gaps; the processes of all threads add up to that of the load.
    Poisson { mean_ns: f64, elapsed_ns: f64, random: Xoshiro256 },
    /// Every `threads`-th arrival of the load; each thread draws all of them.
    Empirical { times: Box<EmpiricalTimes>, threads: u64, random: Xoshiro256 },
    /// The thread's share of each burst, and what is left of the current one.
    Burst { share: u64, left: u64, delay_ns: u64 },
}

impl ArrivalTimes {
    /// Creates the due times of thread `thread` of `threads`; `None` for a closed loop.
    pub(crate) fn new(pace: &Pace, thread: u32, threads: u32, seed: u64) -> Option<Self> {
        let (number, count) = (u64::from(thread), u64::from(threads.max(1)));
        let rhythm = match pace {
            Pace::Closed => return None,
            Pace::Fixed { ios, per } => {
                Rhythm::Fixed { ios: *ios, per_ns: per.0, number, threads: count }
            }
            Pace::Poisson { ios, per } => Rhythm::Poisson {
                mean_ns: per.0 as f64 / *ios as f64 * count as f64,
                elapsed_ns: 0.0,
                random: Xoshiro256::new(seed, LANE | number << u32::BITS),
            },
            Pace::Empirical(arrivals) => Rhythm::Empirical {
                times: Box::new(EmpiricalTimes::new((**arrivals).clone())),
                threads: count,
                random: Xoshiro256::new(seed, LANE),
            },
            Pace::Burst { ios, delay } => {
                let share = *ios / count + u64::from(number < *ios % count);
                Rhythm::Burst { share, left: share, delay_ns: delay.0 }
            }
        };
        let mut times = ArrivalTimes { rhythm, next_ns: None };
        times.next_ns = match &times.rhythm {
            Rhythm::Burst { share, .. } => (*share > 0).then_some(0),
            Rhythm::Empirical { .. } => Some(times.draw(number + 1)),
            Rhythm::Fixed { .. } | Rhythm::Poisson { .. } => Some(times.draw(1)),
        };
        Some(times)
    }

    /// Returns when the next I/O is due; `None` while that depends on a completion.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.next_ns
    }

    /// Advances to the next I/O after one was issued.
    pub(crate) fn issued(&mut self) {
        self.next_ns = match &mut self.rhythm {
            Rhythm::Burst { left, .. } => {
                *left -= 1;
                if *left > 0 { self.next_ns } else { None }
            }
            Rhythm::Fixed { number, threads, .. } => {
                *number += *threads;
                Some(self.draw(1))
            }
            Rhythm::Empirical { threads, .. } => {
                let threads = *threads;
                Some(self.draw(threads))
            }
            Rhythm::Poisson { .. } => Some(self.draw(1)),
        };
    }

    /// Notes that all I/Os of the thread have completed at this time.
    pub(crate) fn all_complete(&mut self, now_ns: u64) {
        if let Rhythm::Burst { share, left, delay_ns } = &mut self.rhythm
            && *left == 0
            && *share > 0
        {
            *left = *share;
            self.next_ns = Some(now_ns.saturating_add(*delay_ns));
        }
    }

    /// Returns the last of the next `count` due times.
    fn draw(&mut self, count: u64) -> u64 {
        match &mut self.rhythm {
            Rhythm::Fixed { ios, per_ns, number, .. } => {
                let nanos = u128::from(*number) * u128::from(*per_ns) / u128::from(*ios);
                u64::try_from(nanos).unwrap_or(u64::MAX)
            }
            Rhythm::Poisson { mean_ns, elapsed_ns, random } => {
                *elapsed_ns -= *mean_ns * random.fraction().ln();
                *elapsed_ns as u64
            }
            Rhythm::Empirical { times, random, .. } => {
                let mut at_ns = 0.0;
                for _ in 0..count {
                    at_ns = times.next_ns(|| random.fraction());
                }
                at_ns as u64
            }
            Rhythm::Burst { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Nanos;
    use steadfast_domain::empirical::{EmpiricalArrivals, Quantiles};

    fn dues(pace: &Pace, thread: u32, threads: u32, count: usize) -> Vec<u64> {
        let mut times = ArrivalTimes::new(pace, thread, threads, 1).unwrap();
        let mut next = || {
            let due = times.due_ns().unwrap();
            times.issued();
            due
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn fixed_ios_are_evenly_spaced_over_the_threads_and_never_drift() {
        let pace = Pace::Fixed { ios: 3, per: Nanos::from_secs(1) };
        let mut all = [dues(&pace, 0, 2, 150), dues(&pace, 1, 2, 150)].concat();
        all.sort_unstable();
        for (number, due) in all.iter().enumerate() {
            assert_eq!(*due, number as u64 * 1_000_000_000 / 3);
        }
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
        let pace = Pace::Poisson { ios: 1000, per: Nanos::from_secs(1) };
        let dues = dues(&pace, 1, 4, 20_000);
        let gaps: Vec<f64> = dues.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 4e6 - 1.0).abs() < 0.05, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05);
    }

    /// Bursts of 2 to 18 I/Os with gaps of 1 to 9 us and pauses of 1 to 3 ms.
    fn empirical() -> Pace {
        let bursts: Vec<u64> = (2..=18).collect();
        let gaps: Vec<u64> = (1000..=9000).step_by(7).collect();
        let pauses: Vec<u64> = (1_000_000..=3_000_000).step_by(1009).collect();
        Pace::Empirical(Box::new(EmpiricalArrivals {
            burst_ios: Quantiles::steps(&bursts).unwrap(),
            gaps_ns: Quantiles::interpolated(&gaps).unwrap(),
            pauses_ns: Quantiles::interpolated(&pauses).unwrap(),
        }))
    }

    /// A simulated drive has one thread for the due times of all.
    #[test]
    fn all_threads_together_have_the_measured_arrivals_of_one() {
        let pace = empirical();
        let one = dues(&pace, 0, 1, 9001);
        assert_eq!(one, dues(&pace, 0, 1, 9001), "the same seed");
        let mut three: Vec<u64> = (0..3).flat_map(|thread| dues(&pace, thread, 3, 3001)).collect();
        three.sort_unstable();
        assert_eq!(one, three[..9001]);
        let rate = 9000.0 / (one[9000] - one[0]) as f64 * 1e9;
        assert!((rate / pace.offered_iops().unwrap() - 1.0).abs() < 0.1, "{rate}");
    }

    #[test]
    fn a_burst_is_due_at_once_and_the_next_after_the_pause() {
        let pace = Pace::Burst { ios: 5, delay: Nanos::from_millis(20) };
        let mut times = ArrivalTimes::new(&pace, 1, 2, 1).unwrap();
        for _ in 0..2 {
            assert_eq!(times.due_ns(), Some(0));
            times.issued();
        }
        assert_eq!(times.due_ns(), None);
        times.all_complete(1000);
        assert_eq!(times.due_ns(), Some(20_001_000));
        let lonely = Pace::Burst { ios: 1, delay: Nanos::from_millis(20) };
        assert_eq!(ArrivalTimes::new(&lonely, 1, 2, 1).unwrap().due_ns(), None);
        assert!(ArrivalTimes::new(&Pace::Closed, 0, 1, 1).is_none());
    }
}
