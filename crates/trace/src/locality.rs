//! Locality: how large a cache would serve how much (the miss-ratio curve of an LRU
//! cache), after what time blocks are used again, and how soon they are overwritten.
//!
//! Blocks of 4 KiB are sampled by the hash of their address (SHARDS, Waldspurger and
//! others, FAST 2015): those with the smallest hashes are followed, as many as fit into
//! a fixed memory, and distances are scaled up by the share of the hashes that they
//! cover. Which blocks these are depends on the I/Os alone, not on their order, so
//! parts merge exactly: every access of a block that is followed at the end was followed
//! in each part. Where all blocks fit, the curve is exact.

use crate::columns::{self, Column, Print};
use crate::error::TraceError;
use crate::file::{Field, Fields};
use crate::fold::{Alike, Fold, FoldSums, InParts, Rows};
use crate::response::{ResponseFigures, Responses};
use crate::untold::Untold;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, HashMap};
use steadfast_domain::step::mix64;
use steadfast_domain::{IoOp, Layer};

/// Bytes of a block.
pub const BLOCK: u64 = 4096;
/// Memory of the sample, in words of 8 bytes: an access is one, a block [`BLOCK_COST`].
pub const WORDS_MAX: usize = 1 << 23;
/// Words that a followed block takes beside its accesses.
const BLOCK_COST: usize = 8;
/// Sizes of caches per doubling.
const PER_DOUBLING: i32 = 2;

/// A followed block.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Followed {
    number: u64,
    /// Issue times, twice; one more of a write.
    accesses: Vec<u64>,
}

/// The accesses of a sample of a device's blocks.
#[derive(Debug, Clone)]
pub struct Locality {
    device: u16,
    most: usize,
    words: usize,
    /// The smallest hash that is not followed; `None` while all are.
    limit: Option<u64>,
    blocks: BTreeMap<u64, Followed>,
    reads: u64,
    writes: u64,
}

impl Locality {
    /// Of a device.
    pub fn new(device: u16) -> Self {
        Self::keeping(WORDS_MAX, device)
    }

    /// The same with so many words of memory.
    pub fn keeping(most: usize, device: u16) -> Self {
        Locality {
            device,
            most,
            words: 0,
            limit: None,
            blocks: BTreeMap::new(),
            reads: 0,
            writes: 0,
        }
    }

    fn touch(&mut self, number: u64, access: u64) {
        let hash = mix64(number);
        if self.limit.is_some_and(|limit| hash >= limit) {
            return;
        }
        let block = self.blocks.entry(hash).or_default();
        self.words += if block.accesses.is_empty() { BLOCK_COST + 1 } else { 1 };
        block.number = number;
        block.accesses.push(access);
        self.shrink();
    }

    /// Lets the blocks of the largest hashes go until the others fit.
    fn shrink(&mut self) {
        while self.words > self.most {
            let Some((hash, gone)) = self.blocks.pop_last() else { return };
            self.words -= BLOCK_COST + gone.accesses.len();
            self.limit = Some(hash);
        }
    }

    /// The share of all blocks that is followed.
    fn rate(&self) -> f64 {
        self.limit.map_or(1.0, |limit| limit as f64 / 2f64.powi(64))
    }

    /// What it comes to.
    pub fn figures(&self) -> LocalityFigures {
        let mut found =
            Distances { first_touches: self.blocks.len() as u64, ..Distances::default() };
        let mut accesses: Vec<(u64, u64)> = Vec::new();
        for block in self.blocks.values() {
            let mut times = block.accesses.clone();
            times.sort_unstable();
            found.times(&times);
            accesses.extend(times.iter().map(|access| (*access, block.number)));
        }
        // At one moment the lower address comes first.
        accesses.sort_unstable_by_key(|(access, number)| (access >> 1, *number, access & 1));
        found.distances(&accesses);
        let rate = self.rate();
        LocalityFigures {
            device: self.device,
            followed_share: rate,
            blocks: self.blocks.len() as u64,
            touched_bytes: (self.blocks.len() as f64 / rate) * BLOCK as f64,
            accesses: self.reads + self.writes,
            overwritten: (found.writes > 0)
                .then(|| found.overwrite.count as f64 / found.writes as f64),
            curve: found.curve(rate, self.reads, self.writes),
            reuse: found.reuse.figures(),
            overwrite: found.overwrite.figures(),
        }
    }
}

impl PartialEq for Locality {
    fn eq(&self, other: &Self) -> bool {
        self.figures() == other.figures()
    }
}

impl Alike for Locality {
    fn alike(&self) -> Self {
        Locality::keeping(self.most, self.device)
    }
}

impl Fold for Locality {
    fn fields(&self) -> Fields {
        Fields::of(&[
            Field::Issued,
            Field::Device,
            Field::Layer,
            Field::Op,
            Field::Offset,
            Field::Bytes,
        ])
    }
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), TraceError> {
        for row in rows.iter() {
            let (batch, op) = (rows.batch, rows.batch.op(row));
            let moves = matches!(op, IoOp::Read | IoOp::Write) && batch.bytes(row) > 0;
            if batch.device(row) != self.device || batch.layer(row) != Layer::Block || !moves {
                continue;
            }
            let first = batch.offset(row) / BLOCK;
            let end = batch.offset(row).saturating_add(u64::from(batch.bytes(row)));
            let last = (end - 1) / BLOCK;
            let is_write = op == IoOp::Write;
            let touched = last - first + 1;
            *(if is_write { &mut self.writes } else { &mut self.reads }) += touched;
            let access = batch.issued_ns(row).saturating_mul(2) | u64::from(is_write);
            (first..=last).for_each(|number| self.touch(number, access));
        }
        Ok(())
    }
    fn in_parts(&mut self) -> Option<&mut dyn InParts> {
        Some(self)
    }
    fn of_sums(&mut self) -> Result<&mut dyn FoldSums, Untold> {
        Err(Untold::WorkingSets)
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        self.reads = self.reads.saturating_add(other.reads);
        self.writes = self.writes.saturating_add(other.writes);
        self.limit = [self.limit, other.limit].into_iter().flatten().min();
        for (hash, theirs) in other.blocks {
            let ours = self.blocks.entry(hash).or_default();
            self.words += theirs.accesses.len();
            self.words += if ours.accesses.is_empty() { BLOCK_COST } else { 0 };
            ours.number = theirs.number;
            ours.accesses.extend(theirs.accesses);
        }
        if let Some(limit) = self.limit {
            let gone = self.blocks.split_off(&limit);
            let words = gone.values().map(|block| BLOCK_COST + block.accesses.len());
            self.words -= words.sum::<usize>();
        }
        self.shrink();
        Ok(())
    }
}

/// What the sampled accesses come to.
#[derive(Default)]
struct Distances {
    /// Of reads and of writes that touch a block again: how many other blocks were
    /// touched since.
    again: [Vec<u64>; 2],
    first_touches: u64,
    writes: u64,
    reuse: Responses,
    overwrite: Responses,
}

impl Distances {
    /// Times between the accesses of one block, in their order.
    fn times(&mut self, accesses: &[u64]) {
        let (mut last, mut last_write) = (None, None);
        for access in accesses {
            let (time, is_write) = (access >> 1, access & 1 == 1);
            if let Some(last) = last.replace(time) {
                self.reuse.add(time - last);
            }
            self.writes += u64::from(is_write);
            if is_write && let Some(last) = last_write.replace(time) {
                self.overwrite.add(time - last);
            }
        }
    }

    /// Stack distances, by a tree that counts which accesses are the last of their
    /// blocks.
    fn distances(&mut self, accesses: &[(u64, u64)]) {
        let mut last_of: HashMap<u64, usize> = HashMap::new();
        let mut tree = Counts(vec![0; accesses.len() + 1]);
        for (at, (access, number)) in accesses.iter().enumerate() {
            if let Some(before) = last_of.insert(*number, at) {
                let others = tree.up_to(at) - tree.up_to(before + 1);
                self.again[(access & 1) as usize].push(others);
                tree.add(before, false);
            }
            tree.add(at, true);
        }
        self.again.iter_mut().for_each(|distances| distances.sort_unstable());
    }

    /// The curve, up to the cache that holds everything touched.
    fn curve(&self, rate: f64, reads: u64, writes: u64) -> Vec<CachePoint> {
        let largest = self.again.iter().filter_map(|distances| distances.last()).max();
        let Some(largest) = largest else { return Vec::new() };
        let blocks = *largest as f64 / rate + 1.0;
        let steps = (blocks.log2() * f64::from(PER_DOUBLING)).ceil() as i32;
        let hits = |distances: &[u64], size: f64| {
            distances.partition_point(|others| *others as f64 / rate + 1.0 <= size) as f64
        };
        // Sampled accesses are more or fewer than their share: the difference is
        // taken for accesses at no distance (SHARDS adj), which every cache hits.
        let misses = |again: &[u64], sampled: f64, all: u64, size: f64| {
            let missed = sampled - hits(again, size);
            (all > 0).then(|| (missed / (all as f64 * rate)).clamp(0.0, 1.0))
        };
        let [read_again, write_again] = &self.again;
        let sampled_reads = self.sampled() - self.writes as f64;
        (0..=steps)
            .map(|step| {
                let size = 2f64.powf(f64::from(step) / f64::from(PER_DOUBLING)).round();
                let read = misses(read_again, sampled_reads, reads, size);
                let write = misses(write_again, self.writes as f64, writes, size);
                let both = |kind: Option<f64>, of: u64| kind.unwrap_or(0.0) * of as f64;
                CachePoint {
                    bytes: size as u64 * BLOCK,
                    misses: (both(read, reads) + both(write, writes)) / (reads + writes) as f64,
                    read_misses: read,
                }
            })
            .collect()
    }

    /// Accesses in the sample: each block's first, and those that touch it again.
    fn sampled(&self) -> f64 {
        self.first_touches as f64 + self.again.iter().map(Vec::len).sum::<usize>() as f64
    }
}

/// How many accesses of those before a place are counted, in logarithmic time
/// (a Fenwick tree).
struct Counts(Vec<u64>);

impl Counts {
    fn add(&mut self, at: usize, one_more: bool) {
        let mut at = at + 1;
        while let Some(count) = self.0.get_mut(at) {
            *count = if one_more { *count + 1 } else { *count - 1 };
            at += at & at.wrapping_neg();
        }
    }
    /// Those before a place.
    fn up_to(&self, mut at: usize) -> u64 {
        let mut sum = 0;
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
}

/// What is found of a device's locality.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LocalityFigures {
    /// Index into the conditions' devices.
    #[serde(skip)]
    pub device: u16,
    /// Share of the blocks that were followed; 1 where the figures are exact.
    pub followed_share: f64,
    /// Blocks that were followed.
    pub blocks: u64,
    /// Bytes touched, estimated where not all blocks were followed.
    pub touched_bytes: f64,
    /// Blocks read and written, each as often as it was.
    pub accesses: u64,
    /// Share of the written blocks that were written before.
    pub overwritten: Option<f64>,
    /// Share of accesses that an LRU cache of a size misses.
    pub curve: Vec<CachePoint>,
    /// Times from one access of a block to the next.
    pub reuse: ResponseFigures,
    /// Times from one write of a block to the next.
    pub overwrite: ResponseFigures,
}

/// One size of a cache.
#[derive(Debug, Clone, PartialEq)]
pub struct CachePoint {
    /// Its size.
    pub bytes: u64,
    /// Share of the blocks read and written that it misses.
    pub misses: f64,
    /// Share of the blocks read that it misses.
    pub read_misses: Option<f64>,
}

impl schemars::JsonSchema for CachePoint {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CachePoint".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        columns::schema(&Self::TABLE)
    }
}

impl Serialize for CachePoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        columns::serialize(&Self::TABLE, self, serializer)
    }
}

impl CachePoint {
    /// Everything.
    pub const TABLE: [Column<CachePoint>; 3] = [
        Column::new("bytes", "Cache MB", Print::Megabytes(2), |p| p.bytes.into()),
        Column::new("misses", "misses %", Print::Percent(2), |p| p.misses.into()),
        Column::new("read_misses", "read misses %", Print::Percent(2), |p| p.read_misses.into()),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use steadfast_domain::IoEvent;

    /// 10,007 I/Os of up to four blocks, some addresses far more often than others.
    fn ios(span: u64) -> Vec<IoEvent> {
        let mut state = 5u64;
        let mut draw = |below: u64| {
            state = state.wrapping_add(1);
            mix64(state) % below
        };
        let one = |at: u64| {
            let (near, far) = (draw(span), draw(span));
            let number = if draw(3) == 0 { far } else { near * near / span };
            IoEvent {
                issued_ns: at * 1000,
                offset: number * BLOCK,
                bytes: 4096 * (1 + draw(4) as u32),
                op: if draw(4) == 0 { IoOp::Write } else { IoOp::Read },
                ..IoEvent::default()
            }
        };
        (0..10_007).map(one).collect()
    }

    fn folded(ios: &[IoEvent], words: usize) -> LocalityFigures {
        let batch = Batch::of(ios);
        let mut fold = Locality::keeping(words, 0);
        let rows = Rows {
            batch: &batch,
            sequential: &vec![false; ios.len()],
            depth: &vec![1; ios.len()],
            busy: &vec![(0, 0); ios.len()],
            kept: &vec![true; ios.len()],
            after: &[],
            stretch: 0,
            place: None,
        };
        fold.take(&rows).unwrap();
        fold.figures()
    }

    /// The blocks of I/Os one by one, and whether each was written.
    fn accesses(ios: &[IoEvent]) -> impl Iterator<Item = (u64, bool)> + '_ {
        ios.iter().flat_map(|io| {
            let first = io.offset / BLOCK;
            let last = first + u64::from(io.bytes) / BLOCK;
            (first..last).map(|number| (number, io.op == IoOp::Write))
        })
    }

    /// Misses of an LRU cache, by keeping one: all, and of reads.
    fn simulated(ios: &[IoEvent], blocks: usize) -> (f64, f64) {
        let mut cache: Vec<u64> = Vec::new();
        let (mut all, mut missed, mut reads, mut read_missed) = (0.0, 0.0, 0.0, 0.0);
        for (number, is_write) in accesses(ios) {
            let found = cache.iter().position(|kept| *kept == number);
            found.map(|at| cache.remove(at));
            cache.insert(0, number);
            cache.truncate(blocks);
            let miss = f64::from(u8::from(found.is_none()));
            (all, missed) = (all + 1.0, missed + miss);
            if !is_write {
                (reads, read_missed) = (reads + 1.0, read_missed + miss);
            }
        }
        (missed / all, read_missed / reads)
    }

    #[test]
    fn the_curve_is_that_of_caches_of_these_sizes() {
        let ios = ios(797);
        let found = folded(&ios, WORDS_MAX);
        assert_eq!(found.followed_share, 1.0);
        assert!(found.curve.len() > 10);
        for point in &found.curve {
            let (misses, read_misses) = simulated(&ios, (point.bytes / BLOCK) as usize);
            assert!((point.misses - misses).abs() < 1e-12, "{point:?} {misses}");
            assert!((point.read_misses.unwrap() - read_misses).abs() < 1e-12, "{point:?}");
        }
        let mut last_write = std::collections::HashMap::new();
        let (mut writes, mut again) = (0u64, 0u64);
        for (number, _) in accesses(&ios).filter(|(_, is_write)| *is_write) {
            writes += 1;
            again += u64::from(last_write.insert(number, ()).is_some());
        }
        assert_eq!(found.overwritten, Some(again as f64 / writes as f64));
        assert_eq!(found.overwrite.count, again);
        let touched: std::collections::HashSet<u64> = accesses(&ios).map(|one| one.0).collect();
        assert_eq!(found.blocks as usize, touched.len());
        assert_eq!(found.reuse.count as usize, accesses(&ios).count() - touched.len());
    }

    #[test]
    fn a_sample_is_within_its_stated_error() {
        let ios = ios(40_009);
        let (exact, sampled) = (folded(&ios, WORDS_MAX), folded(&ios, 20_011));
        assert!(sampled.followed_share < 0.2, "{}", sampled.followed_share);
        let at = |bytes: u64| {
            exact.curve.iter().find(|point| point.bytes >= bytes).or(exact.curve.last())
        };
        for point in &sampled.curve {
            let exact = at(point.bytes).unwrap().misses;
            assert!((point.misses - exact).abs() < 0.05, "{point:?}, exactly {exact}");
        }
        assert!((sampled.touched_bytes / exact.touched_bytes - 1.0).abs() < 0.05);
    }
}
