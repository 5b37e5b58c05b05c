//! Writes events as a trace file, row group by row group.

use super::names::{Names, ROWS_AT_ONCE};
use super::output::{About, Output};
use crate::batch::{Batch, SortSpace};
use crate::error::TraceError;
use crate::schema::{Field, NAMES, NARROW, WIDE, schema};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnPath;
use std::io::Write;
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
    output: Output<W>,
    /// Column by column: each is put in order and written by itself, and one
    /// alone fits a processor's cache.
    pending: Batch,
    space: SortSpace,
    /// Those of each column of names.
    names: [Names; NAMES],
    fields: Vec<Field>,
    rows_per_group: usize,
    rows: u64,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a file with the conditions that are known so far.
    ///
    /// # Errors
    /// Where the sink cannot be written.
    pub fn new(sink: W, conditions: &CaptureConditions) -> Result<Self, TraceError> {
        let fields = Field::of_file(conditions);
        let schema = schema(&fields)?;
        let output = Output::begin(sink, schema, properties(conditions)?, conditions)?;
        Ok(Writer {
            output,
            pending: Batch::default(),
            space: SortSpace::default(),
            names: Default::default(),
            fields,
            rows_per_group: ROWS_PER_GROUP,
            rows: 0,
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
        self.output.update(conditions)
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
        let ios = self.pending.len() as u64;
        let span_ns = (self.pending.issued_ns(0), self.pending.issued_ns(self.pending.len() - 1));
        let (pending, names, fields) = (&self.pending, &mut self.names, &self.fields);
        self.output.row_group(About { span_ns, ios }, |group| {
            write_columns(group, (pending, fields), names)
        })?;
        self.rows += ios;
        self.pending.clear();
        Ok(())
    }

    /// Events given so far.
    pub fn rows(&self) -> u64 {
        self.rows + self.pending.len() as u64
    }

    /// Bytes of the file so far, without what is still in memory.
    pub fn bytes_written(&self) -> u64 {
        self.output.bytes_written()
    }

    /// Ends the file with the final conditions and gives the sink back.
    ///
    /// # Errors
    /// Where the sink cannot be written.
    pub fn finish(mut self, conditions: CaptureConditions) -> Result<W, TraceError> {
        self.flush()?;
        self.output.finish(&conditions)
    }
}

fn write_columns<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    (pending, fields): (&Batch, &[Field]),
    names: &mut [Names; NAMES],
) -> parquet::errors::Result<()> {
    for field in fields {
        let Some(mut column) = group.next_column()? else { break };
        match field.bits() {
            0 => {
                let at = field.index() - WIDE - NARROW;
                names[at].write(&pending.names[at], column.typed::<ByteArrayType>())?;
            }
            64 => {
                let values = &pending.wide[field.index()];
                let absent = field.when_absent().cast_signed();
                write::<Int64Type>(&mut column, values, field.nullable().then_some(absent))?;
            }
            _ => {
                let values = &pending.narrow[field.index() - WIDE];
                write::<Int32Type>(&mut column, values, field.nullable().then_some(0))?;
            }
        }
        column.close()?;
    }
    Ok(())
}

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
