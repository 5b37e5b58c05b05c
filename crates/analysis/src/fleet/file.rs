//! The description of a fold file: the options of the fold, and the files, the conditions and the
//! number of row groups of each capture. Captures are sorted, and the row groups are in the order
//! of the captures: the same captures give the same bytes, in whatever order they were added.

use crate::cells::Dimensions;
use crate::pass::PassAccount;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use steadfast_domain::CaptureConditions;
use steadfast_domain::io_event::FileName;
use steadfast_tracefile::cube_file::{CubeColumns, CubeFile, WIDTH_NS};
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::parquet::{Footer, Integrity, OmittedFile, Recovery, SharedMedium};

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
    pub(crate) fn dimensions(&self) -> Dimensions {
        Dimensions {
            processes: self.processes,
            threads: self.processes && self.threads,
            cgroups: true,
            files: self.files,
            merges: true,
            ranges: false,
            single_ios: true,
        }
    }

    /// Returns the columns of a capture that was folded with these options.
    pub(super) fn columns(&self, conditions: &CaptureConditions) -> CubeColumns {
        CubeColumns {
            processes: self.processes,
            threads: self.processes && self.threads && conditions.threads,
            cgroups: conditions.cgroups.is_some(),
            files: self.files,
            merges: conditions.merging.is_some(),
            content: conditions.content.is_some(),
            busy: true,
            ranges: false,
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
    /// Data lost because the writer was killed; `None` if the files were complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Number of rows with sums of I/Os.
    pub cells: u64,
    /// Number of row groups with them.
    pub row_groups: usize,
}

impl Member {
    /// Returns the key by which captures are sorted: host, start time, files.
    pub fn sort_key(&self) -> (Option<&str>, Option<u64>, &[FileIdentity]) {
        let CaptureConditions { host, began_unix_ns, .. } = &self.conditions;
        (host.as_deref(), *began_unix_ns, &self.files)
    }

    pub(super) fn lasted_ns(&self) -> u64 {
        let reached = self.account.span_ns.map_or(0, |(_, last)| last.saturating_add(1));
        self.conditions.lasted_ns.max(reached)
    }

    /// Returns a name for messages: the first file and the host.
    pub fn label(&self) -> String {
        let host =
            self.conditions.host.as_deref().unwrap_or(crate::questions::compare::UNKNOWN_HOST);
        let first = self.files.first().map_or("", |file| file.name.as_str());
        match self.files.len() {
            0 | 1 => format!("{first} of {host}"),
            count => format!("{first} and {} more of {host}", count - 1),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FoldDescription {
    /// Options of all captures.
    pub options: FoldOptions,
    /// Captures, in the order of their row groups.
    pub captures: Vec<Member>,
    /// Files that could not be read.
    pub left_out: Vec<OmittedFile>,
}

pub(crate) struct FoldFile {
    pub(super) description: FoldDescription,
    /// Row groups of each capture.
    pub(super) cubes: Vec<CubeFile>,
}

impl FoldFile {
    /// Opens a fold file and checks every row group.
    pub(crate) fn from_footer(source: SharedMedium, footer: Footer) -> Result<Self, TraceError> {
        let Some(text) = &footer.fold else {
            return Err(damaged("its end: a part is missing, or something was added"));
        };
        let mut description: FoldDescription = serde_json::from_str(text)
            .map_err(|error| damaged(&format!("the description of its captures ({error})")))?;
        if !step_fits(description.options.step_ns)
            || footer.conditions.as_ref().and_then(|conditions| conditions.step_ns)
                != Some(description.options.step_ns)
        {
            return Err(damaged("the width of its steps"));
        }
        let mut damage = Vec::new();
        let mut cube =
            CubeFile::new(source, footer.groups, footer.conditions.as_ref(), &mut damage)?;
        if let Some(first) = damage.first() {
            return Err(damaged(&first.to_string()));
        }
        let counts = description.captures.iter().map(|capture| capture.row_groups);
        if counts.fold(0, usize::saturating_add) != cube.groups() {
            return Err(damaged("the number of its row groups"));
        }
        if !cube.has_checksums() {
            return Err(damaged("the checksums of its row groups"));
        }
        let mut cubes = Vec::with_capacity(description.captures.len());
        for capture in &mut description.captures {
            capture.conditions.files = Arc::new(capture.paths.clone());
            cubes.push(cube.split_first(capture.row_groups));
        }
        Ok(FoldFile { description, cubes })
    }
}

/// Returns true if the width is allowed and divides an hour, so that the steps of all captures
/// begin at the same times.
pub(super) fn step_fits(step_ns: u64) -> bool {
    WIDTH_NS.contains(&step_ns) && WIDTH_NS.end().is_multiple_of(step_ns)
}

fn damaged(what: &str) -> TraceError {
    TraceError::Unsuitable(format!(
        "the fold file is damaged: {what}; recreate it with: steadfast trace fold"
    ))
}
