//! The hottest address ranges of a selection, and the processes that hit them.

use super::streams_and_processes::edges;
use crate::http_error::HttpResult;
use crate::maps::RANGES;
use crate::process_hits::ProcessHitsFold;
use crate::query::QueryString;
use crate::selection::IoSelection;
use serde::Serialize;
use std::cmp::Reverse;
use steadfast_analysis::questions::processes::ProcessKey;

const LIMIT: u64 = 20;
const PROCESSES: usize = 5;

/// An address range.
#[derive(Debug, Serialize)]
pub struct HotRangeEntry {
    low: u64,
    high: u64,
    /// Reads and writes that touch the range.
    ios: u64,
    /// Share of all hits, 0 to 1.
    share: f64,
    /// Processes with the most hits. Those that are not counted separately are listed as others.
    processes: Vec<HotProcessEntry>,
}

/// Hits of a range by one process.
#[derive(Debug, Serialize)]
pub struct HotProcessEntry {
    name: String,
    pid: Option<u32>,
    ios: u64,
}

/// Answers `hot`.
pub fn answer(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<Vec<HotRangeEntry>> {
    selection.check_one_device()?;
    let limit = query.within("limit", LIMIT, RANGES as u64)? as usize;
    let addresses = selection.index.maps.addresses;
    let mut touching = ProcessHitsFold::new(addresses);
    let whole = edges(selection, &mut touching)?;
    let mut touches = touching.touches;
    for tables in selection.index.segments.tables(whole) {
        tables.add_touches(selection.pair_filter(), &mut touches)?;
    }
    let by_range = touches.by_range();
    let all: u64 = by_range.iter().sum();
    let mut order: Vec<usize> = (0..by_range.len()).filter(|at| by_range[*at] > 0).collect();
    order.sort_by_key(|at| (Reverse(by_range[*at]), *at));
    order.truncate(limit);
    let range = |number: usize| {
        hot_range(
            (addresses.begin(number), addresses.begin(number + 1)),
            touches.in_range(number),
            all,
        )
    };
    Ok(order.into_iter().map(range).collect())
}

fn hot_range(
    (low, high): (u64, u64),
    mut by: Vec<(Option<ProcessKey>, u64)>,
    all: u64,
) -> HotRangeEntry {
    let ios = by.iter().map(|(_, count)| count).sum();
    by.sort_by_key(|(key, count)| (Reverse(*count), *key));
    let process = |(key, ios): (Option<ProcessKey>, u64)| HotProcessEntry {
        name: key.map_or_else(|| "others".to_owned(), |key| key.to_string()),
        pid: key.map(|key| key.pid).filter(|pid| *pid > 0),
        ios,
    };
    let processes = by.into_iter().take(PROCESSES).map(process).collect();
    HotRangeEntry { low, high, ios, share: ios as f64 / all.max(1) as f64, processes }
}
