//! Locality: the miss-ratio curve of an LRU cache, the time until blocks are used again, and the
//! time until they are overwritten.
//!
//! Blocks of 4 KiB are sampled by the hash of their address (SHARDS, Waldspurger and others, FAST
//! 2015). Those with the smallest hashes are followed, as many as fit into a fixed amount of
//! memory, and distances are scaled up by the share of the hashes that they cover. The choice of
//! blocks depends on the I/Os alone, not on their order, so parts merge exactly: every access of a
//! block that is followed at the end was followed in each part. If all blocks fit, the curve is
//! exact.

mod distances;
mod followed;
mod reuse_times;

use self::distances::{Distances, MissRatios};
use self::followed::{HashedAccess, SampledAccesses};
use self::reuse_times::ReuseTimes;
use crate::annotate::data_transfers::DataTransfers;
use crate::cells::Dimensions;
use crate::columns::{ColumnValue::*, ListingColumn, ValueFormat::*, json_columns};
use crate::fold::{AnnotatedRows, Fold};
use crate::sums::response::ResponseFigures;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use steadfast_domain::IoOp;
use steadfast_domain::random_bits::mix64;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::{Field, Fields};

/// Size of a block, in bytes.
pub const BLOCK: u64 = 4096;
/// Memory of the sample, in bytes.
pub const BYTES_MAX: usize = 64 << 20;
/// Smallest sample, in blocks, for which a curve is drawn. In a smaller one a single block would be
/// visible.
pub const BLOCKS_MIN: u64 = 1000;
/// Minimum number of followed blocks that a cache must hold for a sample to give its miss ratio.
/// With `n` of them a step of the curve is within `3 / sqrt(n)` of its true cache size, here 30 %.
pub const HELD_MIN: f64 = 100.0;
/// Blocks of an I/O of 16 MiB, more than a block device accepts in one I/O. The cost of an I/O grows
/// with its size here, so a short file of huge I/Os would take hours: only [`EXCESS_MAX`] blocks
/// may lie beyond the first 16 MiB of their I/Os.
const BLOCKS_PER_IO: u64 = 1 << 12;
/// 128 GiB, in blocks.
const EXCESS_MAX: u64 = 1 << 25;
/// Accesses that a part gathers before it passes them to the sample.
const GATHERED_MAX: usize = 1 << 12;

/// The accesses of a sample of a device's blocks. Parts that are filled in parallel share one
/// sample, so that together they use the memory of one.
#[derive(Debug)]
pub struct Locality {
    device: u16,
    sample: Arc<Mutex<SampledAccesses>>,
    gathered: Vec<HashedAccess>,
    /// Limit of the sample when accesses were last passed to it.
    limit: Option<u64>,
    reads: u64,
    writes: u64,
    /// Blocks beyond the first [`BLOCKS_PER_IO`] of each I/O, of all parts. It only grows, so that
    /// the order of the I/Os does not decide whether they are refused.
    excess: Arc<AtomicU64>,
    /// First and last issue time, in nanoseconds.
    span_ns: Option<(u64, u64)>,
}

impl Locality {
    /// Creates an empty sample of a device's blocks.
    pub fn new(device: u16) -> Self {
        Self::keeping(BYTES_MAX, device)
    }

    /// Like [`Self::new`], with `most` bytes of memory.
    pub fn keeping(most: usize, device: u16) -> Self {
        Self::with_sample(device, Arc::new(Mutex::new(SampledAccesses::new(most))), Arc::default())
    }

    fn with_sample(
        device: u16,
        sample: Arc<Mutex<SampledAccesses>>,
        excess: Arc<AtomicU64>,
    ) -> Self {
        Locality {
            device,
            sample,
            gathered: Vec::new(),
            limit: None,
            reads: 0,
            writes: 0,
            excess,
            span_ns: None,
        }
    }

    /// Adds blocks beyond the first [`BLOCKS_PER_IO`] of an I/O.
    fn add_excess(&self, blocks: u64) -> Result<(), TraceError> {
        let before = self.excess.fetch_add(blocks, Ordering::Relaxed);
        if before.saturating_add(blocks) <= EXCESS_MAX {
            return Ok(());
        }
        Err(TraceError::Unsuitable(
            "more than 128 GiB of its I/Os lie beyond the first 16 MiB of an I/O, too many blocks \
             of 4 KiB to follow; choose a shorter time with --from and --to"
                .to_owned(),
        ))
    }

    fn extend_span(&mut self, at_ns: u64) {
        let (first, last) = self.span_ns.unwrap_or((at_ns, at_ns));
        self.span_ns = Some((first.min(at_ns), last.max(at_ns)));
    }

    #[inline]
    fn touch(&mut self, number: u64, access: u64) {
        let hash = mix64(number);
        if self.limit.is_none_or(|limit| hash < limit) {
            self.gather(hash, access);
        }
    }

    #[inline(never)]
    fn gather(&mut self, hash: u64, access: u64) {
        self.gathered.push(HashedAccess { hash, access });
        if self.gathered.len() >= GATHERED_MAX {
            self.flush();
        }
    }

    /// Passes the gathered accesses to the sample.
    fn flush(&mut self) {
        let mut sample = lock(&self.sample);
        sample.take(&mut self.gathered);
        self.limit = sample.limit();
    }

    /// Computes the figures.
    pub fn figures(mut self) -> LocalityFigures {
        self.flush();
        let mut sample = lock(&self.sample);
        sample.pack();
        let rate = sample.limit().map_or(1.0, |limit| limit as f64 / 2f64.powi(64));
        let found = Distances::new(&sample, rate);
        let is_drawn = sample.limit().is_none() || found.blocks >= BLOCKS_MIN;
        let curve = if is_drawn { found.curve(self.reads, self.writes) } else { Vec::new() };
        // A trace without times still has an order, but no durations.
        let has_times = self.span_ns.is_some_and(|(first, last)| first < last);
        let times = |spans: &ReuseTimes| {
            let figures = spans.figures();
            if has_times {
                figures
            } else {
                ResponseFigures { count: figures.count, ..ResponseFigures::default() }
            }
        };
        let point = |ratios: MissRatios| CachePoint {
            bytes: ratios.blocks.saturating_mul(BLOCK),
            misses: ratios.misses,
            read_misses: ratios.read_misses,
        };
        LocalityFigures {
            device: self.device,
            followed_share: rate,
            blocks: found.blocks,
            left_out: sample.left_out(),
            touched_bytes: match found.blocks + sample.left_out() {
                0 => 0.0,
                blocks => (blocks as f64 / rate) * BLOCK as f64,
            },
            accesses: self.reads + self.writes,
            overwritten: (found.writes > 0)
                .then(|| found.overwrite.count() as f64 / found.writes as f64),
            curve: curve.into_iter().map(point).collect(),
            reuse: times(&found.reuse),
            overwrite: times(&found.overwrite),
        }
    }
}

fn lock(sample: &Mutex<SampledAccesses>) -> MutexGuard<'_, SampledAccesses> {
    sample.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Fold for Locality {
    fn fields(&self) -> Fields {
        DataTransfers::FIELDS.and(Fields::new(&[Field::Issued])).and(Fields::ORDER)
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        if !rows.kept.is_empty() {
            self.extend_span(rows.batch.issued_ns(0));
            self.extend_span(rows.batch.issued_ns(rows.batch.len() - 1));
        }
        let mut outcome = Ok(());
        DataTransfers::new(rows, self.device).each(|row, transfer| {
            let Some(transfer) = transfer else { return };
            let is_write = transfer.op == IoOp::Write;
            let (first, last) = (transfer.from / BLOCK, (transfer.end() - 1) / BLOCK);
            let touched = last - first + 1;
            if touched > BLOCKS_PER_IO && outcome.is_ok() {
                outcome = self.add_excess(touched - BLOCKS_PER_IO);
            }
            if outcome.is_err() {
                return;
            }
            *(if is_write { &mut self.writes } else { &mut self.reads }) += touched;
            let access = rows.order_ns[row].saturating_mul(2) | u64::from(is_write);
            (first..=last).for_each(|number| self.touch(number, access));
        });
        outcome
    }
    /// Returns an empty part that shares the sample of this one.
    fn new_part(&self) -> Option<Self> {
        Some(Self::with_sample(self.device, Arc::clone(&self.sample), Arc::clone(&self.excess)))
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Err(NotRecorded::WorkingSets)
    }
    fn merge(&mut self, mut other: Self) -> Result<(), TraceError> {
        self.reads = self.reads.saturating_add(other.reads);
        self.writes = self.writes.saturating_add(other.writes);
        if !Arc::ptr_eq(&self.excess, &other.excess) {
            self.add_excess(other.excess.load(Ordering::Relaxed))?;
        }
        if let Some((first, last)) = other.span_ns {
            self.extend_span(first);
            self.extend_span(last);
        }
        other.flush();
        self.flush();
        if !Arc::ptr_eq(&self.sample, &other.sample) {
            lock(&self.sample).merge(&mut lock(&other.sample));
        }
        Ok(())
    }
}

/// Locality of the I/Os of a device.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LocalityFigures {
    /// Index into the conditions' devices.
    #[serde(skip)]
    pub device: u16,
    /// Share of the blocks that were followed; 1 if the figures are exact.
    pub followed_share: f64,
    /// Blocks that were followed.
    pub blocks: u64,
    /// Blocks among them whose accesses would take more than their part of the memory: all
    /// their accesses count as hits.
    pub left_out: u64,
    /// Bytes touched; an estimate unless all blocks were followed.
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

impl LocalityFigures {
    /// Returns the points of the curve that are printed and drawn: from 1 MiB on if there are any,
    /// and for a sample only caches that hold at least [`HELD_MIN`] followed blocks.
    pub fn shown(&self) -> &[CachePoint] {
        let first = self.curve.iter().position(|point| point.bytes >= 1 << 20).unwrap_or(0);
        let is_held =
            |point: &CachePoint| (point.bytes / BLOCK) as f64 * self.followed_share >= HELD_MIN;
        let held = if self.followed_share < 1.0 {
            self.curve.iter().position(is_held).unwrap_or(self.curve.len())
        } else {
            0
        };
        &self.curve[first.max(held)..]
    }

    /// Returns whether the figures cover all accesses.
    pub fn is_exact(&self) -> bool {
        self.followed_share >= 1.0 && self.left_out == 0
    }

    /// Returns whether a sample has too few blocks to represent the others.
    pub fn is_too_small(&self) -> bool {
        self.followed_share < 1.0 && self.blocks < BLOCKS_MIN
    }

    /// Returns in words whether the figures are exact or estimated.
    pub fn exactness(&self) -> String {
        if self.is_exact() {
            return "exact".to_owned();
        }
        let from = format!("estimated from {:.3} % of the blocks", self.followed_share * 100.0);
        match self.left_out {
            0 => from,
            1 => format!("{from}; the accesses of one with very many count as hits"),
            more => format!("{from}; the accesses of {more} with very many count as hits"),
        }
    }

    /// Returns the reason if there is no curve.
    pub fn lacks_curve(&self) -> Option<String> {
        if self.is_too_small() {
            return Some(format!(
                "some blocks have so many accesses that the memory of the sample holds only {} \
                 blocks",
                self.blocks
            ));
        }
        let which = if self.is_exact() { "" } else { "followed " };
        match (self.curve.is_empty(), self.shown().is_empty()) {
            (true, _) => Some(format!("no {which}block was accessed again")),
            (false, true) => Some("no cache of the curve holds 100 followed blocks".to_owned()),
            (false, false) => None,
        }
    }
}

/// One cache size of the curve.
#[derive(Debug, Clone, PartialEq)]
pub struct CachePoint {
    /// Cache size, in bytes.
    pub bytes: u64,
    /// Share of block reads and writes that miss, 0 to 1.
    pub misses: f64,
    /// Share of block reads that miss, 0 to 1; `None` if there were no reads.
    pub read_misses: Option<f64>,
}

json_columns! {
    CachePoint;
    /// Cache size.
    BYTES = "bytes", "Cache MB", Megabytes(2), Whole(|p| p.bytes);
    /// Share of block reads and writes that miss.
    MISSES = "misses", "misses %", Percent(2), Real(|p| p.misses);
    /// Share of block reads that miss; null without reads.
    READ_MISSES = "read_misses", "read misses %", Percent(2), MaybeReal(|p| p.read_misses);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::AnnotatedBatch;
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

    fn with_ios(mut fold: Locality, ios: &[IoEvent]) -> Locality {
        fold.take(&in_order(ios).rows()).unwrap();
        fold
    }

    /// I/Os with issue times of which each is later than the one before.
    fn in_order(ios: &[IoEvent]) -> AnnotatedBatch {
        let mut earliest = 0;
        let times = ios.iter().map(|io| {
            let at = io.issued_ns.max(earliest);
            earliest = at + 1;
            at
        });
        AnnotatedBatch { order_ns: times.collect(), ..AnnotatedBatch::from_events(ios) }
    }

    #[test]
    fn a_cyclic_scan_in_one_moment_misses_in_every_smaller_cache() {
        let scan =
            |at: u64| IoEvent { offset: at % 1000 * BLOCK, bytes: 4096, ..IoEvent::default() };
        let ios: Vec<IoEvent> = (0..10_000).map(scan).collect();
        let found = folded(&ios, BYTES_MAX);
        assert!(found.is_exact());
        for point in &found.curve {
            let misses = if point.bytes >= 1000 * BLOCK { 0.1 } else { 1.0 };
            assert!((point.misses - misses).abs() < 1e-12, "{point:?}");
        }
        assert_eq!(
            (found.reuse.count, found.reuse.mean_ns, found.reuse.max_ns),
            (9000, None, None)
        );
    }

    fn folded(ios: &[IoEvent], bytes: usize) -> LocalityFigures {
        with_ios(Locality::keeping(bytes, 0), ios).figures()
    }

    /// The blocks of the I/Os one by one, and whether each was written.
    fn accesses(ios: &[IoEvent]) -> impl Iterator<Item = (u64, bool)> + '_ {
        ios.iter().flat_map(|io| {
            let first = io.offset / BLOCK;
            let last = first + u64::from(io.bytes) / BLOCK;
            (first..last).map(|number| (number, io.op == IoOp::Write))
        })
    }

    /// Misses of a simulated LRU cache: of all accesses, and of reads.
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
        let found = folded(&ios, BYTES_MAX);
        assert_eq!(found.followed_share, 1.0);
        assert!(found.curve.len() > 10 && found.curve.is_sorted_by(|a, b| a.bytes < b.bytes));
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
        let (exact, sampled) = (folded(&ios, BYTES_MAX), folded(&ios, 60_013));
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

    /// 300,000 accesses of one block, and as many of 150,000 others.
    fn one_hot_block() -> Vec<IoEvent> {
        let one = |at: u64| IoEvent {
            issued_ns: at * 20_011,
            offset: BLOCK * if at.is_multiple_of(2) { 7 } else { 8 + mix64(at) % 150_000 },
            bytes: 4096,
            op: if at.is_multiple_of(3) { IoOp::Write } else { IoOp::Read },
            ..IoEvent::default()
        };
        (0..600_000).map(one).collect()
    }

    #[test]
    fn a_block_with_most_of_the_accesses_leaves_room_for_others() {
        let ios = one_hot_block();
        let exact = folded(&ios, 16 << 20);
        assert_eq!(exact.followed_share, 1.0);
        let last = exact.curve.last().unwrap().misses;
        for bytes in [2 << 20, 700 << 10] {
            let sampled = folded(&ios, bytes);
            assert!(sampled.reuse.count + sampled.blocks < 300_000, "{sampled:?}");
            assert!(sampled.followed_share < 0.9 && sampled.blocks > 5000);
            for point in sampled.shown() {
                let exact = exact.curve.iter().find(|exact| exact.bytes >= point.bytes);
                let exact = exact.map_or(last, |exact| exact.misses);
                assert!((point.misses - exact).abs() < 0.05, "{point:?}, exactly {exact}");
            }
        }
    }

    /// Parts that are merged into each other, or that share one sample.
    #[test]
    fn a_hot_block_in_parts_is_that_of_all() {
        let ios = one_hot_block();
        for bytes in [2 << 20, 700 << 10] {
            let whole = folded(&ios, bytes);
            let parts = || (0..3).map(|part| ios.chunks(9001).skip(part).step_by(3).flatten());
            let fold_of = |fold, part: Vec<IoEvent>| with_ios(fold, &part);
            let mut merged = Locality::keeping(bytes, 0);
            let mut shared = Locality::keeping(bytes, 0);
            for part in parts().rev() {
                let part: Vec<IoEvent> = part.copied().collect();
                merged.merge(fold_of(Locality::keeping(bytes, 0), part.clone())).unwrap();
                shared.merge(fold_of(shared.new_part().unwrap(), part)).unwrap();
            }
            assert_eq!(merged.figures(), whole);
            assert_eq!(shared.figures(), whole);
        }
    }

    /// All other blocks fit: only the accesses of the hot block are not followed.
    #[test]
    fn a_hot_block_among_few_is_left_out_and_the_others_are_not() {
        let of = |at: u64| IoEvent {
            issued_ns: at * 1_000_000_000,
            offset: BLOCK * if at.is_multiple_of(1000) { 20_000 + at / 1000 % 400 } else { 12_345 },
            bytes: 4096,
            ..IoEvent::default()
        };
        let ios: Vec<IoEvent> = (0..1_000_000).map(of).collect();
        let found = folded(&ios, 4 << 20);
        assert_eq!((found.blocks, found.left_out, found.followed_share), (400, 1, 1.0));
        assert!(found.exactness().contains("one with very many") && !found.is_exact());
        assert_eq!(found.touched_bytes, 401.0 * BLOCK as f64);
        // 400 first accesses out of 1,000,000, plus those of the other blocks if the cache is
        // small.
        assert!((found.curve.last().unwrap().misses - 400e-6).abs() < 1e-9);
        assert!((found.curve[0].misses - 1000e-6).abs() < 1e-9);
        let alone: Vec<IoEvent> =
            ios.iter().filter(|io| io.offset == 12_345 * BLOCK).copied().collect();
        let alone = folded(&alone, 4 << 20);
        assert_eq!((alone.blocks, alone.left_out), (0, 1));
        assert!(alone.lacks_curve().is_some());
    }

    /// Small I/Os do not make up for huge ones, wherever they are.
    #[test]
    fn huge_ios_are_refused_in_any_order_before_their_blocks_are_followed() {
        let huge = IoEvent { bytes: u32::MAX - 4095, ..IoEvent::default() };
        let blocks = u64::from(huge.bytes) / BLOCK;
        assert_eq!(folded(&[huge; 3], 1 << 16).accesses, 3 * blocks);
        let small = IoEvent { bytes: 4096, ..IoEvent::default() };
        for huge_at in [0, 500, 1000] {
            let mut ios = vec![small; 1000];
            ios.insert(huge_at, huge);
            let mut fold = Locality::keeping(1 << 16, 0);
            let excess = EXCESS_MAX - (blocks - BLOCKS_PER_IO);
            fold.new_part().unwrap().add_excess(excess).unwrap();
            let mut part = with_ios(fold.new_part().unwrap(), &ios);
            let refused = part.take(&in_order(&[small, huge]).rows());
            assert!(matches!(refused, Err(TraceError::Unsuitable(_))), "{refused:?}");
            let other = Locality::keeping(1 << 16, 0);
            other.add_excess(1).unwrap();
            assert!(matches!(fold.merge(other), Err(TraceError::Unsuitable(_))));
        }
    }

    #[test]
    fn too_few_followed_blocks_make_no_curve() {
        let found = folded(&one_hot_block(), 3000);
        assert!(found.blocks > 0 && found.blocks < BLOCKS_MIN, "{found:?}");
        assert!(found.curve.is_empty());
    }
}
