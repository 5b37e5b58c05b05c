//! [`BusyTime`]: the time in each cell during which a device had an I/O outstanding.

use std::mem;
use steadfast_analysis::AnnotatedRows;
use steadfast_analysis::annotate::sequential::BusySpan;
use steadfast_domain::Layer;

/// A device at a layer.
type DeviceLayer = (u16, Layer);

/// Busy time of cells of equal width, in nanoseconds.
#[derive(Debug, Clone)]
pub struct BusyTime {
    width_ns: u64,
    first: u64,
    cells: Vec<u64>,
    /// Busy time that is not yet divided among cells.
    carried: Vec<(DeviceLayer, BusySpan)>,
    /// Index of the entry of `carried` that was used last.
    last: usize,
}

impl BusyTime {
    /// Creates `count` cells of `width_ns` from cell number `first`, all without busy time.
    pub fn new((width_ns, first, count): (u64, u64, usize)) -> Self {
        let (cells, carried) = (vec![0; count], Vec::new());
        BusyTime { width_ns: width_ns.max(1), first, cells, carried, last: 0 }
    }

    /// Takes the selected rows.
    pub fn take(&mut self, rows: &AnnotatedRows<'_>) {
        for row in rows.iter() {
            let busy = rows.busy[row];
            if busy.1 > busy.0 {
                self.carry((rows.batch.device(row), rows.batch.layer(row)), busy);
            }
        }
    }

    /// Keeps busy time until its end is known.
    #[inline]
    fn carry(&mut self, side: DeviceLayer, busy: BusySpan) {
        if self.carried.get(self.last).is_none_or(|(last, _)| *last != side) {
            let found = self.carried.iter().position(|(known, _)| *known == side);
            self.last = found.unwrap_or(self.carried.len());
        }
        match self.carried.get_mut(self.last) {
            Some((_, carried)) if carried.1 == busy.0 => carried.1 = busy.1,
            Some((_, carried)) => {
                let done = mem::replace(carried, busy);
                self.share_out(done);
            }
            None => self.carried.push((side, busy)),
        }
    }

    fn share_out(&mut self, (from, to): BusySpan) {
        let end = self.first.saturating_add(self.cells.len() as u64);
        let mut from = from.max(self.first.saturating_mul(self.width_ns));
        let to = to.min(end.saturating_mul(self.width_ns));
        while from < to {
            let cell = from / self.width_ns;
            let until = (cell + 1).saturating_mul(self.width_ns).min(to);
            if let Some(busy) = self.cells.get_mut((cell - self.first) as usize) {
                *busy += until - from;
            }
            from = until;
        }
    }

    /// Adds busy time to a cell, counted from the first.
    pub fn add(&mut self, cell: usize, busy_ns: u64) {
        if let Some(busy) = self.cells.get_mut(cell) {
            *busy = busy.saturating_add(busy_ns);
        }
    }

    /// Adds the busy time of another share of the I/Os.
    pub fn join(&mut self, other: BusyTime) {
        let theirs = other.finish();
        self.cells.iter_mut().zip(&theirs).for_each(|(ours, theirs)| *ours += theirs);
    }

    /// Returns the busy time of each cell, in nanoseconds.
    pub fn finish(mut self) -> Vec<u64> {
        mem::take(&mut self.carried).into_iter().for_each(|(_, busy)| self.share_out(busy));
        self.cells
    }
}
