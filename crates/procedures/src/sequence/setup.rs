//! Setup of a sequence on a device: the steps that fit it, and their phases.

use crate::common::ProcedureSetup;
use crate::common::applied::{BLOCK_SIZE, alignment_name};
use crate::common::choices::{ForeignLoads, RunChoices};
use crate::common::continuous_load::{CHECKPOINT, NO_END, conduct_in_parts};
use crate::common::method::Method;
use crate::common::procedure_request::ProcedureRequest;
use crate::procedure_error::ProcedureError;
use crate::pts::method;
use steadfast_domain::fio_steady_state::{FioSteadyState, SteadyRate};
use steadfast_domain::random_bits::mix64;
use steadfast_domain::sequence::{LoadError, StepRole};
use steadfast_domain::stimulus::{DataPattern, LoadLimits, Order};
use steadfast_domain::{
    Bench, Demand, Halt, Load, Nanos, Profile, Sequence, SequenceLoad, SequenceStep, Settings,
    Step, StepPlace, Stimulus,
};

/// Time between the cuts of loads that run at once. They keep their own limits, which are mostly
/// whole minutes: a cut at such a time would leave a part of zero length.
const CHECKPOINT_AT_ONCE: Nanos = Nanos::from_secs(59);

/// Statement on every page.
const DISCLAIMER: &str = "ANOTHER TOOL'S TEST: no purge, no steady state; not a method of the PTS";
/// Statement on every page for a sequence that purges.
const DISCLAIMER_PURGED: &str = "ANOTHER TOOL'S TEST: no steady state; not a method of the PTS";

#[derive(Debug, Clone)]
pub struct SequenceProcedure {
    pub(super) setup: ProcedureSetup,
    pub(super) sequence: Sequence,
    pub(super) steps: Vec<DeviceStep>,
    /// Reasons why steps are left out, one sentence each.
    pub(super) left_out: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct DeviceStep {
    /// Number of the step in the sequence, from 1.
    number: u32,
    pub step: SequenceStep,
    /// Loads to apply, all at once if there are several. Every attempt has its own seeds.
    pub stimuli: Vec<Stimulus>,
}

impl DeviceStep {
    /// Returns the phase in the journal of attempt number `attempt`, from 1.
    pub fn phase(&self, attempt: u32) -> String {
        match self.step.attempts() {
            0 | 1 => phase_of(self.number),
            _ => format!("{}-{attempt}", phase_of(self.number)),
        }
    }

    /// Returns the load with this seed. Each of several loads has its own seed, derived from it.
    fn load(&self, seed: u64) -> Load {
        let seeded = self.stimuli.iter().zip(0..).map(|(stimulus, number)| {
            let own = if number == 0 { seed } else { mix64(seed.wrapping_add(number)) };
            stimulus.clone().seed(own)
        });
        let mut seeded: Vec<Stimulus> = seeded.collect();
        match seeded.len() {
            1 => seeded.remove(0).into(),
            _ => Load::Together(seeded),
        }
    }

    pub fn named_loads(&self) -> impl Iterator<Item = (&str, &Stimulus)> {
        self.step.loads().map(|(name, _)| name).zip(&self.stimuli)
    }

    fn label(&self, attempt: u32) -> String {
        match self.step.attempts() {
            0 | 1 => self.step.label.clone(),
            all => format!("{}, {attempt} of {all}", self.step.label),
        }
    }
}

/// Returns the phase of a step that is applied once, by its number.
pub fn phase_of(number: u32) -> String {
    format!("step-{number}")
}

pub(super) fn tool_name(tool: &str) -> &'static str {
    match tool {
        "atto" => "ATTO Disk Benchmark",
        "crystaldiskmark" => "CrystalDiskMark",
        "fio" => "fio job file",
        "fiosynth" => "FioSynth suite",
        "iometer" => "Iometer",
        "viking" => "Viking SSD benchmarking",
        _ => "Another tool's sequence",
    }
}

impl SequenceProcedure {
    pub fn new(request: &ProcedureRequest<'_>) -> Result<Self, ProcedureError> {
        let sequence = request.settings.sequence.as_deref().cloned().ok_or_else(|| {
            ProcedureError(
                "sequence runs the loads of another tool's file or preset; use one of the commands \
                 crystaldiskmark, atto, fio, fiosynth or iometer"
                    .into(),
            )
        })?;
        let mut settings = request.settings.clone();
        if let Some(pattern) = common_pattern(&sequence) {
            settings.data_pattern = pattern;
        }
        let setup = ProcedureSetup::new(
            &ProcedureRequest { settings: &settings, ..request.clone() },
            method_of(&sequence, &settings),
        )?;
        let (steps, left_out) = (Vec::new(), Vec::new());
        let mut procedure = SequenceProcedure { setup, sequence, steps, left_out };
        procedure.plan_steps()?;
        Ok(procedure)
    }

    /// Plans the steps that fit the device, and notes why others are left out.
    fn plan_steps(&mut self) -> Result<(), ProcedureError> {
        let setup = &self.setup;
        let (capacity, sector) = (setup.geometry.capacity, setup.geometry.logical_sector);
        for (number, step) in self.sequence.numbered() {
            let stimulus = |load: &SequenceLoad| {
                let own = load.data_pattern.clone();
                let pattern = own.unwrap_or_else(|| setup.settings.data_pattern.clone());
                let stimulus = load.on(capacity, sector)?;
                Ok(stimulus.data_pattern(pattern).verify(setup.settings.verify))
            };
            let stimuli: Result<Vec<Stimulus>, LoadError> =
                step.loads().map(|(_, load)| stimulus(load)).collect();
            match stimuli {
                Ok(stimuli) => {
                    self.steps.push(DeviceStep { number, step: step.clone(), stimuli });
                }
                Err(LoadError::Sector(why)) if step.may_be_left_out => {
                    self.left_out.push(format!("{} is left out: {why}.", step.label));
                }
                Err(why) => return Err(ProcedureError(format!("{}: {why}", step.label))),
            }
        }
        if self.measured_steps().next().is_none() {
            return Err(ProcedureError(format!(
                "{} has no step that measures anything on this device",
                tool_name(&self.sequence.tool)
            )));
        }
        Ok(())
    }

    fn measured_steps(&self) -> impl Iterator<Item = &DeviceStep> {
        self.steps.iter().filter(|device_step| device_step.step.role == StepRole::Measure)
    }

    /// Applies an attempt at a step: as one step, or in parts if it is longer than a checkpoint or
    /// has no time limit.
    pub(super) fn apply(
        &self,
        bench: &mut dyn Bench,
        device_step: &DeviceStep,
        attempt: u32,
    ) -> Result<(), Halt> {
        let place = StepPlace::new(&device_step.phase(attempt), 0, 1, device_step.label(attempt));
        let load = device_step.load(place.seed(self.setup.settings.seed));
        let times: Option<Vec<Nanos>> = load.stimuli().iter().map(|s| s.until.time).collect();
        let time = times.and_then(|times| times.into_iter().max());
        if let Some(steady) = &device_step.step.steady {
            return apply_until_steady(bench, &place, &load, steady);
        }
        if time.is_some_and(|time| time <= CHECKPOINT) {
            return bench.apply(&Step::alone(place, load)).map(|_| ());
        }
        let (load, cut, time) = match load {
            // A limit equal to the time of the last cut would race with the cut.
            Load::Stimulus(stimulus) => {
                let until = LoadLimits { time: time.map(|_| NO_END), ..stimulus.until };
                (Load::Stimulus(Stimulus { until, ..stimulus }), CHECKPOINT, time)
            }
            // Each load ends by its own limit.
            several => (several, CHECKPOINT_AT_ONCE, None),
        };
        conduct_in_parts(bench, &place, &load, cut, time).map(|_| ())
    }

    /// Returns the demands of measured steps without repetitions, the smallest first.
    fn demands(&self) -> Vec<Demand> {
        let mut demands: Vec<Demand> = self.measured_loads().map(|load| load.demand).collect();
        demands.sort_by_key(|demand| (demand.outstanding(), demand.threads));
        demands.dedup();
        demands
    }

    pub(super) fn choices(&self) -> RunChoices<'_> {
        let phases =
            self.measured_steps().flat_map(|p| (1..=p.step.attempts()).map(|n| p.phase(n)));
        RunChoices {
            covered: Vec::new(),
            demands: self.demands(),
            alignment: self.common_alignment(),
            step_text: Some(self.common_time()),
            preconditioning_text: Some(self.preparation()),
            own_loads: Some(ForeignLoads { by: self.load_source(), range: self.common_range() }),
            ending: "when its last step is complete".into(),
            measured_phases: phases.collect(),
            gap_effect,
            ..self.setup.choices()
        }
    }

    /// Returns the source of the loads, to print after a value.
    fn load_source(&self) -> &'static str {
        if self.sequence.source.is_some() { "by the file" } else { "by the preset" }
    }

    fn measured_loads(&self) -> impl Iterator<Item = &Stimulus> {
        self.measured_steps().flat_map(|device_step| &device_step.stimuli)
    }

    /// Returns the time of all measured loads, or `each step's own` if they differ or end by
    /// another limit.
    fn common_time(&self) -> String {
        let mut limits = self.measured_loads().map(|stimulus| stimulus.until);
        let first = limits.next().unwrap_or_default();
        match first.time.filter(|_| (first.bytes, first.ios) == (None, None)) {
            Some(time) if limits.all(|until| until == first) => time.to_string(),
            _ => "each step's own".to_owned(),
        }
    }

    /// Returns the range of all steps, or `each step's own` if they differ.
    pub(super) fn common_range(&self) -> String {
        let mut ranges = self.steps.iter().flat_map(|p| &p.stimuli).map(|s| s.active_range);
        match ranges.next() {
            Some(first) if ranges.all(|range| range == first) => {
                format!("{} from byte {}", first.length.binary(), first.start.0)
            }
            _ => "each step's own".to_owned(),
        }
    }

    /// Returns the alignment of all random streams; `None` if they differ.
    fn common_alignment(&self) -> Option<String> {
        let streams = self.measured_loads().flat_map(|stimulus| &stimulus.streams);
        let random: Vec<_> = streams.filter(|stream| stream.order == Order::Random).collect();
        if random.iter().all(|stream| stream.alignment() == stream.size) {
            return Some(BLOCK_SIZE.to_owned());
        }
        let first = random.first()?.alignment();
        random.iter().all(|stream| stream.alignment() == first).then(|| alignment_name(Some(first)))
    }

    fn preparation(&self) -> String {
        if self.steps.iter().any(|device_step| device_step.step.role == StepRole::Prepare) {
            "the sequence's own steps".to_owned()
        } else {
            "none".to_owned()
        }
    }
}

/// Applies a load until its rate is steady, or until it ends before.
fn apply_until_steady(
    bench: &mut dyn Bench,
    place: &StepPlace,
    load: &Load,
    steady: &FioSteadyState,
) -> Result<(), Halt> {
    let cut = steady.window.clamp(Nanos::SECOND, CHECKPOINT_AT_ONCE);
    let ramp = (steady.ramp.0 / Nanos::SECOND.0) as usize;
    let mut rates: Vec<f64> = Vec::new();
    for point in 1.. {
        let place = StepPlace { point, ..place.clone() };
        let outcome = bench.apply(&Step::part(place, load.clone(), cut, point > 1))?;
        let seconds = outcome.measurement.intervals.iter().filter(|interval| !interval.partial);
        rates.extend(seconds.filter_map(|interval| match steady.rate {
            SteadyRate::Iops => interval.iops(),
            SteadyRate::Bandwidth => interval.bytes_per_second(),
        }));
        let after_ramp = rates.get(ramp..).unwrap_or_default();
        if outcome.measurement.complete || steady.is_reached(after_ramp) {
            break;
        }
    }
    Ok(())
}

/// Returns the common data pattern of all loads that write; `None` if they differ or leave it to
/// the user.
fn common_pattern(sequence: &Sequence) -> Option<DataPattern> {
    let loads = sequence.steps.iter().flat_map(SequenceStep::loads).map(|(_, load)| load);
    let mut patterns = loads.filter(|load| load.alters()).map(|load| load.data_pattern.clone());
    let first = patterns.next()??;
    patterns.all(|pattern| pattern.as_ref() == Some(&first)).then_some(first)
}

/// Returns the method of a sequence, which leaves the write cache unchanged.
fn method_of(sequence: &Sequence, settings: &Settings) -> Method {
    let name = tool_name(&sequence.tool);
    Method {
        document: name,
        revision: name,
        disclaimer: Some(if sequence.purges() { DISCLAIMER_PURGED } else { DISCLAIMER }),
        write_cache: None,
        active_range_percent: 100,
        ..method::for_profile(Profile::Pts20, settings.class)
    }
}

fn gap_effect(step: &Step) -> &'static str {
    if step.continues {
        "The step continued from its last part; the drive had rested inside it."
    } else {
        "The drive had rested before this step."
    }
}
