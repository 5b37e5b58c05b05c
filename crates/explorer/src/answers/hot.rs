//! The hottest address ranges of a selection, and the processes that hit them.

use super::streams_and_processes::edges;
use crate::http_error::HttpResult;
use crate::maps::ADDRESS_RANGES;
use crate::process_hits::ProcessHitsFold;
use crate::query::QueryString;
use crate::selection::IoSelection;
use serde::Serialize;
use std::cmp::Reverse;
use steadfast_analysis::questions::processes::ProcessKey;

const LIMIT: u64 = 20;
const PROCESSES: usize = 5;

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

#[derive(Debug, Serialize)]
pub struct HotProcessEntry {
    name: String,
    pid: Option<u32>,
    ios: u64,
}

pub fn answer(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<Vec<HotRangeEntry>> {
    selection.check_one_device()?;
    let limit = query.within("limit", LIMIT, ADDRESS_RANGES as u64)? as usize;
    let addresses = selection.index.maps.addresses;
    let mut fold = ProcessHitsFold::new(addresses);
    let whole = edges(selection, &mut fold)?;
    let mut hits = fold.hits;
    for tables in selection.index.segments.tables(whole) {
        tables.add_hits(selection.pair_filter(), &mut hits)?;
    }
    let by_range = hits.by_range();
    let all: u64 = by_range.iter().sum();
    let mut order: Vec<usize> = (0..by_range.len()).filter(|at| by_range[*at] > 0).collect();
    order.sort_by_key(|at| (Reverse(by_range[*at]), *at));
    order.truncate(limit);
    let entry = |number: usize| {
        let mut processes = hits.in_range(number);
        processes.sort_by_key(|(key, count)| (Reverse(*count), *key));
        HotRangeEntry {
            low: addresses.begin(number),
            high: addresses.begin(number + 1),
            ios: by_range[number],
            share: by_range[number] as f64 / all.max(1) as f64,
            processes: processes.into_iter().take(PROCESSES).map(process_entry).collect(),
        }
    };
    Ok(order.into_iter().map(entry).collect())
}

fn process_entry((key, ios): (Option<ProcessKey>, u64)) -> HotProcessEntry {
    HotProcessEntry {
        name: key.map_or_else(|| "others".to_owned(), |key| key.to_string()),
        pid: key.map(|key| key.pid).filter(|pid| *pid > 0),
        ios,
    }
}
