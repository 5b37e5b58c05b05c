//! Fold files: sums of captures, one block for each, and what the file says of itself.
//!
//! The first line names format and version, the second the length and the SHA-256 of the
//! third, which is JSON: how the captures were folded, and of each its files, its
//! conditions and its block. The blocks follow in that order. Captures stand in a fixed
//! order, so the same captures give the same bytes, however they came together.

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

/// What a fold file begins with, before its version.
const MAGIC: &str = "steadfast fold ";
/// The version that this program reads and writes.
const VERSION: u32 = 2;
/// Longest head of a file: magic, version, length and digest.
const HEAD_MAX: usize = 256;

/// How captures were folded; only what was folded alike is merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoldOptions {
    /// Width of a step in nanoseconds; divides an hour.
    pub step_ns: u64,
    /// Whether processes were told apart.
    pub processes: bool,
    /// I/Os looked back at for sequentiality.
    pub window: usize,
    /// Whether threads were told apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub threads: bool,
    /// Whether files were told apart.
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

/// A file that was folded.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileIdentity {
    /// SHA-256 of its beginning, its end (which holds the checksums of the rest) and its size.
    pub digest: String,
    /// Its name, without directories.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// A capture in a fold file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Its files.
    pub files: Vec<FileIdentity>,
    /// How it came about.
    pub conditions: CaptureConditions,
    /// Paths of its files, where files were told apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<FileName>,
    /// Which of its I/Os were folded; `None` where all were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// The time that was observed and that the filter let pass, in nanoseconds from the
    /// capture's beginning; `None` where that was the whole capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans_ns: Option<Vec<(u64, u64)>>,
    /// What the pass over it saw.
    pub account: PassAccount,
    /// What of its files is damaged or missing.
    pub integrity: Integrity,
    /// Whether its writer was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Cells in its block.
    pub cells: u64,
    /// Length of its block.
    pub bytes: u64,
    /// SHA-256 of its block.
    pub sha256: String,
}

impl Member {
    /// By what captures are put in order: host, beginning, files.
    pub fn order(&self) -> (Option<&str>, Option<u64>, &[FileIdentity]) {
        let CaptureConditions { host, began_unix_ns, .. } = &self.conditions;
        (host.as_deref(), *began_unix_ns, &self.files)
    }

    /// What it is called in a message: its host and its first file.
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

/// What a fold file says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Contents {
    /// How the captures were folded.
    pub options: FoldOptions,
    /// The captures.
    pub captures: Vec<Member>,
    /// Files that could not be read.
    pub left_out: Vec<LeftOut>,
}

/// A fold file, opened.
pub(crate) struct FoldFile<R> {
    source: Source<R>,
    contents: Contents,
    /// Where the block of each capture begins.
    blocks: Vec<u64>,
}

/// Whether a medium holds a fold file.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn begins<R: Read + Seek>(source: &Source<R>) -> io::Result<bool> {
    Ok(source.read(0, MAGIC.len())? == MAGIC.as_bytes())
}

impl<R: Read + Seek> FoldFile<R> {
    /// What the file says of itself, checked.
    ///
    /// # Errors
    /// Where it is damaged or of another version.
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

    /// The block of a capture, compressed, as it stands in the file.
    ///
    /// # Errors
    /// Where it cannot be read or is damaged.
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

    /// The cells of a capture, some at a time, then its busy time.
    ///
    /// # Errors
    /// Where they cannot be read or are damaged, or the receiver refuses.
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

/// Whether steps of this width lie on one grid, whenever captures began.
pub(super) fn step_fits(step_ns: u64) -> bool {
    let hour = *crate::sums::step_width::WIDTH_NS.end();
    crate::sums::step_width::WIDTH_NS.contains(&step_ns) && hour.is_multiple_of(step_ns)
}

/// Writes a file's lines before its blocks.
///
/// # Errors
/// Where the sink cannot be written.
pub(super) fn write_head(sink: &mut impl Write, contents: &Contents) -> Result<(), TraceError> {
    let mut text = serde_json::to_vec(contents).map_err(io::Error::from)?;
    text.push(b'\n');
    writeln!(sink, "{MAGIC}{VERSION}")?;
    writeln!(sink, "{} {}", text.len(), hex(&Sha256::digest(&text)))?;
    sink.write_all(&text)?;
    Ok(())
}

/// What is not as it was written.
fn damaged(what: &str) -> TraceError {
    TraceError::Unsuitable(format!(
        "the fold file is damaged: {what}; make it again with: steadfast trace fold"
    ))
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
