//! The reads and writes of one device at the block layer, among the I/Os of all devices.

use crate::fold::AnnotatedRows;
use std::ops::Range;
use steadfast_domain::IoOp;
use steadfast_tracefile::batch::{NarrowColumn, WideColumn};
use steadfast_tracefile::parquet::{Field, Fields};
use steadfast_tracefile::simd;

/// A read or a write that transfers data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataTransfer {
    /// Operation: a read or a write.
    pub op: IoOp,
    /// Offset of the first byte.
    pub from: u64,
    /// Size in bytes, at least 1.
    pub bytes: u32,
}

impl DataTransfer {
    /// Returns the offset just past the last byte.
    #[inline]
    pub(crate) fn end(self) -> u64 {
        self.from.saturating_add(u64::from(self.bytes))
    }
}

/// Number of rows that are searched together.
const ROWS_AT_ONCE: usize = 1024;

/// A search for the data transfers of one device. Columns are resolved once for all rows.
pub(crate) struct DataTransfers<'r> {
    of_device: u16,
    kept: &'r [bool],
    device: NarrowColumn<'r>,
    layer: NarrowColumn<'r>,
    op: NarrowColumn<'r>,
    bytes: NarrowColumn<'r>,
    offset: WideColumn<'r>,
}

impl<'r> DataTransfers<'r> {
    /// The columns that a search reads.
    pub(crate) const FIELDS: Fields =
        Fields::new(&[Field::Offset, Field::Bytes, Field::Op, Field::Device, Field::Layer]);

    pub(crate) fn new(rows: &AnnotatedRows<'r>, device: u16) -> Self {
        DataTransfers {
            of_device: device,
            kept: rows.kept,
            device: rows.batch.narrow(Field::Device),
            layer: rows.batch.narrow(Field::Layer),
            op: rows.batch.narrow(Field::Op),
            bytes: rows.batch.narrow(Field::Bytes),
            offset: rows.batch.wide(Field::Offset),
        }
    }

    /// Calls `take` for every row of the device that passes the filter, with its transfer or `None`
    /// if it moved no data.
    #[inline]
    pub(crate) fn each(&self, mut take: impl FnMut(usize, Option<DataTransfer>)) {
        let mut positions = [0; ROWS_AT_ONCE];
        for first in (0..self.kept.len()).step_by(ROWS_AT_ONCE) {
            let part = first..self.kept.len().min(first + ROWS_AT_ONCE);
            let count = self.find(part, &mut positions);
            for position in positions.iter().take(count) {
                let row = first + usize::from(*position);
                take(row, self.transfer(row));
            }
        }
    }

    /// Fills `positions` with those of the device's rows within a part; returns their number.
    fn find(&self, part: Range<usize>, positions: &mut [u16; ROWS_AT_ONCE]) -> usize {
        let (devices, layers) = (self.device.part(part.clone()), self.layer.part(part.clone()));
        let marks = &mut [0; ROWS_AT_ONCE];
        simd::of_device(devices, layers, &self.kept[part], self.of_device, marks, positions)
    }

    /// Returns the transfer of a row, or `None` if it moved no data.
    #[inline]
    pub(crate) fn transfer(&self, row: usize) -> Option<DataTransfer> {
        let (op, bytes) = (self.op.op(row), self.bytes.at(row));
        let moves = matches!(op, IoOp::Read | IoOp::Write) && bytes > 0;
        moves.then(|| DataTransfer { op, from: self.offset.at(row), bytes })
    }
}
