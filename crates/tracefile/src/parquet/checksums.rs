//! Checksums of a file: one per row group, and one of the footer that holds them.
//!
//! A disk, a copy or a cable may change a bit, and Parquet notices few such changes. The
//! footer's metadata therefore holds the XXH3-64 of every row group's bytes, and that of the
//! footer itself, computed with 16 zeros in its own place. The blocks between the row groups
//! have checksums of their own ([`super::recovery_block`]).

use super::integrity::Damage;
use super::source::SharedMedium;
use crate::error::TraceError;
use crate::schema::{KEY_SEAL, KEY_SUM, KEY_SUMS};
use parquet::file::metadata::{ColumnChunkMetaData, KeyValue, RowGroupMetaData};
use serde::{Deserialize, Serialize};
use std::hash::Hasher as _;
use std::io::{self, Write};
use std::ops::Range;
use twox_hash::XxHash3_64;

/// Placeholder for the footer's checksum while it is computed.
pub const UNSEALED: &str = "0000000000000000";
/// Bytes of Parquet's length and magic number that end a footer.
pub const FOOTER_END: usize = 8;
/// Bytes read at a time.
const STRIDE: u64 = 1 << 20;

/// Position, size and checksum of a row group as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSum {
    /// Offset of the first byte in the file.
    pub at: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// XXH3-64 of the bytes, in 16 hexadecimal digits.
    pub xxh3: String,
    /// First and last issue time in nanoseconds; in a cube file, the time of its steps.
    pub span_ns: (u64, u64),
    /// Number of I/Os.
    pub ios: u64,
}

/// A row group and its checksum; `None` if the file has none.
#[derive(Debug, Clone)]
pub struct FoundGroup {
    /// Columns of the row group, as the footer or a recovery block lists them.
    pub metadata: RowGroupMetaData,
    /// Checksum.
    pub sum: Option<GroupSum>,
}

impl GroupSum {
    /// Returns whether `bytes` match the size and the checksum.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        bytes.len() as u64 == self.bytes && self.xxh3 == digits(XxHash3_64::oneshot(bytes))
    }

    /// Reads the row group from the file and returns whether it matches the checksum.
    pub fn is_intact(&self, source: &SharedMedium) -> io::Result<bool> {
        let mut hasher = XxHash3_64::new();
        let mut read = 0;
        while read < self.bytes {
            let most = usize::try_from((self.bytes - read).min(STRIDE)).unwrap_or(0);
            let bytes = source.read(self.at.saturating_add(read), most)?;
            if bytes.is_empty() {
                return Ok(false);
            }
            hasher.write(&bytes);
            read += bytes.len() as u64;
        }
        Ok(self.xxh3 == digits(hasher.finish()))
    }

    /// Describes the row group as damage. `file` and `number` count from 0.
    pub fn damage(&self, file: usize, number: usize) -> Damage {
        Damage {
            file: file + 1,
            at: self.at,
            bytes: self.bytes,
            row_group: Some(number + 1),
            span_ns: Some(self.span_ns),
            ios: Some(self.ios),
        }
    }

    /// Returns whether all columns of a row group lie within these bytes.
    fn holds(&self, group: &RowGroupMetaData) -> bool {
        let Some(end) = self.at.checked_add(self.bytes) else { return false };
        group.columns().iter().all(|column| {
            extent_of(column).is_some_and(|extent| extent.start >= self.at && extent.end <= end)
        })
    }
}

/// Returns the bytes of a file that a column takes; `None` if its offset or size is impossible.
pub fn extent_of(column: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let start = u64::try_from(start).ok()?;
    let size = u64::try_from(column.compressed_size()).ok()?;
    Some(start..start.checked_add(size)?)
}

/// Returns whether a file's footer matches its checksum; false if it has none.
pub fn is_sealed(source: &SharedMedium, keys: Option<&Vec<KeyValue>>) -> io::Result<bool> {
    match keys.and_then(|keys| value_of(keys, KEY_SEAL)) {
        Some(seal) => Ok(footer_seal(source)?.as_deref() == Some(seal)),
        None => Ok(false),
    }
}

/// Returns the checksums in a finished file's metadata, in the order of its row groups; `None`
/// if it has none. A footer that does not match its checksum or its row groups is an error.
pub fn sums_in_footer(
    source: &SharedMedium,
    keys: &[KeyValue],
    groups: &[RowGroupMetaData],
) -> Result<Option<Vec<GroupSum>>, TraceError> {
    let (seal, sums) = (value_of(keys, KEY_SEAL), value_of(keys, KEY_SUMS));
    if seal.is_none() && sums.is_none() {
        return Ok(None);
    }
    let damaged = |what: &str| TraceError::Footer(what.to_owned());
    let seal = seal.ok_or_else(|| damaged("its checksum is missing"))?;
    if footer_seal(source)?.as_deref() != Some(seal) {
        return Err(damaged("its checksum does not match"));
    }
    let sums: Option<Vec<GroupSum>> = sums.and_then(|text| serde_json::from_str(text).ok());
    match sums {
        Some(sums)
            if sums.len() == groups.len()
                && sums.iter().zip(groups).all(|(sum, group)| sum.holds(group)) =>
        {
            Ok(Some(sums))
        }
        _ => Err(damaged("its checksums do not match its row groups")),
    }
}

/// Returns the checksum in the metadata of a recovery block.
pub fn sum_in_block(keys: &[KeyValue], groups: &[RowGroupMetaData]) -> Option<GroupSum> {
    let sum: GroupSum = serde_json::from_str(value_of(keys, KEY_SUM)?).ok()?;
    groups.iter().all(|group| sum.holds(group)).then_some(sum)
}

/// Computes the checksum that a file's footer should have.
fn footer_seal(source: &SharedMedium) -> io::Result<Option<String>> {
    let end = source.read(source.length.saturating_sub(FOOTER_END as u64), FOOTER_END)?;
    let Some(length) = end.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_le_bytes(*length) as usize + FOOTER_END;
    let mut footer = source.read(source.length.saturating_sub(length as u64), length)?;
    Ok(blank_seal(&mut footer).map(|seal| seal.digits))
}

/// The checksum of a footer.
struct FooterSeal {
    /// Offset of its digits in the footer.
    at: usize,
    digits: String,
}

/// Blanks the checksum in a footer and computes it. It is the last entry of the metadata, so that
/// no text of the conditions can be mistaken for it.
fn blank_seal(footer: &mut [u8]) -> Option<FooterSeal> {
    let key = KEY_SEAL.as_bytes();
    let found = footer.windows(key.len()).rposition(|bytes| bytes == key)?;
    // The head of a field and the length of the text lie between key and value.
    let at = found + key.len() + 2;
    footer.get_mut(at..at + UNSEALED.len())?.copy_from_slice(UNSEALED.as_bytes());
    Some(FooterSeal { at, digits: digits(XxHash3_64::oneshot(footer)) })
}

/// Returns the value of a metadata key.
pub fn value_of<'k>(keys: &'k [KeyValue], key: &str) -> Option<&'k str> {
    keys.iter().find(|entry| entry.key == key)?.value.as_deref()
}

fn digits(sum: u64) -> String {
    format!("{sum:016x}")
}

/// A sink that computes the checksum of the bytes written, and holds the footer back until it
/// is sealed.
pub struct ChecksumSink<W> {
    sink: W,
    hasher: XxHash3_64,
    footer: Option<Vec<u8>>,
}

impl<W: Write> ChecksumSink<W> {
    pub fn new(sink: W) -> Self {
        ChecksumSink { sink, hasher: XxHash3_64::new(), footer: None }
    }

    /// Starts the checksum of a row group.
    pub fn begin(&mut self) {
        self.hasher = XxHash3_64::new();
    }

    /// Returns the checksum of the bytes since [`Self::begin`].
    pub fn sum(&self) -> String {
        digits(self.hasher.finish())
    }

    /// Starts holding back the footer.
    pub fn hold_footer(&mut self) {
        self.footer = Some(Vec::new());
    }

    /// Writes the footer with its checksum and returns the sink.
    pub fn seal(mut self) -> io::Result<W> {
        let mut footer = self.footer.take().unwrap_or_default();
        if let Some(FooterSeal { at, digits }) = blank_seal(&mut footer) {
            footer[at..at + UNSEALED.len()].copy_from_slice(digits.as_bytes());
        }
        self.sink.write_all(&footer)?;
        self.sink.flush()?;
        Ok(self.sink)
    }
}

impl<W: Write> Write for ChecksumSink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(footer) = &mut self.footer {
            footer.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let written = self.sink.write(bytes)?;
        self.hasher.write(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}
