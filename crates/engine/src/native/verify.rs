//! Read verification: does a sector hold what this engine wrote to it?
//!
//! The written sectors are kept in a bitmap, one bit per 512 bytes, from the first load that
//! verifies. A read is checked against the bits as they were when it was issued. Whichever
//! version of a sector a concurrent write leaves is right, because every version carries the
//! sector's address and identifies its own body.

use super::pattern::{SECTOR, StampKey};
use super::queue::QueueTarget;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use steadfast_domain::Bytes;
use steadfast_domain::measurement::Verification;

/// Number of times that a mismatch under concurrent writes is read again.
const REREADS: usize = 3;

/// Bitmap with one bit for each 512-byte sector of a device.
#[derive(Debug)]
pub(super) struct WrittenSectors {
    words: Box<[AtomicU64]>,
}

impl WrittenSectors {
    pub(super) fn new(length: Bytes) -> WrittenSectors {
        let words = length.0.div_ceil(SECTOR as u64 * 64) as usize;
        // SAFETY: an atomic integer may be all zero.
        let words = unsafe { Box::<[AtomicU64]>::new_zeroed_slice(words).assume_init() };
        WrittenSectors { words }
    }

    fn is_written(&self, sector: u64) -> bool {
        self.words
            .get((sector / 64) as usize)
            .is_some_and(|word| word.load(Ordering::Relaxed) >> (sector % 64) & 1 == 1)
    }

    fn mark(&self, sector: u64) {
        if let Some(word) = self.words.get((sector / 64) as usize) {
            word.fetch_or(1 << (sector % 64), Ordering::Relaxed);
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct ReadBackFindings {
    right: AtomicU64,
    unknown: AtomicU64,
    wrong: AtomicU64,
    first: Mutex<Vec<Bytes>>,
}

impl ReadBackFindings {
    /// Returns the findings since the last call.
    pub(super) fn take(&self) -> Verification {
        Verification {
            sectors_right: self.right.swap(0, Ordering::Relaxed),
            sectors_unknown: self.unknown.swap(0, Ordering::Relaxed),
            miscompares: self.wrong.swap(0, Ordering::Relaxed),
            first: std::mem::take(&mut self.first.lock().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    fn miscompare(&self, sector: u64) {
        self.wrong.fetch_add(1, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.len() < Verification::LOCATED {
            first.push(Bytes(sector * SECTOR as u64));
        }
    }
}

#[derive(Debug)]
pub(super) struct ReadVerifier {
    written: Arc<WrittenSectors>,
    key: StampKey,
    /// Per slot: whether each sector of its read was known to be written when the read was
    /// issued.
    known: Box<[bool]>,
    per_slot: usize,
    /// True if the load also writes, so that a sector may change while it is read.
    contended: bool,
}

impl ReadVerifier {
    pub(super) fn new(
        written: Arc<WrittenSectors>,
        key: StampKey,
        depth: u32,
        largest_read: u32,
        contended: bool,
    ) -> ReadVerifier {
        let per_slot = largest_read as usize / SECTOR;
        let known = vec![false; per_slot * depth as usize].into();
        ReadVerifier { written, key, known, per_slot, contended }
    }

    /// Notes which sectors of a read that is about to be issued are known to be written.
    pub(super) fn before_read(&mut self, slot: u32, offset: u64, size: u32) {
        let first = offset / SECTOR as u64;
        let begin = slot as usize * self.per_slot;
        for index in 0..size as usize / SECTOR {
            self.known[begin + index] = self.written.is_written(first + index as u64);
        }
    }

    pub(super) fn after_write(&self, offset: u64, size: u32) {
        let first = offset / SECTOR as u64;
        (0..u64::from(size) / SECTOR as u64).for_each(|index| self.written.mark(first + index));
    }

    pub(super) fn after_read(
        &self,
        target: &QueueTarget,
        findings: &ReadBackFindings,
        slot: u32,
        offset: u64,
        content: &mut [u8],
    ) {
        let begin = slot as usize * self.per_slot;
        let (mut right, mut unknown) = (0, 0);
        for index in 0..content.len() / SECTOR {
            let number = offset / SECTOR as u64 + index as u64;
            let place = index * SECTOR..(index + 1) * SECTOR;
            if !self.known[begin + index] {
                unknown += 1;
            } else if self.is_right(&content[place.clone()], number)
                || (self.contended && self.is_right_now(target, offset, content, place, number))
            {
                right += 1;
            } else {
                findings.miscompare(number);
            }
        }
        findings.right.fetch_add(right, Ordering::Relaxed);
        findings.unknown.fetch_add(unknown, Ordering::Relaxed);
    }

    fn is_right(&self, content: &[u8], sector: u64) -> bool {
        self.key
            .open(content)
            .is_some_and(|stamp| stamp.sector == sector && self.key.body_is(content, stamp.pool))
    }

    /// Reads again: where sectors are not written atomically (a page cache), the read may have
    /// seen a concurrent write half done.
    #[cold]
    fn is_right_now(
        &self,
        target: &QueueTarget,
        offset: u64,
        content: &mut [u8],
        place: std::ops::Range<usize>,
        sector: u64,
    ) -> bool {
        (0..REREADS).any(|_| {
            let (start, length) = (content.as_mut_ptr().cast(), content.len());
            // SAFETY: the slot's buffer is borrowed mutably and that long.
            let moved = unsafe { libc::pread(target.fd(), start, length, offset as libc::off_t) };
            moved == length as isize && self.is_right(&content[place.clone()], sector)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sector_is_written_once_it_is_marked_and_none_outside() {
        let written = WrittenSectors::new(Bytes(100 * 512));
        assert!(!written.is_written(63));
        written.mark(63);
        written.mark(99);
        written.mark(1 << 40);
        assert!(written.is_written(63) && written.is_written(99));
        assert!(!written.is_written(62) && !written.is_written(64) && !written.is_written(1 << 40));
    }

    #[test]
    fn findings_are_taken_once() {
        let findings = ReadBackFindings::default();
        (0..40).for_each(|sector| findings.miscompare(sector));
        let taken = findings.take();
        assert_eq!((taken.miscompares, taken.first.len()), (40, 32));
        assert_eq!(taken.first[1], Bytes(512));
        assert_eq!(findings.take(), Verification::default());
    }
}
