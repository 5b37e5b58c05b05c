//! Fold files: sums of captures in one block each, preceded by a description.
//!
//! The first line names format and version, the second the length and the SHA-256 of the third. The
//! third line is JSON: how the captures were folded, and for each capture its files, its conditions
//! and its block. The blocks follow in the same order. Captures are sorted, so the same captures
//! give the same bytes, in whatever order they were added.

use super::block;
use crate::cells::{BusyInStep, Cell, Dimensions};
use crate::pass::PassAccount;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::io::{self, BufReader, Read, Seek, Write};
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::FileName;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{Integrity, LeftOut, Recovery, Source};

/// The beginning of a fold file, before its version.
const MAGIC: &str = "steadfast fold ";
/// The version that this program reads and writes.
const VERSION: u32 = 2;
/// Maximum length of the first two lines: magic, version, length and digest.
const HEAD_MAX: usize = 256;

/// Options of a fold. Only captures that were folded with equal options can be merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldOptions {
    /// Width of a step, in nanoseconds; a divisor of one hour.
    pub step_ns: u64,
    /// True if cells distinguish processes.
    pub processes: bool,
    /// Number of earlier I/Os that an I/O is compared with for sequentiality.
    pub window: usize,
    /// True if cells distinguish threads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub threads: bool,
    /// True if cells distinguish files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub files: bool,
}

impl FoldOptions {
    /// What the cells tell.
    pub(crate) fn told(&self) -> Dimensions {
        Dimensions {
            processes: self.processes,
            threads: self.processes && self.threads,
            cgroups: true,
            files: self.files,
            merges: true,
            single_ios: true,
        }
    }
}

/// Identity of a file that was folded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileIdentity {
    /// SHA-256 over the file's size, its beginning and its end, which holds the checksums of the
    /// rest.
    pub digest: String,
    /// File name, without directories.
    pub name: String,
    /// File size in bytes.
    pub bytes: u64,
}

/// Description of a capture in a fold file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Files of the capture.
    pub files: Vec<FileIdentity>,
    /// Conditions of the capture.
    pub conditions: CaptureConditions,
    /// Paths of the captured files; empty unless cells distinguish files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<FileName>,
    /// Filter by which I/Os were selected, in words; `None` if all were folded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Observed time that passed the filter, in nanoseconds from the beginning of the capture;
    /// `None` for the whole capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans_ns: Option<Vec<(u64, u64)>>,
    /// Account of the pass over the capture.
    pub account: PassAccount,
    /// Known damage and missing parts of the files.
    pub integrity: Integrity,
    /// What was lost because the writer was killed; `None` if the files were complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Number of cells in the block.
    pub cells: u64,
    /// Length of the compressed block, in bytes.
    pub bytes: u64,
    /// SHA-256 of the compressed block.
    pub sha256: String,
}

impl Member {
    /// Returns the key by which captures are sorted: host, start time, files.
    pub fn order(&self) -> (Option<&str>, Option<u64>, &[FileIdentity]) {
        let CaptureConditions { host, began_unix_ns, .. } = &self.conditions;
        (host.as_deref(), *began_unix_ns, &self.files)
    }

    /// Returns a name for messages: the first file and the host.
    pub fn called(&self) -> String {
        let host =
            self.conditions.host.as_deref().unwrap_or(crate::questions::compare::UNKNOWN_HOST);
        let first = self.files.first().map_or("", |file| file.name.as_str());
        match self.files.len() {
            0 | 1 => format!("{first} of {host}"),
            more => format!("{first} and {} more of {host}", more - 1),
        }
    }
}

/// Description at the beginning of a fold file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Contents {
    /// Options of all captures.
    pub options: FoldOptions,
    /// Captures, in the order of their blocks.
    pub captures: Vec<Member>,
    /// Files that could not be read.
    pub left_out: Vec<LeftOut>,
}

/// A fold file open for reading.
pub(crate) struct FoldFile<R> {
    source: Source<R>,
    contents: Contents,
    /// Offset of the block of each capture.
    blocks: Vec<u64>,
}

/// Returns true if a file is a fold file.
///
/// # Errors
/// Returns [`io::Error`] if reading fails.
pub(crate) fn begins<R: Read + Seek>(source: &Source<R>) -> io::Result<bool> {
    Ok(source.read(0, MAGIC.len())? == MAGIC.as_bytes())
}

impl<R: Read + Seek> FoldFile<R> {
    /// Reads and checks the description of a fold file.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if reading fails, or [`TraceError::Unsuitable`] if the file is
    /// damaged or has an unknown version.
    pub(crate) fn of(source: Source<R>) -> Result<Self, TraceError> {
        let head = source.read(0, HEAD_MAX)?;
        let mut lines = head.split_inclusive(|byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let version = std::str::from_utf8(first).ok().and_then(|line| line.strip_prefix(MAGIC));
        let version = version.and_then(|version| version.strip_suffix('\n'));
        match version.and_then(|version| version.parse::<u32>().ok()) {
            Some(VERSION) => {}
            Some(older) if older < VERSION => {
                return Err(TraceError::Unsuitable(
                    "the fold file was written by an unreleased version; fold the traces again with: \
                     steadfast trace fold"
                        .into(),
                ));
            }
            Some(newer) => {
                return Err(TraceError::Unsuitable(format!(
                    "the fold file has version {newer}, and this program reads version {VERSION}; \
                     update steadfast, or fold the traces again"
                )));
            }
            None => return Err(damaged("its first line")),
        }
        let second = lines.next().unwrap_or_default();
        let told =
            std::str::from_utf8(second).ok().and_then(|line| line.trim_end().split_once(' '));
        let told = told.and_then(|(length, sum)| Some((length.parse::<u64>().ok()?, sum)));
        let (length, sum) = told.ok_or_else(|| damaged("its second line"))?;
        let begin = (first.len() + second.len()) as u64;
        let end = begin.checked_add(length).filter(|end| *end <= source.length());
        let end = end.ok_or_else(|| damaged("its length: a part is missing"))?;
        let text = source.read(begin, usize::try_from(length).unwrap_or(usize::MAX))?;
        if hex(&Sha256::digest(&text)) != sum {
            return Err(damaged("the description of its captures"));
        }
        let mut contents: Contents = serde_json::from_slice(&text)
            .map_err(|error| damaged(&format!("the description of its captures ({error})")))?;
        for capture in &mut contents.captures {
            capture.conditions.files = Arc::new(capture.paths.clone());
        }
        Self::with(source, contents, end)
    }

    fn with(source: Source<R>, contents: Contents, mut at: u64) -> Result<Self, TraceError> {
        if !step_fits(contents.options.step_ns) {
            return Err(damaged("the width of its steps"));
        }
        let mut blocks = Vec::new();
        for capture in &contents.captures {
            blocks.push(at);
            at = at.checked_add(capture.bytes).ok_or_else(|| damaged("the length of a block"))?;
        }
        if at == source.length() {
            Ok(FoldFile { source, contents, blocks })
        } else {
            Err(damaged("its length: a part is missing, or something was added"))
        }
    }

    pub(super) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Reads the compressed block of a capture.
    ///
    /// # Errors
    /// Returns [`TraceError::Io`] if reading fails, or [`TraceError::Unsuitable`] if the block is
    /// damaged.
    pub(super) fn block(&self, number: usize) -> Result<Vec<u8>, TraceError> {
        let missing = || damaged("the number of its captures");
        let capture = self.contents.captures.get(number).ok_or_else(missing)?;
        let length = usize::try_from(capture.bytes).map_err(|_| missing())?;
        let block = self.source.read(*self.blocks.get(number).ok_or_else(missing)?, length)?;
        if hex(&Sha256::digest(&block)) == capture.sha256 {
            Ok(block)
        } else {
            Err(damaged(&format!("the block of {}", capture.called())))
        }
    }

    /// Passes the cells of a capture to `cells_of` in portions, then its busy time to `busy_of`.
    ///
    /// # Errors
    /// Returns the errors of [`Self::block`], [`TraceError::Io`] if the cells are damaged, or the
    /// error of a callback.
    pub(super) fn cells(
        &self,
        number: usize,
        cells_of: impl FnMut(Vec<Cell>) -> Result<(), TraceError>,
        busy_of: impl FnOnce(Vec<BusyInStep>) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let packed = self.block(number)?;
        let unpacked = zstd::stream::read::Decoder::with_buffer(packed.as_slice())?;
        let step_ns = self.contents.options.step_ns;
        block::read(BufReader::new(unpacked), step_ns, cells_of, busy_of)
    }
}

/// Returns true if steps of this width lie on one grid regardless of when captures began.
pub(super) fn step_fits(step_ns: u64) -> bool {
    let hour = *crate::sums::step_width::WIDTH_NS.end();
    crate::sums::step_width::WIDTH_NS.contains(&step_ns) && hour.is_multiple_of(step_ns)
}

/// Writes the lines that precede the blocks.
///
/// # Errors
/// Returns [`TraceError::Io`] if writing fails.
pub(super) fn write_head(sink: &mut impl Write, contents: &Contents) -> Result<(), TraceError> {
    let mut text = serde_json::to_vec(contents).map_err(io::Error::from)?;
    text.push(b'\n');
    writeln!(sink, "{MAGIC}{VERSION}")?;
    writeln!(sink, "{} {}", text.len(), hex(&Sha256::digest(&text)))?;
    sink.write_all(&text)?;
    Ok(())
}

/// Returns the error for a damaged part.
fn damaged(what: &str) -> TraceError {
    TraceError::Unsuitable(format!(
        "the fold file is damaged: {what}; make it again with: steadfast trace fold"
    ))
}

/// Formats bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
