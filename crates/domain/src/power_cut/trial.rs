//! One trial of a power cut: its blocks, and the order in which they are written.

use crate::permutation::Permutation;
use crate::random_bits::mix64;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// One trial of a power cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PowerCutTrial {
    /// Number of the cycle, starting at 1.
    pub cycle: u32,
    /// First byte of the area that is written.
    pub start: Bytes,
    /// Size of a block in bytes, a multiple of the sector.
    pub block: Bytes,
    /// Number of blocks in the area, a multiple of `flush_every`.
    pub blocks: u64,
    /// Size of a stamped sector in bytes: the device's logical block.
    pub sector: u32,
    /// Number of writes between two flushes. They are outstanding together.
    pub flush_every: u32,
    /// Time from the first write until the power is cut.
    pub cut_after: Nanos,
    /// Longest wait, after that time, for the first I/O that fails.
    pub cut_limit: Nanos,
    /// Longest wait for the device to return.
    pub return_limit: Nanos,
    /// Seed of the order of the writes.
    pub seed: u64,
}

impl PowerCutTrial {
    /// Returns the number of sectors in a block.
    pub fn sectors(&self) -> usize {
        (self.block.0 / u64::from(self.sector.max(1))) as usize
    }
}

/// The writes of a trial, numbered from 1. Every block is written once, in random order, before
/// any is written again; so no batch has a block twice.
#[derive(Debug, Clone)]
pub struct WritePlan {
    /// The trial.
    pub trial: PowerCutTrial,
    key: u64,
}

impl WritePlan {
    /// Creates the plan of a trial. The nonce differs between runs, so that stamps left by an
    /// earlier run with the same seed are not mistaken for stamps of this one.
    pub fn new(trial: &PowerCutTrial, nonce: u64) -> Self {
        WritePlan { key: mix64(trial.seed ^ mix64(nonce)), trial: trial.clone() }
    }

    /// Returns the key in the stamps and the log of this trial.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Returns the block of a write.
    pub fn block_of(&self, sequence: u64) -> u64 {
        let rank = sequence.saturating_sub(1);
        let (pass, rank) = (rank / self.trial.blocks, rank % self.trial.blocks);
        Permutation::new(self.trial.blocks, mix64(self.key ^ pass)).position(rank)
    }

    /// Returns the writes of a batch, counted from 0.
    pub fn batch(&self, batch: u64) -> RangeInclusive<u64> {
        let size = u64::from(self.trial.flush_every);
        batch * size + 1..=(batch + 1) * size
    }

    /// Returns the last write of the batch before this write's batch; 0 if there is none.
    pub fn end_of_batch_before(&self, sequence: u64) -> u64 {
        let size = u64::from(self.trial.flush_every);
        sequence.saturating_sub(1) / size * size
    }

    /// Returns the first byte of a block on the device.
    pub fn offset(&self, block: u64) -> u64 {
        self.trial.start.0 + block * self.trial.block.0
    }

    /// Returns, for every block, the newest of the writes up to `last`; 0 for a block that none of
    /// them wrote.
    pub fn newest_writes(&self, last: u64) -> Vec<u64> {
        let mut newest = vec![0; self.trial.blocks as usize];
        // Each pass writes every block, so two passes hold the newest write of each.
        let first = last.saturating_sub(2 * self.trial.blocks) + 1;
        for sequence in first..=last {
            newest[self.block_of(sequence) as usize] = sequence;
        }
        newest
    }
}
