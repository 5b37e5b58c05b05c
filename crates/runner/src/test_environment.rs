//! [`TestEnvironment`]: the checks before a run on a real device, the sensors and device logs read
//! around each step, and the locks that keep the host awake.

use crate::host_requests::HostRequests;
use crate::shared_log_reading::{SharedLogReading, is_logged};
use std::fmt::Display;
use steadfast_domain::device_log::{LogDelta, WriteAmplification};
use steadfast_domain::record::{Check, CheckState, HostChange};
use steadfast_domain::{Caveat, Device, Measurement, Nanos, Step, caveats as ids};
use steadfast_engine::StopSignal;
use steadfast_host::{
    AmbientSensor, CgroupReading, CgroupSensor, DeviceLogs, Examination, HostCounters,
    IdleStateHold, PowerMeter, PowerSource, SleepInhibition, SystemRoots, UndoOutcome,
};

/// Shortest wait for other targets after which a drive's count of flash bytes is not attributed to
/// the step (our choice).
const UNCOUNTED_WAIT_MIN: Nanos = Nanos::SECOND;

/// Host and sensors of one device under test.
pub(crate) struct TestEnvironment {
    device: Device,
    roots: SystemRoots,
    pub(crate) requests: HostRequests,
    logs: DeviceLogs,
    /// The last reading and the steps since, as long as nothing but steps has happened to the
    /// device.
    last_reading: Option<SharedLogReading>,
    power: Option<PowerMeter>,
    ambient: Option<AmbientSensor>,
    locks: Vec<RunLock>,
    /// Count of throttling events when the run began.
    throttle_count: Option<u64>,
    cgroups: CgroupSensor,
    /// Settings that were not restored because something else has changed them.
    unrestored: Vec<Check>,
    /// Caveat on waits, until it is taken; `has_noted_wait` is true from then on.
    wait_caveat: Option<Caveat>,
    has_noted_wait: bool,
}

/// A lock held until the run ends.
enum RunLock {
    Sleep { _lock: SleepInhibition },
    Idle { _hold: IdleStateHold },
}

/// State before a step.
pub(crate) struct StepBaseline {
    logs: SharedLogReading,
    ambient: Option<f64>,
    host: HostCounters,
    cgroups: Option<CgroupReading>,
}

impl TestEnvironment {
    pub(crate) fn new(device: &Device, roots: &SystemRoots) -> Self {
        TestEnvironment {
            device: device.clone(),
            roots: roots.clone(),
            requests: HostRequests::default(),
            logs: DeviceLogs::new(device, roots),
            last_reading: None,
            power: None,
            ambient: None,
            locks: Vec::new(),
            throttle_count: None,
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
        found.checks.extend(self.start_power_meter());
        found.checks.extend(self.find_ambient_sensor());
        self.throttle_count = steadfast_host::throttle_count(&self.roots);
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

    fn start_power_meter(&mut self) -> Option<Check> {
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
        self.last_reading = None;
    }

    /// Reads everything that is compared after a step.
    pub(crate) fn begin_step(&mut self, step: &Step) -> StepBaseline {
        let phase = &step.place.phase;
        let last = self.last_reading.take();
        let logs = if is_logged(step) {
            let last = last.filter(|last| last.steps == 0).and_then(|last| last.log);
            SharedLogReading::new(last.or_else(|| self.logs.read()), phase)
        } else {
            // The logs are never read just before a short step: it may have to find the device idle.
            SharedLogReading::after(last, phase)
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
    fn read_logs(
        &mut self,
        mut logs: SharedLogReading,
        step: &Step,
        measurement: &mut Measurement,
    ) {
        if !logs.is_due_after(step, measurement) {
            self.last_reading = Some(logs);
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
        self.last_reading = Some(SharedLogReading::new(Some(now), &step.place.phase));
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
        self.wait_caveat = Some(Caveat::remark(ids::FLASH_COUNT_WAITED, text, remedy));
    }

    /// Returns the caveat on waits if it has not been taken.
    pub(crate) fn take_caveat(&mut self) -> Option<Caveat> {
        self.wait_caveat.take()
    }

    /// Records a setting that was not restored, for the report.
    pub(crate) fn note_unrestored(&mut self, change: &HostChange, undone: &UndoOutcome) {
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
        let times = now.checked_sub(self.throttle_count?)?;
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
