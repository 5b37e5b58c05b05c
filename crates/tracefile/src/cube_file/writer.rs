//! Writes a cube file, row group by row group.

use super::cell::{BusyInStep, CubeCell, RangeHits};
use super::columns::{CubeColumn, CubeColumns, CubeRow, CubeRowKind, Store, columns_of, schema};
use super::reader::{CubeFile, column_of};
use super::{BUCKETS_PER_GROUP, ROWS_PER_GROUP, fold_conditions};
use crate::error::TraceError;
use crate::parquet::{ChecksumSink, RowGroupExtent, TraceOutput};
use crate::schema::author;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::ColumnPath;
use rustc_hash::FxHashMap;
use std::io::Write;
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::CommandName;

/// A cube file that is being written. Rows keep their order. A row group ends when it is full, or
/// at [`Self::flush`]. Every method returns [`TraceError::Io`] or [`TraceError::Encode`] if writing
/// fails, and [`TraceError::Unsuitable`] if the conditions cannot be written as JSON.
pub struct CubeWriter<W: Write + Send> {
    output: TraceOutput<W>,
    columns: Vec<CubeColumn>,
    properties: WriterPropertiesPtr,
    step_ns: u64,
    names: DeviceNames,
    rows: Vec<CubeRow>,
    /// Histogram buckets in the waiting rows.
    buckets: usize,
}

/// The texts of the columns `host` and `disk`.
struct DeviceNames {
    host: ByteArray,
    disks: Vec<ByteArray>,
}

impl DeviceNames {
    fn from_conditions(conditions: &CaptureConditions) -> Self {
        DeviceNames {
            host: conditions.host.as_deref().unwrap_or_default().into(),
            disks: conditions.devices.iter().map(|device| device.name.as_str().into()).collect(),
        }
    }

    /// Returns the name of a device; empty if the conditions do not list it.
    fn disk(&self, device: u16) -> ByteArray {
        self.disks.get(usize::from(device)).cloned().unwrap_or_else(|| ByteArray::from(""))
    }
}

impl<W: Write + Send> CubeWriter<W> {
    /// Begins a file with the conditions known so far; their `step_ns` is the width of a step.
    pub fn new(
        sink: W,
        columns: CubeColumns,
        conditions: &CaptureConditions,
    ) -> Result<Self, TraceError> {
        let columns = columns_of(columns);
        let properties = properties(&columns, conditions)?;
        Ok(CubeWriter {
            output: TraceOutput::begin(sink, schema(&columns)?, properties.clone(), conditions)?,
            columns,
            properties: Arc::new(properties),
            step_ns: conditions.step_ns.unwrap_or(1).max(1),
            names: DeviceNames::from_conditions(conditions),
            rows: Vec::new(),
            buckets: 0,
        })
    }

    /// Begins a fold file, which is written whole or not at all. `conditions` are those of the capture
    /// whose cells are added; row groups of other captures can be appended.
    pub fn fold(
        sink: W,
        columns: CubeColumns,
        step_ns: u64,
        conditions: &CaptureConditions,
    ) -> Result<Self, TraceError> {
        let writer = Self::new(sink, columns, &fold_conditions(step_ns))?;
        let output = writer.output.without_blocks();
        Ok(CubeWriter { output, names: DeviceNames::from_conditions(conditions), ..writer })
    }

    /// Adds the sums of a cell.
    pub fn add(&mut self, mut cell: CubeCell) -> Result<(), TraceError> {
        let begin_ns = std::mem::take(&mut cell.begin_ns);
        let (first, last) = cell.span_ns;
        cell.span_ns = (first.saturating_sub(begin_ns), last.saturating_sub(begin_ns));
        self.push(begin_ns, CubeRow { cell, ..CubeRow::default() })
    }

    /// Adds the busy time of a device in a step.
    pub fn add_busy(&mut self, busy: BusyInStep) -> Result<(), TraceError> {
        let BusyInStep { begin_ns, device, layer, busy_ns } = busy;
        let cell = CubeCell { device, layer, ..CubeCell::default() };
        let row = CubeRow { kind: CubeRowKind::Busy, cell, busy_ns, ..CubeRow::default() };
        self.push(begin_ns, row)
    }

    /// Adds the I/Os of an LBA range in a step.
    pub fn add_range(&mut self, hits: RangeHits) -> Result<(), TraceError> {
        let cell = CubeCell { device: hits.device, ..CubeCell::default() };
        let row = CubeRow { kind: CubeRowKind::Range, cell, hits, ..CubeRow::default() };
        self.push(hits.begin_ns, row)
    }

    fn push(&mut self, begin_ns: u64, row: CubeRow) -> Result<(), TraceError> {
        self.buckets += row.cell.responses.buckets.len() + row.cell.queued.buckets.len();
        self.rows.push(CubeRow { step: begin_ns / self.step_ns, ..row });
        if self.rows.len() >= ROWS_PER_GROUP || self.buckets >= BUCKETS_PER_GROUP {
            self.flush()?;
        }
        Ok(())
    }

    /// Updates the conditions, for the case that the file is never finished.
    pub fn update(&mut self, conditions: &CaptureConditions) -> Result<(), TraceError> {
        self.names = DeviceNames::from_conditions(conditions);
        self.output.update(conditions)
    }

    /// Writes the waiting rows as a row group. They survive a kill once they reached the sink.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let extent = extent(&self.rows, self.step_ns);
        let (rows, columns, names) = (&self.rows, &self.columns, &self.names);
        self.output.row_group(extent, |group| write_columns(group, columns, rows, names))?;
        self.rows.clear();
        self.buckets = 0;
        Ok(())
    }

    /// Appends a row group of another file as it is, after checking its checksum. Columns that only
    /// this file has are null.
    ///
    /// # Errors
    /// Returns [`TraceError::Damaged`] if the row group does not match its checksum.
    pub fn append(&mut self, file: &CubeFile, number: usize) -> Result<(), TraceError> {
        self.flush()?;
        let (metadata, extent, bytes) = file.verified_bytes(number)?;
        let (columns, properties) = (&self.columns, &self.properties);
        let rows = usize::try_from(metadata.num_rows()).unwrap_or(0).min(ROWS_PER_GROUP);
        self.output.row_group(extent, |group| {
            for column in columns {
                if let Some(chunk) = column_of(metadata, &column.path()) {
                    group.append_column(&bytes, close_result(chunk, rows)?)?;
                } else {
                    let (nulls, chunk) = null_chunk(column, rows, properties)?;
                    group.append_column(&nulls, close_result(&chunk, rows)?)?;
                }
            }
            Ok(())
        })
    }

    /// Returns the size of the file so far, in bytes.
    pub fn bytes_written(&self) -> u64 {
        self.output.bytes_written()
    }

    /// Finishes the file with the final conditions and returns the sink.
    pub fn finish(mut self, conditions: &CaptureConditions) -> Result<W, TraceError> {
        self.flush()?;
        self.output.finish(conditions, None)
    }

    /// Finishes a fold file with the description of its captures and returns the sink.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if the description cannot be written as JSON.
    pub fn finish_fold(mut self, fold: &impl serde::Serialize) -> Result<W, TraceError> {
        self.flush()?;
        let text = serde_json::to_string(fold)
            .map_err(|error| TraceError::Unsuitable(format!("the fold is not JSON: {error}")))?;
        self.output.finish(&fold_conditions(self.step_ns), Some(text))
    }
}

fn extent(rows: &[CubeRow], step_ns: u64) -> RowGroupExtent {
    let steps = || rows.iter().map(|row| row.step);
    let (first, last) = (steps().min().unwrap_or(0), steps().max().unwrap_or(0));
    let end = last.saturating_add(1).saturating_mul(step_ns).saturating_sub(1);
    let ios = rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.cell.ios));
    RowGroupExtent { span_ns: (first.saturating_mul(step_ns), end), ios }
}

type Group<'g, W> = SerializedRowGroupWriter<'g, ChecksumSink<W>>;

fn write_columns<W: Write + Send>(
    group: &mut Group<'_, W>,
    columns: &[CubeColumn],
    rows: &[CubeRow],
    names: &DeviceNames,
) -> parquet::errors::Result<()> {
    let mut lists = ListLevels::default();
    for column in columns {
        let Some(mut open) = group.next_column()? else { break };
        let held: Vec<&CubeRow> = rows.iter().filter(|row| column.is_in(row.kind)).collect();
        let levels = definition_levels(column, rows);
        let levels = levels.as_deref();
        match column.store {
            Store::Number { bits: 64, get, .. } => {
                let values: Vec<i64> = held.iter().map(|row| get(row).cast_signed()).collect();
                open.typed::<Int64Type>().write_batch(&values, levels, None)
            }
            Store::Number { get, .. } => {
                let values: Vec<i32> = held.iter().map(|row| get(row) as u32 as i32).collect();
                open.typed::<Int32Type>().write_batch(&values, levels, None)
            }
            Store::Sequential => {
                let values: Vec<bool> = held.iter().map(|row| row.cell.sequential).collect();
                open.typed::<BoolType>().write_batch(&values, levels, None)
            }
            Store::Name { get, .. } => {
                let mut known: FxHashMap<CommandName, ByteArray> = FxHashMap::default();
                let mut text = |command: CommandName| {
                    let text = || ByteArray::from(command.to_string().into_bytes());
                    known.entry(command).or_insert_with(text).clone()
                };
                let values: Vec<ByteArray> = held.iter().map(|row| text(get(&row.cell))).collect();
                open.typed::<ByteArrayType>().write_batch(&values, levels, None)
            }
            Store::Host => {
                let values = vec![names.host.clone(); held.len()];
                open.typed::<ByteArrayType>().write_batch(&values, levels, None)
            }
            Store::Disk => {
                let values: Vec<ByteArray> =
                    held.iter().map(|row| names.disk(row.cell.device)).collect();
                open.typed::<ByteArrayType>().write_batch(&values, levels, None)
            }
            Store::Buckets { of } => {
                lists = ListLevels::new(column, rows, |row| of(&row.cell).buckets.len());
                let buckets = held.iter().flat_map(|row| &of(&row.cell).buckets);
                let values: Vec<i32> = buckets.map(|(bucket, _)| i32::from(*bucket)).collect();
                let (definition, repetition) = lists.levels();
                open.typed::<Int32Type>().write_batch(&values, definition, repetition)
            }
            // The counts follow their buckets and have the same lengths.
            Store::Counts { of, .. } => {
                let buckets = held.iter().flat_map(|row| &of(&row.cell).buckets);
                let values: Vec<i64> = buckets.map(|(_, count)| count.cast_signed()).collect();
                let (definition, repetition) = lists.levels();
                open.typed::<Int64Type>().write_batch(&values, definition, repetition)
            }
        }?;
        open.close()?;
    }
    Ok(())
}

/// Returns 1 for each row that has a value, or `None` if the column is never null.
fn definition_levels(column: &CubeColumn, rows: &[CubeRow]) -> Option<Vec<i16>> {
    let kind = column.rows?;
    Some(rows.iter().map(|row| i16::from(row.kind == kind)).collect())
}

/// Levels of a list column: a row is null, empty, or has elements.
#[derive(Default)]
struct ListLevels {
    definition: Vec<i16>,
    repetition: Vec<i16>,
}

impl ListLevels {
    fn new(column: &CubeColumn, rows: &[CubeRow], length: impl Fn(&CubeRow) -> usize) -> Self {
        let mut levels = ListLevels::default();
        for row in rows {
            match length(row) {
                _ if !column.is_in(row.kind) => levels.push(0, 1),
                0 => levels.push(1, 1),
                elements => levels.push(2, elements),
            }
        }
        levels
    }

    fn push(&mut self, definition: i16, entries: usize) {
        let begin = self.definition.len();
        self.definition.resize(begin + entries, definition);
        self.repetition.resize(begin + entries, 1);
        self.repetition[begin] = 0;
    }

    /// Returns definition and repetition levels.
    fn levels(&self) -> (Option<&[i16]>, Option<&[i16]>) {
        (Some(&self.definition), Some(&self.repetition))
    }
}

/// Returns the result of closing a column chunk, for one that is copied as it is.
fn close_result(
    chunk: &ColumnChunkMetaData,
    rows: usize,
) -> parquet::errors::Result<ColumnCloseResult> {
    Ok(ColumnCloseResult {
        bytes_written: u64::try_from(chunk.compressed_size())?,
        rows_written: rows as u64,
        metadata: chunk.clone(),
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    })
}

/// Returns a column chunk of nulls as it is read from a file, so that a copy of it is the same.
fn null_chunk(
    column: &CubeColumn,
    rows: usize,
    properties: &WriterPropertiesPtr,
) -> parquet::errors::Result<(Bytes, ColumnChunkMetaData)> {
    let schema = schema(&[*column]).map_err(|error| ParquetError::External(Box::new(error)))?;
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::clone(properties))?;
    let mut group = file.next_row_group()?;
    if let Some(mut open) = group.next_column()? {
        write_nulls(&mut open, column, rows)?;
        open.close()?;
    }
    group.close()?;
    let bytes = Bytes::from(file.into_inner()?);
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&bytes)?;
    Ok((bytes, metadata.row_group(0).column(0).clone()))
}

fn write_nulls(
    open: &mut SerializedColumnWriter<'_>,
    column: &CubeColumn,
    rows: usize,
) -> parquet::errors::Result<()> {
    let levels = vec![0i16; rows];
    let nulls = Some(&levels[..]);
    match column.store {
        Store::Number { bits: 64, .. } => open.typed::<Int64Type>().write_batch(&[], nulls, None),
        Store::Number { .. } => open.typed::<Int32Type>().write_batch(&[], nulls, None),
        Store::Sequential => open.typed::<BoolType>().write_batch(&[], nulls, None),
        Store::Name { .. } | Store::Host | Store::Disk => {
            open.typed::<ByteArrayType>().write_batch(&[], nulls, None)
        }
        Store::Buckets { .. } => open.typed::<Int32Type>().write_batch(&[], nulls, nulls),
        Store::Counts { .. } => open.typed::<Int64Type>().write_batch(&[], nulls, nulls),
    }
    .map(drop)
}

fn properties(
    columns: &[CubeColumn],
    conditions: &CaptureConditions,
) -> Result<WriterProperties, TraceError> {
    let level = ZstdLevel::try_new(1).map_err(TraceError::Encode)?;
    let mut properties = WriterProperties::builder()
        .set_created_by(author(conditions))
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_column_statistics_enabled(ColumnPath::from("step"), EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None);
    for column in columns.iter().filter(|column| !column.dictionary) {
        let path = ColumnPath::new(column.path().split('.').map(str::to_owned).collect());
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(properties.build())
}
