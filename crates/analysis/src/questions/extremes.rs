//! The busiest and the slowest minute of a capture, found in its steps.

use crate::sums::capture_step::CaptureStep;
use crate::sums::io_count::IoCount;
use std::collections::BTreeMap;
use steadfast_tracefile::cube_file::TimeSums;
use steadfast_tracefile::observed_time::ObservedTime;

const SECOND_NS: u64 = 1_000_000_000;
/// A minute, in nanoseconds.
pub const MINUTE_NS: u64 = 60 * SECOND_NS;
/// Candidate lengths of a period, the longest first. The first that fits [`LENGTHS_MIN`] times
/// into the observed time is used.
const LENGTHS_NS: [u64; 3] = [MINUTE_NS, 10 * SECOND_NS, SECOND_NS];
const LENGTHS_MIN: u64 = 5;
/// Minimum number of I/Os with a response time from which a period can be the slowest: the mean of
/// fewer says little.
const RESPONSES_MIN: u64 = 10;
/// Longest capture that is searched, in steps: the minutes of a year.
pub const STEPS_MAX: u64 = 366 * 24 * 60;

/// A minute of a capture, or a shorter period of a short capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExtremePeriod {
    /// Start, in nanoseconds since the capture began.
    pub from_ns: u64,
    /// End, in nanoseconds since the capture began.
    pub to_ns: u64,
    /// Observed time between begin and end, in nanoseconds.
    pub observed_ns: u64,
    /// I/Os of all operations that were issued in the period, with the bytes of reads and writes.
    pub count: IoCount,
    /// Response times of these I/Os.
    pub responses: TimeSums,
}

impl ExtremePeriod {
    /// Returns the I/Os per second.
    pub fn iops(&self) -> f64 {
        self.count.ios as f64 * 1e9 / self.observed_ns as f64
    }
    /// Returns the decimal megabytes per second.
    pub fn megabytes_per_second(&self) -> f64 {
        self.count.bytes as f64 * 1e3 / self.observed_ns as f64
    }
    /// Returns the average response time, in nanoseconds; `None` if no completion was seen.
    pub fn response_mean_ns(&self) -> Option<u64> {
        self.responses.mean_ns()
    }
}

/// The periods of a capture that stand out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extremes {
    /// Length of each period, in nanoseconds.
    pub length_ns: u64,
    /// Period with the most I/Os per second.
    pub busiest: Option<ExtremePeriod>,
    /// Period with the most bytes per second.
    pub most_moved: Option<ExtremePeriod>,
    /// Period with the longest average response time, of those between the first and the last I/O.
    pub slowest: Option<ExtremePeriod>,
}

impl Extremes {
    /// Finds the extremes in the steps of a capture. The periods begin with a step and were
    /// observed completely. They last a minute, 10 s or 1 s in a short capture, or one step if that
    /// is wider than a minute. Returns `None` if the capture is too short.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use steadfast_analysis::questions::extremes::Extremes;
    /// use steadfast_analysis::sums::capture_step::CaptureStep;
    /// use steadfast_tracefile::observed_time::ObservedTime;
    /// let step = |ios| {
    ///     let mut step = CaptureStep::default();
    ///     step.ops[0].ios = ios;
    ///     step
    /// };
    /// // Steps of half a second: 4 + 5 I/Os in the second from 2 s on.
    /// let steps = BTreeMap::from([(0, step(3)), (4, step(4)), (5, step(5)), (8, step(7))]);
    /// let observed = ObservedTime::new(vec![(0, 6_000_000_000)]);
    /// let found = Extremes::find(&steps, 500_000_000, &observed).unwrap();
    /// let busiest = found.busiest.unwrap();
    /// assert_eq!((busiest.from_ns, busiest.count.ios), (2_000_000_000, 9));
    /// ```
    pub fn find(
        steps: &BTreeMap<u64, CaptureStep>,
        step_ns: u64,
        observed: &ObservedTime,
    ) -> Option<Extremes> {
        let total_ns = observed.total_ns();
        let fits = |length: &u64| {
            length.is_multiple_of(step_ns.max(1)) && length.saturating_mul(LENGTHS_MIN) <= total_ns
        };
        let wide = (step_ns > MINUTE_NS).then_some(step_ns);
        let length_ns = LENGTHS_NS.into_iter().chain(wide).find(fits)?;
        let (first, last) = (*steps.keys().next()?, *steps.keys().next_back()?);
        if last - first >= STEPS_MAX {
            return None;
        }
        let count = length_ns.checked_div(step_ns).filter(|count| *count <= STEPS_MAX)?;
        let mut found = Extremes { length_ns, ..Extremes::default() };
        // A busy period begins or ends with a step that has I/Os.
        for begin in first.saturating_sub(count - 1)..=last {
            let inside = steps.range(begin..begin.saturating_add(count));
            let (mut total, mut responses) = (IoCount::default(), TimeSums::default());
            for (_, step) in inside {
                total.add(IoCount { ios: step.ios(), bytes: step.transferred_bytes() });
                responses.merge(step.times.responses);
            }
            if total.ios == 0 {
                continue;
            }
            let from_ns = begin.saturating_mul(step_ns);
            let to_ns = from_ns.saturating_add(length_ns);
            let observed_ns = observed.within(&[(from_ns, to_ns)]).total_ns();
            if observed_ns == length_ns {
                // A period that reaches beyond the I/Os would be the mean of a few of them.
                let is_inside = begin >= first && begin + (count - 1) <= last;
                let period = ExtremePeriod { from_ns, to_ns, observed_ns, count: total, responses };
                found.take(period, is_inside);
            }
        }
        Some(found)
    }

    /// Compares a period; only one that lies between the first and the last I/O can be the slowest.
    fn take(&mut self, period: ExtremePeriod, is_inside: bool) {
        let count = period.count;
        if self.busiest.is_none_or(|busiest| count.ios > busiest.count.ios) {
            self.busiest = Some(period);
        }
        if count.bytes > self.most_moved.map_or(0, |most| most.count.bytes) {
            self.most_moved = Some(period);
        }
        let mean = |period: &ExtremePeriod| period.response_mean_ns();
        if is_inside
            && period.responses.count >= RESPONSES_MIN
            && self.slowest.is_none_or(|slowest| mean(&period) > mean(&slowest))
        {
            self.slowest = Some(period);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(ios: u64, response_ns: u64) -> CaptureStep {
        let mut step = CaptureStep::default();
        step.ops[1].ios = ios;
        step.ops[1].bytes = ios * 1_000_000;
        (step.times.responses.count, step.times.responses.sum_ns) = (ios, ios * response_ns);
        step
    }

    /// Ten minutes of 1 s steps: 1 I/O a second of 1 ms; 10 a second from 5:10 to 5:40; 30 I/Os
    /// of 9 ms in 7:00; nothing else.
    #[test]
    fn a_minute_is_found_wherever_it_begins() {
        let mut steps: BTreeMap<u64, CaptureStep> =
            (0..600).map(|second| (second, step(1, 1_000_000))).collect();
        (310..340).for_each(|second| drop(steps.insert(second, step(10, 1_000_000))));
        steps.insert(420, step(30, 9_000_000));
        let observed = ObservedTime::new(vec![(0, 600 * SECOND_NS)]);
        let found = Extremes::find(&steps, SECOND_NS, &observed).unwrap();
        assert_eq!(found.length_ns, MINUTE_NS);
        let busiest = found.busiest.unwrap();
        // The first minute that holds the thirty seconds.
        assert_eq!((busiest.from_ns / SECOND_NS, busiest.count.ios), (280, 330));
        assert_eq!((busiest.iops(), busiest.megabytes_per_second()), (5.5, 5.5));
        let slowest = found.slowest.unwrap();
        assert_eq!(slowest.from_ns / SECOND_NS, 361);
        assert_eq!(slowest.response_mean_ns(), Some((59 + 30 * 9) * 1_000_000 / 89));
    }

    /// Five seconds of 20 I/Os of 1 ms in each step of 50 ms, the last with 17 of 9 ms, and two
    /// silent seconds after them.
    #[test]
    fn the_slowest_second_lies_between_the_first_and_the_last_io() {
        let mut steps: BTreeMap<u64, CaptureStep> =
            (0..100).map(|number| (number, step(20, 1_000_000))).collect();
        steps.insert(99, step(17, 9_000_000));
        let observed = ObservedTime::new(vec![(0, 7 * SECOND_NS)]);
        let slowest = Extremes::find(&steps, 50_000_000, &observed).unwrap().slowest.unwrap();
        assert_eq!((slowest.from_ns, slowest.to_ns), (4 * SECOND_NS, 5 * SECOND_NS));
        assert_eq!(slowest.count.ios, 19 * 20 + 17);
    }

    #[test]
    fn partly_observed_minutes_do_not_count() {
        let steps = BTreeMap::from([(0, step(50, 1)), (7, step(20, 1))]);
        let half = ObservedTime::new(vec![(SECOND_NS / 2, 9 * SECOND_NS)]);
        let found = Extremes::find(&steps, SECOND_NS, &half).unwrap();
        assert_eq!(found.busiest.unwrap().from_ns, 7 * SECOND_NS);
        let short = ObservedTime::new(vec![(0, 4 * SECOND_NS)]);
        assert_eq!(Extremes::find(&steps, SECOND_NS, &short), None);
        assert_eq!(Extremes::find(&steps, 7 * SECOND_NS, &half), None);
        let day = ObservedTime::new(vec![(0, 86_400 * SECOND_NS)]);
        let hours = Extremes::find(&steps, 3600 * SECOND_NS, &day).unwrap();
        assert_eq!((hours.length_ns, hours.busiest.unwrap().count.ios), (3600 * SECOND_NS, 50));
    }
}
