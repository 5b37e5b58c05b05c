//! Writes a step file, row group by row group.

use super::reader::row_group;
use super::{COLUMNS, HISTOGRAM, StepFile};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{Type, TypePtr};
use std::collections::BTreeMap;
use std::io::{Read, Seek, Write};
use std::sync::Arc;
use steadfast_domain::io_event::{StreamInStep, StreamResponses};
use steadfast_domain::{CaptureConditions, IoOp, Layer};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{About, Output};
use steadfast_tracefile::schema::author;

/// Maximum number of rows in a row group.
const ROWS_PER_GROUP: usize = 1 << 17;

type Key = (u64, u16, Layer, IoOp, bool, u32);

/// A row: a stream in a step, or a histogram of its response times.
#[derive(Default)]
struct Row {
    stream: StreamInStep,
    histogram: ByteArray,
}

impl Row {
    fn of(stream: StreamInStep) -> Self {
        Row { stream, histogram: ByteArray::from("") }
    }
}

/// A writer of a step file. Parts of the same stream and step are summed while they wait in memory.
pub struct StepWriter<W: Write + Send> {
    output: Output<W>,
    step_ns: u64,
    waiting: BTreeMap<Key, StreamInStep>,
    /// Histograms that wait for the next row group.
    responses: Vec<Row>,
    rows: u64,
}

impl<W: Write + Send> StepWriter<W> {
    /// Begins a file with the conditions known so far; their `step_ns` is the step width.
    ///
    /// # Errors
    /// Returns [`TraceError::Encode`] or [`TraceError::Io`] if writing fails.
    pub fn new(sink: W, conditions: &CaptureConditions) -> Result<Self, TraceError> {
        Ok(StepWriter {
            output: Output::begin(sink, schema()?, properties(conditions)?, conditions)?,
            step_ns: conditions.step_ns.unwrap_or(1),
            waiting: BTreeMap::new(),
            responses: Vec::new(),
            rows: 0,
        })
    }

    /// Adds parts of steps.
    pub fn add(&mut self, parts: &[StreamInStep]) {
        for part in parts {
            match self.waiting.get_mut(&part.key()) {
                Some(row) => row.merge(part),
                None => {
                    self.waiting.insert(part.key(), *part);
                }
            }
        }
    }

    /// Adds response times that were taken in this step. They are written with the next row group.
    pub fn add_responses(&mut self, step: u64, responses: &[StreamResponses]) {
        let any = responses.iter().filter(|part| part.histogram.total() > 0);
        self.responses.extend(any.map(|part| Row {
            stream: StreamInStep {
                step,
                device: part.device,
                layer: part.layer,
                op: part.op,
                sequential: part.sequential,
                bytes: part.bytes,
                ..StreamInStep::default()
            },
            histogram: ByteArray::from(part.histogram.encode().as_str()),
        }));
    }

    /// Updates the conditions, for the case that the file is never finished.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if the conditions cannot be written as JSON.
    pub fn update(&mut self, conditions: &CaptureConditions) -> Result<(), TraceError> {
        self.output.update(conditions)
    }

    /// Writes the steps before `step` as a row group. They survive a kill once they reached the
    /// sink. Parts of these steps that are added later get rows of their own.
    ///
    /// # Errors
    /// Returns [`TraceError::Encode`] or [`TraceError::Io`] if writing fails.
    pub fn flush_before(&mut self, step: u64) -> Result<(), TraceError> {
        let later = self.waiting.split_off(&(step, 0, Layer::Block, IoOp::Read, false, 0));
        let ready = std::mem::replace(&mut self.waiting, later);
        let mut rows: Vec<Row> = ready.into_values().map(Row::of).collect();
        rows.append(&mut self.responses);
        rows.chunks(ROWS_PER_GROUP).try_for_each(|rows| self.write_group(rows))
    }

    /// Copies all readable rows of another file, row group by row group; returns the number of I/Os
    /// in them.
    ///
    /// # Errors
    /// Returns [`TraceError::Damaged`] if the other file is damaged, or [`TraceError::Encode`] or
    /// [`TraceError::Io`] if reading or writing fails.
    pub(crate) fn copy<R: Read + Seek + Send + 'static>(
        &mut self,
        file: &StepFile<R>,
    ) -> Result<u64, TraceError> {
        let mut ios = 0u64;
        for (source, group) in file.groups() {
            let rows = row_group(source, group)?.into_iter();
            let rows: Vec<Row> =
                rows.map(|(stream, histogram)| Row { stream, histogram }).collect();
            ios = rows.iter().fold(ios, |sum, row| sum.saturating_add(row.stream.ios));
            rows.chunks(ROWS_PER_GROUP).try_for_each(|rows| self.write_group(rows))?;
        }
        Ok(ios)
    }

    /// Returns the number of rows that were written or wait, without waiting histograms.
    pub fn rows(&self) -> u64 {
        self.rows + self.waiting() as u64
    }

    /// Returns the number of streams of steps that are only in memory.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the size of the file so far, in bytes.
    pub fn bytes_written(&self) -> u64 {
        self.output.bytes_written()
    }

    /// Finishes the file with the final conditions and returns the sink.
    ///
    /// # Errors
    /// Returns [`TraceError::Encode`] or [`TraceError::Io`] if writing fails.
    pub fn finish(mut self, conditions: &CaptureConditions) -> Result<W, TraceError> {
        self.flush_before(u64::MAX)?;
        self.output.finish(conditions)
    }

    fn write_group(&mut self, rows: &[Row]) -> Result<(), TraceError> {
        let steps = || rows.iter().map(|row| row.stream.step);
        let (first, last) = (steps().min().unwrap_or(0), steps().max().unwrap_or(0));
        let end = last.saturating_add(1).saturating_mul(self.step_ns).saturating_sub(1);
        let ios = rows.iter().fold(0, |sum: u64, row| sum.saturating_add(row.stream.ios));
        let about = About { span_ns: (first.saturating_mul(self.step_ns), end), ios };
        self.output.row_group(about, |group| write_columns(group, rows))?;
        self.rows += rows.len() as u64;
        Ok(())
    }
}

fn write_columns<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[Row],
) -> parquet::errors::Result<()> {
    for column in &COLUMNS {
        let Some(mut open) = group.next_column()? else { break };
        let value = |row: &Row| (column.get)(&row.stream).cast_signed();
        let values: Vec<i64> = rows.iter().map(value).collect();
        open.typed::<Int64Type>().write_batch(&values, None, None)?;
        open.close()?;
    }
    if let Some(mut open) = group.next_column()? {
        let texts: Vec<ByteArray> = rows.iter().map(|row| row.histogram.clone()).collect();
        open.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
        open.close()?;
    }
    Ok(())
}

fn schema() -> Result<TypePtr, TraceError> {
    let column = |name| {
        Type::primitive_type_builder(name, Physical::INT64)
            .with_logical_type(Some(LogicalType::integer(64, false)))
            .with_repetition(Repetition::REQUIRED)
            .build()
            .map(Arc::new)
    };
    let text = Type::primitive_type_builder(HISTOGRAM, Physical::BYTE_ARRAY)
        .with_logical_type(Some(LogicalType::String))
        .with_repetition(Repetition::REQUIRED);
    let columns = COLUMNS.iter().map(|one| column(one.name)).chain([text.build().map(Arc::new)]);
    let columns: Result<Vec<_>, _> = columns.collect();
    let group = Type::group_type_builder("steps").with_fields(columns.map_err(TraceError::Encode)?);
    group.build().map(Arc::new).map_err(TraceError::Encode)
}

fn properties(conditions: &CaptureConditions) -> Result<WriterProperties, TraceError> {
    let level = ZstdLevel::try_new(3).map_err(TraceError::Encode)?;
    Ok(WriterProperties::builder()
        .set_created_by(author(conditions))
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .build())
}
