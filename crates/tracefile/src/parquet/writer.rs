//! Writes events as a trace file, row group by row group.

use super::names::{NameBuffers, ROWS_AT_ONCE};
use super::output::{RowGroupExtent, TraceOutput};
use crate::batch::{Batch, SortBuffers};
use crate::error::TraceError;
use crate::schema::{Field, Fields, NAMES, NARROW, WIDE, author, schema};
use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::{ColumnWriter, get_column_writer, get_typed_column_writer_mut};
use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, SchemaDescriptor};
use std::io::Write;
use std::sync::Arc;
use steadfast_domain::{CaptureConditions, IoEvent};

/// Rows per row group, unless [`TraceWriter::flush`] ends it earlier: about 10 MB in memory, 1 to
/// 3 MB in the file.
pub const ROWS_PER_GROUP: usize = 1 << 17;

/// A trace file that is being written.
///
/// Events come in any order, usually as they complete. Each row group is sorted by issue time,
/// which makes it smaller and faster to read. A recovery block follows every row group, so
/// that all complete row groups of a killed writer can be read.
///
/// Every method returns [`TraceError::Io`] or [`TraceError::Encode`] if writing fails, and
/// [`TraceError::Unsuitable`] if the conditions cannot be written as JSON.
pub struct TraceWriter<W: Write + Send> {
    output: TraceOutput<W>,
    /// Events as columns. Each column is sorted and written on its own, and a single one fits
    /// into the cache.
    pending: Batch,
    space: SortBuffers,
    /// Reused buffers of each column of names.
    names: [NameBuffers; NAMES],
    columns: FileColumns,
    rows_per_group: usize,
    rows: u64,
}

/// The columns of a file.
struct FileColumns {
    fields: Vec<Field>,
    descriptors: Vec<ColumnDescPtr>,
    /// Properties of columns that are not compressed.
    properties: WriterPropertiesPtr,
    /// Columns that are written uncompressed, because compression gains too little.
    uncompressed: Fields,
    /// Row groups since all columns were compressed.
    groups: usize,
}

/// Interval, in row groups, at which all columns are compressed again to measure the gain.
const TRIED_EVERY: usize = 16;

impl<W: Write + Send> TraceWriter<W> {
    /// Starts a file with the conditions known so far.
    pub fn new(sink: W, conditions: &CaptureConditions) -> Result<Self, TraceError> {
        let fields = Field::of_file(conditions);
        let schema = schema(&fields)?;
        let level = ZstdLevel::try_new(1).map_err(TraceError::Encode)?;
        let columns = FileColumns {
            descriptors: SchemaDescriptor::new(Arc::clone(&schema)).columns().to_vec(),
            fields,
            properties: Arc::new(properties(conditions, Compression::UNCOMPRESSED)),
            uncompressed: Fields::NONE,
            groups: 0,
        };
        let properties = properties(conditions, Compression::ZSTD(level));
        Ok(TraceWriter {
            output: TraceOutput::begin(sink, schema, properties, conditions)?,
            pending: Batch::default(),
            space: SortBuffers::default(),
            names: Default::default(),
            columns,
            rows_per_group: ROWS_PER_GROUP,
            rows: 0,
        })
    }

    /// Sets the number of rows per row group; at least one.
    pub fn with_rows_per_group(mut self, rows: usize) -> Self {
        self.rows_per_group = rows.max(1);
        self
    }

    /// Appends events.
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

    /// Updates the conditions (marks, losses). They are stored with the following row groups, in
    /// case the file is never finished.
    pub fn update(&mut self, conditions: &CaptureConditions) -> Result<(), TraceError> {
        self.output.update(conditions)
    }

    /// Ends the row group, so that the events given so far survive a kill once the sink has them.
    /// A capture calls this every few seconds.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.pending.sort(&mut self.space);
        let ios = self.pending.len() as u64;
        let span_ns = (self.pending.issued_ns(0), self.pending.issued_ns(self.pending.len() - 1));
        let (pending, names, columns) = (&self.pending, &mut self.names, &self.columns);
        self.output.row_group(RowGroupExtent { span_ns, ios }, |group| {
            columns.write(group, pending, names)
        })?;
        self.columns.measure_compression(self.output.last_columns());
        self.rows += ios;
        self.pending.clear();
        Ok(())
    }

    /// Returns the number of events given so far.
    pub fn rows(&self) -> u64 {
        self.rows + self.pending.len() as u64
    }

    /// Returns the size of the file so far in bytes, without the events still in memory.
    pub fn bytes_written(&self) -> u64 {
        self.output.bytes_written()
    }

    /// Finishes the file with the final conditions and returns the sink.
    pub fn finish(mut self, conditions: CaptureConditions) -> Result<W, TraceError> {
        self.flush()?;
        self.output.finish(&conditions, None)
    }
}

impl FileColumns {
    /// Writes a row group.
    fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        rows: &Batch,
        names: &mut [NameBuffers; NAMES],
    ) -> parquet::errors::Result<()> {
        for (field, descriptor) in self.fields.iter().zip(&self.descriptors) {
            if self.uncompressed.has(*field) {
                let mut chunk = TrackedWrite::new(Vec::new());
                let pages = Box::new(SerializedPageWriter::new(&mut chunk));
                let properties = Arc::clone(&self.properties);
                let mut column = get_column_writer(Arc::clone(descriptor), properties, pages);
                write_column(&mut column, *field, rows, names)?;
                let close = column.close()?;
                group.append_column(&Bytes::from(chunk.into_inner()?), close)?;
            } else if let Some(mut column) = group.next_column()? {
                write_column(column.untyped(), *field, rows, names)?;
                column.close()?;
            }
        }
        Ok(())
    }

    /// Measures the gain of compression in the row group written last. Much of a trace is noise,
    /// such as the last digits of times. Compressing that costs time on the captured machine,
    /// and again for every reader.
    fn measure_compression(&mut self, written: &[ColumnChunkMetaData]) {
        self.groups = (self.groups + 1) % TRIED_EVERY;
        if self.groups == 0 {
            self.uncompressed = Fields::NONE;
        }
        if self.groups == 1 {
            let gains_little = |chunk: &ColumnChunkMetaData| {
                chunk.compressed_size() > chunk.uncompressed_size() / 5 * 4
            };
            let columns = self.fields.iter().zip(written);
            let columns = columns.filter(|(_, chunk)| gains_little(chunk));
            let fields: Vec<Field> = columns.map(|(field, _)| *field).collect();
            self.uncompressed = Fields::new(&fields);
        }
    }
}

fn write_column(
    column: &mut ColumnWriter<'_>,
    field: Field,
    rows: &Batch,
    names: &mut [NameBuffers; NAMES],
) -> parquet::errors::Result<()> {
    match field.bits() {
        0 => {
            let at = field.index() - WIDE - NARROW;
            names[at].write(&rows.names[at], get_typed_column_writer_mut::<ByteArrayType>(column))
        }
        64 => {
            let values = &rows.wide[field.index()];
            let absent = field.when_absent().cast_signed();
            write::<Int64Type>(column, values, field.is_nullable().then_some(absent))
        }
        _ => {
            let values = &rows.narrow[field.index() - WIDE];
            write::<Int32Type>(column, values, field.is_nullable().then_some(0))
        }
    }
}

/// Writes a column. `absent` is the value that stands for a null, if the column is nullable.
fn write<T: DataType>(
    column: &mut ColumnWriter<'_>,
    values: &[T::T],
    absent: Option<T::T>,
) -> parquet::errors::Result<()> {
    let column = get_typed_column_writer_mut::<T>(column);
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

fn properties(conditions: &CaptureConditions, compression: Compression) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(author(conditions))
        .set_compression(compression)
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
    properties.build()
}
