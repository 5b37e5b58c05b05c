//! A cache of flash cells that hold one bit each (pSLC) in front of the rest of the flash.
//!
//! Writes enter the cache while it has room, then bypass it. Once `direct_room` bytes have bypassed
//! the full cache, the drive has to fold older data to make room for each write. When its host is
//! idle, it folds the cache, the oldest data first.

use super::spec::{PAGE, PseudoSlc};
use std::ops::RangeInclusive;

/// The cache of a simulated drive. Times are in nanoseconds.
#[derive(Debug)]
pub(super) struct SlcCache {
    spec: PseudoSlc,
    cached_bytes: u64,
    /// Bytes written past the full cache and not folded since.
    direct_bytes: u64,
    /// Bytes that ever entered the cache.
    entered_bytes: u64,
    /// Value of `entered_bytes` right after each logical page was last cached; 0 if the page
    /// bypassed the cache or was never written.
    page_positions: Box<[u64]>,
    /// Completion time of the last write.
    writes_until: u64,
    /// Completion time of the last read.
    reads_until: u64,
    /// End of the last idle period that was used for folding.
    folded_until: u64,
}

/// Returns the transfer time of bytes, in nanoseconds.
fn transfer_ns(bytes: u64, mb_per_second: u32) -> u64 {
    bytes * 1000 / u64::from(mb_per_second)
}

impl SlcCache {
    pub(super) fn new(spec: PseudoSlc, logical_pages: u32) -> Self {
        SlcCache {
            spec,
            cached_bytes: 0,
            direct_bytes: 0,
            entered_bytes: 0,
            page_positions: vec![0; logical_pages as usize].into(),
            writes_until: 0,
            reads_until: 0,
            folded_until: 0,
        }
    }

    pub(super) fn purge(&mut self) {
        self.cached_bytes = 0;
        self.direct_bytes = 0;
        self.entered_bytes = 0;
        self.page_positions.fill(0);
    }

    /// Writes `bytes` bytes to `pages` at `now`. Returns the completion time.
    pub(super) fn write(&mut self, now: u64, pages: RangeInclusive<u32>, bytes: u64) -> u64 {
        let spec = self.spec;
        let cached = bytes.min(spec.size.0.saturating_sub(self.cached_bytes));
        let direct = (bytes - cached).min(spec.direct_room.0.saturating_sub(self.direct_bytes));
        self.cached_bytes += cached;
        self.direct_bytes += direct;
        let mut remaining = cached;
        for page in pages {
            let page_bytes = remaining.min(PAGE);
            remaining -= page_bytes;
            self.entered_bytes += page_bytes;
            self.page_positions[page as usize] =
                if page_bytes > 0 { self.entered_bytes } else { 0 };
        }
        let displacing = bytes - cached - direct;
        self.writes_until = self.writes_until.max(now)
            + transfer_ns(cached, spec.mb_per_second)
            + transfer_ns(direct, spec.direct_mb_per_second)
            + transfer_ns(displacing, spec.folding_mb_per_second);
        self.writes_until
    }

    /// Returns true if the page is among the last `cached_bytes` bytes that entered: the oldest data
    /// leave first.
    pub(super) fn holds(&self, page: u32) -> bool {
        self.page_positions[page as usize] > self.entered_bytes.saturating_sub(self.cached_bytes)
    }

    /// Reads a number of pages that the cache holds at `now`. Returns the completion time.
    pub(super) fn read(&mut self, now: u64, pages: u64) -> u64 {
        let time = transfer_ns(pages * PAGE, self.spec.read_mb_per_second);
        self.reads_until = self.reads_until.max(now) + time;
        self.reads_until
    }

    /// Folds in an idle period of the host. Later calls may extend the same period: time that was
    /// used does not count again.
    pub(super) fn fold_while_idle(&mut self, from: u64, to: u64) {
        let begin = from.saturating_add(self.spec.fold_after.0).max(self.folded_until);
        let available_ns = to.saturating_sub(begin);
        let folded =
            (u128::from(available_ns) * u128::from(self.spec.fold_mb_per_second) / 1000) as u64;
        // Folding frees cache and direct room at one rate.
        self.cached_bytes = self.cached_bytes.saturating_sub(folded);
        self.direct_bytes = self.direct_bytes.saturating_sub(folded);
        self.folded_until = self.folded_until.max(to);
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
            cache.write(0, page..=page, 512);
        }
        assert!((0..32).all(|page| cache.holds(page)), "the cache has room for 32 sectors");
        assert!((32..40).all(|page| !cache.holds(page)));
        // Time to fold 16 sectors at 1 MB/s.
        cache.fold_while_idle(0, 16 * 512 * 1000);
        assert!((0..16).all(|page| !cache.holds(page)) && (16..32).all(|page| cache.holds(page)));
        cache.fold_while_idle(0, 1_000_000_000);
        assert!((0..40).all(|page| !cache.holds(page)));
    }
}
