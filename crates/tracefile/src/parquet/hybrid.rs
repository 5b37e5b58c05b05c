//! Small numbers in runs, which Parquet calls the hybrid of run lengths and bit packing:
//! places in a dictionary, and which rows have a value.

use super::unpack::{
    AT_ONCE, Numbers, SHORT_AT_ONCE, ShortNumbers, packed_length, unpack, unpack_short,
    variable_length,
};
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};

/// Bits of the widest number.
const WIDTH_MAX: usize = 32;
/// Numbers that end with a byte, whatever their width.
const BYTE: usize = 8;
/// Bits of the widest of those that are kept as bytes.
const SHORT_MAX: usize = 8;

/// Runs that are being read.
pub(super) struct Hybrid {
    bytes: Bytes,
    /// Where the next run begins.
    at: usize,
    width: usize,
    run: Run,
    /// Numbers of the run that were not taken yet.
    left: usize,
    /// Numbers of a packed run that were unpacked, of which the first few are taken: short
    /// ones or others.
    short: ShortNumbers,
    numbers: Numbers,
    taken: usize,
    unpacked: usize,
}

#[derive(Clone, Copy)]
enum Run {
    /// The same number again and again.
    Same(u64),
    /// Numbers beside each other, from this byte on.
    Packed(usize),
}

/// Some of the numbers.
pub(super) enum Part<'n> {
    /// A number, so many times.
    Same(u64, usize),
    /// Different ones.
    Each(&'n [i64]),
    /// Different ones of at most eight bits.
    Short(&'n [u8]),
    /// Different ones, several of which make one of at most eight bits, the first lowest.
    Together(&'n [u8]),
}

impl Hybrid {
    /// Of numbers of `width` bits.
    pub(super) fn open(bytes: Bytes, width: usize) -> Result<Self> {
        if width > WIDTH_MAX {
            let what = format!("its numbers in runs are of {width} bits, which is impossible");
            return Err(ParquetError::General(what));
        }
        // Without any bits there is nothing to write, and some programs write nothing.
        let left = if width == 0 { usize::MAX } else { 0 };
        let run = Run::Same(0);
        let (short, numbers) = ([0; SHORT_AT_ONCE], [0; AT_ONCE]);
        Ok(Hybrid { bytes, at: 0, width, run, left, short, numbers, taken: 0, unpacked: 0 })
    }

    /// Bits of each number.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Gives out the next numbers, part by part.
    pub(super) fn take(&mut self, count: usize, give: impl FnMut(Part<'_>)) -> Result<()> {
        self.take_by(1, count, give)
    }

    /// The same, so many together where that can be: bits that stand beside each other are as
    /// well those of longer numbers, if these have no more than eight.
    pub(super) fn take_by(
        &mut self,
        together: usize,
        mut count: usize,
        mut give: impl FnMut(Part<'_>),
    ) -> Result<()> {
        while count > 0 {
            while self.left == 0 {
                self.begin_run()?;
            }
            let mut part = count.min(self.left);
            match self.run {
                Run::Same(number) => give(Part::Same(number, part)),
                Run::Packed(at) if together > 1 && part >= BYTE && self.taken == self.unpacked => {
                    part = part.min(SHORT_AT_ONCE * together) / BYTE * BYTE;
                    let packed = self.bytes.get(at..).unwrap_or_default();
                    unpack_short(packed, self.width * together, &mut self.short);
                    give(Part::Together(&self.short[..part / together]));
                    self.run = Run::Packed(at + packed_length(part, self.width));
                }
                Run::Packed(at) => {
                    if self.taken == self.unpacked {
                        self.unpack_more(at);
                    }
                    part = part.min(self.unpacked - self.taken);
                    let these = self.taken..self.taken + part;
                    give(match self.width {
                        ..=SHORT_MAX => Part::Short(&self.short[these]),
                        _ => Part::Each(&self.numbers[these]),
                    });
                    self.taken += part;
                }
            }
            self.left -= part;
            count -= part;
        }
        Ok(())
    }

    /// Passes over the next numbers where all of them are this one in one run; tells whether
    /// they are.
    pub(super) fn pass_over(&mut self, count: usize, number: u64) -> Result<bool> {
        let are_same = self.same(count)? == Some(number);
        self.left -= if are_same { count } else { 0 };
        Ok(are_same)
    }

    /// The number that all of the next are, where they stand in one run.
    pub(super) fn same(&mut self, count: usize) -> Result<Option<u64>> {
        while self.left == 0 && count > 0 {
            self.begin_run()?;
        }
        match self.run {
            Run::Same(number) if count <= self.left => Ok(Some(number)),
            _ => Ok(None),
        }
    }

    fn unpack_more(&mut self, at: usize) {
        let packed = self.bytes.get(at..).unwrap_or_default();
        (self.taken, self.unpacked) = match self.width {
            ..=SHORT_MAX => {
                unpack_short(packed, self.width, &mut self.short);
                (0, SHORT_AT_ONCE)
            }
            _ => {
                unpack(packed, self.width, &mut self.numbers);
                (0, AT_ONCE)
            }
        };
        self.run = Run::Packed(at + packed_length(self.unpacked, self.width));
    }

    fn begin_run(&mut self) -> Result<()> {
        let too_few = || ParquetError::General("its numbers in runs are too few".into());
        let (header, begin) = variable_length(&self.bytes, self.at).ok_or_else(too_few)?;
        let count = usize::try_from(header >> 1).unwrap_or(usize::MAX);
        let there = self.bytes.len() - begin;
        if header & 1 == 1 {
            let length = count.saturating_mul(self.width).min(there);
            // Of numbers that were cut off there are only those before.
            self.left = count.saturating_mul(8).min(length * 8 / self.width.max(1));
            self.run = Run::Packed(begin);
            (self.taken, self.unpacked) = (0, 0);
            self.at = begin + length;
        } else {
            let end = begin + packed_length(1, self.width);
            let number = self.bytes.get(begin..end).ok_or_else(too_few)?;
            let number = number.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            (self.run, self.left, self.at) = (Run::Same(number), count, end);
        }
        Ok(())
    }
}
