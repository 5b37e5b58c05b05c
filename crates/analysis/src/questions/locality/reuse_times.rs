//! Times from one access of a block to the next. In a capture of a day, many of them are longer
//! than the buckets of response times cover, so each is also counted in a coarser unit.

use crate::sums::response::{ResponseFigures, ResponseHistogram};

/// Binary logarithm of the coarser unit, in nanoseconds. With it the buckets reach 52 days.
const UNIT_BITS: u32 = 10;

#[derive(Debug, Clone, Default)]
pub(super) struct ReuseTimes {
    /// All times, in nanoseconds.
    times: ResponseHistogram,
    /// All times, in the coarser unit.
    units: ResponseHistogram,
    /// Sum of all times. 64 bits are too few for a million blocks over a day.
    sum_ns: u128,
}

impl ReuseTimes {
    pub(super) fn add(&mut self, ns: u64) {
        self.times.add(ns);
        self.units.add(ns >> UNIT_BITS);
        self.sum_ns += u128::from(ns);
    }

    pub(super) fn count(&self) -> u64 {
        self.times.total.count
    }

    /// Returns the figures. Percentiles beyond the nanosecond buckets come from the coarser unit.
    pub(super) fn figures(&self) -> ResponseFigures {
        let (times, units) = (self.times.figures(), self.units.figures());
        let longest = |units: u64| units << UNIT_BITS | ((1 << UNIT_BITS) - 1);
        let percentile = |time: Option<u64>, unit: Option<u64>| {
            time.or_else(|| unit.map(|unit| longest(unit).min(self.times.total.max_ns)))
        };
        // The mean is at most the longest time, so it fits in 64 bits.
        let mean_ns = self.sum_ns.checked_div(self.count().into()).map(|ns| ns as u64);
        ResponseFigures {
            mean_ns,
            p50_ns: percentile(times.p50_ns, units.p50_ns),
            p99_ns: percentile(times.p99_ns, units.p99_ns),
            p99_9_ns: percentile(times.p99_9_ns, units.p99_9_ns),
            p99_99_ns: percentile(times.p99_99_ns, units.p99_99_ns),
            p99_999_ns: percentile(times.p99_999_ns, units.p99_999_ns),
            ..times
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_days_have_percentiles_within_their_buckets() {
        const HOUR: u64 = 3_600_000_000_000;
        let mut spans = ReuseTimes::default();
        // From 1 s to 1,999 h and 1 s, an hour apart.
        (0..2000).for_each(|at| spans.add(at * HOUR + 1_000_000_000));
        let figures = spans.figures();
        let (mid, most) = (999 * HOUR + 1_000_000_000, 1999 * HOUR + 1_000_000_000);
        let found = figures.p50_ns.unwrap();
        assert!((mid..=mid + mid / 128).contains(&found), "{found}");
        // Longer than 52 days: not reported.
        assert_eq!((figures.p99_ns, figures.max_ns), (None, Some(most)));
        assert_eq!(figures.mean_ns, Some(1000 * HOUR - HOUR / 2 + 1_000_000_000));
        assert_eq!(spans.count(), 2000);
    }

    #[test]
    fn more_than_584_years_in_all_have_an_average() {
        const DAY: u64 = 24 * 3_600_000_000_000;
        let mut spans = ReuseTimes::default();
        (0..1_000_003).for_each(|at| spans.add(DAY + at % 2));
        assert_eq!(spans.figures().mean_ns, Some(DAY));
    }

    #[test]
    fn short_times_have_the_figures_of_response_times() {
        let (mut spans, mut times) = (ReuseTimes::default(), ResponseHistogram::default());
        for at in 0..10_007 {
            spans.add(at * 1_000_003);
            times.add(at * 1_000_003);
        }
        assert_eq!(spans.figures(), times.figures());
    }
}
