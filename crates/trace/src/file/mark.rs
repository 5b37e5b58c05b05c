//! Recovery blocks as a writer sets them: one before the first row group, one
//! after every row group.

use super::block::{self, Kind};
use super::schema::KEY_FINAL;
use crate::error::TraceError;
use parquet::file::metadata::{FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter};
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;

/// Bytes of Parquet's length and magic number after its metadata.
const FOOTER_END: usize = 8;

/// Writes the conditions with which a file begins.
pub(crate) fn begin<W: Write + Send>(
    parquet: &mut SerializedFileWriter<W>,
    conditions: &str,
) -> Result<(), TraceError> {
    parquet.write_all(&block::encode(Kind::Conditions, conditions.as_bytes()))?;
    parquet.flush()?;
    Ok(())
}

/// Writes where the last row group is, and the conditions where they changed.
pub(crate) fn row_group<W: Write + Send>(
    parquet: &mut SerializedFileWriter<W>,
    news: Option<String>,
) -> Result<(), TraceError> {
    let Some(group) = parquet.flushed_row_groups().last().cloned() else { return Ok(()) };
    let news = news.map(|text| vec![KeyValue::new(KEY_FINAL.to_owned(), text)]);
    let file = FileMetaData::new(2, group.num_rows(), None, news, group.schema_descr_ptr(), None);
    let metadata = ParquetMetaData::new(file, vec![group]);
    let mut payload = Vec::new();
    ParquetMetaDataWriter::new(&mut payload, &metadata).finish().map_err(TraceError::Encode)?;
    payload.truncate(payload.len().saturating_sub(FOOTER_END));
    parquet.write_all(&block::encode(Kind::RowGroup, &payload))?;
    parquet.flush()?;
    Ok(())
}
