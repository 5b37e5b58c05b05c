//! What a file says of itself, in its footer or in its recovery blocks, and
//! whole columns of it.

use super::reader::guarded;
use super::recovery::{self, Recovery};
use super::schema::{KEY_FINAL, KEY_START};
use super::source::{Held, Source};
use crate::error::TraceError;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::io::{Read, Seek};
use std::sync::Arc;
use steadfast_domain::CaptureConditions;

/// What a file says of itself at its end, or in its recovery blocks.
pub(crate) struct Footer {
    pub groups: Vec<RowGroupMetaData>,
    pub conditions: Option<CaptureConditions>,
    pub start: Option<CaptureConditions>,
    pub recovery: Option<Recovery>,
}

/// Reads the footer, or what recovery blocks tell where there is none.
pub(crate) fn footer<R: Read + Seek + Send + 'static>(
    source: &Source<R>,
) -> Result<Footer, TraceError> {
    if source.read(0, 4)? != b"PAR1" {
        return Err(TraceError::NotATrace("it does not begin with PAR1".into()));
    }
    match guarded("in its footer", || ParquetMetaDataReader::new().parse_and_finish(source)) {
        Ok(metadata) => {
            let keys = metadata.file_metadata().key_value_metadata();
            Ok(Footer {
                conditions: conditions_in(keys, KEY_FINAL)?,
                start: conditions_in(keys, KEY_START)?,
                groups: metadata.row_groups().to_vec(),
                recovery: None,
            })
        }
        Err(why) => {
            let found =
                recovery::search(source)?.ok_or_else(|| TraceError::NotATrace(why.to_string()))?;
            Ok(Footer {
                conditions: found.conditions.or_else(|| found.start.clone()),
                start: found.start,
                groups: found.groups,
                recovery: Some(found.account),
            })
        }
    }
}

/// All values of a column of 64-bit integers that is never null.
pub(crate) fn wide_column<R: Read + Seek + Send + 'static>(
    source: &Source<R>,
    group: &RowGroupMetaData,
    name: &str,
) -> Result<Vec<i64>, TraceError> {
    column::<R, Int64Type>(source, group, name, |reader| match reader {
        ColumnReader::Int64ColumnReader(reader) => Some(reader),
        _ => None,
    })
}

/// All values of a column of texts that is never null.
pub(crate) fn text_column<R: Read + Seek + Send + 'static>(
    source: &Source<R>,
    group: &RowGroupMetaData,
    name: &str,
) -> Result<Vec<ByteArray>, TraceError> {
    column::<R, ByteArrayType>(source, group, name, |reader| match reader {
        ColumnReader::ByteArrayColumnReader(reader) => Some(reader),
        _ => None,
    })
}

fn column<R: Read + Seek + Send + 'static, T: DataType>(
    source: &Source<R>,
    group: &RowGroupMetaData,
    name: &str,
    typed: fn(ColumnReader) -> Option<ColumnReaderImpl<T>>,
) -> Result<Vec<T::T>, TraceError> {
    let place = format!("in column {name}");
    let column = group.columns().iter().find(|column| column.column_path().string() == name);
    let Some(column) = column else {
        return Err(TraceError::damaged("in a row group", format!("column {name} is missing")));
    };
    let rows = usize::try_from(group.num_rows()).ok().filter(|rows| *rows <= u32::MAX as usize);
    let rows =
        rows.ok_or_else(|| TraceError::damaged(&place, "its number of rows is impossible"))?;
    let (start, length) = guarded(&place, || Ok(column.byte_range()))?;
    if start.checked_add(length).is_none_or(|end| end > source.length()) {
        return Err(TraceError::damaged(place, "it lies outside the file"));
    }
    let values = guarded(&place, || {
        let held = Held::new(source, start, usize::try_from(length)?)?;
        let pages = Box::new(SerializedPageReader::new(Arc::new(held), column, rows, None)?);
        let reader = typed(get_column_reader(column.column_descr_ptr(), pages));
        let mut reader =
            reader.ok_or_else(|| ParquetError::General("it is of another type".into()))?;
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        reader.read_records(rows, Some(&mut levels), None, &mut values)?;
        Ok(values)
    })?;
    let missing = rows - values.len().min(rows);
    if missing > 0 {
        return Err(TraceError::damaged(place, format!("{missing} rows are missing")));
    }
    Ok(values)
}

fn conditions_in(
    keys: Option<&Vec<KeyValue>>,
    key: &str,
) -> Result<Option<CaptureConditions>, TraceError> {
    let value = keys.into_iter().flatten().find(|entry| entry.key == key);
    let Some(text) = value.and_then(|entry| entry.value.as_ref()) else { return Ok(None) };
    serde_json::from_str(text)
        .map(Some)
        .map_err(|error| TraceError::damaged(format!("in its metadata {key}"), error))
}
