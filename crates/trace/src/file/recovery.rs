//! Finds the row groups of a file that has no footer.

use super::block::{self, Kind};
use super::reader::guarded;
use super::schema::KEY_FINAL;
use super::source::Source;
use crate::error::TraceError;
use parquet::file::metadata::{ParquetMetaDataReader, RowGroupMetaData};
use std::io::{Read, Seek};
use steadfast_domain::CaptureConditions;

/// Bytes searched at once.
const STRIDE: usize = 1 << 20;

/// What was found in a file without a footer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovery {
    /// Complete row groups.
    pub row_groups: usize,
    /// Bytes after the last of them: I/Os that are lost.
    pub bytes_ignored: u64,
}

pub(crate) struct Found {
    pub(crate) groups: Vec<RowGroupMetaData>,
    pub(crate) start: Option<CaptureConditions>,
    pub(crate) conditions: Option<CaptureConditions>,
    pub(crate) account: Recovery,
}

/// Searches the file for recovery blocks; `None` where there is not even the
/// first, so that no trace was ever begun here.
pub(crate) fn search<R: Read + Seek>(source: &Source<R>) -> Result<Option<Found>, TraceError> {
    let mut found = Found {
        groups: Vec::new(),
        start: None,
        conditions: None,
        account: Recovery { row_groups: 0, bytes_ignored: 0 },
    };
    let mut at = 0;
    let mut used = 0;
    while let Some(here) = next_magic(source, at)? {
        match take_block(source, here, &mut found)? {
            Some(length) => {
                at = here + length;
                used = at;
            }
            None => at = here + 1,
        }
    }
    found.account.row_groups = found.groups.len();
    found.account.bytes_ignored = source.length() - used;
    Ok((found.start.is_some() || !found.groups.is_empty()).then_some(found))
}

fn next_magic<R: Read + Seek>(source: &Source<R>, from: u64) -> Result<Option<u64>, TraceError> {
    let mut from = from;
    while from < source.length() {
        let bytes = source.read(from, STRIDE)?;
        if let Some(at) = block::find(&bytes) {
            return Ok(Some(from + at as u64));
        }
        if bytes.len() < STRIDE {
            return Ok(None);
        }
        // A magic number may lie across the end of what was read.
        from += (STRIDE - 7) as u64;
    }
    Ok(None)
}

fn take_block<R: Read + Seek>(
    source: &Source<R>,
    at: u64,
    found: &mut Found,
) -> Result<Option<u64>, TraceError> {
    let head = source.read(at, 16)?;
    let Some(length) = block::told_length(&head) else { return Ok(None) };
    let bytes = source.read(at, length)?;
    let Some((kind, payload, length)) = block::decode(&bytes) else { return Ok(None) };
    match kind {
        Kind::Conditions if found.start.is_none() => {
            found.start = serde_json::from_slice(payload).ok();
        }
        Kind::Conditions => {}
        Kind::RowGroup => {
            let place = format!("in the recovery block at byte {at}");
            let metadata = guarded(&place, || ParquetMetaDataReader::decode_metadata(payload))?;
            let keys = metadata.file_metadata().key_value_metadata().into_iter().flatten();
            let conditions = keys.filter(|entry| entry.key == KEY_FINAL).find_map(|entry| {
                entry.value.as_ref().and_then(|text| serde_json::from_str(text).ok())
            });
            found.conditions = conditions.or(found.conditions.take());
            found.groups.extend_from_slice(metadata.row_groups());
        }
    }
    Ok(Some(length as u64))
}
