//! The rig of a simulated process: a drive and a host with faults.

use crate::cuts::{SharedCut, TrialOnDrive};
use crate::directory::{SimulatedDirectory, SimulatedFile};
use crate::drive::{DriveCommand, DriveResult, RememberedDrive};
use crate::fault::{CallKind, InjectedFault, PlantedBug};
use crate::world::{LoadStart, Process, WorldState};
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use steadfast_domain::measurement::{CommonStart, Verification};
use steadfast_domain::power_cut::{CutEvidence, PowerCutOutcome, WritePlan, judge};
use steadfast_domain::record::HostChange;
use steadfast_domain::{
    Bytes, Caveat, Conditions, Device, Halt, Host, Load, Measurement, Nanos, Op, Proof, Purge,
    PurgeMethod, Step, caveats as ids,
};
use steadfast_engine::power_cut::AcknowledgmentLog;
use steadfast_engine::sim::VIRTUAL_EPOCH_UNIX_MS;
use steadfast_engine::{PreparedStep, StepRefusal, StepStart, StopSignal};
use steadfast_runner::rig::{
    FlushDelivery, IntervalCallback, Journal, PurgeCallback, StageCallback,
};
use steadfast_runner::{
    ClockReading, CutLog, HostRequests, Rig, SecondLog, StartTicket, open_second_log, read_logs,
};

/// Name of the host setting, and the value that a run wants.
pub const SETTING: &str = "queue/nomerges";
pub const WANTED_SETTING: &str = "2";

/// Largest virtual time that a process may spend beyond its steps (docs/fire.md).
const WAIT_MAX: Nanos = Nanos::from_secs(3600);

/// Name of the second log of acknowledged writes, outside of the run directory.
const SECOND_LOG: &str = "second.log";

/// A drive that keeps its state between processes.
pub type SharedDrive = Arc<Mutex<RememberedDrive>>;

/// Device and host of a process.
pub struct SimulatedHostRig {
    process: Process,
    drive: SharedDrive,
    device: Device,
    number: usize,
    /// True for a drive that is factory-new in every process, as the program's simulated drives
    /// are.
    is_simulated: bool,
    /// The run directory and the last trial of a drive that keeps its state.
    cuts: Option<(SimulatedDirectory, SharedCut)>,
    cut_log: Option<CutLog<SimulatedFile>>,
    /// Place at the common start of several targets.
    ticket: Option<StartTicket>,
    /// Virtual time at which the process began.
    began_unix_ms: u64,
    /// Virtual time of the steps that the process has measured.
    measured: Nanos,
    /// Caveats that arose since they were last taken.
    caveats: Vec<Caveat>,
    /// Result of the last power cut of a factory-new drive.
    virtual_cut: Option<Box<PowerCutOutcome>>,
}

impl Drop for SimulatedHostRig {
    fn drop(&mut self) {
        let mut state = self.process.world.state();
        let users = &mut state.drives[self.number].users;
        *users = users.saturating_sub(1);
        if state.disk.bug == Some(PlantedBug::KeptTicket) {
            std::mem::forget(self.ticket.take());
        }
    }
}

fn lock<T>(shared: &Arc<Mutex<T>>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn log_error(error: std::io::Error) -> Halt {
    Halt::Refused(format!("the log of acknowledged writes: {error}"))
}

impl SimulatedHostRig {
    pub fn new(
        process: &Process,
        number: usize,
        drive: SharedDrive,
        is_simulated: bool,
    ) -> SimulatedHostRig {
        let mut device = lock(&drive).device().clone();
        let mut state = process.world.state();
        let attached = &mut state.drives[number];
        attached.users += 1;
        let (users, changes) = (attached.users, attached.changes);
        if users > 1 {
            state.violation.get_or_insert_with(|| "two processes use the drive at once".to_owned());
        }
        if changes > 0 {
            device.name = format!("{}-{changes}", device.name);
            device.path = format!("sim:{}", device.name);
        }
        drop(state);
        let mut rig = SimulatedHostRig {
            process: process.clone(),
            drive,
            device,
            number,
            is_simulated,
            cuts: None,
            cut_log: None,
            ticket: None,
            began_unix_ms: 0,
            measured: Nanos::ZERO,
            caveats: Vec::new(),
            virtual_cut: None,
        };
        rig.began_unix_ms = lock(&rig.drive).now_unix_ms();
        // The load of a process ends with the process.
        rig.end_load();
        rig
    }

    /// From now on, keeps the logs of power cuts in the run directory, as a real device's rig does.
    pub fn keep_cut_logs(&mut self, run: &SimulatedDirectory, cut: &SharedCut) {
        if !self.is_simulated {
            self.cuts = Some((run.clone(), cut.clone()));
        }
    }

    fn open_cut_log(
        &self,
        run: &SimulatedDirectory,
        key: u64,
    ) -> Result<CutLog<SimulatedFile>, Halt> {
        let root = SimulatedDirectory::root(&self.process);
        let second = open_second_log(&root, OsStr::new(SECOND_LOG)).map_err(log_error)?;
        CutLog::open_in(run, Some(SecondLog::File(second)), key).map_err(log_error)
    }

    /// Writes batches and acknowledges their flushes until the power of the drive is cut.
    fn write_batches(&mut self, plan: &WritePlan, cut: &SharedCut) -> Result<CutEvidence, Halt> {
        let not_open = || Halt::Refused("the log of acknowledged writes is not open".into());
        let mut log = self.cut_log.take().ok_or_else(not_open)?;
        let boots = self.process.world.state().boots;
        let trial = TrialOnDrive::new(plan, boots);
        let (batches, every) = trial.schedule();
        *lock(cut) = Some(trial);
        let on_drive = |action: &mut dyn FnMut(&mut TrialOnDrive)| {
            lock(cut).as_mut().into_iter().for_each(action);
        };
        for batch in 0..batches {
            let about = || format!("batch {batch}");
            match self.call(CallKind::Apply, &about, |_, fault| fault) {
                Some(InjectedFault::DeviceErrors) => return Ok(CutEvidence::MediumError),
                Some(InjectedFault::DeviceGone) => {
                    let (device, why) = (self.device.path.clone(), "it vanished".to_owned());
                    return Err(Halt::DeviceGone { device, why });
                }
                _ => {}
            }
            let mut flush = None;
            on_drive(&mut |trial| flush = Some(trial.write_batch(batch, every)));
            if let Some(flush) = flush {
                log.append(flush).map_err(log_error)?;
            }
            on_drive(&mut TrialOnDrive::note_appended);
        }
        let fault = self.call(CallKind::Applied, &|| "power cut".to_owned(), |_, fault| fault);
        let is_wrong = fault == Some(InjectedFault::WrongData);
        on_drive(&mut |trial| trial.cut(batches, is_wrong));
        let (device, why) = (self.device.path.clone(), "EIO".to_owned());
        Err(Halt::PowerCut { device, why })
    }

    /// Reads the logs and the blocks of a trial back.
    fn read_cut(
        &self,
        plan: &WritePlan,
        run: &SimulatedDirectory,
        cut: &SharedCut,
    ) -> Result<PowerCutOutcome, Halt> {
        let root = SimulatedDirectory::root(&self.process);
        let second = match root.open_named(SECOND_LOG) {
            Err(error) if error.is_missing() => None,
            opened => Some(opened.map_err(std::io::Error::other).map_err(log_error)?),
        };
        let log = read_logs(run, second, plan.key()).map_err(log_error)?;
        let boots = self.process.world.state().boots;
        let trial = lock(cut);
        let not_written = TrialOnDrive::new(plan, boots);
        let trial = trial.as_ref().unwrap_or(&not_written);
        self.process.world.require(trial.check_log(plan, &log, boots));
        Ok(judge(plan, &log, &trial.read_back(plan, boots)))
    }

    fn execute(&self, command: DriveCommand) -> Result<DriveResult, Halt> {
        let mut drive = lock(&self.drive);
        let result = drive.execute(command);
        let spent = Nanos::from_millis(drive.now_unix_ms() - self.began_unix_ms);
        drop(drive);
        let measured = match &result {
            Ok(DriveResult::Measured(measurement)) => self.measured + measurement.elapsed,
            _ => self.measured,
        };
        if spent.saturating_sub(measured) > WAIT_MAX {
            let why = || format!("a process spent {spent}, and only {measured} in steps");
            self.process.exceed(why);
        }
        result
    }

    fn call<T>(
        &self,
        kind: CallKind,
        about: &dyn Fn() -> String,
        effect: impl FnOnce(&mut WorldState, Option<InjectedFault>) -> T,
    ) -> T {
        self.process.call(kind, about, effect)
    }

    /// Waits until the load of a step may start, as a real device's rig does.
    fn wait_for_start(&mut self, step: &Step) -> Result<Option<CommonStart>, Halt> {
        let state = self.process.world.state();
        let (bug, was_hit) = (state.disk.bug, state.has_hit_other(self.process.thread()));
        drop(state);
        if bug == Some(PlantedBug::SharedFate) && was_hit {
            return Err(failed_ios(step));
        }
        let is_alone = bug == Some(PlantedBug::LoneStart) && self.number == 0;
        match &mut self.ticket {
            Some(ticket) if !step.continues && !is_alone => {
                ticket.wait(step, &StopSignal::default())
            }
            _ => Ok(None),
        }
    }

    fn set(&self, to: &str) -> Result<(), Halt> {
        self.call(CallKind::Setting, &|| format!("{SETTING} = {to}"), |state, fault| {
            host_error(fault)?;
            to.clone_into(&mut state.drives[self.number].setting);
            Ok(())
        })
    }

    fn apply_setting(&self, journal: Journal<'_>) -> Result<(), Halt> {
        let (before, bug) =
            self.call(CallKind::Setting, &|| format!("{SETTING}?"), |state, fault| {
                let setting = &state.drives[self.number].setting;
                host_error(fault).map(|()| (setting.clone(), state.disk.bug))
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
    fn join(&mut self, ticket: StartTicket, caveat: Option<Caveat>) {
        self.ticket = Some(ticket);
        self.caveats.extend(caveat);
    }
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
        let common = self.wait_for_start(step)?;
        let (process, drive) = (self.process.number, self.number);
        let fault = self.call(CallKind::Apply, &about, |state, fault| {
            if !step.continues {
                let place = step.place.clone();
                let setting = state.drives[drive].setting.clone();
                state.starts.push(LoadStart { process, drive, place, common, setting });
            }
            fault
        });
        match fault {
            Some(InjectedFault::DeviceErrors) => return Err(failed_ios(step)),
            Some(InjectedFault::DeviceStall) => {
                // A drive that is factory-new in every process is unaffected by earlier ones.
                if !self.is_simulated {
                    let text = format!("The host was stopped in {}.", step.place);
                    self.caveats.push(Caveat::remark(ids::HOST_LAGS, text, "Repeat the run."));
                }
                let (place, elapsed) = (step.place.to_string(), Nanos::SECOND);
                return Err(Halt::Stalled { place, stalled: Nanos::from_millis(900), elapsed });
            }
            Some(InjectedFault::DeviceGone) => {
                self.process.world.state().drives[self.number].changes += 1;
                let (device, why) = (self.device.path.clone(), "it vanished".to_owned());
                return Err(Halt::DeviceGone { device, why });
            }
            _ => {}
        }
        let command = DriveCommand::Apply(Box::new((without_comparison(step), start.clone())));
        let DriveResult::Measured(mut measured) = self.execute(command)? else {
            return Err(Halt::Refused("the drive measured nothing".into()));
        };
        self.measured += measured.elapsed;
        let fault = self.call(CallKind::Applied, &about, |_, fault| fault);
        if fault == Some(InjectedFault::DeviceReset) {
            return Err(failed_ios(step));
        }
        // A drive that repeats its history cannot return wrong data only once.
        let is_wrong = fault == Some(InjectedFault::WrongData) && !self.is_simulated;
        measured.verification = comparison(step, &measured, is_wrong);
        measured.common_start = common;
        Ok(*measured)
    }
    fn take_caveats(&mut self) -> Vec<Caveat> {
        std::mem::take(&mut self.caveats)
    }
    fn end_load(&mut self) {
        let _ = self.execute(DriveCommand::EndLoad);
    }
    fn prepare_cut(&mut self, plan: &WritePlan) -> Result<FlushDelivery, Halt> {
        if let Some((run, _)) = &self.cuts {
            self.cut_log = Some(self.open_cut_log(run, plan.key())?);
        }
        Ok(FlushDelivery::Sent)
    }
    fn write_until_cut(
        &mut self,
        plan: &WritePlan,
        _: StageCallback<'_>,
    ) -> Result<CutEvidence, Halt> {
        if let Some((_, cut)) = self.cuts.clone() {
            return self.write_batches(plan, &cut);
        }
        self.call(CallKind::Apply, &|| format!("cycle {}", plan.trial.cycle), |_, _| ());
        match self.execute(DriveCommand::CutPower(plan.clone()))? {
            DriveResult::PowerCut(outcome) => {
                self.virtual_cut = Some(outcome);
                Ok(CutEvidence::Simulated)
            }
            other => Err(Halt::Refused(format!("a power cut gave {other:?}"))),
        }
    }
    fn read_after_cut(&mut self, plan: &WritePlan) -> Result<PowerCutOutcome, Halt> {
        if let Some((run, cut)) = &self.cuts {
            return self.read_cut(plan, run, cut);
        }
        let not_cut = || Halt::Refused("no power was cut".into());
        self.virtual_cut.as_deref().cloned().ok_or_else(not_cut)
    }
    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        let (interrupted, bug) = self.call(CallKind::Idle, &|| time.to_string(), |state, fault| {
            (host_error(fault), state.disk.bug)
        });
        while interrupted.is_err() && bug == Some(PlantedBug::EndlessWait) {
            self.execute(DriveCommand::Idle(time))?;
        }
        interrupted?;
        self.execute(DriveCommand::Idle(time)).map(drop)
    }
    fn restore(&mut self, change: &HostChange) -> Result<(), Halt> {
        restore_setting(&self.process, self.number, change)
    }
}

/// Reverts a host change that is still in effect.
pub fn restore_setting(process: &Process, drive: usize, change: &HostChange) -> Result<(), Halt> {
    let about = || format!("{SETTING} back to {}", change.before);
    process.call(CallKind::Setting, &about, |state, fault| {
        host_error(fault)?;
        let setting = &mut state.drives[drive].setting;
        if *setting == change.after {
            change.before.clone_into(setting);
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

fn failed_ios(step: &Step) -> Halt {
    let (place, first) = (step.place.to_string(), "write at 0: EIO".to_owned());
    Halt::Faults { place, count: 1, first }
}
