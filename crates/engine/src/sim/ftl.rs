//! The flash translation layer (FTL): which physical page holds which logical page, and the garbage
//! collector, which keeps superblocks free.
//!
//! Page-mapped. Host writes go to one open superblock, pages that the collector moves to another.
//! The collector's victim is the closed superblock with the fewest valid pages (greedy: the optimal
//! choice for uniform random writes, Yang, Misra and Rubenstein, SIGMETRICS PER 43, 2015). While
//! free superblocks are short, the collector moves pages in proportion to the host's writes, so
//! that it shares the dies with the host instead of stopping it.

use super::spec::DriveSpec;
use std::collections::VecDeque;
use std::ops::Range;

/// Marks an unmapped logical page, and a physical page without data.
pub(super) const UNMAPPED: u32 = u32::MAX;

/// Added to the valid count of a superblock that is free, open or being collected, so that one
/// comparison excludes it from the search for a victim.
const NOT_CLOSED: i16 = 1 << 14;

/// Number of counts that the search for a victim compares at a time.
const STRIDE: usize = 64;

/// Origin of the pages in a program operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageOrigin {
    Host,
    Collector,
}

/// Flash operations that the mapping issues, in order.
pub(super) trait Flash {
    /// Waits until the write buffer has room for one program unit.
    fn admit(&mut self);
    /// Reads a page that the collector moves.
    fn read(&mut self, page: u32);
    /// Programs the unit that ends with this page.
    fn program(&mut self, page: u32, writer: PageOrigin);
    /// Erases a superblock on every die.
    fn erase(&mut self);
}

/// An open superblock: its next page, and the page after its last.
#[derive(Debug, Clone, Copy, Default)]
struct Frontier {
    next: u32,
    end: u32,
}

/// A physical page that holds its logical page.
#[derive(Debug, Clone, Copy)]
struct MappedPage {
    physical: u32,
    logical: u32,
}

#[derive(Debug, Clone, Copy)]
struct Victim {
    superblock: u32,
    next: u32,
    valid: u32,
}

/// The map from logical to physical pages.
#[derive(Debug)]
pub(super) struct PageMap {
    page_bits: u32,
    unit_pages: u32,
    /// Physical page of every logical page.
    physical: Box<[u32]>,
    /// Logical page last written to every physical page.
    logical: Box<[u32]>,
    /// Valid pages of every superblock. An open one counts as full from the start, so that only
    /// invalidation has to change its count.
    valid: Box<[i16]>,
    free: VecDeque<u32>,
    host: Frontier,
    collector: Frontier,
    victim: Option<Victim>,
    /// Pages that the collector has yet to move, times the victim's invalid pages.
    debt: u32,
    /// Below this many free superblocks the collector works alongside the host.
    free_low: usize,
    /// Below this many free superblocks it works while the drive is idle.
    free_idle: usize,
    pub(super) programmed: u64,
}

impl PageMap {
    pub(super) fn new(spec: &DriveSpec) -> Self {
        let physical_pages = spec.superblocks as usize * spec.superblock_pages as usize;
        let spare = spec.superblocks - spec.logical_pages / spec.superblock_pages;
        let mut mapping = PageMap {
            page_bits: spec.superblock_pages.trailing_zeros(),
            unit_pages: spec.unit_pages,
            physical: vec![UNMAPPED; spec.logical_pages as usize].into(),
            logical: vec![UNMAPPED; physical_pages].into(),
            valid: vec![NOT_CLOSED; spec.superblocks as usize].into(),
            free: VecDeque::with_capacity(spec.superblocks as usize),
            host: Frontier::default(),
            collector: Frontier::default(),
            victim: None,
            debt: 0,
            free_low: 4,
            free_idle: 4 + spare as usize / 2,
            programmed: 0,
        };
        mapping.purge();
        mapping
    }

    /// Restores the state in which nothing was ever written.
    pub(super) fn purge(&mut self) {
        self.physical.fill(UNMAPPED);
        self.logical.fill(UNMAPPED);
        self.valid.fill(NOT_CLOSED);
        self.free.clear();
        self.free.extend(0..self.valid.len() as u32);
        self.host = Frontier::default();
        self.collector = Frontier::default();
        self.victim = None;
        self.debt = 0;
    }

    #[cfg(test)]
    pub(super) fn lookup(&self, logical: u32) -> u32 {
        self.physical[logical as usize]
    }

    /// Returns the physical pages of consecutive logical pages.
    #[inline(always)]
    pub(super) fn lookup_run(&self, first: u32, count: u32) -> &[u32] {
        &self.physical[first as usize..first as usize + count as usize]
    }

    /// Returns the written pages of the superblock that is open for host writes.
    #[inline(always)]
    pub(super) fn host_open(&self) -> Range<u32> {
        self.host.end.saturating_sub(1 << self.page_bits)..self.host.next
    }

    #[inline]
    pub(super) fn write(&mut self, logical: u32, flash: &mut impl Flash) {
        if self.host.next & (self.unit_pages - 1) == 0 {
            self.begin_unit(flash);
        }
        self.host = self.place(self.host, logical, PageOrigin::Host, flash);
    }

    /// Unmaps a logical page; its physical page becomes invalid at once.
    #[inline]
    pub(super) fn discard(&mut self, logical: u32) {
        let old = std::mem::replace(&mut self.physical[logical as usize], UNMAPPED);
        self.invalidate(old);
    }

    /// Programs an unfinished unit of host pages now, padded with blank pages.
    pub(super) fn finish_unit(&mut self, flash: &mut impl Flash) {
        while self.host.next & (self.unit_pages - 1) != 0 {
            let page = self.host.next;
            self.logical[page as usize] = UNMAPPED;
            self.invalidate(page);
            self.host = self.filled(self.host, PageOrigin::Host, flash);
        }
    }

    /// Makes room for a unit of host pages, in the buffer and on flash.
    fn begin_unit(&mut self, flash: &mut impl Flash) {
        flash.admit();
        if self.free.len() < self.free_low {
            self.collect_with_host(flash);
        }
        if self.host.next == self.host.end {
            // The last free superblock is reserved for the collector: without it nothing could be
            // freed again.
            while self.free.len() < 2 && (self.victim.is_some() || self.choose_victim()) {
                self.collect_to_end(flash);
            }
            self.host = self.open();
        }
    }

    fn open(&mut self) -> Frontier {
        let superblock = self.free.pop_front().expect("the collector keeps one superblock free");
        self.valid[superblock as usize] = NOT_CLOSED + (1 << self.page_bits);
        let next = superblock << self.page_bits;
        Frontier { next, end: next + (1 << self.page_bits) }
    }

    #[inline(always)]
    fn place(
        &mut self,
        frontier: Frontier,
        logical: u32,
        writer: PageOrigin,
        flash: &mut impl Flash,
    ) -> Frontier {
        let page = frontier.next;
        let old = std::mem::replace(&mut self.physical[logical as usize], page);
        self.invalidate(old);
        self.logical[page as usize] = logical;
        self.filled(frontier, writer, flash)
    }

    /// Returns the frontier after the page that was just filled.
    #[inline(always)]
    fn filled(
        &mut self,
        frontier: Frontier,
        writer: PageOrigin,
        flash: &mut impl Flash,
    ) -> Frontier {
        let page = frontier.next;
        self.programmed += 1;
        if (page + 1) & (self.unit_pages - 1) == 0 {
            flash.program(page, writer);
            if page + 1 == frontier.end {
                self.valid[(page >> self.page_bits) as usize] -= NOT_CLOSED;
            }
        }
        Frontier { next: page + 1, end: frontier.end }
    }

    #[inline(always)]
    fn invalidate(&mut self, page: u32) {
        if page != UNMAPPED {
            self.valid[(page >> self.page_bits) as usize] -= 1;
        }
    }
}

impl PageMap {
    /// Returns true if the collector has work to do while the drive is idle.
    pub(super) fn wants_idle_time(&self) -> bool {
        self.victim.is_some() || self.free.len() < self.free_idle
    }

    /// Collects one superblock completely. Returns false if none is worth it: the best has less
    /// than a sixteenth of its pages invalid.
    pub(super) fn collect_one(&mut self, flash: &mut impl Flash) -> bool {
        if self.victim.is_none() && !self.choose_victim() {
            return false;
        }
        let full = 1 << self.page_bits;
        if self.victim.is_some_and(|v| v.valid > full - full / 16) {
            return false;
        }
        self.collect_to_end(flash);
        true
    }

    /// Moves as many pages as the host's next unit will cost: moving `valid` pages frees room for
    /// `full - valid` host pages. Moves twice as many when falling behind.
    fn collect_with_host(&mut self, flash: &mut impl Flash) {
        if self.victim.is_none() && !self.choose_victim() {
            return;
        }
        let Some(victim) = self.victim else { return };
        let haste = if self.free.len() + 1 < self.free_low { 2 } else { 1 };
        let gain = ((1 << self.page_bits) - victim.valid).max(1);
        self.debt += victim.valid.max(1) * self.unit_pages * haste;
        while self.debt >= gain && self.victim.is_some() {
            self.debt -= gain;
            self.collect_page(flash);
        }
    }

    fn collect_to_end(&mut self, flash: &mut impl Flash) {
        while self.victim.is_some() {
            self.collect_page(flash);
        }
    }

    /// Moves the victim's next valid page, and erases the victim after its last.
    fn collect_page(&mut self, flash: &mut impl Flash) {
        let Some(mut victim) = self.victim else { return };
        if self.valid[victim.superblock as usize] > NOT_CLOSED {
            let page = self.next_valid(victim.next);
            victim.next = page.physical + 1;
            self.victim = Some(victim);
            flash.read(page.physical);
            if self.collector.next == self.collector.end {
                self.collector = self.open();
            }
            self.collector = self.place(self.collector, page.logical, PageOrigin::Collector, flash);
        }
        if self.valid[victim.superblock as usize] == NOT_CLOSED {
            self.victim = None;
            self.free.push_back(victim.superblock);
            flash.erase();
        }
    }

    /// Returns the first page from `physical` on that still holds its logical page.
    fn next_valid(&self, mut physical: u32) -> MappedPage {
        loop {
            let logical = self.logical[physical as usize];
            if logical != UNMAPPED && self.physical[logical as usize] == physical {
                return MappedPage { physical, logical };
            }
            physical += 1;
        }
    }

    /// Makes the closed superblock with the fewest valid pages the victim. Returns false if all
    /// closed superblocks are full.
    fn choose_victim(&mut self) -> bool {
        let full = 1 << self.page_bits;
        let mut fewest = full;
        let mut begin = 0;
        for (index, counts) in self.valid.chunks(STRIDE).enumerate() {
            let low = counts.iter().fold(i16::MAX, |low, count| low.min(*count));
            if i32::from(low) < fewest {
                fewest = i32::from(low);
                begin = index * STRIDE;
            }
        }
        if fewest >= full {
            return false;
        }
        let rest = &self.valid[begin..];
        let superblock = begin + rest.iter().position(|c| i32::from(*c) == fewest).unwrap_or(0);
        self.valid[superblock] += NOT_CLOSED;
        let superblock = superblock as u32;
        let next = superblock << self.page_bits;
        self.victim = Some(Victim { superblock, next, valid: fewest as u32 });
        self.debt = 0;
        true
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::spec::drive;
    use super::*;
    use crate::xoshiro::Xoshiro256;

    /// Flash that takes no time.
    struct NullFlash;

    impl Flash for NullFlash {
        fn admit(&mut self) {}
        fn read(&mut self, _: u32) {}
        fn program(&mut self, _: u32, _: PageOrigin) {}
        fn erase(&mut self) {}
    }

    impl PageMap {
        /// Checks the invariants that hold between two commands.
        pub(in super::super) fn assert_sound(&self) {
            let pages = 1usize << self.page_bits;
            let mut counts = vec![0; self.valid.len()];
            let mut holders = vec![UNMAPPED; self.logical.len()];
            for (logical, page) in self.physical.iter().enumerate() {
                if *page == UNMAPPED {
                    continue;
                }
                let page = *page as usize;
                assert_eq!(self.logical[page], logical as u32);
                assert_eq!(holders[page], UNMAPPED, "page {page} holds two logical pages");
                holders[page] = logical as u32;
                counts[page / pages] += 1;
            }
            let open =
                [self.host, self.collector].map(|f| f.end.saturating_sub(1) as usize / pages);
            for (superblock, valid) in self.valid.iter().enumerate() {
                let unwritten: usize = [self.host, self.collector]
                    .iter()
                    .filter(|f| f.end > 0 && open.contains(&superblock))
                    .filter(|f| (f.end as usize - 1) / pages == superblock)
                    .map(|f| (f.end - f.next) as usize)
                    .sum();
                let counted = (*valid & !NOT_CLOSED) as usize;
                assert_eq!(counted, counts[superblock] + unwritten, "superblock {superblock}");
            }
            let mut free: Vec<_> = self.free.iter().collect();
            free.sort_unstable();
            free.dedup();
            assert_eq!(free.len(), self.free.len());
            assert!(free.iter().all(|sb| self.valid[**sb as usize] == NOT_CLOSED));
        }
    }

    /// Returns a drive of 32 superblocks of user data and `spare` more.
    fn tiny(spare: u32, unit_pages: u32) -> DriveSpec {
        let mut spec = drive("small").unwrap().clone();
        spec.superblock_pages = 64;
        spec.logical_pages = 32 * 64;
        spec.superblocks = 32 + spare;
        spec.unit_pages = unit_pages;
        spec
    }

    #[test]
    fn every_page_that_is_mapped_is_mapped_once() {
        for (seed, spare, unit) in [(1, 8, 1), (2, 12, 4), (3, 20, 2), (4, 8, 8)] {
            let spec = tiny(spare, unit);
            let mut random = Xoshiro256::new(seed, 0);
            let mut mapping = PageMap::new(&spec);
            let mut naive = vec![false; spec.logical_pages as usize];
            for step in 0..60_000 {
                let logical = random.below(u64::from(spec.logical_pages)) as u32;
                match random.below(1000) {
                    0..=799 => {
                        mapping.write(logical, &mut NullFlash);
                        naive[logical as usize] = true;
                    }
                    800..=989 => {
                        mapping.discard(logical);
                        naive[logical as usize] = false;
                    }
                    990..=994 => mapping.finish_unit(&mut NullFlash),
                    995..=998 => drop(mapping.collect_one(&mut NullFlash)),
                    _ if random.below(20) == 0 => {
                        mapping.purge();
                        naive.fill(false);
                    }
                    _ => {}
                }
                if step % 997 == 0 {
                    mapping.assert_sound();
                    let mapped = |l: usize| mapping.lookup(l as u32) != UNMAPPED;
                    assert!((0..naive.len()).all(|l| mapped(l) == naive[l]));
                }
            }
        }
    }

    #[test]
    fn a_full_drive_that_is_overwritten_in_any_order_never_runs_out() {
        let spec = tiny(6, 4);
        let mut mapping = PageMap::new(&spec);
        for stride in [1, 3, 65, 1021] {
            for n in 0..5 * spec.logical_pages {
                mapping.write(n * stride % spec.logical_pages, &mut NullFlash);
            }
            mapping.assert_sound();
        }
        (0..spec.logical_pages).for_each(|l| mapping.discard(l));
        mapping.assert_sound();
        (0..spec.logical_pages).for_each(|l| mapping.write(l, &mut NullFlash));
        mapping.assert_sound();
    }

    /// Returns the write amplification of greedy collection under uniform random writes of single
    /// pages: X. Luojie and B. M. Kurkoski, "An Improved Analytic Expression for Write
    /// Amplification in NAND Flash", arXiv:1110.4245. With a = physical / logical pages, the
    /// valid share u of a victim satisfies u = exp(-a (1 - u)); the trivial solution u = 1 does
    /// not count.
    pub(in super::super) fn expected_amplification(a: f64) -> f64 {
        let mut u: f64 = 0.0;
        for _ in 0..100_000 {
            u = (-a * (1.0 - u)).exp();
        }
        1.0 / (1.0 - u)
    }

    #[test]
    fn the_formula_gives_the_published_value() {
        assert!((expected_amplification(1.3) - 2.36).abs() < 0.005);
    }

    #[test]
    fn random_writes_amplify_as_the_formula_says() {
        for percent in [8, 12, 16, 28, 45] {
            let mut spec = drive("small").unwrap().clone();
            spec.superblock_pages = 128;
            spec.logical_pages = 800 * 128;
            spec.superblocks = 800 + 8 * percent;
            let mut mapping = PageMap::new(&spec);
            let mut random = Xoshiro256::new(u64::from(percent), 0);
            let pages = u64::from(spec.logical_pages);
            (0..spec.logical_pages).for_each(|l| mapping.write(l, &mut NullFlash));
            let mut write = |times| {
                let before = mapping.programmed;
                (0..times).for_each(|_| mapping.write(random.below(pages) as u32, &mut NullFlash));
                (mapping.programmed - before) as f64 / times as f64
            };
            write(6 * pages);
            let measured = write(3 * pages);
            // The reserved free superblocks, and half of each open one, never hold invalid pages.
            let usable = f64::from(spec.superblocks - 5) / 800.0;
            let expected = expected_amplification(usable);
            let error = measured / expected - 1.0;
            assert!(error.abs() < 0.1, "{percent} %: {measured:.3}, expected {expected:.3}");
        }
    }

    #[test]
    fn sequential_writes_amplify_nothing() {
        let spec = drive("small").unwrap();
        let mut mapping = PageMap::new(spec);
        for _ in 0..4 {
            (0..spec.logical_pages).for_each(|l| mapping.write(l, &mut NullFlash));
        }
        let written = 4 * u64::from(spec.logical_pages);
        assert!(mapping.programmed <= written + written / 100);
    }
}
