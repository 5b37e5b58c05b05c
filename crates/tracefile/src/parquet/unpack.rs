//! Unpacks bit-packed integers of Parquet, which are stored without gaps from the lowest bit of
//! the first byte on.

use std::slice;

/// Numbers unpacked at a time.
pub(super) const AT_ONCE: usize = 32;
/// Largest bit width.
pub(super) const WIDTH_MAX: usize = 64;
/// Numbers that together fill whole bytes at every bit width.
const GROUP: usize = 8;
/// Bytes loaded from the byte in which a number begins.
const REACH: usize = size_of::<u128>();

/// Unpacked numbers, in two's complement.
pub(super) type UnpackedNumbers = [i64; AT_ONCE];

/// Numbers of at most eight bits unpacked at a time.
pub(super) const SHORT_AT_ONCE: usize = 64;

/// Unpacked numbers of at most eight bits.
pub(super) type UnpackedBytes = [u8; SHORT_AT_ONCE];

/// Returns the bytes that `numbers` numbers of `width` bits take.
pub(super) fn packed_length(numbers: usize, width: usize) -> usize {
    numbers.saturating_mul(width).div_ceil(8)
}

/// Unpacks numbers of `width` bits, at most [`WIDTH_MAX`]. Numbers beyond the end of `bytes`
/// become 0.
pub(super) fn unpack(bytes: &[u8], width: usize, numbers: &mut UnpackedNumbers) {
    unpack_by(OF_WIDTH[width], bytes, width, (0, 0), slice::from_mut(numbers));
}

/// Unpacks differences of `width` bits, each relative to `least`, and writes their running sum,
/// starting from `last`.
pub(super) fn unpack_and_add(
    bytes: &[u8],
    width: usize,
    (last, least): (i64, i64),
    numbers: &mut [UnpackedNumbers],
) {
    unpack_by(ADDED_OF_WIDTH[width], bytes, width, (last, least), numbers);
}

/// A function that unpacks numbers of one width.
type UnpackFn = fn(&[u8], (i64, i64), &mut [UnpackedNumbers]);

#[inline]
fn unpack_by(
    of_width: UnpackFn,
    bytes: &[u8],
    width: usize,
    (last, least): (i64, i64),
    numbers: &mut [UnpackedNumbers],
) {
    let length = packed_length(AT_ONCE, width);
    if bytes.len() >= length * numbers.len() + REACH {
        return of_width(bytes, (last, least), numbers);
    }
    let Some((numbers, before)) = numbers.split_last_mut() else { return };
    unpack_by(of_width, bytes, width, (last, least), before);
    let last = before.last().map_or(last, |numbers| numbers[AT_ONCE - 1]);
    let bytes = bytes.get(length * before.len()..).unwrap_or_default();
    let mut longer = [0; AT_ONCE * WIDTH_MAX / 8 + REACH];
    let there = bytes.len().min(length);
    longer[..there].copy_from_slice(&bytes[..there]);
    of_width(&longer, (last, least), slice::from_mut(numbers));
}

/// Unpacks numbers of `width` bits, at most eight.
pub(super) fn unpack_short(bytes: &[u8], width: usize, numbers: &mut UnpackedBytes) {
    let of_width = SHORT_OF_WIDTH[width];
    let length = packed_length(SHORT_AT_ONCE, width);
    if bytes.len() >= length + GROUP {
        return of_width(bytes, numbers);
    }
    let mut longer = [0; SHORT_AT_ONCE + GROUP];
    let there = bytes.len().min(length);
    longer[..there].copy_from_slice(&bytes[..there]);
    of_width(&longer, numbers);
}

/// Unpacks one width: eight numbers are loaded as one word, which is then spread by halves.
fn short_of_width<const WIDTH: usize>(bytes: &[u8], numbers: &mut UnpackedBytes) {
    let halves = |word: u64, apart: usize, together: u64| {
        let moved = apart - apart * WIDTH / GROUP;
        (word & together) | (word << moved & together << apart)
    };
    let lowest = |numbers: usize| u64::MAX >> (64 - numbers * WIDTH);
    for (group, numbers) in numbers.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
        let bytes = &bytes[group * WIDTH..][..WIDTH + GROUP];
        let word = halves(word(bytes, 0), 32, lowest(4));
        let word = halves(word, 16, lowest(2) * 0x1_0000_0001);
        let word = halves(word, 8, lowest(1) * 0x1_0001_0001_0001);
        *numbers = word.to_le_bytes();
    }
}

macro_rules! short_of_widths {
    ($($width:literal)*) => { [|_, numbers| *numbers = [0; SHORT_AT_ONCE], $(short_of_width::<$width>),*] };
}

const SHORT_OF_WIDTH: [fn(&[u8], &mut UnpackedBytes); GROUP + 1] =
    short_of_widths![1 2 3 4 5 6 7 8];

/// Unpacks one width, so that all shifts are known at compile time.
fn of_width<const WIDTH: usize, const ADDED: bool>(
    bytes: &[u8],
    (mut last, least): (i64, i64),
    numbers: &mut [UnpackedNumbers],
) {
    let groups = numbers.as_flattened_mut().as_chunks_mut::<GROUP>().0;
    for (group, numbers) in groups.iter_mut().enumerate() {
        let bytes = &bytes[group * WIDTH..][..WIDTH + REACH];
        for (at, number) in numbers.iter_mut().enumerate() {
            let (byte, bit) = (at * WIDTH / 8, at * WIDTH % 8);
            let bits = match WIDTH {
                0 => 0,
                // Fits into eight bytes at any bit position.
                1..=57 => word(bytes, byte) >> bit & (u64::MAX >> (64 - WIDTH)),
                _ => wide_word(bytes, byte, bit) & (u64::MAX >> (64 - WIDTH)),
            };
            *number = bits.cast_signed();
            if ADDED {
                last = last.wrapping_add(least.wrapping_add(*number));
                *number = last;
            }
        }
    }
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

#[inline]
fn wide_word(bytes: &[u8], at: usize, bit: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| (u128::from_le_bytes(*word) >> bit) as u64)
}

macro_rules! of_widths {
    ($added:literal: $($width:literal)*) => { [$(of_width::<$width, $added>),*] };
}

const OF_WIDTH: [UnpackFn; WIDTH_MAX + 1] = of_widths![
    false: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
];

const ADDED_OF_WIDTH: [UnpackFn; WIDTH_MAX + 1] = of_widths![
    true: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
    33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
];

/// Decodes a number of 7 bits per byte, lowest first; returns it and the position after it, or
/// `None` if it does not end.
pub(super) fn variable_length(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let byte = *bytes.get(at)?;
        at += 1;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((number, at));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use steadfast_domain::step::mix64;

    #[test]
    fn every_width_is_unpacked_bit_by_bit() {
        let bytes: Vec<u8> = (0..300).map(|at| mix64(at) as u8).collect();
        for width in 0..=WIDTH_MAX {
            for length in [300, packed_length(AT_ONCE, width), 5, 0] {
                let bytes = &bytes[..length];
                let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (at % 8) & 1);
                let mut numbers = [7; AT_ONCE];
                unpack(bytes, width, &mut numbers);
                for (at, number) in numbers.iter().enumerate() {
                    let bits = (0..width).map(|i| u64::from(bit(at * width + i)) << i);
                    let bits = bits.sum::<u64>().cast_signed();
                    assert_eq!(*number, bits, "{width} {length} {at}");
                }
            }
        }
    }

    #[test]
    fn differences_lead_to_numbers_however_many_at_once() {
        const MOST: usize = 3;
        let bytes: Vec<u8> = (0..1000).map(|at| mix64(at) as u8).collect();
        for (width, most) in (0..=WIDTH_MAX).flat_map(|width| [(width, 1), (width, MOST)]) {
            for length in [1000, packed_length(most * AT_ONCE, width), 270, 5, 0] {
                let bytes = &bytes[..length.min(bytes.len())];
                let (least, mut sum, mut added) = (-4i64, 11i64, [[7; AT_ONCE]; MOST]);
                unpack_and_add(bytes, width, (sum, least), &mut added[..most]);
                for (part, added) in added[..most].iter().enumerate() {
                    let rest = bytes.get(packed_length(part * AT_ONCE, width)..);
                    let mut numbers = [7; AT_ONCE];
                    unpack(rest.unwrap_or_default(), width, &mut numbers);
                    for (number, added) in numbers.iter().zip(added) {
                        sum = sum.wrapping_add(least).wrapping_add(*number);
                        assert_eq!(*added, sum, "{width} {length} {part}");
                    }
                }
            }
        }
    }

    #[test]
    fn short_numbers_are_unpacked_as_others_are() {
        let bytes: Vec<u8> = (0..100).map(|at| mix64(at) as u8).collect();
        for width in 0..=GROUP {
            for length in [100, packed_length(SHORT_AT_ONCE, width), 3, 0] {
                let (mut short, mut numbers) = ([7; SHORT_AT_ONCE], [7; AT_ONCE]);
                unpack_short(&bytes[..length], width, &mut short);
                for (part, short) in short.chunks(AT_ONCE).enumerate() {
                    let rest = bytes[..length].get(packed_length(part * AT_ONCE, width)..);
                    unpack(rest.unwrap_or_default(), width, &mut numbers);
                    let short: Vec<i64> = short.iter().map(|number| i64::from(*number)).collect();
                    assert_eq!(short, numbers, "{width} {length}");
                }
            }
        }
    }

    #[test]
    fn a_number_of_variable_length_ends_or_is_none() {
        assert_eq!(variable_length(&[9, 0x05], 1), Some((5, 2)));
        assert_eq!(variable_length(&[0xac, 0x02, 1], 0), Some((300, 2)));
        let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(variable_length(&largest, 0), Some((u64::MAX, 10)));
        assert_eq!(variable_length(&[0x80; 9], 0), None);
        assert_eq!(variable_length(&[0x80; 12], 0), None);
        assert_eq!(variable_length(&[], 3), None);
    }
}
