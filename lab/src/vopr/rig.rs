//! The rig of a simulated process: a drive and a host with faults.

use crate::drive::{DriveCommand, DriveResult, RememberedDrive};
use crate::fault::{CallKind, InjectedFault, PlantedBug};
use crate::world::{Process, WorldState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use steadfast_domain::measurement::Verification;
use steadfast_domain::record::HostChange;
use steadfast_domain::{
    Bytes, Conditions, Device, Halt, Host, Load, Measurement, Nanos, Op, Proof, Purge, PurgeMethod,
    Step,
};
use steadfast_engine::sim::VIRTUAL_EPOCH_UNIX_MS;
use steadfast_engine::{PreparedStep, StepRefusal, StepStart};
use steadfast_runner::rig::{IntervalCallback, Journal, PurgeCallback};
use steadfast_runner::{ClockReading, HostRequests, Rig};

/// Name of the host setting, and the value that a run wants.
pub const SETTING: &str = "queue/nomerges";
const WANTED_SETTING: &str = "2";

/// A drive that keeps its state between processes.
pub type SharedDrive = Arc<Mutex<RememberedDrive>>;

/// Device and host of a process.
pub struct SimulatedHostRig {
    process: Process,
    drive: SharedDrive,
    device: Device,
    /// True for a drive that is factory-new in every process, as the program's simulated drives
    /// are.
    is_simulated: bool,
}

impl Drop for SimulatedHostRig {
    fn drop(&mut self) {
        let mut state = self.process.world.state();
        state.drive_users = state.drive_users.saturating_sub(1);
    }
}

fn lock(drive: &SharedDrive) -> MutexGuard<'_, RememberedDrive> {
    drive.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimulatedHostRig {
    pub fn new(process: &Process, drive: SharedDrive, is_simulated: bool) -> SimulatedHostRig {
        let mut device = lock(&drive).device().clone();
        let mut state = process.world.state();
        state.drive_users += 1;
        if state.drive_users > 1 {
            state.violation.get_or_insert_with(|| "two processes use the drive at once".to_owned());
        }
        if state.drive_changes > 0 {
            device.name = format!("{}-{}", device.name, state.drive_changes);
            device.path = format!("sim:{}", device.name);
        }
        drop(state);
        let mut rig = SimulatedHostRig { process: process.clone(), drive, device, is_simulated };
        // The load of a process ends with the process.
        rig.end_load();
        rig
    }

    fn execute(&self, command: DriveCommand) -> Result<DriveResult, Halt> {
        lock(&self.drive).execute(command)
    }

    fn call<T>(
        &self,
        kind: CallKind,
        about: &dyn Fn() -> String,
        effect: impl FnOnce(&mut WorldState, Option<InjectedFault>) -> T,
    ) -> T {
        self.process.call(kind, about, effect)
    }

    fn set(&self, to: &str) -> Result<(), Halt> {
        self.call(CallKind::Setting, &|| format!("{SETTING} = {to}"), |state, fault| {
            host_error(fault)?;
            to.clone_into(&mut state.setting);
            Ok(())
        })
    }

    fn apply_setting(&self, journal: Journal<'_>) -> Result<(), Halt> {
        let (before, bug) =
            self.call(CallKind::Setting, &|| format!("{SETTING}?"), |state, fault| {
                host_error(fault).map(|()| (state.setting.clone(), state.disk.bug))
            })?;
        if before == WANTED_SETTING {
            return Ok(());
        }
        let after = WANTED_SETTING.to_owned();
        let change = HostChange { setting: SETTING.into(), before, after, ..HostChange::default() };
        if bug == Some(PlantedBug::ChangeBeforeJournal) {
            self.set(WANTED_SETTING)?;
        }
        journal(&change)?;
        self.set(WANTED_SETTING)
    }
}

/// Compares the data read by a step, as the engine of a real device does, because a simulated drive
/// stores no data. Returns the step for the drive.
fn without_comparison(step: &Step) -> Step {
    match &step.load {
        Load::Stimulus(stimulus) => {
            Step { load: Load::Stimulus(stimulus.clone().verify(false)), ..step.clone() }
        }
        _ => step.clone(),
    }
}

fn comparison(step: &Step, measured: &Measurement, is_wrong: bool) -> Option<Verification> {
    let is_compared = step.load.stimulus().is_some_and(|stimulus| stimulus.verify);
    let sectors = measured.direction(Op::Read).bytes.0 / 512;
    let miscompares = u64::from(is_wrong && sectors > 0);
    is_compared.then(|| Verification {
        sectors_right: sectors - miscompares,
        miscompares,
        first: vec![Bytes(0); miscompares as usize],
        ..Verification::default()
    })
}

impl Rig for SimulatedHostRig {
    fn device(&self) -> &Device {
        &self.device
    }
    fn host(&self) -> Host {
        Host::default()
    }
    fn engine(&self) -> String {
        "simulated".into()
    }
    fn now_unix_ms(&self) -> u64 {
        self.now().unix_ms
    }
    fn now(&self) -> ClockReading {
        let drive = lock(&self.drive).now_unix_ms();
        if self.is_simulated {
            return drive.into();
        }
        let state = self.process.world.state();
        ClockReading {
            unix_ms: drive.saturating_add_signed(state.clock_shift),
            up: Some(Nanos::from_millis(drive - VIRTUAL_EPOCH_UNIX_MS)),
            kernel: None,
        }
    }
    fn proof(&self) -> Option<Proof> {
        let boot = Some(self.process.world.state().boot_id());
        (!self.is_simulated).then(|| Proof { boot, ..Proof::default() })
    }
    fn is_simulated(&self) -> bool {
        self.is_simulated
    }
    fn set_requests(&mut self, _: &HostRequests) {}
    fn settle(&mut self, wanted: &Conditions, journal: Journal<'_>) -> Result<Conditions, Halt> {
        self.apply_setting(journal)?;
        match self.execute(DriveCommand::Settle(wanted.clone()))? {
            DriveResult::Settled(got) => Ok(got),
            other => Err(Halt::Refused(format!("settling gave {other:?}"))),
        }
    }
    fn foresee_purge(&mut self) -> Result<PurgeMethod, Halt> {
        Ok(PurgeMethod::Simulated)
    }
    fn purge(&mut self, _: Journal<'_>, _: PurgeCallback<'_>) -> Result<Purge, Halt> {
        self.call(CallKind::Purge, &String::new, |_, fault| host_error(fault))?;
        match self.execute(DriveCommand::Purge)? {
            DriveResult::Purged(purge) => Ok(purge),
            other => Err(Halt::Refused(format!("a purge gave {other:?}"))),
        }
    }
    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal> {
        Ok(PreparedStep::plain(step.clone()))
    }
    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        _: IntervalCallback<'_>,
    ) -> Result<Measurement, Halt> {
        let step = prepared.step();
        let about = || step.place.to_string();
        match self.call(CallKind::Apply, &about, |_, fault| fault) {
            Some(InjectedFault::DeviceErrors) => return Err(faults(step)),
            Some(InjectedFault::DeviceStall) => {
                let (place, elapsed) = (step.place.to_string(), Nanos::SECOND);
                return Err(Halt::Stalled { place, stalled: Nanos::from_millis(900), elapsed });
            }
            Some(InjectedFault::DeviceGone) => {
                self.process.world.state().drive_changes += 1;
                let (device, why) = (self.device.path.clone(), "it vanished".to_owned());
                return Err(Halt::DeviceGone { device, why });
            }
            _ => {}
        }
        let command = DriveCommand::Apply(Box::new((without_comparison(step), start.clone())));
        let DriveResult::Measured(mut measured) = self.execute(command)? else {
            return Err(Halt::Refused("the drive measured nothing".into()));
        };
        let fault = self.call(CallKind::Applied, &about, |_, fault| fault);
        if fault == Some(InjectedFault::DeviceReset) {
            return Err(faults(step));
        }
        // A drive that repeats its history cannot return wrong data only once.
        let is_wrong = fault == Some(InjectedFault::WrongData) && !self.is_simulated;
        measured.verification = comparison(step, &measured, is_wrong);
        Ok(*measured)
    }
    fn end_load(&mut self) {
        let _ = self.execute(DriveCommand::EndLoad);
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.call(CallKind::Idle, &|| time.to_string(), |_, fault| host_error(fault))?;
        self.execute(DriveCommand::Idle(time)).map(drop)
    }
    fn restore(&mut self, change: &HostChange) -> Result<(), Halt> {
        restore_setting(&self.process, change)
    }
}

/// Reverts a host change that is still in effect.
pub fn restore_setting(process: &Process, change: &HostChange) -> Result<(), Halt> {
    let about = || format!("{SETTING} back to {}", change.before);
    process.call(CallKind::Setting, &about, |state, fault| {
        host_error(fault)?;
        if state.setting == change.after {
            change.before.clone_into(&mut state.setting);
        }
        Ok(())
    })
}

fn host_error(fault: Option<InjectedFault>) -> Result<(), Halt> {
    if fault == Some(InjectedFault::HostError) {
        return Err(Halt::Refused("the host refused the call".into()));
    }
    Ok(())
}

fn faults(step: &Step) -> Halt {
    let (place, first) = (step.place.to_string(), "write at 0: EIO".to_owned());
    Halt::Faults { place, count: 1, first }
}
