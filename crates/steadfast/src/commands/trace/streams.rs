//! `trace streams` and `trace processes`: figures by I/O stream and by process.

use super::listing_table::listing_table;
use crate::cli::trace::{ProcessFacet, ProcessesArguments, StreamsArguments};
use crate::exit::ExitState;
use crate::filtered_capture::FilteredCapture;
use serde::Serialize;
use steadfast_analysis::captured::PassResult;
use steadfast_analysis::questions::processes::{ProcessFigures, ProcessTable};
use steadfast_analysis::questions::streams::{StreamFigures, StreamListing};
use steadfast_domain::text::{counted, grouped};
use steadfast_domain::units::Bytes;

/// Prints the I/O streams of a capture.
pub fn streams(arguments: &StreamsArguments) -> anyhow::Result<ExitState> {
    let selected = FilteredCapture::open(&arguments.selection)?;
    let PassResult { found, account } = selected.answer(|captured, pass| captured.streams(pass))?;
    let listing = StreamListing::new(&found, arguments.shares.of, arguments.shares.threshold);
    selected.show(arguments.json, account, listing, text)
}

/// Formats the table and its caption.
fn text(listing: &StreamListing) -> String {
    let (streams, total) = (listing.streams(), listing.total());
    let shown: u64 = streams.iter().map(|stream| stream.count()).sum();
    let has_queue = total.sums.times.queued.total.count > 0;
    format!(
        "{}\n{} of {} streams, {} of {}, {} moved",
        listing_table(&StreamFigures::table(has_queue), streams),
        streams.len(),
        listing.streams_in_all(),
        grouped(shown),
        counted(total.count(), "I/O"),
        Bytes(total.sums.amount())
    )
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
