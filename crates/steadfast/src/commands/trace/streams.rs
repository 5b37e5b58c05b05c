//! `trace streams` and `trace processes`.

use super::columns::{aligned, ms, number, row};
use super::kept::Kept;
use super::{Selected, print_document};
use crate::cli::trace::{ProcessesArguments, StreamsArguments};
use crate::exit::Outcome;
use crate::terminal;
use serde::Serialize;
use steadfast_domain::units::Bytes;
use steadfast_trace::StreamTable;
use steadfast_trace::processes::{ProcessFigures, ProcessTable};
use steadfast_trace::response::ResponseFigures;
use steadfast_trace::streams::{By, StreamFigures};
use steadfast_trace::workload::Threshold;

#[derive(Serialize)]
pub(super) struct StreamsContent {
    by: By,
    threshold_percent: f64,
    total: Total,
    /// Streams at or above the threshold.
    streams: Vec<StreamFigures>,
    streams_in_all: usize,
    unlisted_count: u64,
}

#[derive(Serialize)]
struct Total {
    count: u64,
    amount: u64,
    qd_mean: Option<f64>,
    qd_max: Option<u32>,
    response: ResponseFigures,
    failed: u64,
}

/// The I/O streams of a trace.
pub fn streams(arguments: &StreamsArguments) -> anyhow::Result<Outcome> {
    if let Some(kept) = Kept::open(&arguments.selection)? {
        return kept.streams(arguments);
    }
    let selected = Selected::open(&arguments.selection)?;
    let mut table = StreamTable::new();
    let account = selected.fold(&mut [&mut table])?;
    let content = StreamsContent::of(&table, arguments);
    if arguments.json {
        print_document(&selected, account, content)?;
    } else {
        terminal::print(&stream_lines(&content))?;
    }
    Ok(selected.ending())
}

impl StreamsContent {
    pub(super) fn of(table: &StreamTable, arguments: &StreamsArguments) -> Self {
        let total = table.total();
        let mut listing = table.listing(arguments.by);
        let whole = if arguments.by == By::Count { total.ios } else { total.amount() };
        listing.retain(|stream| {
            let part = if arguments.by == By::Count { stream.count } else { stream.amount };
            arguments.threshold.admits(part, whole)
        });
        StreamsContent {
            by: arguments.by,
            threshold_percent: percent(arguments.threshold),
            total: Total {
                count: total.ios,
                amount: total.amount(),
                qd_mean: total.depth_mean(),
                qd_max: (total.depths > 0).then_some(total.depth_max),
                response: total.responses.figures(),
                failed: total.failed,
            },
            streams: listing,
            streams_in_all: table.len(),
            unlisted_count: table.unlisted().ios,
        }
    }
}

pub(super) fn percent(threshold: Threshold) -> f64 {
    f64::from(threshold.0) / 1e4
}

pub(super) fn stream_lines(content: &StreamsContent) -> String {
    let mut rows = vec![row([
        "I/O stream",
        "I/Os",
        "%",
        "MB",
        "% of MB",
        "QD avg",
        "QD max",
        "ART ms",
        "99% ms",
        "99.999% ms",
        "MRT ms",
    ])];
    rows.extend(content.streams.iter().map(|stream| {
        vec![
            stream.key.to_string(),
            stream.count.to_string(),
            number(Some(stream.share_of_count * 100.0), 2),
            number(Some(Bytes(stream.amount).as_mb()), 1),
            number(Some(stream.share_of_bytes * 100.0), 2),
            number(stream.qd_mean, 2),
            number(stream.qd_max.map(f64::from), 0),
            ms(stream.response.mean_ns),
            ms(stream.response.p99_ns),
            ms(stream.response.p99_999_ns),
            ms(stream.response.max_ns),
        ]
    }));
    let shown: u64 = content.streams.iter().map(|stream| stream.count).sum();
    format!(
        "{}\n{} of {} streams, {shown} of {} I/Os, {} moved",
        aligned(&rows),
        content.streams.len(),
        content.streams_in_all,
        content.total.count,
        Bytes(content.total.amount)
    )
}

#[derive(Serialize)]
struct ProcessesContent {
    processes: Vec<ProcessFigures>,
    unlisted_count: u64,
}

/// The processes of a trace.
pub fn processes(arguments: &ProcessesArguments) -> anyhow::Result<Outcome> {
    let selected = Selected::open(&arguments.selection)?;
    let mut table = ProcessTable::default();
    let account = selected.fold(&mut [&mut table])?;
    if arguments.by_command {
        table = table.by_command();
    }
    let content =
        ProcessesContent { processes: table.listing(), unlisted_count: table.unlisted().total() };
    if arguments.json {
        print_document(&selected, account, content)?;
        return Ok(selected.ending());
    }
    let mut rows =
        vec![row(["Process", "I/Os", "%", "reads", "writes", "SEQ", "MB", "ART ms", "MRT ms"])];
    rows.extend(content.processes.iter().map(|process| {
        vec![
            process.process.clone(),
            process.count.to_string(),
            number(Some(process.share * 100.0), 2),
            process.reads.to_string(),
            process.writes.to_string(),
            process.sequential.to_string(),
            number(Some(Bytes(process.amount).as_mb()), 1),
            ms(process.response_mean_ns),
            ms(process.response_max_ns),
        ]
    }));
    terminal::print(&aligned(&rows))?;
    Ok(selected.ending())
}
