//! What every test of a single workload stands on: settings, geometry, method,
//! active range; stimuli made of them; loads that run on from minute to minute.

use super::disclosure::Choices;
use super::method::{Method, active_range, check_geometry};
use super::workload::{self, Workload};
use crate::{Parameter, Unsuitable};
use steadfast_domain::caveats as ids;
use steadfast_domain::settings::Geometry;
use steadfast_domain::stimulus::{ActiveRange, Pace, Until};
use steadfast_domain::{
    Bench, Bytes, Caveat, CaveatKind, Conditions, Demand, Halt, Load, Measurement, Nanos, Note,
    Outcome, Place, Record, Settings, Step, Stimulus,
};

/// A load that is left at a cut has this limit, which it never reaches: a year.
/// A limit at the very time of the last cut would race with it.
pub const NO_END: Nanos = Nanos::from_secs(365 * 86_400);

/// Settings, geometry, method and active range of a run.
#[derive(Debug, Clone)]
pub struct Ground {
    /// As the user gave them.
    pub settings: Settings,
    /// The device's geometry.
    pub geometry: Geometry,
    /// What profile and class ask for.
    pub method: Method,
    /// The bytes that may be touched.
    pub active_range: ActiveRange,
    /// The length of one accounted stretch: a minute.
    pub minute: Nanos,
    /// What random offsets are multiples of, where it was chosen.
    pub alignment: Option<Bytes>,
}

impl Ground {
    /// The ground of a run, where the device and the settings allow one.
    pub fn new(settings: &Settings, geometry: Geometry) -> Result<Self, Unsuitable> {
        check_geometry(geometry)?;
        let method = Method::of(settings.profile, settings.class);
        Ok(Ground {
            active_range: active_range(settings, &method, geometry)?,
            minute: method.step_time(settings)?,
            alignment: workload::alignment(settings, geometry)?,
            settings: settings.clone(),
            geometry,
            method,
        })
    }

    /// What is settled before the purge.
    pub fn conditions(&self) -> Conditions {
        Conditions {
            write_cache: self.method.write_cache,
            merges: Some(false),
            ..Conditions::default()
        }
    }

    /// A workload as it is applied at a place; the place decides the seed.
    pub fn stimulus(
        &self,
        workload: &Workload,
        demand: Demand,
        until: Until,
        place: &Place,
    ) -> Stimulus {
        Stimulus {
            streams: workload::aligned(workload.streams(), self.alignment),
            zones: workload.zones(),
            demand,
            active_range: self.active_range,
            data_pattern: self.settings.data_pattern.clone(),
            pace: Pace::Closed,
            ramp: Nanos::ZERO,
            until,
            seed: place.seed(self.settings.seed),
            verify: self.settings.verify,
        }
    }

    /// A load that runs on for `time`, cut every minute.
    pub fn stretch(
        &self,
        (phase, round): (&str, u32),
        workload: &Workload,
        demand: Demand,
        time: Nanos,
    ) -> Stretch {
        let place = Place::new(phase, round, 1, format!("{workload} {demand}"));
        let stimulus = self.stimulus(workload, demand, Until::time(NO_END), &place);
        Stretch { place, stimulus, cut: self.minute, time: Some(time) }
    }

    /// The form's disclosure of a run with nothing but a minute, to be completed
    /// by a procedure.
    pub fn choices(&self) -> Choices<'_> {
        Choices {
            settings: &self.settings,
            method: &self.method,
            geometry: self.geometry,
            covered: vec![self.method.covering(&self.settings, self.active_range)],
            demands: Vec::new(),
            alignment: Some(workload::alignment_name(self.alignment)),
            recommended: None,
            step_time: self.minute,
            block_sizes_left_out: &[],
            rounds_max: None,
            ending: String::new(),
            judged: false,
            preconditioning: Vec::new(),
            measured_phases: Vec::new(),
            gap_effect: |_| "",
            quick: String::new(),
            tkperf: "",
        }
    }
}

/// Attempts a test that allows no gap until one ran in one piece; an attempt
/// answers whether it did.
pub fn until_unbroken(
    bench: &mut dyn Bench,
    mut attempt: impl FnMut(&mut dyn Bench, u32) -> Result<bool, Halt>,
) -> Result<(), Halt> {
    for number in 1.. {
        if attempt(bench, number)? {
            break;
        }
        bench.note(&Note::Caveat(Caveat::new(
            CaveatKind::Remark,
            ids::BEGUN_ANEW,
            format!("Attempt {number} was interrupted; the test begins anew with the purge."),
            "",
        )));
    }
    Ok(())
}

/// A load that runs on from cut to cut until its time is over; where it has
/// none, until it is complete.
#[derive(Debug, Clone)]
pub struct Stretch {
    /// Place of its first cut.
    pub place: Place,
    /// The load.
    pub stimulus: Stimulus,
    /// The time between cuts.
    pub cut: Nanos,
    /// When it is left, the last cut being the shorter where the cuts do not fit.
    pub time: Option<Nanos>,
}

impl Stretch {
    /// Runs it to its end; tells whether there was a gap after its first cut,
    /// so that it did not run in one piece.
    pub fn conduct(&self, bench: &mut dyn Bench) -> Result<Pieces, Halt> {
        let mut pieces = Pieces::default();
        let mut left = self.time;
        for point in 1.. {
            let cut = left.map_or(self.cut, |left| left.min(self.cut));
            left = left.map(|left| left.saturating_sub(cut));
            let step = Step {
                place: Place { point, ..self.place.clone() },
                load: Load::Stimulus(self.stimulus.clone()),
                cut: Some(cut),
                continues: point > 1,
            };
            let outcome = bench.apply(&step)?;
            if outcome.gap_before.is_some() {
                pieces.note(point);
            }
            if outcome.measurement.complete || left == Some(Nanos::ZERO) {
                break;
            }
        }
        Ok(pieces)
    }
}

/// Whether a stretch ran in one piece.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pieces {
    /// There was a gap before its first cut.
    pub gap_before: bool,
    /// There was a gap inside it.
    pub gap_inside: bool,
}

impl Pieces {
    fn note(&mut self, point: u32) {
        match point {
            1 => self.gap_before = true,
            _ => self.gap_inside = true,
        }
    }
}

/// The name of a phase that is done anew after a gap.
pub fn attempt_phase(phase: &str, attempt: u32) -> String {
    match attempt {
        0 | 1 => phase.to_owned(),
        again => format!("{phase} (attempt {again})"),
    }
}

/// Whether this is the phase, or the phase done anew.
pub fn is_attempt_of(phase: &str, base: &str) -> bool {
    phase.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with(" (attempt "))
}

/// What the phase of an attempt ends with; nothing for the first.
pub fn attempt_of(phase: &str) -> Option<&str> {
    phase.split_once(" (").map(|(_, attempt)| attempt)
}

/// The attempt that ran last.
pub fn current_attempt(record: &Record) -> Option<&str> {
    record.steps().last().and_then(|(step, _)| attempt_of(&step.place.phase))
}

/// The steps of the last attempt at a phase.
pub fn last_attempt<'a>(record: &'a Record, base: &str) -> Vec<(&'a Step, &'a Outcome)> {
    let of_base: Vec<_> =
        record.steps().filter(|(step, _)| is_attempt_of(&step.place.phase, base)).collect();
    let Some(last) = of_base.last().map(|(step, _)| step.place.phase.clone()) else {
        return Vec::new();
    };
    of_base.into_iter().filter(|(step, _)| step.place.phase == last).collect()
}

/// The phases of a record that are one of these, or one of them done anew.
pub fn phases_of(record: &Record, bases: &[&str]) -> Vec<String> {
    let mut phases: Vec<String> = Vec::new();
    for (step, _) in record.steps() {
        let phase = &step.place.phase;
        if bases.iter().any(|base| is_attempt_of(phase, base)) && !phases.contains(phase) {
            phases.push(phase.clone());
        }
    }
    phases
}

/// Bytes written, the I/Os outside the measured time included: the device has
/// seen them.
pub fn written(measurement: &Measurement) -> Bytes {
    let op = steadfast_domain::Op::Write;
    let outside = measurement.unmeasured.iter().filter(|part| part.op == op);
    let outside: u64 = outside.map(|part| part.bytes.0).sum();
    Bytes(measurement.direction(op).bytes.0 + outside)
}

/// A parameter that is a time of at least a tenth of a second.
pub fn time(parameter: &Parameter, settings: &Settings) -> Result<Nanos, Unsuitable> {
    let possible = Nanos::from_millis(100)..=Nanos::from_secs(30 * 86_400);
    parameter.parse(settings, |text| text.parse::<Nanos>().ok().filter(|t| possible.contains(t)))
}
