//! The tables of the command line: streams, processes, the cumulative workload and
//! its file. The whole stretches of a window come from the index, only its edges
//! are read.

use crate::query::Query;
use crate::refusal::Refusal;
use crate::selection::Selection;
use serde::Serialize;
use steadfast_domain::io_event::Share;
use steadfast_trace::columns::Object;
use steadfast_trace::processes::{ProcessFigures, ProcessTable};
use steadfast_trace::streams::StreamFigures;
use steadfast_trace::workload::{Threshold, Workload, data_pattern_seen};
use steadfast_trace::{By, Fold, StreamTable, TraceError, WorkloadFile};

/// As `steadfast trace streams --json`.
#[derive(Serialize)]
pub struct Streams {
    by: By,
    threshold_percent: f64,
    total: Object<StreamFigures>,
    streams: Vec<StreamFigures>,
    streams_in_all: usize,
    unlisted_count: u64,
}

/// As `steadfast trace processes --json`.
#[derive(Serialize)]
pub struct Processes {
    processes: Vec<ProcessFigures>,
    unlisted_count: u64,
}

/// A workload file.
#[derive(Serialize)]
pub struct WorkloadText {
    toml: String,
}

/// Answers `streams`.
pub fn streams(selection: &Selection<'_>, query: &Query) -> Result<Streams, Refusal> {
    let (by, threshold) = (by(query)?, threshold(query, Threshold(0))?);
    let table = stream_table(selection)?;
    Ok(Streams {
        by,
        threshold_percent: f64::from(threshold.0) / 1e4,
        total: table.total_figures(by),
        streams: table.listing_from(by, threshold),
        streams_in_all: table.len(),
        unlisted_count: table.unlisted().ios,
    })
}

/// Answers `processes`.
pub fn processes(selection: &Selection<'_>, query: &Query) -> Result<Processes, Refusal> {
    let mut table = process_table(selection)?;
    if query.one("by_command")?.is_some_and(|value| value != "false") {
        table = table.by_command();
    }
    Ok(Processes { processes: table.listing(), unlisted_count: table.unlisted().total() })
}

/// The cumulative workload, as `steadfast workload derive --json` has it.
#[derive(Serialize)]
pub struct Cumulative {
    workload: Workload,
    demand: Option<String>,
}

/// Answers `cumulative`.
pub fn cumulative(selection: &Selection<'_>, query: &Query) -> Result<Cumulative, Refusal> {
    let workload = derived(selection, query)?;
    let demand = workload.demand_seen().map(|demand| demand.to_string());
    Ok(Cumulative { workload, demand })
}

fn derived(selection: &Selection<'_>, query: &Query) -> Result<Workload, Refusal> {
    let table = stream_table(selection)?;
    Ok(Workload::of(&table, by(query)?, threshold(query, Threshold::USUAL)?))
}

/// Answers `workload`: the file that `steadfast workload derive` writes.
pub fn workload(selection: &Selection<'_>, query: &Query) -> Result<WorkloadText, Refusal> {
    let conditions = selection.capture.conditions();
    if selection.filter.layer.is_none() && conditions.layers.len() > 1 {
        let what = "a workload comes from one layer: choose block or filesystem";
        return Err(Refusal::bad(what));
    }
    let workload = derived(selection, query)?;
    let (_, mut remarks) = workload.io_streams()?;
    remarks.extend(selection.captured()?.integrity().missing());
    let pass = selection.pass(selection.window_ns);
    let is_whole = selection.window_ns == (0, selection.index.end_ns);
    let told = if is_whole { &selection.filter } else { &pass.filter };
    remarks.extend(told.told(conditions).map(|told| format!("Only part of the trace: {told}.")));
    if let Some(share @ Share::AtLeast(_)) = conditions.duplicates() {
        remarks.push(format!(
            "The share of duplicates is only a lower bound ({share}); the data pattern has no \
             duplicates."
        ));
    }
    let demand = workload.demand_seen();
    if demand.is_none() {
        remarks.push(
            "The trace has no queue depths; T1Q1 is applied unless --demand is given.".into(),
        );
    }
    let file = WorkloadFile {
        name: selection.capture.name.clone(),
        demand,
        data_pattern: data_pattern_seen(conditions),
        workload,
        remarks,
        ..WorkloadFile::default()
    };
    Ok(WorkloadText { toml: file.to_string() })
}

fn by(query: &Query) -> Result<By, Refusal> {
    match query.one("measure")? {
        None | Some("count") => Ok(By::Count),
        Some("bytes") => Ok(By::Bytes),
        Some(other) => Err(Refusal::bad(format!("'{other}' is no measure: count or bytes"))),
    }
}

fn threshold(query: &Query, usual: Threshold) -> Result<Threshold, Refusal> {
    Ok(query.one("threshold")?.map(str::parse).transpose()?.unwrap_or(usual))
}

/// The streams of a selection.
pub fn stream_table(selection: &Selection<'_>) -> Result<StreamTable, Refusal> {
    let mut table = StreamTable::new();
    gathered(selection, &mut table, |stretch, table| stretch.add_streams(table))?;
    Ok(table)
}

/// The processes of a selection.
pub fn process_table(selection: &Selection<'_>) -> Result<ProcessTable, Refusal> {
    let mut table = ProcessTable::default();
    gathered(selection, &mut table, |stretch, table| stretch.add_processes(table))?;
    Ok(table)
}

fn gathered<T: Fold>(
    selection: &Selection<'_>,
    table: &mut T,
    add: impl Fn(&crate::index::Stretch, &mut T) -> Result<(), TraceError>,
) -> Result<(), Refusal> {
    let index = &selection.index;
    let whole = match selection.is_unfiltered() {
        true => index.stretches_within(selection.window_ns),
        false => 0..0,
    };
    for stretch in &index.stretches[whole.clone()] {
        add(stretch, table)?;
    }
    let (from, to) = selection.window_ns;
    let edges = match whole.is_empty() {
        true => [(from, to), (to, to)],
        false => [(from, index.stretches[whole.start].from_ns), (index.end_of(whole.end - 1), to)],
    };
    for edge in edges.into_iter().filter(|(from, to)| from < to) {
        selection.captured()?.run(&selection.pass(edge), &mut [table])?;
    }
    Ok(())
}
