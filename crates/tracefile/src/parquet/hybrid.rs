//! Decodes Parquet's hybrid of run-length encoding and bit packing, which stores dictionary
//! indices and definition levels.

use super::unpack::{
    AT_ONCE, SHORT_AT_ONCE, UnpackedBytes, UnpackedNumbers, packed_length, unpack, unpack_short,
    variable_length,
};
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};

/// Largest bit width.
const WIDTH_MAX: usize = 32;
/// Numbers that together fill whole bytes at every bit width.
const BYTE: usize = 8;
/// Largest bit width of numbers that are kept as bytes.
const SHORT_MAX: usize = 8;

/// A sequence of runs that is being read.
pub(super) struct HybridDecoder {
    bytes: Bytes,
    /// Position of the next run.
    at: usize,
    width: usize,
    run: HybridRun,
    /// Numbers of the current run that were not taken yet.
    left: usize,
    /// Unpacked numbers of a packed run, in `short` up to [`SHORT_MAX`] bits and otherwise in
    /// `numbers`; the first `taken` of them are used up.
    short: UnpackedBytes,
    numbers: UnpackedNumbers,
    taken: usize,
    unpacked: usize,
}

#[derive(Clone, Copy)]
enum HybridRun {
    /// One number, repeated.
    Same(u64),
    /// Bit-packed numbers from this byte on.
    Packed(usize),
}

/// A part of the numbers.
pub(super) enum HybridPart<'n> {
    /// One number and its number of repetitions.
    Same(u64, usize),
    /// Individual numbers.
    Each(&'n [i64]),
    /// Individual numbers of at most eight bits.
    Short(&'n [u8]),
    /// Codes of at most eight bits, each of several numbers with the first in the lowest bits.
    Together(&'n [u8]),
}

impl HybridDecoder {
    /// Opens a sequence of numbers of `width` bits.
    pub(super) fn open(bytes: Bytes, width: usize) -> Result<Self> {
        if width > WIDTH_MAX {
            let what = format!("its numbers in runs are of {width} bits, which is impossible");
            return Err(ParquetError::General(what));
        }
        // At width 0 there are no bits to write, and some programs write no runs at all.
        let left = if width == 0 { usize::MAX } else { 0 };
        let run = HybridRun::Same(0);
        let (short, numbers) = ([0; SHORT_AT_ONCE], [0; AT_ONCE]);
        Ok(HybridDecoder { bytes, at: 0, width, run, left, short, numbers, taken: 0, unpacked: 0 })
    }

    /// Returns the bits of each number.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Passes the next `count` numbers to `give`, part by part.
    pub(super) fn take(&mut self, count: usize, give: impl FnMut(HybridPart<'_>)) -> Result<()> {
        self.take_by(1, count, give)
    }

    /// Passes the next `count` numbers to `give`, where possible as codes of `together` numbers:
    /// adjacent packed numbers can be read as one longer number of at most eight bits.
    pub(super) fn take_by(
        &mut self,
        together: usize,
        mut count: usize,
        mut give: impl FnMut(HybridPart<'_>),
    ) -> Result<()> {
        while count > 0 {
            while self.left == 0 {
                self.begin_run()?;
            }
            let mut part = count.min(self.left);
            match self.run {
                HybridRun::Same(number) => give(HybridPart::Same(number, part)),
                HybridRun::Packed(at)
                    if together > 1 && part >= BYTE && self.taken == self.unpacked =>
                {
                    part = part.min(SHORT_AT_ONCE * together) / BYTE * BYTE;
                    let packed = self.bytes.get(at..).unwrap_or_default();
                    unpack_short(packed, self.width * together, &mut self.short);
                    give(HybridPart::Together(&self.short[..part / together]));
                    self.run = HybridRun::Packed(at + packed_length(part, self.width));
                }
                HybridRun::Packed(at) => {
                    if self.taken == self.unpacked {
                        self.unpack_more(at);
                    }
                    part = part.min(self.unpacked - self.taken);
                    let these = self.taken..self.taken + part;
                    give(match self.width {
                        ..=SHORT_MAX => HybridPart::Short(&self.short[these]),
                        _ => HybridPart::Each(&self.numbers[these]),
                    });
                    self.taken += part;
                }
            }
            self.left -= part;
            count -= part;
        }
        Ok(())
    }

    /// Skips the next `count` numbers if all of them equal `number` within one run; returns whether
    /// they do.
    pub(super) fn pass_over(&mut self, count: usize, number: u64) -> Result<bool> {
        let are_same = self.same(count)? == Some(number);
        self.left -= if are_same { count } else { 0 };
        Ok(are_same)
    }

    /// Returns the number that the next `count` numbers all equal within one run; otherwise `None`.
    pub(super) fn same(&mut self, count: usize) -> Result<Option<u64>> {
        while self.left == 0 && count > 0 {
            self.begin_run()?;
        }
        match self.run {
            HybridRun::Same(number) if count <= self.left => Ok(Some(number)),
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
        self.run = HybridRun::Packed(at + packed_length(self.unpacked, self.width));
    }

    fn begin_run(&mut self) -> Result<()> {
        let too_few = || ParquetError::General("its numbers in runs are too few".into());
        let (header, begin) = variable_length(&self.bytes, self.at).ok_or_else(too_few)?;
        let count = usize::try_from(header >> 1).unwrap_or(usize::MAX);
        let there = self.bytes.len() - begin;
        if header & 1 == 1 {
            let length = count.saturating_mul(self.width).min(there);
            // If the run is cut off, only the numbers that are complete count.
            self.left = count.saturating_mul(8).min(length * 8 / self.width.max(1));
            self.run = HybridRun::Packed(begin);
            (self.taken, self.unpacked) = (0, 0);
            self.at = begin + length;
        } else {
            let end = begin + packed_length(1, self.width);
            let number = self.bytes.get(begin..end).ok_or_else(too_few)?;
            let number = number.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            (self.run, self.left, self.at) = (HybridRun::Same(number), count, end);
        }
        Ok(())
    }
}
