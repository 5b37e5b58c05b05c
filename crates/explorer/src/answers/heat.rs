//! Heat maps: response time, queue depth, address and part of a second over time.

use crate::http_error::{HttpError, HttpResult};
use crate::index::CELLS_ENOUGH;
use crate::maps::{
    ADDRESS_RANGES, AddressRanges, ColumnAxis, FINE_RANGES, MapFold, PARTS_PER_SECOND, SECOND_NS,
    hit_key,
};
use crate::pair_numbers::Breakdowns;
use crate::query::QueryString;
use crate::selection::{IoSelection, axis};
use serde::Serialize;
use steadfast_analysis::{Cube, Filter};
use steadfast_domain::{CoarseHistogram, IoOp, QuarterHistogram};

const COLUMNS_DEFAULT: u64 = 512;
const COLUMNS_MAX: u64 = 4096;
const ROWS_DEFAULT: u64 = 128;
/// Buckets of response times in a quarter of an octave: 16 to 20 is the first quarter of the octave
/// from 16 to 32.
const BUCKETS_PER_QUARTER_OCTAVE: usize = CoarseHistogram::index(20) - CoarseHistogram::index(16);
/// Maximum number of values in an answer.
const VALUES_MAX: u64 = 1 << 21;
/// Number of columns from which on the map of the index is fine enough for issue times within the
/// second.
const SECOND_COLUMNS_ENOUGH: u64 = CELLS_ENOUGH / 8;

/// A heat map: counts column by column, the lowest row first.
#[derive(Debug, Serialize)]
pub struct HeatAnswer {
    kind: &'static str,
    /// Time at which the first column begins, in nanoseconds.
    from: u64,
    width_ns: u64,
    /// Number of columns; the API calls them cells.
    cells: usize,
    rows: usize,
    /// Lower edges of the rows, followed by the upper edge of the last.
    row_edges: Vec<u64>,
    counts: Vec<u64>,
}

impl HeatAnswer {
    /// Creates an answer without hits, whose rows lie between adjacent edges.
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
    let columns = query.within("cells", COLUMNS_DEFAULT, COLUMNS_MAX)?;
    let rows = query.within("rows", ROWS_DEFAULT, ADDRESS_RANGES as u64)?;
    if columns * rows > VALUES_MAX {
        let what = format!("{columns} columns of {rows} rows are more than {VALUES_MAX} values");
        return Err(HttpError::bad(what));
    }
    let rows = rows as usize;
    match query.one("kind")? {
        Some("rt") => bucket_heat(selection, columns, rows, BucketedQuantity::ResponseTime),
        Some("qd") => bucket_heat(selection, columns, rows, BucketedQuantity::QueueDepth),
        Some("lba") => address_heat(selection, query, columns, rows),
        Some("subsecond") => subsecond_heat(selection, columns, rows),
        _ => Err(HttpError::bad("'kind' must be rt, qd, lba or subsecond")),
    }
}

/// A quantity that is counted in buckets of a histogram.
#[derive(Clone, Copy, PartialEq)]
enum BucketedQuantity {
    ResponseTime,
    QueueDepth,
}

impl BucketedQuantity {
    fn kind(self) -> &'static str {
        match self {
            BucketedQuantity::ResponseTime => "rt",
            BucketedQuantity::QueueDepth => "qd",
        }
    }

    fn bounds(self, bucket: usize) -> (u64, u64) {
        match self {
            BucketedQuantity::ResponseTime => CoarseHistogram::bounds(bucket),
            BucketedQuantity::QueueDepth => QuarterHistogram::bounds(bucket),
        }
    }
}

/// A count of one bucket in one column.
struct BucketInColumn {
    column: usize,
    bucket: usize,
    count: u64,
}

/// Returns the heat map of response times or queue depths. Its rows are whole buckets, so every
/// count is exact.
fn bucket_heat(
    selection: &IoSelection<'_>,
    columns: u64,
    rows: usize,
    quantity: BucketedQuantity,
) -> HttpResult<HeatAnswer> {
    let window = selection.cell_window(columns, Breakdowns::default())?;
    let mut filled: Vec<BucketInColumn> = Vec::new();
    window.all().columns(window.cells.clone(), window.wide, |column, sums| {
        let counts = match quantity {
            BucketedQuantity::ResponseTime => sums.responses(),
            BucketedQuantity::QueueDepth => sums.depths(),
        };
        let counts = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.extend(counts.map(|(bucket, count)| BucketInColumn {
            column,
            bucket,
            count: *count,
        }));
    });
    // The kernel counts response times in quarters of an octave. A row must not split one. It counts
    // no queue depths.
    let granule = if selection.capture.has_kernel_sums() { BUCKETS_PER_QUARTER_OCTAVE } else { 1 };
    let lowest = filled.iter().map(|one| one.bucket).min();
    let highest = filled.iter().map(|one| one.bucket).max();
    let (Some(lowest), Some(highest)) = (lowest, highest) else {
        return Ok(HeatAnswer::new(quantity.kind(), window.axis, Vec::new()));
    };
    let low = lowest / granule * granule;
    let high = highest / granule * granule + granule - 1;
    let buckets_per_row = (high - low + 1).div_ceil(rows).next_multiple_of(granule);
    let lower = (low..=high).step_by(buckets_per_row).map(|bucket| quantity.bounds(bucket).0);
    let edges = lower.chain([quantity.bounds(high).1.saturating_add(1)]).collect();
    let mut heat = HeatAnswer::new(quantity.kind(), window.axis, edges);
    for one in filled {
        heat.add(one.column, (one.bucket - low) / buckets_per_row, one.count);
    }
    Ok(heat)
}

/// Returns the heat map of addresses, of reads, writes or both. An I/O hits every range that it
/// touches.
fn address_heat(
    selection: &IoSelection<'_>,
    query: &QueryString,
    columns: u64,
    rows: usize,
) -> HttpResult<HeatAnswer> {
    selection.check_one_device()?;
    let ops = &selection.filter.ops;
    let is_wanted = |op: IoOp| ops.is_empty() || ops.contains(&op);
    let keys = [IoOp::Read, IoOp::Write].into_iter().filter(|op| is_wanted(*op)).map(hit_key);
    let keys: Vec<u32> = keys.collect();
    let maps = &selection.index.maps;
    let range = (query.number("low")?, query.number("high")?);
    let fine = maps.addresses.combined(FINE_RANGES);
    // Keeps a cube that is computed here as long as the reference to it.
    let computed;
    let (cube, addresses) = if range != (None, None) {
        computed = hits_of_ios(selection, range, columns, rows)?;
        (&computed.0, computed.1)
    } else if is_answered_by_index(selection) {
        // The map of many ranges has wide columns, that of narrow columns few ranges.
        let (from, to) = selection.window_ns;
        let has_few_columns = (to - from) / step_ns(&maps.hits) < columns;
        if has_few_columns && rows <= FINE_RANGES {
            (&maps.fine, fine)
        } else {
            (&maps.hits, maps.addresses)
        }
    } else {
        computed = match hits_by_pair(selection, rows) {
            Some(cube) => (cube, fine),
            // In all ranges, which are combined into rows below, as those of the index are.
            None => hits_of_ios(selection, range, columns, ADDRESS_RANGES)?,
        };
        (&computed.0, computed.1)
    };
    let axis = axis_of_steps(selection.window_ns, columns, step_ns(cube));
    let ranges_per_row = divisor(addresses.ranges, rows);
    let rows = addresses.ranges / ranges_per_row;
    let edges = (0..=rows).map(|row| addresses.begin(row * ranges_per_row)).collect();
    let mut heat = HeatAnswer::new("lba", axis, edges);
    for one in counts(cube, selection.window_ns, &axis, ranges_per_row) {
        if keys.contains(&one.key) {
            heat.add(one.column, one.row, one.count);
        }
    }
    Ok(heat)
}

/// Returns whether the maps of the index suffice. A filter by operation does not matter: the maps
/// count reads and writes separately.
fn is_answered_by_index(selection: &IoSelection<'_>) -> bool {
    let any_op = selection.with_filter(Filter { ops: Vec::new(), ..selection.filter.clone() });
    any_op.is_unfiltered() && any_op.index_suffices()
}

/// Returns the hits of the selected pairs of I/O stream and process; `None` if the index does not
/// have them, if it has fewer ranges than `rows`, or if reading the I/Os is quick.
fn hits_by_pair(selection: &IoSelection<'_>, rows: usize) -> Option<Cube<()>> {
    if rows > FINE_RANGES || !selection.is_slow_to_read() {
        return None;
    }
    selection.index.by_pair.hits(selection.pair_filter()?)
}

/// Returns the hits between two addresses, by reading the I/Os.
fn hits_of_ios(
    selection: &IoSelection<'_>,
    range: (Option<u64>, Option<u64>),
    columns: u64,
    rows: usize,
) -> HttpResult<(Cube<()>, AddressRanges)> {
    let device = &selection.index.maps.addresses;
    let low = range.0.unwrap_or(device.low);
    let high = range.1.unwrap_or(device.begin(device.ranges));
    if low >= high {
        return Err(HttpError::bad(format!("no address lies between {low} and {high}")));
    }
    let axis = selection.axis(columns);
    let addresses = AddressRanges::new(low..high, rows);
    let mut fold = MapFold::for_addresses(axis, addresses);
    selection.fold(selection.window_ns, &mut fold)?;
    Ok((fold.cube.finish(), addresses))
}

/// Returns the width of a cube's steps. A cube that was abandoned has none, and no counts: then any
/// width will do.
fn step_ns(cube: &Cube<()>) -> u64 {
    cube.step_ns().unwrap_or(1)
}

/// Divides a window into at most `columns` columns that consist of whole steps.
fn axis_of_steps(window_ns: (u64, u64), columns: u64, step_ns: u64) -> ColumnAxis {
    axis(window_ns, columns, step_ns, step_ns)
}

/// A count of a cube, by its place in a heat map.
struct HeatCount {
    column: usize,
    key: u32,
    row: usize,
    count: u64,
}

/// Iterates over the counts of a window of a cube.
fn counts(
    cube: &Cube<()>,
    window_ns: (u64, u64),
    axis: &ColumnAxis,
    buckets_per_row: usize,
) -> impl Iterator<Item = HeatCount> {
    let steps_per_column = axis.width_ns / step_ns(cube);
    cube.window(window_ns).iter().flat_map(move |cell| {
        let column = (cube.first() + u64::from(cell.step)) / steps_per_column - axis.first;
        cube.counts(cell).map(move |(bucket, count)| HeatCount {
            column: column as usize,
            key: cell.key,
            row: bucket / buckets_per_row,
            count: count.into(),
        })
    })
}

/// Returns the smallest divisor of `total` that leaves at most `parts_max` parts.
fn divisor(total: usize, parts_max: usize) -> usize {
    let fits = |by: &usize| total.is_multiple_of(*by) && total / by <= parts_max.max(1);
    (1..=total).find(fits).unwrap_or(1)
}

/// Returns the heat map of issue times within the second. Its columns are whole seconds.
fn subsecond_heat(
    selection: &IoSelection<'_>,
    columns: u64,
    rows: usize,
) -> HttpResult<HeatAnswer> {
    let (from, to) = selection.window_ns;
    let begin_ns = from / SECOND_NS * SECOND_NS;
    let end_ns = to.div_ceil(SECOND_NS).saturating_mul(SECOND_NS);
    let of_index = &selection.index.maps.seconds;
    let seconds = (end_ns - begin_ns) / SECOND_NS;
    let is_fine = of_index.step_ns().map(|step_ns| step_ns / SECOND_NS).is_some_and(|step| {
        step == 1
            || seconds / step >= columns.min(SECOND_COLUMNS_ENOUGH)
            || selection.has_many_ios()
    });
    let computed;
    let cube = if selection.is_unfiltered() && is_fine {
        of_index
    } else {
        let by_pair = match selection.pair_filter() {
            Some(pairs) if selection.is_slow_to_read() => selection.index.by_pair.seconds(pairs),
            _ => None,
        };
        computed = match by_pair {
            Some(cube) => cube,
            None => {
                let mut fold = MapFold::for_seconds(begin_ns..end_ns, columns);
                selection.fold((begin_ns, end_ns), &mut fold)?;
                fold.cube.finish()
            }
        };
        &computed
    };
    let step_ns = cube.step_ns().unwrap_or(SECOND_NS);
    let axis = axis_of_steps((begin_ns, end_ns), columns, step_ns);
    let parts_per_row = divisor(PARTS_PER_SECOND, rows);
    let rows = PARTS_PER_SECOND / parts_per_row;
    let edges = (0..=rows as u64).map(|row| SECOND_NS * row / rows as u64).collect();
    let mut heat = HeatAnswer::new("subsecond", axis, edges);
    let first_ns = heat.from;
    let last_ns = first_ns.saturating_add(axis.width_ns.saturating_mul(axis.columns as u64));
    for one in counts(cube, (first_ns, last_ns), &axis, parts_per_row) {
        heat.add(one.column, one.row, one.count);
    }
    Ok(heat)
}
