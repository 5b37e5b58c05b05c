//! A load second by second: what the steps' intervals say, drawn over time.

use steadfast_domain::findings::{Axis, Plot, PlotKind, Scale, Series, Stroke};
use steadfast_domain::measurement::Interval;
use steadfast_domain::{CoarseHistogram, Nanos, Outcome, Step};

/// The upper edges that a band may have, the best one first.
const UPPER: [(&str, f64); 3] = [("99.9 %", 0.999), ("99 %", 0.99), ("90 %", 0.9)];

/// One interval of about a second.
pub(crate) struct Second {
    /// Time since the load began, at its middle.
    pub at: Nanos,
    /// Reads and writes per second.
    pub iops: Option<f64>,
    /// MB (10^6 bytes) per second.
    pub mb_per_second: Option<f64>,
    /// Half of the I/Os took no longer, in ms.
    pub median: Option<f64>,
    /// The same for each of [`UPPER`], where ten I/Os lie beyond it.
    pub upper: [Option<f64>; UPPER.len()],
    /// The longest response time, in ms.
    pub longest: Option<f64>,
    /// The run had let go of the device before it.
    pub gap: bool,
}

/// Every second of these steps. A second that a step's end cut short has rates over its own
/// length; one that is shorter than half of the others has none.
pub(crate) fn seconds(steps: &[(&Step, &Outcome)]) -> Vec<Second> {
    let mut before = Nanos::ZERO;
    let mut all = Vec::new();
    for (_, outcome) in steps {
        let measurement = &outcome.measurement;
        for (index, interval) in measurement.intervals.iter().enumerate() {
            let gap = index == 0 && outcome.gap_before.is_some();
            all.push(second(interval, before, gap));
        }
        before += measurement.elapsed;
    }
    all
}

/// Seconds of which less than this part was measured have no rate.
const ENOUGH: f64 = 0.5;

fn second(interval: &Interval, before: Nanos, gap: bool) -> Second {
    let length = interval.end.saturating_sub(interval.begin);
    let is_enough = length.as_secs_f64() >= ENOUGH;
    let mut histogram = CoarseHistogram::default();
    interval.tallies.iter().for_each(|tally| histogram.merge(&tally.histogram));
    let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
    Second {
        at: Nanos(before.0 + interval.begin.0 + length.0 / 2),
        iops: interval.iops().filter(|_| is_enough),
        mb_per_second: interval.bytes_per_second().filter(|_| is_enough).map(|rate| rate / 1e6),
        median: ms(histogram.supported_quantile(0.5)),
        upper: UPPER.map(|(_, fraction)| ms(histogram.supported_quantile(fraction))),
        longest: ms(interval.tallies.iter().map(|tally| tally.response_max).max()),
        gap,
    }
}

/// Something of a second over time; a gap breaks the line. `unit` is how many of the axis'
/// units a minute has.
pub(crate) fn curve(
    seconds: &[Second],
    unit: f64,
    value: impl Fn(&Second) -> Option<f64>,
) -> Vec<(f64, Option<f64>)> {
    let mut points = Vec::with_capacity(seconds.len());
    for second in seconds {
        let x = second.at.as_secs_f64() / 60.0 * unit;
        if second.gap && !points.is_empty() {
            points.push((x, None));
        }
        points.push((x, value(second)));
    }
    points
}

/// Response times over time: the band from the median to 99.9 %, and the longest of each
/// second.
pub(crate) fn response_plot(
    (id, title): (&str, &str),
    (time, unit): (Axis, f64),
    seconds: &[Second],
) -> Plot {
    // The best percentile that most seconds have enough I/Os for.
    let has = |at: &usize| seconds.iter().filter(|second| second.upper[*at].is_some()).count();
    let at = (0..UPPER.len()).find(|at| 2 * has(at) > seconds.len()).unwrap_or(UPPER.len() - 1);
    let name = UPPER[at].0;
    let edges: Vec<(f64, Option<f64>, Option<f64>)> = curve(seconds, unit, |s| s.median)
        .into_iter()
        .zip(curve(seconds, unit, |s| s.upper[at]))
        .map(|((x, low), (_, high))| (x, low, high))
        .collect();
    Plot::new(
        PlotKind::Lines,
        id,
        title,
        time,
        Axis::new("Response time (ms)", Scale::Log10),
    )
    .caption(format!(
        "Of every second the band from the median to {name} of the response times (where ten I/Os \
         lie beyond it), and the longest. Read off buckets that are 6.25 % wide."
    ))
    .with(Series::new("longest", Stroke::Context, curve(seconds, unit, |s| s.longest)))
    .with(Series::band(format!("median to {name}"), &edges))
    .with(Series::new("median", Stroke::Measured, curve(seconds, unit, |s| s.median)))
}
