//! Damaged and missing parts of a capture's files.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes that are not as they were written; the I/Os in them are left out.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Damage {
    /// Which of the files, in the capture's order, from 1.
    pub file: usize,
    /// Where they begin.
    pub at: u64,
    /// How many they are.
    pub bytes: u64,
    /// Which row group of its file, from 1; `None` where nothing tells.
    pub row_group: Option<usize>,
    /// First and last time in it, where that is known.
    pub span_ns: Option<(u64, u64)>,
    /// I/Os in it, where that is known.
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
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct OmittedFile {
    /// Its name.
    pub name: String,
    /// Its size in bytes, where that is known.
    pub bytes: Option<u64>,
    /// Why.
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

/// What is known of the files' state.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Integrity {
    /// Whether every file has checksums; without them most damage cannot be seen.
    pub checksums: bool,
    /// What is left out, as far as was read.
    pub damaged: Vec<Damage>,
    /// Parts of a rotated capture that lie between those that were named.
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
        let mut told: Vec<String> =
            self.damaged.iter().map(|damage| format!("Damaged and omitted: {damage}.")).collect();
        if !self.missing_parts.is_empty() {
            let parts: Vec<String> = self.missing_parts.iter().map(ToString::to_string).collect();
            told.push(format!(
                "Files of this capture that were not given: part {}.",
                parts.join(", part ")
            ));
        }
        told.extend(self.left_out.iter().map(|file| format!("Omitted: {file}.")));
        told
    }
}
