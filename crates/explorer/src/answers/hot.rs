//! The hottest address ranges of a selection, and whose I/Os hit them.

use crate::maps::{Axis, HitMap, RANGES};
use crate::query::Query;
use crate::refusal::Refusal;
use crate::selection::Selection;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;
use steadfast_domain::io_event::Command;
use steadfast_trace::processes::ProcessKey;
use steadfast_trace::{Field, Fields};

const LIMIT: u64 = 20;
const PROCESSES: usize = 5;

/// A range of addresses.
#[derive(Debug, Serialize)]
pub struct HotRange {
    low: u64,
    high: u64,
    /// Reads and writes that touch it.
    ios: u64,
    /// Of all touches.
    share: f64,
    /// Who hit it most; beyond the processes that are told apart: others.
    processes: Vec<HotProcess>,
}

/// A process's part of it.
#[derive(Debug, Serialize)]
pub struct HotProcess {
    name: String,
    pid: Option<u32>,
    ios: u64,
}

/// The touches of every range by process; `None` stands for all others.
type Touches = Vec<HashMap<Option<ProcessKey>, u64>>;

/// Answers `hot`.
pub fn answer(selection: &Selection<'_>, query: &Query) -> Result<Vec<HotRange>, Refusal> {
    let limit = query.within("limit", LIMIT, RANGES as u64)? as usize;
    let is_whole = selection.window_ns == (0, selection.index.end_ns);
    let touches = match is_whole && selection.is_unfiltered() {
        true => of_index(selection),
        false => of_ios(selection)?,
    };
    let hits = &selection.index.hits;
    let all: u64 = touches.iter().flat_map(HashMap::values).sum();
    let mut ranges: Vec<HotRange> = touches
        .into_iter()
        .enumerate()
        .filter(|(_, range)| !range.is_empty())
        .map(|(number, range)| {
            let low = hits.low + hits.range_bytes * number as u64;
            hot_range((low, low.saturating_add(hits.range_bytes)), range, all)
        })
        .collect();
    ranges.sort_by_key(|range| (Reverse(range.ios), range.low));
    ranges.truncate(limit);
    Ok(ranges)
}

fn of_index(selection: &Selection<'_>) -> Touches {
    let keys = &selection.index.cells.processes.keys;
    let key =
        |(pid, command): &(u32, [u8; 16])| ProcessKey { pid: *pid, command: Command(*command) };
    let named: Vec<Option<ProcessKey>> = keys.iter().map(|k| Some(key(k))).chain([None]).collect();
    let range = |counts: &[u32]| {
        let filled = named.iter().zip(counts).filter(|(_, count)| **count > 0);
        filled.map(|(key, count)| (*key, u64::from(*count))).collect()
    };
    selection.index.hot.chunks(named.len()).map(range).collect()
}

fn of_ios(selection: &Selection<'_>) -> Result<Touches, Refusal> {
    let all = &selection.index.hits;
    let end = all.low.saturating_add(all.range_bytes.saturating_mul(all.ranges as u64));
    let axis = Axis { width_ns: u64::MAX, first: 0, columns: 1 };
    let mut map = HitMap::new(axis, (all.low, end), all.ranges);
    let mut touches: Touches = vec![HashMap::new(); all.ranges];
    let fields = Fields::of(&[
        Field::Offset,
        Field::Bytes,
        Field::Op,
        Field::Layer,
        Field::Pid,
        Field::Command,
    ]);
    selection.each(fields, |rows, row| {
        let key = ProcessKey { pid: rows.batch.pid(row), command: rows.batch.command(row) };
        if let Some((first, last)) = map.take_row(rows, row) {
            for range in &mut touches[first..=last] {
                *range.entry(Some(key)).or_default() += 1;
            }
        }
    })?;
    Ok(touches)
}

fn hot_range(
    (low, high): (u64, u64),
    range: HashMap<Option<ProcessKey>, u64>,
    all: u64,
) -> HotRange {
    let ios = range.values().sum();
    let mut by: Vec<(Option<ProcessKey>, u64)> = range.into_iter().collect();
    by.sort_by_key(|(key, count)| (Reverse(*count), *key));
    let process = |(key, ios): (Option<ProcessKey>, u64)| HotProcess {
        name: key.map_or_else(|| "others".to_owned(), |key| key.to_string()),
        pid: key.map(|key| key.pid).filter(|pid| *pid > 0),
        ios,
    };
    let processes = by.into_iter().take(PROCESSES).map(process).collect();
    HotRange { low, high, ios, share: ios as f64 / all.max(1) as f64, processes }
}
