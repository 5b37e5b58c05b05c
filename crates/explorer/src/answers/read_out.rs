//! The hit map read out at a time: what each stream moved, and where on the device.

use crate::http_error::{HttpError, HttpResult};
use crate::query::QueryString;
use crate::selection::IoSelection;
use serde::Serialize;
use steadfast_analysis::questions::cumulative::Threshold;
use steadfast_analysis::questions::read_out::{ReadOut, ReadOutChoice, StreamPlace};

/// Number of ranges: 0.1 % of a device each.
const RANGES: usize = 1000;
/// Streams in an answer; others are left out.
const LIMIT: u64 = 8;
/// Largest number of I/Os in the cells that the time touches.
const IOS_MAX: u64 = 4_000_000;

/// The streams with the most bytes in the window.
#[derive(Debug, Serialize)]
pub struct ReadOutAnswer {
    /// Width of a range in percent of the device, within which a place is known.
    tolerance_percent: f64,
    streams: Vec<StreamPlace>,
}

/// Answers `read-out`, with the numbers of `steadfast trace hits --at --ranges 1000`.
pub fn answer(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<ReadOutAnswer> {
    selection.check_one_device()?;
    let limit = query.within("limit", LIMIT, LIMIT * 8)? as usize;
    let (from_ns, to_ns) = selection.window_ns;
    if selection.ios_of_window() > IOS_MAX {
        return Err(HttpError::bad("too many I/Os in this time; choose a shorter one"));
    }
    let choice = ReadOutChoice { from_ns, to_ns, ranges: RANGES, threshold: Threshold(0) };
    let pass = selection.pass(selection.window_ns);
    let mut found = ReadOut::read(selection.captured()?, &pass, &choice)?.found;
    // One device is chosen or the only one; without I/Os there is none.
    let mut streams = found.pop().map_or(Vec::new(), |read_out| read_out.streams);
    streams.truncate(limit);
    Ok(ReadOutAnswer { tolerance_percent: 100.0 / RANGES as f64, streams })
}
