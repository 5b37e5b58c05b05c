//! The reads and writes of one device at the block layer, among the I/Os of all.

use crate::batch::{Narrow, Wide};
use crate::file::Field;
use crate::fold::Rows;
use steadfast_domain::{IoOp, Layer};

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

/// Finds them, by columns that are found once for many rows.
pub(crate) struct Moving<'r> {
    of: u16,
    device: Narrow<'r>,
    layer: Narrow<'r>,
    op: Narrow<'r>,
    bytes: Narrow<'r>,
    offset: Wide<'r>,
}

impl<'r> Moving<'r> {
    /// Those of a device.
    pub(crate) fn of(rows: &Rows<'r>, device: u16) -> Self {
        Moving {
            of: device,
            device: rows.batch.narrow(Field::Device),
            layer: rows.batch.narrow(Field::Layer),
            op: rows.batch.narrow(Field::Op),
            bytes: rows.batch.narrow(Field::Bytes),
            offset: rows.batch.wide(Field::Offset),
        }
    }

    /// Whether a row is of the device at the block layer, whatever it did.
    #[inline]
    pub(crate) fn is_of_device(&self, row: usize) -> bool {
        self.device.at(row) as u16 == self.of && self.layer.layer(row) == Layer::Block
    }

    /// What a row moved, where it is one of them.
    #[inline]
    pub(crate) fn at(&self, row: usize) -> Option<Moved> {
        if self.is_of_device(row) { self.moved(row) } else { None }
    }

    /// The same of a row of which it is known that it is of the device.
    #[inline]
    pub(crate) fn moved(&self, row: usize) -> Option<Moved> {
        let (op, bytes) = (self.op.op(row), self.bytes.at(row));
        let moves = matches!(op, IoOp::Read | IoOp::Write) && bytes > 0;
        moves.then(|| Moved { op, from: self.offset.at(row), bytes })
    }
}
