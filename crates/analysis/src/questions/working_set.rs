//! Working set and reuse of a device: how much of it was touched and how often each part was
//! touched again, in bounded memory.
//!
//! The number of distinct 4 KiB blocks is estimated with a HyperLogLog sketch (Flajolet et al.
//! 2007) of 2^14 registers: 16 KiB of memory each for reads and writes, with a standard error of
//! 0.81 %. The touched blocks are the union of both. The estimator is the improved one of Ertl
//! ("New cardinality estimation algorithms for HyperLogLog sketches", 2017, algorithm 6), which has
//! no bias where the original switches its formula. Hits are counted exactly, by
//! granule: 1 MiB, or more if I/Os reach beyond 16 TiB.

use crate::annotate::data_transfers::{DataTransfer, DataTransfers};
use crate::cells::Dimensions;
use crate::fold::{AnnotatedRows, Fold};
use serde::Serialize;
use steadfast_domain::IoOp;
use steadfast_domain::random_bits::mix64;
use steadfast_tracefile::error::TraceError;
use steadfast_tracefile::not_recorded::NotRecorded;
use steadfast_tracefile::parquet::Fields;

/// Block size of the estimate of distinct blocks, in bytes.
const BLOCK: u64 = 4096;
const GRANULES_MAX: u64 = 16 << 20;
const GRANULE_BYTES_MIN: u64 = 1 << 20;
const REGISTER_BITS: u32 = 14;
const REGISTERS: usize = 1 << REGISTER_BITS;
/// Highest value of a register: that of a hash with only zeros after the register's number.
const RANK_MAX: usize = 64 - REGISTER_BITS as usize + 1;

/// An estimate of the number of distinct values seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistinctCounter {
    registers: Box<[u8; REGISTERS]>,
    /// Lowest value of a register.
    lowest: u8,
    /// Number of registers that hold the lowest value.
    lowest_count: usize,
    /// Bits of a hash that are all 0 if its rank exceeds the lowest register.
    rank_mask: u64,
}

impl Default for DistinctCounter {
    fn default() -> Self {
        DistinctCounter {
            registers: Box::new([0; REGISTERS]),
            lowest: 0,
            lowest_count: REGISTERS,
            rank_mask: 0,
        }
    }
}

impl DistinctCounter {
    /// Adds a value.
    #[inline]
    pub fn see(&mut self, value: u64) {
        let hash = mix64(value);
        // Fast path: once many values were seen, most cannot raise any register.
        if hash & self.rank_mask == 0 {
            self.raise(hash);
        }
    }

    #[inline]
    fn raise(&mut self, hash: u64) {
        let register = &mut self.registers[(hash >> (64 - REGISTER_BITS)) as usize];
        let rank = ((hash << REGISTER_BITS) | 1 << (REGISTER_BITS - 1)).leading_zeros() as u8 + 1;
        let before = *register;
        if rank > before {
            *register = rank;
            self.lowest_count -= usize::from(before == self.lowest);
            if self.lowest_count == 0 {
                self.find_lowest();
            }
        }
    }

    #[cold]
    fn find_lowest(&mut self) {
        let lowest = self.registers.iter().copied().min().unwrap_or(0);
        self.lowest = lowest;
        self.lowest_count = self.registers.iter().filter(|value| **value == lowest).count();
        self.rank_mask = !(u64::MAX >> lowest) >> REGISTER_BITS;
    }

    /// Adds the values that another sketch saw.
    pub fn merge(&mut self, other: &DistinctCounter) {
        self.registers.iter_mut().zip(&*other.registers).for_each(|(a, b)| *a = *b.max(a));
        self.find_lowest();
    }
    /// Returns the estimated number of distinct values, within a few times 0.81 %.
    pub fn estimate(&self) -> f64 {
        let m = REGISTERS as f64;
        let mut counts = [0u32; RANK_MAX + 1];
        self.registers.iter().for_each(|rank| counts[usize::from(*rank)] += 1);
        let mut z = m * tau(1.0 - f64::from(counts[RANK_MAX]) / m);
        for count in counts[1..RANK_MAX].iter().rev() {
            z = 0.5 * (z + f64::from(*count));
        }
        z += m * sigma(f64::from(counts[0]) / m);
        m * m / (2.0 * std::f64::consts::LN_2 * z)
    }
}

/// Contribution of the registers that saw nothing: x + x^2 + 2 x^4 + 4 x^8 + ...
fn sigma(x: f64) -> f64 {
    let (mut power, mut factor, mut sum) = (x, 1.0, x);
    loop {
        power *= power;
        let before = sum;
        sum += power * factor;
        factor += factor;
        if sum == before || sum.is_infinite() {
            return sum;
        }
    }
}

/// Contribution of the registers that are full.
fn tau(x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return 0.0;
    }
    let (mut root, mut factor, mut sum) = (x, 1.0, 1.0 - x);
    loop {
        root = root.sqrt();
        let before = sum;
        factor *= 0.5;
        sum -= (1.0 - root) * (1.0 - root) * factor;
        if sum == before {
            return sum / 3.0;
        }
    }
}

/// Working set and reuse of one device at the block layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkingSet {
    device: u16,
    /// Size of a granule in bytes, a power of two.
    granule: u64,
    hits: Vec<u32>,
    read: DistinctCounter,
    written: DistinctCounter,
    blocks_read: u64,
    blocks_written: u64,
}

impl WorkingSet {
    /// Creates the empty working set of a device that no I/O touches beyond byte `end`.
    pub fn new(device: u16, end: u64) -> Self {
        let granule = end.div_ceil(GRANULES_MAX).next_power_of_two().max(GRANULE_BYTES_MIN);
        Self::with_granules(device, granule)
    }

    fn with_granules(device: u16, granule: u64) -> Self {
        WorkingSet {
            device,
            granule,
            hits: Vec::new(),
            read: DistinctCounter::default(),
            written: DistinctCounter::default(),
            blocks_read: 0,
            blocks_written: 0,
        }
    }

    /// Returns the figures of a report.
    pub fn figures(&self) -> WorkingSetFigures {
        let bytes = |blocks: f64| (blocks * BLOCK as f64).round() as u64;
        let reuse =
            |blocks: u64, distinct: f64| (blocks > 0).then(|| (blocks as f64 / distinct).max(1.0));
        let mut touched = self.read.clone();
        touched.merge(&self.written);
        let touched = touched.estimate();
        WorkingSetFigures {
            read_bytes: bytes(self.read.estimate()),
            written_bytes: bytes(self.written.estimate()),
            touched_bytes: bytes(touched),
            reuse: reuse(self.blocks_read + self.blocks_written, touched),
            rewrite: reuse(self.blocks_written, self.written.estimate()),
            granule_bytes: self.granule,
            granules_touched: self.hits.iter().filter(|hits| **hits > 0).count() as u64,
            hottest: self.hottest(),
        }
    }

    /// Returns the share of the hits that the hottest 1, 5, 10, 20 and 50 percent of the touched
    /// granules received.
    fn hottest(&self) -> Vec<(u8, f64)> {
        let mut touched: Vec<u32> = self.hits.iter().copied().filter(|hits| *hits > 0).collect();
        touched.sort_unstable_by(|a, b| b.cmp(a));
        let sum = |granules: &[u32]| granules.iter().map(|hits| u64::from(*hits)).sum::<u64>();
        let all = sum(&touched);
        if all == 0 {
            return Vec::new();
        }
        let share = |percent: u8| {
            let count = (touched.len() * usize::from(percent)).div_ceil(100);
            (percent, sum(&touched[..count]) as f64 / all as f64)
        };
        [1, 5, 10, 20, 50].map(share).to_vec()
    }

    #[inline]
    fn add(&mut self, transfer: DataTransfer) {
        let end = transfer.end();
        let blocks = transfer.from / BLOCK..end.div_ceil(BLOCK);
        let (distinct, total) = match transfer.op {
            IoOp::Read => (&mut self.read, &mut self.blocks_read),
            _ => (&mut self.written, &mut self.blocks_written),
        };
        *total += blocks.end - blocks.start;
        blocks.for_each(|block| distinct.see(block));
        let bits = self.granule.trailing_zeros();
        let last = ((end - 1) >> bits).min(GRANULES_MAX - 1);
        (transfer.from >> bits..=last).for_each(|granule| self.count_hit(granule as usize));
    }

    #[inline]
    fn count_hit(&mut self, granule: usize) {
        if self.hits.len() <= granule {
            self.hits.resize(granule + 1, 0);
        }
        self.hits[granule] = self.hits[granule].saturating_add(1);
    }
}

impl Fold for WorkingSet {
    fn fields(&self) -> Fields {
        DataTransfers::FIELDS
    }
    fn take(&mut self, rows: &AnnotatedRows<'_>) -> Result<(), TraceError> {
        DataTransfers::new(rows, self.device).each(|_, transfer| {
            if let Some(transfer) = transfer {
                self.add(transfer);
            }
        });
        Ok(())
    }
    fn new_part(&self) -> Option<Self> {
        Some(WorkingSet::with_granules(self.device, self.granule))
    }
    fn check_dimensions(&self, _: Dimensions) -> Result<(), NotRecorded> {
        Err(NotRecorded::WorkingSets)
    }
    fn merge(&mut self, other: Self) -> Result<(), TraceError> {
        if self.hits.len() < other.hits.len() {
            self.hits.resize(other.hits.len(), 0);
        }
        for (ours, theirs) in self.hits.iter_mut().zip(&other.hits) {
            *ours = ours.saturating_add(*theirs);
        }
        self.read.merge(&other.read);
        self.written.merge(&other.written);
        self.blocks_read += other.blocks_read;
        self.blocks_written += other.blocks_written;
        Ok(())
    }
}

/// Working set and reuse.
#[derive(Debug, Clone, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct WorkingSetFigures {
    /// Different 4 KiB blocks read, in bytes (estimated).
    pub read_bytes: u64,
    /// Different 4 KiB blocks written, in bytes (estimated).
    pub written_bytes: u64,
    /// Different 4 KiB blocks touched, in bytes (estimated): the working set.
    pub touched_bytes: u64,
    /// Average number of accesses to a touched block.
    pub reuse: Option<f64>,
    /// Average number of writes to a written block.
    pub rewrite: Option<f64>,
    /// Size of a granule.
    pub granule_bytes: u64,
    /// Granules touched, exact.
    pub granules_touched: u64,
    /// Pairs: a percentage of the touched granules, and the share of all hits (0 to 1) that the
    /// hottest granules of that percentage received.
    pub hottest: Vec<(u8, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean and root mean square of the relative error over independent sketches.
    fn errors(distinct: u64, sketches: u64) -> (f64, f64) {
        let error = |sketch: u64| {
            let mut seen = DistinctCounter::default();
            (0..distinct).for_each(|n| seen.see(n + (sketch + 1) * 1_000_003_000));
            seen.estimate() / distinct as f64 - 1.0
        };
        let all: Vec<f64> = (0..sketches).map(error).collect();
        let mean = |of: fn(&f64) -> f64| all.iter().map(of).sum::<f64>() / sketches as f64;
        (mean(|error| *error), mean(|error| error * error).sqrt())
    }

    #[test]
    fn distinct_values_are_estimated_without_bias() {
        assert_eq!(DistinctCounter::default().estimate(), 0.0);
        for distinct in
            [10, 100, 1000, 8000, 16_384, 30_000, 36_000, 41_500, 48_000, 60_000, 82_000, 200_000]
        {
            let (mean, rms) = errors(distinct, 400);
            assert!(mean.abs() < 0.002, "{distinct}: mean error {mean}");
            assert!(rms < 0.0095, "{distinct}: RMS error {rms}");
        }
    }

    /// Registers that are skipped because they cannot rise hold the value they would hold anyway.
    #[test]
    fn registers_hold_the_highest_rank_of_their_hashes() {
        let mut seen = DistinctCounter::default();
        let mut registers = [0; REGISTERS];
        for value in (0..2_000_003).chain(0..1_000_000) {
            seen.see(value);
            let hash = mix64(value);
            let place = (hash >> (64 - REGISTER_BITS)) as usize;
            let zeros = (hash << REGISTER_BITS).leading_zeros().min(64 - REGISTER_BITS);
            registers[place] = registers[place].max(zeros as u8 + 1);
        }
        assert!(seen.lowest > 2, "{}", seen.lowest);
        assert_eq!(*seen.registers, registers);
    }

    #[test]
    fn merged_sketches_are_the_sketch_of_all() {
        let seen = |range: std::ops::Range<u64>| {
            let mut seen = DistinctCounter::default();
            range.for_each(|n| seen.see(n));
            seen
        };
        let mut one = seen(0..30_000);
        one.merge(&seen(20_000..41_500));
        assert_eq!(one, seen(0..41_500));
    }
}
