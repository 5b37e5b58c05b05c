//! Heat maps: response time, queue depth, address and part of a second over time.

use crate::index::CELLS_ENOUGH;
use crate::maps::{ColumnAxis, FINE_RANGES, IndexHitMap, PARTS, RANGES, SecondMap};
use crate::pairs::Breakdowns;
use crate::query::QueryString;
use crate::refusal::HttpError;
use crate::selection::{IoSelection, axis};
use serde::Serialize;
use steadfast_domain::{CoarseHistogram, IoOp, QuarterHistogram};

const CELLS: u64 = 512;
const CELLS_MOST: u64 = 4096;
const ROWS: u64 = 128;
/// Maximum number of values in an answer.
const VALUES_MOST: u64 = 1 << 21;
const SECOND: u64 = 1_000_000_000;

/// Counts, column by column, the lowest row first.
#[derive(Debug, Serialize)]
pub struct HeatAnswer {
    kind: &'static str,
    from: u64,
    width_ns: u64,
    cells: usize,
    rows: usize,
    /// Lower edges of the rows, followed by the upper edge of the last.
    row_edges: Vec<u64>,
    counts: Vec<u64>,
}

/// Answers `heat`.
pub fn answer(selection: &IoSelection<'_>, query: &QueryString) -> Result<HeatAnswer, HttpError> {
    let cells = query.within("cells", CELLS, CELLS_MOST)?;
    let rows = query.within("rows", ROWS, RANGES as u64)?;
    if cells * rows > VALUES_MOST {
        let what = format!("{cells} cells of {rows} rows are more than {VALUES_MOST} values");
        return Err(HttpError::bad(what));
    }
    let rows = rows as usize;
    match query.one("kind")? {
        Some("rt") => of_buckets(selection, cells, rows, HeatKind::Responses),
        Some("qd") => of_buckets(selection, cells, rows, HeatKind::Depths),
        Some("lba") => of_addresses(selection, query, cells, rows),
        Some("subsecond") => of_seconds(selection, cells, rows),
        _ => Err(HttpError::bad("'kind' is rt, qd, lba or subsecond")),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum HeatKind {
    Responses,
    Depths,
}

impl HeatKind {
    fn bounds(self, bucket: usize) -> (u64, u64) {
        match self {
            HeatKind::Responses => CoarseHistogram::bounds(bucket),
            HeatKind::Depths => QuarterHistogram::bounds(bucket),
        }
    }
}

/// Builds rows that consist of whole buckets, so that every count is exact.
fn of_buckets(
    selection: &IoSelection<'_>,
    cells: u64,
    rows: usize,
    buckets: HeatKind,
) -> Result<HeatAnswer, HttpError> {
    let scoped = selection.scoped(cells, Breakdowns::default())?;
    let mut found: Vec<(usize, usize, u64)> = Vec::new();
    scoped.all().columns(scoped.cells.clone(), scoped.wide, |at, column| {
        let counts = match buckets {
            HeatKind::Responses => column.responses(),
            HeatKind::Depths => column.depths(),
        };
        let filled = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        found.extend(filled.map(|(bucket, count)| (at, bucket, *count)));
    });
    let low = found.iter().map(|(_, bucket, _)| *bucket).min();
    let high = found.iter().map(|(_, bucket, _)| *bucket).max();
    let ColumnAxis { width_ns, first, columns } = scoped.axis;
    let mut heat = HeatAnswer {
        kind: if buckets == HeatKind::Responses { "rt" } else { "qd" },
        from: first.saturating_mul(width_ns),
        width_ns,
        cells: columns,
        rows: 0,
        row_edges: Vec::new(),
        counts: Vec::new(),
    };
    let (Some(low), Some(high)) = (low, high) else { return Ok(heat) };
    let together = (high - low + 1).div_ceil(rows);
    heat.rows = (high - low + 1).div_ceil(together);
    heat.row_edges = (0..heat.rows).map(|row| buckets.bounds(low + row * together).0).collect();
    heat.row_edges.push(buckets.bounds(high).1.saturating_add(1));
    heat.counts = vec![0; columns * heat.rows];
    for (at, bucket, count) in found {
        heat.counts[at * heat.rows + (bucket - low) / together] += count;
    }
    Ok(heat)
}

/// Counts hits by reads, writes or both. An I/O hits every range that it touches.
fn of_addresses(
    selection: &IoSelection<'_>,
    query: &QueryString,
    cells: u64,
    rows: usize,
) -> Result<HeatAnswer, HttpError> {
    selection.check_one_device()?;
    let ops = selection.filter.ops.clone();
    let is_wanted = |op: IoOp| ops.is_empty() || ops.contains(&op);
    let range = (query.number("low")?, query.number("high")?);
    let map = match range {
        (None, None) if is_answered_by_index(selection) => None,
        (None, None) => match of_pairs(selection, rows) {
            Some(map) => Some(map),
            None => Some(of_ios(selection, range, cells, RANGES)?),
        },
        _ => Some(of_ios(selection, range, cells, rows)?),
    };
    let map = map.as_ref().unwrap_or_else(|| map_of(selection, cells, rows));
    let axis = axis(selection.window_ns, cells, map.width_ns, false);
    let beside = (axis.width_ns / map.width_ns) as usize;
    let above = divisor(map.ranges, rows);
    let rows = map.ranges / above;
    let mut counts = vec![0; axis.columns * rows];
    let (from, to) = selection.window_ns;
    // Columns of the map that the window touches, as with cells.
    let first = (from / map.width_ns).saturating_sub(map.first) as usize;
    let end = to.div_ceil(map.width_ns).saturating_sub(map.first) as usize;
    let begin = (axis.first as usize * beside).saturating_sub(map.first as usize);
    for column in first..end.min(map.columns) {
        let at = (column - begin) / beside * rows;
        for range in 0..map.ranges {
            let place = column * map.ranges + range;
            let reads = if is_wanted(IoOp::Read) { map.reads[place] } else { 0 };
            let writes = if is_wanted(IoOp::Write) { map.writes[place] } else { 0 };
            counts[at + range / above] += u64::from(reads) + u64::from(writes);
        }
    }
    let edge =
        |row: usize| map.low.saturating_add(map.range_bytes.saturating_mul((row * above) as u64));
    Ok(HeatAnswer {
        kind: "lba",
        from: axis.first.saturating_mul(axis.width_ns),
        width_ns: axis.width_ns,
        cells: axis.columns,
        rows,
        row_edges: (0..=rows).map(edge).collect(),
        counts,
    })
}

/// Returns whether the maps of the index suffice. They count reads and writes separately.
fn is_answered_by_index(selection: &IoSelection<'_>) -> bool {
    let mut filter = selection.filter.clone();
    filter.ops.clear();
    let all = IoSelection {
        capture: selection.capture,
        index: selection.index.clone(),
        window_ns: selection.window_ns,
        filter,
    };
    all.is_unfiltered() && all.is_wide()
}

/// Returns the hits of the chosen streams and processes, if the index has them.
fn of_pairs(selection: &IoSelection<'_>, rows: usize) -> Option<IndexHitMap> {
    let passing = selection.passing().filter(|_| rows <= FINE_RANGES && selection.is_long())?;
    selection.index.by_pair.hits(passing, &selection.index.maps)
}

/// Returns the map of the index that has enough ranges and, if possible, enough columns.
fn map_of<'s>(selection: &'s IoSelection<'_>, cells: u64, rows: usize) -> &'s IndexHitMap {
    let (from, to) = selection.window_ns;
    let maps = &selection.index.maps;
    let has_few_columns = (to - from) / maps.hits.width_ns < cells;
    if has_few_columns && rows <= FINE_RANGES { &maps.fine } else { &maps.hits }
}

fn of_ios(
    selection: &IoSelection<'_>,
    (low, high): (Option<u64>, Option<u64>),
    cells: u64,
    rows: usize,
) -> Result<IndexHitMap, HttpError> {
    let all = &selection.index.maps.hits;
    let end = all.low.saturating_add(all.range_bytes.saturating_mul(all.ranges as u64));
    let (low, high) = (low.unwrap_or(all.low), high.unwrap_or(end));
    if low >= high {
        return Err(HttpError::bad(format!("no address lies between {low} and {high}")));
    }
    let axis = selection.axis(cells, selection.index.cells.width_ns, true);
    let mut map = IndexHitMap::new(axis, (low, high), rows);
    selection.fold(selection.window_ns, &mut map)?;
    Ok(map)
}

/// Returns the smallest divisor of `whole` that leaves at most `most` parts.
fn divisor(whole: usize, most: usize) -> usize {
    let fits = |by: &usize| whole.is_multiple_of(*by) && whole / by <= most.max(1);
    (1..=whole).find(fits).unwrap_or(1)
}

/// Builds columns of whole seconds.
fn of_seconds(
    selection: &IoSelection<'_>,
    cells: u64,
    rows: usize,
) -> Result<HeatAnswer, HttpError> {
    let (from, to) = selection.window_ns;
    let whole = (from / SECOND * SECOND, to.div_ceil(SECOND).saturating_mul(SECOND));
    let all = &selection.index.maps.seconds;
    let seconds = (whole.1 - whole.0) / SECOND;
    let is_fine = all.seconds == 1
        || seconds / all.seconds >= cells.min(CELLS_ENOUGH / 8)
        || selection.has_many();
    let of_pairs = match selection.passing() {
        Some(passing) if selection.is_long() => selection.index.by_pair.seconds(passing),
        _ => None,
    };
    let counted = match (selection.is_unfiltered() && is_fine, of_pairs) {
        (true, _) => None,
        (false, Some(map)) => Some(map),
        (false, None) => {
            let mut map = SecondMap::new(whole, cells as usize, PARTS);
            selection.fold(whole, &mut map)?;
            Some(map)
        }
    };
    let map = counted.as_ref().unwrap_or(all);
    let axis = axis(whole, cells, map.seconds.saturating_mul(SECOND), false);
    let beside = (axis.width_ns / SECOND / map.seconds) as usize;
    let above = divisor(map.parts, rows);
    let rows = map.parts / above;
    let mut counts = vec![0; axis.columns * rows];
    let first = (axis.first as usize * beside).saturating_sub((map.first / map.seconds) as usize);
    for column in first..(first + axis.columns * beside).min(map.columns) {
        for part in 0..map.parts {
            let count = u64::from(map.counts[column * map.parts + part]);
            counts[(column - first) / beside * rows + part / above] += count;
        }
    }
    let edge = |row: usize| SECOND * row as u64 / rows as u64;
    Ok(HeatAnswer {
        kind: "subsecond",
        from: axis.first.saturating_mul(axis.width_ns),
        width_ns: axis.width_ns,
        cells: axis.columns,
        rows,
        row_edges: (0..=rows).map(edge).collect(),
        counts,
    })
}
