//! Reads the numbers in the blocks of a fold file, which are encoded by [`varint`].

use std::io::{self, Read};
use steadfast_domain::varint;

/// Maximum encoded length of a number, in bytes.
const BYTES_MAX: usize = 10;

/// Reads a number.
///
/// # Errors
/// Returns [`io::Error`] if the input ends or fails, or the number has more than 64 bits.
pub(super) fn take(from: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; BYTES_MAX];
    for at in 0..BYTES_MAX {
        from.read_exact(&mut bytes[at..=at])?;
        if bytes[at] < 0x80 {
            let number = varint::take(&mut &bytes[..]);
            return number.ok_or_else(|| impossible("a number of more than 64 bits"));
        }
    }
    Err(impossible("a number of more than 64 bits"))
}

/// Reads a number into a smaller type.
///
/// # Errors
/// Returns the errors of [`take`], or [`io::Error`] if the number does not fit.
pub(super) fn take_as<T: TryFrom<u64>>(from: &mut impl Read) -> io::Result<T> {
    take(from)?.try_into().map_err(|_| impossible("a number that is too large"))
}

/// Returns the error for invalid data.
pub(super) fn impossible(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_come_back() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            varint::put(&mut bytes, number);
            assert_eq!(take(&mut bytes.as_slice()).unwrap(), number);
            assert!(take(&mut &bytes[..bytes.len() - 1]).is_err(), "cut off");
        }
        assert_eq!(take_as::<u8>(&mut [255, 1].as_slice()).unwrap(), 255);
        assert!(take_as::<u8>(&mut [128, 2].as_slice()).is_err());
        assert!(take(&mut [255; 11].as_slice()).is_err(), "more than 64 bits");
    }
}
