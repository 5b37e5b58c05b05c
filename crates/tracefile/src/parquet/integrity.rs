//! Damaged and missing parts of a capture's files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A damaged part of a file; its I/Os are left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Damage {
    /// Number of the file in the order of the capture, from 1.
    pub file: usize,
    /// Offset of the first damaged byte in the file.
    pub at: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// Number of the row group in the file, from 1; `None` if unknown.
    pub row_group: Option<usize>,
    /// First and last issue time in the part, in nanoseconds; `None` if unknown.
    pub span_ns: Option<(u64, u64)>,
    /// Number of I/Os in the part; `None` if unknown.
    pub ios: Option<u64>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.file > 1 {
            write!(f, "file {}, ", self.file)?;
        }
        match self.row_group {
            Some(number) => write!(f, "row group {number}, ")?,
            None => write!(f, "row groups without a recovery block, ")?,
        }
        write!(f, "bytes {} to {}", self.at, self.at.saturating_add(self.bytes))?;
        if let Some((from, to)) = self.span_ns {
            write!(f, ", {:.3} s to {:.3} s", from as f64 / 1e9, to as f64 / 1e9)?;
        }
        match self.ios {
            Some(ios) => write!(f, ", {ios} I/Os"),
            None => write!(f, ", an unknown number of I/Os"),
        }
    }
}

/// A file that could not be read and was left out of a fold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct OmittedFile {
    /// Name of the file.
    pub name: String,
    /// Size in bytes; `None` if unknown.
    pub bytes: Option<u64>,
    /// Reason why it could not be read.
    pub reason: String,
}

impl fmt::Display for OmittedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        if let Some(bytes) = self.bytes {
            write!(f, " ({bytes} bytes)")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// Damaged and missing parts of the files of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Integrity {
    /// True if every file has checksums; without them most damage stays undetected.
    pub checksums: bool,
    /// Damaged parts found so far.
    pub damaged: Vec<Damage>,
    /// Numbers of the parts of a rotated capture that are missing between the given files.
    pub missing_parts: Vec<u32>,
    /// Files that could not be read and were left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<OmittedFile>,
}

impl Integrity {
    /// Returns whether nothing is known to be damaged or missing.
    pub fn is_whole(&self) -> bool {
        self.damaged.is_empty() && self.missing_parts.is_empty() && self.left_out.is_empty()
    }

    /// Returns one sentence for each damaged or missing part.
    pub fn missing(&self) -> Vec<String> {
        let mut missing: Vec<String> =
            self.damaged.iter().map(|damage| format!("Damaged and omitted: {damage}.")).collect();
        if !self.missing_parts.is_empty() {
            let parts: Vec<String> = self.missing_parts.iter().map(ToString::to_string).collect();
            missing.push(format!(
                "Files of this capture that were not given: part {}.",
                parts.join(", part ")
            ));
        }
        missing.extend(self.left_out.iter().map(|file| format!("Omitted: {file}.")));
        missing
    }
}
