//! Reads the metadata of a file from its footer or its recovery blocks.

use super::checksums::{self, FoundGroup, value_of};
use super::guard::guarded;
use super::integrity::Damage;
use super::recovery::{self, Recovery, RecoveryScan};
use super::source::SharedMedium;
use crate::cube_file::is_fold;
use crate::error::TraceError;
use crate::schema::{
    KEY_FILES, KEY_FINAL, KEY_FOLD, KEY_FORMAT, KEY_PROCESSORS, KEY_START, is_ours,
};
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use serde::de::DeserializeOwned;
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::{FileName, ProcessorReading};

/// The metadata of a file, from its footer or its recovery blocks.
pub struct Footer {
    /// Row groups in file order.
    pub groups: Vec<FoundGroup>,
    /// Conditions at the end of the capture; for a killed writer the last ones recorded; `None` if
    /// the file records none.
    pub conditions: Option<CaptureConditions>,
    /// Conditions at the beginning, written before the first row group; `None` if the file does
    /// not record them.
    pub start: Option<CaptureConditions>,
    /// Extent of the recovery; `None` if the footer was read.
    pub recovery: Option<Recovery>,
    /// Damage that is known without reading a row group.
    pub damaged: Vec<Damage>,
    /// Description of the captures of a fold file as JSON; `None` in any other file.
    pub fold: Option<String>,
}

impl Footer {
    /// Returns whether the file is a fold file, whole or not.
    pub fn is_fold(&self) -> bool {
        self.conditions.as_ref().is_some_and(is_fold)
    }

    /// Returns whether the file holds only sums.
    pub fn holds_only_sums(&self) -> bool {
        self.conditions.as_ref().is_some_and(|conditions| conditions.step_ns.is_some())
    }
}

/// Magic number at the beginning and the end of a Parquet file.
const PARQUET: &[u8] = b"PAR1";
/// Bytes searched at a time for the end of a file.
const TAIL_STRIDE: usize = 1 << 20;
/// Beginning of a fold file of an unreleased version.
const UNRELEASED_FOLD: &[u8] = b"steadfast fold ";

/// Reads the footer, or the recovery blocks if the file has no footer.
///
/// # Errors
/// Returns [`TraceError::NotATrace`] if the file is not a trace, [`TraceError::Footer`] if its
/// footer or first bytes are damaged, [`TraceError::Damaged`] if an entry of its metadata is
/// invalid, [`TraceError::Unsuitable`] if an unreleased version wrote it, and [`TraceError::Io`] if
/// the medium fails.
pub fn footer(source: &SharedMedium) -> Result<Footer, TraceError> {
    let not_ours = |why: &str| TraceError::NotATrace(why.to_owned());
    if source.length == 0 {
        return Err(not_ours("it is empty; its capture may have been killed at the start"));
    }
    if source.read(0, UNRELEASED_FOLD.len())? == UNRELEASED_FOLD {
        return Err(TraceError::unreleased());
    }
    if source.read(0, PARQUET.len())? != PARQUET {
        return Err(if recovery::begins(source)? {
            TraceError::Footer("its first bytes are not PAR1".into())
        } else {
            not_ours("it does not begin with PAR1")
        });
    }
    let why =
        match guarded("in its footer", || ParquetMetaDataReader::new().parse_and_finish(source)) {
            Ok(metadata) => return from_metadata(source, &metadata),
            Err(medium @ TraceError::Io(_)) => return Err(medium),
            Err(why) => why.to_string(),
        };
    let end = source.length.saturating_sub(PARQUET.len() as u64);
    let is_cut_off = source.read(end, PARQUET.len())? != PARQUET;
    if is_cut_off {
        if let Some(found) = before_trailing_bytes(source)? {
            return Ok(found);
        }
        let why = "its end is missing: it does not end with a Parquet footer";
        from_blocks(source)?.ok_or_else(|| not_ours(why))
    } else if recovery::begins(source)? {
        Err(TraceError::Footer(why))
    } else {
        Err(not_ours(&why))
    }
}

/// Reads the footer, or the recovery blocks if the file has no footer or a damaged one.
pub fn footer_or_blocks(source: &SharedMedium) -> Result<Footer, TraceError> {
    match footer(source) {
        Err(damaged @ TraceError::Footer(_)) => from_blocks(source)?.ok_or(damaged),
        found => found,
    }
}

/// Reads the footer of a complete file that other bytes follow; `None` if there is no footer after
/// its last row group.
fn before_trailing_bytes(source: &SharedMedium) -> Result<Option<Footer>, TraceError> {
    let Some(found) = recovery::search(source)? else { return Ok(None) };
    let mut from = source.length.saturating_sub(found.recovery.bytes_ignored);
    loop {
        let bytes = source.read(from, TAIL_STRIDE)?;
        for at in 0..bytes.len().saturating_sub(PARQUET.len() - 1) {
            if !bytes[at..].starts_with(PARQUET) {
                continue;
            }
            let end = from + (at + PARQUET.len()) as u64;
            let whole = source.ending_at(end);
            let metadata =
                guarded("in its footer", || ParquetMetaDataReader::new().parse_and_finish(&whole));
            // The magic number may be part of the footer, or of the bytes that follow it.
            let Ok(metadata) = metadata else { continue };
            let mut footer = from_metadata(&whole, &metadata)?;
            if footer.fold.is_some() {
                // The end of a fold is the only proof that it is whole.
                return Ok(None);
            }
            if let Some(conditions) = &mut footer.conditions {
                conditions.remarks.push(format!(
                    "{} bytes that follow the end of the file are ignored; no I/O is lost.",
                    source.length - end
                ));
            }
            return Ok(Some(footer));
        }
        if bytes.len() < TAIL_STRIDE {
            return Ok(None);
        }
        from += (TAIL_STRIDE - (PARQUET.len() - 1)) as u64;
    }
}

fn from_metadata(source: &SharedMedium, metadata: &ParquetMetaData) -> Result<Footer, TraceError> {
    let keys = metadata.file_metadata().key_value_metadata().map_or(&[][..], Vec::as_slice);
    // One flipped bit can make the Parquet library skip all keys, including the checksums.
    if !keys.iter().any(|entry| entry.key == KEY_FORMAT) && recovery::begins(source)? {
        return Err(TraceError::Footer("its metadata is missing".into()));
    }
    let rewriter = rewriter(source, metadata)?;
    let sealed = if rewriter.is_some() { &[] } else { keys };
    let sums = checksums::sums_in_footer(source, sealed, metadata.row_groups())?;
    let mut sums = sums.into_iter().flatten();
    let group = |group: &RowGroupMetaData| FoundGroup { metadata: group.clone(), sum: sums.next() };
    let mut conditions: Option<CaptureConditions> = value_in(keys, KEY_FINAL)?;
    let files: Option<Vec<FileName>> = value_in(keys, KEY_FILES)?;
    let processors: Option<Vec<ProcessorReading>> = value_in(keys, KEY_PROCESSORS)?;
    if let Some(conditions) = &mut conditions {
        if let Some(files) = files {
            conditions.files = Arc::new(files);
        }
        if let Some(processors) = processors {
            conditions.processors = Arc::new(processors);
        }
        if let Some(rewriter) = rewriter {
            conditions.remarks.push(format!(
                "The file was rewritten by another program ({rewriter}): its rows may differ from \
                 the captured ones."
            ));
        }
    }
    Ok(Footer {
        conditions,
        start: value_in(keys, KEY_START)?,
        groups: metadata.row_groups().iter().map(group).collect(),
        recovery: None,
        damaged: Vec::new(),
        fold: value_of(keys, KEY_FOLD).map(str::to_owned),
    })
}

/// Returns the program that rewrote one of our files and kept its keys: neither the first bytes
/// nor the author in the footer are ours, and the footer does not match its checksum. The copied
/// checksums do not describe this file.
fn rewriter(
    source: &SharedMedium,
    metadata: &ParquetMetaData,
) -> Result<Option<String>, TraceError> {
    let author = metadata.file_metadata().created_by().unwrap_or("unknown");
    let is_ours = is_ours(author)
        || recovery::begins(source)?
        || checksums::is_sealed(source, metadata.file_metadata().key_value_metadata())?;
    Ok((!is_ours).then(|| author.to_owned()))
}

fn from_blocks(source: &SharedMedium) -> Result<Option<Footer>, TraceError> {
    let found = recovery::search(source)?;
    if let Some(RecoveryScan { groups, recovery, .. }) = &found
        && groups.is_empty()
        && recovery.bytes_ignored > 0
    {
        return Err(TraceError::Unsuitable(format!(
            "it is damaged: its end is missing or was changed, and no row group before it is complete, \
             so none of its I/Os can be read ({} bytes are lost); copy it again, or make it again",
            recovery.bytes_ignored
        )));
    }
    Ok(found.map(|found| {
        let mut conditions = found.conditions.or_else(|| found.start.clone());
        if let Some(conditions) = &mut conditions {
            conditions.files = Arc::new(found.files);
            conditions.processors = Arc::new(found.processors);
        }
        Footer {
            conditions,
            start: found.start,
            groups: found.groups,
            recovery: Some(found.recovery),
            damaged: found.damaged,
            fold: None,
        }
    }))
}

/// Parses the JSON value of a metadata key; `None` if the key is missing.
fn value_in<T: DeserializeOwned>(keys: &[KeyValue], key: &str) -> Result<Option<T>, TraceError> {
    let Some(text) = value_of(keys, key) else { return Ok(None) };
    serde_json::from_str(text)
        .map(Some)
        .map_err(|error| TraceError::damaged(format!("in its metadata {key}"), error))
}
