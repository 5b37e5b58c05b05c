//! The surroundings of a real device during a run: the checks before it, sensors and device logs
//! around each step, and the locks that keep the host awake.

use std::fmt::Display;
use steadfast_domain::device_log::{LogDelta, WriteAmplification};
use steadfast_domain::record::{Check, CheckState, HostChange};
use steadfast_domain::settings::StartBelow;
use steadfast_domain::{
    Caveat, CaveatKind, Device, Load, Measurement, Nanos, Settings, Step, caveats as ids,
};
use steadfast_engine::StopSignal;
use steadfast_host::{
    AmbientSensor, CgroupReading, CgroupSensor, DeviceLogs, Examination, HostCounters,
    IdleStateHold, LogReading, PowerMeter, PowerSource, PurgeCommandLine, PurgeOrder,
    SleepInhibition, SystemRoots, UndoOutcome,
};

/// Shortest step for which the device's logs are read: asking a drive for them costs it some
/// milliseconds. Shorter steps share readings: the logs are read after the first step that ends
/// this much later than the last reading.
const LOGGED_STEP_MIN: Nanos = Nanos::from_secs(10);

/// Shortest wait for other targets after which a drive's count of flash bytes is not attributed to
/// the step (our choice).
const UNCOUNTED_WAIT_MIN: Nanos = Nanos::SECOND;

/// The user's requests for the host during a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostRequests {
    /// True if the processors are kept out of slow idle states.
    pub hold_idle_states: bool,
    /// Command that prints the device's power.
    pub power_command: Option<String>,
    /// Sensor of the ambient temperature, as the user named it.
    pub ambient_sensor: Option<String>,
    /// Temperature that the device must be below before a test's first load.
    pub start_below: Option<StartBelow>,
    /// Purge method and its options.
    pub purge: PurgeOrder,
    /// Command that cuts the power.
    pub cut_command: Option<String>,
    /// Second log of acknowledged writes, as the user named it.
    pub log_to: Option<String>,
}

impl HostRequests {
    /// Returns the requests in a run's settings.
    pub fn from_settings(settings: &Settings) -> Self {
        HostRequests {
            hold_idle_states: settings.hold_c_states,
            power_command: settings.power_command.clone(),
            ambient_sensor: settings.ambient_sensor.clone(),
            start_below: settings.start_below,
            cut_command: settings.cut_command.clone(),
            log_to: settings.log_to.clone(),
            purge: PurgeOrder {
                choice: settings.purge,
                command: settings
                    .purge_command
                    .as_deref()
                    .and_then(|command| PurgeCommandLine::parse(command).ok()),
                failed: settings.purge_failed,
                seed: settings.seed,
                also: settings.also_destroyed.clone(),
                keep: Vec::new(),
            },
        }
    }
}

/// The surroundings of one device.
pub(crate) struct Surroundings {
    device: Device,
    roots: SystemRoots,
    pub(crate) requests: HostRequests,
    logs: DeviceLogs,
    /// The last reading and the steps since, as long as nothing but steps has happened to the
    /// device.
    last: Option<SharedReading>,
    power: Option<PowerMeter>,
    ambient: Option<AmbientSensor>,
    locks: Vec<RunLock>,
    throttled: Option<u64>,
    cgroups: CgroupSensor,
    /// Settings that were not restored because something else has changed them.
    unrestored: Vec<Check>,
    /// Caveat on waits, until it is taken; `has_noted_wait` is true from then on.
    wait_caveat: Option<Caveat>,
    has_noted_wait: bool,
}

/// A reading of the device's logs, and the short steps since.
struct SharedReading {
    /// The reading; `None` if there was none before these steps.
    log: Option<LogReading>,
    /// Phase of the steps.
    phase: String,
    steps: u32,
    time: Nanos,
    /// True if the device was left idle for other targets since the reading.
    has_waited: bool,
}

/// A lock held until the run ends.
enum RunLock {
    Sleep { _lock: SleepInhibition },
    Idle { _hold: IdleStateHold },
}

/// State before a step.
pub(crate) struct StepBaseline {
    logs: SharedReading,
    ambient: Option<f64>,
    host: HostCounters,
    cgroups: Option<CgroupReading>,
}

impl Surroundings {
    pub(crate) fn new(device: &Device, roots: &SystemRoots) -> Self {
        Surroundings {
            device: device.clone(),
            roots: roots.clone(),
            requests: HostRequests::default(),
            logs: DeviceLogs::new(device, roots),
            last: None,
            power: None,
            ambient: None,
            locks: Vec::new(),
            throttled: None,
            cgroups: CgroupSensor::new(device, roots),
            unrestored: Vec::new(),
            wait_caveat: None,
            has_noted_wait: false,
        }
    }

    /// Checks device and host, and then starts to hold the locks and to read the sensors.
    pub(crate) fn examine(&mut self) -> Examination {
        let mut found = steadfast_host::examine(&self.device, &self.roots, steadfast_host::WATCH);
        found.checks.push(self.keep_awake());
        found.checks.extend(self.hold_idle_states());
        found.checks.extend(self.begin_power());
        found.checks.extend(self.find_ambient_sensor());
        self.throttled = steadfast_host::throttle_count(&self.roots);
        found
    }

    fn keep_awake(&mut self) -> Check {
        match steadfast_host::inhibit_sleep("an SSD is under test") {
            Ok(lock) => {
                self.locks.push(RunLock::Sleep { _lock: lock });
                check("sleep", "Sleep", CheckState::Good, "inhibited during the run", "")
            }
            Err(error) => check(
                "sleep",
                "Sleep",
                CheckState::Unknown,
                format!("not inhibited: {error}"),
                "Make sure that nothing suspends the host during the run.",
            ),
        }
    }

    fn hold_idle_states(&mut self) -> Option<Check> {
        let subject = "Hold of processor idle states";
        if !self.requests.hold_idle_states {
            return None;
        }
        Some(match steadfast_host::hold_idle_states(&self.roots) {
            Ok(hold) => {
                self.locks.push(RunLock::Idle { _hold: hold });
                let found = "/dev/cpu_dma_latency is held at 0 us during the run";
                check("idle-state-hold", subject, CheckState::Good, found, "")
            }
            Err(error) => {
                let advice = "The run continues without it; see the check of idle states.";
                check("idle-state-hold", subject, CheckState::Attention, error, advice)
            }
        })
    }

    fn begin_power(&mut self) -> Option<Check> {
        let source = match &self.requests.power_command {
            Some(command) => PowerSource::command(command)?,
            None => PowerSource::find(&self.device, &self.roots)?,
        };
        let from = source.describe();
        Some(match PowerMeter::start(source) {
            Ok(meter) => {
                self.power = Some(meter);
                let found = format!("read every second from {from}");
                check("power-source", "Power", CheckState::Good, found, "")
            }
            Err(error) => {
                let found = format!("{from} cannot be read: {error}");
                check("power-source", "Power", CheckState::Attention, found, "")
            }
        })
    }

    fn find_ambient_sensor(&mut self) -> Option<Check> {
        let (id, subject) = ("ambient-sensor", "Ambient temperature");
        let wanted = self.requests.ambient_sensor.as_ref()?;
        Some(match AmbientSensor::find(wanted, &self.roots) {
            Ok(sensor) => {
                let found = format!("{:.1} C at {}", sensor.first, sensor.path.display());
                self.ambient = Some(sensor);
                check(id, subject, CheckState::Good, found, "")
            }
            Err(why) => check(id, subject, CheckState::Attention, why, ""),
        })
    }

    /// Returns the device's temperature in degrees Celsius, from its hwmon device or its logs;
    /// `None` if it has none.
    pub(crate) fn temperature(&mut self) -> Option<f64> {
        steadfast_host::temperature(&self.device, &self.roots)
            .or_else(|| self.logs.read()?.temperature_celsius)
    }

    /// Discards the last reading, because something other than a step happens to the device. Its
    /// counts belong to no step.
    pub(crate) fn discard_reading(&mut self) {
        self.last = None;
    }

    /// Reads everything that is compared after a step.
    pub(crate) fn begin_step(&mut self, step: &Step) -> StepBaseline {
        let phase = &step.place.phase;
        let last = self.last.take();
        let logs = if is_logged(step) {
            let last = last.filter(|last| last.steps == 0).and_then(|last| last.log);
            SharedReading::new(last.or_else(|| self.logs.read()), phase)
        } else {
            // The logs are never read just before a short step: it may have to find the device idle.
            SharedReading::shared_by(last, phase)
        };
        if let Some(power) = &self.power {
            power.begin();
        }
        StepBaseline {
            logs,
            ambient: self.ambient.as_ref().and_then(AmbientSensor::celsius),
            host: steadfast_host::host_counters(&self.roots),
            cgroups: self.cgroups.read(),
        }
    }

    /// Reads the processors and the power again after the rig has waited, so that they cover the
    /// step alone. The device's logs are not read again: it would delay the common start.
    pub(crate) fn restart_sensors(&mut self, before: &mut StepBaseline, time: Nanos) {
        before.logs.has_waited |= time >= UNCOUNTED_WAIT_MIN;
        if let Some(power) = &self.power {
            power.begin();
        }
        before.host = steadfast_host::host_counters(&self.roots);
        before.cgroups = self.cgroups.read();
    }

    /// Fills in the readings of a step. Readings of the engine are kept.
    pub(crate) fn end_step(
        &mut self,
        before: StepBaseline,
        step: &Step,
        measurement: &mut Measurement,
    ) {
        let host = steadfast_host::host_counters(&self.roots);
        let power = self.power.as_ref().and_then(PowerMeter::mean_milliwatts);
        let cgroups = before.cgroups.zip(self.cgroups.read());
        let sensed = &mut measurement.sensed;
        if let Some((before, after)) = cgroups {
            after.fill(&before, sensed);
        }
        sensed.host_cpu = host.cpu_since(&before.host);
        sensed.host = host.activity_since(&before.host).map(Box::new);
        sensed.power_milliwatts = power;
        sensed.temperature_celsius = steadfast_host::temperature(&self.device, &self.roots);
        let ambient = self.ambient.as_ref().and_then(AmbientSensor::celsius);
        sensed.ambient_celsius =
            before.ambient.zip(ambient).map(|(before, after)| (before + after) / 2.0);
        self.read_logs(before.logs, step, measurement);
    }

    /// Reads the device's logs after a step, or counts it as one that shares the next reading.
    fn read_logs(&mut self, mut logs: SharedReading, step: &Step, measurement: &mut Measurement) {
        if !logs.is_due_after(step, measurement) {
            self.last = Some(logs);
            return;
        }
        let Some(now) = self.logs.read() else { return };
        let sensed = &mut measurement.sensed;
        sensed.temperature_celsius = sensed.temperature_celsius.or(now.temperature_celsius);
        if let Some(before) = &logs.log {
            let mut delta = LogDelta { earlier_steps: logs.steps - 1, ..now.since(before) };
            if logs.has_waited && delta.nand_written.take().is_some() {
                self.note_wait();
            }
            // The write amplification of several steps is not that of this step.
            let own = Some(&delta).filter(|delta| delta.earlier_steps == 0);
            measurement.write_amplification = measurement
                .write_amplification
                .or_else(|| own.and_then(WriteAmplification::from_log));
            sensed.log = Some(delta);
        }
        self.last = Some(SharedReading::new(Some(now), &step.place.phase));
    }

    /// Notes once that steps after a wait have no count of flash bytes.
    fn note_wait(&mut self) {
        if std::mem::replace(&mut self.has_noted_wait, true) {
            return;
        }
        let text = format!(
            "Steps that began after a wait of {UNCOUNTED_WAIT_MIN} or more for the other targets have no \
             write amplification: the drive was read before the wait, in which it may have written \
             to its flash."
        );
        let remedy = "Run the targets one after another, or with --together start.";
        self.wait_caveat =
            Some(Caveat::new(CaveatKind::Remark, ids::FLASH_COUNT_WAITED, text, remedy));
    }

    /// Returns the caveat on waits if it has not been taken.
    pub(crate) fn take_caveat(&mut self) -> Option<Caveat> {
        self.wait_caveat.take()
    }

    /// Records a setting that was not restored, for the report.
    pub(crate) fn note_undone(&mut self, change: &HostChange, undone: &UndoOutcome) {
        let UndoOutcome::LeftUnchanged(why) = undone else { return };
        let found = format!("{} was not restored: {why}", change.setting);
        let (id, subject) = ("host-settings-left", "Host settings after the run");
        let advice = format!("It was {} before the run.", change.before);
        self.unrestored.push(check(id, subject, CheckState::Attention, found, advice));
    }

    /// Returns the checks of the run's own sensors and host, and releases the locks.
    pub(crate) fn check_after_run(&mut self, stop: &StopSignal) -> Vec<Check> {
        let mut checks = std::mem::take(&mut self.unrestored);
        if stop.lost_terminal() {
            let found = "lost during the run (SIGHUP); the run continued";
            checks.push(check("terminal", "Terminal", CheckState::Good, found, ""));
        }
        checks.extend(self.power.take().as_ref().map(power_readings));
        checks.extend(self.logs.given_up().map(|why| {
            let found = format!("stopped during the run: {why}");
            check("device-log-readings", "Readings of device logs", CheckState::Unknown, found, "")
        }));
        checks.extend(self.host_throttled());
        self.locks.clear();
        checks
    }

    fn host_throttled(&self) -> Option<Check> {
        let now = steadfast_host::throttle_count(&self.roots)?;
        let times = now.checked_sub(self.throttled?)?;
        let (id, subject) = ("cpu-throttle-run", "Processor throttling during the run");
        Some(match times {
            0 => check(id, subject, CheckState::Good, "none", ""),
            _ => check(
                id,
                subject,
                CheckState::Attention,
                format!("throttled by heat {times} times"),
                "In steps with a fully busy load thread, the host may have been the limit.",
            ),
        })
    }
}

fn check(
    id: &str,
    subject: &str,
    state: CheckState,
    found: impl Display,
    advice: impl Into<String>,
) -> Check {
    let (id, subject) = (id.to_owned(), subject.to_owned());
    Check { id, subject, state, found: found.to_string(), advice: advice.into() }
}

fn power_readings(meter: &PowerMeter) -> Check {
    let report = meter.report();
    let readings = format!("{} readings from {}", report.readings, meter.source().describe());
    let (id, subject) = ("power-readings", "Power readings");
    match (report.failures, report.last_failure) {
        (0, _) => check(id, subject, CheckState::Good, readings, ""),
        (failures, why) => check(
            id,
            subject,
            CheckState::Attention,
            format!("{readings}; {failures} more failed, the last: {}", why.unwrap_or_default()),
            "The means cover only the readings that succeeded.",
        ),
    }
}

/// Returns true if a step is long enough for its device logs to be read: by its time limit, or
/// because only bytes limit it.
fn is_logged(step: &Step) -> bool {
    let length = match &step.load {
        Load::Script(script) => Some(script.span),
        Load::Stimulus(_) | Load::Together(_) => {
            let times: Option<Vec<Nanos>> =
                step.load.stimuli().iter().map(|stimulus| stimulus.until.time).collect();
            match (times.and_then(|times| times.into_iter().max()), step.cut) {
                (Some(time), Some(cut)) => Some(time.min(cut)),
                (time, cut) => time.or(cut),
            }
        }
    };
    length.is_none_or(|length| length >= LOGGED_STEP_MIN)
}

impl SharedReading {
    fn new(log: Option<LogReading>, phase: &str) -> Self {
        let (phase, time) = (phase.to_owned(), Nanos::ZERO);
        SharedReading { log, phase, steps: 0, time, has_waited: false }
    }

    /// Returns the reading that a short step of this phase shares: the last one, unless steps of
    /// another phase followed it.
    fn shared_by(last: Option<SharedReading>, phase: &str) -> Self {
        match last {
            Some(last) if last.steps == 0 || last.phase == phase => {
                SharedReading { phase: phase.to_owned(), ..last }
            }
            _ => SharedReading::new(None, phase),
        }
    }

    /// Counts a step. Returns true if the logs are to be read after it: it is long, or the short
    /// steps have taken long enough and leave no load running.
    fn is_due_after(&mut self, step: &Step, measurement: &Measurement) -> bool {
        self.steps += 1;
        self.time += measurement.elapsed;
        is_logged(step) || (self.time >= LOGGED_STEP_MIN && measurement.complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::stimulus::{ActiveRange, LoadLimits};
    use steadfast_domain::{Bytes, Demand, StepPlace, Stimulus};

    fn step(until: LoadLimits, cut: Option<u64>) -> Step {
        let stimulus = Stimulus::new(
            Vec::new(),
            ActiveRange::first(100, Bytes::gib(1), 512),
            Demand::new(1, 1),
            until,
        );
        let mut step = Step::alone(StepPlace::new("rounds", 1, 1, ""), stimulus);
        step.cut = cut.map(Nanos::from_secs);
        step
    }

    #[test]
    fn logs_are_read_around_long_steps_only() {
        let seconds = |seconds| LoadLimits::time(Nanos::from_secs(seconds));
        let bytes = LoadLimits { bytes: Some(Bytes::gib(1)), ..LoadLimits::default() };
        assert!(is_logged(&step(seconds(60), None)));
        assert!(is_logged(&step(seconds(10), None)));
        assert!(!is_logged(&step(seconds(9), None)));
        assert!(!is_logged(&step(seconds(60), Some(1))));
        assert!(is_logged(&step(seconds(21_600), Some(60))));
        assert!(is_logged(&step(bytes, None)));
        assert!(!is_logged(&step(bytes, Some(5))));
    }

    #[test]
    fn short_steps_of_a_phase_share_a_reading() {
        let mut short = step(LoadLimits::time(Nanos::from_secs(4)), None);
        let ran = |seconds, complete| Measurement {
            elapsed: Nanos::from_secs(seconds),
            complete,
            ..Measurement::default()
        };
        // A reading that a long step of another phase ended with is shared.
        let after_long = SharedReading::new(Some(LogReading::default()), "precondition");
        let mut shared = SharedReading::shared_by(Some(after_long), "rounds");
        let due = [ran(4, true), ran(4, true), ran(4, true)]
            .map(|measured| shared.is_due_after(&short, &measured));
        assert_eq!((due, shared.steps), ([false, false, true], 3));
        assert!(shared.log.is_some());
        // One that steps of another phase followed is not.
        assert_eq!(shared.phase, "rounds");
        let other = SharedReading::shared_by(Some(shared), "histogram");
        assert!(other.log.is_none() && other.steps == 0);
        // A wait for other targets affects all steps that share the reading.
        let mut waited = SharedReading::new(Some(LogReading::default()), "rounds");
        waited.has_waited = true;
        assert!(!waited.is_due_after(&short, &ran(4, true)));
        assert!(SharedReading::shared_by(Some(waited), "rounds").has_waited);
        assert!(!SharedReading::new(None, "rounds").has_waited);
        // A running load is not disturbed.
        short.cut = Some(Nanos::from_secs(1));
        let mut running = SharedReading::new(None, "rounds");
        assert!(!running.is_due_after(&short, &ran(60, false)));
        assert!(running.is_due_after(&short, &ran(1, true)));
    }
}
