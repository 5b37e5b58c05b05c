//! The real rig: a block device or a scratch file, its host, and the engine that moves its data.

use crate::cut_log::{CutLog, LogPlace, read_logs};
use crate::host_requests::HostRequests;
use crate::idle::idle;
use crate::kernel_counts::counts_since;
use crate::ledger::ClockReading;
use crate::progress::PowerCutStage;
use crate::rig::{FlushDelivery, IntervalCallback, Journal, PurgeCallback, Rig, StageCallback};
use crate::start_together::StartTicket;
use crate::test_environment::TestEnvironment;
use std::io;
use std::time::Duration;
use steadfast_domain::drive_page::DrivePage;
use steadfast_domain::measurement::{CommonStart, KernelCounters};
use steadfast_domain::power_cut::{CutEvidence, PowerCounters, PowerCutOutcome, WritePlan, judge};
use steadfast_domain::purge::PurgeCommandRecord;
use steadfast_domain::record::{Check, HostChange};
use steadfast_domain::settings::StartBelow;
use steadfast_domain::{
    Caveat, Conditions, Device, Halt, Host, IoControl, Measurement, Nanos, Proof, Purge,
    PurgeChoice, PurgeMethod, Step, WriteCache, caveats as ids,
};
use steadfast_engine::power_cut::{CutWatch, WritesEnd, read_blocks, write_until_failure};
use steadfast_engine::{PreparedStep, StepRefusal, StepStart, StopSignal, TargetEngine};
use steadfast_host::{
    ChangePlan, Directory, Examination, HostError, LoadCgroups, PurgeProgress, PurgeWatch,
    SystemRoots,
};

pub use steadfast_host::wall_clock_unix_ms;

/// Pause before the kernel's counters are read again.
const REREAD_PAUSE: Duration = Duration::from_millis(1);

/// A device of this machine.
pub struct DeviceRig {
    engine: Box<dyn TargetEngine>,
    host: Host,
    roots: SystemRoots,
    stop: StopSignal,
    environment: TestEnvironment,
    ticket: Option<StartTicket>,
    caveats: Vec<Caveat>,
    /// The kernel's counters at the end of the last step, if its load still runs.
    at_step_end: Option<KernelCounters>,
    /// True if the run has its caveat on FUA writes.
    has_noted_fua: bool,
    /// Control groups that this run made for its loads.
    groups: Option<LoadCgroups>,
    /// Rule of these groups that was set last.
    rule: Option<IoControl>,
    /// Conditions that the procedure settled last.
    wanted: Conditions,
    /// Change of the device that the rule of these groups needs.
    rule_change: Option<HostChange>,
    /// The run's directory.
    directory: Option<Directory>,
    /// The open logs of the next power cut.
    cut_log: Option<CutLog>,
    /// Record of the vendor's command of the last purge, if it failed.
    failed_purge_command: Option<PurgeCommandRecord>,
}

impl DeviceRig {
    /// Adds the caveat on FUA writes that the kernel makes durable with flushes, once.
    fn note_emulated_fua(&mut self, step: &Step) {
        let device = self.engine.target().device();
        let forced = step.load.streams().any(|stream| stream.durability.is_forced());
        if self.has_noted_fua
            || !forced
            || steadfast_host::has_fua(device, &self.roots) != Some(false)
        {
            return;
        }
        let text = format!(
            "{} has no FUA (queue/fua is 0): the kernel wrote and then flushed for each durable \
             write.",
            device.path
        );
        let remedy = "Read the response times of FUA as those of a write and a flush.";
        self.has_noted_fua = true;
        self.caveats.push(Caveat::remark(ids::FUA_EMULATED, text, remedy));
    }

    /// Creates a rig around an engine that holds an armed target.
    pub fn new(engine: impl TargetEngine + 'static, roots: SystemRoots, stop: StopSignal) -> Self {
        let device = engine.target().device();
        let host = steadfast_host::host_facts(&roots, device);
        let environment = TestEnvironment::new(device, &roots);
        DeviceRig {
            engine: Box::new(engine),
            host,
            roots,
            stop,
            environment,
            ticket: None,
            caveats: Vec::new(),
            at_step_end: None,
            has_noted_fua: false,
            groups: None,
            rule: None,
            wanted: Conditions::default(),
            rule_change: None,
            directory: None,
            cut_log: None,
            failed_purge_command: None,
        }
    }

    fn directory(&self) -> Result<&Directory, Halt> {
        let missing = || Halt::Refused("a power cut needs a run directory for its log".into());
        self.directory.as_ref().ok_or_else(missing)
    }

    /// Returns the place of the second log of acknowledged writes.
    fn second_log(&self) -> Option<LogPlace> {
        self.environment.requests.log_to.as_deref().map(LogPlace::parse)
    }

    /// Makes the control groups unless they exist, and sets their rule. Returns the rule, or why
    /// it is unavailable.
    fn control_io(
        &mut self,
        control: IoControl,
        journal: Journal<'_>,
    ) -> Result<Result<IoControl, String>, Halt> {
        let groups = match self.groups.clone() {
            Some(groups) => groups,
            None => match LoadCgroups::plan(self.engine.target().device(), &self.roots) {
                Err(why) => return Ok(Err(why)),
                Ok((groups, changes)) => {
                    for change in &changes {
                        journal(change)?;
                        if let Err(error) = steadfast_host::make_change(change, &self.roots) {
                            return Ok(Err(error.to_string()));
                        }
                    }
                    self.engine.use_groups(groups.clone());
                    self.groups.insert(groups).clone()
                }
            },
        };
        // The change that the last rule needed is undone before the next, and again at the end.
        if let Some(change) = self.rule_change.take() {
            steadfast_host::undo_change(&change, &self.roots).map_err(refused)?;
        }
        if let Some(change) = groups.change_for(control, &self.roots) {
            journal(&change)?;
            if let Err(error) = steadfast_host::make_change(&change, &self.roots) {
                return Ok(Err(error.to_string()));
            }
            self.rule_change = Some(change);
        }
        Ok(groups.apply(control).map(|()| control).map_err(|error| error.to_string()))
    }
}

/// Passes a purge's changes and progress to the bench.
struct PurgeRelay<'a> {
    journal: Journal<'a>,
    report: PurgeCallback<'a>,
    stop: &'a StopSignal,
    command: &'a mut Option<PurgeCommandRecord>,
}

impl PurgeWatch for PurgeRelay<'_> {
    fn journal(&mut self, change: &HostChange) -> Result<(), String> {
        (self.journal)(change).map_err(|halt| halt.to_string())
    }
    fn report(&mut self, progress: &PurgeProgress<'_>) {
        (self.report)(progress);
    }
    fn keep_command(&mut self, record: PurgeCommandRecord) {
        *self.command = Some(record);
    }
    fn is_stopped(&self) -> bool {
        self.stop.is_requested()
    }
}

/// Cuts the power with the user's command, or asks the user to cut it.
struct PowerSwitch<'a> {
    command: Option<String>,
    report: StageCallback<'a>,
}

impl CutWatch for PowerSwitch<'_> {
    fn cut(&mut self) -> Result<(), Halt> {
        (self.report)(PowerCutStage::Cuts(self.command.as_deref()));
        match &self.command {
            Some(command) => steadfast_host::cut_power(command).map_err(refused),
            None => Ok(()),
        }
    }
    fn hangs(&mut self) {
        (self.report)(PowerCutStage::Hangs);
    }
}

fn refused(error: HostError) -> Halt {
    Halt::Refused(error.to_string())
}

fn log_error(error: io::Error) -> Halt {
    Halt::Refused(format!("the log of acknowledged writes: {error}"))
}

impl Rig for DeviceRig {
    fn device(&self) -> &Device {
        self.engine.target().device()
    }
    fn host(&self) -> Host {
        self.host.clone()
    }
    fn engine(&self) -> String {
        self.engine.describe()
    }
    fn now_unix_ms(&self) -> u64 {
        wall_clock_unix_ms()
    }
    fn now(&self) -> ClockReading {
        // If a load still runs, the next step is counted from the end of the last one.
        let kernel = self.at_step_end.or_else(|| {
            steadfast_host::kernel_counters(self.engine.target().device(), &self.roots)
        });
        ClockReading { unix_ms: self.now_unix_ms(), up: steadfast_host::since_boot(), kernel }
    }
    fn proof(&self) -> Option<Proof> {
        self.engine.target().proof(&self.roots)
    }

    fn set_requests(&mut self, requests: &HostRequests) {
        self.environment.requests = requests.clone();
    }
    fn keep_files_in(&mut self, run: &Directory) {
        self.engine.keep_files_in(run);
        self.directory = Some(run.clone());
    }
    fn join(&mut self, ticket: StartTicket, caveat: Option<Caveat>) {
        self.ticket = Some(ticket);
        self.caveats.extend(caveat);
    }
    fn examine(&mut self) -> Examination {
        self.environment.examine()
    }
    fn check_after_run(&mut self) -> Vec<Check> {
        self.environment.check_after_run(&self.stop)
    }
    fn drive_pages(&mut self) -> Vec<DrivePage> {
        steadfast_host::drive_pages(self.engine.target().device(), &self.roots)
    }

    fn settle(&mut self, wanted: &Conditions, journal: Journal<'_>) -> Result<Conditions, Halt> {
        let ChangePlan { changes, mut unmet } =
            steadfast_host::plan_changes(wanted, self.engine.target(), &self.roots);
        for change in &changes {
            journal(change)?;
            if let Err(error) = steadfast_host::make_change(change, &self.roots) {
                unmet.push(error.to_string());
            }
        }
        if !self.engine.target().is_direct() {
            unmet.push(
                "The file system does not support O_DIRECT: the numbers include the host's page cache."
                    .into(),
            );
        }
        let controlled = match wanted.io_control {
            Some(control) => Some(self.control_io(control, journal)?),
            None => None,
        };
        self.rule = wanted.io_control.filter(|_| matches!(controlled, Some(Ok(_))));
        let target = self.engine.target();
        let got = steadfast_host::conditions(target, &self.roots);
        let mut got = steadfast_host::with_power_management(got, wanted, target, &self.roots);
        self.wanted = wanted.clone();
        match controlled {
            Some(Ok(control)) => got.io_control = Some(control),
            Some(Err(why)) => unmet.push(why),
            None => {}
        }
        got.unmet.extend(unmet);
        Ok(got)
    }

    fn read_back(&mut self) -> Option<Conditions> {
        let (target, roots) = (self.engine.target(), &self.roots);
        let found = steadfast_host::conditions(target, roots);
        let mut found = steadfast_host::with_power_management(found, &self.wanted, target, roots);
        if let (Some(groups), Some(rule)) = (&self.groups, self.rule) {
            found.io_control = groups.check(rule).is_ok().then_some(rule);
        }
        Some(found)
    }

    fn purge_command(&self) -> Option<String> {
        let options = &self.environment.requests.purge;
        if options.choice != PurgeChoice::Method(PurgeMethod::VendorCommand) {
            return None;
        }
        options.command.as_ref().map(ToString::to_string)
    }
    fn failed_purge_command(&mut self) -> Option<PurgeCommandRecord> {
        self.failed_purge_command.take()
    }
    fn start_below(&self) -> Option<StartBelow> {
        self.environment.requests.start_below
    }
    fn temperature(&mut self) -> Option<f64> {
        self.environment.temperature()
    }

    fn foresee_purge(&mut self) -> Result<PurgeMethod, Halt> {
        let options = &self.environment.requests.purge;
        steadfast_host::foresee_purge(self.engine.target(), options, &self.roots).map_err(refused)
    }

    fn purge(&mut self, journal: Journal<'_>, report: PurgeCallback<'_>) -> Result<Purge, Halt> {
        self.environment.discard_reading();
        let options = &self.environment.requests.purge;
        let mut relay = PurgeRelay {
            journal,
            report,
            stop: &self.stop,
            command: &mut self.failed_purge_command,
        };
        let target = self.engine.target_mut();
        steadfast_host::purge(target, options, &mut relay, &self.roots).map_err(|error| match error
        {
            HostError::PurgeStopped { .. } => Halt::Stopped,
            HostError::Unjournaled(why) => Halt::Ledger(why),
            other => refused(other),
        })
    }

    fn prepare(&mut self, step: &Step) -> Result<PreparedStep, StepRefusal> {
        let prepared = self.engine.prepare(step)?;
        self.note_emulated_fua(step);
        Ok(prepared)
    }

    fn apply(
        &mut self,
        prepared: PreparedStep,
        start: &StepStart,
        watch: IntervalCallback<'_>,
    ) -> Result<Measurement, Halt> {
        let step = &prepared.step().clone();
        let device = self.engine.target().device().clone();
        let DeviceRig { engine, ticket, stop, environment, roots, .. } = self;
        let mut baseline = environment.begin_step(step);
        // A running load has no start of its own from which to count.
        let mut before = self.at_step_end.take().filter(|_| step.continues);
        let mut common_start: Option<CommonStart> = None;
        // The engine calls this when everything is ready.
        let mut wait = || {
            common_start = match (ticket.as_mut(), step.continues) {
                (Some(ticket), false) => ticket.wait(step, stop)?,
                _ => None,
            };
            if let Some(common_start) = &common_start {
                environment.restart_sensors(&mut baseline, common_start.waited);
            }
            before = steadfast_host::kernel_counters(&device, roots);
            Ok(common_start.map(|common_start| common_start.agreed).or(start.begins))
        };
        let mut measurement = engine.apply_at_common_start(prepared, start, &mut wait, watch)?;
        measurement.common_start = common_start.map(|common_start| {
            let late = measurement.common_start.and_then(|start| start.late);
            CommonStart { late, ..common_start }
        });
        let read = || steadfast_host::kernel_counters(&device, roots);
        measurement.kernel = match (before, measurement.complete) {
            (None, _) => None,
            (Some(before), true) => counts_since(&before, &measurement, REREAD_PAUSE, read),
            // The load keeps running, so there is no moment at which all of its I/Os are counted.
            (Some(before), false) => {
                self.at_step_end = read();
                self.at_step_end.map(|now| now.since(&before)).filter(|counted| !counted.is_zero())
            }
        };
        self.environment.end_step(baseline, step, &mut measurement);
        Ok(measurement)
    }

    fn end_load(&mut self) {
        self.at_step_end = None;
        self.engine.end_load();
    }
    fn take_caveats(&mut self) -> Vec<Caveat> {
        let mut caveats = std::mem::take(&mut self.caveats);
        caveats.extend(self.engine.take_caveats());
        caveats.extend(self.environment.take_caveat());
        caveats
    }

    fn cut_command(&self) -> Option<String> {
        self.environment.requests.cut_command.clone()
    }

    fn prepare_cut(&mut self, plan: &WritePlan) -> Result<FlushDelivery, Halt> {
        if !self.engine.target().is_direct() {
            return Err(Halt::Refused(format!(
                "{}: its file system does not support O_DIRECT, so that a read would return what \
                 this host has cached; test a device, or a file on another file system",
                self.engine.target().device().path
            )));
        }
        let target = self.engine.target();
        let flushes = match steadfast_host::sends_flushes(target.device(), &self.roots) {
            Some(false) => FlushDelivery::Dropped,
            Some(true) | None => FlushDelivery::Sent,
        };
        let cache = steadfast_host::conditions(target, &self.roots).write_cache;
        if flushes == FlushDelivery::Dropped && cache == Some(WriteCache::Enabled) {
            return Err(Halt::Refused(format!(
                "{}: its write cache is on, but the kernel sends it no flush \
                 (queue/write_cache is 'write through'), so that nothing would be flushed; write \
                 'write back' to queue/write_cache, or disable the drive's cache",
                target.device().path
            )));
        }
        let second = self.second_log();
        let log = CutLog::open(self.directory()?, second.as_ref(), plan.key());
        self.cut_log = Some(log.map_err(log_error)?);
        Ok(flushes)
    }
    fn power_counters(&mut self) -> PowerCounters {
        steadfast_host::power_counters(self.engine.target().device(), &self.roots)
    }

    fn write_until_cut(
        &mut self,
        plan: &WritePlan,
        report: StageCallback<'_>,
    ) -> Result<CutEvidence, Halt> {
        self.environment.discard_reading();
        let not_open = || Halt::Refused("the log of acknowledged writes is not open".into());
        let mut log = self.cut_log.take().ok_or_else(not_open)?;
        let mut switch = PowerSwitch { command: self.cut_command(), report };
        let target = self.engine.target();
        let device = target.device().path.clone();
        match write_until_failure(target, plan, &self.stop, &mut log, &mut switch)? {
            WritesEnd::NoFailure => Ok(CutEvidence::Nothing),
            WritesEnd::MediumError(_) => Ok(CutEvidence::MediumError),
            // A user may cut the power before the prompt.
            WritesEnd::Failed { why, was_due } if was_due || switch.command.is_none() => {
                Err(Halt::PowerCut { device, why })
            }
            WritesEnd::Failed { why, .. } => Err(Halt::DeviceGone {
                device,
                why: format!("{why}, before the scheduled power cut"),
            }),
        }
    }

    fn read_after_cut(&mut self, plan: &WritePlan) -> Result<PowerCutOutcome, Halt> {
        let second = self.second_log();
        let directory = self.directory()?;
        let log = second
            .map_or(Ok(None), |place| place.open_to_read())
            .and_then(|second| read_logs(directory, second, plan.key()))
            .map_err(log_error)?;
        let found = read_blocks(self.engine.target(), plan, &self.stop)?;
        Ok(judge(plan, &log, &found))
    }

    fn idle(&mut self, time: Nanos) -> Result<(), Halt> {
        self.environment.discard_reading();
        idle(time, &self.stop)
    }

    fn restore(&mut self, change: &HostChange) -> Result<(), Halt> {
        let undone = steadfast_host::undo_change(change, &self.roots).map_err(refused)?;
        self.environment.note_unrestored(change, &undone);
        Ok(())
    }
}
