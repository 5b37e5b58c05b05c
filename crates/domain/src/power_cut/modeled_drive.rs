//! A drive with a volatile write cache that loses its power, for tests and simulated drives.

use super::stamp::{BlockFault, FoundBlock};
use super::trial::WritePlan;
use crate::random_bits::mix64;
use std::collections::VecDeque;

/// Maximum number of writes in the cache of a drive that ignores flushes.
const CACHED_WRITES_MAX: usize = 64;

/// Behavior of a drive that loses its power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PowerLossBehavior {
    /// Every flushed write is kept. Of the others, each is kept, lost, or kept in some sectors.
    Honest,
    /// One flushed write is lost.
    DropsFlushed,
    /// A flush does nothing: the newest writes are lost.
    IgnoresFlushes,
    /// The newest write leaves a sector that is half old and half new, if any batch was flushed.
    TearsSector,
    /// The batch before the last flush is lost; the unflushed writes after it are kept.
    Reorders,
    /// One flushed write is stored in another block.
    Misplaces,
}

/// A drive that stores the number of the write in every sector in place of its data.
#[derive(Debug)]
pub struct ModeledDrive<'a> {
    plan: &'a WritePlan,
    behavior: PowerLossBehavior,
    random: u64,
    /// Write stored in each sector of the medium.
    sectors: Vec<u64>,
    /// Faults caused by the cut, by block.
    faults: Vec<Option<BlockFault>>,
    /// Writes in the volatile cache, oldest first.
    cached: VecDeque<u64>,
    /// Writes of the last flushed batch.
    flushed: Vec<FlushedWrite>,
}

#[derive(Debug, Clone, Copy)]
struct FlushedWrite {
    sequence: u64,
    /// Number of the write that the block held before.
    overwritten: u64,
}

impl<'a> ModeledDrive<'a> {
    /// Creates a drive that holds none of the trial's writes.
    pub fn new(plan: &'a WritePlan, behavior: PowerLossBehavior, seed: u64) -> Self {
        let blocks = plan.trial.blocks as usize;
        ModeledDrive {
            plan,
            behavior,
            random: seed,
            sectors: vec![0; blocks * plan.trial.sectors()],
            faults: vec![None; blocks],
            cached: VecDeque::new(),
            flushed: Vec::new(),
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (mix64(self.random) % below.max(1) as u64) as usize
    }

    fn sectors_of(&mut self, block: usize) -> &mut [u64] {
        let size = self.plan.trial.sectors();
        &mut self.sectors[block * size..(block + 1) * size]
    }

    fn block_of(&self, sequence: u64) -> usize {
        self.plan.block_of(sequence) as usize
    }

    /// Adds a write to the cache.
    pub fn write(&mut self, sequence: u64) {
        self.cached.push_back(sequence);
        let is_full = self.cached.len() > CACHED_WRITES_MAX;
        if self.behavior == PowerLossBehavior::IgnoresFlushes && is_full {
            self.store_oldest();
        }
    }

    fn store_oldest(&mut self) {
        let Some(sequence) = self.cached.pop_front() else { return };
        let block = self.block_of(sequence);
        let overwritten = self.sectors_of(block)[0];
        self.sectors_of(block).fill(sequence);
        if self.behavior != PowerLossBehavior::IgnoresFlushes {
            self.flushed.push(FlushedWrite { sequence, overwritten });
        }
    }

    /// Executes a flush.
    pub fn flush(&mut self) {
        if self.behavior == PowerLossBehavior::IgnoresFlushes {
            return;
        }
        self.flushed.clear();
        while !self.cached.is_empty() {
            self.store_oldest();
        }
    }

    /// Cuts the power and returns what every block holds afterwards.
    pub fn cut(mut self) -> Vec<FoundBlock> {
        let cached: Vec<u64> = self.cached.drain(..).collect();
        for sequence in &cached {
            match self.behavior {
                PowerLossBehavior::IgnoresFlushes => {}
                PowerLossBehavior::Reorders => self.keep_whole(*sequence),
                _ => self.keep_or_lose(*sequence),
            }
        }
        self.apply_fault(cached.last().copied());
        let size = self.plan.trial.sectors();
        let blocks = self.sectors.chunks_exact(size).zip(&self.faults);
        blocks.map(|(held, fault)| FoundBlock::from_sectors(held.iter().copied(), *fault)).collect()
    }

    /// Keeps the first sectors of a write.
    fn keep(&mut self, sequence: u64, sectors: usize) {
        let block = self.block_of(sequence);
        self.sectors_of(block).iter_mut().take(sectors).for_each(|held| *held = sequence);
    }

    fn keep_whole(&mut self, sequence: u64) {
        self.keep(sequence, self.plan.trial.sectors());
    }

    fn keep_or_lose(&mut self, sequence: u64) {
        match self.draw(3) {
            0 => {}
            1 => self.keep_whole(sequence),
            _ => {
                let sectors = self.draw(self.plan.trial.sectors());
                self.keep(sequence, sectors);
            }
        }
    }

    /// Reverts a flushed write.
    fn lose(&mut self, write: FlushedWrite) {
        let block = self.block_of(write.sequence);
        self.sectors_of(block).fill(write.overwritten);
    }

    /// Applies the fault of this behavior; it needs a flushed write.
    fn apply_fault(&mut self, newest_cached: Option<u64>) {
        if self.flushed.is_empty() {
            return;
        }
        let write = self.flushed[self.random as usize % self.flushed.len()];
        match self.behavior {
            PowerLossBehavior::Honest | PowerLossBehavior::IgnoresFlushes => {}
            PowerLossBehavior::DropsFlushed => self.lose(write),
            PowerLossBehavior::TearsSector => {
                let block = self.block_of(newest_cached.unwrap_or(write.sequence));
                self.faults[block] = Some(BlockFault::TornSector);
            }
            PowerLossBehavior::Reorders => {
                for flushed in std::mem::take(&mut self.flushed) {
                    self.lose(flushed);
                }
            }
            PowerLossBehavior::Misplaces => {
                self.lose(write);
                let other = (self.block_of(write.sequence) + 1) % self.faults.len();
                self.faults[other] = Some(BlockFault::Misplaced);
            }
        }
    }
}
