//! The reads and writes of one device at the block layer, among the I/Os of all.

use crate::fold::Rows;
use std::ops::Range;
use steadfast_domain::IoOp;
use steadfast_tracefile::batch::{Narrow, Wide};
use steadfast_tracefile::parquet::Field;
use steadfast_tracefile::simd;

/// A read or a write that moves something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    /// What it did.
    pub op: IoOp,
    /// First byte.
    pub from: u64,
    /// Size, which is not 0.
    pub bytes: u32,
}

impl Moved {
    /// The byte behind the last one.
    #[inline]
    pub(crate) fn end(self) -> u64 {
        self.from.saturating_add(u64::from(self.bytes))
    }
}

/// I/Os that are looked at together.
const PART: usize = 1024;

/// Finds them, by columns that are found once for many rows.
pub(crate) struct DataTransfers<'r> {
    of: u16,
    kept: &'r [bool],
    device: Narrow<'r>,
    layer: Narrow<'r>,
    op: Narrow<'r>,
    bytes: Narrow<'r>,
    offset: Wide<'r>,
}

impl<'r> DataTransfers<'r> {
    /// Those of a device.
    pub(crate) fn of(rows: &Rows<'r>, device: u16) -> Self {
        DataTransfers {
            of: device,
            kept: rows.kept,
            device: rows.batch.narrow(Field::Device),
            layer: rows.batch.narrow(Field::Layer),
            op: rows.batch.narrow(Field::Op),
            bytes: rows.batch.narrow(Field::Bytes),
            offset: rows.batch.wide(Field::Offset),
        }
    }

    /// Hands over the rows of the device that passed the filter, each with what it moved, if
    /// it did.
    #[inline]
    pub(crate) fn each(&self, mut take: impl FnMut(usize, Option<Moved>)) {
        let mut places = [0; PART];
        for first in (0..self.kept.len()).step_by(PART) {
            let part = first..self.kept.len().min(first + PART);
            let count = self.find(part, &mut places);
            for place in places.iter().take(count) {
                let row = first + usize::from(*place);
                take(row, self.moved(row));
            }
        }
    }

    /// The places of a part's rows of the device, and how many these are.
    fn find(&self, part: Range<usize>, places: &mut [u16; PART]) -> usize {
        let sides = (self.device.part(part.clone()), self.layer.part(part.clone()));
        simd::of_device(sides, &self.kept[part], self.of, &mut [0; PART], places)
    }

    /// What a row of the device moved, where it did.
    #[inline]
    pub(crate) fn moved(&self, row: usize) -> Option<Moved> {
        let (op, bytes) = (self.op.op(row), self.bytes.at(row));
        let moves = matches!(op, IoOp::Read | IoOp::Write) && bytes > 0;
        moves.then(|| Moved { op, from: self.offset.at(row), bytes })
    }
}
