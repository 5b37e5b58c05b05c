//! Finds the row groups of a file without a footer by its recovery blocks.

use super::checksums::{self, FoundGroup};
use super::guard::guarded;
use super::integrity::Damage;
use super::recovery_block::{self, BlockKind, RecoveryBlock};
use super::source::SharedMedium;
use crate::error::TraceError;
use crate::schema::{KEY_FILES, KEY_FINAL, KEY_PROCESSORS};
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use serde::de::DeserializeOwned;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::{FileName, ProcessorReading};

/// Bytes searched at a time.
const STRIDE: usize = 1 << 20;

/// The extent of a recovery.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Recovery {
    /// Number of complete row groups.
    pub row_groups: usize,
    /// Bytes after the last complete row group, whose I/Os are lost.
    pub bytes_ignored: u64,
}

/// The content of the recovery blocks of a file.
#[derive(Default)]
pub struct RecoveryScan {
    /// Row groups in file order.
    pub groups: Vec<FoundGroup>,
    /// Conditions at the beginning of the file.
    pub start: Option<CaptureConditions>,
    /// Last conditions recorded with a row group.
    pub conditions: Option<CaptureConditions>,
    /// File paths from all blocks, in order.
    pub files: Vec<FileName>,
    /// Readings of processor time from all blocks, in order.
    pub processors: Vec<ProcessorReading>,
    pub recovery: Recovery,
    /// Ranges of row groups whose blocks are missing.
    pub damaged: Vec<Damage>,
    /// End of the last block read.
    read_until: u64,
}

/// Offset of the first block, after Parquet's magic number.
const FIRST: u64 = 4;

/// Returns whether a file begins with a recovery block, as only our files do.
pub fn begins(source: &SharedMedium) -> Result<bool, TraceError> {
    Ok(block_at(source, FIRST)?.is_some_and(|bytes| recovery_block::decode(&bytes).is_some()))
}

/// Searches the file for recovery blocks; returns `None` if it has neither the first block nor
/// a row group, so that it never was a trace.
pub fn search(source: &SharedMedium) -> Result<Option<RecoveryScan>, TraceError> {
    let mut found = RecoveryScan { read_until: FIRST, ..RecoveryScan::default() };
    let mut at = 0;
    while let Some(here) = next_magic(source, at)? {
        match read_block(source, here, &mut found)? {
            Some(length) => {
                at = here + length;
                found.read_until = at;
            }
            None => at = here + 1,
        }
    }
    found.recovery.row_groups = found.groups.len();
    found.recovery.bytes_ignored = source.length.saturating_sub(found.read_until);
    Ok((found.start.is_some() || !found.groups.is_empty()).then_some(found))
}

fn next_magic(source: &SharedMedium, mut from: u64) -> Result<Option<u64>, TraceError> {
    while from < source.length {
        let bytes = source.read(from, STRIDE)?;
        if let Some(at) = recovery_block::find(&bytes) {
            return Ok(Some(from + at as u64));
        }
        if bytes.len() < STRIDE {
            return Ok(None);
        }
        // A magic number may straddle the end of the bytes read.
        from += (STRIDE - 7) as u64;
    }
    Ok(None)
}

/// Adds the content of the block at an offset to the scan; returns its length, or `None` if there
/// is no intact block.
fn read_block(
    source: &SharedMedium,
    at: u64,
    found: &mut RecoveryScan,
) -> Result<Option<u64>, TraceError> {
    let Some(bytes) = block_at(source, at)? else { return Ok(None) };
    let Some(block) = recovery_block::decode(&bytes) else { return Ok(None) };
    let RecoveryBlock { kind, payload, length } = block;
    match kind {
        BlockKind::Conditions if found.start.is_none() => {
            found.start = serde_json::from_slice(payload).ok();
        }
        BlockKind::Conditions => {}
        BlockKind::RowGroup => {
            let place = format!("in the recovery block at byte {at}");
            let metadata = guarded(&place, || ParquetMetaDataReader::decode_metadata(payload))?;
            found.add_row_groups(&metadata, at);
        }
    }
    Ok(Some(length as u64))
}

/// Reads the bytes of a possible block; `None` if its head is invalid.
fn block_at(source: &SharedMedium, at: u64) -> Result<Option<Vec<u8>>, TraceError> {
    let length = recovery_block::stated_length(&source.read(at, 16)?);
    Ok(length.map(|length| source.read(at, length)).transpose()?)
}

impl RecoveryScan {
    /// Adds the row groups that a block at offset `block` describes.
    fn add_row_groups(&mut self, metadata: &ParquetMetaData, block: u64) {
        let first = metadata.row_groups().iter().filter_map(first_byte).min();
        // A block of a row group that was added already is a copy: its I/Os would count twice.
        if first.is_some_and(|first| first < self.read_until) {
            self.add_gap(self.read_until, block);
            return;
        }
        let keys = metadata.file_metadata().key_value_metadata().map_or(&[][..], Vec::as_slice);
        self.conditions = value_in(keys, KEY_FINAL).or(self.conditions.take());
        self.files.extend(value_in::<Vec<FileName>>(keys, KEY_FILES).unwrap_or_default());
        let processors = value_in::<Vec<ProcessorReading>>(keys, KEY_PROCESSORS);
        self.processors.extend(processors.unwrap_or_default());
        let sum = checksums::sum_in_block(keys, metadata.row_groups());
        if let Some(first) = first.filter(|first| *first > self.read_until) {
            self.add_gap(self.read_until, first);
        }
        let groups = metadata.row_groups().iter().cloned();
        self.groups.extend(groups.map(|metadata| FoundGroup { metadata, sum: sum.clone() }));
    }

    /// Records a gap as damage. Every row group begins where a block ends and is followed by its
    /// own block, so a gap was a row group whose block cannot be found.
    fn add_gap(&mut self, at: u64, end: u64) {
        let bytes = end.saturating_sub(at);
        let (row_group, span_ns, ios) = (None, None, None);
        self.damaged.push(Damage { file: 1, at, bytes, row_group, span_ns, ios });
    }
}

/// Parses the JSON value of a metadata key; `None` if it is missing or invalid.
fn value_in<T: DeserializeOwned>(keys: &[KeyValue], key: &str) -> Option<T> {
    let mut texts = keys.iter().filter(|entry| entry.key == key).flat_map(|entry| &entry.value);
    texts.find_map(|text| serde_json::from_str(text).ok())
}

fn first_byte(group: &RowGroupMetaData) -> Option<u64> {
    let starts = group
        .columns()
        .iter()
        .map(|column| column.dictionary_page_offset().unwrap_or(column.data_page_offset()));
    u64::try_from(starts.min()?).ok()
}
