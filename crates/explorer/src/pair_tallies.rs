//! [`PairTallies`]: the sums and the touched address ranges of each stream of each process in a
//! segment of time, from which the tables are derived. They are stored compressed.

use crate::maps::{RANGES, TouchedRanges};
use crate::pair_numbers::{CountedIo, PairFilter, PairKey, PairNumbers, pair_of};
use crate::process_hits::{ProcessHits, RangeCounts};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::mem;
use steadfast_analysis::AnnotatedRows;
use steadfast_analysis::cells::CubeCell;
use steadfast_analysis::questions::processes::ProcessKey;
use steadfast_analysis::sums::io_sums::{IoSums, SumColumns};
use steadfast_analysis::sums::sparse::DenseCounts;
use steadfast_tracefile::{StreamKey, TraceError};

/// Maximum number of pairs that are open. If there are more in a segment, it gets several tables,
/// which add up.
const PAIRS_MAX: usize = 1024;
const ZSTD_LEVEL: i32 = 1;

/// Sums over the I/Os of a pair.
#[derive(Debug)]
struct PairTally {
    key: PairKey,
    sums: IoSums,
    touches: DenseCounts,
}

/// Tables that are being filled.
#[derive(Debug, Default)]
pub struct PairTallies {
    /// For each pair number, its position among the tallies plus one; 0 if it has no tally.
    places: Vec<u32>,
    /// Position of each open pair.
    positions: HashMap<PairKey, usize>,
    all: Vec<PairTally>,
    /// Tables of the same segment that were full.
    full: Vec<PackedTables>,
}

/// Compressed tables.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PackedTables {
    tallies: Vec<u8>,
    touches: Vec<u8>,
}

impl PairTallies {
    /// Takes I/Os with the address ranges that they touch.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if full tables cannot be compressed.
    pub fn take(
        &mut self,
        rows: &AnnotatedRows<'_>,
        ios: &[CountedIo],
        touched: &[Option<TouchedRanges>],
        pairs: &PairNumbers,
    ) -> Result<(), TraceError> {
        let columns = SumColumns::new(rows, true);
        self.places.resize(self.places.len().max(pairs.keys().len()), 0);
        for (io, touched) in ios.iter().zip(touched) {
            let at = match self.places[io.pair as usize] {
                0 => self.look_up(rows, io, pairs)?,
                place => place as usize - 1,
            };
            let tally = &mut self.all[at];
            tally.sums.add(&columns, io.row);
            if let Some(touched) = *touched {
                touched.numbers().for_each(|range| tally.touches.count(range));
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
        let (pid, command) = (rows.batch.pid(io.row), rows.batch.command(io.row));
        let stream = StreamKey { op: io.op, sequential: io.sequential, bytes: io.bytes };
        let at = self.position((stream, ProcessKey { pid, command }))?;
        if pairs.key(io.pair).is_some() {
            self.places[io.pair as usize] = at as u32 + 1;
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
        self.all.push(PairTally {
            key,
            sums: IoSums::default(),
            touches: DenseCounts::new(RANGES),
        });
        self.positions.insert(key, at);
        Ok(at)
    }

    /// Takes the sums of a cube cell, which have no addresses. `knows_flags` is false for sums of
    /// the kernel.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if full tables cannot be compressed.
    pub fn take_cell(&mut self, cell: &CubeCell, knows_flags: bool) -> Result<(), TraceError> {
        let at = self.position(pair_of(cell))?;
        self.all[at].sums.add_cell(cell, knows_flags, true);
        Ok(())
    }

    /// Compresses the tables and clears them.
    fn pack(&mut self) -> Result<PackedTables, TraceError> {
        self.places.fill(0);
        self.positions.clear();
        let mut merged = MergedTables::default();
        for mut tally in mem::take(&mut self.all) {
            merged.touches.insert(tally.key, tally.touches.drain().collect());
            merged.tallies.insert(tally.key, tally.sums);
        }
        merged.packed()
    }

    /// Returns the tables of the segment and clears them.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if they cannot be compressed.
    pub fn close(&mut self) -> Result<Vec<PackedTables>, TraceError> {
        let last = self.pack()?;
        self.full.push(last);
        Ok(mem::take(&mut self.full))
    }
}

/// Tables of several segments that are being merged.
#[derive(Debug, Default)]
struct MergedTables {
    tallies: BTreeMap<PairKey, IoSums>,
    touches: BTreeMap<PairKey, BTreeMap<u16, u32>>,
}

impl MergedTables {
    fn add(&mut self, packed: &PackedTables) -> Result<(), TraceError> {
        for (key, sums) in packed.tallies()? {
            self.tallies.entry(key).or_default().merge(&sums);
        }
        for (key, counts) in unpacked::<Vec<(PairKey, RangeCounts)>>(&packed.touches)? {
            let ours = self.touches.entry(key).or_default();
            for (range, count) in counts {
                let sum = ours.entry(range).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        Ok(())
    }

    fn packed(&self) -> Result<PackedTables, TraceError> {
        let touches = self.touches.iter();
        let touches = touches.map(|(key, ranges)| (key, ranges.iter().collect::<Vec<_>>()));
        Ok(PackedTables {
            tallies: packed(&self.tallies.iter().collect::<Vec<_>>())?,
            touches: packed(&touches.collect::<Vec<_>>())?,
        })
    }
}

impl PackedTables {
    /// Merges compressed tables.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if they cannot be decompressed or compressed.
    pub fn together<'p>(all: impl Iterator<Item = &'p PackedTables>) -> Result<Self, TraceError> {
        let mut together = MergedTables::default();
        for packed in all {
            together.add(packed)?;
        }
        together.packed()
    }

    fn tallies(&self) -> Result<Vec<(PairKey, IoSums)>, TraceError> {
        unpacked(&self.tallies)
    }

    /// Calls `take` with the sums of each pair that passes; all pass if there is no filter.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if the index is damaged.
    pub fn each(
        &self,
        passing: Option<PairFilter<'_>>,
        mut take: impl FnMut(PairKey, &IoSums),
    ) -> Result<(), TraceError> {
        let tallies = self.tallies()?;
        let passing = tallies.iter().filter(|(key, _)| is_let(passing, key));
        passing.for_each(|(key, sums)| take(*key, sums));
        Ok(())
    }

    /// Adds the hits of address ranges by process, with the restriction of [`Self::each`].
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if the index is damaged.
    pub fn add_touches(
        &self,
        passing: Option<PairFilter<'_>>,
        touches: &mut ProcessHits,
    ) -> Result<(), TraceError> {
        for (key, counts) in unpacked::<Vec<(PairKey, RangeCounts)>>(&self.touches)? {
            if is_let(passing, &key) {
                touches.add(Some(key.1), counts);
            }
        }
        Ok(())
    }
}

fn is_let(passing: Option<PairFilter<'_>>, key: &PairKey) -> bool {
    passing.is_none_or(|passing| passing.lets(key))
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
        let mut gathering = PairBatcher::new(Breakdowns { streams: true, processes: true });
        let mut tallies = PairTallies::default();
        gathering.each(&rows, |ios, pairs| {
            let touched = vec![Some(TouchedRanges { first: 3, last: 4 }); ios.len()];
            tallies.take(&rows, ios, &touched, pairs).unwrap();
        });
        let tables = tallies.close().unwrap();
        assert_eq!(tables.len(), 3);
        let (mut ios, mut touches) = (HashMap::new(), ProcessHits::default());
        for one in &tables {
            one.each(None, |key, sums| *ios.entry(key).or_insert(0) += sums.count()).unwrap();
            one.add_touches(None, &mut touches).unwrap();
        }
        assert_eq!((ios.len(), ios.values().sum::<u64>()), (2048, events.len() as u64));
        assert_eq!(touches.by_range()[2..6], [0, 3072, 3072, 0]);
    }
}
