//! [`ProcessHits`]: the hits of each address range by process.

use crate::maps::{ADDRESS_RANGES, AddressRanges};
use std::collections::HashMap;
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_analysis::{AnnotatedRows, Fold};
use steadfast_tracefile::{Field, Fields, TraceError};

/// Maximum number of processes that are counted separately; all others are counted together.
const PROCESSES_MAX: usize = 4096;

/// Hits of address ranges by process; `None` stands for all others.
#[derive(Debug, Default)]
pub struct ProcessHits(HashMap<Option<ProcessKey>, Vec<u32>>);

pub type RangeCounts = Vec<(u16, u32)>;

impl ProcessHits {
    /// Adds hits of a process; `None` stands for all others.
    pub fn add(&mut self, key: Option<ProcessKey>, counts: impl IntoIterator<Item = (u16, u32)>) {
        let is_full = self.0.len() >= PROCESSES_MAX && !self.0.contains_key(&key);
        let key = if is_full { None } else { key };
        let ours = self.0.entry(key).or_insert_with(|| vec![0; ADDRESS_RANGES]);
        for (range, count) in counts {
            if let Some(ours) = ours.get_mut(usize::from(range)) {
                *ours = ours.saturating_add(count);
            }
        }
    }

    pub fn by_range(&self) -> Vec<u64> {
        let mut all = vec![0; ADDRESS_RANGES];
        for counts in self.0.values() {
            all.iter_mut().zip(counts).for_each(|(sum, count)| *sum += u64::from(*count));
        }
        all
    }

    /// Returns the processes that hit a range, with their hits.
    pub fn in_range(&self, range: usize) -> Vec<(Option<ProcessKey>, u64)> {
        let hits = self.0.iter().map(|(key, counts)| (*key, counts[range].into()));
        hits.filter(|(_, count)| *count > 0).collect()
    }
}

pub struct ProcessHitsFold {
    pub hits: ProcessHits,
    addresses: AddressRanges,
}

impl ProcessHitsFold {
    pub fn new(addresses: AddressRanges) -> Self {
        ProcessHitsFold { hits: ProcessHits::default(), addresses }
    }
}

impl Fold for ProcessHitsFold {
    fn fields(&self) -> Fields {
        AddressRanges::FIELDS.and(Fields::new(&[Field::Pid, Field::Command]))
    }

    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        for row in rows.iter() {
            if let Some(touched) = self.addresses.touched(rows, row) {
                let (pid, command) = (rows.batch.pid(row), rows.batch.command(row));
                let ranges = touched.numbers().map(|range| (range as u16, 1));
                self.hits.add(Some(ProcessKey { pid, command }), ranges);
            }
        }
        Ok(())
    }

    fn new_part(&self) -> Option<Self> {
        Some(ProcessHitsFold::new(self.addresses))
    }

    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        for (key, counts) in other.hits.0 {
            self.hits.add(key, (0..).zip(counts));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::io_event::CommandName;

    #[test]
    fn processes_beyond_the_limit_count_together() {
        let mut hits = ProcessHits::default();
        for pid in 0..PROCESSES_MAX as u32 + 503 {
            hits.add(Some(ProcessKey { pid, command: CommandName::default() }), [(3, 1)]);
        }
        assert_eq!(hits.by_range()[3], PROCESSES_MAX as u64 + 503);
        assert!(hits.in_range(3).contains(&(None, 503)));
    }
}
