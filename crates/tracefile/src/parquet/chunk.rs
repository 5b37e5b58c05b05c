//! Reads whole columns of a row group.

use super::column::{NameColumn, NumberColumn, RowsRead, read_narrow};
use super::guard::guarded;
use super::packed::{PackedPages, PageMemory};
use super::source::{HeldBytes, SharedMedium};
use crate::error::TraceError;
use parquet::column::reader::get_column_reader;
use parquet::data_type::{DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use std::sync::Arc;
use steadfast_domain::io_event::CommandName;

/// The lists of a column. A null is an empty list.
pub(crate) struct Lists<T> {
    /// Number of elements, by row.
    pub lengths: Vec<usize>,
    /// Elements of all rows.
    pub values: Vec<T>,
}

/// Reads a column of `rows` numbers of 64 bits, with `absent` for a null.
pub(crate) fn wide_numbers(
    source: &SharedMedium,
    chunk: &ColumnChunkMetaData,
    rows: usize,
    absent: i64,
) -> Result<Vec<i64>, TraceError> {
    whole_column(source, chunk, rows, |pages, numbers| {
        NumberColumn::<Int64Type>::new(chunk, pages)?.read(rows, numbers, absent)
    })
}

/// Reads a column of `rows` numbers of 32 bits, with `absent` for a null.
pub(crate) fn narrow_numbers(
    source: &SharedMedium,
    chunk: &ColumnChunkMetaData,
    rows: usize,
    absent: i32,
) -> Result<Vec<i32>, TraceError> {
    whole_column(source, chunk, rows, |pages, numbers| {
        read_narrow(chunk, pages, rows, numbers, absent)
    })
}

/// Reads a column of `rows` names, with an empty name for a null.
pub(crate) fn names(
    source: &SharedMedium,
    chunk: &ColumnChunkMetaData,
    rows: usize,
) -> Result<Vec<CommandName>, TraceError> {
    whole_column(source, chunk, rows, |pages, names| {
        NameColumn::new(chunk, pages)?.read(rows, names)
    })
}

fn whole_column<T>(
    source: &SharedMedium,
    chunk: &ColumnChunkMetaData,
    rows: usize,
    read: impl FnOnce(PackedPages, &mut Vec<T>) -> parquet::errors::Result<RowsRead>,
) -> Result<Vec<T>, TraceError> {
    let (place, mut values) = (place(chunk), Vec::new());
    let read = guarded(&place, || read(open(source, chunk, rows)?, &mut values))?;
    if read.rows < rows {
        return Err(TraceError::damaged(place, format!("{} rows are missing", rows - read.rows)));
    }
    Ok(values)
}

/// Reads a column of `rows` lists or nullable values with at most `entries_max` entries.
pub(crate) fn lists<T: DataType>(
    source: &SharedMedium,
    chunk: &ColumnChunkMetaData,
    rows: usize,
    entries_max: usize,
) -> Result<Lists<T::T>, TraceError> {
    let place = place(chunk);
    let descriptor = chunk.column_descr_ptr();
    let (mut values, mut known, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    guarded(&place, || {
        let pages = open(source, chunk, entries_max)?;
        let reader = get_column_reader(Arc::clone(&descriptor), Box::new(pages));
        let reader = T::get_column_reader(reader);
        let mut reader =
            reader.ok_or_else(|| ParquetError::General("it has another type".into()))?;
        let mut left = rows;
        while left > 0 {
            let (known, repeated) = (Some(&mut known), Some(&mut repeated));
            let (found, ..) = reader.read_records(left, known, repeated, &mut values)?;
            if found == 0 {
                break;
            }
            left -= found;
        }
        Ok(())
    })?;
    // The library gives no levels for columns without nulls or lists.
    let present = descriptor.max_def_level();
    if present == 0 {
        known = vec![0; values.len()];
    }
    repeated.resize(known.len(), 0);
    let (mut lengths, mut total) = (Vec::with_capacity(rows), 0);
    for (level, repetition) in known.into_iter().zip(repeated) {
        if repetition == 0 || lengths.is_empty() {
            lengths.push(0);
        }
        if let Some(last) = lengths.last_mut().filter(|_| level == present) {
            *last += 1;
            total += 1;
        }
    }
    if lengths.len() == rows && total == values.len() {
        Ok(Lists { lengths, values })
    } else {
        let missing = rows.abs_diff(lengths.len()).max(1);
        Err(TraceError::damaged(place, format!("{missing} rows are missing")))
    }
}

fn place(chunk: &ColumnChunkMetaData) -> String {
    format!("in column {}", chunk.column_path().parts().first().map_or("", String::as_str))
}

fn open(
    source: &SharedMedium,
    chunk: &ColumnChunkMetaData,
    entries_max: usize,
) -> parquet::errors::Result<PackedPages> {
    let (start, length) = chunk.byte_range();
    if start.checked_add(length).is_none_or(|end| end > source.length) {
        return Err(ParquetError::General("it lies outside the file".into()));
    }
    let held = HeldBytes::new(source, start, usize::try_from(length)?)?;
    PackedPages::open(Arc::new(held), chunk, entries_max, PageMemory::new())
}
