//! Level changes of a short series, such as one metric of 3 to 100 runs.
//!
//! [`change_points`](crate::change_points) is made for the hundreds of values within a run. In a
//! short series the noise itself is uncertain, so every change is tested:
//!
//! 1. PELT, under a penalty that falls from test to test, proposes divisions of the logarithms into
//!    levels.
//! 2. A division with `K` changes is tested against one single level with an F test with `K` and
//!    `n - K - 1` degrees of freedom. Its probability is multiplied by the number of divisions with
//!    as many changes and by 2 to the power of `K`, because the best of all was chosen (Bonferroni).
//!    The most significant division wins.
//! 3. Changes of the winner that are not significant on their own (t test, multiplied by the number
//!    of places) or too small are removed.
//!
//! In a series of normal noise around one level, a change is found with at most the probability that
//! the caller allows, whatever the noise. Values must be independent: a slow drift counts as
//! changes.

use crate::change_points::{PrefixSums, adjacent_levels, pelt};
use crate::significance::{ln_p_of_f, ln_p_of_t};
use std::f64::consts::LN_2;
use std::ops::Range;

/// Smallest relative noise: values that repeat exactly are no proof of less.
const NOISE_MIN: f64 = 1e-6;

/// Factor between the penalties of two proposals.
const PENALTY_STEP: f64 = 0.7;

/// Number of penalties tried; the last is 1e-15 of the first.
const PENALTIES: usize = 98;

/// A series with its most significant division into levels.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelSearch {
    logs: Vec<f64>,
    noise_min: f64,
    division: Vec<usize>,
    ln_p: f64,
}

/// Noise of a series around its levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesNoise {
    /// Standard deviation of a value, relative to its level.
    pub sigma: f64,
    /// Degrees of freedom: number of values less the number of levels.
    pub freedom: usize,
}

impl LevelSearch {
    /// Searches a series. `noise_min` is the relative standard deviation that each value has at
    /// least, as far as it is known from elsewhere. Returns `None` for fewer than three values, or
    /// if a value is not positive.
    ///
    /// ```
    /// use steadfast_domain::level_changes::LevelSearch;
    /// let runs = [100.2, 99.8, 100.1, 99.9, 95.1, 94.9, 95.0];
    /// let search = LevelSearch::new(&runs, None).unwrap();
    /// assert_eq!(search.changes(0.01_f64.ln(), 0.01), [4]);
    /// ```
    pub fn new(values: &[f64], noise_min: Option<f64>) -> Option<LevelSearch> {
        let is_positive = |value: &f64| value.is_finite() && *value > 0.0;
        if values.len() < 3 || !values.iter().all(is_positive) {
            return None;
        }
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let noise_min = noise_min.unwrap_or(0.0).max(NOISE_MIN);
        let mut search = LevelSearch { logs, noise_min, division: Vec::new(), ln_p: 0.0 };
        for division in search.proposals() {
            let ln_p = search.ln_p_of(&division);
            if ln_p < search.ln_p {
                (search.division, search.ln_p) = (division, ln_p);
            }
        }
        Some(search)
    }

    /// Returns the logarithm of the probability that noise around one level divides itself as
    /// clearly as this series.
    pub fn ln_p(&self) -> f64 {
        self.ln_p
    }

    /// Returns the index of the first value of every new level, in order. `ln_p_max` is the
    /// logarithm of the probability with which noise alone may have a change; changes by less than
    /// `change_min`, a share of the lower level, do not count.
    pub fn changes(&self, ln_p_max: f64, change_min: f64) -> Vec<usize> {
        let mut points = if self.ln_p <= ln_p_max { self.division.clone() } else { Vec::new() };
        loop {
            let noise = self.noise(&points);
            let weakest = (0..points.len())
                .map(|index| (index, self.ln_p_of_change(&points, index, noise)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            let too_small = || {
                let size = |index: &usize| self.log_change(&points, *index).abs();
                (0..points.len()).find(|index| size(index) < change_min.ln_1p())
            };
            let removed = match weakest {
                Some((index, ln_p)) if ln_p > ln_p_max => Some(index),
                _ => too_small(),
            };
            let Some(removed) = removed else { return points };
            points.remove(removed);
            self.settle(&mut points);
        }
    }

    /// Returns the noise around the levels that begin at `points`: at least `noise_min`.
    pub fn noise(&self, points: &[usize]) -> SeriesNoise {
        let freedom = self.logs.len() - points.len() - 1;
        let sums = PrefixSums::new(&self.logs);
        let rest: f64 = self.levels(points).map(|level| sums.cost(level)).sum();
        let sigma = (rest / freedom.max(1) as f64).sqrt().max(self.noise_min);
        SeriesNoise { sigma, freedom }
    }

    /// Returns the geometric mean of some values.
    pub fn mean(&self, values: Range<usize>) -> f64 {
        self.log_mean(values).exp()
    }

    /// Returns the values of each of the levels that begin at `points`.
    pub fn levels<'p>(&self, points: &'p [usize]) -> impl Iterator<Item = Range<usize>> + 'p {
        let begins = std::iter::once(0).chain(points.iter().copied());
        let ends = points.iter().copied().chain([self.logs.len()]);
        begins.zip(ends).map(|(begin, end)| begin..end)
    }

    /// Returns the mean of the logarithms of some values.
    fn log_mean(&self, values: Range<usize>) -> f64 {
        let count = values.len();
        self.logs[values].iter().sum::<f64>() / count as f64
    }

    /// Returns the difference of the logarithms of the levels after and before a change.
    fn log_change(&self, points: &[usize], index: usize) -> f64 {
        let Range { start, end } = adjacent_levels(points, index, self.logs.len());
        self.log_mean(points[index]..end) - self.log_mean(start..points[index])
    }

    /// Returns divisions with more and more changes, each once.
    fn proposals(&self) -> Vec<Vec<usize>> {
        let count = self.logs.len();
        let total = PrefixSums::new(&self.logs).cost(0..count);
        let mut proposals: Vec<Vec<usize>> = Vec::new();
        let mut penalty = total;
        for _ in 0..PENALTIES {
            penalty *= PENALTY_STEP;
            let points = pelt(&self.logs, 1, penalty);
            if points.len() > changes_max(count) {
                break;
            }
            if !points.is_empty() && proposals.last() != Some(&points) {
                proposals.push(points);
            }
        }
        proposals
    }

    /// Returns the logarithm of the probability of a division if there is only one level.
    fn ln_p_of(&self, points: &[usize]) -> f64 {
        let (count, changes) = (self.logs.len(), points.len());
        let noise = self.noise(points);
        let whole = self.noise(&[]);
        let spread = |noise: SeriesNoise| noise.sigma * noise.sigma * noise.freedom as f64;
        let explained = (spread(whole) - spread(noise)) / changes as f64;
        let f = explained / (noise.sigma * noise.sigma);
        // The shares 1/2, 1/4, ... of the probability belong to 1, 2, ... changes.
        let choices = ln_binomial(count - 1, changes) + changes as f64 * LN_2;
        (ln_p_of_f(f, changes, noise.freedom) + choices).min(0.0)
    }

    /// Returns the logarithm of the probability that one of these changes is noise.
    fn ln_p_of_change(&self, points: &[usize], index: usize, noise: SeriesNoise) -> f64 {
        let Range { start, end } = adjacent_levels(points, index, self.logs.len());
        let (before, after) = (points[index] - start, end - points[index]);
        let ln_p = ln_p_of_difference(self.log_change(points, index), noise, before, after);
        ln_p + ((self.logs.len() - 1) as f64).ln()
    }

    /// Moves every change to the place between its neighbors that fits best.
    fn settle(&self, points: &mut [usize]) {
        let sums = PrefixSums::new(&self.logs);
        for index in 0..points.len() {
            let Range { start, end } = adjacent_levels(points, index, self.logs.len());
            let cost = |at: &usize| sums.cost(start..*at) + sums.cost(*at..end);
            let best = (start + 1..end).min_by(|a, b| cost(a).total_cmp(&cost(b)));
            points[index] = best.unwrap_or(points[index]);
        }
    }
}

/// Returns the logarithm of the probability that the means of `count` and of `other_count` values,
/// whose noise is known with some degrees of freedom, differ by `difference` by chance.
pub fn ln_p_of_difference(
    difference: f64,
    noise: SeriesNoise,
    count: usize,
    other_count: usize,
) -> f64 {
    let error = noise.sigma * (1.0 / count as f64 + 1.0 / other_count as f64).sqrt();
    ln_p_of_t(difference / error, noise.freedom)
}

/// Returns the greatest number of changes that a series of `count` values can have: one per four
/// values. Values that jump between two modes all the time are no levels.
fn changes_max(count: usize) -> usize {
    (count.saturating_sub(1) / 4).clamp(1, 20)
}

/// Returns the logarithm of the number of ways to choose `count` of `all`.
fn ln_binomial(all: usize, count: usize) -> f64 {
    (0..count).map(|at| ((all - at) as f64 / (at + 1) as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_bits::Noise;
    use proptest::prelude::*;

    const ONE_PERCENT: f64 = -4.605_170_185_988_091;

    /// A series with one change.
    struct Step {
        count: usize,
        /// Index of the first value of the new level.
        at: usize,
        /// Size of the change in standard deviations.
        sigmas: f64,
    }

    /// Returns values around 1000 with a standard deviation of 0.5 %.
    fn stepped(noise: &mut Noise, step: &Step) -> Vec<f64> {
        let level = |at: usize| if at < step.at { 1000.0 } else { 1000.0 - 5.0 * step.sigmas };
        (0..step.count).map(|at| level(at) + 5.0 * noise.normal()).collect()
    }

    fn changes(values: &[f64]) -> Vec<usize> {
        LevelSearch::new(values, None).unwrap().changes(ONE_PERCENT, 0.0)
    }

    #[test]
    fn noise_alone_has_a_change_in_at_most_one_series_of_a_hundred() {
        let mut wrong = 0;
        for series in 0..1000 {
            let mut noise = Noise(series << 32);
            let count = noise.whole(5, 60);
            let step = Step { count, at: 0, sigmas: 0.0 };
            wrong += u32::from(!changes(&stepped(&mut noise, &step)).is_empty());
        }
        assert!(wrong <= 10, "{wrong} of 1000");
    }

    /// The shares that can be found follow from the number of values: five values leave three
    /// degrees of freedom. What is found lies at the right run or next to it.
    #[test]
    fn changes_of_three_sigma_and_more_are_found_at_the_right_run() {
        for (counts, edge, sigmas, found_min, exact_min) in [
            ((5, 8), 2, 15.0, 0.85, 0.99),
            ((9, 14), 2, 6.0, 0.92, 0.97),
            ((15, 29), 4, 4.0, 0.95, 0.93),
            ((15, 29), 4, 3.0, 0.85, 0.80),
            ((30, 60), 4, 3.0, 0.97, 0.80),
        ] {
            let (mut found, mut exact, mut near) = (0, 0, 0);
            for series in 0..1000_u64 {
                let mut noise = Noise((series << 32) + 7);
                let count = noise.whole(counts.0, counts.1);
                let step = Step { count, at: noise.whole(edge, count - edge), sigmas };
                let points = changes(&stepped(&mut noise, &step));
                found += u32::from(!points.is_empty());
                exact += u32::from(points.contains(&step.at));
                near += u32::from(points.iter().any(|point| point.abs_diff(step.at) <= 1));
            }
            let share = |part: u32, whole: u32| f64::from(part) / f64::from(whole);
            let which = format!("{counts:?}, {sigmas} sigma: {found} {exact} {near}");
            assert!(share(found, 1000) >= found_min, "{which}");
            assert!(share(exact, found) >= exact_min, "{which}");
            assert!(share(near, found) >= 0.95, "{which}");
        }
    }

    #[test]
    fn a_drop_that_recovers_is_two_changes_and_one_bad_run_is_found() {
        let mut noise = Noise(5 << 40);
        let mut values = stepped(&mut noise, &Step { count: 24, at: 24, sigmas: 0.0 });
        values[8..16].iter_mut().for_each(|value| *value *= 0.9);
        assert_eq!(changes(&values), [8, 16]);
        let mut values = stepped(&mut noise, &Step { count: 12, at: 12, sigmas: 0.0 });
        values[11] *= 0.9;
        assert_eq!(changes(&values), [11], "the last run alone");
    }

    #[test]
    fn known_noise_is_a_lower_bound() {
        let values = [100.0, 100.1, 100.0, 98.0, 98.1, 98.0];
        let search = |noise| LevelSearch::new(&values, noise).unwrap();
        assert_eq!(search(None).changes(ONE_PERCENT, 0.01), [3]);
        assert!(search(Some(0.02)).changes(ONE_PERCENT, 0.01).is_empty());
        assert_eq!(search(Some(0.02)).noise(&[3]), SeriesNoise { sigma: 0.02, freedom: 4 });
    }

    #[test]
    fn small_series_and_values_without_logarithm_are_refused() {
        assert!(LevelSearch::new(&[1.0, 2.0], None).is_none());
        assert!(LevelSearch::new(&[1.0, 0.0, 2.0], None).is_none());
        assert!(LevelSearch::new(&[1.0, f64::NAN, 2.0], None).is_none());
        assert!(changes(&[7.0; 9]).is_empty(), "equal values have no change");
    }

    proptest! {
        /// Without noise every change is found, wherever it is.
        #[test]
        fn a_step_without_noise_is_found_exactly(count in 4_usize..60, share in 0.0_f64..1.0,
                                                 factor in 0.5_f64..0.98) {
            let at = 1 + (share * (count - 1) as f64) as usize;
            let values: Vec<f64> = (0..count).map(|n| if n < at { 900.0 } else { 900.0 * factor }).collect();
            prop_assert_eq!(changes(&values), [at]);
        }

        /// A series in another unit has the same changes.
        #[test]
        fn units_make_no_difference(seed in 0_u64..1000, factor in 1e-6_f64..1e6) {
            let mut noise = Noise(seed << 32);
            let values = stepped(&mut noise, &Step { count: 20, at: 12, sigmas: 6.0 });
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            prop_assert_eq!(changes(&values), changes(&scaled));
        }
    }
}
