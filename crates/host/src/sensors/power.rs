//! Power during a load: read once per second by a separate thread, from the device's hwmon device
//! or by a command of the user.
//!
//! A failed reading is counted and not fatal. The power state descriptors of an NVMe controller are
//! not used: they state the vendor's limits and not the drive's consumption.

use super::monitors::own_monitors;
use crate::system_roots::{SystemRoots, read_number};
use crate::tool::{self, InstalledTools, ProgramHost};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use steadfast_domain::Device;

const READ_INTERVAL: Duration = Duration::from_secs(1);

const COMMAND_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum plausible reading in milliwatts; a larger value is in another unit.
const MILLIWATTS_MAX: f64 = 1_000_000.0;

/// Source of the power readings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PowerSource {
    /// hwmon attribute, in microwatts.
    Monitor(PathBuf),
    /// Program with its arguments; run without a shell.
    Command(Vec<String>),
}

impl PowerSource {
    /// Splits a command at blanks; `None` if it is empty.
    pub fn command(text: &str) -> Option<Self> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        (!words.is_empty()).then_some(PowerSource::Command(words))
    }

    /// Returns `power1_average` or `power1_input` of the device's own hwmon device, if it has one.
    /// Other monitors of the host measure more than the device; the user must select those.
    pub fn find(device: &Device, roots: &SystemRoots) -> Option<Self> {
        let monitors = own_monitors(device, roots);
        ["power1_average", "power1_input"]
            .iter()
            .flat_map(|name| monitors.iter().map(move |monitor| monitor.join(name)))
            .find(|attribute| read_number::<u64>(attribute).is_some())
            .map(PowerSource::Monitor)
    }

    /// Returns the source in words, for messages.
    pub fn describe(&self) -> String {
        match self {
            PowerSource::Monitor(path) => path.display().to_string(),
            PowerSource::Command(words) => format!("'{}'", words.join(" ")),
        }
    }

    fn read(&self, host: &dyn ProgramHost) -> Result<f64, String> {
        match self {
            PowerSource::Monitor(path) => read_number::<u64>(path)
                .map(|microwatts| microwatts as f64 / 1000.0)
                .ok_or_else(|| format!("{} cannot be read", path.display())),
            PowerSource::Command(words) => run(host, words),
        }
    }
}

fn run(host: &dyn ProgramHost, words: &[String]) -> Result<f64, String> {
    let Some((program, arguments)) = words.split_first() else {
        return Err("the command is empty".to_owned());
    };
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = tool::ask_on(host, program, &arguments, COMMAND_TIMEOUT);
    let answer = answer.map_err(|error| error.to_string())?;
    if !answer.status.success() {
        return Err(format!("'{}' ended with {}", words.join(" "), answer.status));
    }
    parse(&answer.stdout).ok_or_else(|| {
        let output: String = answer.stdout.trim().chars().take(60).collect();
        format!("'{}' printed '{output}', which is not a power value", words.join(" "))
    })
}

/// Parses `4200`, `4200 mW`, `4.2 W` or `4200000 uW` on the first non-empty line; returns
/// milliwatts.
fn parse(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| !line.trim().is_empty())?.trim();
    let end = line.find(|c: char| c.is_alphabetic()).unwrap_or(line.len());
    let (number, unit) = line.split_at(end);
    let factor = match unit.trim() {
        "" | "mW" => 1.0,
        "W" => 1000.0,
        "uW" | "\u{b5}W" | "\u{3bc}W" => 0.001,
        _ => return None,
    };
    let milliwatts = number.trim().parse::<f64>().ok()? * factor;
    (0.0..=MILLIWATTS_MAX).contains(&milliwatts).then_some(milliwatts)
}

/// Sum in milliwatts and number of the readings since the step began.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct PowerReadings {
    sum: f64,
    count: u32,
}

/// Counts of the readings of a whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PowerReport {
    /// Number of successful readings.
    pub readings: u64,
    /// Number of failed readings.
    pub failures: u64,
    /// Cause of the last failure, if any.
    pub last_failure: Option<String>,
}

#[derive(Debug, Default)]
struct PowerMeterState {
    step: PowerReadings,
    report: PowerReport,
}

/// A thread that reads the power once per second until this is dropped.
#[derive(Debug)]
pub struct PowerMeter {
    source: PowerSource,
    state: Arc<Mutex<PowerMeterState>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl PowerMeter {
    /// Starts the thread.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(source: PowerSource) -> std::io::Result<Self> {
        PowerMeter::every(READ_INTERVAL, source)
    }

    fn every(interval: Duration, source: PowerSource) -> std::io::Result<Self> {
        let state = Arc::new(Mutex::new(PowerMeterState::default()));
        let (stop, stopped) = channel();
        let (own, from) = (Arc::clone(&state), source.clone());
        let thread = std::thread::Builder::new().name("power".into()).spawn(move || {
            let mut wait = |time| stopped.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            read_while(&from, &InstalledTools, &own, interval, &mut wait);
        })?;
        Ok(PowerMeter { source, state, stop: Some(stop), thread: Some(thread) })
    }

    /// Reads the power in this thread, by commands on a simulated host. Before each further reading
    /// it calls `wait` with the time until then, and ends if that returns false.
    #[doc(hidden)]
    pub fn simulate(
        source: PowerSource,
        host: &dyn ProgramHost,
        wait: &mut dyn FnMut(Duration) -> bool,
    ) -> Self {
        let meter = PowerMeter { source, state: Arc::default(), stop: None, thread: None };
        read_while(&meter.source, host, &meter.state, READ_INTERVAL, wait);
        meter
    }

    /// Returns the source of the readings.
    pub fn source(&self) -> &PowerSource {
        &self.source
    }

    /// Discards the readings so far, at the beginning of a step.
    pub fn begin(&self) {
        lock(&self.state).step = PowerReadings::default();
    }

    /// Returns the mean of the readings since [`begin`](Self::begin) in milliwatts; `None` if none
    /// succeeded.
    pub fn mean_milliwatts(&self) -> Option<f64> {
        let step = lock(&self.state).step;
        (step.count > 0).then(|| step.sum / f64::from(step.count))
    }

    /// Returns the counts of all readings so far.
    pub fn report(&self) -> PowerReport {
        lock(&self.state).report.clone()
    }
}

impl Drop for PowerMeter {
    fn drop(&mut self) {
        drop(self.stop.take());
        // Waits for a running command, at most its time limit.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Locks the state. A poisoned lock is accepted: the counts are consistent at any time.
fn lock(state: &Mutex<PowerMeterState>) -> MutexGuard<'_, PowerMeterState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the power once per interval, as long as `wait` returns true.
fn read_while(
    source: &PowerSource,
    host: &dyn ProgramHost,
    state: &Mutex<PowerMeterState>,
    interval: Duration,
    wait: &mut dyn FnMut(Duration) -> bool,
) {
    let mut due = host.now();
    loop {
        let reading = source.read(host);
        record(&mut lock(state), reading);
        // A slow command skips readings; they are not made up for.
        due = (due + interval).max(host.now());
        if !wait(due.saturating_sub(host.now())) {
            return;
        }
    }
}

fn record(state: &mut PowerMeterState, reading: Result<f64, String>) {
    match reading {
        Ok(milliwatts) => {
            state.step.sum += milliwatts;
            state.step.count += 1;
            state.report.readings += 1;
        }
        Err(why) => {
            state.report.failures += 1;
            state.report.last_failure = Some(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine::MachineFixture;
    use std::time::Instant;

    #[test]
    fn a_power_is_parsed_in_its_unit() {
        for (text, milliwatts) in [
            ("4200\n", Some(4200.0)),
            ("4200 mW", Some(4200.0)),
            ("\n 4.25W \nmore", Some(4250.0)),
            ("1500000 uW", Some(1500.0)),
            ("0", Some(0.0)),
            ("-1", None),
            ("", None),
            ("W", None),
            ("4.2 kW", None),
            ("4,2 W", None),
            ("NaN", None),
            ("1e99", None),
            ("99999999 W", None),
        ] {
            assert_eq!(parse(text), milliwatts, "{text}");
        }
    }

    #[test]
    fn a_command_is_split_at_blanks_and_given_to_no_shell() {
        assert_eq!(PowerSource::command("  "), None);
        let source = PowerSource::command("printf %s%s 42 00;ls").unwrap();
        let error = source.read(&InstalledTools).unwrap_err();
        assert!(error.contains("printed '4200;ls', which is not a power value"), "{error}");
        assert_eq!(PowerSource::command("echo 4.2 W").unwrap().read(&InstalledTools), Ok(4200.0));
    }

    #[test]
    fn a_command_that_fails_says_how() {
        let error =
            |text: &str| PowerSource::command(text).unwrap().read(&InstalledTools).unwrap_err();
        assert!(error("false").contains("exit status: 1"), "{}", error("false"));
        let missing = error("no-such-program-here");
        assert!(missing.contains("'no-such-program-here' is not installed"), "{missing}");
        assert!(error("true").contains("not a power value"));
    }

    #[test]
    fn the_mean_is_over_the_readings_of_the_step() {
        let mut state = PowerMeterState::default();
        for reading in [Ok(1000.0), Ok(2000.0), Err("no".to_owned()), Ok(6000.0)] {
            record(&mut state, reading);
        }
        let state = Arc::new(Mutex::new(state));
        let source = PowerSource::Command(Vec::new());
        let meter = PowerMeter { source, state, stop: None, thread: None };
        assert_eq!(meter.mean_milliwatts(), Some(3000.0));
        let report = PowerReport { readings: 3, failures: 1, last_failure: Some("no".to_owned()) };
        assert_eq!(meter.report(), report);
        meter.begin();
        assert_eq!(meter.mean_milliwatts(), None);
        assert_eq!(meter.report(), report, "the report is of the whole run");
    }

    #[test]
    fn a_meter_reads_in_a_thread_that_ends_with_it() {
        let source = PowerSource::command("echo 5 W").unwrap();
        let meter = PowerMeter::every(Duration::from_millis(1), source).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while meter.report().readings < 3 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(meter.mean_milliwatts(), Some(5000.0));
        let state = Arc::downgrade(&meter.state);
        drop(meter);
        assert_eq!(state.strong_count(), 0);
    }

    #[test]
    fn only_the_device_s_own_monitor_counts() {
        let (machine, disk) = MachineFixture::with_nvme(1000);
        let device = machine.device(&disk);
        machine.write("sys/class/hwmon/hwmon0/power1_input", "250000000\n");
        assert_eq!(PowerSource::find(&device, &machine.roots), None);
        machine.set(&disk, "device/hwmon3/power1_input", "7250000\n");
        let source = PowerSource::find(&device, &machine.roots).unwrap();
        assert_eq!(source.read(&InstalledTools), Ok(7250.0));
        machine.set(&disk, "device/hwmon3/power1_input", "many\n");
        assert!(source.read(&InstalledTools).is_err());
    }
}
