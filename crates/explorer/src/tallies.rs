//! [`PairTallies`]: the tables of a stretch of time by stream, by process and by address range. All are
//! derived from one count per stream of each process, and are stored compressed.

use crate::keys::StoredProcessKey;
use crate::maps::{RANGES, TouchedRanges};
use crate::pairs::{CountedIo, PairFilter, PairKey, PairNumbers, kept, process};
use crate::sparse::DenseCounts;
use crate::touches::{self, ProcessHits, RangeCounts};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::mem;
use steadfast_analysis::questions::processes::{ProcessKey, ProcessTable};
use steadfast_analysis::sums::io_sums::{IoSums, SumColumns};
use steadfast_analysis::{AnnotatedRows, Fold, StreamTable};
use steadfast_tracefile::{StreamKey, TraceError};

/// Maximum number of pairs that are counted separately in a stretch. All other I/Os are counted by
/// stream and by process.
const PAIRS_MAX: usize = 1024;
const ZSTD_LEVEL: i32 = 1;

/// Sums over the I/Os of a pair.
#[derive(Debug)]
struct PairTally {
    pair: u32,
    sums: IoSums,
    touches: DenseCounts,
}

/// Tables that are being filled.
#[derive(Debug, Default)]
pub struct PairTallies {
    /// For each pair, its position among the tallies plus one; 0 if it has no tally.
    places: Vec<u32>,
    all: Vec<PairTally>,
    rest: UnpairedTables,
    /// Rows of other pairs that are not counted yet.
    rest_rows: Vec<usize>,
}

/// I/Os that are not counted by pair.
#[derive(Debug, Default)]
struct UnpairedTables {
    streams: StreamTable,
    processes: ProcessTable,
    touches: ProcessHits,
}

/// Compressed tables.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PackedTables {
    tallies: Vec<u8>,
    touches: Vec<u8>,
    /// Tables of the I/Os that are not counted by pair; empty if there are none.
    rest: Vec<u8>,
}

type StoredPairKey = (StreamKey, StoredProcessKey);
type StoredTallies = Vec<(StoredPairKey, IoSums)>;
type StoredTouches = Vec<(StoredPairKey, RangeCounts)>;
type StoredStreams = (Vec<(StreamKey, IoSums)>, IoSums);
type StoredProcesses = (Vec<(StoredProcessKey, IoSums)>, IoSums);
type StoredUnpairedTables = (StoredStreams, StoredProcesses, touches::StoredProcessHits);

impl PairTallies {
    /// Takes I/Os with the address ranges that they touch.
    ///
    /// # Errors
    /// Returns the errors of the stream and process tables.
    pub fn take(
        &mut self,
        rows: &AnnotatedRows<'_>,
        (ios, touched): (&[CountedIo], &[TouchedRanges]),
        pairs: &PairNumbers,
    ) -> Result<(), TraceError> {
        let columns = SumColumns::new(rows, true);
        for (io, touched) in ios.iter().zip(touched) {
            match self.tally(io, pairs) {
                Some(tally) => tally.count(&columns, io, *touched),
                None => self.put_with_rest(rows, io.row, *touched),
            }
        }
        self.count_rest(rows)
    }

    #[inline]
    fn tally(&mut self, io: &CountedIo, pairs: &PairNumbers) -> Option<&mut PairTally> {
        let place = self.places.get(io.pair as usize).copied().unwrap_or(0) as usize;
        match place {
            0 => self.new_tally(io, pairs),
            place => self.all.get_mut(place - 1),
        }
    }

    #[cold]
    fn new_tally(&mut self, io: &CountedIo, pairs: &PairNumbers) -> Option<&mut PairTally> {
        if self.all.len() == PAIRS_MAX || pairs.key(io.pair).is_none() {
            return None;
        }
        self.all.push(PairTally {
            pair: io.pair,
            sums: IoSums::default(),
            touches: DenseCounts::new(RANGES),
        });
        let (at, place) = (io.pair as usize, self.all.len() as u32);
        self.places.resize(self.places.len().max(at + 1), 0);
        self.places[at] = place;
        self.all.last_mut()
    }

    #[cold]
    fn put_with_rest(&mut self, rows: &AnnotatedRows<'_>, row: usize, touched: TouchedRanges) {
        self.rest_rows.push(row);
        if let Some((first, last)) = touched {
            let key = ProcessKey { pid: rows.batch.pid(row), command: rows.batch.command(row) };
            self.rest.touches.count(key, (first.into(), last.into()));
        }
    }

    fn count_rest(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        if self.rest_rows.is_empty() {
            return Ok(());
        }
        let mut chosen = vec![false; rows.kept.len()];
        self.rest_rows.drain(..).for_each(|row| chosen[row] = true);
        let rows = AnnotatedRows { kept: &chosen, ..*rows };
        self.rest.streams.take(&rows)?;
        self.rest.processes.take(&rows)
    }

    /// Compresses the tables and clears them.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if they cannot be compressed.
    pub fn close(&mut self, pairs: &PairNumbers) -> Result<PackedTables, TraceError> {
        let mut unpacked =
            MergedTables { rest: mem::take(&mut self.rest), ..MergedTables::default() };
        for tally in mem::take(&mut self.all) {
            self.places[tally.pair as usize] = 0;
            let Some((stream, who)) = pairs.key(tally.pair) else { continue };
            let key = (stream, kept(&who));
            let touches = tally.touches.filled().map(|(range, count)| (range as u16, count));
            unpacked.touches.insert(key, touches.collect());
            unpacked.tallies.insert(key, tally.sums);
        }
        unpacked.packed()
    }
}

impl PairTally {
    #[inline]
    fn count(&mut self, columns: &SumColumns<'_>, io: &CountedIo, touched: TouchedRanges) {
        self.sums.add(columns, io.row);
        if let Some((first, last)) = touched {
            (first..=last).for_each(|range| self.touches.count(range.into()));
        }
    }
}

/// Tables of several stretches that are being merged.
#[derive(Debug, Default)]
struct MergedTables {
    tallies: BTreeMap<StoredPairKey, IoSums>,
    touches: BTreeMap<StoredPairKey, BTreeMap<u16, u32>>,
    rest: UnpairedTables,
}

impl MergedTables {
    fn add(&mut self, packed: &PackedTables) -> Result<(), TraceError> {
        for (key, sums) in unpacked::<StoredTallies>(&packed.tallies)? {
            self.tallies.entry(key).or_default().merge(&sums);
        }
        for (key, counts) in unpacked::<StoredTouches>(&packed.touches)? {
            let ours = self.touches.entry(key).or_default();
            for (range, count) in counts {
                let sum = ours.entry(range).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        packed.add_rest(&mut self.rest)
    }

    fn packed(&self) -> Result<PackedTables, TraceError> {
        let counts = |counts: &BTreeMap<u16, u32>| -> RangeCounts {
            counts.iter().map(|(range, count)| (*range, *count)).collect()
        };
        let touches = self.touches.iter().map(|(key, ranges)| (key, counts(ranges)));
        Ok(PackedTables {
            tallies: packed(&self.tallies.iter().collect::<Vec<_>>())?,
            touches: packed(&touches.collect::<Vec<_>>())?,
            rest: if self.rest.is_empty() { Vec::new() } else { packed(&self.rest.kept())? },
        })
    }
}

impl UnpairedTables {
    fn is_empty(&self) -> bool {
        let has_none = self.streams.is_empty() && self.streams.unlisted().count() == 0;
        has_none && self.touches.is_empty()
    }

    fn kept(&self) -> StoredUnpairedTables {
        let mut streams: Vec<(StreamKey, IoSums)> =
            self.streams.iter().map(|(key, tally)| (key, tally.clone())).collect();
        streams.sort_by_key(|(key, _)| *key);
        let mut processes: Vec<(StoredProcessKey, IoSums)> =
            self.processes.iter().map(|(key, tally)| (kept(key), tally.clone())).collect();
        processes.sort_by_key(|(key, _)| *key);
        let streams = (streams, self.streams.unlisted().clone());
        (streams, (processes, self.processes.unlisted().clone()), self.touches.kept())
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

    /// Returns whether all I/Os were counted by pair.
    pub fn tells_pairs(&self) -> bool {
        self.rest.is_empty()
    }

    /// Adds the I/Os by stream to a table, restricted to a filter if there is one. I/Os that were
    /// not counted by pair are added regardless of the filter.
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if the index is damaged.
    pub fn add_streams(
        &self,
        passing: Option<PairFilter<'_>>,
        table: &mut StreamTable,
    ) -> Result<(), TraceError> {
        for ((stream, who), sums) in unpacked::<StoredTallies>(&self.tallies)? {
            if is_let(passing, &(stream, process(who))) {
                table.add(stream, &sums);
            }
        }
        let Some(((streams, unlisted), _, _)) = self.rest()? else { return Ok(()) };
        streams.iter().for_each(|(key, tally)| table.add(*key, tally));
        table.add_unlisted(&unlisted);
        Ok(())
    }

    /// Adds the I/Os by process to a table, with the restriction of [`Self::add_streams`].
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if the index is damaged.
    pub fn add_processes(
        &self,
        passing: Option<PairFilter<'_>>,
        table: &mut ProcessTable,
    ) -> Result<(), TraceError> {
        for ((stream, who), sums) in unpacked::<StoredTallies>(&self.tallies)? {
            let key = (stream, process(who));
            if is_let(passing, &key) {
                table.add(key.1, &sums);
            }
        }
        let Some((_, (processes, unlisted), _)) = self.rest()? else { return Ok(()) };
        processes.iter().for_each(|(key, tally)| table.add(process(*key), tally));
        table.add_unlisted(&unlisted);
        Ok(())
    }

    /// Adds the hits of address ranges by process, with the restriction of [`Self::add_streams`].
    ///
    /// # Errors
    /// Returns [`TraceError::Unsuitable`] if the index is damaged.
    pub fn add_touches(
        &self,
        passing: Option<PairFilter<'_>>,
        touches: &mut ProcessHits,
    ) -> Result<(), TraceError> {
        for ((stream, who), counts) in unpacked::<StoredTouches>(&self.touches)? {
            let key = (stream, process(who));
            if is_let(passing, &key) {
                touches.add(Some(key.1), &counts);
            }
        }
        if let Some((_, _, of_rest)) = self.rest()? {
            touches.add_kept(&of_rest);
        }
        Ok(())
    }

    fn rest(&self) -> Result<Option<StoredUnpairedTables>, TraceError> {
        if self.rest.is_empty() { Ok(None) } else { unpacked(&self.rest).map(Some) }
    }

    fn add_rest(&self, rest: &mut UnpairedTables) -> Result<(), TraceError> {
        let Some(((streams, unlisted), (processes, others), touches)) = self.rest()? else {
            return Ok(());
        };
        streams.iter().for_each(|(key, tally)| rest.streams.add(*key, tally));
        rest.streams.add_unlisted(&unlisted);
        processes.iter().for_each(|(key, tally)| rest.processes.add(process(*key), tally));
        rest.processes.add_unlisted(&others);
        rest.touches.add_kept(&touches);
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
