//! [`BusyTime`]: the time in each cell during which a device had an I/O outstanding.

use steadfast_analysis::AnnotatedRows;
use steadfast_analysis::annotate::sequential::BusySpan;
use steadfast_analysis::device_layer::DeviceLayer;
use steadfast_analysis::sums::busy_spans::{OpenBusySpans, by_step};

/// Busy time of cells of equal width, in nanoseconds.
#[derive(Debug, Clone)]
pub struct BusyTime {
    width_ns: u64,
    first: u64,
    cells: Vec<u64>,
    open: OpenBusySpans,
}

impl BusyTime {
    /// Creates `count` cells of `width_ns` from cell number `first`, all without busy time.
    pub fn new(width_ns: u64, first: u64, count: usize) -> Self {
        let open = OpenBusySpans::default();
        BusyTime { width_ns: width_ns.max(1), first, cells: vec![0; count], open }
    }

    /// Takes the selected rows.
    pub fn take(&mut self, rows: &AnnotatedRows<'_>) {
        for row in rows.iter() {
            let (device, layer) = (rows.batch.device(row), rows.batch.layer(row));
            if let Some(finished) = self.open.add(DeviceLayer { device, layer }, rows.busy[row]) {
                self.divide(finished);
            }
        }
    }

    /// Divides a finished busy span among the cells.
    fn divide(&mut self, (from, to): BusySpan) {
        let end = self.first.saturating_add(self.cells.len() as u64);
        let from = from.max(self.first.saturating_mul(self.width_ns));
        let to = to.min(end.saturating_mul(self.width_ns));
        for (cell, busy_ns) in by_step((from, to), self.width_ns) {
            self.add((cell - self.first) as usize, busy_ns);
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
        self.open.take().into_iter().for_each(|(_, busy)| self.divide(busy));
        self.cells
    }
}
