//! Conversion between bytes and the structures shared with the BPF programs.

use std::mem::size_of;

/// A structure without invalid bit patterns and without padding.
///
/// # Safety
/// The type is `repr(C)` and consists of integers, arrays of them and other `PlainData` types,
/// without padding: any bit pattern is a valid value, and every byte may be read.
pub(super) unsafe trait PlainData: Copy {}

// SAFETY: an integer.
unsafe impl PlainData for u32 {}
// SAFETY: an integer.
unsafe impl PlainData for u64 {}
// SAFETY: integers, no padding.
unsafe impl<const N: usize> PlainData for [u64; N] {}

/// Reads a value from the beginning of `bytes`, or returns `None` if they are too short.
pub(super) fn read<T: PlainData>(bytes: &[u8]) -> Option<T> {
    // SAFETY: `bytes` is long enough, the read is unaligned, and any bit pattern is a valid `T`.
    (bytes.len() >= size_of::<T>()).then(|| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

/// Writes a value to `bytes`, truncated to their length.
pub(super) fn write<T: PlainData>(value: &T, bytes: &mut [u8]) {
    let length = bytes.len().min(size_of::<T>());
    // SAFETY: `length` is at most the size of `T`, and every byte of a `PlainData` type may be
    // read.
    let content = unsafe { std::slice::from_raw_parts((&raw const *value).cast::<u8>(), length) };
    bytes[..length].copy_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_at_any_address_and_never_beyond_the_bytes() {
        #[repr(C)]
        #[derive(Debug, Clone, Copy, PartialEq)]
        struct Sample(u32, u16, u16);
        // SAFETY: integers, no padding.
        unsafe impl PlainData for Sample {}

        let word = u16::from_ne_bytes;
        let sample = Sample(u32::from_ne_bytes([1, 2, 3, 4]), word([5, 6]), word([7, 8]));
        let mut bytes = [0; 10];
        write(&sample, &mut bytes[1..]);
        assert_eq!(bytes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
        assert_eq!(read(&bytes[1..9]), Some(sample));
        assert_eq!(read::<Sample>(&bytes[1..8]), None);
        let mut short = [9; 3];
        write(&sample, &mut short);
        assert_eq!(short, [1, 2, 3]);
    }
}
