//! Outstanding I/Os, and whether a new I/O overlaps any of them.
//!
//! A grid of counters shows for nearly every I/O that it overlaps nothing; the outstanding I/Os
//! are searched only if the grid is inconclusive.

use steadfast_domain::{DueIo, Op};

/// Bytes per cell, as a power of two.
const CELL_BITS: u32 = 17;

/// Cells of the grid; addresses wrap around.
const CELLS: usize = 4096;

/// An I/O that spans more cells is not put on the grid.
const CELLS_LIMIT: u64 = 64;

/// Byte range of an outstanding I/O; empty in an unused slot.
#[derive(Debug, Clone, Copy, Default)]
struct SlotRange {
    start: u64,
    end: u64,
    alters: bool,
}

impl SlotRange {
    #[inline]
    fn from_io(io: &DueIo) -> SlotRange {
        if io.op == Op::Flush {
            return SlotRange::default();
        }
        let (start, end) = (io.offset.0, io.offset.0.saturating_add(io.size.0));
        SlotRange { start, end, alters: io.op.alters() }
    }

    #[inline]
    fn conflicts(&self, other: &SlotRange) -> bool {
        self.start < other.end && other.start < self.end && (self.alters || other.alters)
    }

    /// Returns the cells that it spans; `None` if they are more than [`CELLS_LIMIT`].
    #[inline]
    fn cells(&self) -> Option<impl Iterator<Item = usize> + use<>> {
        let cells = self.start >> CELL_BITS..self.end.div_ceil(1 << CELL_BITS);
        let fits_grid = cells.end.saturating_sub(cells.start) <= CELLS_LIMIT;
        fits_grid.then(|| cells.map(|cell| cell as usize % CELLS))
    }
}

/// Returns true if two I/Os overlap and at least one of them alters data.
#[inline]
pub(super) fn conflict(one: &DueIo, other: &DueIo) -> bool {
    SlotRange::from_io(one).conflicts(&SlotRange::from_io(other))
}

#[derive(Debug)]
pub(super) struct OutstandingRanges {
    slots: Box<[SlotRange]>,
    pub(super) used: u32,
    /// Number of outstanding I/Os in each cell.
    grid: Box<[u32]>,
    /// Number of outstanding I/Os that are not on the grid.
    wide: u32,
}

impl OutstandingRanges {
    pub(super) fn new(slots: u32) -> OutstandingRanges {
        OutstandingRanges {
            slots: vec![SlotRange::default(); slots as usize].into(),
            used: 0,
            grid: vec![0; CELLS].into(),
            wide: 0,
        }
    }

    #[inline]
    pub(super) fn add(&mut self, slot: u32, io: &DueIo) {
        let range = SlotRange::from_io(io);
        self.slots[slot as usize] = range;
        self.used += 1;
        match range.cells() {
            Some(cells) => cells.for_each(|cell| self.grid[cell] += 1),
            None => self.wide += 1,
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, slot: u32) {
        let range = std::mem::take(&mut self.slots[slot as usize]);
        self.used -= 1;
        match range.cells() {
            Some(cells) => cells.for_each(|cell| self.grid[cell] -= 1),
            None => self.wide -= 1,
        }
    }

    /// Returns true if an I/O overlaps an outstanding one and at least one of the two alters
    /// data.
    #[inline]
    pub(super) fn overlaps(&self, io: &DueIo) -> bool {
        let range = SlotRange::from_io(io);
        let may_overlap = self.wide > 0
            || range.cells().is_none_or(|mut cells| cells.any(|cell| self.grid[cell] > 0));
        may_overlap && self.slots.iter().any(|other| other.conflicts(&range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xoshiro::Xoshiro256;
    use steadfast_domain::{Bytes, Nanos};

    #[test]
    fn it_finds_the_overlaps_that_a_plain_search_finds() {
        let mut random = Xoshiro256::new(1, 1);
        let mut ranges = OutstandingRanges::new(8);
        let mut naive: Vec<Option<DueIo>> = vec![None; 8];
        let (mut found, mut searches) = (0, 0);
        for _ in 0..100_000 {
            let op = Op::ALL[random.below(4) as usize];
            let size = if random.below(50) == 0 { 1 << 25 } else { 512 << random.below(9) };
            let offset = random.below(1 << 14) * 4096;
            let io = DueIo::new(Nanos::ZERO, op, Bytes(offset), Bytes(size));
            let expected = naive.iter().flatten().any(|other| {
                let is_disjoint =
                    other.offset.0 + other.size.0 <= offset || offset + size <= other.offset.0;
                let flush = op == Op::Flush || other.op == Op::Flush;
                !is_disjoint && !flush && (op.alters() || other.op.alters())
            });
            assert_eq!(ranges.overlaps(&io), expected, "{io:?}");
            found += u32::from(expected);
            searches += 1;
            let slot = random.below(8) as usize;
            if naive[slot].take().is_some() {
                ranges.remove(slot as u32);
            } else {
                ranges.add(slot as u32, &io);
                naive[slot] = Some(io);
            }
        }
        assert!((searches / 50..searches / 2).contains(&found), "{found} of {searches}");
    }

    #[test]
    fn adjacent_ios_and_two_reads_do_not_overlap() {
        let io = |op, offset, size| DueIo::new(Nanos::ZERO, op, Bytes(offset), Bytes(size));
        let mut ranges = OutstandingRanges::new(2);
        ranges.add(0, &io(Op::Read, 4096, 4096));
        assert!(!ranges.overlaps(&io(Op::Write, 0, 4096)));
        assert!(!ranges.overlaps(&io(Op::Write, 8192, 4096)));
        assert!(!ranges.overlaps(&io(Op::Read, 4096, 4096)));
        assert!(ranges.overlaps(&io(Op::Write, 4608, 512)));
        assert!(ranges.overlaps(&io(Op::Discard, 0, 1 << 30)));
        assert!(!ranges.overlaps(&io(Op::Flush, 0, 0)));
        ranges.remove(0);
        assert!(!ranges.overlaps(&io(Op::Write, 4608, 512)));
        assert_eq!(ranges.used, 0);
    }
}
