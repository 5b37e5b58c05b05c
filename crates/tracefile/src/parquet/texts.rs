//! Decodes texts stored after their lengths (Parquet: `DELTA_LENGTH_BYTE_ARRAY`), and texts
//! stored as their difference from the text before (`DELTA_BYTE_ARRAY`). DuckDB and Spark write
//! names like this in pages of version 2.
//!
//! A batch keeps only the beginning of a name, so no more than that is assembled: a short page
//! can describe texts of gigabytes.

use super::delta::DeltaDecoder;
use super::value::ColumnValue;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};

/// Length of the beginning of a text that is kept, in bytes.
const KEPT: usize = 15;

/// The texts of a page that is being read.
pub(super) struct TextDecoder {
    /// Length of the prefix shared with the text before; empty if all texts are stored whole.
    prefixes: Vec<i32>,
    /// Length of the stored part of each text.
    lengths: Vec<i32>,
    /// Index of the next text.
    next: usize,
    bytes: Bytes,
    at: usize,
    /// Beginning and length of the previous text.
    before: [u8; KEPT],
    before_length: usize,
}

fn damaged() -> ParquetError {
    ParquetError::General("the lengths of its texts are impossible".into())
}

impl TextDecoder {
    /// Opens at most `values` texts, stored whole or, with `have_prefixes`, as differences.
    pub(super) fn open(bytes: Bytes, values: usize, have_prefixes: bool) -> Result<Self> {
        let (prefixes, bytes) =
            if have_prefixes { numbers(bytes, values)? } else { (Vec::new(), bytes) };
        let (lengths, bytes) = numbers(bytes, values)?;
        if have_prefixes && prefixes.len() != lengths.len() {
            return Err(damaged());
        }
        let before = [0; KEPT];
        Ok(TextDecoder { prefixes, lengths, next: 0, bytes, at: 0, before, before_length: 0 })
    }

    /// Appends the next `count` texts.
    pub(super) fn take<T: ColumnValue>(&mut self, count: usize, column: &mut Vec<T>) -> Result<()> {
        for _ in 0..count {
            let length = self.lengths.get(self.next).ok_or_else(damaged)?;
            let prefix = self.prefixes.get(self.next).copied().unwrap_or(0);
            let length = usize::try_from(*length).map_err(|_| damaged())?;
            let prefix = usize::try_from(prefix).map_err(|_| damaged())?;
            let rest = self.bytes.get(self.at..).and_then(|rest| rest.get(..length));
            let rest = rest.filter(|_| prefix <= self.before_length).ok_or_else(damaged)?;
            let kept = prefix.min(KEPT);
            let more = rest.len().min(KEPT - kept);
            self.before[kept..kept + more].copy_from_slice(&rest[..more]);
            column.push(T::from_text(&self.before[..kept + more]));
            self.before_length = prefix + length;
            self.at += length;
            self.next += 1;
        }
        Ok(())
    }
}

/// Returns the number of bytes of all texts of a page, at most `values`.
pub(super) fn decoded_length(bytes: Bytes, values: usize, have_prefixes: bool) -> Result<u64> {
    let texts = TextDecoder::open(bytes, values, have_prefixes)?;
    let lengths = texts.prefixes.iter().chain(&texts.lengths);
    lengths.map(|length| u64::try_from(*length).map_err(|_| damaged())).sum()
}

/// Decodes at most `most` numbers at the beginning of a page; returns them and the bytes that
/// follow.
fn numbers(bytes: Bytes, most: usize) -> Result<(Vec<i32>, Bytes)> {
    let mut deltas = DeltaDecoder::open(bytes.clone())?;
    let count = deltas.len();
    if count > most {
        return Err(damaged());
    }
    let mut numbers: Vec<i32> = Vec::new();
    deltas.take(count, &mut numbers)?;
    let end = deltas.end().filter(|end| *end <= bytes.len()).ok_or_else(damaged)?;
    Ok((numbers, bytes.slice(end..)))
}
