//! [`BusyTime`]: the time in each cell during which a device had an I/O outstanding, and the devices
//! that it is a share of.

use serde::{Deserialize, Serialize};
use steadfast_analysis::AnnotatedRows;
use steadfast_analysis::annotate::busy_time::DeviceBusySpan;
use steadfast_analysis::cells::{BusyInStep, CubeCell};
use steadfast_analysis::device_layer::DeviceLayer;
use steadfast_analysis::sums::busy_spans::{OpenBusySpans, by_step};
use steadfast_domain::Layer;

/// Maximum number of devices (at a layer) that are distinguished.
const SIDES_MAX: usize = 64;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyCell {
    /// Busy time, summed over devices, in nanoseconds.
    pub busy_ns: u64,
    /// Devices with an I/O issued or outstanding: a bit for each, in order of first occurrence.
    sides: u64,
}

impl BusyCell {
    pub fn merge(&mut self, other: BusyCell) {
        self.busy_ns = self.busy_ns.saturating_add(other.busy_ns);
        self.sides |= other.sides;
    }

    /// Returns the number of devices with an I/O issued or outstanding.
    pub fn devices(&self) -> u64 {
        u64::from(self.sides.count_ones())
    }
}

/// Busy time of cells of equal width.
#[derive(Debug, Clone)]
pub struct BusyTime {
    width_ns: u64,
    first: u64,
    cells: Vec<BusyCell>,
    open: OpenBusySpans,
    /// Devices in the order of their bits in a cell.
    known: Vec<DeviceLayer>,
    /// Device and span of the cell that was marked last.
    last: DeviceBusySpan,
}

/// Busy time of all cells, after every span has ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BusyCells {
    /// One entry per cell.
    pub cells: Vec<BusyCell>,
    /// True if the devices of each cell are known: there are few enough of them.
    pub knows_devices: bool,
}

impl BusyTime {
    pub fn new(width_ns: u64, first: u64, count: usize) -> Self {
        BusyTime {
            width_ns: width_ns.max(1),
            first,
            cells: vec![BusyCell::default(); count],
            open: OpenBusySpans::default(),
            known: Vec::new(),
            last: DeviceBusySpan {
                side: DeviceLayer { device: 0, layer: Layer::Block },
                span: (0, 0),
            },
        }
    }

    pub fn take(&mut self, rows: &AnnotatedRows<'_>) {
        for row in rows.iter() {
            let (device, layer) = (rows.batch.device(row), rows.batch.layer(row));
            let side = DeviceLayer { device, layer };
            self.mark(side, rows.batch.issued_ns(row));
            if let Some(finished) = self.open.add(side, rows.busy[row]) {
                self.divide(DeviceBusySpan { side, span: finished });
            }
        }
        rows.edge_busy.iter().for_each(|part| self.divide(*part));
    }

    /// Notes that a device has an I/O at a time.
    #[inline]
    fn mark(&mut self, side: DeviceLayer, at_ns: u64) {
        let (from, to) = self.last.span;
        if self.last.side != side || at_ns < from || at_ns >= to {
            self.mark_cell(side, at_ns / self.width_ns);
        }
    }

    fn mark_cell(&mut self, side: DeviceLayer, number: u64) {
        let begin_ns = number.saturating_mul(self.width_ns);
        let span = (begin_ns, begin_ns.saturating_add(self.width_ns));
        self.last = DeviceBusySpan { side, span };
        self.add(number, side, 0);
    }

    /// Divides a finished busy span among the cells.
    fn divide(&mut self, busy: DeviceBusySpan) {
        let end = self.first.saturating_add(self.cells.len() as u64);
        let from = busy.span.0.max(self.first.saturating_mul(self.width_ns));
        let to = busy.span.1.min(end.saturating_mul(self.width_ns));
        for (number, busy_ns) in by_step((from, to), self.width_ns) {
            self.add(number, busy.side, busy_ns);
        }
    }

    /// Adds busy time of a device to the cell of this number, if there is one.
    fn add(&mut self, number: u64, side: DeviceLayer, busy_ns: u64) {
        let sides = self.mask(side);
        let cell = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        if let Some(cell) = cell.and_then(|at| self.cells.get_mut(at)) {
            cell.merge(BusyCell { busy_ns, sides });
        }
    }

    /// Returns the bit of a device; 0 if there are too many devices.
    fn mask(&mut self, side: DeviceLayer) -> u64 {
        let known = self.known.iter().position(|known| *known == side);
        let at = known.unwrap_or(self.known.len());
        // One more than the maximum marks that there are too many.
        if known.is_none() && at <= SIDES_MAX {
            self.known.push(side);
        }
        if at < SIDES_MAX { 1 << at } else { 0 }
    }

    pub fn take_cell(&mut self, cell: &CubeCell) {
        self.mark_cell(cell.into(), cell.begin_ns / self.width_ns);
    }

    pub fn take_busy(&mut self, busy: &BusyInStep) {
        self.add(busy.begin_ns / self.width_ns, busy.into(), busy.busy_ns);
    }

    pub fn merge(&mut self, mut other: BusyTime) {
        other.divide_open();
        let masks: Vec<u64> = other.known.iter().map(|side| self.mask(*side)).collect();
        for (ours, theirs) in self.cells.iter_mut().zip(&other.cells) {
            let mut sides = 0;
            for (bit, mask) in masks.iter().take(SIDES_MAX).enumerate() {
                if theirs.sides >> bit & 1 == 1 {
                    sides |= mask;
                }
            }
            ours.merge(BusyCell { sides, ..*theirs });
        }
    }

    fn divide_open(&mut self) {
        self.open.take().into_iter().for_each(|part| self.divide(part));
    }

    pub fn finish(mut self) -> BusyCells {
        self.divide_open();
        BusyCells { cells: self.cells, knows_devices: self.known.len() <= SIDES_MAX }
    }
}
