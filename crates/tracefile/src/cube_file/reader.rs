//! Reads the rows of a cube file, row group by row group.

use super::cell::{BusyInStep, CubeCell, RangeHits};
use super::columns::{
    CUBE_COLUMNS, CubeColumn, CubeRow, CubeRowKind, NULL_KEY, RESPONSE_BUCKET, Store, element_of,
};
use super::{BUCKETS_PER_GROUP, ROWS_PER_GROUP, WIDTH_NS};
use crate::error::TraceError;
use crate::parquet::chunk::{self, Lists};
use crate::parquet::{Damage, FoundGroup, HeldBytes, RowGroupExtent, SharedMedium};
use parquet::data_type::{BoolType, Int32Type, Int64Type};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use steadfast_domain::{CaptureConditions, FineHistogram};

/// Maximum number of list entries in a row group; a cell may exceed the writer's limit.
const ENTRIES_MAX: usize = BUCKETS_PER_GROUP + 2 * FineHistogram::LEN + ROWS_PER_GROUP;

/// The row groups of a cube file, or some of them.
pub struct CubeFile {
    source: SharedMedium,
    groups: Vec<FoundGroup>,
    step_ns: u64,
}

/// The rows of a row group. Times count from the origin of the file's steps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CubeRows {
    /// Sums by step.
    pub cells: Vec<CubeCell>,
    /// Busy time by step, device and layer.
    pub busy: Vec<BusyInStep>,
    /// I/Os of LBA ranges by step and device.
    pub ranges: Vec<RangeHits>,
}

impl CubeFile {
    /// Creates a reader of the row groups of a file with these conditions. Row groups that do not
    /// match their checksum are left out and added to `damaged`.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if reading fails, [`TraceError::NotATrace`] if the step width is
    /// missing, [`TraceError::Damaged`] if it is impossible, or [`TraceError::Unsuitable`] for a
    /// file of an unreleased version.
    pub fn new(
        source: SharedMedium,
        groups: Vec<FoundGroup>,
        conditions: Option<&CaptureConditions>,
        damaged: &mut Vec<Damage>,
    ) -> Result<Self, TraceError> {
        let Some(step_ns) = conditions.and_then(|conditions| conditions.step_ns) else {
            return Err(TraceError::NotATrace("the width of its steps is missing".into()));
        };
        if !WIDTH_NS.contains(&step_ns) {
            let what = format!("a capture step of {step_ns} ns");
            return Err(TraceError::damaged("in its conditions", what));
        }
        let mut intact = Vec::new();
        for (number, group) in groups.into_iter().enumerate() {
            match &group.sum {
                Some(sum) if !sum.is_intact(&source)? => damaged.push(sum.damage(0, number)),
                sum if !has_column(&group.metadata, &element_of(RESPONSE_BUCKET))
                    || sum.is_some() && is_nullable(&group.metadata, "step") =>
                {
                    return Err(TraceError::unreleased());
                }
                _ => intact.push(group),
            }
        }
        Ok(CubeFile { source, groups: intact, step_ns })
    }

    /// Returns the width of a step, in nanoseconds.
    pub fn step_ns(&self) -> u64 {
        self.step_ns
    }

    /// Returns the number of row groups.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Returns the time and the I/Os of a row group, or `None` if the file does not record them.
    pub fn extent(&self, number: usize) -> Option<RowGroupExtent> {
        let sum = self.groups.get(number)?.sum.as_ref()?;
        Some(RowGroupExtent { span_ns: sum.span_ns, ios: sum.ios })
    }

    /// Returns true if every row group has a checksum.
    pub fn has_checksums(&self) -> bool {
        self.groups.iter().all(|group| group.sum.is_some())
    }

    /// Splits off the first row groups.
    pub fn split_first(&mut self, groups: usize) -> CubeFile {
        let rest = self.groups.split_off(groups.min(self.groups.len()));
        let first = std::mem::replace(&mut self.groups, rest);
        CubeFile { source: self.source.clone(), groups: first, step_ns: self.step_ns }
    }

    /// Reads the rows of a row group.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if reading fails, or [`TraceError::Damaged`] if the row group
    /// contains impossible values.
    pub fn read(&self, number: usize) -> Result<CubeRows, TraceError> {
        let Some(FoundGroup { metadata, .. }) = self.groups.get(number) else {
            return Ok(CubeRows::default());
        };
        let count = usize::try_from(metadata.num_rows()).ok();
        let count = count.filter(|rows| *rows <= ROWS_PER_GROUP).ok_or_else(|| {
            let rows = metadata.num_rows();
            let what = format!("{rows} rows; there are at most {ROWS_PER_GROUP}");
            TraceError::damaged("in a row group", what)
        })?;
        let mut rows = vec![CubeRow::default(); count];
        for column in &CUBE_COLUMNS {
            if let Some(chunk) = column_of(metadata, &column.path()) {
                self.read_column(metadata, column, chunk, &mut rows)?;
            } else if column.is_indispensable() {
                let what = format!("column {} is missing", column.name);
                return Err(TraceError::damaged("in a row group", what));
            }
        }
        let has_depth_counts = has_column(metadata, "depths");
        let has_times = has_column(metadata, "first_ns");
        let mut found = CubeRows::default();
        for mut row in rows {
            if !has_depth_counts && row.cell.depths.sum > 0 {
                row.cell.depths.count = row.cell.ios;
            }
            if !has_times {
                row.cell.span_ns = (0, self.step_ns - 1);
            }
            found.push(row, self.step_ns)?;
        }
        Ok(found)
    }

    fn read_column(
        &self,
        group: &RowGroupMetaData,
        column: &CubeColumn,
        chunk: &ColumnChunkMetaData,
        rows: &mut [CubeRow],
    ) -> Result<(), TraceError> {
        let (source, count) = (&self.source, rows.len());
        match column.store {
            Store::Number { bits: 64, set, .. } => {
                let values = chunk::wide_numbers(source, chunk, count, 0)?;
                let values = values.into_iter().map(i64::cast_unsigned);
                set_numbers(column.name, set, rows, values)
            }
            Store::Number { set, .. } => {
                let is_key = matches!(column.name, "op" | "range");
                let absent = if is_key { NULL_KEY as u32 as i32 } else { 0 };
                let values = chunk::narrow_numbers(source, chunk, count, absent)?;
                let values = values.into_iter().map(|value| u64::from(value.cast_unsigned()));
                set_numbers(column.name, set, rows, values)
            }
            Store::Sequential => {
                let found = chunk::lists::<BoolType>(source, chunk, count, count)?;
                let mut values = found.values.into_iter();
                for (row, length) in rows.iter_mut().zip(found.lengths) {
                    row.cell.sequential = length > 0 && values.next().unwrap_or_default();
                }
                Ok(())
            }
            Store::Name { set, .. } => {
                let names = chunk::names(source, chunk, count)?;
                rows.iter_mut().zip(names).for_each(|(row, name)| set(&mut row.cell, name));
                Ok(())
            }
            Store::Counts { set, buckets, .. } => {
                let counts = chunk::lists::<Int64Type>(source, chunk, count, ENTRIES_MAX)?;
                let chunk = column_of(group, &element_of(buckets)).ok_or_else(|| {
                    let what = format!("column {buckets} is missing");
                    TraceError::damaged("in a row group", what)
                })?;
                let indexes = chunk::lists::<Int32Type>(source, chunk, count, ENTRIES_MAX)?;
                if counts.lengths != indexes.lengths {
                    let what = "lists of different lengths";
                    return Err(TraceError::damaged(in_column(column.name), what));
                }
                set_histograms(column.name, rows, indexes, counts, set)
            }
            Store::Buckets { .. } | Store::Host | Store::Disk => Ok(()),
        }
    }

    /// Reads the bytes of a row group and verifies their checksum.
    pub(super) fn verified_bytes(
        &self,
        number: usize,
    ) -> Result<(&RowGroupMetaData, RowGroupExtent, HeldBytes), TraceError> {
        let damaged = || TraceError::damaged(format!("in row group {}", number + 1), "its bytes");
        let group = self.groups.get(number).ok_or_else(damaged)?;
        let sum = group.sum.as_ref().ok_or_else(damaged)?;
        let length = usize::try_from(sum.bytes).map_err(|_| damaged())?;
        let held = HeldBytes::new(&self.source, sum.at, length).map_err(|_| damaged())?;
        if !sum.matches(&held.bytes) {
            return Err(damaged());
        }
        Ok((&group.metadata, RowGroupExtent { span_ns: sum.span_ns, ios: sum.ios }, held))
    }
}

impl CubeRows {
    fn push(&mut self, row: CubeRow, step_ns: u64) -> Result<(), TraceError> {
        let CubeRow { kind, step, mut cell, busy_ns, hits } = row;
        let end_ns = step.checked_add(1).and_then(|steps| steps.checked_mul(step_ns));
        let end_ns =
            end_ns.ok_or_else(|| TraceError::damaged(in_column("step"), "an impossible step"))?;
        let begin_ns = end_ns - step_ns;
        let (device, layer) = (cell.device, cell.layer);
        match kind {
            CubeRowKind::Busy => self.busy.push(BusyInStep { begin_ns, device, layer, busy_ns }),
            CubeRowKind::Range => self.ranges.push(RangeHits { begin_ns, device, ..hits }),
            CubeRowKind::Cell => {
                let (first, last) = cell.span_ns;
                cell.begin_ns = begin_ns;
                cell.span_ns = (begin_ns.saturating_add(first), begin_ns.saturating_add(last));
                self.cells.push(cell);
            }
        }
        Ok(())
    }
}

fn in_column(name: &str) -> String {
    format!("in column {name}")
}

pub(super) fn column_of<'g>(
    group: &'g RowGroupMetaData,
    path: &str,
) -> Option<&'g ColumnChunkMetaData> {
    group.columns().iter().find(|column| column.column_path().string() == path)
}

fn has_column(group: &RowGroupMetaData, path: &str) -> bool {
    column_of(group, path).is_some()
}

/// Returns true if a column of our own files may have nulls, as in files of unreleased versions.
fn is_nullable(group: &RowGroupMetaData, path: &str) -> bool {
    column_of(group, path).is_some_and(|column| column.column_descr().max_def_level() > 0)
}

fn set_numbers(
    name: &str,
    set: fn(&mut CubeRow, u64) -> Option<()>,
    rows: &mut [CubeRow],
    values: impl Iterator<Item = u64>,
) -> Result<(), TraceError> {
    for (row, value) in rows.iter_mut().zip(values) {
        set(row, value).ok_or_else(|| {
            TraceError::damaged(in_column(name), format!("{value} is impossible"))
        })?;
    }
    Ok(())
}

/// Sets the histogram of each row from its buckets, which must ascend, and their counts.
fn set_histograms(
    name: &str,
    rows: &mut [CubeRow],
    indexes: Lists<i32>,
    counts: Lists<i64>,
    set: fn(&mut CubeCell) -> &mut super::Times,
) -> Result<(), TraceError> {
    let mut entries = indexes.values.into_iter().zip(counts.values);
    for (row, length) in rows.iter_mut().zip(indexes.lengths) {
        let buckets = &mut set(&mut row.cell).buckets;
        buckets.reserve_exact(length);
        for (index, count) in entries.by_ref().take(length) {
            let is_valid = |index: &u16| {
                usize::from(*index) < FineHistogram::LEN
                    && buckets.last().is_none_or(|(last, _)| last < index)
            };
            let index = u16::try_from(index).ok().filter(is_valid);
            let index = index
                .ok_or_else(|| TraceError::damaged(in_column(name), "an impossible histogram"))?;
            buckets.push((index, count.cast_unsigned()));
        }
    }
    Ok(())
}
