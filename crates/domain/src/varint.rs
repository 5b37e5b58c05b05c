//! Numbers in as few bytes as they need (LEB128): seven bits in each byte, the lowest first; the
//! highest bit is set if more bytes follow.

/// Appends a number.
#[inline]
pub fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number from the front of `bytes`; returns `None` if it does not end there or has more
/// than 64 bits.
///
/// ```
/// use steadfast_domain::varint;
/// let mut bytes = Vec::new();
/// varint::put(&mut bytes, 300);
/// let mut rest = &bytes[..];
/// assert_eq!((varint::take(&mut rest), rest.len()), (Some(300), 0));
/// ```
#[inline]
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let part = u64::from(byte & 0x7f);
        if shift == 63 && part > 1 {
            return None;
        }
        number |= part << shift;
        if *byte < 0x80 {
            return Some(number);
        }
    }
    None
}

/// Maps numbers near 0 of either sign to small ones: 0, -1, 1, -2 to 0, 1, 2, 3.
#[inline]
pub fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

/// Reverses [`zigzag`].
#[inline]
pub fn unzigzag(number: u64) -> i64 {
    ((number >> 1) ^ (number & 1).wrapping_neg()).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_size_decode() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, number);
            let mut rest = bytes.as_slice();
            assert_eq!((take(&mut rest), rest.len()), (Some(number), 0));
            assert_eq!(take(&mut &bytes[..bytes.len() - 1]), None, "cut off");
            assert_eq!(zigzag(unzigzag(number)), number);
        }
        assert_eq!(take(&mut &[255; 11][..]), None, "more than 64 bits");
    }

    #[test]
    fn zigzag_maps_small_numbers_to_small_ones() {
        assert_eq!([0, -1, 1, -2].map(zigzag), [0, 1, 2, 3]);
        assert_eq!(zigzag(i64::MIN), u64::MAX);
    }
}
