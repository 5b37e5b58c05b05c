//! A drive with a volatile write cache whose power can be cut, and what it loses then.

use serde_json::json;
use std::collections::{BTreeSet, VecDeque};
use steadfast_domain::power_cut::PowerLossBehavior;
use steadfast_domain::random_bits::mix64;

/// Number of writes in the cache of a drive that ignores flushes.
const CACHED_WRITES_MAX: usize = 64;

/// Sector that a drive never tears, unless it is [`PowerLossBehavior::TearsSector`].
const SECTOR: usize = 512;

/// A write that is not on the medium yet, or the old content below a write that is.
struct CachedWrite {
    offset: usize,
    data: Vec<u8>,
    /// True if the drive has answered a flush since.
    was_flushed: bool,
}

impl CachedWrite {
    fn range(&self) -> std::ops::Range<usize> {
        self.offset..self.offset + self.data.len()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrivePower {
    On,
    /// It has lost its content and answers nothing.
    Silent,
    /// Every request fails until this number of reads has failed.
    Off {
        refusals: u32,
    },
}

pub struct LossyDrive {
    behavior: PowerLossBehavior,
    pub power: DrivePower,
    medium: Vec<u8>,
    /// Content that the host reads: the cached writes over the medium.
    content: Vec<u8>,
    cached: VecDeque<CachedWrite>,
    /// Content of the medium below each write of the last flush.
    replaced: Vec<CachedWrite>,
    random: u64,
    /// First bytes of the flushed writes that each cut damaged.
    planted: Vec<BTreeSet<usize>>,
}

impl LossyDrive {
    pub fn new(behavior: PowerLossBehavior, bytes: usize) -> Self {
        LossyDrive {
            behavior,
            power: DrivePower::On,
            medium: vec![0; bytes],
            content: vec![0; bytes],
            cached: VecDeque::new(),
            replaced: Vec::new(),
            random: 10_007,
            planted: Vec::new(),
        }
    }

    /// Returns the capacity in bytes.
    pub fn capacity(&self) -> u64 {
        self.medium.len() as u64
    }

    /// Returns what the host reads at a place; `None` beyond the end.
    pub fn read(&self, offset: usize, length: usize) -> Option<&[u8]> {
        self.content.get(offset..offset.checked_add(length)?)
    }

    /// Takes a write into the cache; `None` beyond the end.
    pub fn write(&mut self, offset: usize, data: Vec<u8>) -> Option<()> {
        self.content.get_mut(offset..offset.checked_add(data.len())?)?.copy_from_slice(&data);
        self.cached.push_back(CachedWrite { offset, data, was_flushed: false });
        if self.behavior == PowerLossBehavior::IgnoresFlushes
            && self.cached.len() > CACHED_WRITES_MAX
        {
            let oldest = self.cached.pop_front()?;
            self.store(&oldest);
        }
        Some(())
    }

    /// Makes the cached writes durable, or says so.
    pub fn flush(&mut self) {
        if self.behavior == PowerLossBehavior::IgnoresFlushes {
            self.cached.iter_mut().for_each(|write| write.was_flushed = true);
            return;
        }
        if self.cached.is_empty() {
            return;
        }
        self.replaced.clear();
        for write in std::mem::take(&mut self.cached) {
            let data = self.medium[write.range()].to_vec();
            self.replaced.push(CachedWrite { data, ..write });
            self.store(&write);
        }
    }

    fn store(&mut self, write: &CachedWrite) {
        self.medium[write.range()].copy_from_slice(&write.data);
    }

    fn random_below(&mut self, below: usize) -> usize {
        self.random = mix64(self.random);
        (self.random % below as u64) as usize
    }

    /// Cuts the power; `without` is how the drive behaves until it has power again.
    pub fn lose_power(&mut self, without: DrivePower) {
        self.power = without;
        let (cached, replaced) =
            (std::mem::take(&mut self.cached), std::mem::take(&mut self.replaced));
        let mut damaged = BTreeSet::new();
        match self.behavior {
            PowerLossBehavior::Honest => cached.iter().for_each(|write| self.keep_some(write)),
            PowerLossBehavior::IgnoresFlushes => {
                damaged.extend(cached.iter().filter(|w| w.was_flushed).map(|w| w.offset));
            }
            PowerLossBehavior::Reorders => {
                replaced.iter().for_each(|old| self.store(old));
                cached.iter().for_each(|write| self.store(write));
                let kept: BTreeSet<usize> = cached.iter().map(|write| write.offset).collect();
                damaged.extend(replaced.iter().map(|w| w.offset).filter(|at| !kept.contains(at)));
            }
            _ if replaced.is_empty() => {}
            PowerLossBehavior::DropsFlushed => {
                let old = &replaced[self.random_below(replaced.len())];
                self.store(old);
                damaged.insert(old.offset);
            }
            PowerLossBehavior::TearsSector => {
                let old = &replaced[self.random_below(replaced.len())];
                let first = self.random_below(2) * (SECTOR / 2);
                let half = first..first + SECTOR / 2;
                let place = old.offset + half.start..old.offset + half.end;
                self.medium[place].copy_from_slice(&old.data[half]);
                damaged.insert(old.offset);
            }
            PowerLossBehavior::Misplaces => {
                let old = &replaced[0];
                let data = self.medium[old.range()].to_vec();
                self.store(old);
                damaged.insert(old.offset);
                let other = replaced.iter().skip(1).find(|w| w.data.len() == data.len());
                if let Some(other) = other {
                    self.medium[other.range()].copy_from_slice(&data);
                    damaged.insert(other.offset);
                }
            }
        }
        self.planted.push(damaged);
        self.content.clone_from(&self.medium);
    }

    /// Counts a request that failed because the drive is off.
    pub fn refuse(&mut self, is_read: bool) {
        if let DrivePower::Off { refusals } = &mut self.power
            && is_read
        {
            *refusals -= 1;
            if *refusals == 0 {
                self.power = DrivePower::On;
            }
        }
    }

    /// Keeps a write that was not flushed, loses it, or keeps some of its sectors.
    fn keep_some(&mut self, write: &CachedWrite) {
        let fate = self.random_below(3);
        for (sector, data) in write.data.chunks(SECTOR).enumerate() {
            if fate == 0 || (fate == 1 && self.random_below(2) == 0) {
                let offset = write.offset + sector * SECTOR;
                self.medium[offset..offset + data.len()].copy_from_slice(data);
            }
        }
    }

    /// Returns the damage of each cut as JSON: first bytes of flushed writes.
    pub fn planted(&self) -> String {
        json!(self.planted).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_damages_what_was_flushed_only_on_a_drive_that_lies() {
        use PowerLossBehavior::{
            DropsFlushed, Honest, IgnoresFlushes, Misplaces, Reorders, TearsSector,
        };
        for (behavior, flushed_damaged) in [
            (Honest, 0),
            (DropsFlushed, 1),
            (IgnoresFlushes, 4),
            (TearsSector, 1),
            (Reorders, 4),
            (Misplaces, 2),
        ] {
            let mut drive = LossyDrive::new(behavior, 1 << 20);
            for block in 0..4u8 {
                drive.write(usize::from(block) * 4096, vec![block + 1; 4096]).unwrap();
            }
            drive.flush();
            drive.write(4 * 4096, vec![9; 4096]).unwrap();
            assert_eq!(drive.write(1 << 20, vec![0; 512]), None);
            drive.lose_power(DrivePower::Off { refusals: 2 });
            drive.refuse(true);
            drive.refuse(false);
            assert_eq!(drive.power, DrivePower::Off { refusals: 1 });
            drive.refuse(true);
            assert_eq!(drive.power, DrivePower::On);
            let is_whole = |block: &u8| {
                let kept = drive.read(usize::from(*block) * 4096, 4096).unwrap();
                kept == [*block + 1; 4096]
            };
            let damaged = (0..4).filter(|block| !is_whole(block)).count();
            assert_eq!((damaged, drive.planted[0].len()), (flushed_damaged, flushed_damaged));
            let unflushed = drive.read(4 * 4096, 4096).unwrap().iter().all(|byte| *byte == 9);
            assert!(behavior == Honest || unflushed == (behavior == Reorders), "{behavior:?}");
        }
    }
}
