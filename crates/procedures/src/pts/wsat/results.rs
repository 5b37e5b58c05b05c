//! Results of WSAT: the saturation step by step, how it ended, and the histogram run.

use super::setup::{HISTOGRAM, PHASE, Wsat};
use crate::common::attempts::{last_attempt_steps, measurements, steps_of};
use crate::common::cyclic_load::CyclicLoad;
use crate::common::secondary::SecondaryMeans;
use crate::exhibits::matrix::millis;
use crate::exhibits::report::StudiedRun;
use crate::exhibits::response::FIVE_NINES;
use crate::exhibits::time_axis::minutes;
use steadfast_domain::device_log::WriteAmplification;
use steadfast_domain::step::SHORTFALL_MAX;
use steadfast_domain::{Bytes, Measurement, Nanos, Outcome, Record, Step, Tally, Verdict};

/// Number of steps averaged at the end of a saturation for the summary (our choice).
pub const LAST_STEPS: usize = 5;

pub type WsatRun<'a> = StudiedRun<'a, Wsat>;

pub struct WsatResults<'a> {
    /// Values of the steps of the saturation; a step without length is left out.
    pub steps: Vec<WsatStep>,
    pub outcomes: Vec<(&'a Step, &'a Outcome)>,
    /// Verdict on the measured steps; `None` if they are not judged.
    pub verdict: Option<Verdict>,
    pub end: SaturationEnd,
    /// Valid histogram run; `None` if there is none.
    pub histogram: Option<&'a Measurement>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SaturationEnd {
    /// It has not ended.
    NotYet,
    /// A window of measured steps met the criteria.
    Steady,
    /// The byte limit was reached.
    Written,
    /// The time limit was reached.
    Time,
    /// The maximum number of rounds or steps was reached.
    Count,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WsatStep {
    /// Number of its cycle, from 1; 0 if steps are not judged.
    pub round: u32,
    /// Start of the step, in minutes since the load began.
    pub begin: f64,
    /// End of the step, in minutes since the load began.
    pub time: f64,
    /// Data written by the load up to the end of the step, in GB.
    pub written_gb: f64,
    /// Data written by the load up to the end of the step, in user capacities.
    pub fills: f64,
    pub iops: Option<f64>,
    pub mb_per_second: Option<f64>,
    /// Average response time in milliseconds.
    pub art: Option<f64>,
    /// Minimum response time in milliseconds.
    pub shortest: Option<f64>,
    /// 99.999th percentile of the response time in milliseconds; `None` if fewer than ten I/Os lie
    /// beyond it.
    pub five_nines: Option<f64>,
    /// Maximum response time in milliseconds.
    pub mrt: Option<f64>,
    /// Flash bytes written per host byte; `None` if the device does not report it.
    pub amplification: Option<WriteAmplification>,
    /// Temperature of the device at the end of the step, in degrees Celsius.
    pub temperature: Option<f64>,
    /// Power in watts.
    pub watts: Option<f64>,
    /// Energy per GB in joules.
    pub joules_per_gb: Option<f64>,
    /// True if the run had released the device before this step.
    pub gap: bool,
}

/// Several steps merged into one: rate and response times of all their I/Os.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedSteps {
    /// Reads and writes per second of measured time.
    pub iops: Option<f64>,
    pub tally: Tally,
}

impl MergedSteps {
    /// Merges steps; `None` without steps.
    fn new(steps: &[&Measurement]) -> Option<MergedSteps> {
        if steps.is_empty() {
            return None;
        }
        let tally: Tally = steps.iter().map(|step| step.total()).sum();
        let elapsed = Nanos(steps.iter().map(|step| step.elapsed.0).sum());
        let iops = (elapsed.0 > 0).then(|| tally.ios as f64 / elapsed.as_secs_f64());
        Some(MergedSteps { iops, tally })
    }
}

impl From<&Measurement> for MergedSteps {
    fn from(measurement: &Measurement) -> Self {
        MergedSteps { iops: measurement.iops(), tally: measurement.total() }
    }
}

impl<'a> WsatResults<'a> {
    pub fn new(wsat: &Wsat, record: &'a Record) -> Self {
        let outcomes = steps_of(record, PHASE);
        let verdict = wsat.cyclic_load().map(|load| load.verdict(&outcomes));
        let histogram = last_attempt_steps(record, HISTOGRAM)
            .last()
            .filter(|(_, outcome)| outcome.gap_before.is_none())
            .map(|(_, outcome)| &outcome.measurement);
        let end = if record.has_ended() || histogram.is_some() {
            saturation_end(wsat, &outcomes, verdict.as_ref())
        } else {
            SaturationEnd::NotYet
        };
        WsatResults { steps: step_values(wsat, &outcomes), outcomes, verdict, end, histogram }
    }

    /// Merges the last `count` steps. Every I/O counts once, so that a shorter last step has a
    /// weight in proportion to its time. `None` without steps.
    pub fn last_steps(&self, count: usize) -> Option<MergedSteps> {
        let mut measured = measurements(&self.outcomes);
        measured.retain(|measurement| measurement.elapsed.0 > 0);
        MergedSteps::new(&measured[measured.len().saturating_sub(count)..])
    }

    /// Merges the measured steps of the steady window; `None` if there is none.
    pub fn steady_window(&self, load: &CyclicLoad) -> Option<MergedSteps> {
        MergedSteps::new(&self.steady_measurements(load)?)
    }

    /// Returns the measurements of the steady window; `None` if no window is steady or the
    /// verdict has a reservation, such as a drive that was still fresh.
    pub fn steady_measurements(&self, load: &CyclicLoad) -> Option<Vec<&'a Measurement>> {
        let verdict = self.verdict.as_ref().filter(|verdict| verdict.steady)?;
        let (first, last) = verdict.window.filter(|_| verdict.reservation.is_none())?;
        let mut measurements = Vec::new();
        for (step, outcome) in &self.outcomes {
            let place = &step.place;
            if (first..=last).contains(&place.round) && load.is_measured(place.point) {
                measurements.push(&outcome.measurement);
            }
        }
        Some(measurements)
    }

    /// Returns power, temperature and processor use during the saturation.
    pub fn secondary(&self) -> SecondaryMeans {
        SecondaryMeans::new(&measurements(&self.outcomes))
    }
}

/// Returns what ended a saturation with these steps.
fn saturation_end(
    wsat: &Wsat,
    steps: &[(&Step, &Outcome)],
    verdict: Option<&Verdict>,
) -> SaturationEnd {
    let until = wsat.stimulus().until;
    let moved: u64 = steps.iter().map(|(_, outcome)| outcome.measurement.bytes().0).sum();
    let time: u64 = steps.iter().map(|(_, outcome)| outcome.measurement.elapsed.0).sum();
    let stops_when_steady = wsat.cyclic_load().is_some_and(|load| load.stops);
    if stops_when_steady && verdict.is_some_and(|verdict| verdict.steady) {
        return SaturationEnd::Steady;
    }
    if until.bytes.is_some_and(|bytes| moved >= bytes.0) {
        return SaturationEnd::Written;
    }
    // The load's own clock and the sum of its steps may differ at the boundaries of the steps.
    let tolerance = SHORTFALL_MAX.0 * steps.len() as u64;
    if wsat.time_limit.is_some_and(|limit| time + tolerance >= limit.0) {
        return SaturationEnd::Time;
    }
    SaturationEnd::Count
}

fn step_values(wsat: &Wsat, outcomes: &[(&Step, &Outcome)]) -> Vec<WsatStep> {
    let capacity = wsat.setup.geometry.capacity;
    let mut steps = Vec::new();
    let (mut time, mut written) = (Nanos::ZERO, Bytes(0));
    for (step, outcome) in outcomes {
        let measurement = &outcome.measurement;
        // If the byte limit is reached exactly at a cut, the last step has no length.
        if measurement.elapsed == Nanos::ZERO {
            continue;
        }
        let total: Tally = measurement.total();
        let begin = minutes(time);
        time += measurement.elapsed;
        written += outcome.written();
        steps.push(WsatStep {
            round: step.place.round,
            begin,
            time: minutes(time),
            written_gb: written.as_gb(),
            fills: written.0 as f64 / capacity.0 as f64,
            iops: measurement.iops(),
            mb_per_second: measurement.mb_per_second(),
            art: total.response_mean_ms(),
            shortest: millis(total.response_shortest()),
            five_nines: millis(total.percentile(FIVE_NINES)),
            mrt: millis(total.response_longest()),
            amplification: measurement.write_amplification,
            temperature: measurement.sensed.temperature_celsius,
            watts: measurement.watts(),
            joules_per_gb: measurement.joules_per_gb(),
            gap: outcome.gap_before.is_some(),
        });
    }
    steps
}
