//! Metrics of a running test for Prometheus: a file for node_exporter's textfile collector, replaced
//! at most once a second. docs/formats.md lists the metrics.

use crate::exit::misuse;
use crate::output_files::{OutputRule, read_access};
use crate::terminal;
use anyhow::bail;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use steadfast_domain::device_log::{DEVICE_COUNTS, DeviceCounters, LogDelta, WriteAmplification};
use steadfast_domain::measurement::{Interval, IntervalTally};
use steadfast_domain::{Bytes, Measurement, Nanos, Procedure, Step, StepPlace};
use steadfast_host::{OverwritePolicy, read_regular};
use steadfast_runner::{Forecast, ProgressSink, Rig, RunEvent, TimeLeft};

/// Minimum time between two writes of the file.
const INTERVAL_MIN: Duration = Duration::from_secs(1);

/// Beginning of a file that this program wrote.
const BEGINNING: &str = "# HELP steadfast_";

/// Maximum size of an existing file in bytes.
const EXISTING_BYTES_MAX: u64 = 1 << 20;

/// A metrics file and the latest values of every target.
pub struct MetricsExporter {
    path: PathBuf,
    rule: OutputRule,
    state: Mutex<ExporterState>,
}

#[derive(Default)]
struct ExporterState {
    targets: Vec<TargetSample>,
    written: Option<Instant>,
    failed: bool,
}

/// Latest values of one target.
#[derive(Default)]
struct TargetSample {
    /// Labels of every metric: `run="...",device="..."`.
    labels: String,
    /// Further labels of the metric that describes the run.
    about: String,
    phase: String,
    place: Option<StepPlace>,
    running: bool,
    finished: u64,
    ios: u64,
    bytes: u64,
    failed_ios: u64,
    interval: Option<Interval>,
    temperature: Option<f64>,
    ambient: Option<f64>,
    power: Option<f64>,
    joules: f64,
    /// Changes of the device's counters over all finished steps.
    log: Option<LogDelta>,
    amplification: Option<WriteAmplification>,
    elapsed: Duration,
    left: Option<TimeLeft>,
}

impl MetricsExporter {
    /// Prepares the file of `--prometheus`, if it is given. An existing file must be of an earlier
    /// run.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn open(
        path: Option<&Path>,
        group: Option<&str>,
    ) -> anyhow::Result<Option<MetricsExporter>> {
        let Some(path) = path else { return Ok(None) };
        let shown = path.display();
        if path.extension().is_none_or(|ending| ending != "prom") {
            return Err(misuse(format!(
                "--prometheus {shown}: node_exporter reads files whose names end in .prom only"
            )));
        }
        // An existing file that cannot be read counts as one of another program.
        let is_there = fs::symlink_metadata(path).is_ok();
        if is_there && !read_regular(path, EXISTING_BYTES_MAX)?.starts_with(BEGINNING.as_bytes()) {
            bail!("{shown} exists and contains no metrics of steadfast; give another name");
        }
        let readers = read_access(group)?;
        let exporter = MetricsExporter {
            path: path.to_owned(),
            rule: OutputRule { existing: OverwritePolicy::Overwrite, readers },
            state: Mutex::default(),
        };
        // Report an error before the run.
        exporter.rule.create(path)?;
        Ok(Some(exporter))
    }

    /// Adds the target of a run of the procedure `name` in `directory`; returns the sink for its
    /// progress.
    pub fn add_target(
        &self,
        rig: &dyn Rig,
        procedure: &dyn Procedure,
        name: &str,
        directory: &Path,
    ) -> TargetMetrics<'_> {
        let device = rig.device();
        let known = |text: &Option<String>| escaped(text.as_deref().unwrap_or_default());
        let mut state = self.state();
        state.targets.push(TargetSample {
            labels: format!(
                "run=\"{}\",device=\"{}\"",
                escaped(&directory.display().to_string()),
                escaped(&device.name)
            ),
            about: format!(
                "model=\"{}\",serial=\"{}\",firmware=\"{}\",procedure=\"{}\",software=\"{}\"",
                known(&device.model),
                known(&device.serial),
                known(&device.firmware),
                escaped(name),
                escaped(crate::run_settings::SOFTWARE)
            ),
            running: true,
            ..TargetSample::default()
        });
        TargetMetrics {
            exporter: self,
            at: state.targets.len() - 1,
            forecast: Forecast::new(procedure),
            began: Instant::now(),
        }
    }

    fn state(&self) -> MutexGuard<'_, ExporterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the file if it is time or `at_once` is true. The first error is printed; the run
    /// continues.
    fn write(&self, state: &mut ExporterState, at_once: bool) {
        let due = state.written.is_none_or(|at| at.elapsed() >= INTERVAL_MIN);
        if !due && !at_once {
            return;
        }
        state.written = Some(Instant::now());
        let text = text(&state.targets);
        let written =
            self.rule.create(&self.path).and_then(|file| file.write_and_persist(text.as_bytes()));
        if let Err(error) = written
            && !std::mem::replace(&mut state.failed, true)
        {
            terminal::warn(&format!("steadfast: {error}; the run continues without this file"));
        }
    }
}

/// A progress sink that updates the metrics of one target.
pub struct TargetMetrics<'e> {
    exporter: &'e MetricsExporter,
    at: usize,
    forecast: Forecast,
    began: Instant,
}

impl TargetMetrics<'_> {
    fn update(&mut self, at_once: bool, change: impl FnOnce(&mut TargetSample)) {
        let left = self.forecast.left();
        let mut state = self.exporter.state();
        let sample = &mut state.targets[self.at];
        change(sample);
        // A run that has ended or halted has no known time left.
        sample.left = left.filter(|_| sample.running);
        sample.elapsed = self.began.elapsed();
        self.exporter.write(&mut state, at_once);
    }

    fn begins(&mut self, step: &Step) {
        self.forecast.begin(step);
        self.update(false, |sample| {
            sample.phase.clone_from(&step.place.phase);
            sample.place = Some(step.place.clone());
        });
    }

    fn finished(&mut self, measurement: &Measurement) {
        self.forecast.finish(measurement);
        self.update(false, |sample| {
            sample.finished += 1;
            sample.ios += measurement.total().ios;
            sample.bytes += measurement.bytes().0;
            sample.failed_ios += measurement.fault_count;
            let sensed = &measurement.sensed;
            sample.temperature = sensed.temperature_celsius;
            sample.ambient = sensed.ambient_celsius;
            sample.power = measurement.watts();
            sample.joules += measurement.joules().unwrap_or_default();
            if let Some(log) = &sensed.log {
                sample.log.get_or_insert_default().merge(log);
            }
            sample.amplification = measurement.write_amplification;
        });
    }
}

impl ProgressSink for TargetMetrics<'_> {
    fn report(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Begins(step) => self.begins(step),
            RunEvent::Interval(interval) => {
                self.forecast.count(interval);
                let interval = (*interval).clone();
                self.update(false, |sample| sample.interval = Some(interval));
            }
            RunEvent::Finished { outcome, .. } => self.finished(&outcome.measurement),
            RunEvent::Purging => self.update(true, |sample| "purge".clone_into(&mut sample.phase)),
            _ => {}
        }
    }
}

impl Drop for TargetMetrics<'_> {
    fn drop(&mut self) {
        self.update(true, |sample| {
            sample.running = false;
            sample.interval = None;
        });
    }
}

/// A progress sink that forwards each event to a panel and to a metrics file.
pub struct ProgressTee<'p, 'e> {
    pub panel: &'p mut dyn ProgressSink,
    pub metrics: Option<TargetMetrics<'e>>,
}

impl ProgressSink for ProgressTee<'_, '_> {
    fn report(&mut self, event: &RunEvent<'_>) {
        self.panel.report(event);
        if let Some(metrics) = &mut self.metrics {
            metrics.report(event);
        }
    }
}

/// Escapes the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A metric.
struct MetricFamily {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    values: FamilyValues,
}

/// Returns the values of a metric of one target.
type FamilyValues = fn(&TargetSample) -> Vec<LabeledSample>;

/// A value of a metric.
struct LabeledSample {
    /// Labels in addition to those of the target; may be empty.
    labels: String,
    value: f64,
}

impl LabeledSample {
    fn new(labels: impl Into<String>, value: f64) -> Self {
        LabeledSample { labels: labels.into(), value }
    }
}

/// Creates a metric that can rise and fall.
const fn gauge(name: &'static str, help: &'static str, values: FamilyValues) -> MetricFamily {
    MetricFamily { name, kind: "gauge", help, values }
}

/// Creates a metric that only rises during a run.
const fn counter(name: &'static str, help: &'static str, values: FamilyValues) -> MetricFamily {
    MetricFamily { name, kind: "counter", help, values }
}

/// Returns the only value of a metric without further labels; empty if it is unknown.
fn one(value: Option<f64>) -> Vec<LabeledSample> {
    value.into_iter().map(|value| LabeledSample::new("", value)).collect()
}

/// Returns a value of the last interval for each direction that completed an I/O.
fn by_direction(
    sample: &TargetSample,
    value: fn(&IntervalTally, f64) -> f64,
) -> Vec<LabeledSample> {
    let Some(interval) = &sample.interval else { return Vec::new() };
    let seconds = interval.end.saturating_sub(interval.begin).as_secs_f64();
    let counted = interval.tallies.iter().filter(|tally| tally.ios > 0 && seconds > 0.0);
    let mut samples = Vec::new();
    for tally in counted {
        let labels = format!("op=\"{}\"", tally.op.name());
        samples.push(LabeledSample::new(labels, value(tally, seconds)));
    }
    samples
}

/// Returns a lifetime counter of the device at the last reading of its log.
fn lifetime_bytes(
    sample: &TargetSample,
    bytes: fn(&DeviceCounters) -> Option<Bytes>,
) -> Option<f64> {
    sample.log?.after.as_ref().and_then(bytes).map(|bytes| bytes.0 as f64)
}

/// Returns one of [`DEVICE_COUNTS`] over all finished steps.
fn device_count(sample: &TargetSample, id: &str) -> Option<f64> {
    let wanted = DEVICE_COUNTS.iter().find(|count| count.id == id)?;
    (wanted.value)(sample.log.as_ref()?).map(|count| count as f64)
}

/// Returns the latency monitor's buckets with their labels.
fn slow_ios(sample: &TargetSample) -> Vec<LabeledSample> {
    let mut samples = Vec::new();
    for (operation, ids) in [("read", "reads"), ("write", "writes"), ("discard", "trims")] {
        for bucket in ["a", "b", "c", "d"] {
            if let Some(ios) = device_count(sample, &format!("slow-{ids}-{bucket}")) {
                let labels = format!("op=\"{operation}\",bucket=\"{bucket}\"");
                samples.push(LabeledSample::new(labels, ios));
            }
        }
    }
    samples
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}

/// Metrics in the order of the file.
const FAMILIES: [MetricFamily; 28] = [
    gauge("run_info", "What is tested, and by what.", |s| {
        vec![LabeledSample::new(s.about.clone(), 1.0)]
    }),
    gauge("run_running", "1 while the run is in progress, 0 afterwards.", |s| {
        one(Some(f64::from(u8::from(s.running))))
    }),
    gauge("run_phase_info", "The phase, and the step that is applied.", |s| {
        let label = s.place.as_ref().map_or("", |place| place.label.as_str());
        let labels = format!("phase=\"{}\",label=\"{}\"", escaped(&s.phase), escaped(label));
        vec![LabeledSample::new(labels, 1.0)]
    }),
    gauge("run_round", "The round; 0 outside rounds.", |s| {
        one(s.place.as_ref().map(|place| place.round.into()))
    }),
    gauge("run_point", "The step inside its round or phase.", |s| {
        one(s.place.as_ref().map(|place| place.point.into()))
    }),
    counter("run_steps_finished_total", "Steps in the journal.", |s| one(Some(s.finished as f64))),
    gauge("run_elapsed_seconds", "Since this process began.", |s| {
        one(Some(s.elapsed.as_secs_f64()))
    }),
    gauge(
        "run_left_seconds",
        "Time left if steady at the first chance (best), and at most (worst).",
        |s| match s.left {
            Some(TimeLeft { best, worst }) => vec![
                LabeledSample::new("bound=\"best\"", best.as_secs_f64()),
                LabeledSample::new("bound=\"worst\"", worst.as_secs_f64()),
            ],
            None => Vec::new(),
        },
    ),
    gauge("run_progress_ratio", "Elapsed time by elapsed and longest time left.", |s| {
        one(s.left.map(|left| {
            let done = s.elapsed.as_secs_f64();
            done / (done + left.worst.as_secs_f64()).max(1e-9)
        }))
    }),
    gauge("iops", "I/Os per second in the last second.", |s| {
        by_direction(s, |tally, time| tally.ios as f64 / time)
    }),
    gauge("bytes_per_second", "Bytes per second in the last second.", |s| {
        by_direction(s, |tally, time| tally.bytes.0 as f64 / time)
    }),
    gauge("response_mean_seconds", "Mean response time in the last second.", |s| {
        by_direction(s, |tally, _| seconds(tally.response_sum) / tally.ios as f64)
    }),
    gauge("response_max_seconds", "Longest response time in the last second.", |s| {
        by_direction(s, |tally, _| seconds(tally.response_max))
    }),
    counter("ios_total", "I/Os of all finished steps.", |s| one(Some(s.ios as f64))),
    counter("bytes_total", "Bytes moved by all finished steps.", |s| one(Some(s.bytes as f64))),
    counter("failed_ios_total", "I/Os that failed in finished steps.", |s| {
        one(Some(s.failed_ios as f64))
    }),
    gauge("temperature_celsius", "Temperature of the device at the end of the last step.", |s| {
        one(s.temperature)
    }),
    gauge("ambient_celsius", "Ambient temperature around the last step.", |s| one(s.ambient)),
    gauge("power_watts", "Mean power of the device during the last step.", |s| one(s.power)),
    counter("energy_joules_total", "Energy of all finished steps whose power was measured.", |s| {
        one(Some(s.joules).filter(|joules| *joules > 0.0))
    }),
    gauge(
        "device_host_written_bytes",
        "Bytes that the host has written over the device's life, as the device counts them.",
        |s| one(lifetime_bytes(s, |counters| counters.host_written)),
    ),
    gauge(
        "device_flash_written_bytes",
        "Bytes that the device has written to its flash over its life.",
        |s| one(lifetime_bytes(s, |counters| counters.nand_written)),
    ),
    gauge(
        "write_amplification_low",
        "Flash bytes per host byte in the last step, at least.",
        |s| one(s.amplification.map(|found| found.low)),
    ),
    gauge(
        "write_amplification_high",
        "Flash bytes per host byte in the last step, at most.",
        |s| one(s.amplification.map(|found| found.high)),
    ),
    counter(
        "device_throttle_events_total",
        "Times that the device throttled in finished steps, as it counts them.",
        |s| one(device_count(s, "throttle-events")),
    ),
    counter(
        "device_throttled_seconds_total",
        "Seconds for which the device throttled or was too hot in finished steps.",
        |s| one(device_count(s, "throttled")),
    ),
    counter(
        "device_media_errors_total",
        "Media errors that the device counted in finished steps.",
        |s| one(device_count(s, "media-errors")),
    ),
    counter(
        "device_slow_ios_total",
        "I/Os of finished steps in a bucket of the device's latency monitor.",
        slow_ios,
    ),
];

/// Formats the file.
fn text(targets: &[TargetSample]) -> String {
    let mut text = String::new();
    for MetricFamily { name, kind, help, values } in &FAMILIES {
        let mut lines = String::new();
        for target in targets {
            for LabeledSample { labels, value } in values(target) {
                let separator = if labels.is_empty() { "" } else { "," };
                let of_target = &target.labels;
                // Writing to a String cannot fail.
                let _ =
                    writeln!(lines, "steadfast_{name}{{{of_target}{separator}{labels}}} {value}");
            }
        }
        if !lines.is_empty() {
            let _ = writeln!(text, "# HELP steadfast_{name} {help}");
            let _ = writeln!(text, "# TYPE steadfast_{name} {kind}");
            text.push_str(&lines);
        }
    }
    text
}
