//! `trace shape`: distances between I/Os, queue depths over time, lengths of sequential runs and
//! idle periods.

use super::hit_map::shade;
use super::listing_table::listing_table;
use super::step_time_format::StepTimeFormat;
use crate::cli::questions::StreamTimeArguments;
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use serde::Serialize;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::questions::load_shape::DEPTH_CLASSES;
use steadfast_analysis::questions::shape_figures::{
    IdleShape, RunShape, ShapeResult, StepShape, StreamShape, depth_name, idle, runs,
};
use steadfast_domain::Nanos;
use steadfast_report::text_table::aligned;

/// Columns of a picture on the terminal.
const COLUMNS_MAX: usize = 100;

#[derive(Serialize, schemars::JsonSchema)]
pub struct ShapeContent {
    step_ns: u64,
    streams: Vec<StreamShape>,
    runs: Vec<RunShape>,
    idle: Vec<IdleShape>,
    steps: Vec<StepShape>,
}

/// Prints the shape of the load.
pub fn run(arguments: &StreamTimeArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let step_ns = arguments.axis.step_ns();
    let shares = &arguments.shares;
    let PassResult { found, account } = selected.answer(|captured, pass| {
        ShapeResult::read(captured, pass, step_ns, shares.of, shares.threshold)
    })?;
    let content = ShapeContent {
        step_ns: found.steps.width_ns,
        streams: found.streams(),
        runs: runs(&found.shape),
        idle: idle(&found.shape, selected.conditions()),
        steps: found.over_time(),
    };
    let time_axis = arguments.axis.time_axis;
    let axis = StepTimeFormat::new(&selected, time_axis, content.step_ns, account.span_ns);
    selected.show(arguments.json, account, content, |content| content.lines(&axis))
}

impl ShapeContent {
    fn lines(&self, axis: &StepTimeFormat) -> String {
        let idle = self.idle.iter().filter(|class| class.periods > 0);
        format!(
            "Times between the I/Os of a stream\n{}\n\n\
             Sequential runs by their number of selected sequential I/Os\n{}\n\n\
             Idle periods\n{}\n\n{}\n\n{}",
            listing_table(StreamShape::ALL, &self.streams),
            listing_table(RunShape::ALL, &self.runs),
            listing_table(&IdleShape::TABLE, idle),
            self.depth_table(axis),
            self.response_map(axis)
        )
    }

    /// Formats I/Os by queue depth over time.
    fn depth_table(&self, axis: &StepTimeFormat) -> String {
        let used = (0..DEPTH_CLASSES).rev().find(|class| {
            self.steps.iter().any(|step| step.depths.get(*class).is_some_and(|ios| *ios > 0))
        });
        let Some(last) = used else { return "Queue depths are unknown".to_owned() };
        let names = (0..=last).map(|class| format!("QD {}", depth_name(class)));
        let head: Vec<String> = std::iter::once(axis.head()).chain(names).collect();
        let row = |step: &StepShape| {
            let counts = step.depths.iter().take(last + 1).map(u64::to_string);
            std::iter::once(axis.text(step.begin_ns)).chain(counts).collect()
        };
        let rows: Vec<Vec<String>> =
            std::iter::once(head).chain(self.steps.iter().map(row)).collect();
        format!("{}\nI/Os by queue depth in steps of {}", aligned(&rows), Nanos(self.step_ns))
    }

    /// Draws response times (up) over time (across) in ASCII shades.
    fn response_map(&self, axis: &StepTimeFormat) -> String {
        let classes = || self.steps.iter().flat_map(|step| step.responses.keys());
        let (Some(least), Some(most)) = (classes().min(), classes().max()) else {
            return "Response times are unknown".to_owned();
        };
        let steps_per_column = self.steps.len().div_ceil(COLUMNS_MAX).max(1);
        let columns: Vec<&[StepShape]> = self.steps.chunks(steps_per_column).collect();
        let ios = |steps: &[StepShape], class: u32| -> u64 {
            steps.iter().filter_map(|step| step.responses.get(&class)).sum()
        };
        let cells = || columns.iter().flat_map(|steps| (*least..=*most).map(|c| ios(steps, c)));
        let largest = cells().max().unwrap_or(0);
        let mut text = "Response times (up) over time (across)\n".to_owned();
        for class in (*least..=*most).rev() {
            let row: String =
                columns.iter().map(|steps| shade(ios(steps, class), largest)).collect();
            text.push_str(&format!("{:>10} |{}\n", Nanos(1 << class).to_string(), row.trim_end()));
        }
        let first = self.steps.first().map_or(0, |step| step.begin_ns);
        text.push_str(&format!(
            "from {}, {} to a character; darkest: {largest} I/Os",
            axis.text(first),
            Nanos(self.step_ns.saturating_mul(steps_per_column as u64))
        ));
        text
    }
}
