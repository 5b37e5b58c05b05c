//! [`Stretches`]: the tables of stretches of time, whole, so that a table of any window
//! adds up what is kept and reads only the window's two edges. Several stretches that
//! stand beside one another are kept once more as one.

use crate::tallies::Packed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;
use steadfast_analysis::pass::Checkpoint;
use steadfast_tracefile::TraceError;

/// Stretches, at most and a few more.
pub const MOST: u64 = 1024;
/// I/Os of a stretch, at least.
pub const IOS_LEAST: u64 = 1 << 16;
/// Stretches that are kept once more as one.
const TOGETHER: usize = 16;

/// A stretch of time, and how a pass begins with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stretch {
    /// Where it begins.
    pub from_ns: u64,
    /// How a pass begins there; `None` for the capture's beginning.
    pub start: Option<Checkpoint>,
    /// Of every thread that counted I/Os of it.
    tables: Vec<Packed>,
}

/// All stretches of a capture.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Stretches {
    /// In their order.
    pub all: Vec<Stretch>,
    /// Those that stand together, packed once more.
    together: Vec<Packed>,
    end_ns: u64,
}

/// Tables of one thread on their way into their stretches.
#[derive(Default)]
pub struct Parts {
    places: BTreeMap<usize, Checkpoint>,
    tables: Vec<(usize, Packed)>,
}

impl Parts {
    /// Keeps the place where a stretch begins.
    pub fn begin(&mut self, stretch: usize, place: &Checkpoint) {
        self.places.insert(stretch, place.clone());
    }

    /// Keeps the tables of a stretch, or of a part of it.
    pub fn keep(&mut self, stretch: usize, tables: Packed) {
        self.tables.push((stretch, tables));
    }

    /// Takes those of another thread.
    pub fn join(&mut self, mut other: Parts) {
        self.places.append(&mut other.places);
        self.tables.append(&mut other.tables);
    }

    /// All stretches of a capture.
    ///
    /// # Errors
    /// Where tables cannot be packed.
    pub fn finish(self, end_ns: u64) -> Result<Stretches, TraceError> {
        let mut all = vec![Stretch { from_ns: 0, start: None, tables: Vec::new() }];
        all.extend(self.places.into_values().map(|start| Stretch {
            from_ns: start.at_ns,
            start: Some(start),
            tables: Vec::new(),
        }));
        for (stretch, tables) in self.tables {
            if let Some(stretch) = all.get_mut(stretch) {
                stretch.tables.push(tables);
            }
        }
        let mut stretches = Stretches { all, together: Vec::new(), end_ns };
        for first in 0..stretches.all.len() / TOGETHER {
            let parts = &stretches.all[first * TOGETHER..(first + 1) * TOGETHER];
            let tables = parts.iter().flat_map(|stretch| &stretch.tables);
            stretches.together.push(Packed::together(tables)?);
        }
        Ok(stretches)
    }
}

impl Stretches {
    /// The last place at or before a time where a pass can begin.
    pub fn before(&self, time_ns: u64) -> &Stretch {
        let after = self.all.partition_point(|stretch| stretch.from_ns <= time_ns);
        &self.all[after.saturating_sub(1)]
    }

    /// The stretches that lie in a window whole; empty where there is none.
    pub fn within(&self, (from_ns, to_ns): (u64, u64)) -> Range<usize> {
        let first = match from_ns {
            0 => 0,
            _ => self.all.partition_point(|stretch| stretch.from_ns < from_ns),
        };
        let end = if to_ns >= self.end_ns {
            self.all.len()
        } else {
            self.all.partition_point(|s| s.from_ns <= to_ns).saturating_sub(1)
        };
        first..end.max(first)
    }

    /// From when to when some stretches reach; `None` where there is none.
    pub fn span_of(&self, range: &Range<usize>) -> Option<(u64, u64)> {
        let first = self.all.get(range.start).filter(|_| !range.is_empty())?;
        let end = self.all.get(range.end).map_or(self.end_ns, |next| next.from_ns);
        Some((first.from_ns, end))
    }

    /// Whether all I/Os of some stretches are told apart by pair.
    pub fn tell_pairs(&self, range: Range<usize>) -> bool {
        self.tables(range).iter().all(|tables| tables.tells_pairs())
    }

    /// The tables of some stretches, with as few parts as there can be.
    pub fn tables(&self, range: Range<usize>) -> Vec<&Packed> {
        let (mut at, mut found) = (range.start, Vec::new());
        while at < range.end {
            let together = self.together.get(at / TOGETHER);
            match together.filter(|_| at.is_multiple_of(TOGETHER) && at + TOGETHER <= range.end) {
                Some(packed) => {
                    found.push(packed);
                    at += TOGETHER;
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
