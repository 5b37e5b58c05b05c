//! Decodes Parquet's `DELTA_BINARY_PACKED`: numbers as differences from the number before, in
//! blocks of differences relative to the smallest of the block, each miniblock with as few
//! bits as it needs.

use super::unpack::{
    AT_ONCE, UnpackedNumbers, WIDTH_MAX, packed_length, unpack_and_add, variable_length,
};
use super::value::ColumnValue;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use std::{iter, slice};

/// The numbers of a page that is being read.
pub(super) struct DeltaDecoder {
    bytes: Bytes,
    /// Position of the next miniblock or block.
    at: usize,
    miniblocks: usize,
    /// Numbers per miniblock.
    numbers_each: usize,
    /// Index of the next miniblock in its block.
    miniblock: usize,
    /// Position of the bit widths of the block's miniblocks.
    widths_at: usize,
    /// Numbers of the current miniblock that were not unpacked yet.
    left_of_miniblock: usize,
    width: usize,
    least: i64,
    /// Numbers of the page whose differences were not unpacked yet.
    left: usize,
    /// Unpacked numbers that wait for a column; the first `taken` are used up.
    numbers: UnpackedNumbers,
    taken: usize,
    unpacked: usize,
    /// The last number decoded.
    last: i64,
    /// Repetitions of `last` that were not taken yet.
    same: usize,
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(format!("its differences are damaged: {what}"))
}

fn too_few() -> ParquetError {
    damaged("there are too few")
}

impl DeltaDecoder {
    /// Opens numbers of any width. They are summed with 64 bits; a column takes the low bits.
    /// Parquet allows differences no more bits than the column has, but DuckDB writes differences
    /// of 33 and 34 bits between numbers of 32.
    pub(super) fn open(bytes: Bytes) -> Result<Self> {
        let mut at = 0;
        let mut next = || {
            let (number, end) = variable_length(&bytes, at).ok_or_else(too_few)?;
            at = end;
            Ok::<u64, ParquetError>(number)
        };
        let [block, miniblocks, left, first] = [next()?, next()?, next()?, next()?];
        let numbers_each = block.checked_div(miniblocks).unwrap_or(0);
        if numbers_each == 0 || !numbers_each.is_multiple_of(AT_ONCE as u64) {
            return Err(damaged("their miniblocks are of impossible size"));
        }
        let whole = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(DeltaDecoder {
            at,
            miniblocks: whole(miniblocks),
            numbers_each: whole(numbers_each),
            miniblock: whole(miniblocks),
            widths_at: 0,
            left_of_miniblock: 0,
            width: 0,
            least: 0,
            left: whole(left.saturating_sub(1)),
            numbers: [0; AT_ONCE],
            taken: 0,
            unpacked: 0,
            last: unzigzag(first),
            // The first number itself.
            same: usize::from(left > 0),
            bytes,
        })
    }

    /// Returns the number of values of a page from which none was taken.
    pub(super) fn len(&self) -> usize {
        self.left.saturating_add(self.same)
    }

    /// Returns the end of the last miniblock, after all numbers were taken.
    pub(super) fn end(&self) -> Option<usize> {
        self.at.checked_add(packed_length(self.left_of_miniblock, self.width))
    }

    /// Appends the next `count` numbers.
    pub(super) fn take<T: ColumnValue>(&mut self, count: usize, column: &mut Vec<T>) -> Result<()> {
        let end = column.len() + count;
        while column.len() < end {
            let wanted = end - column.len();
            let unpacked = &self.numbers[self.taken..self.unpacked];
            if self.same > 0 {
                let same = wanted.min(self.same);
                column.extend(iter::repeat_n(T::of_number(self.last), same));
                self.same -= same;
            } else if !unpacked.is_empty() {
                let part = &unpacked[..wanted.min(unpacked.len())];
                column.extend(part.iter().map(|number| T::of_number(*number)));
                self.taken += part.len();
            } else {
                self.go_on(wanted, T::wide(column))?;
            }
        }
        Ok(())
    }

    /// Skips the next `count` numbers if all of them equal `number` and this takes no unpacking;
    /// returns whether they do.
    pub(super) fn pass_over<T: ColumnValue>(&mut self, count: usize, number: T) -> Result<bool> {
        while self.taken == self.unpacked && self.same < count && self.left > 0 {
            if self.left_of_miniblock == 0 {
                self.begin_miniblock()?;
            }
            if (self.width, self.least) != (0, 0) {
                break;
            }
            self.pass_over_miniblock();
        }
        let are_same = self.same >= count && T::of_number(self.last) == number;
        self.same -= if are_same { count } else { 0 };
        Ok(are_same)
    }

    /// Decodes more numbers after all decoded ones were taken, directly into the column as far as
    /// it has 64 bits and wants whole groups of them.
    fn go_on(&mut self, wanted: usize, column: Option<&mut Vec<i64>>) -> Result<()> {
        if self.left == 0 {
            return Err(too_few());
        }
        if self.left_of_miniblock == 0 {
            self.begin_miniblock()?;
        }
        if (self.width, self.least) == (0, 0) {
            self.pass_over_miniblock();
            return Ok(());
        }
        let whole = self.left_of_miniblock.min(self.left).min(wanted) / AT_ONCE * AT_ONCE;
        match column.filter(|_| whole > 0) {
            Some(column) => self.unpack_whole(whole, column),
            None => self.unpack_more(),
        }
    }

    /// Skips the rest of a miniblock whose differences are all 0, and blocks like it.
    fn pass_over_miniblock(&mut self) {
        self.find_same(self.left_of_miniblock);
        self.left_of_miniblock = 0;
        self.pass_over_same_blocks();
    }

    fn find_same(&mut self, count: usize) {
        let count = self.left.min(count);
        self.same += count;
        self.left -= count;
    }

    /// Skips whole blocks that repeat the same number: difference 0 and no bits.
    fn pass_over_same_blocks(&mut self) {
        let head = self.miniblocks.saturating_add(1);
        let block = self.miniblocks.saturating_mul(self.numbers_each);
        while self.miniblock == self.miniblocks && self.left > 0 {
            let next = self.bytes.get(self.at..).and_then(|rest| rest.get(..head));
            if next.is_none_or(|head| head.iter().any(|byte| *byte != 0)) {
                return;
            }
            self.at += head;
            self.find_same(block);
        }
    }

    /// Unpacks `count` numbers, a multiple of [`AT_ONCE`], into a column.
    fn unpack_whole(&mut self, count: usize, column: &mut Vec<i64>) -> Result<()> {
        // Checked first, because a damaged page could make the column as long as it claims.
        self.find_packed(count)?;
        let begin = column.len();
        column.resize(begin + count, 0);
        self.unpack(count, column[begin..].as_chunks_mut().0)
    }

    fn unpack_more(&mut self) -> Result<()> {
        let mut numbers = [0; AT_ONCE];
        (self.taken, self.unpacked) = (0, self.left.min(AT_ONCE));
        self.unpack(self.unpacked, slice::from_mut(&mut numbers))?;
        self.numbers = numbers;
        Ok(())
    }

    /// Returns the packed bytes of at least `count` numbers.
    fn find_packed(&self, count: usize) -> Result<&[u8]> {
        let packed = self.bytes.get(self.at..).unwrap_or_default();
        let are_there = packed.len() >= packed_length(count, self.width);
        are_there.then_some(packed).ok_or_else(too_few)
    }

    /// Unpacks `count` numbers of a miniblock.
    fn unpack(&mut self, count: usize, numbers: &mut [UnpackedNumbers]) -> Result<()> {
        let packed = self.find_packed(count)?;
        unpack_and_add(packed, self.width, (self.last, self.least), numbers);
        let numbers = numbers.as_flattened();
        self.last = numbers[count - 1];
        self.at += packed_length(numbers.len(), self.width);
        self.left_of_miniblock -= numbers.len();
        self.left -= count;
        Ok(())
    }

    fn begin_miniblock(&mut self) -> Result<()> {
        if self.miniblock == self.miniblocks {
            self.begin_block()?;
        }
        let width = self.bytes.get(self.widths_at + self.miniblock).ok_or_else(too_few)?;
        self.width = usize::from(*width);
        if self.width > WIDTH_MAX {
            return Err(damaged("one has more bits than any number"));
        }
        self.miniblock += 1;
        self.left_of_miniblock = self.numbers_each;
        Ok(())
    }

    fn begin_block(&mut self) -> Result<()> {
        let (least, widths_at) = variable_length(&self.bytes, self.at).ok_or_else(too_few)?;
        self.least = unzigzag(least);
        self.widths_at = widths_at;
        self.at = widths_at.checked_add(self.miniblocks).ok_or_else(too_few)?;
        self.miniblock = 0;
        Ok(())
    }
}

/// Converts a zigzag number, whose lowest bit is the sign, to two's complement.
fn unzigzag(number: u64) -> i64 {
    ((number >> 1) ^ (number & 1).wrapping_neg()).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page like those that DuckDB writes for 4096, 4294966784 and 4096 in turn, at 32 bits.
    #[test]
    fn differences_may_have_more_bits_than_their_column() {
        let (small, large) = (4096u32, 4_294_966_784u32);
        let step = u64::from(large - small);
        let mut page = vec![128, 1, 4, 3];
        let mut number = |mut number: u64| {
            while number >= 128 {
                page.push(number as u8 | 128);
                number >>= 7;
            }
            page.push(number as u8);
        };
        number(u64::from(small) * 2);
        // The smallest difference is the step back.
        number(step * 2 - 1);
        page.extend([34, 0, 0, 0]);
        // The first difference is twice a step above it; the second equals it.
        page.extend((step * 2).to_le_bytes());
        page.resize(page.len() + 34 * 32 / 8 - 8, 0);
        let mut column: Vec<i32> = Vec::new();
        DeltaDecoder::open(page.into()).unwrap().take(3, &mut column).unwrap();
        assert_eq!(column, [small, large, small].map(u32::cast_signed));
    }
}
