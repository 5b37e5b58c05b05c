//! A cache of flash cells that hold one bit each (pSLC) in front of the rest of the flash.
//!
//! Writes enter the cache while it has room, then bypass it. Once a number of bytes has bypassed
//! the full cache, the drive has to fold older data to make room for each write. When its host is
//! idle, it folds the cache, the oldest data first.

use super::pseudo_slc::PseudoSlc;
use super::spec::PAGE;

#[derive(Debug)]
pub(super) struct SlcCache {
    spec: PseudoSlc,
    held: u64,
    /// Bytes written past the full cache.
    direct: u64,
    /// Bytes that ever entered the cache.
    entered: u64,
    /// Value of `entered` right after each logical page entered the cache; 0 if it went past it.
    entries: Box<[u64]>,
    /// Times until which the cache writes and reads.
    writing: u64,
    reading: u64,
    /// Time up to which idle periods were used.
    rested: u64,
}

/// Returns how long these bytes take, in nanoseconds.
fn time_of(bytes: u64, mb_per_second: u32) -> u64 {
    bytes * 1000 / u64::from(mb_per_second)
}

impl SlcCache {
    pub(super) fn new(spec: PseudoSlc, logical_pages: u32) -> Self {
        SlcCache {
            spec,
            held: 0,
            direct: 0,
            entered: 0,
            entries: vec![0; logical_pages as usize].into(),
            writing: 0,
            reading: 0,
            rested: 0,
        }
    }

    pub(super) fn purge(&mut self) {
        (self.held, self.direct, self.entered) = (0, 0, 0);
        self.entries.fill(0);
    }

    /// Takes a write of pages `first` to `last` at `now`. Returns the time at which it is in.
    pub(super) fn write(&mut self, now: u64, (first, last): (u32, u32), bytes: u64) -> u64 {
        let spec = self.spec;
        let cached = bytes.min(spec.size.0.saturating_sub(self.held));
        let direct = (bytes - cached).min(spec.direct_room.0.saturating_sub(self.direct));
        self.held += cached;
        self.direct += direct;
        let mut left = cached;
        for page in first..=last {
            let part = left.min(PAGE);
            left -= part;
            self.entered += part;
            self.entries[page as usize] = if part > 0 { self.entered } else { 0 };
        }
        self.writing = self.writing.max(now)
            + time_of(cached, spec.mb_per_second)
            + time_of(direct, spec.direct_mb_per_second)
            + time_of(bytes - cached - direct, spec.folding_mb_per_second);
        self.writing
    }

    pub(super) fn holds(&self, page: u32) -> bool {
        let entry = self.entries[page as usize];
        entry > 0 && entry > self.entered.saturating_sub(self.held)
    }

    /// Reads pages from the cache at `now`. Returns the time at which the last of them is out.
    pub(super) fn read(&mut self, now: u64, pages: u64) -> u64 {
        self.reading = self.reading.max(now) + time_of(pages * PAGE, self.spec.read_mb_per_second);
        self.reading
    }

    /// Folds in an idle period of the host. Later calls may extend the same period.
    pub(super) fn idle(&mut self, from: u64, to: u64) {
        let begin = from.saturating_add(self.spec.fold_after.0).max(self.rested);
        let time = to.saturating_sub(begin);
        let folded = (u128::from(time) * u128::from(self.spec.fold_mb_per_second) / 1000) as u64;
        self.held = self.held.saturating_sub(folded);
        self.direct = self.direct.saturating_sub(folded);
        self.rested = self.rested.max(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::{Bytes, Nanos};

    #[test]
    fn writes_of_less_than_a_page_enter_the_cache_and_leave_it() {
        let spec = PseudoSlc {
            size: Bytes(4 * PAGE),
            mb_per_second: 100,
            direct_mb_per_second: 40,
            direct_room: Bytes(4 * PAGE),
            folding_mb_per_second: 10,
            fold_mb_per_second: 1,
            fold_after: Nanos::ZERO,
            read_mb_per_second: 500,
        };
        let mut cache = SlcCache::new(spec, 64);
        for page in 0..40 {
            cache.write(0, (page, page), 512);
        }
        assert!((0..32).all(|page| cache.holds(page)), "the cache has room for 32 sectors");
        assert!((32..40).all(|page| !cache.holds(page)));
        // Time to fold 16 sectors at 1 MB/s.
        cache.idle(0, 16 * 512 * 1000);
        assert!((0..16).all(|page| !cache.holds(page)) && (16..32).all(|page| cache.holds(page)));
        cache.idle(0, 1_000_000_000);
        assert!((0..40).all(|page| !cache.holds(page)));
    }
}
