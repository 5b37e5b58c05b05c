//! The simulated drive of a world, with the history of its commands.
//!
//! A drive's results follow from its history alone. They are cached for all scenarios, and a drive
//! is simulated only when its history is new; the simulation then repeats that history first.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{LazyLock, Mutex, PoisonError};
use steadfast_domain::power_cut::{PowerCutOutcome, WritePlan};
use steadfast_domain::{Conditions, Device, Halt, Measurement, Nanos, Purge, Step};
use steadfast_engine::sim::{DriveSpec, SimulatedSsd};
use steadfast_engine::{StepStart, StopSignal};
use steadfast_runner::Rig;
use steadfast_runner::simulated_rig::SimulatedRig;

/// Maximum number of cached results; others are simulated again.
const RESULTS_MAX: usize = 50_000;

/// A command to a drive.
#[derive(Debug, Clone)]
pub enum DriveCommand {
    Settle(Conditions),
    Purge,
    Idle(Nanos),
    Apply(Box<(Step, StepStart)>),
    EndLoad,
    /// Writes the blocks of a trial, cuts the power, and reads them back.
    CutPower(WritePlan),
}

/// The result of a command.
#[derive(Debug, Clone)]
pub enum DriveResult {
    Nothing,
    Settled(Conditions),
    Purged(Purge),
    Measured(Box<Measurement>),
    PowerCut(Box<PowerCutOutcome>),
}

/// A result and the drive's virtual time after it.
type TimedResult = (Result<DriveResult, Halt>, u64);

static RESULTS: LazyLock<Mutex<HashMap<u64, TimedResult>>> = LazyLock::new(Mutex::default);

/// A drive in virtual time.
pub struct RememberedDrive {
    spec: DriveSpec,
    device: Device,
    history: Vec<DriveCommand>,
    /// Number that identifies the drive and its history.
    key: u64,
    now_unix_ms: u64,
    simulated: Option<SimulatedRig>,
}

impl RememberedDrive {
    /// Creates a factory-new drive.
    pub fn new(spec: &DriveSpec) -> RememberedDrive {
        let rig = new_rig(spec);
        let (device, now_unix_ms) = (rig.device().clone(), rig.now_unix_ms());
        let (history, key) = (Vec::new(), hash(&format!("{spec:?}")));
        RememberedDrive { spec: spec.clone(), device, history, key, now_unix_ms, simulated: None }
    }

    pub fn device(&self) -> &Device {
        &self.device
    }

    pub fn now_unix_ms(&self) -> u64 {
        self.now_unix_ms
    }

    /// Executes a command.
    pub fn execute(&mut self, command: DriveCommand) -> Result<DriveResult, Halt> {
        self.key = hash(&(self.key, format!("{command:?}")));
        let results = || RESULTS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = results().get(&self.key).cloned();
        let (result, now_unix_ms) = match (known, &mut self.simulated) {
            (Some(known), None) => known,
            (_, simulated) => {
                let rig = simulated.get_or_insert_with(|| {
                    let mut rig = new_rig(&self.spec);
                    self.history.iter().for_each(|earlier| drop(perform(&mut rig, earlier)));
                    rig
                });
                let result = (perform(rig, &command), rig.now_unix_ms());
                if results().len() < RESULTS_MAX {
                    results().insert(self.key, result.clone());
                }
                result
            }
        };
        self.history.push(command);
        self.now_unix_ms = now_unix_ms;
        result
    }
}

fn new_rig(spec: &DriveSpec) -> SimulatedRig {
    SimulatedRig::new(SimulatedSsd::new(spec, 1, StopSignal::default()), None)
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

fn perform(rig: &mut SimulatedRig, command: &DriveCommand) -> Result<DriveResult, Halt> {
    match command {
        DriveCommand::Settle(wanted) => {
            rig.settle(wanted, &mut |_| Ok(())).map(DriveResult::Settled)
        }
        DriveCommand::Purge => rig.purge(&mut |_| Ok(()), &mut |_| ()).map(DriveResult::Purged),
        DriveCommand::Idle(time) => rig.idle(*time).map(|()| DriveResult::Nothing),
        DriveCommand::EndLoad => {
            rig.end_load();
            Ok(DriveResult::Nothing)
        }
        DriveCommand::CutPower(plan) => {
            rig.write_until_cut(plan, &mut |_| ())?;
            rig.read_after_cut(plan).map(|outcome| DriveResult::PowerCut(Box::new(outcome)))
        }
        DriveCommand::Apply(step) => {
            let (step, start) = &**step;
            let prepared = rig.prepare(step).map_err(|refusal| refusal.at_step(step))?;
            let measured = rig.apply(prepared, start, &mut |_| ())?;
            Ok(DriveResult::Measured(Box::new(measured)))
        }
    }
}
