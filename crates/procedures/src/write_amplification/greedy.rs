//! Write amplification of greedy garbage collection under uniform random writes (P. Desnoyers,
//! "Analytic Models of SSD Write Performance", ACM TOS 10(2), 2014, for large erase blocks; X.
//! Luojie and B. M. Kurkoski, arXiv:1110.4245).
//!
//! With `a` = physical / logical pages, the valid share `u` of a collected block satisfies
//! `u = exp(-a (1 - u))`, and the write amplification is `1 / (1 - u)`.

/// Returns the write amplification with this ratio of physical to logical pages; `None` unless it
/// is above 1.
pub(super) fn amplification(ratio: f64) -> Option<f64> {
    if !ratio.is_finite() || ratio <= 1.0 {
        return None;
    }
    // u - exp(-a (1 - u)) is negative at 0, and positive just below 1.
    let (mut low, mut high) = (0.0, 1.0 - 1e-9);
    for _ in 0..200 {
        let middle: f64 = (low + high) / 2.0;
        if middle < (-ratio * (1.0 - middle)).exp() {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(1.0 / (1.0 - low))
}

/// Returns the ratio of physical to logical pages with this write amplification; `None` unless it
/// is above 1.
pub(super) fn ratio(amplification: f64) -> Option<f64> {
    let valid = 1.0 - 1.0 / amplification;
    (valid > 0.0 && valid < 1.0).then(|| -valid.ln() / (1.0 - valid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_gives_the_published_value_and_its_inverse_the_ratio() {
        assert!((amplification(1.3).unwrap() - 2.36).abs() < 0.005);
        for given in [1.02, 1.07, 1.16, 1.5, 2.0, 4.0] {
            let found = ratio(amplification(given).unwrap()).unwrap();
            assert!((found / given - 1.0).abs() < 1e-6, "{found} for {given}");
        }
        assert_eq!([amplification(1.0), ratio(1.0), ratio(0.5)], [None; 3]);
    }
}
