//! The latency test: response times with one outstanding I/O, 3 read/write mixes
//! x 3 block sizes, in steady state; then, in PTS 2.0.x, 20 minutes of RND 4K W
//! whose every response time goes into a histogram (SNIA tutorial, "LAT"; public
//! implementations of PTS-E 1.1 and 2.0).
//!
//! An interruption inside a round voids the round; the window begins anew after
//! every interruption. The histogram run is one piece: it begins anew.

mod exhibits;

use super::method::{Method, WIPC_PATTERN, active_range, check_geometry};
use super::results::Results;
use super::rounds::{self, MixedLoop, Steps};
use super::scattered::Ranged;
use super::{disclosure, preconditioning, workload};
use crate::{Parameter, Unsuitable};
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::settings::{Amendment, Geometry};
use steadfast_domain::stimulus::ActiveRange;
use steadfast_domain::{
    Bench, Bytes, Conditions, Demand, Findings, Halt, Measurement, Nanos, Procedure, Profile,
    Record, Settings, Step,
};

/// The outer loop: percent of reads, in the mandatory order.
const MIXES: [u8; 3] = [100, 65, 0];

/// The inner loop, in the mandatory order.
const SIZES: [Bytes; 3] = [Bytes::kib(8), Bytes::kib(4), Bytes(512)];

/// One outstanding I/O: what the test is about.
const DEMAND: Demand = Demand::new(1, 1);

/// The tracking variable: average response time of random 4 KiB writes; the
/// histogram run applies the same.
const TRACKED: AccessPattern = AccessPattern::random(Bytes::kib(4), 0);

/// The phase of the histogram run.
const HISTOGRAM: &str = "histogram";

/// Length of the histogram run.
const HISTOGRAM_TIME: Parameter = Parameter {
    name: "histogram-time",
    default: "20min",
    quick: Some("10s"),
    meaning: "length of the RND 4K W run for the response-time histogram, 1s to 24h (profiles \
              pts-2.0 and quick)",
    source: "a public implementation of PTS 2.0",
    unverified: true,
    applies: |settings| has_histogram(settings.profile),
    ..Parameter::PLAIN
};

/// The parameters of the latency test.
pub const PARAMETERS: &[Parameter] = &[HISTOGRAM_TIME, workload::ALIGNMENT];

/// The latency test, ready to be conducted on a device of known geometry.
#[derive(Debug, Clone)]
pub struct Latency {
    settings: Settings,
    geometry: Geometry,
    method: Method,
    demand: Demand,
    step_time: Nanos,
    /// `None` where the profile has no histogram run.
    histogram_time: Option<Nanos>,
    active_range: ActiveRange,
    sizes: Vec<Bytes>,
    left_out: Vec<Bytes>,
    alignment: Option<Bytes>,
    mixed_loop: MixedLoop,
}

impl Ranged for Latency {
    fn by(
        method: Method,
        settings: &Settings,
        geometry: Geometry,
        amendments: &[Amendment],
    ) -> Result<Self, Unsuitable> {
        check_geometry(geometry)?;
        rounds::check_ending(settings)?;
        let sector = u64::from(geometry.logical_sector);
        let (sizes, left_out): (Vec<Bytes>, Vec<Bytes>) =
            SIZES.iter().partition(|size| size.0.is_multiple_of(sector));
        let points = MIXES
            .iter()
            .flat_map(|mix| sizes.iter().map(|size| AccessPattern::random(*size, *mix)))
            .collect();
        let histogram_time = HISTOGRAM_TIME.parse(settings, |text| {
            let possible = Nanos::SECOND..=Nanos::from_secs(86_400);
            text.parse::<Nanos>().ok().filter(|time| possible.contains(time))
        })?;
        Ok(Latency {
            alignment: workload::alignment(settings, geometry)?,
            demand: settings.demand_or(DEMAND),
            step_time: method.step_time(settings)?,
            histogram_time: has_histogram(settings.profile).then_some(histogram_time),
            active_range: active_range(settings, &method, geometry)?,
            mixed_loop: MixedLoop {
                phase: rounds::PHASE.to_owned(),
                points,
                tracked: vec![TRACKED],
                metric: average_response,
                unit: "ms",
                criteria: method.criteria,
                rounds_max: rounds::rounds_max(settings, &method, amendments, rounds::PHASE, true),
                ending: settings.steady_state,
            },
            settings: settings.clone(),
            geometry,
            method,
            sizes,
            left_out,
        })
    }

    fn choices(&self) -> disclosure::Choices<'_> {
        disclosure::Choices {
            settings: &self.settings,
            method: &self.method,
            geometry: self.geometry,
            covered: vec![self.method.covering(&self.settings, self.active_range)],
            demands: vec![self.demand],
            alignment: Some(workload::alignment_name(self.alignment)),
            // Another demand is a departure from the test: `exhibits` says so.
            recommended: None,
            step_time: self.step_time,
            block_sizes_left_out: &self.left_out,
            rounds_max: Some(self.mixed_loop.rounds_max),
            ending: disclosure::ending_text(self.settings.steady_state),
            judged: true,
            preconditioning: vec![WIPC_PATTERN],
            measured_phases: vec![self.mixed_loop.phase.clone(), HISTOGRAM.to_owned()],
            gap_effect,
            quick: format!(
                "profile quick runs steps of {} (the standard: 60 s), at most {} rounds, and a \
                 histogram run of {} (20 min).",
                self.step_time,
                self.mixed_loop.rounds_max,
                self.histogram_time.unwrap_or_default()
            ),
            tkperf: "Profile tkperf follows TKperf's matrix and order, but every step has its own \
                     random offsets, WIPC runs at T1Q32 and not at the demand of the test, and \
                     writes twice the capacity once (not once per thread), the response times of a mix are those of its I/Os (not a mean weighted by the mix), and a \
                     failed purge is reported.",
        }
    }
}

impl Latency {
    fn steps(&self) -> Steps<'_> {
        Steps {
            settings: &self.settings,
            demand: self.demand,
            active_range: self.active_range,
            time: self.step_time,
            alignment: self.alignment,
        }
    }

    /// The histogram run: one step, so that its response times are of one piece.
    fn histogram_step(&self, time: Nanos) -> Step {
        Steps { time, ..self.steps() }.at(HISTOGRAM, 0, 1, &TRACKED)
    }
}

/// PTS 1.1 and TKperf end with the rounds.
fn has_histogram(profile: Profile) -> bool {
    matches!(profile, Profile::Pts20 | Profile::Quick)
}

fn gap_effect(step: &Step) -> &'static str {
    if step.place.phase == HISTOGRAM {
        return "The histogram run began anew; the device had rested before it.";
    }
    disclosure::loop_gap_effect(step)
}

/// Average response time in milliseconds. Where no response time was kept at
/// all, as in a rehearsal, it is the time per I/O, which with one outstanding
/// I/O is the same but for the host's own time.
fn average_response(measurement: &Measurement) -> Option<f64> {
    let total = measurement.total();
    if total.response_sum == Nanos::ZERO {
        let each = measurement.elapsed.0.checked_div(total.ios)?;
        return Some(Nanos(each).as_millis_f64());
    }
    total.response_mean().map(Nanos::as_millis_f64)
}

impl Procedure for Latency {
    fn conduct(&self, bench: &mut dyn Bench) -> Result<(), Halt> {
        bench.settle(&Conditions {
            write_cache: self.method.write_cache,
            merges: Some(false),
            ..Conditions::default()
        })?;
        bench.purge()?;
        preconditioning::precondition(bench, &self.settings, self.geometry, self.active_range)?;
        let steady = self.mixed_loop.conduct(bench, &self.steps())?;
        // Without steady state the rounds may be gone on with, and no histogram
        // stands between them.
        if let Some(time) = self.histogram_time.filter(|_| steady) {
            bench.apply(&self.histogram_step(time))?;
        }
        Ok(())
    }

    fn study(&self, record: &Record) -> Findings {
        let results = Results::of(&self.mixed_loop, record);
        exhibits::findings(self, record, &results)
    }
}

#[cfg(test)]
mod tests;
