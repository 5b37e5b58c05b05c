//! `trace streams` and `trace processes`: figures by I/O stream and by process.

use super::columns::listing_table;
use crate::cli::trace::{ProcessFacet, ProcessesArguments, StreamsArguments};
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use serde::Serialize;
use steadfast_analysis::StreamTable;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::columns::JsonRow;
use steadfast_analysis::questions::processes::{ProcessFigures, ProcessTable};
use steadfast_analysis::questions::streams::{ShareMeasure, StreamFigures};
use steadfast_domain::text::{counted, grouped};
use steadfast_domain::units::Bytes;

#[derive(Serialize, schemars::JsonSchema)]
pub struct StreamsContent {
    by: ShareMeasure,
    threshold_percent: f64,
    total: JsonRow<StreamFigures>,
    /// Streams at or above the threshold.
    streams: Vec<StreamFigures>,
    streams_in_all: usize,
    unlisted_count: u64,
}

/// Prints the I/O streams of a capture.
pub fn streams(arguments: &StreamsArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let PassResult { found, account } = selected.answer(|captured, pass| captured.streams(pass))?;
    let content = StreamsContent::new(&found, arguments);
    selected.show(arguments.json, account, content, StreamsContent::lines)
}

impl StreamsContent {
    fn new(table: &StreamTable, arguments: &StreamsArguments) -> Self {
        StreamsContent {
            by: arguments.shares.of,
            threshold_percent: f64::from(arguments.shares.threshold.0) / 1e4,
            total: table.total_figures(arguments.shares.of),
            streams: table.listing_from(arguments.shares.of, arguments.shares.threshold),
            streams_in_all: table.len(),
            unlisted_count: table.unlisted().count(),
        }
    }

    fn lines(&self) -> String {
        let shown: u64 = self.streams.iter().map(|stream| stream.count()).sum();
        format!(
            "{}\n{} of {} streams, {} of {}, {} moved",
            listing_table(
                &StreamFigures::table(self.total.row.sums.times.queued.total.count > 0),
                &self.streams
            ),
            self.streams.len(),
            self.streams_in_all,
            grouped(shown),
            counted(self.total.row.count(), "I/O"),
            Bytes(self.total.row.sums.amount())
        )
    }
}

#[derive(Serialize, schemars::JsonSchema)]
pub struct ProcessesContent {
    processes: Vec<ProcessFigures>,
    unlisted_count: u64,
}

/// Prints the processes of a capture.
pub fn processes(arguments: &ProcessesArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let PassResult { found: mut table, account } = selected.fold(ProcessTable::default())?;
    if arguments.by == ProcessFacet::Command {
        table = table.by_command();
    }
    let content =
        ProcessesContent { processes: table.listing(), unlisted_count: table.unlisted().count() };
    selected.show(arguments.json, account, content, |content| {
        let has_queue =
            content.processes.iter().any(|process| process.sums.times.queued.total.count > 0);
        listing_table(&ProcessFigures::table(has_queue), &content.processes)
    })
}
