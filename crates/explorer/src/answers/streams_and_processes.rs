//! Streams, processes, the cumulative workload and its file, as the command line prints them. The
//! whole segments of a window come from the index; only the edges are read.

use crate::http_error::{HttpError, HttpResult};
use crate::query::QueryString;
use crate::selection::IoSelection;
use serde::Serialize;
use serde_json::{Value, json};
use std::ops::Range;
use steadfast_analysis::questions::cumulative::{CumulativeWorkload, Threshold};
use steadfast_analysis::questions::processes::{ProcessFigures, ProcessTable};
use steadfast_analysis::questions::streams::StreamListing;
use steadfast_analysis::{Fold, ShareMeasure, StreamTable};
use steadfast_workload::workload_file::WorkloadOrigin;
use steadfast_workload::{WorkloadDetails, WorkloadFile};

/// The answer, as in `steadfast trace processes --json`.
#[derive(Serialize)]
pub struct ProcessesAnswer {
    processes: Vec<ProcessFigures>,
    unlisted_count: u64,
}

/// Answers `streams` as `steadfast trace streams --json` does.
pub fn streams(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<StreamListing> {
    let (by, threshold) = (measure(query)?, threshold(query, Threshold(0))?);
    Ok(StreamListing::new(&stream_table(selection)?, by, threshold))
}

pub fn processes(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<ProcessesAnswer> {
    let mut table = process_table(selection)?;
    if query.one("by_command")?.is_some_and(|value| value != "false") {
        table = table.by_command();
    }
    Ok(ProcessesAnswer { processes: table.listing(), unlisted_count: table.unlisted().count() })
}

/// The cumulative workload, as in `steadfast workload derive --json`.
#[derive(Serialize)]
pub struct CumulativeAnswer {
    workload: CumulativeWorkload,
    demand: Option<String>,
}

pub fn cumulative(
    selection: &IoSelection<'_>,
    query: &QueryString,
) -> HttpResult<CumulativeAnswer> {
    let workload = derived(selection, query)?;
    let demand = workload.demand_seen().map(|demand| demand.to_string());
    Ok(CumulativeAnswer { workload, demand })
}

fn derived(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<CumulativeWorkload> {
    let table = stream_table(selection)?;
    Ok(CumulativeWorkload::new(&table, measure(query)?, threshold(query, Threshold::DEFAULT)?))
}

/// Answers `workload` with the file that `steadfast workload derive` writes.
pub fn workload(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<Value> {
    let conditions = selection.capture.conditions();
    if selection.filter.layer.is_none() && conditions.layers.len() > 1 {
        return Err(HttpError::bad("a workload comes from one layer: choose block or filesystem"));
    }
    let workload = derived(selection, query)?;
    let pass = selection.pass(selection.window_ns);
    let filter = if selection.is_whole() { &selection.filter } else { &pass.filter };
    let filter = filter.describe(conditions);
    let captured = selection.captured()?;
    let details = WorkloadDetails::read(captured, &pass, &workload)?;
    let missing = captured.integrity().missing();
    let origin = WorkloadOrigin { conditions, filter, missing };
    let (name, demand) = (selection.capture.name.clone(), workload.demand_seen());
    let file = WorkloadFile::derived(name, workload, demand, origin)?.with_details(details);
    Ok(json!({ "toml": file.to_string() }))
}

fn measure(query: &QueryString) -> HttpResult<ShareMeasure> {
    Ok(query.one("measure")?.map(str::parse).transpose()?.unwrap_or_default())
}

fn threshold(query: &QueryString, default: Threshold) -> HttpResult<Threshold> {
    Ok(query.one("threshold")?.map(str::parse).transpose()?.unwrap_or(default))
}

pub fn stream_table(selection: &IoSelection<'_>) -> HttpResult<StreamTable> {
    let mut table = StreamTable::new();
    let whole = edges(selection, &mut table)?;
    for tables in selection.index.segments.tables(whole) {
        tables.each(selection.pair_filter(), |pair, sums| table.add(pair.stream, sums))?;
    }
    Ok(table)
}

pub fn process_table(selection: &IoSelection<'_>) -> HttpResult<ProcessTable> {
    let mut table = ProcessTable::default();
    let whole = edges(selection, &mut table)?;
    for tables in selection.index.segments.tables(whole) {
        tables.each(selection.pair_filter(), |pair, sums| table.add(pair.process, sums))?;
    }
    Ok(table)
}

/// Reads the parts of a window for which no table is kept. Returns the segments whose tables are
/// kept.
pub fn edges(selection: &IoSelection<'_>, fold: &mut dyn Fold) -> HttpResult<Range<usize>> {
    let segments = &selection.index.segments;
    let (from, to) = selection.window_ns;
    let has_tables = selection.is_unfiltered() || selection.pair_filter().is_some();
    let whole = if has_tables { segments.within((from, to)) } else { 0..0 };
    let edges = match segments.span_of(&whole) {
        None => [(from, to), (to, to)],
        Some((first, last)) => [(from, first), (last, to)],
    };
    for edge in edges.into_iter().filter(|(from, to)| from < to) {
        selection.fold(edge, fold)?;
    }
    Ok(whole)
}
