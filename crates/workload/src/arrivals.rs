//! Arrival processes of captured I/Os: evenly spaced, at random, or drawn from measured
//! distributions.
//!
//! Gaps whose squared coefficient of variation (the variance divided by the square of the mean) is
//! near 0 are even. Gaps whose distribution is exponential by the Kolmogorov-Smirnov test are those of
//! a Poisson process (D. R. Cox and P. A. W. Lewis, "The Statistical Analysis of Series of Events",
//! 1966). All others are kept as distributions of burst lengths, gaps and pauses. The index of
//! dispersion for counts, the variance of the number of arrivals per window divided by its mean, is 1
//! for a Poisson process in every window; above 1, the rate itself changes (R. Gusella,
//! "Characterizing the Variability of Arrival Processes with Indexes of Dispersion", 1991). It is only
//! reported and does not affect the choice.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use steadfast_analysis::questions::streams::StreamKey;
use steadfast_domain::Nanos;
use steadfast_domain::empirical::{EmpiricalArrivals, Quantiles};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::stimulus::Pace;

/// Squared coefficient of variation below which gaps count as even (our choice: they differ from
/// their mean by a tenth of it).
const FIXED_BELOW: f64 = 0.01;
/// Critical value of the Kolmogorov-Smirnov distance to an exponential distribution with the mean of
/// the sample, at a significance of 5 %, times the square root of the number of gaps (H. W. Lilliefors,
/// "On the Kolmogorov-Smirnov Test for the Exponential Distribution with Mean Unknown", 1969).
const EXPONENTIAL_KS: f64 = 1.06;
/// Distance that no application of a workload has to reproduce (our choice): the smallest critical
/// value, because the test rejects any deviation if the gaps are many.
const EXPONENTIAL_KS_MIN: f64 = 0.02;
/// Minimum number of gaps needed to choose a process.
pub const GAPS_MIN: u64 = 100;
/// Mean number of arrivals in a window of the index of dispersion.
const PER_WINDOW: u64 = 100;
/// Minimum number of windows of an index of dispersion.
const WINDOWS_MIN: u64 = 10;
/// Period in which the I/Os of evenly spaced arrivals are counted.
const PERIOD: Nanos = Nanos::from_secs(1000);

/// Kind of an arrival process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrivalKind {
    /// Evenly spaced.
    Fixed,
    /// At random, independently of one another.
    Poisson,
    /// Several at once, then a pause; of the mean length each. Only in files written by hand.
    Bursts,
    /// In bursts whose lengths, gaps and pauses are drawn from the measured distributions.
    Empirical,
}

/// An arrival process with the figures by which it was chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrivalProcess {
    /// The kind.
    pub process: ArrivalKind,
    /// Mean number of I/Os per second.
    pub iops: f64,
    /// Squared coefficient of variation of the gaps.
    pub gap_cv2: f64,
    /// Index of dispersion for counts in windows of 100 mean gaps; absent if there are fewer than
    /// ten windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count_dispersion: Option<f64>,
    /// Kolmogorov-Smirnov distance of the gaps to an exponential distribution of the same mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exponential_ks: Option<f64>,
    /// Mean number of I/Os of a burst; present for bursts and measured distributions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_ios: Option<f64>,
    /// Squared coefficient of variation of the number of I/Os of a burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_cv2: Option<f64>,
    /// Mean pause in nanoseconds, from the completion of a burst's last I/O to the next burst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_ns: Option<f64>,
    /// Squared coefficient of variation of the pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_cv2: Option<f64>,
    /// Measured distributions; present if the process is `empirical`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distributions: Option<Box<EmpiricalArrivals>>,
}

/// Arrival processes of a capture.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CapturedArrivals {
    /// All I/Os together; `None` if unknown.
    pub all: Option<ArrivalProcess>,
    /// I/Os of single streams.
    pub by_stream: BTreeMap<StreamKey, ArrivalProcess>,
}

impl ArrivalProcess {
    /// Returns the pace that applies the process: the mean rate, bursts of the mean number of
    /// I/Os with the mean pause, or the measured distributions at the mean rate.
    pub fn pace(&self) -> Pace {
        if let (ArrivalKind::Empirical, Some(measured)) = (self.process, &self.distributions) {
            return Pace::Empirical(Box::new(measured.with_mean_gap_ns(1e9 / self.iops)));
        }
        match (self.process, self.burst_ios, self.pause_ns) {
            (ArrivalKind::Bursts, Some(ios), Some(pause)) => {
                Pace::Burst { ios: ios.round().max(1.0) as u64, delay: Nanos(pause as u64) }
            }
            (ArrivalKind::Fixed, ..) => {
                let ios = (self.iops * PERIOD.as_secs_f64()).round().max(1.0) as u64;
                Pace::Fixed { ios, per: PERIOD }
            }
            _ => Pace::poisson(self.iops),
        }
    }

    /// Returns the reason why the figures are impossible; `None` if they are possible.
    pub fn fault(&self) -> Option<String> {
        let optional = [self.burst_ios, self.burst_cv2, self.pause_ns, self.pause_cv2];
        let others = [self.count_dispersion, self.exponential_ks];
        let optional = optional.into_iter().chain(others).flatten();
        let is_wrong = |figure: f64| !(0.0..1e18).contains(&figure);
        if !(0.001..=1e9).contains(&self.iops) {
            return Some(format!("arrivals of {} IOPS are impossible", self.iops));
        }
        if [self.gap_cv2].into_iter().chain(optional).any(is_wrong) {
            return Some("a figure of its arrivals is impossible".to_owned());
        }
        if let Some(why) = self.distributions.as_ref().and_then(|measured| measured.fault()) {
            return Some(format!("of its arrivals, {why}"));
        }
        match self.process {
            ArrivalKind::Bursts if self.burst_ios.is_none() || self.pause_ns.is_none() => {
                Some("arrivals in bursts need burst_ios and pause_ns".to_owned())
            }
            ArrivalKind::Empirical if self.distributions.is_none() => {
                Some("empirical arrivals need distributions".to_owned())
            }
            // The rate may have been edited: the scaled distributions have bounds, too.
            ArrivalKind::Empirical => self.pace().fault(),
            _ => None,
        }
    }

    /// Returns the figures with their names in a workload file, those that are present.
    pub(crate) fn figures(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let all = [
            ("iops", Some(self.iops)),
            ("gap_cv2", Some(self.gap_cv2)),
            ("count_dispersion", self.count_dispersion),
            ("exponential_ks", self.exponential_ks),
            ("burst_ios", self.burst_ios),
            ("burst_cv2", self.burst_cv2),
            ("pause_ns", self.pause_ns),
            ("pause_cv2", self.pause_cv2),
        ];
        all.into_iter().filter_map(|(name, figure)| Some((name, figure?)))
    }
}

impl fmt::Display for ArrivalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArrivalKind::Fixed => "fixed",
            ArrivalKind::Poisson => "poisson",
            ArrivalKind::Bursts => "bursts",
            ArrivalKind::Empirical => "empirical",
        })
    }
}

impl fmt::Display for ArrivalProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ArrivalProcess { iops, gap_cv2, .. } = self;
        let drawn_ios = self.distributions.as_ref().map(|measured| measured.burst_ios.mean());
        match (self.process, self.burst_ios, self.pause_ns) {
            (ArrivalKind::Fixed, ..) => write!(f, "evenly spaced, {iops:.2} IOPS")?,
            (ArrivalKind::Bursts, Some(ios), Some(pause)) => write!(
                f,
                "bursts of {ios:.1} I/Os with pauses of {}, {iops:.2} IOPS",
                Nanos(pause as u64)
            )?,
            (ArrivalKind::Empirical, ..) => write!(
                f,
                "bursts of {:.1} I/Os on average, drawn from measured distributions, {iops:.2} IOPS",
                drawn_ios.unwrap_or_default()
            )?,
            _ => write!(f, "at random, {iops:.2} IOPS")?,
        }
        write!(f, " (squared CV of the gaps {gap_cv2:.3}")?;
        match self.count_dispersion {
            Some(index) => write!(f, ", index of dispersion {index:.2})"),
            None => f.write_str(")"),
        }
    }
}

/// Sums of a sample: number, sum and sum of squares.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn mean(&self) -> f64 {
        if self.count > 0.0 { self.sum / self.count } else { 0.0 }
    }

    fn variance(&self) -> f64 {
        let mean = self.mean();
        if self.count > 0.0 { (self.squares / self.count - mean * mean).max(0.0) } else { 0.0 }
    }

    /// Returns the squared coefficient of variation; 0 for a mean of 0.
    fn cv2(&self) -> f64 {
        let mean = self.mean();
        if mean > 0.0 { self.variance() / (mean * mean) } else { 0.0 }
    }
}

/// A random sample of numbers whose count is not known in advance (Algorithm R, J. S. Vitter,
/// "Random Sampling with a Reservoir", 1985): all of them up to its size. The same numbers give the
/// same sample.
#[derive(Debug, Clone, Default)]
struct ReservoirSample {
    values: Vec<u64>,
    size: usize,
    count: u64,
    largest: u64,
}

impl ReservoirSample {
    fn new(size: usize) -> Self {
        ReservoirSample { size, ..ReservoirSample::default() }
    }

    fn add(&mut self, value: u64) {
        self.count += 1;
        self.largest = self.largest.max(value);
        if self.values.len() < self.size {
            self.values.push(value);
        } else if let Ok(place) = usize::try_from(mix64(self.count) % self.count)
            && let Some(sampled) = self.values.get_mut(place)
        {
            *sampled = value;
        }
    }

    /// Returns the sample in ascending order. It contains the largest number.
    fn into_sorted(mut self) -> Vec<u64> {
        self.values.sort_unstable();
        if let Some(last) = self.values.last_mut() {
            *last = self.largest;
        }
        self.values
    }
}

/// Returns the largest difference between the cumulative shares of sorted gaps and those of an
/// exponential distribution with this mean; 0 without gaps.
fn distance_to_exponential(sorted: &[u64], mean_ns: f64) -> f64 {
    let count = sorted.len() as f64;
    let mut largest = 0.0_f64;
    for (place, gap) in sorted.iter().enumerate() {
        let expected = -(-(*gap as f64) / mean_ns).exp_m1();
        let (below, up_to) = (place as f64 / count, (place + 1) as f64 / count);
        largest = largest.max(expected - below).max(up_to - expected);
    }
    largest
}

/// Arrivals of a stream whose mean gap is known, taken in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct ArrivalSums {
    /// Mean gap in nanoseconds.
    mean_ns: f64,
    /// First arrival, with which the first window begins.
    first_ns: u64,
    last_ns: Option<u64>,
    gaps: Moments,
    window: u64,
    in_window: u64,
    windows: Moments,
    /// Number of I/Os in the current burst, and the completion time of its last I/O.
    in_burst: u64,
    busy_until_ns: u64,
    bursts: Moments,
    pauses: Moments,
    gap_sample: ReservoirSample,
    burst_sample: ReservoirSample,
}

impl ArrivalSums {
    /// Creates empty sums for `ios` arrivals between two times, which keep up to `sampled` gaps and
    /// burst lengths; `None` if the arrivals are too few, or too close or too far apart for a rate.
    pub(crate) fn new(ios: u64, first_ns: u64, last_ns: u64, sampled: usize) -> Option<Self> {
        let gaps = ios.checked_sub(1).filter(|gaps| *gaps >= GAPS_MIN)?;
        let mean_ns = last_ns.checked_sub(first_ns).filter(|time| *time > 0)? as f64 / gaps as f64;
        if !(1.0..=1e12).contains(&mean_ns) {
            return None;
        }
        Some(ArrivalSums {
            mean_ns,
            first_ns,
            gap_sample: ReservoirSample::new(sampled),
            burst_sample: ReservoirSample::new(sampled),
            ..ArrivalSums::default()
        })
    }

    /// Adds an arrival at or after the last one.
    pub(crate) fn add_arrival(&mut self, at_ns: u64, response_ns: Option<u64>) {
        match self.last_ns {
            None => self.window = self.window_at(at_ns),
            Some(last_ns) => {
                let gap_ns = at_ns.saturating_sub(last_ns);
                self.gap_sample.add(gap_ns);
                let gap = gap_ns as f64;
                // Relative to the mean, so that the sum of squares keeps its precision.
                self.gaps.add(gap / self.mean_ns);
                // Within a burst the gaps are shorter than the mean, between bursts longer.
                if gap > self.mean_ns {
                    self.bursts.add(self.in_burst as f64);
                    self.burst_sample.add(self.in_burst);
                    self.pauses.add(at_ns.saturating_sub(self.busy_until_ns.max(last_ns)) as f64);
                    self.in_burst = 0;
                    self.busy_until_ns = 0;
                }
            }
        }
        let window = self.window_at(at_ns);
        if window != self.window {
            self.windows.add(self.in_window as f64);
            (self.window + 1..window.min(self.window + (1 << 20)))
                .for_each(|_| self.windows.add(0.0));
            (self.window, self.in_window) = (window, 0);
        }
        self.in_window += 1;
        self.in_burst += 1;
        self.busy_until_ns = self.busy_until_ns.max(at_ns.saturating_add(response_ns.unwrap_or(0)));
        self.last_ns = Some(at_ns);
    }

    fn window_at(&self, at_ns: u64) -> u64 {
        let since_ns = at_ns.saturating_sub(self.first_ns);
        (since_ns as f64 / (self.mean_ns * PER_WINDOW as f64)) as u64
    }

    pub(crate) fn into_process(mut self) -> ArrivalProcess {
        self.bursts.add(self.in_burst as f64);
        self.burst_sample.add(self.in_burst);
        let gap_cv2 = self.gaps.cv2();
        let gaps = self.gap_sample.into_sorted();
        let exponential_ks = distance_to_exponential(&gaps, self.mean_ns);
        let critical_ks = EXPONENTIAL_KS / (gaps.len().max(1) as f64).sqrt();
        let is_fixed = gap_cv2 < FIXED_BELOW;
        let is_poisson = exponential_ks <= critical_ks.max(EXPONENTIAL_KS_MIN);
        let distributions = if is_fixed || is_poisson {
            None
        } else {
            distributions(&self.burst_sample.into_sorted(), &gaps, self.mean_ns)
        };
        let process = match distributions {
            Some(_) => ArrivalKind::Empirical,
            None if is_fixed => ArrivalKind::Fixed,
            // Of distributions out of bounds (a mean gap above 1000 s), only the rate is kept.
            None => ArrivalKind::Poisson,
        };
        let burst = |figure: f64| (process == ArrivalKind::Empirical).then(|| rounded(figure));
        let has_windows = self.windows.count >= WINDOWS_MIN as f64 && self.windows.mean() > 0.0;
        ArrivalProcess {
            process,
            iops: rounded((1e9 / self.mean_ns).clamp(0.001, 1e9)),
            gap_cv2: rounded(gap_cv2),
            count_dispersion: has_windows
                .then(|| rounded(self.windows.variance() / self.windows.mean())),
            exponential_ks: Some(rounded(exponential_ks)),
            burst_ios: burst(self.bursts.mean()),
            burst_cv2: burst(self.bursts.cv2()),
            pause_ns: burst(self.pauses.mean()),
            pause_cv2: burst(self.pauses.cv2()),
            distributions: distributions.map(Box::new),
        }
    }
}

/// Returns the distributions of sorted burst lengths and gaps. Gaps above the mean are the pauses
/// between bursts; they are scaled to the mean gap, from which interpolation deviates a little.
/// `None` if there are no pauses, or if the distributions are out of bounds.
fn distributions(bursts: &[u64], gaps: &[u64], mean_ns: f64) -> Option<EmpiricalArrivals> {
    let (gaps, pauses) = gaps.split_at(gaps.partition_point(|gap| *gap as f64 <= mean_ns));
    let measured = EmpiricalArrivals {
        burst_ios: Quantiles::steps(bursts)?,
        gaps_ns: Quantiles::interpolated(gaps)?,
        pauses_ns: Quantiles::interpolated(pauses)?,
    };
    let measured = measured.with_pauses_for_mean_gap_ns(mean_ns);
    measured.fault().is_none().then_some(measured)
}

/// Returns a figure with six significant digits.
fn rounded(figure: f64) -> f64 {
    format!("{figure:.5e}").parse().unwrap_or(figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use steadfast_domain::empirical::EmpiricalTimes;

    fn process_of(times: &[u64]) -> ArrivalProcess {
        let (first, last) = (times[0], *times.last().unwrap());
        let mut sums = ArrivalSums::new(times.len() as u64, first, last, 1 << 16).unwrap();
        times.iter().for_each(|at| sums.add_arrival(*at, Some(50_000)));
        sums.into_process()
    }

    #[test]
    fn even_arrivals_are_fixed_at_their_rate() {
        let times: Vec<u64> =
            (0..10_007).map(|n| 77 + n * 1_000_000 + mix64(n) % 100_000).collect();
        let even = process_of(&times);
        assert_eq!((even.process, even.burst_ios), (ArrivalKind::Fixed, None));
        assert!((even.iops - 1000.0).abs() < 0.1 && even.gap_cv2 < 0.01, "{even:?}");
        assert!(even.count_dispersion.unwrap() < 0.02, "{even:?}");
        let Pace::Fixed { ios, .. } = even.pace() else { panic!("{even:?}") };
        assert!(ios.abs_diff(1_000_000) < 100);
    }

    #[test]
    fn exponential_gaps_are_a_poisson_process() {
        let mut at = 0.0;
        let gap = |n: u64| -((mix64(n) >> 11) as f64 + 1.0).log2() + 53.0;
        let times: Vec<u64> = (0..100_003)
            .map(|n| {
                at += gap(n) * std::f64::consts::LN_2 * 2e6;
                at as u64
            })
            .collect();
        let random = process_of(&times);
        assert_eq!(random.process, ArrivalKind::Poisson, "{random:?}");
        assert!((random.gap_cv2 - 1.0).abs() < 0.02, "{random:?}");
        assert!((random.count_dispersion.unwrap() - 1.0).abs() < 0.2, "{random:?}");
        assert!((random.pace().offered_iops().unwrap() - 500.0).abs() < 5.0);
    }

    /// Bursts of 16 and 18 I/Os every 20 ms; within one, 1 us between two I/Os of 50 us.
    #[test]
    fn bursts_have_their_length_and_their_pause() {
        let burst = |n: u64| (0..16 + n % 2 * 2).map(move |io| n * 20_000_000 + io * 1000);
        let times: Vec<u64> = (0..1000).flat_map(burst).collect();
        let bursts = process_of(&times);
        assert_eq!((bursts.process, bursts.burst_ios), (ArrivalKind::Empirical, Some(17.0)));
        assert!((bursts.burst_cv2.unwrap() - 1.0 / 289.0).abs() < 1e-4, "{bursts:?}");
        // 20 ms less 15 or 17 us and the last I/O's 50 us.
        assert!((bursts.pause_ns.unwrap() - 19_934_000.0).abs() < 100.0, "{bursts:?}");
        assert!(bursts.pause_cv2.unwrap() < 1e-6);
        let measured = bursts.distributions.as_ref().unwrap();
        assert!((measured.burst_ios.mean() - 17.0).abs() < 1e-6, "{measured:?}");
        let gap_ns = measured.gaps_ns.draw(0.5);
        assert!((gap_ns - 1000.0).abs() < 1e-6, "{gap_ns}");
        assert!((measured.mean_gap_ns() * bursts.iops / 1e9 - 1.0).abs() < 1e-5);
        assert!((bursts.pace().offered_iops().unwrap() / bursts.iops - 1.0).abs() < 1e-7);
        assert!(bursts.to_string().starts_with("bursts of 17.0 I/Os on average"), "{bursts}");
        let by_hand =
            ArrivalProcess { process: ArrivalKind::Bursts, distributions: None, ..bursts };
        let Pace::Burst { ios: 17, delay } = by_hand.pace() else { panic!("{by_hand:?}") };
        assert_eq!(delay.as_millis_f64().round(), 20.0);
        assert!(by_hand.to_string().starts_with("bursts of 17.0 I/Os with pauses of "));
    }

    #[test]
    fn few_arrivals_or_arrivals_without_times_have_no_process() {
        assert!(ArrivalSums::new(GAPS_MIN, 0, 1000, 9).is_none());
        assert!(ArrivalSums::new(10_007, 5, 5, 9).is_none());
        let wrong = ArrivalProcess { iops: 0.0, ..process_of(&(0..101).collect::<Vec<_>>()) };
        assert!(wrong.fault().unwrap().contains("0 IOPS"));
        let wrong = ArrivalProcess { iops: 9.0, process: ArrivalKind::Bursts, ..wrong };
        assert!(wrong.fault().unwrap().contains("burst_ios"));
        let wrong = ArrivalProcess { process: ArrivalKind::Empirical, ..wrong };
        assert!(wrong.fault().unwrap().contains("distributions"));
    }

    /// Gaps of 1, 2, 3 and 4 times ln 2 of the mean: 1/2, 3/4, 7/8 and 15/16 of an exponential
    /// distribution are below them. The largest difference is just below the first, 1/2 of 0.
    #[test]
    fn the_distance_to_an_exponential_distribution_is_that_of_shares() {
        let gaps = [693_147, 1_386_294, 2_079_442, 2_772_589];
        assert!((distance_to_exponential(&gaps, 1e6) - 0.5).abs() < 1e-6);
        assert_eq!(distance_to_exponential(&[], 1e6), 0.0);
    }

    #[test]
    fn a_reservoir_keeps_every_number_with_the_same_probability() {
        let mut all = ReservoirSample::new(101);
        (0..101).rev().for_each(|value| all.add(value));
        assert_eq!(all.into_sorted(), (0..101).collect::<Vec<_>>());
        let mut part = ReservoirSample::new(1009);
        (0..1_000_003).for_each(|value| part.add(value));
        let part = part.into_sorted();
        assert_eq!((part.len(), part[1008]), (1009, 1_000_002));
        // The standard error of the mean of uniform numbers is the range over the root of 12 n.
        let mean = part.iter().sum::<u64>() as f64 / 1009.0;
        let error = 1_000_003.0 / (12.0 * 1009.0_f64).sqrt();
        assert!((mean - 500_001.0).abs() < 5.0 * error, "{mean}");
    }

    /// Returns arrivals in bursts with log-normal lengths, gaps and pauses.
    fn log_normal_bursts(count: usize, sigma: f64, seed: u64) -> Vec<u64> {
        let mut number = seed << 32;
        let mut uniform = || {
            number += 1;
            ((mix64(mix64(number)) >> 11) as f64 + 0.5) / 2f64.powi(53)
        };
        let mut log_normal = |median: f64| {
            let radius = (-2.0 * uniform().ln()).sqrt();
            median * (sigma * radius * (std::f64::consts::TAU * uniform()).cos()).exp()
        };
        let (mut times, mut at_ns) = (Vec::new(), 0.0);
        while times.len() < count {
            for _ in 0..log_normal(12.0).ceil() as u64 {
                at_ns += log_normal(9e3);
                times.push(at_ns as u64);
            }
            at_ns += log_normal(2e7);
        }
        times
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(1009),
            ..ProptestConfig::with_cases(16)
        })]
        /// The drawn gaps against the measured ones. The standard errors come from 101 batches of
        /// the measured gaps and are those of the difference of two such samples.
        #[test]
        fn drawn_arrivals_have_the_measured_mean_and_spread(seed in 0_u64..1 << 20, sigma in 0.3..0.9) {
            const BATCH: usize = 1009;
            let times = log_normal_bursts(101 * BATCH + 1, sigma, seed);
            let measured = process_of(&times);
            let Pace::Empirical(arrivals) = measured.pace() else { panic!("{measured:?}") };
            let mean_ns = 1e9 / measured.iops;
            prop_assert!((arrivals.mean_gap_ns() / mean_ns - 1.0).abs() < 1e-7);
            let (mut number, mut drawn) = (seed << 32, EmpiricalTimes::new(*arrivals));
            let drawn: Vec<u64> = (0..=101 * BATCH)
                .map(|_| {
                    let uniform = || {
                        number += 1;
                        ((mix64(!mix64(number)) >> 11) as f64 + 0.5) / 2f64.powi(53)
                    };
                    drawn.next_ns(uniform) as u64
                })
                .collect();
            let batches = |times: &[u64], power: i32| {
                let gaps: Vec<f64> =
                    times.windows(2).map(|two| (two[1] - two[0]) as f64 / mean_ns).collect();
                let mut means = Moments::default();
                for batch in gaps[..101 * BATCH].chunks(BATCH) {
                    means.add(batch.iter().map(|gap| gap.powi(power)).sum::<f64>() / BATCH as f64);
                }
                means
            };
            for power in [1, 2] {
                let (seen, applied) = (batches(&times, power), batches(&drawn, power));
                let error = ((seen.variance() + applied.variance()) / 101.0).sqrt();
                let difference = (seen.mean() - applied.mean()).abs();
                prop_assert!(difference < 5.0 * error, "{power}: {difference} of {error}");
            }
        }
    }
}
