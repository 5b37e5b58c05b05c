//! Probabilities of Student's t and of the F distribution, as natural logarithms: those of clear
//! changes are too small for a floating-point number.

use std::f64::consts::PI;

/// Number of terms of the continued fraction, which usually converges within twenty.
const TERMS_MAX: usize = 500;

/// Returns the logarithm of the probability of an F statistic of at least `f`, with `changes` and
/// `rest` degrees of freedom, which must both be at least 1.
///
/// ```
/// use steadfast_domain::significance::ln_p_of_f;
/// // 5 % of the F statistics with 2 and 10 degrees of freedom exceed 4.1028.
/// assert!((ln_p_of_f(4.1028, 2, 10).exp() - 0.05).abs() < 1e-5);
/// ```
pub fn ln_p_of_f(f: f64, changes: usize, rest: usize) -> f64 {
    let (top, bottom) = (changes as f64, rest as f64);
    if f <= 0.0 {
        return 0.0;
    }
    let share = bottom / (bottom + top * f);
    let beta = IncompleteBeta { twice_a: rest, twice_b: changes };
    beta.ln(share)
}

/// Returns the logarithm of the probability that a t statistic with `freedom` degrees of freedom,
/// at least 1, is at least `t` away from 0.
pub fn ln_p_of_t(t: f64, freedom: usize) -> f64 {
    ln_p_of_f(t * t, 1, freedom)
}

/// Returns the upper confidence bound of a proportion, given `events` in `trials`: the exact
/// one-sided bound of C. J. Clopper and E. S. Pearson ("The Use of Confidence or Fiducial Limits
/// Illustrated in the Case of the Binomial", Biometrika 26, 1934). Returns 1 if all were events.
///
/// ```
/// use steadfast_domain::significance::proportion_upper_bound;
/// // The rule of three (Hanley and Lippman-Hand, JAMA 249, 1983): about 3 / n for no event.
/// let bound = proportion_upper_bound(0, 200, 0.95);
/// assert!((bound - (1.0 - 0.05f64.powf(1.0 / 200.0))).abs() < 1e-9);
/// assert!((bound - 3.0 / 200.0).abs() < 2e-4);
/// ```
pub fn proportion_upper_bound(events: usize, trials: usize, confidence: f64) -> f64 {
    if events >= trials {
        return 1.0;
    }
    let beta = IncompleteBeta { twice_a: 2 * (events + 1), twice_b: 2 * (trials - events) };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if beta.ln(middle) < confidence.ln() {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The regularized incomplete beta function with parameters that are multiples of one half.
#[derive(Debug, Clone, Copy)]
struct IncompleteBeta {
    twice_a: usize,
    twice_b: usize,
}

impl IncompleteBeta {
    /// Returns the logarithm of the function at `x`, from 0 to 1.
    fn ln(self, x: f64) -> f64 {
        let (a, b) = (self.twice_a as f64 / 2.0, self.twice_b as f64 / 2.0);
        if x <= 0.0 {
            return f64::NEG_INFINITY;
        }
        if x >= 1.0 {
            return 0.0;
        }
        if x < (a + 1.0) / (a + b + 2.0) {
            return self.ln_by_fraction(x);
        }
        // The fraction converges fast only below the mean; the function is symmetric.
        let mirrored = IncompleteBeta { twice_a: self.twice_b, twice_b: self.twice_a };
        (-mirrored.ln_by_fraction(1.0 - x).exp().min(1.0)).ln_1p()
    }

    /// Evaluates the continued fraction 8.17.22 of the Digital Library of Mathematical Functions,
    /// forward by the method of Lentz.
    fn ln_by_fraction(self, x: f64) -> f64 {
        let (a, b) = (self.twice_a as f64 / 2.0, self.twice_b as f64 / 2.0);
        let coefficient = |term: usize| {
            let m = (term / 2) as f64;
            if term.is_multiple_of(2) {
                m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
            } else {
                -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
            }
        };
        let nonzero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
        let (mut fraction, mut upper, mut lower) = (1.0_f64, 1.0_f64, 0.0_f64);
        for term in 1..TERMS_MAX {
            let coefficient = coefficient(term);
            lower = 1.0 / nonzero(1.0 + coefficient * lower);
            upper = nonzero(1.0 + coefficient / upper);
            fraction *= upper * lower;
            if (upper * lower - 1.0).abs() < 1e-14 {
                break;
            }
        }
        let ln_beta = ln_gamma_of_half(self.twice_a) + ln_gamma_of_half(self.twice_b)
            - ln_gamma_of_half(self.twice_a + self.twice_b);
        a * x.ln() + b * (-x).ln_1p() - a.ln() - ln_beta - fraction.ln()
    }
}

/// Returns the logarithm of the gamma function of `twice / 2`, for `twice` of at least 1.
fn ln_gamma_of_half(twice: usize) -> f64 {
    // Γ(1) = 1, Γ(1/2) = √π, and Γ(x + 1) = x Γ(x).
    let start = if twice.is_multiple_of(2) { 0.0 } else { PI.sqrt().ln() };
    let first = if twice.is_multiple_of(2) { 2 } else { 1 };
    start + (first..twice).step_by(2).map(|twice| (twice as f64 / 2.0).ln()).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One-sided bounds of printed tables of the binomial distribution, and closed forms.
    #[test]
    fn bounds_of_proportions_match_printed_tables() {
        for (events, trials, bound) in
            [(0, 1, 0.95), (1, 10, 0.3942), (2, 20, 0.2826), (10, 10, 1.0), (0, 0, 1.0)]
        {
            let found = proportion_upper_bound(events, trials, 0.95);
            assert!((found - bound).abs() < 1e-4, "{events} of {trials}: {found}");
        }
    }

    /// Quantiles of printed tables of the t and F distributions.
    #[test]
    fn probabilities_match_printed_tables() {
        for (t, freedom, p) in [
            (12.706, 1, 0.05),
            (63.657, 1, 0.01),
            (2.776, 4, 0.05),
            (4.604, 4, 0.01),
            (2.228, 10, 0.05),
            (2.750, 30, 0.01),
            (1.980, 120, 0.05),
        ] {
            let found = ln_p_of_t(t, freedom).exp();
            assert!((found / p - 1.0).abs() < 2e-3, "t {t}, {freedom}: {found}");
        }
        for (f, changes, rest, p) in [
            (5.7861, 2, 5, 0.05),
            (2.7109, 5, 20, 0.05),
            (3.2389, 3, 16, 0.05),
            (4.9646, 1, 10, 0.05),
        ] {
            let found = ln_p_of_f(f, changes, rest).exp();
            assert!((found / p - 1.0).abs() < 1e-3, "F {f}: {found}");
        }
        assert!((ln_p_of_f(1e-9, 1, 7)).abs() < 1e-3);
        // Two-sided tail of the Cauchy distribution: 2/π · atan(1/t).
        let far: f64 = 1e80;
        let exact = (2.0 / PI / far).ln();
        assert!((ln_p_of_t(far, 1) - exact).abs() < 1e-6, "{}", ln_p_of_t(far, 1));
    }
}
