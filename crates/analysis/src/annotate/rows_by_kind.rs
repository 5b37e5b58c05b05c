//! [`RowsByKind`]: the rows of a batch listed by operation, device and layer.

use crate::device_layer::device_layer_index;
use std::ops::Range;
use steadfast_domain::{IoOp, Layer};
use steadfast_tracefile::batch::{Batch, PART_MAX};
use steadfast_tracefile::schema::Field;
use steadfast_tracefile::simd;

/// Maximum number of rows that are listed at once: their columns fit into a processor's first-level
/// caches.
pub(crate) const ROWS_MAX: usize = 4096;
const _: () = assert!(ROWS_MAX <= PART_MAX);

/// Rows of up to [`ROWS_MAX`] I/Os by kind: operation, device and layer.
#[derive(Default)]
pub(crate) struct RowsByKind {
    /// Kind of each row, from 1; 0 for a row without bytes and for padding after the last row.
    kinds: Vec<u32>,
    /// 1 for each row of the kind that is being listed, 0 for others.
    marks: Vec<u8>,
    /// Index into `lists` by kind; [`NO_LIST`] for a kind that has none.
    list_of_kind: Vec<u32>,
    /// One list of rows per kind. The first list is for rows without bytes and stays empty.
    lists: Vec<KindRows>,
    /// Number of rows that the first few kinds left unlisted.
    unlisted: usize,
}

/// Rows of one kind in order. Entries beyond `count` are stale.
#[derive(Clone, Default)]
struct KindRows {
    /// The kind; 0 if the list is unused.
    kind: u32,
    rows: Vec<u16>,
    count: usize,
    is_complete: bool,
}

/// The first row of a kind that has no list.
pub(crate) struct NewKind {
    pub row: usize,
    /// Number of the kind, from 0.
    pub kind: usize,
}

const NO_LIST: u32 = u32::MAX;
/// Index of the list for rows without bytes.
const WITHOUT_BYTES: usize = 0;
/// Number of kinds whose rows are found by vectorized search. There are rarely more kinds.
const SEARCHED_MAX: usize = 4;

impl RowsByKind {
    /// Starts with the next I/Os and lists the rows of the first few kinds.
    pub(crate) fn start(&mut self, batch: &Batch, rows: Range<usize>) {
        if self.list_of_kind.is_empty() {
            self.assign_list(0, WITHOUT_BYTES);
        }
        self.lists.iter_mut().for_each(KindRows::clear);
        self.kinds.resize(rows.len().next_multiple_of(MASK_ROWS), 0);
        self.kinds[rows.len()..].fill(0);
        let part = |field| batch.narrow(field).part(rows.clone());
        let requests = part(Field::Bytes).iter().zip(part(Field::Op));
        let sides = part(Field::Device).iter().zip(part(Field::Layer));
        for ((kind, (bytes, op)), (device, layer)) in self.kinds.iter_mut().zip(requests).zip(sides)
        {
            let op = op.cast_unsigned().min(IoOp::Other as u32);
            let is_file = *layer == Layer::FileSystem as i32;
            let side = device_layer_index(*device as u16, is_file) as u32;
            // A mask instead of a branch, so that the compiler can vectorize this.
            let has_bytes = u32::from(*bytes != 0).wrapping_neg();
            *kind = (1 + side * IoOp::ALL.len() as u32 + op) & has_bytes;
        }
        self.list_first_kinds();
    }

    /// Lists the rows of the first few kinds by vectorized search.
    fn list_first_kinds(&mut self) {
        self.unlisted = self.kinds.iter().map(|kind| usize::from(*kind > 0)).sum();
        for list in self.lists.iter_mut().filter(|list| list.kind > 0).take(SEARCHED_MAX) {
            list.find_all(&self.kinds, &mut self.marks);
            self.unlisted -= list.count;
        }
    }

    /// Lists the rows of other kinds from `first` on, up to the first row of a kind without a list,
    /// which is returned.
    pub(crate) fn list_from(&mut self, first: usize) -> Option<NewKind> {
        if self.unlisted == 0 {
            return None;
        }
        for (row, kind) in self.kinds.iter().enumerate().skip(first) {
            let list = self.list_of_kind.get(*kind as usize);
            match list.and_then(|list| self.lists.get_mut(*list as usize)) {
                Some(list) if list.is_complete => {}
                Some(list) => list.push(row as u16),
                None => return Some(NewKind { row, kind: *kind as usize - 1 }),
            }
        }
        None
    }

    /// Adds a list for the kind whose lookback is in `slot`.
    pub(crate) fn add_kind(&mut self, kind: usize, slot: usize) {
        self.assign_list(kind + 1, slot + 1);
    }

    /// Makes `list` the list of a kind, given by its number in `kinds`.
    fn assign_list(&mut self, kind: usize, list: usize) {
        if self.list_of_kind.len() <= kind {
            self.list_of_kind.resize(kind + 1, NO_LIST);
        }
        self.list_of_kind[kind] = list as u32;
        if self.lists.len() <= list {
            self.lists.resize(list + 1, KindRows::default());
        }
        let list = &mut self.lists[list];
        (list.kind, list.is_complete) = (kind as u32, false);
    }

    /// Iterates over the rows of each kind, in the order of the lookbacks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u16]> {
        self.lists.iter().skip(1).map(|list| &list.rows[..list.count])
    }
}

impl KindRows {
    fn clear(&mut self) {
        (self.count, self.is_complete) = (0, self.kind == 0);
    }

    /// Lists all rows of its kind. This is a separate function so that all its state stays in
    /// registers.
    #[inline(never)]
    fn find_all(&mut self, kinds: &[u32], marks: &mut Vec<u8>) {
        self.rows.resize(ROWS_MAX, 0);
        let Some(rows) = self.rows.first_chunk_mut::<ROWS_MAX>() else { return };
        marks.resize(kinds.len(), 0);
        simd::mark(kinds, self.kind, marks);
        let mut count = 0;
        for (part, marks) in marks.as_chunks().0.iter().enumerate() {
            let mut mask = mask_of(marks);
            while mask != 0 {
                let row = part * MASK_ROWS + mask.trailing_zeros() as usize;
                // The modulo never applies; it avoids a bounds check.
                rows[count % ROWS_MAX] = row as u16;
                count += 1;
                mask &= mask - 1;
            }
        }
        (self.count, self.is_complete) = (count, true);
    }

    #[inline]
    fn push(&mut self, row: u16) {
        match self.rows.get_mut(self.count) {
            Some(entry) => *entry = row,
            None => self.grow(row),
        }
        self.count += 1;
    }

    /// Extends the list beyond its longest length so far.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, row: u16) {
        self.rows.push(row);
    }
}

/// Number of rows in a mask.
const MASK_ROWS: usize = u64::BITS as usize;

/// Returns a mask with one bit per row, from marks of 1 or 0.
#[inline]
fn mask_of(marks: &[u8; MASK_ROWS]) -> u64 {
    marks.as_chunks().0.iter().rev().fold(0, |mask, marks| {
        // Gathers the lowest bits of eight bytes into the highest byte.
        let bits = u64::from_le_bytes(*marks).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask << 8 | bits
    })
}
