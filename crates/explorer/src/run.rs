//! Test runs, as the page shows them. The program that starts the explorer reads the ledger and
//! provides the record ([`RunSource`]); this file only converts it into the shapes that the page
//! draws.

use crate::http_error::{HttpError, HttpResult};
use crate::query::QueryString;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use steadfast_domain::measurement::Interval;
use steadfast_domain::steady_state::TrackVerdict;
use steadfast_domain::text::significant;
use steadfast_domain::{
    Caveat, CoarseHistogram, Device, JournalEntry, Measurement, Note, Op, Outcome, Record, Step,
    Tally, Verdict,
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

fn read(source: &dyn RunSource) -> HttpResult<Arc<RunState>> {
    source.read().map_err(HttpError::failed)
}

/// Returns the summary of a run for the list of everything shown.
///
/// # Errors
/// Returns an [`HttpError`] with status 500 if the run cannot be read.
pub fn meta(source: &dyn RunSource) -> HttpResult<Value> {
    let state = read(source)?;
    let record = &state.record;
    Ok(json!({
        "procedure": record.settings.procedure,
        "device": state.device.name,
        "started": record.began_unix_ms,
        "finished": record.has_ended().then_some(record.ended_unix_ms),
        "live": state.is_live,
        "state_text": state.state_text,
    }))
}

/// Returns a run.
///
/// # Errors
/// Returns an [`HttpError`] with status 500 if the run cannot be read.
pub fn view(source: &dyn RunSource) -> HttpResult<Value> {
    let state = read(source)?;
    let (record, device) = (&state.record, &state.device);
    let RunSteps { steps, caveats } = RunSteps::new(&state);
    Ok(json!({
        "procedure": record.settings.procedure,
        "device": {
            "name": device.name,
            "model": device.model,
            "serial": device.serial,
            "firmware": device.firmware,
            "capacity": device.capacity.0,
        },
        "state": state.state,
        "state_text": state.state_text,
        "live": state.is_live,
        "started_unix_ms": record.began_unix_ms,
        "elapsed_s": since(record, record.ended_unix_ms),
        "time_left_s": state.time_left_s,
        "steps": steps,
        "tracks": tracks(record),
        "caveats": caveats,
        "counts_flushes": state.counts_flushes,
        "sensors": sensors(record),
    }))
}

/// Returns the seconds since the run began.
fn since(record: &Record, unix_ms: u64) -> f64 {
    unix_ms.saturating_sub(record.began_unix_ms) as f64 / 1e3
}

struct RunSteps {
    steps: Vec<Value>,
    /// Caveats with their times, in seconds since the run began, and their steps.
    caveats: Vec<Value>,
}

impl RunSteps {
    fn new(state: &RunState) -> Self {
        let record = &state.record;
        let (mut steps, mut caveats) = (Vec::new(), Vec::new());
        // Texts of all caveats in the journal, and of those of each step.
        let (mut noted, mut by_step): (Vec<&str>, Vec<Vec<&str>>) = Default::default();
        for (at, entry) in record.entries.iter().enumerate() {
            match entry {
                JournalEntry::Applied { step, outcome } => {
                    steps.push(step_view(state, steps.len(), step, outcome));
                    by_step.push(Vec::new());
                }
                JournalEntry::Noted(note) => {
                    if let Note::Caveat(caveat) = &**note {
                        if let Some(texts) = by_step.last_mut() {
                            texts.push(&caveat.text);
                        }
                        let t = state.written_unix_ms.get(at).map(|at| since(record, *at));
                        caveats.push(caveat_view(caveat, t, steps.len().checked_sub(1)));
                        noted.push(&caveat.text);
                    }
                }
                _ => {}
            }
        }
        for (step, texts) in steps.iter_mut().zip(by_step) {
            step["caveats"] = json!(texts);
        }
        // The study finds further caveats, which belong to no step.
        let new = state.caveats.iter().filter(|caveat| !noted.contains(&caveat.text.as_str()));
        caveats.extend(new.map(|caveat| caveat_view(caveat, None, None)));
        RunSteps { steps, caveats }
    }
}

fn caveat_view(caveat: &Caveat, t: Option<f64>, step: Option<usize>) -> Value {
    let Caveat { id, text, remedy, .. } = caveat;
    json!({ "t": t, "step": step, "id": id, "text": text, "remedy": remedy })
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

fn step_view(state: &RunState, i: usize, step: &Step, outcome: &Outcome) -> Value {
    let measurement = &outcome.measurement;
    let total = counted(state, measurement);
    let seconds = measurement.elapsed.as_secs_f64();
    let percentile = |share| total.percentile(share).map(|time| time.0);
    json!({
        "i": i,
        "place": place(step),
        "phase": step.place.phase,
        "round": step.place.round,
        "name": step.place.label,
        "start_s": since(&state.record, measurement.began_unix_ms),
        "seconds": seconds,
        "ios": total.ios,
        "bytes": measurement.bytes().0,
        "iops": (seconds > 0.0).then(|| total.ios as f64 / seconds),
        "mb_s": measurement.mb_per_second(),
        "rt_mean_ns": total.response_mean().map(|time| time.0),
        "rt_p50_ns": percentile(0.5),
        "rt_p99_ns": percentile(0.99),
        "rt_p999_ns": percentile(0.999),
        "rt_max_ns": total.response_longest().map(|time| time.0),
        // Reason why the run had released the device before this step.
        "gap": outcome.gap_before.as_ref().map(|gap| &gap.cause),
    })
}

/// Returns every tracking variable of every part of a run, with its values by round as the verdicts
/// have them.
fn tracks(record: &Record) -> Vec<Value> {
    let mut order: Vec<String> = Vec::new();
    let mut found: BTreeMap<String, TrackHistory<'_>> = BTreeMap::new();
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

    fn view(&self, name: &str) -> Value {
        let round = |(round, value)| json!({ "round": round, "value": value });
        let last = self.last;
        json!({
            "name": name,
            "unit": last.map_or("", |(_, track)| &track.unit),
            "rounds": self.rounds.iter().map(round).collect::<Vec<_>>(),
            "window": last.and_then(|(verdict, track)| Some(window_view(verdict.window?, track))),
            "verdict": last.map_or(String::new(), |(verdict, track)| verdict_text(verdict, track)),
            "steady": last.is_some_and(|(_, track)| track.steady),
        })
    }
}

fn window_view((from, to): (u32, u32), track: &TrackVerdict) -> Value {
    let half = track.average.abs() * share_of_average(track) / 2.0;
    let line = |round: u32| track.intercept + track.slope * f64::from(round);
    json!({
        "from": from,
        "to": to,
        "average": track.average,
        "low": track.average - half,
        "high": track.average + half,
        "slope_from": line(from),
        "slope_to": line(to),
    })
}

/// Returns the allowed range of the values, as a share of the average.
fn share_of_average(track: &TrackVerdict) -> f64 {
    if track.average == 0.0 { 0.0 } else { track.data_excursion_allowed / track.average.abs() }
}

fn verdict_text(verdict: &Verdict, track: &TrackVerdict) -> String {
    let state = if track.steady { "steady" } else { "not steady" };
    let mut text = format!(
        "{state}: data excursion {} of {} allowed, slope excursion {} of {} allowed",
        significant(track.data_excursion, 4),
        significant(track.data_excursion_allowed, 4),
        significant(track.slope_excursion, 4),
        significant(track.slope_excursion_allowed, 4)
    );
    if let Some(reservation) = &verdict.reservation {
        text.push_str("; ");
        text.push_str(reservation);
    }
    text
}

fn sensors(record: &Record) -> Value {
    let measured = || record.steps().map(|(_, outcome)| &outcome.measurement);
    let end = |step: &Measurement| since(record, step.began_unix_ms) + step.elapsed.as_secs_f64();
    let load = |step: &Measurement| step.sensed.host_cpu.map(|cpu| cpu.user + cpu.system);
    json!({
        "t": measured().map(end).collect::<Vec<_>>(),
        "temperature": measured().map(|step| step.sensed.temperature_celsius).collect::<Vec<_>>(),
        "load": measured().map(load).collect::<Vec<_>>(),
    })
}

/// Returns one step of a run.
///
/// # Errors
/// Returns an [`HttpError`] with status 500 if the run cannot be read, with 400 if `i` is missing or
/// invalid, and with 404 if the run has no such step.
pub fn step(source: &dyn RunSource, query: &QueryString) -> HttpResult<Value> {
    let state = read(source)?;
    let i = query.number("i")?.ok_or_else(|| HttpError::bad("'i' is missing: which step"))?;
    let i = usize::try_from(i).unwrap_or(usize::MAX);
    let found = state.record.steps().nth(i);
    let what = || HttpError::missing(format!("the run has no step {i}"));
    let (step, outcome) = found.ok_or_else(what)?;
    let measurement = &outcome.measurement;
    let total = counted(&state, measurement);
    let buckets: Vec<_> = total.histogram.buckets().collect();
    let end = buckets.last().map(|(_, high, _)| high.0.saturating_add(1));
    let percentile = |share| (share * 100.0, total.percentile(share).map(|time| time.0));
    Ok(json!({
        "i": i,
        "place": place(step),
        "intervals": intervals(measurement),
        "histogram": {
            // Shortest time of every bucket with a count, followed by the end of the last.
            "edges_ns": buckets.iter().map(|(low, _, _)| low.0).chain(end).collect::<Vec<_>>(),
            "upper_ns": buckets.iter().map(|(_, high, _)| high.0).collect::<Vec<_>>(),
            "counts": buckets.iter().map(|(_, _, count)| *count).collect::<Vec<_>>(),
        },
        "percentiles": PERCENTILES.map(percentile),
        "diskstats": measurement.kernel.as_ref().map(|kernel| json!({
            "reads": kernel.reads,
            "read_merges": kernel.read_merges,
            "read_bytes": kernel.read_bytes.0,
            "writes": kernel.writes,
            "write_merges": kernel.write_merges,
            "write_bytes": kernel.write_bytes.0,
        })),
    }))
}

/// Returns the intervals of a step, one array per figure.
fn intervals(measurement: &Measurement) -> Value {
    let each = |value: &dyn Fn(&Interval) -> Value| -> Value {
        measurement.intervals.iter().map(value).collect()
    };
    let longest = |interval: &Interval| {
        interval.moving().filter(|t| t.ios > 0).map(|t| t.response_max.0).max()
    };
    let p99 = |interval: &Interval| {
        let mut histogram = CoarseHistogram::default();
        interval.moving().for_each(|tally| histogram.merge(&tally.histogram));
        let found = histogram.reportable_percentile(0.99)?.0;
        Some(found.min(longest(interval).unwrap_or(found)))
    };
    let ios = |op: Op| {
        each(&|interval| {
            let of_op = interval.tallies.iter().filter(|tally| tally.op == op);
            json!(of_op.map(|tally| tally.ios).sum::<u64>())
        })
    };
    json!({
        "t": each(&|interval| json!(interval.begin.as_secs_f64())),
        "seconds": each(&|one| json!(one.end.saturating_sub(one.begin).as_secs_f64())),
        "reads": ios(Op::Read),
        "writes": ios(Op::Write),
        "bytes": each(&|one| json!(one.tallies.iter().map(|tally| tally.bytes.0).sum::<u64>())),
        "rt_mean": each(&|interval| json!(interval.response_mean().map(|time| time.0))),
        "rt_p99": each(&|interval| json!(p99(interval))),
        "rt_max": each(&|interval| json!(longest(interval))),
    })
}
