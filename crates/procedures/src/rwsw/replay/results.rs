//! What a replay gave, and what the capture had, on the time axis of the capture.

use super::setup::{Course, PHASE, Planned, Replay};
use crate::pts::between::steps_of;
use crate::rwsw::segments::outstanding;
use steadfast_domain::applied::AppliedStep;
use steadfast_domain::{Measurement, Nanos, Outcome, Record, Step};

/// Values at a moment of the capture.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Moment {
    /// Seconds since the capture's first step began.
    pub at: f64,
    /// I/Os per second.
    pub iops: Option<f64>,
    /// MB (10^6 bytes) per second.
    pub mb_per_second: Option<f64>,
    /// Average response time in ms.
    pub art: Option<f64>,
    /// Longest response time in ms.
    pub mrt: Option<f64>,
    /// I/Os outstanding on average.
    pub outstanding: Option<f64>,
}

/// Everything that the exhibits are made of.
pub struct Results<'a> {
    /// What was played.
    pub steps: Vec<(&'a Step, &'a Outcome)>,
    /// It, on the capture's time.
    pub replayed: Vec<Moment>,
    /// The applied streams in the capture.
    pub applied: Vec<Moment>,
    /// All streams in the capture.
    pub captured: Vec<Moment>,
}

impl<'a> Results<'a> {
    /// The results of a record.
    pub fn of(replay: &Replay, record: &'a Record) -> Self {
        let steps = steps_of(record, PHASE);
        let replayed = match &replay.course {
            Course::Steps(planned) => of_steps(replay, planned, &steps),
            Course::Script(script, _) => of_parts(&steps, &|at| unplayed(script.timing, at)),
        };
        let captured = &replay.composite.workload.steps;
        let began = captured.first().map_or(Nanos::ZERO, |step| step.began);
        Results {
            steps,
            replayed,
            applied: captured.iter().map(|step| applied(replay, step, began)).collect(),
            captured: captured.iter().map(|step| whole(step, began)).collect(),
        }
    }

    /// What was measured.
    pub fn measurements(&self) -> impl Iterator<Item = &'a Measurement> + '_ {
        self.steps.iter().map(|(_, outcome)| &outcome.measurement)
    }

    /// I/Os of every kind that are counted.
    pub fn played(&self) -> u64 {
        self.measurements().flat_map(|m| &m.streams).map(|stream| stream.tally.ios).sum()
    }

    /// Whether the capture tells how its storage did.
    pub fn is_compared(&self) -> bool {
        self.captured.iter().any(|moment| moment.art.is_some() || moment.outstanding.is_some())
    }
}

/// When in the capture's time something of the script is played.
pub(super) fn unplayed(timing: steadfast_domain::script::Timing, at: f64) -> f64 {
    use steadfast_domain::script::Timing;
    match timing {
        Timing::Faster { thousandths } => at * thousandths as f64 / 1000.0,
        Timing::Original | Timing::Closed => at,
    }
}

fn middle(step: &AppliedStep, began: Nanos) -> f64 {
    (step.began.saturating_sub(began)).as_secs_f64() + step.lasted.as_secs_f64() / 2.0
}

fn of_steps(replay: &Replay, planned: &[Planned], steps: &[(&Step, &Outcome)]) -> Vec<Moment> {
    let captured = &replay.composite.workload.steps;
    let began = captured.first().map_or(Nanos::ZERO, |step| step.began);
    let moment = |(planned, (_, outcome)): (&Planned, &(&Step, &Outcome))| {
        let at = middle(&captured[planned.index], began);
        let m = &outcome.measurement;
        let total = m.total();
        Moment {
            at,
            iops: m.iops(),
            mb_per_second: m.mb_per_second(),
            art: total.response_mean().map(Nanos::as_millis_f64),
            mrt: total.response_longest().map(Nanos::as_millis_f64),
            outstanding: outstanding(m),
        }
    };
    planned.iter().zip(steps).map(moment).collect()
}

/// Second by second.
fn of_parts(steps: &[(&Step, &Outcome)], captured_at: &dyn Fn(f64) -> f64) -> Vec<Moment> {
    let mut moments = Vec::new();
    let mut before = 0.0;
    for (_, outcome) in steps {
        let measurement = &outcome.measurement;
        for interval in measurement.intervals.iter().filter(|interval| !interval.partial) {
            let sum: u64 = interval.tallies.iter().map(|t| t.response_sum.0).sum();
            let longest = interval.tallies.iter().map(|t| t.response_max).max();
            let length = interval.end.saturating_sub(interval.begin);
            moments.push(Moment {
                at: captured_at(before + interval.begin.as_secs_f64()),
                iops: interval.iops(),
                mb_per_second: interval.bytes_per_second().map(|rate| rate / 1e6),
                art: interval.response_mean().map(Nanos::as_millis_f64),
                mrt: longest.map(Nanos::as_millis_f64),
                outstanding: (length.0 > 0).then(|| sum as f64 / length.0 as f64),
            });
        }
        before += measurement.elapsed.as_secs_f64();
    }
    moments
}

/// The applied streams of a capture step; how its storage did is known of all only.
fn applied(replay: &Replay, step: &AppliedStep, began: Nanos) -> Moment {
    let workload = &replay.composite.workload;
    let counts = replay.composite.counts_of(step);
    let ios: u64 = counts.iter().map(|(_, ios)| ios).sum();
    let bytes = |(place, ios): &(usize, u64)| *ios as f64 * workload.streams[*place].size.0 as f64;
    let seconds = step.lasted.as_secs_f64();
    let rate = |sum: f64| (seconds > 0.0).then(|| sum / seconds);
    Moment {
        at: middle(step, began),
        iops: rate(ios as f64),
        mb_per_second: rate(counts.iter().map(bytes).sum::<f64>() / 1e6),
        ..Moment::default()
    }
}

fn whole(step: &AppliedStep, began: Nanos) -> Moment {
    let seconds = step.lasted.as_secs_f64();
    let rate = |sum: f64| (seconds > 0.0).then(|| sum / seconds);
    Moment {
        at: middle(step, began),
        iops: rate(step.captured_ios as f64),
        mb_per_second: rate(step.captured_bytes.as_mb()),
        art: step.response_mean.map(Nanos::as_millis_f64),
        mrt: step.response_max.map(Nanos::as_millis_f64),
        outstanding: step.outstanding_mean,
    }
}
