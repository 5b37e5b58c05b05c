//! An SSD in virtual time: a flash translation layer over dies, channels and a write buffer,
//! driven by the same loads as a real device.
//!
//! It serves to try procedures and reports within seconds, and with the same result every time,
//! on a drive that behaves like an SSD (fresh out of the box, transition, steady state, recovery
//! when idle). It is a model: its numbers say nothing about any product. `docs/sim.md` describes
//! what it models and what it lacks.
//!
//! [`spec`] holds the named drives, [`ftl`] the translation layer, [`flash`] the clocks of
//! dies and channels, [`drive`] the commands, [`load`] and [`calendar`] the closed or paced loop
//! of I/Os, [`script`] the replay of a script.

mod calendar;
#[cfg(test)]
mod commit_tests;
mod concurrent;
mod drive;
mod fault;
mod flash;
mod ftl;
#[cfg(test)]
mod hidden_tests;
mod load;
mod pace;
mod power_cut;
mod running;
mod script;
#[cfg(test)]
mod script_tests;
mod slc_cache;
mod spec;
#[cfg(test)]
mod tests;

pub use fault::SimFault;
pub use power_cut::SimulatedPowerCut;
pub use spec::{DriveSpec, IdleState, PowerModel, PseudoSlc, WriteLimit, drive, drives};

use crate::accounting::by_operation;
use crate::draw::DrawPlan;
use crate::engine::Engine;
use crate::handover::{Handover, take_over, takes_over};
use crate::play::ScriptReader;
use crate::prepared::{PreparedStep, StepRefusal};
use crate::refusals::{limit_refusal, range_refusal, script_refusal, sector_refusal};
use crate::start::StepStart;
use crate::stop::StopSignal;
use calendar::SLOTS_MAX;
use drive::SimulatedDrive;
use fault::{FaultState, ThrottleCounts};
use load::{AdvanceEnd, SimContext, SimulatedMeasurement};
use running::{SimulatedLoad, SimulatedRun, SimulatedRunKind};
use std::collections::BTreeMap;
use std::time::Duration;
use steadfast_domain::device_log::{DeviceCounters, LogDelta, WriteAmplification};
use steadfast_domain::measurement::{Interval, SensorReadings};
use steadfast_domain::{
    Bytes, Demand, Device, Halt, IoStream, Load, Measurement, Nanos, Op, Purge, PurgeMethod,
    ScriptLoad, Step, Stimulus, Transport, WriteCache,
};

/// Start of virtual time: 2026-01-01 at 00:00:00 UTC.
pub const VIRTUAL_EPOCH_UNIX_MS: u64 = 1_767_225_600_000;

const SECTOR: u64 = 512;

const TRANSFER_MAX: Bytes = Bytes::mib(64);

const DISCARD_MAX: Bytes = Bytes::gib(3);

/// Interval between checks for a stop of a hanging step, in real time.
const STOP_POLL: Duration = Duration::from_millis(5);

/// Counters of the drive when a step's measurement began.
struct CounterBaseline {
    counters: DeviceCounters,
    throttling: Option<ThrottleCounts>,
    work_picojoules: u128,
}

/// A drive in virtual time.
#[derive(Debug)]
pub struct SimulatedSsd {
    spec: DriveSpec,
    device: Device,
    drive: SimulatedDrive,
    faults: FaultState,
    stop: StopSignal,
    /// Virtual nanoseconds since the drive was created.
    clock: u64,
    running: Option<SimulatedRun>,
}

impl SimulatedSsd {
    /// Creates a factory-new drive. The same spec, seed and steps give the same results to the
    /// nanosecond.
    pub fn new(spec: &DriveSpec, seed: u64, stop: StopSignal) -> Self {
        let drive = SimulatedDrive::new(spec, seed);
        let mut faults = FaultState::default();
        if let Some(fault) = spec.fault {
            faults.set(fault);
        }
        SimulatedSsd {
            device: device(spec, drive.write_cache),
            spec: spec.clone(),
            drive,
            faults,
            stop,
            clock: 0,
            running: None,
        }
    }

    /// Sets the drive's fault, which replaces an earlier one.
    #[must_use]
    pub fn with_fault(mut self, fault: SimFault) -> Self {
        self.faults.set(fault);
        self.drive.set_fault(fault);
        self
    }

    /// Returns the drive's identity and properties.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the virtual time since the drive was created.
    pub fn now(&self) -> Nanos {
        Nanos(self.clock)
    }

    /// Returns the virtual time in milliseconds since 1970 (UTC).
    pub fn now_unix_ms(&self) -> u64 {
        unix_ms(self.clock)
    }

    /// Returns the drive's temperature in degrees Celsius.
    pub fn temperature_celsius(&self) -> f64 {
        self.drive.celsius()
    }

    /// Enables or disables the volatile write cache. Ends a load that a cut left running.
    pub fn set_write_cache(&mut self, state: WriteCache) {
        self.end_load();
        self.drive.write_cache = state;
        self.device.write_cache = Some(state);
    }

    /// Forgets all data; takes virtual time. Ends a load that a cut left running.
    pub fn purge(&mut self) -> Purge {
        self.end_load();
        let took = self.drive.purge();
        self.clock += took;
        self.drive.update_temperature(self.clock);
        Purge { blank: Some(true), ..Purge::new(PurgeMethod::Simulated, Nanos(took)) }
    }

    /// Lets virtual time pass without I/O, in which the drive collects garbage. Ends a load that
    /// a cut left running.
    pub fn idle(&mut self, time: Nanos) {
        self.end_load();
        let to = self.clock.saturating_add(time.0);
        self.drive.idle(self.clock, to);
        self.clock = to;
        self.drive.update_temperature(to);
    }

    /// Returns the load that a step continues, or a new one.
    fn load_for(
        &mut self,
        step: &Step,
        prepared: Option<SimulatedLoad>,
        start: &StepStart,
    ) -> Result<SimulatedRun, Halt> {
        match take_over(&mut self.running, step) {
            Handover::Same(running) => return Ok(running),
            Handover::Other(running, halt) => {
                self.drain(running);
                return Err(halt);
            }
            Handover::New => self.end_load(),
        }
        // A load that should be continued but has ended meanwhile starts again.
        prepared
            .map_or_else(|| self.prepare_load(&step.load), Ok)
            .and_then(|prepared| SimulatedRun::begin(&step.load, prepared, start, self.clock))
            .map_err(|refusal| refusal.at_step(step))
    }

    /// Runs a load up to a virtual time. Returns true if it is complete.
    fn advance(
        &mut self,
        load: &mut SimulatedRun,
        measurement: &mut SimulatedMeasurement,
        to: u64,
        step: &Step,
    ) -> Result<bool, Halt> {
        if self.clock >= self.faults.gone_at() {
            return Err(self.device_gone());
        }
        let began = self.clock;
        self.drive.wear = self.faults.program_slowdown(self.drive.host_bytes);
        let mut context = SimContext {
            drive: &mut self.drive,
            faults: &mut self.faults,
            stop: &self.stop,
            measurement,
        };
        let end = load.advance(to, &mut context);
        self.clock = load.now();
        self.drive.update_temperature(self.clock);
        self.faults.update_throttling(self.drive.celsius(), self.clock - began);
        match end {
            AdvanceEnd::Reached | AdvanceEnd::Complete if self.stop.is_requested() => {
                Err(Halt::Stopped)
            }
            AdvanceEnd::Reached => Ok(false),
            AdvanceEnd::Complete => Ok(true),
            AdvanceEnd::Stopped => Err(Halt::Stopped),
            AdvanceEnd::Faulty => Err(too_many_faults(step, measurement)),
            AdvanceEnd::Gone => Err(self.device_gone()),
            AdvanceEnd::Hangs => Err(self.hang()),
            AdvanceEnd::Failed => Err(script_failure(step, load)),
        }
    }

    fn device_gone(&self) -> Halt {
        Halt::DeviceGone {
            device: self.device.path.clone(),
            why: "the simulated drive no longer answers".to_owned(),
        }
    }

    fn baseline(&self) -> CounterBaseline {
        CounterBaseline {
            counters: self.drive.counters(),
            throttling: self.faults.throttle_counts(),
            work_picojoules: self.drive.work_picojoules(),
        }
    }

    /// Returns the changes of the drive's own log since `earlier`, which are exact.
    fn log_since(&self, earlier: &CounterBaseline) -> LogDelta {
        let (before, after) = (earlier.counters, self.drive.counters());
        let change =
            |bytes: fn(&DeviceCounters) -> Option<Bytes>| Some(bytes(&after)? - bytes(&before)?);
        let throttling = self.faults.throttle_counts().zip(earlier.throttling);
        LogDelta {
            host_written: change(|counters| counters.host_written),
            nand_written: change(|counters| counters.nand_written),
            host_read: change(|counters| counters.host_read),
            host_unit: Some(Bytes(0)),
            nand_unit: Some(Bytes(0)),
            before: Some(before),
            after: Some(after),
            throttle_events: throttling.map(|(now, before)| now.events - before.events),
            // The log counts whole seconds since the drive was created.
            throttle_seconds: throttling
                .map(|(now, before)| now.nanos / Nanos::SECOND.0 - before.nanos / Nanos::SECOND.0),
            ..LogDelta::default()
        }
    }

    /// Returns the mean power in milliwatts since `earlier`; `None` if no time has passed.
    fn power_since(&self, earlier: &CounterBaseline, elapsed: Nanos) -> Option<f64> {
        let idle = f64::from(self.spec.power.idle_milliwatts);
        let work = self.drive.work_picojoules() - earlier.work_picojoules;
        // A picojoule per nanosecond is a milliwatt.
        (elapsed > Nanos::ZERO).then(|| idle + work as f64 / elapsed.0 as f64)
    }

    /// Waits, in real time, until a stop is requested.
    fn hang(&self) -> Halt {
        while !self.stop.is_requested() {
            std::thread::sleep(STOP_POLL);
        }
        Halt::Stopped
    }

    /// Runs a load to the end of its ramp.
    fn pass_ramp(
        &mut self,
        load: &mut SimulatedRun,
        measurement: &mut SimulatedMeasurement,
        step: &Step,
    ) -> Result<(), Halt> {
        while self.clock < load.measured_from() {
            let to = load.measured_from().min(self.clock + Nanos::SECOND.0);
            if self.advance(load, measurement, to, step)? {
                break;
            }
        }
        Ok(())
    }

    /// Measures a load. Returns true when it is complete, false when the step is cut.
    fn measure(
        &mut self,
        load: &mut SimulatedRun,
        measurement: &mut SimulatedMeasurement,
        step: &Step,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<bool, Halt> {
        let cut = step.cut.map_or(u64::MAX, |cut| measurement.begin.saturating_add(cut.0));
        let end = load.ends_at().unwrap_or(u64::MAX);
        let last = cut.min(end);
        loop {
            let to = measurement.closes_at().min(last);
            let complete = self.advance(load, measurement, to, step)?;
            if let Some(interval) = measurement.close(self.clock) {
                watch(interval);
            }
            if complete || (self.clock >= last && end <= cut) {
                return Ok(true);
            }
            if self.clock >= last {
                return Ok(false);
            }
        }
    }

    fn conclude(
        &mut self,
        mut load: SimulatedRun,
        mut measurement: SimulatedMeasurement,
        before: CounterBaseline,
        complete: bool,
    ) -> Measurement {
        let (began, began_unix_ms) = (measurement.begin, unix_ms(measurement.begin));
        let elapsed = measurement.meter.elapsed();
        let (cursors, seed, parts) = match &load.kind {
            SimulatedRunKind::Drawn(load) => (load.plan.cursors(), load.seed, Vec::new()),
            SimulatedRunKind::Concurrent(loads) => {
                (loads.cursors(), loads.seed(), loads.parts(began, elapsed))
            }
            SimulatedRunKind::Script(_) => (BTreeMap::new(), None, Vec::new()),
        };
        let log = self.log_since(&before);
        let power_milliwatts = self.power_since(&before, elapsed);
        if complete {
            load.drain(&mut self.drive, &mut measurement);
            self.advance_clock(load.now());
        } else if !load.is_idle() {
            measurement.note_completion(self.clock);
        }
        measurement.add_outstanding();
        let writes_alone = measurement.meter.writes_alone();
        let start_error = measurement.meter.start_error();
        let (streams, intervals, replay) = match &load.kind {
            SimulatedRunKind::Drawn(_) | SimulatedRunKind::Concurrent(_) => {
                let (streams, intervals) = measurement.meter.finish();
                (streams, intervals, None)
            }
            SimulatedRunKind::Script(script) => {
                let mut played = measurement.meter.finish_script();
                let replay = script.replay_result(&mut played);
                (played.streams, played.intervals, Some(Box::new(replay)))
            }
        };
        if !complete {
            self.running = Some(load);
        }
        Measurement {
            began_unix_ms,
            elapsed,
            complete,
            streams,
            writes_alone,
            parts,
            unmeasured: by_operation(&measurement.unmeasured),
            start_error,
            silences: measurement.silences,
            intervals,
            cursors,
            seed,
            fault_count: measurement.fault_count,
            faults: measurement.faults,
            replay,
            write_amplification: WriteAmplification::from_log(&log),
            sensed: SensorReadings {
                temperature_celsius: Some(self.drive.celsius()),
                power_milliwatts,
                log: Some(log),
                ..SensorReadings::default()
            },
            ..Measurement::default()
        }
    }

    /// Completes the outstanding I/Os of a load that is no longer measured.
    fn drain(&mut self, mut load: SimulatedRun) {
        let mut discarded = SimulatedMeasurement::new(&load.load, Nanos::SECOND, self.clock);
        load.drain(&mut self.drive, &mut discarded);
        self.advance_clock(load.now());
    }

    fn advance_clock(&mut self, now: u64) {
        self.clock = self.clock.max(now);
        self.drive.update_temperature(self.clock);
    }

    fn prepare_load(&self, load: &Load) -> Result<SimulatedLoad, StepRefusal> {
        match load {
            Load::Stimulus(stimulus) => Ok(SimulatedLoad::Drawn(self.plan(stimulus)?)),
            Load::Together(stimuli) => match Load::fault_at_once(stimuli) {
                Some(why) => Err(StepRefusal(why)),
                None => stimuli
                    .iter()
                    .map(|stimulus| self.plan(stimulus))
                    .collect::<Result<_, _>>()
                    .map(SimulatedLoad::Concurrent),
            },
            Load::Script(script) => {
                if let Some(why) = script.fault().or_else(|| self.refuse_script(script)) {
                    return Err(StepRefusal(why));
                }
                let reader =
                    ScriptReader::open(script).map_err(|error| StepRefusal(error.to_string()))?;
                Ok(SimulatedLoad::Script(reader))
            }
        }
    }

    /// Returns why this drive cannot take the I/Os that a script announces.
    fn refuse_script(&self, script: &ScriptLoad) -> Option<String> {
        let path = &self.device.path;
        if let Some(why) = script_refusal(script, path, self.device.capacity, SECTOR) {
            return Some(why);
        }
        if script.demand.outstanding() > SLOTS_MAX {
            return Some(refuse_demand(script.demand));
        }
        (script.largest > TRANSFER_MAX).then(|| {
            format!(
                "script '{}': {path} takes at most {} MiB per I/O; split larger ones",
                script.name,
                TRANSFER_MAX.0 >> 20
            )
        })
    }

    fn plan(&self, stimulus: &Stimulus) -> Result<DrawPlan, StepRefusal> {
        let refusal = stimulus
            .fault()
            .or_else(|| {
                range_refusal(stimulus.active_range, &self.device.path, self.device.capacity)
            })
            .or_else(|| stimulus.streams.iter().find_map(refuse_stream))
            .or_else(|| limit_refusal(stimulus, SECTOR))
            .or_else(|| refuse_unsupported(stimulus));
        match refusal {
            Some(why) => Err(StepRefusal(why)),
            None => Ok(DrawPlan::new(stimulus)?),
        }
    }
}

/// Returns why a script failed, as the end of the run.
fn script_failure(step: &Step, load: &SimulatedRun) -> Halt {
    let error = match &load.kind {
        SimulatedRunKind::Script(script) => script.error.as_ref().map(ToString::to_string),
        SimulatedRunKind::Drawn(_) | SimulatedRunKind::Concurrent(_) => None,
    };
    Halt::Refused(format!("{}: {}", step.place, error.unwrap_or_default()))
}

fn refuse_demand(demand: Demand) -> String {
    format!(
        "demand {demand} is more than a simulated drive supports: at most {SLOTS_MAX} \
         outstanding I/Os"
    )
}

fn unix_ms(clock: u64) -> u64 {
    VIRTUAL_EPOCH_UNIX_MS + clock / 1_000_000
}

/// Returns the identity and properties of a drive of this spec.
fn device(spec: &DriveSpec, write_cache: WriteCache) -> Device {
    Device {
        path: format!("sim:{}", spec.name),
        name: spec.name.to_owned(),
        transport: Transport::Simulated,
        model: Some(spec.model.to_owned()),
        serial: Some(spec.serial.to_owned()),
        firmware: Some(env!("CARGO_PKG_VERSION").to_owned()),
        wwid: None,
        capacity: spec.capacity(),
        logical_sector: SECTOR as u32,
        physical_sector: spec::PAGE as u32,
        rotational: Some(false),
        discard: true,
        write_cache: Some(write_cache),
        link: Some(format!("simulated, {} MB/s each way", spec.link_mb_per_second)),
        zoned: None,
        array: None,
        in_use: Vec::new(),
    }
}

fn too_many_faults(step: &Step, measurement: &SimulatedMeasurement) -> Halt {
    let first = measurement.faults.first().map_or_else(String::new, |fault| {
        let op = fault.op.name();
        format!("{op} of {} B at byte {}: simulated I/O error", fault.size.0, fault.offset.0)
    });
    Halt::Faults { place: step.place.to_string(), count: measurement.fault_count, first }
}

fn refuse_stream(stream: &IoStream) -> Option<String> {
    if stream.op == Op::Flush {
        return None;
    }
    if let Some(why) = sector_refusal(stream, SECTOR) {
        return Some(format!("'{stream}': {why}"));
    }
    let size_max = if stream.op == Op::Discard { DISCARD_MAX } else { TRANSFER_MAX };
    (stream.size > size_max)
        .then(|| format!("'{stream}': a drive takes at most {} MiB per I/O", size_max.0 >> 20))
}

/// Returns why a simulated drive cannot carry or verify the load as requested.
fn refuse_unsupported(stimulus: &Stimulus) -> Option<String> {
    if stimulus.demand.outstanding() > SLOTS_MAX {
        return Some(refuse_demand(stimulus.demand));
    }
    stimulus
        .verify
        .then(|| "a simulated drive keeps no data, so nothing can be verified".to_owned())
}

impl Engine for SimulatedSsd {
    fn describe(&self) -> String {
        format!("simulation in virtual time: {} ({})", self.spec.name, self.spec.summary)
    }

    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal> {
        PreparedStep::with(step, takes_over(&self.running, step), |load| self.prepare_load(load))
    }

    /// An interval that a halt leaves open is not reported.
    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        watch: &mut dyn FnMut(&Interval),
    ) -> Result<Measurement, Halt> {
        let (step, prepared) = prepared.into_parts();
        let step = &step;
        match &step.load {
            Load::Stimulus(stimulus) => self.drive.set_data_pattern(&stimulus.data_pattern),
            Load::Script(script) => self.drive.set_data_pattern(&script.data_pattern),
            // Each load sets its own before its I/Os.
            Load::Together(_) => {}
        }
        let mut load = self.load_for(step, prepared, start)?;
        let mut measurement = SimulatedMeasurement::new(
            &load.load,
            step.interval(),
            self.clock.max(load.measured_from()),
        );
        let applied = self.pass_ramp(&mut load, &mut measurement, step).and_then(|()| {
            let before = self.baseline();
            Ok((before, self.measure(&mut load, &mut measurement, step, watch)?))
        });
        match applied {
            Ok((before, complete)) => Ok(self.conclude(load, measurement, before, complete)),
            Err(halt) => {
                self.drain(load);
                Err(halt)
            }
        }
    }

    fn end_load(&mut self) {
        if let Some(load) = self.running.take() {
            self.drain(load);
        }
    }
}
