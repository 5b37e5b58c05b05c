//! `trace steps` and `trace map`: figures and streams over time.

use super::listing_table::row_cells;
use super::step_time_format::StepTimeFormat;
use crate::cli::questions::StreamTimeArguments;
use crate::cli::trace::StepsArguments;
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use crate::terminal;
use serde::{Serialize, Serializer};
use std::io::{self, IsTerminal};
use steadfast_analysis::ShareMeasure;
use steadfast_analysis::captured::{PassResult, StepsResult, StreamMapResult};
use steadfast_analysis::columns::{ListingColumn, heads};
use steadfast_analysis::questions::steps::StepFigures;
use steadfast_analysis::sums::io_count::IoCount;
use steadfast_domain::units::Bytes;
use steadfast_domain::{CaptureConditions, Nanos};
use steadfast_report::text_table::{aligned, aligned_lines};

#[derive(Serialize, schemars::JsonSchema)]
pub struct StepsContent<'f> {
    step_ns: u64,
    #[schemars(with = "Vec<StepFigures>")]
    steps: LazyStepFigures<'f>,
}

/// Steps with the conditions of their capture. Serialized one by one as they are printed: there may
/// be a million.
struct LazyStepFigures<'f> {
    found: &'f StepsResult,
    conditions: &'f CaptureConditions,
}

impl Serialize for LazyStepFigures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.found.figures(self.conditions))
    }
}

/// Prints the steps as a table, and their width. On a terminal that is too narrow for it, the
/// columns that only some captures have are a second table.
fn print_table(steps: LazyStepFigures<'_>, axis: &StepTimeFormat) -> anyhow::Result<()> {
    let LazyStepFigures { found, conditions } = steps;
    let figures = || found.figures(conditions);
    let columns = StepFigures::table(figures());
    // There may be a million lines: they are made while they are printed.
    let lines = |columns: Vec<ListingColumn<StepFigures>>| {
        let head = std::iter::once(axis.head()).chain(heads(&columns).map(str::to_owned));
        let head: Vec<String> = head.collect();
        aligned_lines(move || {
            let columns = columns.clone();
            let row = move |step: StepFigures| -> Vec<String> {
                std::iter::once(axis.text(step.begin_ns))
                    .chain(row_cells(&columns, &step))
                    .collect()
            };
            std::iter::once(head.clone()).chain(figures().map(row))
        })
    };
    let begins: Vec<u64> = figures().map(|step| step.begin_ns).collect();
    let span_ns = match (begins.first(), begins.last()) {
        (Some(first), Some(last)) => last - first + 1,
        _ => 0,
    };
    let steps_in_span = span_ns.div_ceil(found.width_ns.max(1));
    let mut caption = format!("steps of {}", Nanos(found.width_ns));
    if let idle @ 1.. = steps_in_span.saturating_sub(begins.len() as u64) {
        caption.push_str(&format!("; {idle} steps without matching I/Os are not listed"));
    }
    let mut table = lines(columns.clone()).peekable();
    let is_too_wide = table.peek().is_some_and(|head| head.chars().count() > terminal::width());
    let has_more = columns.len() > StepFigures::COMMON_COLUMNS;
    if !(has_more && io::stdout().is_terminal() && is_too_wide) {
        return terminal::print_lines(table.chain([caption]));
    }
    let (common, other) = columns.split_at(StepFigures::COMMON_COLUMNS);
    let other = std::iter::once(String::new()).chain(lines(other.to_vec()));
    terminal::print_lines(lines(common.to_vec()).chain(other).chain([caption]))
}

/// Prints every capture step that has an I/O issued or outstanding.
pub fn steps(arguments: &StepsArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let step_ns = arguments.axis.step_ns();
    let PassResult { found, account } =
        selected.answer(|captured, pass| captured.steps(pass, step_ns))?;
    let steps = LazyStepFigures { found: &found, conditions: selected.conditions() };
    if arguments.json {
        return selected.print(account, StepsContent { step_ns: found.width_ns, steps });
    }
    let time_axis = arguments.axis.time_axis;
    let axis = StepTimeFormat::new(&selected, time_axis, found.width_ns, account.span_ns);
    print_table(steps, &axis)?;
    Ok(selected.ending())
}

#[derive(Serialize, schemars::JsonSchema)]
pub struct MapContent {
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

/// Prints streams over time.
pub fn map(arguments: &StreamTimeArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let step_ns = arguments.axis.step_ns();
    let shares = &arguments.shares;
    let PassResult { found, account } = selected
        .answer(|captured, pass| captured.map(pass, step_ns, shares.of, shares.threshold))?;
    let content = MapContent::new(&found);
    selected.show(arguments.json, account, content, |content| {
        let time_axis = arguments.axis.time_axis;
        let axis = StepTimeFormat::new(&selected, time_axis, content.step_ns, account.span_ns);
        content.lines(arguments.shares.of, &axis)
    })
}

impl MapContent {
    fn new(StreamMapResult { width_ns, keys, series }: &StreamMapResult) -> Self {
        let names = keys.iter().map(ToString::to_string).chain(["others".to_owned()]);
        let step = |(number, cells): (&u64, &Vec<IoCount>)| MapStep {
            begin_ns: number.saturating_mul(*width_ns),
            counts: cells.iter().map(|cell| cell.ios).collect(),
            amounts: cells.iter().map(|cell| cell.bytes).collect(),
        };
        let steps = series.steps().iter().map(step).collect();
        MapContent { step_ns: *width_ns, series: names.collect(), steps }
    }

    fn lines(&self, by: ShareMeasure, axis: &StepTimeFormat) -> String {
        let head = std::iter::once(axis.head()).chain(self.series.iter().cloned());
        let mut rows = vec![head.collect::<Vec<_>>()];
        rows.extend(self.steps.iter().map(|step| {
            let begin = axis.text(step.begin_ns);
            let cells: Vec<String> = match by {
                ShareMeasure::Count => step.counts.iter().map(ToString::to_string).collect(),
                ShareMeasure::Bytes => {
                    step.amounts.iter().map(|n| format!("{:.2}", Bytes(*n).as_mb())).collect()
                }
            };
            std::iter::once(begin).chain(cells).collect()
        }));
        let what = by.choose("I/Os", "MB");
        format!("{}\n{what} in steps of {}", aligned(&rows), Nanos(self.step_ns))
    }
}
