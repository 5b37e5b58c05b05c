//! `trace hits`: hits by LBA range over time, as counts, bytes or streams.

use super::axis::StepTimeFormat;
use super::columns::listed;
use crate::cli::trace::HitsArguments;
use crate::exit::ExitState;
use crate::selected::{self, FilteredCapture};
use crate::terminal;
use anyhow::{Context, bail};
use serde::Serialize;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::clock::{Moment, MomentResolver};
use steadfast_analysis::questions::compare::device_name;
use steadfast_analysis::questions::cumulative::{CumulativeWorkload, Threshold};
use steadfast_analysis::questions::hits::{DeviceEnds, HitMap, HitSteps, SIDE_MAX};
use steadfast_analysis::questions::read_out::{PlaceFigures, ReadOut, ReadOutChoice, StreamPlace};
use steadfast_analysis::questions::streams::StreamKey;
use steadfast_analysis::questions::totals::HitMapQuantity;
use steadfast_analysis::{Fold, ShareMeasure, StreamTable};
use steadfast_domain::text::printable;
use steadfast_domain::units::Bytes;
use steadfast_domain::{IoOp, Nanos};

#[derive(Serialize, schemars::JsonSchema)]
struct HitsContent {
    step_ns: u64,
    /// With --show streams: the streams that are counted apart; the last holds all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<Vec<String>>,
    maps: Vec<DeviceHits>,
    /// With --at: what each stream moved, and where.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_out: Option<ReadOutContent>,
}

/// The map read out at a time.
#[derive(Serialize, schemars::JsonSchema)]
struct ReadOutContent {
    begin_ns: u64,
    devices: Vec<DeviceReadOut>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct DeviceReadOut {
    device: String,
    ranges: usize,
    range_bytes: u64,
    /// Width of a range in percent of the device, within which a place is known.
    tolerance_percent: f64,
    streams: Vec<PlaceFigures>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct DeviceHits {
    device: String,
    ranges: usize,
    range_bytes: u64,
    outside: u64,
    /// Only what was hit.
    hits: Vec<RangeHit>,
}

/// A range in a step.
#[derive(Serialize, schemars::JsonSchema)]
struct RangeHit {
    range: usize,
    begin_ns: u64,
    #[serde(flatten)]
    value: RangeHitValue,
}

/// What is told of it.
#[derive(Serialize, schemars::JsonSchema)]
#[serde(untagged)]
enum RangeHitValue {
    Count {
        reads: u64,
        writes: u64,
    },
    Bytes {
        read_bytes: u64,
        written_bytes: u64,
    },
    /// Hits of each stream.
    Streams {
        counts: Vec<u64>,
    },
}

/// Maximum number of steps; one less than fit, as the first may start before the span.
const HIT_STEPS_MAX: u64 = SIDE_MAX as u64 - 2;
/// Maximum number of cells of all maps, 8 bytes each.
const HIT_CELLS_MAX: usize = 1 << 25;
/// Rows of a map on the terminal.
const ROWS: usize = 25;

/// Returns the schema of the JSON output.
pub fn schema() -> schemars::Schema {
    selected::schema_of::<HitsContent>()
}

/// Prints hits by LBA range over time.
pub fn run(arguments: &HitsArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    if let Some(at) = &arguments.at {
        return read_out(&selected, arguments, at);
    }
    let empty = EmptyHitMaps::of(&selected, arguments)?;
    let (steps, streams) = (empty.steps, empty.streams.clone());
    let PassResult { found: maps, account } = selected.answer(|captured, pass| {
        let mut maps = empty.maps;
        let mut folds: Vec<&mut dyn Fold> = Vec::new();
        folds.extend(maps.iter_mut().map(|map| map as &mut dyn Fold));
        let account = captured.run(pass, &mut folds)?;
        Ok(PassResult { found: maps, account })
    })?;
    let conditions = selected.conditions();
    let name = |map: &HitMap| device_name(conditions, map.device());
    let shown: HitMapQuantity = arguments.show.into();
    if arguments.json {
        let maps = maps.iter().map(|map| device_hits(name(map), map, shown)).collect();
        selected.print(
            account,
            HitsContent { step_ns: steps.width_ns, streams, maps, read_out: None },
        )?;
        return Ok(selected.ending());
    }
    let over = (steps.width_ns, account.span_ns.unwrap_or_default());
    let axis =
        StepTimeFormat::of(conditions, &arguments.selection.filter, arguments.axis.time_axis, over);
    for map in &maps {
        let name = printable(&name(map)).into_owned();
        let picture = match &streams {
            Some(streams) => drawn_in_letters(&name, map, streams),
            None => drawn_in_shades(&name, map, shown),
        };
        terminal::print(&format!("{picture}{}\n", foot(map, &axis)))?;
    }
    if maps.is_empty() {
        terminal::complain(&format!("{}: no reads or writes of a block device", selected.name));
    }
    Ok(selected.ending())
}

/// Time that is read out unless a step is given.
const READ_OUT_NS: u64 = 1_000_000_000;

/// Prints the bytes that each stream moved at a moment, and the range of most of them.
fn read_out(
    selected: &FilteredCapture,
    arguments: &HitsArguments,
    at: &Moment,
) -> anyhow::Result<ExitState> {
    let conditions = selected.conditions();
    let span_ns = (selected.captured.begin_ns(), selected.captured.end_ns());
    let zone = arguments.selection.filter.time_zone.as_ref();
    let from_ns = MomentResolver::of(conditions, zone, span_ns).moment(at, 0);
    let from_ns = from_ns.with_context(|| selected.name.clone())?;
    let step_ns = arguments.axis.step.map_or(READ_OUT_NS, |step| step.0);
    let choice = ReadOutChoice {
        from_ns,
        to_ns: from_ns.saturating_add(step_ns),
        ranges: usize::try_from(arguments.ranges)?,
        threshold: arguments.threshold.unwrap_or(Threshold(0)),
    };
    let PassResult { found, account } =
        selected.answer(|captured, pass| ReadOut::of(captured, pass, &choice))?;
    let name = |read_out: &ReadOut| device_name(conditions, read_out.device);
    if arguments.json {
        let device = |read_out: &ReadOut| DeviceReadOut {
            device: name(read_out),
            ranges: read_out.ranges,
            range_bytes: read_out.range_bytes,
            tolerance_percent: read_out.tolerance_percent(),
            streams: read_out.streams.iter().map(PlaceFigures::from).collect(),
        };
        let devices = found.iter().map(device).collect();
        let read_out = Some(ReadOutContent { begin_ns: from_ns, devices });
        let content = HitsContent { step_ns, streams: None, maps: Vec::new(), read_out };
        selected.print(account, content)?;
        return Ok(selected.ending());
    }
    let over = (step_ns.min(READ_OUT_NS), span_ns);
    let axis =
        StepTimeFormat::of(conditions, &arguments.selection.filter, arguments.axis.time_axis, over);
    for read_out in &found {
        terminal::print(&format!(
            "{}: {} from {}, {} ranges of {}\n{}\n",
            printable(&name(read_out)),
            Nanos(step_ns),
            axis.text(from_ns),
            read_out.ranges,
            Bytes(read_out.range_bytes),
            listed(&StreamPlace::TABLE, &read_out.streams)
        ))?;
    }
    if found.is_empty() {
        let time = axis.text(from_ns);
        let text = format!("{}: no reads or writes of a block device at {time}", selected.name);
        terminal::complain(&text);
    }
    Ok(selected.ending())
}

/// A map for every device with reads or writes.
struct EmptyHitMaps {
    steps: HitSteps,
    streams: Option<Vec<String>>,
    maps: Vec<HitMap>,
}

impl EmptyHitMaps {
    fn of(selected: &FilteredCapture, arguments: &HitsArguments) -> anyhow::Result<EmptyHitMaps> {
        let (mut ends, mut table) = (DeviceEnds::default(), StreamTable::new());
        let shown: HitMapQuantity = arguments.show.into();
        let span = selected.ask(|captured, pass| {
            let mut folds: Vec<&mut dyn Fold> = vec![&mut ends];
            if shown == HitMapQuantity::Streams {
                folds.push(&mut table);
            }
            let account = captured.run(pass, &mut folds)?;
            captured.span_of(pass, &account)
        })?;
        let keys = CumulativeWorkload::of(
            &table,
            ShareMeasure::Count,
            arguments.threshold.unwrap_or(Threshold::USUAL),
        )
        .keys();
        let steps = match arguments.axis.step {
            None => HitSteps::over(span, 60),
            Some(asked) => {
                let width = selected.captured.width(Some(asked.0), span, HIT_STEPS_MAX)?;
                HitSteps::of_width(span, width)
            }
        };
        let ranges = usize::try_from(arguments.ranges)?;
        let planes = if shown == HitMapQuantity::Streams { keys.len() + 1 } else { 2 };
        let devices = ends.devices().count();
        let cells = devices.saturating_mul(ranges * planes).saturating_mul(steps.count);
        if cells > HIT_CELLS_MAX {
            bail!(
                "{}: the maps of {devices} devices need too much memory; choose devices with \
                 --device, fewer --ranges, a wider --step or a higher --threshold",
                selected.name
            );
        }
        let new = |device| {
            let end = ends.of(device, selected.conditions());
            let map = HitMap::new(device, end, ranges, steps);
            match shown {
                HitMapQuantity::Count => map,
                HitMapQuantity::Bytes => map.by(ShareMeasure::Bytes),
                HitMapQuantity::Streams => map.of_streams(&keys),
            }
        };
        let names = keys.iter().map(StreamKey::to_string).chain(["others".to_owned()]);
        let streams = (shown == HitMapQuantity::Streams).then(|| names.collect());
        Ok(EmptyHitMaps { steps, streams, maps: ends.devices().map(new).collect() })
    }
}

fn device_hits(device: String, map: &HitMap, shown: HitMapQuantity) -> DeviceHits {
    let value = |range: usize, step: usize| {
        let [reads, writes] = [IoOp::Read, IoOp::Write].map(|op| map.hits(op, range, step));
        match shown {
            HitMapQuantity::Count => RangeHitValue::Count { reads, writes },
            HitMapQuantity::Bytes => {
                RangeHitValue::Bytes { read_bytes: reads, written_bytes: writes }
            }
            HitMapQuantity::Streams => RangeHitValue::Streams {
                counts: (0..map.planes()).map(|plane| map.of_plane(plane, range, step)).collect(),
            },
        }
    };
    let places = (0..map.ranges).flat_map(|range| (0..map.steps).map(move |step| (range, step)));
    let is_hit = |(range, step): &(usize, usize)| map.strongest(*range, *step).is_some();
    let hit = |(range, step): (usize, usize)| RangeHit {
        range,
        begin_ns: map.begin_ns.saturating_add(map.width_ns.saturating_mul(step as u64)),
        value: value(range, step),
    };
    let hits = places.filter(is_hit).map(hit).collect();
    let (ranges, range_bytes) = (map.ranges, map.range_bytes);
    DeviceHits { device, ranges, range_bytes, outside: map.outside, hits }
}

/// Draws the map in ASCII shades, highest LBA on top.
fn drawn_in_shades(name: &str, map: &HitMap, shown: HitMapQuantity) -> String {
    const SHADES: &[u8] = b" .:-=+*#%@";
    let rows = map.rows(ROWS);
    let most = rows.iter().flatten().copied().max().unwrap_or(0).max(1);
    let shade = |hits: &u64| {
        let part = ((hits + 1) as f64).ln() / ((most + 1) as f64).ln();
        char::from(SHADES[((part * 9.0).ceil() as usize).min(SHADES.len() - 1)])
    };
    let (what, darkest) = match shown {
        HitMapQuantity::Bytes => ("bytes", Bytes(most).to_string()),
        HitMapQuantity::Count | HitMapQuantity::Streams => ("hits", format!("{most} hits")),
    };
    let picture = drawn(&rows, shade);
    format!("{name}: {what} by LBA range (up) and time (across)\n{picture}darkest: {darkest}; ")
}

/// Draws the map with the letter of the stream with the most hits.
fn drawn_in_letters(name: &str, map: &HitMap, streams: &[String]) -> String {
    let letter = |stream: usize| char::from_u32('A' as u32 + stream as u32).filter(|c| *c <= 'Z');
    let letter = |stream: usize| letter(stream).unwrap_or('*');
    let rows = map.strongest_rows(ROWS);
    let picture = drawn(&rows, |cell| cell.map_or(' ', letter));
    let seen = |stream: &usize| rows.iter().flatten().any(|cell| *cell == Some(*stream));
    let names = (0..streams.len()).filter(seen);
    let names = names.map(|stream| format!("{} = {}\n", letter(stream), streams[stream]));
    let names: String = names.collect();
    format!(
        "{name}: the stream with the most hits by LBA range (up) and time (across)\n{picture}{names}"
    )
}

/// Draws rows of cells, the last row on top.
fn drawn<T>(rows: &[Vec<T>], character: impl Fn(&T) -> char) -> String {
    let mut text = String::new();
    for (row, cells) in rows.iter().enumerate().rev() {
        let percent = row as f64 * 100.0 / rows.len() as f64;
        let cells: String = cells.iter().map(&character).collect();
        text.push_str(&format!("{percent:>5.1}% |{}\n", cells.trim_end()));
    }
    text
}

/// Returns the legend of rows and columns.
fn foot(map: &HitMap, axis: &StepTimeFormat) -> String {
    format!(
        "{} ranges of {}, from {} in steps of {}; outside: {}",
        map.ranges,
        Bytes(map.range_bytes),
        axis.text(map.begin_ns),
        Nanos(map.width_ns),
        map.outside
    )
}
