//! Writes events as a trace file, row group by row group.

use super::mark;
use super::names::Names;
use super::schema::{FORMAT_VERSION, Field, KEY_FINAL, KEY_FORMAT, KEY_START, WIDE, schema};
use crate::batch::{Batch, SortSpace};
use crate::error::TraceError;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::ColumnPath;
use std::io::Write;
use std::sync::Arc;
use steadfast_domain::{CaptureConditions, IoEvent};

/// Rows of a row group, unless [`Writer::flush`] ends it earlier: about 10 MB
/// in memory, 1 to 3 MB in the file.
pub const ROWS_PER_GROUP: usize = 1 << 17;

/// A trace file that is being written.
///
/// Events come in any order, as they complete. Each row group is sorted by
/// issue time, which makes it smaller and quicker to read. After a row group a
/// recovery block follows: whoever reads the file of a killed writer gets every
/// row group that was complete.
pub struct Writer<W: Write + Send> {
    parquet: SerializedFileWriter<W>,
    /// Column by column: each is put in order and written by itself, and one
    /// alone fits a processor's cache.
    pending: Batch,
    space: SortSpace,
    names: Names,
    rows_per_group: usize,
    rows: u64,
    start: String,
    /// Conditions that no recovery block holds yet.
    news: Option<String>,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file with the conditions that are known so far.
    ///
    /// # Errors
    /// Where the sink cannot be written.
    pub fn new(sink: W, conditions: &CaptureConditions) -> Result<Self, TraceError> {
        let start = conditions_json(conditions)?;
        let mut parquet =
            SerializedFileWriter::new(sink, schema()?, Arc::new(properties(conditions)?))
                .map_err(TraceError::Encode)?;
        mark::begin(&mut parquet, &start)?;
        Ok(Writer {
            parquet,
            pending: Batch::default(),
            space: SortSpace::default(),
            names: Names::default(),
            rows_per_group: ROWS_PER_GROUP,
            rows: 0,
            start,
            news: None,
        })
    }

    /// With another size of row groups; at least one row.
    pub fn with_rows_per_group(mut self, rows: usize) -> Self {
        self.rows_per_group = rows.max(1);
        self
    }

    /// Adds events.
    ///
    /// # Errors
    /// Where the sink cannot be written.
    pub fn write(&mut self, events: &[IoEvent]) -> Result<(), TraceError> {
        let mut rest = events;
        while !rest.is_empty() {
            let room = self.rows_per_group.saturating_sub(self.pending.len());
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.pending.extend(now);
            rest = later;
            if self.pending.len() >= self.rows_per_group {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Conditions as they are known by now (marks, losses): kept with the row
    /// groups from here on, for the case that the file is never finished.
    ///
    /// # Errors
    /// Where they cannot be written as JSON.
    pub fn update(&mut self, conditions: &CaptureConditions) -> Result<(), TraceError> {
        self.news = Some(conditions_json(conditions)?);
        Ok(())
    }

    /// Ends the row group: what was given so far survives a kill once the sink
    /// has it. A capture calls it every few seconds.
    ///
    /// # Errors
    /// Where the sink cannot be written.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.pending.sort(&mut self.space);
        self.write_group().map_err(TraceError::Encode)?;
        self.rows += self.pending.len() as u64;
        self.pending.clear();
        mark::row_group(&mut self.parquet, self.news.take())
    }

    /// Events given so far.
    pub fn rows(&self) -> u64 {
        self.rows + self.pending.len() as u64
    }

    /// Bytes of the file so far, without what is still in memory.
    pub fn bytes_written(&self) -> u64 {
        self.parquet.bytes_written() as u64
    }

    /// Ends the file with the final conditions and gives the sink back.
    ///
    /// # Errors
    /// Where the sink cannot be written.
    pub fn finish(mut self, conditions: CaptureConditions) -> Result<W, TraceError> {
        self.flush()?;
        for (key, value) in
            [(KEY_FORMAT, FORMAT_VERSION.to_owned()), (KEY_FINAL, conditions_json(&conditions)?)]
        {
            self.parquet.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        let start = std::mem::take(&mut self.start);
        self.parquet.append_key_value_metadata(KeyValue::new(KEY_START.to_owned(), start));
        self.parquet.into_inner().map_err(TraceError::Encode)
    }

    fn write_group(&mut self) -> parquet::errors::Result<()> {
        let mut group = self.parquet.next_row_group()?;
        for field in Field::ALL {
            let Some(mut column) = group.next_column()? else { break };
            match field.bits() {
                0 => self.names.write(&self.pending.commands, column.typed::<ByteArrayType>())?,
                64 => {
                    let values = &self.pending.wide[field.index()];
                    let absent = field.when_absent().cast_signed();
                    write::<Int64Type>(&mut column, values, field.nullable().then_some(absent))?;
                }
                _ => {
                    let values = &self.pending.narrow[field.index() - WIDE];
                    write::<Int32Type>(&mut column, values, field.nullable().then_some(0))?;
                }
            }
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

/// Rows that are handed to the encoder at once where they must be copied.
pub(super) const ROWS_AT_ONCE: usize = 1024;

/// Writes a column; `absent` is what stands for a null where it may have any.
fn write<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: &[T::T],
    absent: Option<T::T>,
) -> parquet::errors::Result<()> {
    let column = column.typed::<T>();
    let Some(absent) = absent else {
        return column.write_batch(values, None, None).map(drop);
    };
    let (mut levels, mut known) = (Vec::new(), Vec::new());
    for rows in values.chunks(ROWS_AT_ONCE) {
        levels.clear();
        levels.extend(rows.iter().map(|value| i16::from(*value != absent)));
        known.clear();
        known.extend(rows.iter().filter(|value| **value != absent).cloned());
        column.write_batch(&known, Some(&levels), None)?;
    }
    Ok(())
}

fn properties(conditions: &CaptureConditions) -> Result<WriterProperties, TraceError> {
    let level = ZstdLevel::try_new(1).map_err(TraceError::Encode)?;
    let mut properties = WriterProperties::builder()
        .set_created_by(conditions.software.clone())
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .set_data_page_row_count_limit(1 << 16);
    for field in Field::ALL {
        let path = ColumnPath::from(field.name());
        if !field.has_statistics() {
            properties =
                properties.set_column_statistics_enabled(path.clone(), EnabledStatistics::None);
        }
        if let Some(encoding) = field.encoding() {
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, encoding);
        }
    }
    Ok(properties.build())
}

pub(crate) fn conditions_json(conditions: &CaptureConditions) -> Result<String, TraceError> {
    serde_json::to_string(conditions)
        .map_err(|error| TraceError::Unsuitable(format!("the conditions are no JSON: {error}")))
}
