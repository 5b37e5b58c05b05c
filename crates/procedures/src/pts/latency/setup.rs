//! Setup of the latency test: its matrix, its tracking variable and its histogram run.

use crate::common::choices::RunChoices;
use crate::common::one_pass::{INSTEAD_OF_WIPC, SPARE};
use crate::common::rounds::{self, MixedLoop, random_points};
use crate::common::{ProcedureSetup, preconditioning};
use crate::exhibits::disclosure;
use crate::parameters::Parameter;
use crate::procedure_error::ProcedureError;
use crate::pts::method::has_histogram;
use crate::pts::scattered::RangedTest;
use crate::pts::workload::ALIGNMENT;
use steadfast_domain::notation::AccessPattern;
use steadfast_domain::{Bytes, Demand, Measurement, Nanos, Step, StepPlace};

/// Outer loop: percent of reads, in the mandatory order.
pub(super) const MIXES: [u8; 3] = [100, 65, 0];

/// Inner loop: block sizes, in the mandatory order.
const SIZES: [Bytes; 3] = [Bytes::kib(8), Bytes::kib(4), Bytes(512)];

/// Demand of the test: one outstanding I/O.
pub(super) const DEMAND: Demand = Demand::new(1, 1);

/// Tracking variable: average response time of random 4 KiB writes. The histogram run applies the
/// same pattern.
pub(super) const TRACKED: AccessPattern = AccessPattern::random(Bytes::kib(4), 0);

/// Phase of the histogram run.
pub(super) const HISTOGRAM: &str = "histogram";

pub(super) const HISTOGRAM_TIME: Parameter = Parameter {
    name: "histogram-time",
    default: "20min",
    quick: Some("10s"),
    meaning: "length of the RND 4K W run for the response-time histogram, 1s to 24h (profiles \
              pts-2.0 and quick)",
    source: "a public implementation of PTS 2.0",
    applies: |settings| has_histogram(settings.profile),
    ..Parameter::UNVERIFIED
};

pub const PARAMETERS: &[Parameter] = &[HISTOGRAM_TIME, ALIGNMENT, INSTEAD_OF_WIPC, SPARE];

#[derive(Debug, Clone)]
pub struct Latency {
    pub(super) setup: ProcedureSetup,
    pub(super) demand: Demand,
    /// Length of the histogram run; `None` if the profile has none.
    pub(super) histogram_time: Option<Nanos>,
    pub(super) sizes: Vec<Bytes>,
    left_out: Vec<Bytes>,
    pub(super) mixed_loop: MixedLoop,
}

impl RangedTest for Latency {
    fn new(setup: ProcedureSetup) -> Result<Self, ProcedureError> {
        rounds::check_ending(&setup.settings)?;
        let (sizes, left_out) = setup.split_sizes(&SIZES);
        let demand = setup.settings.demand_or(DEMAND);
        let possible = Nanos::SECOND..=Nanos::from_secs(86_400);
        let histogram_time = HISTOGRAM_TIME.within(&setup.settings, possible)?;
        let mixed_loop = MixedLoop {
            points: random_points(&MIXES, &sizes),
            tracked: vec![TRACKED],
            metric: average_response,
            unit: "ms",
            ..MixedLoop::new(&setup, rounds::PHASE, true, demand)
        };
        Ok(Latency {
            demand,
            histogram_time: has_histogram(setup.settings.profile).then_some(histogram_time),
            sizes,
            left_out,
            mixed_loop,
            setup,
        })
    }

    fn choices(&self) -> RunChoices<'_> {
        RunChoices {
            demands: vec![self.demand],
            block_sizes_left_out: &self.left_out,
            rounds_max: Some(self.mixed_loop.rounds_max),
            ending: disclosure::ending_text(self.setup.settings.steady_state),
            judged: true,
            preconditioning: preconditioning::patterns(&self.setup),
            measured_phases: vec![self.mixed_loop.phase.clone(), HISTOGRAM.to_owned()],
            gap_effect,
            quick: format!(
                "profile quick runs steps of {} (the standard: 60 s), at most {} rounds, and a \
                 histogram run of {} (20 min).",
                self.setup.step_time,
                self.mixed_loop.rounds_max,
                self.histogram_time.unwrap_or_default()
            ),
            tkperf: "Profile tkperf follows TKperf's matrix and order. Differences: every step \
                has its own random offsets; WIPC runs at T1Q32 instead of the test's demand and \
                writes twice the capacity once (not once per thread); the response times of a mix \
                are those of its I/Os (not a mean weighted by the mix); a failed purge is \
                reported.",
            // No recommended demand: any other is a deviation from the test, which the exhibits
            // report.
            ..self.setup.choices()
        }
    }
}

impl Latency {
    /// Returns the histogram run: a single step, so that its response times are uninterrupted.
    pub(super) fn histogram_step(&self, time: Nanos) -> Step {
        let place = StepPlace::new(HISTOGRAM, 0, 1, TRACKED.to_string());
        self.setup.step(place, &TRACKED, self.demand, time)
    }
}

fn gap_effect(step: &Step) -> &'static str {
    if step.place.phase == HISTOGRAM {
        return "The histogram run restarted; the device was idle before it.";
    }
    disclosure::loop_gap_effect(step)
}

/// Returns the average response time in milliseconds. If no response times were recorded, as in a
/// rehearsal, it returns the elapsed time per I/O, which with one outstanding I/O differs only by
/// the host's own time.
pub(super) fn average_response(measurement: &Measurement) -> Option<f64> {
    let total = measurement.total();
    if total.response_sum == Nanos::ZERO {
        let each = measurement.elapsed.0.checked_div(total.ios)?;
        return Some(Nanos(each).as_millis_f64());
    }
    total.response_mean_ms()
}
