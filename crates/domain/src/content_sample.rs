//! A [`ContentSample`]: how far the data that a host wrote can be compressed and deduplicated.

use crate::text::grouped;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Compression and duplicates of a sample of the written 4 KiB blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ContentSample {
    /// Sampling interval: one block in `every` was selected.
    pub every: u64,
    /// Blocks read back.
    pub blocks: u64,
    /// Bytes read back; a write smaller than 4 KiB counts with its own size.
    pub bytes: u64,
    /// Size of these bytes with each block compressed by zstd at level 1; a block that does not
    /// shrink counts with its own size.
    pub compressed_bytes: u64,
    /// Blocks equal to one that was read back earlier.
    pub duplicates: u64,
    /// Selected blocks that were not read because too many were waiting.
    pub passed_over: u64,
    /// Selected blocks that could not be read.
    pub unreadable: u64,
    /// Blocks read back too late to be counted with their I/O: they count in these totals only.
    pub late: u64,
    /// True for a part of a capture that did not compare every block with every other: the share of
    /// duplicates is then a lower bound, even if the part has few blocks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
}

impl ContentSample {
    /// Returns the uncompressed size divided by the compressed size, or `None` if nothing was
    /// sampled.
    pub fn compression_ratio(&self) -> Option<f64> {
        (self.compressed_bytes > 0).then(|| self.bytes as f64 / self.compressed_bytes as f64)
    }

    /// Returns the share of duplicates among the blocks, or `None` if no block was read back.
    pub fn duplicate_share(&self) -> Option<Share> {
        if self.blocks == 0 {
            return None;
        }
        let share = self.duplicates as f64 / self.blocks as f64;
        Some(if self.is_complete() { Share::Exact(share) } else { Share::AtLeast(share) })
    }

    /// Returns true if the shares of duplicates among the blocks of single I/Os are exact as well.
    pub fn is_exact_per_io(&self) -> bool {
        self.is_complete() && self.late == 0
    }

    /// Returns true if every written block was compared with every other. A duplicate is found only
    /// if both blocks of the pair are read: at one block in N, that is one pair in N squared.
    fn is_complete(&self) -> bool {
        let compared = self.blocks - self.duplicates.min(self.blocks) <= FINGERPRINTS;
        let all_read = self.every == 1 && self.passed_over == 0 && self.unreadable == 0;
        all_read && compared && !self.bound
    }
}

/// Maximum number of distinct blocks that a block is compared with.
pub const FINGERPRINTS: u64 = 1 << 20;

/// A share of a whole, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    /// The measured value.
    Exact(f64),
    /// A lower bound.
    AtLeast(f64),
}

impl Share {
    /// Returns the share if it is exact, or `None` for a lower bound.
    pub fn exact(self) -> Option<f64> {
        match self {
            Share::Exact(share) => Some(share),
            Share::AtLeast(_) => None,
        }
    }
}

/// Prints `28.0 %` or `>= 1.8 %`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Share::Exact(share) => write!(f, "{:.1} %", share * 100.0),
            Share::AtLeast(share) => write!(f, ">= {:.1} %", share * 100.0),
        }
    }
}

impl fmt::Display for ContentSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (blocks, every) = (grouped(self.blocks), grouped(self.every));
        write!(f, "{blocks} written blocks of 4 KiB (1 in {every}) read back")?;
        if self.passed_over == 0 && self.unreadable == 0 {
            return Ok(());
        }
        let (passed_over, unreadable) = (grouped(self.passed_over), grouped(self.unreadable));
        write!(f, ", {passed_over} passed over, {unreadable} unreadable")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_sample_lists_its_omissions() {
        let sample = ContentSample { every: 7, blocks: 10_007, ..ContentSample::default() };
        assert_eq!(sample.to_string(), "10,007 written blocks of 4 KiB (1 in 7) read back");
        let text = ContentSample { passed_over: 3001, ..sample }.to_string();
        assert!(text.ends_with("read back, 3,001 passed over, 0 unreadable"), "{text}");
        assert_eq!(sample.compression_ratio(), None);
    }

    #[test]
    fn duplicates_of_a_sample_are_a_lower_bound() {
        let all = ContentSample { every: 1, blocks: 1000, duplicates: 400, ..Default::default() };
        assert_eq!(all.duplicate_share(), Some(Share::Exact(0.4)));
        let sample = ContentSample { every: 100, duplicates: 18, ..all };
        let share = sample.duplicate_share().unwrap();
        assert_eq!((share.exact(), share.to_string()), (None, ">= 1.8 %".to_owned()));
        let with_gaps = [
            ContentSample { passed_over: 1, ..all },
            ContentSample { unreadable: 1, ..all },
            ContentSample { bound: true, ..all },
        ];
        assert!(with_gaps.iter().all(|some| some.duplicate_share() == Some(Share::AtLeast(0.4))));
        let too_many = ContentSample { blocks: FINGERPRINTS + 401, ..all };
        assert!(too_many.duplicate_share().unwrap().exact().is_none());
        assert_eq!(ContentSample::default().duplicate_share(), None);
    }
}
