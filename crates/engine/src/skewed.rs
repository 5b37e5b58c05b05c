//! Random positions that are not equally likely: Zipf, self-similar (Pareto) and normal.
//!
//! Every draw takes constant time and no table, so that a range may have 2^53 positions.

use crate::xoshiro::Xoshiro256;
use steadfast_domain::Distribution;
use steadfast_domain::permutation::Permutation;

/// The positions of a range with their distribution.
#[derive(Debug, Clone)]
pub(crate) struct SkewedPositions {
    count: u64,
    law: PositionLaw,
}

#[derive(Debug, Clone)]
enum PositionLaw {
    Zipf(ZipfRanks, Permutation),
    /// Ranks are count x u^exponent of a uniform u.
    Pareto {
        exponent: f64,
        scatter: Permutation,
    },
    /// Standard deviation as a share of the range.
    Normal {
        deviation: f64,
    },
}

impl SkewedPositions {
    /// Creates the distribution over `count` positions, at least 1; `None` if it is uniform.
    pub(crate) fn new(distribution: Distribution, count: u64) -> Option<Self> {
        let parameter = distribution.parameter();
        let law = match distribution {
            Distribution::Uniform => return None,
            Distribution::Zipf(_) => {
                PositionLaw::Zipf(ZipfRanks::new(parameter, count), Permutation::new(count, count))
            }
            Distribution::Pareto(_) => PositionLaw::Pareto {
                exponent: parameter.ln() / (1.0 - parameter).ln(),
                scatter: Permutation::new(count, count),
            },
            Distribution::Normal(_) => PositionLaw::Normal { deviation: parameter / 100.0 },
        };
        Some(SkewedPositions { count, law })
    }

    pub(crate) fn draw(&self, random: &mut Xoshiro256) -> u64 {
        match &self.law {
            PositionLaw::Zipf(ranks, scatter) => scatter.position(ranks.draw(random)),
            PositionLaw::Pareto { exponent, scatter } => {
                let rank = (self.count as f64 * random.fraction().powf(*exponent)) as u64;
                scatter.position(rank.min(self.count - 1))
            }
            PositionLaw::Normal { deviation } => loop {
                let at = 0.5 + deviation * standard_normal(random);
                if (0.0..1.0).contains(&at) {
                    return ((self.count as f64 * at) as u64).min(self.count - 1);
                }
            },
        }
    }
}

/// Draws from the standard normal distribution (G. E. P. Box and M. E. Muller, 1958).
fn standard_normal(random: &mut Xoshiro256) -> f64 {
    let radius = (-2.0 * random.fraction().ln()).sqrt();
    radius * (std::f64::consts::TAU * random.fraction()).cos()
}

/// Ranks with probabilities proportional to k^-theta, by rejection-inversion (W. Hörmann and
/// G. Derflinger, "Rejection-Inversion to Generate Variates from Monotone Discrete Distributions",
/// ACM TOMACS 6, 1996): the area under the continuous x^-theta is inverted and compared with the
/// bar of the nearest k. A draw is accepted with a probability of 0.7 or more, whatever theta.
#[derive(Debug, Clone)]
struct ZipfRanks {
    theta: f64,
    count: u64,
    /// Area up to the left edge of the first bar.
    first_area: f64,
    /// Area up to the right edge of the last bar.
    last_area: f64,
    /// Distance below k within which no bar ends, so that k is accepted without comparing areas.
    safe_distance: f64,
}

impl ZipfRanks {
    fn new(theta: f64, count: u64) -> Self {
        let zero = ZipfRanks { theta, count, first_area: 0.0, last_area: 0.0, safe_distance: 0.0 };
        let first_area = zero.area_to(1.5) - 1.0;
        let last_area = zero.area_to(count as f64 + 0.5);
        let safe_distance = 2.0 - zero.inverse(zero.area_to(2.5) - 2f64.powf(-theta));
        ZipfRanks { first_area, last_area, safe_distance, ..zero }
    }

    /// Returns the integral of x^-theta from 1 to `x`; exact at theta 1, too.
    fn area_to(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.theta) * log;
        if power.abs() < 1e-12 { log } else { log * power.exp_m1() / power }
    }

    fn inverse(&self, area: f64) -> f64 {
        let scaled = (area * (1.0 - self.theta)).max(-1.0);
        let log = if scaled.abs() < 1e-12 { area } else { area * scaled.ln_1p() / scaled };
        log.exp()
    }

    fn draw(&self, random: &mut Xoshiro256) -> u64 {
        loop {
            let area = self.last_area + random.fraction() * (self.first_area - self.last_area);
            let x = self.inverse(area);
            let k = x.round().clamp(1.0, self.count as f64);
            if k - x <= self.safe_distance || area >= self.area_to(k + 0.5) - k.powf(-self.theta) {
                return k as u64 - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::tests::chi_square_excess;

    const DRAWS: u64 = 1_000_000;

    fn skewed(word: &str, count: u64) -> SkewedPositions {
        SkewedPositions::new(Distribution::from_word(word).unwrap(), count).unwrap()
    }

    fn counts(skewed: &SkewedPositions, count: u64, seed: u64) -> Vec<u64> {
        let mut random = Xoshiro256::new(seed, 0);
        let mut counts = vec![0u64; count as usize];
        (0..DRAWS).for_each(|_| counts[skewed.draw(&mut random) as usize] += 1);
        counts
    }

    #[test]
    fn ranks_of_zipf_have_the_probabilities_of_its_formula() {
        for (theta, count) in
            [(0.2, 1000), (0.8, 1000), (0.999, 500), (1.0, 1000), (1.2, 200), (3.0, 12), (10.0, 3)]
        {
            let skewed = skewed(&format!("ZIPF/{theta}"), count);
            let PositionLaw::Zipf(_, scatter) = &skewed.law else { panic!("not Zipf") };
            let by_position = counts(&skewed, count, 7);
            let by_rank: Vec<u64> =
                (0..count).map(|rank| by_position[scatter.position(rank) as usize]).collect();
            let weights: Vec<f64> = (1..=count).map(|k| (k as f64).powf(-theta)).collect();
            let total: f64 = weights.iter().sum();
            let expected: Vec<f64> = weights.iter().map(|w| w / total * DRAWS as f64).collect();
            let excess = chi_square_excess(&by_rank, &expected);
            assert!(excess.abs() < 5.0, "theta {theta}: {excess}");
        }
    }

    /// The hottest position of a drive of 2^45 positions has its share: no table, no overflow.
    #[test]
    fn a_huge_range_has_its_hottest_position() {
        let count = 1u64 << 45;
        let skewed = skewed("ZIPF/1.2", count);
        let PositionLaw::Zipf(_, scatter) = &skewed.law else { panic!("not Zipf") };
        let hottest = scatter.position(0);
        let mut random = Xoshiro256::new(3, 0);
        let hits = (0..DRAWS).filter(|_| skewed.draw(&mut random) == hottest).count() as f64;
        // The zeta function of 1.2 is 5.5915824...; what lies beyond 2^45 is 5 x 2^-9 of it.
        let expected = DRAWS as f64 / (5.591_582_441 - 5.0 * 2f64.powf(-9.0));
        assert!((hits - expected).abs() < 5.0 * expected.sqrt(), "{hits} {expected}");
        assert_ne!(hottest, 0);
    }

    #[test]
    fn a_share_h_of_the_positions_has_the_share_1_minus_h_of_the_ios_again_and_again() {
        for h in [0.1, 0.2, 0.35, 0.5, 0.7] {
            let count = 10_000u64;
            let skewed = skewed(&format!("PARETO/{h}"), count);
            let PositionLaw::Pareto { scatter, .. } = &skewed.law else { panic!("not Pareto") };
            let by_position = counts(&skewed, count, 5);
            for level in 1..=2 {
                let hot = (count as f64 * f64::powi(h, level)).round() as u64;
                let ios: u64 = (0..hot).map(|r| by_position[scatter.position(r) as usize]).sum();
                let share = ios as f64 / DRAWS as f64;
                assert!((share - f64::powi(1.0 - h, level)).abs() < 0.005, "{h} {level}: {share}");
            }
        }
    }

    #[test]
    fn a_normal_distribution_has_its_mean_and_deviation_and_ends_with_the_range() {
        let count = 1_000_001u64;
        let skewed_by = |word| {
            let mut random = Xoshiro256::new(11, 0);
            let skewed = skewed(word, count);
            let drawn: Vec<f64> =
                (0..DRAWS).map(|_| skewed.draw(&mut random) as f64 / count as f64).collect();
            let mean = drawn.iter().sum::<f64>() / DRAWS as f64;
            let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / DRAWS as f64;
            (mean, variance.sqrt())
        };
        let (mean, deviation) = skewed_by("NORMAL/10");
        assert!((mean - 0.5).abs() < 0.001 && (deviation - 0.1).abs() < 0.001);
        // Cut off at half a standard deviation on each side: 1 - phi(0.5) / (Phi(0.5) - 0.5).
        let (mean, deviation) = skewed_by("NORMAL/100");
        let cut = (1.0f64 - 0.352_065_33 / (2.0 * 0.191_462_46)).sqrt();
        assert!((mean - 0.5).abs() < 0.002 && (deviation - cut).abs() < 0.002, "{deviation} {cut}");
    }

    #[test]
    fn every_rank_has_a_position_of_its_own_and_hot_ones_are_not_neighbors() {
        for count in (1..300).chain([1024, 10_007, (1 << 20) + 1]) {
            let scatter = Permutation::new(count, count);
            let mut seen = vec![false; count as usize];
            for rank in 0..count {
                let position = scatter.position(rank) as usize;
                assert!(!std::mem::replace(&mut seen[position], true), "{count} {rank}");
            }
        }
        let scatter = Permutation::new(1 << 30, 1 << 30);
        let hot: Vec<u64> = (0..1000).map(|rank| scatter.position(rank)).collect();
        let by_tenth = hot.iter().fold(vec![0u64; 10], |mut tenths, position| {
            tenths[((position * 10) >> 30) as usize] += 1;
            tenths
        });
        assert!(chi_square_excess(&by_tenth, &[100.0; 10]).abs() < 5.0, "{by_tenth:?}");
        assert!(hot.windows(2).all(|pair| pair[0].abs_diff(pair[1]) > 1));
    }

    #[test]
    fn a_single_position_is_always_drawn() {
        for word in ["ZIPF/0.5", "ZIPF/1", "PARETO/0.2", "NORMAL/10"] {
            let mut random = Xoshiro256::new(1, 0);
            let one = skewed(word, 1);
            assert!((0..1000).all(|_| one.draw(&mut random) == 0), "{word}");
        }
    }
}
