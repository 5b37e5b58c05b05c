//! Test runs, as the page shows them. The program that starts the explorer reads the ledger and
//! provides the record ([`RunSource`]); this file only converts it into the shapes that the page
//! draws.

use crate::query::QueryString;
use crate::refusal::HttpError;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use steadfast_domain::steady_state::TrackVerdict;
use steadfast_domain::{
    Caveat, Device, JournalEntry, Measurement, Note, Outcome, Record, Step, Tally, Verdict,
};

/// Percentiles that the page shows, as shares.
const PERCENTILES: [f64; 7] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999];

/// A source from which a run is read, again whenever the run has progressed.
pub trait RunSource: Send + Sync {
    /// Returns the name of the run: its directory.
    fn name(&self) -> &str;
    /// Reads the current state.
    ///
    /// # Errors
    /// Returns a description of the problem and its remedy if the run cannot be read.
    fn read(&self) -> Result<Arc<RunState>, String>;
}

/// The state of a run.
#[derive(Debug, Clone)]
pub struct RunState {
    /// Record of the run so far.
    pub record: Record,
    /// Time at which each entry of the record was written, in milliseconds since 1970 (UTC).
    pub written_unix_ms: Vec<u64>,
    /// The device as it was found.
    pub device: Device,
    /// True if a process is executing the run.
    pub is_live: bool,
    /// `live`, or how the run ended: `complete`, `steady`, `not steady`, `void`, `unfinished`.
    pub state: String,
    /// The same in words.
    pub state_text: String,
    /// Shortest remaining time, in seconds; `None` if unknown.
    pub time_left_s: Option<f64>,
    /// Caveats of the results.
    pub caveats: Vec<Caveat>,
    /// True if flushes count as I/Os, as in the report of a replay.
    pub counts_flushes: bool,
}

/// Summary of a run in the list of everything shown.
#[derive(Debug, Serialize)]
pub struct RunMeta {
    procedure: String,
    device: String,
    started: u64,
    finished: Option<u64>,
    live: bool,
    state_text: String,
}

/// A run.
#[derive(Debug, Serialize)]
pub struct RunView {
    procedure: String,
    device: DeviceView,
    state: String,
    state_text: String,
    live: bool,
    started_unix_ms: u64,
    elapsed_s: f64,
    time_left_s: Option<f64>,
    steps: Vec<StepView>,
    tracks: Vec<TrackView>,
    caveats: Vec<CaveatView>,
    counts_flushes: bool,
    sensors: SensorSeries,
}

#[derive(Debug, Serialize)]
struct DeviceView {
    name: String,
    model: Option<String>,
    serial: Option<String>,
    firmware: Option<String>,
    capacity: u64,
}

#[derive(Debug, Serialize)]
struct StepView {
    i: usize,
    place: String,
    phase: String,
    round: u32,
    name: String,
    start_s: f64,
    seconds: f64,
    ios: u64,
    bytes: u64,
    iops: Option<f64>,
    mb_s: Option<f64>,
    rt_mean_ns: Option<u64>,
    rt_p50_ns: Option<u64>,
    rt_p99_ns: Option<u64>,
    rt_p999_ns: Option<u64>,
    rt_max_ns: Option<u64>,
    /// Reason why the run had released the device before this step.
    gap: Option<String>,
    caveats: Vec<String>,
}

#[derive(Debug, Serialize)]
struct TrackView {
    name: String,
    unit: String,
    rounds: Vec<RoundView>,
    window: Option<WindowView>,
    verdict: String,
    steady: bool,
}

#[derive(Debug, Serialize)]
struct RoundView {
    round: u32,
    value: Option<f64>,
}

#[derive(Debug, Serialize)]
struct WindowView {
    from: u32,
    to: u32,
    average: f64,
    low: f64,
    high: f64,
    slope_from: f64,
    slope_to: f64,
}

#[derive(Debug, Serialize)]
struct CaveatView {
    /// Seconds since the run began; `None` if the caveat belongs to no point in time.
    t: Option<f64>,
    step: Option<usize>,
    id: String,
    text: String,
    remedy: String,
}

#[derive(Debug, Default, Serialize)]
struct SensorSeries {
    t: Vec<f64>,
    temperature: Vec<Option<f64>>,
    load: Vec<Option<f64>>,
}

/// One step.
#[derive(Debug, Serialize)]
pub struct StepDetail {
    i: usize,
    place: String,
    intervals: IntervalSeries,
    histogram: HistogramView,
    percentiles: Vec<(f64, Option<u64>)>,
    diskstats: Option<Diskstats>,
}

#[derive(Debug, Default, Serialize)]
struct IntervalSeries {
    t: Vec<f64>,
    seconds: Vec<f64>,
    reads: Vec<u64>,
    writes: Vec<u64>,
    bytes: Vec<u64>,
    rt_mean: Vec<Option<u64>>,
    rt_p99: Vec<Option<u64>>,
    rt_max: Vec<Option<u64>>,
}

#[derive(Debug, Serialize)]
struct HistogramView {
    /// Shortest time of every bucket with a count, followed by the end of the last.
    edges_ns: Vec<u64>,
    /// Longest time of every bucket.
    upper_ns: Vec<u64>,
    counts: Vec<u64>,
}

#[derive(Debug, Serialize)]
struct Diskstats {
    reads: u64,
    read_merges: u64,
    read_bytes: u64,
    writes: u64,
    write_merges: u64,
    write_bytes: u64,
}

fn read(source: &dyn RunSource) -> Result<Arc<RunState>, HttpError> {
    source.read().map_err(HttpError::failed)
}

/// Returns the summary of a run for the list of everything shown.
///
/// # Errors
/// Returns a [`HttpError`] with status 500 if the run cannot be read.
pub fn meta(source: &dyn RunSource) -> Result<RunMeta, HttpError> {
    let state = read(source)?;
    let is_over = state.record.has_ended();
    Ok(RunMeta {
        procedure: state.record.settings.procedure.clone(),
        device: state.device.name.clone(),
        started: state.record.began_unix_ms,
        finished: is_over.then_some(state.record.ended_unix_ms),
        live: state.is_live,
        state_text: state.state_text.clone(),
    })
}

/// Returns a run.
///
/// # Errors
/// Returns a [`HttpError`] with status 500 if the run cannot be read.
pub fn view(source: &dyn RunSource) -> Result<RunView, HttpError> {
    let state = read(source)?;
    let record = &state.record;
    let (steps, caveats) = steps(&state);
    let elapsed = record.ended_unix_ms.saturating_sub(record.began_unix_ms) as f64 / 1e3;
    Ok(RunView {
        procedure: record.settings.procedure.clone(),
        device: DeviceView {
            name: state.device.name.clone(),
            model: state.device.model.clone(),
            serial: state.device.serial.clone(),
            firmware: state.device.firmware.clone(),
            capacity: state.device.capacity.0,
        },
        state: state.state.clone(),
        state_text: state.state_text.clone(),
        live: state.is_live,
        started_unix_ms: record.began_unix_ms,
        elapsed_s: elapsed,
        time_left_s: state.time_left_s,
        tracks: tracks(record),
        sensors: sensors(record),
        counts_flushes: state.counts_flushes,
        steps,
        caveats,
    })
}

/// Returns the seconds since the run began.
fn since(record: &Record, unix_ms: u64) -> f64 {
    unix_ms.saturating_sub(record.began_unix_ms) as f64 / 1e3
}

/// Returns the steps, and every caveat with its time and step.
fn steps(state: &RunState) -> (Vec<StepView>, Vec<CaveatView>) {
    let record = &state.record;
    let (mut steps, mut caveats): (Vec<StepView>, Vec<CaveatView>) = (Vec::new(), Vec::new());
    for (at, entry) in record.entries.iter().enumerate() {
        match entry {
            JournalEntry::Applied { step, outcome } => {
                steps.push(step_view(state, steps.len(), step, outcome));
            }
            JournalEntry::Noted(note) => {
                if let Note::Caveat(caveat) = &**note {
                    let last = steps.last_mut();
                    let step = last.map(|step| {
                        step.caveats.push(caveat.text.clone());
                        step.i
                    });
                    let t = state.written_unix_ms.get(at).map(|at| since(record, *at));
                    caveats.push(caveat_view(caveat, t, step));
                }
            }
            _ => {}
        }
    }
    let is_new = |caveat: &&Caveat| !caveats.iter().any(|known| known.text == caveat.text);
    let more: Vec<CaveatView> =
        state.caveats.iter().filter(is_new).map(|caveat| caveat_view(caveat, None, None)).collect();
    caveats.extend(more);
    (steps, caveats)
}

fn caveat_view(caveat: &Caveat, t: Option<f64>, step: Option<usize>) -> CaveatView {
    CaveatView {
        t,
        step,
        id: caveat.id.clone(),
        text: caveat.text.clone(),
        remedy: caveat.remedy.clone(),
    }
}

fn place(step: &Step) -> String {
    match step.place.round {
        0 => format!("{} {}", step.place.phase, step.place.point),
        round => format!("{} {round}.{}", step.place.phase, step.place.point),
    }
}

/// Returns the tally of a step over the operations that its report counts.
fn counted(state: &RunState, measurement: &Measurement) -> Tally {
    if state.counts_flushes { measurement.with_flushes() } else { measurement.total() }
}

fn step_view(state: &RunState, i: usize, step: &Step, outcome: &Outcome) -> StepView {
    let measurement = &outcome.measurement;
    let total = counted(state, measurement);
    let seconds = measurement.elapsed.as_secs_f64();
    let percentile = |share| total.percentile(share).map(|time| time.0);
    StepView {
        i,
        place: place(step),
        phase: step.place.phase.clone(),
        round: step.place.round,
        name: step.place.label.clone(),
        start_s: since(&state.record, measurement.began_unix_ms),
        seconds,
        ios: total.ios,
        bytes: measurement.bytes().0,
        iops: (seconds > 0.0).then(|| total.ios as f64 / seconds),
        mb_s: measurement.mb_per_second(),
        rt_mean_ns: total.response_mean().map(|time| time.0),
        rt_p50_ns: percentile(0.5),
        rt_p99_ns: percentile(0.99),
        rt_p999_ns: percentile(0.999),
        rt_max_ns: total.response_longest().map(|time| time.0),
        gap: outcome.gap_before.as_ref().map(|gap| gap.cause.clone()),
        caveats: Vec::new(),
    }
}

/// Returns every tracking variable of every part of a run, with its values by round as the verdicts
/// have them.
fn tracks(record: &Record) -> Vec<TrackView> {
    let (mut order, mut found): (Vec<String>, BTreeMap<String, TrackHistory<'_>>) =
        Default::default();
    let mut part = String::new();
    for note in record.notes() {
        match note {
            Note::Part(name) => part = format!("{name}: "),
            Note::Verdict(verdict) => {
                for track in &verdict.tracks {
                    let name = format!("{part}{}", track.name);
                    if !found.contains_key(&name) {
                        order.push(name.clone());
                    }
                    found.entry(name).or_default().follow(verdict, track);
                }
            }
            Note::Caveat(_) | Note::Chosen { .. } => {}
        }
    }
    order.iter().filter_map(|name| Some(found.get(name)?.view(name))).collect()
}

/// A tracking variable over all verdicts.
#[derive(Default)]
struct TrackHistory<'r> {
    rounds: BTreeMap<u32, f64>,
    last: Option<(&'r Verdict, &'r TrackVerdict)>,
}

impl<'r> TrackHistory<'r> {
    fn follow(&mut self, verdict: &'r Verdict, track: &'r TrackVerdict) {
        if let Some((from, _)) = verdict.window {
            self.rounds.extend((from..).zip(track.values.iter().copied()));
        }
        self.last = Some((verdict, track));
    }

    fn view(&self, name: &str) -> TrackView {
        let rounds = self.rounds.iter();
        let rounds = rounds.map(|(round, value)| RoundView { round: *round, value: Some(*value) });
        let (mut window, mut words, mut unit, mut steady) =
            (None, String::new(), String::new(), false);
        if let Some((verdict, track)) = self.last {
            window = verdict.window.map(|window| window_view(window, track));
            words = verdict_words(verdict, track);
            unit.clone_from(&track.unit);
            steady = track.steady;
        }
        TrackView {
            name: name.to_owned(),
            unit,
            rounds: rounds.collect(),
            window,
            verdict: words,
            steady,
        }
    }
}

fn window_view((from, to): (u32, u32), track: &TrackVerdict) -> WindowView {
    let half = track.average.abs() * share_of_average(track) / 2.0;
    let line = |round: u32| track.intercept + track.slope * f64::from(round);
    WindowView {
        from,
        to,
        average: track.average,
        low: track.average - half,
        high: track.average + half,
        slope_from: line(from),
        slope_to: line(to),
    }
}

/// Returns the allowed range of the values, as a share of the average.
fn share_of_average(track: &TrackVerdict) -> f64 {
    if track.average == 0.0 { 0.0 } else { track.data_excursion_allowed / track.average.abs() }
}

fn verdict_words(verdict: &Verdict, track: &TrackVerdict) -> String {
    let state = if track.steady { "steady" } else { "not steady" };
    let mut words = format!(
        "{state}: data excursion {:.4} of {:.4} allowed, slope excursion {:.4} of {:.4} allowed",
        track.data_excursion,
        track.data_excursion_allowed,
        track.slope_excursion,
        track.slope_excursion_allowed
    );
    if let Some(reservation) = &verdict.reservation {
        words.push_str("; ");
        words.push_str(reservation);
    }
    words
}

fn sensors(record: &Record) -> SensorSeries {
    let mut sensors = SensorSeries::default();
    for (_, outcome) in record.steps() {
        let measurement = &outcome.measurement;
        let end = since(record, measurement.began_unix_ms) + measurement.elapsed.as_secs_f64();
        let load = measurement.sensed.host_cpu.map(|cpu| cpu.user + cpu.system);
        sensors.t.push(end);
        sensors.temperature.push(measurement.sensed.temperature_celsius);
        sensors.load.push(load);
    }
    sensors
}

/// Returns one step of a run.
///
/// # Errors
/// Returns a [`HttpError`] with status 500 if the run cannot be read, with 400 if `i` is missing or
/// invalid, and with 404 if the run has no such step.
pub fn step(source: &dyn RunSource, query: &QueryString) -> Result<StepDetail, HttpError> {
    let state = read(source)?;
    let i = query.number("i")?.ok_or_else(|| HttpError::bad("'i' is missing: which step"))?;
    let i = usize::try_from(i).unwrap_or(usize::MAX);
    let found = state.record.steps().nth(i);
    let what = || HttpError::missing(format!("the run has no step {i}"));
    let (step, outcome) = found.ok_or_else(what)?;
    let measurement = &outcome.measurement;
    let total = counted(&state, measurement);
    let buckets: Vec<_> = total.histogram.buckets().collect();
    let kernel = measurement.kernel.as_ref().map(|kernel| Diskstats {
        reads: kernel.reads,
        read_merges: kernel.read_merges,
        read_bytes: kernel.read_bytes.0,
        writes: kernel.writes,
        write_merges: kernel.write_merges,
        write_bytes: kernel.write_bytes.0,
    });
    let end = buckets.last().map(|(_, high, _)| high.0.saturating_add(1));
    Ok(StepDetail {
        i,
        place: place(step),
        intervals: intervals(measurement),
        histogram: HistogramView {
            edges_ns: buckets.iter().map(|(low, _, _)| low.0).chain(end).collect(),
            upper_ns: buckets.iter().map(|(_, high, _)| high.0).collect(),
            counts: buckets.iter().map(|(_, _, count)| *count).collect(),
        },
        percentiles: PERCENTILES
            .map(|share| (share * 100.0, total.percentile(share).map(|time| time.0)))
            .to_vec(),
        diskstats: kernel,
    })
}

fn intervals(measurement: &Measurement) -> IntervalSeries {
    let mut found = IntervalSeries::default();
    for interval in &measurement.intervals {
        let ios = |wanted: steadfast_domain::Op| {
            interval.tallies.iter().filter(|t| t.op == wanted).map(|t| t.ios).sum()
        };
        let mut histogram = steadfast_domain::CoarseHistogram::default();
        interval.moving().for_each(|tally| histogram.merge(&tally.histogram));
        let longest = interval.moving().filter(|t| t.ios > 0).map(|t| t.response_max.0).max();
        found.t.push(interval.begin.as_secs_f64());
        found.seconds.push(interval.end.saturating_sub(interval.begin).as_secs_f64());
        found.reads.push(ios(steadfast_domain::Op::Read));
        found.writes.push(ios(steadfast_domain::Op::Write));
        found.bytes.push(interval.tallies.iter().map(|tally| tally.bytes.0).sum());
        found.rt_mean.push(interval.response_mean().map(|time| time.0));
        let p99 = histogram.reportable_percentile(0.99).map(|time| time.0);
        found.rt_p99.push(p99.map(|time| time.min(longest.unwrap_or(time))));
        found.rt_max.push(longest);
    }
    found
}
