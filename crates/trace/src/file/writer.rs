//! Writes events as a trace file, row group by row group.

use super::mark;
use super::schema::{FORMAT_VERSION, Field, KEY_FINAL, KEY_FORMAT, KEY_START, schema};
use crate::error::TraceError;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::ColumnPath;
use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;
use steadfast_domain::io_event::{Command, RESPONSE_UNKNOWN};
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
    pending: Vec<IoEvent>,
    order: Vec<(u64, u32)>,
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
            pending: Vec::new(),
            order: Vec::new(),
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
            self.pending.extend_from_slice(now);
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
        self.order.clear();
        let keys = self.pending.iter().zip(0u32..).map(|(event, at)| (event.issued_ns, at));
        self.order.extend(keys);
        self.order.sort();
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
        let rows = Sorted { events: &self.pending, order: &self.order };
        let mut group = self.parquet.next_row_group()?;
        for field in Field::ALL {
            let Some(mut column) = group.next_column()? else { break };
            rows.write(field, &mut column)?;
            column.close()?;
        }
        group.close()?;
        Ok(())
    }
}

/// Events in the order in which a row group keeps them.
struct Sorted<'a> {
    events: &'a [IoEvent],
    order: &'a [(u64, u32)],
}

impl Sorted<'_> {
    fn iter(&self) -> impl Iterator<Item = &IoEvent> {
        self.order.iter().map(|(_, at)| &self.events[*at as usize])
    }

    fn write(
        &self,
        field: Field,
        column: &mut SerializedColumnWriter<'_>,
    ) -> parquet::errors::Result<()> {
        match field {
            Field::Issued => self.wide(column, |event| event.issued_ns),
            Field::Queued => self.wide(column, |event| event.queued_ns),
            Field::Offset => self.wide(column, |event| event.offset),
            Field::Inode => self.wide(column, |event| event.inode),
            Field::Response => self.responses(column),
            Field::Depth => self.depths(column),
            Field::Bytes => self.narrow(column, |event| event.bytes),
            Field::Pid => self.narrow(column, |event| event.pid),
            Field::Cpu => self.narrow(column, |event| u32::from(event.cpu)),
            Field::Flags => self.narrow(column, |event| u32::from(event.flags)),
            Field::Device => self.narrow(column, |event| u32::from(event.device)),
            Field::Op => self.narrow(column, |event| event.op as u32),
            Field::Layer => self.narrow(column, |event| event.layer as u32),
            Field::Command => self.commands(column),
        }
    }

    fn wide(
        &self,
        column: &mut SerializedColumnWriter<'_>,
        value: impl Fn(&IoEvent) -> u64,
    ) -> parquet::errors::Result<()> {
        let values: Vec<i64> = self.iter().map(|event| value(event).cast_signed()).collect();
        column.typed::<Int64Type>().write_batch(&values, None, None).map(drop)
    }

    fn narrow(
        &self,
        column: &mut SerializedColumnWriter<'_>,
        value: impl Fn(&IoEvent) -> u32,
    ) -> parquet::errors::Result<()> {
        let values: Vec<i32> = self.iter().map(|event| value(event).cast_signed()).collect();
        column.typed::<Int32Type>().write_batch(&values, None, None).map(drop)
    }

    fn responses(&self, column: &mut SerializedColumnWriter<'_>) -> parquet::errors::Result<()> {
        let known = |event: &&IoEvent| event.response_ns != RESPONSE_UNKNOWN;
        let levels: Vec<i16> = self.iter().map(|event| i16::from(known(&event))).collect();
        let values: Vec<i64> =
            self.iter().filter(known).map(|event| event.response_ns.cast_signed()).collect();
        column.typed::<Int64Type>().write_batch(&values, Some(&levels), None).map(drop)
    }

    fn depths(&self, column: &mut SerializedColumnWriter<'_>) -> parquet::errors::Result<()> {
        let known = |event: &&IoEvent| event.depth != 0;
        let levels: Vec<i16> = self.iter().map(|event| i16::from(known(&event))).collect();
        let values: Vec<i32> =
            self.iter().filter(known).map(|event| event.depth.cast_signed()).collect();
        column.typed::<Int32Type>().write_batch(&values, Some(&levels), None).map(drop)
    }

    fn commands(&self, column: &mut SerializedColumnWriter<'_>) -> parquet::errors::Result<()> {
        let mut names: HashMap<Command, ByteArray> = HashMap::new();
        let mut last = (Command::default(), ByteArray::from(Vec::new()));
        let named = |event: &IoEvent| {
            if event.command != last.0 {
                let name = || ByteArray::from(event.command.to_string().into_bytes());
                last = (event.command, names.entry(event.command).or_insert_with(name).clone());
            }
            last.1.clone()
        };
        let values: Vec<ByteArray> = self.iter().map(named).collect();
        column.typed::<ByteArrayType>().write_batch(&values, None, None).map(drop)
    }
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
