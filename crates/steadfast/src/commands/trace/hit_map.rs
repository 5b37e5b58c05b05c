//! `trace hits`: hits by LBA range over time, as counts, bytes or streams.

use super::listing_table::listing_table;
use super::step_time_format::StepTimeFormat;
use crate::cli::trace::HitsArguments;
use crate::exit::{ExitState, misuse};
use crate::filtered_capture::FilteredCapture;
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::device_layer::device_name;
use steadfast_analysis::moment::{Moment, MomentResolver};
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::questions::hit_maps::{DeviceHits, HIT_RANGES, HitMaps, HitMapsChoice};
use steadfast_analysis::questions::hits::{HitMap, HitMapQuantity};
use steadfast_analysis::questions::read_out::{ReadOut, ReadOutChoice, StreamPlace};
use steadfast_domain::Nanos;
use steadfast_domain::text::printable;
use steadfast_domain::units::Bytes;

#[derive(Serialize, schemars::JsonSchema)]
pub struct HitsContent {
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
    streams: Vec<StreamPlace>,
}

/// Rows of a map on the terminal.
const MAP_ROWS: usize = 25;

/// Prints hits by LBA range over time.
pub fn run(arguments: &HitsArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    if let Some(at) = &arguments.at {
        return print_read_out(&selected, arguments, at);
    }
    let shown = arguments.show;
    if arguments.threshold.is_some() && shown != HitMapQuantity::Streams {
        return Err(misuse("--threshold chooses streams; add --show streams or --at, or omit it"));
    }
    let choice = HitMapsChoice {
        shown,
        ranges: arguments.ranges.map(usize::try_from).transpose()?,
        step_ns: arguments.axis.step_ns(),
        threshold: arguments.threshold.unwrap_or(Threshold::DEFAULT),
    };
    let PassResult { found: HitMaps { steps, streams, maps }, account } =
        selected.answer(|captured, pass| HitMaps::read(captured, pass, &choice))?;
    let conditions = selected.conditions();
    let name = |map: &HitMap| device_name(conditions, map.device());
    if arguments.json {
        let maps = maps.iter().map(|map| DeviceHits::new(name(map), map, shown)).collect();
        let content = HitsContent { step_ns: steps.width_ns, streams, maps, read_out: None };
        return selected.print(account, content);
    }
    let time_axis = arguments.axis.time_axis;
    let axis = StepTimeFormat::new(&selected, time_axis, steps.width_ns, account.span_ns);
    for map in &maps {
        let name = printable(&name(map)).into_owned();
        let picture = match &streams {
            Some(streams) => draw_in_letters(&name, map, streams),
            None => draw_in_shades(&name, map, shown),
        };
        terminal::print(&format!("{picture}{}\n", legend(map, &axis)))?;
    }
    if maps.is_empty() {
        terminal::warn(&format!("{}: no reads or writes of a block device", selected.name));
    }
    Ok(selected.ending())
}

/// Time that is read out unless a step is given.
const READ_OUT_NS: u64 = 1_000_000_000;

/// Prints the bytes that each stream moved at a moment, and the range of most of them.
fn print_read_out(
    selected: &FilteredCapture,
    arguments: &HitsArguments,
    at: &Moment,
) -> anyhow::Result<ExitState> {
    let conditions = selected.conditions();
    let span_ns = (selected.captured.begin_ns(), selected.captured.end_ns());
    let resolver = MomentResolver::new(conditions, selected.time_zone.as_ref(), span_ns);
    let from_ns = resolver.moment(at, 0).with_context(|| selected.name.clone())?;
    let step_ns = arguments.axis.step_ns().unwrap_or(READ_OUT_NS);
    let choice = ReadOutChoice {
        from_ns,
        to_ns: from_ns.saturating_add(step_ns),
        ranges: arguments.ranges.map_or(Ok(HIT_RANGES), usize::try_from)?,
        threshold: arguments.threshold.unwrap_or(Threshold(0)),
    };
    let PassResult { found, account } =
        selected.answer(|captured, pass| ReadOut::read(captured, pass, &choice))?;
    let name = |read_out: &ReadOut| device_name(conditions, read_out.device);
    if arguments.json {
        let device = |read_out: &ReadOut| DeviceReadOut {
            device: name(read_out),
            ranges: read_out.ranges,
            range_bytes: read_out.range_bytes,
            tolerance_percent: read_out.tolerance_percent(),
            streams: read_out.streams.clone(),
        };
        let devices = found.iter().map(device).collect();
        let read_out = Some(ReadOutContent { begin_ns: from_ns, devices });
        let content = HitsContent { step_ns, streams: None, maps: Vec::new(), read_out };
        return selected.print(account, content);
    }
    let time_axis = arguments.axis.time_axis;
    let shown_step_ns = step_ns.min(READ_OUT_NS);
    let axis = StepTimeFormat::new(selected, time_axis, shown_step_ns, Some(span_ns));
    for read_out in &found {
        terminal::print(&format!(
            "{}: {} from {}, {} ranges of {}\n{}\n",
            printable(&name(read_out)),
            Nanos(step_ns),
            axis.text(from_ns),
            read_out.ranges,
            Bytes(read_out.range_bytes),
            listing_table(&StreamPlace::TABLE, &read_out.streams)
        ))?;
    }
    if found.is_empty() {
        let time = axis.text(from_ns);
        let text = format!("{}: no reads or writes of a block device at {time}", selected.name);
        terminal::warn(&text);
    }
    Ok(selected.ending())
}

/// Returns the ASCII shade of a value, on a logarithmic scale up to `most`.
pub(super) fn shade(value: u64, most: u64) -> char {
    const SHADES: &[u8] = b" .:-=+*#%@";
    let part = ((value + 1) as f64).ln() / ((most + 1) as f64).ln();
    char::from(SHADES[((part * 9.0).ceil() as usize).min(SHADES.len() - 1)])
}

/// Draws the map in ASCII shades, highest LBA on top.
fn draw_in_shades(name: &str, map: &HitMap, shown: HitMapQuantity) -> String {
    let rows = map.rows(MAP_ROWS);
    let most = rows.iter().flatten().copied().max().unwrap_or(0).max(1);
    let (what, darkest) = match shown {
        HitMapQuantity::Bytes => ("bytes", Bytes(most).to_string()),
        HitMapQuantity::Count | HitMapQuantity::Streams => ("hits", format!("{most} hits")),
    };
    let picture = draw(&rows, |hits| shade(*hits, most));
    format!("{name}: {what} by LBA range (up) and time (across)\n{picture}darkest: {darkest}; ")
}

/// Draws the map with the letter of the stream with the most hits.
fn draw_in_letters(name: &str, map: &HitMap, streams: &[String]) -> String {
    let letter = |stream: usize| ('A'..='Z').nth(stream).unwrap_or('*');
    let rows = map.strongest_rows(MAP_ROWS);
    let picture = draw(&rows, |cell| cell.map_or(' ', letter));
    let is_drawn = |stream: &usize| rows.iter().flatten().any(|cell| *cell == Some(*stream));
    let mut names = String::new();
    for stream in (0..streams.len()).filter(is_drawn) {
        names.push_str(&format!("{} = {}\n", letter(stream), streams[stream]));
    }
    format!(
        "{name}: the stream with the most hits by LBA range (up) and time (across)\n{picture}{names}"
    )
}

/// Draws rows of cells, the last row on top.
fn draw<T>(rows: &[Vec<T>], character: impl Fn(&T) -> char) -> String {
    let mut text = String::new();
    for (row, cells) in rows.iter().enumerate().rev() {
        let percent = row as f64 * 100.0 / rows.len() as f64;
        let cells: String = cells.iter().map(&character).collect();
        text.push_str(&format!("{percent:>5.1}% |{}\n", cells.trim_end()));
    }
    text
}

/// Returns the legend of rows and columns.
fn legend(map: &HitMap, axis: &StepTimeFormat) -> String {
    format!(
        "{} ranges of {}, from {} in steps of {}; outside: {}",
        map.ranges,
        Bytes(map.range_bytes),
        axis.text(map.begin_ns),
        Nanos(map.width_ns),
        map.outside
    )
}
