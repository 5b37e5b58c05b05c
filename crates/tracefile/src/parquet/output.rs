//! Writes our files: Parquet with checksums, and with a recovery block before the first row
//! group and after every one. Traces and cube files differ only in their columns.

use super::checksums::{ChecksumSink, FOOTER_END, GroupSum, UNSEALED};
use super::recovery_block::{self, BlockKind};
use crate::error::TraceError;
use crate::schema::{
    FORMAT_VERSION, KEY_FILES, KEY_FINAL, KEY_FOLD, KEY_FORMAT, KEY_PROCESSORS, KEY_SEAL,
    KEY_START, KEY_SUM, KEY_SUMS,
};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::TypePtr;
use std::io::Write;
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::{FileName, ProcessorReading};

/// Time and size of a row group.
pub struct RowGroupExtent {
    /// First and last time in nanoseconds.
    pub span_ns: (u64, u64),
    /// Number of I/Os.
    pub ios: u64,
}

/// A file that is being written.
pub struct TraceOutput<W: Write + Send> {
    parquet: SerializedFileWriter<ChecksumSink<W>>,
    start: String,
    /// Conditions as JSON that no recovery block holds yet.
    new_conditions: Option<String>,
    files: Arc<Vec<FileName>>,
    /// Number of file paths that recovery blocks hold already.
    files_in_blocks: usize,
    processors: Arc<Vec<ProcessorReading>>,
    /// Time of the last reading that a recovery block holds.
    processors_until_ns: Option<u64>,
    sums: Vec<GroupSum>,
    /// True if a recovery block follows every row group.
    has_blocks: bool,
}

impl<W: Write + Send> TraceOutput<W> {
    /// Starts a file with the conditions known so far.
    pub fn begin(
        sink: W,
        schema: TypePtr,
        properties: WriterProperties,
        conditions: &CaptureConditions,
    ) -> Result<Self, TraceError> {
        let start = json(conditions)?;
        let parquet =
            SerializedFileWriter::new(ChecksumSink::new(sink), schema, Arc::new(properties));
        let mut parquet = parquet.map_err(TraceError::Encode)?;
        parquet.write_all(&recovery_block::encode(BlockKind::Conditions, start.as_bytes())?)?;
        parquet.flush()?;
        Ok(TraceOutput {
            parquet,
            start,
            new_conditions: None,
            files: Arc::clone(&conditions.files),
            files_in_blocks: 0,
            processors: Arc::clone(&conditions.processors),
            processors_until_ns: None,
            sums: Vec::new(),
            has_blocks: true,
        })
    }

    /// Leaves out the recovery blocks after row groups, for a file that is written whole or not at
    /// all.
    pub fn without_blocks(self) -> Self {
        TraceOutput { has_blocks: false, ..self }
    }

    /// Sets the conditions that the next recovery block will hold.
    pub fn update(&mut self, conditions: &CaptureConditions) -> Result<(), TraceError> {
        self.new_conditions = Some(json(conditions)?);
        self.files = Arc::clone(&conditions.files);
        self.processors = Arc::clone(&conditions.processors);
        Ok(())
    }

    /// Writes a row group, followed by a recovery block with its metadata, its checksum, new file
    /// paths and readings of processor time, and the conditions if they changed.
    pub fn row_group(
        &mut self,
        extent: RowGroupExtent,
        columns: impl FnOnce(
            &mut SerializedRowGroupWriter<'_, ChecksumSink<W>>,
        ) -> parquet::errors::Result<()>,
    ) -> Result<(), TraceError> {
        let at = self.bytes_written();
        self.parquet.inner_mut().begin();
        let mut group = self.parquet.next_row_group().map_err(TraceError::Encode)?;
        columns(&mut group).and_then(|()| group.close()).map_err(TraceError::Encode)?;
        self.parquet.flush()?;
        let sum = GroupSum {
            at,
            bytes: self.bytes_written() - at,
            xxh3: self.parquet.inner().sum(),
            span_ns: extent.span_ns,
            ios: extent.ios,
        };
        if self.has_blocks {
            self.write_block(&sum)?;
        }
        self.sums.push(sum);
        Ok(())
    }

    fn write_block(&mut self, sum: &GroupSum) -> Result<(), TraceError> {
        let Some(group) = self.parquet.flushed_row_groups().last().cloned() else { return Ok(()) };
        let mut keys = Vec::new();
        if let Some(conditions) = self.new_conditions.take() {
            keys.push(entry(KEY_FINAL, conditions));
        }
        let files = self.files.get(self.files_in_blocks..).unwrap_or_default();
        if !files.is_empty() {
            keys.push(entry(KEY_FILES, json(files)?));
        }
        self.files_in_blocks = self.files.len();
        // By time, because a long list is thinned out by its owner.
        let until_ns = self.processors_until_ns;
        let first = self.processors.partition_point(|reading| Some(reading.at_ns) <= until_ns);
        let processors = &self.processors[first..];
        if let Some(last) = processors.last() {
            keys.push(entry(KEY_PROCESSORS, json(processors)?));
            self.processors_until_ns = Some(last.at_ns);
        }
        keys.push(entry(KEY_SUM, json(sum)?));
        let schema = group.schema_descr_ptr();
        let file = FileMetaData::new(2, group.num_rows(), None, Some(keys), schema, None);
        let metadata = ParquetMetaData::new(file, vec![group]);
        let mut payload = Vec::new();
        ParquetMetaDataWriter::new(&mut payload, &metadata).finish().map_err(TraceError::Encode)?;
        payload.truncate(payload.len().saturating_sub(FOOTER_END));
        self.parquet.write_all(&recovery_block::encode(BlockKind::RowGroup, &payload)?)?;
        self.parquet.flush()?;
        Ok(())
    }

    /// Returns the columns of the row group that was written last.
    pub fn last_columns(&self) -> &[ColumnChunkMetaData] {
        self.parquet.flushed_row_groups().last().map_or(&[], |group| group.columns())
    }

    /// Returns the size of the file so far in bytes.
    pub fn bytes_written(&self) -> u64 {
        self.parquet.bytes_written() as u64
    }

    /// Finishes the file with the final conditions, and in a fold file the description of its
    /// captures; returns the sink.
    pub fn finish(
        mut self,
        conditions: &CaptureConditions,
        fold: Option<String>,
    ) -> Result<W, TraceError> {
        // The seal comes last: see `checksums::sums_in_footer`.
        let mut pairs = vec![
            (KEY_FORMAT, FORMAT_VERSION.to_owned()),
            (KEY_FINAL, json(conditions)?),
            (KEY_START, std::mem::take(&mut self.start)),
        ];
        if !conditions.files.is_empty() {
            pairs.push((KEY_FILES, json(&*conditions.files)?));
        }
        if !conditions.processors.is_empty() {
            pairs.push((KEY_PROCESSORS, json(&*conditions.processors)?));
        }
        pairs.extend(fold.map(|fold| (KEY_FOLD, fold)));
        pairs.extend([(KEY_SUMS, json(&self.sums)?), (KEY_SEAL, UNSEALED.to_owned())]);
        for (key, value) in pairs {
            self.parquet.append_key_value_metadata(entry(key, value));
        }
        self.parquet.flush()?;
        self.parquet.inner_mut().hold_footer();
        let summing = self.parquet.into_inner().map_err(TraceError::Encode)?;
        Ok(summing.seal()?)
    }
}

fn entry(key: &str, value: String) -> KeyValue {
    KeyValue::new(key.to_owned(), value)
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<String, TraceError> {
    serde_json::to_string(value)
        .map_err(|error| TraceError::Unsuitable(format!("the conditions are not JSON: {error}")))
}
