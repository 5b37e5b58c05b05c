//! [`ProcessHits`]: the hits of each address range by process.

use crate::keys::StoredProcessKey;
use crate::maps::{IndexHitMap, RANGES};
use crate::pairs;
use std::collections::HashMap;
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_analysis::{AnnotatedRows, EmptyLike, Fold, ParallelFold};
use steadfast_tracefile::{Field, Fields, TraceError};

/// Maximum number of processes that are counted separately; all others are counted together.
const PROCESSES_MAX: usize = 4096;
/// Entries of the cache of process numbers.
const AT_HAND: usize = 64;

/// Hits of address ranges by process.
#[derive(Debug, Default)]
pub struct ProcessHits {
    numbers: HashMap<Option<ProcessKey>, usize>,
    /// Cache of process numbers, indexed by process.
    at_hand: Vec<Option<(ProcessKey, usize)>>,
    /// For each process, the hits of every range.
    counts: Vec<Vec<u32>>,
}

/// Ranges with their hits.
pub type RangeCounts = Vec<(u16, u32)>;

/// Hits by process; `None` stands for all others.
pub type StoredProcessHits = Vec<(Option<StoredProcessKey>, RangeCounts)>;

impl ProcessHits {
    /// Counts a hit of every range from the first to the last.
    #[inline]
    pub fn count(&mut self, key: ProcessKey, (first, last): (usize, usize)) {
        let place = (key.pid as usize ^ usize::from(key.command.0[0])) % AT_HAND;
        let number = match self.at_hand.get(place) {
            Some(Some((known, number))) if *known == key => *number,
            _ => {
                let number = self.number(Some(key));
                self.at_hand.resize(AT_HAND, None);
                self.at_hand[place] = Some((key, number));
                number
            }
        };
        for count in &mut self.counts[number][first..=last] {
            *count = count.saturating_add(1);
        }
    }

    fn number(&mut self, key: Option<ProcessKey>) -> usize {
        let is_full = self.numbers.len() >= PROCESSES_MAX && !self.numbers.contains_key(&key);
        let key = if is_full { None } else { key };
        let next = self.numbers.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == self.counts.len() {
            self.counts.push(vec![0; RANGES]);
        }
        number
    }

    /// Returns the hits in the form of an index file.
    pub fn kept(&self) -> StoredProcessHits {
        let mut kept: StoredProcessHits = Vec::new();
        for (key, number) in &self.numbers {
            let counts = (0u16..).zip(&self.counts[*number]).filter(|(_, count)| **count > 0);
            let key = key.map(|key| pairs::kept(&key));
            kept.push((key, counts.map(|(range, count)| (range, *count)).collect()));
        }
        kept.sort();
        kept
    }

    /// Adds hits in the form of an index file.
    pub fn add_kept(&mut self, kept: &StoredProcessHits) {
        for (key, counts) in kept {
            self.add(key.map(pairs::process), counts);
        }
    }

    /// Adds hits of a process; `None` stands for all others.
    pub fn add(&mut self, key: Option<ProcessKey>, counts: &RangeCounts) {
        let number = self.number(key);
        for (range, count) in counts {
            if let Some(ours) = self.counts[number].get_mut(usize::from(*range)) {
                *ours = ours.saturating_add(*count);
            }
        }
    }

    /// Returns whether there are no hits.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Returns the hits of every range.
    pub fn by_range(&self) -> Vec<u64> {
        let mut all = vec![0; RANGES];
        for counts in &self.counts {
            all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += u64::from(*count));
        }
        all
    }

    /// Returns the processes that hit a range, with their hits.
    pub fn of(&self, range: usize) -> Vec<(Option<ProcessKey>, u64)> {
        let touches = self.numbers.iter().map(|(key, at)| (*key, self.counts[*at][range].into()));
        touches.filter(|(_, count)| *count > 0).collect()
    }
}

/// A fold that counts hits by process.
pub struct ProcessHitsFold {
    /// Hits so far.
    pub touches: ProcessHits,
    map: IndexHitMap,
}

impl ProcessHitsFold {
    /// Creates an empty fold for the ranges of a map without columns.
    pub fn new(map: IndexHitMap) -> Self {
        ProcessHitsFold { touches: ProcessHits::default(), map }
    }
}

impl EmptyLike for ProcessHitsFold {
    fn alike(&self) -> Self {
        ProcessHitsFold::new(self.map.clone())
    }
}

impl Fold for ProcessHitsFold {
    fn fields(&self) -> Fields {
        self.map.fields().and(Fields::of(&[Field::Pid, Field::Command]))
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        for row in rows.iter() {
            if let Some(ranges) = self.map.touched(rows, row) {
                let (pid, command) = (rows.batch.pid(row), rows.batch.command(row));
                self.touches.count(ProcessKey { pid, command }, ranges);
            }
        }
        Ok(())
    }

    fn in_parts(&mut self) -> Option<&mut dyn ParallelFold> {
        Some(self)
    }

    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.touches.add_kept(&other.touches.kept());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::CommandName;

    #[test]
    fn what_is_kept_gives_back_every_touch() {
        let key = |pid| ProcessKey { pid, command: CommandName::new("x") };
        let mut touches = ProcessHits::default();
        for n in 0..10_007u32 {
            let range = n as usize * 31 % (RANGES - 1);
            touches.count(key(n % 7), (range, range + usize::from(n % 2 == 0)));
        }
        let mut again = ProcessHits::default();
        again.add_kept(&touches.kept());
        again.add_kept(&touches.kept());
        let twice = touches.by_range().iter().map(|count| count * 2).collect::<Vec<_>>();
        assert_eq!(again.by_range(), twice);
        assert_eq!(again.of(31).iter().map(|(_, count)| count).sum::<u64>(), twice[31]);
    }

    #[test]
    fn processes_beyond_the_bound_count_together() {
        let mut touches = ProcessHits::default();
        for pid in 0..PROCESSES_MAX as u32 + 503 {
            touches.count(ProcessKey { pid, command: CommandName::default() }, (3, 3));
        }
        assert_eq!(touches.by_range()[3], PROCESSES_MAX as u64 + 503);
        assert!(touches.of(3).contains(&(None, 503)));
    }
}
