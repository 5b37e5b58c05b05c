//! `trace steps`, `map` and `hits`: what happened when.

use super::columns::{aligned, ms, number, row};
use super::kept::Kept;
use super::{Selected, print_document};
use crate::cli::trace::{HitsArguments, MapArguments, StepsArguments};
use crate::exit::Outcome;
use crate::terminal;
use anyhow::{Context, bail};
use serde::Serialize;
use std::collections::BTreeMap;
use steadfast_domain::text::printable;
use steadfast_domain::units::Bytes;
use steadfast_domain::{IoOp, Nanos};
use steadfast_trace::compare::SidesSeen;
use steadfast_trace::hits::{Ends, HitMap, HitSteps, SIDE_MAX};
use steadfast_trace::series::{Cell, Choice, SeriesOverTime};
use steadfast_trace::steps::{CaptureStep, STEPS_MAX, Steps};
use steadfast_trace::study::step_width;
use steadfast_trace::workload::Workload;
use steadfast_trace::{By, StreamKey, StreamTable};

/// One capture step of a listing.
#[derive(Serialize)]
pub(super) struct StepFigures {
    pub(super) begin_ns: u64,
    count: u64,
    amount: u64,
    pub(super) iops: f64,
    pub(super) bytes_per_second: f64,
    reads: u64,
    writes: u64,
    discards: u64,
    flushes: u64,
    sequential_share: Option<f64>,
    pub(super) response_mean_ns: Option<u64>,
    response_p99_ns: Option<u64>,
    response_max_ns: Option<u64>,
    pub(super) qd_mean: Option<f64>,
    qd_max: Option<u32>,
    /// Share of the time with an I/O outstanding; `None` where it is not known.
    utilisation: Option<f64>,
}

impl StepFigures {
    pub(super) fn of(number: u64, step: &CaptureStep, width_ns: u64, devices: Option<u64>) -> Self {
        let seconds = width_ns as f64 / 1e9;
        let op = |op: IoOp| step.ops[op as usize].ios;
        StepFigures {
            begin_ns: number.saturating_mul(width_ns),
            count: step.ios(),
            amount: step.bytes(),
            iops: step.ios() as f64 / seconds,
            bytes_per_second: step.bytes() as f64 / seconds,
            reads: op(IoOp::Read),
            writes: op(IoOp::Write),
            discards: op(IoOp::Discard),
            flushes: op(IoOp::Flush),
            sequential_share: step.sequential_share(),
            response_mean_ns: step.response_mean().map(|time| time.0),
            response_p99_ns: step.percentile(0.99).map(|time| time.0),
            response_max_ns: step.response_max().map(|time| time.0),
            qd_mean: step.depth_mean(),
            qd_max: (step.depths > 0).then_some(step.depth_max),
            utilisation: devices
                .filter(|devices| *devices > 0)
                .map(|devices| step.busy_ns as f64 / width_ns as f64 / devices as f64),
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            format!("{:.4}", self.begin_ns as f64 / 1e9),
            number(Some(self.iops), 1),
            number(Some(self.bytes_per_second / 1e6), 3),
            self.reads.to_string(),
            self.writes.to_string(),
            (self.discards + self.flushes).to_string(),
            number(self.sequential_share.map(|share| share * 100.0), 1),
            ms(self.response_mean_ns),
            ms(self.response_p99_ns),
            ms(self.response_max_ns),
            number(self.qd_mean, 2),
            number(self.qd_max.map(f64::from), 0),
            number(self.utilisation.map(|part| part * 100.0), 1),
        ]
    }
}

const STEP_COLUMNS: [&str; 13] = [
    "Begins s", "IOPS", "MB/s", "reads", "writes", "other", "SEQ %", "ART ms", "99% ms", "MRT ms",
    "QD avg", "QD max", "busy %",
];

#[derive(Serialize)]
pub(super) struct StepsContent {
    pub(super) step_ns: u64,
    pub(super) steps: Vec<StepFigures>,
}

impl StepsContent {
    pub(super) fn lines(&self) -> String {
        let mut rows = vec![row(STEP_COLUMNS)];
        rows.extend(self.steps.iter().map(StepFigures::cells));
        format!("{}\nsteps of {}", aligned(&rows), Nanos(self.step_ns))
    }
}

/// Whether busy time is known of all of a device's I/Os: under a filter that
/// hides some, or from a source without response times or with rounded ones, it
/// is not.
pub(super) fn tells_busy_time(selected: &Selected, steps: &BTreeMap<u64, CaptureStep>) -> bool {
    selected.pass.filter.keeps_whole_devices()
        && !selected.trace.conditions().rounded_times
        && steps.values().any(|step| step.responses > 0)
}

/// Every capture step with an I/O, or with one outstanding.
pub fn steps(arguments: &StepsArguments) -> anyhow::Result<Outcome> {
    if let Some(kept) = Kept::open(&arguments.selection)? {
        return kept.steps(arguments);
    }
    let selected = Selected::open(&arguments.selection)?;
    let span = selected.span()?;
    let width = step_width(arguments.step.map(|step| step.0), span, STEPS_MAX as u64)?;
    let until = (span.1 / width + 1).saturating_mul(width);
    let (mut all, mut sides) = (Steps::new(width).until(until), SidesSeen::default());
    let account = selected.fold(&mut [&mut all, &mut sides])?;
    let all = all.finish()?;
    let devices = tells_busy_time(&selected, &all).then_some(sides.count());
    let steps: Vec<StepFigures> =
        all.iter().map(|(at, step)| StepFigures::of(*at, step, width, devices)).collect();
    let content = StepsContent { step_ns: width, steps };
    if arguments.json {
        print_document(&selected, account, content)?;
    } else {
        terminal::print(&content.lines())?;
    }
    Ok(selected.ending())
}

#[derive(Serialize)]
pub(super) struct MapContent {
    step_ns: u64,
    /// The last series holds all other streams.
    series: Vec<String>,
    steps: Vec<MapStep>,
}

#[derive(Serialize)]
struct MapStep {
    pub(super) begin_ns: u64,
    counts: Vec<u64>,
    amounts: Vec<u64>,
}

/// Streams over time.
pub fn map(arguments: &MapArguments) -> anyhow::Result<Outcome> {
    if let Some(kept) = Kept::open(&arguments.selection)? {
        return kept.map(arguments);
    }
    let selected = Selected::open(&arguments.selection)?;
    let mut table = StreamTable::new();
    let account = selected.fold(&mut [&mut table])?;
    let span = account.span_ns.with_context(|| selected.nothing())?;
    let width = step_width(arguments.step.map(|step| step.0), span, STEPS_MAX as u64)?;
    let keys = keys_of(&table, arguments);
    let mut series = SeriesOverTime::new(width, &Choice::Streams(keys.clone()));
    selected.fold(&mut [&mut series])?;
    let content = MapContent::of(&series, &keys, width);
    if arguments.json {
        print_document(&selected, account, content)?;
    } else {
        terminal::print(&content.lines(arguments.by))?;
    }
    Ok(selected.ending())
}

/// The streams that get a series of their own.
pub(super) fn keys_of(table: &StreamTable, arguments: &MapArguments) -> Vec<StreamKey> {
    let workload = Workload::of(table, arguments.by, arguments.threshold);
    workload.streams.iter().map(|stream| stream.key()).collect()
}

impl MapContent {
    pub(super) fn of(series: &SeriesOverTime, keys: &[StreamKey], width: u64) -> Self {
        let names = keys.iter().map(ToString::to_string).chain(["others".to_owned()]);
        let step = |(at, cells): (&u64, &Vec<Cell>)| MapStep {
            begin_ns: at.saturating_mul(width),
            counts: cells.iter().map(|cell| cell.ios).collect(),
            amounts: cells.iter().map(|cell| cell.bytes).collect(),
        };
        let steps = series.steps().iter().map(step).collect();
        MapContent { step_ns: width, series: names.collect(), steps }
    }

    pub(super) fn lines(&self, by: By) -> String {
        let head = std::iter::once("Begins s".to_owned()).chain(self.series.iter().cloned());
        let mut rows = vec![head.collect::<Vec<_>>()];
        rows.extend(self.steps.iter().map(|step| {
            let begin = format!("{:.4}", step.begin_ns as f64 / 1e9);
            let cells: Vec<String> = match by {
                By::Count => step.counts.iter().map(ToString::to_string).collect(),
                By::Bytes => {
                    step.amounts.iter().map(|n| number(Some(Bytes(*n).as_mb()), 2)).collect()
                }
            };
            std::iter::once(begin).chain(cells).collect()
        }));
        let what = if by == By::Count { "I/Os" } else { "MB" };
        format!("{}\n{what} in steps of {}", aligned(&rows), Nanos(self.step_ns))
    }
}

#[derive(Serialize)]
struct HitsContent {
    step_ns: u64,
    maps: Vec<DeviceHits>,
}

#[derive(Serialize)]
struct DeviceHits {
    device: String,
    ranges: usize,
    range_bytes: u64,
    outside: u64,
    /// Only what was hit.
    hits: Vec<Hit>,
}

#[derive(Serialize)]
struct Hit {
    range: usize,
    pub(super) begin_ns: u64,
    reads: u32,
    writes: u32,
}

/// Steps that may be asked for: one more where the first begins before the span.
const HIT_STEPS_MAX: u64 = SIDE_MAX as u64 - 2;
/// Cells of all maps together, of 8 bytes each.
const HIT_CELLS_MAX: usize = 1 << 25;

/// Which LBA ranges were hit when.
pub fn hits(arguments: &HitsArguments) -> anyhow::Result<Outcome> {
    let selected = Selected::open(&arguments.selection)?;
    let mut ends = Ends::default();
    let span = selected.fold(&mut [&mut ends])?.span_ns;
    let span = span.with_context(|| selected.nothing())?;
    let steps = match arguments.step {
        None => HitSteps::over(span, 60),
        Some(asked) => {
            let width = step_width(Some(asked.0), span, HIT_STEPS_MAX)?;
            HitSteps::of_width(span, width)
        }
    };
    let ranges = usize::try_from(arguments.ranges)?;
    let cells = ends.devices().count().saturating_mul(ranges).saturating_mul(steps.count);
    if cells > HIT_CELLS_MAX {
        bail!(
            "{}: the maps of {} devices need too much memory; name some with --device, or choose \
             fewer --ranges or wider steps",
            selected.name,
            ends.devices().count()
        );
    }
    let conditions = selected.trace.conditions();
    let new = |device| HitMap::new(device, ends.of(device, conditions), ranges, steps);
    let mut maps: Vec<HitMap> = ends.devices().map(new).collect();
    let mut folds: Vec<&mut dyn steadfast_trace::Fold> = Vec::new();
    folds.extend(maps.iter_mut().map(|map| map as &mut dyn steadfast_trace::Fold));
    let account = selected.fold(&mut folds)?;
    let name = |map: &HitMap| {
        let device = map.device();
        let named = conditions.devices.get(usize::from(device));
        named.map_or_else(|| format!("device {device}"), |device| device.name.clone())
    };
    if arguments.json {
        let maps_hit: Vec<DeviceHits> =
            maps.iter().map(|map| device_hits(name(map), map)).collect();
        let step_ns = steps.width_ns;
        print_document(&selected, account, HitsContent { step_ns, maps: maps_hit })?;
        return Ok(selected.ending());
    }
    for map in &maps {
        terminal::print(&drawn(&printable(&name(map)), map))?;
    }
    if maps.is_empty() {
        terminal::complain(&format!("{}: no reads or writes of a block device", selected.name));
    }
    Ok(selected.ending())
}

fn device_hits(device: String, map: &HitMap) -> DeviceHits {
    let places = (0..map.ranges).flat_map(|range| (0..map.steps).map(move |step| (range, step)));
    let hit = |(range, step): (usize, usize)| Hit {
        range,
        begin_ns: map.begin_ns.saturating_add(map.width_ns.saturating_mul(step as u64)),
        reads: map.hits(IoOp::Read, range, step),
        writes: map.hits(IoOp::Write, range, step),
    };
    let hits = places.map(hit).filter(|hit| hit.reads > 0 || hit.writes > 0).collect();
    let (ranges, range_bytes) = (map.ranges, map.range_bytes);
    DeviceHits { device, ranges, range_bytes, outside: map.outside, hits }
}

/// The map with letters for shades, the highest LBA on top.
fn drawn(name: &str, map: &HitMap) -> String {
    const SHADES: &[u8] = b" .:-=+*#%@";
    const ROWS: usize = 25;
    let rows = map.ranges.min(ROWS);
    let hits = |row: usize, step: usize| -> u64 {
        let ranges = row * map.ranges / rows..(row + 1) * map.ranges / rows;
        let both = |range| {
            u64::from(map.hits(IoOp::Read, range, step))
                + u64::from(map.hits(IoOp::Write, range, step))
        };
        ranges.map(both).sum()
    };
    let most = (0..rows).flat_map(|row| (0..map.steps).map(move |step| (row, step)));
    let most = most.map(|(row, step)| hits(row, step)).max().unwrap_or(0).max(1);
    let shade = |hits: u64| {
        let part = ((hits + 1) as f64).ln() / ((most + 1) as f64).ln();
        char::from(SHADES[((part * 9.0).ceil() as usize).min(SHADES.len() - 1)])
    };
    let mut text = format!("{name}: hits by LBA range (up) and time (across)\n");
    for row in (0..rows).rev() {
        let percent = row as f64 * 100.0 / rows as f64;
        let cells: String = (0..map.steps).map(|step| shade(hits(row, step))).collect();
        text.push_str(&format!("{percent:>5.1}% |{}\n", cells.trim_end()));
    }
    let ranges = (Bytes(map.range_bytes), Nanos(map.width_ns));
    text.push_str(&format!(
        "{} ranges of {}, steps of {}; darkest: {most} hits; outside: {}\n",
        map.ranges, ranges.0, ranges.1, map.outside
    ));
    text
}
