//! [`PairTallies`]: the sums and the touched address ranges of each stream of each process in a
//! segment of time, from which the tables are derived. They are stored compressed.

use crate::maps::{ADDRESS_RANGES, TouchedRanges};
use crate::pair_numbers::{CountedIo, PairFilter, PairKey, PairNumbers};
use crate::process_hits::{ProcessHits, RangeCounts};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::mem;
use steadfast_analysis::AnnotatedRows;
use steadfast_analysis::cells::CubeCell;
use steadfast_analysis::cube::CellSums;
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_analysis::sums::io_sums::{IoSums, SumColumns};
use steadfast_analysis::sums::sparse::DenseCounts;
use steadfast_tracefile::{StreamKey, TraceError};

/// Maximum number of pairs that are open. If there are more in a segment, it gets several tables,
/// which add up.
const PAIRS_MAX: usize = 1024;
const ZSTD_LEVEL: i32 = 1;

#[derive(Debug)]
struct PairTally {
    key: PairKey,
    sums: IoSums,
    /// Hits by address range.
    hits: DenseCounts,
}

/// Tables that are being filled.
#[derive(Debug, Default)]
pub struct PairTallies {
    /// For each pair number, its position among the tallies plus one; 0 if it has no tally.
    by_number: Vec<u32>,
    positions: HashMap<PairKey, usize>,
    all: Vec<PairTally>,
    /// Tables of the same segment that were full.
    full: Vec<PackedTables>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PackedTables {
    tallies: Vec<u8>,
    hits: Vec<u8>,
}

impl PairTallies {
    /// Takes I/Os with the address ranges that they touch.
    pub fn take(
        &mut self,
        rows: &AnnotatedRows<'_>,
        ios: &[CountedIo],
        touched: &[Option<TouchedRanges>],
        pairs: &PairNumbers,
    ) -> Result<(), TraceError> {
        let columns = SumColumns::new(rows, true);
        self.by_number.resize(self.by_number.len().max(pairs.keys().len()), 0);
        for (io, touched) in ios.iter().zip(touched) {
            let at = match self.by_number[io.pair as usize] {
                0 => self.look_up(rows, io, pairs)?,
                position => position as usize - 1,
            };
            let tally = &mut self.all[at];
            tally.sums.add(&columns, io.row);
            if let Some(touched) = *touched {
                touched.numbers().for_each(|range| tally.hits.count(range));
            }
        }
        Ok(())
    }

    /// Returns the position of the tally of an I/O whose pair has none or no number.
    #[cold]
    fn look_up(
        &mut self,
        rows: &AnnotatedRows<'_>,
        io: &CountedIo,
        pairs: &PairNumbers,
    ) -> Result<usize, TraceError> {
        let at = self.position(PairKey {
            stream: StreamKey { op: io.op, sequential: io.sequential, bytes: io.bytes },
            process: ProcessKey {
                pid: rows.batch.pid(io.row),
                command: rows.batch.command(io.row),
            },
        })?;
        if pairs.key(io.pair).is_some() {
            self.by_number[io.pair as usize] = at as u32 + 1;
        }
        Ok(at)
    }

    /// Returns the position of the tally of a pair, which is created if there is none.
    fn position(&mut self, key: PairKey) -> Result<usize, TraceError> {
        if let Some(at) = self.positions.get(&key) {
            return Ok(*at);
        }
        if self.all.len() == PAIRS_MAX {
            let packed = self.pack()?;
            self.full.push(packed);
        }
        let at = self.all.len();
        let hits = DenseCounts::new(ADDRESS_RANGES);
        self.all.push(PairTally { key, sums: IoSums::default(), hits });
        self.positions.insert(key, at);
        Ok(at)
    }

    /// Takes the sums of a cube cell, which have no addresses. `knows_flags` is false for sums of
    /// the kernel.
    pub fn take_cell(&mut self, cell: &CubeCell, knows_flags: bool) -> Result<(), TraceError> {
        let at = self.position(cell.into())?;
        self.all[at].sums.add_cell(cell, knows_flags, true);
        Ok(())
    }

    /// Compresses the tables and clears them.
    fn pack(&mut self) -> Result<PackedTables, TraceError> {
        self.by_number.fill(0);
        self.positions.clear();
        let mut merged = MergedTables::default();
        for mut tally in mem::take(&mut self.all) {
            merged.hits.insert(tally.key, tally.hits.drain().collect());
            merged.tallies.insert(tally.key, tally.sums);
        }
        merged.packed()
    }

    pub fn close(&mut self) -> Result<Vec<PackedTables>, TraceError> {
        let last = self.pack()?;
        self.full.push(last);
        Ok(mem::take(&mut self.full))
    }
}

#[derive(Debug, Default)]
struct MergedTables {
    tallies: BTreeMap<PairKey, IoSums>,
    hits: BTreeMap<PairKey, BTreeMap<u16, u32>>,
}

impl MergedTables {
    fn add(&mut self, packed: &PackedTables) -> Result<(), TraceError> {
        for (key, sums) in packed.tallies()? {
            self.tallies.entry(key).or_default().merge(&sums);
        }
        for (key, counts) in unpacked::<Vec<(PairKey, RangeCounts)>>(&packed.hits)? {
            let ours = self.hits.entry(key).or_default();
            for (range, count) in counts {
                let sum = ours.entry(range).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        Ok(())
    }

    fn packed(&self) -> Result<PackedTables, TraceError> {
        let hits = self.hits.iter();
        let hits = hits.map(|(key, ranges)| (key, ranges.iter().collect::<Vec<_>>()));
        Ok(PackedTables {
            tallies: packed(&self.tallies.iter().collect::<Vec<_>>())?,
            hits: packed(&hits.collect::<Vec<_>>())?,
        })
    }
}

impl PackedTables {
    /// Merges compressed tables.
    pub fn merged<'p>(all: impl Iterator<Item = &'p PackedTables>) -> Result<Self, TraceError> {
        let mut merged = MergedTables::default();
        for packed in all {
            merged.add(packed)?;
        }
        merged.packed()
    }

    fn tallies(&self) -> Result<Vec<(PairKey, IoSums)>, TraceError> {
        unpacked(&self.tallies)
    }

    /// Calls `take` with the sums of each pair that passes; all pass if there is no filter.
    pub fn each(
        &self,
        passing: Option<PairFilter<'_>>,
        mut take: impl FnMut(PairKey, &IoSums),
    ) -> Result<(), TraceError> {
        for (key, sums) in &self.tallies()? {
            if passes(passing, key) {
                take(*key, sums);
            }
        }
        Ok(())
    }

    /// Adds the hits of address ranges by process, with the restriction of [`Self::each`].
    pub fn add_hits(
        &self,
        passing: Option<PairFilter<'_>>,
        hits: &mut ProcessHits,
    ) -> Result<(), TraceError> {
        for (key, counts) in unpacked::<Vec<(PairKey, RangeCounts)>>(&self.hits)? {
            if passes(passing, &key) {
                hits.add(Some(key.process), counts);
            }
        }
        Ok(())
    }
}

fn passes(passing: Option<PairFilter<'_>>, key: &PairKey) -> bool {
    passing.is_none_or(|passing| passing.passes(key))
}

fn packed<T: Serialize>(value: &T) -> Result<Vec<u8>, TraceError> {
    let plain = postcard::to_stdvec(value).map_err(unreadable)?;
    zstd::bulk::compress(&plain, ZSTD_LEVEL).map_err(unreadable)
}

fn unpacked<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, TraceError> {
    let plain = zstd::decode_all(bytes).map_err(unreadable)?;
    postcard::from_bytes(&plain).map_err(unreadable)
}

fn unreadable(error: impl std::fmt::Display) -> TraceError {
    TraceError::Unsuitable(format!("the index is damaged ({error}); remove it and start again"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair_numbers::{Breakdowns, PairBatcher};
    use steadfast_analysis::AnnotatedBatch;
    use steadfast_domain::IoEvent;

    /// More pairs than are open at once, in an order that lets each come back.
    #[test]
    fn more_pairs_than_are_open_add_up() {
        let events: Vec<IoEvent> = (0..3 * PAIRS_MAX as u32)
            .map(|n| IoEvent { pid: n * 7 % 2048, bytes: 512, ..IoEvent::default() })
            .collect();
        let batch = AnnotatedBatch::from_events(&events);
        let rows = batch.rows();
        let mut batcher = PairBatcher::new(Breakdowns { streams: true, processes: true });
        let mut tallies = PairTallies::default();
        batcher.each(&rows, |ios, pairs| {
            let touched = vec![Some(TouchedRanges { first: 3, last: 4 }); ios.len()];
            tallies.take(&rows, ios, &touched, pairs).unwrap();
        });
        let tables = tallies.close().unwrap();
        assert_eq!(tables.len(), 3);
        let (mut ios, mut hits) = (HashMap::new(), ProcessHits::default());
        for one in &tables {
            one.each(None, |key, sums| *ios.entry(key).or_insert(0) += sums.count()).unwrap();
            one.add_hits(None, &mut hits).unwrap();
        }
        assert_eq!((ios.len(), ios.values().sum::<u64>()), (2048, events.len() as u64));
        assert_eq!(hits.by_range()[2..6], [0, 3072, 3072, 0]);
    }
}
