//! Stamps: the content of every sector that a trial writes, from which a lost, torn, damaged or
//! misplaced write is recognized.
//!
//! A sector holds the trial's key, the number of the write, the sector's own address and a checksum
//! of the three; every other word is derived from the checksum. A sector is therefore whole only if
//! all of it comes from one write, and its content is incompressible.

use super::trial::WritePlan;
use crate::random_bits::mix64;

/// Size of a word in bytes.
const WORD_SIZE: usize = 8;
/// Number of words in the header: key, sequence, address and checksum.
const HEADER_WORDS: usize = 4;

/// Fault of a block that does not depend on the acknowledgments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockFault {
    /// A sector is a mixture of a write and something else.
    TornSector,
    /// A sector holds a write that was meant for another address.
    Misplaced,
    /// The block cannot be read.
    Unreadable,
}

/// Content of a block after the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FoundBlock {
    /// Oldest write among its sectors; 0 if a sector holds no write of this trial.
    pub lowest: u64,
    /// Newest write among its sectors; 0 if no sector holds a write of this trial.
    pub highest: u64,
    /// Fault of the block, if it has one.
    pub fault: Option<BlockFault>,
}

impl FoundBlock {
    /// Returns a block that cannot be read.
    pub fn unreadable() -> Self {
        FoundBlock { fault: Some(BlockFault::Unreadable), ..FoundBlock::default() }
    }

    /// Returns a block from the writes that its sectors hold.
    pub fn from_sectors(writes: impl Iterator<Item = u64>, fault: Option<BlockFault>) -> Self {
        let (lowest, highest) = writes.fold((u64::MAX, 0), |(lowest, highest), write| {
            (lowest.min(write), highest.max(write))
        });
        FoundBlock { lowest: if lowest == u64::MAX { 0 } else { lowest }, highest, fault }
    }

    /// Reads the content of a block of the plan.
    pub fn from_bytes(plan: &WritePlan, block: u64, content: &[u8]) -> Self {
        let size = plan.trial.sector as usize;
        let addresses = (plan.offset(block)..).step_by(size);
        let mut fault = None;
        let writes: Vec<u64> = content
            .chunks_exact(size)
            .zip(addresses)
            .map(|(sector, address)| match read_sector(sector, plan.key(), address) {
                Ok(write) => write,
                Err(found) => {
                    fault = Some(found);
                    0
                }
            })
            .collect();
        FoundBlock::from_sectors(writes.into_iter(), fault)
    }
}

/// Fills `content` with the write `sequence` of the plan.
pub fn stamp_block(plan: &WritePlan, sequence: u64, content: &mut [u8]) {
    let size = plan.trial.sector as usize;
    let addresses = (plan.offset(plan.block_of(sequence))..).step_by(size);
    for (sector, address) in content.chunks_exact_mut(size).zip(addresses) {
        let checksum = checksum(plan.key(), sequence, address);
        let header = [plan.key(), sequence, address, checksum];
        for (at, bytes) in sector.chunks_exact_mut(WORD_SIZE).enumerate() {
            let word = header.get(at).copied().unwrap_or_else(|| filler_word(checksum, at));
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}

fn checksum(key: u64, sequence: u64, address: u64) -> u64 {
    mix64(key ^ mix64(sequence ^ mix64(address)))
}

fn filler_word(checksum: u64, at: usize) -> u64 {
    mix64(checksum.wrapping_add(at as u64))
}

/// Returns the write that a sector holds, or 0 if it holds none of this trial.
fn read_sector(sector: &[u8], key: u64, address: u64) -> Result<u64, BlockFault> {
    let mut words = sector.chunks_exact(WORD_SIZE).map(|bytes| {
        // A chunk has as many bytes as a word.
        u64::from_le_bytes(bytes.try_into().unwrap_or_default())
    });
    let header: [u64; HEADER_WORDS] = std::array::from_fn(|_| words.next().unwrap_or_default());
    let [found_key, sequence, found_address, found_checksum] = header;
    if found_key != key {
        return Ok(0);
    }
    let is_whole = found_checksum == checksum(key, sequence, found_address)
        && (HEADER_WORDS..).zip(words).all(|(at, word)| word == filler_word(found_checksum, at));
    match (is_whole, found_address == address) {
        (false, _) => Err(BlockFault::TornSector),
        (true, false) => Err(BlockFault::Misplaced),
        (true, true) => Ok(sequence),
    }
}
