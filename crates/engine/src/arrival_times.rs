//! Times at which I/Os are due, for a load that does not simply keep its queues full.
//!
//! An I/O is due whether or not an earlier one has completed, except in bursts with pauses that
//! begin with a completion. Its response time counts from then, not from when a slot came free for
//! it, so that a device that stalls is charged for the I/Os that had to wait (no coordinated
//! omission).

use crate::xoshiro::Xoshiro256;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use steadfast_domain::Stimulus;
use steadfast_domain::empirical::EmpiricalTimes;
use steadfast_domain::random_bits::mix64;
use steadfast_domain::stimulus::Pace;

/// Lane of the generator that draws due times. The I/Os of thread n are drawn with lane n.
const ARRIVAL_LANE: u64 = 0xace;
/// Lane of the generator that draws the age of a stream with its own pace at the start of the load.
const AGE_LANE: u64 = ARRIVAL_LANE + 1;

/// One thread's share of a load's due times, in nanoseconds since the load began.
#[derive(Debug)]
pub struct ArrivalTimes {
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
    /// Every `threads`-th arrival of all streams together; each thread draws all of them.
    ByStream { streams: StreamArrivals, threads: u64 },
    /// The thread's share of each burst, and what is left of the current one.
    Burst { share: u64, remaining: u64, delay_ns: u64 },
}

/// The arrivals of streams with a pace each, merged in order of time.
#[derive(Debug)]
struct StreamArrivals {
    streams: Vec<AgedStream>,
    /// Next arrival of each stream that has any.
    next: BinaryHeap<Reverse<NextArrival>>,
    /// Stream of the last arrival that was drawn.
    drawn: u32,
}

/// A stream that had begun before its load.
#[derive(Debug)]
struct AgedStream {
    /// Age of the stream at the start of the load, in nanoseconds.
    age_ns: u64,
    /// Due times since the stream began.
    times: ArrivalTimes,
}

/// The next arrival of a stream; ordered by its time since the load began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NextArrival {
    due_ns: u64,
    stream: u32,
}

impl ArrivalTimes {
    /// Creates the due times of thread `thread` of `threads`; `None` for a closed loop.
    pub fn new(stimulus: &Stimulus, thread: u32, threads: u32, seed: u64) -> Option<Self> {
        let rhythm = match &stimulus.pace {
            Pace::ByStream(paces) => Rhythm::ByStream {
                streams: StreamArrivals::new(stimulus, paces, seed)?,
                threads: threads.max(1).into(),
            },
            pace => Rhythm::from_pace(pace, thread, threads, seed)?,
        };
        Some(ArrivalTimes::begin(rhythm, thread))
    }

    fn begin(rhythm: Rhythm, thread: u32) -> Self {
        let mut times = ArrivalTimes { rhythm, next_ns: None };
        times.next_ns = match &times.rhythm {
            Rhythm::Burst { share, .. } => (*share > 0).then_some(0),
            Rhythm::Empirical { .. } | Rhythm::ByStream { .. } => {
                Some(times.draw(u64::from(thread) + 1))
            }
            Rhythm::Fixed { .. } | Rhythm::Poisson { .. } => Some(times.draw(1)),
        };
        times
    }

    /// Returns when the next I/O is due; `None` while that depends on a completion.
    pub fn due_ns(&self) -> Option<u64> {
        self.next_ns
    }

    /// Returns the stream of the I/O that is due next; `None` if it is chosen by weight.
    #[inline(always)]
    pub fn stream(&self) -> Option<u32> {
        match &self.rhythm {
            Rhythm::ByStream { streams, .. } => Some(streams.drawn),
            _ => None,
        }
    }

    /// Advances to the next I/O after one was issued.
    pub fn note_issue(&mut self) {
        self.next_ns = match &mut self.rhythm {
            Rhythm::Burst { remaining, .. } => {
                *remaining -= 1;
                if *remaining > 0 { self.next_ns } else { None }
            }
            Rhythm::Fixed { number, threads, .. } => {
                *number += *threads;
                Some(self.draw(1))
            }
            Rhythm::Empirical { threads, .. } | Rhythm::ByStream { threads, .. } => {
                let threads = *threads;
                Some(self.draw(threads))
            }
            Rhythm::Poisson { .. } => Some(self.draw(1)),
        };
    }

    /// Notes that all I/Os of the thread have completed at this time.
    pub fn note_idle(&mut self, now_ns: u64) {
        if let Rhythm::Burst { share, remaining, delay_ns } = &mut self.rhythm
            && *remaining == 0
            && *share > 0
        {
            *remaining = *share;
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
            Rhythm::ByStream { streams, .. } => {
                (0..count).map(|_| streams.draw()).last().unwrap_or_default()
            }
            Rhythm::Burst { .. } => 0,
        }
    }
}

impl Rhythm {
    /// Creates the rhythm of all I/Os of a load; `None` if they have none, or each stream its own.
    fn from_pace(pace: &Pace, thread: u32, threads: u32, seed: u64) -> Option<Self> {
        let (number, count) = (u64::from(thread), u64::from(threads.max(1)));
        Some(match pace {
            Pace::Closed | Pace::ByStream(_) => return None,
            Pace::Fixed { ios, per } => {
                Rhythm::Fixed { ios: *ios, per_ns: per.0, number, threads: count }
            }
            Pace::Poisson { ios, per } => Rhythm::Poisson {
                mean_ns: per.0 as f64 / *ios as f64 * count as f64,
                elapsed_ns: 0.0,
                random: Xoshiro256::new(seed, ARRIVAL_LANE | number << u32::BITS),
            },
            Pace::Empirical(arrivals) => Rhythm::Empirical {
                times: Box::new(EmpiricalTimes::new((**arrivals).clone())),
                threads: count,
                random: Xoshiro256::new(seed, ARRIVAL_LANE),
            },
            Pace::Burst { ios, delay } => {
                let share = *ios / count + u64::from(number < *ios % count);
                Rhythm::Burst { share, remaining: share, delay_ns: delay.0 }
            }
        })
    }
}

impl StreamArrivals {
    /// Creates the arrivals of the streams with a weight. Each is joined at a random moment of its
    /// period, as if it had begun before: even arrivals of equal rates do not coincide, and a
    /// stream with rare bursts does not begin every load with one. `None` if a stream has no rate,
    /// which [`Stimulus::fault`] refuses.
    fn new(stimulus: &Stimulus, paces: &[Pace], seed: u64) -> Option<Self> {
        let mut streams = Vec::with_capacity(paces.len());
        let mut next = BinaryHeap::with_capacity(paces.len());
        for ((number, pace), stream) in (0u32..).zip(paces).zip(&stimulus.streams) {
            let seed = mix64(seed ^ mix64(u64::from(number) + 1));
            let mut times = ArrivalTimes::begin(Rhythm::from_pace(pace, 0, 1, seed)?, 0);
            let age_ns = (Xoshiro256::new(seed, AGE_LANE).fraction() * period_ns(pace)) as u64;
            while times.next_ns.is_some_and(|ns| ns < age_ns) {
                times.note_issue();
            }
            let due_ns = times.next_ns.filter(|_| stream.weight > 0);
            if let Some(ns) = due_ns {
                next.push(Reverse(NextArrival { due_ns: ns - age_ns, stream: number }));
            }
            streams.push(AgedStream { age_ns, times });
        }
        Some(StreamArrivals { streams, next, drawn: 0 })
    }

    /// Returns the time of the next arrival of any stream.
    fn draw(&mut self) -> u64 {
        let Some(mut first) = self.next.peek_mut() else { return u64::MAX };
        let Reverse(NextArrival { due_ns, stream }) = *first;
        let AgedStream { age_ns, times } = &mut self.streams[stream as usize];
        times.note_issue();
        let next_ns = times.next_ns.map_or(u64::MAX, |ns| ns - *age_ns);
        *first = Reverse(NextArrival { due_ns: next_ns, stream });
        self.drawn = stream;
        due_ns
    }
}

/// Returns the mean time after which arrivals repeat, in nanoseconds: a gap, or a burst and its
/// pause; 0 for random arrivals, which do not depend on when they began.
fn period_ns(pace: &Pace) -> f64 {
    let gap_ns = pace.offered_iops().map_or(0.0, |iops| 1e9 / iops);
    match pace {
        Pace::Fixed { .. } => gap_ns,
        Pace::Empirical(arrivals) => gap_ns * arrivals.burst_ios.mean(),
        _ => 0.0,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use steadfast_domain::empirical::{EmpiricalArrivals, Quantiles};
    use steadfast_domain::stimulus::{ActiveRange, Demand, LoadLimits};
    use steadfast_domain::{Bytes, IoStream, Nanos, Op, Order};

    /// A load with as many streams as it needs, all of weight 1.
    pub(crate) fn load(pace: &Pace) -> Stimulus {
        let streams = if let Pace::ByStream(paces) = pace { paces.len() } else { 1 };
        let stream = IoStream::new(Op::Read, Order::Random, Bytes(4096));
        let range = ActiveRange::new(Bytes(0), Bytes::mib(1));
        Stimulus::new(vec![stream; streams], range, Demand::new(1, 1), LoadLimits::ios(1))
            .pace(pace.clone())
    }

    /// Returns the first due times of a thread with their streams.
    fn arrivals(
        load: &Stimulus,
        thread: u32,
        threads: u32,
        count: usize,
    ) -> Vec<(u64, Option<u32>)> {
        let mut times = ArrivalTimes::new(load, thread, threads, 1).unwrap();
        let mut next = || {
            let arrival = (times.due_ns().unwrap(), times.stream());
            times.note_issue();
            arrival
        };
        (0..count).map(|_| next()).collect()
    }

    fn dues(pace: &Pace, thread: u32, threads: u32, count: usize) -> Vec<u64> {
        arrivals(&load(pace), thread, threads, count).into_iter().map(|(due, _)| due).collect()
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

    /// Streams of 300 even, 1,000 random and measured arrivals a second, and one without weight.
    fn by_stream() -> Stimulus {
        let even = Pace::Fixed { ios: 300, per: Nanos::SECOND };
        let random = Pace::poisson(1000.0);
        let mut load = load(&Pace::ByStream(vec![even.clone(), random, empirical(), even]));
        load.streams[3].weight = 0;
        load
    }

    #[test]
    fn each_stream_has_the_arrivals_of_its_own_pace() {
        let load = by_stream();
        let Pace::ByStream(paces) = &load.pace else { unreachable!() };
        let all = arrivals(&load, 0, 1, 100_003);
        assert!(all.is_sorted_by_key(|(due, _)| *due));
        let seconds = all.last().unwrap().0 as f64 / 1e9;
        for (number, pace) in (0..3).zip(paces) {
            let own: Vec<u64> =
                all.iter().filter(|(_, s)| *s == Some(number)).map(|(due, _)| *due).collect();
            let rate = own.len() as f64 / seconds;
            let offered = pace.offered_iops().unwrap();
            assert!((rate / offered - 1.0).abs() < 0.05, "{number}: {rate} for {offered}");
            // A load with this stream alone has another seed.
            let distance = kolmogorov_smirnov(&gaps(&own), &gaps(&dues(pace, 0, 1, own.len())));
            assert!(distance < 0.03, "{number}: {distance}");
        }
        assert!(all.iter().all(|(_, stream)| *stream != Some(3)), "a stream without weight");
    }

    /// Returns the sorted gaps between due times.
    fn gaps(dues: &[u64]) -> Vec<u64> {
        let mut gaps: Vec<u64> = dues.windows(2).map(|two| two[1] - two[0]).collect();
        gaps.sort_unstable();
        gaps
    }

    /// Returns the largest difference of two distributions of sorted values.
    fn kolmogorov_smirnov(a: &[u64], b: &[u64]) -> f64 {
        let share = |of: &[u64], value: u64| {
            of.partition_point(|other| *other <= value) as f64 / of.len() as f64
        };
        a.iter().chain(b).map(|v| (share(a, *v) - share(b, *v)).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn all_threads_together_have_the_arrivals_of_the_streams() {
        let load = by_stream();
        let one = arrivals(&load, 0, 1, 9001);
        let mut three: Vec<_> =
            (0..3).flat_map(|thread| arrivals(&load, thread, 3, 3001)).collect();
        three.sort_unstable();
        assert_eq!(one, three[..9001]);
    }

    #[test]
    fn even_streams_of_equal_rates_do_not_coincide() {
        let even = Pace::Fixed { ios: 10, per: Nanos::SECOND };
        let all = dues(&Pace::ByStream(vec![even; 20]), 0, 1, 200);
        assert!(all.windows(2).all(|two| two[0] < two[1]));
        assert!(all[199] < 1_000_000_000, "{}", all[199]);
    }

    #[test]
    fn a_burst_is_due_at_once_and_the_next_after_the_pause() {
        let pace = Pace::Burst { ios: 5, delay: Nanos::from_millis(20) };
        let mut times = ArrivalTimes::new(&load(&pace), 1, 2, 1).unwrap();
        for _ in 0..2 {
            assert_eq!(times.due_ns(), Some(0));
            times.note_issue();
        }
        assert_eq!(times.due_ns(), None);
        times.note_idle(1000);
        assert_eq!(times.due_ns(), Some(20_001_000));
        let lonely = Pace::Burst { ios: 1, delay: Nanos::from_millis(20) };
        assert_eq!(ArrivalTimes::new(&load(&lonely), 1, 2, 1).unwrap().due_ns(), None);
        assert!(ArrivalTimes::new(&load(&Pace::Closed), 0, 1, 1).is_none());
    }
}
