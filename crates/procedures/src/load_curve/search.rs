//! Search for the highest rate that meets a service level, by bisection.

/// Relative width of the interval at which the search ends.
pub(super) const PRECISION: f64 = 0.02;

/// Answer of a step about its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RateAnswer {
    /// The rate met the service level.
    Met,
    /// It did not, or the device could not keep up.
    Missed,
    /// Too few I/Os lie beyond the percentile.
    TooFewIos,
    /// The step has no response times, as in a rehearsal.
    NoResponseTimes,
}

/// A rate with the answer of its step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AnsweredRate {
    pub rate: f64,
    pub answer: RateAnswer,
}

/// Rates between which the search continues.
#[derive(Debug, Clone, Copy, PartialEq)]
struct RateInterval {
    low: f64,
    high: f64,
}

/// A search for the highest rate that meets a service level. Higher rates are taken to be no
/// faster: a rate above one that missed is never the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RateSearch {
    /// Highest rate that met, below every one that missed.
    met: Option<f64>,
    missed: Option<f64>,
    is_lowest_missed: bool,
    /// The interval left to search; `None` if there is none.
    interval: Option<RateInterval>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SearchResult {
    /// Highest rate that met; a rate higher by at most [`PRECISION`] missed.
    Found(f64),
    /// No rate missed; this is the highest that met.
    AllMet(f64),
    /// The lowest rate missed.
    NoneMet,
    /// No rate was shown to meet it.
    Unknown,
    /// The search has not ended.
    Open,
}

impl RateSearch {
    /// Creates the search that follows a curve, given by its rates in ascending order.
    pub(super) fn new(curve: &[AnsweredRate]) -> Self {
        let missed = curve.iter().find(|tried| tried.answer == RateAnswer::Missed);
        let missed = missed.map(|tried| tried.rate);
        let met = curve.iter().rfind(|tried| {
            tried.answer == RateAnswer::Met && missed.is_none_or(|missed| tried.rate < missed)
        });
        let met = met.map(|tried| tried.rate);
        let lacks_times = curve.iter().any(|tried| tried.answer == RateAnswer::NoResponseTimes);
        let interval = match (met, missed) {
            (Some(low), Some(high)) => Some(RateInterval { low, high }),
            // A rehearsal plans the longest search.
            _ if lacks_times => {
                let ends = curve.first().zip(curve.last());
                ends.map(|(first, last)| RateInterval { low: first.rate, high: last.rate })
            }
            _ => None,
        };
        let is_lowest_missed =
            curve.first().is_some_and(|lowest| lowest.answer == RateAnswer::Missed);
        RateSearch { met, missed, is_lowest_missed, interval }
    }

    /// Returns the next rate to try; `None` if the search has ended.
    pub(super) fn next(&self) -> Option<f64> {
        let RateInterval { low, high } = self.interval?;
        (high - low > PRECISION * high).then_some((low + high) / 2.0)
    }

    /// Adds the answer of the rate that was tried. A rate that was not shown to meet the service
    /// level counts as one that did not.
    pub(super) fn add(&mut self, rate: f64, answer: RateAnswer) {
        let Some(interval) = &mut self.interval else { return };
        if answer == RateAnswer::Met {
            self.met = Some(rate);
            interval.low = rate;
        } else {
            self.missed = Some(rate);
            interval.high = rate;
        }
    }

    pub(super) fn result(&self) -> SearchResult {
        match (self.met, self.missed) {
            _ if self.next().is_some() => SearchResult::Open,
            (Some(met), Some(_)) => SearchResult::Found(met),
            (Some(met), None) => SearchResult::AllMet(met),
            (None, _) if self.is_lowest_missed => SearchResult::NoneMet,
            (None, _) => SearchResult::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RateAnswer::{Met, Missed, NoResponseTimes, TooFewIos};
    use super::*;

    /// Returns the result of a search after this curve, and the number of rates that it tried.
    fn searched(curve: &[(f64, RateAnswer)], limit: f64) -> (SearchResult, usize) {
        let curve = curve.iter().map(|&(rate, answer)| AnsweredRate { rate, answer });
        let mut search = RateSearch::new(&curve.collect::<Vec<_>>());
        let mut tried = 0;
        while let Some(rate) = search.next() {
            tried += 1;
            search.add(rate, if rate <= limit { Met } else { Missed });
        }
        (search.result(), tried)
    }

    #[test]
    fn bisection_ends_within_two_percent_below_the_limit() {
        for limit in [512.0, 700.0, 777.0, 999.0] {
            let (result, tried) = searched(&[(250.0, Met), (500.0, Met), (1000.0, Missed)], limit);
            let SearchResult::Found(rate) = result else { panic!("{limit}: {result:?}") };
            assert!(rate <= limit && rate > limit * 0.979, "{limit}: {rate}");
            assert!(tried <= 6, "{tried}");
        }
    }

    #[test]
    fn a_rate_above_one_that_missed_is_never_the_result() {
        let curve = [(100.0, Met), (200.0, Missed), (300.0, Met), (400.0, Missed)];
        let (result, _) = searched(&curve, 150.0);
        let SearchResult::Found(rate) = result else { panic!("{result:?}") };
        assert!((147.0..=150.0).contains(&rate), "{rate}");
    }

    #[test]
    fn what_needs_no_search_or_allows_none_has_none() {
        assert_eq!(searched(&[(1.0, Met), (2.0, Met)], 9.0), (SearchResult::AllMet(2.0), 0));
        assert_eq!(searched(&[(1.0, Missed), (2.0, Met)], 9.0), (SearchResult::NoneMet, 0));
        assert_eq!(searched(&[(1.0, TooFewIos), (2.0, Missed)], 9.0), (SearchResult::Unknown, 0));
        assert_eq!(
            searched(&[(1.0, TooFewIos), (2.0, TooFewIos)], 9.0),
            (SearchResult::Unknown, 0)
        );
        let (_, planned) = searched(&[(5.0, NoResponseTimes), (102.0, Missed)], 0.0);
        assert!((8..=12).contains(&planned), "a rehearsal plans the longest search: {planned}");
    }
}
