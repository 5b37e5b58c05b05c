//! `trace compare`: drives or layers side by side on one time axis, of files that
//! hold every I/O or capture steps alone.

use super::columns::{aligned, ms, number};
use super::kept::Kept;
use super::over_time::StepFigures;
use super::{Selected, print_document};
use crate::cli::trace::{CompareArguments, FilterArguments};
use crate::exit::Outcome;
use crate::terminal;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use steadfast_domain::{CaptureConditions, Layer};
use steadfast_trace::compare::{Side, Sides};
use steadfast_trace::pass::PassAccount;
use steadfast_trace::steps::STEPS_MAX;
use steadfast_trace::study::step_width;

/// A file whose devices and layers are compared.
enum Compared {
    Ios(Box<Selected>),
    Steps(Box<Kept>),
}

impl Compared {
    fn open(path: &Path, filter: &FilterArguments) -> anyhow::Result<Compared> {
        Ok(match Kept::open_with(path, filter)? {
            Some(kept) => Compared::Steps(Box::new(kept)),
            None => Compared::Ios(Box::new(Selected::open_with(path, filter)?)),
        })
    }

    fn name(&self) -> &str {
        match self {
            Compared::Ios(selected) => &selected.name,
            Compared::Steps(kept) => kept.name(),
        }
    }

    fn conditions(&self) -> &CaptureConditions {
        match self {
            Compared::Ios(selected) => selected.trace.conditions(),
            Compared::Steps(kept) => kept.conditions(),
        }
    }

    /// The width of steps that was asked for, or that suits its length.
    fn width(&self, asked: Option<steadfast_domain::Nanos>) -> anyhow::Result<u64> {
        Ok(match self {
            Compared::Ios(selected) => {
                let asked = asked.map(|step| step.0);
                step_width(asked, selected.span()?, STEPS_MAX as u64)?
            }
            Compared::Steps(kept) => kept.width(asked)?,
        })
    }

    /// Its sides in steps of this width; what became of single I/Os.
    fn sides(&self, width: u64) -> anyhow::Result<(Vec<Side>, PassAccount)> {
        match self {
            Compared::Ios(selected) => {
                let until = (selected.span()?.1 / width + 1).saturating_mul(width);
                let mut fold = Sides::new(width, until);
                let account = selected.fold(&mut [&mut fold])?;
                Ok((fold.finish()?, account))
            }
            Compared::Steps(kept) => Ok((kept.sides(width)?, PassAccount::default())),
        }
    }

    /// Devices of whose time busy parts are shares: the one of a side, where
    /// every I/O of it counts and was kept.
    fn devices(&self) -> Option<u64> {
        match self {
            Compared::Ios(selected) => selected.pass.filter.keeps_whole_devices().then_some(1),
            Compared::Steps(_) => None,
        }
    }
}

#[derive(Serialize)]
struct CompareContent {
    step_ns: u64,
    sides: Vec<SideFigures>,
}

#[derive(Serialize)]
struct SideFigures {
    name: String,
    device: String,
    layer: Layer,
    steps: Vec<StepFigures>,
}

/// Drives or layers on one time axis.
pub fn run(arguments: &CompareArguments) -> anyhow::Result<Outcome> {
    let selection = &arguments.selection;
    let paths = std::iter::once(&selection.file).chain(&arguments.others);
    let all = paths.map(|path| Compared::open(path, &selection.filter));
    let all: Vec<Compared> = all.collect::<anyhow::Result<_>>()?;
    let Some(first) = all.first() else { return Ok(Outcome::Done) };
    let step_ns = first.width(arguments.step)?;
    let mut account = PassAccount::default();
    let mut sides: Vec<SideFigures> = Vec::new();
    for file in &all {
        let shift = shift(first, file)?;
        let (found, of_file) = file.sides(step_ns)?;
        account = of_file;
        sides.extend(found.iter().map(|side| {
            let name = match all.len() {
                1 => side.0.name(file.conditions()),
                _ => format!("{}: {}", file.name(), side.0.name(file.conditions())),
            };
            SideFigures::of(name, side, file, step_ns, shift)
        }));
    }
    let content = CompareContent { step_ns, sides };
    match (arguments.json, first) {
        (false, _) => terminal::print(&side_by_side(&content.sides, step_ns))?,
        (true, Compared::Ios(selected)) => print_document(selected, account, content)?,
        (true, Compared::Steps(kept)) => kept.print(content)?,
    }
    Ok(Outcome::Done)
}

impl SideFigures {
    fn of(name: String, side: &Side, file: &Compared, width: u64, shift: i64) -> Self {
        let (key, steps) = side;
        let device = key.name(file.conditions());
        let device = device.rsplit_once(", ").map_or(device.clone(), |(name, _)| name.into());
        let steps = steps.iter().map(|(at, step)| {
            let mut figures = StepFigures::of(*at, step, width, file.devices());
            figures.begin_ns = figures.begin_ns.saturating_add_signed(shift);
            figures
        });
        SideFigures { name, device, layer: key.layer, steps: steps.collect() }
    }
}

/// How much later than the first file's capture another one's begins, in
/// nanoseconds.
fn shift(first: &Compared, other: &Compared) -> anyhow::Result<i64> {
    if first.name() == other.name() {
        return Ok(0);
    }
    match (first.conditions().began_unix_ns, other.conditions().began_unix_ns) {
        (Some(a), Some(b)) => Ok(i64::try_from(i128::from(b) - i128::from(a))?),
        _ => {
            terminal::complain(&format!(
                "{}: no wall-clock time in both traces; their beginnings are put together",
                other.name()
            ));
            Ok(0)
        }
    }
}

fn side_by_side(sides: &[SideFigures], width: u64) -> String {
    let mut rows: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let columns = sides.len() * 4;
    for (at, side) in sides.iter().enumerate() {
        for step in &side.steps {
            // Beginnings of another trace lie between the first one's steps.
            let slot = step.begin_ns / width;
            let cells = rows.entry(slot).or_insert_with(|| vec!["–".to_owned(); columns]);
            cells[at * 4] = number(Some(step.iops), 1);
            cells[at * 4 + 1] = number(Some(step.bytes_per_second / 1e6), 2);
            cells[at * 4 + 2] = ms(step.response_mean_ns);
            cells[at * 4 + 3] = number(step.qd_mean, 2);
        }
    }
    let mut head = vec!["Begins s".to_owned()];
    for (letter, _) in ('A'..='Z').zip(sides) {
        head.extend(["IOPS", "MB/s", "ART ms", "QD"].map(|name| format!("{letter} {name}")));
    }
    head.truncate(columns + 1);
    let mut lines = vec![head];
    lines.extend(rows.into_iter().map(|(slot, cells)| {
        let begin = format!("{:.4}", slot.saturating_mul(width) as f64 / 1e9);
        std::iter::once(begin).chain(cells).collect::<Vec<_>>()
    }));
    let names = ('A'..='Z').zip(sides).map(|(letter, side)| format!("{letter} = {}", side.name));
    format!("{}\n{}", names.collect::<Vec<_>>().join("\n"), aligned(&lines))
}
