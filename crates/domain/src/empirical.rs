//! Arrivals drawn from measured distributions: the I/Os of a burst, the gaps within it, and the
//! pauses between bursts.
//!
//! Each distribution is kept as a table of its inverse, from which values are drawn by inverse
//! transform sampling (L. Devroye, "Non-Uniform Random Variate Generation", 1986, II.2). Burst
//! lengths, gaps and pauses are drawn independently of one another.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of cumulative shares at which a distribution is kept.
pub const QUANTILE_COUNT: usize = 48;

/// Number of intervals of equal width; the last is divided further.
const EVEN_INTERVALS: usize = 28;

/// Cumulative shares of the points: multiples of 1/28 up to 27/28; from there each point leaves half
/// of the share above the one before it, so that rare long pauses keep their lengths.
const SHARES: [f64; QUANTILE_COUNT] = shares();

const fn shares() -> [f64; QUANTILE_COUNT] {
    let mut shares = [1.0; QUANTILE_COUNT];
    let mut above = 1.0 / EVEN_INTERVALS as f64;
    let mut place = 0;
    while place + 1 < QUANTILE_COUNT {
        if place < EVEN_INTERVALS {
            shares[place] = place as f64 / EVEN_INTERVALS as f64;
        } else {
            above /= 2.0;
            shares[place] = 1.0 - above;
        }
        place += 1;
    }
    shares
}

/// Largest value of a distribution: 11 days in nanoseconds.
const VALUE_MAX: f64 = 1e15;

/// Shortest and longest mean gap in nanoseconds.
const MEAN_GAPS_NS: std::ops::RangeInclusive<f64> = 1.0..=1e12;

/// Interpolation between two points of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// One value for each interval between two cumulative shares: the mean of the measured values.
    Steps,
    /// Evenly between two points.
    Linear,
    /// Evenly between the logarithms of two points.
    Logarithmic,
}

/// A distribution of numbers from 0 to 10^15, as points of its inverse.
///
/// ```
/// use steadfast_domain::empirical::Quantiles;
/// let pauses = Quantiles::interpolated(&[100, 200, 300]).unwrap();
/// assert_eq!((pauses.draw(0.0), pauses.draw(0.5), pauses.draw(1.0)), (100.0, 200.0, 300.0));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quantiles {
    /// Interpolation between the points.
    pub interpolation: Interpolation,
    /// Ascending values: 48 at the cumulative shares 0, 1/28, ..., 27/28, 1 - 1/56, 1 - 1/112, ...,
    /// 1, or 47 for the intervals between these shares if `interpolation` is `steps`.
    pub values: Vec<f64>,
}

// The values are finite: `Quantiles::fault` refuses all others.
impl Eq for Quantiles {}

impl Quantiles {
    /// Returns the distribution of counts, each interval as the mean of its values, so that the
    /// mean of the distribution is that of the counts. `None` without counts.
    pub fn steps(sorted: &[u64]) -> Option<Self> {
        sorted.first()?;
        let mut values: Vec<f64> = Vec::with_capacity(QUANTILE_COUNT - 1);
        for shares in SHARES.windows(2) {
            let mean = mean_between(sorted, shares[0], shares[1]);
            let least = values.last().copied().unwrap_or(0.0);
            values.push(rounded(mean).max(least));
        }
        Some(Quantiles { interpolation: Interpolation::Steps, values })
    }

    /// Returns the distribution of times with the interpolation whose squared coefficient of
    /// variation is nearer to that of the times. `None` without times.
    pub fn interpolated(sorted: &[u64]) -> Option<Self> {
        let (first, last) = (*sorted.first()?, sorted.len() - 1);
        let quantile = |share: f64| {
            let place = share * last as f64;
            let (low, high) = (place.floor() as usize, place.ceil() as usize);
            let (low, high) = (sorted[low] as f64, sorted[high.min(last)] as f64);
            rounded(low + (high - low) * place.fract())
        };
        let values: Vec<f64> = SHARES.map(quantile).to_vec();
        let linear = Quantiles { interpolation: Interpolation::Linear, values };
        if first == 0 {
            return Some(linear);
        }
        let logarithmic = Quantiles { interpolation: Interpolation::Logarithmic, ..linear.clone() };
        let count = sorted.len() as f64;
        let mean = sorted.iter().map(|value| *value as f64).sum::<f64>() / count;
        let squares = sorted.iter().map(|value| (*value as f64 / mean).powi(2)).sum::<f64>();
        let error = |of: &Quantiles| (of.square_mean() / of.mean().powi(2) - squares / count).abs();
        Some(if error(&logarithmic) < error(&linear) { logarithmic } else { linear })
    }

    /// Returns the value at a cumulative share from 0 to 1: a random value if the share is
    /// uniformly distributed.
    pub fn draw(&self, share: f64) -> f64 {
        let above = SHARES.partition_point(|edge| *edge <= share).clamp(1, QUANTILE_COUNT - 1);
        let value = |place: usize| self.values.get(place).copied().unwrap_or(0.0);
        let (low, high) = (value(above - 1), value(above));
        if self.interpolation == Interpolation::Steps || low == high {
            return low;
        }
        let part = (share - SHARES[above - 1]) / (SHARES[above] - SHARES[above - 1]);
        match self.interpolation {
            Interpolation::Logarithmic => low * (high / low).powf(part),
            _ => low + (high - low) * part,
        }
    }

    /// Returns the mean of the values drawn.
    pub fn mean(&self) -> f64 {
        self.moment(|low, high, interpolation| match interpolation {
            Interpolation::Steps => low,
            Interpolation::Logarithmic if high > low => (high - low) / (high / low).ln(),
            _ => (low + high) / 2.0,
        })
    }

    /// Returns the mean of the squares of the values drawn.
    pub fn square_mean(&self) -> f64 {
        self.moment(|low, high, interpolation| match interpolation {
            Interpolation::Steps => low * low,
            Interpolation::Logarithmic if high > low => {
                (high * high - low * low) / (2.0 * (high / low).ln())
            }
            _ => (low * low + low * high + high * high) / 3.0,
        })
    }

    /// Returns the variance of the values drawn.
    pub fn variance(&self) -> f64 {
        (self.square_mean() - self.mean().powi(2)).max(0.0)
    }

    /// Adds up the moments of the intervals, each weighted by its share.
    fn moment(&self, of_interval: impl Fn(f64, f64, Interpolation) -> f64) -> f64 {
        let highs = self.values.iter().skip(1).chain(self.values.last());
        let intervals = self.values.iter().zip(highs).zip(SHARES.windows(2));
        intervals
            .map(|((low, high), shares)| {
                of_interval(*low, *high, self.interpolation) * (shares[1] - shares[0])
            })
            .sum()
    }

    fn times(&self, factor: f64) -> Self {
        let values = self.values.iter().map(|value| rounded(value * factor)).collect();
        Quantiles { values, ..*self }
    }

    /// Returns the reason why the points are no distribution; `None` if they are one.
    pub fn fault(&self) -> Option<String> {
        let count = match self.interpolation {
            Interpolation::Steps => QUANTILE_COUNT - 1,
            Interpolation::Linear | Interpolation::Logarithmic => QUANTILE_COUNT,
        };
        if self.values.len() != count {
            return Some(format!("{} values instead of {count}", self.values.len()));
        }
        if self.values.iter().any(|value| !(0.0..=VALUE_MAX).contains(value)) {
            return Some("a value is negative, no number or above 1e15".to_owned());
        }
        if self.values.windows(2).any(|pair| pair[0] > pair[1]) {
            return Some("its values do not ascend".to_owned());
        }
        (self.interpolation == Interpolation::Logarithmic && self.values[0] == 0.0)
            .then(|| "0 has no logarithm: use the interpolation linear".to_owned())
    }
}

/// Returns the mean of the sorted values between two cumulative shares.
fn mean_between(sorted: &[u64], from: f64, to: f64) -> f64 {
    let count = sorted.len() as f64;
    let (from, to) = (from * count, to * count);
    let last = sorted.len() - 1;
    let (first_place, last_place) = ((from as usize).min(last), (to as usize).min(last));
    if first_place == last_place {
        return sorted[first_place] as f64;
    }
    let share_in = |place: usize| (to.min(place as f64 + 1.0) - from.max(place as f64)).max(0.0);
    let places = first_place..=last_place;
    let sum: f64 = places.map(|place| sorted[place] as f64 * share_in(place)).sum();
    sum / (to - from)
}

/// Returns a figure with nine significant digits, as it is kept in files.
fn rounded(figure: f64) -> f64 {
    format!("{figure:.8e}").parse().unwrap_or(figure)
}

/// Arrivals in bursts whose lengths, gaps and pauses are drawn from measured distributions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmpiricalArrivals {
    /// Number of I/Os of a burst. A value between two whole numbers is drawn as one of them, so that
    /// their mean is that value.
    pub burst_ios: Quantiles,
    /// Gap between two arrivals of a burst, in nanoseconds.
    pub gaps_ns: Quantiles,
    /// Pause between the last arrival of a burst and the first of the next, in nanoseconds.
    pub pauses_ns: Quantiles,
}

impl EmpiricalArrivals {
    /// Returns the mean time between two arrivals, in nanoseconds.
    pub fn mean_gap_ns(&self) -> f64 {
        let (pauses, gaps) = self.shares();
        pauses * self.pauses_ns.mean() + gaps * self.gaps_ns.mean()
    }

    /// Returns the squared coefficient of variation of the times between two arrivals.
    pub fn gap_cv2(&self) -> f64 {
        let (pauses, gaps) = self.shares();
        let squares = pauses * self.pauses_ns.square_mean() + gaps * self.gaps_ns.square_mean();
        (squares / self.mean_gap_ns().powi(2) - 1.0).max(0.0)
    }

    /// Returns the limit of the variance of the number of arrivals in a long time, divided by their
    /// mean number: the index of dispersion for counts. It follows from the central limit theorem
    /// for renewal-reward processes (W. L. Smith, "Regenerative Stochastic Processes", 1955) with a
    /// burst and the pause after it as the cycle; 1 for a Poisson process.
    pub fn count_dispersion(&self) -> f64 {
        let rate = 1.0 / self.mean_gap_ns();
        let bursts = self.burst_ios.mean();
        // A burst of one I/O more takes one gap longer.
        let surplus = (1.0 - rate * self.gaps_ns.mean()).powi(2) * self.burst_ios.variance();
        let gaps = (bursts - 1.0) * self.gaps_ns.variance();
        (surplus + rate * rate * (self.pauses_ns.variance() + gaps)) / bursts
    }

    /// Returns the longest pause that is drawn, in nanoseconds.
    pub fn longest_pause_ns(&self) -> f64 {
        self.pauses_ns.values.last().copied().unwrap_or(0.0)
    }

    /// Returns the shares of pauses and of gaps within bursts among the times between arrivals.
    fn shares(&self) -> (f64, f64) {
        let pauses = 1.0 / self.burst_ios.mean();
        (pauses, 1.0 - pauses)
    }

    /// Returns the same arrivals, faster or slower by one factor, so that this is their mean gap.
    pub fn with_mean_gap_ns(&self, mean_gap_ns: f64) -> Self {
        self.slowed(mean_gap_ns / self.mean_gap_ns())
    }

    /// Returns the same arrivals with all times multiplied by `factor`.
    pub fn slowed(&self, factor: f64) -> Self {
        EmpiricalArrivals {
            burst_ios: self.burst_ios.clone(),
            gaps_ns: self.gaps_ns.times(factor),
            pauses_ns: self.pauses_ns.times(factor),
        }
    }

    /// Returns the same arrivals with pauses multiplied by one factor, so that this is their mean
    /// gap. The gaps within bursts keep their lengths. Unchanged if no such factor exists.
    pub fn with_pauses_for_mean_gap_ns(&self, mean_gap_ns: f64) -> Self {
        let (pauses, gaps) = self.shares();
        let wanted = (mean_gap_ns - gaps * self.gaps_ns.mean()) / pauses;
        let factor = wanted / self.pauses_ns.mean();
        if factor.is_finite() && factor > 0.0 {
            EmpiricalArrivals { pauses_ns: self.pauses_ns.times(factor), ..self.clone() }
        } else {
            self.clone()
        }
    }

    /// Returns the reason why nothing can arrive so, as part of a sentence; `None` if it can.
    pub fn fault(&self) -> Option<String> {
        let parts = [
            ("burst_ios", &self.burst_ios),
            ("gaps_ns", &self.gaps_ns),
            ("pauses_ns", &self.pauses_ns),
        ];
        for (name, quantiles) in parts {
            if let Some(why) = quantiles.fault() {
                return Some(format!("the distribution {name} is invalid: {why}"));
            }
        }
        if self.burst_ios.values[0] < 1.0 {
            return Some("the distribution burst_ios is invalid: a burst has no I/O".to_owned());
        }
        let mean = self.mean_gap_ns();
        (!MEAN_GAPS_NS.contains(&mean))
            .then(|| format!("a mean gap of {mean} ns between arrivals is outside of 1 to 1e12 ns"))
    }
}

/// Arrival times of an [`EmpiricalArrivals`], drawn one by one. The first burst begins at 0.
#[derive(Debug, Clone)]
pub struct EmpiricalTimes {
    arrivals: EmpiricalArrivals,
    /// I/Os of the current burst that have not arrived.
    left: u64,
    /// Time of the last arrival in nanoseconds; `None` before the first.
    last_ns: Option<f64>,
}

impl EmpiricalTimes {
    /// Creates the times of these arrivals.
    pub fn new(arrivals: EmpiricalArrivals) -> Self {
        EmpiricalTimes { arrivals, left: 0, last_ns: None }
    }

    /// Draws the next arrival time in nanoseconds. `random` returns independent numbers that are
    /// uniform from 0 to 1.
    pub fn next_ns(&mut self, mut random: impl FnMut() -> f64) -> f64 {
        let EmpiricalArrivals { burst_ios, gaps_ns, pauses_ns } = &self.arrivals;
        let at_ns = if self.left > 0 {
            self.left -= 1;
            self.last_ns.unwrap_or(0.0) + gaps_ns.draw(random())
        } else {
            let ios = burst_ios.draw(random());
            // Rounded up as often as the value exceeds a whole number.
            let ios = ios.floor() + if random() <= ios.fract() { 1.0 } else { 0.0 };
            self.left = (ios as u64).saturating_sub(1);
            self.last_ns.map_or(0.0, |last_ns| last_ns + pauses_ns.draw(random()))
        };
        self.last_ns = Some(at_ns);
        at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_bits::Noise;
    use proptest::prelude::*;

    fn sorted(mut values: Vec<u64>) -> Vec<u64> {
        values.sort_unstable();
        values
    }

    /// Returns this many log-normal values around `median` with this sigma.
    fn log_normal(count: usize, median: f64, sigma: f64, seed: u64) -> Vec<u64> {
        let mut noise = Noise(seed << 32);
        let values = (0..count).map(|_| (median * (sigma * noise.normal()).exp()) as u64);
        sorted(values.map(|value| value.max(1)).collect())
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        (mean, variance / (mean * mean))
    }

    fn arrivals(seed: u64, sigma: f64) -> EmpiricalArrivals {
        EmpiricalArrivals {
            burst_ios: Quantiles::steps(&log_normal(1009, 12.0, sigma, seed)).unwrap(),
            gaps_ns: Quantiles::interpolated(&log_normal(10_007, 9e3, sigma, seed + 1)).unwrap(),
            pauses_ns: Quantiles::interpolated(&log_normal(1009, 2e7, sigma, seed + 2)).unwrap(),
        }
    }

    fn times(of: &EmpiricalArrivals, seed: u64, count: usize) -> Vec<f64> {
        let (mut noise, mut times) = (Noise(seed << 32), EmpiricalTimes::new(of.clone()));
        (0..count).map(|_| times.next_ns(|| noise.uniform())).collect()
    }

    #[test]
    fn the_shares_ascend_from_0_to_1() {
        assert_eq!((SHARES[0], SHARES[27], SHARES[28]), (0.0, 27.0 / 28.0, 1.0 - 1.0 / 56.0));
        assert_eq!(SHARES[QUANTILE_COUNT - 1], 1.0);
        assert!(SHARES.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn equal_values_are_drawn_unchanged() {
        for quantiles in [Quantiles::steps(&[7; 101]), Quantiles::interpolated(&[7; 101])] {
            let quantiles = quantiles.unwrap();
            assert_eq!(quantiles.fault(), None);
            assert!((0..=1000).all(|n| quantiles.draw(f64::from(n) / 1000.0) == 7.0));
            assert!((quantiles.mean() - 7.0).abs() < 1e-12 && quantiles.variance() < 1e-9);
        }
        assert_eq!((Quantiles::steps(&[]), Quantiles::interpolated(&[])), (None, None));
    }

    /// Every second burst has 16 I/Os, the others have 19: 17.5 on average, variance 2.25.
    #[test]
    fn steps_keep_the_mean_of_the_counts() {
        let counts = sorted((0..1010).map(|n| 16 + n % 2 * 3).collect());
        let steps = Quantiles::steps(&counts).unwrap();
        assert!((steps.mean() - 17.5).abs() < 1e-6, "{}", steps.mean());
        assert!((steps.variance() - 2.25).abs() < 1e-4, "{}", steps.variance());
    }

    /// The integrals of the drawn value and of its square over the share.
    #[test]
    fn moments_are_those_of_the_values_drawn() {
        let times = log_normal(1009, 3e6, 1.3, 5);
        for interpolation in [Interpolation::Linear, Interpolation::Logarithmic] {
            let quantiles = Quantiles { interpolation, ..Quantiles::interpolated(&times).unwrap() };
            let count = 1_000_003;
            let drawn = |n: u32| quantiles.draw((f64::from(n) + 0.5) / f64::from(count));
            let mean = (0..count).map(drawn).sum::<f64>() / f64::from(count);
            let squares = (0..count).map(|n| drawn(n).powi(2)).sum::<f64>() / f64::from(count);
            assert!((mean / quantiles.mean() - 1.0).abs() < 1e-3, "{interpolation:?}");
            assert!((squares / quantiles.square_mean() - 1.0).abs() < 1e-2, "{interpolation:?}");
        }
    }

    #[test]
    fn scaling_sets_the_mean_gap_and_keeps_the_shape() {
        let measured = arrivals(1, 0.9);
        for mean_ns in [250.0, 61_007.0, 4e9] {
            let paced = measured.with_mean_gap_ns(mean_ns);
            assert!((paced.mean_gap_ns() / mean_ns - 1.0).abs() < 1e-8);
            assert!((paced.gap_cv2() / measured.gap_cv2() - 1.0).abs() < 1e-6);
            assert!((paced.count_dispersion() / measured.count_dispersion() - 1.0).abs() < 1e-6);
        }
        let mean_ns = measured.mean_gap_ns() * 1.01;
        let paced = measured.with_pauses_for_mean_gap_ns(mean_ns);
        assert!((paced.mean_gap_ns() / mean_ns - 1.0).abs() < 1e-8);
        assert_eq!(paced.gaps_ns, measured.gaps_ns);
        let impossible = measured.with_pauses_for_mean_gap_ns(1.0);
        assert_eq!(impossible, measured);
    }

    /// Bursts of one I/O with exponential pauses are a Poisson process, up to the 48 points.
    #[test]
    fn a_poisson_process_has_a_dispersion_of_one() {
        let pause = |n: u32| (-1e6 * (1.0 - (f64::from(n) + 0.5) / 100_003.0).ln()) as u64;
        let pauses: Vec<u64> = (0..100_003).map(pause).collect();
        let poisson = EmpiricalArrivals {
            burst_ios: Quantiles::steps(&[1]).unwrap(),
            gaps_ns: Quantiles::interpolated(&[0]).unwrap(),
            pauses_ns: Quantiles::interpolated(&pauses).unwrap(),
        };
        assert!((poisson.gap_cv2() - 1.0).abs() < 0.02, "{}", poisson.gap_cv2());
        assert!((poisson.count_dispersion() - 1.0).abs() < 0.02);
    }

    /// Counts of 401 windows of 10,007 mean gaps; the standard error of a variance of normal
    /// numbers is its square root of 2/400.
    #[test]
    fn counts_vary_as_the_dispersion_says() {
        let of = arrivals(3, 0.7);
        let window_ns = of.mean_gap_ns() * 10_007.0;
        let mut counts = vec![0.0; 401];
        for at in times(&of, 11, 4_200_000) {
            if let Some(count) = counts.get_mut((at / window_ns) as usize) {
                *count += 1.0;
            }
        }
        let (mean, cv2) = moments(&counts);
        let ratio = cv2 * mean / of.count_dispersion();
        assert!((ratio - 1.0).abs() < 5.0 * (2.0_f64 / 400.0).sqrt(), "{ratio}");
    }

    #[test]
    fn the_same_seed_draws_the_same_times() {
        let of = arrivals(1, 0.9);
        assert_eq!(times(&of, 5, 10_007), times(&of, 5, 10_007));
        assert_ne!(times(&of, 5, 10_007), times(&of, 6, 10_007));
        assert_eq!(times(&of, 5, 1), [0.0]);
        assert!(times(&of, 5, 10_007).windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn impossible_distributions_are_refused() {
        let right = arrivals(1, 0.9);
        assert_eq!(right.fault(), None);
        let fault = |change: fn(&mut EmpiricalArrivals)| {
            let mut wrong = right.clone();
            change(&mut wrong);
            wrong.fault().unwrap()
        };
        assert!(fault(|wrong| wrong.gaps_ns.values.truncate(47)).contains("47 values"));
        assert!(fault(|wrong| wrong.gaps_ns.values[3] = f64::NAN).contains("gaps_ns"));
        assert!(fault(|wrong| wrong.pauses_ns.values[47] = 2e15).contains("1e15"));
        assert!(fault(|wrong| wrong.pauses_ns.values.swap(5, 20)).contains("ascend"));
        assert!(fault(|wrong| wrong.burst_ios.values[0] = 0.5).contains("no I/O"));
        assert!(fault(|wrong| *wrong = wrong.slowed(1e9)).contains("1e15"));
        let zero = fault(|wrong| {
            wrong.gaps_ns.values[0] = 0.0;
            wrong.gaps_ns.interpolation = Interpolation::Logarithmic;
        });
        assert!(zero.contains("logarithm"), "{zero}");
        let at_once = fault(|wrong| *wrong = wrong.slowed(0.0));
        assert!(at_once.contains("logarithm") || at_once.contains("mean gap"), "{at_once}");
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(1009),
            ..ProptestConfig::with_cases(24)
        })]
        /// The gaps of drawn times against the closed formulas; the standard errors of the mean and
        /// of the squared coefficient of variation come from 101 batches of the gaps.
        #[test]
        fn drawn_gaps_have_the_mean_and_the_spread(seed in 0_u64..1 << 20, sigma in 0.2..0.9) {
            let of = arrivals(seed, sigma);
            let drawn = times(&of, seed, 101 * 2003 + 1);
            let gaps: Vec<f64> = drawn.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (means, squares): (Vec<f64>, Vec<f64>) = gaps
                .chunks(2003)
                .map(|batch| {
                    let scaled = batch.iter().map(|gap| gap / of.mean_gap_ns());
                    let sum = |power| scaled.clone().map(|gap: f64| gap.powi(power)).sum::<f64>();
                    (sum(1) / 2003.0, sum(2) / 2003.0)
                })
                .unzip();
            for (batches, expected) in [(means, 1.0), (squares, of.gap_cv2() + 1.0)] {
                let (mean, cv2) = moments(&batches);
                let error = mean * (cv2 / 101.0).sqrt();
                prop_assert!((mean - expected).abs() < 5.0 * error, "{mean} {expected} {error}");
            }
        }
    }
}
