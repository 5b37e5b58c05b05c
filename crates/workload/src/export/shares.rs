//! Shares of counts and rates.

use steadfast_domain::Nanos;
use steadfast_domain::stimulus::Pace;

/// Least number of I/Os of a rate after rounding, so that it changes the rate by less than 0.1 %.
const EXACT_FROM: u64 = 1000;

/// Returns `part / whole` of a count, rounded down.
pub(super) fn share_of(count: u64, part: u64, whole: u64) -> u64 {
    let share = u128::from(count) * u128::from(part) / u128::from(whole.max(1));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// Returns `part / whole` of a rate; other paces are unchanged. The I/Os of a low rate are counted
/// over a longer time, because a rate of none would end a load.
pub(super) fn share_of_pace(pace: &Pace, part: u64, whole: u64) -> Pace {
    match pace {
        Pace::Fixed { ios, per } => {
            let (ios, per) = share_of_rate(*ios, *per, part, whole);
            Pace::Fixed { ios, per }
        }
        Pace::Poisson { ios, per } => {
            let (ios, per) = share_of_rate(*ios, *per, part, whole);
            Pace::Poisson { ios, per }
        }
        Pace::Closed | Pace::Burst { .. } | Pace::Empirical(_) | Pace::ByStream(_) => pace.clone(),
    }
}

/// Returns `part / whole` of a rate, as I/Os and the time in which they are due.
fn share_of_rate(mut ios: u64, mut per: Nanos, part: u64, whole: u64) -> (u64, Nanos) {
    let is_exact =
        |ios: u64| (u128::from(ios) * u128::from(part)).is_multiple_of(u128::from(whole.max(1)));
    while !is_exact(ios) && share_of(ios, part, whole) < EXACT_FROM {
        let (Some(more), Some(longer)) = (ios.checked_mul(10), per.0.checked_mul(10)) else {
            break;
        };
        (ios, per) = (more, Nanos(longer));
    }
    (share_of(ios, part, whole).max(1), per)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_share_of_a_rate_is_no_rate_of_none() {
        let second = Nanos::SECOND;
        let tenth = share_of_pace(&Pace::Fixed { ios: 100, per: second }, 1, 10);
        assert_eq!(tenth, Pace::Fixed { ios: 10, per: second });
        for (part, whole) in [(1, 3000), (1, 7), (999, 1000), (1, 1_000_003)] {
            let share = share_of_pace(&Pace::Poisson { ios: 100, per: second }, part, whole);
            let exact = 100.0 * part as f64 / whole as f64;
            let error = share.offered_iops().unwrap() / exact - 1.0;
            assert!(error.abs() < 1e-3, "{part} of {whole}: {share:?}");
        }
        assert_eq!(share_of_pace(&Pace::Closed, 1, 2), Pace::Closed);
    }
}
