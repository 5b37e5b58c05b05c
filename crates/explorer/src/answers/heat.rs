//! Heat maps: response time, queue depth, address and part of a second over time.

use crate::http_error::{HttpError, HttpResult};
use crate::index::CELLS_ENOUGH;
use crate::maps::{
    AddressRanges, ColumnAxis, FINE_RANGES, MapFold, PARTS, RANGES, SECOND, hit_key,
};
use crate::pair_numbers::Breakdowns;
use crate::query::QueryString;
use crate::selection::{IoSelection, axis};
use serde::Serialize;
use steadfast_analysis::{Cube, Filter};
use steadfast_domain::{CoarseHistogram, IoOp, QuarterHistogram};

const CELLS_DEFAULT: u64 = 512;
const CELLS_MAX: u64 = 4096;
const ROWS_DEFAULT: u64 = 128;
/// Buckets of response times in a quarter of an octave.
const QUARTER: usize = CoarseHistogram::index(20) - CoarseHistogram::index(16);
/// Maximum number of values in an answer.
const VALUES_MAX: u64 = 1 << 21;

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

impl HeatAnswer {
    /// Returns an answer without hits, with one row between two edges.
    fn new(kind: &'static str, axis: ColumnAxis, row_edges: Vec<u64>) -> Self {
        let rows = row_edges.len().saturating_sub(1);
        HeatAnswer {
            kind,
            from: axis.first.saturating_mul(axis.width_ns),
            width_ns: axis.width_ns,
            cells: axis.columns,
            rows,
            row_edges,
            counts: vec![0; axis.columns * rows],
        }
    }

    fn add(&mut self, column: usize, row: usize, count: u64) {
        self.counts[column * self.rows + row] += count;
    }
}

pub fn answer(selection: &IoSelection<'_>, query: &QueryString) -> HttpResult<HeatAnswer> {
    let cells = query.within("cells", CELLS_DEFAULT, CELLS_MAX)?;
    let rows = query.within("rows", ROWS_DEFAULT, RANGES as u64)?;
    if cells * rows > VALUES_MAX {
        let what = format!("{cells} cells of {rows} rows are more than {VALUES_MAX} values");
        return Err(HttpError::bad(what));
    }
    let rows = rows as usize;
    match query.one("kind")? {
        Some("rt") => bucket_heat(selection, cells, rows, HeatKind::Responses),
        Some("qd") => bucket_heat(selection, cells, rows, HeatKind::Depths),
        Some("lba") => address_heat(selection, query, cells, rows),
        Some("subsecond") => second_heat(selection, cells, rows),
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
fn bucket_heat(
    selection: &IoSelection<'_>,
    cells: u64,
    rows: usize,
    buckets: HeatKind,
) -> HttpResult<HeatAnswer> {
    let window = selection.cell_window(cells, Breakdowns::default())?;
    let mut found: Vec<(usize, usize, u64)> = Vec::new();
    window.all().columns(window.cells.clone(), window.wide, |at, column| {
        let counts = match buckets {
            HeatKind::Responses => column.responses(),
            HeatKind::Depths => column.depths(),
        };
        let filled = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        found.extend(filled.map(|(bucket, count)| (at, bucket, *count)));
    });
    // A row of the kernel's buckets, a quarter of an octave each, consists of whole ones.
    let whole = if selection.capture.has_kernel_sums() { QUARTER } else { 1 };
    let low = found.iter().map(|(_, bucket, _)| *bucket / whole * whole).min();
    let high = found.iter().map(|(_, bucket, _)| *bucket / whole * whole + whole - 1).max();
    let kind = if buckets == HeatKind::Responses { "rt" } else { "qd" };
    let (Some(low), Some(high)) = (low, high) else {
        return Ok(HeatAnswer::new(kind, window.axis, Vec::new()));
    };
    let buckets_per_row = (high - low + 1).div_ceil(rows).next_multiple_of(whole);
    let lower = (low..=high).step_by(buckets_per_row).map(|bucket| buckets.bounds(bucket).0);
    let edges = lower.chain([buckets.bounds(high).1.saturating_add(1)]).collect();
    let mut heat = HeatAnswer::new(kind, window.axis, edges);
    for (at, bucket, count) in found {
        heat.add(at, (bucket - low) / buckets_per_row, count);
    }
    Ok(heat)
}

/// Counts hits by reads, writes or both. An I/O hits every range that it touches.
fn address_heat(
    selection: &IoSelection<'_>,
    query: &QueryString,
    cells: u64,
    rows: usize,
) -> HttpResult<HeatAnswer> {
    selection.check_one_device()?;
    let ops = &selection.filter.ops;
    let is_wanted = |op: IoOp| ops.is_empty() || ops.contains(&op);
    let keys = [IoOp::Read, IoOp::Write].into_iter().filter(|op| is_wanted(*op)).map(hit_key);
    let keys: Vec<u32> = keys.collect();
    let (maps, range) = (&selection.index.maps, (query.number("low")?, query.number("high")?));
    let fine = maps.addresses.combined(FINE_RANGES);
    let found;
    let (cube, addresses) = if range != (None, None) {
        found = hits_of_ios(selection, range, cells, rows)?;
        (&found.0, found.1)
    } else if is_answered_by_index(selection) {
        let (from, to) = selection.window_ns;
        let has_few_columns = (to - from) / maps.hits.step_ns().unwrap_or(1) < cells;
        let is_fine = has_few_columns && rows <= FINE_RANGES;
        if is_fine { (&maps.fine, fine) } else { (&maps.hits, maps.addresses) }
    } else {
        found = match hits_of_pairs(selection, rows) {
            Some(cube) => (cube, fine),
            None => hits_of_ios(selection, range, cells, RANGES)?,
        };
        (&found.0, found.1)
    };
    let width_ns = cube.step_ns().unwrap_or(1);
    let axis = axis(selection.window_ns, cells, width_ns, width_ns);
    let buckets_per_row = divisor(addresses.ranges, rows);
    let rows = addresses.ranges / buckets_per_row;
    let edges = (0..=rows).map(|row| addresses.begin(row * buckets_per_row)).collect();
    let mut heat = HeatAnswer::new("lba", axis, edges);
    for (at, key, row, count) in counts(cube, selection.window_ns, &axis, buckets_per_row) {
        if keys.contains(&key) {
            heat.add(at, row, count);
        }
    }
    Ok(heat)
}

/// Returns whether the maps of the index suffice. They count reads and writes separately.
fn is_answered_by_index(selection: &IoSelection<'_>) -> bool {
    let all = selection.with_filter(Filter { ops: Vec::new(), ..selection.filter.clone() });
    all.is_unfiltered() && all.index_suffices()
}

/// Returns the hits of the chosen streams and processes, if the index has them.
fn hits_of_pairs(selection: &IoSelection<'_>, rows: usize) -> Option<Cube<()>> {
    let passing =
        selection.pair_filter().filter(|_| rows <= FINE_RANGES && selection.is_slow_to_read())?;
    selection.index.by_pair.hits(passing)
}

fn hits_of_ios(
    selection: &IoSelection<'_>,
    (low, high): (Option<u64>, Option<u64>),
    cells: u64,
    rows: usize,
) -> HttpResult<(Cube<()>, AddressRanges)> {
    let all = &selection.index.maps.addresses;
    let (low, high) = (low.unwrap_or(all.low), high.unwrap_or(all.begin(all.ranges)));
    if low >= high {
        return Err(HttpError::bad(format!("no address lies between {low} and {high}")));
    }
    let axis = selection.axis(cells);
    let addresses = AddressRanges::new(low..high, rows);
    let mut fold = MapFold::for_addresses(axis, addresses);
    selection.fold(selection.window_ns, &mut fold)?;
    Ok((fold.cube.finish(), addresses))
}

/// Iterates over the counts of a window of a cube: column, key, row and count.
fn counts(
    cube: &Cube<()>,
    window_ns: (u64, u64),
    axis: &ColumnAxis,
    buckets_per_row: usize,
) -> impl Iterator<Item = (usize, u32, usize, u64)> {
    let steps_per_column = axis.width_ns / cube.step_ns().unwrap_or(1);
    cube.window(window_ns).iter().flat_map(move |cell| {
        let at = (cube.first() + u64::from(cell.step)) / steps_per_column - axis.first;
        cube.counts(cell).map(move |(bucket, count)| {
            (at as usize, cell.key, bucket / buckets_per_row, count.into())
        })
    })
}

/// Returns the smallest divisor of `whole` that leaves at most `most` parts.
fn divisor(whole: usize, most: usize) -> usize {
    let fits = |by: &usize| whole.is_multiple_of(*by) && whole / by <= most.max(1);
    (1..=whole).find(fits).unwrap_or(1)
}

/// Builds columns of whole seconds.
fn second_heat(selection: &IoSelection<'_>, cells: u64, rows: usize) -> HttpResult<HeatAnswer> {
    let (from, to) = selection.window_ns;
    let whole = (from / SECOND * SECOND, to.div_ceil(SECOND).saturating_mul(SECOND));
    let all = &selection.index.maps.seconds;
    let (seconds, wide) = ((whole.1 - whole.0) / SECOND, all.step_ns().unwrap_or(1) / SECOND);
    let is_fine =
        wide == 1 || seconds / wide >= cells.min(CELLS_ENOUGH / 8) || selection.has_many_ios();
    let seconds_by_pair = match selection.pair_filter() {
        Some(passing) if selection.is_slow_to_read() => selection.index.by_pair.seconds(passing),
        _ => None,
    };
    let found;
    let cube = if selection.is_unfiltered() && is_fine {
        all
    } else {
        found = match seconds_by_pair {
            Some(cube) => cube,
            None => {
                let mut fold = MapFold::for_seconds(whole.0..whole.1, cells);
                selection.fold(whole, &mut fold)?;
                fold.cube.finish()
            }
        };
        &found
    };
    let width_ns = cube.step_ns().unwrap_or(SECOND);
    let axis = axis(whole, cells, width_ns, width_ns);
    let parts_per_row = divisor(PARTS, rows);
    let rows = PARTS / parts_per_row;
    let edges = (0..=rows as u64).map(|row| SECOND * row / rows as u64).collect();
    let mut heat = HeatAnswer::new("subsecond", axis, edges);
    let begin = heat.from;
    let end = begin.saturating_add(axis.width_ns.saturating_mul(axis.columns as u64));
    for (at, _, row, count) in counts(cube, (begin, end), &axis, parts_per_row) {
        heat.add(at, row, count);
    }
    Ok(heat)
}
