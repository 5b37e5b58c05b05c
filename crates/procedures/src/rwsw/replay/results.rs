//! Results of a replay and of its capture, on the time axis of the capture.

use super::setup::{PHASE, PlannedCaptureStep, Replay, ReplayContent};
use crate::common::attempts::steps_of;
use crate::rwsw::segments::outstanding;
use steadfast_domain::applied::AppliedStep;
use steadfast_domain::script::Timing;
use steadfast_domain::{Demand, Measurement, Nanos, Outcome, Record, Step};

/// Values at one time of the capture.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ReplayPoint {
    /// Middle of the interval, in seconds since the first step of the capture began.
    pub at: f64,
    pub iops: Option<f64>,
    pub mb_per_second: Option<f64>,
    /// Average response time in milliseconds.
    pub art: Option<f64>,
    /// Maximum response time in milliseconds.
    pub mrt: Option<f64>,
    /// Average number of outstanding I/Os.
    pub outstanding: Option<f64>,
    /// Maximum number of outstanding I/Os that the capture counted; `None` for a replay, which does
    /// not count them.
    pub outstanding_max: Option<f64>,
    /// I/Os that the replay may have outstanding: thread count x queue depth; `None` for a capture.
    pub outstanding_allowed: Option<f64>,
    /// Threads of the replay, or threads that had I/Os in the captured step.
    pub threads: Option<f64>,
}

impl ReplayPoint {
    /// Returns the average number of outstanding I/Os of each thread.
    pub fn depth_per_thread(&self) -> Option<f64> {
        Some(self.outstanding? / self.threads.filter(|threads| *threads > 0.0)?)
    }

    fn applied_with(self, demand: Demand) -> Self {
        let outstanding_allowed = Some(demand.outstanding() as f64);
        ReplayPoint { outstanding_allowed, threads: Some(f64::from(demand.threads)), ..self }
    }
}

pub struct RwswReplayResults<'a> {
    pub steps: Vec<(&'a Step, &'a Outcome)>,
    pub replayed: Vec<ReplayPoint>,
    /// Values of the applied streams in the capture.
    pub applied: Vec<ReplayPoint>,
    pub captured: Vec<ReplayPoint>,
}

impl<'a> RwswReplayResults<'a> {
    pub fn new(replay: &Replay, record: &'a Record) -> Self {
        let steps = steps_of(record, PHASE);
        let replayed = match &replay.content {
            ReplayContent::Steps(planned) => step_points(replay, planned, &steps),
            ReplayContent::Script { script, .. } => {
                let points = script_points(&steps, &|at| captured_time(script.timing, at));
                points.into_iter().map(|point| point.applied_with(script.demand)).collect()
            }
        };
        let captured = &replay.composite.workload.steps;
        let width = match &replay.content {
            ReplayContent::Steps(_) => None,
            ReplayContent::Script { script, .. } => Some(captured_time(script.timing, 1.0)),
        };
        let spans = spans(captured, width);
        RwswReplayResults {
            steps,
            replayed,
            applied: spans.iter().map(|span| span.applied(replay)).collect(),
            captured: spans.iter().map(PlotStepGroup::whole).collect(),
        }
    }

    pub fn measurements(&self) -> impl Iterator<Item = &'a Measurement> + '_ {
        self.steps.iter().map(|(_, outcome)| &outcome.measurement)
    }

    /// Returns the number of I/Os of all operations that were counted.
    pub fn played(&self) -> u64 {
        self.measurements().flat_map(|m| &m.streams).map(|stream| stream.tally.ios).sum()
    }

    /// Returns true if the capture contains response times or outstanding I/Os.
    pub fn is_compared(&self) -> bool {
        self.captured.iter().any(|point| point.art.is_some() || point.outstanding.is_some())
    }
}

/// Converts a time of the replay to a time of the capture, both in seconds.
pub(super) fn captured_time(timing: Timing, at: f64) -> f64 {
    match timing {
        Timing::Faster { thousandths } => at * thousandths as f64 / 1000.0,
        Timing::Original | Timing::Closed => at,
    }
}

fn middle(step: &AppliedStep, began: Nanos) -> f64 {
    (step.began.saturating_sub(began)).as_secs_f64() + step.lasted.as_secs_f64() / 2.0
}

/// Returns the values of each capture step that was played.
fn step_points(
    replay: &Replay,
    planned: &[PlannedCaptureStep],
    steps: &[(&Step, &Outcome)],
) -> Vec<ReplayPoint> {
    let captured = &replay.composite.workload.steps;
    let began = captured.first().map_or(Nanos::ZERO, |step| step.began);
    let point = |(planned, (_, outcome)): (&PlannedCaptureStep, &(&Step, &Outcome))| {
        let m = &outcome.measurement;
        // Flushes too, as in the capture.
        let total = m.with_flushes();
        let seconds = m.elapsed.as_secs_f64();
        let point = ReplayPoint {
            at: middle(&captured[planned.index], began),
            iops: (seconds > 0.0).then(|| total.ios as f64 / seconds),
            mb_per_second: m.mb_per_second(),
            art: total.response_mean_ms(),
            mrt: total.response_longest().map(Nanos::as_millis_f64),
            outstanding: outstanding(m),
            ..ReplayPoint::default()
        };
        let demand = planned.step.load.stimulus().map(|stimulus| stimulus.demand);
        demand.map_or(point, |demand| point.applied_with(demand))
    };
    planned.iter().zip(steps).map(point).collect()
}

/// Returns the values of each whole interval; `captured_at` converts the time of the replay to that
/// of the capture.
fn script_points(
    steps: &[(&Step, &Outcome)],
    captured_at: &dyn Fn(f64) -> f64,
) -> Vec<ReplayPoint> {
    let mut points = Vec::new();
    let mut before = 0.0;
    for (_, outcome) in steps {
        let measurement = &outcome.measurement;
        for interval in measurement.intervals.iter().filter(|interval| !interval.partial) {
            let sum: u64 = interval.tallies.iter().map(|t| t.response_sum.0).sum();
            let longest = interval.tallies.iter().map(|t| t.response_max).max();
            // A replay has the flushes of its capture, which count as its other I/Os do.
            let ios: u64 = interval.tallies.iter().map(|t| t.ios).sum();
            let length = interval.end.saturating_sub(interval.begin);
            points.push(ReplayPoint {
                at: captured_at(
                    before + (interval.begin.as_secs_f64() + interval.end.as_secs_f64()) / 2.0,
                ),
                iops: (length.0 > 0).then(|| ios as f64 / length.as_secs_f64()),
                mb_per_second: interval.bytes_per_second().map(|rate| rate / 1e6),
                art: (ios > 0).then(|| sum as f64 / ios as f64 / 1e6),
                mrt: longest.map(Nanos::as_millis_f64),
                outstanding: (length.0 > 0).then(|| sum as f64 / length.0 as f64),
                ..ReplayPoint::default()
            });
        }
        before += measurement.elapsed.as_secs_f64();
    }
    points
}

/// Capture steps that form one point of a plot.
struct PlotStepGroup<'a> {
    /// Start, in seconds since the first step of the capture began.
    from: f64,
    seconds: f64,
    steps: Vec<&'a AppliedStep>,
}

/// Groups capture steps into spans: one step each, or with `width`, as many as make up about
/// `width` seconds, the interval of the replay.
fn spans(steps: &[AppliedStep], width: Option<f64>) -> Vec<PlotStepGroup<'_>> {
    let Some(first) = steps.first() else { return Vec::new() };
    let each = first.lasted.as_secs_f64();
    let steps_per_span = width.map_or(1.0, |width| (width / each).round().max(1.0));
    let is_single = steps_per_span == 1.0 || !steps_per_span.is_finite();
    let mut spans: Vec<PlotStepGroup<'_>> = Vec::new();
    for step in steps {
        let from = step.began.saturating_sub(first.began).as_secs_f64();
        let seconds = step.lasted.as_secs_f64();
        if is_single {
            spans.push(PlotStepGroup { from, seconds, steps: vec![step] });
            continue;
        }
        let length = each * steps_per_span;
        // The tolerance absorbs floating-point error at the boundaries of spans.
        let start = (from / length + 1e-6).floor() * length;
        match spans.last_mut().filter(|span| span.from == start) {
            Some(span) => span.steps.push(step),
            None => spans.push(PlotStepGroup { from: start, seconds: length, steps: vec![step] }),
        }
    }
    if let (Some(last), Some(step)) = (spans.last_mut().filter(|_| !is_single), steps.last()) {
        let end = (step.began.saturating_sub(first.began) + step.lasted).as_secs_f64();
        last.seconds = end - last.from;
    }
    spans
}

impl PlotStepGroup<'_> {
    fn middle(&self) -> f64 {
        self.from + self.seconds / 2.0
    }

    fn rate(&self, sum: f64) -> Option<f64> {
        (self.seconds > 0.0).then(|| sum / self.seconds)
    }

    /// Returns the values of the applied streams. Response times are known only of all streams
    /// together.
    fn applied(&self, replay: &Replay) -> ReplayPoint {
        let workload = &replay.composite.workload;
        let counts = self.steps.iter().flat_map(|step| replay.composite.counts_of(step));
        let (mut ios, mut bytes) = (0.0, 0.0);
        for (place, count) in counts {
            ios += count as f64;
            bytes += count as f64 * workload.streams[place].size.0 as f64;
        }
        ReplayPoint {
            at: self.middle(),
            iops: self.rate(ios),
            mb_per_second: self.rate(bytes / 1e6),
            ..ReplayPoint::default()
        }
    }

    fn whole(&self) -> ReplayPoint {
        let ios: u64 = self.steps.iter().map(|step| step.captured_ios).sum();
        let bytes: u64 = self.steps.iter().map(|step| step.captured_bytes.0).sum();
        let responses = || self.steps.iter().filter(|step| step.response_mean.is_some());
        let sum: f64 = responses()
            .filter_map(|s| Some(s.response_mean?.as_millis_f64() * s.captured_ios as f64))
            .sum();
        let timed_ios: u64 = responses().map(|step| step.captured_ios).sum();
        let outstanding = self
            .steps
            .iter()
            .filter_map(|step| step.outstanding_mean.map(|mean| mean * step.lasted.as_secs_f64()));
        let outstanding_max = self.steps.iter().filter_map(|step| step.outstanding_max).max();
        let known = self.steps.iter().any(|step| step.outstanding_mean.is_some());
        ReplayPoint {
            at: self.middle(),
            iops: self.rate(ios as f64),
            mb_per_second: self.rate(bytes as f64 / 1e6),
            art: (timed_ios > 0).then(|| sum / timed_ios as f64),
            mrt: self.steps.iter().filter_map(|s| s.response_max).max().map(Nanos::as_millis_f64),
            outstanding: self.rate(outstanding.sum()).filter(|_| known),
            outstanding_max: outstanding_max.map(f64::from),
            threads: match &self.steps[..] {
                [step] => step.threads.map(f64::from),
                // Whether the steps had the same threads is unknown.
                _ => None,
            },
            outstanding_allowed: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::Bytes;
    use steadfast_domain::stimulus::Pace;

    /// Returns a capture step of a tenth of a second.
    fn tenth(at: u64, ios: u64, response_ms: u64) -> AppliedStep {
        AppliedStep {
            began: Nanos::from_millis(3000 + at * 100),
            lasted: Nanos::from_millis(100),
            captured_ios: ios,
            captured_bytes: Bytes(ios * 1_000_000),
            streams: Vec::new(),
            demand: Demand::new(1, 1),
            pace: Pace::Closed,
            outstanding_mean: Some(4.0),
            outstanding_max: Some(9),
            response_mean: Some(Nanos::from_millis(response_ms)),
            response_max: Some(Nanos::from_millis(response_ms + at)),
            threads: None,
            data_pattern: None,
        }
    }

    #[test]
    fn capture_steps_are_put_together_to_the_seconds_of_the_replay() {
        // No I/Os from 0.5 to 2.0 s.
        let at = (0..5).chain(20..25);
        let steps: Vec<AppliedStep> = at
            .map(|at| tenth(at, if at < 5 { 10 } else { 30 }, if at == 4 { 6 } else { 1 }))
            .collect();
        let moments: Vec<ReplayPoint> =
            spans(&steps, Some(1.0)).iter().map(PlotStepGroup::whole).collect();
        let [first, last] = &moments[..] else { panic!("{moments:?}") };
        assert_eq!((first.at, last.at), (0.5, 2.25));
        assert_eq!((first.iops, first.mb_per_second), (Some(50.0), Some(50.0)));
        assert_eq!(first.art, Some(2.0), "by I/Os");
        assert_eq!(first.mrt, Some(10.0));
        assert!((first.outstanding.unwrap() - 2.0).abs() < 1e-9);
        let [iops, outstanding] = [last.iops, last.outstanding].map(Option::unwrap);
        assert!((iops - 300.0).abs() < 1e-6 && (outstanding - 4.0).abs() < 1e-6);
        let single = spans(&steps, None);
        assert_eq!(single.len(), 10);
        assert_eq!(single[9].whole().iops, Some(300.0));
        assert!(spans(&[], Some(1.0)).is_empty());
    }
}
