//! `trace compare`: drives, layers or captures on one time axis, from files with every I/O or with
//! step sums.

use super::deltas;
use super::listing_table::row_cells;
use super::step_time_format::StepTimeFormat;
use crate::cli::TimeAxis;
use crate::cli::trace::TraceCompareArguments;
use crate::exit::{ExitState, misuse};
use crate::filtered_capture::{FilteredCapture, LayerDefault, open};
use crate::terminal;
use anyhow::Context;
use serde::Serialize;
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use steadfast_analysis::Captured;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::columns::heads;
use steadfast_analysis::filter::Filter;
use steadfast_analysis::questions::compare::{SIDES_MAX, SideSteps, SidesResult};
use steadfast_analysis::questions::delta::{self, AlignedCapture, TimeAlignment};
use steadfast_analysis::questions::steps::{STEPS_MAX, StepFigures};
use steadfast_domain::Layer;
use steadfast_domain::text::printable;
use steadfast_report::text_table::aligned;

#[derive(Serialize, schemars::JsonSchema)]
pub struct CompareContent {
    step_ns: u64,
    sides: Vec<SideFigures>,
    /// Damaged or missing parts of the captures, one sentence each.
    missing: Vec<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct SideFigures {
    name: String,
    device: String,
    layer: Layer,
    steps: Vec<StepFigures>,
}

/// Prints drives, layers or captures on one time axis.
pub fn run(arguments: &TraceCompareArguments) -> anyhow::Result<ExitState> {
    let mut all = captures(arguments)?;
    if let (Some(TimeAlignment::Mark(mark)), None) = (&arguments.align, arguments.by) {
        all.iter_mut().try_for_each(|capture| capture.begin_at_mark(mark))?;
    }
    if let Some(by) = arguments.by {
        let pair: Result<[FilteredCapture; 2], _> = all.try_into();
        return match pair {
            Ok(pair) => deltas::run(arguments, by, pair),
            Err(all) => Err(misuse(format!(
                "--by compares two captures, and {} were given; name one before and one after",
                all.len()
            ))),
        };
    }
    let first = all.first().context("name a trace")?;
    let step_ns = step_width(first, arguments)?;
    let mut account = None;
    let mut sides: Vec<SideFigures> = Vec::new();
    for (capture, shift) in all.iter().zip(time_shifts(arguments, &all)?) {
        let answer = capture.answer(|captured, pass| captured.sides(pass, step_ns))?;
        warn_of_unlisted(capture, &answer);
        account.get_or_insert(answer.account);
        for side in &answer.found.sides {
            let mut figures = SideFigures::new(capture, side, step_ns, shift);
            if all.len() > 1 {
                figures.name = format!("{}: {}", capture.name, figures.name);
            }
            sides.push(figures);
        }
    }
    let missing = all.iter().flat_map(missing_parts).collect();
    let content = CompareContent { step_ns, sides, missing };
    if arguments.json {
        first.print(account.unwrap_or_default(), content)?;
    } else {
        terminal::print(&side_by_side(
            &content.sides,
            &step_times(arguments, &all, first, step_ns),
        ))?;
    }
    Ok(ExitState::worst(all.iter().map(FilteredCapture::ending)))
}

/// Files of one capture.
struct OpenCapture<'a> {
    /// The file named first.
    path: &'a Path,
    parts: Vec<Captured>,
}

/// Opens the captures in command-line order. Files of one capture are combined.
fn captures(arguments: &TraceCompareArguments) -> anyhow::Result<Vec<FilteredCapture>> {
    let filter = &arguments.selection.filter;
    // Requests of programs and the device I/Os they cause must not be added up.
    let layers = if arguments.by.is_some() { LayerDefault::One } else { LayerDefault::Each };
    no_file_twice(arguments.selection.files.iter().chain(&arguments.after))?;
    if !arguments.after.is_empty() {
        let sides = [&arguments.selection.files, &arguments.after].into_iter();
        return sides.map(|files| FilteredCapture::from_files(files, filter, layers)).collect();
    }
    let mut captures: Vec<OpenCapture<'_>> = Vec::new();
    for path in &arguments.selection.files {
        let file = open(path)?;
        match captures.iter_mut().find(|capture| file.is_further_part_of(&capture.parts)) {
            Some(capture) => capture.parts.push(file),
            None => captures.push(OpenCapture { path, parts: vec![file] }),
        }
    }
    captures
        .into_iter()
        .map(|OpenCapture { path, parts }| FilteredCapture::new(path, parts, filter, layers))
        .collect()
}

/// Refuses a file that is named twice, even under different paths.
fn no_file_twice<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> anyhow::Result<()> {
    let mut seen: BTreeMap<(u64, u64), &Path> = BTreeMap::new();
    for path in paths {
        let found = std::fs::metadata(path);
        let found = found.with_context(|| format!("{} cannot be opened", path.display()))?;
        if let Some(first) = seen.insert((found.dev(), found.ino()), path) {
            return Err(misuse(if first == path {
                format!("{} is named twice; name two captures", path.display())
            } else {
                format!(
                    "one file is named twice: {} and {} are the same file; name two captures",
                    first.display(),
                    path.display()
                )
            }));
        }
    }
    Ok(())
}

/// Returns the step width in nanoseconds: the requested one, or one that suits the first capture.
fn step_width(first: &FilteredCapture, arguments: &TraceCompareArguments) -> anyhow::Result<u64> {
    let step_ns = arguments.axis.step_ns();
    first.ask(|captured, pass| captured.width(step_ns, captured.span_ns(pass)?, STEPS_MAX as u64))
}

/// Returns the offsets from each capture's time to the table's time, in nanoseconds.
fn time_shifts(
    arguments: &TraceCompareArguments,
    all: &[FilteredCapture],
) -> anyhow::Result<Vec<i64>> {
    match &arguments.align {
        _ if all.len() < 2 => Ok(vec![0; all.len()]),
        Some(TimeAlignment::Start) => Ok(vec![0; all.len()]),
        Some(TimeAlignment::Mark(mark)) => all
            .iter()
            .map(|capture| Ok(0i64.saturating_sub_unsigned(capture.mark(mark)?)))
            .collect(),
        Some(TimeAlignment::Clock) => match by_clock(all) {
            Some(captures) => Ok(delta::delays(&captures)),
            None => {
                Err(misuse("one trace has no start time; use --align start, or --align mark:NAME"))
            }
        },
        None if overlap(all) => Ok(by_clock(all).as_deref().map(delta::delays).unwrap_or_default()),
        None => {
            terminal::warn(
                "The captures do not overlap in time, or one has no start time; all are shown \
                 from a common start (by the clock: --align clock).",
            );
            Ok(vec![0; all.len()])
        }
    }
}

/// Returns the captures in clock time; `None` if the start of one is unknown.
fn by_clock(all: &[FilteredCapture]) -> Option<Vec<AlignedCapture>> {
    let aligned = |capture: &FilteredCapture| {
        let observed = capture.captured.observed(&Filter::default());
        AlignedCapture::by_clock(capture.conditions(), observed, None)
    };
    all.iter().map(aligned).collect()
}

/// Returns true if every capture overlaps another in time.
fn overlap(all: &[FilteredCapture]) -> bool {
    by_clock(all).is_some_and(|captures| delta::overlap(&captures))
}

/// Returns the format of the table's times: clock time if captures are aligned by it.
fn step_times(
    arguments: &TraceCompareArguments,
    all: &[FilteredCapture],
    first: &FilteredCapture,
    step_ns: u64,
) -> StepTimeFormat {
    let is_by_clock = all.len() < 2
        || arguments.align == Some(TimeAlignment::Clock)
        || arguments.align.is_none() && overlap(all);
    let time = if is_by_clock { arguments.axis.time_axis } else { TimeAxis::Relative };
    let earliest = all.iter().min_by_key(|capture| capture.conditions().began_unix_ns);
    let end = all.iter().map(|capture| capture.captured.end_ns()).max().unwrap_or(0);
    StepTimeFormat::new(earliest.unwrap_or(first), time, step_ns, Some((0, end)))
}

fn missing_parts(capture: &FilteredCapture) -> Vec<String> {
    let missing = capture.captured.integrity().missing();
    missing.into_iter().map(|text| format!("{}: {text}", capture.name)).collect()
}

fn warn_of_unlisted(capture: &FilteredCapture, answer: &PassResult<SidesResult>) {
    if answer.found.unlisted > 0 {
        terminal::warn(&format!(
            "{} has more than {SIDES_MAX} devices; {} I/Os of the others are left out; choose \
             devices with --device",
            capture.name, answer.found.unlisted
        ));
    }
}

impl SideFigures {
    fn new(capture: &FilteredCapture, steps: &SideSteps, width: u64, shift: i64) -> SideFigures {
        let mut figures = capture.captured.figures_of_side(&capture.pass, steps, width);
        for step in &mut figures {
            step.begin_ns = step.begin_ns.saturating_add_signed(shift);
        }
        let side = steps.side;
        SideFigures {
            name: side.name(capture.conditions()),
            device: side.device_name(capture.conditions()),
            layer: side.layer,
            steps: figures,
        }
    }
}

fn side_by_side(sides: &[SideFigures], axis: &StepTimeFormat) -> String {
    let width = axis.step_ns();
    let columns = StepFigures::SIDE_BY_SIDE;
    let mut rows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (at, side) in sides.iter().enumerate() {
        for step in &side.steps {
            // Steps of another capture may start between those of the first.
            let none = || vec!["–".to_owned(); sides.len() * columns.len()];
            let cells = rows.entry(step.begin_ns / width).or_insert_with(none);
            let place = at * columns.len()..(at + 1) * columns.len();
            cells.splice(place, row_cells(&columns, step));
        }
    }
    let mut head = vec![axis.head()];
    for (letter, _) in ('A'..='Z').zip(sides) {
        head.extend(heads(&columns).map(|name| format!("{letter} {name}")));
    }
    let mut lines = vec![head];
    lines.extend(rows.into_iter().map(|(slot, cells)| {
        let begin = axis.text(slot.saturating_mul(width));
        std::iter::once(begin).chain(cells).collect::<Vec<_>>()
    }));
    let names = ('A'..='Z')
        .zip(sides)
        .map(|(letter, side)| format!("{letter} = {}", printable(&side.name)));
    format!("{}\n{}", names.collect::<Vec<_>>().join("\n"), aligned(&lines))
}
