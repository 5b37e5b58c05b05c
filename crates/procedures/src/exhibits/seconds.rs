//! Plots of a load second by second, from the steps' intervals.

use crate::exhibits::pages::push_point;
use crate::exhibits::time_axis::{PlotTimeAxis, minutes};
use steadfast_domain::findings::{Axis, BandEdge, Plot, Scale, Series, Stroke};
use steadfast_domain::measurement::Interval;
use steadfast_domain::{CoarseHistogram, Nanos, Outcome, Step};

/// Minimum length of an interval with a rate, as a share of the longest. That is a second, unless
/// all steps are shorter.
const RATED_SHARE: f64 = 0.5;

/// Possible upper edges of a band, best first.
const UPPER: [(&str, f64); 3] = [("99.9 %", 0.999), ("99 %", 0.99), ("90 %", 0.9)];

/// One interval of about a second.
pub(crate) struct SecondValues {
    /// Middle of the interval, as time since the load began.
    pub at: Nanos,
    /// Reads and writes per second.
    pub iops: Option<f64>,
    pub mb_per_second: Option<f64>,
    /// Median response time in ms.
    pub median: Option<f64>,
    /// Each percentile of [`UPPER`] in ms; `None` if fewer than ten I/Os lie beyond it.
    pub upper: [Option<f64>; UPPER.len()],
    /// Maximum response time in ms.
    pub longest: Option<f64>,
    /// True if the run had released the device before this interval.
    pub gap: bool,
}

/// Returns every second of these steps. A second cut short by the end of a step has rates over its
/// own length; below [`RATED_SHARE`] of the longest interval it has none.
pub(crate) fn seconds(steps: &[(&Step, &Outcome)]) -> Vec<SecondValues> {
    let intervals = steps.iter().flat_map(|(_, outcome)| &outcome.measurement.intervals);
    let rated_length = intervals.map(length).max().unwrap_or_default().0 as f64 * RATED_SHARE;
    let mut before = Nanos::ZERO;
    let mut all = Vec::new();
    for (_, outcome) in steps {
        let measurement = &outcome.measurement;
        for (index, interval) in measurement.intervals.iter().enumerate() {
            let gap = index == 0 && outcome.gap_before.is_some();
            all.push(second(interval, before, rated_length, gap));
        }
        before += measurement.elapsed;
    }
    all
}

fn length(interval: &Interval) -> Nanos {
    interval.end.saturating_sub(interval.begin)
}

/// Returns the values of an interval of a step that began `before` into the load. `rated_length` is
/// the minimum length for a rate, in nanoseconds.
fn second(interval: &Interval, before: Nanos, rated_length: f64, gap: bool) -> SecondValues {
    let length = length(interval);
    let has_rate = length.0 as f64 >= rated_length;
    let mut histogram = CoarseHistogram::default();
    interval.moving().for_each(|tally| histogram.merge(&tally.histogram));
    let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
    let longest = interval.moving().map(|tally| tally.response_max).max();
    // A bucket's upper edge may lie beyond the longest.
    let percentile = |fraction: f64| {
        let found = histogram.reportable_percentile(fraction)?;
        Some(longest.map_or(found, |longest| found.min(longest)))
    };
    SecondValues {
        at: Nanos(before.0 + interval.begin.0 + length.0 / 2),
        iops: interval.iops().filter(|_| has_rate),
        mb_per_second: interval.bytes_per_second().filter(|_| has_rate).map(|rate| rate / 1e6),
        median: ms(percentile(0.5)),
        upper: UPPER.map(|(_, fraction)| ms(percentile(fraction))),
        longest: ms(longest),
        gap,
    }
}

/// Plots a value of every second over time; a gap breaks the line.
pub(crate) fn curve(
    seconds: &[SecondValues],
    time: &PlotTimeAxis,
    value: impl Fn(&SecondValues) -> Option<f64>,
) -> Vec<(f64, Option<f64>)> {
    let mut points = Vec::with_capacity(seconds.len());
    for second in seconds {
        push_point(&mut points, second.gap, time.position(minutes(second.at)), value(second));
    }
    points
}

/// Plots response times over time: a band from the median to a high percentile, and the maximum of
/// each second.
pub(crate) fn response_plot(
    id: &str,
    title: &str,
    time: &PlotTimeAxis,
    seconds: &[SecondValues],
) -> Plot {
    // Choose the highest percentile that most seconds support.
    let has = |at: &usize| seconds.iter().filter(|second| second.upper[*at].is_some()).count();
    let at = (0..UPPER.len()).find(|at| 2 * has(at) > seconds.len()).unwrap_or(UPPER.len() - 1);
    let name = UPPER[at].0;
    let edges: Vec<BandEdge> = curve(seconds, time, |s| s.median)
        .into_iter()
        .zip(curve(seconds, time, |s| s.upper[at]))
        .map(|((x, low), (_, high))| BandEdge { x, low, high })
        .collect();
    Plot::lines(id, title, time.axis.clone(), Axis::new("Response time (ms)", Scale::Log10))
    .caption(format!(
        "Of every second the band from the median to {name} of the response times (where ten I/Os \
         lie beyond it), and the longest. Read off buckets that are 6.25 % wide."
    ))
    .with(Series::new("longest", Stroke::Context, curve(seconds, time, |s| s.longest)))
    .with(Series::band(format!("median to {name}"), &edges))
    .with(Series::new("median", Stroke::Measured, curve(seconds, time, |s| s.median)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::scripted::write_step;
    use steadfast_domain::measurement::IntervalTally;
    use steadfast_domain::{Bytes, Measurement, Op};

    /// Lengths of the intervals of a step in ms, with 1000 reads per second.
    fn rates(lengths: &[u64]) -> Vec<Option<f64>> {
        let step = write_step("rounds", 1, 1);
        let mut measurement = Measurement::default();
        for length in lengths {
            let begin = measurement.elapsed;
            measurement.elapsed += Nanos::from_millis(*length);
            let tally = IntervalTally {
                op: Op::Read,
                ios: *length,
                bytes: Bytes(4096 * length),
                response_sum: Nanos(*length),
                response_max: Nanos::from_millis(1),
                histogram: CoarseHistogram::default(),
            };
            let (end, tallies) = (measurement.elapsed, vec![tally]);
            measurement.intervals.push(Interval { begin, end, partial: false, tallies });
        }
        let outcome = Outcome { measurement, gap_before: None };
        seconds(&[(&step, &outcome)]).iter().map(|second| second.iops).collect()
    }

    #[test]
    fn a_rate_needs_half_of_the_usual_length() {
        let rate = Some(1000.0);
        assert_eq!(rates(&[1000, 1000, 500]), [rate, rate, rate]);
        assert_eq!(rates(&[1000, 1000, 499]), [rate, rate, None]);
        assert_eq!(rates(&[200]), [rate], "a step of 200 ms");
    }

    #[test]
    fn a_second_without_an_io_has_no_response_time() {
        let (begin, end) = (Nanos::ZERO, Nanos::SECOND);
        let silent = Interval { begin, end, partial: false, tallies: Vec::new() };
        let second = second(&silent, Nanos::ZERO, 0.0, false);
        assert_eq!((second.iops, second.median, second.longest), (Some(0.0), None, None));
    }
}
