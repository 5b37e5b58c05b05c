//! `trace steps`, `map` and `hits`: what happened when.

use super::axis::Axis;
use super::columns::{aligned, texts};
use crate::cli::trace::{HitsArguments, MapArguments, StepsArguments};
use crate::exit::ExitState;
use crate::selected::{self, Selected};
use crate::terminal;
use anyhow::bail;
use serde::Serialize;
use steadfast_domain::text::printable;
use steadfast_domain::units::Bytes;
use steadfast_domain::{IoOp, Nanos};
use steadfast_trace::captured::{Answer, MapFound, StepsFound};
use steadfast_trace::columns::heads;
use steadfast_trace::compare::device_name;
use steadfast_trace::hits::{Ends, HitMap, HitSteps, SIDE_MAX};
use steadfast_trace::series::Cell;
use steadfast_trace::steps::StepFigures;
use steadfast_trace::{By, Fold};

#[derive(Serialize, schemars::JsonSchema)]
struct StepsContent {
    step_ns: u64,
    steps: Vec<StepFigures>,
}

/// The schema of the JSON output.
pub fn schema() -> schemars::Schema {
    selected::schema_of::<StepsContent>()
}

impl StepsContent {
    fn of(found: &StepsFound) -> Self {
        let StepsFound { width_ns, steps, devices } = found;
        let figures =
            steps.iter().map(|(at, step)| StepFigures::of(*at, step, *width_ns, *devices));
        StepsContent { step_ns: *width_ns, steps: figures.collect() }
    }

    fn lines(&self, axis: &Axis) -> String {
        let columns = &StepFigures::TABLE[1..];
        let head = std::iter::once(axis.head()).chain(heads(columns).map(str::to_owned));
        let mut rows = vec![head.collect::<Vec<_>>()];
        rows.extend(self.steps.iter().map(|step| {
            std::iter::once(axis.text(step.begin_ns)).chain(texts(columns, step)).collect()
        }));
        format!("{}\nsteps of {}", aligned(&rows), Nanos(self.step_ns))
    }
}

/// Every capture step with an I/O, or with one outstanding.
pub fn steps(arguments: &StepsArguments) -> anyhow::Result<ExitState> {
    let selected = Selected::open(&arguments.selection)?;
    let asked = arguments.step.map(|step| step.0);
    let Answer { found, account } =
        selected.answer(|captured, pass| captured.steps(pass, asked))?;
    let content = StepsContent::of(&found);
    match arguments.json {
        true => selected.print(account, content)?,
        false => {
            let over = (content.step_ns, account.span_ns.unwrap_or_default());
            let filter = &arguments.selection.filter;
            let axis = Axis::of(selected.conditions(), filter, arguments.time, over);
            terminal::print(&content.lines(&axis))?;
        }
    }
    Ok(selected.ending())
}

#[derive(Serialize, schemars::JsonSchema)]
struct MapContent {
    step_ns: u64,
    /// The last series holds all other streams.
    series: Vec<String>,
    steps: Vec<MapStep>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct MapStep {
    begin_ns: u64,
    counts: Vec<u64>,
    amounts: Vec<u64>,
}

/// The schema of the JSON output.
pub fn schema_of_map() -> schemars::Schema {
    selected::schema_of::<MapContent>()
}

/// Streams over time.
pub fn map(arguments: &MapArguments) -> anyhow::Result<ExitState> {
    let selected = Selected::open(&arguments.selection)?;
    let asked = arguments.step.map(|step| step.0);
    let choice = (arguments.by, arguments.threshold);
    let Answer { found, account } =
        selected.answer(|captured, pass| captured.map(pass, asked, choice))?;
    let content = MapContent::of(&found);
    match arguments.json {
        true => selected.print(account, content)?,
        false => {
            let over = (content.step_ns, account.span_ns.unwrap_or_default());
            let filter = &arguments.selection.filter;
            let axis = Axis::of(selected.conditions(), filter, arguments.time, over);
            terminal::print(&content.lines(arguments.by, &axis))?;
        }
    }
    Ok(selected.ending())
}

impl MapContent {
    fn of(MapFound { width_ns, keys, series }: &MapFound) -> Self {
        let names = keys.iter().map(ToString::to_string).chain(["others".to_owned()]);
        let step = |(at, cells): (&u64, &Vec<Cell>)| MapStep {
            begin_ns: at.saturating_mul(*width_ns),
            counts: cells.iter().map(|cell| cell.ios).collect(),
            amounts: cells.iter().map(|cell| cell.bytes).collect(),
        };
        let steps = series.steps().iter().map(step).collect();
        MapContent { step_ns: *width_ns, series: names.collect(), steps }
    }

    fn lines(&self, by: By, axis: &Axis) -> String {
        let head = std::iter::once(axis.head()).chain(self.series.iter().cloned());
        let mut rows = vec![head.collect::<Vec<_>>()];
        rows.extend(self.steps.iter().map(|step| {
            let begin = axis.text(step.begin_ns);
            let cells: Vec<String> = match by {
                By::Count => step.counts.iter().map(ToString::to_string).collect(),
                By::Bytes => {
                    step.amounts.iter().map(|n| format!("{:.2}", Bytes(*n).as_mb())).collect()
                }
            };
            std::iter::once(begin).chain(cells).collect()
        }));
        let what = if by == By::Count { "I/Os" } else { "MB" };
        format!("{}\n{what} in steps of {}", aligned(&rows), Nanos(self.step_ns))
    }
}

#[derive(Serialize, schemars::JsonSchema)]
struct HitsContent {
    step_ns: u64,
    maps: Vec<DeviceHits>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct DeviceHits {
    device: String,
    ranges: usize,
    range_bytes: u64,
    outside: u64,
    /// Only what was hit.
    hits: Vec<Hit>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Hit {
    range: usize,
    begin_ns: u64,
    reads: u32,
    writes: u32,
}

/// Steps that may be asked for: one more where the first begins before the span.
const HIT_STEPS_MAX: u64 = SIDE_MAX as u64 - 2;
/// Cells of all maps together, of 8 bytes each.
const HIT_CELLS_MAX: usize = 1 << 25;

/// The schema of the JSON output.
pub fn schema_of_hits() -> schemars::Schema {
    selected::schema_of::<HitsContent>()
}

/// Hits by LBA range over time.
pub fn hits(arguments: &HitsArguments) -> anyhow::Result<ExitState> {
    let selected = Selected::open(&arguments.selection)?;
    let (steps, maps) = empty_maps(&selected, arguments)?;
    let Answer { found: maps, account } = selected.answer(|captured, pass| {
        let mut maps = maps;
        let mut folds: Vec<&mut dyn Fold> = Vec::new();
        folds.extend(maps.iter_mut().map(|map| map as &mut dyn Fold));
        let account = captured.run(pass, &mut folds)?;
        Ok(Answer { found: maps, account })
    })?;
    let conditions = selected.conditions();
    let name = |map: &HitMap| device_name(conditions, map.device());
    if arguments.json {
        let maps = maps.iter().map(|map| device_hits(name(map), map)).collect();
        selected.print(account, HitsContent { step_ns: steps.width_ns, maps })?;
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

/// A map for every device with reads or writes.
fn empty_maps(
    selected: &Selected,
    arguments: &HitsArguments,
) -> anyhow::Result<(HitSteps, Vec<HitMap>)> {
    let mut ends = Ends::default();
    let span = selected.ask(|captured, pass| {
        let account = captured.run(pass, &mut [&mut ends])?;
        captured.span_of(pass, &account)
    })?;
    let steps = match arguments.step {
        None => HitSteps::over(span, 60),
        Some(asked) => {
            let width = selected.captured.width(Some(asked.0), span, HIT_STEPS_MAX)?;
            HitSteps::of_width(span, width)
        }
    };
    let ranges = usize::try_from(arguments.ranges)?;
    let cells = ends.devices().count().saturating_mul(ranges).saturating_mul(steps.count);
    if cells > HIT_CELLS_MAX {
        bail!(
            "{}: the maps of {} devices need too much memory; choose devices with --device, \
             fewer --ranges or a wider --step",
            selected.name,
            ends.devices().count()
        );
    }
    let new = |device| HitMap::new(device, ends.of(device, selected.conditions()), ranges, steps);
    Ok((steps, ends.devices().map(new).collect()))
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
    let rows = map.rows(ROWS);
    let most = rows.iter().flatten().copied().max().unwrap_or(0).max(1);
    let shade = |hits: u64| {
        let part = ((hits + 1) as f64).ln() / ((most + 1) as f64).ln();
        char::from(SHADES[((part * 9.0).ceil() as usize).min(SHADES.len() - 1)])
    };
    let mut text = format!("{name}: hits by LBA range (up) and time (across)\n");
    for (row, hits) in rows.iter().enumerate().rev() {
        let percent = row as f64 * 100.0 / rows.len() as f64;
        let cells: String = hits.iter().map(|hits| shade(*hits)).collect();
        text.push_str(&format!("{percent:>5.1}% |{}\n", cells.trim_end()));
    }
    let ranges = (Bytes(map.range_bytes), Nanos(map.width_ns));
    text.push_str(&format!(
        "{} ranges of {}, steps of {}; darkest: {most} hits; outside: {}\n",
        map.ranges, ranges.0, ranges.1, map.outside
    ));
    text
}
