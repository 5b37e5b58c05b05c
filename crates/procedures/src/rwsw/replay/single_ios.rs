//! Report of a replay of single I/Os: the I/Os left out, and the punctuality of the replay.
//!
//! The start error of an I/O is the time from its due time to its submission to the kernel. It is
//! never negative: the engine submits no I/O early.

use super::results::{RwswReplayResults, captured_time};
use steadfast_domain::findings::{Axis, Facts, Plot, Scale, Series, Setting, Stroke, TimeUnit};
use steadfast_domain::replayed::{IntervalLateness, Lateness};
use steadfast_domain::script::{ScriptLoad, Timing};
use steadfast_domain::text::{grouped, number};
use steadfast_domain::{
    Caveat, Measurement, Nanos, Op, Record, ReplayResult, Tally, caveats as ids,
};

/// Mean start error from which I/Os count as late: our choice, the longest response time of a fast
/// drive.
const LATE: Nanos = Nanos::from_millis(1);

/// Increase of the mean start error from the first to the last seconds that counts as growth: our
/// choice, a tenth of [`LATE`].
const GROWN: Nanos = Nanos(LATE.0 / 10);

/// Number of seconds at each end that are compared, at most a third of all: our choice.
const AT_EACH_END: usize = 10;

/// Sums over all parts of a replayed script.
#[derive(Default)]
struct ReplaySums {
    left_out: u64,
    fua_left_out: u64,
    late: Lateness,
    starved: u64,
    starved_for: Nanos,
    overlaps: u64,
}

impl ReplaySums {
    fn new(results: &RwswReplayResults<'_>) -> Self {
        let mut sums = ReplaySums::default();
        let parts = results.measurements().filter_map(|m: &Measurement| m.replay.as_deref());
        parts.for_each(|part| sums.add(part));
        sums
    }

    fn add(&mut self, part: &ReplayResult) {
        self.left_out += part.left_out.iter().map(|left| left.ios).sum::<u64>();
        self.fua_left_out += part.fua_left_out;
        self.late.ios += part.lateness.ios;
        self.late.sum += part.lateness.sum;
        self.late.max = self.late.max.max(part.lateness.max);
        self.late.histogram.merge(&part.lateness.histogram);
        self.starved += part.starved;
        self.starved_for += part.starved_for;
        self.overlaps += part.overlaps;
    }

    fn mean(&self) -> Option<Nanos> {
        self.late.sum.0.checked_div(self.late.ios).map(Nanos)
    }
}

pub(super) fn caveats(
    script: &ScriptLoad,
    record: &Record,
    results: &RwswReplayResults<'_>,
) -> Vec<Caveat> {
    let sums = ReplaySums::new(results);
    let mut caveats = Vec::new();
    let uncounted = script.counts.total().saturating_sub(results.played() + sums.left_out);
    if record.has_ended() && sums.left_out + sums.fua_left_out + uncounted > 0 {
        caveats.push(Caveat::deviation(
            ids::REPLAY_LEFT_OUT,
            format!(
                "Of {} I/Os {} were left out by choice and {uncounted} are in no count (outstanding \
                 where the run was cut by a gap, or failed); {} writes were played without forced \
                 unit access.",
                script.counts.total(),
                sums.left_out,
                sums.fua_left_out
            ),
            "",
        ));
    }
    if let Some(mean) = sums.mean().filter(|mean| *mean >= LATE) {
        caveats.push(Caveat::deviation(
            ids::REPLAY_LATE,
            format!(
                "I/Os were handed over {} late on average, {} at most: the target, or this host, \
                 is slower than the trace.",
                start_error_text(mean),
                start_error_text(sums.late.max)
            ),
            "Allow more outstanding I/Os (--depth), or a faster host.",
        ));
    } else if let Some(late) = late_percentile(&sums.late, 0.99).filter(|late| *late >= LATE) {
        caveats.push(Caveat::remark(
            ids::REPLAY_LATE,
            format!(
                "One I/O in a hundred was handed over {} late or more, {} at most; mean and drift \
                 decide whether the target kept up.",
                start_error_text(late),
                start_error_text(sums.late.max)
            ),
            "Replay on an idle host, or allow more outstanding I/Os (--depth).",
        ));
    }
    if sums.starved > 0 {
        caveats.push(Caveat::deviation(
            ids::REPLAY_STARVED,
            format!(
                "{} times, for {} together, the next I/O was not decoded yet when it was looked \
                 for.",
                sums.starved,
                sums.starved_for.taken()
            ),
            "Keep the trace on a disk that is not under test.",
        ));
    }
    caveats
}

/// Returns the number of I/Os that were left out by choice.
pub(super) fn left_out(results: &RwswReplayResults<'_>) -> u64 {
    ReplaySums::new(results).left_out
}

/// Returns the response times of an operation, measured from submission.
pub(super) fn served(results: &RwswReplayResults<'_>, op: Op) -> Tally {
    let parts = results.measurements().filter_map(|m| m.replay.as_deref());
    let streams = parts.flat_map(|part| &part.served).filter(|stream| stream.op == op);
    streams.map(|stream| &stream.tally).sum()
}

/// Returns the facts on how many I/Os were played, left out and late.
pub(super) fn facts(script: &ScriptLoad, results: &RwswReplayResults<'_>) -> Facts {
    let sums = ReplaySums::new(results);
    Facts::new("Single I/Os").rows([
        Setting::identity("SHA-256 of the I/Os", &script.digest),
        Setting::outcome("I/Os in the script", grouped(script.counts.total())),
        Setting::outcome("I/Os played", grouped(results.played())),
        Setting::outcome("I/Os left out", grouped(sums.left_out)),
        Setting::outcome("I/Os that overlapped", grouped(sums.overlaps)),
        Setting::outcome("Handed over late, on average", sums.mean().map(start_error_text)),
        Setting::outcome("Handed over late, at most", start_error_text(sums.late.max)),
    ])
}

/// Pace of the target, or the host, compared with the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplayPace {
    KeptUp,
    Slower,
    /// Too few seconds were played to decide.
    Unknown,
}

impl ReplayPace {
    fn verdict(self) -> Option<&'static str> {
        match self {
            ReplayPace::KeptUp => Some("the target kept up with the trace"),
            ReplayPace::Slower => Some("the target is slower than the trace"),
            ReplayPace::Unknown => None,
        }
    }
}

/// Returns the seconds of a replay that have I/Os, in order.
fn seconds<'a>(results: &'a RwswReplayResults<'_>) -> impl Iterator<Item = IntervalLateness> + 'a {
    let parts = results.measurements().filter_map(|m| m.replay.as_deref());
    parts.flat_map(|part| &part.intervals).copied().filter(|second| second.ios > 0)
}

fn mean(seconds: &[IntervalLateness]) -> Option<Nanos> {
    let ios: u64 = seconds.iter().map(|second| second.ios).sum();
    let sum: u64 = seconds.iter().map(|second| second.sum.0).sum();
    sum.checked_div(ios).map(Nanos)
}

/// Mean start errors of the first and of the last seconds.
struct EndErrors {
    first: Nanos,
    last: Nanos,
}

/// Returns the start errors at both ends; `None` with fewer than three seconds.
fn ends(seconds: &[IntervalLateness]) -> Option<EndErrors> {
    let count = (seconds.len() / 3).min(AT_EACH_END);
    let first = mean(&seconds[..count])?;
    let last = mean(&seconds[seconds.len() - count..])?;
    Some(EndErrors { first, last })
}

fn pace(seconds: &[IntervalLateness]) -> ReplayPace {
    let is_late = mean(seconds).is_some_and(|mean| mean >= LATE);
    match ends(seconds) {
        _ if is_late => ReplayPace::Slower,
        Some(EndErrors { first, last }) if last.saturating_sub(first) >= GROWN => {
            ReplayPace::Slower
        }
        Some(_) => ReplayPace::KeptUp,
        None => ReplayPace::Unknown,
    }
}

/// Returns a percentile of the start errors; `None` with too few I/Os. A bucket's upper edge may lie
/// beyond the longest.
fn late_percentile(late: &Lateness, share: f64) -> Option<Nanos> {
    late.histogram.reportable_percentile(share).map(|found| found.min(late.max))
}

fn start_error_text(error: Nanos) -> String {
    if error < Nanos::from_millis(1) {
        format!("{:.1} µs", error.0 as f64 / 1e3)
    } else {
        format!("{} ms", number(error.as_millis_f64(), 3))
    }
}

/// Returns start errors and the verdict; `None` for a closed loop, which has no due times.
pub(super) fn punctuality(script: &ScriptLoad, results: &RwswReplayResults<'_>) -> Option<Facts> {
    if script.timing == Timing::Closed {
        return None;
    }
    let sums = ReplaySums::new(results);
    let late = &sums.late;
    let seconds: Vec<IntervalLateness> = seconds(results).collect();
    let percentile = |share: f64| late_percentile(late, share).map(start_error_text);
    let drift = ends(&seconds).map(|EndErrors { first, last }| {
        let sign = if last < first { "−" } else { "" };
        format!("{sign}{}", start_error_text(Nanos(last.0.abs_diff(first.0))))
    });
    let is_tail_late = late_percentile(late, 0.99).is_some_and(|late| late >= LATE);
    let verdict = match pace(&seconds) {
        ReplayPace::KeptUp if is_tail_late => Some("the target kept up with the trace on average"),
        pace => pace.verdict(),
    };
    Some(Facts::new("Punctuality").rows([
        Setting::outcome("Start error, mean", sums.mean().map(start_error_text)),
        Setting::outcome("Start error p50", percentile(0.5)),
        Setting::outcome("Start error p99", percentile(0.99)),
        Setting::outcome("Start error p99.9", percentile(0.999)),
        Setting::outcome(
            "Start error, at most",
            (late.ios > 0).then(|| start_error_text(late.max)),
        ),
        Setting::outcome("Drift, last seconds against first", drift),
        Setting::outcome("Verdict", verdict.map(str::to_owned)),
    ]))
}

/// Returns a plot of the start errors second by second; `None` for a closed loop, which has no due
/// times, or without I/Os.
pub(super) fn lateness_plot(script: &ScriptLoad, results: &RwswReplayResults<'_>) -> Option<Plot> {
    if script.timing == Timing::Closed {
        return None;
    }
    let mut points: Vec<(f64, IntervalLateness)> = Vec::new();
    let mut before = 0.0;
    for measurement in results.measurements() {
        let Some(part) = measurement.replay.as_deref() else { continue };
        for (interval, late) in measurement.intervals.iter().zip(&part.intervals) {
            let middle = (interval.begin.as_secs_f64() + interval.end.as_secs_f64()) / 2.0;
            points.push((before + middle, *late));
        }
        before += measurement.elapsed.as_secs_f64();
    }
    let line = |name: &str, stroke, value: &dyn Fn(&IntervalLateness) -> Option<f64>| {
        let at = |seconds: f64| captured_time(script.timing, seconds);
        Series::new(name, stroke, points.iter().map(|(s, late)| (at(*s), value(late))).collect())
    };
    let micros = |nanos: Nanos| nanos.0 as f64 / 1e3;
    points.iter().any(|(_, late)| late.ios > 0).then(|| {
        Plot::lines(
            "start-error-time",
            "Replay Native Start Error v Time",
            Axis::time("Time of the capture", TimeUnit::Seconds),
            Axis::new("Start error (µs)", Scale::Log10),
        )
        .caption("How late I/Os were handed over, each second: on average, and the latest.")
        .with(line("mean", Stroke::Average, &|late| late.mean().map(micros)))
        .with(line("latest", Stroke::Context, &|late| (late.ios > 0).then(|| micros(late.max))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lasting(late_us: &[u64]) -> Vec<IntervalLateness> {
        let second = |late: &u64| {
            let max = Nanos(late * 1000);
            IntervalLateness { ios: 1000, sum: Nanos(max.0 * 1000), max }
        };
        late_us.iter().map(second).collect()
    }

    #[test]
    fn a_target_is_slower_where_start_errors_grow_or_are_long_throughout() {
        assert_eq!(pace(&lasting(&[3, 4, 3, 5, 4, 3])), ReplayPace::KeptUp);
        assert_eq!(pace(&lasting(&[3, 4, 90, 140, 200, 350])), ReplayPace::Slower);
        assert_eq!(pace(&lasting(&[1200; 6])), ReplayPace::Slower);
        // One late second in the middle says nothing about the pace of the target.
        assert_eq!(pace(&lasting(&[3, 3, 3, 900, 3, 3, 3, 3])), ReplayPace::KeptUp);
        assert_eq!(
            (pace(&lasting(&[3, 4])), pace(&[])),
            (ReplayPace::Unknown, ReplayPace::Unknown)
        );
        let ends = ends(&lasting(&[10, 20, 30, 40, 50, 60])).unwrap();
        assert_eq!((ends.first, ends.last), (Nanos(15_000), Nanos(55_000)));
    }
}
