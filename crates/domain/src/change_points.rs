//! Change points of a series of rates: the places at which its level changes abruptly.
//!
//! The search is PELT with a penalty (Killick, Fearnhead and Eckley, "Optimal detection of
//! changepoints with a linear computational cost", JASA 107(500), 2012) for changes in the mean.
//! It works on logarithms, in which a change by a quarter is the same at every level. A running
//! median removes bursts before the search and keeps steps. A change point counts only if the level
//! differs right before and after it: a slow drift has no change points.

use std::ops::Range;

/// Number of values above which neighbors are averaged for the search of all but the first ones.
const SEARCHED_MAX: usize = 4000;

/// Factor of the penalty of a change point, in units of the noise variance times the logarithm of
/// the number of values: twice is the Bayesian information criterion; the running median adds up
/// noise of neighbors, which takes three times as much.
const PENALTY: f64 = 6.0;

/// Length of the stretches compared before and after a change point, in shortest levels.
const COMPARED_LEVELS: usize = 4;

/// A level of fewer values between two equal levels is a row of bursts, in shortest levels.
const DIP_LEVELS: usize = 4;

/// Minimum length of a level in shortest levels, except a high one at the start (a small cache).
const LEVEL_MIN: usize = 2;

/// Standard errors by which two levels must differ.
const DIFFERENCE_SIGMAS: f64 = 4.0;

/// Smaller values count as this share of the median, so that every value has a logarithm.
const SHARE_MIN: f64 = 0.01;

/// Factor from the median absolute deviation to the standard deviation of normal noise.
const MAD_TO_SIGMA: f64 = 1.4826;

/// Standard error of a median of normal noise, relative to that of a mean.
const MEDIAN_ERROR: f64 = 1.2533;

/// Smallest changes that count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangeCriteria {
    /// Number of values of the shortest level.
    pub shortest: usize,
    /// Smallest change of the level, as a share of the higher one: above 0 and below 1.
    pub change: f64,
}

/// Returns the index of the first value of every new level, in order.
///
/// Of a long series, the first 4000 values are searched as they are; after them, averages of
/// `rates.len() / 4000` neighbors, rounded up, count as one value.
///
/// ```
/// use steadfast_domain::change_points::{ChangeCriteria, change_points};
/// let rates: Vec<f64> = (0..90).map(|n| if n < 30 { 500.0 } else { 80.0 }).collect();
/// let criteria = ChangeCriteria { shortest: 8, change: 0.2 };
/// assert_eq!(change_points(&rates, &criteria), [30]);
/// assert!(change_points(&rates[30..], &criteria).is_empty());
/// ```
pub fn change_points(rates: &[f64], criteria: &ChangeCriteria) -> Vec<usize> {
    let group = rates.len().div_ceil(SEARCHED_MAX);
    if group <= 1 {
        return search(rates, criteria);
    }
    let shortest = criteria.shortest.max(2);
    // What lies this close to the end of the first values may be a dip.
    let first = SEARCHED_MAX.saturating_sub(DIP_LEVELS * shortest);
    let mut points = search(&rates[..SEARCHED_MAX], criteria);
    points.retain(|point| *point < first);
    let grouped: Vec<f64> =
        rates.chunks(group).map(|part| part.iter().sum::<f64>() / part.len() as f64).collect();
    let mut later: Vec<usize> =
        search(&grouped, criteria).into_iter().map(|point| point * group).collect();
    sharpen(&logarithms(rates), &mut later, group);
    // A change next to `first` may be found by neither or by both searches.
    let margin = shortest.max(group);
    let from = points.last().map_or(0, |last| last + margin).max(first.saturating_sub(margin));
    points.extend(later.into_iter().filter(|point| *point >= from));
    points
}

/// Returns the index of the first value of every new level of a series that is not too long.
fn search(rates: &[f64], criteria: &ChangeCriteria) -> Vec<usize> {
    let logs = logarithms(rates);
    let shortest = criteria.shortest.max(2);
    if logs.len() < 2 * shortest {
        return Vec::new();
    }
    let change_min = -(1.0 - criteria.change).ln();
    let sigma = noise(&logs);
    let by_noise = PENALTY * sigma * sigma * (logs.len() as f64).ln();
    let by_change = change_min * change_min * shortest as f64 / 4.0;
    let smooth = running_median(&logs, shortest / 2);
    let mut points = pelt(&smooth, shortest, by_noise.max(by_change));
    sharpen(&logs, &mut points, shortest);
    let levels = Levels { logs: &logs, shortest, change_min, sigma };
    levels.keep_distinct(&mut points);
    points
}

/// Returns the logarithms of the values; empty if none is positive.
fn logarithms(values: &[f64]) -> Vec<f64> {
    let positive: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
    let Some(median) = median(&positive) else { return Vec::new() };
    values.iter().map(|value| value.max(median * SHARE_MIN).ln()).collect()
}

/// Returns the median; `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], upper)
    } else {
        upper
    })
}

/// Returns the standard deviation of the noise, from differences of neighbors: levels and bursts
/// hardly change it.
fn noise(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    median(&steps).unwrap_or(0.0) * MAD_TO_SIGMA / std::f64::consts::SQRT_2
}

/// Returns the medians of windows of up to `2 * half + 1` values.
fn running_median(values: &[f64], half: usize) -> Vec<f64> {
    let window = |at: usize| &values[at.saturating_sub(half)..(at + half + 1).min(values.len())];
    (0..values.len()).filter_map(|at| median(window(at))).collect()
}

/// Sums from the start, for the cost of any part in constant time.
pub(crate) struct PrefixSums {
    values: Vec<f64>,
    squares: Vec<f64>,
}

impl PrefixSums {
    pub(crate) fn new(values: &[f64]) -> Self {
        // Values around zero keep the differences of the sums exact.
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut sums = PrefixSums { values: vec![0.0], squares: vec![0.0] };
        let (mut sum, mut square) = (0.0, 0.0);
        for value in values.iter().map(|value| value - mean) {
            sum += value;
            square += value * value;
            sums.values.push(sum);
            sums.squares.push(square);
        }
        sums
    }

    /// Returns the squared distances of the values of a part from their mean.
    pub(crate) fn cost(&self, part: Range<usize>) -> f64 {
        let sum = self.values[part.end] - self.values[part.start];
        let square = self.squares[part.end] - self.squares[part.start];
        (square - sum * sum / part.len() as f64).max(0.0)
    }
}

/// A place at which the last level may begin.
struct LastChange {
    at: usize,
    /// Number of values from which on it cannot be the best one.
    expires: usize,
}

/// Returns the change points with the smallest sum of costs and penalties, with levels of at least
/// `shortest` values.
pub(crate) fn pelt(values: &[f64], shortest: usize, penalty: f64) -> Vec<usize> {
    let sums = PrefixSums::new(values);
    let count = values.len();
    // Best cost of the first values, and where their last level begins.
    let mut best = vec![f64::INFINITY; count + 1];
    let mut last = vec![0; count + 1];
    best[0] = -penalty;
    let mut candidates: Vec<LastChange> = Vec::new();
    for end in shortest..=count {
        candidates.push(LastChange { at: end - shortest, expires: usize::MAX });
        candidates.retain(|candidate| candidate.expires > end);
        for candidate in &candidates {
            let cost = best[candidate.at] + sums.cost(candidate.at..end) + penalty;
            if cost < best[end] {
                (best[end], last[end]) = (cost, candidate.at);
            }
        }
        // A place that is worse even without the penalty of one more change stays worse once a
        // level can begin at `end`.
        for candidate in &mut candidates {
            if best[candidate.at] + sums.cost(candidate.at..end) > best[end] {
                candidate.expires = candidate.expires.min(end + shortest);
            }
        }
    }
    let mut points = Vec::new();
    let mut end = count;
    while last[end] > 0 {
        end = last[end];
        points.push(end);
    }
    points.reverse();
    points
}

/// Returns the index of the first value of a level.
fn level_begin(points: &[usize], index: usize) -> usize {
    if index == 0 { 0 } else { points[index - 1] }
}

/// Returns the values of the two levels around a change point of a series of `count` values.
pub(crate) fn adjacent_levels(points: &[usize], index: usize, count: usize) -> Range<usize> {
    level_begin(points, index)..points.get(index + 1).copied().unwrap_or(count)
}

/// Moves every change point by up to `reach` values to the place that best separates the medians
/// of its two levels.
fn sharpen(logs: &[f64], points: &mut [usize], reach: usize) {
    for index in 0..points.len() {
        let point = points[index];
        let Range { start, end } = adjacent_levels(points, index, logs.len());
        let (Some(before), Some(after)) = (median(&logs[start..point]), median(&logs[point..end]))
        else {
            continue;
        };
        let first = point.saturating_sub(reach).max(start + 1);
        let last = (point + reach).min(end - 1);
        // Cost of a split relative to that at `first`: each value moved to the level before adds
        // its distance from that level and saves its distance from the other.
        let (mut cost, mut lowest_cost) = (0.0, 0.0);
        points[index] = first;
        for (split, value) in (first + 1..).zip(&logs[first..last]) {
            cost += (value - before).abs() - (value - after).abs();
            if cost < lowest_cost {
                (lowest_cost, points[index]) = (cost, split);
            }
        }
    }
}

/// Returns the distance of two medians; 0 if there is only one.
fn difference_of_medians(left: &[f64], right: &[f64]) -> f64 {
    match (median(left), median(right)) {
        (Some(left), Some(right)) => (left - right).abs(),
        _ => 0.0,
    }
}

/// The levels between change points.
struct Levels<'a> {
    logs: &'a [f64],
    shortest: usize,
    /// Smallest difference of two levels, in logarithms.
    change_min: f64,
    sigma: f64,
}

impl Levels<'_> {
    /// Removes change points, those of bursts and then the weakest first, until all that are left
    /// separate distinct levels.
    fn keep_distinct(&self, points: &mut Vec<usize>) {
        loop {
            let weight = |index: usize| {
                let is_level = !self.is_dip(points, index) && !self.is_dip(points, index + 1);
                (is_level, self.strength(points, index), index)
            };
            let weakest = (0..points.len())
                .map(weight)
                .min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            match weakest {
                Some((is_level, strength, index)) if !is_level || strength < 1.0 => {
                    points.remove(index);
                    sharpen(self.logs, points, 2 * self.shortest);
                }
                _ => return,
            }
        }
    }

    /// Returns true if level `index` is no level of its own but several bursts in a row: it is
    /// short, and not a high one at the beginning, or not very long and between two equal levels.
    fn is_dip(&self, points: &[usize], index: usize) -> bool {
        let bounds = |index: usize| {
            let end = points.get(index).copied().unwrap_or(self.logs.len());
            level_begin(points, index)..end
        };
        let level = |index: usize| median(&self.logs[bounds(index)]).unwrap_or_default();
        let length = bounds(index).len();
        if index == 0 {
            return length < LEVEL_MIN * self.shortest && level(0) < level(1);
        }
        let between_equals = || {
            let is_inside = index < points.len() && length < DIP_LEVELS * self.shortest;
            is_inside && (level(index - 1) - level(index + 1)).abs() < self.change_min
        };
        length < LEVEL_MIN * self.shortest || between_equals()
    }

    /// Returns the change of the level at a change point, as a multiple of the smallest one that
    /// counts: of the whole levels, or of the stretches next to it if they differ less.
    fn strength(&self, points: &[usize], index: usize) -> f64 {
        let point = points[index];
        let Range { start, end } = adjacent_levels(points, index, self.logs.len());
        // The values at the change itself may be a mix of both levels.
        let left_end = if point - start > self.shortest { point - 1 } else { point };
        let right_begin = if end - point > self.shortest { point + 1 } else { point };
        let reach = COMPARED_LEVELS * self.shortest;
        let near_left = &self.logs[left_end.saturating_sub(reach).max(start)..left_end];
        let near_right = &self.logs[right_begin..(right_begin + reach).min(end)];
        let error = MEDIAN_ERROR
            * self.sigma
            * (1.0 / near_left.len() as f64 + 1.0 / near_right.len() as f64).sqrt();
        let change = difference_of_medians(near_left, near_right)
            .min(difference_of_medians(&self.logs[start..left_end], &self.logs[right_begin..end]));
        change / self.change_min.max(DIFFERENCE_SIGMAS * error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_bits::Noise;

    const CRITERIA: ChangeCriteria = ChangeCriteria { shortest: 8, change: 0.2 };

    #[derive(Debug, Clone, Copy, PartialEq)]
    enum NoiseKind {
        White,
        Bursty,
        Drift,
        All,
    }

    const KINDS: [NoiseKind; 4] =
        [NoiseKind::White, NoiseKind::Bursty, NoiseKind::Drift, NoiseKind::All];

    /// Returns factors around 1.
    fn factors(noise: &mut Noise, kind: NoiseKind, count: usize) -> Vec<f64> {
        let has = |other: NoiseKind| kind == NoiseKind::All || kind == other;
        let white = if has(NoiseKind::White) { noise.between(0.01, 0.12) } else { 0.02 };
        let bursts = if has(NoiseKind::Bursty) { noise.between(0.005, 0.03) } else { 0.0 };
        let swing = if has(NoiseKind::Drift) { noise.between(0.02, 0.08) } else { 0.0 };
        let (period, phase) = (noise.between(150.0, 900.0), noise.uniform());
        let (mut left, mut depth, mut walk) = (0, 1.0, 0.0);
        let mut all = Vec::with_capacity(count);
        for at in 0..count {
            if left == 0 && noise.uniform() < bursts {
                (left, depth) = (1 + (noise.uniform() * 4.0) as u32, noise.between(0.1, 0.7));
            }
            let burst = if left > 0 { depth } else { 1.0 };
            left = left.saturating_sub(1);
            // A random walk that returns to 0 within some hundred values.
            walk += -walk / 200.0 + noise.normal() * swing * 0.05;
            let wave = swing * (std::f64::consts::TAU * (at as f64 / period + phase)).sin();
            all.push((burst * (1.0 + wave + walk) * (1.0 + white * noise.normal())).max(0.0));
        }
        all
    }

    #[test]
    fn levels_without_noise_are_found_exactly() {
        let rates: Vec<f64> = [(8, 900.0), (16, 300.0), (100, 310.0), (33, 55.0), (60, 400.0)]
            .iter()
            .flat_map(|(count, rate)| vec![*rate; *count])
            .collect();
        // 300 and 310 are one level.
        assert_eq!(change_points(&rates, &CRITERIA), [8, 124, 157]);
        assert!(change_points(&[], &CRITERIA).is_empty());
        assert!(change_points(&[0.0; 50], &CRITERIA).is_empty());
        assert!(change_points(&[5.0; 15], &CRITERIA).is_empty(), "too short for two levels");
    }

    #[test]
    fn a_slow_decline_has_no_change_point() {
        let rates: Vec<f64> = (0..1000).map(|n| 1000.0 - 0.7 * f64::from(n)).collect();
        assert!(change_points(&rates, &CRITERIA).is_empty());
    }

    #[test]
    fn a_burst_has_no_change_point() {
        let mut rates = vec![100.0; 200];
        rates[50..54].fill(10.0);
        rates[120..123].fill(0.0);
        assert!(change_points(&rates, &CRITERIA).is_empty());
    }

    #[test]
    fn long_series_are_searched_in_groups_and_their_changes_are_exact() {
        let rates: Vec<f64> = (0..50_000).map(|n| if n < 12_345 { 700.0 } else { 90.0 }).collect();
        assert_eq!(change_points(&rates, &CRITERIA), [12_345]);
    }

    #[test]
    fn a_small_cache_is_found_in_front_of_a_long_series() {
        let rates: Vec<f64> = (0..48_000).map(|n| if n < 16 { 2500.0 } else { 150.0 }).collect();
        assert_eq!(change_points(&rates, &CRITERIA), [16]);
    }

    #[test]
    fn a_change_at_the_end_of_the_first_values_is_found_once() {
        for place in (3940..4030).step_by(18) {
            let mut noise = Noise(place << 32);
            let level = |n: u64| if n < place { 700.0 } else { 300.0 };
            let rates: Vec<f64> =
                (0..30_000).map(|n| level(n) * (1.0 + 0.03 * noise.normal())).collect();
            let found = change_points(&rates, &CRITERIA);
            assert_eq!(found.len(), 1, "{found:?} for {place}");
            assert!(found[0].abs_diff(place as usize) <= 1, "{found:?} for {place}");
        }
    }

    #[test]
    fn noise_alone_has_change_points_in_less_than_one_series_of_a_hundred() {
        let mut wrong = [0; KINDS.len()];
        for series in 0..1000 {
            let mut noise = Noise(series << 32);
            let kind = series as usize % KINDS.len();
            let count = 60 + (noise.uniform() * 1400.0) as usize;
            let rates = factors(&mut noise, KINDS[kind], count);
            if !change_points(&rates, &CRITERIA).is_empty() {
                wrong[kind] += 1;
            }
        }
        assert!(wrong.iter().sum::<u32>() <= 10, "{wrong:?}");
    }

    #[test]
    fn changes_in_noise_are_found_within_two_percent_of_their_place() {
        let (mut right, mut all) = ([0; KINDS.len()], [0; KINDS.len()]);
        for series in 0..600 {
            let mut noise = Noise((series << 32) + 77);
            let kind = series as usize % KINDS.len();
            let mut places = Vec::new();
            let (mut rates, mut level) = (Vec::new(), 1000.0);
            for part in 0..2 + series % 3 {
                if part > 0 {
                    places.push(rates.len());
                    level *= noise.between(0.2, 0.6);
                }
                let count = 60 + (noise.uniform() * 300.0) as usize;
                rates.extend(factors(&mut noise, KINDS[kind], count).iter().map(|one| one * level));
            }
            let found = change_points(&rates, &CRITERIA);
            let near = |(found, place): (&usize, &usize)| {
                found.abs_diff(*place) as f64 <= (0.02 * *place as f64).max(1.0)
            };
            let is_right = found.len() == places.len() && found.iter().zip(&places).all(near);
            right[kind] += u32::from(is_right);
            all[kind] += 1;
        }
        assert!(right.iter().sum::<u32>() >= 588, "{right:?} of {all:?}");
    }
}
