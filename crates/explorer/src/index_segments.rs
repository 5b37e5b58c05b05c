//! [`IndexSegments`]: the tables of consecutive segments of time, so that the table of any window adds
//! up what is kept and reads only the two edges of the window. The merged tables of several
//! adjacent segments are kept as well.

use crate::pair_tallies::PackedTables;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use steadfast_analysis::pass::Checkpoint;
use steadfast_tracefile::TraceError;

/// Approximate maximum number of segments.
pub const SEGMENTS_MAX: u64 = 1024;
pub const IOS_MIN: u64 = 1 << 16;
/// Number of adjacent segments whose merged tables are kept as well.
const MERGED: usize = 16;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IndexSegment {
    pub from_ns: u64,
    /// Checkpoint from which a pass can begin there; `None` for the beginning of the capture.
    pub start: Option<Checkpoint>,
    /// Tables of the I/Os of the segment, which add up: one or more of each thread.
    tables: Vec<PackedTables>,
}

impl IndexSegment {
    fn new(from_ns: u64, start: Option<Checkpoint>) -> Self {
        IndexSegment { from_ns, start, tables: Vec::new() }
    }
}

/// All segments of a capture.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct IndexSegments {
    pub all: Vec<IndexSegment>,
    /// Merged tables of every [`MERGED`] segments.
    merged: Vec<PackedTables>,
    end_ns: u64,
}

/// Checkpoints and tables that one thread found, before they are assigned to segments.
#[derive(Default)]
pub struct ThreadCheckpoints {
    checkpoints: BTreeMap<usize, Checkpoint>,
    tables: Vec<(usize, PackedTables)>,
}

impl ThreadCheckpoints {
    /// Stores the checkpoint at the beginning of a segment.
    pub fn begin(&mut self, segment: usize, checkpoint: &Checkpoint) {
        self.checkpoints.insert(segment, checkpoint.clone());
    }

    pub fn add(&mut self, segment: usize, tables: Vec<PackedTables>) {
        self.tables.extend(tables.into_iter().map(|tables| (segment, tables)));
    }

    pub fn merge(&mut self, mut other: ThreadCheckpoints) {
        self.checkpoints.append(&mut other.checkpoints);
        self.tables.append(&mut other.tables);
    }

    /// Builds the segments of a capture.
    pub fn finish(self, end_ns: u64) -> Result<IndexSegments, TraceError> {
        let mut all = vec![IndexSegment::new(0, None)];
        let later = self.checkpoints.into_values();
        all.extend(later.map(|start| IndexSegment::new(start.at_ns, Some(start))));
        for (segment, tables) in self.tables {
            if let Some(segment) = all.get_mut(segment) {
                segment.tables.push(tables);
            }
        }
        IndexSegments::new(all, end_ns)
    }
}

impl IndexSegments {
    /// Builds the segments of a capture that holds sums of steps, each `width_ns` wide.
    /// The tables have the numbers of their segments.
    pub fn from_sums(
        width_ns: u64,
        end_ns: u64,
        tables: Vec<(usize, PackedTables)>,
    ) -> Result<Self, TraceError> {
        let mut all = vec![IndexSegment::new(0, None)];
        for (number, tables) in tables {
            while all.len() <= number {
                all.push(IndexSegment::new((all.len() as u64).saturating_mul(width_ns), None));
            }
            all[number].tables.push(tables);
        }
        Self::new(all, end_ns)
    }

    fn new(all: Vec<IndexSegment>, end_ns: u64) -> Result<Self, TraceError> {
        let mut merged = Vec::new();
        for segments in all.chunks_exact(MERGED) {
            let tables = segments.iter().flat_map(|segment| &segment.tables);
            merged.push(PackedTables::merged(tables)?);
        }
        Ok(IndexSegments { all, merged, end_ns })
    }

    /// Returns the last segment that begins at or before a time.
    pub fn before(&self, time_ns: u64) -> &IndexSegment {
        let after = self.all.partition_point(|segment| segment.from_ns <= time_ns);
        &self.all[after.saturating_sub(1)]
    }

    /// Returns the segments that lie entirely within a window; the range is empty if there are
    /// none.
    pub fn within(&self, (from_ns, to_ns): (u64, u64)) -> Range<usize> {
        let first = match from_ns {
            0 => 0,
            _ => self.all.partition_point(|segment| segment.from_ns < from_ns),
        };
        let end = if to_ns >= self.end_ns {
            self.all.len()
        } else {
            self.all.partition_point(|s| s.from_ns <= to_ns).saturating_sub(1)
        };
        first..end.max(first)
    }

    /// Returns the time span of a range of segments; `None` if it is empty.
    pub fn span_of(&self, range: &Range<usize>) -> Option<(u64, u64)> {
        let first = self.all.get(range.start).filter(|_| !range.is_empty())?;
        let end = self.all.get(range.end).map_or(self.end_ns, |next| next.from_ns);
        Some((first.from_ns, end))
    }

    /// Returns the tables of a range of segments, in as few pieces as possible.
    pub fn tables(&self, range: Range<usize>) -> Vec<&PackedTables> {
        let (mut at, mut found) = (range.start, Vec::new());
        while at < range.end {
            let merged = self.merged.get(at / MERGED);
            match merged.filter(|_| at.is_multiple_of(MERGED) && at + MERGED <= range.end) {
                Some(packed) => {
                    found.push(packed);
                    at += MERGED;
                }
                None => {
                    found.extend(&self.all[at].tables);
                    at += 1;
                }
            }
        }
        found
    }
}
